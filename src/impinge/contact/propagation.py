"""Impacts that propagate: one contact after another, as in a row of balls of which the first is hit.

The contact that approaches fastest (among equals the first) is struck alone, with its own restitution, friction and
bound of energy. That changes the rates of others; those that rest or touch are struck in turn when they are pushed
together. It goes on until no contact approaches. If that takes more than 100 impacts for each contact, the rest is
one impact of all contacts at once with e = 0, and so is what approaches no faster than rounding. If that has no
solution, for what rounding has left, all contacts are struck at once from the start.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact.consistent import make_consistent
from impinge.contact.impact import FACETS, give_impulses, reduce_rows, rows_of, simultaneous
from impinge.contact.law import SLOW
from impinge.contact.lcp.lemke import SOLVED
from impinge.contact.lcp.proximal import largest_rate
from impinge.contact.restitution import MISS, impulses_with_restitution

# So many impacts for each contact follow one another before the rest is one impact without restitution.
_MOST = 100
# A rate this small against the largest of all rows is rounding.
_ROUNDING = 1e-12


@jit
def _strike_one(nc: int, n: int, c: int, work: Any) -> int:
    """Let one contact be struck: add its impulses, and what they do to the rates in ``work.all.rate``."""
    one, rate, first = work.one, work.all.rate, nc + work.slips[c] - 1
    size = 1 + work.slips[c + 1] - work.slips[c]
    for a in range(size):
        i = c if a == 0 else first + a
        one.rate[a], one.unit[a] = rate[i], work.all.unit[i]
        for b in range(size):
            work.W_one[a, b] = work.W[i, c if b == 0 else first + b]
    one.least[0], one.leave[0], work.slips_one[1] = 0.0, -work.e[c] * rate[c], size - 1
    status = impulses_with_restitution(work.W_one, work.mu[c : c + 1], work.slips_one, FACETS, work.p_one, one, MISS)
    if status != SOLVED:
        return status
    for a in range(size):
        j = c if a == 0 else first + a
        work.total[j] += work.p_one[a]
        for i in range(n):
            rate[i] += work.W[i, j] * work.p_one[a]
    return SOLVED


@jit
def _fastest(nc: int, slowest: float, rate: Any) -> int:
    """Return the contact that approaches fastest, −1 if none approaches faster than a speed."""
    found, speed = -1, slowest
    for c in range(nc):
        if -rate[c] > speed:
            found, speed = c, -rate[c]
    return found


@jit
def _one_after_another(nc: int, n: int, work: Any) -> int:
    """Find the impulses of impacts that follow one another, into ``work.impulse``; return the status."""
    largest, rate = 0.0, work.all.rate
    for i in range(n):
        work.total[i] = 0.0
        largest = max(largest, abs(rate[i]))
    scaled, slowest = largest_rate(work.W, rate, n), max(SLOW, _ROUNDING * largest)
    for _ in range(_MOST * nc):
        c = _fastest(nc, slowest, rate)
        if c < 0:
            break
        status = _strike_one(nc, n, c, work)
        if status != SOLVED:
            return status
    if _fastest(nc, SLOW, rate) >= 0:
        left = _fastest(nc, slowest, rate) >= 0
        for c in range(nc):
            work.e[c] = 0.0
        make_consistent(work.W, rate, work.all.unit, n, _ROUNDING * scaled, work)
        status = simultaneous(nc, n, work)
        if status == SOLVED:
            for i in range(n):
                work.total[i] += work.impulse[i]
        elif left:
            return status
    for i in range(n):
        work.impulse[i] = work.total[i]
    return SOLVED


@jit
def propagating_impulses(
    W: Any, rate: Any, nh: int, slips: Any, mu: Any, restitution: Any, impulse: Any, work: Any
) -> int:
    """Find the sum of the impulses of impacts one after another; arguments and status are as in `impact_impulses`."""
    for i in range(rate.size):
        impulse[i] = 0.0
    nc, n = rows_of(nh, slips, mu, restitution, work)
    reduce_rows(W, rate, nh, n, work)
    status = _one_after_another(nc, n, work)
    if status != SOLVED:
        nc, n = rows_of(nh, slips, mu, restitution, work)
        reduce_rows(W, rate, nh, n, work)
        status = simultaneous(nc, n, work)
    if status == SOLVED:
        give_impulses(W, rate, nh, n, impulse, work)
    return status
