"""Exact linear models of a mechanism with its contacts closed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.linear_model import LinearModel
from impinge.analysis.linear.mode import Mode, in_mode
from impinge.analysis.linear.point import (
    Point,
    carried,
    closed_rows,
    compliant_rows,
    mode_indices,
    model_at,
    point_of,
    rates_only,
    row_names,
)
from impinge.analysis.linear.rank import redundant_rows
from impinge.analysis.linear.tangent import Tangent, differentiate, tangent_workspace
from impinge.compile import Struct
from impinge.contact import Baumgarte
from impinge.contact.law import FORCE as GIVEN
from impinge.contact.law import Law
from impinge.contact.rows import pivoted_cholesky, row_workspace
from impinge.errors import InputError, unknown_name
from impinge.model import Model
from impinge.scene.scene import Scene
from impinge.simulation.system.plant import Plant, Workspace

FloatArray = NDArray[np.float64]

_FORMS = ("reduced", "stabilized")
# A coordinate is made dependent if it moves this much as easily as the easiest, in the kinetic metric.
_EASY = 0.1


def linearize(
    system: Model | Scene,
    at: Mapping[str, float] | Point | None = None,
    mode: Sequence[str] = (),
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    form: Literal["reduced", "stabilized"] = "reduced",
    law: Law | Mapping[str, Law] | None = None,
    stabilization: tuple[float, float] = (400.0, 40.0),
    parameters: Mapping[str, float] | None = None,
    time: float | None = None,
) -> LinearModel:
    """Return the exact linear model of a mechanism in a mode, about a point.

    Args:
        system: what moves: a model, or a scene as it is around the point (`impinge.Scene.around`).
        at: the point: an `Equilibrium`, or values by name (coordinates, velocities ``x_dot``, inputs); what
            is not named is as in the model. It need not be an equilibrium.
        mode: the contacts that are closed. They stick where they have sliding directions. A compliant one that would
            pull at the point is open there, as its law has it, and not in the ``mode`` of the linear model.
        inputs: names; all inputs by default.
        outputs: names of any signal that a result has: outputs, coordinates, velocities, gaps (``gap_…``),
            slips, forces (``force_…``, ``friction_…``). By default the model's outputs, or if it declares none
            its coordinates and velocities.
        form: ``"reduced"`` to the constraint manifold, in the fewest coordinates; or ``"stabilized"``, in all
            of them, with the poles by which closed rows return to zero.
        law: how closed contacts return to zero, for the stabilized form. The gap and the slips of a contact with a
            compliant law stay motions of the model in both forms, with the law's stiffness and damping at the
            point's depth, and those of its stick. There it bears the friction that keeps it from sliding off.
        stabilization: the same for bilateral constraints.
        parameters: parameters that differ from the point's, if ``at`` is one, else from the model's.
        time: the instant, s, for models that depend on it; that of the point, or zero, if not given. Coordinates and
            velocities are then those on surfaces as these are and move at this instant.

    Raises:
        ImpingeError: if a name is unknown, the point is not on a closed row, the mode cannot hold there, or closed
            rows hold fewer directions at this point than around it, so that motions branch. Rows that are redundant
            around it as well are no error: ``redundant`` of the linear model names them. Of these, forces have a
            linear model only where the smallest forces are such that contacts can give them.

    Example:
        >>> from impinge import robots
        >>> top = {"q1": 0.3, "q3": 0.0816 + 0.00635}
        >>> linear = linearize(robots.maze(), top, mode=["ring1"], outputs=["x", "force_ring1"])
        >>> linear.state_labels
        ['q1', 'q2', 'q1_dot', 'q2_dot']
        >>> round(float(linear.poles().real.max()), 3)
        8.954
    """
    model = model_at(system, at, time)
    who = f"linear model of '{model.name}'"
    inputs, outputs = ([names] if isinstance(names, str) else names for names in (inputs, outputs))
    if form not in _FORMS:
        raise unknown_name(who, "form", str(form), _FORMS)
    point = point_of(model, at, parameters, time)
    closed = mode_indices(model, who, mode)
    chosen = _columns(model, who, inputs)
    law = law or Baumgarte()
    held = in_mode(model, point, closed, law, stabilization, who)
    plant, w, closed = held.plant, held.w, list(held.closed)
    d = tangent_workspace(model, w.y.size, plant.parameters)
    d.still[0] = not w.y[plant.nq : plant.nq + plant.nv].any()
    _check_springs(model, who, held)
    differentiate(Struct(plant), Struct(w), Struct(d), point.time, w.y)
    rows = closed_rows(model, closed, compliant_rows(model, law))
    table = _signals(model, plant, d, model.coordinate_slopes(w.y[: plant.nq]))
    states = [x.name for x in (*model.directions, *model.velocities)]
    names = list(outputs) if outputs is not None else [x.name for x in model.outputs] or states
    _check_names(who, "output", names, table)
    point = replace(point, q=w.y[: plant.nq].copy(), v=w.y[plant.nq : plant.nq + plant.nv].copy())
    redundant = redundant_rows(model, point, _block(d, "rate", model)[rows][:, plant.nv : 2 * plant.nv], rows, who)
    if not held.smallest:
        _check_smallest(model, who, names, held)
    if not chosen and len(names) == 1:
        remedy = "Ask for another output too: python-control has no system without inputs that has only one."
        raise InputError(who, "an input, or two outputs", f"no input and output '{names[0]}'", remedy)

    nv, nu = plant.nv, plant.nu
    nx = 2 * nv
    A = np.zeros((nx, nx))
    A[:nv, :nv], A[:nv, nv:] = carried(model, point.v), np.eye(nv)
    A[nv:] = d.a[:, :nx]
    B = np.vstack([np.zeros((nv, nu)), d.a[:, nx : nx + nu]])
    CD = np.array([table[name][0] for name in names]).reshape(len(names), nx + nu)
    units = [x.unit for x in (*model.directions, *model.velocities)]
    T, kept, poles = np.eye(nx), list(range(nx)), _constraint_poles(plant, w, d, rows, rates_only(model))
    if form == "reduced":
        T, kept = _manifold(model, plant, d, rows, point)
        poles = []
    return LinearModel(
        (A[kept] @ T, B[kept][:, chosen], CD[:, :nx] @ T, CD[:, nx:][:, chosen]),
        mode=[model.contacts[c] for c in closed],
        form=form,
        redundant=redundant,
        constraint_poles=poles,
        units=(
            [units[k] for k in kept],
            [model.inputs[k].unit for k in chosen],
            [table[name][1] for name in names],
        ),
        name=model.name,
        states=[states[k] for k in kept],
        inputs=[model.inputs[k].name for k in chosen],
        outputs=names,
    )


def _check_springs(model: Model, who: str, held: Mode) -> None:
    """Raise the error that fits if springs hold slips that are given by their rates, of a model that moves."""
    plant, w = held.plant, held.w
    if not w.y[plant.nq : plant.nq + plant.nv].any():
        return
    for c in held.closed:
        first, last = plant.nh + plant.nc + plant.slips[c : c + 2]
        if model.gaps[c].by_rate and (w.prescribed[first:last] == GIVEN).any():
            raise InputError(
                who,
                f"a point at rest, where springs hold the slips of contact '{model.contacts[c]}'",
                "one that moves: how far these slips have got is no function of the coordinates",
                "Choose a law that sticks rigidly, such as Baumgarte() or Impact().",
            )


def _columns(model: Model, who: str, inputs: Sequence[str] | None) -> list[int]:
    known = [x.name for x in model.inputs]
    _check_names(who, "input", inputs or (), known)
    if inputs is not None and not list(inputs):
        raise InputError(who, "at least one input", "none", "Leave `inputs` out to have them all.")
    return [known.index(name) for name in inputs] if inputs is not None else list(range(len(known)))


def _check_names(who: str, kind: str, names: Sequence[str], known: Iterable[str]) -> None:
    for k, name in enumerate(names):
        if name not in known:
            raise unknown_name(who, kind, name, known)
        if name in names[:k]:
            raise InputError(who, f"every {kind} once", f"'{name}' twice", "Name it once.")


def _check_smallest(model: Model, who: str, names: Sequence[str], held: Mode) -> None:
    """Raise the error that fits if forces are asked for that are not the smallest of all: they have no derivative."""
    forces = [row_names(model)[i][1] for i, own in zip(held.rows, held.internal, strict=True) if own.any()]
    for name in names:
        if name in forces:
            raise InputError(
                who,
                "outputs other than forces that redundant contacts share at their limits",
                f"'{name}': the smallest forces of all would pull, or exceed friction",
                "Leave it out, or leave out of the mode what carries nothing there.",
            )


def _block(d: Tangent, name: str, model: Model) -> FloatArray:
    """Return one output of the model's tangent kernel, without the columns of parameters and time."""
    block: FloatArray = getattr(d.by, name).T
    return block[:, : 2 * len(model.velocities) + len(model.inputs)]


def _signals(model: Model, plant: Plant, d: Tangent, turned: FloatArray) -> dict[str, tuple[FloatArray, str]]:
    """Return the derivatives by (ξ, v, u) and the unit of every signal that may be an output; ``turned`` is ∂q/∂ξ."""
    unit = np.eye(2 * plant.nv + plant.nu)
    table = {x.name: (unit[k], x.unit) for k, x in enumerate((*model.directions, *model.velocities))}
    for k, x in enumerate(model.coordinates):
        table.setdefault(x.name, (turned[k] @ unit[: plant.nv], x.unit))
    for k, y in enumerate(model.outputs):
        table[y.name] = _block(d, "y", model)[k], y.unit
    values, rates, forces = _block(d, "g", model), _block(d, "rate", model), d.force[:, : unit.shape[0]]
    units = [x.unit for x in (*model.constraints, *model.gaps)] + [model.gaps[c].unit for c, _ in model.slips]
    for i, (value, force) in enumerate(row_names(model)):
        table[value] = values[i], units[i]
        table[f"{value}_dot"] = rates[i], f"{units[i]}/s"
        table[force] = forces[i], "N"
    return table


def _independent(A: FloatArray, weight: FloatArray) -> list[int]:
    """Return columns of A that span its range: late ones first, as far as they are not much shorter than others."""
    rest, chosen = A / weight, list[int]()
    size = np.linalg.norm(rest, axis=0).max(initial=0.0)
    while True:
        length = np.linalg.norm(rest, axis=0)
        if length.max(initial=0.0) <= 1e-9 * max(size, 1e-300):
            return sorted(chosen)
        k = int(np.flatnonzero(length >= _EASY * length.max())[-1])
        direction = rest[:, k] / length[k]
        rest = rest - np.outer(direction, direction @ rest)
        rest[:, k] = 0.0
        chosen.append(k)


def _manifold(
    model: Model, plant: Plant, d: Tangent, rows: Sequence[int], point: Point
) -> tuple[FloatArray, list[int]]:
    """Return ∂(ξ, v)/∂(independent ξ and v) on the constraint manifold, and which ones are independent.

    Rows that are given by their rates bind velocities only.
    """
    nv = plant.nv
    by_rate, rate = rates_only(model), _block(d, "rate", model)
    weight = np.sqrt(np.diag(model.terms_at(point.q, point.v, point.time, point.u, plant.parameters)["M"]))
    size = np.linalg.norm(rate[:, nv : 2 * nv], axis=1, keepdims=True)
    rate = rate / np.where(size > 0, size, 1.0)
    held = [i for i in rows if i not in by_rate]
    places, moves = (_spanned(rate[some][:, nv : 2 * nv], weight) for some in (held, rows))
    V = np.zeros((nv, places.S.shape[1]))
    V[moves.dependent] = -_solve(rate[rows][:, nv : 2 * nv][:, moves.dependent], rate[rows][:, :nv] @ places.S)
    T = np.block([[places.S, np.zeros((nv, moves.S.shape[1]))], [V, moves.S]])
    return T, places.free + [nv + k for k in moves.free]


class _Span(NamedTuple):
    """Which columns are free and which follow them, x = S x_free, where rows hold A x = 0."""

    free: list[int]
    dependent: list[int]
    S: FloatArray


def _spanned(A: FloatArray, weight: FloatArray) -> _Span:
    dependent = _independent(A, weight)
    free = [k for k in range(A.shape[1]) if k not in dependent]
    S = np.zeros((A.shape[1], len(free)))
    S[free] = np.eye(len(free))
    S[dependent] = -_solve(A[:, dependent], A[:, free])
    return _Span(free, dependent, S)


def _solve(A: FloatArray, b: FloatArray) -> FloatArray:
    solution: Any = np.linalg.lstsq(A, b, rcond=None)[0]
    return np.asarray(solution, dtype=float)


def _constraint_poles(
    plant: Plant, w: Workspace, d: Tangent, rows: Sequence[int], by_rate: Collection[int]
) -> list[complex]:
    """Return the poles by which the independent closed rows return to zero, s² = slope + slope_rate s.

    Those that are given by their rates have no value that returns, s = slope_rate.
    """
    if not rows:
        return []
    m, W = d.value.size, w.terms.W[np.ix_(rows, rows)]
    work, n = row_workspace(m), len(rows)
    rank = pivoted_cholesky(W, n, Struct(work))
    independent = [rows[k] for k in work.order[:rank]]
    return [
        root
        for i in independent
        for root in np.roots([1.0, -d.slopes[2 * i + 1], *([] if i in by_rate else [-d.slopes[2 * i]])])
    ]
