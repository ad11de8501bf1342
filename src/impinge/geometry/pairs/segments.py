"""Two segments that face each other: where they cross, or along which stretch they lie side by side."""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit

_SLACK = 1e-9  # share of a segment by which the crossing may lie beyond its end
_ASLANT = 1e-2  # sine from which segments are not side by side


@jit
def _between(p: Any, q: Any) -> tuple[float, float, float]:
    return q[0] - p[0], q[1] - p[1], q[2] - p[2]


@jit
def crossing(E: Any, out: Any) -> bool:
    """Write the nearest points of two lines that are not parallel; tell whether they lie between the ends.

    Args:
        E: Rows: the ends of the first segment, the ends of the second.
        out: Rows: the point on the first, the point on the second.
    """
    ax, ay, az = _between(E[0], E[1])
    bx, by, bz = _between(E[2], E[3])
    cx, cy, cz = _between(E[0], E[2])
    aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
    ac, bc = ax * cx + ay * cy + az * cz, bx * cx + by * cy + bz * cz
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    whole = nx * nx + ny * ny + nz * nz  # aa bb − ab², without its cancellation
    t, u = (ac * bb - bc * ab) / whole, (ac * ab - bc * aa) / whole
    inside = -_SLACK <= t <= 1.0 + _SLACK and -_SLACK <= u <= 1.0 + _SLACK
    t, u = min(max(t, 0.0), 1.0), min(max(u, 0.0), 1.0)
    out[0, 0], out[0, 1], out[0, 2] = E[0, 0] + t * ax, E[0, 1] + t * ay, E[0, 2] + t * az
    out[1, 0], out[1, 1], out[1, 2] = E[2, 0] + u * bx, E[2, 1] + u * by, E[2, 2] + u * bz
    return inside


@jit
def side_by_side(E: Any, out: Any) -> bool:
    """Write the two ends of the stretch along which two parallel segments overlap; tell whether there is one.

    Args:
        E: Rows: the ends of the first segment, the ends of the second.
        out: Rows: the points on the first and on the second at one end of the stretch, then at the other.
    """
    ax, ay, az = _between(E[0], E[1])
    bx, by, bz = _between(E[2], E[3])
    aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    if nx * nx + ny * ny + nz * nz >= _ASLANT * _ASLANT * aa * bb:
        return False
    # Where the second one's ends are along the first, in shares of it.
    length = sqrt(aa)
    start = (ax * (E[2, 0] - E[0, 0]) + ay * (E[2, 1] - E[0, 1]) + az * (E[2, 2] - E[0, 2])) / aa
    step = ab / aa
    low, high = max(min(start, start + step), 0.0), min(max(start, start + step), 1.0)
    if (high - low) * length <= _SLACK * sqrt(bb):
        return False
    for k in range(2):
        t = low if k == 0 else high
        u = (t - start) / step
        for i in range(3):
            out[2 * k, i] = E[0, i] + t * (E[1, i] - E[0, i])
            out[2 * k + 1, i] = E[2, i] + u * (E[3, i] - E[2, i])
    return True
