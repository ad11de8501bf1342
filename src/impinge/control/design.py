"""Choosing a gain on root loci, for one loop or for several at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import control
import numpy as np

from impinge.analysis.responses.loop import Loop
from impinge.errors import InputError, as_number, show

_GRID = 300


def gain_on_root_locus(loops: Mapping[str, control.LTI], damping: float) -> float:
    """Return the gain k > 0 for which the slowest closed-loop pole of all loops is fastest.

    The loops are closed by 1 + k L(s) = 0. Every pole must have at least the damping ratio ζ given: an
    oscillating pole −σ ± iω counts as one that decays at σ − ω ζ / √(1 − ζ²). Poles that cancel are not
    moved by any gain and do not count.

    Args:
        loops: open loops with gain one, by the name to call them in messages.
        damping: smallest damping ratio, between 0 and 1.

    Raises:
        InputError: if no gain stabilizes all loops with that damping.

    Example:
        >>> mass = control.tf([1, 1], [1, 0, 0])  # poles meet at -2 for a gain of 4
        >>> round(gain_on_root_locus({"mass": mass}, damping=0.99), 3)
        4.0
    """
    if not 0 < as_number(damping) < 1:
        raise InputError("root locus", "a damping ratio between 0 and 1", show(damping), "0.4 to 0.7 is usual.")
    slope = damping / sqrt(1 - damping**2)
    known = {name: Loop.of(f"root locus of loop '{name}'", loop) for name, loop in loops.items()}

    def slowest(name: str, gain: float) -> float:
        poles = known[name].closed_poles(np.array([gain]))[0]
        return float((poles.real + slope * np.abs(poles.imag)).max(initial=-np.inf))

    def cost(gain: float) -> float:
        return max(slowest(name, gain) for name in known)

    tried = np.concatenate([loop.gains() for loop in known.values()])
    grid = np.geomspace(tried[tried > 0].min(), tried.max(), _GRID)
    best = int(np.argmin([cost(gain) for gain in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)])
    golden = (sqrt(5) - 1) / 2
    while high - low > 1e-9 * high:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if cost(a) < cost(b) else (a, high)
    gain = (low + high) / 2
    if cost(gain) >= 0:
        name = max(known, key=lambda one: slowest(one, gain))
        raise InputError(
            f"root locus of loop '{name}'",
            f"a gain above zero that stabilizes every loop with a damping ratio of {damping:g}",
            f"none (at {gain:.3g} the slowest pole has Re + {slope:.3g}|Im| = {cost(gain):.3g} rad/s)",
            "Change the compensator's zero and pole, or ask for less damping.",
        )
    return gain
