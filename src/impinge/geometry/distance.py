"""Signed distance of a sphere from each other shape, and how contact points are written.

Every pair is ``pair(sa, xa, Ra, sb, xb, Rb, margin, points)``: size, place and axes (as columns) of shapes a and b. It
writes the contact points with a gap of at most the margin into the rows of ``points`` and returns how many there are.
Pairs with a polytope also take its tables and its number.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit
from impinge.geometry.table import FEATURE, GAP, NORMAL, PLACE, SPREAD

TINY = 1e-9  # of the size, below which the direction between two points says nothing


@jit
def write(row: Any, margin: Any, gap: Any, n: Any, p: Any, r: Any, feature: Any) -> int:
    """Write the contact of a ball of radius r around p, whose surface is at ``gap`` along n; return 1 if it is near."""
    if not gap <= margin:
        return 0
    row[GAP], row[FEATURE], row[SPREAD] = gap, feature, 0.0
    back = r + 0.5 * gap
    row[NORMAL], row[NORMAL + 1], row[NORMAL + 2] = n[0], n[1], n[2]
    row[PLACE], row[PLACE + 1], row[PLACE + 2] = p[0] - back * n[0], p[1] - back * n[1], p[2] - back * n[2]
    return 1


@jit
def local_point(p: Any, x: Any, R: Any) -> Any:
    """Return a world point in the axes R at x."""
    a, b, c = p[0] - x[0], p[1] - x[1], p[2] - x[2]
    return (
        R[0, 0] * a + R[1, 0] * b + R[2, 0] * c,
        R[0, 1] * a + R[1, 1] * b + R[2, 1] * c,
        R[0, 2] * a + R[1, 2] * b + R[2, 2] * c,
    )


@jit
def local_vector(v: Any, R: Any) -> Any:
    """Return a world vector in the axes R."""
    return (
        R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2],
        R[0, 1] * v[0] + R[1, 1] * v[1] + R[2, 1] * v[2],
        R[0, 2] * v[0] + R[1, 2] * v[1] + R[2, 2] * v[2],
    )


@jit
def world_vector(v: Any, R: Any) -> Any:
    """Return a vector in the axes R in those of the world."""
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@jit
def dot(a: Any, b: Any) -> float:
    """Return a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def cross(a: Any, b: Any) -> Any:
    """Return a × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@jit
def along(p: Any, t: Any, u: Any) -> Any:
    """Return p + t u."""
    return (p[0] + t * u[0], p[1] + t * u[1], p[2] + t * u[2])


@jit
def minus(a: Any, b: Any) -> Any:
    """Return a − b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@jit
def column(R: Any, k: Any) -> Any:
    """Return an axis."""
    return (R[0, k], R[1, k], R[2, k])


@jit
def unit(k: Any, x: Any) -> Any:
    """Return the vector of length x along axis k."""
    return (x if k == 0 else 0.0, x if k == 1 else 0.0, x if k == 2 else 0.0)


@jit
def direction(v: Any, least: Any, otherwise: Any) -> Any:
    """Return the length of v and its direction; that of ``otherwise`` if v is not longer than ``least``."""
    length = sqrt(dot(v, v))
    if length > least:
        return length, (v[0] / length, v[1] / length, v[2] / length)
    return length, (otherwise[0], otherwise[1], otherwise[2])


@jit
def sphere_sphere(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Two spheres: one point."""
    r = sa[0] + sb[0]
    far, n = direction(minus(xa, xb), TINY * r, (0.0, 0.0, 1.0))
    return write(points[0], margin, far - r, n, xa, sa[0], 0.0)


@jit
def sphere_capsule(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Sphere and capsule: one point."""
    r, axis = sa[0] + sb[0], column(Rb, 2)
    t = max(-sb[1], min(sb[1], dot(minus(xa, xb), axis)))
    # On the axis every direction square to it is as good.
    far, n = direction(minus(xa, along(xb, t, axis)), TINY * r, column(Rb, 0))
    return write(points[0], margin, far - r, n, xa, sa[0], 0.0)


@jit
def sphere_cylinder(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Sphere and cylinder: one point."""
    p = local_point(xa, xb, Rb)
    rho = sqrt(p[0] * p[0] + p[1] * p[1])
    cx, cy = (p[0] / rho, p[1] / rho) if rho > TINY * sb[0] else (1.0, 0.0)
    side, top = rho - sb[0], abs(p[2]) - sb[1]
    up = 1.0 if p[2] >= 0.0 else -1.0
    if side > 0.0 and top > 0.0:
        far = sqrt(side * side + top * top)
        out, rise = side / far, up * top / far
    elif side > top:
        far, out, rise = side, 1.0, 0.0
    else:
        far, out, rise = top, 0.0, up
    return write(points[0], margin, far - sa[0], world_vector((out * cx, out * cy, rise), Rb), xa, sa[0], 0.0)


@jit
def box_distance(p: Any, h: Any) -> Any:
    """Return the signed distance of a local point from a box with half edges h, and the outward normal."""
    ex = (abs(p[0]) - h[0], abs(p[1]) - h[1], abs(p[2]) - h[2])
    sign = (1.0 if p[0] >= 0.0 else -1.0, 1.0 if p[1] >= 0.0 else -1.0, 1.0 if p[2] >= 0.0 else -1.0)
    if ex[0] > 0.0 or ex[1] > 0.0 or ex[2] > 0.0:
        a, b, c = max(0.0, ex[0]), max(0.0, ex[1]), max(0.0, ex[2])
        largest = max(a, b, c)  # squares of the quotients do not underflow
        a, b, c = a / largest, b / largest, c / largest
        length = sqrt(a * a + b * b + c * c)
        return largest * length, (sign[0] * a / length, sign[1] * b / length, sign[2] * c / length)
    if ex[0] >= ex[1] and ex[0] >= ex[2]:
        return ex[0], (sign[0], 0.0, 0.0)
    if ex[1] >= ex[2]:
        return ex[1], (0.0, sign[1], 0.0)
    return ex[2], (0.0, 0.0, sign[2])


@jit
def sphere_box(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Sphere and box: one point."""
    far, n = box_distance(local_point(xa, xb, Rb), sb)
    return write(points[0], margin, far - sa[0], world_vector(n, Rb), xa, sa[0], 0.0)


@jit
def sphere_half_space(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Sphere and half-space: one point."""
    n = column(Rb, 2)
    return write(points[0], margin, dot(minus(xa, xb), n) - sa[0], n, xa, sa[0], 0.0)


@jit
def highest_face(p: Any, polytopes: Any, k: Any) -> Any:
    """Return the face of polytope k whose plane a local point is farthest above, and how far."""
    best, far = polytopes.first_face[k], -1e300
    for f in range(polytopes.first_face[k], polytopes.first_face[k + 1]):
        plane = polytopes.planes[f]
        s = dot(plane, p) - plane[3]
        if not s <= far:  # what is no number stays
            best, far = f, s
    return best, far


@jit
def over_face(p: Any, polytopes: Any, k: Any, f: Any) -> bool:
    """Say whether a local point, dropped onto the plane of a face of polytope k, lands in the face."""
    base, first, last = polytopes.first_vertex[k], polytopes.first_loop[f], polytopes.first_loop[f + 1]
    a = polytopes.vertices[base + polytopes.loops[last - 1]]
    for i in range(first, last):
        b = polytopes.vertices[base + polytopes.loops[i]]
        if dot(cross(minus(b, a), minus(p, a)), polytopes.planes[f]) < 0.0:
            return False
        a = b
    return True


@jit
def sphere_mesh(
    sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any, polytopes: Any, k: Any
) -> int:
    """Sphere and polytope k: one point.

    Outside, the nearest point lies in the face whose plane the center is farthest above, or on an edge.
    """
    p = local_point(xa, xb, Rb)
    f, far = highest_face(p, polytopes, k)
    if far - sa[0] > margin:
        return 0
    plane = polytopes.planes[f]
    n = (plane[0], plane[1], plane[2])
    if far > 0.0 and not over_face(p, polytopes, k, f):
        best, v = 1e300, (0.0, 0.0, 0.0)
        base = polytopes.first_vertex[k]
        for e in range(polytopes.first_edge[k], polytopes.first_edge[k + 1]):
            a = polytopes.vertices[base + polytopes.edges[e, 0]]
            u = minus(polytopes.vertices[base + polytopes.edges[e, 1]], a)
            w = minus(p, a)
            w = along(w, -max(0.0, min(1.0, dot(w, u) / dot(u, u))), u)
            square = dot(w, w)
            if square < best:
                best, v = square, w
        far, n = direction(v, TINY * sb[0], n)
    return write(points[0], margin, far - sa[0], world_vector(n, Rb), xa, sa[0], 0.0)
