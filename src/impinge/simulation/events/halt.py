"""Contacts that never slide, under compliant laws: an impulse along their slips stops these when they close.

While such a contact is closed its slips are held by springs and dampers from where it closed, which would be bent far
by what lands with a slip rate. A rigid stick has none. So the slips of all contacts that close at one instant are
stopped there by impulses along themselves,

    W p = −ġ    for these slips, and for rows that are rigid: constraints, closed gaps of laws with impacts, and the
                slips of such contacts that never slide,

of smallest norm where rows are redundant. Other contacts that were closed before take no part: what springs hold, or a
stabilized law, does not answer to an impulse, and rigid feet would lock the rotation of a body that stands on two. A
rigid gap that would have to pull is left out. The work of the impulses is p·ġ/2 = −pᵀWp/2: they only take energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import entry, jit
from impinge.contact import friction
from impinge.contact.law import ACCELERATION
from impinge.contact.rows import minimum_norm
from impinge.simulation.results.extremes import CREATED, STRUCK, WORST, keep
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import RATE, TIME, WHOLE, Plant, Workspace, impulses, works

# An impulse that is this small against the largest is rounding.
_ROUNDING = 1e-12
# Impulses that move less energy (J) than this are rounding.
_NOTHING = 1e-14
# What a row is in the problem.
_OUT, _HELD, _STOPPED = 0.0, 1.0, 2.0


@jit
def _closes(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a contact closes at this instant, and its slips are to be stopped."""
    return plant.halted[c] != 0 and plant.closed[c, w.mode[c]] != 0 and plant.closed[c, w.left_mode[c]] == 0


@jit
def _lands(plant: Plant, w: Workspace) -> bool:
    """Tell whether such a contact has a slip rate, at the state just evaluated."""
    for c in range(plant.nc):
        if _closes(plant, w, c):
            rates = w.rows[RATE, plant.nh + plant.nc :]
            if friction.length(rates, plant.slips[c], plant.slips[c + 1]) > friction.CREEP:
                return True
    return False


@jit
def _is_rigid(plant: Plant, w: Workspace, i: int) -> bool:
    """Tell whether a row is rigid: a constraint, a closed gap of a law with impacts, or its slip if it never slides."""
    if i < plant.nh:
        return True
    c = plant.normal[i] - plant.nh
    slides = i >= plant.nh + plant.nc and plant.sliding[c] >= 0
    return plant.restitution[c] >= 0.0 and w.prescribed[i] == ACCELERATION and not slides


@jit
def _choose_rows(plant: Plant, w: Workspace) -> None:
    """Write what every row is in the problem to ``w.attempt``."""
    gaps = plant.nh + plant.nc
    for i in range(gaps + plant.ns):
        w.attempt[i] = _OUT
        if i >= gaps and _closes(plant, w, plant.normal[i] - plant.nh):
            w.attempt[i] = _STOPPED
        elif _is_rigid(plant, w, i):
            w.attempt[i] = _HELD


@jit
def _solve(plant: Plant, w: Workspace, W: Any) -> int:
    """Find the impulses of the chosen rows, which are listed in ``w.solver.indices``; return how many there are."""
    m, solver = plant.nh + plant.nc + plant.ns, w.solver
    n: Any = np.int64(0)
    for i in range(m):
        if w.attempt[i] != _OUT:
            solver.indices[n] = i
            solver.b[n] = -w.rows[RATE, i]
            n += 1
    for k in range(n):
        for j in range(n):
            solver.A[k, j] = W[solver.indices[k], solver.indices[j]]
    minimum_norm(solver.A, n, solver.b, solver.x, solver)
    return n


@jit
def _least(w: Workspace, n: int) -> float:
    """Return how large an impulse must be to be none of rounding."""
    largest = 0.0
    for k in range(n):
        largest = max(largest, abs(w.solver.x[k]))
    return _ROUNDING * largest


@jit
def _release(plant: Plant, w: Workspace, n: int) -> bool:
    """Leave out rigid contacts whose gaps pull, with their slips; tell whether there was one."""
    solver, least, found = w.solver, _least(w, n), False
    for k in range(n):
        i = solver.indices[k]
        if plant.nh <= i < plant.nh + plant.nc and solver.x[k] < -least:
            found = True
            for j in range(plant.nh, plant.nh + plant.nc + plant.ns):
                if plant.normal[j] == i:
                    w.attempt[j] = _OUT
    return found


@jit
def _mark(plant: Plant, w: Workspace, i: int, p: float) -> None:
    """Note the impulse of a gap, or of a slip that was stopped, as one of its contact at this instant."""
    c, e = plant.normal[i] - plant.nh, w.extremes
    if w.struck[c] == 0:
        w.struck[c], e.impulse[c] = 1, 0.0
        for s in range(plant.slips[c], plant.slips[c + 1]):
            e.halt[s] = 0.0
    if i < plant.nh + plant.nc:
        e.impulse[c] += p
        e.impacts[c] += 1
        keep(e.table[c], WORST, STRUCK, p, w.time[TIME])
    else:
        e.halt[i - plant.nh - plant.nc] += p


@entry
def halt(plant: Plant, w: Workspace) -> int:
    """Stop the slips of contacts that close at this instant, at the state just evaluated; return 0 if none had a rate.

    Velocities jump; impulses and their work are added to those of the run, and ``w.struck`` tells whose they are.
    """
    if not _lands(plant, w):
        return 0
    nq, nv, nh, nc = plant.nq, plant.nv, plant.nh, plant.nc
    w.counts[WHOLE] = 1
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    w.counts[WHOLE] = 0
    W, solver = w.terms.W, w.solver
    _choose_rows(plant, w)
    n = _solve(plant, w, W)
    while _release(plant, w, n):
        n = _solve(plant, w, W)
    first, work, least = impulses(plant), works(plant), _least(w, n)
    total, moved, most, who = 0.0, 0.0, 0.0, np.int64(0)
    for k in range(n):
        i, p = solver.indices[k], solver.x[k]
        before = after = w.rows[RATE, i]
        for j in range(n):
            after += W[i, solver.indices[j]] * solver.x[j]
        for j in range(nv):
            w.y[nq + j] += w.terms.response[i, j] * p
        mean = 0.5 * (before + after)
        w.y[work + (3 if i < nh else 4)] += p * (mean - w.terms.partial[i])
        if i < nh:
            continue
        if i < nh + nc + plant.nt:
            w.y[first + i - nh] += p
        if plant.nr > 0 and i >= nh + nc:
            w.y[work - plant.nr + plant.normal[i] - nh] += p * mean
        if abs(p) > least and (i < nh + nc or w.attempt[i] == _STOPPED):
            _mark(plant, w, i, p)
        total += p * mean
        moved += abs(p) * (abs(before) + abs(after))
        if abs(p) > most:
            most, who = abs(p), plant.normal[i] - nh
    keep(w.extremes.table[who], WORST, CREATED, total / (moved + _NOTHING), w.time[TIME])
    return 1
