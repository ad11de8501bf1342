"""Signed distance and contact patch of a capsule or cylinder and a polyhedron, a cylinder or a capsule.

Flat on flat gives up to four points, of which those on a rim are fixed to the cylinder, a side along a face or an edge
two, anything else one. Capsules and cylinders lie along the third axis of their shape.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from impinge.compile import Matrix, Vector, ask, entry, jit
from impinge.geometry.convex.epa import depth
from impinge.geometry.convex.gjk import distance
from impinge.geometry.convex.round_sets import (
    DISC,
    RIM,
    RoundWork,
    best_face,
    height_within,
    lay_incident,
    lay_polytope,
    lay_segment,
    low_line,
    make_room,
)
from impinge.geometry.features import FACES, FLAT, attained, lowest, relate, write
from impinge.geometry.pairs import clip
from impinge.geometry.pairs.clip import LABELS, choose, clip_segment
from impinge.geometry.pairs.segments import side_by_side
from impinge.geometry.spread import polygon_spread
from impinge.geometry.table import SPREAD, Polytopes

_ALONG = 0.01  # sine of the angle up to which a side is along an edge
_TOUCHING = 1e-6  # share of the size: a distance too short to tell the normal of what is round
_POINTS = 3  # kind of feature; faces of a are 0, of b 1


@jit
def _deep_enough(w: Any, k: Any, count: Any, low: float, size: float) -> bool:
    """Whether the other set's lowest points lie so deep in set k that no shorter translation parts them."""
    P = w.patch.polygon[0]
    x = y = z = 0.0
    total = 0
    for c in range(count):
        if attained(P[c, 3], low, size):
            x, y, z, total = x + P[c, 0], y + P[c, 1], z + P[c, 2], total + 1
    return attained(height_within(w, k, x / total, y / total, z / total), low, size)


@jit
def _on_face(
    t: Any, w: Any, k: Any, f: Any, goal: float, proven: bool, margin: float, size: float, xa: Any, Ra: Any, points: Any
) -> int:
    """Write the patch on a face of set k, if its smallest gap is the distance; return the number of points."""
    p, n, which, V, loop = w.patch, w.planes[k, f], w.which[k], w.ring[k], w.loop[f * RIM : f * RIM + RIM]
    if which >= 0:
        row = t.first_face[which] + f
        V, loop = w.sets.vertices[k], t.loops[t.first_loop[row] : t.first_loop[row + 1]]
    count, low_face = lay_incident(t, w, 1 - k, n, size)
    if count == 2:
        count = clip_segment(p, V, loop, n[0], n[1], n[2], size)
    else:
        count = clip.clip(p, count, V, loop, n[0], n[1], n[2], size)
    low = np.inf
    for c in range(count):
        v = p.polygon[0, c]
        v[3] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2] - n[3]
        low = min(low, v[3])
    if not attained(low, goal, size) or not (proven or _deep_enough(w, k, count, low, size)):
        return 0
    spread = polygon_spread(p.polygon[0], p.order, count) * (DISC if count >= RIM else 1.0)
    count = choose(p, count, margin, n[0], n[1], n[2], size)
    name = (k * FACES + f) * FACES + low_face
    for c in range(count):
        v, skin = p.polygon[0, p.kept[c]], w.skin[0]
        back, feature = -0.5 * (v[3] + skin), name * LABELS * LABELS + p.name[c]
        write(points[c], xa, Ra, v[3] - skin, n, 2.0 * k - 1.0, v, back, feature)
        points[c, SPREAD] = spread
    return count


@jit
def _lay_line(w: Any, k: Any, n: Any, sign: float, size: float, out: Any) -> int:
    """Write the ends of what of set k lies lowest along ± n, if it is an edge or a side, else twice one point."""
    d, V = w.sets.disc[k], w.sets.vertices[k]
    if w.which[k] >= 0:
        return lowest(V, w.sets.number[k], n, sign, size, out)
    low_line(w, k, n, sign, out)
    along = sign * (n[0] * d[0] + n[1] * d[1] + n[2] * d[2])
    if abs(along) > _ALONG:
        end = 1 if along > 0.0 else 0
        for i in range(3):
            out[1 - end, i] = out[end, i]
        return 1 + end
    return 0


@entry
def _meet(t: Polytopes, w: RoundWork, margin: float, xa: Vector, Ra: Matrix, points: Matrix) -> int:
    """Write the contact points of the two sets that have been laid out."""
    n, s, size, skin = w.axis, w.sets, w.size[0], w.skin[0]
    margin += skin
    fa, gap = best_face(w, w.order[0])
    fb, other = best_face(w, w.order[1])
    if gap > margin or other > margin:
        return 0
    best = w.planes[1, fb] if other >= gap else w.planes[0, fa]
    for i in range(3):
        n[i] = -best[i] if other >= gap else best[i]
    gap = max(gap, other)
    for again in range(2):
        if again == 1:
            gap = distance(s, -w.shift[0], -w.shift[1], -w.shift[2])
            if gap <= _TOUCHING * size:
                gap = depth(w.hull)
            if gap > margin:
                return 0
            for i in range(3):
                n[i] = -s.witness[2, i]
        for turned in range(2):
            k, f = 1 - turned, fa if turned == 1 else fb
            m = w.planes[k, f]
            along = m[0] * n[0] + m[1] * n[1] + m[2] * n[2]
            if w.faces[k] > 0 and (along if k == 0 else -along) >= FLAT:
                count = _on_face(t, w, k, f, gap, again == 1 or gap > 0.0, margin, size, xa, Ra, points)
                if count > 0:
                    return count

    E, F = w.ends, w.feet
    name = _lay_line(w, w.order[0], n, -1.0, size, E)
    name = (_POINTS * LABELS * LABELS + name) * LABELS * LABELS + _lay_line(w, w.order[1], n, 1.0, size, E[2:])
    if side_by_side(E, F):
        for c in range(2):
            a, b = F[2 * c], F[2 * c + 1]
            local = n[0] * (b[0] - a[0]) + n[1] * (b[1] - a[1]) + n[2] * (b[2] - a[2])
            write(points[c], xa, Ra, local - skin, n, -1.0, a, 0.5 * (local + skin), 2 * name + c)
        return 2
    write(points[0], xa, Ra, gap - skin, n, -1.0, s.witness[0], 0.5 * (gap + skin), 2 * name)
    return 1


def round_work(polytopes: Polytopes, needed: bool = True) -> RoundWork:
    """Make the memory that any pair of a cylinder needs; without machine code where there is no such pair."""
    return make_room(polytopes, _meet.address if needed else 0)


@jit
def _half_width(radius: float, half: float, skin: float, along: float) -> float:
    """Return how far a cylinder or capsule reaches from its center along a line, by its cosine to the axis."""
    return half * abs(along) + radius * sqrt(max(1.0 - along * along, 0.0)) + skin


@jit
def _with_polytope(
    t: Any, radius: float, half: float, skin: float, xa: Any, Ra: Any, kb: Any, xb: Any, Rb: Any, margin: float, w: Any,
    points: Any,
) -> int:  # fmt: skip
    relate(xa, Ra, xb, Rb, w.shift, w.turn)
    x, R = w.shift, w.turn
    length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if length > 0.0:
        u = (x[0] * R[0, 0] + x[1] * R[1, 0] + x[2] * R[2, 0]) / length
        v = (x[0] * R[0, 1] + x[1] * R[1, 1] + x[2] * R[2, 1]) / length
        z = (x[0] * R[0, 2] + x[1] * R[1, 2] + x[2] * R[2, 2]) / length
        least = np.inf
        for k in range(t.first_vertex[kb], t.first_vertex[kb + 1]):
            least = min(least, u * t.vertices[k, 0] + v * t.vertices[k, 1] + z * t.vertices[k, 2])
        if length + least - _half_width(radius, half, skin, x[2] / length) > margin:
            return 0
    lay_segment(w, w.order[0], w.origin, w.unit, radius, half)
    w.size[0] = min(max(radius, half, skin), lay_polytope(w, t, kb))
    w.skin[0] = skin
    return ask(w.meet, (t, w, margin, xa, Ra, points))


@jit
def _with_cylinder(
    t: Any, ra: float, ha: float, skin: float, xa: Any, Ra: Any, rb: float, hb: float, xb: Any, Rb: Any, margin: float,
    w: Any, points: Any,
) -> int:  # fmt: skip
    relate(xa, Ra, xb, Rb, w.shift, w.turn)
    x, R = w.shift, w.turn
    length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if length > 0.0:
        along = (x[0] * R[0, 2] + x[1] * R[1, 2] + x[2] * R[2, 2]) / length
        if length - _half_width(ra, ha, skin, x[2] / length) - _half_width(rb, hb, 0.0, along) > margin:
            return 0
    lay_segment(w, w.order[0], w.origin, w.unit, ra, ha)
    lay_segment(w, w.order[1], x, R, rb, hb)
    w.size[0] = min(max(ra, ha, skin), max(rb, hb))
    w.skin[0] = skin
    return ask(w.meet, (t, w, margin, xa, Ra, points))


@jit
def cylinder_polytope(
    polytopes: Any, radius: float, half: float, xa: Any, Ra: Any, kb: Any, xb: Any, Rb: Any, margin: float, work: Any,
    points: Any,
) -> int:  # fmt: skip
    """Write the contact points of a cylinder (a) and a polyhedron (b); return how many there are, at most four.

    Args:
        polytopes: The table of all polyhedra.
        radius: Of the cylinder.
        half: Half its length.
        xa: Its center.
        Ra: Its axes, as columns; it lies along the third.
        kb: Which polyhedron.
        xb: Where its origin is.
        Rb: Its axes, as columns.
        margin: Points whose gap is larger are left out.
        work: A `RoundWork`.
        points: Rows of contact points to write to.
    """
    return _with_polytope(polytopes, radius, half, 0.0, xa, Ra, kb, xb, Rb, margin, work, points)


@jit
def cylinder_cylinder(
    polytopes: Any, ra: float, ha: float, xa: Any, Ra: Any, rb: float, hb: float, xb: Any, Rb: Any, margin: float,
    work: Any, points: Any,
) -> int:  # fmt: skip
    """Write the contact points of two cylinders, given by radius, half length, center and axes; at most four."""
    return _with_cylinder(polytopes, ra, ha, 0.0, xa, Ra, rb, hb, xb, Rb, margin, work, points)


@jit
def capsule_cylinder(
    polytopes: Any, ra: float, ha: float, xa: Any, Ra: Any, rb: float, hb: float, xb: Any, Rb: Any, margin: float,
    work: Any, points: Any,
) -> int:  # fmt: skip
    """Write the contact points of a capsule (a) and a cylinder (b), as `cylinder_cylinder` does; at most two."""
    return _with_cylinder(polytopes, 0.0, ha, ra, xa, Ra, rb, hb, xb, Rb, margin, work, points)
