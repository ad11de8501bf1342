"""What a run observes of itself: the extremes of every accepted step, inside it too, and of every impact.

Inside a step the dense output is a polynomial of gaps and forces. It is looked at only where the stages of the step
say that an extreme may lie there which is worse than all before; the rows are then evaluated truly at that instant.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import call, jit
from impinge.contact import friction
from impinge.simulation.bristles import stored
from impinge.simulation.contacts import sticks_rigidly
from impinge.simulation.dynamics import evaluate
from impinge.simulation.extremes import (
    APPROACH,
    BEND,
    CREATED,
    CREEP,
    DEPTH,
    DRIVE,
    EXCESS,
    GAIN,
    OPEN,
    PRODUCT,
    PULL,
    PUSH,
    RUB,
    STRUCK,
    keep,
)
from impinge.simulation.plant import EVALUATIONS, FORCE, RATE, STEPS, TIME, VALUE, impulses, works
from impinge.simulation.step import dense_polynomial, dense_state

# Slower than this (m/s) a slip has no direction that friction could be said to drive.
MOVES = 1e-6
# Coulomb's limit is missed relative to itself, but at least to this share of the largest limit and to this force (N).
_SHARE, _LEAST = 1e-2, 1e-3
# An extreme inside a step counts if it is worse than all before by this (m) or this share of the force.
_TINY, _CLEARLY = 1e-12, 1e-6
# Intervals of a step in which an extreme of a polynomial is looked for, and how often its place is improved.
_INTERVALS, _IMPROVED = 8, 30
_GOLDEN = 0.6180339887498949
# The energies of one step in so many are looked at, for the scale of the balance.
_SELDOM = 8


@jit
def _note_friction(plant: Any, rows: Any, mode: Any, c: int, t: float, worst: Any, value: Any, time: Any) -> None:
    """Note how far the friction of a closed contact is beyond its limit, and whether what sticks slips or is driven."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    size = friction.length(rows[FORCE, m:], first, last)
    limit = plant.mu[c] * max(rows[FORCE, i], 0.0)
    floor = _SHARE * plant.mu[c] * max(worst[PUSH, c], 0.0) + _LEAST
    keep(value, time, EXCESS, c, (size - limit) / (limit + floor), t)
    if plant.evaluate == 0 or not sticks_rigidly(plant, c):
        return
    speed = friction.length(rows[RATE, m:], first, last)
    if mode[c] != plant.sliding[c]:
        keep(value, time, CREEP, c, speed, t)
    if speed > MOVES:
        power = 0.0
        for s in range(first, last):
            power += rows[FORCE, m + s] * rows[RATE, m + s]
        keep(value, time, DRIVE, c, power, t)
        keep(value, time, RUB, c, size * speed, t)


@jit
def _note(plant: Any, w: Any, rows: Any, t: float, y: Any, inside: bool, turning: int) -> None:
    """Note a state whose rows are known, and at which a contact's gap may be turning about (−1: none).

    Of a state inside a step friction is not noted: dense output has slip rates within the tolerance only.
    """
    e = w.extremes
    value, time = e.value, e.time
    for i in range(plant.nh):
        if abs(rows[VALUE, i]) > e.drift[i]:
            e.drift[i], e.drift_time[i] = abs(rows[VALUE, i]), t
    for c in range(plant.nc):
        mode = w.mode[c]
        if plant.ne > 0 and mode == plant.passed[c]:
            continue
        gap, rate, force = rows[VALUE, plant.nh + c], rows[RATE, plant.nh + c], rows[FORCE, plant.nh + c]
        keep(value, time, DEPTH, c, -gap, t)
        keep(value, time, APPROACH, c, -rate, t)
        keep(value, time, PRODUCT, c, abs(gap * force), t)
        if mode == 0 and (rate < 0.0 or c == turning):
            keep(value, time, OPEN, c, -gap, t)
        if plant.closed[c, mode]:
            keep(value, time, PULL, c, -force, t)
            keep(value, time, PUSH, c, force, t)
            if plant.nt > 0 and plant.sliding[c] >= 0 and not inside:
                _note_friction(plant, rows, w.mode, c, t, value, value, time)
        if plant.nb > 0 and plant.bristled[c] != 0 and not inside:
            total = y[works(plant) - plant.nr + c] + stored(plant, w, y, c)
            e.given[c] = min(e.given[c], total)
            keep(value, time, GAIN, c, total - e.given[c], t)


@jit
def note_extremes(plant: Any, w: Any, rows: Any) -> None:
    """Note the current state, whose rows are given, and now and then its energies."""
    if plant.evaluate != 0 and w.counts[STEPS] % _SELDOM == 0:
        q, x, energy = plant.nq, plant.nq + plant.nv, w.extremes.energy
        call(plant.signals, (w.y[:q], w.y[q:x], w.time[TIME], w.u, plant.parameters, w.signal))
        energy[0] = max(energy[0], w.signal[0])
        energy[1], energy[2] = max(energy[1], w.signal[1]), max(energy[2], -w.signal[1])
        for i in range(q, x):
            energy[3] = max(energy[3], abs(w.y[i]))
    _note(plant, w, rows, w.time[TIME], w.y, False, -1)


@jit
def note_state(plant: Any, w: Any, rows: Any, t: float, y: Any) -> None:
    """Note another state of the current modes, whose rows are given."""
    _note(plant, w, rows, t, y, False, -1)


@jit
def note_row(plant: Any, w: Any, t: float, rows: Any, mode: Any) -> None:
    """Note what a recorded row shows of friction, apart from the steps: these must not depend on what is recorded."""
    if plant.nt == 0 or plant.evaluate == 0:
        return
    e = w.extremes
    for c in range(plant.nc):
        if plant.sliding[c] >= 0 and plant.closed[c, mode[c]] != 0:
            _note_friction(plant, rows, mode, c, t, e.value, e.recorded, e.recorded_time)


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
    place, worst = plant.nq + plant.nv + c, w.extremes.value[OPEN if w.mode[c] == 0 else DEPTH, c]
    fell, turned, lowest = False, False, 0.0
    for s in range(plant.tableau.c.size):
        rate = w.K[s, place]
        turned |= fell and rate > 0.0
        fell |= rate < 0.0
        lowest = min(lowest, rate)
    return turned and -w.y[place] - h * lowest > worst + _TINY


@jit
def _swells(plant: Any, w: Any, c: int, sign: float) -> bool:
    """Tell whether sign times a force, by its values at the stages, is larger inside the step than at both ends."""
    place, last = impulses(plant) + c, plant.tableau.c.size - 1
    start, end, most = sign * w.K[0, place], sign * w.K[last, place], sign * w.K[1, place]
    for s in range(2, last):
        most = max(most, sign * w.K[s, place])
    ends = max(start, end)
    worst = w.extremes.value[PUSH if sign > 0.0 else PULL, c]
    clear = _CLEARLY * abs(most)
    return most > ends + clear and most + (most - min(start, end)) > worst + clear


@jit
def _look_at(plant: Any, w: Any, t: float, h: float, theta: float, turning: int) -> None:
    """Note the state at θ of the step just computed; this is no part of the motion, and is not counted as such."""
    count = w.counts[EVALUATIONS]
    dense_state(plant, w, h, theta, w.scratch[0])
    evaluate(plant, w, t + theta * h, w.scratch[0], w.scratch[1])
    w.counts[EVALUATIONS] = count
    _note(plant, w, w.rows, t + theta * h, w.scratch[0], True, turning)


@jit
def look_inside(plant: Any, w: Any, t: float, h: float, end: float) -> None:
    """Note the extremes that gaps and forces have inside the step just computed, up to θ = end."""
    for c in range(plant.nc):
        if plant.ne > 0 and w.mode[c] == plant.passed[c]:
            continue
        if _dips(plant, w, h, c):
            place = plant.nq + plant.nv + c
            dense_polynomial(plant, w, place, w.poly[0])
            _look_at(plant, w, t, h, _lowest(w.poly[0], w.y[place], h, False, 1.0, end), c)
        if plant.closed[c, w.mode[c]] != 0:
            for sign in (1.0, -1.0):
                if _swells(plant, w, c, sign):
                    dense_polynomial(plant, w, impulses(plant) + c, w.poly[1])
                    _look_at(plant, w, t, h, _lowest(w.poly[1], 0.0, h, True, -sign, end), -1)


@jit
def note_work(plant: Any, w: Any, before: Any, after: Any, least: Any, impulse: Any, t: float) -> None:
    """Note what impulses of gaps and slips have created: more than none of the energy that the surfaces see.

    Their work is p times the mean of the rates before and after, which are relative to surfaces that move. Where a time
    stepper asks a gap for a rate above zero, ``least``, to take back its depth, that is not counted.
    """
    nh, nc, work, moved, most, who = plant.nh, plant.nc, 0.0, 0.0, 0.0, 0
    for i in range(nh, nh + nc + plant.ns):
        p = impulse[i]
        if p != 0.0:
            work += p * 0.5 * (before[i] + after[i])
            moved += abs(p) * (abs(before[i]) + abs(after[i]))
            if i < nh + nc:
                if i < least.size:
                    work -= p * max(least[i], 0.0)
                if p > most:
                    most, who = p, i - nh
    if moved > 0.0:
        keep(w.extremes.value, w.extremes.time, CREATED, who, work / moved, t)


@jit
def note_impact(plant: Any, w: Any, W: Any, before: Any, impulse: Any) -> None:
    """Note an impact: its impulses, Coulomb's limit for them, and the work that they do.

    ``W`` is A M⁻¹ Aᵀ over all rows, flat; ``before`` are the rates of all rows before the impact.
    """
    e, t, m = w.extremes, w.time[TIME], before.size
    gaps, after = plant.nh + plant.nc, w.value
    for i in range(plant.nh, m):
        after[i] = before[i]
        for j in range(m):
            after[i] += W[i * m + j] * impulse[j]
    for c in range(plant.nc):
        p = impulse[plant.nh + c]
        e.impulse[c] = p
        if p <= 0.0:
            continue
        e.impacts[c] += 1
        keep(e.value, e.time, STRUCK, c, p, t)
        if plant.sliding[c] >= 0:
            size, limit = friction.length(impulse[gaps:], plant.slips[c], plant.slips[c + 1]), plant.mu[c] * p
            keep(e.value, e.time, EXCESS, c, (size - limit) / max(limit, _SHARE * p), t)
    note_work(plant, w, before, after, e.impulse[:0], impulse, t)


@jit
def note_bend(plant: Any, w: Any, h: float, rates: Any, before: Any, t: float) -> None:
    """Note how far constraints and gaps are from where constant rates would have brought them within a time step."""
    e = w.extremes
    for i in range(plant.nh + plant.nc):
        off = abs(w.rows_start[VALUE, i] - before[VALUE, i] - h * rates[i])
        if i < plant.nh:
            e.bend[i] = max(e.bend[i], off)
        else:
            keep(e.value, e.time, BEND, i - plant.nh, off, t)


@jit
def note_step_friction(plant: Any, w: Any, h: float, after: Any, impulse: Any, t: float) -> None:
    """Note the power of friction at the end of a time step, with the rates that its impulses were found with."""
    e, gaps = w.extremes, plant.nh + plant.nc
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if first == last or impulse[plant.nh + c] <= 0.0:
            continue
        speed, power = friction.length(after[gaps:], first, last), 0.0
        if speed > MOVES:
            for s in range(first, last):
                power += impulse[gaps + s] * after[gaps + s] / h
            keep(e.value, e.time, DRIVE, c, power, t)
            keep(e.value, e.time, RUB, c, friction.length(impulse[gaps:], first, last) * speed / h, t)
