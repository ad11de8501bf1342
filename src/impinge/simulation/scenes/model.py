"""A scene as the event-driven simulator sees it: what a `Model` offers, without any expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.compile import Kernel, Struct, prepare
from impinge.compile.kernels.bounds import FIELDS
from impinge.contact.law import Law
from impinge.errors import unknown_name
from impinge.geometry.rotation import EXACT
from impinge.model import Gap, values_of
from impinge.scene.faults import bad_pose, lost_pose, pose_fault
from impinge.scene.names import check_signals
from impinge.scene.near_points import near_points
from impinge.scene.paths import PATH, POSE, link_bounds, path_bounds
from impinge.scene.scene import Scene
from impinge.scene.world import FOLLOWS, FREE, LINKED, Layout, layout_of
from impinge.simulation.check import check_constraints, check_gaps, start_tolerance
from impinge.simulation.locate.proof import RATE_SLACK, Proof, proof_of_scene
from impinge.simulation.locate.prove import prove
from impinge.simulation.scenes import kernel as scene_kernel
from impinge.simulation.scenes.bounds import bound_scene, trace_scene
from impinge.simulation.scenes.contacts.candidates import candidate_tables
from impinge.simulation.scenes.contacts.contact import VECTORS
from impinge.simulation.scenes.contacts.exchange import exchange
from impinge.simulation.scenes.contacts.pairs import NOTHING
from impinge.simulation.scenes.contacts.rings import JETS
from impinge.simulation.scenes.features import feature_tables, find_contacts, touching_of
from impinge.simulation.scenes.tables import Candidates, Features, Grips, LinkBounds, Motion, SceneTables, Told

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]


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

    airborne: Kernel | None = None

    def __init__(self, scene: Scene) -> None:
        self.scene, self.name, self.label = scene, scene.name, f"scene '{scene.name}'"
        layout = self.layout = layout_of(scene)
        found = find_contacts(layout, f"simulation of {self.label}")
        self.coordinates, self.velocities = layout.start
        self.spins = layout.spins
        self.constraints = tuple(x for robot in scene.robots for x in robot.model.constraints)
        self.outputs = tuple(x for robot in scene.robots for x in robot.model.outputs)
        self.arms = _arms(layout)
        self.inputs, self.input_places = tuple(scene.inputs), scene.input_places
        names = [(f"{one.name}_1", f"{one.name}_2") if one.mu > 0.0 else () for one in found]
        self.gaps = tuple(
            Gap(one.name, "m", slips=slips, limited=one.shapes is not None, slides=bool(slips), by_rate=True)
            for one, slips in zip(found, names, strict=True)
        )
        self.contacts = tuple(gap.name for gap in self.gaps)
        self.slips = tuple((c, slip) for c, gap in enumerate(self.gaps) for slip in gap.slips)
        check_signals(self.label, (*layout.signals, *self._contact_signals()))
        self._mu = np.array([one.mu if one.mu > 0.0 else np.inf for one in found])
        self.extents = tuple(c for c, gap in enumerate(self.gaps) if gap.limited)
        self._path_bounds = path_bounds(scene)
        paths = 0 if self._path_bounds is None else self._path_bounds.address
        self._link_bounds = link_bounds(scene, _links(scene, layout))
        nq, nv = layout.q.size, layout.v.size
        m = len(self.constraints) + len(self.gaps) + len(self.slips)
        inputs = {"q": nq, "v": nv, "t": 1, "u": len(self.inputs), "p": 1}
        of_rows = dict.fromkeys(("g", "rate", "drift", "partial"), (m, 1))
        outputs = {"free": (nv, 1), **of_rows, "power": (3, 1), "response": (nv, m), "W": (m, m)}
        outputs |= dict.fromkeys(("extent", "extent_rate"), (len(self.extents), 1))
        size = sum(rows * columns for rows, columns in outputs.values())
        links = 0 if self._link_bounds is None else self._link_bounds.address
        pairs = touching_of(found)
        self._changing = [(pair.one, pair.other) for pair in pairs]
        changing = candidate_tables(layout, pairs)
        candidates, features = changing[0], feature_tables(layout, found, changing[0])
        self.takes_over = np.zeros(len(found))
        for (begin, end), depth in zip(candidates.contacts, candidates.depth, strict=True):
            self.takes_over[begin:end] = depth
        self.tables = _tables(layout, features, changing, len(self.inputs), (paths, links), size, _told(scene))
        self._packed = Struct(self.tables)
        prepare((scene_kernel.dynamics, scene_kernel.signals, scene_kernel.tidy))
        self.dynamics = Kernel("dynamics of a scene", scene_kernel.dynamics.address, inputs, outputs, 0)
        told = {"energies": (2, 1), "y": (len(self.outputs), 1)}
        self.signals = Kernel("energies of a scene", scene_kernel.signals.address, inputs, told, 0)
        self.tidy = scene_kernel.tidy.address
        self.exchange = 0
        if self.extents:
            prepare((exchange,))
            self.exchange = exchange.address
        self.steady = layout.world.followers.size == 0 and all(robot.model.steady for robot in scene.robots)

    def _contact_signals(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the signals of all contacts, with what they belong to."""
        for x in self.constraints:
            yield from ((name, f"constraint '{x.name}'") for name in (x.name, f"{x.name}_dot", f"force_{x.name}"))
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

    def check_start(self, laws: Sequence[Law], q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> None:
        """Raise what is wrong with the start of a run: paths without a pose, and parts that are sunk in."""
        terms, nh = self.dynamics(q, v, 0.0, u, p), len(self.constraints)
        gaps = terms["g"][nh : nh + len(self.gaps)]
        fault = self._fault(0.0, u)
        if fault:
            raise bad_pose(self.scene, *fault)
        if nh:
            rows = {"h": terms["g"][:nh], "h_dot": terms["rate"][:nh], "H": self.tables.J[:nh]}
            check_constraints(f"start of {self.label}", self, rows)
        frames = np.stack([self.tables.features.ball_frame, self.tables.features.surface_frame])
        radius = self.layout.world.radius[frames].min(axis=0)
        nearest = self._with_overlaps(gaps)
        check_gaps(f"start of {self.label}", self.gaps, laws, nearest, start_tolerance(radius), radius, limited=False)

    def _with_overlaps(self, gaps: FloatArray) -> FloatArray:
        """Return the gaps of all contacts at the start; where two shapes overlap their first one is that deep."""
        candidates, found = self.tables.candidates, gaps.copy()
        first = {
            (min(a, b), max(a, b)): int(c) for (a, b), c in zip(self._changing, candidates.contacts[:, 0], strict=True)
        }
        if first:
            for point in near_points(self.layout, (self.tables.motion.at, self.tables.motion.axes), 0.0):
                c = first.get((min(point.shapes), max(point.shapes)))
                if c is not None:
                    found[c] = min(found[c], point.gap)
        return found

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

    def proof(self, p: FloatArray) -> Proof:
        """Return how its gaps are bounded along a step."""
        prepare((prove, trace_scene, bound_scene))
        return proof_of_scene(len(self.gaps), prove.address, trace_scene.address, bound_scene.address)

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
        """Return why a run fails at a time if a path has no pose there, or edges that meet no normal; else nothing."""
        fault, met = self._fault(t, u), int(self.tables.fault[2])
        if fault or met < 0:
            return lost_pose(self.scene, *fault, t) if fault else ""
        candidates = self.tables.candidates
        pair = int(np.searchsorted(candidates.first, met, side="right")) - 1
        one, other = (self.layout.frames[f] for f in candidates.frames[pair])
        return (
            f"at t = {t:g} s edges of {one} and {other} that are exactly parallel meet along their length, where they "
            "have no normal: turn one of the two by a millionth of a radian, or round it"
        )

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


def _tables(
    layout: Layout,
    features: Features,
    changing: tuple[Candidates, FloatArray, FloatArray],
    nu: int,
    bounds: tuple[int, int],
    size: int,
    told: Told,
) -> SceneTables:
    world = layout.world
    n, grips, robots, widest = world.kind.size, world.held.size, world.kernels.size, layout.widest
    nc, nh = features.radius.size, int(world.nh.sum())
    frames = np.stack([features.ball_frame, features.surface_frame], axis=1)
    owners = np.concatenate([np.arange(nc), np.repeat(np.arange(nc), np.diff(features.slips))])
    linked = world.kind == LINKED
    first, width = np.where(world.kind == FREE, world.speed, -1), np.where(world.kind == FREE, 6, 0)
    first[linked], width[linked] = world.first_v[world.robot[linked]], world.nv[world.robot[linked]]
    of_robots = np.repeat(np.arange(robots), world.nh)
    there = first[frames[owners]]
    there[features.form[owners] == NOTHING] = -1
    m = nh + owners.size
    return SceneTables(
        world=world,
        features=features,
        candidates=changing[0],
        sides=changing[1],
        spokes=changing[2],
        motion=Motion(
            at=world.at.copy(),
            axes=world.axes.copy(),
            velocity=np.zeros((n, 3)),
            spin=np.zeros((n, 3)),
            push=np.zeros((n, 3)),
            twist=np.zeros((n, 3)),
            torque=np.zeros((n, 3)),
            paths=np.zeros(PATH * int((world.kind == FOLLOWS).sum())),
            jacobian=np.zeros((n if robots else 0, 6, widest)),
            bias=np.zeros((n if robots else 0, 6)),
            robots=np.zeros(layout.buffer),
            factor=np.zeros((robots, widest, widest)),
            free=np.zeros(layout.v.size),
        ),
        grips=Grips(np.zeros((grips, 3)), np.tile(np.eye(3), (grips, 1, 1))),
        bodies=_rows(world.first_v[of_robots], there),
        width=_rows(world.nv[of_robots], width[frames[owners]]),
        J=np.zeros((m, 2 * widest)),
        X=np.zeros((m, 2 * widest)),
        normal=np.zeros((nc, 3)),
        surface=np.zeros((3, 3)),
        inertia=np.zeros((widest, widest)),
        relative=np.zeros((3, 3)),
        local=np.zeros((VECTORS, 3)),
        jets=np.zeros((JETS, 3, 3)),
        angle=np.zeros(2),
        hasten=np.zeros(2),
        along=np.zeros((2, 3)),
        block=np.stack([first, width], axis=1),
        unit=np.zeros(4),
        fault=np.array([-1.0, -np.inf, -1.0]),
        nq=layout.q.size,
        nv=layout.v.size,
        nu=nu,
        nh=nh,
        ne=int((features.form == NOTHING).sum()),
        ny=int(told.counts.sum()),
        widest=widest,
        size=size,
        path_bounds=bounds[0],
        moment=np.zeros(FIELDS),
        ranges=np.zeros(FIELDS * POSE * world.followers.size),
        links=LinkBounds(
            bounds=bounds[1],
            frames=np.flatnonzero(linked),
            paths=np.zeros((int(world.nq.sum()), RATE_SLACK + 1)),
            box=np.zeros(FIELDS * (int(world.nq.sum()) + 1)),
            ranges=np.zeros(FIELDS * POSE * int(linked.sum())),
        ),
        told=told,
    )


def _told(scene: Scene) -> Told:
    models = [robot.model for robot in scene.robots]
    kernels = [model.signals if model.outputs else None for model in models]
    sizes = np.array([0 if kernel is None else kernel.size for kernel in kernels], dtype=np.int64)
    return Told(
        kernels=np.array([0 if kernel is None else kernel.address for kernel in kernels], dtype=np.int64),
        sizes=sizes,
        counts=np.array([len(model.outputs) for model in models], dtype=np.int64),
        buffer=np.zeros(int(sizes.max(initial=0))),
    )


def _links(scene: Scene, layout: Layout) -> list[tuple[str, FloatArray]]:
    """Return the link that carries each linked part, and the part's place on it."""
    world = layout.world
    names = [robot.links for robot in scene.robots]
    return [(names[world.robot[f]][world.link[f]], world.at[f]) for f in np.flatnonzero(world.kind == LINKED)]


def _rows(of_constraints: IntegerArray, of_contacts: IntegerArray) -> IntegerArray:
    """Return a table of two numbers for each row: of constraints, which act on one block only, and of contacts."""
    alone = np.stack([of_constraints, np.full_like(of_constraints, -1)], axis=1)
    return np.ascontiguousarray(np.concatenate([alone, of_contacts.reshape(-1, 2)]))
