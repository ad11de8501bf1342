"""Where the parts of a scene were in a run, from the signals of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.errors import unknown_name
from impinge.model import Link
from impinge.scene.names import pose_signals
from impinge.scene.parts import Part, Robot
from impinge.scene.paths import POSE, path_expressions
from impinge.scene.pose import matrix
from impinge.scene.scene import BODY, FIXED, MOVING, Scene

FloatArray = NDArray[np.float64]
Poses = tuple[FloatArray, FloatArray]


class Signals(Protocol):
    """What has signals over time, by name: a result."""

    @property
    def t(self) -> FloatArray:
        """Times of the rows, s."""
        ...

    def __getitem__(self, name: str) -> FloatArray:
        """Return a signal, row by row."""
        ...


def poses_of(scene: Scene, result: Signals, part: str) -> Poses:
    """Return positions (rows × 3) and axes (rows × 3 × 3) of a part in every row of a result; see `Scene.poses`."""
    if part not in scene.parts:
        raise unknown_name(f"poses in scene '{scene.name}'", "part", part, scene.parts)
    one, rows = scene.parts[part], result.t.size
    carrier = one.on or part
    for robot in scene.robots:
        if carrier in robot.links:
            of_link = _link_poses(robot, robot.model.links[robot.links.index(carrier)], result)
            return _carried(of_link, one) if one.on else of_link
    if one.kind == BODY:
        names = [name for name, _ in pose_signals(part)[0]]
        return _columns(result, names[:3]), np.array([matrix(x) for x in _columns(result, names[3:])]).reshape(-1, 3, 3)
    if one.kind == MOVING:
        t, u, paths = path_expressions(scene)
        numbers = ca.Function("path", [t, u], [ca.densify(paths[list(scene.paths).index(part)][:POSE])])
        inputs = _columns(result, [x.name for x in scene.inputs])
        return _split(numbers(result.t[None, :], inputs.T))
    assert one.kind == FIXED
    return np.tile(one.at, (rows, 1)), np.tile(matrix(one.turn), (rows, 1, 1))


def _link_poses(robot: Robot, link: Link, result: Signals) -> Poses:
    s = robot.model.symbols
    pose = ca.Function("link", [s.q, s.p], [ca.densify(ca.vertcat(link.position, ca.vec(link.axes)))])
    q = _columns(result, [x.name for x in robot.model.coordinates])
    return _split(pose(q.T, np.tile(robot.parameters[:, None], result.t.size)))


def _carried(link: Poses, body: Part) -> Poses:
    place, axes = link
    return place + axes @ body.at, axes @ matrix(body.turn)


def _columns(result: Signals, names: Sequence[str]) -> FloatArray:
    """Return signals side by side, rows × names."""
    return np.array([result[name] for name in names]).reshape(len(names), result.t.size).T


def _split(numbers: ca.DM) -> Poses:
    """Return positions and axes from poses that stand side by side, 12 × rows."""
    x = np.array(numbers).T
    return np.ascontiguousarray(x[:, :3]), x[:, 3:].reshape(-1, 3, 3).transpose(0, 2, 1)
