"""A run of a scene by time stepping: check it, step it, hand over the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct, prepare
from impinge.contact.coulomb.problem import UNLIMITED, enlarge, parts
from impinge.contact.coulomb.solve import solve
from impinge.contact.laws.complementarity import SCHEMES, Complementarity
from impinge.errors import InputError, StartError
from impinge.geometry.rotation import EXACT
from impinge.geometry.table import GAP
from impinge.model import values_of
from impinge.scene.faults import bad_pose, lost_pose, pose_fault
from impinge.scene.names import grip_signals
from impinge.scene.scene import Scene
from impinge.scene.world import FOLLOWS, FREE, LINKED, Layout, layout_of
from impinge.simulation.bodies.assemble import SceneResult, assemble
from impinge.simulation.bodies.frames import LOOSE
from impinge.simulation.bodies.grips import hold_bodies, note_grips, rest_grips
from impinge.simulation.bodies.log import CONTACT, CONTACTS, EVENT, EVENTS, EXTRAS, ROWS, SceneLog
from impinge.simulation.bodies.outputs import Outputs
from impinge.simulation.bodies.robots import move_robots, place_robots, robot_energies
from impinge.simulation.bodies.stage import (
    NOW,
    REST,
    ROOM,
    TIME,
    Rules,
    sized,
    stage_of,
)
from impinge.simulation.bodies.start import find_start, part_start, prepare_start, record_now
from impinge.simulation.bodies.step import FASTEST, NO_POSE, NO_ROOM, hold, ready, take
from impinge.simulation.bodies.touching.correct import SLOP
from impinge.simulation.bodies.touching.infeasible import contradiction
from impinge.simulation.bodies.touching.part import part
from impinge.simulation.bodies.touching.push import push
from impinge.simulation.bodies.touching.touch import look_around
from impinge.simulation.check import check_constraints, start_tolerance
from impinge.simulation.clock import Controller
from impinge.simulation.conduct import BUDGET, Run
from impinge.simulation.events.instant import NOT_FINITE, UNSOLVED
from impinge.simulation.steps.loop import Course

FloatArray = NDArray[np.float64]

_DEFAULT_SAMPLES = 500
_NAMED = 5  # contacts in a message
_RESOLVED = 1e-5  # m: parts that overlap by no more than this at the start are moved apart


class SceneRun(Run):
    """One run of a scene in progress."""

    def __init__(
        self,
        scene: Scene,
        layout: Layout,
        rules: Rules,
        u: FloatArray,
        spacing: float,
        progress: Callable[[float], None] | None,
    ) -> None:
        names = [name for name, _ in (*layout.coordinates, *layout.velocities)]
        grips = [name for grip in scene.grips for name in grip_signals(grip.body)]
        self.outputs = Outputs(scene, layout)
        super().__init__(scene, [*names, *grips, *(name for name, _ in self.outputs.names)], progress)
        self.scene, self.layout = scene, layout
        self.stage = stage_of(layout, rules, u.size)
        self.u, self.command = self.stage.u, self.stage.command
        self.u[:] = u
        width = 1 + layout.q.size + layout.v.size + u.size + EXTRAS + 6 * len(scene.grips)
        tables = np.zeros((1024, width)), np.zeros((4096, CONTACT)), np.zeros((1024, EVENT))
        self.log = SceneLog(*tables, np.zeros(3, dtype=np.int64))
        time, rows = self.stage.time, np.zeros(1, dtype=np.int64)
        self.course = Struct(Course(ready.address, take.address, rules.step, spacing, time, rows))
        self._pack()

    def _pack(self) -> None:
        self.packed, self.packed_log = Struct(self.stage), Struct(self.log)

    def _enlarge(self, contacts: int, pairs: int) -> None:
        """Make room for more contacts; what the last step left is kept."""
        old, parts = self.stage, sized(self.layout, contacts, pairs)
        for name in ("now", "last"):
            for new, array in zip(parts[name], getattr(old, name), strict=True):
                new[: len(array)] = array
        parts["problem"].mass[:], parts["problem"].inverse[:] = old.problem.mass, old.problem.inverse
        self.stage = old._replace(**parts)
        self._pack()

    def settle_room(self, act: Callable[[], int]) -> int:
        """Do something that may need more room for contacts until it has it."""
        while (status := act()) == NO_ROOM:
            if self.stage.used[ROOM] == 0:  # it is the solver that needs it
                self.stage = self.stage._replace(work=enlarge(self.stage.work))
                self._pack()
                continue
            asked, contacts, pairs = int(self.stage.used[ROOM]), len(self.stage.now.point), len(self.stage.pairs)
            self._enlarge(max(2 * contacts, asked), max(2 * pairs, asked))
        return status

    @property
    def time(self) -> float:
        """How far it is, s."""
        return float(self.stage.time[TIME])

    def start(self) -> None:
        """Find the contacts of the start; raise what is wrong with it."""
        prepare_start(self.packed)
        if self.settle_room(lambda: int(find_start(self.packed))) == NO_POSE:
            frame, fault = self._unposed()
            raise bad_pose(self.scene, self.layout.frames[frame], fault)
        self._refuse_overlap(_RESOLVED, "")
        if self.stage.now.point[: self.stage.used[NOW], GAP].min(initial=0.0) < -SLOP:
            self.settle_room(lambda: int(part_start(self.packed)))
            self._refuse_overlap(2.0 * SLOP, ", and no motion of theirs parts them")
        if self.scene.grips:
            rest_grips(self.packed.address, 0.0)

    def _refuse_overlap(self, most: float, why: str) -> None:
        """Raise an error if two parts overlap by more than so many meters, less if they are small."""
        count, now = int(self.stage.used[NOW]), self.stage.now
        pairs = now.frames[:count]
        beyond = now.point[:count, GAP] + start_tolerance(self.layout.world.radius[pairs].min(axis=1), most)
        if count and beyond.min() < 0.0:
            worst = int(np.argmin(beyond))
            one, other = (self.layout.frames[int(f)] for f in pairs[worst])
            raise StartError(
                f"scene '{self.scene.name}'",
                "parts that do not overlap at the start",
                f"'{one}' and '{other}' overlapping by {-now.point[worst, GAP]:.3g} m{why}",
                "Move one of them, or let them pass with ignore(...).",
            )

    def _unposed(self) -> tuple[int, str]:
        """Return the first frame of a path or link that has no pose now, and what is wrong with it."""
        kind, frames = self.layout.world.kind, self.stage.frames
        for f in np.flatnonzero((kind == FOLLOWS) | (kind == LINKED)):
            tolerance = EXACT if kind[f] == FOLLOWS else LOOSE
            fault = pose_fault(frames.at[f], frames.axes[f], frames.velocity[f], frames.spin[f], tolerance)
            if fault:
                return int(f), fault
        raise AssertionError("every frame has a pose")

    def _racing(self) -> str:
        """Return what can be pushed and has velocities that are not finite."""
        world, problem = self.layout.world, self.stage.problem
        names = [f"robot '{robot.name}'" for robot in self.scene.robots]
        names += [f"'{name}'" for name, kind in zip(self.layout.frames, world.kind, strict=True) if kind == FREE]
        for velocities in (problem.free, problem.v):
            racing = [name for name, v in zip(names, velocities, strict=True) if not (np.abs(v) < FASTEST).all()]
            if racing:
                break
        return ", ".join(racing[:_NAMED])

    def look(self) -> None:
        """Let ``seen`` be what sensors see of the start."""
        s = self.stage
        outputs = self.outputs.at(self.time, s.q, s.instant, s.u)
        self.seen = np.concatenate([self.layout.shown(s.q), s.instant, s.grip.ravel(), outputs])

    def begin(self, end: float) -> str:
        """Prepare the start."""
        return ""

    def hold(self, stop: float) -> int:
        """Go on until a time, at most `BUDGET` steps."""
        self.u[:] = self.command
        self.stage.counts[REST] = 0
        course = self.course.address
        status = self.settle_room(
            lambda: hold.unchecked(self.packed.address, course, self.packed_log.address, stop, BUDGET)
        )
        self.look()
        return status

    def record(self) -> None:
        """Record this instant if it is not recorded yet."""
        while not record_now(self.packed, self.packed_log):
            self.grow()

    def grow(self) -> int:
        """Make room in the log; return the bytes of its largest table."""
        full = max(self.log.rows.nbytes, self.log.contacts.nbytes)
        used, changes, most = self.log.used, {}, len(self.stage.now.point)
        for k, name, room in ((ROWS, "rows", 1), (CONTACTS, "contacts", most), (EVENTS, "events", 2 * most + 1)):
            table = getattr(self.log, name)
            if used[k] + room > len(table):
                changes[name] = np.concatenate([table, np.zeros((max(len(table), room), table.shape[1]))])
        self.log = self.log._replace(**changes)
        self._pack()
        return full

    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""
        s = self.stage
        if status == NO_POSE:
            frame, fault = self._unposed()
            return lost_pose(self.scene, self.layout.frames[frame], fault, self.time)
        if status == NOT_FINITE:
            return (
                f"at t = {self.time:g} s the motion of {self._racing()} stopped being finite: "
                "check the scene near this state"
            )
        assert status == UNSOLVED
        closing, involved = contradiction(s.problem, s.work)
        if involved.size:
            return (
                f"at t = {self.time:g} s no velocities keep the gaps between {self._pairs(involved)} from closing, "
                f"by {closing:.2g} m/s at least, whatever the step: {self._remedy(involved)}"
            )
        count = int(s.used[NOW])
        worst = np.argsort(-s.problem.miss[:count])[:_NAMED]
        spent = int(s.work.counts[:2].sum()) >= s.rules.budget
        within = f" within a budget of {s.rules.budget} iterations" if spent else ""
        return (
            f"at t = {self.time:g} s the impulses of {count} contacts were not found{within}: the worst miss their law "
            f"by {float(s.problem.miss[worst[0]]):.2g} m/s, between {self._pairs(worst)}; "
            f"{'give a larger budget, ' if spent else ''}make the step shorter, or ask for a larger tolerance"
        )

    def _pairs(self, contacts: NDArray[np.int64]) -> str:
        """Return the pairs of parts of some contacts, each once."""
        frames = self.stage.now.frames
        named = dict.fromkeys(" and ".join(self.layout.frames[int(f)] for f in frames[c]) for c in contacts)
        return ", ".join(named)

    def _remedy(self, contacts: NDArray[np.int64]) -> str:
        """Say what to do about contacts that contradict each other, by the parts that nothing can push."""
        kind, frames = self.layout.world.kind, self.stage.now.frames[contacts].ravel()
        moved = dict.fromkeys(self.layout.frames[int(f)] for f in frames if kind[f] == FOLLOWS)
        still = dict.fromkeys(self.layout.frames[int(f)] for f in frames if kind[f] not in (FOLLOWS, FREE, LINKED))
        if moved:
            return f"change the paths of {', '.join(moved)}, or let forces drive them"
        return f"move {', '.join(still)} apart" if still else "check the constraints of the robots"


def rules_of(scene: Scene, law: Complementarity) -> Rules:
    """Return how a scene is stepped under a law; what it does not need is not compiled."""
    prepare(
        (hold, ready, take, prepare_start, find_start, part_start, record_now, look_around, push, part, solve, *parts())
    )
    if scene.robots:
        prepare((place_robots, move_robots, robot_energies))
    if scene.grips:
        prepare((hold_bodies, note_grips, rest_grips))
    return Rules(
        step=float(law.step),
        restitution=float(law.restitution),
        tolerance=float(law.tolerance),
        budget=int(min(law.budget, UNLIMITED)),
        centered=int(not scene.robots and not scene.grips),
        solve=solve.address,
        look_around=look_around.address,
        push=push.address,
        part=part.address,
        place_robots=place_robots.address if scene.robots else 0,
        move_robots=move_robots.address if scene.robots else 0,
        robot_energies=robot_energies.address if scene.robots else 0,
        hold_bodies=hold_bodies.address if scene.grips else 0,
        note_grips=note_grips.address if scene.grips else 0,
    )


def _check_robots(scene: Scene, layout: Layout, q: FloatArray, v: FloatArray, u: FloatArray) -> None:
    """Raise the error that fits if a robot does not start on its constraints."""
    world = layout.world
    for r, robot in enumerate(scene.robots):
        model, places = (
            robot.model,
            zip((world.first_q, world.first_v, world.first_u), (world.nq, world.nv, world.nu), strict=True),
        )
        own = [slice(int(first[r]), int(first[r] + size[r])) for first, size in places]
        terms = model.terms_at(q[own[0]], v[own[1]], 0.0, u[own[2]], robot.parameters)
        check_constraints(f"start of robot '{robot.name}' of scene '{scene.name}'", model, terms)


def simulate_scene(
    scene: Scene,
    law: Any,
    until: float,
    start: Mapping[str, float],
    inputs: Mapping[str, float],
    controllers: Sequence[Controller],
    sample: float | None,
    progress: Callable[[float], None] | None,
) -> SceneResult:
    """Simulate a scene in time steps; see `impinge.simulate`."""
    who = f"simulation of scene '{scene.name}'"
    if not isinstance(law, Complementarity) or law.scheme != SCHEMES[0]:
        remedy = "Give e.g. Complementarity(step=1e-3)."
        raise InputError(who, "the law Complementarity, semi-implicit", repr(law), remedy)
    spacing = max(float(law.step), until / _DEFAULT_SAMPLES) if sample is None else sample
    layout = layout_of(scene)
    x = values_of(who, "start value", [one for group in layout.start for one in group], start)
    q, v = layout.hidden(x[: layout.q.size]), x[layout.q.size :]
    u = values_of(who, "input", scene.inputs, inputs)
    _check_robots(scene, layout, q, v, u)
    rules = rules_of(scene, law)
    run = SceneRun(scene, layout, rules, u, spacing, progress)
    run.stage.q[:], run.stage.v[:] = q, v
    run.stage.instant[:], run.stage.past[:] = v, v
    run.start()
    reason = run.through(until, list(controllers))
    return assemble(scene, layout, run.outputs, run.stage, run.log, reason)
