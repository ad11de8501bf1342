"""The event-driven loop.

    while t < end:
        record x at t if it is due
        try a step of length h from x; shrink h until its error is within tolerance
        find the first guard that falls inside the step
        if none:  t, x ← end of the step
        else:     x⁻ ← x just before the fall;  x⁺ ← x just after it, t ← that instant
                  decide modes, re-evaluate, until no mode changes
                  record x⁻ and x⁺, and the events

An instant is as wide as the time resolution (1e-12 s): x⁺ lies beyond every guard that falls within it,
so that what falls together is decided together.
"""

from __future__ import annotations

from math import exp, floor
from typing import Any

import numpy as np
from numba import types

from impinge.compile import callback, jit, struct_type
from impinge.simulation import contacts
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.dynamics import evaluate, evaluate_and_press, restore_gaps
from impinge.simulation.locate import find_event, guards_of_rows, resolution
from impinge.simulation.plant import (
    ERROR,
    JAMMED,
    LEAST_ERROR,
    LEFT_TIME,
    REJECTED,
    ROW_TIME,
    SAMPLES,
    STALLED,
    STEP,
    STEPS,
    TIME,
    VALUE,
    Log,
    Plant,
    Workspace,
    assign,
    assign_rows,
    swap,
)
from impinge.simulation.record import EVENTS, ROWS, add_current, add_events, add_row, measure, note_extremes
from impinge.simulation.record import STEPS as STEP_LOG
from impinge.simulation.roots import NONE
from impinge.simulation.step import dense_state, first_step, stability_ratio, try_step

# Dormand–Prince damps a decaying motion while h times its rate is below 3.3; keep clear of that.
_STABLE = 2.5

# So many events in a row for each contact, without a step between them that has none, are chatter.
_MOST_EVENTS = 200

DONE, FULL, PAUSED, TOO_SMALL, NOT_FINITE, CYCLE, CHATTER = 0, 1, 2, 3, 4, 5, 6


@jit
def decide_modes(plant: Any, w: Any) -> bool:
    """Change modes at the current instant until none changes; return False if they never stop, or a contact jams.

    First every contact decides at once. Then one at a time, the first that wants to: this is the
    least-index principal pivoting of K. G. Murty (Opsearch 11, 1974), finite for independent contacts.
    ``w.fired`` holds the guards that fell; ``w.changed`` returns who changed in the last rounds. The
    derivative at the current state is then in ``w.K[0]``.
    """
    t, nc = w.time[TIME], plant.nc
    w.counts[JAMMED] = 0
    evaluate_and_press(plant, w, t, w.y, w.K[0])
    for attempt in range(50 + 10 * nc):
        again = False
        if attempt % max(nc, 10) == 0 and w.counts[STALLED] == 0:
            for c in range(nc):
                w.changed[c] = 0
        for c in range(nc):
            mode = contacts.decide(plant, w, w.rows, c, w.fired[c])
            w.fired[c] = 0
            if mode != w.mode[c]:
                contacts.change(plant, w, c, mode)
                w.changed[c] = 1
                again = True
                if attempt > 0:
                    break
        if not again:
            return w.counts[JAMMED] == 0
        w.counts[JAMMED] = 0
        evaluate_and_press(plant, w, t, w.y, w.K[0])
    return False


@jit
def _resume(plant: Any, w: Any) -> None:
    """Let the next step begin at the current state, whose derivative is in ``w.K[0]``."""
    assign_rows(w.rows_start, w.rows)
    if plant.nt > 0:
        contacts.aim(plant, w, w.rows_start)
    restore_gaps(plant, w.y, w.rows_start)
    note_extremes(plant, w, w.rows_start)


@jit
def _restart(plant: Any, w: Any, longest: float) -> None:
    """Begin afresh at the current state after the equations have changed."""
    _resume(plant, w)
    w.time[ERROR] = LEAST_ERROR
    if plant.fixed_step == 0.0:
        w.time[STEP] = first_step(plant, w, w.time[TIME], longest)


@jit
def _any_changed(plant: Any, w: Any) -> bool:
    any_ = False
    for c in range(plant.nc):
        any_ |= contacts.changed(plant, w, c)
    return any_


@jit
def begin(plant: Any, w: Any, longest: float) -> int:
    """Find the modes in which a run starts, and its first step."""
    evaluate(plant, w, w.time[TIME], w.y, w.K[0])
    for c in range(plant.nc):
        if plant.extent[c] >= 0 and w.rows[VALUE, plant.nh + c] < -START_TOLERANCE:
            w.mode[c] = plant.passed[c]
    settled = decide_modes(plant, w)
    assign_rows(w.rows_start, w.rows)
    if not settled:
        return CYCLE
    for i in range(w.y.size):
        if not np.isfinite(w.K[0, i]):
            return NOT_FINITE
    _restart(plant, w, longest)
    return DONE


@jit
def _change_inputs(plant: Any, w: Any, log: Any, longest: float) -> int:
    """Hold ``w.command`` from now on; contacts that it opens or closes change at this instant."""
    t = w.time[TIME]
    assign(w.left_y, w.y)
    contacts.remember(w)
    assign(w.held, w.u)
    assign(w.u, w.command)
    if not decide_modes(plant, w):
        return CYCLE
    if not _any_changed(plant, w):
        _resume(plant, w)
        return DONE
    _restart(plant, w, longest)
    swap(w.u, w.held)
    swap(w.direction, w.left_direction)
    add_row(plant, w, log, t, w.left_y, w.left_mode)
    swap(w.direction, w.left_direction)
    swap(w.u, w.held)
    add_row(plant, w, log, t, w.y, w.mode)
    add_events(plant, w, log, t)
    return DONE


@jit
def _event(plant: Any, w: Any, log: Any, h: float, low: float, high: float, longest: float) -> int:
    """Carry out the events of one instant of the step just computed."""
    t = w.time[TIME]
    left_time = t + low * h
    dense_state(plant, w, h, low, w.left_y)
    contacts.remember(w)
    evaluate_and_press(plant, w, left_time, w.left_y, w.scratch[1])
    guards_of_rows(plant, w, w.rows, w.guards[0])
    note_extremes(plant, w, w.rows)

    after = min(1.0, max(high, low + resolution(t) / h))
    dense_state(plant, w, h, after, w.trial)
    assign(w.y, w.trial)
    w.time[TIME] = t + after * h
    evaluate_and_press(plant, w, w.time[TIME], w.y, w.scratch[1])
    guards_of_rows(plant, w, w.rows, w.guards[1])
    for c in range(plant.nc):  # besides the guard that was located, those that fall at the same instant
        for k in range(w.guards.shape[2]):
            if w.guards[0, c, k] >= 0.0 and w.guards[1, c, k] < 0.0:
                w.fired[c] |= 1 << k
    if not decide_modes(plant, w):
        return CYCLE
    _restart(plant, w, longest)

    w.counts[STALLED] += 1
    w.time[LEFT_TIME] = left_time
    if _any_changed(plant, w):
        swap(w.direction, w.left_direction)
        add_row(plant, w, log, left_time, w.left_y, w.left_mode)
        swap(w.direction, w.left_direction)
        add_row(plant, w, log, left_time, w.y, w.mode)
        w.time[ROW_TIME] = w.time[TIME]
        add_events(plant, w, log, left_time)
    return CHATTER if w.counts[STALLED] > _MOST_EVENTS * (plant.nc + 1) else DONE


@jit
def _samples(plant: Any, w: Any, log: Any, t: float, h: float, until: float) -> None:
    """Record the samples that lie inside the step just computed, before ``until``."""
    if plant.sample == 0.0:
        return
    while True:
        sample = w.counts[SAMPLES] * plant.sample
        if sample >= until - resolution(t):
            return
        if sample > t + resolution(t):
            dense_state(plant, w, h, (sample - t) / h, w.scratch[0])
            add_row(plant, w, log, sample, w.scratch[0], w.mode)
        w.counts[SAMPLES] += 1


@jit
def _next_length(plant: Any, w: Any, end: float) -> float:
    """Return the length of the next step, which ends on a grid point or on ``end`` exactly where it can."""
    t = w.time[TIME]
    if plant.fixed_step > 0.0:
        grid = (floor(t / plant.fixed_step + 1e-6) + 1) * plant.fixed_step
        return min(grid, end) - t
    h = min(w.time[STEP], plant.max_step)
    return end - t if t + 1.01 * h >= end else h


@jit
def _advance(plant: Any, w: Any, log: Any, end: float, budget: int) -> int:
    """Simulate until ``end`` or until something needs attention; return why it came back.

    FULL: the log needs room; call again. PAUSED: ``budget`` steps were tried; call again. The others are
    failures; the state is that of the last accepted step.
    """
    while end - w.time[TIME] > resolution(end):
        if budget == 0:
            return PAUSED
        budget -= 1
        t = w.time[TIME]
        h = _next_length(plant, w, end)
        inside = int(h / plant.sample) + 8 if plant.sample > 0.0 else 8
        if log.used[ROWS] + inside >= log.rows.shape[0]:
            return FULL
        if log.used[EVENTS] + plant.nc >= log.events.shape[0] or log.used[STEP_LOG] + 1 >= log.steps.shape[0]:
            return FULL
        due = plant.sample > 0.0 and w.counts[SAMPLES] * plant.sample <= t + resolution(t)
        if due or plant.every_step:
            add_current(plant, w, log)

        error = try_step(plant, w, t, h)
        if not np.isfinite(error) or (error > 1.0 and plant.fixed_step == 0.0):
            w.counts[REJECTED] += 1
            w.time[STEP] = h * (max(0.2, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
            if w.time[STEP] < resolution(t) or plant.fixed_step > 0.0:
                return TOO_SMALL if np.isfinite(error) else NOT_FINITE
            continue
        if plant.nt > 0 and plant.fixed_step == 0.0 and contacts.outruns(plant, w, w.rows_end):
            w.time[STEP] = 0.3 * h
            continue

        low, high = find_event(plant, w, t, h) if plant.nc > 0 else (NONE, NONE)
        w.counts[STEPS] += 1
        step = log.steps[log.used[STEP_LOG]]
        step[0], step[1] = t, min(low, 1.0) * h
        log.used[STEP_LOG] += 1
        if low != NONE:
            _samples(plant, w, log, t, h, t + low * h)
            status = _event(plant, w, log, h, low, high, end - t)
            if status != DONE:
                return status
            continue

        if h > 10.0 * resolution(t):
            w.counts[STALLED] = 0
        _samples(plant, w, log, t, h, t + h)
        assign(w.y, w.trial)
        w.time[TIME] = end if t + h >= end - resolution(end) else t + h
        assign(w.K[0], w.K[plant.tableau.c.size - 1])
        assign_rows(w.rows_start, w.rows_end)
        if plant.nt > 0:
            contacts.aim(plant, w, w.rows_start)
        restore_gaps(plant, w.y, w.rows_start)
        note_extremes(plant, w, w.rows_start)
        if plant.fixed_step == 0.0:
            # Gustafsson's PI control with the constants of Hairer and Wanner's DOPRI5.
            size = np.log(max(error, 1e-10))
            factor = 0.9 * exp(0.04 * w.time[ERROR] - 0.17 * size)
            proposal = h * min(10.0, max(0.2, factor), _STABLE / max(stability_ratio(plant, w, h), 1e-3))
            w.time[STEP] = max(proposal, w.time[STEP]) if h < w.time[STEP] else proposal
            w.time[ERROR] = max(size, LEAST_ERROR)
    return DONE


@callback(types.int64(struct_type(Plant), struct_type(Workspace), struct_type(Log), types.float64, types.int64))
def hold(plant: Any, w: Any, log: Any, end: float, budget: int) -> int:
    """Hold ``w.command`` from now until ``end`` and measure just before it; return as `_advance` does.

    This is all that a tick of a controller asks of the simulator, in one call.
    """
    changed = False
    for i in range(w.u.size):
        changed |= w.u[i] != w.command[i]
    if changed:
        if log.used[ROWS] + 2 > log.rows.shape[0] or log.used[EVENTS] + plant.nc > log.events.shape[0]:
            return FULL
        status = _change_inputs(plant, w, log, plant.max_step)
        if status != DONE:
            return status
    status = _advance(plant, w, log, end, budget)
    t = w.time[TIME]
    measure(plant, w, t, w.left_y if t - w.time[LEFT_TIME] <= 2 * resolution(t) else w.y)
    return status
