"""Capsules, cylinders and polyhedra laid out as pairs of convex sets with faces.

A cylinder is a segment widened by a disc, a capsule a segment with a round skin; both lie along the third axis of their
shape. A cylinder's faces are its caps; where one is clipped its rim counts as a regular polygon of sixteen corners.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, Integers, Matrix, Vector, jit
from impinge.geometry.convex import epa, gjk
from impinge.geometry.features import FLAT, facing
from impinge.geometry.pairs import clip
from impinge.geometry.table import Polytopes

RIM = 16
DISC = 1.012950  # the spread of a disc over that of the polygon of its rim's corners
_MOVES = 1e-6  # slope from which the lowest point of a rim is one of its corners
_SMOOTH = -1  # in place of a polytope's number


class RoundWork(NamedTuple):
    """Memory for one pair at a time."""

    sets: gjk.Sets
    hull: epa.Hull
    patch: clip.Patch
    planes: Cube  # (2, n, 4): faces of each set; a cylinder has two, a capsule none
    faces: Integers  # (2) how many
    ring: Cube  # (2, 32, 3): corners of both caps' rims
    loop: Integers  # (32) their order
    which: Integers  # (2) polytope of each, or −1
    skin: Vector  # (1) radius of a's skin
    size: Vector  # (1) of the smaller one
    turn: Matrix  # (3, 3): axes of b in those of a
    shift: Vector  # (3): origin of b in the axes of a
    axis: Vector  # (3): from a to b
    ends: Matrix  # (4, 3): two segments
    feet: Matrix  # (4, 3): points on a and b, by turns
    circle: Matrix  # (16, 2): corners of a rim of radius one
    origin: Vector  # (3) of a
    unit: Matrix  # (3, 3): axes of a
    order: Integers  # (2) a and b
    meet: int  # address of the code for all pairs


def make_room(polytopes: Polytopes, meet: int) -> RoundWork:
    """Make the memory for any pair of a capsule or cylinder with these polyhedra, or with each other."""

    def most(first: Any) -> int:
        return int(np.max(np.diff(first), initial=2))

    angle = 2.0 * pi * np.arange(RIM) / RIM
    sets = gjk.sets(most(polytopes.first_vertex), meet != 0)
    return RoundWork(
        sets=sets,
        hull=epa.hull(sets, meet != 0),
        patch=clip.patch(2 * max(most(polytopes.first_loop), RIM)),
        planes=np.zeros((2, most(polytopes.first_face), 4)),
        faces=np.zeros(2, dtype=np.int64),
        ring=np.zeros((2, 2 * RIM, 3)),
        # The upper cap is counterclockwise from outside as it stands, the lower one backward.
        loop=np.array([*range(RIM), *range(2 * RIM - 1, RIM - 1, -1)], dtype=np.int64),
        which=np.zeros(2, dtype=np.int64),
        skin=np.zeros(1),
        size=np.zeros(1),
        turn=np.zeros((3, 3)),
        shift=np.zeros(3),
        axis=np.zeros(3),
        ends=np.zeros((4, 3)),
        feet=np.zeros((4, 3)),
        circle=np.column_stack([np.cos(angle), np.sin(angle)]),
        origin=np.zeros(3),
        unit=np.eye(3),
        order=np.arange(2),
        meet=meet,
    )


@jit
def lay_segment(w: Any, k: Any, x: Any, R: Any, radius: float, half: float) -> None:
    """Set up a cylinder, or with no radius the core of a capsule, as set k."""
    V, d, P = w.sets.vertices[k], w.sets.disc[k], w.planes[k]
    w.which[k], w.sets.number[k], d[3] = _SMOOTH, 2, radius
    w.faces[k] = 2 if radius > 0.0 else 0
    for i in range(3):
        d[i] = R[i, 2]
        V[0, i], V[1, i] = x[i] + half * R[i, 2], x[i] - half * R[i, 2]
    if radius > 0.0:
        for c in range(2):
            sign = 1.0 - 2.0 * c
            P[c, 3] = half
            for i in range(3):
                P[c, i] = sign * R[i, 2]
                P[c, 3] += P[c, i] * x[i]
            for j in range(RIM):
                u, v = radius * w.circle[j, 0], radius * w.circle[j, 1]
                for i in range(3):
                    w.ring[k, c * RIM + j, i] = V[c, i] + u * R[i, 0] + v * R[i, 1]


@jit
def lay_polytope(w: Any, t: Any, k: Any) -> float:
    """Set up a polytope as the second set; return its size."""
    x, R, first, face = w.shift, w.turn, t.first_vertex[k], t.first_face[k]
    V, P, size = w.sets.vertices[1], w.planes[1], 0.0
    w.which[1], w.sets.number[1], w.sets.disc[1, 3] = k, t.first_vertex[k + 1] - first, 0.0
    w.faces[1] = t.first_face[k + 1] - face
    for j in range(w.sets.number[1]):
        v = t.vertices[first + j]
        size = max(size, abs(v[0]), abs(v[1]), abs(v[2]))
        for i in range(3):
            V[j, i] = x[i] + R[i, 0] * v[0] + R[i, 1] * v[1] + R[i, 2] * v[2]
    for j in range(w.faces[1]):
        n = t.planes[face + j]
        P[j, 3] = n[3]
        for i in range(3):
            P[j, i] = R[i, 0] * n[0] + R[i, 1] * n[1] + R[i, 2] * n[2]
            P[j, 3] += P[j, i] * x[i]
    return size


@jit
def best_face(w: Any, k: Any) -> tuple[int, float]:
    """Return the face of set k beyond which the other lies farthest, and how far."""
    V, d, best, most = w.sets.vertices[1 - k], w.sets.disc[1 - k], 0, -np.inf
    for f in range(w.faces[k]):
        n = w.planes[k, f]
        low = np.inf
        for j in range(w.sets.number[1 - k]):
            low = min(low, n[0] * V[j, 0] + n[1] * V[j, 1] + n[2] * V[j, 2])
        along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
        if d[3] > 0.0:
            low -= d[3] * sqrt(max(1.0 - along * along, 0.0))
        if low - n[3] > most:
            best, most = f, low - n[3]
    return best, most


@jit
def low_line(w: Any, k: Any, n: Any, sign: float, out: Any) -> float:
    """Write the lowest point of each end of a cylinder or capsule along ± n; return the slope of its rim."""
    V, d = w.sets.vertices[k], w.sets.disc[k]
    along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    x, y, z = n[0] - along * d[0], n[1] - along * d[1], n[2] - along * d[2]
    slope = sqrt(x * x + y * y + z * z)
    scale = -sign * d[3] / slope if slope > 0.0 else 0.0
    for c in range(2):
        out[c, 0], out[c, 1], out[c, 2] = V[c, 0] + scale * x, V[c, 1] + scale * y, V[c, 2] + scale * z
    return slope


@jit
def lay_incident(t: Any, w: Any, k: Any, n: Any, size: float) -> tuple[int, int]:
    """Write as the first polygon what of set k lies lowest along n; return its corners and its name."""
    P, L, which = w.patch.polygon[0], w.patch.label[0], w.which[k]
    V, d = w.sets.vertices[k], w.sets.disc[k]
    along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
    if which < 0 and not (d[3] > 0.0 and abs(along) >= FLAT):
        low_line(w, k, n, 1.0, P)
        L[0], L[1] = 0, 1
        return 2, 2
    if which >= 0:
        face = facing(t, which, V, w.planes[k], n, size)
        first = t.first_loop[t.first_face[which] + face]
        corners = t.first_loop[t.first_face[which] + face + 1] - first
        loops = t.loops
    else:
        face = 1 if along > 0.0 else 0
        V, loops, first, corners = w.ring[k], w.loop, face * RIM, RIM
    low = 0
    for c in range(corners):
        v = V[loops[first + c]]
        P[c, 0], P[c, 1], P[c, 2], L[c] = v[0], v[1], v[2], c
        P[c, 3] = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
        if P[c, 3] < P[low, 3]:
            low = c
    if which < 0:
        slope = low_line(w, k, n, 1.0, w.ends)
        if slope > _MOVES:
            for i in range(3):
                P[low, i] = w.ends[face, i]
    return corners, face


@jit
def height_within(w: Any, k: Any, x: float, y: float, z: float) -> float:
    """Return how far a point is from being inside set k: negative inside, no less than minus its depth."""
    most = -np.inf
    for f in range(w.faces[k]):
        n = w.planes[k, f]
        most = max(most, n[0] * x + n[1] * y + n[2] * z - n[3])
    d, p = w.sets.disc[k], w.sets.vertices[k, 0]
    if w.which[k] < 0:
        x, y, z = x - p[0], y - p[1], z - p[2]
        along = x * d[0] + y * d[1] + z * d[2]
        most = max(most, sqrt(max(x * x + y * y + z * z - along * along, 0.0)) - d[3])
    return most
