"""Writing down what happened: rows of the trajectory and events."""

from __future__ import annotations

from typing import Any

from impinge.compile import Vector, call, entry, jit
from impinge.contact import friction
from impinge.simulation.integrate.step import dense_state
from impinge.simulation.locate.guards import evaluate_inside, resolution
from impinge.simulation.results.observe import note_row
from impinge.simulation.system.contacts import changed
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import (
    EVALUATIONS,
    FORCE,
    RATE,
    ROW_TIME,
    SAMPLES,
    TIME,
    VALUE,
    Log,
    Plant,
    Workspace,
    assign,
    impulses,
)

ROWS, EVENTS, STEPS = 0, 1, 2  # indices into Log.used


@entry
def measure(plant: Plant, w: Workspace, t: float, y: Vector) -> None:
    """Write what sensors see of a state to ``w.seen``."""
    nx = plant.nq + plant.nv
    assign(w.seen[plant.ny :], y[:nx])
    if plant.ny > 0:
        call(plant.signals, (y[: plant.nq], y[plant.nq : nx], t, w.u, plant.parameters, w.signal))
        assign(w.seen, w.signal[w.signal.size - plant.ny :])


@jit
def _exchange_modes(w: Workspace, mode: Any) -> None:
    for c in range(mode.size):
        w.mode[c], mode[c] = mode[c], w.mode[c]


@jit
def fill_row(plant: Plant, w: Workspace, row: Any, t: float, y: Any, mode: Any, rows: Any) -> None:
    """Write one row of the log for a state whose constraints and contacts are described already."""
    nx, nu, nc, m = plant.nq + plant.nv, plant.nu, plant.nc, rows.shape[1]
    call(plant.signals, (y[: plant.nq], y[plant.nq : nx], t, w.u, plant.parameters, w.signal))
    row[0] = t
    assign(row[1:], y[:nx])
    k = 1 + nx
    assign(row[k:], w.u)
    k += nu
    for kind in (VALUE, RATE, FORCE):
        assign(row[k:], rows[kind])
        k += m
    for c in range(nc):
        row[k + c] = mode[c]
    k += nc
    rest = y[impulses(plant) :]  # and work
    assign(row[k:], rest)
    assign(row[k + rest.size :], w.signal)


@jit
def add_row(plant: Plant, w: Workspace, log: Log, t: float, y: Any, mode: Any) -> None:
    """Append a row to the log for a state and modes; the workspace's own modes stay as they are.

    That is no part of the motion: what it evaluates is not counted.
    """
    count = w.counts[EVALUATIONS]
    _exchange_modes(w, mode)
    evaluate(plant, w, t, y, w.scratch[1])
    _exchange_modes(w, mode)
    w.counts[EVALUATIONS] = count
    add_known_row(plant, w, log, t, y, mode, w.rows)


@jit
def add_known_row(plant: Plant, w: Workspace, log: Log, t: float, y: Any, mode: Any, rows: Any) -> None:
    """Append a row to the log for a state and modes whose constraints and contacts are described already."""
    _exchange_modes(w, mode)
    note_row(plant, w, t, y, rows)
    _exchange_modes(w, mode)
    fill_row(plant, w, log.rows[log.used[ROWS]], t, y, mode, rows)
    log.used[ROWS] += 1
    w.time[ROW_TIME] = t


@jit
def add_even_row(plant: Plant, w: Workspace, log: Log, t: float, y: Any) -> None:
    """Append a row of a step over contacts that change without end, with the rates and forces of all of it."""
    count = w.counts[EVALUATIONS]
    evaluate(plant, w, t, y, w.scratch[1])
    w.counts[EVALUATIONS] = count
    for i in range(plant.nh + plant.nc + plant.ns):
        w.rows[RATE, i], w.rows[FORCE, i] = w.rows_end[RATE, i], w.rows_end[FORCE, i]
    add_known_row(plant, w, log, t, y, w.mode, w.rows)


@jit
def add_even_samples(plant: Plant, w: Workspace, log: Log, t: float, length: float) -> None:
    """Record the samples that lie inside such a step."""
    while plant.sample > 0.0:
        sample = w.counts[SAMPLES] * plant.sample
        if sample >= t + length - resolution(t):
            return
        if sample > t + resolution(t):
            dense_state(plant, w, length, (sample - t) / length, w.scratch[0])
            add_even_row(plant, w, log, sample, w.scratch[0])
        w.counts[SAMPLES] += 1


@jit
def add_events(plant: Plant, w: Workspace, log: Log, t: float) -> None:
    """Append an event for every contact that has changed since the left side of this instant.

    Its impulse is what the contact delivered since its previous event, in an impact at this instant too. The left row
    must be the last but one in the log, the right row the last.
    """
    for c in range(plant.nc):
        if changed(plant, w, c):
            event = log.events[log.used[EVENTS]]
            impulse = w.y[impulses(plant) + c]
            event[0], event[1], event[2], event[3] = t, c, w.left_mode[c], w.mode[c]
            event[4], event[5] = impulse - w.since[c], log.used[ROWS] - 2
            event[6], event[7] = 0.0, 0.0
            if w.struck[c] != 0:
                event[6] = w.extremes.impulse[c]
                event[7] = friction.length(w.extremes.halt, plant.slips[c], plant.slips[c + 1])
            w.since[c] = impulse
            log.used[EVENTS] += 1


@entry
def add_current(plant: Plant, w: Workspace, log: Log) -> None:
    """Append the current state unless the log has this instant already."""
    if w.time[TIME] > w.time[ROW_TIME]:
        # The rows of the state from which the next step begins are known already.
        fill_row(plant, w, log.rows[log.used[ROWS]], w.time[TIME], w.y, w.mode, w.rows_start)
        log.used[ROWS] += 1
        w.time[ROW_TIME] = w.time[TIME]


@jit
def add_samples(plant: Plant, w: Workspace, log: Log, t: float, h: float, until: float) -> None:
    """Record the samples that lie inside the step just computed, before ``until``."""
    if plant.sample == 0.0:
        return
    while True:
        sample = w.counts[SAMPLES] * plant.sample
        if sample >= until - resolution(t):
            return
        if sample > t + resolution(t):
            count = w.counts[EVALUATIONS]
            evaluate_inside(plant, w, t, h, (sample - t) / h, w.scratch[0])
            w.counts[EVALUATIONS] = count
            add_known_row(plant, w, log, sample, w.scratch[0], w.mode, w.rows)
        w.counts[SAMPLES] += 1
