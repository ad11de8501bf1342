"""Compliant stick: friction as a spring and a damper from where a contact began to stick, capped by Coulomb's limit.

The law gives the force f̂ = −(k z + c ṡ) of a bristle that is bent by z; the contact bears no more than μλ of it:

    f = f̂                     ż = ṡ                    while |f̂| ≤ μλ: it sticks
    f = μλ f̂/|f̂|              ż = −(f + k z)/c         beyond: it slides, and the bristle relaxes

f is continuous, nothing creeps, two feet cannot contradict each other, and what a bristle gives it has stored: the
power −f·ṡ is the rate of ½k|z|², plus c|ż|², plus μλ times the sliding speed |ṡ − ż|.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.contact.law import FORCE as GIVEN
from impinge.contact.law import NOTHING, TANGENT
from impinge.simulation.system.plant import FORCE, PRESS, RATE, Plant, Workspace


@jit
def bristle_forces(plant: Plant, w: Workspace, c: int, own: int, slides: bool, normal: float) -> None:
    """Write the friction of a contact in a mode of its law, and what an uncapped bristle would give (as its PRESS)."""
    m, first, last = plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    closed = plant.closed[c, own] != 0
    for s in range(first, last):
        w.prescribed[m + s] = GIVEN
        w.value[m + s] = 0.0
        if closed:
            arguments = (own, TANGENT, w.bent[s], w.rows[RATE, m + s], plant.gains[c], w.value[m + s :])
            ask(plant.prescribe[c], arguments)
        w.rows[PRESS, m + s] = w.value[m + s]
    if slides:
        size = friction.length(w.value[m:], first, last)
        share = plant.mu[c] * max(normal, 0.0) / size if size > 0.0 else 0.0
        for s in range(first, last):
            w.value[m + s] *= share


@jit
def bend(plant: Plant, w: Workspace, dy: Any) -> None:
    """Write how fast bristles bend: with the slip while they stick, as fast as their damper lets them beyond."""
    m, place = plant.nh + plant.nc, plant.nq + plant.nv + plant.nc + plant.nt
    for c in range(plant.nc):
        for s in range(plant.slips[c], plant.slips[c + 1]):
            dy[place + s] = 0.0
            if plant.bristled[c] == 0 or plant.closed[c, w.mode[c]] == 0:
                continue
            dy[place + s] = w.rows[RATE, m + s]
            if w.mode[c] == plant.sliding[c]:
                own, z, gains = plant.closing[c], w.bent[s], plant.gains[c]
                ask(plant.prescribe[c], (own, TANGENT, z, 0.0, gains, w.attempt))
                spring = w.attempt[0]
                ask(plant.slope[c], (own, TANGENT, z, 0.0, gains, w.attempt))
                dy[place + s] = (w.rows[FORCE, m + s] - spring) / w.attempt[1]


@jit
def stored(plant: Plant, w: Workspace, y: Any, c: int) -> float:
    """Return what the bristles of a contact have stored, J."""
    total, place = 0.0, plant.nq + plant.nv + plant.nc + plant.nt
    if plant.bristled[c] == 0 or plant.closed[c, w.mode[c]] == 0:
        return 0.0
    for s in range(plant.slips[c], plant.slips[c + 1]):
        z = y[place + s]
        ask(plant.prescribe[c], (plant.closing[c], TANGENT, z, 0.0, plant.gains[c], w.attempt))
        total -= 0.5 * z * w.attempt[0]
    return total


@jit
def releases_at(plant: Plant, c: int, limit: float) -> float:
    """Return below which force a bristle that slides sticks again: its limit, less what tolerances leave open of it.

    Where a contact hardly slides its bristle is about at its limit, and errors within the tolerance would make it stick
    and slide without end.
    """
    return limit * limit / (limit + plant.grain[c]) if limit > 0.0 else limit


@jit
def bristle_mode(plant: Plant, w: Workspace, rows: Any, c: int, chosen: int, fell: bool) -> int:
    """Return the mode that its law has chosen for a closed contact if its bristle bears the force, else Sliding."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    if plant.closed[c, w.mode[c]] == 0:  # a new bristle is not bent
        total = 0.0
        for s in range(first, last):
            ask(plant.prescribe[c], (chosen, TANGENT, 0.0, rows[RATE, m + s], plant.gains[c], w.attempt))
            total += w.attempt[0] * w.attempt[0]
        return plant.sliding[c] if total**0.5 > plant.mu[c] * max(rows[PRESS, i], 0.0) + NOTHING else chosen
    limit, size = plant.mu[c] * rows[FORCE, i], friction.length(rows[PRESS, m:], first, last)
    if w.mode[c] == plant.sliding[c]:
        return chosen if fell or releases_at(plant, c, limit) - size > NOTHING else w.mode[c]
    return plant.sliding[c] if fell or limit - size < -NOTHING else chosen
