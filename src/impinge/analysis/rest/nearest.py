"""The rest state nearest to a pose: the nearest pose first, then the nearest inputs for it, then the smallest forces.

Distances are Euclidean, in the units of coordinates and inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.rest.forces import STRIDE, Rest, Unknowns
from impinge.contact.admissible import Limit, smallest_forces
from impinge.errors import StartError

FloatArray = NDArray[np.float64]

_ITERATIONS = 100
_NEUTRAL = 1e-8  # of the stiffest direction, one that is less stiff is neutral: a range of poses is at rest
_NEAREST = 1e-10  # m or rad: so near to the nearest pose is near enough
_FARTHER = 1e-9  # m or rad: rest states that are nearer by less are the same
_BETWEEN = 0.6  # of the distance of a rest state, others are looked for from here
_CONVERGED = 1e-10  # of the largest
_STEPS = 20
_INPUT = (30.0, 1e3, 1e4)  # weights of an input against a change of a force
_POSE = 30.0  # weight of a coordinate against changes of forces and inputs by as much as the largest force
_SLACK = 1e3  # weight of what is left over of a balance that cannot be met, against the same
_INSIDE = 1 - 1e-8  # of the friction that there is, at the limit of what rests
_DEPENDENT = 1e-11  # of the largest, a singular value of weighted balances is none


class _Found(NamedTuple):
    """A rest state: whether contacts can give its forces, and how far its pose is from the start."""

    z: Unknowns
    held: bool
    away: float


def nearest_rest(rest: Rest, guess: Unknowns | None = None) -> Unknowns:
    """Return the rest state that is nearest to the start, of those with forces that contacts can give.

    It is the nearest of a whole range of poses at rest. Of rest states apart from each other it is the nearest that is
    found from the start and from points around it. With a guess, such as that of rigid contacts for compliant ones, it
    is the one beside that: how deep these are is not for friction to choose.

    Raises:
        StartError: if forces balance nowhere near. Whether contacts can give them is for `in_mode` to say.
    """
    if guess is not None:
        return _held(rest, rest.solve(guess)).z
    start = Unknowns(rest.start.q, rest.start.u, np.zeros(len(rest.rows)))
    best = _found(rest, start)
    directions = np.vstack([np.eye(rest.nb), -np.eye(rest.nb)])
    for move in _BETWEEN * best.away * directions if best.away > _FARTHER else ():
        try:
            other = _found(rest, start._replace(q=rest.model.displaced(start.q, move)))
        except StartError:
            continue
        if other.held > best.held or (other.held == best.held and other.away < best.away - _FARTHER):
            best = other
    return best.z


def _found(rest: Rest, guess: Unknowns) -> _Found:
    """Return the nearest of the rest states that a guess leads to."""
    return _held(rest, _along_range(rest, rest.solve(guess)))


def _held(rest: Rest, z: Unknowns) -> _Found:
    """Return the rest state of this pose, or the nearest one, such that contacts can give its forces."""
    z, held = _nearest_inputs(rest, z)
    if not held and (inside := _inside_limits(rest, z)) is not None:
        z, held = inside, True
    return _Found(z, held, float(np.linalg.norm(rest.away(z.q))))


def _along_range(rest: Rest, z: Unknowns) -> Unknowns:
    """Return the solution nearest to the start's pose, on the same range of poses at rest as a given one.

    Steps go along that range by Newton's method on the distance, and back onto it.
    """
    for _ in range(_ITERATIONS):
        _, size, jacobians = rest.at(z)
        Jx, Ju, Jq = (J / size[:, None] for J in jacobians)
        others = np.hstack([Jx, Ju])
        inverse = np.linalg.pinv(others, rcond=1e-10) if others.size else others.T
        stiff = Jq - others @ (inverse @ Jq)
        T = _kernel(stiff, _NEUTRAL * float(np.linalg.norm(Jq)))
        away = rest.away(z.q)
        slope = T.T @ away
        if np.abs(slope).max(initial=0.0) <= _NEAREST * max(1.0, float(np.abs(z.q).max())):
            break
        Z = np.vstack([-inverse @ Jq @ T, T])
        pull = np.concatenate([np.zeros(others.shape[1]), away])
        weight = -np.linalg.pinv(np.hstack([others, Jq]), rcond=1e-10).T @ pull
        bend = np.eye(slope.size) + Z.T @ rest.curvature(z, weight / size) @ Z
        convex = np.linalg.eigvalsh(bend)[0] > 1e-3
        step: FloatArray = np.asarray(-np.linalg.solve(bend, slope) if convex else -slope)
        nearer = _nearer(rest, z, Z, step * min(1.0, STRIDE / float(np.linalg.norm(step))))
        if nearer is None:
            break
        z = nearer
    return z


def _nearer(rest: Rest, z: Unknowns, Z: FloatArray, step: FloatArray) -> Unknowns | None:
    """Return a solution along a step that is nearer to the start's pose than z, if there is one."""
    away, n, k = float(np.linalg.norm(rest.away(z.q))), z.x.size, z.x.size + len(rest.free)
    for share in 0.5 ** np.arange(20):
        move = share * Z @ step
        try:
            trial = rest.solve(rest.moved(z, move[k:], move[n:k], move[:n]))
        except StartError:
            continue
        if float(np.linalg.norm(rest.away(trial.q))) < away * (1 - 1e-14):
            return trial
    return None


def _nearest_inputs(rest: Rest, z: Unknowns) -> tuple[Unknowns, bool]:
    """Return the solution of the same pose, with forces that contacts can give, of the inputs nearest to the start's.

    If there are none, inputs are the nearest of all, and the second value is False.
    """
    n, held = z.x.size, True
    for _ in range(_ITERATIONS):
        _, size, (Jx, Ju, _) = rest.at(z)
        E = np.hstack([Jx, Ju])[: rest.nb] / size[: rest.nb, None]
        together = np.concatenate([z.x, (z.u - rest.start.u)[rest.free]])
        found = _least_inputs(E, n, together, rest.limits(z))
        held = found is not None
        if found is None:
            found = _least_inputs(E, n, together, ())
        change = np.zeros_like(together) if found is None else found - together
        z = rest.solve(rest.moved(z, np.zeros(rest.nb), change[n:], change[:n]))
        if np.abs(change[n:]).max(initial=0.0) <= _CONVERGED * max(1.0, float(np.abs(z.u).max(initial=0.0))):
            break
    return z, held


def _least_inputs(E: FloatArray, n: int, together: FloatArray, limits: Sequence[Limit]) -> FloatArray | None:
    """Return forces (n) and the smallest inputs behind them that do what these do; None if contacts cannot.

    E says what they do. Changes of forces from step to step count as well, beside the inputs: less and less at first,
    which leaves few digits of them, then enough to be exact. In the end there are no changes.
    """
    forces = np.asarray(np.linalg.pinv(E[:, :n], rcond=_DEPENDENT) @ (E @ together))
    if np.abs(E[:, :n] @ forces - E @ together).max(initial=0.0) <= _CONVERGED:  # no inputs may do
        alone, _ = smallest_forces(forces, _kernel(E[:, :n], _DEPENDENT * float(np.linalg.norm(E))), limits)
        if alone is not None:
            return np.concatenate([alone, np.zeros(together.size - n)])
    found = together
    for weight in (*_INPUT, *[_INPUT[0]] * _STEPS):
        scale = np.concatenate([np.ones(n), np.full(together.size - n, weight)])
        internal = _kernel(E / scale, _DEPENDENT * float(np.linalg.norm(E / scale)))
        target = np.concatenate([found[:n], np.zeros(together.size - n)])
        scaled, _ = smallest_forces(scale * together, internal, limits, target)
        if scaled is None and weight == _INPUT[0]:
            return None
        if scaled is not None:
            before, found = found, scaled / scale
            change = np.abs(found - before)[n:].max(initial=0.0)
            if weight == _INPUT[0] and change <= _CONVERGED * max(1.0, np.abs(found[n:]).max(initial=0.0)):
                break
    return found


def _inside_limits(rest: Rest, z: Unknowns) -> Unknowns | None:
    """Return the nearest pose at rest with forces that contacts can give, from one at which they cannot; None if none.

    Every step solves the linearized balance for the nearest pose within the limits (sequential convex programming);
    where that has no solution, as far as it can be met.
    """
    limits = [limit._replace(friction=_INSIDE * limit.friction) for limit in rest.limits()]
    n, k = z.x.size, z.x.size + len(rest.free)
    for _ in range(_ITERATIONS):
        move = _step_inside(rest, z, limits)
        if move is None:
            return None
        longest = float(np.abs(move[k:]).max())
        share = min(1.0, STRIDE / max(longest, 1e-300))
        z = rest.moved(z, share * move[k:], share * move[n:k], share * move[:n])
        if longest <= _CONVERGED * max(1.0, float(np.abs(z.q).max())):
            break
    try:
        z, held = _nearest_inputs(rest, rest.solve(z))
    except StartError:
        return None
    return z if held else None


def _step_inside(rest: Rest, z: Unknowns, limits: Sequence[Limit]) -> FloatArray | None:
    """Return changes of forces, free inputs and pose to the nearest pose that is at rest to first order."""
    r, size, jacobians = rest.at(z)
    load, k = max(float(np.abs(z.x).max(initial=0.0)), 1e-3), z.x.size + len(rest.free)
    weight = np.concatenate([np.ones(k), np.full(rest.nb, _POSE * load), np.full(r.size, _SLACK * load)])
    E = np.hstack([*(J / size[:, None] for J in jacobians), np.eye(r.size)]) / weight
    here = weight * np.concatenate([z.x, z.u[rest.free], rest.away(z.q), np.zeros(r.size)])
    target = np.concatenate([here[:k], np.zeros(here.size - k)])
    for n in (k + rest.nb, here.size):
        balanced = here[:n] - np.linalg.pinv(E[:, :n], rcond=_DEPENDENT) @ (r / size)
        found, _ = smallest_forces(
            balanced, _kernel(E[:, :n], _DEPENDENT * float(np.linalg.norm(E))), limits, target[:n]
        )
        if found is not None:
            return np.asarray(((found - here[:n]) / weight[:n])[: k + rest.nb])
    return None


def _kernel(A: FloatArray, least: float) -> FloatArray:
    """Return an orthonormal basis (columns) of what A maps to less than this."""
    _, sizes, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int((sizes > least).sum()) :].T)
