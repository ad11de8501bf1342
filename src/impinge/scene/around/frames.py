"""Where the parts of a scene are, and how they move, as expressions of coordinates, velocities and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from impinge.errors import InputError
from impinge.model import Symbols, angular_velocity, rotation_matrix
from impinge.scene.paths import POSE, path_expressions
from impinge.scene.scene import Scene
from impinge.scene.world import FOLLOWS, FREE, LINKED, Layout


class Frame(NamedTuple):
    """The axes that carry shapes; of a body they have its center of mass for origin.

    Attributes:
        at: position (3).
        axes: as columns (3 × 3).
        velocity: of the origin (3).
        spin: angular velocity in fixed axes (3).
    """

    at: Any
    axes: Any
    velocity: Any
    spin: Any

    def point(self, place: Any) -> Any:
        """Return where a place given in these axes is."""
        return self.at + self.axes @ place

    def velocity_of(self, point: Any) -> Any:
        """Return the velocity of what is carried along at a point given in fixed axes."""
        return self.velocity + ca.cross(self.spin, point - self.at)


def frames_of(scene: Scene, layout: Layout, s: Symbols, links: Sequence[tuple[Any, Any]]) -> list[Frame]:
    """Return the frames of all parts, in their order.

    Args:
        scene: the scene.
        layout: its parts as numbered.
        s: symbols of all robots' and bodies' coordinates.
        links: position and axes of every linked part's link, in the order of the parts that have one.
    """
    world, frames, linked = layout.world, list[Frame](), iter(links)
    paths = dict(zip(scene.paths, _paths(scene, s), strict=True))
    for f, name in enumerate(layout.frames):
        kind = world.kind[f]
        if kind == FREE:
            q, v = int(world.place[f]), int(world.speed[f])
            R = rotation_matrix(s.q[q + 3 : q + 7])
            arm, spin = R @ layout.inside[f], R @ s.v[v + 3 : v + 6]
            frames.append(Frame(s.q[q : q + 3] + arm, R, s.v[v : v + 3] + ca.cross(spin, arm), spin))
        elif kind == LINKED:
            position, turn = next(linked)
            at, axes = position + turn @ world.at[f], turn @ world.axes[f]
            rate = ca.reshape(s.change(ca.vec(axes)), 3, 3)
            frames.append(Frame(at, axes, s.change(at), angular_velocity(axes, rate)))
        elif kind == FOLLOWS:
            x = paths[name]
            frames.append(Frame(x[:3], ca.reshape(x[3:POSE], 3, 3), x[12:15], x[15:18]))
        else:
            still = ca.SX.zeros(3)
            frames.append(Frame(ca.SX(world.at[f]), ca.SX(world.axes[f]), still, still))
    return frames


def _paths(scene: Scene, s: Symbols) -> list[Any]:
    """Return the numbers of all paths as expressions of the time of a model."""
    for name, (_, inputs) in scene.paths.items():
        if inputs:
            raise InputError(
                f"scene '{scene.name}' as a model",
                "moving parts whose paths depend on time alone",
                f"'{name}', which follows {', '.join(inputs)}",
                "Give its path without inputs, at the values that they have.",
            )
    if not scene.paths:
        return []
    t, _, columns = path_expressions(scene)
    return [ca.substitute(x, t, s.t) for x in columns]


def poses_at(
    frames: Sequence[Frame], s: Symbols, q: np.ndarray, t: float, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (n × 3) and axes (n × 3 × 3) of frames, for coordinates, a time and parameters."""
    all_ = ca.horzcat(*(ca.vertcat(frame.at, ca.vec(frame.axes)) for frame in frames))
    numbers = np.array(ca.Function("poses", [s.q, s.t, s.p], [ca.densify(all_)])(q, t, p)).T
    axes = numbers[:, 3:].reshape(-1, 3, 3).transpose(0, 2, 1)
    return np.ascontiguousarray(numbers[:, :3]), np.ascontiguousarray(axes)
