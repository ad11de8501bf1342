"""How deep two overlapping convex sets are in each other: a polyhedron grown inside their difference.

The polyhedron's vertices lie on the boundary of a − b; its face nearest to the origin is pushed outward until it lies
on that boundary too (van den Bergen 2001).
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Matrix, ask, entry, jit
from impinge.geometry.convex.gjk import Sets, add_corner

_CORNERS, _FACES, _EDGES = 160, 1200, 480
_GAIN = 1e-10  # share of the size that pushing a face outward must gain
_SEEN = 1e-13  # share of the size from which a face is seen by a new corner


class Hull(NamedTuple):
    """A polyhedron that grows."""

    corner: Cube  # (n, 3, 3): points a − b, a and b
    face: IntegerMatrix  # (n, 3): corners, counterclockwise from outside
    plane: Matrix  # (n, 4): outward normal and distance from the origin
    edge: IntegerMatrix  # (n, 2): border of what a new corner sees
    sets: Sets
    grow: int  # address of the code


def hull(sets: Sets, needed: bool = True) -> Hull:
    """Make room for the polyhedron of two sets; without machine code where there are none."""
    return Hull(
        corner=np.zeros((_CORNERS, 3, 3)),
        face=np.zeros((_FACES, 3), dtype=np.int64),
        plane=np.zeros((_FACES, 4)),
        edge=np.zeros((_EDGES, 2), dtype=np.int64),
        sets=sets,
        grow=_grow.address if needed else 0,
    )


@jit
def _set_face(h: Any, f: Any, i: Any, j: Any, k: Any) -> None:
    p, q, r, n = h.corner[i, 0], h.corner[j, 0], h.corner[k, 0], h.plane[f]
    h.face[f, 0], h.face[f, 1], h.face[f, 2] = i, j, k
    ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = sqrt(x * x + y * y + z * z)
    n[0], n[1], n[2], n[3] = 0.0, 0.0, 0.0, np.inf  # a face without area is never the nearest
    if size > 0.0:
        n[0], n[1], n[2] = x / size, y / size, z / size
        n[3] = n[0] * p[0] + n[1] * p[1] + n[2] * p[2]


@jit
def _farther(h: Any, k: Any, x: float, y: float, z: float) -> None:
    """Set corner k to the farther, from corner 0, of the extreme points along ± a direction."""
    best = 0.0
    for turn in range(3):
        # The third time repeats the better one of the first two.
        sign = (1.0 - 2.0 * turn) if turn < 2 else (1.0 if best > 0.0 else -1.0)
        add_corner(h.sets, h.corner[k], sign * x, sign * y, sign * z)
        p, q = h.corner[k, 0], h.corner[0, 0]
        far = x * (p[0] - q[0]) + y * (p[1] - q[1]) + z * (p[2] - q[2])
        if turn < 2 and abs(far) > abs(best):
            best = far


@jit
def _start(h: Any) -> float:
    """Set up a tetrahedron, its faces outward; return its size."""
    C = h.corner
    add_corner(h.sets, C[0], 0.36, 0.48, 0.8)
    for k in range(1, 4):
        p, q, r = C[0, 0], C[1, 0], C[2, 0]
        ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        if k == 1:
            x, y, z = 0.36, 0.48, 0.8
        elif k == 2:
            # Across the first edge: its product with the unit vector that is least along it.
            if abs(ax) <= min(abs(ay), abs(az)):
                x, y, z = 0.0, az, -ay
            elif abs(ay) <= abs(az):
                x, y, z = -az, 0.0, ax
            else:
                x, y, z = ay, -ax, 0.0
        else:
            bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        _farther(h, k, x, y, z)
    size = 0.0
    for k in range(1, 4):
        for i in range(3):
            size = max(size, abs(C[k, 0, i] - C[0, 0, i]))
    for k in range(4):
        i, j, m = (k + 1) % 4, (k + 2) % 4, (k + 3) % 4
        _set_face(h, k, i, j, m)
        n, p = h.plane[k], C[k, 0]
        if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] > n[3]:
            _set_face(h, k, i, m, j)
    return size


@jit
def _on_border(h: Any, edges: Any, u: Any, v: Any) -> int:
    """Return which edge of the border runs from u to v, −1 if none does."""
    for e in range(edges):
        if h.edge[e, 0] == u and h.edge[e, 1] == v:
            return e
    return -1


@jit
def _cut_out(h: Any, f: Any, last: Any, edges: Any) -> int:
    """Take a face out, move the last one into its place, extend the border around the hole; return its edges."""
    F, E = h.face, h.edge
    for i in range(3):
        u, v = F[f, i], F[f, (i + 1) % 3]
        twin = _on_border(h, edges, v, u)
        if twin >= 0:
            edges -= 1
            E[twin, 0], E[twin, 1] = E[edges, 0], E[edges, 1]
        else:
            E[edges, 0], E[edges, 1] = u, v
            edges += 1
    for i in range(4):
        h.plane[f, i] = h.plane[last, i]
    for i in range(3):
        F[f, i] = F[last, i]
    return edges


@jit
def _push(h: Any, faces: Any, nearest: Any, corner: Any, seen: float) -> int:
    """Replace the faces that a new corner sees by those which it makes with their border; return how many there are.

    What it sees grows from the nearest face by neighbors, so that rounding cannot tear a second hole.
    """
    p, F = h.corner[corner, 0], h.face
    faces -= 1
    edges = _cut_out(h, nearest, faces, 0 * faces)
    f = 0
    while f < faces:
        n = h.plane[f]
        if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - n[3] > seen and (
            _on_border(h, edges, F[f, 1], F[f, 0]) >= 0
            or _on_border(h, edges, F[f, 2], F[f, 1]) >= 0
            or _on_border(h, edges, F[f, 0], F[f, 2]) >= 0
        ):
            faces -= 1
            edges = _cut_out(h, f, faces, edges)
            f = 0
        else:
            f += 1
    for e in range(edges):
        _set_face(h, faces, h.edge[e, 0], h.edge[e, 1], corner)
        faces += 1
    return faces


@entry
def _grow(h: Hull) -> int:
    """Set depth, witness points and normal of sets that overlap; return the number of corners it took."""
    size = _start(h)
    faces, corner, nearest = 4, 4, 0
    while True:
        nearest = 0
        for f in range(1, faces):
            if h.plane[f, 3] < h.plane[nearest, 3]:
                nearest = f
        n = h.plane[nearest]
        add_corner(h.sets, h.corner[corner], n[0], n[1], n[2])
        p = h.corner[corner, 0]
        if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] - n[3] <= _GAIN * size or corner == _CORNERS - 1:
            break
        faces = _push(h, faces, nearest, corner, _SEEN * size)
        corner += 1
    n, s, f = h.plane[nearest], h.sets, h.face[nearest]
    # Shares of the face's corners in its point nearest to the origin.
    p, q, r = h.corner[f[0], 0], h.corner[f[1], 0], h.corner[f[2], 0]
    ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    cx, cy, cz = n[0] * n[3] - p[0], n[1] * n[3] - p[1], n[2] * n[3] - p[2]
    whole = n[0] * (ay * bz - az * by) + n[1] * (az * bx - ax * bz) + n[2] * (ax * by - ay * bx)
    v = (n[0] * (cy * bz - cz * by) + n[1] * (cz * bx - cx * bz) + n[2] * (cx * by - cy * bx)) / whole
    w = (n[0] * (ay * cz - az * cy) + n[1] * (az * cx - ax * cz) + n[2] * (ax * cy - ay * cx)) / whole
    v, w = max(v, 0.0), max(w, 0.0)
    total = max(v + w, 1.0)
    v, w = v / total, w / total
    for k in range(2):
        for i in range(3):
            s.witness[k, i] = (
                (1.0 - v - w) * h.corner[f[0], 1 + k, i] + v * h.corner[f[1], 1 + k, i] + w * h.corner[f[2], 1 + k, i]
            )
    for i in range(3):
        s.witness[2, i] = -n[i]
    s.length[0] = -n[3]
    return corner


@jit
def depth(h: Any) -> float:
    """Return minus the depth of two sets that overlap; set witness points and the normal from b to a."""
    ask(h.grow, (h,))
    return h.sets.length[0]
