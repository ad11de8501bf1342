"""What the simulator asks of one contact: its law, where its surface ends, and its friction.

A surface with an end (an edge, a gate) has an extent, positive where the surface is. A contact that is
closed where the extent falls through zero, or whose gap closes beyond it, is Passed: no force acts, and its
law is not asked, until the gap is open again.

A contact with friction that is closed sticks, in its law's mode, or is Sliding: its law then goes on as in the
mode that it closes in, for the gap alone.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, inlined, jit
from impinge.contact import friction
from impinge.contact.law import (
    DRAG,
    EXTENT,
    GAP,
    GRIP,
    GUARDS,
    NORMAL,
    NOTHING,
    PARTS,
    SLOW,
    TANGENT,
    TOUCHING,
    watching,
)
from impinge.contact.law import FORCE as GIVEN
from impinge.simulation.results.extremes import OPEN, WORST, keep
from impinge.simulation.system.bristles import bristle_forces, bristle_mode, releases_at
from impinge.simulation.system.plant import FORCE, JAMMED, PRESS, RATE, TIME, VALUE, Plant, Workspace

PASSED, SLIDING = "Passed", "Sliding"


@inlined
def prescribe(plant: Plant, w: Workspace, c: int, mode: int, gap: float, rate: float) -> None:
    """Write what a contact in a mode prescribes for its gap and slips into ``w.prescribed`` and ``w.value``."""
    i, m = plant.nh + c, plant.nh + plant.nc
    if plant.ne > 0 and mode == plant.passed[c]:
        w.prescribed[i], w.value[i] = GIVEN, 0.0
        for s in range(plant.slips[c], plant.slips[c + 1]):
            w.prescribed[m + s], w.value[m + s] = GIVEN, 0.0
        return
    slides = plant.nt > 0 and mode == plant.sliding[c]
    own = plant.closing[c] if slides else mode
    w.prescribed[i] = ask(plant.prescribe[c], (own, NORMAL, gap, rate, plant.gains[c], w.value[i:]))
    if plant.ns == 0:
        return
    first, last = plant.slips[c], plant.slips[c + 1]
    if plant.nb > 0 and plant.bristled[c] != 0:
        bristle_forces(plant, w, c, own, slides, w.value[i])
        return
    if slides:
        friction.drag(plant.mu[c], w.rows[RATE, m:], w.direction, first, last, w.value[m:])
        for s in range(first, last):
            w.prescribed[m + s] = DRAG
        return
    # What friction holds stands still, and is not drawn back: feet of one body would contradict each other.
    held = sticks_rigidly(plant, c)
    drawn = plant.closed[c, w.mode[c]] != 0 and not held
    for s in range(first, last):
        slip = w.rows[VALUE, m + s] - w.anchor[s] if drawn else 0.0
        rate = 0.0 if held else w.rows[RATE, m + s]
        arguments = (mode, TANGENT, slip, rate, plant.gains[c], w.value[m + s :])
        w.prescribed[m + s] = ask(plant.prescribe[c], arguments)


@jit
def prescribe_again(plant: Plant, w: Workspace, c: int, mode: int, gap: float, rate: float) -> None:
    """Do what `prescribe` does, as a function of its own: for what is asked now and then."""
    prescribe(plant, w, c, mode, gap, rate)


@jit
def sticks_rigidly(plant: Plant, c: int) -> bool:
    """Tell whether a contact may slide, and is held where it is while it does not."""
    return plant.sliding[c] >= 0 and plant.bristled[c] == 0


@jit
def closing_mode(plant: Plant, w: Workspace, c: int) -> int:
    """Return the mode in which a contact would be if it were closed at the state just evaluated.

    Where it would slide, its direction is set to that of its slip rate.
    """
    if plant.nt == 0 or not sticks_rigidly(plant, c):
        return plant.closing[c]
    if plant.closed[c, w.mode[c]] != 0:
        return w.mode[c]
    rates = w.rows[RATE, plant.nh + plant.nc :]
    first, last = plant.slips[c], plant.slips[c + 1]
    if friction.length(rates, first, last) <= friction.CREEP:
        return plant.closing[c]
    friction.aim(rates, w.direction, first, last, friction.CREEP)
    w.begins[c] = 0
    return plant.sliding[c]


@jit
def along_direction(plant: Plant, w: Workspace, rows: Any, c: int) -> float:
    """Return the slip rate of a contact that slides along its direction; one that has just begun may lag."""
    rates = rows[RATE, plant.nh + plant.nc :]
    lag = friction.LAG if w.begins[c] != 0 else 0.0
    return friction.along(rates, w.direction, plant.slips[c], plant.slips[c + 1]) + lag


@jit
def grip(plant: Plant, w: Workspace, rows: Any, c: int) -> float:
    """Return what friction can still hold, or the speed of what slides, as a guard: scaled to TOUCHING."""
    mode = w.mode[c]
    if plant.sliding[c] < 0 or plant.closed[c, mode] == 0:
        return 1.0
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    slides, limit = mode == plant.sliding[c], plant.mu[c] * rows[FORCE, i]
    if plant.bristled[c] != 0:
        limit = releases_at(plant, c, limit) if slides else limit
        spare = (limit - friction.length(rows[PRESS, m:], first, last)) * (TOUCHING / NOTHING)
        return -spare if slides else spare
    if slides:
        return along_direction(plant, w, rows, c) * (TOUCHING / SLOW)
    return (limit - friction.length(rows[FORCE, m:], first, last)) * (TOUCHING / NOTHING)


@jit
def creep(plant: Plant, w: Workspace, rows: Any, c: int) -> float:
    """Return how far what sticks is from slipping, as a guard: where feet contradict each other one must give."""
    if plant.closed[c, w.mode[c]] == 0 or w.mode[c] == plant.sliding[c] or not sticks_rigidly(plant, c):
        return 1.0
    speed = friction.length(rows[RATE, plant.nh + plant.nc :], plant.slips[c], plant.slips[c + 1])
    return (friction.HELD - speed) * (TOUCHING / SLOW)


@inlined
def guard_count(plant: Plant) -> int:
    """Return how many guards a contact has: its law's, one for the end of its surface, two for its friction."""
    return GUARDS + (1 if plant.ne > 0 else 0) + (2 if plant.nt > 0 else 0)


@inlined
def grip_guard(plant: Plant) -> int:
    """Return where the guard of friction stands among a contact's; behind it the one of `creep`."""
    return GUARDS + 1 if plant.ne > 0 else GUARDS


@inlined
def guards(
    plant: Plant,
    c: int,
    mode: int,
    gap: float,
    rate: float,
    force: float,
    extent: float,
    hold: float,
    held: float,
    values: Any,
) -> int:
    """Write the parts of a contact's guards: its law's, then of its surface's end, of its grip and of its creep.

    Return what they watch, WATCH_BITS each.
    """
    watched: Any = 0
    if plant.nt > 0:
        k = PARTS * grip_guard(plant)
        values[k], values[k + PARTS] = hold, held
        watched += watching(k, GRIP) + watching(k + PARTS, GRIP)
    k = PARTS * GUARDS
    if plant.ne > 0 and mode == plant.passed[c]:
        values[k] = -gap
        watched += watching(k, GAP)
        if plant.takes_over[c] > 0.0:
            values[0] = -extent
            watched += watching(0, EXTENT)
        return watched
    own = plant.closing[c] if plant.nt > 0 and mode == plant.sliding[c] else mode
    watched += ask(plant.guard[c], (own, gap, rate, force, plant.gains[c], values))
    if plant.ne > 0 and plant.extent[c] >= 0:
        values[k], values[k + 1] = extent, gap
        watched += watching(k, EXTENT)
        if plant.closed[c, mode] == 0:
            watched += watching(k + 1, GAP)
    return watched


@jit
def _emerges(plant: Plant, rows: Any, c: int) -> bool:
    """Tell whether the surface of a contact that is Passed has begun where it touches: it may take a load over."""
    if plant.takes_over[c] == 0.0 or rows[VALUE, plant.extent[c]] <= 0.0:
        return False
    return -plant.takes_over[c] < rows[VALUE, plant.nh + c] <= TOUCHING


@jit
def emerge(plant: Plant, w: Workspace, rows: Any) -> None:
    """Let contacts be free that may take a load over from others, before anything is struck."""
    for c in range(plant.nc):
        if plant.ne > 0 and w.mode[c] == plant.passed[c] and _emerges(plant, rows, c):
            w.mode[c] = 0
            if plant.restitution[c] >= 0.0 and rows[RATE, plant.nh + c] < 0.0:  # rigid ones have no depth to take over
                keep(w.extremes.table[c], WORST, OPEN, -rows[VALUE, plant.nh + c], w.time[TIME])


@jit
def decide(plant: Plant, w: Workspace, rows: Any, c: int, fired: int) -> int:
    """Return the mode that a contact should be in, for rows given at one instant and the guards that fell."""
    i, mode = plant.nh + c, w.mode[c]
    gap = rows[VALUE, i]
    if plant.ne > 0 and plant.extent[c] >= 0:
        if mode == plant.passed[c]:
            return 0 if gap > TOUCHING or _emerges(plant, rows, c) else mode
        fell, beyond = fired & (1 << GUARDS) != 0, rows[VALUE, plant.extent[c]] <= 0.0
        if plant.closed[c, mode] != 0 and (fell or beyond):
            return plant.passed[c] if gap <= TOUCHING else 0
        if (beyond and gap <= 0.0) or (fell and gap <= TOUCHING):
            return plant.passed[c]
    own = plant.closing[c] if plant.nt > 0 and mode == plant.sliding[c] else mode
    chosen = ask(plant.decide[c], (own, gap, rows[RATE, i], rows[PRESS, i], plant.gains[c], fired))
    if not 0 <= chosen < plant.modes[c]:  # its law has no such mode: the run ends here
        w.counts[JAMMED] = -1 - c
        return mode
    if plant.nt > 0 and plant.sliding[c] >= 0 and plant.closed[c, chosen] != 0:
        fell = fired & (1 << grip_guard(plant)) != 0
        if plant.bristled[c] != 0:
            return bristle_mode(plant, w, rows, c, chosen, fell)
        return _stick_or_slide(plant, w, rows, c, chosen, fell)
    return plant.sliding[c] if _may_turn(plant, w, c, chosen) else chosen


@jit
def _may_turn(plant: Plant, w: Workspace, c: int, chosen: int) -> bool:
    """Tell whether a contact that would open slid until this instant: sticking takes a pull, but not the way back."""
    if plant.nt == 0 or not sticks_rigidly(plant, c) or plant.closed[c, chosen] != 0:
        return False
    return w.mode[c] == plant.closing[c] and w.left_mode[c] == plant.sliding[c] and w.turned[c] == 0


@jit
def _stick_or_slide(plant: Plant, w: Workspace, rows: Any, c: int, chosen: int, fell: bool) -> int:
    """Return the mode that its law has chosen for a closed contact if it sticks, else Sliding."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    rates, mode = rows[RATE, m:], w.mode[c]
    speed = friction.length(rates, first, last)
    if plant.closed[c, mode] == 0:  # one that has tried to stick here, and opened again, slides from its stand
        return plant.sliding[c] if speed > friction.CREEP or (w.begins[c] != 0 and w.turned[c] != 0) else chosen
    if mode == plant.sliding[c]:
        stops = friction.stops(rates, rows[PRESS, m:], w.direction, first, last, fell)
        return chosen if stops else mode
    if speed >= friction.HELD or friction.length(rows[PRESS, m:], first, last) > 0.0:
        return plant.sliding[c]
    held = friction.length(rows[FORCE, m:], first, last)
    return plant.sliding[c] if fell or held > plant.mu[c] * rows[FORCE, i] + NOTHING else chosen


@jit
def change(plant: Plant, w: Workspace, c: int, mode: int) -> None:
    """Change a contact's mode; slip counts from where it closes or stops, and sliding has a direction."""
    m, first, last = plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    opened = plant.closed[c, w.mode[c]] == 0
    if plant.nb > 0 and plant.bristled[c] != 0:
        if opened and plant.closed[c, mode] != 0:
            for s in range(first, last):
                w.y[plant.nq + plant.nv + plant.nc + plant.nt + s] = 0.0
        w.mode[c] = mode
        return
    slides = plant.nt > 0 and mode == plant.sliding[c]
    if slides:
        speed = friction.length(w.rows[RATE, m:], first, last)
        if not opened and speed <= friction.CREEP:
            missing = friction.length(w.rows[PRESS, m:], first, last)
            if missing > 0.0:  # nothing can hold it: it goes where it must
                for s in range(first, last):
                    w.direction[s] = w.rows[PRESS, m + s] / missing
            elif w.turned[c] < 2:
                friction.yields(w.rows[FORCE, m:], w.direction, first, last)
            else:  # neither this way nor at all: the other way
                for s in range(first, last):
                    w.direction[s] = -w.direction[s]
            w.begins[c] = 1
            w.turned[c] += 1
        elif speed > friction.CREEP:
            friction.aim(w.rows[RATE, m:], w.direction, first, last, friction.CREEP)
            w.begins[c] = 0
        else:
            w.begins[c] = 1
    elif plant.closed[c, mode] == 0:
        w.turned[c] += plant.closed[c, w.mode[c]] != 0 and plant.closed[c, w.left_mode[c]] == 0
    else:
        stopped = plant.nt > 0 and w.mode[c] == plant.sliding[c]
        if plant.closed[c, w.left_mode[c]] == 0 or stopped:
            for s in range(first, last):
                w.anchor[s] = w.rows[VALUE, m + s]
    w.mode[c] = mode


@jit
def changed(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a contact was struck or is in another mode than left of this instant, or slides the other way."""
    if w.mode[c] != w.left_mode[c] or w.struck[c] != 0:
        return True
    first, last = plant.slips[c], plant.slips[c + 1]
    turned = friction.along(w.direction, w.left_direction, first, last) < 0.5
    return w.mode[c] == plant.sliding[c] and plant.bristled[c] == 0 and turned


@jit
def any_changed(plant: Plant, w: Workspace) -> bool:
    """Tell whether a contact has changed since the left side of this instant."""
    any_ = False
    for c in range(plant.nc):
        any_ |= changed(plant, w, c)
    return any_


@jit
def any_struck(w: Workspace) -> bool:
    """Tell whether velocities have jumped at this instant."""
    any_ = False
    for c in range(w.struck.size):
        any_ |= w.struck[c] != 0
    return any_


@jit
def remember(w: Workspace) -> None:
    """Keep the current modes as those on the left side of an instant."""
    for c in range(w.mode.size):
        w.left_mode[c], w.turned[c], w.struck[c] = w.mode[c], 0, 0
    for s in range(w.direction.size):
        w.left_direction[s] = w.direction[s]
