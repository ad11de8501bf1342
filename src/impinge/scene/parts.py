"""What a scene is made of: shapes in their places, and the parts that carry them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, as_number, show
from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Shape, Sphere
from impinge.model import Model
from impinge.scene.pose import matrix, quaternion, vector

FloatArray = NDArray[np.float64]

_SHAPES = (Sphere, Box, Capsule, Cylinder, HalfSpace, ConvexMesh)


@dataclass(frozen=True)
class Placed:
    """A shape at a place of its part.

    Args:
        shape: what.
        at: where its origin is, in the part's axes, m.
        turn: how it is turned there: rotation vector, quaternion or matrix.
    """

    shape: Shape
    at: Any = (0.0, 0.0, 0.0)
    turn: Any = None


@dataclass(frozen=True)
class Inertia:
    """Mass, center of mass in the part's axes, and the tensor about that center in these axes."""

    mass: float
    center: FloatArray
    tensor: FloatArray


@dataclass(frozen=True)
class Part:
    """A named thing with shapes: fixed, moved along a path, a robot's link, or a body.

    Attributes:
        at, turn: start pose of the axes in which its shapes are given (position, unit quaternion).
        velocity, spin: of its center of mass, m/s, and about its own axes, rad/s.
        inertia: of a body; None for what is not moved by forces.
        on: the robot's link that a body hangs on, or empty.
        friction: coefficient of its surface.
    """

    name: str
    kind: str
    shapes: tuple[Placed, ...]
    at: FloatArray = field(default_factory=lambda: np.zeros(3))
    turn: FloatArray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    spin: FloatArray = field(default_factory=lambda: np.zeros(3))
    inertia: Inertia | None = None
    on: str = ""
    friction: float = 0.0


@dataclass(frozen=True)
class Robot:
    """A model in a scene: what moves its links."""

    name: str
    model: Model
    parameters: FloatArray
    links: tuple[str, ...]


@dataclass(frozen=True)
class Grip:
    """A spring and damper in six directions between a body and the part that holds it.

    Attributes:
        stiffness, damping: along and about the holder's axes: N/m and N·m/rad, N·s/m and N·m·s/rad.
        center: the point of the body at which these act, in the body's axes, m.
    """

    body: str
    by: str
    stiffness: FloatArray
    damping: FloatArray
    center: FloatArray


def placed(who: str, shapes: Any) -> tuple[Placed, ...]:
    """Return one shape, or several, as placed ones."""
    given = list(shapes) if isinstance(shapes, Sequence) else [shapes]
    found = []
    for item in given:
        one = item if isinstance(item, Placed) else Placed(item)
        if not isinstance(one.shape, _SHAPES):
            remedy = "Give e.g. Box(0.1, 0.1, 0.1), or Placed(Sphere(0.05), at=(0, 0, 0.1))."
            raise InputError(who, "shapes", repr(item), remedy)
        found.append(Placed(one.shape, vector(f"place of a shape of {who}", one.at), quaternion(who, one.turn)))
    return tuple(found)


def inertia_of(who: str, shapes: Sequence[Placed], density: float | None, mass: float | None) -> Inertia:
    """Return mass, center and inertia of placed shapes of one density, from the density or from the mass."""
    if (density is None) == (mass is None):
        got = "neither" if mass is None else "both"
        raise InputError(who, "either a density or a mass", got, "Give density=1000 (kg/m³) or mass=0.5 (kg).")
    value = as_number(density if mass is None else mass)
    if not 0.0 < value < np.inf:
        what, unit = ("density", "kg/m³") if mass is None else ("mass", "kg")
        raise InputError(who, f"a {what} above zero", show(density if mass is None else mass), f"Give it in {unit}.")
    if any(isinstance(item.shape, HalfSpace) for item in shapes):
        raise InputError(who, "shapes with a volume", "a half-space", "Give half-spaces to fixed or moving parts.")
    if not shapes:
        raise InputError(who, "at least one shape", "none", "A body has its inertia from its shapes.")
    volume = sum(item.shape.volume for item in shapes)
    rho = value if mass is None else value / volume
    total = rho * volume
    axes = [matrix(item.turn) for item in shapes]
    centers = [item.at + R @ item.shape.center for item, R in zip(shapes, axes, strict=True)]
    center = sum((rho * x.shape.volume * c for x, c in zip(shapes, centers, strict=True)), np.zeros(3)) / total
    tensor = np.zeros((3, 3))
    for item, R, c in zip(shapes, axes, centers, strict=True):
        arm = c - center
        tensor += rho * R @ item.shape.inertia @ R.T
        tensor += rho * item.shape.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Inertia(float(total), center, tensor)


def friction_of(who: str, value: object) -> float:
    """Return a coefficient of friction, or say what is wrong with it."""
    mu = as_number(value)
    if not 0.0 <= mu < np.inf:
        raise InputError(who, "a coefficient of friction of zero or more", show(value), "Give e.g. friction=0.5.")
    return mu


def check_path(who: str, path: object, inputs: Sequence[str]) -> None:
    """Raise the error that fits if a path cannot be called with a time and its inputs."""
    if isinstance(inputs, str):
        raise InputError(who, "a sequence of names of inputs", f"'{inputs}'", f"Give inputs=['{inputs}'].")
    wanted = ", ".join(("t", *map(str, inputs)))
    remedy = f"Give e.g. lambda {wanted}: (0, 0, 0.1 * t)."
    if not callable(path):
        raise InputError(who, f"a function path({wanted})", repr(path), remedy)
    try:
        signature = inspect.signature(path)
    except ValueError:  # a function of another language has none to look at
        return
    try:
        signature.bind(None, *inputs)
    except TypeError:
        raise InputError(who, f"a function path({wanted})", f"one of {signature}", remedy) from None
