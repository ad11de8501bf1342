"""Signed distance and contact patch of two convex polyhedra: boxes and meshes.

The distance is Euclidean when they are apart and minus the smallest parting translation when they overlap. A face is
preferred over a pair of edges, and a's face over b's, wherever both tell the same distance, so that a resting body does
not change its mind. Where faces of both are nearly parallel, the patch is one face clipped by the other and each point
has its own gap along the face's normal; the smallest is the distance, up to 10⁻⁷ of the size. Parallel edges that meet
have two normals, see `meeting_edges`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Matrix, Vector, ask, entry, jit
from impinge.geometry.convex import gjk
from impinge.geometry.convex.gjk import distance
from impinge.geometry.features import FACES, FLAT, attained, facing, relate, write
from impinge.geometry.pairs import clip, sat
from impinge.geometry.pairs.clip import LABELS, choose
from impinge.geometry.pairs.meeting_edges import at_meeting_edges, foremost_edge
from impinge.geometry.pairs.sat import best_box_edges, best_edges, best_face, is_box
from impinge.geometry.pairs.segments import crossing, side_by_side
from impinge.geometry.spread import polygon_spread
from impinge.geometry.table import SPREAD, Polytopes

_TIE, _RELATIVE = 1e-8, 5e-7  # share of the size, and of the distance, by which an axis must be better than a face
_EDGES, _POINTS = 2, 3  # kinds of features; faces of a are 0, of b 1


class PolytopeWork(NamedTuple):
    """Memory for one pair at a time."""

    sets: gjk.Sets
    axes: sat.Axes
    patch: clip.Patch
    turn: Matrix  # (3, 3): axes of b in those of a
    shift: Vector  # (3): origin of b in the axes of a
    axis: Vector  # (3): from a to b
    ends: Matrix  # (4, 3): two segments
    feet: Matrix  # (4, 3): points on a and b, by turns
    normals: Matrix  # (4, 3): of faces that part the two, the two farthest apart first
    near: int  # address of the code for what is not far apart


def polytope_work(polytopes: Polytopes, needed: bool = True) -> PolytopeWork:
    """Make the memory that any pair of these polyhedra needs; without machine code where there is no pair."""

    def most(first: Any) -> int:
        return int(np.max(np.diff(first), initial=2))

    return PolytopeWork(
        sets=gjk.sets(most(polytopes.first_vertex), needed),
        axes=sat.axes(most(polytopes.first_face), most(polytopes.first_edge)),
        patch=clip.patch(2 * most(polytopes.first_loop)),
        turn=np.zeros((3, 3)),
        shift=np.zeros(3),
        axis=np.zeros(3),
        ends=np.zeros((4, 3)),
        feet=np.zeros((4, 3)),
        normals=np.zeros((4, 3)),
        near=_near.address if needed else 0,
    )


@jit
def _center_gap(V: Any, first: Any, ka: Any, kb: Any, x: Any, R: Any) -> float:
    """Return the separation along the line between the origins."""
    size = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    if size == 0.0:
        return -np.inf
    most, least = -np.inf, np.inf
    for k in range(first[ka], first[ka + 1]):
        most = max(most, x[0] * V[k, 0] + x[1] * V[k, 1] + x[2] * V[k, 2])
    u = x[0] * R[0, 0] + x[1] * R[1, 0] + x[2] * R[2, 0]
    v = x[0] * R[0, 1] + x[1] * R[1, 1] + x[2] * R[2, 1]
    w = x[0] * R[0, 2] + x[1] * R[1, 2] + x[2] * R[2, 2]
    for k in range(first[kb], first[kb + 1]):
        least = min(least, u * V[k, 0] + v * V[k, 1] + w * V[k, 2])
    return (least - most) / size + size


@jit
def _lay_out(V: Any, P: Any, W: Any, Q: Any, x: Any, R: Any, w: Any) -> float:
    """Write vertices and planes of both into a's frame; return the smaller one's size."""
    size = 0.0
    for k in range(len(V)):
        for i in range(3):
            w.sets.vertices[0, k, i] = V[k, i]
            size = max(size, abs(V[k, i]))
    for k in range(len(P)):
        for i in range(4):
            w.axes.planes[0, k, i] = P[k, i]
    to, planes = w.sets.vertices[1], w.axes.planes[1]
    for k in range(len(W)):
        for i in range(3):
            to[k, i] = R[i, 0] * W[k, 0] + R[i, 1] * W[k, 1] + R[i, 2] * W[k, 2] + x[i]
    for k in range(len(Q)):
        level = Q[k, 3]
        for i in range(3):
            planes[k, i] = R[i, 0] * Q[k, 0] + R[i, 1] * Q[k, 1] + R[i, 2] * Q[k, 2]
            level += planes[k, i] * x[i]
        planes[k, 3] = level
    w.sets.number[0], w.sets.number[1] = len(V), len(W)
    other = 0.0
    for k in range(len(W)):
        other = max(other, abs(W[k, 0]), abs(W[k, 1]), abs(W[k, 2]))
    return min(size, other)


@jit
def _clipped(
    t: Any, k: Any, other: Any, side: Any, face: Any, xa: Any, Ra: Any, size: float, goal: float, margin: float, w: Any,
    points: Any,
) -> int:  # fmt: skip
    """Write the patch on one's face if its smallest gap is the distance sought; return the number of points."""
    V, W, n, p = w.sets.vertices[side], w.sets.vertices[1 - side], w.axes.planes[side, face], w.patch
    low_face = facing(t, other, W, w.axes.planes[1 - side], n, size)
    row = t.first_face[other] + low_face
    count = t.first_loop[row + 1] - t.first_loop[row]
    for c in range(count):
        v = W[t.loops[t.first_loop[row] + c]]
        p.polygon[0, c, 0], p.polygon[0, c, 1], p.polygon[0, c, 2] = v[0], v[1], v[2]
        p.label[0, c] = c
    row = t.first_face[k] + face
    count = clip.clip(p, count, V, t.loops[t.first_loop[row] : t.first_loop[row + 1]], n[0], n[1], n[2], size)
    low = np.inf
    for c in range(count):
        v = p.polygon[0, c]
        v[3] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2] - n[3]
        low = min(low, v[3])
    if not attained(low, goal, size):
        return 0
    spread = polygon_spread(p.polygon[0], p.order, count)
    count = choose(p, count, margin, n[0], n[1], n[2], size)
    name = (side * FACES + face) * FACES + low_face
    for c in range(count):
        v = p.polygon[0, p.kept[c]]
        write(points[c], xa, Ra, v[3], n, 2.0 * side - 1.0, v, -0.5 * v[3], name * LABELS * LABELS + p.name[c])
        points[c, SPREAD] = spread
    return count


@jit
def _on_faces(
    t: Any, ka: Any, kb: Any, fa: Any, fb: Any, n: Any, goal: float, xa: Any, Ra: Any, size: float, margin: float,
    w: Any, points: Any,
) -> int:  # fmt: skip
    """Write the patch on a's face or else on b's, if it is nearly across the axis n and tells the distance."""
    for side in range(2):
        face = fb if side == 1 else fa
        m = w.axes.planes[side, face]
        along = m[0] * n[0] + m[1] * n[1] + m[2] * n[2]
        if (-along if side == 1 else along) >= FLAT:
            k, other = (kb, ka) if side == 1 else (ka, kb)
            count = _clipped(t, k, other, side, face, xa, Ra, size, goal, margin, w, points)
            if count > 0:
                return count
    return 0


@jit
def _at_points(t: Any, ka: Any, kb: Any, xa: Any, Ra: Any, gap: float, n: Any, w: Any, points: Any) -> int:
    """Write the nearest points, or both ends of two edges that lie side by side."""
    s, E, F = w.sets, w.ends, w.feet
    name = _POINTS * LABELS * LABELS + foremost_edge(t, ka, s.vertices[0], n, 1.0, E)
    name = name * LABELS * LABELS + foremost_edge(t, kb, s.vertices[1], n, -1.0, E[2:])
    if side_by_side(E, F):
        for k in range(2):
            a, b = F[2 * k], F[2 * k + 1]
            local = n[0] * (b[0] - a[0]) + n[1] * (b[1] - a[1]) + n[2] * (b[2] - a[2])
            write(points[k], xa, Ra, local, n, -1.0, a, 0.5 * local, 2 * name + k)
        return 2
    write(points[0], xa, Ra, gap, n, -1.0, s.witness[0], 0.5 * gap, 2 * name)
    return 1


@entry
def _near(
    t: Polytopes, w: PolytopeWork, ka: int, kb: int, margin: float, xa: Vector, Ra: Matrix, points: Matrix
) -> int:
    """Write the points of polyhedra that the line between their origins does not separate.

    Called by address: callers stay small, and far pairs quick.
    """
    s, axes = w.sets, w.axes
    V, W = (
        t.vertices[t.first_vertex[ka] : t.first_vertex[ka + 1]],
        t.vertices[t.first_vertex[kb] : t.first_vertex[kb + 1]],
    )
    P, Q = t.planes[t.first_face[ka] : t.first_face[ka + 1]], t.planes[t.first_face[kb] : t.first_face[kb + 1]]
    size = _lay_out(V, P, W, Q, w.shift, w.turn, w)
    tie = _TIE * size
    fa, gap = best_face(axes.planes[0], len(P), s.vertices[1], len(W), tie, margin)
    if gap > margin:
        return 0
    fb, other = best_face(axes.planes[1], len(Q), s.vertices[0], len(V), tie, margin)
    if other > margin:
        return 0
    n, sign = w.axis, 1.0
    best = axes.planes[0, fa]
    if other > gap + tie + _RELATIVE * abs(gap):
        gap, best, sign = other, axes.planes[1, fb], -1.0
    for i in range(3):
        n[i] = sign * best[i]

    count = at_meeting_edges(t, ka, kb, fa, fb, gap, xa, Ra, size, w, points)
    if count > 0:
        return count
    boxes = is_box(V, len(V), len(P)) and is_box(W, len(W), len(Q))
    for again in range(2):
        # Axes tell the distance unless vertices are nearest; meshes have too many edges to look at all of them.
        by_edges, apart = False, 0.0
        if again == 1 or (gap <= 0.0 and not boxes):
            apart = distance(s, -n[0], -n[1], -n[2])
            if apart > margin:
                return 0
        if apart > tie:
            gap = apart
            for i in range(3):
                n[i] = -s.witness[2, i]
        elif again == 0:
            across = -np.inf
            if boxes:
                across = best_box_edges(V[0], W[0], w.turn, w.shift, axes, margin)
                if across > margin:
                    return 0
            elif gap <= 0.0:
                across = best_edges(t, ka, kb, s.vertices, axes, tie - gap)
            by_edges = across > gap + tie + _RELATIVE * abs(gap)
            if by_edges:
                gap = across
                for i in range(3):
                    n[i] = axes.edge[4, i]
        count = _on_faces(t, ka, kb, fa, fb, n, gap, xa, Ra, size, margin, w, points)
        if count > 0:
            return count
        if by_edges and (crossing(axes.edge, w.feet) or gap <= 0.0):
            name = (_EDGES * LABELS * LABELS + axes.pair[0]) * LABELS * LABELS + axes.pair[1]
            write(points[0], xa, Ra, gap, n, -1.0, w.feet[0], 0.5 * gap, name)
            return 1
        if apart > tie:
            break
    return _at_points(t, ka, kb, xa, Ra, gap, n, w, points)


@jit
def polytope_polytope(
    polytopes: Any, ka: Any, xa: Any, Ra: Any, kb: Any, xb: Any, Rb: Any, margin: float, work: Any, points: Any
) -> int:
    """Write the contact points of two polyhedra that are no farther apart than the margin.

    Args:
        polytopes: The table of all polyhedra.
        ka: Which one is a.
        xa: Where its origin is.
        Ra: Its axes, as columns.
        kb: Which one is b.
        xb: Where its origin is.
        Rb: Its axes, as columns.
        margin: Points whose gap is larger are left out.
        work: A `PolytopeWork`.
        points: Rows of contact points to write to.

    Returns:
        How many points there are, at most four.
    """
    relate(xa, Ra, xb, Rb, work.shift, work.turn)
    if _center_gap(polytopes.vertices, polytopes.first_vertex, ka, kb, work.shift, work.turn) > margin:
        return 0
    return ask(work.near, (polytopes, work, ka, kb, margin, xa, Ra, points))
