"""The work of a step's impulses, and impulses that are taken back as far as they would give energy."""

from __future__ import annotations

from typing import Any

from impinge.compile import inlined, jit
from impinge.simulation.bodies.stage import NOW

MISSES = 10.0  # so many times what the solver misses is none
_FINE = 1e-10  # of the scale: a miss as of the default tolerance
_NOTHING = 1e-12  # share of the energy that impulses move: less than that is rounding


@inlined
def _rate_of(problem: Any, c: int, r: int, v: Any, D: int) -> float:
    total, J = 0.0, problem.J[c, r]
    for side in range(2):
        b = problem.body[c, side]
        if b >= 0:
            for j in range(D):
                total += J[side * D + j] * v[b, j]
    return total


@jit
def rate_of(problem: Any, c: int, r: int, v: Any) -> float:
    """Return what velocities of the blocks do to a row of a contact."""
    D = v.shape[1]
    return _rate_of(problem, c, r, v, 6) if D == 6 else _rate_of(problem, c, r, v, D)


@jit
def work_of(s: Any, before: Any) -> float:
    """Return the work of the impulses: p times the mean of the rates with velocities before, and with v⁺."""
    problem, total = s.problem, 0.0
    for c in range(s.used[NOW]):
        for r in range(3):
            if problem.impulse[c, r] != 0.0:
                mean = 0.5 * (rate_of(problem, c, r, before) + rate_of(problem, c, r, problem.v))
                total += problem.impulse[c, r] * mean
    return total


@jit
def created_of(s: Any) -> float:
    """Return the work of the impulses as seen from the surfaces, which move on their own."""
    problem, total = s.problem, work_of(s, s.problem.free)
    for c in range(s.used[NOW]):
        total -= problem.impulse[c, 0] * s.pushed[c]
        for r in range(3):
            if problem.impulse[c, r] != 0.0:
                total += problem.impulse[c, r] * problem.bias[c, r]
    return total


@jit
def creates(s: Any) -> bool:
    """Tell whether impulses give energy, beyond rounding and what a fine solution misses: a coarse one may not give."""
    problem, created, scale = s.problem, created_of(s), s.work.residual[1]
    miss = MISSES * min(s.work.residual[0], _FINE * scale)
    if created <= 0.0:
        return False
    moved = 0.0
    for c in range(s.used[NOW]):
        for r in range(3):
            p = problem.impulse[c, r]
            if p != 0.0:
                moved += abs(p) * (_NOTHING * abs(rate_of(problem, c, r, problem.free)) + miss)
    return created > moved


@jit
def apply(s: Any) -> None:
    """Write v⁺ from v⁻ and the impulses."""
    problem = s.problem
    D = problem.v.shape[1]
    for b in range(problem.v.shape[0]):
        for j in range(D):
            problem.v[b, j] = problem.free[b, j]
    for c in range(s.used[NOW]):
        for r in range(3):
            p = problem.impulse[c, r]
            if p != 0.0:
                for side in range(2):
                    b = problem.body[c, side]
                    if b >= 0:
                        for j in range(D):
                            problem.v[b, j] += problem.response[c, r, side * D + j] * p


@jit
def moderate(s: Any) -> None:
    """Mix impulses after which gaps leave (in the problem) and others (in ``plain``) so that no energy is gained.

    Along the straight line between the two the work is a quadratic polynomial that is not positive at its start.
    """
    problem, count = s.problem, s.used[NOW]
    full = created_of(s)
    if full <= 0.0:
        return
    for c in range(count):
        for r in range(3):
            problem.impulse[c, r], s.plain[c, r] = s.plain[c, r], problem.impulse[c, r]
    apply(s)
    none = min(created_of(s), 0.0)
    low, high = 0.0, 1.0
    slope = 0.0
    for c in range(count):
        for r in range(3):
            rate = rate_of(problem, c, r, problem.v) + problem.bias[c, r] - (s.pushed[c] if r == 0 else 0.0)
            slope += (s.plain[c, r] - problem.impulse[c, r]) * rate
    curve = full - none - slope
    for _ in range(60):
        middle = 0.5 * (low + high)
        if none + middle * (slope + middle * curve) <= 0.0:
            low = middle
        else:
            high = middle
    for c in range(count):
        for r in range(3):
            problem.impulse[c, r] += low * (s.plain[c, r] - problem.impulse[c, r])
    apply(s)
