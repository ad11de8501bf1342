"""The slopes of an implicit step: how the derivative of the state depends on what acts on the motion.

Two parts of them are found apart. How rows and accelerations depend on the state *while forces are held* is geometry
and inertia. It is smooth, changes slowly, and costs an evaluation for each coordinate and velocity: so it is found by
differences over steps that no contact's depth limits, and kept for as many steps as it serves. How forces depend on the
rows is steep and changes within a depth: it is the slopes that the laws write, at every step. Accelerations are affine
in forces, so what a force does is found without evaluating the equations.

Step control sees what slopes that are kept too long do to the motion. It does not watch work, whose slopes change as
fast as forces and speeds: those of contacts' work are found anew, and where anything else does work none are kept.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.contact.law import FORCE as GIVEN
from impinge.contact.law import NORMAL, TANGENT
from impinge.simulation.integrate.implicit_system import BY_RATE, BY_VALUE, NEAR, START, STRESS
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import (
    FORCE,
    FORCES,
    HELD,
    KEPT,
    PRESS,
    RATE,
    ROWS,
    VALUE,
    Plant,
    Workspace,
    assign,
    works,
)

# Differences are taken over this share of a component, or of one if that is more.
_APART = 1e-8


@jit
def _stretch(plant: Plant, rows: Any, y: Any, i: int) -> float:
    """Return what a law is given as the value of a row: that of its bristle where it has one."""
    s = i - plant.nh - plant.nc
    if s >= 0 and plant.bristled[plant.normal[i] - plant.nh] != 0:
        return y[plant.nq + plant.nv + plant.nc + plant.nt + s]
    return rows[VALUE, i]


@jit
def write_law_slopes(plant: Plant, w: Workspace) -> None:
    """Write the slopes of the forces that laws give, where the step starts."""
    s, rows, gaps = w.implicit, w.rows_start, plant.nh + plant.nc
    for i in range(plant.nh, gaps + plant.ns):
        c = plant.normal[i] - plant.nh
        s.given[i] = plant.closed[c, w.mode[c]] != 0 and w.prescribed[i] == GIVEN
        if s.given[i] == 0:
            continue
        slides = plant.nt > 0 and w.mode[c] == plant.sliding[c]
        own = plant.closing[c] if slides else w.mode[c]
        value = _stretch(plant, rows, w.y, i)
        if i >= gaps and plant.bristled[c] == 0:
            value -= w.anchor[i - gaps]
        along = NORMAL if i < gaps else TANGENT
        ask(plant.slope[c], (own, along, value, rows[RATE, i], plant.gains[c], w.attempt))
        s.law[BY_VALUE, i], s.law[BY_RATE, i] = w.attempt[0], w.attempt[1]
        s.law[STRESS, i] = rows[PRESS, i] if i >= gaps and slides else rows[FORCE, i]


@jit
def _choose_places(plant: Plant, w: Workspace) -> int:
    """List the components that act on the motion now: coordinates, velocities, and for closed contacts their slips."""
    s, rows = w.implicit, plant.nq + plant.nv + plant.nc
    n: Any = 0
    for i in range(plant.nq + plant.nv):
        s.places[n] = i
        n += 1
    for k in range(plant.ns):
        c = plant.normal[plant.nh + plant.nc + k] - plant.nh
        if plant.closed[c, w.mode[c]] == 0:
            continue
        if plant.bristled[c] != 0:
            s.places[n] = rows + plant.nt + k
            n += 1
        elif plant.counting != 0 and plant.counted[k] != 0:
            s.places[n] = rows + k
            n += 1
    return n


@jit
def _difference(w: Workspace, step: float, slopes: Any) -> None:
    now, near = w.implicit.f[START], w.implicit.f[NEAR]
    for k in range(near.size):
        slopes[k] = (near[k] - now[k]) / step


@jit
def renew_slopes(plant: Plant, w: Workspace, t: float) -> None:
    """Write the slopes at held forces, and those by forces, where the step starts."""
    s, near, m = w.implicit, w.implicit.f[NEAR], plant.nh + plant.nc + plant.ns
    s.active[0] = _choose_places(plant, w)
    evaluate(plant, w, t, w.y, s.f[START])
    for i in range(m):
        s.forces[i], s.stretch[i], s.speed[i] = w.rows[FORCE, i], _stretch(plant, w.rows, w.y, i), w.rows[RATE, i]
    w.counts[HELD] = ROWS
    for i in range(m):
        if s.given[i] != 0:
            force = s.forces[i]
            s.forces[i] += 1.0 + abs(force)
            evaluate(plant, w, t, w.y, near)
            _difference(w, s.forces[i] - force, s.push[i])
            s.forces[i] = force
    assign(w.trial, w.y)
    for j in range(s.active[0] - 1, -1, -1):  # those that need no kernel first: it would describe another state
        i = s.places[j]
        w.counts[HELD] = FORCES if i < plant.nq + plant.nv else ROWS
        w.trial[i] = w.y[i] + _APART * max(abs(w.y[i]), 1.0)
        step = w.trial[i] - w.y[i]
        evaluate(plant, w, t, w.trial, near)
        _difference(w, step, s.held[j])
        for k in range(plant.nh, m):
            s.stretches[j, k] = (_stretch(plant, w.rows, w.trial, k) - s.stretch[k]) / step
            s.speeds[j, k] = (w.rows[RATE, k] - s.speed[k]) / step
        w.trial[i] = w.y[i]
    w.counts[HELD] = 0
    s.active[1] = _may_be_kept(plant, w)


@jit
def _may_be_kept(plant: Plant, w: Workspace) -> bool:
    """Tell whether a later step may have these slopes: all forces are of laws, and nothing else does work."""
    s, total = w.implicit, works(plant)
    kept = plant.steady != 0 and plant.nh == 0
    for c in range(plant.nc):
        if plant.closed[c, w.mode[c]] != 0:
            kept &= s.given[plant.nh + c] != 0
            for k in range(plant.slips[c], plant.slips[c + 1]):
                kept &= s.given[plant.nh + plant.nc + k] != 0
    for k in range(total, total + 4):
        kept &= s.f[START, k] == 0.0
    return kept


@jit
def _add(w: Workspace, j: int, i: int, change: float) -> None:
    """Add to the slopes by a component what it does through the force of a row."""
    slopes, push = w.implicit.slopes[j], w.implicit.push[i]
    w.implicit.change[i] = change
    if change != 0.0:
        for k in range(push.size):
            slopes[k] += change * push[k]


@jit
def _change(w: Workspace, j: int, i: int) -> float:
    """Return how the force that its law gives a row changes with a component."""
    s = w.implicit
    if s.given[i] == 0:
        return 0.0
    return s.law[BY_VALUE, i] * s.stretches[j, i] + s.law[BY_RATE, i] * s.speeds[j, i]


@jit
def _write_work(plant: Plant, w: Workspace, j: int) -> None:
    """Write the slopes of the work of contacts and of their friction by a component, if all forces are of laws."""
    s, rows, total = w.implicit, w.rows_start, works(plant)
    slopes = s.slopes[j]
    slopes[total + 4] = 0.0
    for k in range(total - plant.nr, total):
        slopes[k] = 0.0
    for i in range(plant.nh, plant.nh + plant.nc + plant.ns):
        if s.given[i] != 0:
            power = s.change[i] * rows[RATE, i] + rows[FORCE, i] * s.speeds[j, i]
            slopes[total + 4] += power
            if plant.nr > 0 and i >= plant.nh + plant.nc:
                slopes[total - plant.nr + plant.normal[i] - plant.nh] += power


@jit
def assemble_slopes(plant: Plant, w: Workspace) -> None:
    """Write all slopes: those at held forces, and what the laws' slopes add to them."""
    s, gaps = w.implicit, plant.nh + plant.nc
    for j in range(s.active[0]):
        assign(s.slopes[j], s.held[j])
        for i in range(s.change.size):
            s.change[i] = 0.0
        for c in range(plant.nc):
            first, last = gaps + plant.slips[c], gaps + plant.slips[c + 1]
            normal = _change(w, j, plant.nh + c)
            _add(w, j, plant.nh + c, normal)
            if plant.bristled[c] == 0 or w.mode[c] != plant.sliding[c]:
                for i in range(first, last):
                    _add(w, j, i, _change(w, j, i))
                continue
            # What slides has the direction of its bristle's force f̂, and the size μλ.
            size, along = friction.length(s.law[STRESS], first, last), 0.0
            if size > 0.0:
                for i in range(first, last):
                    along += s.law[STRESS, i] / size * _change(w, j, i)
                share = plant.mu[c] * max(s.law[STRESS, plant.nh + c], 0.0) / size
                for i in range(first, last):
                    toward = s.law[STRESS, i] / size
                    _add(w, j, i, share * (_change(w, j, i) - along * toward) + plant.mu[c] * normal * toward)
        if w.counts[KEPT] != 0:
            _write_work(plant, w, j)
