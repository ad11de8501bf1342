"""Polytopes and cylinders on a half-space."""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit
from impinge.geometry.distance import TINY, column, cross, dot, local_vector, minus, world_vector, write
from impinge.geometry.spread import polygon_spread
from impinge.geometry.table import MOST_POINTS, SPREAD

_UPRIGHT = 0.48  # cosine of the tilt up to which a cylinder stands rather than lies; 60 degrees is no place to switch
_STEADY = 1e-6  # sine of the tilt above which the lowest point of a standing cylinder leaves its fixed place


@jit
def polytope_half_space(
    sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any, polytopes: Any, k: Any
) -> int:
    """Polytope k (box or mesh) and half-space: its vertices near the surface, at most four, named by their numbers.

    Of more than four these are kept: the deepest, and of the face that lies lowest the farthest from it, the farthest
    from the line through both, and the one farthest outside this triangle.
    """
    normal = column(Rb, 2)
    n, d = local_vector(normal, Ra), dot(minus(xa, xb), normal)
    first, last = polytopes.first_vertex[k], polytopes.first_vertex[k + 1]
    near, least = 0, 1e300
    for v in range(first, last):
        gap = dot(n, polytopes.vertices[v]) + d
        least = min(least, gap)
        near += gap <= margin
    count = 0
    if near <= MOST_POINTS:
        for v in range(first, last):
            if dot(n, polytopes.vertices[v]) + d <= margin:
                count += _write_vertex(xa, Ra, polytopes.vertices[v], normal, n, d, margin, points, count, v - first)
        _set_spread(points, count, polytopes, k, n)
        return count
    # Ties go to the vertex with the lowest number, so that rounding does not change the choice at rest.
    tie = TINY * (sa[0] + sa[1] + sa[2])
    v0 = first
    while dot(n, polytopes.vertices[v0]) + d > least + tie:
        v0 += 1
    chosen, face = v0, _lowest_face(polytopes, k, n)
    a = b = c = polytopes.vertices[v0]
    for stage in range(MOST_POINTS):
        if stage > 0:
            most, chosen = tie * (tie if stage == 1 else sa[0]), -1
            for i in range(polytopes.first_loop[face], polytopes.first_loop[face + 1]):
                v = first + polytopes.loops[i]
                p = polytopes.vertices[v]
                if dot(n, p) + d <= margin:
                    gain = _gain(stage, a, b, c, p, n)
                    if gain > most * (1.0 + TINY):
                        most, chosen = gain, v
        if chosen < 0:
            break
        p = polytopes.vertices[chosen]
        if stage == 1:
            b = p
        elif stage == 2:
            c = p
        count += _write_vertex(xa, Ra, p, normal, n, d, margin, points, count, chosen - first)
    _set_spread(points, count, polytopes, k, n)
    return count


@jit
def _lowest_face(t: Any, k: Any, n: Any) -> Any:
    """Return the face of polytope k that faces a half-space with the normal n most."""
    face = t.first_face[k]
    for f in range(face, t.first_face[k + 1]):
        if dot(n, t.planes[f]) < dot(n, t.planes[face]) - TINY:
            face = f
    return face


@jit
def _set_spread(points: Any, count: Any, t: Any, k: Any, n: Any) -> None:
    """Write the spread of the face of polytope k that lies lowest along n, if enough of it is near."""
    if count < 3:
        return
    face = _lowest_face(t, k, n)
    loop = t.loops[t.first_loop[face] : t.first_loop[face + 1]]
    spread = polygon_spread(t.vertices[t.first_vertex[k] :], loop, len(loop))
    for c in range(count):
        points[c, SPREAD] = spread


@jit
def _gain(stage: Any, a: Any, b: Any, c: Any, p: Any, n: Any) -> float:
    """Return what a further point is worth: squared distance, then area, then area outside the triangle."""
    w = minus(p, a)
    if stage == 1:
        return dot(w, w)
    side = dot(cross(minus(b, a), w), n)
    if stage == 2:
        return abs(side)
    turn = 1.0 if dot(cross(minus(b, a), minus(c, a)), n) >= 0.0 else -1.0
    other = dot(cross(minus(c, b), minus(p, b)), n)
    third = dot(cross(minus(a, c), minus(p, c)), n)
    return -min(turn * side, turn * other, turn * third)


@jit
def _write_vertex(
    xa: Any, Ra: Any, v: Any, normal: Any, n: Any, d: Any, margin: Any, points: Any, count: Any, number: Any
) -> int:
    p = world_vector(v, Ra)
    p = (xa[0] + p[0], xa[1] + p[1], xa[2] + p[2])
    return write(points[count], margin, dot(n, v) + d, normal, p, 0.0, float(number))


@jit
def cylinder_half_space(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Cylinder and half-space: lying, the lowest point of each rim; standing, four points of the lower rim.

    The four are fixed to the cylinder, a quarter turn apart, so that they stay where they are while it stands. When it
    tilts, the one nearest to the lowest point of the rim moves there: the least gap is exact, and the center stays
    between the four.
    """
    normal = column(Rb, 2)
    n = local_vector(normal, Ra)
    d, r, half = dot(minus(xa, xb), normal), sa[0], sa[1]
    count = 0
    if abs(n[2]) < _UPRIGHT:
        size = sqrt(n[0] * n[0] + n[1] * n[1])
        for end in range(2):
            p = (-r * n[0] / size, -r * n[1] / size, (2.0 * end - 1.0) * half)
            count += _write_vertex(xa, Ra, p, normal, n, d, margin, points, count, 8 + end)
        return count
    z = -half if n[2] > 0.0 else half
    # Downhill, its sign on x and y picks the quarter; the fixed place counts as a tilt of its own, far below any
    # that matters: at rest, where the tilt is rounding, its direction is noise and the points do not follow it.
    quarter = _quarter(-n[0], -n[1])
    for k in range(4):
        sign = 1.0 if k < 2 else -1.0
        x, y = (sign, 0.0) if k % 2 == 0 else (0.0, sign)
        if k == quarter:
            x, y = _STEADY * x - n[0], _STEADY * y - n[1]
            size = sqrt(x * x + y * y)
            x, y = x / size, y / size
        p = (r * x, r * y, z)
        count += _write_vertex(xa, Ra, p, normal, n, d, margin, points, count, k if z < 0.0 else 4 + k)
    for c in range(count):
        points[c, SPREAD] = 2.0 * r / 3.0
    return count


@jit
def _quarter(x: Any, y: Any) -> int:
    if abs(x) >= abs(y):
        return 0 if x >= 0.0 else 2
    return 1 if y >= 0.0 else 3
