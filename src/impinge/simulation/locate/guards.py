"""What the guards of all contacts are at an instant: each is the largest of its parts, which are smooth."""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.contact.law import ABSENT, PARTS, watched_by
from impinge.simulation.events.still import STILL, fastest_stick, stop_slips_here
from impinge.simulation.integrate.step import dense_motion, dense_state
from impinge.simulation.system import contacts
from impinge.simulation.system.dynamics import evaluate_and_press
from impinge.simulation.system.plant import PRESS, RATE, VALUE, Plant, Workspace


@entry
def resolution(t: float) -> float:
    """Return the time within which everything happens at one instant, s."""
    return 1e-12 + 1e-14 * abs(t)


@jit
def _combine(plant: Plant, watched: int, parts: Any, guards: Any) -> None:
    """Write guards as the largest of their parts; one that has none never falls."""
    for k in range(contacts.guard_count(plant)):
        largest, any_ = 0.0, False
        for p in range(PARTS * k, PARTS * (k + 1)):
            if watched_by(watched, p) != ABSENT and not (any_ and parts[p] <= largest):
                largest, any_ = parts[p], True
        guards[k] = largest if any_ else 1.0


@jit
def guards_of_rows(plant: Plant, w: Workspace, rows: Any, side: int) -> None:
    """Write the guards of all contacts and their parts for rows given at one instant, as those of a side.

    Sides: 0 and 1 are the two ends of a step or of an instant, 2 is anywhere between.
    """
    for c in range(plant.nc):
        i = plant.nh + c
        extent = rows[VALUE, plant.extent[c]] if plant.ne > 0 and plant.extent[c] >= 0 else 1.0
        hold, held = 1.0, 1.0
        if plant.nt > 0:
            hold, held = contacts.grip(plant, w, rows, c), contacts.creep(plant, w, rows, c)
        gap, rate, press, parts = rows[VALUE, i], rows[RATE, i], rows[PRESS, i], w.parts[side, c]
        w.watched[c] = contacts.guards(plant, c, w.mode[c], gap, rate, press, extent, hold, held, parts)
        _combine(plant, w.watched[c], parts, w.guards[side, c])


@jit
def wants_change(plant: Plant, w: Workspace, rows: Any, c: int) -> bool:
    """Tell whether a contact's law would choose another mode for rows given at one instant."""
    return contacts.decide(plant, w, rows, c, 0) != w.mode[c]


@jit
def evaluate_inside(plant: Plant, w: Workspace, t: float, h: float, theta: float, y: Any) -> None:
    """Write the state at t + θh of the step just computed to y, in which what sticks stands still, and evaluate it."""
    dense_state(plant, w, h, theta, y)
    evaluate_still(plant, w, t + theta * h, y)


@jit
def evaluate_still(plant: Plant, w: Workspace, t: float, y: Any) -> None:
    """Evaluate a state in which what sticks is made to stand still; its derivative is then in ``w.scratch[1]``."""
    evaluate_and_press(plant, w, t, y, w.scratch[1])
    if plant.nt > 0 and fastest_stick(plant, w, w.rows, False) > STILL:
        stop_slips_here(plant, w, t, y, False)
        evaluate_and_press(plant, w, t, y, w.scratch[1])


@jit
def guards_at(plant: Plant, w: Workspace, t: float, h: float, theta: float, side: int) -> None:
    """Write the true guards of all contacts at t + θh of the step just computed."""
    dense_motion(plant, w, h, theta, w.scratch[0])
    evaluate_still(plant, w, t + theta * h, w.scratch[0])
    guards_of_rows(plant, w, w.rows, side)
