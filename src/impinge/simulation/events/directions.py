"""The directions in which contacts slide in a plane: those of their slip rates, as far as these tell one."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact import friction
from impinge.simulation.system.plant import RATE, Plant, Workspace

# What slides at an angle to its direction whose cosine is not above this slides across it.
_ACROSS = 1e-3

# Where a contact slides more slowly than this (m/s), friction changes with its direction if that turns by this much.
_DULL, _STRAIGHT = 1e-2, 1e-9

# Friction that turns by an angle whose cosine is below this turns far.
_FAR = 0.95

# What slides at an angle to its direction whose cosine is below this has lost it: friction would not brake it.
_OBLIQUE = 0.3


@jit
def realign(plant: Plant, w: Workspace) -> bool:
    """Turn contacts that slide against or across their direction to that of their slip rate; tell whether any do."""
    found = False
    for c in range(plant.nc):
        if w.mode[c] != plant.sliding[c] or plant.bristled[c] != 0:
            continue
        first, last, rates = plant.slips[c], plant.slips[c + 1], w.rows[RATE, plant.nh + plant.nc :]
        speed, along = friction.length(rates, first, last), friction.along(rates, w.direction, first, last)
        if along > friction.LAG:
            w.begins[c] = 0
        if speed > friction.CREEP and along <= _ACROSS * speed:
            friction.aim(rates, w.direction, first, last, friction.CREEP)
            w.begins[c] = 0
            found = True
    return found


@jit
def oblique(rates: Any, direction: Any, first: int, last: int) -> bool:
    """Tell whether a contact slides so far off its direction that it turns to its slip rate at once."""
    speed = friction.length(rates, first, last)
    return speed > friction.CREEP and friction.along(rates, direction, first, last) < _OBLIQUE * speed


@jit
def aim(plant: Plant, w: Workspace, rows: Any) -> bool:
    """Turn the directions of contacts that slide in a plane to those of their slip rates, where a step starts.

    Tell whether that changes their friction, which it does where they slide so slowly that the direction counts.
    """
    turned = False
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if w.mode[c] != plant.sliding[c] or plant.bristled[c] != 0:
            continue
        rates = rows[RATE, plant.nh + plant.nc :]
        along = friction.along(rates, w.direction, first, last)
        if along > friction.LAG:
            w.begins[c] = 0
        if along > 0.0 and last > first + 1:
            if oblique(rates, w.direction, first, last):
                friction.aim(rates, w.attempt, first, last, friction.CREEP)
            else:
                friction.blend(rates, w.direction, first, last, w.attempt)
            slow = friction.length(rates, first, last) < _DULL
            for s in range(first, last):
                turned |= slow and abs(w.attempt[s] - w.direction[s]) > _STRAIGHT
                w.direction[s] = w.attempt[s]
    return turned


@jit
def swings(plant: Plant, w: Workspace) -> bool:
    """Tell whether friction turns so far in the step just computed that polynomials do not show what it asks of others.

    Step control watches the motion, which hardly feels how slow slips turn; what sticks beside them does.
    """
    slips, far, held = plant.nh + plant.nc, False, False
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if plant.closed[c, w.mode[c]] == 0 or plant.sliding[c] < 0 or plant.bristled[c] != 0 or last != first + 2:
            continue
        if w.mode[c] != plant.sliding[c]:
            held = True
            continue
        friction.blend(w.rows_start[RATE, slips:], w.direction, first, last, w.attempt)
        friction.blend(w.rows_end[RATE, slips:], w.direction, first, last, w.value)
        far |= friction.along(w.attempt, w.value, first, last) < _FAR
    return far and held


@jit
def slides_in_plane(plant: Plant, w: Workspace) -> bool:
    """Tell whether a contact slides rigidly in a plane, so that its direction turns."""
    found = False
    for c in range(plant.nc):
        found |= w.mode[c] == plant.sliding[c] and plant.bristled[c] == 0 and plant.slips[c + 1] > plant.slips[c] + 1
    return found
