"""Newton's method on the velocities of an island, with impulses that follow from them: a proximal point method.

Given impulses p, look for velocities with M (v − v⁻) = Jᵀ P(p − κ K u(v)), K the stiffness of each contact and P the
law of the contact; then P(…) are the next impulses, and a fixed point is a solution, be W singular or not. With the
map of Alart and Curnier (1991) that is the exact law, without a function to minimize. Where it fails, one step uses
the projection into the friction cone of u + μ|u_t| n with the slip of before (De Saxcé and Feng, 1998; Cadoux,
2009): the minimum of a convex function, with a line search that cannot fail (Castro et al., 2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.one import cone, disk
from impinge.contact.coulomb.problem import BALANCE, DIRECTION, MISSES, Problem, Work
from impinge.contact.coulomb.sweeps import rates

_ITERATIONS = 20  # of Newton's method for given impulses
_SHORTEST = 0.01  # step of its line search
_REDUCED = 1e-4  # what is left of the imbalance when it ends, or may be left if it cannot go on
_ROUNDED = 2e-16  # imbalance that is only rounding, against what goes in
_LITTLE = 10.0  # times rounding that is not worth a step
_OUTER = 100  # changes of the impulses
_WEAKEST, _STRONG, _STRONGEST, _CONVEX = 3.0, 1e4, 1e8, 3e3  # κ: at first, enough for most, at most, convex steps
_STRONGER, _WEAKER = 3.0, 0.3
_WORSE = 5.0  # growth of the largest miss that is accepted
_LESS, _PATIENCE = 0.7, 50  # what counts as better, and how many changes without it end what is good already
ACCEPTED = 1e-2  # largest miss over the scale of the rates that a step may be left with
_SLOW = 0.3  # reduction of the largest miss that asks for a larger κ


@jit
def _impulses(problem: Any, work: Any, i: int, kappa: float, convex: int, step: float) -> None:
    """Write the impulses and slopes that belong to the rates, changed by a step."""
    p, u, du = problem.impulse, work.rate, work.change
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        w = kappa * work.stiffness[c]
        z0 = p[c, 0] - w * (u[c, 0] + step * du[c, 0])
        z1 = p[c, 1] - w * (u[c, 1] + step * du[c, 1])
        z2 = p[c, 2] - w * (u[c, 2] + step * du[c, 2])
        if convex:
            cone(z0 - w * work.lift[c], z1, z2, problem.mu[c], work.push[c], work.slope[c])
        else:
            disk(z0, z1, z2, problem.mu[c], work.push[c], work.slope[c])


@jit
def _imbalance(problem: Any, work: Any, i: int, x: Any) -> float:
    """Write M (x − v⁻) − Jᵀ P and return its size, as a root of energy."""
    D, g = x.shape[1], work.g
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            total = 0.0
            for j in range(D):
                total += problem.mass[b, r, j] * (x[b, j] - problem.free[b, j])
            g[b, r] = total
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        J, p = problem.J[c], work.push[c]
        for side in range(2):
            b, at = problem.body[c, side], side * D
            if b >= 0:
                for j in range(D):
                    g[b, j] -= J[0, at + j] * p[0] + J[1, at + j] * p[1] + J[2, at + j] * p[2]
    square = 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            for j in range(D):
                square += g[b, r] * problem.inverse[b, r, j] * g[b, j]
    return np.sqrt(max(square, 0.0))


@jit
def _rounding(problem: Any, work: Any, i: int, kappa: float) -> float:
    """Return the size of an imbalance that is only rounding: of momenta, and of rates times κ and stiffness."""
    D, square, extra = problem.v.shape[1], 0.0, 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            for j in range(D):
                square += problem.free[b, r] * problem.mass[b, r, j] * problem.free[b, j]
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            square += problem.W[c, r, r] * work.push[c, r] ** 2
            u = abs(problem.bias[c, r])
            for side in range(2):
                b = problem.body[c, side]
                if b >= 0:
                    for j in range(D):
                        u += abs(problem.J[c, r, side * D + j] * work.x[b, j])
            extra += work.stiffness[c] * u * u
    return _ROUNDED * (np.sqrt(square) + kappa * np.sqrt(extra))


@jit
def _move(work: Any, i: int, step: float, to: Any) -> None:
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(to.shape[1]):
            to[b, j] = work.x[b, j] + step * work.step[b, j]


@jit
def _copy(work: Any, i: int, source: Any, to: Any) -> None:
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(to.shape[1]):
            to[b, j] = source[b, j]


@jit
def _along(problem: Any, work: Any, i: int, kappa: float, step: float) -> tuple[float, float]:
    """Return slope and curvature of the convex function at a place along the step."""
    D, slope, curvature = problem.v.shape[1], 0.0, 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            momentum, extra = 0.0, 0.0
            for j in range(D):
                momentum += problem.mass[b, r, j] * (work.x[b, j] - problem.free[b, j])
                extra += problem.mass[b, r, j] * work.step[b, j]
            slope += work.step[b, r] * (momentum + step * extra)
            curvature += work.step[b, r] * extra
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        du, A = work.change[c], work.slope[c]
        for r in range(3):
            slope -= du[r] * work.push[c, r]
            for s in range(3):
                curvature += kappa * work.stiffness[c] * du[r] * A[r, s] * du[s]
    return slope, curvature


@jit
def _search_convex(problem: Any, work: Any, i: int, kappa: float) -> float:
    """Return the step to the minimum along Newton's direction, by Newton's method between bounds."""
    low, high, step, first = 0.0, np.inf, 1.0, 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(problem.v.shape[1]):
            first += work.g[b, j] * work.step[b, j]
    for _ in range(30):
        _impulses(problem, work, i, kappa, 1, step)
        slope, curvature = _along(problem, work, i, kappa, step)
        if abs(slope) <= 0.05 * abs(first):
            break
        if slope > 0.0:
            high = step
        else:
            low = step
        step -= slope / curvature
        if not low < step < high:
            step = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return step


@jit
def _search(problem: Any, work: Any, i: int, kappa: float, now: float) -> float:
    """Return a step that reduces the imbalance, or zero."""
    step = 1.0
    while step > _SHORTEST:
        _impulses(problem, work, i, kappa, 0, step)
        _move(work, i, step, work.trial)
        if _imbalance(problem, work, i, work.trial) < (1.0 - 0.1 * step) * now:
            return step
        step *= 0.5
    return 0.0


@entry
def balance(problem: Problem, work: Work, i: int, kappa: float, convex: int) -> int:
    """Find the velocities, and impulses ``push``, that the given impulses lead to.

    Returns:
        0 if that fails, 1 if it does not, 2 if there was nothing to find but rounding.
    """
    first = now = rounded = 0.0
    step = 1.0
    _copy(work, i, work.base, work.x)
    for k in range(_ITERATIONS):
        for t in range(work.contacts[i], work.contacts[i + 1]):
            c = work.who[t]
            work.rate[c, 0], work.rate[c, 1], work.rate[c, 2] = rates(c, problem, work.x)
            if k == 0:
                work.lift[c] = problem.mu[c] * np.sqrt(work.rate[c, 1] ** 2 + work.rate[c, 2] ** 2)
        _impulses(problem, work, i, kappa, convex, 0.0)
        now = _imbalance(problem, work, i, work.x)
        if k == 0:
            first, rounded = now, _rounding(problem, work, i, kappa)
            if first <= _LITTLE * rounded:
                return 2
        if now <= max(_REDUCED * first, rounded):
            return 1
        if step == 0.0 or ask(work.calls[DIRECTION], (problem, work, i, kappa)) == 0:
            break
        step = _search_convex(problem, work, i, kappa) if convex else _search(problem, work, i, kappa, now)
        _move(work, i, step, work.x)
    return 1 if now <= max(_REDUCED * first, _LITTLE * rounded) else 0


@jit
def _exchange(problem: Any, work: Any, i: int, back: bool) -> None:
    """Keep the impulses and take those of Newton's method, or go back to the ones that were kept."""
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            if back:
                problem.impulse[c, r] = work.old[c, r]
            else:
                work.old[c, r] = problem.impulse[c, r]
                problem.impulse[c, r] = work.push[c, r]


@jit
def newton(problem: Any, work: Any, i: int, limit: float) -> float:
    """Improve the impulses of an island until its largest miss is below a limit; return that miss."""
    kappa, miss, convex, best, waited = _WEAKEST, work.residual[2], 0, np.inf, 0
    _copy(work, i, problem.v, work.base)
    for _ in range(_OUTER):
        if miss <= limit:
            break
        weight = min(kappa, _CONVEX) if convex == 1 else kappa
        found = ask(work.calls[BALANCE], (problem, work, i, weight, convex))
        if found > 0 or convex == 1:
            _exchange(problem, work, i, False)
            ask(work.calls[MISSES], (problem, work, i))
            if convex == 0 and not work.residual[2] < _WORSE * miss:
                _exchange(problem, work, i, True)
                found = 0
        if found == 0 and convex == 0:
            convex = 1
            continue
        slow = work.residual[2] > _SLOW * miss
        if convex == 1 or (slow and found == 2):
            kappa = max(_WEAKER * kappa, _WEAKEST)
        elif slow or kappa < _STRONG:
            kappa = min(_STRONGER * kappa, _STRONGEST)
        work.counts[3] += convex
        convex, miss = 0, work.residual[2]
        if miss < _LESS * best:
            best, waited = miss, 0
        else:
            waited += 1
            if waited > _PATIENCE and miss <= ACCEPTED * work.residual[1]:
                break
        _copy(work, i, work.x, work.base)
    ask(work.calls[MISSES], (problem, work, i))  # the last impulses may have been rejected
    return work.residual[2]
