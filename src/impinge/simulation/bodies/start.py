"""The start of a run: frames that never move, resting grips, and the contacts that are there."""

from __future__ import annotations

from impinge.compile import ask, entry
from impinge.contact.coulomb.sweeps import prepare
from impinge.scene.world import FREE
from impinge.simulation.bodies.frames import posed, set_frames, set_shapes
from impinge.simulation.bodies.log import SceneLog, add_row
from impinge.simulation.bodies.smooth import plain_inertia
from impinge.simulation.bodies.stage import GRIPPED, LIFTED, TIME, Stage
from impinge.simulation.bodies.step import NO_POSE, NO_ROOM
from impinge.simulation.bodies.touching.correct import SLOP, correct
from impinge.simulation.bodies.touching.touch import deepest, set_reach
from impinge.simulation.events.instant import DONE

_ROUNDS = 100  # of moving apart what starts sunk in


@entry
def prepare_start(s: Stage) -> None:
    """Write what stays as it is: standing frames, inertias, sizes, and the grips at rest."""
    world, frames = s.world, s.frames
    for f in range(world.kind.size):
        for i in range(3):
            frames.at[f, i] = world.at[f, i]
            for j in range(3):
                frames.axes[f, i, j] = world.axes[f, i, j]
        if world.kind[f] == FREE:
            plain_inertia(world, s, f)
    set_frames(world, s, 0.0)


@entry
def find_start(s: Stage) -> int:
    """Find the contacts of the start."""
    world = s.world
    set_frames(world, s, s.time[TIME])
    if s.rules.place_robots != 0:
        ask(s.rules.place_robots, (s, 0.0))
    if not posed(world, s):
        return NO_POSE
    set_shapes(world, s)
    set_reach(world, s, 0.0)
    return DONE if ask(s.rules.look_around, (s, 0.0)) != 0 else NO_ROOM


@entry
def part_start(s: Stage) -> int:
    """Move bodies apart that start sunk in by little, until they are; DONE, or NO_ROOM.

    The run starts where this leaves them: nothing of it counts as work, or as a correction.
    """
    world, step = s.world, s.rules.step
    for _ in range(_ROUNDS):
        set_frames(world, s, s.time[TIME])
        if s.rules.place_robots != 0:
            ask(s.rules.place_robots, (s, step))
        set_shapes(world, s)
        set_reach(world, s, 0.0)
        if ask(s.rules.look_around, (s, 0.0)) == 0:
            return NO_ROOM
        if deepest(s) >= -SLOP:
            break
        prepare(s.problem, s.work)
        correct(world, s)
    s.tally[GRIPPED] = s.tally[LIFTED] = 0.0
    return DONE


@entry
def record_now(s: Stage, log: SceneLog) -> bool:
    """Record this instant if it is not recorded yet; return False if there is no room."""
    return add_row(s.world, s, log, s.time[TIME])
