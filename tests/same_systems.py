"""Six systems, each written twice: as a model, by its coordinates and gaps, and as a scene of parts with shapes.

Coordinates and velocities have the same names in both, and the same meaning: centers of mass are the origins of axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import cos, pi, sin
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from impinge import Box, HalfSpace, ModelBuilder, Placed, Scene, Sphere
from impinge.model import Model

G = 9.81
DOWN = (0.0, 0.0, -G)


Names = Sequence[str]


class Twice(NamedTuple):
    """A system.

    Attributes:
        model, scene: made for a coefficient of friction; of the model some contacts may be named that come first.
        start, until, friction: of a run in which contacts close, and slide or open; s.
        rest: a pose near which it rests, by name; what is not named as at the start.
        closed: the contacts of the model that are closed there.
        sticks: the coefficient of friction there.
    """

    model: Callable[..., Model]
    scene: Callable[[float], Scene]
    start: Mapping[str, float]
    until: float
    friction: float
    rest: Mapping[str, float]
    closed: Sequence[str]
    sticks: float


class Body(NamedTuple):
    """A free body in a model: place, axes and velocities as expressions, angular velocity in fixed axes."""

    at: Any
    axes: Any
    velocity: Any
    spin: Any

    def point(self, place: Sequence[float]) -> Any:
        return self.at + self.axes @ ca.DM(list(place))

    def speed(self, point: Any) -> Any:
        return self.velocity + ca.cross(self.spin, point - self.at)


def body_of(b: ModelBuilder, scene: Scene, name: str) -> Body:
    """Add a body to a model that weighs what it weighs in a scene; its center of mass is its origin."""
    part = scene.parts[name]
    assert part.inertia is not None
    assert np.abs(part.inertia.center).max() <= 1e-15
    mass, tensor = part.inertia.mass, ca.DM(part.inertia.tensor)
    x, v = zip(
        *(b.coordinate(f"{name}_{axis}", start) for axis, start in zip("xyz", part.at, strict=True)), strict=True
    )
    R, w = b.rotation(name, start=part.turn)
    at, velocity = ca.vertcat(*x), ca.vertcat(*v)
    b.kinetic(mass * ca.sumsqr(velocity) / 2 + w.T @ tensor @ w / 2)
    b.potential(-mass * ca.dot(ca.DM(scene.gravity), at))
    return Body(at, R, velocity, R @ w)


def on_floor(body: Body, place: Sequence[float], radius: float = 0.0) -> tuple[Any, list[Any]]:
    """Return the gap of a point of a body, or of a ball about it, over the floor z = 0, and its sliding speeds."""
    lowest = body.point(place) - ca.DM([0, 0, radius])
    speed = body.speed(lowest)
    return lowest[2], [speed[0], speed[1]]


def with_contacts(b: ModelBuilder, mu: float, contacts: Mapping[str, tuple[Any, list[Any]]], first: Names) -> Model:
    """Build a model with contacts, those named first before the others."""
    for name in (*first, *(name for name in contacts if name not in first)):
        gap, speeds = contacts[name]
        b.gap(name, gap, **({"slip_rate": speeds, "friction": mu} if mu > 0.0 else {}))
    return b.build()


def corners(x: float, y: float, z: float) -> Iterator[tuple[str, tuple[float, float, float]]]:
    for k, signs in enumerate(np.ndindex(2, 2, 2)):
        yield f"corner{k}", tuple((2 * s - 1) * half / 2 for s, half in zip(signs, (x, y, z), strict=True))


def floor_scene(name: str, mu: float, gravity: Sequence[float] = DOWN) -> Scene:
    scene = Scene(name, gravity=gravity, friction=mu)
    scene.fixed("floor", HalfSpace())
    return scene


def ball_scene(mu: float) -> Scene:
    scene = floor_scene("ball on a floor", mu)
    scene.body("ball", Sphere(0.1), mass=0.5, at=(0, 0, 0.1))
    return scene


def ball_model(mu: float, first: Names = ()) -> Model:
    b = ModelBuilder("ball")
    body = body_of(b, ball_scene(mu), "ball")
    return with_contacts(b, mu, {"touch": on_floor(body, (0, 0, 0), radius=0.1)}, first)


SLOPE = 0.3
BLOCK = (0.2, 0.2, 0.1)


def block_scene(mu: float) -> Scene:
    scene = floor_scene("block on an incline", mu, (G * sin(SLOPE), 0.0, -G * cos(SLOPE)))
    scene.body("block", Box(*BLOCK), mass=1.0, at=(0, 0, 0.05))
    return scene


def block_model(mu: float, first: Names = ()) -> Model:
    b = ModelBuilder("block")
    body = body_of(b, block_scene(mu), "block")
    return with_contacts(b, mu, {name: on_floor(body, place) for name, place in corners(*BLOCK)}, first)


def _arm(b: ModelBuilder) -> tuple[Any, Any, Any, Any]:
    """Add two links of 0.4 m, with a mass at the end of each; return where the tip is, x and z, and its speeds."""
    q1, v1 = b.coordinate("q1", start=0.35, unit="rad")
    q2, v2 = b.coordinate("q2", start=-0.2, unit="rad")
    q, v, length = ca.vertcat(q1, q2), ca.vertcat(v1, v2), 0.4
    x1, z1 = length * ca.sin(q1), -length * ca.cos(q1)
    x2, z2 = x1 + length * ca.sin(q1 + q2), z1 - length * ca.cos(q1 + q2)
    for x, z in ((x1, z1), (x2, z2)):
        b.kinetic(sum(ca.jtimes(e, q, v) ** 2 for e in (x, z)) / 2)
        b.potential(G * z)
    b.damping(0.1 * v2, along=q2)
    return x2, z2, ca.jtimes(x2, q, v), ca.jtimes(z2, q, v)


def arm_model(mu: float, first: Names = ()) -> Model:
    """The tip is a ball of 20 mm that meets a wall at x = 0.1."""
    b = ModelBuilder("arm")
    x, _, _, speed = _arm(b)
    return with_contacts(b, mu, {"wall": (x - 0.1 - 0.02, [speed])}, first)


def arm_scene(mu: float) -> Scene:
    b = ModelBuilder("arm")
    x, z, _, _ = _arm(b)
    b.link("tip", [x, 0, z])
    scene = Scene("double pendulum at a wall", friction=mu)
    scene.fixed("wall", HalfSpace(), at=(0.1, 0, 0), turn=(0, pi / 2, 0))
    scene.robot(b.build(), {"tip": Sphere(0.02)})
    return scene


FEET = {"foot0": (0.4, 0.3), "foot1": (-0.4, 0.3), "foot2": (-0.4, -0.3), "foot3": (0.4, -0.3)}
FOOT, HEIGHT = 0.03, 0.4


def table_scene(mu: float) -> Scene:
    """A plate on four balls; ``table`` is at its center of mass."""
    plate, foot = 1.0 * 0.8 * 0.05, 4 / 3 * pi * FOOT**3
    center = 4 * foot * -HEIGHT / (plate + 4 * foot)  # below the plate's middle
    shapes = [Placed(Box(1.0, 0.8, 0.05), at=(0, 0, -center))]
    shapes += [Placed(Sphere(FOOT), at=(x, y, -HEIGHT - center)) for x, y in FEET.values()]
    scene = floor_scene("table on four feet", mu)
    scene.body("table", shapes, mass=10.0, at=(0, 0, HEIGHT + center + FOOT))
    return scene


def table_model(mu: float, first: Names = ()) -> Model:
    scene = table_scene(mu)
    b = ModelBuilder("table")
    body = body_of(b, scene, "table")
    feet = zip(FEET, scene.parts["table"].shapes[1:], strict=True)
    return with_contacts(b, mu, {name: on_floor(body, placed.at, radius=FOOT) for name, placed in feet}, first)


TALL = (0.06, 0.1, 0.2)


def tall_scene(mu: float) -> Scene:
    scene = floor_scene("box that tips", mu)
    scene.body("box", Box(*TALL), mass=1.5, at=(0, 0, TALL[2] / 2))
    return scene


def tall_model(mu: float, first: Names = ()) -> Model:
    b = ModelBuilder("box")
    body = body_of(b, tall_scene(mu), "box")
    return with_contacts(b, mu, {name: on_floor(body, place) for name, place in corners(*TALL)}, first)


HELD, FINGER = 0.1, 0.04


def _gripper(b: ModelBuilder) -> dict[str, tuple[Any, Any]]:
    """Add a carriage on a spring, and two fingers on springs; return inner faces and their velocities, in the plane."""
    z, vz = b.coordinate("lift", unit="m")
    b.kinetic(vz**2 / 2)
    b.potential(3e3 * z**2 / 2 + 1.4 * G * z)
    b.damping(20.0 * vz, along=z)
    found = {}
    for name, side in (("left", -1.0), ("right", 1.0)):
        x, v = b.coordinate(name, start=side * HELD / 2, unit="m", about="inner face")
        b.kinetic(0.2 * (v**2 + vz**2) / 2)
        b.potential(2e3 * (x - side * 0.04) ** 2 / 2)
        b.damping(5.0 * v, along=x)
        found[name] = (ca.vertcat(x, 0, z), ca.vertcat(v, 0, vz))
    return found


def gripper_scene(mu: float) -> Scene:
    b = ModelBuilder("gripper")
    for name, (face, _) in _gripper(b).items():
        b.link(name, face)
    scene = Scene("gripper", friction=mu)
    cube = Box(FINGER, FINGER, FINGER)
    fingers = {name: Placed(cube, at=(side * FINGER / 2, 0, 0)) for name, side in (("left", -1.0), ("right", 1.0))}
    scene.robot(b.build(), fingers)
    scene.body("box", Box(HELD, HELD, HELD), mass=0.4)
    return scene


def gripper_model(mu: float, first: Names = ()) -> Model:
    b = ModelBuilder("gripper")
    faces, contacts = _gripper(b), {}
    box = body_of(b, gripper_scene(mu), "box")
    for name, side in (("left", -1.0), ("right", 1.0)):
        face, speed = faces[name]
        for k, (y, z) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
            corner = face + ca.DM([0, y * FINGER / 2, z * FINGER / 2])
            gap = side * (box.axes.T @ (corner - box.at))[0] - HELD / 2
            slip = box.axes.T @ (speed - box.speed(corner))
            contacts[f"{name}{k}"] = gap, [slip[1], slip[2]]
    return with_contacts(b, mu, contacts, first)


def tilted(name: str, angle: float, **more: float) -> dict[str, float]:
    """A start turned about y by an angle."""
    return {f"{name}_qw": cos(angle / 2), f"{name}_qy": sin(angle / 2), **more}


SYSTEMS = {
    "ball on a floor": Twice(
        ball_model, ball_scene, {"ball_z": 0.3, "ball_x_dot": 1.0, "ball_wy": -8.0}, 0.6, 0.3, {}, ["touch"], 0.3
    ),
    "block on an incline": Twice(
        block_model, block_scene, {"block_x_dot": -0.5}, 0.3, 0.2, {}, ["corner0", "corner2", "corner4", "corner6"], 0.5
    ),
    "double pendulum": Twice(arm_model, arm_scene, {"q1_dot": -1.0}, 0.8, 0.2, {"q1": 0.2}, ["wall"], 0.0),
    "four-legged table": Twice(
        table_model, table_scene, tilted("table", 0.05, table_z=0.5), 0.4, 0.5, {}, list(FEET), 0.5
    ),
    "box that tips": Twice(
        tall_model,
        tall_scene,
        tilted("box", 0.2, box_z=0.03 * sin(0.2) + 0.1 * cos(0.2) + 0.01),
        0.5,
        0.6,
        {},
        ["corner0", "corner2", "corner4", "corner6"],
        0.5,
    ),
    "gripper holding a box": Twice(
        gripper_model,
        gripper_scene,
        {"left": -0.053, "right": 0.055},
        0.3,
        0.8,
        {},
        [f"{side}{k}" for side in ("left", "right") for k in range(4)],
        0.8,
    ),
}
