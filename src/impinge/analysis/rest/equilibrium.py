"""Rest states with contacts closed, and what holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.mode import in_mode
from impinge.analysis.linear.point import Point, compliant_contacts, mode_indices, named, point_of, row_names
from impinge.analysis.rest.forces import Rest
from impinge.analysis.rest.nearest import nearest_rest
from impinge.contact import Baumgarte
from impinge.contact.law import Law
from impinge.errors import StartError, unknown_name
from impinge.model import Model
from impinge.scene.scene import Scene
from impinge.simulation.check import laws_of
from impinge.simulation.system.plant import VALUE

FloatArray = NDArray[np.float64]


def _is_moved(model: Model, start: Point, q: FloatArray) -> bool:
    """Tell whether rows accelerate on their own, as where a floor turns back: forces then do more than balance."""
    p = model.parameter_vector(start.parameters)
    terms = model.terms_at(q, start.v, start.time, start.u, p, only=("h_drift", "gap_drift", "slip_drift"))
    return any(drift.any() for drift in terms.values())


@dataclass(frozen=True)
class Equilibrium(Point):
    """A rest state of a model in a mode.

    Attributes:
        model: name of the model.
        mode: the contacts that are closed.
        pose: coordinates by name.
        inputs: what the inputs must hold, by name.
        forces: of constraints and closed contacts, by the name that results give them.
        gaps: of all contacts, by name.
        unique: whether no other forces of constraints and contacts hold the pose with these inputs. If not, the forces
            are the smallest of those that contacts can give: what vanishing compliance would leave.
    """

    model: str = ""
    mode: tuple[str, ...] = ()
    pose: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)
    forces: Mapping[str, float] = field(default_factory=dict)
    gaps: Mapping[str, float] = field(default_factory=dict)
    unique: bool = True

    def __str__(self) -> str:
        lines = [f"{self.model} at rest, {', '.join(self.mode) or 'no contact'} closed"]
        for what, values in (("pose", self.pose), ("inputs", self.inputs), ("forces", self.forces)):
            lines += [f"  {what:7}{name:20}  {value:.9g}" for name, value in values.items()]
        if not self.unique:
            lines.append("  forces are the smallest of many that do it")
        return "\n".join(lines)


def equilibrium(
    system: Model | Scene,
    mode: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    law: Law | Mapping[str, Law] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Equilibrium:
    """Return the rest state nearest to a pose in which the mode's contacts are closed and can give the forces it takes.

    Nearest is first the pose, then the inputs, in the Euclidean norm of their values; forces are the smallest. Of a
    whole range of poses at rest it is the nearest one. Of rest states apart from each other it is the nearest that
    Newton's method finds from ``near`` and from points around it.

    Args:
        system: what rests: a model, or a scene as it is around the pose ``near`` (`impinge.Scene.around`).
        mode: the contacts that are closed; they stick where they have sliding directions.
        near: coordinates to start from, by name; the rest as in the model.
        inputs: values of inputs that are given; the others are found, changed only as far as contacts do not do it.
            Inputs declared as disturbances keep their value: they carry nothing that they are not given.
        law: with a compliant one, contacts rest as deep as their force asks, beside where rigid ones would rest;
            otherwise closed gaps are zero.
        parameters: parameters that differ from the model's.
        time: the instant, for models that depend on it.

    Raises:
        ImpingeError: if nothing rests there: it says which balance or constraint cannot be met, which contact would
            have to pull or slide, which surface is not there; and if redundant contacts cannot give any forces that
            balance the load, by which motion they would give way.

    Example:
        >>> from impinge import robots
        >>> rest = equilibrium(robots.ball(), mode=["floor"], near={"q": 0.1})
        >>> abs(rest.pose["q"]) < 1e-12, round(rest.forces["force_floor"], 9)
        (True, 9.81)
    """
    model = system.around(near, time=time)
    who = f"equilibrium of {system.label}"
    closed = mode_indices(model, who, mode)
    coordinates, actuated = [x.name for x in model.coordinates], [x.name for x in model.inputs]
    for name in near or {}:
        if name not in coordinates + actuated:
            raise unknown_name(who, "coordinate or input", name, coordinates + actuated)
    for name in inputs or {}:
        if name not in actuated:
            raise unknown_name(who, "input", name, actuated)
    start = point_of(model, {**(near or {}), **(inputs or {})}, parameters, time)
    start = replace(start, v=np.zeros_like(start.v))
    chosen = law or Baumgarte()
    laws, soft = laws_of(model, chosen), compliant_contacts(model, chosen).intersection(closed)
    free = [k for k, x in enumerate(model.inputs) if x.name not in (inputs or {}) and not x.disturbance]
    rest = Rest(model, who, closed, start, free)
    found = nearest_rest(rest)
    if soft:  # from rigid contacts, whose forces are a first guess
        rest.soft = {c: laws[c] for c in soft}
        found = nearest_rest(rest, found)
    known = {} if _is_moved(model, start, found.q) else dict(zip(rest.rows, found.x.tolist(), strict=True))
    held = in_mode(model, replace(start, q=found.q, u=found.u), closed, chosen, (400.0, 40.0), who, known)
    names, (_, gaps, _) = row_names(model), model.row_slices
    for c in closed:
        if c not in held.closed:
            force = float(found.x[rest.rows.index(gaps.start + c)])
            raise StartError(
                who,
                f"contact '{model.contacts[c]}' to push",
                f"force {force:.6g} N: the mode cannot hold there",
                "Leave it out of the mode, or choose another point.",
            )
    return Equilibrium(
        found.q,
        start.v,
        found.u,
        start.parameters,
        start.time,
        model=model.name,
        mode=tuple(model.contacts[c] for c in closed),
        pose=named(coordinates, found.q),
        inputs=named(actuated, found.u),
        forces={names[i][1]: float(held.force[i]) for i in rest.rows},
        unique=held.unique,
        gaps=named(model.contacts, held.w.rows[VALUE][gaps]),
    )
