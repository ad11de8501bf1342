"""Distance between two convex sets by their extreme points (Gilbert, Johnson and Keerthi 1988).

A set is the hull of some points, widened by a flat disc: a polyhedron has no disc, a cylinder is a segment and a
disc across it, a segment or a point is itself. Both sets are given in one frame.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, Integers, Matrix, Vector, ask, entry, jit

_STEPS = 100  # a polyhedron needs ten, a rim some thirty
_CLOSE = 1e-14  # relative gap of the squared distance to its lower bound, at which the distance is found
_ALONG = 1e-12  # sine below which a direction is along a disc's axis
_FLAT = 1e-10  # height of a tetrahedron, relative to its edges, below which it is flat
_SMALL = 1e-13  # distance, relative to the size of the sets, that counts as none


class Sets(NamedTuple):
    """Two convex sets and what the search between them leaves behind."""

    vertices: Cube  # (2, n, 3)
    number: Integers  # (2) how many vertices each has
    disc: Matrix  # (2, 4): axis and radius of the disc that widens the hull
    simplex: Cube  # (4, 3, 3): points a − b, a and b
    weight: Vector  # (4) of the simplex's points
    corners: Integers  # (1) how many points the simplex has
    witness: Matrix  # (3, 3): the nearest points of a and of b, and the unit normal from b to a
    length: Vector  # (1) the distance
    search: int  # address of the code that finds it


def sets(most: int, needed: bool = True) -> Sets:
    """Make room for two sets of at most ``most`` vertices each; without machine code where there are none."""
    return Sets(
        vertices=np.zeros((2, most, 3)),
        number=np.zeros(2, dtype=np.int64),
        disc=np.zeros((2, 4)),
        simplex=np.zeros((4, 3, 3)),
        weight=np.zeros(4),
        corners=np.zeros(1, dtype=np.int64),
        witness=np.zeros((3, 3)),
        length=np.zeros(1),
        search=_search.address if needed else 0,
    )


@jit
def support(V: Any, count: Any, d: Any, x: float, y: float, z: float, out: Any) -> None:
    """Write the point of a set, given by its vertices and disc, that is farthest in a direction."""
    best, most = 0, V[0, 0] * x + V[0, 1] * y + V[0, 2] * z
    for k in range(1, count):
        far = V[k, 0] * x + V[k, 1] * y + V[k, 2] * z
        if far > most:
            best, most = k, far
    out[0], out[1], out[2] = V[best, 0], V[best, 1], V[best, 2]
    if d[3] > 0.0:
        least = _ALONG * _ALONG * (x * x + y * y + z * z)
        # Twice, because what is left of a direction along the disc's axis may point anywhere.
        for _ in range(2):
            along = d[0] * x + d[1] * y + d[2] * z
            x, y, z = x - along * d[0], y - along * d[1], z - along * d[2]
        square = x * x + y * y + z * z
        if square > least:
            scale = d[3] / sqrt(square)
            out[0] += scale * x
            out[1] += scale * y
            out[2] += scale * z


@jit
def add_corner(s: Any, c: Any, x: float, y: float, z: float) -> None:
    """Write the point of a − b that is farthest in a direction, and those of a and b that make it."""
    for k in range(2):
        support(s.vertices[k], s.number[k], s.disc[k], x, y, z, c[1 + k])
        x, y, z = -x, -y, -z
    for i in range(3):
        c[0, i] = c[1, i] - c[2, i]


@jit
def _dot(p: Any, q: Any) -> float:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


@jit
def _on_segment(p: Any, q: Any) -> tuple[float, float]:
    """Return the share of q in the point nearest to the origin, and its squared distance."""
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    size = x * x + y * y + z * z
    t = 0.0
    if size > 0.0:
        t = min(max(-(p[0] * x + p[1] * y + p[2] * z) / size, 0.0), 1.0)
    x, y, z = p[0] + t * x, p[1] + t * y, p[2] + t * z
    return t, x * x + y * y + z * z


@jit
def _on_triangle(p: Any, q: Any, r: Any) -> tuple[float, float, float]:
    """Return the shares of q and r in the point nearest to the origin, and its squared distance."""
    t, best = _on_segment(p, q)
    v, w = t, 0.0
    t, near = _on_segment(p, r)
    if near < best:
        v, w, best = 0.0, t, near
    t, near = _on_segment(q, r)
    if near < best:
        v, w, best = 1.0 - t, t, near
    ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = nx * nx + ny * ny + nz * nz
    if size > 0.0:
        # Shares of the foot of the perpendicular: areas of the triangles that it makes with two corners.
        cx, cy, cz = -p[0], -p[1], -p[2]
        fv = (nx * (cy * bz - cz * by) + ny * (cz * bx - cx * bz) + nz * (cx * by - cy * bx)) / size
        fw = (nx * (ay * cz - az * cy) + ny * (az * cx - ax * cz) + nz * (ax * cy - ay * cx)) / size
        if fv >= 0.0 and fw >= 0.0 and fv + fw <= 1.0:
            x, y, z = p[0] + fv * ax + fw * bx, p[1] + fv * ay + fw * by, p[2] + fv * az + fw * bz
            near = x * x + y * y + z * z
            if near < best:
                v, w, best = fv, fw, near
    return v, w, best


@jit
def _around(p: Any, q: Any, r: Any, t: Any) -> bool:
    """Whether the origin lies strictly on t's side of the plane through p, q, r."""
    ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    bx, by, bz = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    here = -(nx * p[0] + ny * p[1] + nz * p[2])
    cx, cy, cz = t[0] - p[0], t[1] - p[1], t[2] - p[2]
    there = nx * cx + ny * cy + nz * cz
    # A flat tetrahedron has no inside.
    whole = (nx * nx + ny * ny + nz * nz) * (cx * cx + cy * cy + cz * cz)
    return here * there > 0.0 and there * there > _FLAT * _FLAT * whole


@jit
def _nearest(s: Any) -> float:
    """Set the weights of the simplex's point nearest to the origin, drop idle corners; return its squared distance."""
    S, w, n = s.simplex, s.weight, s.corners[0]
    for k in range(4):
        w[k] = 0.0
    best = 0.0
    if n == 1:
        w[0] = 1.0
        return _dot(S[0, 0], S[0, 0])
    if n == 2:
        w[1], best = _on_segment(S[0, 0], S[1, 0])
        w[0] = 1.0 - w[1]
    elif n == 3:
        w[1], w[2], best = _on_triangle(S[0, 0], S[1, 0], S[2, 0])
        w[0] = 1.0 - w[1] - w[2]
    else:
        inside, best = True, np.inf
        for k in range(4):
            i, j, m = (k + 1) % 4, (k + 2) % 4, (k + 3) % 4
            if _around(S[i, 0], S[j, 0], S[m, 0], S[k, 0]):
                continue
            inside = False
            v, u, near = _on_triangle(S[i, 0], S[j, 0], S[m, 0])
            if near < best:
                best = near
                w[k], w[i], w[j], w[m] = 0.0, 1.0 - v - u, v, u
        if inside:
            return 0.0
    kept = 0
    for k in range(n):
        if w[k] > 0.0:
            if kept < k:
                w[kept] = w[k]
                for i in range(3):
                    for j in range(3):
                        S[kept, i, j] = S[k, i, j]
            kept += 1
    s.corners[0] = kept
    return best


@jit
def _set_witness(s: Any) -> None:
    for i in range(2):
        for j in range(3):
            x = 0.0
            for k in range(s.corners[0]):
                x += s.weight[k] * s.simplex[k, i + 1, j]
            s.witness[i, j] = x


@entry
def _search(s: Sets, x: float, y: float, z: float) -> int:
    """Set the distance, the witness points and the normal; return 0 if the sets overlap."""
    s.length[0] = 0.0
    add_corner(s, s.simplex[0], -x, -y, -z)
    s.corners[0] = 1
    s.weight[0] = 1.0
    now = _dot(s.simplex[0, 0], s.simplex[0, 0])
    scale = now
    _set_witness(s)
    for _ in range(_STEPS):
        if now <= _SMALL * _SMALL * scale:
            return 0
        W, n = s.witness, s.corners[0]
        x, y, z = W[0, 0] - W[1, 0], W[0, 1] - W[1, 1], W[0, 2] - W[1, 2]
        add_corner(s, s.simplex[n], -x, -y, -z)
        c = s.simplex[n, 0]
        scale = max(scale, _dot(c, c))
        if now - (x * c[0] + y * c[1] + z * c[2]) <= _CLOSE * now:
            break
        known = False
        for k in range(n):
            if s.simplex[k, 0, 0] == c[0] and s.simplex[k, 0, 1] == c[1] and s.simplex[k, 0, 2] == c[2]:
                known = True
        if known:
            break
        s.corners[0] = n + 1
        near = _nearest(s)
        if near >= now:
            break
        now = near
        if now > 0.0:
            _set_witness(s)
    s.length[0] = sqrt(now)
    for i in range(3):
        s.witness[2, i] = (s.witness[0, i] - s.witness[1, i]) / s.length[0]
    return 1


@jit
def distance(s: Any, x: float, y: float, z: float) -> float:
    """Return the distance of the sets, 0 if they overlap, and set witness points and normal if they do not.

    Args:
        s: The two `Sets`.
        x: A guess of the direction from b to a; with y and z.
        y: See x.
        z: See x.
    """
    ask(s.search, (s, x, y, z))
    return s.length[0]
