"""The limits of a run's promises, and whether it kept them: see `verdict.Verdict` for what each is."""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.locate.guards import resolution
from impinge.simulation.results.extremes import (
    APPROACH,
    BALANCE,
    BEND,
    CREATED,
    CREEP,
    DEPTH,
    DRIFT,
    DRIVE,
    EXCESS,
    GAIN,
    KINDS,
    LIMIT,
    MISS,
    OPEN,
    ROWS,
    ROWS_WHEN,
    RUB,
    WORST,
    keep,
)
from impinge.simulation.system.plant import STEPS, TIME, Plant, Workspace, works

OPEN_DEPTH, OPEN_TOLERANCES, OPEN_INSTANTS = 1e-9, 10.0, 4.0
CREATED_SHARE, DRIVEN_SHARE, EXCESS_SHARE, CREEP_RATE = 1e-9, 1e-9, 1e-6, 1e-6
BENDS, WAYS, ROUNDING = 2.0, 2.0, 1e-12
DRIVEN_POWER = 1e-10  # W: less is rounding where nothing else rubs
# The energy balance: errors of so many steps at least, times so much, and rounding of forces and of energies.
_STEPS, _TIMES, _SHARE, _EPSILON = 100, 50.0, 1e-10, 1e-15
# An energy (J) that is none.
_NOTHING = 1e-12
# Steps whose errors a stabilized constraint may still show.
_LATELY = 1e3


@jit
def _energy_limit(plant: Plant, w: Workspace, start: float, end: float) -> float:
    """Return the residual of the energy balance that the tolerances allow, J.

    In every step each velocity may be off by rtol of itself and by atol, and the energy by twice that share of the
    largest that the run moved: kinetic, potential from its lowest to its highest, or work. Errors of steps may add up.
    Twenty-five times that is the limit, for a hundred steps at least, and the rounding of the energies themselves.
    """
    energy = w.extremes.energy
    scale = max(energy[0], energy[1] + energy[2], abs(end - start))
    for k in range(works(plant), w.y.size):
        scale = max(scale, abs(w.y[k]))
    share = plant.rtol + (plant.atol / energy[3] if energy[3] > 0.0 else 0.0) + _SHARE
    rounding = _EPSILON * (abs(energy[1]) + abs(energy[2]))
    return _NOTHING + max(w.counts[STEPS], _STEPS) * (_TIMES * share * scale + rounding)


@jit
def _judge_whole(plant: Plant, w: Workspace, start: float, kinetic: float, potential: float) -> int:
    """Write the limits of the promises that are not a contact's; return how many were broken."""
    row: Any = w.extremes.table[plant.nc]
    energy, end, broken = w.extremes.energy, kinetic + potential, 0
    energy[0] = max(energy[0], abs(kinetic))
    energy[1], energy[2] = max(energy[1], potential), max(energy[2], -potential)
    if plant.evaluate != 0 and plant.fixed_step == 0.0:
        residual = end - start
        for k in range(works(plant), w.y.size):
            residual -= w.y[k]
        row[WORST + BALANCE], row[LIMIT + BALANCE] = abs(residual), _energy_limit(plant, w, start, end)
        broken += not row[WORST + BALANCE] <= row[LIMIT + BALANCE]
    if row[WORST + MISS] >= 0.0:
        row[LIMIT + MISS] = plant.rtol
        broken += not row[WORST + MISS] <= row[LIMIT + MISS]
    if plant.nh > 0:
        allowed = _LATELY * (plant.atol + plant.rtol) if plant.evaluate != 0 else BENDS * max(row[WORST + BEND], 0.0)
        row[LIMIT + DRIFT] = START_TOLERANCE + allowed
        broken += not row[WORST + DRIFT] <= row[LIMIT + DRIFT]
    return broken


@entry
def judge(plant: Plant, w: Workspace, way: float, start: float, kinetic: float, potential: float) -> int:
    """Write the limits of all promises of a run into its table; return how many were broken.

    What only a recorded row shows counts as well, if it breaks a promise.

    Args:
        plant: of the run.
        w: its workspace.
        way: length of a time step that sees a contact only after it has closed, s, or 0.
        start: energy at the start of the run, J.
        kinetic: energy at its end, J.
        potential: the other part of that, J.
    """
    e, broken = w.extremes, _judge_whole(plant, w, start, kinetic, potential)
    balance = e.table[plant.nc, LIMIT + BALANCE]
    for c in range(plant.nc):
        row = e.table[c]
        approach, rub = max(row[WORST + APPROACH], 0.0), max(row[WORST + RUB], 0.0)
        if plant.evaluate != 0:
            instants = OPEN_INSTANTS * resolution(w.time[TIME]) * approach
            row[LIMIT + OPEN] = OPEN_DEPTH + OPEN_TOLERANCES * plant.atol + instants
            row[LIMIT + CREEP] = CREEP_RATE
            row[LIMIT + GAIN] = balance
        else:
            bend = BENDS * max(row[WORST + BEND], 0.0)
            row[LIMIT + DEPTH] = ROUNDING + bend + max(-e.start[c], 0.0) + WAYS * way * approach
        row[LIMIT + CREATED] = CREATED_SHARE
        row[LIMIT + EXCESS] = EXCESS_SHARE
        row[LIMIT + DRIVE] = DRIVEN_POWER + DRIVEN_SHARE * rub
        for kind in range(KINDS):
            limit = row[LIMIT + kind]
            if not limit < 0.0:
                if row[ROWS + kind] > limit:
                    keep(row, WORST, kind, row[ROWS + kind], row[ROWS_WHEN + kind])
                broken += row[WORST + kind] > limit
    return broken
