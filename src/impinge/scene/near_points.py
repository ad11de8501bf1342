"""Where the shapes of a scene touch, or are near each other, at some poses: as geometry finds it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct, prepare
from impinge.geometry.collide import PAIRS, collisions
from impinge.geometry.table import GAP, MOST_POINTS, NORMAL, PLACE, POINT_SIZE
from impinge.scene.world import Layout

FloatArray = NDArray[np.float64]


class NearPoint(NamedTuple):
    """A contact point as geometry finds it: two shapes, where they touch, and the normal from the second one."""

    shapes: tuple[int, int]
    place: FloatArray
    normal: FloatArray
    gap: float


def near_points(layout: Layout, poses: tuple[FloatArray, FloatArray], within: float) -> Iterator[NearPoint]:
    """Find the contact points of all shapes that may touch each other."""
    world, table = layout.world, layout.world.shapes
    at = poses[0][table.frame] + np.einsum("nij,nj->ni", poses[1][table.frame], table.at)
    axes = np.ascontiguousarray(poses[1][table.frame] @ table.axes)
    work, points = collisions(table), np.zeros((MOST_POINTS, POINT_SIZE))
    packed, excluded = (Struct(table), Struct(work)), set(world.excluded.tolist())
    for a, b in combinations(range(table.kind.size), 2):
        one, other = (a, b) if table.kind[a] <= table.kind[b] else (b, a)
        fa, fb = sorted((int(table.frame[a]), int(table.frame[b])))
        kinds = int(table.kind[one]), int(table.kind[other])
        moves = world.dynamic[fa] or world.dynamic[fb]
        if fa == fb or not moves or fa * world.kind.size + fb in excluded or kinds not in PAIRS:
            continue
        prepare((PAIRS[kinds],))
        count = PAIRS[kinds](packed[0], at, axes, packed[1], one, other, within, points)
        for row in points[:count].copy():
            yield NearPoint((one, other), row[PLACE : PLACE + 3], row[NORMAL : NORMAL + 3], float(row[GAP]))
