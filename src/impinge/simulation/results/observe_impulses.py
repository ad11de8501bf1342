"""What a run observes of its impulses: those of an impact, and those of a time step."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact import friction
from impinge.simulation.results.extremes import BEND, CREATED, DRIVE, EXCESS, RUB, STRUCK, WORST, keep
from impinge.simulation.results.observe import MOVES, SHARE
from impinge.simulation.system.plant import TIME, VALUE, Plant, Workspace

# Impulses that move less energy (J) than this are rounding.
_NOTHING = 1e-14


@jit
def note_work(plant: Plant, w: Workspace, before: Any, after: Any, least: Any, impulse: Any, t: float) -> None:
    """Note what impulses of gaps and slips have created: more than none of the energy that the surfaces see.

    Their work is p times the mean of the rates before and after, which are relative to surfaces that move. Where a time
    stepper asks a gap for a rate above zero, ``least``, to take back its depth, that is not counted.
    """
    nh, nc, work, moved, most, who = plant.nh, plant.nc, 0.0, 0.0, 0.0, 0
    for i in range(nh, nh + nc + plant.ns):
        p = impulse[i]
        if p != 0.0:
            work += p * 0.5 * (before[i] + after[i])
            moved += abs(p) * (abs(before[i]) + abs(after[i]))
            if i < nh + nc:
                if i < least.size:
                    work -= p * max(least[i], 0.0)
                if p > most:
                    most, who = p, i - nh
    if moved > 0.0:
        keep(w.extremes.table[who], WORST, CREATED, work / (moved + _NOTHING), t)


@jit
def note_impact(plant: Plant, w: Workspace, W: Any, before: Any, impulse: Any) -> None:
    """Note an impact: its impulses, Coulomb's limit for them, and the work that they do.

    ``W`` is A M⁻¹ Aᵀ over all rows; ``before`` are the rates of all rows before the impact.
    """
    e, t, m = w.extremes, w.time[TIME], before.size
    gaps, after = plant.nh + plant.nc, w.value
    for i in range(plant.nh, m):
        after[i] = before[i]
        for j in range(m):
            after[i] += W[i, j] * impulse[j]
    for c in range(plant.nc):
        p = impulse[plant.nh + c]
        e.impulse[c] = p
        if p <= 0.0:
            continue
        e.impacts[c] += 1
        keep(e.table[c], WORST, STRUCK, p, t)
        if plant.sliding[c] >= 0:
            size, limit = friction.length(impulse[gaps:], plant.slips[c], plant.slips[c + 1]), plant.mu[c] * p
            keep(e.table[c], WORST, EXCESS, (size - limit) / max(limit, SHARE * p), t)
    note_work(plant, w, before, after, e.impulse[:0], impulse, t)


@jit
def note_bend(plant: Plant, w: Workspace, h: float, rates: Any, before: Any, t: float) -> None:
    """Note how far constraints and gaps are from where constant rates would have brought them within a time step."""
    table = w.extremes.table
    for i in range(plant.nh + plant.nc):
        off = abs(w.rows_start[VALUE, i] - before[VALUE, i] - h * rates[i])
        keep(table[plant.nc if i < plant.nh else i - plant.nh], WORST, BEND, off, t)


@jit
def note_step_friction(plant: Plant, w: Workspace, h: float, after: Any, least: Any, impulse: Any, t: float) -> None:
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
