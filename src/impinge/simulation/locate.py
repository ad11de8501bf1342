"""When the next event is: the earliest guard of any contact to fall through zero inside a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, jit
from impinge.contact.law import GUARDS
from impinge.simulation.dynamics import evaluate
from impinge.simulation.plant import ACCELERATION, FORCE, RATE, VALUE
from impinge.simulation.roots import DEGREE, NODES, NONE, first_fall, next_guess
from impinge.simulation.step import dense_polynomial, dense_state

_EPSILON = float(np.finfo(float).eps)
_ROUNDS = 64


@jit
def resolution(t: float) -> float:
    """Return the time within which everything happens at one instant, s."""
    return 1e-12 + 1e-14 * abs(t)


@jit
def guards_of_rows(plant: Any, w: Any, rows: Any, guards: Any) -> None:
    """Write the guards of all contacts (nc × GUARDS) for rows given at one instant."""
    for c in range(plant.nc):
        i = plant.nh + c
        arguments = (w.mode[c], rows[VALUE, i], rows[RATE, i], rows[ACCELERATION, i], rows[FORCE, i])
        ask(plant.guard[c], (*arguments, plant.gains[c], guards[c]))


@jit
def guards_at(plant: Any, w: Any, t: float, h: float, theta: float, guards: Any) -> None:
    """Write the true guards of all contacts at t + θh of the step just computed."""
    dense_state(plant, w, h, theta, w.scratch[0])
    evaluate(plant, w, t + theta * h, w.scratch[0], w.scratch[1])
    guards_of_rows(plant, w, w.rows, guards)


@jit
def _candidates(plant: Any, w: Any, h: float) -> None:
    """Write, for every guard, where the step's polynomials make it fall (θ, or NONE)."""
    start, end = w.guards[0], w.guards[1]
    guards_of_rows(plant, w, w.rows_start, start)
    guards_of_rows(plant, w, w.rows_end, end)
    gap, impulse = w.poly[0], w.poly[1]
    degree = gap.size
    values = w.value  # free between two evaluations
    for c in range(plant.nc):
        first = plant.nq + plant.nv + c
        dense_polynomial(plant, w, first, gap)
        dense_polynomial(plant, w, first + plant.nc, impulse)
        for k in range(GUARDS):
            w.nodes[k, 0], w.nodes[k, DEGREE] = start[c, k], end[c, k]
        for n in range(1, DEGREE):
            theta = NODES[n]
            value, rate, acceleration, force = 0.0, 0.0, 0.0, 0.0
            for j in range(degree - 1, -1, -1):
                acceleration = acceleration * theta + 2.0 * rate
                rate = rate * theta + value
                value = value * theta + gap[j]
                force = force * theta + (j + 1) * impulse[j]
            # value so far is p(θ) with gap(θ) = γ + hθp(θ); rate and acceleration are p′ and p″
            acceleration = (2.0 * rate + theta * acceleration) / h
            rate = value + theta * rate
            value = w.y[first] + h * theta * value
            ask(plant.guard[c], (w.mode[c], value, rate, acceleration, force, plant.gains[c], values))
            for k in range(GUARDS):
                w.nodes[k, n] = values[k]
        for k in range(GUARDS):
            w.candidates[c, k] = first_fall(w.nodes[k], w.stack)


@jit
def _bracket(plant: Any, w: Any, t: float, h: float, c: int, k: int, guess: float) -> tuple[float, float, float, float]:
    """Return a < b around a guess with the true guard positive at a, negative at b; b = NONE if there is none."""
    guards = w.guards[2]
    width = 1e-8
    low, high = guess, guess
    above, below = 0.0, 0.0
    while True:
        if above <= 0.0:
            low = max(0.0, guess - width)
            guards_at(plant, w, t, h, low, guards)
            above = guards[c, k]
        if below >= 0.0:
            high = min(1.0, guess + width)
            guards_at(plant, w, t, h, high, guards)
            below = guards[c, k]
        if above > 0.0 and below < 0.0:
            return low, above, high, below
        if above <= 0.0 and low == 0.0:
            # It began at zero and never rose by more than rounding: it falls at once.
            return (0.0, 0.0, high, below) if below < 0.0 else (0.0, 0.0, NONE, 0.0)
        if below >= 0.0 and high == 1.0:
            return 0.0, 0.0, NONE, 0.0
        width *= 8.0


@jit
def _refine(plant: Any, w: Any, t: float, h: float, c: int, k: int, guess: float) -> tuple[float, float]:
    """Return the last θ before and the first after the true guard's fall near a guess, or NONE twice."""
    low, above, high, below = _bracket(plant, w, t, h, c, k, guess)
    if high == NONE:
        return NONE, NONE
    if above <= 0.0:
        return 0.0, 0.0
    guards = w.guards[2]
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
        guards_at(plant, w, t, h, x, guards)
        f = guards[c, k]
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
def find_event(plant: Any, w: Any, t: float, h: float) -> tuple[float, float]:
    """Return the θ just before and just after the first event of the step just computed, or NONE twice."""
    _candidates(plant, w, h)
    for _ in range(_ROUNDS + 2 * plant.nc * GUARDS):
        best, contact, guard = NONE, -1, -1
        for c in range(plant.nc):
            for k in range(GUARDS):
                if w.candidates[c, k] < best:
                    best, contact, guard = w.candidates[c, k], c, k
        if contact < 0:
            return NONE, NONE
        low, high = _refine(plant, w, t, h, contact, guard, best)
        if low == NONE:
            w.candidates[contact, guard] = NONE
            continue
        # The polynomials may have ordered two close roots wrongly: did another guard fall clearly before?
        earlier = low - resolution(t) / h
        found = False
        if earlier > 0.0:
            guards_at(plant, w, t, h, earlier, w.guards[1])
            for c in range(plant.nc):
                for k in range(GUARDS):
                    if w.guards[0, c, k] > 0.0 and w.guards[1, c, k] < 0.0 and w.candidates[c, k] >= best:
                        if c != contact or k != guard:
                            w.candidates[c, k] = min(0.5 * earlier, w.candidates[c, k])
                            found = True
        if not found:
            return low, high
    return NONE, NONE
