"""The gap of two features and where they touch, as expressions."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError
from impinge.scene.around.features import LINE, PARALLEL, PLANE, POINT, RIM, Feature
from impinge.scene.around.frames import Frame

FloatArray = NDArray[np.float64]

_NAMES = {POINT: "a point", LINE: "a line", PLANE: "a plane", RIM: "a rim"}


class Side(NamedTuple):
    """One of two features: the frame that carries it, where that frame is at the pose looked at, and where it touches.

    Attributes:
        frame, feature: as expressions, and in the frame's axes.
        at, axes: of the frame at that pose.
        spot: the place on its own surface that is nearest to the other one at that pose, in the frame's axes.
    """

    frame: Frame
    feature: Feature
    at: FloatArray
    axes: FloatArray
    spot: FloatArray

    @property
    def place(self) -> Any:
        """Where the feature's own place is, as an expression."""
        return self.frame.point(self.feature.at)

    @property
    def direction(self) -> Any:
        """Where its axis points, as an expression."""
        return self.frame.axes @ self.feature.axis

    @property
    def carried(self) -> Any:
        """Where the spot goes with the frame, as an expression; of a line, what lies beside it on the line."""
        own, feature = self.spot, self.feature
        if feature.kind == LINE:
            own = feature.at + feature.axis * float((own - feature.at) @ feature.axis)
        return self.frame.point(own)


class Touch(NamedTuple):
    """Two features that may touch: gap, normal from the second to the first, and the nearest places of both."""

    gap: Any
    normal: Any
    one: Any
    other: Any

    def turned(self) -> Touch:
        """Return the same with the two exchanged."""
        return Touch(self.gap, -self.normal, self.other, self.one)


def touch(who: str, one: Side, other: Side, n: FloatArray) -> Touch:
    """Return gap, normal and nearest places of two features as expressions.

    Args:
        who: for messages.
        one: the feature of the first shape; of a face on a plane, its spot counts.
        other: that of the second.
        n: the normal at that pose, from the second to the first.

    Raises:
        InputError: if the two are of kinds whose distance is not smooth, as two rims.
    """
    kinds = one.feature.kind, other.feature.kind
    if kinds[1] == PLANE:
        return _on_plane(one, other)
    if kinds[0] == PLANE or (kinds[0] != POINT and kinds[1] == POINT):
        return touch(who, other, one, -n).turned()
    if kinds == (POINT, POINT):
        return _between(who, one.place, other.place, one, other)
    if kinds == (POINT, LINE):
        return _at_line(who, one.place, one, other)
    if kinds == (LINE, LINE):
        across = np.cross(one.axes @ one.feature.axis, other.axes @ other.feature.axis)
        if float(np.linalg.norm(across)) <= PARALLEL:
            return _at_line(who, one.carried, one, other)
        return _across(one, other, float(np.sign(across @ n)))
    raise _rough(who, one, other)


def _on_plane(one: Side, plane: Side) -> Touch:
    """Return how a feature is over a plane; of a line or a face its own place at the contact counts."""
    n, feature = plane.direction, one.feature
    if feature.kind == RIM:
        down = n - ca.dot(n, one.direction) * one.direction
        lowest = one.place - feature.radius * down / ca.norm_2(down)
    else:
        lowest = (one.place if feature.kind == POINT else one.carried) - feature.radius * n
    gap = ca.dot(n, lowest - plane.place)
    return Touch(gap, n, lowest, lowest - gap * n)


def _between(who: str, a: Any, b: Any, one: Side, other: Side) -> Touch:
    """Return how two balls are apart."""
    radii = one.feature.radius, other.feature.radius
    if sum(radii) == 0.0:
        raise _rough(who, one, other)
    distance = ca.norm_2(a - b)
    n = (a - b) / distance
    return Touch(distance - sum(radii), n, a - radii[0] * n, b + radii[1] * n)


def _at_line(who: str, p: Any, one: Side, line: Side) -> Touch:
    """Return how a ball at a place is apart from a line."""
    axis = line.direction
    return _between(who, p, line.place + ca.dot(p - line.place, axis) * axis, one, line)


def _across(one: Side, other: Side, sign: float) -> Touch:
    """Return how two lines that cross are apart."""
    a, b, apart = one.direction, other.direction, one.place - other.place
    normal = sign * ca.cross(a, b)
    n = normal / ca.norm_2(normal)
    d, along, back = ca.dot(a, b), ca.dot(a, apart), ca.dot(b, apart)
    left = 1 - d * d
    p = one.place + (d * back - along) / left * a - one.feature.radius * n
    q = other.place + (back - d * along) / left * b + other.feature.radius * n
    return Touch(ca.dot(n, p - q), n, p, q)


def _rough(who: str, one: Side, other: Side) -> InputError:
    return InputError(
        who,
        "features whose distance is smooth",
        f"{_NAMES[one.feature.kind]} and {_NAMES[other.feature.kind]}",
        "Choose another pose, or round one of the two: a capsule for a cylinder, a small sphere for a corner.",
    )


def tangents(n: Any, normal: FloatArray, carrier: Frame, axes: FloatArray) -> tuple[Any, Any]:
    """Return two tangents at a normal, as expressions that go with the frame that carries the surface.

    Args:
        n: the normal as an expression.
        normal: at the pose that is looked at.
        carrier: of the surface.
        axes: its axes at that pose.
    """
    least = np.eye(3)[int(np.argmin(np.abs(normal).round(6)))]
    fixed = carrier.axes @ (axes.T @ least)
    one = fixed - ca.dot(fixed, n) * n
    one = one / ca.norm_2(one)
    return one, ca.cross(n, one)
