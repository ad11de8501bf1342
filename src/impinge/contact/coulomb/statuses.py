"""The contact problem of one block, if contacts push, stick and slide as they did in the last solution.

Then it is linear: a gap that pushes has no rate, nor has a slip that sticks, and what slides rubs with μ p_n. From one
time step to the next that seldom changes, so it is tried first and confirmed by the law itself. Rows that depend on
others bear nothing, where any sharing of a load is as good; where contacts have two slips it is left to `solve`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit

# Of a contact. The last two say where to friction acts if there is one slip; with two the direction is not linear.
OPEN, STICKS, FORWARD, BACKWARD = 0, 1, 2, 3

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
def _list_rows(problem: Any, work: Any) -> int:
    """List the rows that have no rate, gaps first; return how many, or zero if that is not for this method."""
    p, n = work.pivoting, 0
    for c in range(problem.count[0]):
        if p.state[c] != OPEN:
            if problem.slips[c] == 2 and (p.state[c] != STICKS or p.facets[0] != 0):
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
def _rubs(problem: Any, work: Any, c: int) -> float:
    """Return the friction of a contact that slides, per unit of what it pushes."""
    state = work.pivoting.state[c]
    return problem.mu[c] if state == FORWARD else -problem.mu[c] if state == BACKWARD else 0.0


@jit
def _eliminate(problem: Any, work: Any, n: int) -> bool:
    """Find the impulses after which these rows have no rate, by elimination in their order; False if it is not to be.

    That is where rows depend on others and a contact has two slips.
    """
    p, T, x = work.pivoting, work.pivoting.W, work.pivoting.impulse
    for i in range(n):
        c, r = p.row[i, 0], p.row[i, 1]
        for k in range(n):
            e, s = p.row[k, 0], p.row[k, 1]
            T[i, k] = coupling(problem, c, r, e, s)
            rubs = _rubs(problem, work, e) if s == 0 else 0.0
            if rubs != 0.0:
                T[i, k] += rubs * coupling(problem, c, r, e, 1)
        p.free[i] = abs(T[i, i])
        x[i] = -work.rate[c, r]
    for k in range(n):
        if abs(T[k, k]) <= _DEPENDENT * p.free[k]:
            if problem.slips[p.row[n - 1, 0]] == 2:
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
def _rate(problem: Any, c: int, r: int) -> float:
    """Return the rate of a row of a contact with the velocities found."""
    total = problem.bias[c, r]
    for j in range(problem.v.shape[1]):
        total += problem.J[c, r, j] * problem.v[0, j]
    return total


@jit
def _confirm(problem: Any, work: Any) -> bool:
    """Tell whether impulses and velocities obey the law of all contacts, but for rounding; write what they miss."""
    p, limit, worst = work.pivoting, _ROUNDING * work.residual[1], 0.0
    for c in range(problem.count[0]):
        rate, push = _rate(problem, c, 0), problem.impulse[c, 0]
        miss = max(-rate, 0.0) if p.state[c] == OPEN else abs(rate)
        if not push >= 0.0:
            return False
        if p.state[c] == STICKS and problem.slips[c] > 0:
            for r in range(1, 1 + problem.slips[c]):
                miss = max(miss, abs(_rate(problem, c, r)))
            most = problem.mu[c] * push
            if not problem.impulse[c, 1] ** 2 + problem.impulse[c, 2] ** 2 <= most * most:
                return False
        elif p.state[c] != OPEN and problem.slips[c] > 0:
            slip = _rate(problem, c, 1)
            miss = max(miss, slip if p.state[c] == FORWARD else -slip)
        problem.miss[c] = miss
        worst = max(worst, miss)
    work.residual[2] = worst
    return worst <= limit


@jit
def as_before(problem: Any, work: Any) -> bool:
    """Find impulses and velocities if all contacts are in their states; return False if they are not."""
    p, D = work.pivoting, problem.v.shape[1]
    n = _list_rows(problem, work)
    if n == 0:
        return False
    if not _eliminate(problem, work, n):
        return False
    for j in range(D):
        problem.v[0, j] = problem.free[0, j]
    for c in range(problem.count[0]):
        problem.impulse[c, 0] = problem.impulse[c, 1] = problem.impulse[c, 2] = 0.0
    for i in range(n):
        c = p.row[i, 0]
        problem.impulse[c, p.row[i, 1]] = p.impulse[i]
        if p.state[c] != STICKS:
            problem.impulse[c, 1] = _rubs(problem, work, c) * p.impulse[i]
    for c in range(problem.count[0]):
        for r in range(1 + problem.slips[c]):
            if problem.impulse[c, r] != 0.0:
                for j in range(D):
                    problem.v[0, j] += problem.response[c, r, j] * problem.impulse[c, r]
    return _confirm(problem, work)


@jit
def keep_states(problem: Any, work: Any) -> None:
    """Keep who pushes, sticks and slides in the solution found."""
    p = work.pivoting
    for c in range(problem.count[0]):
        push, limit = problem.impulse[c, 0], (1.0 - _FULL) * problem.mu[c] * problem.impulse[c, 0]
        friction = sqrt(problem.impulse[c, 1] ** 2 + problem.impulse[c, 2] ** 2)
        p.state[c] = OPEN
        if push > 0.0:
            full = problem.slips[c] > 0 and friction >= limit
            p.state[c] = STICKS if not full else FORWARD if problem.impulse[c, 1] > 0.0 else BACKWARD
