"""Newton's method on the velocities of an island, with impulses that follow from them.

Given impulses p, look for velocities with M (v − v⁻) = Jᵀ P(p − K u(v)), K the stiffness of each contact along its
normal and its tangents, and P the law of the contact: then P(…) are the next impulses (`proximal`). With the map of
Alart and Curnier (1991) that is the exact law, without a function to minimize. With the projection into the friction
cone of u + μ|u_t| n, with the slip of before (De Saxcé and Feng, 1998; Cadoux, 2009), it is the minimum of a convex
function, with a line search that cannot fail (Castro et al., 2022).

P is positively homogeneous, P(z) = P'(z) z. So who pushes, sticks and slides is all that Newton's method needs to
begin with, and `predict` begins with those of the last step.

Rates are kept beside the velocities and changed along with them: if they were computed anew, their rounding, times
the stiffness, would be an imbalance that no velocities can remove.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, inlined, jit
from impinge.contact.coulomb.one import cone, disk
from impinge.contact.coulomb.problem import DIRECTION, Problem, Work
from impinge.contact.coulomb.sweeps import push, rates

CAREFUL, BOLD, CONVEX, BRIEF = 0, 1, 2, 3

_GLANCE = 1e-3  # weight of the rates, against the impulses, in who pushes, sticks and slides as a step begins
_ITERATIONS, _BRIEFLY = 20, 8  # of Newton's method for given impulses
_SHORTEST = 0.01  # step of its line search
_WHOLE, _LOST = 5, 10.0  # bold steps before the imbalance is looked at, and its growth that ends them
_EXACT, _REDUCED = 1e-9, 1e-4  # what is left of the imbalance when it ends, or may be left if it cannot go on
_ROUNDED = 2e-16  # imbalance that is only rounding, against what goes in
_LITTLE = 10.0  # times rounding that is not worth a step


@jit
def _impulses(problem: Any, work: Any, i: int, convex: bool, step: float) -> None:
    """Write the impulses and slopes that belong to the rates, changed by a step."""
    p, u, du = problem.impulse, work.rate, work.change
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        w, t = work.normal[c], work.tangent[c]
        z0 = p[c, 0] - w * (u[c, 0] + step * du[c, 0])
        z1 = p[c, 1] - t * (u[c, 1] + step * du[c, 1])
        z2 = p[c, 2] - t * (u[c, 2] + step * du[c, 2])
        if convex:
            cone(z0 - w * work.lift[c], z1, z2, problem.mu[c], work.push[c], work.slope[c])
        else:
            disk(z0, z1, z2, problem.mu[c], work.push[c], work.slope[c])


@inlined
def _write_imbalance(problem: Any, work: Any, i: int, x: Any, D: int) -> None:
    g = work.g
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            total = 0.0
            for j in range(D):
                total += problem.mass[b, r, j] * (x[b, j] - problem.free[b, j])
            g[b, r] = total
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        p = work.push[c]
        if p[0] != 0.0:
            push(c, problem, problem.J, -p[0], -p[1], -p[2], g)


@inlined
def _size_of(problem: Any, work: Any, i: int, D: int) -> float:
    square, g = 0.0, work.g
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            total = 0.0
            for j in range(D):
                total += problem.inverse[b, r, j] * g[b, j]
            square += g[b, r] * total
    return np.sqrt(max(square, 0.0))


@jit
def _imbalance(problem: Any, work: Any, i: int, x: Any) -> float:
    """Write M (x − v⁻) − Jᵀ P and return its size, as a root of energy."""
    D = x.shape[1]
    if D == 6:  # said twice: what is known when it is compiled becomes vectors
        _write_imbalance(problem, work, i, x, 6)
        return _size_of(problem, work, i, 6)
    _write_imbalance(problem, work, i, x, D)
    return _size_of(problem, work, i, D)


@inlined
def _rounding_of(problem: Any, work: Any, i: int, D: int) -> tuple[float, float]:
    square, extra = 0.0, 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for r in range(D):
            total = 0.0
            for j in range(D):
                total += problem.mass[b, r, j] * problem.free[b, j]
            square += problem.free[b, r] * total
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        J, W = problem.J[c], problem.W[c]
        x, y, z = abs(problem.bias[c, 0]), abs(problem.bias[c, 1]), abs(problem.bias[c, 2])
        for side in range(2):
            b, at = problem.body[c, side], side * D
            if b >= 0:
                for j in range(D):
                    v = abs(work.x[b, j])
                    x, y, z = x + abs(J[0, at + j]) * v, y + abs(J[1, at + j]) * v, z + abs(J[2, at + j]) * v
        for r in range(3):
            square += W[r, r] * work.push[c, r] ** 2
        extra += W[0, 0] * (work.normal[c] * x) ** 2
        extra += work.tangent[c] ** 2 * (W[1, 1] * y * y + W[2, 2] * z * z)
    return _ROUNDED * np.sqrt(square), _ROUNDED * np.sqrt(extra)


@jit
def _rounding(problem: Any, work: Any, i: int) -> tuple[float, float]:
    """Return the size of an imbalance that is only rounding: of momenta, and of rates times stiffness."""
    D = problem.v.shape[1]
    return _rounding_of(problem, work, i, 6) if D == 6 else _rounding_of(problem, work, i, D)


@jit
def _move(work: Any, i: int, step: float, to: Any) -> None:
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(to.shape[1]):
            to[b, j] = work.x[b, j] + step * work.step[b, j]


@jit
def copy(work: Any, i: int, source: Any, to: Any) -> None:
    """Copy the velocities of the blocks of an island."""
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(to.shape[1]):
            to[b, j] = source[b, j]


@jit
def _along(problem: Any, work: Any, i: int, step: float) -> tuple[float, float]:
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
                curvature += work.normal[c] * du[r] * A[r, s] * du[s]
    return slope, curvature


@jit
def _search_convex(problem: Any, work: Any, i: int) -> float:
    """Return the step to the minimum along Newton's direction, by Newton's method between bounds."""
    low, high, step, first = 0.0, np.inf, 1.0, 0.0
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(problem.v.shape[1]):
            first += work.g[b, j] * work.step[b, j]
    for _ in range(30):
        _impulses(problem, work, i, True, step)
        slope, curvature = _along(problem, work, i, step)
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
def _search(problem: Any, work: Any, i: int, now: float) -> float:
    """Return a step that makes the imbalance less than a value, or zero."""
    step = 1.0
    while step > _SHORTEST:
        _impulses(problem, work, i, False, step)
        _move(work, i, step, work.trial)
        if _imbalance(problem, work, i, work.trial) < (1.0 - 0.1 * step) * now:
            return step
        step *= 0.5
    return 0.0


@jit
def _set_rates(problem: Any, work: Any, i: int) -> None:
    """Write the rates that belong to the velocities x, and how much the convex law lifts each gap."""
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        work.rate[c, 0], work.rate[c, 1], work.rate[c, 2] = rates(c, problem, work.x)
        work.lift[c] = problem.mu[c] * np.sqrt(work.rate[c, 1] ** 2 + work.rate[c, 2] ** 2)


@jit
def _change_rates(work: Any, i: int, step: float) -> None:
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        for r in range(3):
            work.rate[c, r] += step * work.change[c, r]


@entry
def balance(problem: Problem, work: Work, i: int, way: int) -> int:
    """Find the velocities, and impulses ``push``, that the given impulses lead to.

    Args:
        problem: packed `Problem`, with the impulses.
        work: packed `Work`, with velocities to begin with in ``base``.
        i: the island.
        way: CAREFUL takes steps that reduce the imbalance; BOLD whole steps at first, each with those who push, stick
            and slide after the one before, which mostly arrives, then steps that make it no worse than it was lately
            (L. Grippo, F. Lampariello and S. Lucidi, 1986); BRIEF the same, but gives up sooner; CONVEX minimizes the
            function of the convex law.

    Returns:
        0 if that fails, 1 if it does not, 2 if there was nothing to find but rounding.
    """
    first = now = rounded = coarse = before = earlier = 0.0
    bold = way != CAREFUL and way != CONVEX
    step, reduced = 1.0, _EXACT if bold else _REDUCED
    copy(work, i, work.base, work.x)
    _set_rates(problem, work, i)
    for k in range(_BRIEFLY if way == BRIEF else _ITERATIONS):
        _impulses(problem, work, i, way == CONVEX, 0.0)
        now = _imbalance(problem, work, i, work.x)
        if k == 0:
            first = now
            rounded, coarse = _rounding(problem, work, i)
            if first <= _LITTLE * rounded:
                return 2
        if now <= max(reduced * first, rounded):
            return 1
        if bold and k >= _WHOLE and now > _LOST * first:
            break
        if step == 0.0 or ask(work.calls[DIRECTION], (problem, work, i)) == 0:
            break
        if way == CONVEX:
            step = _search_convex(problem, work, i)
        elif way == CAREFUL or k >= _WHOLE:
            step = _search(problem, work, i, now if way == CAREFUL else max(now, before, earlier))
            earlier, before = before, now
        _move(work, i, step, work.x)
        _change_rates(work, i, step)
    return 1 if now <= max(_REDUCED * first, _LITTLE * (rounded + coarse)) else 0


@entry
def predict(problem: Problem, work: Work, i: int) -> int:
    """Write velocities to begin with: those if the contacts that push, stick and slide now were to go on doing so.

    They are the solution for impulses of zero to begin with, from the impulses and velocities that there are.
    """
    copy(work, i, problem.v, work.base)
    copy(work, i, problem.v, work.x)
    _set_rates(problem, work, i)
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        A, p, u, w, s = work.slope[c], problem.impulse[c], work.rate[c], work.normal[c], work.tangent[c]
        own = _GLANCE * work.stiffness[c]
        disk(p[0] - own * u[0], p[1] - own * u[1], p[2] - own * u[2], problem.mu[c], work.push[c], A)
        for r in range(3):
            work.push[c, r] = -(A[r, 0] * w * u[0] + A[r, 1] * s * u[1] + A[r, 2] * s * u[2])
    _imbalance(problem, work, i, work.x)
    if ask(work.calls[DIRECTION], (problem, work, i)) == 0:
        return 0
    _move(work, i, 1.0, work.base)
    return 1
