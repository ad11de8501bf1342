"""How far a contact patch spreads: the mean distance of its points from its center.

Friction under a uniform pressure turns a patch back with the moment μ N ∫ r dA / A = μ N · spread about its center. A
disc of radius R has the spread 2R/3. For a triangle between the center and a side of a polygon, at the distance d,

    ∫ r dA = [d s √(d² + s²) + d³ arsinh(s/d)] / 6        from one end of the side to the other, s along it.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from impinge.compile import jit

_SLIVER = 1e-9  # area over the square of the perimeter below which a polygon is a segment


@jit
def _moment(d: float, s: float) -> float:
    far = sqrt(d * d + s * s)
    angle = np.log((abs(s) + far) / d)
    return d * (s * far + d * d * (angle if s > 0.0 else -angle)) / 6.0


@jit
def _side(c: Any, a: Any, b: Any) -> tuple[float, float, float]:
    """Return the distance of a center from the line through two corners, and where these are along it."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    length = sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return 0.0, 0.0, 0.0
    u, v, w = a[0] - c[0], a[1] - c[1], a[2] - c[2]
    start = (u * x + v * y + w * z) / length
    p, q, r = y * w - z * v, z * u - x * w, x * v - y * u
    return sqrt(p * p + q * q + r * r) / length, start, start + length


@jit
def polygon_spread(V: Any, loop: Any, n: Any) -> float:
    """Return the mean distance of a convex polygon from its center, m; of one without area, a quarter of its length.

    Args:
        V: Corners, one row each.
        loop: Their order around the polygon.
        n: How many there are.
    """
    o = V[loop[0]]
    x = y = z = area = perimeter = 0.0
    for k in range(n):
        a, b = V[loop[k]], V[loop[k + 1 if k + 1 < n else 0]]
        d, s, e = _side(o, a, b)
        part = 0.5 * d * (e - s)
        x += part * (a[0] + b[0] + o[0]) / 3.0
        y += part * (a[1] + b[1] + o[1]) / 3.0
        z += part * (a[2] + b[2] + o[2]) / 3.0
        area, perimeter = area + part, perimeter + e - s
    if area <= _SLIVER * perimeter * perimeter:
        return 0.125 * perimeter
    c, total = (x / area, y / area, z / area), 0.0
    for k in range(n):
        d, s, e = _side(c, V[loop[k]], V[loop[k + 1 if k + 1 < n else 0]])
        if d > 0.0:
            total += _moment(d, e) - _moment(d, s)
    return total / area
