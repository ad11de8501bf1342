"""Capsules against capsules and boxes: the axis of a capsule is a segment, its surface is a radius away from it.

Nearly parallel ones touch along a line, which is represented by its two ends. Whether the ends count depends on their
own gaps alone, so nothing switches when the shapes tilt a little.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit
from impinge.geometry.distance import (
    TINY,
    along,
    box_distance,
    column,
    cross,
    direction,
    dot,
    local_point,
    local_vector,
    minus,
    unit,
    world_vector,
    write,
)
from impinge.geometry.table import FEATURE, GAP, MOST_POINTS, PLACE

PARALLEL = 0.1  # sine of the angle below which two shapes lie along each other
SKEW = 1e-10  # squared sine below which two lines have no point of their own that is nearest
EDGE = 3.0  # feature of the point where an axis passes an edge
MERGED = 0.1  # of the radius: points nearer to each other are one


@jit
def add(points: Any, count: Any, margin: Any, apart: Any, gap: Any, n: Any, p: Any, r: Any, feature: Any) -> int:
    """Add a contact to those there are, into the row of one nearer than ``apart`` if there is any; return the count.

    Of two that are merged the deeper one stays, of two as deep the later one: rounding does not choose. So is the
    nearest point, feature 0, merged with what is as near: along what is parallel all points are. One that an edge
    tells stays.
    """
    back = r + 0.5 * gap
    place = along(p, -back, n)
    for k in range(count):
        tie = -TINY * r if points[k, FEATURE] == EDGE else TINY * r
        w, nearer = minus(place, points[k, PLACE : PLACE + 3]), gap < points[k, GAP] + tie
        if dot(w, w) < apart * apart or (nearer and points[k, FEATURE] == 0.0):
            if nearer:
                write(points[k], margin, gap, n, p, r, feature)
            points[k, FEATURE] = feature  # a point keeps the name of the end where it is, whichever is deeper
            return count
    if count == MOST_POINTS:
        return count
    return count + write(points[count], margin, gap, n, p, r, feature)


@jit
def capsule_half_space(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Capsule and half-space: one point for each end."""
    n, u, count = column(Rb, 2), column(Ra, 2), 0
    for end in range(2):
        p = along(xa, (2.0 * end - 1.0) * sa[1], u)
        count += write(points[count], margin, dot(minus(p, xb), n) - sa[0], n, p, sa[0], float(end))
    return count


@jit
def _nearest_to_end(xa: Any, u: Any, ha: Any, xb: Any, v: Any, hb: Any, e: Any) -> Any:
    """Return end e of two segments' four and the nearest point of the other, a's first, and how far past it this is."""
    sign = 2.0 * (e % 2) - 1.0
    if e < 2:
        p = along(xa, sign * ha, u)
        t = dot(minus(p, xb), v)
        return p, along(xb, max(-hb, min(hb, t)), v), abs(t) - hb
    q = along(xb, sign * hb, v)
    t = dot(minus(q, xa), u)
    return along(xa, max(-ha, min(ha, t)), u), q, abs(t) - ha


@jit
def nearest_on_segments(xa: Any, u: Any, ha: Any, xb: Any, v: Any, hb: Any) -> Any:
    """Return the nearest points of two segments, given by middle, direction and half length."""
    w, aside = minus(xa, xb), cross(u, v)
    skew = dot(aside, aside)
    if skew > SKEW:
        c, wv = dot(u, v), dot(w, v)
        s = (c * wv - dot(w, u)) / skew
        t = wv + c * s
        if abs(s) <= ha and abs(t) <= hb:
            return along(xa, s, u), along(xb, t, v)
    best, p, q = 1e300, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(4):
        a, b, _ = _nearest_to_end(xa, u, ha, xb, v, hb, e)
        d = minus(a, b)
        square = dot(d, d)
        if e == 0 or square < best * (1.0 - TINY):
            best, p, q = square, a, b
    return p, q


@jit
def _square_to_both(xa: Any, u: Any, xb: Any, v: Any, otherwise: Any) -> Any:
    """Return the direction square to two lines, from b's side to a's."""
    n = cross(u, v)
    size = sqrt(dot(n, n)) if dot(minus(xa, xb), n) >= 0.0 else -sqrt(dot(n, n))
    return (n[0] / size, n[1] / size, n[2] / size) if abs(size) > sqrt(SKEW) else otherwise


@jit
def capsule_capsule(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Two capsules: the nearest point, and both ends of where they lie along each other."""
    u, v, r = column(Ra, 2), column(Rb, 2), sa[0] + sb[0]
    p, q = nearest_on_segments(xa, u, sa[1], xb, v, sb[1])
    # Where the axes meet, the way out is square to both.
    back = _square_to_both(xa, u, xb, v, column(Ra, 0))
    far, n = direction(minus(p, q), TINY * r, back)
    count = write(points[0], margin, far - r, n, p, sa[0], 0.0)
    aside = cross(u, v)
    if count == 0 or dot(aside, aside) > PARALLEL * PARALLEL:
        return count
    for e in range(4):
        p, q, past = _nearest_to_end(xa, u, sa[1], xb, v, sb[1], e)
        if past <= TINY * (sa[1] + sb[1]):
            far, n = direction(minus(p, q), TINY * r, back)
            count = add(points, count, margin, MERGED * r, far - r, n, p, sa[0], 1.0 + e)
    return count


@jit
def _slope(c: Any, u: Any, t: Any, h: Any) -> float:
    """Return half the derivative of the squared distance of c + t u from a box."""
    total = 0.0
    for i in range(3):
        x = c[i] + t * u[i]
        total += (x - max(-h[i], min(h[i], x))) * u[i]
    return total


@jit
def _nearest_to_box(c: Any, u: Any, half: Any, h: Any) -> float:
    """Return where the squared distance of a segment from a box, convex and of pieces of parabolas, is least."""
    lo, hi = -half, half
    if _slope(c, u, lo, h) >= 0.0:
        return lo
    if _slope(c, u, hi, h) <= 0.0:
        return hi
    for k in range(6):
        i, side = k // 2, 2.0 * (k % 2) - 1.0
        if u[i] != 0.0:
            t = (side * h[i] - c[i]) / u[i]
            if lo < t < hi:
                if _slope(c, u, t, h) > 0.0:
                    hi = t
                else:
                    lo = t
    low, high = _slope(c, u, lo, h), _slope(c, u, hi, h)
    return lo - (hi - lo) * low / (high - low)


@jit
def _within(c: Any, u: Any, half: Any, h: Any, n: Any) -> Any:
    """Return the part of a segment that is beside or over the feature of a box with the normal n."""
    lo, hi = -half, half
    for i in range(3):
        if abs(n[i]) <= PARALLEL:
            if abs(u[i]) > PARALLEL * PARALLEL:
                a, b = (-h[i] - c[i]) / u[i], (h[i] - c[i]) / u[i]
                lo, hi = max(lo, min(a, b)), min(hi, max(a, b))
    return lo, hi


@jit
def capsule_box(sa: Any, xa: Any, Ra: Any, sb: Any, xb: Any, Rb: Any, margin: Any, points: Any) -> int:
    """Capsule and box: the nearest point, and both ends of where the capsule lies along a face or an edge."""
    r, half = sa[0], sa[1]
    c, u = local_point(xa, xb, Rb), local_vector(column(Ra, 2), Rb)
    t = _nearest_to_box(c, u, half, sb)
    far, n = box_distance(along(c, t, u), sb)
    if far <= TINY * (sb[0] + sb[1] + sb[2]):
        return _axis_in_box(sa, xa, Ra, sb, Rb, margin, points, c, u)
    count = write(points[0], margin, far - r, world_vector(n, Rb), along(xa, t, column(Ra, 2)), r, 0.0)
    off = 0.0
    for i in range(3):
        if abs(n[i]) > PARALLEL:
            off += u[i] * u[i]
    if count == 0 or off > PARALLEL * PARALLEL:
        return count
    lo, hi = _within(c, u, half, sb, n)
    if hi - lo > TINY * half:
        for k in range(2):
            t = hi if k else lo
            far, n = box_distance(along(c, t, u), sb)
            p = along(xa, t, column(Ra, 2))
            count = add(points, count, margin, MERGED * r, far - r, world_vector(n, Rb), p, r, 1.0 + k)
    return count


@jit
def _axis_in_box(sa: Any, xa: Any, Ra: Any, sb: Any, Rb: Any, margin: Any, points: Any, c: Any, u: Any) -> int:
    """The axis is in the box: the shortest way out is square to a face, or to an edge and the axis."""
    r, half, scale = sa[0], sa[1], TINY * (sb[0] + sb[1] + sb[2])
    depth, face = 1e300, 0
    for i in range(3):
        o = sb[i] + abs(u[i]) * half - abs(c[i])
        if o < depth - scale:
            depth, face = o, i
    edge, n = -1, (0.0, 0.0, 0.0)
    for i in range(3):
        v = cross(u, unit(i, 1.0))
        length, v = direction(v, sqrt(SKEW), n)
        if length > sqrt(SKEW):
            o = sb[0] * abs(v[0]) + sb[1] * abs(v[1]) + sb[2] * abs(v[2]) - abs(dot(v, c))
            if o < depth - scale:
                depth, edge = o, i
                n = v if dot(v, c) >= 0.0 else (-v[0], -v[1], -v[2])
    axis, t, feature = column(Ra, 2), 0.0, 0.0
    if edge >= 0:
        # Seen along the edge, the axis passes its corner at depth: where, follows from the part of it across the edge.
        for i in range(3):
            if i != edge:
                t += u[i] * ((sb[i] if n[i] >= 0.0 else -sb[i]) - c[i] - depth * n[i])
            if abs(n[i]) > abs(n[face]):
                face = i
        t, feature = max(-half, min(half, t / (1.0 - u[edge] * u[edge]))), EDGE
    else:
        n = unit(face, 1.0 if c[face] >= 0.0 else -1.0)
        lo, hi = _within(c, u, half, sb, n)
        # The lower end is over the face, unless both are as low.
        t, feature = (lo, 1.0) if n[face] * u[face] > 0.0 else (hi, 2.0)
        depth = sb[face] - n[face] * (c[face] + t * u[face])
    count = write(points[0], margin, -depth - r, world_vector(n, Rb), along(xa, t, axis), r, feature)
    if count == 0 or abs(u[face]) > PARALLEL or n[face] * n[face] < 1.0 - PARALLEL * PARALLEL:
        return count
    lo, hi = _within(c, u, half, sb, n)
    if hi - lo > TINY * half:
        for k in range(2):
            end = hi if k else lo
            gap = (end - t) * dot(n, u) - depth - r
            p = along(xa, end, axis)
            count = add(points, count, margin, MERGED * r, gap, world_vector(n, Rb), p, r, 1.0 + k)
    return count
