"""What the simulator asks of one contact: its law, and where its surface ends.

A surface with an end (an edge, a gate) has an extent, positive where the surface is. A contact that is
closed where the extent falls through zero, or whose gap closes beyond it, is Passed: no force acts, and its
law is not asked, until the gap is open again.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, inlined, jit
from impinge.contact.law import EXTENT, GAP, GUARDS, NORMAL, TANGENT, TOUCHING
from impinge.contact.law import FORCE as OPEN
from impinge.simulation.plant import PRESS, RATE, VALUE

PASSED = "Passed"


@inlined
def prescribe(plant: Any, w: Any, c: int, mode: int, gap: float, rate: float) -> None:
    """Write what a contact in a mode prescribes for its gap and slips into ``w.prescribed`` and ``w.value``."""
    i, m = plant.nh + c, plant.nh + plant.nc
    if plant.ne > 0 and mode == plant.passed[c]:
        w.prescribed[i], w.value[i] = OPEN, 0.0
        for s in range(plant.slips[c], plant.slips[c + 1]):
            w.prescribed[m + s], w.value[m + s] = OPEN, 0.0
        return
    w.prescribed[i] = ask(plant.prescribe[c], (mode, NORMAL, gap, rate, plant.gains[c], w.value[i:]))
    if plant.ns == 0:
        return
    was_closed = plant.closed[c, w.mode[c]] != 0
    for s in range(plant.slips[c], plant.slips[c + 1]):
        slip = w.rows[VALUE, m + s] - w.anchor[s] if was_closed else 0.0
        arguments = (mode, TANGENT, slip, w.rows[RATE, m + s], plant.gains[c], w.value[m + s :])
        w.prescribed[m + s] = ask(plant.prescribe[c], arguments)


@inlined
def guards(plant: Any, c: int, mode: int, gap: float, rate: float, force: float, extent: float, values: Any) -> int:
    """Write a contact's guards: its law's, and behind them the one that watches the end of its surface.

    Return what they watch, two bits each.
    """
    if plant.ne > 0 and mode == plant.passed[c]:
        for k in range(GUARDS):
            values[k] = 1.0
        values[GUARDS] = -gap
        return GAP << 2 * GUARDS
    watched = ask(plant.guard[c], (mode, gap, rate, force, plant.gains[c], values))
    if plant.ne > 0:
        values[GUARDS] = 1.0
        if plant.extent[c] >= 0:
            by_gap = plant.closed[c, mode] == 0 and gap > extent
            values[GUARDS] = gap if by_gap else extent
            watched += (GAP if by_gap else EXTENT) << 2 * GUARDS
    return watched


@jit
def decide(plant: Any, w: Any, rows: Any, c: int, fired: int) -> int:
    """Return the mode that a contact should be in, for rows given at one instant and the guards that fell."""
    i, mode = plant.nh + c, w.mode[c]
    gap = rows[VALUE, i]
    if plant.ne > 0 and plant.extent[c] >= 0:
        if mode == plant.passed[c]:
            return 0 if gap > TOUCHING else mode
        fell, beyond = fired & (1 << GUARDS) != 0, rows[VALUE, plant.extent[c]] <= 0.0
        if plant.closed[c, mode] != 0 and (fell or beyond):
            return plant.passed[c] if gap <= TOUCHING else 0
        if (beyond and gap <= 0.0) or (fell and gap <= TOUCHING):
            return plant.passed[c]
    return ask(plant.decide[c], (mode, gap, rows[RATE, i], rows[PRESS, i], plant.gains[c], fired))


@jit
def change(plant: Any, w: Any, c: int, mode: int) -> None:
    """Change a contact's mode; slip counts from where it closes."""
    m = plant.nh + plant.nc
    if plant.closed[c, mode] != 0 and plant.closed[c, w.left_mode[c]] == 0:
        for s in range(plant.slips[c], plant.slips[c + 1]):
            w.anchor[s] = w.rows[VALUE, m + s]
    w.mode[c] = mode
