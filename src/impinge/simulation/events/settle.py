"""Which contacts stick, slide and open at an instant, all at once: for when they contradict each other.

It is the same problem as an impact without rebound, of accelerations in place of rates: forces push, gaps and slips
accelerate no less than their laws ask for, friction stays within its cone. Contacts that slide already have their
friction tied to their normal force. Each law has what it asked for, or its contact is open and accelerates more: that
also holds where more contacts are closed than a body has freedom, and ask for what cannot be had together.
"""

from __future__ import annotations

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact import friction
from impinge.contact.impact import impact_impulses
from impinge.contact.law import ACCELERATION, NORMAL, NOTHING, SLOW, TANGENT, TOUCHING
from impinge.simulation.system.contacts import along_direction, sticks_rigidly
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import (
    DESCRIBED,
    FORCE,
    HELD,
    PRESS,
    RATE,
    SAME,
    TIME,
    VALUE,
    WHOLE,
    Plant,
    Workspace,
    assign_rows,
)

# Friction that is used up to this share is used up.
_ALL = 1.0 - 1e-9
# An acceleration that misses its target by this share of its terms, and by this much (m/s²), is not reached.
_REACHED, _MISSED = 1e-10, 1e-9


@jit
def contradicted(plant: Plant, w: Workspace) -> bool:
    """Tell whether a closed contact does not accelerate as its law asks, at the state just evaluated."""
    W, drift, m = w.terms.W, w.terms.drift, plant.nh + plant.nc + plant.ns
    count = 0
    for i in range(m):
        count += w.prescribed[i] == ACCELERATION
    if count < 2:
        return False
    for i in range(plant.nh, m):
        if w.prescribed[i] != ACCELERATION:
            continue
        total = drift[i]
        size = abs(total) + abs(w.value[i])
        for j in range(m):
            total += W[i, j] * w.rows[FORCE, j]
            size += abs(W[i, j] * w.rows[FORCE, j])
        if abs(total - w.value[i]) > max(_REACHED * size, _MISSED):
            return True
    return False


@jit
def driven(plant: Plant, w: Workspace) -> bool:
    """Tell whether a contact sets out against its friction, at the state just evaluated."""
    for c in range(plant.nc):
        if w.mode[c] == plant.sliding[c] and plant.bristled[c] == 0 and along_direction(plant, w, w.rows, c) <= 0.0:
            rise = w.rows[PRESS, plant.nh + plant.nc :]
            if friction.along(rise, w.direction, plant.slips[c], plant.slips[c + 1]) < -_MISSED:
                return True
    return False


@jit
def _takes_part(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a contact may push: it is closed, or was just now, or touches and does not open."""
    i = plant.nh + c
    if w.mode[c] == plant.passed[c] or w.left_mode[c] == plant.passed[c]:
        return False
    if plant.closed[c, w.mode[c]] != 0 or plant.closed[c, w.left_mode[c]] != 0:
        return True
    return w.rows[VALUE, i] <= TOUCHING and w.rows[RATE, i] <= SLOW


@jit
def pose(plant: Plant, w: Workspace) -> bool:
    """Write what every row lacks of its target to ``w.value``, the matrix to ``w.delassus``, friction to ``w.rub``.

    Forces that a law or a bristle gives are known and belong to what a row has without the others. Contacts that take
    part are active in ``w.impact``. Return False if there is a number that is none.
    """
    w.counts[WHOLE], w.counts[HELD] = 1, SAME if w.counts[DESCRIBED] != 0 else 0
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    w.counts[WHOLE] = w.counts[HELD] = 0
    nh, nc, m = plant.nh, plant.nc, plant.nh + plant.nc + plant.ns
    drift, W, slips = w.terms.drift, w.terms.W, nh + nc
    assign_rows(w.delassus, W)
    for i in range(m):
        w.attempt[i] = 0.0
    for c in range(nc):
        i, first, last = nh + c, plant.slips[c], plant.slips[c + 1]
        w.rub[c], w.impact.bounce[c] = plant.mu[c], 0.0
        w.impact.active[c] = _takes_part(plant, w, c)
        if w.impact.active[c] != 0 and w.prescribed[i] != ACCELERATION and plant.closed[c, w.mode[c]] != 0:
            w.impact.active[c] = 0  # compliant
        if w.impact.active[c] == 0:
            for s in range(first - 1, last):  # its gap, then its slips
                j = i if s < first else slips + s
                w.attempt[j] = w.rows[FORCE, j]
        elif sticks_rigidly(plant, c):
            speed = friction.length(w.rows[RATE, slips:], first, last)
            if speed > friction.CREEP:
                friction.aim(w.rows[RATE, slips:], w.direction, first, last, friction.CREEP)
                w.rub[c] = 0.0
                for k in range(m):
                    for s in range(first, last):
                        w.delassus[k, i] -= plant.mu[c] * w.direction[s] * W[k, slips + s]
    for i in range(m):
        c = plant.normal[i] - nh
        target = drift[i]
        for j in range(m):
            target += W[i, j] * w.attempt[j]
        if i < nh:
            target += plant.stabilization[0] * w.rows[VALUE, i] + plant.stabilization[1] * w.rows[RATE, i]
        elif w.impact.active[c] != 0:
            along, value, rate = NORMAL, w.rows[VALUE, i], w.rows[RATE, i]
            if i >= slips:
                along, value, rate = TANGENT, 0.0, 0.0 if sticks_rigidly(plant, c) else rate
            ask(plant.prescribe[c], (plant.closing[c], along, value, rate, plant.gains[c], w.value[i:]))
            target -= w.value[i]
        w.value[i] = target
    finite = True
    for i in range(m):
        finite &= np.isfinite(w.value[i])
    return finite


@jit
def choose(plant: Plant, w: Workspace, c: int) -> None:
    """Set the mode of a contact from its forces in ``w.attempt``."""
    slips, i, first, last = plant.nh + plant.nc, plant.nh + c, plant.slips[c], plant.slips[c + 1]
    forces = w.attempt[slips:]
    if w.attempt[i] <= NOTHING:
        if plant.closed[c, w.mode[c]] != 0:
            gap, rate = w.rows[VALUE, i], w.rows[RATE, i]
            w.mode[c] = ask(plant.decide[c], (plant.closing[c], gap, rate, -1.0, plant.gains[c], 1))
        return
    stuck = plant.closed[c, w.mode[c]] != 0 and w.mode[c] != plant.sliding[c]
    w.mode[c] = plant.closing[c]
    if not sticks_rigidly(plant, c):
        return
    if w.rub[c] == 0.0 and plant.mu[c] > 0.0:
        w.mode[c], w.begins[c] = plant.sliding[c], 0
    elif friction.length(forces, first, last) >= _ALL * plant.mu[c] * w.attempt[i]:
        friction.yields(forces, w.direction, first, last)
        w.mode[c], w.begins[c], w.turned[c] = plant.sliding[c], 1, 1
    elif not stuck:
        for s in range(first, last):
            w.anchor[s] = w.rows[VALUE, slips + s]


@entry
def settle(plant: Plant, w: Workspace) -> int:
    """Set the modes of all contacts that may push from one solution for all; return 0 if there is one."""
    m = plant.nh + plant.nc + plant.ns
    if not pose(plant, w):
        return 1
    status = impact_impulses(
        w.delassus, w.value[:m], plant.nh, plant.slips, w.rub, w.impact.bounce, w.attempt, w.impact
    )
    if status != 0:
        return status
    for c in range(plant.nc):
        if w.impact.active[c] != 0:
            choose(plant, w, c)
    return 0
