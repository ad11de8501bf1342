"""Random scenes of two bodies, and how deep bodies of a result are in each other, by geometry's own distances."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from impinge import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Scene, Sphere
from impinge.compile import Struct, prepare
from impinge.geometry.collide import PAIRS, collisions
from impinge.geometry.table import GAP, MOST_POINTS, POINT_SIZE
from impinge.scene.pose import matrix
from impinge.scene.world import layout_of

KINDS = ("box", "mesh", "cylinder", "capsule", "sphere")


def turned(rng):
    """Return a random unit quaternion."""
    q = rng.normal(size=4)
    return tuple((q / np.linalg.norm(q)).tolist())


def shape(rng, kind):
    """Return a shape of a kind, some centimeters large."""
    if kind == "box":
        return Box(*rng.uniform(0.05, 0.2, 3).tolist())
    if kind == "sphere":
        return Sphere(float(rng.uniform(0.03, 0.1)))
    if kind == "capsule":
        return Capsule(float(rng.uniform(0.02, 0.06)), float(rng.uniform(0.05, 0.2)))
    if kind == "cylinder":
        return Cylinder(float(rng.uniform(0.02, 0.08)), float(rng.uniform(0.05, 0.2)))
    points = rng.normal(size=(int(rng.integers(4, 10)), 3))
    return ConvexMesh.hull(
        0.1 * rng.uniform(0.7, 1.2, (len(points), 1)) * points / np.linalg.norm(points, axis=1)[:, None]
    )


def two_bodies(rng, kinds=KINDS):
    """Return a scene of two bodies that fall onto each other and onto a floor."""
    scene = Scene("two", friction=float(rng.choice([0.1, 0.3, 0.6])))
    scene.fixed("floor", HalfSpace())
    for name, height, aside in (("a", 0.25, 0.0), ("b", 0.6, 0.08)):
        scene.body(
            name,
            shape(rng, rng.choice(kinds)),
            density=700,
            at=(*rng.uniform(-aside, aside, 2).tolist(), height),
            turn=turned(rng),
            velocity=tuple((0.3 * rng.normal(size=3)).tolist()),
            spin=tuple(rng.normal(size=3).tolist()) if name == "b" else (0, 0, 0),
        )
    return scene


def deepest(scene, result):
    """Return the smallest distance of any two shapes in the rows of a result, m; zero if none is below."""
    layout = layout_of(scene)
    world, table, names = layout.world, layout.world.shapes, layout.frames
    work, points, least = collisions(table), np.zeros((MOST_POINTS, POINT_SIZE)), 0.0
    packed = Struct(table), Struct(work)
    at, axes = np.repeat(world.at[None], result.t.size, 0), np.repeat(world.axes[None], result.t.size, 0)
    for f, name in enumerate(names):
        if f"{name}_x" in result.signals:
            turns = np.stack([result[f"{name}_q{x}"] for x in "wxyz"], axis=1)
            axes[:, f] = np.array([matrix(q) for q in turns])
            origin = np.stack([result[f"{name}_{x}"] for x in "xyz"], axis=1)
            at[:, f] = origin + np.einsum("nij,j->ni", axes[:, f], layout.inside[f])
    pairs = [sorted(pair, key=lambda k: table.kind[k]) for pair in combinations(range(table.kind.size), 2)]
    codes = {(a, b): PAIRS.get((int(table.kind[a]), int(table.kind[b]))) for a, b in pairs}
    prepare([code for code in codes.values() if code is not None])
    for x, R in zip(at, axes, strict=True):
        places = x[table.frame] + np.einsum("nij,nj->ni", R[table.frame], table.at)
        turns = np.ascontiguousarray(R[table.frame] @ table.axes)
        for (a, b), code in codes.items():
            if code is not None and table.frame[a] != table.frame[b]:
                count = code(packed[0], places, turns, packed[1], a, b, 0.0, points)
                least = min(least, points[:count, GAP].min(initial=0.0))
    return float(least)
