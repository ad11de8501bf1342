"""One time step of a scene, and the loop over steps.

    frames and contacts where the step begins; bodies that sank in are moved apart
    v⁻ ← smooth forces;  p ← impulses of all contacts;  v⁺ = v⁻ + M⁻¹Jᵀp;  q⁺ = q moved along v⁺ for h
    if something was struck: p, v⁺ ← the whole impact at once, from v⁻

What touches, and is slower than the tolerance of the impulses resolves, rests, and may sleep (`rest`). A step that
changes nothing at all is the last that is computed, as long as nothing else changes: every further one would be the
same.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.solve import NO_ROOM as NO_ROOM_TO_SOLVE
from impinge.contact.coulomb.solve import SOLVED
from impinge.geometry.table import GAP
from impinge.simulation.bodies.frames import move, posed, set_frames, set_shapes
from impinge.simulation.bodies.log import EVENTS, SceneLog, add_events, add_row
from impinge.simulation.bodies.observe import note_contacts, note_depths
from impinge.simulation.bodies.rest import fall_asleep, find_quiet, keep_impulses, wake_all
from impinge.simulation.bodies.smooth import set_velocities, smooth_velocities, turn_on
from impinge.simulation.bodies.stage import (
    CORRECTIONS,
    CREATED,
    DEEPEST,
    EARLIER,
    KICK,
    LEAST_FORCE,
    LENGTH,
    MISS,
    MISSED,
    MOST_FORCE,
    MOVED,
    NEWTON,
    NOW,
    PRODUCT,
    REPEATS,
    RESIDUAL,
    REST,
    ROOM,
    STEPS,
    SWEEPS,
    TAKEN,
    WORK,
    Stage,
)
from impinge.simulation.bodies.touching.touch import deepest, keep, set_reach
from impinge.simulation.events.instant import DONE, FULL, NOT_FINITE, UNSOLVED
from impinge.simulation.steps.loop import Course, go_on
from impinge.simulation.steps.work import created_of, rate_of, work_of

NO_ROOM = 10  # for contacts
NO_POSE = 11  # of a path or a link

FASTEST = 1e100  # a velocity beyond which nothing is finite any more
_SUNK = 1e-5  # m: what moving apart has left deeper than this is no rounding of a miss
_REPEATS = 5  # of a step whose bodies went farther than was looked
_TIMES, _ACCEPTED = 10.0, 1e-2  # times the tolerance, and share of the scale, by which a step may miss the law


@jit
def _accepted(s: Any) -> bool:
    """Tell whether a step that was not solved is used all the same: it misses little, and nothing sank in by that."""
    share = max(_TIMES * s.rules.tolerance, _ACCEPTED)  # of the scale of an island
    return s.work.residual[3] <= share and deepest(s) >= -_SUNK


@jit
def _outran(world: Any, s: Any, h: float) -> bool:
    """Tell whether a body will move farther than contacts were looked for; then look that far."""
    far = False
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            v = s.travel[world.block[f]]
            speed = (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) ** 0.5
            speed += world.radius[f] * (v[3] ** 2 + v[4] ** 2 + v[5] ** 2) ** 0.5
            if h * speed > s.reach[f]:
                s.reach[f] = 2.0 * h * speed
                far = True
    return far


@jit
def _note_miss(s: Any) -> None:
    """Keep by how much the step misses the law of its contacts, and count it if that is more than the tolerance."""
    s.tally[RESIDUAL] = max(s.tally[RESIDUAL], s.work.residual[0])
    s.tally[MISS] = max(s.tally[MISS], s.work.residual[3])
    s.counts[MISSED] += s.work.residual[3] > s.rules.tolerance


@jit
def _note(s: Any, h: float, kick: float) -> None:
    """Keep the extremes of the step for the certificate."""
    problem, tally = s.problem, s.tally
    note_contacts(s, kick)
    for c in range(s.used[NOW]):
        gap, force = s.now.point[c, GAP], problem.impulse[c, 0] / kick
        s.now.expected[c] = gap + h * (rate_of(problem, c, 0, s.travel) + problem.bias[c, 0] - s.pushed[c])
        if force > 0.0:
            for side in range(2):
                if problem.body[c, side] >= 0:
                    s.touched[problem.body[c, side]] = s.counts[TAKEN]
            tally[LEAST_FORCE] = min(tally[LEAST_FORCE], force)
            tally[MOST_FORCE] = max(tally[MOST_FORCE], force)
            tally[PRODUCT] = max(tally[PRODUCT], abs(gap * force))
    tally[WORK] += work_of(s, s.before)
    tally[CREATED] = max(tally[CREATED], created_of(s))
    _note_miss(s)
    s.counts[SWEEPS] += s.work.counts[0]
    s.counts[NEWTON] += s.work.counts[1]


@jit
def _advance(world: Any, s: Any, h: float) -> bool:
    """Let everything have v⁺, and move it along ``travel``; return whether nothing changed at all."""
    still = True
    for f in range(world.kind.size):
        if world.place[f] < 0 or s.asleep[f] != 0:
            continue
        b, speed, rested = world.block[f], world.speed[f], s.quiet[f] != 0
        for i in range(6):
            value = 0.0 if s.quiet[f] != 0 else s.problem.v[b, i]
            rested &= s.v[speed + i] == 0.0
            s.past[1, speed + i], s.past[0, speed + i] = s.past[0, speed + i], s.v[speed + i]
            s.v[speed + i] = value
        still &= rested
        if s.quiet[f] == 0:
            turn_on(world, s, f, s.v[speed + 3 : speed + 6], h)
            move(world, s, f, s.travel[b], h)
        elif rested:
            s.quiet[f] = 2
    return still


@jit
def _same_impulses(s: Any) -> bool:
    """Tell whether contacts and impulses are those of the last step, to the last bit."""
    if s.used[0] != s.used[1]:
        return False
    for c in range(s.used[NOW]):
        for r in range(3):
            if s.problem.impulse[c, r] != s.last.impulse[c, r]:
                return False
    return True


@jit
def _finite(velocities: Any) -> bool:
    """Tell whether the velocities of all blocks are numbers that a step can move along."""
    for b in range(velocities.shape[0]):
        for j in range(velocities.shape[1]):
            if not abs(velocities[b, j]) < FASTEST:
                return False
    return True


@jit
def take_step(world: Any, s: Any, log: Any, t: float, h: float, end: float) -> int:
    """Take one step, which ends when the clock says ``end``.

    The stage's state is that at its end if the status is DONE, else still that at its start.
    """
    set_frames(world, s, t)
    if s.rules.place_robots != 0:
        ask(s.rules.place_robots, (s, h))
    if not posed(world, s):
        return NO_POSE
    set_shapes(world, s)
    set_reach(world, s, h)
    problem, corrections = s.problem, s.counts[CORRECTIONS]
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            for i in range(6):
                s.before[world.block[f], i] = s.v[world.speed[f] + i]
    kick = 0.5 * (s.time[LENGTH] + h) if s.rules.centered != 0 else h
    if h != s.time[LENGTH] or kick != s.time[KICK]:
        wake_all(world, s)
    smooth_velocities(world, s, kick, h)
    if s.rules.hold_bodies != 0:
        ask(s.rules.hold_bodies, (s, h))
    if not _finite(problem.free):
        return NOT_FINITE
    for _ in range(_REPEATS):
        if ask(s.rules.look_around, (s, h)) == 0:
            return NO_ROOM
        note_depths(s)
        s.tally[DEEPEST] = max(s.tally[DEEPEST], -deepest(s))
        status = ask(s.rules.push, (s, h))
        if status == NO_ROOM_TO_SOLVE:
            s.used[ROOM] = 0
            return NO_ROOM
        if status != SOLVED and not _accepted(s):
            _note_miss(s)
            return UNSOLVED
        if not _outran(world, s, h):
            break
        s.counts[REPEATS] += 1
    if not _finite(problem.v):
        return NOT_FINITE
    keep_impulses(s)
    _note(s, h, kick)
    if s.rules.note_grips != 0:
        ask(s.rules.note_grips, (s, h))
    add_events(s, log, end)
    same = _same_impulses(s)
    find_quiet(world, s, h)
    still = _advance(world, s, h)
    fall_asleep(world, s, corrections)
    keep(s)
    if s.rules.move_robots != 0:
        ask(s.rules.move_robots, (s, h))
    s.time[EARLIER], s.time[KICK], s.time[LENGTH] = s.time[KICK], kick, h
    s.counts[STEPS] += 1
    s.counts[TAKEN] += 1
    s.counts[MOVED] = 1
    s.counts[REST] = 1 if still and same and world.paths == 0 and world.kernels.size == 0 else 0
    return DONE


@entry
def ready(s: Stage, log: SceneLog, t: float, due: int) -> int:
    """Move apart what the last step has left in each other, and record the row of t if it is due."""
    if s.counts[MOVED] != 0:
        if ask(s.rules.part, (s, s.time[LENGTH])) == 0:
            return NO_ROOM
        s.counts[MOVED] = 0
    if log.used[EVENTS] + 2 * s.now.shapes.shape[0] > log.events.shape[0]:
        return FULL
    return FULL if due != 0 and not add_row(s.world, s, log, t) else DONE


@entry
def take(s: Stage, log: SceneLog, t: float, h: float, end: float) -> int:
    """Take a step, unless it would change nothing at all."""
    if s.counts[REST] == 0:
        return take_step(s.world, s, log, t, h, end)
    s.counts[STEPS] += 1
    return DONE


@entry
def hold(s: Stage, course: Course, log: SceneLog, stop: float, budget: int) -> int:
    """Step until a time; DONE, or why not."""
    status = go_on(s, course, log, stop, budget)
    if status == DONE:
        set_velocities(s.world, s)
    return status
