"""Which features of two shapes may meet: corners, edges and faces of polyhedra, the center lines of capsules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.geometry.table import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH
from impinge.scene.world import Layout
from impinge.simulation.scenes.contacts.pairs import ACROSS, BESIDE, CORNER, CROSS, OVER, RIMS
from impinge.simulation.scenes.tables import Candidates

FloatArray = NDArray[np.float64]

_NEAR = 0.1  # share of the smaller shape's size: features that are nearer than that are looked at
_DEEP = 0.5  # share of the smaller shape's thickness: a contact may be taken over when it is no deeper than that
_INSET = 1e-8  # share of the smaller shape's size: by how much features of open contacts end early
_ON_RIM = 8  # places on the rim of a cylinder on which it stands
_ENDLESS = 1e6  # m: the size of a half-space
_FLAT = 1e-6  # sine of the angle between two faces up to which they are one


class Touching(NamedTuple):
    """Two shapes whose features change: their contacts, by first and behind the last, and the larger one's number."""

    one: int
    other: int
    contacts: tuple[int, int]


class _Solid(NamedTuple):
    """What of a shape may meet others, in the axes of its frame (v corners, e lines, f faces).

    Attributes:
        center: a place inside (3).
        size, thickness: how far it reaches from there at most and at least, m.
        corners: (v, 3).
        lines: (e, 7): where each begins, its direction and its length.
        radius: of the lines.
        rims: (r, 7): center, outward axis and radius of each.
        faces: (f, 6): a place on each, its outward normal.
        sides: of each face its ends (…, 5), as in `SceneTables.sides`.
        spokes: of each corner, then of each line, what bounds it (…, 3), as in `SceneTables.spokes`.
    """

    center: FloatArray
    size: float
    thickness: float
    corners: FloatArray
    lines: FloatArray
    radius: float
    rims: FloatArray
    faces: FloatArray
    sides: list[FloatArray]
    spokes: list[FloatArray]


def contacts_at_once(one: int, other: int) -> int:
    """Return how many contacts two shapes of some kinds have at once, at most; 0 if their features never change."""
    kinds = {one, other}
    if kinds <= {BOX, MESH, CYLINDER}:
        return 16
    if kinds == {CYLINDER, HALF_SPACE}:
        return _ON_RIM + 2
    if CAPSULE in kinds and kinds <= {CAPSULE, BOX, MESH, CYLINDER}:
        return 1 if one == other else 4
    return 0


def _bar(at: FloatArray, R: FloatArray, size: FloatArray, flat: bool) -> _Solid:
    """Return what of a capsule may meet others, or of a cylinder, whose ends are flat."""
    line = np.concatenate([at - size[1] * R[:, 2], R[:, 2], [2 * size[1]]])
    none, radius = np.zeros((0, 3)), float(size[0])
    if not flat:
        round_ = np.zeros((0, 7)), np.zeros((0, 6)), list[FloatArray](), [none]
        return _Solid(at, float(radius + size[1]), radius, none, line[None], radius, *round_)
    angles = 2 * np.pi * np.arange(_ON_RIM) / _ON_RIM
    out = np.cos(angles)[:, None] * R[:, 0] + np.sin(angles)[:, None] * R[:, 1]
    ends = [(at + sign * size[1] * R[:, 2], sign * R[:, 2]) for sign in (-1.0, 1.0)]
    circle = np.array([[0.0, 0.0, 0.0, radius, 1.0]])
    return _Solid(
        center=at,
        size=float(np.hypot(*size[:2])),
        thickness=float(min(size[:2])),
        corners=np.concatenate([place + radius * out for place, _ in ends]),
        lines=line[None],
        radius=radius,
        rims=np.array([[*place, *axis, radius] for place, axis in ends]),
        faces=np.array([[*place, *axis] for place, axis in ends]),
        sides=[circle, circle],
        spokes=[
            *(np.array([-x, -axis, np.cross(axis, x), -np.cross(axis, x)]) for _, axis in ends for x in out),
            none,
        ],
    )


def _solid(layout: Layout, k: int) -> _Solid:
    shapes = layout.world.shapes
    at, R, size = shapes.at[k], shapes.axes[k], shapes.size[k]
    if shapes.kind[k] in (CAPSULE, CYLINDER):
        return _bar(at, R, size, bool(shapes.kind[k] == CYLINDER))
    if shapes.kind[k] == HALF_SPACE:
        none, plane = np.zeros((0, 3)), np.array([[*at, *R[:, 2]]])
        nothing = none, np.zeros((0, 7)), 0.0, np.zeros((0, 7))
        return _Solid(at, _ENDLESS, _ENDLESS, *nothing, plane, [np.zeros((0, 5))], [])
    t, which = shapes.polytopes, int(shapes.polytope[k])
    vertices = t.vertices[t.first_vertex[which] : t.first_vertex[which + 1]]
    edges = t.edges[t.first_edge[which] : t.first_edge[which + 1]]
    planes = t.planes[t.first_face[which] : t.first_face[which + 1]]
    loops = [
        t.loops[t.first_loop[f] : t.first_loop[f + 1]] for f in range(t.first_face[which], t.first_face[which + 1])
    ]
    inside = vertices.mean(axis=0)
    corners = at + vertices @ R.T
    center = at + R @ inside
    along = corners[edges[:, 1]] - corners[edges[:, 0]]
    lengths = np.linalg.norm(along, axis=1)
    places = np.array([corners[loop].mean(axis=0) for loop in loops])
    normals = planes[:, :3] @ R.T
    offsets = np.einsum("fi,fi->f", normals, places)
    return _Solid(
        center=center,
        size=float(np.linalg.norm(vertices - inside, axis=1).max()),
        thickness=float((offsets - normals @ center).min()),
        corners=corners,
        lines=np.column_stack([corners[edges[:, 0]], along / lengths[:, None], lengths]),
        radius=0.0,
        rims=np.zeros((0, 7)),
        faces=np.column_stack([places, normals]),
        sides=[np.array(list(_sides(f, edges, places, normals, offsets))).reshape(-1, 5) for f in range(len(places))],
        spokes=[*_edges_from(corners, edges), *_faces_from(along / lengths[:, None], edges, normals)],
    )


def _edges_from(corners: FloatArray, edges: NDArray[np.int64]) -> Iterator[FloatArray]:
    """Yield for each corner the directions of its edges."""
    for k in range(len(corners)):
        others = [edge[1] if edge[0] == k else edge[0] for edge in edges[:, :2] if k in edge]
        away = corners[others] - corners[k]
        yield away / np.linalg.norm(away, axis=1)[:, None]


def _faces_from(along: FloatArray, edges: NDArray[np.int64], normals: FloatArray) -> Iterator[FloatArray]:
    """Yield for each edge the directions in which its two faces go on from it."""
    for direction, (left, right) in zip(along, edges[:, 2:], strict=True):
        both = np.cross(normals[[left, right]], direction)
        inward = -np.sign(np.einsum("fi,fi->f", both, normals[[right, left]]))
        yield both * inward[:, None]


def _sides(
    f: int, edges: NDArray[np.int64], places: FloatArray, normals: FloatArray, offsets: FloatArray
) -> Iterator[FloatArray]:
    """Yield the ends of a face: inward direction and distance of each, and the tangent of half the angle there."""
    for left, right in edges[:, 2:]:
        if f in (left, right):
            other = right if f == left else left
            sine = float(np.linalg.norm(np.cross(normals[f], normals[other])))
            if sine > _FLAT:
                cosine = float(normals[f] @ normals[other])
                inward = (cosine * normals[f] - normals[other]) / sine
                away = offsets[other] - normals[other] @ places[f]
                yield np.array([*inward, away / sine, (1.0 - cosine) / sine])


class _Rows:
    """Candidates as they are found."""

    def __init__(self) -> None:
        self.form: list[int] = []
        self.turned: list[int] = []
        self.numbers: list[FloatArray] = []  # place, place, direction, direction, radii, lengths
        self.sides: list[tuple[int, int]] = []
        self.half: list[float] = []
        self.spokes: list[tuple[int, int, int, int]] = []

    def add(
        self,
        form: int,
        turned: int,
        place: FloatArray,
        other: FloatArray,
        along: FloatArray,
        across: FloatArray,
        radii: tuple[float, float],
        lengths: tuple[float, float],
        spokes: tuple[int, int, int, int],
        sides: tuple[int, int] = (0, 0),
        half: float = 0.0,
    ) -> None:
        self.form.append(form)
        self.turned.append(turned)
        self.numbers.append(np.concatenate([place, other, along, across, radii, lengths]))
        self.sides.append(sides)
        self.half.append(half)
        self.spokes.append(spokes)


class _Known(NamedTuple):
    """A shape whose features are in the tables: where the ends of each face begin, and the spokes of each feature."""

    solid: _Solid
    sides: list[int]
    spokes: list[int]


def candidate_tables(layout: Layout, pairs: list[Touching]) -> tuple[Candidates, FloatArray, FloatArray]:
    """Return all candidates of some pairs of shapes, the ends of all faces, and all spokes; see `SceneTables`."""
    world, rows, known = layout.world, _Rows(), dict[int, _Known]()
    ends, spokes = [np.zeros((0, 5))], [np.zeros((0, 3))]
    still, none, first = np.zeros(3), (0, 0), [0]
    for k in dict.fromkeys(k for pair in pairs for k in pair[:2]):
        solid = _solid(layout, k)
        begin, start = sum(map(len, ends)), sum(map(len, spokes))
        known[k] = _Known(
            solid,
            np.cumsum([begin, *map(len, solid.sides)]).tolist(),
            np.cumsum([start, *map(len, solid.spokes)]).tolist(),
        )
        ends, spokes = ends + solid.sides, spokes + solid.spokes

    def span(starts: list[int], i: int) -> tuple[int, int]:
        return starts[i], starts[i + 1]

    for pair in pairs:
        for turned, (k, other) in enumerate(((pair.one, pair.other), (pair.other, pair.one))):
            (a, _, of_a), (b, of_faces, of_b) = known[k], known[other]
            for i, corner in enumerate(a.corners):
                here = span(of_a, i)
                for f, face in enumerate(b.faces):
                    sizes = (0.0, 0.0), (0.0, 0.0)
                    where = span(of_faces, f)
                    rows.add(CORNER, turned, corner, face[:3], still, face[3:], *sizes, (*here, *none), where)
                for line in b.lines if b.radius > 0.0 and not len(a.rims) else ():
                    sizes = (0.0, b.radius), (0.0, line[6])
                    rows.add(BESIDE, turned, corner, line[:3], still, line[3:6], *sizes, (*here, *none))
            for end in (0.0, 1.0) if len(a.rims) else ():  # where a cylinder lies along a line
                for axis in a.lines:
                    place = axis[:3] + end * axis[6] * axis[3:6]
                    for line in b.lines:
                        sizes = (a.radius, b.radius), (0.0, line[6])
                        rows.add(BESIDE, turned, place, line[:3], axis[3:6], line[3:6], *sizes, (*none, *none))
            for rim in a.rims:
                sizes = (0.0, 0.0), (rim[6], 0.0)
                for f, face in enumerate(b.faces):
                    where = span(of_faces, f)
                    rows.add(OVER, turned, rim[:3], face[:3], rim[3:6], face[3:], *sizes, (*none, *none), where)
                for j, line in enumerate(b.lines):
                    sizes = (0.0, b.radius), (rim[6], line[6])
                    by = (*none, *span(of_b, len(b.corners) + j))
                    for half in (-1.0, 1.0):
                        rows.add(ACROSS, turned, rim[:3], line[:3], rim[3:6], line[3:6], *sizes, by, half=half)
        (a, _, of_a), (b, _, of_b) = known[pair.one], known[pair.other]
        for i, one in enumerate(a.lines):
            for j, line in enumerate(b.lines):
                sizes = (a.radius, b.radius), (one[6], line[6])
                by = (*span(of_a, len(a.corners) + i), *span(of_b, len(b.corners) + j))
                rows.add(CROSS, 0, one[:3], line[:3], one[3:6], line[3:6], *sizes, by)
        for rim in a.rims:
            for edge in b.rims:
                sizes = (0.0, 0.0), (rim[6], edge[6])
                for half in (-1.0, 1.0):
                    by = (*none, *none)
                    rows.add(RIMS, 0, rim[:3], edge[:3], rim[3:6], edge[3:6], *sizes, by, half=half)
        first.append(len(rows.form))
    numbers = np.array(rows.numbers).reshape(-1, 16)
    solids = [(known[pair.one].solid, known[pair.other].solid) for pair in pairs]
    table = Candidates(
        first=np.array(first, dtype=np.int64),
        contacts=np.array([pair.contacts for pair in pairs], dtype=np.int64).reshape(-1, 2),
        frames=world.shapes.frame[np.array([pair[:2] for pair in pairs], dtype=np.int64)].reshape(-1, 2),
        center=np.array([[x.center for x in both] for both in solids]).reshape(-1, 2, 3),
        size=np.array([[x.size for x in both] for both in solids]).reshape(-1, 2),
        range=np.array([_NEAR * min(x.size for x in both) for both in solids]),
        inset=np.array([_INSET * min(x.size for x in both) for both in solids]),
        depth=np.array([_DEEP * min(x.thickness for x in both) for both in solids]),
        owner=np.full(len(numbers), -1, dtype=np.int64),
        value=np.full(len(numbers), np.inf),
        form=np.array(rows.form, dtype=np.int64),
        turned=np.array(rows.turned, dtype=np.int64),
        ball=np.ascontiguousarray(numbers[:, :3]),
        at=np.ascontiguousarray(numbers[:, 3:6]),
        along=np.ascontiguousarray(numbers[:, 6:9]),
        across=np.ascontiguousarray(numbers[:, 9:12]),
        round=np.ascontiguousarray(numbers[:, 12:14]),
        length=np.ascontiguousarray(numbers[:, 14:]),
        angle=np.zeros((len(numbers), 2)),
        half=np.array(rows.half),
        sides=np.array(rows.sides, dtype=np.int64).reshape(-1, 2),
        spokes=np.array(rows.spokes, dtype=np.int64).reshape(-1, 4),
    )
    return table, np.concatenate(ends), np.concatenate(spokes)
