"""When the next event is: the earliest guard of any contact to fall through zero inside a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import entry, jit
from impinge.contact.law import TOUCHING
from impinge.simulation import contacts
from impinge.simulation.dynamics import evaluate_and_press
from impinge.simulation.plant import FORCE, PRESS, RATE, VALUE, impulses
from impinge.simulation.roots import DEGREE, NODES, NONE, first_fall, next_guess
from impinge.simulation.step import dense_polynomial, dense_state

_EPSILON = float(np.finfo(float).eps)
_ROUNDS = 64


@entry
def resolution(t: float) -> float:
    """Return the time within which everything happens at one instant, s."""
    return 1e-12 + 1e-14 * abs(t)


@jit
def guards_of_rows(plant: Any, w: Any, rows: Any, guards: Any) -> None:
    """Write the guards of all contacts (nc × GUARDS) for rows given at one instant."""
    for c in range(plant.nc):
        i = plant.nh + c
        extent = rows[VALUE, plant.extent[c]] if plant.ne > 0 and plant.extent[c] >= 0 else 1.0
        hold = contacts.grip(plant, w, rows, c) if plant.nt > 0 else 1.0
        contacts.guards(plant, c, w.mode[c], rows[VALUE, i], rows[RATE, i], rows[PRESS, i], extent, hold, guards[c])


@jit
def wants_change(plant: Any, w: Any, rows: Any, c: int) -> bool:
    """Tell whether a contact's law would choose another mode for rows given at one instant."""
    return contacts.decide(plant, w, rows, c, 0) != w.mode[c]


@jit
def guards_at(plant: Any, w: Any, t: float, h: float, theta: float, guards: Any) -> None:
    """Write the true guards of all contacts at t + θh of the step just computed."""
    dense_state(plant, w, h, theta, w.scratch[0])
    evaluate_and_press(plant, w, t + theta * h, w.scratch[0], w.scratch[1])
    guards_of_rows(plant, w, w.rows, guards)


@jit
def _stays_below(gap: float, h: float, change: Any) -> bool:
    """Tell whether a gap that is negative certainly stays so, from the polynomial of its change."""
    most = 0.0
    for k in range(change.size):
        most += abs(change[k])
    return gap + h * most < 0.0


@jit
def _slip_polynomials(plant: Any, w: Any, c: int) -> None:
    """Write what a contact's grip depends on as polynomials: its slips if it slides, else the impulses along them."""
    slides = w.mode[c] == plant.sliding[c]
    begin = plant.nq + plant.nv + plant.nc if slides else impulses(plant) + plant.nc
    for s in range(plant.slips[c], plant.slips[c + 1]):
        dense_polynomial(plant, w, begin + s, w.poly[3 + s])


@jit
def _grip_at(plant: Any, w: Any, c: int, theta: float, press: float) -> float:
    """Return a contact's grip from the polynomials of the step; see `contacts.grip`."""
    m = plant.nh + plant.nc
    for s in range(plant.slips[c], plant.slips[c + 1]):
        poly, rate = w.poly[3 + s], 0.0
        for j in range(poly.size - 1, -1, -1):
            rate = rate * theta + (j + 1) * poly[j]
        w.grip[RATE, m + s], w.grip[FORCE, m + s] = rate, rate
    w.grip[FORCE, plant.nh + c] = press
    return contacts.grip(plant, w, w.grip, c)


@jit
def _sample_guards(plant: Any, w: Any, h: float, c: int) -> bool:
    """Write one contact's guards at the nodes of the step: true at both ends, from the polynomials between.

    Between, an open contact is taken to press; whether it does is seen where its guard is located.
    Return False, and write nothing, if no guard can fall.
    """
    gap, impulse, extent = w.poly[0], w.poly[1], w.poly[2]
    first, limited = plant.nq + plant.nv + c, plant.ne > 0 and plant.extent[c] >= 0
    place = plant.nq + plant.nv + plant.extent[c] - plant.nh - plant.ns + plant.nt  # of the extent in y
    dense_polynomial(plant, w, first, gap)
    if limited and w.mode[c] == plant.passed[c] and _stays_below(w.y[first], h, gap):
        return False
    dense_polynomial(plant, w, impulses(plant) + c, impulse)
    if limited:
        dense_polynomial(plant, w, place, extent)
    if plant.nt > 0:
        _slip_polynomials(plant, w, c)
    count = w.nodes.shape[0]
    for k in range(count):
        w.nodes[k, 0], w.nodes[k, DEGREE] = w.guards[0, c, k], w.guards[1, c, k]
    closed = plant.closed[c, w.mode[c]]
    for n in range(1, DEGREE):
        theta = NODES[n]
        value, slope, force = 0.0, 0.0, 0.0
        for j in range(gap.size - 1, -1, -1):
            slope = slope * theta + value
            value = value * theta + gap[j]
            force = force * theta + (j + 1) * impulse[j]
        # value is now p(θ) and slope p′(θ), where the gap is γ + hθp(θ)
        rate = value + theta * slope
        value = w.y[first] + h * theta * value
        press = force if closed else 1.0
        reach = 0.0
        if limited:
            for j in range(extent.size - 1, -1, -1):
                reach = (reach + extent[j]) * theta
            reach = w.y[place] + h * reach
        hold = _grip_at(plant, w, c, theta, press) if plant.nt > 0 else 1.0
        contacts.guards(plant, c, w.mode[c], value, rate, press, reach, hold, w.value)  # w.value is free here
        for k in range(count):
            w.nodes[k, n] = w.value[k]
    return True


@jit
def _candidates(plant: Any, w: Any, h: float) -> None:
    """Write, for every guard, where the step's polynomials make it fall (θ, or NONE).

    A guard falls if it goes from above zero through zero and clearly below, or if its law decides otherwise
    at the end of the step. A contact that is past its guard at the start changes there if its law now
    decides otherwise; if it comes to do so unseen within the step, it changes at the end.
    """
    guards_of_rows(plant, w, w.rows_start, w.guards[0])
    guards_of_rows(plant, w, w.rows_end, w.guards[1])
    for c in range(plant.nc):
        if not _sample_guards(plant, w, h, c):
            for k in range(w.nodes.shape[0]):
                w.candidates[c, k], w.after[c, k] = NONE, NONE
            continue
        for k in range(w.nodes.shape[0]):
            start, end = w.guards[0, c, k], w.guards[1, c, k]
            w.after[c, k] = NONE
            if start <= 0.0 and wants_change(plant, w, w.rows_start, c):
                w.candidates[c, k], w.after[c, k] = 0.0, 0.0
                continue
            late = end <= 0.0 and wants_change(plant, w, w.rows_end, c)
            if not (late and start > 0.0):
                for n in range(DEGREE + 1):
                    w.nodes[k, n] += TOUCHING
            w.candidates[c, k] = first_fall(w.nodes[k], w.stack)
            if late and w.candidates[c, k] == NONE:
                w.candidates[c, k], w.after[c, k] = 1.0, 1.0


@jit
def _guard_at(plant: Any, w: Any, t: float, h: float, theta: float, c: int, k: int, band: float) -> float:
    guards_at(plant, w, t, h, theta, w.guards[2])
    return w.guards[2, c, k] + band


@jit
def _bracket(plant: Any, w: Any, t: float, h: float, c: int, k: int, band: float) -> tuple[float, float, float, float]:
    """Return a, f(a) > 0, b and f(b) < 0 around the candidate of a guard; b = NONE if there is no such fall."""
    guess, width = w.candidates[c, k], 1e-8
    low, high, above, below = guess, guess, 0.0, 0.0
    for _ in range(10):
        if not above > 0.0:
            low = max(0.0, guess - width)
            above = _guard_at(plant, w, t, h, low, c, k, band)
        if not below < 0.0:
            high = min(1.0, guess + width)
            below = _guard_at(plant, w, t, h, high, c, k, band)
        if above > 0.0 and below < 0.0:
            return low, above, high, below
        width *= 8.0
    return 0.0, 0.0, NONE, 0.0


@jit
def _close_in(
    plant: Any, w: Any, t: float, h: float, c: int, k: int, band: float, bracket: tuple[float, float, float, float]
) -> tuple[float, float]:
    """Return the last θ before and the first after a guard's true fall through −band, within a bracket."""
    low, above, high, below = bracket
    tolerance = 2.0 * _EPSILON * max(abs(t), abs(t + h)) / h
    a, fa, b, fb, fraction = low, above, high, below, above / (above - below)
    for _ in range(100):
        if high - low <= tolerance:
            break
        x = a + min(max(fraction, 1e-3), 1.0 - 1e-3) * (b - a)
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
def _root(plant: Any, w: Any, t: float, h: float, c: int, k: int, band: float) -> tuple[float, float]:
    """Return the last θ before and the first after a guard's true fall through −band, or NONE twice."""
    bracket = _bracket(plant, w, t, h, c, k, band)
    if bracket[2] == NONE:
        return NONE, NONE
    return _close_in(plant, w, t, h, c, k, band, bracket)


@jit
def _refine(plant: Any, w: Any, t: float, h: float, c: int, k: int) -> None:
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
    w.candidates[c, k], w.after[c, k] = low, high


@jit
def _earlier(plant: Any, w: Any, t: float, h: float, theta: float) -> bool:
    """Locate guards that fell clearly before θ, and tell whether there are any.

    The polynomials may have put two close roots in the wrong order. A guard that was located where it falls
    through −TOUCHING is about there just before: only beyond twice that has it fallen earlier.
    """
    before = theta - resolution(t) / h
    if before <= 0.0:
        return False
    guards_at(plant, w, t, h, before, w.guards[1])
    found = False
    for c in range(plant.nc):
        for k in range(w.nodes.shape[0]):
            if w.guards[0, c, k] > 0.0 and w.guards[1, c, k] < -2.0 * TOUCHING and w.candidates[c, k] >= theta:
                bracket = 0.0, w.guards[0, c, k], before, w.guards[1, c, k]
                low, high = _close_in(plant, w, t, h, c, k, 0.0, bracket)
                w.candidates[c, k], w.after[c, k] = low, max(high, min(before, low + resolution(t) / h))
                found = True
    return found


@jit
def find_event(plant: Any, w: Any, t: float, h: float) -> tuple[float, float]:
    """Return the θ just before and just after the first event of the step just computed, or NONE twice.

    The guard that falls there is noted in ``w.fired``.
    """
    _candidates(plant, w, h)
    rounds = _ROUNDS + 4 * w.candidates.size
    for n in range(rounds):
        best, contact, guard = NONE, plant.nc, plant.nc
        for c in range(plant.nc):
            for k in range(w.nodes.shape[0]):
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
