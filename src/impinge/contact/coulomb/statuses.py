"""The contact problem of one block, if contacts push, stick and slide as they did in the last solution.

Then it is linear: a gap that pushes has no rate, nor has a slip that sticks, and what slides rubs with μ p_n along the
direction that it had. From one time step to the next that seldom changes, so it is tried first and confirmed by the
law itself; and impulses that were found by iteration are made exact by it. Rows that depend on others bear nothing,
where any sharing of a load is as good; where contacts have two slips that is left to `solve`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit

OPEN, STICKS, SLIDES = 0, 1, 2  # of a contact

_DEPENDENT = 1e-10  # share of a row that may be left before it counts as depending on others
_ROUNDING = 1e-13  # of the largest rate
_FULL = 1e-12  # share by which friction may miss its limit where it slides


@jit
def coupling(problem: Any, c: int, r: int, e: int, s: int) -> float:
    """Return what a unit impulse in row s of contact e does to the rate of row r of contact c, in a single block."""
    total = 0.0
    for j in range(problem.v.shape[1]):
        total += problem.J[c, r, j] * problem.response[e, s, j]
    return total


@jit
def apply_impulses(problem: Any) -> None:
    """Write the velocities that the impulses lead to, in a single block."""
    D = problem.v.shape[1]
    for j in range(D):
        problem.v[0, j] = problem.free[0, j]
    for c in range(problem.count[0]):
        for r in range(1 + problem.slips[c]):
            if problem.impulse[c, r] != 0.0:
                for j in range(D):
                    problem.v[0, j] += problem.response[c, r, j] * problem.impulse[c, r]


@jit
def _list_rows(problem: Any, work: Any) -> int:
    """List the rows that have no rate, gaps first; return how many, or zero if there are polygons of friction."""
    p, n = work.pivoting, 0
    for c in range(problem.count[0]):
        if p.state[c] != OPEN:
            if problem.slips[c] == 2 and p.facets[0] != 0:
                return 0
            p.row[n, 0], p.row[n, 1] = c, 0
            n += 1
    for i in range(n):
        c = p.row[i, 0]
        if p.state[c] == STICKS:
            for s in range(problem.slips[c]):
                p.row[n, 0], p.row[n, 1] = c, 1 + s
                n += 1
    return n


@jit
def _rate(problem: Any, c: int, r: int) -> float:
    """Return the rate of a row of a contact with the velocities found."""
    total = problem.bias[c, r]
    for j in range(problem.v.shape[1]):
        total += problem.J[c, r, j] * problem.v[0, j]
    return total


@jit
def _eliminate(problem: Any, work: Any, n: int, more: bool) -> bool:
    """Find the impulses, or the changes of those found, after which these rows have no rate, in their order.

    Return False where rows depend on others, a contact has two slips and no impulses were found.
    """
    p, T, x = work.pivoting, work.pivoting.W, work.pivoting.impulse
    for i in range(n):
        c, r = p.row[i, 0], p.row[i, 1]
        for k in range(n):
            e, s = p.row[k, 0], p.row[k, 1]
            T[i, k] = coupling(problem, c, r, e, s)
            if s == 0 and p.state[e] == SLIDES:
                for m in range(problem.slips[e]):
                    T[i, k] += problem.mu[e] * p.along[e, m] * coupling(problem, c, r, e, 1 + m)
        p.free[i] = abs(T[i, i])
        x[i] = -(_rate(problem, c, r) if more else work.rate[c, r])
    for k in range(n):
        if abs(T[k, k]) <= _DEPENDENT * p.free[k]:
            if not more and problem.slips[p.row[n - 1, 0]] == 2:
                return False
            T[k, k] = 0.0
            continue
        T[k, k] = 1.0 / T[k, k]
        for i in range(k + 1, n):
            factor = T[i, k] * T[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    T[i, j] -= factor * T[k, j]
                x[i] -= factor * x[k]
    for m in range(n):
        k = n - 1 - m
        for j in range(k + 1, n):
            x[k] -= T[k, j] * x[j]
        x[k] *= T[k, k]
    return True


@jit
def _misses(problem: Any, work: Any, c: int) -> float:
    """Return by how much a contact misses the law, as a rate, or infinity if it pulls or holds more than it can."""
    p, push, rate, state = work.pivoting, problem.impulse[c, 0], _rate(problem, c, 0), work.pivoting.state[c]
    if not push >= 0.0:
        return 1e300
    if state == OPEN:
        return max(-rate, 0.0)
    miss, ahead, across, most = abs(rate), 0.0, 0.0, problem.mu[c] * push
    if state == STICKS and problem.slips[c] > 0:
        if not problem.impulse[c, 1] ** 2 + problem.impulse[c, 2] ** 2 <= most * most:
            return 1e300
        for r in range(1, 1 + problem.slips[c]):
            miss = max(miss, abs(_rate(problem, c, r)))
    elif state == SLIDES:
        for m in range(problem.slips[c]):
            slip = _rate(problem, c, 1 + m)
            ahead, across = ahead + p.along[c, m] * slip, across + (1 - 2 * m) * p.along[c, 1 - m] * slip
        miss = max(miss, ahead, abs(across))
    return miss


@jit
def _as_states_say(problem: Any, work: Any, limit: float, more: bool) -> bool:
    """Find impulses and velocities if all contacts are in their states; tell whether they miss no more than a limit.

    They are those found, changed by what they miss, if there are to be ``more``.
    """
    p, worst, n = work.pivoting, 0.0, _list_rows(problem, work)
    if n == 0 or not _eliminate(problem, work, n, more):
        return False
    if not more:
        for c in range(problem.count[0]):
            problem.impulse[c, 0] = problem.impulse[c, 1] = problem.impulse[c, 2] = 0.0
    for i in range(n):
        c = p.row[i, 0]
        problem.impulse[c, p.row[i, 1]] += p.impulse[i]
        if p.state[c] == SLIDES:
            for m in range(problem.slips[c]):
                problem.impulse[c, 1 + m] = problem.mu[c] * p.along[c, m] * problem.impulse[c, 0]
    apply_impulses(problem)
    for c in range(problem.count[0]):
        problem.miss[c] = _misses(problem, work, c)
        worst = max(worst, problem.miss[c])
    work.residual[2] = worst
    return worst <= limit


@jit
def as_before(problem: Any, work: Any) -> bool:
    """Find impulses and velocities if all contacts are in the states kept; return False if they are not."""
    return _as_states_say(problem, work, _ROUNDING * work.residual[1], False)


@jit
def keep_states(problem: Any, work: Any) -> None:
    """Keep who pushes, sticks and slides, and where to, in the solution found."""
    p = work.pivoting
    for c in range(problem.count[0]):
        push, limit = problem.impulse[c, 0], (1.0 - _FULL) * problem.mu[c] * problem.impulse[c, 0]
        friction = sqrt(problem.impulse[c, 1] ** 2 + problem.impulse[c, 2] ** 2)
        p.state[c] = OPEN
        if push > 0.0:
            p.state[c] = SLIDES if problem.slips[c] > 0 and friction >= limit > 0.0 else STICKS
            if p.state[c] == SLIDES:
                p.along[c, 0], p.along[c, 1] = problem.impulse[c, 1] / friction, problem.impulse[c, 2] / friction


@jit
def sharpen(problem: Any, work: Any) -> None:
    """Keep the states of a solution that was found by iteration, and make it exact where that misses no more."""
    keep_states(problem, work)
    found, miss = work.best, work.residual[0]
    for c in range(problem.count[0]):
        for r in range(3):
            found[c, r] = problem.impulse[c, r]
    if _as_states_say(problem, work, miss, True):
        work.residual[0] = work.residual[2]
        work.residual[3] = work.residual[2] / work.residual[1] if work.residual[1] > 0.0 else 0.0
        return
    for c in range(problem.count[0]):
        for r in range(3):
            problem.impulse[c, r] = found[c, r]
    apply_impulses(problem)
