"""The contact problem of one block, if contacts push, stick and slide as they did in the last solution.

Then it is linear: a gap that pushes has no rate, nor has a slip that sticks, and what slides rubs with μ p_n. From one
time step to the next that seldom changes, so it is tried first and confirmed by the law itself. Rows that depend on
others bear nothing: any sharing of a load is as good here.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit

OPEN, STICKS, FORWARD, BACKWARD = 0, 1, 2, 3  # of a contact; the last two say where to friction acts

_DEPENDENT = 1e-10  # share of a row that may be left before it counts as depending on others
_ROUNDING = 1e-13  # of the largest rate


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
            if problem.slips[c] == 2:
                return 0
            p.row[n, 0], p.row[n, 1] = c, 0
            n += 1
    for i in range(n):
        c = p.row[i, 0]
        if p.state[c] == STICKS and problem.slips[c] == 1:
            p.row[n, 0], p.row[n, 1] = c, 1
            n += 1
    return n


@jit
def _rubs(problem: Any, work: Any, c: int) -> float:
    """Return the friction of a contact that slides, per unit of what it pushes."""
    state = work.pivoting.state[c]
    return problem.mu[c] if state == FORWARD else -problem.mu[c] if state == BACKWARD else 0.0


@jit
def _eliminate(problem: Any, work: Any, n: int) -> None:
    """Find the impulses after which these rows have no rate, by elimination in their order."""
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


@jit
def _confirm(problem: Any, work: Any) -> bool:
    """Tell whether impulses and velocities obey the law of all contacts, but for rounding; write what they miss."""
    p, limit, worst = work.pivoting, _ROUNDING * work.residual[1], 0.0
    for c in range(problem.count[0]):
        u0, u1, push, friction = problem.bias[c, 0], problem.bias[c, 1], problem.impulse[c, 0], problem.impulse[c, 1]
        for j in range(problem.v.shape[1]):
            u0 += problem.J[c, 0, j] * problem.v[0, j]
            u1 += problem.J[c, 1, j] * problem.v[0, j]
        miss = max(-u0, 0.0)
        if p.state[c] != OPEN:
            if not push >= 0.0 or (p.state[c] == STICKS and not abs(friction) <= problem.mu[c] * push):
                return False
            miss = abs(u0)
            if problem.slips[c] == 1:
                away = u1 if p.state[c] == FORWARD else -u1
                miss = max(miss, abs(u1) if p.state[c] == STICKS else max(away, 0.0))
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
    _eliminate(problem, work, n)
    for j in range(D):
        problem.v[0, j] = problem.free[0, j]
    for c in range(problem.count[0]):
        problem.impulse[c, 0] = problem.impulse[c, 1] = problem.impulse[c, 2] = 0.0
    for i in range(n):
        c = p.row[i, 0]
        problem.impulse[c, p.row[i, 1]] = p.impulse[i]
        if p.row[i, 1] == 0:
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
        push, friction = problem.impulse[c, 0], problem.impulse[c, 1]
        p.state[c] = OPEN
        if push > 0.0:
            full = problem.slips[c] == 1 and abs(friction) >= problem.mu[c] * push
            p.state[c] = STICKS if not full else FORWARD if friction > 0.0 else BACKWARD
