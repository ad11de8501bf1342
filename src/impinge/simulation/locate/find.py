"""When the next event is: the earliest guard of any contact to fall through zero inside a step.

A guard is the largest of its parts, which are smooth. Roots are isolated on the polynomials of the parts over the step;
the first fall is then located on the true guard, to rounding.
"""

from __future__ import annotations

import numpy as np

from impinge.compile import jit
from impinge.contact.law import TOUCHING
from impinge.simulation.events.directions import swings
from impinge.simulation.integrate.step import dense_polynomial
from impinge.simulation.locate.candidates import next_candidate, sample_parts, turning, write_candidates
from impinge.simulation.locate.guards import guards_at, resolution, wants_change
from impinge.simulation.locate.roots import (
    DEGREE,
    NODES,
    NONE,
    next_guess,
)
from impinge.simulation.system import contacts
from impinge.simulation.system.plant import DOUBT, VALUE, Plant, Workspace

_EPSILON = float(np.finfo(float).eps)
_ROUNDS = 64
ITSELF = -1  # in place of a guard of a contact: its gap
# How far beyond where a straight line falls a guard is looked at, to have the fall between two values, and how far away
# a line does not tell any more.
_BEYOND, _ASTRAY = 1.25, 1e-3


@jit
def _guard_at(plant: Plant, w: Workspace, t: float, h: float, theta: float, c: int, k: int, band: float) -> float:
    guards_at(plant, w, t, h, theta, 2)
    return (w.rows[VALUE, plant.nh + c] if k == ITSELF else w.guards[2, c, k]) + band


@jit
def _bracket(
    plant: Plant, w: Workspace, t: float, h: float, c: int, k: int, band: float
) -> tuple[float, float, float, float]:
    """Return a, f(a) > 0, b and f(b) < 0 around the candidate of a guard; b = NONE if there is no such fall.

    If the candidate is farther from the fall than the first two values are, they tell where it may be.
    """
    guess, width = w.candidates[c, k], 1e-8
    low, high, above, below = guess, guess, 0.0, 0.0
    for n in range(10):
        if not above > 0.0:
            low = max(0.0, guess - width)
            above = _guard_at(plant, w, t, h, low, c, k, band)
        if not below < 0.0:
            high = min(1.0, guess + width)
            below = _guard_at(plant, w, t, h, high, c, k, band)
        if above > 0.0 and below < 0.0:
            return low, above, high, below
        if n == 0 and above > below and (above < 0.0 or below > 0.0):
            slope = (above - below) / (high - low)
            way = _BEYOND * (below if below > 0.0 else above) / slope
            x = (high if below > 0.0 else low) + way
            if abs(way) < _ASTRAY and 0.0 < x < 1.0:
                f = _guard_at(plant, w, t, h, x, c, k, band)
                if below > 0.0 and f < 0.0:
                    return high, below, x, f
                if above < 0.0 and f > 0.0:
                    return x, f, low, above
        width *= 8.0
    return 0.0, 0.0, NONE, 0.0


@jit
def close_in(
    plant: Plant,
    w: Workspace,
    t: float,
    h: float,
    c: int,
    k: int,
    band: float,
    bracket: tuple[float, float, float, float],
) -> tuple[float, float]:
    """Return the last θ before and the first after a guard's true fall through −band, within a bracket."""
    low, above, high, below = bracket
    tolerance = 2.0 * _EPSILON * max(abs(t), abs(t + h)) / h
    a, fa, b, fb, fraction = low, above, high, below, above / (above - below)
    for _ in range(100):
        if high - low <= tolerance:
            break
        least = min(0.5, 0.7 * tolerance / (high - low))
        x = a + min(max(fraction, least), 1.0 - least) * (b - a)
        if x <= low or x >= high:
            x = 0.5 * (low + high)
            if x <= low or x >= high:
                break
        f = _guard_at(plant, w, t, h, x, c, k, band)
        if f > 0.0:
            low = x
        else:
            high = x
        if (f > 0.0) == (fa > 0.0):
            z, fz = a, fa
        else:
            z, fz, b, fb = b, fb, a, fa
        a, fa = x, f
        fraction = next_guess(a, fa, b, fb, z, fz)
    return low, high


@jit
def _root(plant: Plant, w: Workspace, t: float, h: float, c: int, k: int, band: float) -> tuple[float, float]:
    """Return the last θ before and the first after a guard's true fall through −band, or NONE twice."""
    bracket = _bracket(plant, w, t, h, c, k, band)
    if bracket[2] == NONE:
        return NONE, NONE
    return close_in(plant, w, t, h, c, k, band, bracket)


@jit
def _refine(plant: Plant, w: Workspace, t: float, h: float, c: int, k: int) -> None:
    """Replace a guard's candidate by the last θ before its true fall, and set ``after`` to the first behind it.

    A guard that starts above zero falls through zero. One that starts below, or is so flat that rounding
    still decides its sign at the end of the instant, falls through −TOUCHING.
    """
    low, high = NONE, NONE
    if w.guards[0, c, k] > 0.0:
        low, high = _root(plant, w, t, h, c, k, 0.0)
        if high != NONE:
            high = min(1.0, max(high, low + resolution(t) / h))
            if _guard_at(plant, w, t, h, high, c, k, 0.0) >= 0.0:
                low, high = NONE, NONE
    if high == NONE:
        low, high = _root(plant, w, t, h, c, k, TOUCHING)
    if high == NONE:
        guess = w.candidates[c, k]
        if _doubtful(plant, w, t, h, c):
            w.counts[DOUBT] = 1
        sample_parts(plant, w, h, c)
        low = next_candidate(plant, w, c, k, guess)
        if low == NONE and w.guards[1, c, k] <= 0.0 and wants_change(plant, w, w.rows_end, c):
            low, high = turning(plant, w, t, h, c)
    w.candidates[c, k], w.after[c, k] = low, high


@jit
def _doubtful(plant: Plant, w: Workspace, t: float, h: float, c: int) -> bool:
    """Tell whether an open gap that is really open has a polynomial that dips below −tolerance within the step."""
    i, first = plant.nh + c, plant.nq + plant.nv + c
    if plant.closed[c, w.mode[c]] != 0 or w.y[first] < 0.0:
        return False
    dense_polynomial(plant, w, first, w.poly[0])
    least = -(plant.atol + plant.rtol * abs(w.y[first]))
    for n in range(1, DEGREE):
        change = 0.0
        for j in range(w.poly.shape[1] - 1, -1, -1):
            change = (change + w.poly[0, j]) * NODES[n]
        if w.y[first] + h * change < least:
            guards_at(plant, w, t, h, NODES[n], 2)
            if w.rows[VALUE, i] > 0.0:
                return True
    return False


@jit
def _earlier(plant: Plant, w: Workspace, t: float, h: float, theta: float) -> bool:
    """Locate guards that fell clearly before θ, and tell whether there are any.

    The polynomials may have put two close roots in the wrong order. A guard that was located where it falls
    through −TOUCHING is about there just before: only beyond twice that has it fallen earlier. If there is none,
    ``w.guards[0]`` are from now on the guards just before: those that fall with this one are still above zero there.
    """
    before = theta - resolution(t) / h
    if before <= 0.0:
        return False
    guards_at(plant, w, t, h, before, 1)
    found = False
    for c in range(plant.nc):
        for k in range(contacts.guard_count(plant)):
            if w.guards[0, c, k] > 0.0 and w.guards[1, c, k] < -2.0 * TOUCHING and w.candidates[c, k] >= theta:
                bracket = 0.0, w.guards[0, c, k], before, w.guards[1, c, k]
                low, high = close_in(plant, w, t, h, c, k, 0.0, bracket)
                w.candidates[c, k], w.after[c, k] = low, max(high, min(before, low + resolution(t) / h))
                found = True
    if not found:
        for c in range(plant.nc):
            for k in range(contacts.guard_count(plant)):
                w.guards[0, c, k] = w.guards[1, c, k]
    return found


@jit
def find_event(plant: Plant, w: Workspace, t: float, h: float) -> tuple[float, float]:
    """Return the θ just before and just after the first event of the step just computed, or NONE twice.

    The guard that falls there is noted in ``w.fired``. Where the polynomials contradict the true gaps or do not show
    friction as it is, so that the step is not to be kept, ``w.counts[DOUBT]`` is 1.
    """
    w.counts[DOUBT] = plant.settle != 0 and swings(plant, w)
    write_candidates(plant, w, t, h)
    rounds = _ROUNDS + 4 * w.candidates.size
    for n in range(rounds):
        best, contact, guard = NONE, plant.nc, plant.nc
        for c in range(plant.nc):
            for k in range(contacts.guard_count(plant)):
                if w.candidates[c, k] < best:
                    best, contact, guard = w.candidates[c, k], c, k
        if contact == plant.nc:
            break
        if w.after[contact, guard] == NONE:
            _refine(plant, w, t, h, contact, guard)
        elif n == rounds - 1 or not _earlier(plant, w, t, h, best):
            for c in range(plant.nc):
                w.fired[c] = 0
            if w.after[contact, guard] > best:  # located: rounding may hide the fall at the very instant
                w.fired[contact] = 1 << guard
            return best, w.after[contact, guard]
    return NONE, NONE
