"""A scene of free bodies as the event-driven simulator sees it: what a `Model` offers, without any expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.compile import Kernel, Struct, prepare
from impinge.compile.kernels.bounds import FIELDS
from impinge.contact.law import Law
from impinge.errors import InputError, unknown_name
from impinge.geometry.rotation import EXACT
from impinge.model import Gap, Quantity, values_of
from impinge.scene.faults import bad_pose, lost_pose, pose_fault
from impinge.scene.names import check_signals
from impinge.scene.paths import PATH, POSE, path_bounds
from impinge.scene.scene import Scene
from impinge.scene.world import FOLLOWS, FREE, Layout, layout_of
from impinge.simulation.check import check_gaps, start_tolerance
from impinge.simulation.scenes import kernel as scene_kernel
from impinge.simulation.scenes.contact import VECTORS
from impinge.simulation.scenes.features import feature_tables, find_balls
from impinge.simulation.scenes.tables import Features, Grips, Motion, SceneTables

FloatArray = NDArray[np.float64]


class SceneModel:
    """One run's view of a scene; its tables are the run's own.

    Example:
        >>> from impinge.geometry import HalfSpace, Sphere
        >>> scene = Scene("drop")
        >>> scene.fixed("table", HalfSpace())
        >>> scene.body("ball", Sphere(0.1), mass=1.0, at=(0, 0, 0.5))
        >>> SceneModel(scene).contacts
        ('ball_table',)
    """

    constraints: tuple[Quantity, ...] = ()
    outputs: tuple[Quantity, ...] = ()
    extents: tuple[int, ...] = ()

    def __init__(self, scene: Scene) -> None:
        self.scene, self.name, self.label = scene, scene.name, f"scene '{scene.name}'"
        if scene.robots:
            raise InputError(
                f"simulation of {self.label}",
                "event by event only free bodies",
                f"robot '{scene.robots[0].name}'",
                "Use the law Complementarity(...).",
            )
        layout = self.layout = layout_of(scene)
        balls = find_balls(layout, f"simulation of {self.label}")
        self.coordinates, self.velocities = layout.start
        self.spins = layout.spins
        self.arms = _arms(layout)
        self.inputs, self.input_places = tuple(scene.inputs), scene.input_places
        names = [(f"{ball.name}_1", f"{ball.name}_2") if ball.mu > 0.0 else () for ball in balls]
        self.gaps = tuple(
            Gap(ball.name, "m", slips=slips, slides=bool(slips), by_rate=True)
            for ball, slips in zip(balls, names, strict=True)
        )
        self.contacts = tuple(gap.name for gap in self.gaps)
        self.slips = tuple((c, slip) for c, gap in enumerate(self.gaps) for slip in gap.slips)
        check_signals(self.label, (*layout.signals, *self._contact_signals()))
        self._mu = np.array([ball.mu if ball.mu > 0.0 else np.inf for ball in balls])
        self._path_bounds = path_bounds(scene)
        paths = 0 if self._path_bounds is None else self._path_bounds.address
        nq, nv, m = layout.q.size, layout.v.size, len(self.gaps) + len(self.slips)
        inputs = {"q": nq, "v": nv, "t": 1, "u": len(self.inputs), "p": 1}
        of_rows = dict.fromkeys(("g", "rate", "drift", "partial"), (m, 1))
        outputs = {"free": (nv, 1), **of_rows, "power": (3, 1), "response": (nv, m), "W": (m, m)}
        size = sum(rows * columns for rows, columns in outputs.values())
        self.tables = _tables(layout, feature_tables(layout, balls), len(self.inputs), paths, size)
        self._packed = Struct(self.tables)
        prepare((scene_kernel.dynamics, scene_kernel.signals, scene_kernel.tidy))
        self.dynamics = Kernel("dynamics of a scene", scene_kernel.dynamics.address, inputs, outputs, 0)
        self.signals = Kernel("energies of a scene", scene_kernel.signals.address, inputs, {"energies": (2, 1)}, 0)
        self.tidy = scene_kernel.tidy.address
        self.steady = layout.world.followers.size == 0

    def _contact_signals(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the signals of all contacts, with what they belong to."""
        for gap in self.gaps:
            names = [f"{kind}_{gap.name}" for kind in ("gap", "force", "mode", "impulse", "work_friction")]
            names += [f"gap_{gap.name}_dot"]
            names += [f"{kind}_{slip}" for slip in gap.slips for kind in ("slip", "friction")]
            names += [f"slip_{slip}_dot" for slip in gap.slips]
            yield from ((name, f"contact '{gap.name}'") for name in names)

    def friction_at(self, p: ArrayLike) -> FloatArray:
        """Return the coefficient of friction of each contact; infinite if it has no slips."""
        return self._mu.copy()

    def parameter_vector(self, changes: Mapping[str, float]) -> FloatArray:
        """Return what the kernels take for parameters: where the tables are."""
        for name in changes:
            raise unknown_name(self.label, "parameter", name, ())
        return np.array([float(self._packed.address)])

    def input_vector(self, changes: Mapping[str, float]) -> FloatArray:
        """Return the inputs, with changes by name."""
        return values_of(self.label, "input", self.inputs, changes)

    def start_vectors(self, changes: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates (of centers of mass) and velocities at the start, with changes by signal name."""
        x = values_of(self.label, "start value", (*self.coordinates, *self.velocities), changes)
        nq = len(self.coordinates)
        return self.layout.hidden(x[:nq]), x[nq:]

    def check_start(self, laws: Sequence[Law], q: FloatArray, v: FloatArray, u: FloatArray) -> None:
        """Raise what is wrong with the start of a run: paths without a pose, and parts that are sunk in."""
        gaps = self.dynamics(q, v, 0.0, u, self.parameter_vector({}))["g"][: len(self.gaps)]
        fault = self._fault(0.0, u)
        if fault:
            raise bad_pose(self.scene, *fault)
        frames = np.stack([self.tables.features.ball_frame, self.tables.features.surface_frame])
        radius = self.layout.world.radius[frames].min(axis=0)
        check_gaps(f"start of {self.label}", self.gaps, laws, gaps, start_tolerance(radius), radius)

    def start(self, q: FloatArray, v: FloatArray, u: FloatArray) -> None:
        """Let tangents and grips begin where the run does."""
        self.dynamics(q, v, 0.0, u, self.parameter_vector({}))
        world, motion, grips, reference = self.layout.world, self.tables.motion, self.tables.grips, self.tables.features
        for n, pair in zip(self.tables.normal, reference.reference, strict=True):
            axis = np.eye(3)[int(np.argmin(np.abs(n).round(6)))]
            pair[0], pair[1] = n, axis - (axis @ n) * n
            pair[1] /= np.linalg.norm(pair[1])
        for k, (body, holder) in enumerate(zip(world.held, world.holder, strict=True)):
            R, B = motion.axes[holder], motion.axes[body]
            grips.at[k] = R.T @ (motion.at[body] + B @ world.center[k] - motion.at[holder])
            grips.axes[k] = R.T @ B

    def _fault(self, t: float, u: FloatArray) -> tuple[str, str] | None:
        """Return the part whose path has had no pose at a time or after it, and what is wrong there."""
        path, when = int(self.tables.fault[0]), float(self.tables.fault[1])
        if path < 0 or when < t:
            return None
        x = self.layout.kernels[-1](when, u)["poses"][PATH * path : PATH * (path + 1)]
        part = self.layout.frames[int(self.layout.world.followers[path])]
        fault = pose_fault(x[:3], x[3:12].reshape(3, 3, order="F"), x[12:15], x[15:18], EXACT)
        return (part, fault) if fault else None

    def why_lost(self, t: float, u: FloatArray) -> str:
        """Return why a run that fails at a time does so, if it is because a path has no pose there; else nothing."""
        fault = self._fault(t, u)
        return lost_pose(self.scene, *fault, t) if fault else ""

    def show(self, q: FloatArray) -> None:
        """Turn rows of recorded coordinates into those of the parts' origins."""
        q[:] = self.layout.shown(q)


def _arms(layout: Layout) -> FloatArray:
    """Return for each velocity by how much it moves a body's surface: 1, for spins how far that reaches, m, at most 1.

    A small body turns fast for its size. What a tolerance is for its speed, it is for that of its farthest point.
    """
    arms, world = np.ones(layout.v.size), layout.world
    for f in np.flatnonzero(world.kind == FREE):
        if 0.0 < world.radius[f] < 1.0:
            arms[world.speed[f] + 3 : world.speed[f] + 6] = world.radius[f]
    return arms


def _tables(layout: Layout, features: Features, nu: int, paths: int, size: int) -> SceneTables:
    world = layout.world
    n, grips = world.kind.size, world.held.size
    nc = features.radius.size
    frames = np.stack([features.ball_frame, features.surface_frame], axis=1)
    owners = np.concatenate([np.arange(nc), np.repeat(np.arange(nc), np.diff(features.slips))])
    speed = np.where(world.kind == FREE, world.speed, -1)
    m = owners.size
    return SceneTables(
        world=world,
        features=features,
        motion=Motion(
            at=world.at.copy(),
            axes=world.axes.copy(),
            velocity=np.zeros((n, 3)),
            spin=np.zeros((n, 3)),
            push=np.zeros((n, 3)),
            twist=np.zeros((n, 3)),
            torque=np.zeros((n, 3)),
            paths=np.zeros(PATH * int((world.kind == FOLLOWS).sum())),
        ),
        grips=Grips(np.zeros((grips, 3)), np.tile(np.eye(3), (grips, 1, 1))),
        bodies=np.ascontiguousarray(speed[frames[owners]]).reshape(m, 2),
        J=np.zeros((m, 12)),
        X=np.zeros((m, 12)),
        normal=np.zeros((nc, 3)),
        surface=np.zeros((3, 3)),
        local=np.zeros((VECTORS, 3)),
        unit=np.zeros(4),
        fault=np.array([-1.0, -np.inf]),
        nu=nu,
        size=size,
        path_bounds=paths,
        moment=np.zeros(FIELDS),
        ranges=np.zeros(FIELDS * POSE * world.followers.size),
    )
