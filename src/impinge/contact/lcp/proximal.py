"""A second way to contact impulses, for problems whose bases are singular but for rounding.

The proximal point method (R. T. Rockafellar 1976): with D the diagonal of W,

    p_k+1 solves the problem with W + ε D and the free rates rate − ε D p_k.

Each of these problems is well posed, and a fixed point solves the problem itself. Its miss is ε D (p_k+1 − p_k), a
rate; it does not fall if the problem has no solution. ε falls from one stage to the next: a small one comes near in few
steps, once a large one has shown the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit
from impinge.contact.lcp.cone import contact_impulses
from impinge.contact.lcp.lemke import LIMIT, SOLVED

# ε of the first stage, and what it is divided by from one to the next; how many stages, and steps of each.
_FIRST, _SMALLER, _STAGES, _STEPS = 1e-4, 10.0, 8, 8
# If a stage leaves more than this share of the miss, there is no solution to come near to.
_STUCK = 0.9
# A miss this small against the largest rate is rounding; one this small is a solution.
_EXACT, _MISS = 1e-14, 1e-10


@jit
def largest_rate(W: Any, rate: Any, n: int) -> float:
    """Return the largest |rate|/√W_ii: rates in units that do not depend on how gaps and slips are measured."""
    largest = 0.0
    for i in range(n):
        if W[i, i] > 0.0:
            largest = max(largest, abs(rate[i]) / np.sqrt(W[i, i]))
    return largest


@jit
def proximal_impulses(W: Any, rate: Any, mu: Any, slips: Any, facets: int, impulse: Any, work: Any) -> int:
    """Compute contact impulses as `contact_impulses` does, with the same arguments; slower and from any start.

    W is changed on the way, and is what it was on return.

    Returns:
        SOLVED, or LIMIT if nothing is found; then all impulses are zero.
    """
    n, last, kept, shifted = mu.size + slips[mu.size], work.last, work.diagonal, work.shifted
    best, epsilon, size = 1.0, _FIRST, largest_rate(W, rate, n)
    for i in range(n):
        impulse[i], last[i], kept[i] = 0.0, 0.0, W[i, i]
    if not size > 0.0:
        return LIMIT
    for _ in range(_STAGES):
        for i in range(n):
            W[i, i] = (1.0 + epsilon) * kept[i]
        status, before = SOLVED, best
        for _ in range(_STEPS):
            for i in range(n):
                shifted[i] = rate[i] - epsilon * kept[i] * last[i]
            status = contact_impulses(W, shifted, mu, slips, facets, work.next, work)
            if status != SOLVED:
                break
            miss = 0.0
            for i in range(n):
                miss = max(miss, epsilon * np.sqrt(kept[i]) * abs(work.next[i] - last[i]) / size)
            for i in range(n):
                last[i] = work.next[i]
                if miss < best:
                    impulse[i] = last[i]
            best = min(best, miss)
            if miss <= _EXACT:
                break
        if status != SOLVED or best <= _EXACT or best > _STUCK * before:
            break
        epsilon /= _SMALLER
    for i in range(n):
        W[i, i] = kept[i]
        if not best <= _MISS:
            impulse[i] = 0.0
    return SOLVED if best <= _MISS else LIMIT
