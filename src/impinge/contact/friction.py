"""Coulomb friction: one coefficient, one definition of stick, for every law.

A closed contact sticks as long as that takes no more than μ times its normal force, |f| ≤ μλ. When it takes more,
the contact slides: f = −μλ d along the direction d of its slip rate, until that rate falls to zero. So to stick is
to be held, exactly: whatever sticks does not creep. While it sticks, the slips are closed rows of the contact's
law; while it slides, their forces are tied to the normal force.

The direction is that of the slip rate; at a standstill it is the one in which sliding begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit
from impinge.contact.law import SLOW

# Slower than this (m/s), what may stick does not slide.
CREEP = 1e-10
# Faster than this (m/s) nothing sticks: where several contacts that stick contradict each other, one of them slides.
HELD = 5e-7
# What has just begun to slide may go the other way at up to this speed (m/s), which is less than an instant gives it.
LAG = 1e-12
# What turns about in a plane at less than this speed (m/s) may stick.
SETTLED = 1e-6
# A slip rate tells the direction of friction if it is larger than this (m/s).
TELLING = 5e-6


@jit
def along(rates: Any, direction: Any, first: int, last: int) -> float:
    """Return the rate along a direction."""
    total = 0.0
    for s in range(first, last):
        total += rates[s] * direction[s]
    return total


@jit
def length(vector: Any, first: int, last: int) -> float:
    """Return the length of a part of a vector."""
    if last == first + 1:
        return abs(vector[first])
    total = 0.0
    for s in range(first, last):
        total += vector[s] * vector[s]
    return np.sqrt(total)


@jit
def aim(rates: Any, direction: Any, first: int, last: int, least: float) -> None:
    """Turn a direction to that of the slip rate, unless that is too slow to have one."""
    speed = length(rates, first, last)
    if speed > least:
        for s in range(first, last):
            direction[s] = rates[s] / speed


@jit
def yields(forces: Any, direction: Any, first: int, last: int) -> None:
    """Set the direction in which sliding begins: against the force that held."""
    size = length(forces, first, last)
    for s in range(first, last):
        direction[s] = -forces[s] / size if size > 0.0 else 0.0


@jit
def blend(rates: Any, direction: Any, first: int, last: int, out: Any) -> None:
    """Write the direction of friction: that of the slip rate, and of ``direction`` where the rate is too small.

    At a standstill the direction of a rate turns infinitely fast. Below `TELLING` it goes over into the direction in
    which the step began; what stops from there stops within 1e-11 m.
    """
    speed = length(rates, first, last)
    share = TELLING * TELLING * TELLING / (TELLING * TELLING + speed * speed)
    size = 0.0
    for s in range(first, last):
        out[s] = rates[s] + share * direction[s]
        size += out[s] * out[s]
    size = np.sqrt(size)
    for s in range(first, last):
        out[s] = out[s] / size if size > 0.0 else direction[s]


@jit
def blend_slopes(rates: Any, direction: Any, first: int, last: int) -> tuple[float, float, float]:
    """Return the length that `blend` divides by, the share of ``direction`` in it, and what it loses for each rate."""
    speed = length(rates, first, last)
    below = TELLING * TELLING + speed * speed
    share, size = TELLING * TELLING * TELLING / below, 0.0
    for s in range(first, last):
        part = rates[s] + share * direction[s]
        size += part * part
    return np.sqrt(size), share, -2.0 * share / below


@jit
def drag(mu: float, rates: Any, direction: Any, first: int, last: int, pull: Any) -> None:
    """Write the force along each slip per normal force, −μ d.

    Beyond a reversal of the slip rate the direction stays as it is, so that the motion is smooth up to the
    instant at which sliding ends, and across it.
    """
    if last > first + 1 and along(rates, direction, first, last) > 0.0:
        blend(rates, direction, first, last, pull)
        for s in range(first, last):
            pull[s] = -mu * pull[s]
        return
    for s in range(first, last):
        pull[s] = -mu * direction[s]


@jit
def stops(rates: Any, accelerations: Any, direction: Any, first: int, last: int, fell: bool) -> bool:
    """Tell whether sliding ends: no rate left along its direction nor across it, and none to come."""
    rate, speed = along(rates, direction, first, last), length(rates, first, last)
    if fell and last > first + 1 and speed <= SETTLED:  # it turns about where it stands: try whether it sticks
        return True
    across = np.sqrt(max(0.0, speed**2 - rate * rate))
    if across > CREEP or not (fell or rate <= SLOW):  # what is left of the rate, sticking would have to brake
        return False
    return along(accelerations, direction, first, last) <= 0.0
