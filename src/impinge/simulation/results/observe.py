"""What a run observes of itself: of every accepted step the worst of each promise."""

from __future__ import annotations

from typing import Any

from impinge.compile import Matrix, Vector, ask, call, entry, jit
from impinge.contact import friction
from impinge.simulation.results.extremes import (
    APPROACH,
    CREEP,
    DEPTH,
    DRIFT,
    DRIVE,
    EXCESS,
    GAIN,
    OPEN,
    PRODUCT,
    PULL,
    PUSH,
    ROWS,
    ROWS_WHEN,
    RUB,
    WORST,
    keep,
)
from impinge.simulation.system.bristles import stored
from impinge.simulation.system.contacts import sticks_rigidly
from impinge.simulation.system.plant import (
    FORCE,
    RATE,
    STEPS,
    TIME,
    VALUE,
    Plant,
    Workspace,
    works,
)

# Slower than this (m/s) a slip has no direction that friction could be said to drive.
MOVES = 1e-6
# Coulomb's limit is missed relative to itself, but at least to this share of the largest limit and to this force (N).
SHARE, _LEAST = 1e-2, 1e-3
# The place of what is noted inside a step: as WORST, but without friction.
INSIDE = 1
# The energies of one step in 64, at first in 16, are looked at, for the scale of the balance: where these bits are 0.
_SELDOM, _OFTEN = 63, 15


@jit
def _note_friction(plant: Plant, rows: Any, mode: int, c: int, t: float, row: Any, of: int) -> None:
    """Note how far the friction of a closed contact is beyond its limit, and whether what sticks slips or is driven."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    size = friction.length(rows[FORCE, m:], first, last)
    limit = plant.mu[c] * max(rows[FORCE, i], 0.0)
    floor = SHARE * plant.mu[c] * max(row[WORST + PUSH], 0.0) + _LEAST
    keep(row, of, EXCESS, (size - limit) / (limit + floor), t)
    if plant.evaluate == 0 or not sticks_rigidly(plant, c):
        return
    speed = friction.length(rows[RATE, m:], first, last)
    if mode != plant.sliding[c]:
        keep(row, of, CREEP, speed, t)
    if speed > MOVES:
        power = 0.0
        for s in range(first, last):
            power += rows[FORCE, m + s] * rows[RATE, m + s]
        keep(row, of, DRIVE, power, t)
        keep(row, of, RUB, size * speed, t)


@jit
def _note_energies(plant: Plant, w: Workspace, t: float, y: Any) -> None:
    """Note energies and speeds, for the scale of the energy balance."""
    q, x, energy = plant.nq, plant.nq + plant.nv, w.extremes.energy
    call(plant.signals, (y[:q], y[q:x], t, w.u, plant.parameters, w.signal))
    energy[0] = max(energy[0], abs(w.signal[0]))
    energy[1], energy[2] = max(energy[1], w.signal[1]), max(energy[2], -w.signal[1])


@jit
def note_now(plant: Plant, w: Workspace, t: float, y: Any, rows: Any, of: int, turning: int) -> None:
    """Do the work of `note`."""
    e = w.extremes
    if of == ROWS:
        for c in range(plant.nc):
            if plant.sliding[c] >= 0 and plant.closed[c, w.mode[c]] != 0:
                _note_friction(plant, rows, w.mode[c], c, t, e.table[c], ROWS)
        return
    whole = e.table[plant.nc]
    for i in range(plant.nh):
        off = abs(rows[VALUE, i])
        if off > whole[WORST + DRIFT]:
            keep(whole, WORST, DRIFT, off, t)
            whole[ROWS_WHEN + DRIFT] = i
    for c in range(plant.nc):
        mode = w.mode[c]
        if plant.ne > 0 and mode == plant.passed[c]:
            continue
        row, gap = e.table[c], rows[VALUE, plant.nh + c]
        keep(row, WORST, DEPTH, -gap, t)
        rate, open_ = rows[RATE, plant.nh + c], plant.closed[c, mode] == 0
        if open_ or plant.evaluate == 0:
            keep(row, WORST, APPROACH, -rate, t)
        if open_:
            if mode == 0 and (rate <= 0.0 or c == turning):
                keep(row, WORST, OPEN, -gap, t)
        else:
            force = rows[FORCE, plant.nh + c]
            keep(row, WORST, PULL, -force, t)
            keep(row, WORST, PUSH, force, t)
            keep(row, WORST, PRODUCT, abs(gap * force), t)
            if plant.nt > 0 and plant.sliding[c] >= 0 and of == WORST:
                _note_friction(plant, rows, mode, c, t, row, WORST)
        if plant.nb > 0 and plant.bristled[c] != 0 and of == WORST:
            total = y[works(plant) - plant.nr + c] + stored(plant, w, y, c)
            e.given[c] = min(e.given[c], total)
            keep(row, WORST, GAIN, total - e.given[c], t)
    if of == WORST and plant.evaluate != 0:
        steps, energy = w.counts[STEPS], w.extremes.energy
        for i in range(plant.nq, plant.nq + plant.nv):
            energy[3] = max(energy[3], abs(y[i]))
        if steps & (_OFTEN if steps < _SELDOM else _SELDOM) == 0:
            _note_energies(plant, w, t, y)


@entry
def note(plant: Plant, w: Workspace, t: float, y: Vector, rows: Matrix, of: int, turning: int) -> int:
    """Note a state of the current modes whose rows are known; called by address, as `right_hand_side`.

    Args:
        plant: of the run.
        w: its workspace.
        t: time of the state, s.
        y: the state.
        rows: its constraints, gaps and slips.
        of: WORST for a state between steps. 1 for one inside a step: friction is not noted there, since dense
            output has slip rates within the tolerance only. ROWS for one that is recorded, of which only friction is
            noted, apart from the steps: what a run says of itself must not depend on what is recorded.
        turning: the contact whose gap turns about there, or −1.
    """
    note_now(plant, w, t, y, rows, of, turning)
    return 0


@jit
def note_extremes(plant: Plant, w: Workspace, rows: Any) -> None:
    """Note the current state, whose rows are given."""
    ask(plant.note, (plant, w, w.time[TIME], w.y, rows, WORST, -1))


@jit
def note_state(plant: Plant, w: Workspace, rows: Any, t: float, y: Any) -> None:
    """Note another state of the current modes, whose rows are given."""
    ask(plant.note, (plant, w, t, y, rows, WORST, -1))


@jit
def note_row(plant: Plant, w: Workspace, t: float, y: Any, rows: Any) -> None:
    """Note a state that is recorded, whose rows are given, if there is friction."""
    if plant.nt > 0:
        ask(plant.note, (plant, w, t, y, rows, ROWS, -1))
