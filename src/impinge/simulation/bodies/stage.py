"""What a run of a scene writes to; allocated once, and enlarged when there are more contacts than room."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Integers, Matrix, Vector
from impinge.contact.coulomb.problem import Problem, Work, allocate
from impinge.geometry.broad import Grid, grid_space
from impinge.geometry.collide import Collisions, collisions
from impinge.geometry.table import MOST_POINTS, POINT_SIZE
from impinge.scene.paths import PATH
from impinge.scene.world import Layout, World
from impinge.simulation.results.extremes import KINDS, Extremes, extremes_of


class Rules(NamedTuple):
    """How a scene is stepped."""

    step: float
    restitution: float
    tolerance: float  # of the impulses: largest miss over the scale of an island
    budget: int  # most sweeps and Newton iterations for the impulses of one problem
    centered: int  # whether velocities are those in the middle of a step, see `smooth`
    solve: int  # addresses of large functions, each compiled once and only if it is needed
    look_around: int
    push: int
    part: int
    place_robots: int
    move_robots: int
    robot_energies: int
    hold_bodies: int
    note_grips: int


class Frames(NamedTuple):
    """Where everything is and how it moves, at one instant (n frames, m shapes)."""

    at: Matrix  # (n, 3)
    axes: Cube  # (n, 3, 3)
    velocity: Matrix  # (n, 3): of the origin
    spin: Matrix  # (n, 3): angular velocity, world axes
    bias: Matrix  # (n, 6): accelerations of links that are there without any force, J̇v
    jacobian: Cube  # (n, 6, widest): of linked frames, per velocity of their block; no rows without robots
    left: Matrix  # (n, 6): velocities of linked frames that their block's do not account for
    shape_at: Matrix  # (m, 3)
    shape_axes: Cube  # (m, 3, 3)
    paths: Vector
    robots: Vector  # what the kernels of the robots wrote


class RobotWork(NamedTuple):
    """Scratch of one robot at a time."""

    M: Matrix
    force: Vector
    H: Matrix
    c: Vector
    rhs: Vector
    reduced: Vector
    order: Integers


class Contacts(NamedTuple):
    """Contact points that may close within the step; capacity is the first dimension."""

    shapes: IntegerMatrix  # (…, 2)
    frames: IntegerMatrix  # (…, 2)
    point: Matrix  # (…, 9): as in `geometry.table`
    rub: Matrix  # (…, 3): where friction acts
    share: Vector  # (…,): of the load of its pair of shapes, as it was when friction was placed
    axes: Cube  # (…, 3, 3): normal and two tangents, row by row
    impulse: Matrix  # (…, 3): along these, of the step that ended
    expected: Vector  # (…,): gap where the rates of that step bring it
    bend: Vector  # (…,): how far below that it came in the last step; NaN if nobody looked
    given: Vector  # (…,): impulse of its pair of shapes since they began to push, at the first contact of the pair


class Stage(NamedTuple):
    """All of it."""

    world: World
    rules: Rules
    frames: Frames
    now: Contacts
    last: Contacts  # of the previous step
    used: Integers  # contacts now, contacts in the last step, near pairs, room asked for
    pairs: IntegerMatrix
    points: Matrix
    lo: Matrix  # bounds of the shapes
    hi: Matrix
    reach: Vector  # how far each frame's shapes may move within the step
    around: Vector  # the same for each shape
    grid: Grid
    collide: Collisions
    problem: Problem
    work: Work
    q: Vector
    v: Vector
    instant: Vector  # velocities of this instant, see `smooth`
    past: Matrix  # (2, nv): velocities one and two steps ago
    ahead: Matrix  # (blocks, 3): what gyroscopic torques change of each angular velocity after the contacts
    u: Vector
    command: Vector
    before: Matrix  # velocities of the blocks as the step begins, turned on to the instant of the contacts
    travel: Matrix  # velocities of the blocks along which positions move: v⁺, unless something is struck
    push: Matrix  # small displacements of the blocks
    pushed: Vector  # of each contact, what it contributed to them
    plain: Matrix  # impulses without restitution
    least: Vector  # of each contact, see `steps.impulses`
    leave: Vector
    smooth: Vector
    given: Vector  # of each island, see `steps.work`
    touched: Integers  # the step, of those that were computed, in which each block was last pushed
    asleep: Integers  # (frames,): a number of the island that sleeps, 0 if it does not
    quiet: Integers  # (frames,): 1 if it rests after this step, 2 if also before
    calm: Integers  # (blocks,): of islands, whether they rest
    kept: Integers  # of each contact, its place in the last step if its island sleeps, else −1
    match: Integers  # of each contact, its place in the last step if it was there, else −1
    grip: Matrix  # (grips, 6): wrench on each held body, holder's axes
    rest_at: Matrix  # (grips, 3): where the body's center of compliance rests, seen from the holder
    rest_axes: Cube  # (grips, 3, 3)
    grip_map: Cube  # (grips, 6, 6): from the body's velocities to the grip's
    grip_offset: Matrix  # (grips, 12): displacement, and the holder's own rate
    basis: Cube  # (robots, widest, widest): velocities of a robot per independent one
    offset: Matrix  # (robots, widest): what its constraints add
    robot_work: RobotWork
    robot_energy: Vector  # kinetic, potential
    local: Matrix  # scratch
    scratch: Matrix
    time: Vector  # TIME, ...
    counts: Integers  # STEPS, ...
    tally: Vector  # DEEPEST, ...
    extremes: Extremes  # of all contacts together, and of all constraints of robots
    worst: IntegerMatrix  # (KINDS, 2): frames of the contact that each extreme is of


# Indices into `used`, `time`, `counts` and `tally`.
NOW, LAST, PAIRS, ROOM = 0, 1, 2, 3
TIME, ROW_TIME, LENGTH, KICK, EARLIER = 0, 1, 2, 3, 4  # ..., step, time for which forces acted, and did before
STEPS, REST, SWEEPS, NEWTON, REPEATS, CORRECTIONS, TAKEN, MISSED, KEPT, MOVED = range(10)
DEEPEST, CREATED, WORK, LIFTED, RESIDUAL, LEAST_FORCE, MOST_FORCE, PRODUCT, GRIPPED, MISS = range(10)


def contacts_of(capacity: int) -> Contacts:
    """Allocate contact points."""
    return Contacts(
        shapes=np.zeros((capacity, 2), dtype=np.int64),
        frames=np.zeros((capacity, 2), dtype=np.int64),
        point=np.zeros((capacity, POINT_SIZE)),
        rub=np.zeros((capacity, 3)),
        share=np.zeros(capacity),
        axes=np.zeros((capacity, 3, 3)),
        impulse=np.zeros((capacity, 3)),
        expected=np.zeros(capacity),
        bend=np.zeros(capacity),
        given=np.zeros(capacity),
    )


def sized(layout: Layout, capacity: int, pairs: int) -> dict[str, Any]:
    """Return what depends on the room for contacts."""
    blocks = int(layout.world.block.max()) + 1
    problem, work = allocate(capacity, blocks, layout.widest)
    return {
        "now": contacts_of(capacity),
        "last": contacts_of(capacity),
        "pairs": np.zeros((pairs, 2), dtype=np.int64),
        "grid": grid_space(layout.world.shapes.kind.size, pairs),
        "pushed": np.zeros(capacity),
        "kept": np.full(capacity, -1),
        "match": np.full(capacity, -1),
        "plain": np.zeros((capacity, 3)),
        **{name: np.zeros(capacity) for name in ("least", "leave", "smooth", "given")},
        "problem": problem,
        "work": work,
    }


def stage_of(layout: Layout, rules: Rules, inputs: int) -> Stage:
    """Allocate everything for a run."""
    world, D = layout.world, layout.widest
    n, m, robots, grips = world.kind.size, world.shapes.kind.size, world.nv.size, world.held.size
    blocks, rows = int(world.block.max()) + 1, int(world.nh.max(initial=0))
    frames = Frames(
        at=np.zeros((n, 3)),
        axes=np.zeros((n, 3, 3)),
        velocity=np.zeros((n, 3)),
        spin=np.zeros((n, 3)),
        bias=np.zeros((n, 6)),
        jacobian=np.zeros((n if robots else 0, 6, D)),
        left=np.zeros((n, 6)),
        shape_at=np.zeros((m, 3)),
        shape_axes=np.zeros((m, 3, 3)),
        paths=np.zeros(PATH * world.followers.size),
        robots=np.zeros(layout.buffer),
    )
    return Stage(
        world=world,
        rules=rules,
        frames=frames,
        **sized(layout, 64 + 4 * m, 64 + 8 * m),
        used=np.zeros(4, dtype=np.int64),
        points=np.zeros((MOST_POINTS, POINT_SIZE)),
        lo=np.zeros((m, 3)),
        hi=np.zeros((m, 3)),
        reach=np.zeros(n),
        around=np.zeros(m),
        collide=collisions(world.shapes),
        q=layout.q.copy(),
        v=layout.v.copy(),
        instant=layout.v.copy(),
        past=np.zeros((2, layout.v.size)),
        ahead=np.zeros((blocks, 3)),
        u=np.zeros(inputs),
        command=np.zeros(inputs),
        before=np.zeros((blocks, D)),
        travel=np.zeros((blocks, D)),
        push=np.zeros((blocks, D)),
        touched=np.full(blocks, -1),
        asleep=np.zeros(n, dtype=np.int64),
        quiet=np.zeros(n, dtype=np.int64),
        calm=np.zeros(blocks, dtype=np.int64),
        grip=np.zeros((grips, 6)),
        rest_at=np.zeros((grips, 3)),
        rest_axes=np.zeros((grips, 3, 3)),
        grip_map=np.zeros((grips, 6, 6)),
        grip_offset=np.zeros((grips, 12)),
        basis=np.zeros((robots, D, D)),
        offset=np.zeros((robots, D)),
        robot_work=RobotWork(
            M=np.zeros((D, D)),
            force=np.zeros(D),
            H=np.zeros((rows, D)),
            c=np.zeros(rows),
            rhs=np.zeros(D),
            reduced=np.zeros(D),
            order=np.zeros(D, dtype=np.int64),
        ),
        robot_energy=np.zeros(2),
        local=np.zeros((8, max(D, 8))),
        scratch=np.zeros((D, D)),
        time=np.array([0.0, -np.inf, 0.0, rules.step, rules.step]),
        counts=np.zeros(10, dtype=np.int64),
        tally=np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf, 0.0, 0.0, 0.0, 0.0]),
        extremes=extremes_of(1, 0),
        worst=np.zeros((KINDS, 2), dtype=np.int64),
    )
