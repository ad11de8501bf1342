"""The contact points of any two shapes: machine code for each kind of pair, compiled when a scene has such a pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, Entry, IntegerMatrix, Matrix, entry, jit, prepare
from impinge.geometry.convex.round_sets import RoundWork
from impinge.geometry.distance import (
    sphere_box,
    sphere_capsule,
    sphere_cylinder,
    sphere_half_space,
    sphere_mesh,
    sphere_sphere,
)
from impinge.geometry.pairs.capsule_mesh import capsule_mesh
from impinge.geometry.pairs.capsule_pairs import capsule_box, capsule_capsule, capsule_half_space
from impinge.geometry.pairs.cylinder_pairs import capsule_cylinder, cylinder_cylinder, cylinder_polytope, round_work
from impinge.geometry.pairs.half_space_pairs import cylinder_half_space, polytope_half_space
from impinge.geometry.pairs.polytope_pairs import PolytopeWork, polytope_polytope, polytope_work
from impinge.geometry.precedence import comes_first, turn_over
from impinge.geometry.table import (
    BOX,
    CAPSULE,
    CYLINDER,
    HALF_SPACE,
    MESH,
    SPHERE,
    Shapes,
)


class Collisions(NamedTuple):
    """The code of each pair of kinds, lower kind first, or 0; and what it writes to on the way."""

    code: IntegerMatrix
    polytopes: PolytopeWork
    rounds: RoundWork


def _plain(pair: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a pair of two shapes that are given by their sizes."""

    def code(shapes: Any, x: Any, R: Any, w: Any, a: Any, b: Any, margin: Any, points: Any) -> int:
        return pair(shapes.size[a], x[a], R[a], shapes.size[b], x[b], R[b], margin, points)

    return _named(pair.__name__, code)


def _with_polytope(pair: Callable[..., Any], first: bool) -> Callable[..., Any]:
    """Adapt a pair of which the first or the second shape is a polytope."""

    def code(shapes: Any, x: Any, R: Any, w: Any, a: Any, b: Any, margin: Any, points: Any) -> int:
        k = shapes.polytope[a] if first else shapes.polytope[b]
        return pair(shapes.size[a], x[a], R[a], shapes.size[b], x[b], R[b], margin, points, shapes.polytopes, k)

    return _named(pair.__name__, code)


def _with_cylinder(pair: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a pair of a capsule or cylinder with a cylinder."""

    def code(shapes: Any, x: Any, R: Any, w: Any, a: Any, b: Any, margin: Any, points: Any) -> int:
        s, t = shapes.size[a], shapes.size[b]
        return pair(shapes.polytopes, s[0], s[1], x[a], R[a], t[0], t[1], x[b], R[b], margin, w.rounds, points)

    return _named(pair.__name__, code)


@jit
def _cylinder_polytope(shapes: Any, x: Any, R: Any, w: Any, a: Any, b: Any, margin: Any, points: Any) -> int:
    s, k = shapes.size[a], shapes.polytope[b]
    return cylinder_polytope(shapes.polytopes, s[0], s[1], x[a], R[a], k, x[b], R[b], margin, w.rounds, points)


@jit
def _polytopes(shapes: Any, x: Any, R: Any, w: Any, a: Any, b: Any, margin: Any, points: Any) -> int:
    j, k = shapes.polytope[a], shapes.polytope[b]
    return polytope_polytope(shapes.polytopes, j, x[a], R[a], k, x[b], R[b], margin, w.polytopes, points)


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for machine code under a name of its own."""
    function.__qualname__ = name
    return jit(function)


@cache
def _code(pair: Callable[..., Any], alike: bool) -> Entry:
    """Return the machine code of a pair; two shapes of one kind come in the same order whichever is a."""

    def code(shapes: Shapes, x: Matrix, R: Cube, w: Collisions, a: int, b: int, margin: float, points: Matrix) -> int:
        turned = alike and not comes_first(shapes.size, x, R, a, b)
        first, second = (b, a) if turned else (a, b)
        count = pair(shapes, x, R, w, first, second, margin, points)
        if turned:
            turn_over(points, count)
        return count

    code.__qualname__ = pair.__qualname__.strip("_") + ("_alike" if alike else "")  # by which it is cached
    return entry(code)


_ON_HALF_SPACE = _with_polytope(polytope_half_space, first=True)
_ADAPTED = {
    (SPHERE, SPHERE): _plain(sphere_sphere),
    (SPHERE, CAPSULE): _plain(sphere_capsule),
    (SPHERE, CYLINDER): _plain(sphere_cylinder),
    (SPHERE, BOX): _plain(sphere_box),
    (SPHERE, MESH): _with_polytope(sphere_mesh, first=False),
    (SPHERE, HALF_SPACE): _plain(sphere_half_space),
    (CAPSULE, CAPSULE): _plain(capsule_capsule),
    (CAPSULE, CYLINDER): _with_cylinder(capsule_cylinder),
    (CAPSULE, BOX): _plain(capsule_box),
    (CAPSULE, MESH): _with_polytope(capsule_mesh, first=False),
    (CAPSULE, HALF_SPACE): _plain(capsule_half_space),
    (CYLINDER, CYLINDER): _with_cylinder(cylinder_cylinder),
    (CYLINDER, BOX): _cylinder_polytope,
    (CYLINDER, MESH): _cylinder_polytope,
    (CYLINDER, HALF_SPACE): _plain(cylinder_half_space),
    (BOX, BOX): _polytopes,
    (BOX, MESH): _polytopes,
    (BOX, HALF_SPACE): _ON_HALF_SPACE,
    (MESH, MESH): _polytopes,
    (MESH, HALF_SPACE): _ON_HALF_SPACE,
}
PAIRS = {kinds: _code(pair, alike=kinds[0] == kinds[1]) for kinds, pair in _ADAPTED.items()}
_ROUND = ((CAPSULE, CYLINDER), (CYLINDER, CYLINDER), (CYLINDER, BOX), (CYLINDER, MESH))
_FLAT = ((BOX, BOX), (BOX, MESH), (MESH, MESH))


def collisions(shapes: Shapes) -> Collisions:
    """Return code and work space for the pairs that there can be among these shapes."""
    many = [int((shapes.kind == kind).sum()) for kind in range(HALF_SPACE + 1)]
    code = np.zeros((HALF_SPACE + 1, HALF_SPACE + 1), dtype=np.int64)
    possible = [(one, other) for one, other in PAIRS if many[one] and many[other] and (one != other or many[one] > 1)]
    prepare(PAIRS[pair] for pair in possible)
    for pair in possible:
        code[pair] = PAIRS[pair].address
    flat, rounds = (any(code[pair] for pair in some) for some in (_FLAT, _ROUND))
    return Collisions(code, polytope_work(shapes.polytopes, flat), round_work(shapes.polytopes, rounds))
