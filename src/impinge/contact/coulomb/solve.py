"""Solve the contact problem of one time step, island by island."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.ordering import find_islands
from impinge.contact.coulomb.problem import ACCELERATE, MISSES, ORDER, SWEEP, Problem, Work, left
from impinge.contact.coulomb.proximal import (
    EXTRA,
    FINE,
    GOOD,
    HASTY,
    PATIENT,
    WAITING,
    clear,
    find_any,
    find_smallest,
    let_drift,
)
from impinge.contact.coulomb.sweeps import prepare, rates

SOLVED, UNSOLVED, NO_ROOM = 0, 1, 2

_COARSE = 1e-6  # tolerance from which on sweeps may be enough
_FEW, _MANY = 6.0, 200.0  # products of blocks per contact up to which factors are cheap, and beyond which too dear
_REDUNDANT = 3  # contacts for each body from which on sweeps are slow: they share what is redundant
_ROUNDS, _BEFORE, _SOME = 60, 10, 5  # rounds of sweeps: instead of factors, before them, and after them
_LAST, _ATTEMPTS = 200, 5  # sweeps before each of the last attempts


@jit
def _start(problem: Any) -> None:
    """Begin with free velocities."""
    v, free = problem.v, problem.free
    for b in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[b, j] = free[b, j]


@jit
def _scale(problem: Any, work: Any, i: int, least: float) -> float:
    """Return the largest free rate, of gap or slips, of the contacts of an island that approach, or the least scale."""
    scale = least
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        u0, u1, u2 = rates(c, problem, problem.free)
        if u0 < 0.0 and work.stiffness[c] > 0.0:
            scale = max(scale, abs(u0), abs(u1), abs(u2))
    return scale


@jit
def _products(work: Any, i: int) -> float:
    """Return how many pairs of blocks are multiplied to factorize the matrix of an island."""
    total = 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        blocks = work.start[k + 1] - work.start[k]
        total += blocks * (blocks + 1)
    return total


@jit
def _copy(work: Any, i: int, source: Any, to: Any) -> None:
    """Copy the impulses of an island."""
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        for r in range(3):
            to[c, r] = source[c, r]


@jit
def _sweep(problem: Any, work: Any, i: int, limit: float, most: int) -> bool:
    """Sweep over an island, a limited number of rounds; say whether its largest miss is below the limit."""
    below, rounds = 0, 0
    while below == 0 and rounds < most and left(work) > 0:
        if 2 * rounds == _ROUNDS:  # what there was may have led astray
            clear(problem, work, i)
            ask(work.calls[MISSES], (problem, work, i))
        below = ask(work.calls[ACCELERATE], (problem, work, i, limit))
        rounds += 1
    return below != 0


@jit
def _return(problem: Any, work: Any, i: int, kept: Any) -> None:
    """Return to impulses of an island that were kept."""
    _copy(work, i, kept, problem.impulse)
    ask(work.calls[MISSES], (problem, work, i))


@jit
def _solve_quickly(problem: Any, work: Any, i: int, limit: float) -> bool:
    """Find the smallest impulses of an island in haste; else any, from those there are, and the smallest from them.

    Where contacts nearly contradict each other, the smallest impulses are found slowly or not at all, while weak
    contacts find some soon.
    """
    _copy(work, i, problem.impulse, work.first)
    if find_smallest(problem, work, i, limit, HASTY):
        return True
    _return(problem, work, i, work.first)
    if not find_any(problem, work, i, limit) <= limit:
        return False
    _copy(work, i, problem.impulse, work.best)
    if not find_smallest(problem, work, i, limit, HASTY):
        _return(problem, work, i, work.best)
    return True


@jit
def _solve_anyhow(problem: Any, work: Any, i: int, limit: float) -> bool:
    """Find any impulses of an island, from those that there are, and the smallest; else go on from what hardly misses.

    What is found first stays if nothing else is.
    """
    find_any(problem, work, i, limit)
    _copy(work, i, problem.impulse, work.best)
    if find_smallest(problem, work, i, limit, PATIENT):
        return True
    _return(problem, work, i, work.best)
    if work.residual[2] > limit and work.residual[2] <= GOOD * work.residual[1]:
        if not let_drift(problem, work, i, limit):
            _return(problem, work, i, work.best)
    return work.residual[2] <= limit


@jit
def _solve_island(problem: Any, work: Any, i: int, limit: float) -> int:
    """Solve one island.

    Check the impulses that there are. For a coarse tolerance sweep if that is cheaper than to factorize, and go on from
    there with weak contacts, which find their way where impulses jam. Else find the smallest impulses, for a fine
    tolerance at once or any. If that fails find any, from none and then from many sweeps, and go on from there.
    """
    ask(work.calls[MISSES], (problem, work, i))
    if work.residual[2] <= min(limit, max(EXTRA * limit, FINE * work.residual[1])):
        return SOLVED
    if work.residual[2] > work.residual[1]:  # none at all are better
        clear(problem, work, i)
        ask(work.calls[MISSES], (problem, work, i))
    contacts, bodies = work.contacts[i + 1] - work.contacts[i], work.bodies[i + 1] - work.bodies[i]
    coarse, before = limit >= _COARSE * work.residual[1], 0
    if coarse and contacts < _REDUNDANT * bodies:  # whatever factors would cost
        before = _BEFORE
        if work.residual[2] <= limit or _sweep(problem, work, i, limit, before):
            return SOLVED
    if ask(work.calls[ORDER], (problem, work)) == 0:
        return NO_ROOM
    fill = _products(work, i) / contacts
    if coarse and (fill > _FEW or before > 0):
        rounds = (_ROUNDS if fill > _MANY else _BEFORE) - before
        if work.residual[2] <= limit or _sweep(problem, work, i, limit, rounds):
            return SOLVED
        if fill > _MANY:
            return UNSOLVED
        if find_any(problem, work, i, limit) <= limit:  # as good as what sweeps find
            return SOLVED
    elif coarse and (find_smallest(problem, work, i, limit, WAITING) or _sweep(problem, work, i, limit, _SOME)):
        return SOLVED
    if not coarse and _solve_quickly(problem, work, i, limit):
        return SOLVED
    if find_smallest(problem, work, i, limit, PATIENT):
        return SOLVED
    if left(work) <= 0:
        return UNSOLVED
    clear(problem, work, i)
    ask(work.calls[MISSES], (problem, work, i))
    if _solve_anyhow(problem, work, i, limit):
        return SOLVED
    for _ in range(_ATTEMPTS):
        if left(work) <= 0:
            return UNSOLVED
        ask(work.calls[SWEEP], (problem, work, i, _LAST))
        ask(work.calls[MISSES], (problem, work, i))
        if _solve_anyhow(problem, work, i, limit):
            return SOLVED
    return UNSOLVED


@entry
def solve(problem: Problem, work: Work, tolerance: float, scale: float) -> int:
    """Find impulses and velocities, beginning with the impulses that there are.

    Called by its address from hot loops, ``ask(address, (problem, work, tolerance, scale))``, and from Python with
    the addresses of packed structs.

    Args:
        problem: packed `Problem`; impulse, response, W, miss and v are written.
        work: packed `Work`.
        tolerance: largest miss of a contact law over the scale of its island.
        scale: least scale; larger is the largest free rate, of gap or slips, of its contacts that approach.

    Returns:
        SOLVED; UNSOLVED, with the misses in the problem, also if ``work.most`` iterations do not do; or NO_ROOM, with
        the blocks that are wanted in the work.
    """
    for k in range(4):
        work.counts[k] = 0
    prepare(problem, work)
    find_islands(problem, work)
    _start(problem)
    most, work.counts[5] = scale, 0
    work.residual[0] = work.residual[3] = 0.0
    for i in range(work.counts[4]):
        own = _scale(problem, work, i, scale)
        work.residual[1], most = own, max(most, own)
        status = _solve_island(problem, work, i, tolerance * own)
        if status == NO_ROOM:
            return NO_ROOM
        if status == UNSOLVED:
            work.counts[5] += 1
        if not work.residual[2] <= work.residual[0]:
            work.residual[0] = work.residual[2]
        if not work.residual[2] <= work.residual[3] * own:
            work.residual[3] = work.residual[2] / own if own > 0.0 else np.inf
    work.residual[1] = most
    return SOLVED if work.counts[5] == 0 else UNSOLVED


def worst_contacts(problem: Problem, most: int = 5) -> NDArray[np.int64]:
    """Return the contacts that are farthest from their laws, the worst first."""
    return np.argsort(-problem.miss[: problem.count[0]], kind="stable")[:most]
