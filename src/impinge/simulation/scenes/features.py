"""Which parts of a scene may touch, as contacts of balls with surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError
from impinge.geometry.table import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, SPHERE
from impinge.scene.world import FREE, Layout
from impinge.simulation.scenes.tables import Features

FloatArray = NDArray[np.float64]

# With more contacts than this the tables of all against all fill the memory.
MOST = 200
_NAMES = {
    SPHERE: "sphere",
    CAPSULE: "capsule",
    CYLINDER: "cylinder",
    BOX: "box",
    MESH: "mesh",
    HALF_SPACE: "half-space",
}


@dataclass(frozen=True)
class Ball:
    """One contact to be: a ball of one shape and the shape whose surface it may touch.

    Attributes:
        name: of the contact.
        center: of the ball, in the axes of its frame.
        mu: coefficient of friction.
    """

    name: str
    frame: int
    center: FloatArray
    radius: float
    surface: int
    mu: float


def _balls_of(layout: Layout, shape: int) -> list[tuple[FloatArray, float]] | None:
    """Return the balls whose hull a shape is, as centers in its frame and radii; None if there are none."""
    table = layout.world.shapes
    kind, size, at, axes = int(table.kind[shape]), table.size[shape], table.at[shape], table.axes[shape]
    if kind == SPHERE:
        return [(at, float(size[0]))]
    if kind == CAPSULE:
        return [(at + sign * size[1] * axes[:, 2], float(size[0])) for sign in (-1.0, 1.0)]
    if kind in (BOX, MESH):
        p, which = table.polytopes, int(table.polytope[shape])
        vertices = p.vertices[p.first_vertex[which] : p.first_vertex[which + 1]]
        return [(at + axes @ vertex, 0.0) for vertex in vertices]
    return None


def _pair(layout: Layout, a: int, b: int, who: str) -> tuple[int, int]:
    """Return two shapes as the one with the balls and the one with the surface, or raise the error that fits."""
    kind = layout.world.shapes.kind
    if kind[a] == HALF_SPACE or (kind[b] == SPHERE and kind[a] != SPHERE):
        a, b = b, a
    if kind[a] == kind[b] == SPHERE and not _moved(layout, a):
        a, b = b, a
    if (kind[b] == HALF_SPACE and kind[a] != CYLINDER) or (kind[a] == SPHERE and kind[b] in (SPHERE, CAPSULE, BOX)):
        return a, b
    one, other = (layout.frames[layout.world.shapes.frame[k]] for k in (a, b))
    raise InputError(
        who,
        "event by event only spheres, or what meets a half-space with its corners or ends",
        f"'{one}' ({_NAMES[int(kind[a])]}) and '{other}' ({_NAMES[int(kind[b])]})",
        f"Use the law Complementarity(...), or scene.ignore('{one}', '{other}').",
    )


def _moved(layout: Layout, shape: int) -> bool:
    """Tell whether what carries a shape can be pushed."""
    return bool(layout.world.dynamic[layout.world.shapes.frame[shape]])


def find_balls(layout: Layout, who: str) -> list[Ball]:
    """Return all contacts of a scene."""
    world, table = layout.world, layout.world.shapes
    n, excluded = world.kind.size, set(world.excluded.tolist())
    coefficients = dict(zip(world.rubbing.tolist(), world.coefficient.tolist(), strict=True))
    found: dict[tuple[int, int], list[Ball]] = {}

    def order(f: int) -> tuple[bool, bool]:
        return bool(world.dynamic[f] == 0), bool(world.kind[f] != FREE)

    for a, b in combinations(range(table.kind.size), 2):
        fa, fb = int(table.frame[a]), int(table.frame[b])
        key = min(fa, fb) * n + max(fa, fb)
        if fa == fb or key in excluded or not (_moved(layout, a) or _moved(layout, b)):
            continue
        mu = coefficients.get(key, float(min(table.friction[a], table.friction[b])))
        one, other = _pair(layout, a, b, who)
        frame = int(table.frame[one])
        name = "_".join(layout.frames[f] for f in sorted((frame, fa + fb - frame), key=order))
        balls = found.setdefault((min(fa, fb), max(fa, fb)), [])
        balls += [Ball(name, frame, at, radius, other, mu) for at, radius in _balls_of(layout, one) or ()]
    named = []
    for balls in found.values():
        for k, ball in enumerate(balls):
            name = ball.name if len(balls) == 1 else f"{ball.name}_{k + 1}"
            named.append(Ball(name, ball.frame, ball.center, ball.radius, ball.surface, ball.mu))
    if len(named) > MOST:
        raise InputError(
            who, f"at most {MOST} contacts event by event", f"{len(named)}", "Use the law Complementarity(...)."
        )
    return named


def feature_tables(layout: Layout, balls: list[Ball]) -> Features:
    """Return contacts as tables; the references of their tangents are yet to be found."""
    table, n = layout.world.shapes, len(balls)
    surfaces = np.array([ball.surface for ball in balls], dtype=np.int64)
    half, thick = np.zeros((n, 3)), np.zeros(n)
    for c, k in enumerate(surfaces):
        kind, size = table.kind[k], table.size[k]
        if kind == BOX:
            half[c] = size
        elif kind in (SPHERE, CAPSULE):
            half[c, 2], thick[c] = size[1], size[0]
    return Features(
        ball_frame=np.array([ball.frame for ball in balls], dtype=np.int64),
        ball=np.array([ball.center for ball in balls]).reshape(n, 3),
        radius=np.array([ball.radius for ball in balls]),
        surface_frame=table.frame[surfaces],
        flat=(table.kind[surfaces] == HALF_SPACE).astype(np.int64),
        at=table.at[surfaces].reshape(n, 3),
        axes=np.ascontiguousarray(table.axes[surfaces]).reshape(n, 3, 3),
        half=half,
        thick=thick,
        slips=np.cumsum([0, *(2 * (ball.mu > 0.0) for ball in balls)], dtype=np.int64),
        reference=np.tile(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), (n, 1, 1)),
    )
