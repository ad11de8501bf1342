"""Solve the contact problem of one time step, island by island."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.newton import newton
from impinge.contact.coulomb.ordering import find_islands
from impinge.contact.coulomb.problem import MISSES, ORDER, SWEEP, Problem, Work
from impinge.contact.coulomb.sweeps import prepare, rates

SOLVED, UNSOLVED, NO_ROOM = 0, 1, 2

_COARSE, _MANY = 1e-3, 1  # from this tolerance on, so many blocks of sweeps may be enough

_BLOCK = 10  # sweeps between two looks at the misses
_PER_BLOCK = 50  # contacts of an island for each block of sweeps that Newton's method starts from
_WORTH = 3.0  # blocks of sweeps that cost as much as Newton's method, for each product of blocks per contact


@jit
def _start(problem: Any, work: Any, scale: float) -> float:
    """Begin with free velocities; return the largest free rate of contacts that approach, or the least scale."""
    v, free = problem.v, problem.free
    for b in range(v.shape[0]):
        for j in range(v.shape[1]):
            v[b, j] = free[b, j]
    for c in range(problem.count[0]):
        u0, u1, u2 = rates(c, problem, free)
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
def _set_impulses(problem: Any, work: Any, i: int, nothing: bool) -> None:
    """Keep the impulses of an island and begin with nothing, or return to what was kept."""
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        for r in range(3):
            if nothing:
                work.best[c, r], problem.impulse[c, r] = problem.impulse[c, r], 0.0
            else:
                problem.impulse[c, r] = work.best[c, r]


@jit
def _solve_island(problem: Any, work: Any, i: int, limit: float, enough: float) -> int:
    """Solve one island: check, sweep while that helps, then Newton's method, and that again from nothing.

    What many sweeps have brought below ``enough`` is left to the next time step, which begins with it.
    """
    contacts = work.contacts[i + 1] - work.contacts[i]
    least, most, before, mark, k = contacts // _PER_BLOCK, 0.0, np.inf, 0, 0
    while True:
        ask(work.calls[MISSES], (problem, work, i))
        miss = work.residual[2]
        if miss <= limit or (k >= _MANY and miss <= enough):
            return SOLVED
        if k == 1:  # what Newton's method costs is known from its order only
            if ask(work.calls[ORDER], (problem, work)) == 0:
                return NO_ROOM
            most = _WORTH * _products(work, i) / contacts
        if k >= max(least, 1) and k >= 2 * mark:  # ever more seldom, as misses do not fall evenly
            rate = np.log(before / miss) / (k - mark)
            if not np.log(miss / limit) < (most - k) * rate:  # sweeps do not promise to arrive at less cost
                break
            before, mark = miss, k
        elif k == 0:
            before = miss
        ask(work.calls[SWEEP], (problem, work, i, _BLOCK))
        k += 1
    first = newton(problem, work, i, limit)
    if not first <= limit:
        _set_impulses(problem, work, i, True)
        ask(work.calls[MISSES], (problem, work, i))
        if not newton(problem, work, i, limit) <= first:
            _set_impulses(problem, work, i, False)
            ask(work.calls[MISSES], (problem, work, i))
    return SOLVED if work.residual[2] <= limit else UNSOLVED


@entry
def solve(problem: Problem, work: Work, tolerance: float, scale: float) -> int:
    """Find impulses and velocities, beginning with the impulses that there are.

    Called by its address from hot loops, ``ask(address, (problem, work, tolerance, scale))``, and from Python with
    the addresses of packed structs.

    Args:
        problem: packed `Problem`; impulse, response, W, miss and v are written.
        work: packed `Work`.
        tolerance: largest miss of a contact law over the scale.
        scale: least scale; larger is the largest free rate of a contact that approaches.

    Returns:
        SOLVED; UNSOLVED, with the misses in the problem; or NO_ROOM, with the blocks that are wanted in the work.
    """
    for k in range(4):
        work.counts[k] = 0
    prepare(problem, work)
    find_islands(problem, work)
    scale = _start(problem, work, scale)
    work.residual[0], work.residual[1], work.counts[5] = 0.0, scale, 0
    limit = tolerance * scale
    enough = 3.0 * np.sqrt(tolerance) * scale if tolerance >= _COARSE else 0.0
    for i in range(work.counts[4]):
        status = _solve_island(problem, work, i, limit, enough)
        if status == NO_ROOM:
            return NO_ROOM
        if status == UNSOLVED:
            work.counts[5] += 1
        if not work.residual[2] <= work.residual[0]:
            work.residual[0] = work.residual[2]
    return SOLVED if work.counts[5] == 0 else UNSOLVED


def worst_contacts(problem: Problem, most: int = 5) -> NDArray[np.int64]:
    """Return the contacts that are farthest from their laws, the worst first."""
    return np.argsort(-problem.miss[: problem.count[0]], kind="stable")[:most]
