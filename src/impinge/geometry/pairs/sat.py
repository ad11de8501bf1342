"""Separating axes of two convex polyhedra: the normals of their faces and the products of their edges.

Both are given in the frame of the first one. An axis is a unit vector that points from a to b, its separation is how
far b lies beyond a along it; the largest one, where it is negative, is the smallest translation that parts them.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Integers, Matrix, jit

_PARALLEL = 1e-12  # squared sine between edges below which their product is no axis
_BOX_VERTICES, _BOX_FACES = 8, 6


class Axes(NamedTuple):
    """Faces of the two polyhedra in one frame, and the edges that are nearest."""

    planes: Cube  # (2, n, 4)
    edge: Matrix  # (5, 3): ends of the edge of a, ends of that of b, axis
    pair: Integers  # (2) which edges
    near: IntegerMatrix  # (2, n): edges that come near the other polyhedron


def axes(most_faces: int, most_edges: int) -> Axes:
    """Make room for polyhedra of at most so many faces and edges."""
    return Axes(
        planes=np.zeros((2, most_faces, 4)),
        edge=np.zeros((5, 3)),
        pair=np.zeros(2, dtype=np.int64),
        near=np.zeros((2, most_edges), dtype=np.int64),
    )


@jit
def is_box(V: Any, n: Any, faces: Any) -> bool:
    """Whether a polyhedron is a box about its origin, along its axes."""
    if n != _BOX_VERTICES or faces != _BOX_FACES:
        return False
    x, y, z = abs(V[0, 0]), abs(V[0, 1]), abs(V[0, 2])
    same = True
    for k in range(1, _BOX_VERTICES):
        same = same and abs(V[k, 0]) == x and abs(V[k, 1]) == y and abs(V[k, 2]) == z
    return same


@jit
def best_face(planes: Any, faces: Any, V: Any, n: Any, tie: float, enough: float) -> tuple[int, float]:
    """Return the face beyond which the vertices lie farthest, and how far.

    A face must beat those before it by a tie, so that equal ones do not take turns. The first that is farther than
    enough ends the search.
    """
    best, most = 0, -np.inf
    for f in range(faces):
        x, y, z = planes[f, 0], planes[f, 1], planes[f, 2]
        low = np.inf
        for k in range(n):
            low = min(low, x * V[k, 0] + y * V[k, 1] + z * V[k, 2])
        low -= planes[f, 3]
        if low > most + tie:
            best, most = f, low
            if most > enough:
                break
    return best, most


@jit
def best_box_edges(size: Any, other: Any, R: Any, x: Any, w: Any, enough: float) -> float:
    """Return the largest separation of two boxes across edges and describe them (Gottschalk, Lin and Manocha 1996).

    Args:
        size: A vertex of a in its axes.
        other: A vertex of b in its axes.
        R: Axes of b as columns, in those of a.
        x: Center of b.
        w: The `Axes` to write to.
        enough: Stop at a separation beyond this one.
    """
    most, E = -np.inf, w.edge
    for i in range(3):
        j, o = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            # The product of unit vector i and axis m of b has no component i.
            u, v = -R[o, m], R[j, m]
            square = u * u + v * v
            if square < _PARALLEL:
                continue
            along = u * x[j] + v * x[o]
            scale = (1.0 if along > 0.0 else -1.0) / sqrt(square)
            u, v = scale * u, scale * v
            gap = scale * along - abs(size[j] * u) - abs(size[o] * v)
            for k in range(3):
                if k != m:
                    gap -= abs(other[k] * (u * R[j, k] + v * R[o, k]))
            if gap > most:
                most = gap
                w.pair[0], w.pair[1] = i, m
                E[4, i], E[4, j], E[4, o] = 0.0, u, v
                if most > enough:
                    return most
    i, m = w.pair[0], w.pair[1]
    w.pair[0] = w.pair[1] = 0
    for k in range(3):
        E[0, k] = E[1, k] = abs(size[k]) if E[4, k] > 0.0 else -abs(size[k])
        E[2, k] = E[3, k] = x[k]
        # A box's edges are named by their direction and the signs of the two others.
        w.pair[0] = 3 * w.pair[0] + (2 if k == i else E[4, k] > 0.0)
    E[0, i] = -E[1, i]
    for k in range(3):
        half = abs(other[k])
        if k != m and E[4, 0] * R[0, k] + E[4, 1] * R[1, k] + E[4, 2] * R[2, k] > 0.0:
            half = -half
        w.pair[1] = 3 * w.pair[1] + (2 if k == m else half > 0.0)
        for c in range(3):
            E[2, c] += half * R[c, k]
            E[3, c] += (-half if k == m else half) * R[c, k]
    return most


@jit
def _list_near(edges: Any, first: Any, last: Any, V: Any, planes: Any, faces: Any, reach: float, near: Any) -> int:
    """List the edges of a polyhedron that are not wholly beyond a plane of the other one by more than the reach."""
    count = 0
    for e in range(first, last):
        p, q = V[edges[e, 0]], V[edges[e, 1]]
        for f in range(faces):
            x, y, z, level = planes[f, 0], planes[f, 1], planes[f, 2], planes[f, 3] + reach
            if x * p[0] + y * p[1] + z * p[2] > level and x * q[0] + y * q[1] + z * q[2] > level:
                break
        else:
            near[count] = e
            count += 1
    return count


@jit
def best_edges(polytopes: Any, ka: Any, kb: Any, V: Any, w: Any, reach: float) -> float:
    """Return the largest separation across edges that face each other, no farther apart than the reach.

    Two edges make a face of the difference of the polyhedra where the arcs between the normals of their neighboring
    faces cross on the sphere (Gregorius 2013).
    """
    edges, first_edge, first_face = polytopes.edges, polytopes.first_edge, polytopes.first_face
    A, B, P, Q, E = V[0], V[1], w.planes[0], w.planes[1], w.edge
    fa, fb = first_face[ka + 1] - first_face[ka], first_face[kb + 1] - first_face[kb]
    na = _list_near(edges, first_edge[ka], first_edge[ka + 1], A, Q, fb, reach, w.near[0])
    nb = _list_near(edges, first_edge[kb], first_edge[kb + 1], B, P, fa, reach, w.near[1])
    most = -np.inf
    for i in range(na):
        e = edges[w.near[0, i]]
        p, q, r, s = A[e[0]], A[e[1]], P[e[2]], P[e[3]]
        ax, ay, az = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        for j in range(nb):
            g = edges[w.near[1, j]]
            c, d = Q[g[2]], Q[g[3]]
            one = c[0] * ax + c[1] * ay + c[2] * az
            two = d[0] * ax + d[1] * ay + d[2] * az
            if one * two >= 0.0:
                continue
            t, o = B[g[0]], B[g[1]]
            bx, by, bz = o[0] - t[0], o[1] - t[1], o[2] - t[2]
            three = r[0] * bx + r[1] * by + r[2] * bz
            four = s[0] * bx + s[1] * by + s[2] * bz
            if three * four >= 0.0:
                continue
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            square = x * x + y * y + z * z
            if square < _PARALLEL * (ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz):
                continue
            # Out of a, between its faces; the arcs cross on this half of the sphere only if it goes into b too.
            out = x * (r[0] + s[0]) + y * (r[1] + s[1]) + z * (r[2] + s[2])
            into = x * (c[0] + d[0]) + y * (c[1] + d[1]) + z * (c[2] + d[2])
            if out * into >= 0.0:
                continue
            scale = (1.0 if out > 0.0 else -1.0) / sqrt(square)
            x, y, z = scale * x, scale * y, scale * z
            gap = x * (t[0] - p[0]) + y * (t[1] - p[1]) + z * (t[2] - p[2])
            if gap > most:
                most = gap
                w.pair[0], w.pair[1] = w.near[0, i] - first_edge[ka], w.near[1, j] - first_edge[kb]
                for k in range(3):
                    E[0, k], E[1, k], E[2, k], E[3, k] = p[k], q[k], t[k], o[k]
                E[4, 0], E[4, 1], E[4, 2] = x, y, z
    return most
