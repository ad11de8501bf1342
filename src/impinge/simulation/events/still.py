"""What sticks stands still: its slip rate, which an integrator keeps within its tolerance only, is set to zero.

Impulses on the closed rows change the velocities by as little as that takes: those of slips that stick lose their
rate, those of constraints and closed gaps keep theirs. Where feet that stick contradict each other a rate remains;
that is how the contradiction is seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import Vector, ask, entry, jit
from impinge.contact import friction
from impinge.contact.law import ACCELERATION
from impinge.contact.rows import minimum_norm
from impinge.simulation.system.contacts import sticks_rigidly
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import DESCRIBED, HELD, RATE, SAME, Plant, Workspace

# Slower than this (m/s) is still.
STILL = 1e-13


@jit
def _stands(plant: Plant, w: Workspace, rows: Any, c: int, starts: bool) -> bool:
    """Tell whether a contact must have no slip rate: it sticks, or, where a step starts, has not left yet.

    One that begins to slide may still have a rate against its direction, within rounding: friction would drive it.
    """
    if not sticks_rigidly(plant, c) or plant.closed[c, w.mode[c]] == 0:
        return False
    if w.mode[c] != plant.sliding[c]:
        return True
    if not starts:
        return False
    first, last, rates = plant.slips[c], plant.slips[c + 1], rows[RATE, plant.nh + plant.nc :]
    slow = friction.length(rates, first, last) <= friction.CREEP
    return slow and friction.along(rates, w.direction, first, last) < 0.0


@jit
def fastest_stick(plant: Plant, w: Workspace, rows: Any, starts: bool) -> float:
    """Return the largest slip rate, m/s, of what must stand still."""
    largest = 0.0
    for c in range(plant.nc):
        if _stands(plant, w, rows, c, starts):
            for s in range(plant.slips[c], plant.slips[c + 1]):
                largest = max(largest, abs(rows[RATE, plant.nh + plant.nc + s]))
    return largest


@entry
def stop_slips(plant: Plant, w: Workspace, t: float, y: Vector, starts: int) -> float:
    """Take the slip rates of what stands still out of the velocities of a state; return the largest that remains, m/s.

    A step may start from the state or not; see `_stands`. It is evaluated, unless it is the one that was evaluated last
    and ``w.counts[HELD]`` says so.
    """
    nv, gaps, m = plant.nv, plant.nh + plant.nc, plant.nh + plant.nc + plant.ns
    evaluate(plant, w, t, y, w.scratch[1])
    w.counts[HELD] = 0
    if fastest_stick(plant, w, w.rows, starts != 0) <= STILL:
        return 0.0
    W, response, solver = w.terms.W, w.terms.response, w.solver
    n: Any = np.int64(0)
    for i in range(m):
        held = i >= gaps and _stands(plant, w, w.rows, plant.normal[i] - plant.nh, starts != 0)
        if held or w.prescribed[i] == ACCELERATION:
            solver.indices[n] = i
            w.value[n] = held
            solver.b[n] = -w.rows[RATE, i] if held else 0.0
            n += 1
    for k in range(n):
        for j in range(n):
            solver.A[k, j] = W[solver.indices[k], solver.indices[j]]
    minimum_norm(solver.A, n, solver.b, solver.x, solver)
    for k in range(n):
        for j in range(nv):
            y[plant.nq + j] += response[solver.indices[k], j] * solver.x[k]
    for i in range(m):
        for j in range(n):
            w.rows[RATE, i] += W[i, solver.indices[j]] * solver.x[j]
    remains = 0.0
    for k in range(n):
        if w.value[k] != 0.0:
            remains = max(remains, abs(w.rows[RATE, solver.indices[k]]))
    return remains


@jit
def stop_slips_here(plant: Plant, w: Workspace, t: float, y: Any, starts: bool) -> None:
    """Do it for the state evaluated last."""
    w.counts[HELD] = SAME if w.counts[DESCRIBED] != 0 else 0
    ask(plant.stop_slips, (plant, w, t, y, np.int64(starts)))


@jit
def stop_slips_of(plant: Plant, w: Workspace, t: float, y: Any, rows: Any) -> float:
    """Do it where a step starts, if rows that are known already say that it is needed, and mend these rows."""
    if plant.nt == 0 or fastest_stick(plant, w, rows, True) <= STILL:
        return 0.0
    remains = ask(plant.stop_slips, (plant, w, t, y, np.int64(1)))
    for i in range(plant.nh + plant.nc + plant.ns):
        rows[RATE, i] = w.rows[RATE, i]
    return remains
