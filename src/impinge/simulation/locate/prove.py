"""No gap closes unseen along the dense output of a step: it is proved open, or found to close.

Polynomials through the stages of a step cannot show a bump between them. Here every open gap is bounded over the whole
step, then over ever smaller parts of it until each is proved:

    γ > 0 by its bounds; or it does not fall; or from both ends of the part, with slopes in [m, M], it cannot reach zero

Zero stands for minus the tolerance of a step: what is above that has not closed, as far as a step knows. The part to
the left always comes first. One that begins above zero and ends below it contains a fall, and whatever is behind it is
dropped; it is halved until the gap only falls in it. What is left after so many parts, or when they have become very
narrow, is not proved, and counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact.law import TOUCHING
from impinge.simulation.locate.find import ITSELF, close_in
from impinge.simulation.locate.guards import guards_at, resolution
from impinge.simulation.locate.proof import COARSE, FEW_PARTS, NARROWEST, PARTS, PROVED, UNPROVED
from impinge.simulation.locate.roots import NONE
from impinge.simulation.system import contacts
from impinge.simulation.system.plant import VALUE, Plant, Workspace

# What is known of a gap: that it is open, that it falls, that it may fall unseen (before that).
_OPEN, _FALLS, _UNDECIDED = 0, 1, 2


@jit
def _no_fall(bounds: Any, begin: float, end: float, width: float, zero: float) -> bool:
    """Tell whether a gap that is ``begin`` and ``end`` at both ends of a part surely does not fall in it.

    Only below ``zero``, a negative number, has it fallen.
    """
    least, greatest, m, M = bounds[0], bounds[1], bounds[2], bounds[3]
    if least > zero or m >= 0.0 or (begin <= 0.0 and greatest <= 0.0):
        return True
    above, behind = begin - zero, end - zero
    if not (above >= 0.0 and behind >= 0.0):
        return False
    return M <= 0.0 or M * above - m * behind + 1.001 * m * M * width > 0.0


@jit
def _value(bounds: Any, zero: float) -> float:
    """Return a gap at one place from its bounds there: where rounding decides whether it has fallen, it has not."""
    return bounds[1] if bounds[1] < zero else max(bounds[0], zero)


@jit
def _write(part: Any, a: float, b: float, begin: float, end: float) -> None:
    part[0], part[1], part[2], part[3] = a, b, begin, end


@jit
def _budget(w: Workspace, c: int, falls: bool) -> int:
    """Return over how many parts of a step a gap is bounded at most: fewer if that was in vain in the last step."""
    return FEW_PARTS if w.proof.tired[c] != 0 and not falls else PARTS


@jit
def _prove(plant: Plant, w: Workspace, t: float, h: float, c: int, end: float) -> int:
    """Prove that a gap does not fall in [0, end] of the step just computed, or find where it first does.

    A fall that is found is between the two places in ``w.proof.event``. Return the sum of what is known.
    """
    proof, i, zero = w.proof, plant.nh + c, -plant.atol
    if ask(plant.proof.trace, (plant, w, t, h, c, end)) != 0:
        return _OPEN
    parts, value = proof.parts, w.rows_end[VALUE, i]
    if end < 1.0:
        ask(plant.proof.bound, (plant, w, t, h, c, end, end))
        value = _value(proof.bounds, zero)
        ask(plant.proof.bound, (plant, w, t, h, c, 0.0, end))
    _write(parts[0], 0.0, end, w.rows_start[VALUE, i], value)
    used, top, falls, sure = 0, 1, False, True
    while top > 0:
        top -= 1
        a, b, begin, value = parts[top, 0], parts[top, 1], parts[top, 2], parts[top, 3]
        if used > 0:
            ask(plant.proof.bound, (plant, w, t, h, c, a, b))
        used += 1
        if begin > 0.0 and value < zero:
            proof.event[0], proof.event[1] = a, b
            falls, top = True, 0
            if proof.bounds[3] < 0.0 or b - a <= NARROWEST:
                break
        elif _no_fall(proof.bounds, begin, value, b - a, zero):
            continue
        elif b - a <= NARROWEST:
            sure = False
            while top > 0 and parts[top - 1, 1] - parts[top - 1, 0] < COARSE:
                top -= 1
            continue
        if used >= _budget(w, c, falls):
            sure = False
            break
        x = 0.5 * (a + b)
        ask(plant.proof.bound, (plant, w, t, h, c, x, x))
        middle = _value(proof.bounds, zero)
        sure &= proof.bounds[0] > -np.inf
        _write(parts[top], x, b, middle, value)
        _write(parts[top + 1], a, x, begin, middle)
        top += 2
    proof.tired[c] = not sure
    return (_FALLS if falls else 0) + (0 if sure else _UNDECIDED)


@jit
def _locate(plant: Plant, w: Workspace, t: float, h: float, c: int) -> bool:
    """Locate the fall of a gap between two places, and tell whether it is an event: one that a guard sees.

    The places in ``w.proof.event`` become those just before and just behind it.
    """
    event, i = w.proof.event, plant.nh + c
    a, b = event[0], event[1]
    for n in range(2):
        band = n * TOUCHING
        guards_at(plant, w, t, h, a, 0)
        above = w.rows[VALUE, i] + band
        guards_at(plant, w, t, h, b, 0)
        below = w.rows[VALUE, i] + band
        if not (above > 0.0 and below < 0.0):
            continue
        low, high = close_in(plant, w, t, h, c, ITSELF, band, (a, above, b, below))
        high = min(1.0, max(high, low + resolution(t) / h))
        guards_at(plant, w, t, h, low, 0)
        guards_at(plant, w, t, h, high, 1)
        fired = 0
        for k in range(contacts.guard_count(plant)):
            if w.guards[0, c, k] >= -2.0 * band and w.guards[1, c, k] < 0.0:
                fired |= 1 << k
        if fired != 0:
            for k in range(plant.nc):
                w.fired[k] = 0
            w.fired[c] = fired
            event[0], event[1] = low, high
            return True
    return False


@entry
def prove(plant: Plant, w: Workspace, t: float, h: float, low: float) -> bool:
    """Prove that no open gap closes before ``low`` (or the end) of the step just computed; tell whether one does.

    The first that does is then in ``w.proof.event``, just before and just behind, and in ``w.fired``.
    """
    found, high = False, NONE
    for c in range(plant.nc):
        if plant.closed[c, w.mode[c]] != 0 or w.mode[c] == plant.passed[c]:
            continue
        end, verdict = min(low, 1.0), _OPEN
        if plant.proof.curved[c] != 0 and end * h > resolution(t):
            verdict = _prove(plant, w, t, h, c, end)
        if verdict & _FALLS != 0:
            if _locate(plant, w, t, h, c):
                low, high, found = w.proof.event[0], w.proof.event[1], True
            else:
                verdict = _UNDECIDED
        w.proof.counts[UNPROVED if verdict & _UNDECIDED != 0 else PROVED] += 1
    w.proof.event[0], w.proof.event[1] = low, high
    return found
