"""A scene as hot loops see it: tables that never change in a run.

Every part is a frame. What can be pushed is a block of degrees of freedom: first each robot, then each free body with
six, the velocity of its center of mass in the world's axes and its angular velocity in its own. Coordinates are the
robots', then position and unit quaternion of each free body's center of mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.compile import Cube, Integers, Kernel, Matrix, Vector, compile_bounds, compile_kernel
from impinge.errors import ImpingeError, InputError
from impinge.geometry.pack import shape_tables
from impinge.geometry.table import Shapes
from impinge.model import angular_velocity
from impinge.scene.pose import matrix
from impinge.scene.scene import BODY, LINK, MOVING, Scene

FloatArray = NDArray[np.float64]

# What moves a frame.
STANDS, FREE, FOLLOWS, LINKED = 0, 1, 2, 3
# Numbers of a path: position, axes (column by column), velocity, angular velocity, and both their rates.
PATH = 24
POSE = 12  # of them, position and axes


class World(NamedTuple):
    """Frames (n of them), robots and grips of a scene."""

    shapes: Shapes
    kind: Integers  # STANDS, ...
    block: Integers  # what is pushed when a frame is, or −1
    place: Integers  # where a free frame's pose stands among the coordinates
    speed: Integers  # where its velocities stand among all
    at: Matrix  # (n, 3): position of what stands, and of what is linked on its link
    axes: Cube  # (n, 3, 3)
    dynamic: Integers  # 1 for frames that can be pushed
    radius: Vector  # of the shapes of each frame, about its origin
    mass: Vector
    tensor: Cube  # inertia about the center of mass, in the frame's axes
    inverse: Cube
    gravity: Vector
    excluded: Integers  # pairs of frames that pass through each other: first · n + second, ascending
    rubbing: Integers  # pairs of frames with a coefficient of their own
    coefficient: Vector
    paths: int  # address of the kernel of all paths, or 0
    followers: Integers  # the frames it moves
    robot: Integers  # of a linked frame, else −1
    link: Integers  # which of its robot's links carries it
    hung: Integers  # whether a linked frame is a body with mass
    kernels: Integers  # addresses of the robots' `linkage`, below all their sizes
    nq: Integers
    nv: Integers
    nh: Integers
    nu: Integers
    first_q: Integers
    first_v: Integers
    first_u: Integers
    first_p: Integers
    first_out: Integers  # where a robot's numbers begin in the common buffer
    parameters: Vector
    held: Integers  # the frames that grips hold, below their numbers
    holder: Integers
    stiffness: Matrix
    damping: Matrix
    center: Matrix  # from the center of mass, in the body's axes


@dataclass(frozen=True)
class Layout:
    """A world, and how its numbers are called.

    Attributes:
        frames: names of the parts.
        inside: for each frame, its center of mass in the part's axes (the origin of the frame, if it is free).
        q, v: at the start; ``coordinates`` and ``velocities`` are their names, with units.
        kernels: what the world refers to by address.
        sizes: widest block, length of the robots' common buffer.
    """

    world: World
    frames: tuple[str, ...]
    inside: FloatArray
    q: FloatArray
    v: FloatArray
    coordinates: tuple[tuple[str, str], ...]
    velocities: tuple[tuple[str, str], ...]
    kernels: tuple[Kernel, ...]
    widest: int
    buffer: int

    def shown(self, q: FloatArray) -> FloatArray:
        """Return coordinates with the origins of the parts' axes in place of their centers of mass (last axis)."""
        return self._moved(q, -1.0)

    def hidden(self, q: FloatArray) -> FloatArray:
        """Return coordinates with centers of mass again, and quaternions of length one."""
        scaled = q.copy()
        for k in self.world.place[self.world.place >= 0]:
            scaled[..., k + 3 : k + 7] /= np.linalg.norm(scaled[..., k + 3 : k + 7], axis=-1, keepdims=True)
        return self._moved(scaled, 1.0)

    def _moved(self, q: FloatArray, sign: float) -> FloatArray:
        moved = q.copy()
        for f, k in enumerate(self.world.place):
            center = self.inside[f]
            if k >= 0 and center.any():
                w, axis = q[..., k + 3, None], q[..., k + 4 : k + 7]
                twice = 2.0 * np.cross(axis, np.broadcast_to(center, axis.shape))
                moved[..., k : k + 3] += sign * (center + w * twice + np.cross(axis, twice))
        return moved


def _axes_of(turn: Any) -> Any:
    """Return the 3 × 3 expression of a rotation given as a matrix or as (axis, angle)."""
    if isinstance(turn, (tuple, list)) and len(turn) == 2:
        axis = np.array(turn[0], dtype=float)
        axis = axis / np.linalg.norm(axis)
        cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
        angle = ca.SX(turn[1])
        return ca.SX.eye(3) + ca.sin(angle) * ca.SX(cross) + (1 - ca.cos(angle)) * ca.SX(cross @ cross)
    return ca.SX(turn)


def _path(who: str, given: Any, t: Any) -> Any:
    """Return the numbers of one path as a column of expressions."""
    try:
        pair = isinstance(given, (tuple, list)) and len(given) == 2
        position, axes = given if pair else (given, None)
        columns = list(position) if isinstance(position, (tuple, list)) else [position]
        x = ca.vertcat(*[ca.SX(item) for item in columns])
        R = ca.SX.eye(3) if axes is None else _axes_of(axes)
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


def _paths(scene: Scene) -> tuple[Any, Any, list[Any]]:
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
    t, u, columns = _paths(scene)
    return compile_bounds("path_bounds", {"t": t}, {"u": u}, {"poses": ca.vertcat(*(x[:POSE] for x in columns))})


def path_kernel(scene: Scene) -> Kernel | None:
    """Compile all paths of a scene into one function of time and inputs."""
    if not scene.paths:
        return None
    t, u, columns = _paths(scene)
    try:
        return compile_kernel("paths", {"t": t, "u": u}, {"poses": ca.vertcat(*columns)})
    except ImpingeError as problem:
        raise InputError(
            f"paths of scene '{scene.name}'", "expressions of t and the declared inputs", problem.got, "Use only these."
        ) from None


def _keys(scene: Scene, index: dict[str, int], n: int) -> NDArray[np.int64]:
    """Return the pairs that never touch: ignored ones, and those of one robot."""
    pairs = {tuple(sorted((index[a], index[b]))) for a, b in scene.ignored}
    for robot in scene.robots:
        own = [index[p.name] for p in scene.parts.values() if p.name in robot.links or p.on in robot.links]
        pairs |= {(a, b) for a in own for b in own if a < b}
    return np.array(sorted(a * n + b for a, b in pairs), dtype=np.int64)


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _starts(lengths: Sequence[int], first: int = 0) -> NDArray[np.int64]:
    return _integers([first + sum(lengths[:k]) for k in range(len(lengths))])


def layout_of(scene: Scene) -> Layout:
    """Freeze a scene: number its parts and write its tables."""
    if not any(part.kind in (BODY, LINK) for part in scene.parts.values()):
        raise InputError(f"scene '{scene.name}'", "something that can be pushed", "none", "Add a body or a robot.")
    parts, n = list(scene.parts.values()), len(scene.parts)
    index = {part.name: k for k, part in enumerate(parts)}
    models = [robot.model for robot in scene.robots]
    nq, nv = [len(m.coordinates) for m in models], [len(m.coordinates) for m in models]
    kernels = [m.linkage for m in models]
    owner = {link: r for r, robot in enumerate(scene.robots) for link in robot.links}

    kind, block, place, speed = ([-1] * n for _ in range(4))
    robot_of, link_of, hung = [-1] * n, [-1] * n, [0] * n
    at, axes, inside = np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
    mass, tensor, inverse = np.zeros(n), np.tile(np.eye(3), (n, 1, 1)), np.tile(np.eye(3), (n, 1, 1))
    q, v = [m.start_vectors({})[0] for m in models], [m.start_vectors({})[1] for m in models]
    coordinates = [(x.name, x.unit) for m in models for x in m.coordinates]
    velocities = [(f"{x.name}_dot", f"{x.unit}/s") for m in models for x in m.coordinates]
    blocks, next_q, next_v = len(models), sum(nq), sum(nv)
    for k, part in enumerate(parts):
        at[k], axes[k] = part.at, matrix(part.turn)
        if part.inertia is not None:
            mass[k], tensor[k], inside[k] = part.inertia.mass, part.inertia.tensor, part.inertia.center
            inverse[k] = np.linalg.inv(part.inertia.tensor)
        carrier = part.on or part.name
        if carrier in owner:
            kind[k], robot_of[k], block[k], hung[k] = LINKED, owner[carrier], owner[carrier], int(bool(part.on))
            link_of[k] = scene.robots[owner[carrier]].links.index(carrier)
            at[k] = at[k] + axes[k] @ inside[k]
        elif part.kind == BODY:
            kind[k], block[k], place[k], speed[k] = FREE, blocks, next_q, next_v
            blocks, next_q, next_v = blocks + 1, next_q + 7, next_v + 6
            q.append(np.concatenate([part.at + axes[k] @ inside[k], part.turn]))
            v.append(np.concatenate([part.velocity, part.spin]))
            coordinates += [(f"{part.name}_{x}", "m") for x in "xyz"]
            coordinates += [(f"{part.name}_q{x}", "") for x in "wxyz"]
            velocities += [(f"{part.name}_{x}_dot", "m/s") for x in "xyz"]
            velocities += [(f"{part.name}_w{x}", "rad/s") for x in "xyz"]
        else:
            kind[k] = FOLLOWS if part.kind == MOVING else STANDS

    carried = [(k, item) for k, part in enumerate(parts) for item in part.shapes]
    shapes = shape_tables(
        [item.shape for _, item in carried],
        [k for k, _ in carried],
        [item.at - inside[k] for k, item in carried],
        [matrix(item.turn) for _, item in carried],
        [parts[k].friction for k, _ in carried],
    )
    rubbing = sorted(
        (min(index[a], index[b]) * n + max(index[a], index[b]), mu) for (a, b), mu in scene.pair_friction.items()
    )
    paths = path_kernel(scene)
    sizes = [kernel.size for kernel in kernels]
    inputs = {x.name: k for k, x in enumerate(scene.inputs)}
    radius = np.zeros(n)
    for k, item in carried:
        radius[k] = max(radius[k], float(np.linalg.norm(item.at - inside[k])) + item.shape.reach)
    world = World(
        shapes=shapes,
        kind=_integers(kind),
        block=_integers(block),
        place=_integers(place),
        speed=_integers(speed),
        at=at,
        axes=np.ascontiguousarray(axes),
        dynamic=_integers([int(b >= 0) for b in block]),
        radius=radius,
        mass=mass,
        tensor=np.ascontiguousarray(tensor),
        inverse=np.ascontiguousarray(inverse),
        gravity=scene.gravity.copy(),
        excluded=_keys(scene, index, n),
        rubbing=_integers([key for key, _ in rubbing]),
        coefficient=np.array([mu for _, mu in rubbing]),
        paths=0 if paths is None else paths.address,
        followers=_integers([index[name] for name in scene.paths]),
        robot=_integers(robot_of),
        link=_integers(link_of),
        hung=_integers(hung),
        kernels=_integers([kernel.address for kernel in kernels]),
        nq=_integers(nq),
        nv=_integers(nv),
        nh=_integers([len(m.constraints) for m in models]),
        nu=_integers([len(m.inputs) for m in models]),
        first_q=_starts(nq),
        first_v=_starts(nv),
        first_u=_integers([inputs[m.inputs[0].name] if m.inputs else 0 for m in models]),
        first_p=_starts([robot.parameters.size for robot in scene.robots]),
        first_out=_starts(sizes),
        parameters=np.concatenate([np.zeros(0), *(robot.parameters for robot in scene.robots)]),
        held=_integers([index[grip.body] for grip in scene.grips]),
        holder=_integers([index[grip.by] for grip in scene.grips]),
        stiffness=np.array([grip.stiffness for grip in scene.grips]).reshape(-1, 6),
        damping=np.array([grip.damping for grip in scene.grips]).reshape(-1, 6),
        center=np.array([grip.center - inside[index[grip.body]] for grip in scene.grips]).reshape(-1, 3),
    )
    return Layout(
        world=world,
        frames=tuple(index),
        inside=inside,
        q=np.concatenate([np.zeros(0), *q]),
        v=np.concatenate([np.zeros(0), *v]),
        coordinates=tuple(coordinates),
        velocities=tuple(velocities),
        kernels=(*kernels, *([] if paths is None else [paths])),
        widest=max([6, *nv]),
        buffer=sum(sizes),
    )
