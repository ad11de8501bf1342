"""An operating point: a state, inputs and parameters, with a mode that holds there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.law import ACCELERATION, TANGENT, Law, is_compliant, sticks_compliantly
from impinge.errors import InputError, StartError, unknown_name
from impinge.model import Model
from impinge.simulation.check import START_TOLERANCE, check_inertia, laws_of
from impinge.simulation.dynamics import right_hand_side
from impinge.simulation.method import Adaptive
from impinge.simulation.plant import FORCE, RATE, VALUE, Plant, Workspace, workspace
from impinge.simulation.run import plant_of

FloatArray = NDArray[np.float64]

# A row whose value and rate are below this is met.
_ON = 1e-13
# A closed contact whose force is above this (N) does not pull.
_PULLS = -1e-9
# Newton steps to the bend of a spring; those of the laws here are linear, and need one.
_BENDS = 20


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


def point_of(model: Model, at: Mapping[str, float] | Point | None, parameters: Mapping[str, float] | None) -> Point:
    """Return a point from values by name: coordinates, velocities (``x_dot``) and inputs; the rest as in the model."""
    if isinstance(at, Point):
        sizes = len(model.coordinates), len(model.coordinates), len(model.inputs)
        if (at.q.size, at.v.size, at.u.size) != sizes or getattr(at, "model", model.name) != model.name:
            raise InputError(
                f"point of model '{model.name}'",
                f"a point of this model ({sizes[0]} coordinates, {sizes[2]} inputs)",
                f"one of {at.q.size} coordinates, {at.u.size} inputs"
                + (f" of model '{at.model}'" if hasattr(at, "model") else ""),
                "Pass the point, or the equilibrium, that belongs to this model.",
            )
        return at
    states = [name for c in model.coordinates for name in (c.name, f"{c.name}_dot")]
    inputs = [x.name for x in model.inputs]
    for name in at or {}:
        if name not in states and name not in inputs:
            raise unknown_name(f"point of model '{model.name}'", "coordinate, velocity or input", name, states + inputs)
    given = dict(at or {})
    q, v = model.start_vectors({name: x for name, x in given.items() if name in states})
    u = model.input_vector({name: x for name, x in given.items() if name in inputs})
    return Point(q, v, u, dict(parameters or {}))


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


def row_names(model: Model) -> list[tuple[str, str]]:
    """Return, for every row, the names of its value and of its force, as results have them."""
    names = [(f"residual_{x.name}", f"force_{x.name}") for x in model.constraints]
    names += [(f"gap_{x.name}", f"force_{x.name}") for x in model.gaps]
    return names + [(f"slip_{name}", f"friction_{name}") for _, name in model.slips]


def in_mode(
    model: Model,
    point: Point,
    closed: Sequence[int],
    law: Law | Mapping[str, Law] | None,
    stabilization: tuple[float, float],
    who: str,
) -> tuple[Plant, Workspace]:
    """Return plant and workspace with the mode's contacts closed at a point, moved onto them and evaluated there.

    A contact that sticks compliantly bears what keeps its slip from accelerating, as it does at rest.

    Raises:
        StartError: if the point is not on a closed constraint, or the mode cannot hold there.
    """
    p = model.parameter_vector(point.parameters)
    check_inertia(who, model.terms_at(point.q, point.v, point.time, point.u, p)["M"])
    laws, soft = laws_of(model, law), compliant_rows(model, law)
    plant = plant_of(model, laws, p, stabilization, Adaptive(), 1.0)
    rows = closed_rows(model, closed, soft)
    springs = [i for i in closed_rows(model, closed) if i in soft and i >= model.row_slices[2].start]
    w = workspace(plant, model.dynamics.size)
    w.y[: plant.nq + plant.nv] = np.concatenate([point.q, point.v])
    w.u[:] = point.u
    for c in model.extents:
        w.mode[c] = plant.passed[c]
    w.mode[list(closed)] = plant.closing[list(closed)]
    packed, derivative = (Struct(plant), Struct(w)), np.zeros(w.y.size)

    def evaluate() -> None:
        right_hand_side(*packed, point.time, w.y, derivative)  # for the slips, at which they stick
        w.anchor[:] = w.rows[VALUE, model.row_slices[2]]
        right_hand_side(*packed, point.time, w.y, derivative)
        if springs:
            _load_springs(plant, w, laws, springs)
            right_hand_side(*packed, point.time, w.y, derivative)

    evaluate()
    _check(model, plant, w, closed, rows, who)
    w.y[: plant.nq + plant.nv] = np.concatenate(onto_rows(model, point, rows))
    evaluate()
    return plant, w


def _load_springs(plant: Plant, w: Workspace, laws: Sequence[Law], springs: Sequence[int]) -> None:
    """Bend the springs that slips stick with, so that these do not accelerate at the state just evaluated."""
    nv, m, first = plant.nv, plant.nh + plant.nc + plant.ns, plant.nh + plant.nc
    held = [i for i in range(m) if w.prescribed[i] == ACCELERATION or i in springs]
    given = [i for i in range(m) if i not in held]
    W = w.out[nv + 4 * m + 3 + nv * m :][: m * m].reshape((m, m))
    target = np.where(w.prescribed[held] == ACCELERATION, w.value[held], 0.0)
    missing = target - w.out[nv + 2 * m :][held] - W[np.ix_(held, given)] @ w.rows[FORCE, given]
    forces = dict(zip(held, np.linalg.pinv(W[np.ix_(held, held)], rcond=1e-11, hermitian=True) @ missing, strict=True))
    for i in springs:
        c, s = plant.normal[i] - plant.nh, i - first
        bent = _bend_of(laws[c], float(w.rows[RATE, i]), float(forces[i]))
        w.anchor[s] = w.rows[VALUE, i] - bent
        if plant.nb > 0:
            w.y[plant.nq + plant.nv + plant.nc + plant.nt + s] = bent


def _bend_of(law: Law, rate: float, force: float) -> float:
    """Return how far the spring that a law sticks with is bent when it bears a force, by Newton's method."""
    mode, gains, out, bent = law.closed.index(True), np.array(law.gains, dtype=float), np.zeros(2), 0.0
    for _ in range(_BENDS):
        law.prescribe(mode, TANGENT, bent, rate, gains, out)
        missing = force - float(out[0])
        law.slope(mode, TANGENT, bent, rate, gains, out)
        if abs(missing) <= 1e-14 * abs(force) or out[0] == 0.0:
            break
        bent += missing / float(out[0])
    return bent


def onto_rows(model: Model, point: Point, rows: Sequence[int], within: float = _ON) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates and velocities on some rows that are nearest to a point beside them.

    What is redundant on closed rows is not so beside them. A row is met if value and rate are ``within`` of zero.
    """
    (q, v), p = (point.q, point.v), model.parameter_vector(point.parameters)
    held = [i for i in rows if i < model.row_slices[2].start]
    for _ in range(10):
        terms = model.terms_at(q, v, point.time, point.u, p)
        value = np.concatenate([terms["h"], terms["gap"]])[held]
        rate = np.concatenate([terms["h_dot"], terms["gap_dot"], terms["slip_dot"]])[rows]
        if max(np.abs(value).max(initial=0.0), np.abs(rate).max(initial=0.0)) <= within:
            break
        A = np.vstack([terms["H"], terms["J"], terms["T"]])
        q, v = q - _inverse(A[held]) @ value, v - _inverse(A[rows]) @ rate
    return q, v


def _inverse(A: FloatArray) -> FloatArray:
    """Return the pseudo-inverse, with directions taken as redundant that the tolerance of a point may open."""
    size = np.linalg.norm(A, axis=1, keepdims=True)
    scaled = A / np.where(size > 0, size, 1.0)
    return np.asarray(np.linalg.pinv(scaled, rcond=1e-4) / np.where(size > 0, size, 1.0).T)


def _check(model: Model, plant: Plant, w: Workspace, closed: Sequence[int], rows: Sequence[int], who: str) -> None:
    names, units = row_names(model), [x.unit for x in (*model.constraints, *model.gaps)]
    slips = model.row_slices[2].start
    for i in rows:
        # A slip counts from where it is; a slip rate must be zero all the same.
        for kind, per in ((VALUE, ""), (RATE, "/s")) if i < slips else ((RATE, "/s"),):
            value = float(w.rows[kind, i])
            if not abs(value) <= START_TOLERANCE:
                what = names[i][0] + ("_dot" if kind == RATE else "")
                unit = units[i] if i < slips else "m"
                raise StartError(
                    who,
                    f"{what} zero within {START_TOLERANCE:g}, as the mode has it closed",
                    f"{value:.6g} {unit}{per}",
                    "Find a point on the constraint with equilibrium(...), or leave it out of the mode.",
                )
    for c in closed:
        gap = float(w.rows[VALUE, plant.nh + c])
        if gap > START_TOLERANCE:  # of a compliant contact, which no row holds
            raise StartError(
                who,
                f"gap_{model.contacts[c]} of zero or less, as the mode has it closed",
                f"{gap:.6g} {model.gaps[c].unit}",
                "Move the point to where the two touch, or leave the contact out of the mode.",
            )
        name, force = model.contacts[c], float(w.rows[FORCE, plant.nh + c])
        if plant.extent[c] >= 0 and w.rows[VALUE, plant.extent[c]] <= 0:
            extent = float(w.rows[VALUE, plant.extent[c]])
            raise StartError(
                who,
                f"a surface under contact '{name}' (extent above zero)",
                f"extent {extent:.6g}",
                "Move the point to where the surface is.",
            )
        slips = slice(plant.nh + plant.nc + plant.slips[c], plant.nh + plant.nc + plant.slips[c + 1])
        held, most = float(np.linalg.norm(w.rows[FORCE, slips])), float(plant.mu[c]) * max(force, 0.0)
        if model.gaps[c].slides and not held <= most - _PULLS:
            raise StartError(
                who,
                f"contact '{name}' to stick, by a friction of at most {most:.6g} N",
                f"{held:.6g} N: the mode cannot hold there",
                "Raise its friction, leave it out of the mode, or choose another point.",
            )
        if not force >= _PULLS:
            raise StartError(
                who,
                f"contact '{name}' to push",
                f"force {force:.6g} N: the mode cannot hold there",
                "Leave it out of the mode, or choose another point.",
            )
    for c, one in enumerate(model.gaps):
        value = float(w.rows[VALUE, plant.nh + c])
        if c not in closed and not one.limited and value < -START_TOLERANCE:
            raise StartError(
                who,
                f"gap '{one.name}', which the mode has open, of zero or more",
                f"{value:.6g} {one.unit}",
                "Choose a point at which the two do not overlap.",
            )


def named(names: Sequence[str], values: Any) -> dict[str, float]:
    """Return values by name."""
    return {name: float(value) for name, value in zip(names, values, strict=True)}
