"""How far a place is from the surface of a solid, with the outward normal there, and how that turns as the place moves.

Everything is seen from the solid's axes. Distances are smooth but for their curvature, which jumps where another face,
edge or corner comes to be the nearest.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import jit
from impinge.geometry.table import Polytopes
from impinge.simulation.scenes.contacts.vectors import cross, dot
from impinge.simulation.scenes.tables import SceneTables

# Surfaces that a ball may touch: all points at a distance from a box, a half-space, a cylinder, a polyhedron.
ROUND, FLAT, CYLINDRIC, POLYHEDRAL = 0, 1, 2, 3


@jit
def _from_place(away: Any, rate: Any, n: Any, turning: Any) -> float:
    """Return a distance; write its direction, and how that turns at a rate of change, which ``turning`` may be."""
    size = sqrt(dot(away, away))
    for i in range(3):
        n[i] = away[i] / size
    along = dot(n, rate)
    for i in range(3):
        turning[i] = (rate[i] - along * n[i]) / size
    return size


@jit
def _from_box(half: Any, thick: float, x: Any, rate: Any, n: Any, turning: Any) -> float:
    for i in range(3):
        n[i] = turning[i] = 0.0
    square, deepest, face = 0.0, -1.0e300, 0
    for i in range(3):
        beyond = abs(x[i]) - half[i]
        if beyond > deepest:
            deepest, face = beyond, i
        if beyond > 0.0:
            n[i], turning[i] = (beyond if x[i] > 0.0 else -beyond), rate[i]
            square += beyond * beyond
    if square == 0.0:  # inside: the nearest face
        n[face] = 1.0 if x[face] >= 0.0 else -1.0
        return deepest - thick
    return _from_place(n, turning, n, turning) - thick


@jit
def _from_cylinder(size: Any, x: Any, rate: Any, n: Any, turning: Any) -> float:
    around = sqrt(x[0] * x[0] + x[1] * x[1])
    beside, above, up = around - size[0], abs(x[2]) - size[1], 1.0 if x[2] >= 0.0 else -1.0
    for i in range(3):
        n[i] = turning[i] = 0.0
    if beside <= 0.0 and above >= beside:
        n[2] = up
        return above
    out, over = x[0] / around, x[1] / around
    outward = out * rate[0] + over * rate[1]
    if above <= 0.0:
        n[0], n[1] = out, over
        turning[0], turning[1] = (rate[0] - outward * out) / around, (rate[1] - outward * over) / around
        return beside
    share = beside / around
    n[0], n[1], n[2] = beside * out, beside * over, up * above
    turning[0] = outward * out + share * (rate[0] - outward * out)
    turning[1] = outward * over + share * (rate[1] - outward * over)
    turning[2] = rate[2]
    return _from_place(n, turning, n, turning)


@jit
def _faces(t: Polytopes, k: int, f: int, x: Any, one: Any, other: Any) -> bool:
    """Tell whether a place is over a face: inside of all its edges."""
    first, V, inside = t.first_face[k] + f, t.first_vertex[k], True
    begin, end = t.first_loop[first], t.first_loop[first + 1]
    for j in range(begin, end):
        a, b = t.vertices[V + t.loops[j]], t.vertices[V + t.loops[j + 1 if j + 1 < end else begin]]
        for i in range(3):
            one[i], other[i] = b[i] - a[i], x[i] - a[i]
        cross(one, other, one)
        inside &= dot(one, t.planes[first]) >= 0.0
    return inside


@jit
def _from_polyhedron(t: Polytopes, k: int, x: Any, rate: Any, n: Any, turning: Any, one: Any, other: Any) -> float:
    deepest, face = -1.0e300, 0
    for f in range(t.first_face[k + 1] - t.first_face[k]):
        plane = t.planes[t.first_face[k] + f]
        away = dot(plane, x) - plane[3]
        if away > deepest:
            deepest, face = away, f
        if away > 0.0 and _faces(t, k, f, x, one, other):
            deepest, face = away, f
            break
    if deepest <= 0.0 or _faces(t, k, face, x, one, other):
        for i in range(3):
            n[i], turning[i] = t.planes[t.first_face[k] + face, i], 0.0
        return deepest
    least, V, nearest, part = 1.0e300, t.first_vertex[k], 0, 0.0
    for e in range(t.first_edge[k], t.first_edge[k + 1]):
        a, b = t.vertices[V + t.edges[e, 0]], t.vertices[V + t.edges[e, 1]]
        for i in range(3):
            one[i], other[i] = b[i] - a[i], x[i] - a[i]
        share = min(max(dot(one, other) / dot(one, one), 0.0), 1.0)
        square = 0.0
        for i in range(3):
            square += (other[i] - share * one[i]) ** 2
        if square < least:
            least, nearest, part = square, e, share
    a, b = t.vertices[V + t.edges[nearest, 0]], t.vertices[V + t.edges[nearest, 1]]
    for i in range(3):
        one[i] = b[i] - a[i]
    along = dot(one, rate) / dot(one, one) if 0.0 < part < 1.0 else 0.0
    for i in range(3):
        n[i], turning[i] = x[i] - a[i] - part * one[i], rate[i] - along * one[i]
    return _from_place(n, turning, n, turning)


@jit
def distance(s: SceneTables, c: int, x: Any, rate: Any, n: Any, turning: Any, one: Any, other: Any) -> float:
    """Return the signed distance of a place that moves from a contact's surface; write normal, and how it turns.

    Args:
        s: tables of the scene.
        c: the contact.
        x: the place (3).
        rate: its velocity (3).
        n: the normal is written there (3).
        turning: its rate is written there (3).
        one: three numbers to write to on the way.
        other: three more.
    """
    f = s.features
    if f.surface[c] == FLAT:
        for i in range(3):
            n[i] = turning[i] = 0.0
        n[2] = 1.0
        return x[2]
    if f.surface[c] == ROUND:
        return _from_box(f.half[c], f.thick[c], x, rate, n, turning)
    if f.surface[c] == CYLINDRIC:
        return _from_cylinder(f.half[c], x, rate, n, turning)
    polytopes = s.world.shapes.polytopes
    return _from_polyhedron(polytopes, f.polytope[c], x, rate, n, turning, one, other)
