"""Choosing a gain on root loci, for one plant or for several at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from impinge.analysis.poles import poles_and_zeros
from impinge.errors import InputError

_GRID = 400
_DECADES = 8.0


def gain_on_root_locus(loops: Mapping[str, Any], damping: float) -> float:
    """Return the gain k > 0 for which the slowest closed-loop pole of all loops is fastest.

    The loops are closed by 1 + k L(s) = 0. Every pole must have at least the damping ratio given: an
    oscillating pole −σ ± iω counts as one that decays at σ − ω ζ / √(1 − ζ²). Poles that cancel are not
    moved by any gain and do not count.

    Args:
        loops: open loops with gain one, by the name to call them in messages.
        damping: smallest damping ratio ζ, between 0 and 1.

    Raises:
        InputError: if no gain stabilizes all loops with that damping.

    Example:
        >>> import control
        >>> k = gain_on_root_locus({"mass": control.ss(control.tf([1, 1], [1, 0, 0]))}, damping=0.5)
        >>> round(k, 3)
        4.0
    """
    if not 0 < damping < 1:
        raise InputError("root locus", "a damping ratio between 0 and 1", f"{damping}", "0.4 to 0.7 is usual.")
    slope = damping / sqrt(1 - damping**2)
    polynomials = {name: _minimal(loop) for name, loop in loops.items()}

    def worst(gain: float, denominator: Any, numerator: Any) -> float:
        poles = np.roots(np.polyadd(denominator, gain * numerator))
        return float((poles.real + slope * np.abs(poles.imag)).max())

    def cost(gain: float) -> float:
        return max(worst(gain, *pair) for pair in polynomials.values())

    middle = np.median([np.abs(den).max() / np.abs(num).max() for den, num in polynomials.values()])
    grid = middle * np.logspace(-_DECADES / 2, _DECADES / 2, _GRID)
    costs = [cost(gain) for gain in grid]
    best = int(np.argmin(costs))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    golden = (sqrt(5) - 1) / 2
    while high - low > 1e-10 * high:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if cost(a) < cost(b) else (a, high)
    gain = float(low + high) / 2
    if cost(gain) >= 0:
        name = max(polynomials, key=lambda key: worst(gain, *polynomials[key]))
        raise InputError(
            f"root locus of loop '{name}'",
            f"a gain above zero that stabilizes every loop with damping {damping:g}",
            f"at best Re + {slope:.3g}|Im| = {cost(gain):.3g} rad/s",
            "Change the compensator's zero and pole, or ask for less damping.",
        )
    return gain


def _minimal(loop: Any) -> tuple[Any, Any]:
    """Return denominator and numerator of a loop without what cancels."""
    parts = poles_and_zeros(loop)
    return np.real(np.poly(parts.remaining_poles)), parts.gain * np.real(np.poly(parts.remaining_zeros))
