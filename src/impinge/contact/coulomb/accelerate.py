"""Sweeps that learn from each other: Anderson's method on top of Gauss and Seidel's.

A sweep takes impulses x to G(x) and is done where F(x) = G(x) − x is zero. Of the last few, Σ α F with Σ α = 1 is made
as small as can be, and Σ α G is where the next sweep begins (D. G. Anderson, 1965). Velocities are affine in the
impulses, so they are mixed alike. Mixtures come after every third sweep: the slow part of the change is what they
are for, and two sweeps leave little of the rest. After some of that come plain sweeps: contacts that open and close,
stick and slide are no smooth function, and a mixture may lead astray (H. F. Walker and P. Ni, 2011, describe the
method).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, inlined, jit
from impinge.contact.coulomb.problem import HISTORY, MISSES, SWEEP, Problem, Work

_APART = 2  # sweeps before each that is mixed
_MIXED, _PLAIN, _LOOK = 7, 3, 2  # turns of these with a mixture and without, and between two looks at the misses
_GROWTH = 1.5  # of F that a mixture is forgotten for
_SINGULAR = 1e-8  # added to the least squares, against their trace


@jit
def _keep_start(problem: Any, work: Any, i: int, slot: int) -> None:
    """Keep the impulses before a sweep."""
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            work.moved[c, r, slot] = problem.impulse[c, r]


@jit
def _keep_end(problem: Any, work: Any, i: int, slot: int) -> None:
    """Keep what a sweep made of the impulses, F weighted by the roots of W, and its products with those before."""
    s0 = s1 = s2 = s3 = 0.0
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            F, p = work.moved[c, r], problem.impulse[c, r]
            f = work.root[c, r] * (p - F[slot])
            F[slot], work.reached[c, r, slot] = f, p
            s0, s1, s2, s3 = s0 + f * F[0], s1 + f * F[1], s2 + f * F[2], s3 + f * F[3]
    products = work.products[slot]
    products[0], products[1], products[2], products[3] = s0, s1, s2, s3
    for other in range(HISTORY):
        work.products[other, slot] = work.products[slot, other]
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(problem.v.shape[1]):
            work.speeds[b, j, slot] = problem.v[b, j]


@jit
def _weights(work: Any, newest: int, known: int) -> bool:
    """Write the α of all that are known, for which the sum of their F is smallest; say whether there are any."""
    B, A, alpha, n, trace = work.products, work.least, work.alpha, known - 1, 0.0
    for j in range(n):  # differences of each with the one before it in time
        a, b = (newest + 1 + j) % known, (newest + 2 + j) % known
        for k in range(n):
            c, d = (newest + 1 + k) % known, (newest + 2 + k) % known
            A[j, k] = B[b, d] - B[b, c] - B[a, d] + B[a, c]
        A[j, n] = B[b, newest] - B[a, newest]
        trace += A[j, j]
    for j in range(n):
        A[j, j] += _SINGULAR * trace
    for j in range(n):  # elimination; the matrix is positive definite
        if not A[j, j] > 0.0:
            return False
        for k in range(j + 1, n):
            factor = A[k, j] / A[j, j]
            for m in range(j, n + 1):
                A[k, m] -= factor * A[j, m]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            A[j, n] -= A[j, k] * A[k, n]
        A[j, n] /= A[j, j]
    for k in range(known):
        alpha[k] = 0.0
    alpha[newest] = 1.0
    for j in range(n):
        alpha[(newest + 1 + j) % known] += A[j, n]
        alpha[(newest + 2 + j) % known] -= A[j, n]
    return True


@inlined
def _mixture(alpha: Any, values: Any, known: int) -> float:
    """Return the mixture of what the sweeps that are known made of a number."""
    if known == 4:
        return (alpha[0] * values[0] + alpha[1] * values[1]) + (alpha[2] * values[2] + alpha[3] * values[3])
    total = 0.0
    for slot in range(known):
        total += alpha[slot] * values[slot]
    return total


@jit
def _mix(problem: Any, work: Any, i: int, known: int) -> None:
    """Begin with the mixture of impulses and of velocities."""
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            problem.impulse[c, r] = _mixture(work.alpha, work.reached[c, r], known)
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(problem.v.shape[1]):
            problem.v[b, j] = _mixture(work.alpha, work.speeds[b, j], known)


@jit
def _return(problem: Any, work: Any, i: int, slot: int) -> None:
    """Go back to what an earlier sweep made."""
    for k in range(HISTORY):
        work.alpha[k] = 1.0 if k == slot else 0.0
    _mix(problem, work, i, slot + 1)


@entry
def accelerate(problem: Problem, work: Work, i: int, limit: float) -> int:
    """Sweep over an island, mixed and plain, until its largest miss is below a limit or a round of both is over.

    Returns:
        Whether it is below; velocities are those of the impulses, and the misses are written.
    """
    known, newest, last = 0, -1, np.inf
    for k in range(1, _MIXED + _PLAIN + 1):
        for _ in range(_APART):
            ask(work.calls[SWEEP], (problem, work, i, 1))
        slot = (newest + 1) % HISTORY
        mixing = k <= _MIXED
        if mixing:
            _keep_start(problem, work, i, slot)
        ask(work.calls[SWEEP], (problem, work, i, 1))
        if k % _LOOK == 0:
            ask(work.calls[MISSES], (problem, work, i))
            if work.residual[2] <= limit:
                return 1
        if mixing:
            _keep_end(problem, work, i, slot)
            square = work.products[slot, slot]
            if known > 0 and square > _GROWTH * _GROWTH * last:
                _return(problem, work, i, newest)
                known, newest, last = 0, -1, np.inf
                continue
            newest, known, last = slot, min(known + 1, HISTORY), square
            if known > 1 and _weights(work, newest, known):
                _mix(problem, work, i, known)
    return 0
