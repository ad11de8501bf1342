"""Rigid contacts that close: when they strike, and what becomes of velocities, impulses and work.

Bounces of one contact may accumulate: their intervals shrink like a geometric series, whose sum is finite. When three
bounces in a row show its ratio and the next would be too low to see, the contact closes at the limit of the series.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.impact import impact_impulses
from impinge.contact.law import SLOW, TOUCHING
from impinge.contact.propagation import propagating_impulses
from impinge.simulation.locate.guards import resolution
from impinge.simulation.results.observe_impulses import note_impact
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import RATE, TAIL, TIME, VALUE, WHOLE, Plant, Workspace, impulses, works

# Slower (m/s) than this nothing bounces.
_DEAD = 1e-10
# Nor does what is slower than this (m/s) and has bounced within this time (s): contacts that rattle come to rest.
_FAINT, _BRIEF = 1e-6, 1e-8
# A bounce lower than this (m) may be one of a series that ends at its limit.
_LOW = 1e-10
# So far may the ratios of three intervals differ.
_EVEN = 1e-3


@jit
def _touches(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a rigid contact takes part in an impact at the current state."""
    i = plant.nh + c
    if plant.restitution[c] < 0.0 or w.mode[c] == plant.passed[c]:
        return False
    if plant.ne > 0 and plant.extent[c] >= 0 and w.rows[VALUE, plant.extent[c]] <= 0.0:
        return False
    near = TOUCHING + 2.0 * resolution(w.time[TIME]) * abs(w.rows[RATE, i])
    return plant.closed[c, w.mode[c]] != 0 or w.rows[VALUE, i] <= near


@jit
def _strikes(plant: Plant, w: Workspace) -> bool:
    """Note which contacts take part in an impact, and tell whether there is one."""
    any_ = False
    for c in range(plant.nc):
        touches = _touches(plant, w, c)
        w.impact.active[c] = touches
        any_ |= touches and plant.closed[c, w.mode[c]] == 0 and w.rows[RATE, plant.nh + c] < -SLOW
    return any_


@jit
def _restitutions(plant: Plant, w: Workspace) -> None:
    """Write the restitution of each contact in this impact: none for the last of a series of bounces."""
    t, impact = w.time[TIME], w.impact
    w.time[TAIL] = 0.0
    for c in range(plant.nc):
        speed, e = -w.rows[RATE, plant.nh + c], plant.restitution[c]
        impact.bounce[c] = e
        if impact.active[c] == 0 or speed <= SLOW:
            continue
        lasted, before, first = t - impact.since[c], impact.lasted[c, 0], impact.lasted[c, 1]
        ratio, last_ratio = lasted / before, before / first
        if speed < _DEAD or (speed < _FAINT and lasted < _BRIEF):
            impact.bounce[c] = 0.0
        elif e * speed * lasted < 4.0 * _LOW and 0.0 < ratio < 1.0 and abs(ratio - last_ratio) < _EVEN:
            impact.bounce[c] = 0.0
            if abs(ratio - e) < _EVEN:
                ratio = e  # that of a fall at constant acceleration, which a short one is
            w.time[TAIL] = max(w.time[TAIL], lasted * ratio / (1.0 - ratio))
        impact.since[c], impact.lasted[c, 0], impact.lasted[c, 1] = t, lasted, before


@jit
def _impulses(plant: Plant, w: Workspace, W: Any, before: Any, impulse: Any) -> int:
    """Find the impulses: one after another if any contact that takes part asks for that, else all at once."""
    for c in range(plant.nc):
        if w.impact.active[c] != 0 and plant.propagates[c] != 0:
            return propagating_impulses(W, before, plant.nh, plant.slips, plant.mu, w.impact.bounce, impulse, w.impact)
    return impact_impulses(W, before, plant.nh, plant.slips, plant.mu, w.impact.bounce, impulse, w.impact)


@entry
def strike(plant: Plant, w: Workspace) -> int:
    """Let rigid contacts push that close at the current state, whose rows are known; return 0 if that was possible.

    Velocities jump; impulses and their work are added to those of the run; ``w.struck`` tells which contacts pushed
    and ``w.time[TAIL]`` how long the bounces would go on that are left out.
    """
    w.time[TAIL] = 0.0
    if not _strikes(plant, w):
        return 0
    nq, nv, nh, m = plant.nq, plant.nv, plant.nh, plant.nh + plant.nc + plant.ns
    w.counts[WHOLE] = 1
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    w.counts[WHOLE] = 0
    _restitutions(plant, w)
    terms, impulse = w.terms, w.attempt
    W, before = terms.W, terms.rate
    status = _impulses(plant, w, W, before, impulse)
    if status != 0:
        return status
    note_impact(plant, w, W, before, impulse)
    first, work, given = impulses(plant), works(plant), 0.0
    for i in range(m):
        if impulse[i] == 0.0:
            continue
        after = before[i]
        for j in range(m):
            after += W[i, j] * impulse[j]
        for k in range(nv):
            w.y[nq + k] += terms.response[i, k] * impulse[i]
        given += impulse[i] * 0.5 * (before[i] + after)
        w.y[work + (3 if i < nh else 4)] += impulse[i] * (0.5 * (before[i] + after) - terms.partial[i])
        if nh <= i < nh + plant.nc + plant.nt:
            w.y[first + i - nh] += impulse[i]
        if nh <= i < nh + plant.nc:
            w.struck[i - nh] = 1
    w.impact.created[0] = max(w.impact.created[0], given)
    for c in range(plant.nc):
        if w.impact.active[c] != 0 and plant.closed[c, w.mode[c]] != 0:
            _part(plant, w, c, W, before, impulse)
    return 0


@jit
def _part(plant: Plant, w: Workspace, c: int, W: Any, before: Any, impulse: Any) -> None:
    """Open a contact that rested until an impact parted it: its force must not brake it."""
    i, m = plant.nh + c, before.size
    rate = before[i]
    for j in range(m):
        rate += W[i, j] * impulse[j]
    if rate > max(_DEAD, abs(before[i])):  # not only by as much as it drifted
        w.mode[c] = ask(plant.decide[c], (plant.closing[c], w.rows[VALUE, i], rate, -1.0, plant.gains[c], 1))
