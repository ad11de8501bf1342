"""What happens at an instant: contacts change, strike and close, inputs change, and both sides are recorded.

decide modes, re-evaluate, until no mode changes
x⁻, x⁺ and the events go into the log
"""

from __future__ import annotations

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact.law import GUARDS
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.events import directions
from impinge.simulation.events.decide import decide_evaluated, decide_modes
from impinge.simulation.events.still import STILL, fastest_stick, stop_slips_of
from impinge.simulation.integrate.pace import be_explicit
from impinge.simulation.integrate.step import first_step, try_step
from impinge.simulation.locate.find import find_event
from impinge.simulation.locate.guards import evaluate_inside, guards_of_rows, resolution, wants_change
from impinge.simulation.locate.roots import NONE
from impinge.simulation.results.observe import note_extremes, note_state
from impinge.simulation.results.record import add_events, add_known_row, add_row, add_samples
from impinge.simulation.system import contacts
from impinge.simulation.system.dynamics import evaluate, evaluate_and_press, restore_gaps
from impinge.simulation.system.plant import (
    ERROR,
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

# So many events in a row for each contact, without time between them, are chatter; fewer where it can be stepped over.
_MOST_EVENTS, _MANY_EVENTS = 200, 20

# What a run comes back with.
DONE, FULL, PAUSED, TOO_SMALL, NOT_FINITE, CYCLE, CHATTER, UNSOLVED, CROWDED = 0, 1, 2, 3, 4, 5, 6, 7, 8


@jit
def _resume(plant: Plant, w: Workspace) -> bool:
    """Let the next step begin at the current state, whose derivative is in ``w.K[0]``.

    Tell whether its rows, in ``w.rows_start``, are to the last bit those that evaluating it again would give.
    """
    assign_rows(w.rows_start, w.rows)
    same = plant.tidy == 0 and plant.spins.shape[0] == 0
    if plant.nt > 0:
        same &= fastest_stick(plant, w, w.rows_start, True) <= STILL
        stop_slips_of(plant, w, w.time[TIME], w.y, w.rows_start)
        same &= not directions.slides_in_plane(plant, w)
    restore_gaps(plant, w)
    note_extremes(plant, w, w.rows_start)
    return same


@jit
def restart(plant: Plant, w: Workspace, longest: float) -> bool:
    """Begin afresh at the current state after the equations have changed; tell the same as `_resume`."""
    same = _resume(plant, w)
    w.time[ERROR] = LEAST_ERROR
    be_explicit(w)
    if plant.fixed_step == 0.0:
        w.time[STEP] = first_step(plant, w, w.time[TIME], longest)
    return same


@jit
def strikes_solved(plant: Plant, w: Workspace) -> bool:
    """Let rigid contacts strike that touch and approach at the current state; tell whether impulses were found."""
    if plant.strike == 0:
        return True
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    return ask(plant.strike, (plant, w)) == 0


@entry
def begin(plant: Plant, w: Workspace, log: Log, longest: float) -> int:
    """Find the modes in which a run starts, and its first step; what strikes at once is an event."""
    if plant.exchange != 0:
        ask(plant.exchange, (plant, w))
    evaluate(plant, w, w.time[TIME], w.y, w.K[0])
    for c in range(plant.nc):
        if plant.extent[c] >= 0 and w.rows[VALUE, plant.nh + c] < -max(START_TOLERANCE, plant.takes_over[c]):
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
def change_inputs(plant: Plant, w: Workspace, log: Log, longest: float) -> int:
    """Hold ``w.command`` from now on; contacts that it opens or closes change at this instant."""
    assign(w.held, w.u)
    assign(w.u, w.command)
    contacts.remember(w)
    return reconsider(plant, w, log, longest)


@jit
def aimed_anew(plant: Plant, w: Workspace) -> bool:
    """Evaluate the state from which the next step starts, whose friction has turned; tell whether a contact changes."""
    evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    assign_rows(w.rows_start, w.rows)
    wants = False
    for c in range(plant.nc):
        wants |= wants_change(plant, w, w.rows, c)
    return wants


@jit
def _take_over(plant: Plant, w: Workspace) -> None:
    """Let contacts take a load over whose surface has begun, at the current state."""
    if plant.exchange != 0:
        evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
        contacts.emerge(plant, w, w.rows)


@jit
def _hand_over(plant: Plant, w: Workspace) -> None:
    """Look for those that take over from contacts whose features have ended at this instant, as just evaluated."""
    ended = False
    for c in range(plant.nc):
        ended |= w.fired[c] & (1 << GUARDS) != 0
    if ended and ask(plant.exchange, (plant, w)) != 0:
        evaluate_and_press(plant, w, w.time[TIME], w.y, w.scratch[1])
    contacts.emerge(plant, w, w.rows)


@jit
def look_around(plant: Plant, w: Workspace, log: Log, longest: float) -> int:
    """Exchange contacts where a step begins; those that are new, or take a load over, decide."""
    contacts.remember(w)
    if ask(plant.exchange, (plant, w)) == 0:
        return DONE
    assign(w.held, w.u)
    return reconsider(plant, w, log, longest)


@jit
def reconsider(plant: Plant, w: Workspace, log: Log, longest: float) -> int:
    """Let contacts decide at this instant, at which nothing fell.

    The modes and directions on its left side are those last remembered, its inputs are ``w.held``.
    """
    t = w.time[TIME]
    assign(w.left_y, w.y)
    _take_over(plant, w)
    if not strikes_solved(plant, w):
        return UNSOLVED
    if not decide_modes(plant, w):
        _go_back(plant, w, t)
        return CYCLE
    if not contacts.any_changed(plant, w):
        _resume(plant, w)
        return DONE
    same = restart(plant, w, longest)
    swap(w.u, w.held)
    swap(w.direction, w.left_direction)
    add_row(plant, w, log, t, w.left_y, w.left_mode)
    swap(w.direction, w.left_direction)
    swap(w.u, w.held)
    _add_right(plant, w, log, t, same)
    return DONE


@jit
def _add_right(plant: Plant, w: Workspace, log: Log, t: float, same: bool) -> None:
    """Record the right side of an instant, whose rows are in ``w.rows_start`` if they are the same, and its events."""
    if same:
        add_known_row(plant, w, log, t, w.y, w.mode, w.rows_start)
    else:
        add_row(plant, w, log, t, w.y, w.mode)
    add_events(plant, w, log, t)


@jit
def carry_out(plant: Plant, w: Workspace, log: Log, h: float, low: float, high: float, longest: float) -> int:
    """Carry out the events of one instant of the step just computed; ``w.guards[0]`` are the guards just before it."""
    t = w.time[TIME]
    assign(w.held, w.u)
    left_time = t + low * h
    contacts.remember(w)
    evaluate_inside(plant, w, t, h, low, w.left_y)
    assign_rows(w.rows_end, w.rows)  # of the left side from now on
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
    if plant.exchange != 0:
        _hand_over(plant, w)
    assign(w.K[0], w.scratch[1])
    assign_rows(w.rows_start, w.rows)
    if plant.strike != 0:
        if ask(plant.strike, (plant, w)) != 0:
            _go_back(plant, w, left_time)
            return UNSOLVED
        evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    if not decide_evaluated(plant, w):
        _go_back(plant, w, left_time)
        return CYCLE
    if contacts.any_struck(w):
        assign(w.left_y, w.trial)  # velocities jump from those at the very instant
        assign_rows(w.rows_end, w.rows_start)
    changes = contacts.any_changed(plant, w)
    if changes:
        swap(w.direction, w.left_direction)
        add_known_row(plant, w, log, left_time, w.left_y, w.left_mode, w.rows_end)
        swap(w.direction, w.left_direction)
    if plant.strike != 0 and _through_tail(plant, w, log, longest - low * h, changes, left_time):
        left_time, changes = w.time[TIME], False
    same = restart(plant, w, longest)

    w.counts[STALLED] = w.counts[STALLED] + 1 if low * h < 1e3 * resolution(t) else 0
    w.time[LEFT_TIME] = left_time
    if changes:
        _add_right(plant, w, log, left_time, same)
        w.time[ROW_TIME] = w.time[TIME]
    most = _MOST_EVENTS if plant.leap == 0 else _MANY_EVENTS
    return CHATTER if w.counts[STALLED] > most * (plant.nc + 1) else DONE


@jit
def return_modes(plant: Plant, w: Workspace) -> None:
    """Return to the modes and directions on the left side of an instant."""
    for c in range(plant.nc):
        w.mode[c] = w.left_mode[c]
    assign(w.direction, w.left_direction)


@jit
def _go_back(plant: Plant, w: Workspace, t: float) -> None:
    """Return to the left side of an instant that has no right side: a run ends there."""
    assign(w.y, w.left_y)
    return_modes(plant, w)
    w.time[TIME] = t
    evaluate(plant, w, t, w.y, w.K[0])
    assign_rows(w.rows_start, w.rows)


@jit
def _through_tail(plant: Plant, w: Workspace, log: Log, longest: float, changes: bool, instant: float) -> bool:
    """Go through the bounces that were left out in one step, in contact; tell whether that was possible.

    The rows of this instant, if contacts change, are then those of the last bounce; its events are at the limit.
    """
    t, tail = w.time[TIME], w.time[TAIL]
    if not 0.0 < tail < longest:
        return False
    _resume(plant, w)
    fits = try_step(plant, w, t, tail) <= 1.0 and find_event(plant, w, t, tail)[0] == NONE
    if fits and plant.proof.prove != 0:
        fits = ask(plant.proof.prove, (plant, w, t, tail, NONE)) == 0
    if fits:
        if changes:
            add_known_row(plant, w, log, instant, w.y, w.mode, w.rows_start)
            add_events(plant, w, log, t + tail)
            w.time[ROW_TIME] = t
        add_samples(plant, w, log, t, tail, t + tail)
        assign(w.left_y, w.trial)
        assign(w.y, w.trial)
        w.time[TIME] = t + tail
    evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    return fits
