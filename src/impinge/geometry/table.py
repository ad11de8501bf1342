"""Shapes as hot loops see them: tables of numbers.

A contact point between shapes a and b is a row (gap, normal, place, feature, spread): the normal points from b to a,
the gap is positive when apart, the place lies midway between the two surfaces, so that the witness points are
place ± normal · gap/2 (+ on a, − on b). The feature is a number that stays the same while the same features touch. The
spread is that of the patch that a point belongs to, see `spread`, or zero where points are those of a line, or alone.
"""

from __future__ import annotations

from typing import NamedTuple

from impinge.compile import Cube, IntegerMatrix, Integers, Matrix, Vector

# What a shape is. Pairs are looked at with the lower kind first.
SPHERE, CAPSULE, CYLINDER, BOX, MESH, HALF_SPACE = 0, 1, 2, 3, 4, 5

# Columns of a contact point.
GAP, NORMAL, PLACE, FEATURE, SPREAD = 0, 1, 4, 7, 8
POINT_SIZE = 9
MOST_POINTS = 4  # between two shapes


class Polytopes(NamedTuple):
    """Convex polyhedra, one after another: those of boxes and meshes, in the axes of their shape."""

    vertices: Matrix  # (…, 3)
    first_vertex: Integers  # polytope k has the vertices first_vertex[k] … first_vertex[k + 1] − 1
    planes: Matrix  # (…, 4): outward normal n and d of each face; inside is n·x ≤ d
    first_face: Integers
    loops: Integers  # vertices of the faces, counted from the polytope's first, counterclockwise from outside
    first_loop: Integers  # face f has the loop first_loop[f] … first_loop[f + 1] − 1
    edges: IntegerMatrix  # (…, 4): two vertices, the faces left and right, both counted from the polytope's first
    first_edge: Integers


class Shapes(NamedTuple):
    """All shapes of a scene (n of them)."""

    kind: Integers  # SPHERE, ...
    size: Matrix  # (n, 3): radius; radius and half length; half edges; a mesh: largest distance from its origin
    polytope: Integers  # which polytope a box or mesh is, else −1
    polytopes: Polytopes
    frame: Integers  # which frame carries it
    at: Matrix  # (n, 3): where its origin is in the axes of its frame
    axes: Cube  # (n, 3, 3): its axes, as columns, in those of its frame
    friction: Vector  # coefficient of each shape: that of a pair is the smaller one, if nothing else is said
