"""Which contacts stick, slide and open at an instant, all at once: for when changing one at a time does not end.

At rest it is the same problem as an impact without rebound, of accelerations in place of rates: forces push, gaps and
slips accelerate no less than their laws ask for, friction stays within its cone. Contacts that slide already are none
of it: then this does not help.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact import friction
from impinge.contact.impact import impact_impulses
from impinge.contact.law import ACCELERATION, NORMAL, NOTHING, TANGENT
from impinge.simulation.dynamics import evaluate
from impinge.simulation.plant import RATE, TIME, VALUE, WHOLE, Plant, Workspace

# Friction that is used up to this share is used up.
_ALL = 1.0 - 1e-9


@jit
def _targets(plant: Any, w: Any) -> bool:
    """Write what every row lacks of its target, to ``w.value``; return False if a contact slides or is compliant."""
    nv, nh, m = plant.nv, plant.nh, plant.nh + plant.nc + plant.ns
    drift = w.out[nv + 2 * m : nv + 3 * m]
    for i in range(nh):
        target = -plant.stabilization[0] * w.rows[VALUE, i] - plant.stabilization[1] * w.rows[RATE, i]
        w.value[i] = drift[i] - target
    for c in range(plant.nc):
        first, last, i = plant.slips[c], plant.slips[c + 1], nh + c
        w.impact.active[c] = w.changed[c] != 0 or plant.closed[c, w.mode[c]] != 0
        if w.impact.active[c] == 0:
            continue
        if friction.length(w.rows[RATE, nh + plant.nc :], first, last) > friction.SETTLED:
            return False
        asked = (plant.closing[c], NORMAL, w.rows[VALUE, i], w.rows[RATE, i], plant.gains[c], w.value[i:])
        if ask(plant.prescribe[c], asked) != ACCELERATION:
            return False
        w.value[i] = drift[i] - w.value[i]
        for s in range(first, last):
            j = nh + plant.nc + s
            ask(plant.prescribe[c], (plant.closing[c], TANGENT, 0.0, w.rows[RATE, j], plant.gains[c], w.value[j:]))
            w.value[j] = drift[j] - w.value[j]
    return True


@entry
def settle(plant: Plant, w: Workspace) -> int:
    """Set the modes of all contacts that changed or are closed from one solution for all; return 0 if there is one."""
    nh, m = plant.nh, plant.nh + plant.nc + plant.ns
    w.counts[WHOLE] = 1
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    w.counts[WHOLE] = 0
    if not _targets(plant, w):
        return 1
    W = w.out[plant.nv + 4 * m + 3 + plant.nv * m :]
    for c in range(plant.nc):
        w.impact.bounce[c] = 0.0
    status = impact_impulses(W, w.value[:m], nh, plant.slips, plant.mu, w.impact.bounce, w.attempt, w.impact)
    if status != 0:
        return status
    for c in range(plant.nc):
        if w.impact.active[c] == 0:
            continue
        i, first, last, slips = nh + c, plant.slips[c], plant.slips[c + 1], w.attempt[nh + plant.nc :]
        if w.attempt[i] <= NOTHING:
            gap, rate = w.rows[VALUE, i], w.rows[RATE, i]
            w.mode[c] = ask(plant.decide[c], (plant.closing[c], gap, rate, -1.0, plant.gains[c], 1))
        elif plant.sliding[c] >= 0 and friction.length(slips, first, last) >= _ALL * plant.mu[c] * w.attempt[i]:
            friction.yields(slips, w.direction, first, last)
            w.mode[c], w.begins[c], w.turned[c] = plant.sliding[c], 1, 1
        else:
            for s in range(first, last):
                w.anchor[s] = w.rows[VALUE, nh + plant.nc + s]
            w.mode[c] = plant.closing[c]
    return 0
