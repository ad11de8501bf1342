"""What decides whether a contact with friction sticks, slides on, or jams, beyond its own force.

Where several contacts hold one body, the forces that stick are those of smallest norm. One that friction cannot bear
slides, though the others keep it where it is: it carries what it can, without moving, and they the rest. Where a slip
depends on the constraints, as in a dead point of a linkage, no force holds it, and it slides where it must.
"""

from __future__ import annotations

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.contact.law import NOTHING, SLOW, TANGENT
from impinge.contact.rows import row_forces
from impinge.simulation.system.contacts import prescribe_again, sticks_rigidly
from impinge.simulation.system.plant import FORCE, JAMMED, PRESS, RATE, VALUE, Plant, Workspace

# Slower (m/s²) than this, the decline of a slip rate may be what laws ask of other contacts that stick.
_EVEN = 1e-6
# An acceleration that misses its target by this share of its terms, and by this much (m/s²), is out of reach.
_UNREACHED, _MISSED = 1e-3, 1e-9


@jit
def slip_accelerations(plant: Plant, w: Workspace) -> None:
    """Write, for the slips of closed contacts, what decides whether they stop or can stick (``w.rows[PRESS]``).

    For one that slides it is the acceleration beyond the one that its law would ask for if it stuck from now on;
    for one that sticks, the acceleration that no force can give, zero where one can.
    """
    W, drift = w.terms.W, w.terms.drift
    for c in range(plant.nc):
        if not sticks_rigidly(plant, c) or plant.closed[c, w.mode[c]] == 0:
            continue
        slides = w.mode[c] == plant.sliding[c]
        for s in range(plant.slips[c], plant.slips[c + 1]):
            i = plant.nh + plant.nc + s
            total = drift[i]
            size = abs(total)
            for j in range(drift.size):
                total += W[i, j] * w.rows[FORCE, j]
                size += abs(W[i, j] * w.rows[FORCE, j])
            if slides:
                ask(plant.prescribe[c], (plant.closing[c], TANGENT, 0.0, 0.0, plant.gains[c], w.attempt))
                w.rows[PRESS, i] = total - w.attempt[0]
            else:
                missing = total - w.value[i]
                w.rows[PRESS, i] = missing if abs(missing) > max(_UNREACHED * size, _MISSED) else 0.0
        if slides:
            _go_on(plant, w, c)


@jit
def steer(plant: Plant, w: Workspace) -> float:
    """Turn the directions of contacts that begin to slide in a plane towards where they accelerate; return by how much.

    Friction acts against the direction, and the direction is that of the motion which follows, so that both are found
    together: d ← (a + κ d) / |a + κ d|, where κ is what friction can do to the acceleration a at most.
    """
    W, gaps, turned = w.terms.W, plant.nh + plant.nc, 0.0
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if w.mode[c] != plant.sliding[c] or w.begins[c] == 0 or last < first + 2 or plant.bristled[c] != 0:
            continue
        most = 0.0
        for s in range(gaps + first, gaps + last):
            most += plant.mu[c] * abs(w.rows[FORCE, plant.nh + c]) * W[s, s]
        size = 0.0
        for s in range(first, last):
            w.attempt[gaps + s] = w.rows[PRESS, gaps + s] + most * w.direction[s]
            size += w.attempt[gaps + s] ** 2
        if size <= 0.0:
            continue
        for s in range(first, last):
            new = w.attempt[gaps + s] / size**0.5
            turned = max(turned, abs(new - w.direction[s]))
            w.direction[s] = new
    return turned


@jit
def _go_on(plant: Plant, w: Workspace, c: int) -> None:
    """Let a contact that would stop go on sliding if friction cannot hold it and it would slide this way again."""
    gaps, i, first, last = plant.nh + plant.nc, plant.nh + c, plant.slips[c], plant.slips[c + 1]
    slow = friction.along(w.rows[RATE, gaps:], w.direction, first, last) <= friction.CREEP
    rise = friction.along(w.rows[PRESS, gaps:], w.direction, first, last)
    if not slow or rise > 0.0 or rise < -_EVEN:
        return
    for s in range(first, last):
        slip = (plant.closing[c], TANGENT, 0.0, 0.0, plant.gains[c], w.value[gaps + s :])
        w.prescribed[gaps + s] = ask(plant.prescribe[c], slip)
    row_forces(w.terms.W, w.terms.drift, w.prescribed, w.value, plant.normal, w.attempt, w.solver)
    prescribe_again(plant, w, c, w.mode[c], w.rows[VALUE, i], w.rows[RATE, i])
    held = friction.length(w.attempt[gaps:], first, last)
    onward = friction.along(w.attempt[gaps:], w.direction, first, last) < 0.0
    if onward and held > plant.mu[c] * w.attempt[i] + NOTHING:
        for s in range(first, last):
            w.rows[PRESS, gaps + s] = w.direction[s]


@jit
def slide_instead(plant: Plant, w: Workspace, c: int, mode: int, gap: float, rate: float) -> None:
    """Correct the forces that ``w.attempt`` holds for a contact closed in a mode: it slides if it cannot stick.

    It jams if it would pull while it slides, and more so the harder it is pushed apart: then friction presses it
    together faster than its normal force parts it (P. Painlevé 1895), and no force of a rigid contact is right.
    """
    gaps, i, first, last = plant.nh + plant.nc, plant.nh + c, plant.slips[c], plant.slips[c + 1]
    W, drift = w.terms.W, w.terms.drift
    if mode == plant.closing[c]:
        w.begins[c] = 0
        if friction.length(w.attempt[gaps:], first, last) <= plant.mu[c] * w.attempt[i] + NOTHING:
            return
        friction.yields(w.attempt[gaps:], w.direction, first, last)
        w.begins[c] = 1
        prescribe_again(plant, w, c, plant.sliding[c], gap, rate)
        row_forces(W, drift, w.prescribed, w.value, plant.normal, w.attempt, w.solver)
    force = w.attempt[i]
    if force < 0.0 and rate <= SLOW:
        w.value[i] += 1.0
        row_forces(W, drift, w.prescribed, w.value, plant.normal, w.attempt, w.solver)
        if w.attempt[i] <= force:
            w.counts[JAMMED] = c + 1
        w.attempt[i] = force
