"""What pairs of shapes share: the pose of one in the other's frame, the features that face each other, points."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit
from impinge.geometry.pairs.clip import LABELS
from impinge.geometry.table import FEATURE, GAP, NORMAL, PLACE, SPREAD

FLAT = 1.0 - 0.5 * 0.01**2  # cosine of the angle up to which faces count as parallel
FACES = 4096  # for the names of features
_LEVEL = 1e-6  # share of the size: vertices that are as low as the lowest one
TIE = 1e-9  # relative difference that does not decide between two features: the first one stays
_SAME, _RELATIVE = 1e-7, 5e-7  # share of the size, and of the distance, by which equal distances may differ


@jit
def attained(gap: float, goal: float, size: float) -> bool:
    """Whether the smallest gap of a patch is the distance."""
    return abs(gap - goal) <= _SAME * size + _RELATIVE * abs(goal)


@jit
def relate(xa: Any, Ra: Any, xb: Any, Rb: Any, x: Any, R: Any) -> None:
    """Write b's pose in a's frame."""
    for i in range(3):
        x[i] = Ra[0, i] * (xb[0] - xa[0]) + Ra[1, i] * (xb[1] - xa[1]) + Ra[2, i] * (xb[2] - xa[2])
        for j in range(3):
            R[i, j] = Ra[0, i] * Rb[0, j] + Ra[1, i] * Rb[1, j] + Ra[2, i] * Rb[2, j]


@jit
def facing(t: Any, k: Any, V: Any, planes: Any, n: Any, size: float) -> int:
    """Return the face that lies lowest along a plane's normal: with most of the lowest vertices, then the flattest."""
    first, loops, first_loop = t.first_face[k], t.loops, t.first_loop
    low = np.inf
    for v in range(t.first_vertex[k + 1] - t.first_vertex[k]):
        low = min(low, n[0] * V[v, 0] + n[1] * V[v, 1] + n[2] * V[v, 2])
    low += _LEVEL * size
    best, rank = 0, -np.inf
    for f in range(t.first_face[k + 1] - first):
        against = -(n[0] * planes[f, 0] + n[1] * planes[f, 1] + n[2] * planes[f, 2])
        if against <= 0.0:
            continue
        count = 0
        for i in range(first_loop[first + f], first_loop[first + f + 1]):
            v = V[loops[i]]
            if n[0] * v[0] + n[1] * v[1] + n[2] * v[2] <= low:
                count += 1
        # Twice the count outweighs the cosine; all faces with three or more are the same plane.
        score = 2.0 * min(count, 3) + against
        if score > rank + TIE:
            best, rank = f, score
    return best


@jit
def lowest(V: Any, count: Any, n: Any, sign: float, size: float, out: Any) -> int:
    """Write the two vertices, farthest apart, that lie lowest along ± n; return a number that names them."""
    low, first = np.inf, 0
    for k in range(count):
        height = sign * (n[0] * V[k, 0] + n[1] * V[k, 1] + n[2] * V[k, 2])
        if height < low - _LEVEL * size:
            low, first = height, k
    second, most = first, 0.0
    for k in range(count):
        height = sign * (n[0] * V[k, 0] + n[1] * V[k, 1] + n[2] * V[k, 2])
        x, y, z = V[k, 0] - V[first, 0], V[k, 1] - V[first, 1], V[k, 2] - V[first, 2]
        square = x * x + y * y + z * z
        if abs(height - low) <= _LEVEL * size and square > most * (1.0 + TIE):
            second, most = k, square
    for i in range(3):
        out[0, i], out[1, i] = V[first, i], V[second, i]
    return first * LABELS + second


@jit
def write(row: Any, xa: Any, Ra: Any, gap: float, n: Any, sign: float, p: Any, back: float, name: Any) -> None:
    """Write a point with normal sign · n at the place p + back · n, turned from a's frame into the world."""
    row[GAP], row[FEATURE], row[SPREAD] = gap, float(name), 0.0
    x, y, z = p[0] + back * n[0], p[1] + back * n[1], p[2] + back * n[2]
    for i in range(3):
        row[NORMAL + i] = sign * (Ra[i, 0] * n[0] + Ra[i, 1] * n[1] + Ra[i, 2] * n[2])
        row[PLACE + i] = xa[i] + Ra[i, 0] * x + Ra[i, 1] * y + Ra[i, 2] * z
