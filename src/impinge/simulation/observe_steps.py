"""What time stepping observes of itself beside what every run does: how straight its steps are, and their friction."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact import friction
from impinge.simulation.extremes import BEND, DRIVE, RUB, WORST, keep
from impinge.simulation.observe import MOVES
from impinge.simulation.plant import VALUE


@jit
def note_bend(plant: Any, w: Any, h: float, rates: Any, before: Any, t: float) -> None:
    """Note how far constraints and gaps are from where constant rates would have brought them within a time step."""
    table = w.extremes.table
    for i in range(plant.nh + plant.nc):
        off = abs(w.rows_start[VALUE, i] - before[VALUE, i] - h * rates[i])
        keep(table[plant.nc if i < plant.nh else i - plant.nh], WORST, BEND, off, t)


@jit
def note_step_friction(plant: Any, w: Any, h: float, after: Any, least: Any, impulse: Any, t: float) -> None:
    """Note the power of friction at the end of a time step, with the rates that its impulses were found with.

    A step with a rebound is an impact, in which others may turn a slip about against its friction: it is not noted.
    """
    e, gaps = w.extremes, plant.nh + plant.nc
    for i in range(plant.nh, gaps):
        if impulse[i] > 0.0 and after[i] > least[i] + MOVES:
            return
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if first == last or impulse[plant.nh + c] <= 0.0:
            continue
        speed, power = friction.length(after[gaps:], first, last), 0.0
        if speed > MOVES:
            for s in range(first, last):
                power += impulse[gaps + s] * after[gaps + s] / h
            keep(e.table[c], WORST, DRIVE, power, t)
            keep(e.table[c], WORST, RUB, friction.length(impulse[gaps:], first, last) * speed / h, t)
