"""Forces by which redundant contacts hold where the smallest ones would not: what can rest, rests.

Where several contacts hold one body, the forces that stick are those of smallest norm. If friction cannot bear these,
or contacts would have to pull, others may do: here the smallest of those that contacts can give are found, for all
contacts of an island of bodies that act on each other, such that every row has what its law asks for. Contacts at the
end of what they can give slide at zero speed then, those without a force are open, and the others stick; where that
leaves forces open, they are those nearest to the ones found here, until contacts decide anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import entry, jit
from impinge.contact import friction
from impinge.contact.balance import balance
from impinge.contact.law import NOTHING, SLOW, TOUCHING
from impinge.contact.nearest_force import FOUND, nearest_force
from impinge.simulation.events.settle import choose, pose
from impinge.simulation.system.contacts import sticks_rigidly
from impinge.simulation.system.plant import FORCE, RATE, VALUE, Plant, Workspace

# Rows depend on others if this share or less of them is left, and contradict these if they miss by this share.
_DEPENDENT, _CONTRADICTION = 1e-11, 1e-9
# An acceleration that misses its target by this share of its terms, and by this much (m/s²), is not reached.
_REACHED, _MISSED = 1e-10, 1e-9


@jit
def may_stand(plant: Plant, w: Workspace) -> bool:
    """Tell whether a contact touches and does not slip, and yet does not stick: then others may let it."""
    for c in range(plant.nc):
        i, sticks = plant.nh + c, plant.closed[c, w.mode[c]] != 0 and w.mode[c] != plant.sliding[c]
        if not sticks_rigidly(plant, c) or sticks or w.mode[c] == plant.passed[c]:
            continue
        if abs(w.rows[RATE, i]) > SLOW or (plant.closed[c, w.mode[c]] == 0 and w.rows[VALUE, i] > TOUCHING):
            continue
        if friction.length(w.rows[RATE, plant.nh + plant.nc :], plant.slips[c], plant.slips[c + 1]) <= friction.CREEP:
            return True
    return False


@jit
def forget_forces(w: Workspace) -> bool:
    """Let redundant forces be the smallest again; tell whether they were not."""
    known = False
    for i in range(w.solver.near.size):
        known |= w.solver.near[i] != 0.0
        w.solver.near[i] = 0.0
    return known


@jit
def _spread(plant: Plant, w: Workspace, row: int) -> None:
    """Mark the rows that act on a row, and those of the same contacts, and so on, with 1 in ``w.stand.island``."""
    m, island, grows = plant.nh + plant.nc + plant.ns, w.stand.island, True
    island[row] = 1
    while grows:
        grows = False
        for i in range(m):
            if island[i] != 1:
                continue
            for j in range(m):
                acts = w.delassus[i, j] != 0.0 or (i >= plant.nh and plant.normal[i] == plant.normal[j])
                if acts and island[j] == 0 and _is_held(plant, w, j):
                    island[j] = 1
                    grows = True


@jit
def _is_held(plant: Plant, w: Workspace, i: int) -> bool:
    """Tell whether a row takes part: it is a constraint's or a contact's that may push, not a slip that moves."""
    if i < plant.nh:
        return True
    c = plant.normal[i] - plant.nh
    return w.impact.active[c] != 0 and (i < plant.nh + plant.nc or not _moves(plant, w, c))


@jit
def _moves(plant: Plant, w: Workspace, c: int) -> bool:
    return w.rub[c] == 0.0 and plant.mu[c] > 0.0


@jit
def _rests(plant: Plant, w: Workspace) -> bool:
    """Tell whether no gap of the island moves: while one comes to rest, forces change, and with them who slides."""
    for c in range(plant.nc):
        if w.stand.island[plant.nh + c] == 1 and abs(w.rows[RATE, plant.nh + c]) > SLOW:
            return False
    return True


@jit
def _stands(plant: Plant, w: Workspace) -> bool:
    """Tell whether all rows of the island have what they are asked for already, by forces that contacts can give."""
    forces, gaps = w.rows[FORCE], plant.nh + plant.nc
    for c in range(plant.nc):
        if w.stand.island[plant.nh + c] == 1:
            pushes, rubs = forces[plant.nh + c], 0.0
            if sticks_rigidly(plant, c) and not _moves(plant, w, c):
                rubs = friction.length(forces[gaps:], plant.slips[c], plant.slips[c + 1])
            if pushes < -NOTHING or rubs > plant.mu[c] * pushes + NOTHING:
                return False
    m = plant.nh + plant.nc + plant.ns
    for i in range(m):
        if w.stand.island[i] != 1:
            continue
        total, size = w.value[i], abs(w.value[i])
        for j in range(m):
            if w.stand.island[j] == 1:
                total += w.delassus[i, j] * w.rows[FORCE, j]
                size += abs(w.delassus[i, j] * w.rows[FORCE, j])
        if abs(total) > max(_REACHED * size, _MISSED):
            return False
    return True


@jit
def _forces(plant: Plant, w: Workspace) -> bool:
    """Find the smallest forces that contacts of the island can give and that give its rows what they are asked for."""
    stand, cones, m, gaps = w.stand, w.stand.cones, plant.nh + plant.nc + plant.ns, plant.nh + plant.nc
    for i in range(m):
        stand.b[i], cones.target[i], cones.slip[i] = 0.0, 0.0, i
        if stand.island[i] == 1:
            stand.b[i] = -w.value[i]
        for j in range(m):
            both = stand.island[i] == 1 and stand.island[j] == 1
            stand.B[i, j] = w.delassus[i, j] if both else 0.0
    contacts: Any = np.int64(0)
    for c in range(plant.nc):
        if stand.island[plant.nh + c] == 1:
            cones.normal[contacts], cones.mu[contacts] = plant.nh + c, plant.mu[c]
            moves = _moves(plant, w, c)
            cones.slips[contacts, 0] = gaps + plant.slips[c]
            cones.slips[contacts, 1] = gaps + (plant.slips[c] if moves else plant.slips[c + 1])
            contacts += 1
    r = balance(stand.B, stand.b, m, _DEPENDENT, _CONTRADICTION, cones)
    return r >= 0 and nearest_force(cones, contacts, r) == FOUND


@entry
def stand_still(plant: Plant, w: Workspace) -> int:
    """Set the modes of contacts such that every island of bodies which can rest does; return how many cannot.

    Return −1 if every island has what it is asked for already.
    """
    m, found, failed = plant.nh + plant.nc + plant.ns, 0, 0
    if not pose(plant, w):
        return 1
    for i in range(m):
        w.stand.island[i] = 0
    for c in range(plant.nc):
        i = plant.nh + c
        if w.impact.active[c] == 0 or w.stand.island[i] != 0:
            continue
        _spread(plant, w, i)
        stands = not _rests(plant, w) or _stands(plant, w)
        if not stands and _forces(plant, w):
            for k in range(m):
                if w.stand.island[k] == 1:
                    w.attempt[k] = w.solver.near[k] = w.stand.cones.force[k]
            for k in range(plant.nc):
                if w.stand.island[plant.nh + k] == 1:
                    choose(plant, w, k)
            found += 1
        elif not stands:
            failed += 1
        for k in range(m):
            if w.stand.island[k] == 1:
                w.stand.island[k] = 2
    return failed if found + failed > 0 else -1
