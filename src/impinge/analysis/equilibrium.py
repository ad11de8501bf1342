"""Rest states with contacts closed, and what holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.point import (
    Point,
    closed_rows,
    compliant_contacts,
    in_mode,
    mode_indices,
    named,
    point_of,
    row_names,
)
from impinge.analysis.rest_depth import rest_depth
from impinge.contact import Baumgarte
from impinge.contact.law import Law
from impinge.errors import StartError, unknown_name
from impinge.model import Model
from impinge.simulation.check import laws_of
from impinge.simulation.plant import FORCE, VALUE

FloatArray = NDArray[np.float64]

_ITERATIONS = 100
_BALANCED = 1e-9  # of the forces in it, a balance is met
_CLOSED = 1e-12  # m or rad: a closed row is met
_STRIDE = 1.0  # m or rad: no step is longer, so that the rest state is one nearby
_MOVED = 1e-3  # m or rad: what forces change by over this way counts as their size too


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
    """

    model: str = ""
    mode: tuple[str, ...] = ()
    pose: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)
    forces: Mapping[str, float] = field(default_factory=dict)
    gaps: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.model} at rest, {', '.join(self.mode) or 'no contact'} closed"]
        for what, values in (("pose", self.pose), ("inputs", self.inputs), ("forces", self.forces)):
            lines += [f"  {what:7}{name:16}{value:.9g}" for name, value in values.items()]
        return "\n".join(lines)


def equilibrium(
    model: Model,
    mode: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    law: Law | Mapping[str, Law] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Equilibrium:
    """Return the rest state nearest to a pose in which the mode's contacts are closed.

    Args:
        model: what rests.
        mode: the contacts that are closed; they stick where they have sliding directions.
        near: coordinates to start from, by name; the rest as in the model.
        inputs: values of inputs that are given; the others are found, changed only where contacts do not do it.
        law: with a compliant one, contacts rest as deep as their force asks; otherwise closed gaps are zero.
        parameters: parameters that differ from the model's.
        time: the instant, for models that depend on it.

    Raises:
        ImpingeError: if nothing rests there: it says which balance or constraint cannot be met, which contact
            would have to pull, or which surface is not there.

    Example:
        >>> from impinge import robots
        >>> rest = equilibrium(robots.ball(), mode=["floor"], near={"q": 0.1})
        >>> abs(rest.pose["q"]) < 1e-12, round(rest.forces["force_floor"], 9)
        (True, 9.81)
    """
    who = f"equilibrium of model '{model.name}'"
    closed = mode_indices(model, who, mode)
    coordinates, actuated = [x.name for x in model.coordinates], [x.name for x in model.inputs]
    for name in near or {}:
        if name not in coordinates + actuated:
            raise unknown_name(who, "coordinate or input", name, coordinates + actuated)
    for name in inputs or {}:
        if name not in actuated:
            raise unknown_name(who, "input", name, actuated)
    start = point_of(model, {**(near or {}), **(inputs or {})}, parameters)
    free = [k for k, x in enumerate(model.inputs) if x.name not in (inputs or {})]
    chosen = law or Baumgarte()
    laws, soft = laws_of(model, chosen), compliant_contacts(model, chosen).intersection(closed)
    q, u, x = _newton(model, who, closed, start, free, time)
    if soft:  # from rigid contacts, whose forces are a first guess
        rigid = Point(q, start.v, u, start.parameters, time)
        q, u, x = _newton(model, who, closed, rigid, free, time, x, {c: laws[c] for c in soft})
    point = Point(q, np.zeros_like(q), u, start.parameters, time)
    plant, w = in_mode(model, point, closed, chosen, (400.0, 40.0), who)
    rows, names = closed_rows(model, closed), row_names(model)
    gaps = w.rows[VALUE][plant.nh : plant.nh + plant.nc]
    return Equilibrium(
        q,
        point.v,
        u,
        start.parameters,
        time,
        model=model.name,
        mode=tuple(model.contacts[c] for c in closed),
        pose=named(coordinates, q),
        inputs=named(actuated, u),
        forces={names[i][1]: float(w.rows[FORCE, i]) for i in rows},
        gaps=named(model.contacts, gaps),
    )


def _newton(
    model: Model,
    who: str,
    closed: Sequence[int],
    start: Point,
    free: Sequence[int],
    time: float,
    first: FloatArray | None = None,
    soft: Mapping[int, Law] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve balance of forces and closed rows for q, the free inputs and the forces, in steps halved if need be.

    Forces begin at ``first``. The gaps of ``soft`` contacts are not zero but as deep as their law says for the force.
    """
    s, e = model.symbols, model.equations
    rows, gaps = closed_rows(model, closed), model.row_slices[1].start
    held = [i for i in rows if i < model.row_slices[2].start]
    force, still = ca.SX.sym("force", len(rows)), ca.SX.zeros(s.v.shape[0])
    A = e.A[rows, :] if rows else ca.SX(0, s.q.shape[0])
    carried = A.T @ force
    load = ca.substitute(e.bias + e.damping - e.applied, s.v, still)
    residual = ca.vertcat(load - carried, e.g[held, 0] if held else ca.SX(0, 1))
    blocks = (force, s.u[list(free), 0] if free else ca.SX(0, 1), s.q)
    # The size of each balance: the forces in it, and those that the heaviest load could bring there.
    forces = ca.fabs(load) + ca.fabs(A.T) @ (ca.fabs(force) + ca.norm_inf(load))
    outputs = [residual, forces, *(ca.jacobian(residual, x) for x in blocks)]
    system = ca.Function("rest", [s.q, s.u, force, s.t, s.p], outputs)
    nb, p = s.v.shape[0], model.parameter_vector(start.parameters)
    q, u, x = start.q.copy(), start.u.copy(), np.zeros(len(rows)) if first is None else first
    places = [(nb + held.index(i), rows.index(i), law) for c, law in (soft or {}).items() for i in [gaps + c]]

    def at(q: FloatArray, u: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        r, size, *jacobians = (np.array(part) for part in system(q, u, x, time, p))
        for row, k, law in places:
            depth, slope = rest_depth(law, float(x[k]))
            r[row] += depth
            jacobians[0][row, k] += slope
        size = size.ravel() + _MOVED * np.abs(jacobians[-1][:nb]).sum(axis=1)
        size = np.maximum(size, 1e-14 * size.max()) if size.any() else np.ones(nb)
        return r.ravel(), np.concatenate([size, np.ones(len(held))]), jacobians

    r, size, jacobians = at(q, u, x)
    limit = np.concatenate([np.full(nb, _BALANCED), np.full(len(held), _CLOSED)])
    for _ in range(_ITERATIONS):
        if (np.abs(r) <= limit * size).all():
            return q, u, x
        worst = np.linalg.norm(r / size)
        dx, du, dq = _smallest_step([J / size[:, None] for J in jacobians], r / size)
        short = min(1.0, _STRIDE / max(float(np.abs(dq).max()), 1e-300))
        dx, du, dq = short * dx, short * du, short * dq
        for _ in range(30):
            moved = u.copy()
            moved[list(free)] += du
            trial = q + dq, moved, x + dx
            r, new_size, jacobians = at(*trial)
            if np.isfinite(r).all() and np.linalg.norm(r / size) <= (1 - 1e-4) * worst:
                break
            dx, du, dq = dx / 2, du / 2, dq / 2
        else:
            break
        (q, u, x), size = trial, new_size
    r, size, _ = at(q, u, x)
    raise _stuck(model, who, r, size, held)


def _smallest_step(jacobians: Sequence[FloatArray], r: FloatArray) -> list[FloatArray]:
    """Return changes with Σ J δ = −r in the least-squares sense: of the last as little as will do, then of the others.

    The pose stays where it can, inputs as they are if forces of constraints and contacts do it.
    """
    project = np.eye(r.size)
    projected = []
    for J in jacobians:
        P = project @ J
        U, sizes, Vt = np.linalg.svd(P, full_matrices=False)
        kept = sizes > 1e-10 * np.linalg.norm(J)  # what projection leaves of the rest is rounding
        inverse = (Vt[kept].T / sizes[kept]) @ U[:, kept].T
        projected.append((inverse, project))
        project = project - P @ inverse @ project
    steps: list[FloatArray] = []
    for J, (inverse, before) in zip(reversed(jacobians), reversed(projected), strict=True):
        step = -inverse @ (before @ r)
        steps.append(step)
        r = r + J @ step
    return steps[::-1]


def _stuck(model: Model, who: str, r: FloatArray, size: FloatArray, held: Sequence[int]) -> StartError:
    nb = len(model.coordinates)
    units = [x.unit for x in (*model.constraints, *model.gaps)]
    for k, i in enumerate(held):
        if abs(r[nb + k]) > _CLOSED:
            name = row_names(model)[i][0]
            return StartError(
                who,
                f"{name} to be zero",
                f"{r[nb + k]:.6g} {units[i]} at best",
                "It cannot be met beside the others: check the mode, or start nearer with `near`.",
            )
    k = int(np.argmax(np.abs(r[:nb] / size[:nb])))
    return StartError(
        who,
        f"forces along '{model.coordinates[k].name}' in balance",
        f"{r[k]:.6g} left over",
        "Nothing holds it there: close another contact, leave an input free, or start elsewhere with `near`.",
    )
