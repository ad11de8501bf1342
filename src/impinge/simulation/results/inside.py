"""Extremes inside a step, from its dense output.

Inside a step the dense output is a polynomial of gaps and forces. It is looked at only where the stages of the step
say that an extreme may lie there which is worse than all before; the rows are then evaluated truly at that instant.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.simulation.integrate.step import dense_polynomial, dense_state
from impinge.simulation.results.extremes import DEPTH, OPEN, PULL, PUSH, WORST
from impinge.simulation.results.observe import INSIDE, note_now
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import EVALUATIONS, Plant, Workspace, impulses

# An extreme inside a step counts if it is worse than all before by this (m) and by this share of it. A force must be
# larger than at both ends by a clear share of it.
_TINY, _SLIGHTLY, _CLEARLY = 1e-12, 1e-8, 1e-6
# Intervals of a step in which an extreme of a polynomial is looked for, parabolas that find its place, and how much
# narrower each is than the one before.
_INTERVALS, _PARABOLAS, _NARROWER = 8, 3, 0.125
# A polynomial may be lower than the parabola through three of its values by this share of what that adds.
_SAFELY = 1.5


@jit
def _at(p: Any, first: float, h: float, slope: bool, theta: float) -> float:
    """Return the value of a quantity that starts at ``first`` and changes by h p(θ), or its slope, at θ."""
    total = 0.0
    for k in range(p.size - 1, -1, -1):
        total = total * theta + (k + 1) * p[k] if slope else (total + p[k]) * theta
    return total if slope else first + h * total


@jit
def _lowest(p: Any, first: float, h: float, slope: bool, sign: float, end: float, below: float) -> float:
    """Return the θ in [0, end] at which sign times a polynomial, or its slope, is lowest; −1 if that is not below.

    Through the lowest of some values and its neighbors goes a parabola, through its lowest point and neighbors that are
    nearer the next one: the last is so narrow that it is the polynomial.
    """
    width, theta, lowest = end / _INTERVALS, 0.0, sign * _at(p, first, h, slope, 0.0)
    for k in range(1, _INTERVALS + 1):
        value = sign * _at(p, first, h, slope, k * width)
        if value < lowest:
            theta, lowest = k * width, value
    for n in range(_PARABOLAS):
        theta = min(max(theta, width), end - width)
        middle = sign * _at(p, first, h, slope, theta)
        left, right = sign * _at(p, first, h, slope, theta - width), sign * _at(p, first, h, slope, theta + width)
        curve, tilt = left - 2.0 * middle + right, left - right
        if not curve > 0.0:
            return -1.0
        if n == 0 and lowest - _SAFELY * tilt * tilt / (8.0 * curve) >= below:
            return -1.0
        theta += 0.5 * width * min(max(tilt / curve, -2.0), 2.0)
        width *= _NARROWER
    theta = min(max(theta, 0.0), end)
    return theta if sign * _at(p, first, h, slope, theta) < below else -1.0


@jit
def _dips(plant: Plant, w: Workspace, h: float, c: int) -> bool:
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
def _swells(plant: Plant, w: Workspace, c: int, sign: float) -> bool:
    """Tell whether sign times a force, by two stages inside the step, is larger there than at both ends, and ever."""
    place, last = impulses(plant) + c, plant.tableau.c.size - 1
    start, end = sign * w.K[0, place], sign * w.K[last, place]
    most = max(sign * w.K[2, place], sign * w.K[last - 3, place])
    worst, clear = w.extremes.table[c, WORST + (PUSH if sign > 0.0 else PULL)], _CLEARLY * abs(most)
    return most > max(start, end) + clear and most + (most - min(start, end)) > worst + clear


@jit
def _look_at(plant: Plant, w: Workspace, t: float, h: float, theta: float, turning: int) -> None:
    """Note the state at θ of the step just computed; this is no part of the motion, and is not counted as such."""
    count = w.counts[EVALUATIONS]
    dense_state(plant, w, h, theta, w.scratch[0])
    evaluate(plant, w, t + theta * h, w.scratch[0], w.scratch[1])
    w.counts[EVALUATIONS] = count
    ask(plant.note, (plant, w, t + theta * h, w.scratch[0], w.rows, INSIDE, turning))


@jit
def _shows(plant: Plant, w: Workspace, h: float, c: int) -> bool:
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
def _look(plant: Plant, w: Workspace, t: float, h: float, end: float, c: int) -> None:
    """Note the extremes that the gap and the force of a contact have inside the step just computed."""
    row, poly = w.extremes.table[c], w.poly[0]
    if _dips(plant, w, h, c):
        place, depth = plant.nq + plant.nv + c, row[WORST + (OPEN if w.mode[c] == 0 else DEPTH)]
        dense_polynomial(plant, w, place, poly)
        theta = _lowest(poly, w.y[place], h, False, 1.0, end, -depth - _TINY - _SLIGHTLY * abs(depth))
        if theta >= 0.0:
            _look_at(plant, w, t, h, theta, c)
    if plant.closed[c, w.mode[c]] != 0:
        for sign in (1.0, -1.0):
            if _swells(plant, w, c, sign):
                dense_polynomial(plant, w, impulses(plant) + c, poly)
                force = row[WORST + (PUSH if sign > 0.0 else PULL)]
                theta = _lowest(poly, 0.0, h, True, -sign, end, -force - _SLIGHTLY * abs(force))
                if theta >= 0.0:
                    _look_at(plant, w, t, h, theta, -1)


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
