"""Impulses with restitution that never give energy, for impacts that are located.

Rates of gaps and slips are rate + W p. Without restitution gaps keep at least a rate ``least``, with it ``leave``:

    0 ≤ p_n  ⊥  (rate + W p)_n − leave ≥ 0        and Coulomb's cone along the slips

Newton's hypothesis may ask for what cannot be had (a body between two walls cannot leave both), or for more energy
than there was: with friction, with restitutions that differ, and where contacts touch at once that act on each other.
Impulses with and without restitution are both admissible: the cone of friction and the bounds of the rates are convex.
So are all on the straight line between them, along which the energy pᵀ(rate + W p/2) is a convex parabola that begins
below zero. Restitution is taken back along it to where the energy is what it was. Contacts that do not act on each
other, directly or through others, are islands: each is judged by itself.
"""

from __future__ import annotations

from math import cos, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Vector, jit
from impinge.contact.lcp.cone import ConeWorkspace, cone_workspace, contact_impulses
from impinge.contact.lcp.lemke import LIMIT, SOLVED
from impinge.contact.lcp.proximal import largest_rate, proximal_impulses

# Of the terms of a sum, what is rounding; an energy this small against that of the motion is none.
_ROUNDING, _NOTHING = 1e-15, 1e-13
# How often restitution is taken back for what rounding adds.
_CORRECTIONS = 3
# Gaps that close at this share of the largest rate, scaled, do not close.
MISS = 1e-10
# So many times that may be missed by who pushes and yet parts, or slides and yet could be held; and what friction is
# used up to where it slides, more than what the sides of its polygon leave.
_ABOUT, _USED = 1e3, 1.0 + 1e-3
# Impulses larger than this times the largest rate, scaled, have no meaning.
_HUGE = 1e8
# Entries of W this small against those on its diagonal do not make contacts act on each other.
_APART = 1e-13


class RestitutionWorkspace(NamedTuple):
    """Arrays of `impulses_with_restitution`, for n rows of nc contacts."""

    unit: Vector  # the diagonal of W before constraints were eliminated, n
    rate: Vector  # what gaps and slips have without impulses, n
    least: Vector  # what gaps must have at least without restitution, nc
    leave: Vector  # and with it, nc
    missing: Vector  # the vector of the problem that is solved, n
    plain: Vector  # impulses without restitution, n
    trial: Vector  # impulses of one island with restitution, or of one step of the second way, n
    island: Integers  # the first contact of the island that each contact is in, nc
    cone: ConeWorkspace


def restitution_workspace(n: int, nc: int, facets: int) -> RestitutionWorkspace:
    """Allocate the work space of `impulses_with_restitution` for these numbers of rows, contacts and directions."""
    return RestitutionWorkspace(
        unit=np.zeros(n),
        rate=np.zeros(n),
        least=np.zeros(nc),
        leave=np.zeros(nc),
        missing=np.zeros(n),
        plain=np.zeros(n),
        trial=np.zeros(n),
        island=np.zeros(nc, dtype=np.int64),
        cone=cone_workspace(n, nc, facets),
    )


@jit
def _coupled(W: Any, nc: int, slips: Any, c: int, e: int) -> bool:
    """Tell whether impulses of one contact change rates of another."""
    for k in range(slips[c] - 1, slips[c + 1]):  # its gap, then its slips
        i = c if k < slips[c] else nc + k
        for s in range(slips[e] - 1, slips[e + 1]):
            j = e if s < slips[e] else nc + s
            if W[i, j] * W[i, j] > _APART * _APART * W[i, i] * W[j, j]:
                return True
    return False


@jit
def _find_islands(W: Any, nc: int, slips: Any, island: Any) -> int:
    """Write the island of each contact; return how many there are."""
    count = nc
    for c in range(nc):
        island[c] = c
        for e in range(c):
            mine, other = island[c], island[e]
            if mine == other or not _coupled(W, nc, slips, c, e):
                continue
            count -= 1
            low, high = min(mine, other), max(mine, other)
            for k in range(c + 1):
                if island[k] == high:
                    island[k] = low
    return count


@jit
def _row(nc: int, slips: Any, c: int, k: int) -> int:
    """Return the row of a contact's gap (k = 0) or of one of its slips (k = 1, 2, …)."""
    return c if k == 0 else nc + slips[c] + k - 1


@jit
def energy_given(W: Any, nc: int, slips: Any, which: int, p: Any, work: Any) -> tuple[float, float, float]:
    """Return the energy that impulses of an island (all: −1) give, as surfaces at rest would see it.

    Beside it: how large its rounding may be, constraints included, and an energy that the island has at least, from
    its fastest row.
    """
    n = nc + slips[nc]
    total, terms, least = 0.0, 0.0, 0.0
    for c in range(nc):
        if which >= 0 and work.island[c] != which:
            continue
        for k in range(1 + slips[c + 1] - slips[c]):
            i = _row(nc, slips, c, k)
            pushed = 0.0
            for j in range(n):
                pushed += W[i, j] * p[j]
            total += p[i] * (work.rate[i] + 0.5 * pushed)
            terms += abs(p[i]) * sqrt(work.unit[i])
            if W[i, i] > 0.0:
                least = max(least, 0.5 * work.rate[i] * work.rate[i] / W[i, i])
    return total, _ROUNDING * terms * terms, least


@jit
def _gains(W: Any, nc: int, slips: Any, which: int, p: Any, work: Any) -> bool:
    """Tell whether the impulses of an island give energy, or may do so by rounding."""
    given, rounding, least = energy_given(W, nc, slips, which, p, work)
    return given + rounding > _NOTHING * least


@jit
def largest_share(none: float, slope: float, curve: float) -> float:
    """Return the largest share s of the way, up to one, at which none + slope s + curve s² is not above zero."""
    if none > 0.0:
        return 0.0
    root = sqrt(max(0.0, slope * slope - 4.0 * curve * none))
    if slope > 0.0:
        return min(1.0, -2.0 * none / (slope + root))
    return min(1.0, (root - slope) / (2.0 * curve)) if curve > 0.0 else 1.0


@jit
def _take_back(W: Any, nc: int, slips: Any, which: int, p: Any, work: Any) -> None:
    """Replace the impulses of an island by those on the line to ``work.plain`` that keep its energy as it was.

    What rounding may add is left out, so that energy does not grow.
    """
    plain, trial, none, slope, curve = work.plain, work.trial, 0.0, 0.0, 0.0
    n = nc + slips[nc]
    for i in range(n):
        trial[i] = p[i]
    for c in range(nc):
        if work.island[c] != which:
            continue
        for k in range(1 + slips[c + 1] - slips[c]):
            i = _row(nc, slips, c, k)
            pushed, turned = 0.0, 0.0
            for j in range(n):
                pushed += W[i, j] * plain[j]
                turned += W[i, j] * (p[j] - plain[j])
            none += plain[i] * (work.rate[i] + 0.5 * pushed)
            slope += (p[i] - plain[i]) * (work.rate[i] + pushed)
            curve += 0.5 * (p[i] - plain[i]) * turned
    for _ in range(_CORRECTIONS):
        share = largest_share(none, slope, curve)
        for c in range(nc):
            if work.island[c] == which:
                for k in range(1 + slips[c + 1] - slips[c]):
                    i = _row(nc, slips, c, k)
                    trial[i] = plain[i] + share * (p[i] - plain[i])
        given, rounding, least = energy_given(W, nc, slips, which, trial, work)
        if given + rounding <= _NOTHING * least:
            break
        none += max(given, 0.0) + rounding
    for i in range(n):
        p[i] = trial[i]


@jit
def _holds(W: Any, mu: Any, slips: Any, facets: int, p: Any, work: Any, miss: float) -> bool:
    """Tell whether impulses solve the problem, up to a little of the largest rate, and are not themselves huge.

    Huge ones push against each other: they stand for a solution that there is by rounding only. Gaps must not close;
    who pushes does not part, friction does not drive, and what slides has used it up.
    """
    nc, spare = mu.size, _USED - cos(pi / facets)
    n = nc + slips[nc]
    largest = largest_rate(W, work.missing, n)
    allowed = miss * largest
    about = _ABOUT * allowed
    for i in range(n):
        if not abs(p[i]) * sqrt(W[i, i]) <= _HUGE * largest:
            return False
    for c in range(nc):
        rate, size = work.missing[c], sqrt(W[c, c])
        for j in range(n):
            rate += W[c, j] * p[j]
        if not rate >= -allowed * size or not min(rate, p[c] * size * size) <= about * size:
            return False
        speed, power, held, scale = 0.0, 0.0, 0.0, 0.0
        for i in range(nc + slips[c], nc + slips[c + 1]):
            rate = work.missing[i]
            for j in range(n):
                rate += W[i, j] * p[j]
            speed, power, held, scale = speed + rate * rate, power + rate * p[i], held + p[i] * p[i], scale + W[i, i]
        speed, held, scale = sqrt(speed), sqrt(held), sqrt(scale)
        if not power <= about * scale * held:
            return False
        if speed > about * scale and (mu[c] * p[c] - held) * scale > spare * mu[c] * p[c] * scale + about:
            return False
    return True


@jit
def _into_cones(mu: Any, slips: Any, p: Any) -> None:
    """Shorten friction that is outside of its cone by rounding."""
    nc = mu.size
    for c in range(nc):
        square, limit = 0.0, mu[c] * p[c]
        for s in range(slips[c], slips[c + 1]):
            square += p[nc + s] * p[nc + s]
        if square > limit * limit:
            for s in range(slips[c], slips[c + 1]):
                p[nc + s] *= limit / sqrt(square)


@jit
def _solve(W: Any, mu: Any, slips: Any, facets: int, which: int, p: Any, work: Any, miss: float) -> int:
    """Find impulses with restitution in one island (all: −1, none: −2), in one of two ways; return the status."""
    nc = mu.size
    for i in range(nc + slips[nc]):
        work.missing[i] = work.rate[i]
    for c in range(nc):
        elastic = which == -1 or work.island[c] == which
        work.missing[c] -= work.leave[c] if elastic else work.least[c]
    status = contact_impulses(W, work.missing, mu, slips, facets, p, work.cone)
    _into_cones(mu, slips, p)
    if status == SOLVED and _holds(W, mu, slips, facets, p, work, miss):
        return SOLVED
    again = proximal_impulses(W, work.missing, mu, slips, facets, p, work.cone)
    _into_cones(mu, slips, p)
    if again == SOLVED and _holds(W, mu, slips, facets, p, work, miss):
        return SOLVED
    return status if status != SOLVED else LIMIT


@jit
def impulses_with_restitution(W: Any, mu: Any, slips: Any, facets: int, p: Any, work: Any, miss: float) -> int:
    """Find impulses with as much of the restitution as there is energy for.

    Args:
        W: Delassus matrix of the rows (leading block): all gaps, then all slips. Symmetric if anything is to rebound.
        mu: coefficient of friction of each contact; its length is the number of contacts nc.
        slips: the slips of contact c are the rows nc + slips[c] … nc + slips[c + 1] − 1.
        facets: directions in which a contact with two slips may slide.
        p: receives the impulse of each row.
        work: from `restitution_workspace`; ``work.unit``, ``rate``, ``least`` and ``leave`` pose the problem.
        miss: a gap may close at this share of the largest rate, scaled, before its impulses count as not found.

    Returns:
        SOLVED, or the status of the solver for the problem without restitution: if only that with it has no
        solution, restitution is taken back.
    """
    nc, bounces = mu.size, False
    for c in range(nc):
        bounces |= work.leave[c] > work.least[c]
    if not bounces:
        return _solve(W, mu, slips, facets, -2, p, work, miss)
    status = _solve(W, mu, slips, facets, -1, p, work, miss)
    islands = _find_islands(W, nc, slips, work.island)
    if status == SOLVED:
        known = False
        for c in range(nc):
            if work.island[c] == c and _gains(W, nc, slips, c, p, work):
                if not known:
                    status = _solve(W, mu, slips, facets, -2, work.plain, work, miss)
                    if status != SOLVED:
                        return status
                    known = True
                _take_back(W, nc, slips, c, p, work)
        return SOLVED
    status = _solve(W, mu, slips, facets, -2, work.plain, work, miss)
    for i in range(nc + slips[nc]):
        p[i] = work.plain[i]
    if status != SOLVED or islands == 1:
        return status
    for c in range(nc):
        if work.island[c] == c and _solve(W, mu, slips, facets, c, work.trial, work, miss) == SOLVED:
            for e in range(c, nc):
                if work.island[e] == c:
                    for k in range(1 + slips[e + 1] - slips[e]):
                        i = _row(nc, slips, e, k)
                        p[i] = work.trial[i]
            if _gains(W, nc, slips, c, p, work):
                _take_back(W, nc, slips, c, p, work)
    return SOLVED
