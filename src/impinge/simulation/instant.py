"""What happens at an instant: contacts change, strike and close, inputs change, and both sides are recorded.

decide modes, re-evaluate, until no mode changes
x⁻, x⁺ and the events go into the log
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.simulation import contacts
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.dynamics import evaluate, evaluate_and_press, restore_gaps
from impinge.simulation.guards import evaluate_inside, guards_of_rows, resolution, wants_change
from impinge.simulation.locate import find_event
from impinge.simulation.observe import note_extremes, note_state
from impinge.simulation.plant import (
    ERROR,
    JAMMED,
    LEAST_ERROR,
    LEFT_TIME,
    ROW_TIME,
    STALLED,
    STEP,
    TAIL,
    TIME,
    VALUE,
    Log,
    Plant,
    Workspace,
    assign,
    assign_rows,
    swap,
)
from impinge.simulation.record import add_events, add_row, add_samples
from impinge.simulation.roots import NONE
from impinge.simulation.settle import contradicted, driven
from impinge.simulation.slide import steer
from impinge.simulation.step import first_step, try_step
from impinge.simulation.still import STILL, fastest_stick, stop_slips_of

# So many events in a row for each contact, without time between them, are chatter.
_MOST_EVENTS = 200

# Directions in which contacts begin to slide are improved so often, until they turn by less than this.
_TURNS, _STRAIGHT = 60, 1e-9

# What sticks is stopped so often at one instant: where feet contradict each other a rate remains.
_STILLED = 3

# What a run comes back with.
DONE, FULL, PAUSED, TOO_SMALL, NOT_FINITE, CYCLE, CHATTER, UNSOLVED, CROWDED = 0, 1, 2, 3, 4, 5, 6, 7, 8


@jit
def decide_modes(plant: Any, w: Any) -> bool:
    """Change modes at the current instant until none changes; return False if they never stop, or a contact jams.

    Slips of contacts that close and never slide are stopped; then others may change, which are stopped, too.
    """
    rounds = 0
    while _agree(plant, w):
        rounds += 1
        if plant.halt == 0 or rounds > plant.nc or ask(plant.halt, (plant, w)) == 0:
            return True
    return False


@jit
def _agree(plant: Any, w: Any) -> bool:
    """Change modes for the velocities that there are until none changes; return as `decide_modes` does.

    First every contact decides at once. Then one at a time, the first that wants to: this is the
    least-index principal pivoting of K. G. Murty (Opsearch 11, 1974), finite for independent contacts.
    If that does not end, or contacts ask for what they cannot have together, one problem is solved for all.
    ``w.fired`` holds the guards that fell; ``w.changed`` returns who changed in the last rounds. The
    derivative at the current state is then in ``w.K[0]``.
    """
    t = w.time[TIME]
    w.counts[JAMMED] = 0
    evaluate_and_press(plant, w, t, w.y, w.K[0])
    if plant.nt > 0 and contacts.realign(plant, w):
        evaluate_and_press(plant, w, t, w.y, w.K[0])
    settled, steered, stilled = False, False, 0
    for attempt in range(50 + 10 * plant.nc):
        if plant.settle != 0 and not settled and contradicted(plant, w):
            settled = True
            if _settle(plant, w, t):
                continue
        if not _decide_again(plant, w, attempt):
            if plant.nt > 0 and not steered and _steer(plant, w, t):
                steered = True
                continue
            if plant.nt > 0 and stilled < _STILLED and _still(plant, w, t):
                stilled += 1
                continue
            jams = w.counts[JAMMED] != 0
            if settled or plant.settle == 0 or not (jams or driven(plant, w)):
                return not jams
            settled = True
            if not _settle(plant, w, t):
                return not jams
            continue
        w.counts[JAMMED] = 0
        evaluate_and_press(plant, w, t, w.y, w.K[0])
    if settled or plant.settle == 0 or not _settle(plant, w, t) or w.counts[JAMMED] != 0:
        return False
    agree = True
    for c in range(plant.nc):
        agree &= not wants_change(plant, w, w.rows, c)
    return agree


@jit
def _still(plant: Any, w: Any, t: float) -> bool:
    """Stop what has come to stick; what slides may then slide another way: tell whether there was anything to stop."""
    if fastest_stick(plant, w, w.rows, True) <= STILL:
        return False
    ask(plant.stop_slips, (plant, w, t, w.y, np.int64(1)))
    contacts.realign(plant, w)
    evaluate_and_press(plant, w, t, w.y, w.K[0])
    return True


@jit
def _steer(plant: Any, w: Any, t: float) -> bool:
    """Find the directions in which contacts begin to slide; tell whether there was one to turn."""
    found = False
    for _ in range(_TURNS):
        if steer(plant, w) <= _STRAIGHT:
            break
        found = True
        evaluate_and_press(plant, w, t, w.y, w.K[0])
    return found


@jit
def _decide_again(plant: Any, w: Any, attempt: int) -> bool:
    """Let contacts decide, all in the first attempt, later the first that wants to; tell whether one changed."""
    again = False
    if attempt % max(plant.nc, 10) == 0 and w.counts[STALLED] == 0:
        for c in range(plant.nc):
            w.changed[c] = 0
    for c in range(plant.nc):
        mode = contacts.decide(plant, w, w.rows, c, w.fired[c])
        w.fired[c] = 0
        if mode != w.mode[c]:
            contacts.change(plant, w, c, mode)
            w.changed[c] = 1
            again = True
            if attempt > 0:
                break
    return again


@jit
def _settle(plant: Any, w: Any, t: float) -> bool:
    """Decide for all contacts at once, and evaluate; return False if there is no decision."""
    if ask(plant.settle, (plant, w)) != 0:
        return False
    for c in range(plant.nc):
        if w.mode[c] != w.left_mode[c]:
            w.changed[c] = 1
    w.counts[JAMMED] = 0
    evaluate_and_press(plant, w, t, w.y, w.K[0])
    return True


@jit
def _resume(plant: Any, w: Any) -> None:
    """Let the next step begin at the current state, whose derivative is in ``w.K[0]``."""
    assign_rows(w.rows_start, w.rows)
    stop_slips_of(plant, w, w.time[TIME], w.y, w.rows_start)
    if plant.nt > 0:
        contacts.aim(plant, w, w.rows_start)
    restore_gaps(plant, w)
    note_extremes(plant, w, w.rows_start)


@jit
def restart(plant: Any, w: Any, longest: float) -> None:
    """Begin afresh at the current state after the equations have changed."""
    _resume(plant, w)
    w.time[ERROR] = LEAST_ERROR
    if plant.fixed_step == 0.0:
        w.time[STEP] = first_step(plant, w, w.time[TIME], longest)


@jit
def strikes_solved(plant: Any, w: Any) -> bool:
    """Let rigid contacts strike that touch and approach at the current state; tell whether impulses were found."""
    if plant.strike == 0:
        return True
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    return ask(plant.strike, (plant, w)) == 0


@entry
def begin(plant: Plant, w: Workspace, log: Log, longest: float) -> int:
    """Find the modes in which a run starts, and its first step; what strikes at once is an event."""
    evaluate(plant, w, w.time[TIME], w.y, w.K[0])
    for c in range(plant.nc):
        if plant.extent[c] >= 0 and w.rows[VALUE, plant.nh + c] < -START_TOLERANCE:
            w.mode[c] = plant.passed[c]
    assign(w.left_y, w.y)
    contacts.remember(w)
    if not strikes_solved(plant, w):
        return UNSOLVED
    settled = decide_modes(plant, w)
    assign_rows(w.rows_start, w.rows)
    if not settled:
        return CYCLE
    for i in range(w.y.size):
        if not np.isfinite(w.K[0, i]):
            return NOT_FINITE
    restart(plant, w, longest)
    if contacts.any_struck(w):
        add_row(plant, w, log, w.time[TIME], w.left_y, w.left_mode)
        add_row(plant, w, log, w.time[TIME], w.y, w.mode)
        add_events(plant, w, log, w.time[TIME])
    return DONE


@jit
def change_inputs(plant: Any, w: Any, log: Any, longest: float) -> int:
    """Hold ``w.command`` from now on; contacts that it opens or closes change at this instant."""
    assign(w.held, w.u)
    assign(w.u, w.command)
    return reconsider(plant, w, log, longest)


@jit
def reconsider(plant: Any, w: Any, log: Any, longest: float) -> int:
    """Let contacts decide at this instant, at which nothing fell; on its left side ``w.held`` were the inputs."""
    t = w.time[TIME]
    assign(w.left_y, w.y)
    contacts.remember(w)
    if not strikes_solved(plant, w):
        return UNSOLVED
    if not decide_modes(plant, w):
        return CYCLE
    if not contacts.any_changed(plant, w):
        _resume(plant, w)
        return DONE
    restart(plant, w, longest)
    _add_both(plant, w, log, t)
    return DONE


@jit
def _add_both(plant: Any, w: Any, log: Any, t: float) -> None:
    """Record both sides of an instant, and its events."""
    swap(w.u, w.held)
    swap(w.direction, w.left_direction)
    add_row(plant, w, log, t, w.left_y, w.left_mode)
    swap(w.direction, w.left_direction)
    swap(w.u, w.held)
    add_row(plant, w, log, t, w.y, w.mode)
    add_events(plant, w, log, t)


@jit
def carry_out(plant: Any, w: Any, log: Any, h: float, low: float, high: float, longest: float) -> int:
    """Carry out the events of one instant of the step just computed."""
    t = w.time[TIME]
    assign(w.held, w.u)
    left_time = t + low * h
    contacts.remember(w)
    evaluate_inside(plant, w, t, h, low, w.left_y)
    guards_of_rows(plant, w, w.rows, 0)
    note_state(plant, w, w.rows, left_time, w.left_y)

    after = min(1.0, max(high, low + resolution(t) / h))
    evaluate_inside(plant, w, t, h, after, w.trial)
    w.time[TIME] = t + after * h
    assign(w.y, w.trial)
    guards_of_rows(plant, w, w.rows, 1)
    for c in range(plant.nc):  # besides the guard that was located, those that fall at the same instant
        for k in range(contacts.guard_count(plant)):
            if w.guards[0, c, k] >= 0.0 and w.guards[1, c, k] < 0.0:
                w.fired[c] |= 1 << k
    if plant.strike != 0:
        if ask(plant.strike, (plant, w)) != 0:
            _go_back(plant, w, left_time)
            return UNSOLVED
    if not decide_modes(plant, w):
        _go_back(plant, w, left_time)
        return CYCLE
    if contacts.any_struck(w):
        assign(w.left_y, w.trial)  # velocities jump from those at the very instant
    if plant.strike != 0 and _through_tail(plant, w, log, longest - low * h):
        left_time = w.time[TIME]
    restart(plant, w, longest)

    w.counts[STALLED] = w.counts[STALLED] + 1 if low * h < 1e3 * resolution(t) else 0
    w.time[LEFT_TIME] = left_time
    if contacts.any_changed(plant, w):
        _add_both(plant, w, log, left_time)
        w.time[ROW_TIME] = w.time[TIME]
    return CHATTER if w.counts[STALLED] > _MOST_EVENTS * (plant.nc + 1) else DONE


@jit
def return_modes(plant: Any, w: Any) -> None:
    """Return to the modes and directions on the left side of an instant."""
    for c in range(plant.nc):
        w.mode[c] = w.left_mode[c]
    assign(w.direction, w.left_direction)


@jit
def _go_back(plant: Any, w: Any, t: float) -> None:
    """Return to the left side of an instant that has no right side: a run ends there."""
    assign(w.y, w.left_y)
    return_modes(plant, w)
    w.time[TIME] = t
    evaluate(plant, w, t, w.y, w.K[0])
    assign_rows(w.rows_start, w.rows)


@jit
def _through_tail(plant: Any, w: Any, log: Any, longest: float) -> bool:
    """Go through the bounces that were left out in one step, in contact; tell whether that was possible."""
    t, tail = w.time[TIME], w.time[TAIL]
    if not 0.0 < tail < longest:
        return False
    _resume(plant, w)
    fits = try_step(plant, w, t, tail) <= 1.0 and find_event(plant, w, t, tail)[0] == NONE
    if fits and plant.proof.prove != 0:
        fits = ask(plant.proof.prove, (plant, w, t, tail, NONE)) == 0
    if fits:
        add_samples(plant, w, log, t, tail, t + tail)
        assign(w.left_y, w.trial)
        assign(w.y, w.trial)
        w.time[TIME] = t + tail
    evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    return fits
