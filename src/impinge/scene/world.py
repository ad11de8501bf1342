"""A scene as hot loops see it: tables that never change in a run.

Every part is a frame. What can be pushed is a block of degrees of freedom: first each robot, then each free body with
six, the velocity of its center of mass in the world's axes and its angular velocity in its own. Coordinates are the
robots', then position and unit quaternion of each free body's center of mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.compile import Cube, IntegerMatrix, Integers, Kernel, Matrix, Vector
from impinge.errors import InputError
from impinge.geometry.pack import shape_tables
from impinge.geometry.table import Shapes
from impinge.model import Model, Quantity, Spin, of_length_one, straight
from impinge.scene.names import owned_signals, pose_signals
from impinge.scene.paths import path_kernel
from impinge.scene.pose import matrix
from impinge.scene.scene import BODY, MOVING, Scene

FloatArray = NDArray[np.float64]

# What moves a frame.
STANDS, FREE, FOLLOWS, LINKED = 0, 1, 2, 3


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
    straight: Integers  # the coordinate that each velocity of the robots is the rate of; −1 for angular velocities
    spins: IntegerMatrix  # (rotations of robots, 2): where each quaternion begins, and its angular velocity
    first_spin: Integers  # robot r has the rotations first_spin[r] … first_spin[r + 1] − 1
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
        signals: names of all signals that a result has beside those of contacts, with what they belong to.
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
    signals: tuple[tuple[str, str], ...]
    kernels: tuple[Kernel, ...]
    widest: int
    buffer: int

    @property
    def spins(self) -> tuple[Spin, ...]:
        """Which coordinates are quaternions, and which velocities their angular velocities; free bodies' come last."""
        world = self.world
        bodies = [Spin(int(q) + 3, int(v) + 3) for q, v in zip(world.place, world.speed, strict=True) if q >= 0]
        return (*(Spin(*pair) for pair in world.spins.tolist()), *bodies)

    @property
    def start(self) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
        """Coordinates and velocities at the start, as they are shown."""
        q, v = (
            tuple(Quantity(name, unit, float(x)) for (name, unit), x in zip(names, values, strict=True))
            for names, values in ((self.coordinates, self.shown(self.q)), (self.velocities, self.v))
        )
        return q, v

    def shown(self, q: FloatArray) -> FloatArray:
        """Return coordinates with the origins of the parts' axes in place of their centers of mass (last axis)."""
        return self._moved(q, -1.0)

    def hidden(self, q: FloatArray) -> FloatArray:
        """Return coordinates with centers of mass again, and quaternions of length one."""
        names = [name for name, _ in self.coordinates]
        bodies = [frame for frame, k in enumerate(self.world.place) if k >= 0]
        robots = len(self.spins) - len(bodies)
        scaled = of_length_one("start of a robot", names, q, self.spins[:robots])
        for frame, spin in zip(bodies, self.spins[robots:], strict=True):
            scaled = of_length_one(f"start of body '{self.frames[frame]}'", names, scaled, [spin])
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


def _spins(models: Sequence[Model], nq: Sequence[int], nv: Sequence[int]) -> list[Spin]:
    """Return the rotations of all robots, counted among all coordinates and velocities."""
    return [
        Spin(int(q) + spin.q, int(v) + spin.v)
        for m, q, v in zip(models, _starts(nq), _starts(nv), strict=True)
        for spin in m.spins
    ]


def _straight(models: Sequence[Model], nq: Sequence[int]) -> NDArray[np.int64]:
    places = []
    for m, q in zip(models, _starts(nq), strict=True):
        own = straight(m.spins, len(m.velocities))
        places.append(np.where(own >= 0, own + q, -1))
    return np.concatenate([_integers([]), *places])


def _standing(scene: Scene) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return position and axes of the links that no coordinate moves, by name."""
    found = {}
    for robot in scene.robots:
        s = robot.model.symbols
        for link in robot.model.links:
            pose = [ca.densify(link.position), ca.densify(link.axes)]
            if not ca.depends_on(ca.veccat(*pose), s.q):
                position, axes = ca.Function("link", [s.p], pose)(robot.parameters)
                found[link.name] = np.array(position).ravel(), np.array(axes)
    return found


def layout_of(scene: Scene) -> Layout:
    """Freeze a scene: number its parts and write its tables."""
    if not scene.robots and not any(part.kind == BODY for part in scene.parts.values()):
        raise InputError(f"scene '{scene.name}'", "something that can be pushed", "none", "Add a body or a robot.")
    signals = owned_signals(scene)
    parts, n = list(scene.parts.values()), len(scene.parts)
    index = {part.name: k for k, part in enumerate(parts)}
    models = [robot.model for robot in scene.robots]
    nq, nv = [len(m.coordinates) for m in models], [len(m.velocities) for m in models]
    kernels = [m.linkage for m in models]
    owner = {link: r for r, robot in enumerate(scene.robots) for link in robot.links}
    standing = _standing(scene)

    kind, block, place, speed = ([-1] * n for _ in range(4))
    robot_of, link_of, hung = [-1] * n, [-1] * n, [0] * n
    at, axes, inside = np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
    mass, tensor, inverse = np.zeros(n), np.tile(np.eye(3), (n, 1, 1)), np.tile(np.eye(3), (n, 1, 1))
    q, v = [m.start_vectors({})[0] for m in models], [m.start_vectors({})[1] for m in models]
    coordinates = [(x.name, x.unit) for m in models for x in m.coordinates]
    velocities = [(x.name, x.unit) for m in models for x in m.velocities]
    blocks, next_q, next_v = len(models), sum(nq), sum(nv)
    for k, part in enumerate(parts):
        at[k], axes[k] = part.at, matrix(part.turn)
        if part.inertia is not None:
            mass[k], tensor[k], inside[k] = part.inertia.mass, part.inertia.tensor, part.inertia.center
            inverse[k] = np.linalg.inv(part.inertia.tensor)
        carrier = part.on or part.name
        if carrier in standing:
            kind[k] = STANDS
            place_of_link, axes_of_link = standing[carrier]
            at[k], axes[k] = place_of_link + axes_of_link @ at[k], axes_of_link @ axes[k]
            inside[k] = 0.0
        elif carrier in owner:
            kind[k], robot_of[k], block[k], hung[k] = LINKED, owner[carrier], owner[carrier], int(bool(part.on))
            link_of[k] = scene.robots[owner[carrier]].links.index(carrier)
            at[k] = at[k] + axes[k] @ inside[k]
        elif part.kind == BODY:
            kind[k], block[k], place[k], speed[k] = FREE, blocks, next_q, next_v
            blocks, next_q, next_v = blocks + 1, next_q + 7, next_v + 6
            q.append(np.concatenate([part.at + axes[k] @ inside[k], part.turn]))
            v.append(np.concatenate([part.velocity, part.spin]))
            own = pose_signals(part.name)
            coordinates, velocities = coordinates + own[0], velocities + own[1]
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
        straight=_straight(models, nq),
        spins=_integers([x for s in _spins(models, nq, nv) for x in s]).reshape(-1, 2),
        first_spin=_starts([len(m.spins) for m in models] + [0]),
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
        signals=signals,
        kernels=(*kernels, *([] if paths is None else [paths])),
        widest=max([6, *nv]),
        buffer=sum(sizes),
    )
