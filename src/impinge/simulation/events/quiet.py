"""What tells quickly that no guard of a contact can fall within a step, so that none need be looked at."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.contact.law import ABSENT, GAP, GRIP, PARTS, PRESS, watched_by
from impinge.simulation.system import contacts
from impinge.simulation.system.plant import VALUE, Plant, Workspace


@jit
def span(h: float, change: Any) -> float:
    """Return how far a quantity can get from where it starts within the step, from the polynomial of its change."""
    most = 0.0
    for k in range(change.size):
        most += abs(change[k])
    return h * most


@jit
def gap_alone(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether every guard that a contact has now is held up by its gap."""
    gap = w.rows_start[VALUE, plant.nh + c]
    for k in range(contacts.guard_count(plant)):
        any_, by_gap = False, False
        for p in range(PARTS * k, PARTS * (k + 1)):
            what = watched_by(w.watched[c], p)
            any_ |= what != ABSENT and what != GRIP
            by_gap |= what == GAP and w.parts[0, c, p] == gap
        if any_ and not by_gap:
            return False
    return True


@jit
def pushes_throughout(plant: Plant, w: Workspace, c: int, impulse: Any) -> bool:
    """Tell quickly whether a contact that only its force may open pushes all through the step."""
    for p in range(PARTS * contacts.guard_count(plant)):
        what = watched_by(w.watched[c], p)
        if what not in (ABSENT, PRESS) or (what == PRESS and not (w.parts[0, c, p] > 0.0 and w.parts[1, c, p] > 0.0)):
            return False
    least = impulse[0]
    for j in range(1, impulse.size):
        least -= (j + 1) * abs(impulse[j])
    return least > 0.0
