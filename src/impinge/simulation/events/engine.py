"""The event-driven loop.

    while t < end:
        record x at t if it is due
        try a step of length h from x; shrink h until its error is within tolerance
        find the first guard that falls inside the step, and prove that no gap closes unseen before it
        if none:  t, x ← end of the step
        else:     x⁻ ← x just before the fall;  x⁺ ← x just after it, t ← that instant
                  decide modes, re-evaluate, until no mode changes
                  record x⁻ and x⁺, and the events

An instant is as wide as the time resolution (1e-12 s): x⁺ lies beyond every guard that falls within it,
so that what falls together is decided together.
"""

from __future__ import annotations

from math import floor

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.simulation.events import directions
from impinge.simulation.events.chatter import crowded, lingers, longest_leap, steps_over
from impinge.simulation.events.instant import (
    CHATTER,
    CROWDED,
    DONE,
    FULL,
    NOT_FINITE,
    PAUSED,
    TOO_SMALL,
    aimed_anew,
    carry_out,
    change_inputs,
    look_around,
    reconsider,
)
from impinge.simulation.events.still import stop_slips_of
from impinge.simulation.integrate.implicit_system import END
from impinge.simulation.integrate.pace import halve, is_implicit, lengthen, shorten, step_by
from impinge.simulation.locate.find import find_event
from impinge.simulation.locate.guards import guards_at, resolution
from impinge.simulation.locate.proof import count_proved
from impinge.simulation.locate.roots import NONE
from impinge.simulation.results.observe import note_extremes
from impinge.simulation.results.record import EVENTS, ROWS, add_current, add_samples, measure
from impinge.simulation.results.record import STEPS as STEP_LOG
from impinge.simulation.system import contacts
from impinge.simulation.system.dynamics import restore_gaps
from impinge.simulation.system.plant import (
    AGAIN,
    CAP,
    DOUBT,
    LEFT_TIME,
    REJECTED,
    SAMPLES,
    STALLED,
    STEP,
    STEPS,
    TIME,
    Log,
    Plant,
    Workspace,
    assign,
    assign_rows,
)

# Steps shorter than this many instants are kept as they are.
_SHORT = 1e3
# Feet that stick and yet slip by more than this (m/s) contradict each other: then one of them must slide.
_FIRM = 1e-10


@jit
def _next_length(plant: Plant, w: Workspace, end: float) -> float:
    """Return the length of the next step, which ends on a grid point or on ``end`` exactly where it can."""
    t = w.time[TIME]
    if plant.fixed_step > 0.0:
        grid = (floor(t / plant.fixed_step + 1e-6) + 1) * plant.fixed_step
        return min(grid, end) - t
    h = min(w.time[STEP], plant.max_step, w.time[CAP])
    return end - t if t + 1.01 * h >= end else h


@jit
def _advance(plant: Plant, w: Workspace, log: Log, end: float, budget: int) -> int:
    """Simulate until ``end`` or until something needs attention; return why it came back.

    FULL: the log needs room; call again. PAUSED: ``budget`` steps were tried; call again. The others are
    failures; the state is that of the last accepted step.
    """
    while end - w.time[TIME] > resolution(end):
        if budget == 0:
            return PAUSED
        budget -= 1
        if plant.exchange != 0:
            if log.used[ROWS] + 2 > log.rows.shape[0] or log.used[EVENTS] + 3 * plant.nc >= log.events.shape[0]:
                return FULL
            status = look_around(plant, w, log, end - w.time[TIME])
            if status != DONE and not steps_over(plant, w, log, status, end):
                return status
        t = w.time[TIME]
        h = _next_length(plant, w, end)
        inside = int(max(h, longest_leap(plant)) / plant.sample) + 12 if plant.sample > 0.0 else 12
        if log.used[ROWS] + inside >= log.rows.shape[0]:
            return FULL
        if log.used[EVENTS] + 3 * plant.nc >= log.events.shape[0] or log.used[STEP_LOG] + 2 >= log.steps.shape[0]:
            return FULL
        if w.counts[AGAIN] != 0:
            if not steps_over(plant, w, log, CHATTER, end):
                return CHATTER
            continue
        if crowded(plant, w):
            return CROWDED
        if lingers(plant, w) and steps_over(plant, w, log, CROWDED, end):
            continue
        due = plant.sample > 0.0 and w.counts[SAMPLES] * plant.sample <= t + resolution(t)
        if due or plant.every_step:
            add_current(plant, w, log)

        error = step_by(plant, w, t, h)
        if not np.isfinite(error) or (error > 1.0 and plant.fixed_step == 0.0):
            w.counts[REJECTED] += 1
            shorten(plant, w, h, error)
            if w.time[STEP] < resolution(t) or plant.fixed_step > 0.0:
                if np.isfinite(error) and steps_over(plant, w, log, TOO_SMALL, end):
                    continue
                return TOO_SMALL if np.isfinite(error) else NOT_FINITE
            continue
        low, high = find_event(plant, w, t, h) if plant.nc > 0 else (NONE, NONE)
        if w.counts[DOUBT] != 0 and plant.fixed_step == 0.0 and h > _SHORT * resolution(t):
            w.counts[REJECTED] += 1
            halve(plant, w, h)
            continue
        if plant.proof.prove == 0:
            count_proved(plant, w)
        elif ask(plant.proof.prove, (plant, w, t, h, low)) != 0:
            low, high = w.proof.event[0], w.proof.event[1]
            guards_at(plant, w, t, h, low, 0)
        w.counts[STEPS] += 1
        step = log.steps[log.used[STEP_LOG]]
        step[0], step[1] = t, min(low, 1.0) * h
        log.used[STEP_LOG] += 1
        ask(plant.look, (plant, w, t, h, low))
        if low != NONE:
            add_samples(plant, w, log, t, h, t + low * h)
            status = carry_out(plant, w, log, h, low, high, end - t)
            if status != DONE and not steps_over(plant, w, log, status, end):
                return status
            continue

        if h > 10.0 * resolution(t):
            w.counts[STALLED] = 0
        add_samples(plant, w, log, t, h, t + h)
        assign(w.y, w.trial)
        w.time[TIME] = end if t + h >= end - resolution(end) else t + h
        assign(w.K[0], w.implicit.f[END] if is_implicit(w) else w.K[plant.tableau.c.size - 1])
        assign_rows(w.rows_start, w.rows_end)
        unsettled = False
        if plant.nt > 0:
            contacts.remember(w)
            unsettled = stop_slips_of(plant, w, w.time[TIME], w.y, w.rows_start) > _FIRM
            note_extremes(plant, w, w.rows_start)
            if directions.aim(plant, w, w.rows_start):
                unsettled |= aimed_anew(plant, w)
        restore_gaps(plant, w)
        if plant.fixed_step == 0.0:
            lengthen(plant, w, h, error)
        if unsettled:
            assign(w.held, w.u)
            status = reconsider(plant, w, log, end - w.time[TIME])
            if status != DONE and not steps_over(plant, w, log, status, end):
                return status
    return DONE


@entry
def hold(plant: Plant, w: Workspace, log: Log, end: float, budget: int) -> int:
    """Hold ``w.command`` from now until ``end`` and measure just before it; return as `_advance` does.

    This is all that a tick of a controller asks of the simulator, in one call.
    """
    changed = False
    for i in range(w.u.size):
        changed |= w.u[i] != w.command[i]
    if changed:
        if log.used[ROWS] + 2 > log.rows.shape[0] or log.used[EVENTS] + plant.nc > log.events.shape[0]:
            return FULL
        status = change_inputs(plant, w, log, plant.max_step)
        if status != DONE:
            return status
    status = _advance(plant, w, log, end, budget)
    t = w.time[TIME]
    measure(plant, w, t, w.left_y if t - w.time[LEFT_TIME] <= 2 * resolution(t) else w.y)
    return status
