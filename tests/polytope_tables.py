"""Tables of polyhedra from their vertices, and pairs ready to be asked for contact points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from impinge.compile import Struct
from impinge.geometry.pairs.cylinder_pairs import round_work
from impinge.geometry.pairs.polytope_pairs import polytope_polytope, polytope_work
from impinge.geometry.table import MOST_POINTS, POINT_SIZE, Polytopes

UPRIGHT = np.eye(3)


def box(*half: float) -> Any:
    return np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * np.array(half, float)


def cloud(rng: Any, count: int, size: float = 1.0) -> Any:
    points = size * rng.normal(size=(count, 3))
    return points[ConvexHull(points).vertices]


def turned(axes: str, *degrees: float) -> Any:
    return Rotation.from_euler(axes, degrees, degrees=True).as_matrix()


def any_turn(rng: Any) -> Any:
    return Rotation.random(random_state=rng).as_matrix()


def faces_of(points: Any) -> list[tuple[Any, list[int]]]:
    """Outward normal and counterclockwise vertices of each face, its triangles merged."""
    hull, planes = ConvexHull(points), []
    for equation, simplex in zip(hull.equations, hull.simplices, strict=True):
        for known, members in planes:
            if np.abs(known - equation).max() < 1e-9:
                members.update(simplex.tolist())
                break
        else:
            planes.append((equation, set(simplex.tolist())))
    faces = []
    for equation, members in planes:
        normal, loop = equation[:3], sorted(members)
        if np.abs(normal).max() > 1 - 1e-12:
            normal = np.round(normal)
        center = points[loop].mean(axis=0)
        u = points[loop[0]] - center
        v = np.cross(normal, u)
        angles = [np.arctan2((points[k] - center) @ v, (points[k] - center) @ u) for k in loop]
        faces.append((normal, [loop[k] for k in np.argsort(angles)]))
    return faces


def table(*polytopes: Any) -> Polytopes:
    vertices, planes, loops, edges = [], [], [], []
    first: dict[str, list[int]] = {name: [0] for name in ("vertex", "face", "loop", "edge")}
    for points in polytopes:
        sides = {}
        vertices += points.tolist()
        for f, (normal, loop) in enumerate(faces_of(points)):
            planes.append([*normal, (points[loop] @ normal).max()])
            loops += loop
            first["loop"].append(len(loops))
            sides |= dict.fromkeys(zip(loop, loop[1:] + loop[:1], strict=True), f)
        edges += [[a, b, f, sides[b, a]] for (a, b), f in sides.items() if a < b]
        first["vertex"].append(len(vertices))
        first["face"].append(len(planes))
        first["edge"].append(len(edges))
    number = {name: np.array(entries, dtype=np.int64) for name, entries in first.items()}
    return Polytopes(
        vertices=np.array(vertices),
        first_vertex=number["vertex"],
        planes=np.array(planes),
        first_face=number["face"],
        loops=np.array(loops, dtype=np.int64),
        first_loop=number["loop"],
        edges=np.array(edges, dtype=np.int64),
        first_edge=number["edge"],
    )


class Polyhedra:
    """Polyhedra that are asked for contact points by number and pose."""

    def __init__(self, *polytopes: Any) -> None:
        self.table = table(*polytopes)
        self._table, self._work = Struct(self.table), Struct(polytope_work(self.table))

    def __call__(self, a: int, xa: Any, Ra: Any, b: int, xb: Any, Rb: Any, margin: float = 0.1) -> Any:
        points = np.full((MOST_POINTS, POINT_SIZE), np.nan)
        xa, Ra, xb, Rb = (np.array(value, float) for value in (xa, Ra, xb, Rb))
        count = polytope_polytope(self._table, a, xa, Ra, b, xb, Rb, margin, self._work, points)
        return points[:count]


class Rounds:
    """A polyhedron, cylinders and capsules that are asked for contact points."""

    def __init__(self, polytope: Any) -> None:
        self.table = table(polytope)
        self._table, self._work = Struct(self.table), Struct(round_work(self.table))

    def __call__(self, pair: Any, size: Any, xa: Any, Ra: Any, other: Any, xb: Any, Rb: Any, margin: float) -> Any:
        points = np.full((MOST_POINTS, POINT_SIZE), np.nan)
        xa, Ra, xb, Rb = (np.array(value, float) for value in (xa, Ra, xb, Rb))
        count = pair(self._table, *size, xa, Ra, *other, xb, Rb, margin, self._work, points)
        return points[:count]
