"""Extremes inside a step, from its dense output.

Inside a step the dense output is a polynomial of gaps and forces. It is looked at only where the stages of the step
say that an extreme may lie there which is worse than all before; the rows are then evaluated truly at that instant.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.simulation.dynamics import evaluate
from impinge.simulation.extremes import DEPTH, OPEN, PULL, PUSH, WORST
from impinge.simulation.observe import INSIDE, note_now
from impinge.simulation.plant import EVALUATIONS, Plant, Workspace, impulses
from impinge.simulation.step import dense_polynomial, dense_state

# An extreme inside a step counts if it is worse than all before by this (m) or this share of the force.
_TINY, _CLEARLY = 1e-12, 1e-6
# Intervals of a step in which an extreme of a polynomial is looked for, and how often its place is improved.
_INTERVALS, _IMPROVED = 8, 20
_GOLDEN = 0.6180339887498949


@jit
def _at(p: Any, first: float, h: float, slope: bool, theta: float) -> float:
    """Return the value of a quantity that starts at ``first`` and changes by h p(θ), or its slope, at θ."""
    total = 0.0
    for k in range(p.size - 1, -1, -1):
        total = total * theta + (k + 1) * p[k] if slope else (total + p[k]) * theta
    return total if slope else first + h * total


@jit
def _lowest(p: Any, first: float, h: float, slope: bool, sign: float, end: float) -> float:
    """Return the θ in [0, end] at which sign times a polynomial, or its slope, is lowest."""
    width, best, lowest = end / _INTERVALS, 0, sign * _at(p, first, h, slope, 0.0)
    for k in range(1, _INTERVALS + 1):
        value = sign * _at(p, first, h, slope, k * width)
        if value < lowest:
            best, lowest = k, value
    a, b = max(best - 1, 0) * width, min(best + 1, _INTERVALS) * width
    for _ in range(_IMPROVED):
        x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        if sign * _at(p, first, h, slope, x) < sign * _at(p, first, h, slope, y):
            b = y
        else:
            a = x
    return 0.5 * (a + b)


@jit
def _dips(plant: Any, w: Any, h: float, c: int) -> bool:
    """Tell whether a gap, by its rates at the stages of the step, falls and rises again, and deeper than ever."""
    place, kind = plant.nq + plant.nv + c, OPEN if w.mode[c] == 0 else DEPTH
    spare = w.y[place] + w.extremes.table[c, WORST + kind] + _TINY
    fell, turned, lowest = False, False, 0.0
    for s in range(plant.tableau.c.size):
        rate = w.K[s, place]
        turned |= fell and rate > 0.0
        fell |= rate < 0.0
        lowest = min(lowest, rate)
    return turned and -h * lowest > spare


@jit
def _swells(plant: Any, w: Any, c: int, sign: float) -> bool:
    """Tell whether sign times a force, by two stages inside the step, is larger there than at both ends, and ever."""
    place, last = impulses(plant) + c, plant.tableau.c.size - 1
    start, end = sign * w.K[0, place], sign * w.K[last, place]
    most = max(sign * w.K[2, place], sign * w.K[last - 3, place])
    worst, clear = w.extremes.table[c, WORST + (PUSH if sign > 0.0 else PULL)], _CLEARLY * abs(most)
    return most > max(start, end) + clear and most + (most - min(start, end)) > worst + clear


@jit
def _look_at(plant: Any, w: Any, t: float, h: float, theta: float, turning: int) -> None:
    """Note the state at θ of the step just computed; this is no part of the motion, and is not counted as such."""
    count = w.counts[EVALUATIONS]
    dense_state(plant, w, h, theta, w.scratch[0])
    evaluate(plant, w, t + theta * h, w.scratch[0], w.scratch[1])
    w.counts[EVALUATIONS] = count
    ask(plant.note, (plant, w, t + theta * h, w.scratch[0], w.rows, INSIDE, turning))


@jit
def _shows(plant: Any, w: Any, h: float, c: int) -> bool:
    """Tell quickly, by four stages of a step, whether a gap may dip as deep as ever inside it, or a force swell."""
    K, mode, last, rate = w.K, w.mode[c], plant.tableau.c.size - 1, plant.nq + plant.nv + c
    first, final = K[0, rate], K[last, rate]
    if first < 0.0 < final or K[2, rate] < min(first, final):
        worst = w.extremes.table[c, WORST + (OPEN if mode == 0 else DEPTH)]
        if w.y[rate] + worst + _TINY < h * max(-first, -K[2, rate]):
            return True
    if plant.closed[c, mode] == 0:
        return False
    force = impulses(plant) + c
    start, one, other, end = K[0, force], K[2, force], K[last - 3, force], K[last, force]
    if (one - start) * (end - one) >= 0.0 and (other - start) * (end - other) >= 0.0:
        return False
    clear, row = _CLEARLY * abs(end), w.extremes.table[c]
    most, least, high, low = max(one, other), min(one, other), max(start, end), min(start, end)
    return (most > high + clear and 2.0 * most - low > row[WORST + PUSH]) or (
        least < low - clear and high - 2.0 * least > row[WORST + PULL]
    )


@jit
def _look(plant: Any, w: Any, t: float, h: float, end: float, c: int) -> None:
    """Note the extremes that the gap and the force of a contact have inside the step just computed."""
    if _dips(plant, w, h, c):
        place = plant.nq + plant.nv + c
        dense_polynomial(plant, w, place, w.poly[0])
        _look_at(plant, w, t, h, _lowest(w.poly[0], w.y[place], h, False, 1.0, end), c)
    if plant.closed[c, w.mode[c]] != 0:
        for sign in (1.0, -1.0):
            if _swells(plant, w, c, sign):
                dense_polynomial(plant, w, impulses(plant) + c, w.poly[1])
                _look_at(plant, w, t, h, _lowest(w.poly[1], 0.0, h, True, -sign, end), -1)


@entry
def look(plant: Plant, w: Workspace, t: float, h: float, end: float) -> int:
    """Note the extremes that gaps and forces have inside the step just computed, up to θ = end, and at its end.

    If the step ends with an event, or if there is friction, its end is noted when it is settled.
    """
    for c in range(plant.nc):
        if (plant.ne == 0 or w.mode[c] != plant.passed[c]) and _shows(plant, w, h, c):
            _look(plant, w, t, h, min(end, 1.0), c)
    if end > 1.0 and plant.nt == 0:
        note_now(plant, w, t + h, w.trial, w.rows_end, WORST, -1)
    return 0
