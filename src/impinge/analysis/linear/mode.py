"""A mode at a point: its contacts closed, and forces that they can give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.point import Point, closed_rows, compliant_rows, onto_rows, row_names
from impinge.compile import Struct
from impinge.contact.admissible import Limit, only_forces, smallest_forces, violation
from impinge.contact.law import ACCELERATION, NOTHING, TANGENT, Law, is_compliant
from impinge.errors import StartError
from impinge.model import Model
from impinge.simulation.check import START_TOLERANCE, check_inertia, laws_of
from impinge.simulation.integrate.method import Adaptive
from impinge.simulation.run import plant_of
from impinge.simulation.system.dynamics import right_hand_side
from impinge.simulation.system.plant import FORCE, RATE, VALUE, Plant, Workspace, workspace

FloatArray = NDArray[np.float64]

# Of the largest force, a contact gives forces that are this far from what it can give; also such that count as none.
_SHARE = 1e-10
# Rows depend on each other if they do so within this, where each moves as much in the kinetic metric.
_DEPENDENT = 3e-6
# The same at rest, where forces are known from the balance, of a pose that is known to 1e-12 m.
_DEPENDENT_AT_REST = 1e-10
# Redundant rows that ask for accelerations which differ by more than this share contradict each other.
_CONTRADICTION = 1e-6
_SLOWLY = 1e-9  # m/s²
# Of the fastest row, a row that moves slower stands still.
_STILL = 1e-6
# Gaps (m) below this are rounding: a compliant contact that rests without a load is closed.
_ROUNDING = 2e-12
# Newton steps to the bend of a spring; those of the laws here are linear, and need one.
_BENDS = 20


class Mode(NamedTuple):
    """A mode that holds at a point.

    Attributes:
        plant, w: as the simulator has them there, with the smallest forces whether contacts can give them or not.
        closed: the contacts that are closed: those that were asked for, less compliant ones that would pull.
        rows: the constraints, gaps and slips whose forces are found, and not given by a law.
        force: of all rows, such that every contact can give it (m); the smallest such.
        smallest: whether the contacts can give the smallest forces of all that do it.
        internal: a basis of the forces of ``rows`` that balance each other (n × k); none unless rows are redundant.
        limits: what the contacts among ``rows`` can give.
    """

    plant: Plant
    w: Workspace
    closed: tuple[int, ...]
    rows: list[int]
    force: FloatArray
    smallest: bool
    internal: FloatArray
    limits: list[Limit]

    @property
    def unique(self) -> bool:
        """Whether contacts can give no other forces."""
        return only_forces(self.force[self.rows], self.internal, self.limits)


def in_mode(
    model: Model,
    point: Point,
    closed: Sequence[int],
    law: Law | Mapping[str, Law] | None,
    stabilization: tuple[float, float],
    who: str,
    known: Mapping[int, float] | None = None,
) -> Mode:
    """Return what the simulator has with a mode's contacts closed at a point that is moved onto them, and its forces.

    At rest forces may be known by rows, from the balance itself: W has the square of its condition.

    A contact that sticks compliantly bears what keeps its slip from accelerating, as it does at rest. A compliant
    contact that would pull is open.

    Raises:
        StartError: if the point is not on a closed constraint, or the mode cannot hold there.
    """
    p = model.parameter_vector(point.parameters)
    M = model.terms_at(point.q, point.v, point.time, point.u, p, only=("M",))["M"]
    check_inertia(who, M)
    laws, soft = laws_of(model, law), compliant_rows(model, law)
    plant = plant_of(model, laws, p, stabilization, Adaptive(), 1.0)
    w = workspace(plant, model.dynamics)
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

    evaluate()
    _check_place(model, plant, w, closed, closed_rows(model, closed, soft), who)
    closed = tuple(c for c in closed if not _would_pull(laws[c], plant, w, c))
    for c in set(range(plant.nc)).difference(closed):
        w.mode[c] = plant.passed[c] if c in model.extents else 0
    w.y[: plant.nq + plant.nv] = np.concatenate(onto_rows(model, point, closed_rows(model, closed, soft)))
    evaluate()
    springs = [i for i in closed_rows(model, closed) if i in soft and i >= model.row_slices[2].start]
    mode = _forces(model, M, plant, w, closed, springs, known or {}, who)
    if springs:
        _load_springs(plant, w, laws, springs, mode.force)
        right_hand_side(*packed, point.time, w.y, derivative)
    return mode


def _would_pull(law: Law, plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a contact is open by its law, which gives its force and would not let it pull."""
    if not is_compliant(law):
        return False
    gap, rate, force = (float(w.rows[kind, plant.nh + c]) for kind in (VALUE, RATE, FORCE))
    gains = np.array([*law.gains, 0.0], dtype=float)
    return not law.closed[law.decide(law.closed.index(True), gap - _ROUNDING, rate, force, gains, 0)]


def _forces(
    model: Model,
    M: FloatArray,
    plant: Plant,
    w: Workspace,
    closed: tuple[int, ...],
    springs: Sequence[int],
    known: Mapping[int, float],
    who: str,
) -> Mode:
    """Find forces that contacts can give at the state just evaluated, the smallest that do."""
    m, nh = plant.nh + plant.nc + plant.ns, plant.nh
    rigid = [i for i in range(m) if w.prescribed[i] == ACCELERATION]
    rows = sorted({*rigid, *springs})
    given = [i for i in range(m) if i not in rows]
    W, force = w.terms.W, w.rows[FORCE, :m].copy()
    drift = w.terms.drift + W[:, given] @ force[given]
    if springs:
        target = np.where(w.prescribed[:m] == ACCELERATION, w.value[:m], 0.0)
        force[rows] = np.linalg.pinv(W[np.ix_(rows, rows)], rcond=1e-11, hermitian=True) @ (target - drift)[rows]
    else:
        _check_consistent(model, W, w, rigid, (w.value[:m] - drift)[rigid], who)
    limits, place = list[Limit](), {i: k for k, i in enumerate(rows)}
    for c in closed:
        slips = [place[i] for i in range(nh + plant.nc + plant.slips[c], nh + plant.nc + plant.slips[c + 1])]
        mu = float(plant.mu[c]) if model.gaps[c].slides else np.inf
        limits.append(Limit(place.get(nh + c), slips, mu, float(force[nh + c]) if nh + c in given else 0.0))
    smallest, rests = True, known.keys() >= set(rows)
    internal = _internal(M, w, rows, _DEPENDENT_AT_REST if rests else _DEPENDENT)
    if rests:
        force[rows] = [known[i] for i in rows]
        force[rows] -= internal @ np.linalg.lstsq(internal, force[rows], rcond=None)[0]
    if violation(force[rows], limits).max(initial=0.0) > (allowed := _allowed(force)):
        if not internal.size and (error := _only_ones(model, who, closed, limits, force[rows], allowed)):
            raise error
        found, motion = smallest_forces(force[rows], internal, limits)
        if found is None:
            raise _unheld(model, who, closed, limits, motion)
        force[rows], smallest = found, False
    return Mode(plant, w, closed, rows, force, smallest, internal, limits)


def _allowed(force: FloatArray) -> float:
    return max(NOTHING, _SHARE * float(np.abs(force).max(initial=0.0)))


def _internal(M: FloatArray, w: Workspace, rows: Sequence[int], dependent: float) -> FloatArray:
    """Return a basis of the forces of rows that balance each other at the state just evaluated, n × k."""
    response = w.terms.response[rows].T * np.sqrt(np.diag(M))[:, None]
    size = np.linalg.norm(response, axis=0)
    size[size == 0.0] = 1.0
    _, sizes, Vt = np.linalg.svd(response / size)
    rank = int((sizes > dependent).sum())
    return np.asarray(Vt[rank:].T / size[:, None])


def _check_consistent(
    model: Model, W: FloatArray, w: Workspace, rigid: Sequence[int], missing: FloatArray, who: str
) -> None:
    """Raise the error that fits if no forces give redundant rows the accelerations that they are asked for."""
    reached = W[np.ix_(rigid, rigid)] * w.rows[FORCE, rigid]
    left, size = missing - reached.sum(axis=1), np.abs(missing) + np.abs(reached).sum(axis=1)
    bad = [i for i, x, s in zip(rigid, left, size, strict=True) if abs(x) > _CONTRADICTION * s + _SLOWLY]
    if bad:
        names = row_names(model)
        raise StartError(
            who,
            "closed rows that one motion can follow",
            f"{', '.join(names[i][0] for i in bad)}, which depend on each other and accelerate apart",
            "Leave one of them out of the mode, or choose another instant.",
        )


def _unheld(model: Model, who: str, closed: Sequence[int], limits: Sequence[Limit], motion: FloatArray) -> StartError:
    """Return the error that says which contacts cannot hold, and by what motion they would give way."""
    opens = [c for c, limit in zip(closed, limits, strict=True) if _moves(motion, limit.normal)]
    slides = [c for c, limit in zip(closed, limits, strict=True) if any(_moves(motion, s) for s in limit.slips)]
    says = [
        f"{verb} at {', '.join(model.contacts[c] for c in some)}"
        for verb, some in (("opens", opens), ("slides", [c for c in slides if c not in opens]))
        if some
    ]
    why = f": it drives a motion that {' and '.join(says)}" if says else ""
    return StartError(
        who,
        f"forces that contacts {', '.join(model.contacts[c] for c in closed)} can give",
        f"none that balance the load{why}",
        "Leave out of the mode what opens, raise friction where it slides, or choose another point or load.",
    )


def _moves(motion: FloatArray, row: int | None) -> bool:
    return row is not None and abs(float(motion[row])) > _STILL


def _only_ones(
    model: Model, who: str, closed: Sequence[int], limits: Sequence[Limit], force: FloatArray, allowed: float
) -> StartError | None:
    """Return the error for the first contact that cannot give forces which are the only ones."""
    for c, limit in zip(closed, limits, strict=True):
        name, normal = model.contacts[c], limit.given if limit.normal is None else float(force[limit.normal])
        held, most = float(np.linalg.norm(force[list(limit.slips)])), limit.friction * max(normal, 0.0)
        if limit.friction < np.inf and held > most + allowed:
            return StartError(
                who,
                f"contact '{name}' to stick, by a friction of at most {most:.6g} N",
                f"{held:.6g} N: the mode cannot hold there",
                "Raise its friction, leave it out of the mode, or choose another point.",
            )
        if normal < -allowed:
            return StartError(
                who,
                f"contact '{name}' to push",
                f"force {normal:.6g} N: the mode cannot hold there",
                "Leave it out of the mode, or choose another point.",
            )
    return None


def _load_springs(plant: Plant, w: Workspace, laws: Sequence[Law], springs: Sequence[int], force: FloatArray) -> None:
    """Bend the springs that slips stick with, so that they bear these forces at the state just evaluated."""
    first = plant.nh + plant.nc
    for i in springs:
        c, s = plant.normal[i] - plant.nh, i - first
        bent = _bend_of(laws[c], float(w.rows[RATE, i]), float(force[i]))
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


def _check_place(
    model: Model, plant: Plant, w: Workspace, closed: Sequence[int], rows: Sequence[int], who: str
) -> None:
    """Raise the error that fits if the point just evaluated is not where the mode's contacts are closed."""
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
    for c, one in enumerate(model.gaps):
        value = float(w.rows[VALUE, plant.nh + c])
        if c not in closed and not one.limited and value < -START_TOLERANCE:
            raise StartError(
                who,
                f"gap '{one.name}', which the mode has open, of zero or more",
                f"{value:.6g} {one.unit}",
                "Choose a point at which the two do not overlap.",
            )
        if c in closed and value > START_TOLERANCE:  # of a compliant contact, which no row holds
            raise StartError(
                who,
                f"gap_{one.name} of zero or less, as the mode has it closed",
                f"{value:.6g} {one.unit}",
                "Move the point to where the two touch, or leave the contact out of the mode.",
            )
        if c in closed and plant.extent[c] >= 0 and w.rows[VALUE, plant.extent[c]] <= 0:
            extent = float(w.rows[VALUE, plant.extent[c]])
            raise StartError(
                who,
                f"a surface under contact '{one.name}' (extent above zero)",
                f"extent {extent:.6g}",
                "Move the point to where the surface is.",
            )
