"""A second way to contact impulses, for problems whose bases are singular but for rounding.

The proximal point method (R. T. Rockafellar 1976): with D the diagonal of W,

    p_k+1 solves the problem with W + ε D and the free rates rate − ε D p_k.

Each of these problems is well posed, and a fixed point solves the problem itself. Its miss is ε D (p_k+1 − p_k), a
rate. ε falls from one stage to the next: a small one comes near in few steps, once a large one has shown the way.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact.lcp.cone import contact_impulses
from impinge.contact.lcp.lemke import LIMIT, SOLVED

# ε of the first stage, and what it is divided by from one to the next; how many stages, and steps of each.
_FIRST, _SMALLER, _STAGES, _STEPS = 1e-4, 10.0, 8, 8
# A miss this small against the terms of its row is rounding; one this small is a solution.
_EXACT, _MISS = 1e-13, 1e-10


@jit
def proximal_impulses(W: Any, rate: Any, mu: Any, slips: Any, facets: int, impulse: Any, work: Any) -> int:
    """Compute contact impulses as `contact_impulses` does, with the same arguments; slower and from any start.

    W is changed on the way, and is what it was on return.

    Returns:
        SOLVED, or LIMIT if nothing is found; then all impulses are zero.
    """
    n, last, kept, shifted = mu.size + slips[mu.size], work.last, work.diagonal, work.shifted
    best, epsilon = 1.0, _FIRST
    for i in range(n):
        impulse[i], last[i], kept[i] = 0.0, 0.0, W[i, i]
    for _ in range(_STAGES):
        for i in range(n):
            W[i, i] = (1.0 + epsilon) * kept[i]
        status = SOLVED
        for _ in range(_STEPS):
            for i in range(n):
                shifted[i] = rate[i] - epsilon * kept[i] * last[i]
            status = contact_impulses(W, shifted, mu, slips, facets, work.next, work)
            if status != SOLVED:
                break
            miss = 0.0
            for i in range(n):
                size = abs(rate[i])
                for j in range(n):
                    size += abs(W[i, j] * work.next[j])
                change = epsilon * kept[i] * abs(work.next[i] - last[i])
                miss = max(miss, change / size if size > 0.0 else 0.0)
            for i in range(n):
                last[i] = work.next[i]
                if miss < best:
                    impulse[i] = last[i]
            best = min(best, miss)
            if miss <= _EXACT:
                break
        if status != SOLVED or best <= _EXACT:
            break
        epsilon /= _SMALLER
    for i in range(n):
        W[i, i] = kept[i]
        if not best <= _MISS:
            impulse[i] = 0.0
    return SOLVED if best <= _MISS else LIMIT
