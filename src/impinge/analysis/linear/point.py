"""An operating point: a state, inputs and parameters; and the rows that a mode closes there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.contact.law import Law, is_compliant, sticks_compliantly
from impinge.errors import InputError, unknown_name
from impinge.model import Model, finite
from impinge.scene.scene import Scene
from impinge.simulation.check import laws_of

FloatArray = NDArray[np.float64]

# A row whose value and rate are below this is met.
_ON = 1e-13


@dataclass(frozen=True)
class Point:
    """Where a model is, and what acts on it.

    Attributes:
        q, v, u: coordinates, velocities and inputs.
        parameters: those that differ from the model's.
        time: for models that depend on it, s.
    """

    q: FloatArray
    v: FloatArray
    u: FloatArray
    parameters: Mapping[str, float] = field(default_factory=dict)
    time: float = 0.0


def point_of(
    model: Model,
    at: Mapping[str, float] | Point | None,
    parameters: Mapping[str, float] | None,
    time: float | None = None,
) -> Point:
    """Return a point from values by name: coordinates, velocities (``x_dot``) and inputs; the rest as in the model.

    Of a point that is one already, parameters and time are changed if they are given.
    """
    model.parameter_vector(parameters or {})  # raises the error that fits an unknown name
    if isinstance(at, Point):
        sizes = len(model.coordinates), len(model.velocities), len(model.inputs)
        if (at.q.size, at.v.size, at.u.size) != sizes or getattr(at, "model", model.name) != model.name:
            raise InputError(
                f"point of model '{model.name}'",
                f"a point of this model ({sizes[0]} coordinates, {sizes[2]} inputs)",
                f"one of {at.q.size} coordinates, {at.u.size} inputs"
                + (f" of model '{at.model}'" if hasattr(at, "model") else ""),
                "Pass the point, or the equilibrium, that belongs to this model.",
            )
        own = at.time if time is None else finite(f"time of the point of model '{model.name}'", time)
        return Point(at.q, at.v, at.u, {**at.parameters, **(parameters or {})}, own)
    states = [x.name for x in (*model.coordinates, *model.velocities)]
    inputs = [x.name for x in model.inputs]
    for name in at or {}:
        if name not in states and name not in inputs:
            raise unknown_name(f"point of model '{model.name}'", "coordinate, velocity or input", name, states + inputs)
    given = dict(at or {})
    q, v = model.start_vectors({name: x for name, x in given.items() if name in states})
    u = model.input_vector({name: x for name, x in given.items() if name in inputs})
    return Point(q, v, u, dict(parameters or {}), finite(f"time of the point of model '{model.name}'", time or 0.0))


def model_at(system: Model | Scene, at: Mapping[str, float] | Point | None, time: float | None) -> Model:
    """Return a system as a model around a point that is given by values, or is an equilibrium."""
    pose = getattr(at, "pose", None) if isinstance(at, Point) else at
    return system.around(pose, time=getattr(at, "time", 0.0) if time is None else time)


def mode_indices(model: Model, who: str, mode: Sequence[str]) -> list[int]:
    """Return the indices of the contacts that a mode names as closed."""
    names = (mode,) if isinstance(mode, str) else tuple(mode)
    for name in names:
        if name not in model.contacts:
            raise unknown_name(who, "contact of the mode", name, model.contacts)
    return sorted({model.contacts.index(name) for name in names})


def compliant_contacts(model: Model, law: Law | Mapping[str, Law] | None) -> set[int]:
    """Return the contacts whose law gives their force, so that their gap is free to move while they are closed."""
    return {c for c, one in enumerate(laws_of(model, law)) if is_compliant(one)}


def compliant_rows(model: Model, law: Law | Mapping[str, Law] | None) -> set[int]:
    """Return the gaps and slips whose force a law gives: they are free to move while their contact is closed."""
    _, gaps, slips = model.row_slices
    stick = {c for c, one in enumerate(laws_of(model, law)) if sticks_compliantly(one)}
    rows = {gaps.start + c for c in compliant_contacts(model, law)}
    return rows | {slips.start + s for s, (c, _) in enumerate(model.slips) if c in stick}


def closed_rows(model: Model, closed: Sequence[int], compliant: Collection[int] = ()) -> list[int]:
    """Return the rows that a mode holds: all constraints, gaps and slips of its contacts, but no compliant ones."""
    h, gaps, slips = model.row_slices
    rows = list(range(h.stop)) + [gaps.start + c for c in closed]
    rows += [slips.start + k for k, (c, _) in enumerate(model.slips) if c in closed]
    return [i for i in rows if i not in compliant]


def rates_only(model: Model) -> set[int]:
    """Return the rows that are given by their rates, and so bind velocities only."""
    rows = {k for k, x in enumerate(model.constraints) if x.by_rate}
    return rows | {model.row_slices[2].start + s for s, (c, _) in enumerate(model.slips) if model.gaps[c].by_rate}


def carried(model: Model, v: FloatArray) -> FloatArray:
    """Return how small displacements change as a motion carries them along, ξ̇ = C ξ + δv (nv × nv).

    Turns about a rotation's own axes turn against these: ξ̇ = δω − ω × ξ.
    """
    C = np.zeros((v.size, v.size))
    for spin in model.spins:
        x, y, z = v[spin.v : spin.v + 3]
        C[spin.v : spin.v + 3, spin.v : spin.v + 3] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    return C


def row_names(model: Model) -> list[tuple[str, str]]:
    """Return, for every row, the names of its value and of its force, as results have them."""
    names = [(f"residual_{x.name}", f"force_{x.name}") for x in model.constraints]
    names += [(f"gap_{x.name}", f"force_{x.name}") for x in model.gaps]
    return names + [(f"slip_{name}", f"friction_{name}") for _, name in model.slips]


def onto_rows(model: Model, point: Point, rows: Sequence[int], within: float = _ON) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates and velocities on some rows that are nearest to a point beside them.

    What is redundant on closed rows is not so beside them. A row is met if value and rate are ``within`` of zero.
    """
    (q, v), p = (point.q, point.v), model.parameter_vector(point.parameters)
    held = [i for i in rows if i < model.row_slices[2].start and i not in rates_only(model)]
    for _ in range(10):
        terms = model.terms_at(q, v, point.time, point.u, p)
        value = np.concatenate([terms["h"], terms["gap"]])[held]
        rate = np.concatenate([terms["h_dot"], terms["gap_dot"], terms["slip_dot"]])[rows]
        if max(np.abs(value).max(initial=0.0), np.abs(rate).max(initial=0.0)) <= within:
            break
        A = np.vstack([terms["H"], terms["J"], terms["T"]])
        q, v = model.displaced(q, -_inverse(A[held]) @ value), v - _inverse(A[rows]) @ rate
    return q, v


def _inverse(A: FloatArray) -> FloatArray:
    """Return the pseudo-inverse, with directions taken as redundant that the tolerance of a point may open."""
    size = np.linalg.norm(A, axis=1, keepdims=True)
    scaled = A / np.where(size > 0, size, 1.0)
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-4) / np.where(size > 0, size, 1.0).T)


def named(names: Sequence[str], values: Any) -> dict[str, float]:
    """Return values by name."""
    return {name: float(value) for name, value in zip(names, values, strict=True)}
