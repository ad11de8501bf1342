"""The contacts of a scene around a pose: those of features that are near each other there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.model import Gap, Symbols
from impinge.model.derive import Row
from impinge.scene.around.features import PLANE, Features, features_at, meeting
from impinge.scene.around.frames import Frame
from impinge.scene.around.gaps import Side, Touch, tangents, touch
from impinge.scene.near_points import NearPoint, near_points
from impinge.scene.world import FREE, Layout

FloatArray = NDArray[np.float64]


class Contact(NamedTuple):
    """One possible contact: what results call it, its rows, and its coefficient of friction."""

    kind: Gap
    gap: Row
    slips: tuple[Row, ...]
    mu: float


def contacts_of(
    who: str, layout: Layout, frames: Sequence[Frame], poses: tuple[FloatArray, FloatArray], within: float, s: Symbols
) -> list[Contact]:
    """Return the contacts of features that are nearer than a distance at some poses of the frames.

    Args:
        who: for messages.
        layout: the parts as numbered.
        frames: of all parts, as expressions.
        poses: positions and axes of these at the pose that is looked at.
        within: the distance, m.
        s: symbols of everything.
    """
    found: dict[tuple[int, int], list[NearPoint]] = {}
    for point in near_points(layout, poses, within):
        low, high = sorted(int(layout.world.shapes.frame[k]) for k in point.shapes)
        found.setdefault((low, high), []).append(point)
    contacts = list[Contact]()
    for pair, points in found.items():
        first = sorted(pair, key=lambda f: (layout.world.dynamic[f] == 0, layout.world.kind[f] != FREE))
        name = "_".join(layout.frames[f] for f in first)
        names = [name] if len(points) == 1 else [f"{name}_{k + 1}" for k in range(len(points))]
        mu = _friction(layout, pair, points[0])
        contacts += [
            _contact(who, layout, frames, poses, own, point, mu) for own, point in zip(names, points, strict=True)
        ]
    return contacts


def _friction(layout: Layout, pair: tuple[int, int], point: NearPoint) -> float:
    world = layout.world
    own = np.flatnonzero(world.rubbing == pair[0] * world.kind.size + pair[1])
    return float(world.coefficient[own[0]] if own.size else min(world.shapes.friction[list(point.shapes)]))


def _contact(
    who: str,
    layout: Layout,
    frames: Sequence[Frame],
    poses: tuple[FloatArray, FloatArray],
    name: str,
    point: NearPoint,
    mu: float,
) -> Contact:
    table, n = layout.world.shapes, point.normal
    carriers = [int(table.frame[k]) for k in point.shapes]
    spots, features, directions = [], list[Features](), []
    for k, f, sign in zip(point.shapes, carriers, (1.0, -1.0), strict=True):
        at, axes = poses[0][f], poses[1][f]
        spots.append(axes.T @ (point.place + 0.5 * sign * point.gap * n - at))
        features.append(features_at(table, k, spots[-1], -sign * (axes.T @ n)))
        directions.append(axes @ features[-1].sharp.axis)
    chosen = meeting(features[0], features[1], float(np.linalg.norm(np.cross(*directions))))
    sides = [
        Side(frames[f], feature, poses[0][f], poses[1][f], spot)
        for f, feature, spot in zip(carriers, chosen, spots, strict=True)
    ]
    found = touch(f"contact '{name}' of {who}", sides[0], sides[1], n)
    by_two = (f"{name}_1", f"{name}_2") if mu > 0.0 else ()
    slips = _slip_rates(found, sides, n) if by_two else ()
    kind = Gap(name, "m", slips=by_two, slides=bool(by_two), by_rate=bool(by_two))
    return Contact(kind, Row(found.gap), slips, mu)


def _slip_rates(found: Touch, sides: Sequence[Side], n: FloatArray) -> tuple[Row, ...]:
    """Return the rates of the slips: of the first surface over the second, where they are nearest to each other."""
    one, other = sides
    carrier = other if other.feature.kind == PLANE or one.feature.kind != PLANE else one
    place = found.one if carrier is other else found.other  # one place for both: a pair of forces has no moment
    speed = one.frame.velocity_of(place) - other.frame.velocity_of(place)
    return tuple(Row(rate=t.T @ speed) for t in tangents(found.normal, n, carrier.frame, carrier.axes))
