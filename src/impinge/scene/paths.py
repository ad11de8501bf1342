"""Paths of moving parts: what users return, as one kernel of poses, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.compile import Kernel, compile_bounds, compile_kernel, jit
from impinge.errors import ImpingeError, InputError, as_number, show
from impinge.model import angular_velocity
from impinge.scene.scene import Scene

FloatArray = NDArray[np.float64]

# Numbers of a path: position, axes (column by column), velocity, angular velocity, and both their rates.
PATH = 24
POSE = 12  # of them, position and axes


def _axes_of(who: str, turn: Any) -> Any:
    """Return the 3 × 3 expression of a rotation given as a matrix or as (axis, angle)."""
    if isinstance(turn, (tuple, list)) and len(turn) == 2:
        numbers = [as_number(x) for x in turn[0]] if isinstance(turn[0], Sequence) else turn[0]
        axis = np.array(numbers, dtype=float).ravel()
        length = float(np.linalg.norm(axis)) if axis.size == 3 else 0.0
        if not 0.0 < length < np.inf:
            remedy = "Give e.g. (0, 0, 1), the axis z; for an axis that moves give a 3 × 3 matrix."
            raise InputError(f"axis in the {who}", "a direction of three numbers", show(turn[0]), remedy)
        x, y, z = axis / length
        cross, angle = ca.DM([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]), ca.SX(turn[1])
        return ca.SX.eye(3) + ca.sin(angle) * ca.SX(cross) + (1 - ca.cos(angle)) * ca.SX(cross @ cross)
    return ca.SX(turn)


def _path(who: str, given: Any, t: Any) -> Any:
    """Return the numbers of one path as a column of expressions."""
    try:
        pair = isinstance(given, (tuple, list)) and len(given) == 2
        position, axes = given if pair else (given, None)
        columns = list(position) if isinstance(position, (tuple, list)) else [position]
        x = ca.vertcat(*[ca.SX(item) for item in columns])
        R = ca.SX.eye(3) if axes is None else _axes_of(who, axes)
        if x.shape != (3, 1) or R.shape != (3, 3):
            raise ValueError
    except (TypeError, ValueError, NotImplementedError, RuntimeError):
        remedy = "Return e.g. (0, 0, 0.1 * t), or that and ((0, 0, 1), angle)."
        raise InputError(
            who, "a path(t) that gives a position, or a position and a turn", repr(given), remedy
        ) from None

    def rate(expression: Any) -> Any:
        return ca.reshape(ca.jacobian(ca.vec(expression), t), expression.shape)

    velocity, spin = rate(x), angular_velocity(R, rate(R))
    return ca.vertcat(x, ca.vec(R), velocity, spin, rate(velocity), rate(spin))


def path_expressions(scene: Scene) -> tuple[Any, Any, list[Any]]:
    """Return time, inputs, and the numbers of all paths of a scene as expressions of these."""
    t, u = ca.SX.sym("t"), ca.SX.sym("u", len(scene.inputs))
    places = {x.name: k for k, x in enumerate(scene.inputs)}
    columns = []
    for name, (path, inputs) in scene.paths.items():
        who = f"path of '{name}' in scene '{scene.name}'"
        columns.append(_path(who, path(t, *[u[places[one]] for one in inputs]), t))
    return t, u, columns


def path_bounds(scene: Scene) -> Kernel | None:
    """Compile what bounds position and axes (POSE numbers) of all paths of a scene over a span of time."""
    if not scene.paths:
        return None
    t, u, columns = path_expressions(scene)
    return compile_bounds("path_bounds", {"t": t}, {"u": u}, {"poses": ca.vertcat(*(x[:POSE] for x in columns))})


def link_bounds(scene: Scene, frames: Sequence[tuple[str, FloatArray]]) -> Kernel | None:
    """Compile what bounds position and axes (POSE numbers) of robots' links along a motion of their coordinates.

    Args:
        scene: the scene.
        frames: of each part on a link, the link's name and the part's place on it (3).
    """
    if not frames:
        return None
    q, p, t, known = list[Any](), list[Any](), ca.SX.sym("t"), dict[str, Any]()
    for robot in scene.robots:
        own = robot.model.symbols
        q.append(ca.SX.sym("q", own.q.shape[0]))
        p.append(ca.SX.sym("p", own.p.shape[0]))
        for link in robot.model.links:
            pose = ca.Function("pose", [own.q, own.t, own.p], [link.position, link.axes])
            known[link.name] = pose(q[-1], t, p[-1])
    poses = [ca.vertcat(known[link][0] + known[link][1] @ place, ca.vec(known[link][1])) for link, place in frames]
    moving = {"q": ca.vertcat(*q, t)}
    return compile_bounds("link_bounds", moving, {"p": ca.vertcat(*p)}, {"poses": ca.vertcat(*poses)})


def path_kernel(scene: Scene) -> Kernel | None:
    """Compile all paths of a scene into one function of time and inputs."""
    if not scene.paths:
        return None
    t, u, columns = path_expressions(scene)
    try:
        return compile_kernel("paths", {"t": t, "u": u}, {"poses": ca.vertcat(*columns)})
    except ImpingeError as problem:
        raise InputError(
            f"paths of scene '{scene.name}'", "expressions of t and the declared inputs", problem.got, "Use only these."
        ) from None


@jit
def follow(numbers: Any, at: Any, axes: Any, velocity: Any, spin: Any) -> None:
    """Write pose and velocities of a frame from the numbers of its path."""
    for i in range(3):
        at[i], velocity[i], spin[i] = numbers[i], numbers[12 + i], numbers[15 + i]
        for j in range(3):
            axes[i, j] = numbers[3 + 3 * j + i]
