"""Capsules against convex meshes: the axis of the capsule against every edge, its ends against the faces."""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit
from impinge.geometry.distance import (
    TINY,
    along,
    column,
    cross,
    direction,
    dot,
    highest_face,
    local_point,
    local_vector,
    minus,
    over_face,
    world_vector,
    write,
)
from impinge.geometry.pairs.capsule_pairs import EDGE, MERGED, PARALLEL, SKEW, add, nearest_on_segments


@jit
def capsule_mesh(
    sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any, polytopes: Any, k: Any
) -> int:
    """Capsule and polytope k: the nearest point, and both ends of where the capsule lies along a face."""
    r, half, axis = sa[0], sa[1], column(Ra, 2)
    c, u = local_point(xa, xb, Rb), local_vector(axis, Rb)
    lo, hi, depth, face = -half, half, 1e300, polytopes.first_face[k]
    for f in range(polytopes.first_face[k], polytopes.first_face[k + 1]):
        plane = polytopes.planes[f]
        s, slope = plane[3] - dot(plane, c), dot(plane, u)
        o = s + abs(slope) * half
        if not o >= depth - TINY * sb[0]:  # what is no number stays
            depth, face = o, f
        if slope > 0.0:
            hi = min(hi, s / slope)
        elif slope < 0.0:
            lo = max(lo, s / slope)
        elif s < 0.0:
            hi = -1e300
    if not -depth - r <= margin:
        return 0
    if lo <= hi:
        return _axis_in_mesh(sa, xa, axis, sb, Rb, margin, points, polytopes, k, c, u, depth, face)
    best, w, t = 1e300, (0.0, 0.0, 0.0), 0.0
    for end in range(2):
        p = along(c, (2.0 * end - 1.0) * half, u)
        f, far = highest_face(p, polytopes, k)
        if far > 0.0 and far * far < best and over_face(p, polytopes, k, f):
            plane = polytopes.planes[f]
            best, t, w = far * far, (2.0 * end - 1.0) * half, (far * plane[0], far * plane[1], far * plane[2])
    base = polytopes.first_vertex[k]
    for e in range(polytopes.first_edge[k], polytopes.first_edge[k + 1]):
        a, b = polytopes.vertices[base + polytopes.edges[e, 0]], polytopes.vertices[base + polytopes.edges[e, 1]]
        length, v = direction(minus(b, a), 0.0, u)
        p, q = nearest_on_segments(c, u, half, along(a, 0.5 * length, v), v, 0.5 * length)
        d = minus(p, q)
        square = dot(d, d)
        if square < best * (1.0 - TINY):
            best, w, t = square, d, dot(minus(p, c), u)
    far, n = direction(w, TINY * sb[0], polytopes.planes[face])
    count = write(points[0], margin, far - r, world_vector(n, Rb), along(xa, t, axis), r, 0.0)
    face = _face_along(polytopes, k, n, u)
    if count == 1 and face >= 0:
        plane = polytopes.planes[face]
        n, far = (plane[0], plane[1], plane[2]), dot(plane, along(c, t, u)) - plane[3]
        count = _add_ends(sa, xa, axis, Rb, margin, points, polytopes, k, c, u, face, n, far, t)
    return count


@jit
def _face_along(polytopes: Any, k: Any, n: Any, u: Any) -> int:
    """Return the face whose normal is nearly n, if the direction u is along it, or −1."""
    face, most = -1, sqrt(1.0 - PARALLEL * PARALLEL)
    for f in range(polytopes.first_face[k], polytopes.first_face[k + 1]):
        if dot(polytopes.planes[f], n) > most:
            face, most = f, dot(polytopes.planes[f], n)
    return face if face >= 0 and abs(dot(polytopes.planes[face], u)) <= PARALLEL else -1


@jit
def _add_ends(
    sa: Any,
    xa: Any,
    axis: Any,
    Rb: Any,
    margin: Any,
    points: Any,
    polytopes: Any,
    k: Any,
    c: Any,
    u: Any,
    face: Any,
    n: Any,
    far: Any,
    t: Any,
) -> int:
    """Add both ends of the axis over a face to the point at t, which is ``far`` above along n; return the count."""
    lo, hi = _over(c, u, sa[1], polytopes, k, face)
    count = 1
    if hi - lo > TINY * sa[1]:
        for i in range(2):
            end = hi if i else lo
            gap, p = far + (end - t) * dot(n, u) - sa[0], along(xa, end, axis)
            count = add(points, count, margin, MERGED * sa[0], gap, world_vector(n, Rb), p, sa[0], 1.0 + i)
    return count


@jit
def _over(c: Any, u: Any, half: Any, polytopes: Any, k: Any, f: Any) -> Any:
    """Return the part of a segment that is over a face."""
    lo, hi = -half, half
    base, first, last = polytopes.first_vertex[k], polytopes.first_loop[f], polytopes.first_loop[f + 1]
    a = polytopes.vertices[base + polytopes.loops[last - 1]]
    for i in range(first, last):
        b = polytopes.vertices[base + polytopes.loops[i]]
        inward = cross(polytopes.planes[f], minus(b, a))
        s, slope, tie = dot(inward, minus(c, a)), dot(inward, u), TINY * sqrt(dot(inward, inward))
        if slope > tie:
            lo = max(lo, -s / slope)
        elif slope < -tie:
            hi = min(hi, -s / slope)
        elif s < -tie * half:
            hi = -1e300
        a = b
    return lo, hi


@jit
def _axis_in_mesh(
    sa: Any,
    xa: Any,
    axis: Any,
    sb: Any,
    Rb: Any,
    margin: Any,
    points: Any,
    polytopes: Any,
    k: Any,
    c: Any,
    u: Any,
    depth: Any,
    face: Any,
) -> int:
    """The axis is in the mesh: the shortest way out is square to a face, or to the axis and an edge it passes."""
    r, half, deep, edge, n, feature = sa[0], sa[1], 0.0, -1, (0.0, 0.0, 0.0), EDGE
    base, top = polytopes.first_vertex[k], polytopes.first_face[k]
    for e in range(polytopes.first_edge[k], polytopes.first_edge[k + 1]):
        left, right = polytopes.planes[top + polytopes.edges[e, 2]], polytopes.planes[top + polytopes.edges[e, 3]]
        # Only between faces that look to either side along the axis is an edge seen as an outline.
        if dot(left, u) * dot(right, u) < 0.0:
            a = polytopes.vertices[base + polytopes.edges[e, 0]]
            ahead = minus(polytopes.vertices[base + polytopes.edges[e, 1]], a)
            v = cross(u, ahead)
            length, v = direction(v, 0.0, u)
            if dot(v, left) + dot(v, right) < 0.0:
                v = (-v[0], -v[1], -v[2])
            o = dot(v, minus(a, c))
            if length * length > SKEW * dot(ahead, ahead) and o < depth - TINY * sb[0]:
                depth, edge, n = o, e, v
                m = cross(ahead, v)
                deep = max(-half, min(half, dot(minus(a, c), m) / dot(u, m)))
    if edge < 0:
        plane = polytopes.planes[face]
        n, feature = (plane[0], plane[1], plane[2]), 0.0
        deep = -half if dot(plane, u) > 0.0 else half
        if abs(dot(plane, u)) <= PARALLEL:
            lo, hi = _over(c, u, half, polytopes, k, face)
            deep = max(lo, min(hi, deep))  # along the face, the lower end need not be over it
            depth = plane[3] - dot(plane, along(c, deep, u))
    count = write(points[0], margin, -depth - r, world_vector(n, Rb), along(xa, deep, axis), r, feature)
    face = _face_along(polytopes, k, n, u)
    if count == 1 and face >= 0:
        count = _add_ends(sa, xa, axis, Rb, margin, points, polytopes, k, c, u, face, n, -depth, deep)
    return count
