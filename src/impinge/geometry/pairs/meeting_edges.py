"""Two convex polyhedra that meet at parallel edges: every normal between two of their faces parts them.

Where an edge of one lies on an edge of the other, several faces separate the two at once. The force between them may be
along the normals of all of these, and along those between: each end of the stretch along which the edges touch is
two contact points, with the two normals that are farthest apart. Leaning cards stand by this. Faces that lie flat on
each other are a patch, not edges, even where only their rims touch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit
from impinge.geometry.features import FLAT, write
from impinge.geometry.pairs.clip import LABELS
from impinge.geometry.pairs.segments import side_by_side
from impinge.geometry.table import NORMAL

TOGETHER = 1e-5  # share of the size by which faces that separate two bodies may differ in how far they do
_KIND = 4  # of these features, after those of faces, edges and points


@jit
def _separation(plane: Any, V: Any, n: Any) -> float:
    """Return how far vertices lie beyond a plane."""
    low = np.inf
    for k in range(n):
        low = min(low, plane[0] * V[k, 0] + plane[1] * V[k, 1] + plane[2] * V[k, 2])
    return low - plane[3]


@jit
def _list_separating(t: Any, k: Any, side: Any, face: Any, w: Any, least: float, found: Any) -> int:
    """List a face of a polyhedron and its neighbors, those that separate the two at least so far."""
    V, number, planes = w.sets.vertices[1 - side], w.sets.number[1 - side], w.axes.planes[side]
    if _separation(planes[face], V, number) < least:
        return 0
    found[0], count = face, 1
    for e in range(t.first_edge[k], t.first_edge[k + 1]):
        left, right = t.edges[e, 2], t.edges[e, 3]
        if left == face or right == face:
            other = right if left == face else left
            if _separation(planes[other], V, number) >= least:
                found[count] = other
                count += 1
    return count


@jit
def _normal(w: Any, k: Any, first: Any, out: Any) -> None:
    """Write the normal, from a to b, of one of the faces that were listed: those of a, then those of b."""
    for i in range(3):
        out[i] = (
            w.axes.planes[0, w.axes.near[0, k], i] if k < first else -w.axes.planes[1, w.axes.near[1, k - first], i]
        )


@jit
def _span(w: Any, first: Any, count: Any, N: Any) -> bool:
    """Write the two normals, farthest apart, of the faces that were listed; tell whether they span a cone."""
    widest = FLAT
    for k in range(count):
        _normal(w, k, first, N[2])
        for m in range(k + 1, count):
            _normal(w, m, first, N[3])
            along = N[2, 0] * N[3, 0] + N[2, 1] * N[3, 1] + N[2, 2] * N[3, 2]
            if k < first <= m and along >= FLAT:
                return False  # faces that lie on each other
            if along < widest:
                widest = along
                for i in range(3):
                    N[0, i], N[1, i] = N[2, i], N[3, i]
    return widest < FLAT


@jit
def foremost_edge(t: Any, k: Any, V: Any, n: Any, sign: float, out: Any) -> int:
    """Write the ends of the edge of a polyhedron that lies farthest along ± n; return its number."""
    edges, first, best, most = t.edges, t.first_edge[k], 0, -np.inf
    for e in range(t.first_edge[k + 1] - first):
        p, q = V[edges[first + e, 0]], V[edges[first + e, 1]]
        height = sign * (n[0] * (p[0] + q[0]) + n[1] * (p[1] + q[1]) + n[2] * (p[2] + q[2]))
        if height > most:
            best, most = e, height
    for i in range(3):
        out[0, i], out[1, i] = V[edges[first + best, 0], i], V[edges[first + best, 1], i]
    return best


@jit
def at_meeting_edges(
    t: Any, ka: Any, kb: Any, fa: Any, fb: Any, gap: float, xa: Any, Ra: Any, size: float, w: Any, points: Any
) -> int:
    """Write both normals at both ends where parallel edges of two polyhedra meet; return four, or zero if none do.

    Args:
        t: The table of all polyhedra.
        ka: Which one is a.
        kb: Which one is b.
        fa: The face of a beyond which b lies farthest.
        fb: The face of b beyond which a does.
        gap: How far the farther one lies, m.
        xa: Where a's origin is.
        Ra: Its axes, as columns.
        size: Of the smaller one, m.
        w: A `PolytopeWork` in which both are laid out.
        points: Rows of contact points to write to.
    """
    together, N, E, F = TOGETHER * size, w.normals, w.ends, w.feet
    if abs(gap) > together:
        return 0
    first = _list_separating(t, ka, 0, fa, w, gap - together, w.axes.near[0])
    count = first + _list_separating(t, kb, 1, fb, w, gap - together, w.axes.near[1])
    if count < 2 or not _span(w, first, count, N):
        return 0
    m = N[2]
    for i in range(3):
        m[i] = N[0, i] + N[1, i]
    name = _KIND * LABELS * LABELS + foremost_edge(t, ka, w.sets.vertices[0], m, 1.0, E)
    name = name * LABELS * LABELS + foremost_edge(t, kb, w.sets.vertices[1], m, -1.0, E[2:])
    if not side_by_side(E, F):
        return 0
    least = np.inf
    for k in range(2):
        a, b = F[2 * k], F[2 * k + 1]
        x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        local = max(N[0, 0] * x + N[0, 1] * y + N[0, 2] * z, N[1, 0] * x + N[1, 1] * y + N[1, 2] * z)
        least = min(least, local)
        for j in range(2):
            write(points[2 * j + k], xa, Ra, local, N[j], -1.0, a, 0.5 * local, 4 * name + 2 * j + k)
    return 4 if abs(least - gap) <= together else 0


@jit
def have_two_normals(points: Any, count: Any) -> bool:
    """Tell whether contact points of two polyhedra are those of edges that meet: points 0 and 1, 2 and 3 share one."""
    same = True
    for i in range(NORMAL, NORMAL + 3):
        same = same and points[0, i] == points[2, i]
    return count == 4 and not same
