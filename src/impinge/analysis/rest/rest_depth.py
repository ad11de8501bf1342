"""How deep a compliant contact is under a load at rest."""

from __future__ import annotations

import numpy as np

from impinge.contact.law import NORMAL, Law

# Under a smaller load (N) the depth goes on as a straight line, also below zero: laws are as flat as they like there.
_LEAST = 1e-9


def rest_depth(law: Law, force: float) -> tuple[float, float]:
    """Return the depth at which a compliant law gives a force at rest, and its derivative by the force.

    Example:
        >>> from impinge.contact import KelvinVoigt
        >>> depth, slope = rest_depth(KelvinVoigt(stiffness=1e4), 20.0)
        >>> round(depth, 12), round(slope, 12)
        (0.002, 0.0001)
    """
    mode, gains, out = law.closed.index(True), np.array(law.gains, dtype=float), np.zeros(2)
    load = max(force, _LEAST)

    def pushes(depth: float) -> bool:
        law.prescribe(mode, NORMAL, -depth, 0.0, gains, out)
        return bool(out[0] >= load)

    low, high = 0.0, 1e-9
    while not pushes(high):
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if pushes(middle) else (middle, high)
    law.slope(mode, NORMAL, -high, 0.0, gains, out)
    slope = -1.0 / float(out[0])
    return high + (force - load) * slope, slope
