"""Patch of two nearly parallel faces: one clipped by the sides of the other (Sutherland and Hodgman 1974).

All in one frame. A patch is a row (x, y, z, gap) for each point, on the surface of the clipped face, and a label that
names the two edges which meet there.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Integers, jit
from impinge.geometry.table import MOST_POINTS

FLUSH = 1e-7  # share of the size by which a corner may stand out beyond a side and yet count as flush with it
_SIDES = 512  # labels from here on are those of the clipping sides
LABELS = 2 * _SIDES
_TIE = 1e-6  # relative difference of lengths and areas that does not decide which points are kept


class Patch(NamedTuple):
    """Room for polygons."""

    polygon: Cube  # (2, n, 4): x, y, z, gap; the current one and the next
    label: IntegerMatrix  # (2, n): the edge that leaves each point
    kept: Integers  # (4) which points are kept
    name: Integers  # (4) their labels
    order: Integers  # (n) the numbers of all points


def patch(most: int) -> Patch:
    """Make room for the clipping of two polygons that have together at most ``most`` corners."""
    return Patch(
        polygon=np.zeros((2, most + 2, 4)),
        label=np.zeros((2, most + 2), dtype=np.int64),
        kept=np.zeros(MOST_POINTS, dtype=np.int64),
        name=np.zeros(MOST_POINTS, dtype=np.int64),
        order=np.arange(most + 2),
    )


@jit
def _cut(p: Any, now: Any, n: Any, side: Any, ex: float, ey: float, ez: float, level: float, flush: float) -> int:
    """Keep what lies below a plane, gap aside; write it into the other polygon and return its corners."""
    P, Q, L, M = p.polygon[now], p.polygon[1 - now], p.label[now], p.label[1 - now]
    count, wraps = 0, False
    last = n - 1
    before = P[last, 0] * ex + P[last, 1] * ey + P[last, 2] * ez - level
    for k in range(n):
        here = P[k, 0] * ex + P[k, 1] * ey + P[k, 2] * ez - level
        if (before <= flush) != (here <= flush):
            # A corner on the plane serves as its own point of intersection.
            if min(before, here) < -flush:
                t = before / (before - here)
                for i in range(3):
                    Q[count, i] = P[last, i] + t * (P[k, i] - P[last, i])
                M[count] = L[last] if here <= flush else _SIDES + side
                count += 1
            elif before <= flush and count > 0:
                M[count - 1] = _SIDES + side
            elif before <= flush:
                wraps = True  # the last corner is written last
        if here <= flush:
            for i in range(3):
                Q[count, i] = P[k, i]
            M[count] = L[k]
            count += 1
        before, last = here, k
    if wraps:
        M[count - 1] = _SIDES + side
    return count


@jit
def clip(p: Any, n: Any, V: Any, loop: Any, nx: float, ny: float, nz: float, size: float) -> int:
    """Clip the first polygon, of n corners, by the sides of a face with outward normal; return the corners left."""
    flush, corners = FLUSH * size, len(loop)
    for k in range(corners):
        a, b = V[loop[k]], V[loop[k + 1 if k + 1 < corners else 0]]
        x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        ex, ey, ez = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx
        scale = 1.0 / sqrt(ex * ex + ey * ey + ez * ez)
        ex, ey, ez = scale * ex, scale * ey, scale * ez
        n = _cut(p, k % 2, n, k, ex, ey, ez, ex * a[0] + ey * a[1] + ez * a[2], flush)
        if n == 0:
            return 0
    if corners % 2 == 1:
        for k in range(n):
            for i in range(3):
                p.polygon[0, k, i] = p.polygon[1, k, i]
            p.label[0, k] = p.label[1, k]
    return n


@jit
def clip_segment(p: Any, V: Any, loop: Any, nx: float, ny: float, nz: float, size: float) -> int:
    """Clip the segment between the first polygon's two points by the sides of a face; return the points left."""
    P, flush, corners = p.polygon[0], FLUSH * size, len(loop)
    low, high = 0.0, 1.0
    for k in range(corners):
        a, b = V[loop[k]], V[loop[k + 1 if k + 1 < corners else 0]]
        x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        ex, ey, ez = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx
        scale = 1.0 / sqrt(ex * ex + ey * ey + ez * ez)
        level = ex * a[0] + ey * a[1] + ez * a[2]
        start = scale * (ex * P[0, 0] + ey * P[0, 1] + ez * P[0, 2] - level)
        end = scale * (ex * P[1, 0] + ey * P[1, 1] + ez * P[1, 2] - level)
        if start > flush and end > flush:
            return 0
        if start > flush and start / (start - end) > low:
            low, p.label[0, 0] = start / (start - end), _SIDES + k
        if end > flush and start / (start - end) < high:
            high, p.label[0, 1] = start / (start - end), _SIDES + k
    if low > high:
        return 0
    for i in range(3):
        start, end = P[0, i], P[1, i]
        P[0, i], P[1, i] = start + low * (end - start), start + high * (end - start)
    return 2


@jit
def _area(P: Any, i: Any, j: Any, k: Any, nx: float, ny: float, nz: float) -> float:
    ax, ay, az = P[j, 0] - P[i, 0], P[j, 1] - P[i, 1], P[j, 2] - P[i, 2]
    bx, by, bz = P[k, 0] - P[i, 0], P[k, 1] - P[i, 1], P[k, 2] - P[i, 2]
    return nx * (ay * bz - az * by) + ny * (az * bx - ax * bz) + nz * (ax * by - ay * bx)


@jit
def _span(p: Any, n: Any, nx: float, ny: float, nz: float, size: float) -> int:
    """Choose four of more than four points: the deepest, the farthest from it, the two with the largest areas."""
    P, kept = p.polygon[0], p.kept
    low = P[0, 3]
    for k in range(1, n):
        low = min(low, P[k, 3])
    first = 0
    while P[first, 3] > low + FLUSH * size:
        first += 1
    far, most = first, 0.0
    for k in range(n):
        x, y, z = P[k, 0] - P[first, 0], P[k, 1] - P[first, 1], P[k, 2] - P[first, 2]
        length = x * x + y * y + z * z
        if length > most * (1.0 + _TIE):
            far, most = k, length
    left, right, high, deep = first, first, FLUSH * most, FLUSH * most
    for k in range(n):
        area = _area(P, first, far, k, nx, ny, nz)
        if area > high * (1.0 + _TIE):
            left, high = k, area
        if -area > deep * (1.0 + _TIE):
            right, deep = k, -area
    kept[0], kept[1], count = first, far, 2
    if left != first:
        kept[count] = left
        count += 1
    if right != first:
        kept[count] = right
        count += 1
    return count


@jit
def _drop_far(p: Any, n: Any, margin: float) -> int:
    """Drop the points whose gap is more than the margin, name the others by their two edges; return how many."""
    P, L, M = p.polygon[0], p.label[0], p.label[1]
    count = 0
    for k in range(n):
        if P[k, 3] <= margin:
            for i in range(4):
                P[count, i] = P[k, i]
            M[count] = L[n - 1 if k == 0 else k - 1] * LABELS + L[k]
            count += 1
    return count


@jit
def choose(p: Any, n: Any, margin: float, nx: float, ny: float, nz: float, size: float) -> int:
    """Keep at most four of the first polygon's points whose gap is no more than the margin; name them."""
    count = _drop_far(p, n, margin)
    if count > MOST_POINTS:
        count = _span(p, count, nx, ny, nz, size)
    else:
        for k in range(count):
            p.kept[k] = k
    for k in range(count):
        p.name[k] = p.label[1, p.kept[k]]
    return count
