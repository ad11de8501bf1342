"""Which parts of a scene may touch, and as what contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError
from impinge.geometry.table import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, SPHERE
from impinge.scene.world import FREE, Layout
from impinge.simulation.scenes.contacts.candidates import Touching, contacts_at_once
from impinge.simulation.scenes.contacts.distance import CYLINDRIC, FLAT, POLYHEDRAL, ROUND
from impinge.simulation.scenes.contacts.pairs import BALL, NOTHING
from impinge.simulation.scenes.tables import Candidates, Features

FloatArray = NDArray[np.float64]

# With more contacts than this the tables of all against all fill the memory.
MOST = 200
_SURFACES = {
    SPHERE: ROUND,
    CAPSULE: ROUND,
    BOX: ROUND,
    CYLINDER: CYLINDRIC,
    MESH: POLYHEDRAL,
    HALF_SPACE: FLAT,
}


@dataclass(frozen=True)
class Ball:
    """A ball of one shape that may touch the surface of another.

    Attributes:
        frame: that carries the ball.
        center: of the ball, in the axes of its frame.
        surface: number of the other shape.
    """

    frame: int
    center: FloatArray
    radius: float
    surface: int


@dataclass(frozen=True)
class Contact:
    """One contact to be: of a ball with a surface, or of whatever features of two shapes are near each other.

    Attributes:
        mu: coefficient of friction.
        shapes: the two of which features may change; none for a ball.
    """

    name: str
    mu: float
    ball: Ball | None = None
    shapes: tuple[int, int] | None = None


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


def _balls_on(layout: Layout, a: int, b: int) -> Iterator[Ball]:
    """Yield the balls of one shape that may touch the surface of another, if it has one that balls roll on."""
    kinds, table = layout.world.shapes.kind, layout.world.shapes
    one, other = int(kinds[a]), int(kinds[b])
    rolls = one in (SPHERE, CAPSULE) and other != SPHERE
    if (
        rolls
        or (other == HALF_SPACE and one in (BOX, MESH))
        or (one == other == SPHERE and (_moved(layout, a) or not _moved(layout, b)))
    ):
        for center, radius in _balls_of(layout, a) or ():
            yield Ball(int(table.frame[a]), center, radius, b)


def _moved(layout: Layout, shape: int) -> bool:
    """Tell whether what carries a shape can be pushed."""
    return bool(layout.world.dynamic[layout.world.shapes.frame[shape]])


def _of_pair(layout: Layout, a: int, b: int, mu: float) -> list[Contact]:
    """Return all contacts that two shapes may have, with the name of their frames."""
    world, table = layout.world, layout.world.shapes
    frames = sorted(
        (int(table.frame[a]), int(table.frame[b])), key=lambda f: (world.dynamic[f] == 0, world.kind[f] != FREE)
    )
    name = "_".join(layout.frames[f] for f in frames)
    kinds = int(table.kind[a]), int(table.kind[b])
    both = (*_balls_on(layout, a, b), *(() if kinds == (SPHERE, SPHERE) else _balls_on(layout, b, a)))
    if kinds == (SPHERE, SPHERE) and not both:
        both = tuple(_balls_on(layout, b, a))
    found = [Contact(name, mu, ball=ball) for ball in both]
    found += [Contact(name, mu, shapes=(a, b))] * contacts_at_once(*kinds)
    return found


def find_contacts(layout: Layout, who: str) -> list[Contact]:
    """Return all contacts of a scene; those of two shapes are one after another."""
    world, table = layout.world, layout.world.shapes
    n, excluded = world.kind.size, set(world.excluded.tolist())
    coefficients = dict(zip(world.rubbing.tolist(), world.coefficient.tolist(), strict=True))
    found: dict[tuple[int, int], list[Contact]] = {}
    for a, b in combinations(range(table.kind.size), 2):
        fa, fb = int(table.frame[a]), int(table.frame[b])
        key = min(fa, fb) * n + max(fa, fb)
        if fa == fb or key in excluded or not (_moved(layout, a) or _moved(layout, b)):
            continue
        mu = coefficients.get(key, float(min(table.friction[a], table.friction[b])))
        found.setdefault((min(fa, fb), max(fa, fb)), []).extend(_of_pair(layout, a, b, mu))
    named = [
        contact if len(of_pair) == 1 else replace(contact, name=f"{contact.name}_{k + 1}")
        for of_pair in found.values()
        for k, contact in enumerate(of_pair)
    ]
    if len(named) > MOST:
        raise InputError(
            who, f"at most {MOST} contacts event by event", f"{len(named)}", "Use the law Complementarity(...)."
        )
    return named


def touching_of(contacts: list[Contact]) -> list[Touching]:
    """Return the pairs of shapes whose features change, with their contacts."""
    pairs = dict.fromkeys(contact.shapes for contact in contacts if contact.shapes)
    places = {pair: [c for c, contact in enumerate(contacts) if contact.shapes == pair] for pair in pairs}
    return [Touching(*pair, (own[0], own[-1] + 1)) for pair, own in places.items() if pair]


def feature_tables(layout: Layout, contacts: list[Contact], candidates: Candidates) -> Features:
    """Return contacts as tables; those of two shapes are of nothing yet, and tangents have no references yet."""
    world, table, n = layout.world, layout.world.shapes, len(contacts)
    features = Features(
        form=np.full(n, NOTHING),
        held=np.full(n, -1),
        ball_frame=np.zeros(n, dtype=np.int64),
        ball=np.zeros((n, 3)),
        radius=np.zeros(n),
        surface_frame=np.zeros(n, dtype=np.int64),
        surface=np.zeros(n, dtype=np.int64),
        polytope=np.full(n, -1),
        at=np.zeros((n, 3)),
        axes=np.tile(np.eye(3), (n, 1, 1)),
        half=np.zeros((n, 3)),
        thick=np.zeros(n),
        along=np.zeros((n, 3)),
        across=np.zeros((n, 3)),
        round=np.zeros((n, 2)),
        length=np.zeros((n, 2)),
        angle=np.zeros((n, 2)),
        sign=np.ones(n),
        sides=np.zeros((n, 2), dtype=np.int64),
        inset=np.zeros(n),
        rivals=np.zeros(n, dtype=np.int64),
        watched=np.zeros(n, dtype=np.int64),
        end=np.cumsum([0, *(contact.shapes is not None for contact in contacts)])[:-1],
        far=np.zeros(n),
        slips=np.cumsum([0, *(2 * (contact.mu > 0.0) for contact in contacts)], dtype=np.int64),
        reference=np.tile(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), (n, 1, 1)),
        reach=np.zeros(n),
        spot=np.zeros((n, 3)),
        toward=np.zeros((n, 3)),
    )
    f = features
    for c, contact in enumerate(contacts):
        if contact.ball is None:
            continue
        ball, k = contact.ball, contact.ball.surface
        kind, size = table.kind[k], table.size[k]
        f.form[c], f.ball_frame[c], f.ball[c], f.radius[c] = BALL, ball.frame, ball.center, ball.radius
        f.surface_frame[c], f.at[c], f.axes[c] = table.frame[k], table.at[k], table.axes[k]
        f.surface[c] = _SURFACES[int(kind)]
        f.polytope[c] = table.polytope[k]
        f.reach[c] = float(np.linalg.norm(ball.center))
        if kind in (BOX, CYLINDER):
            f.half[c] = size
        elif kind in (SPHERE, CAPSULE):
            f.half[c, 2], f.thick[c] = size[1], size[0]
    for pair, (begin, end) in enumerate(candidates.contacts):
        f.ball_frame[begin:end], f.surface_frame[begin:end] = candidates.frames[pair]
        f.far[begin:end] = candidates.range[pair]
        f.reach[begin:end] = world.radius[candidates.frames[pair]].max()
    return features
