"""What a run observes of itself: the extremes of every accepted step, inside it too, and of every impact.

Inside a step the dense output is a polynomial of gaps and forces. It is looked at only where the stages of the step
say that an extreme may lie there which is worse than all before; the rows are then evaluated truly at that instant.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import Matrix, Vector, ask, call, entry, jit
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
    DRIFT,
    DRIVE,
    EXCESS,
    GAIN,
    OPEN,
    PRODUCT,
    PULL,
    PUSH,
    ROWS,
    ROWS_WHEN,
    RUB,
    STRUCK,
    WORST,
    keep,
)
from impinge.simulation.plant import (
    EVALUATIONS,
    FORCE,
    RATE,
    STEPS,
    TIME,
    VALUE,
    Plant,
    Workspace,
    impulses,
    works,
)
from impinge.simulation.step import dense_polynomial, dense_state

# Slower than this (m/s) a slip has no direction that friction could be said to drive.
MOVES = 1e-6
# Coulomb's limit is missed relative to itself, but at least to this share of the largest limit and to this force (N).
_SHARE, _LEAST = 1e-2, 1e-3
# An extreme inside a step counts if it is worse than all before by this (m) or this share of the force.
_TINY, _CLEARLY = 1e-12, 1e-6
# Intervals of a step in which an extreme of a polynomial is looked for, and how often its place is improved.
_INTERVALS, _IMPROVED = 8, 20
_GOLDEN = 0.6180339887498949
# The place of what is noted inside a step: as WORST, but without friction.
_INSIDE = 1
# The energies of one step in so many are looked at, for the scale of the balance, and at first more often.
_SELDOM, _OFTEN = 64, 16


@jit
def _note_friction(plant: Any, rows: Any, mode: int, c: int, t: float, row: Any, of: int) -> None:
    """Note how far the friction of a closed contact is beyond its limit, and whether what sticks slips or is driven."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    size = friction.length(rows[FORCE, m:], first, last)
    limit = plant.mu[c] * max(rows[FORCE, i], 0.0)
    floor = _SHARE * plant.mu[c] * max(row[WORST + PUSH], 0.0) + _LEAST
    keep(row, of, EXCESS, (size - limit) / (limit + floor), t)
    if plant.evaluate == 0 or not sticks_rigidly(plant, c):
        return
    speed = friction.length(rows[RATE, m:], first, last)
    if mode != plant.sliding[c]:
        keep(row, of, CREEP, speed, t)
    if speed > MOVES:
        power = 0.0
        for s in range(first, last):
            power += rows[FORCE, m + s] * rows[RATE, m + s]
        keep(row, of, DRIVE, power, t)
        keep(row, of, RUB, size * speed, t)


@jit
def _note_energies(plant: Any, w: Any, t: float, y: Any) -> None:
    """Note energies and speeds, for the scale of the energy balance."""
    q, x, energy = plant.nq, plant.nq + plant.nv, w.extremes.energy
    call(plant.signals, (y[:q], y[q:x], t, w.u, plant.parameters, w.signal))
    energy[0] = max(energy[0], w.signal[0])
    energy[1], energy[2] = max(energy[1], w.signal[1]), max(energy[2], -w.signal[1])
    for i in range(q, x):
        energy[3] = max(energy[3], abs(y[i]))


@jit
def _note(plant: Any, w: Any, t: float, y: Any, rows: Any, of: int, turning: int) -> None:
    """Do the work of `note`."""
    e = w.extremes
    if of == ROWS:
        for c in range(plant.nc):
            if plant.sliding[c] >= 0 and plant.closed[c, w.mode[c]] != 0:
                _note_friction(plant, rows, w.mode[c], c, t, e.table[c], ROWS)
        return
    whole = e.table[plant.nc]
    for i in range(plant.nh):
        off = abs(rows[VALUE, i])
        if off > whole[WORST + DRIFT]:
            keep(whole, WORST, DRIFT, off, t)
            whole[ROWS_WHEN + DRIFT] = i
    for c in range(plant.nc):
        mode = w.mode[c]
        if plant.ne > 0 and mode == plant.passed[c]:
            continue
        row, gap = e.table[c], rows[VALUE, plant.nh + c]
        keep(row, WORST, DEPTH, -gap, t)
        rate, open_ = rows[RATE, plant.nh + c], plant.closed[c, mode] == 0
        if open_ or plant.evaluate == 0:
            keep(row, WORST, APPROACH, -rate, t)
        if open_:
            if mode == 0 and (rate < 0.0 or c == turning):
                keep(row, WORST, OPEN, -gap, t)
        else:
            force = rows[FORCE, plant.nh + c]
            keep(row, WORST, PULL, -force, t)
            keep(row, WORST, PUSH, force, t)
            keep(row, WORST, PRODUCT, abs(gap * force), t)
            if plant.nt > 0 and plant.sliding[c] >= 0 and of == WORST:
                _note_friction(plant, rows, mode, c, t, row, WORST)
        if plant.nb > 0 and plant.bristled[c] != 0 and of == WORST:
            total = y[works(plant) - plant.nr + c] + stored(plant, w, y, c)
            e.given[c] = min(e.given[c], total)
            keep(row, WORST, GAIN, total - e.given[c], t)
    steps = w.counts[STEPS]
    if of == WORST and plant.evaluate != 0 and steps % (_OFTEN if steps < _SELDOM else _SELDOM) == 0:
        _note_energies(plant, w, t, y)


@entry
def note(plant: Plant, w: Workspace, t: float, y: Vector, rows: Matrix, of: int, turning: int) -> int:
    """Note a state of the current modes whose rows are known; called by address, as `right_hand_side`.

    Args:
        plant: of the run.
        w: its workspace.
        t: time of the state, s.
        y: the state.
        rows: its constraints, gaps and slips.
        of: WORST for a state between steps. 1 for one inside a step: friction is not noted there, since dense
            output has slip rates within the tolerance only. ROWS for one that is recorded, of which only friction is
            noted, apart from the steps: what a run says of itself must not depend on what is recorded.
        turning: the contact whose gap turns about there, or −1.
    """
    _note(plant, w, t, y, rows, of, turning)
    return 0


@jit
def note_extremes(plant: Any, w: Any, rows: Any) -> None:
    """Note the current state, whose rows are given."""
    ask(plant.note, (plant, w, w.time[TIME], w.y, rows, WORST, -1))


@jit
def note_state(plant: Any, w: Any, rows: Any, t: float, y: Any) -> None:
    """Note another state of the current modes, whose rows are given."""
    ask(plant.note, (plant, w, t, y, rows, WORST, -1))


@jit
def note_row(plant: Any, w: Any, t: float, y: Any) -> None:
    """Note a state that is recorded, as it was just evaluated, if there is friction."""
    if plant.nt > 0:
        ask(plant.note, (plant, w, t, y, w.rows, ROWS, -1))


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
    ask(plant.note, (plant, w, t + theta * h, w.scratch[0], w.rows, _INSIDE, turning))


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
        _note(plant, w, t + h, w.trial, w.rows_end, WORST, -1)
    return 0


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
        keep(w.extremes.table[who], WORST, CREATED, work / moved, t)


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
        keep(e.table[c], WORST, STRUCK, p, t)
        if plant.sliding[c] >= 0:
            size, limit = friction.length(impulse[gaps:], plant.slips[c], plant.slips[c + 1]), plant.mu[c] * p
            keep(e.table[c], WORST, EXCESS, (size - limit) / max(limit, _SHARE * p), t)
    note_work(plant, w, before, after, e.impulse[:0], impulse, t)


@jit
def note_bend(plant: Any, w: Any, h: float, rates: Any, before: Any, t: float) -> None:
    """Note how far constraints and gaps are from where constant rates would have brought them within a time step."""
    table = w.extremes.table
    for i in range(plant.nh + plant.nc):
        off = abs(w.rows_start[VALUE, i] - before[VALUE, i] - h * rates[i])
        keep(table[plant.nc if i < plant.nh else i - plant.nh], WORST, BEND, off, t)


@jit
def note_step_friction(plant: Any, w: Any, h: float, after: Any, least: Any, impulse: Any, t: float) -> None:
    """Note the power of friction at the end of a time step, with the rates that its impulses were found with.

    A step with a rebound is an impact, in which others may turn a slip about against its friction: it is not noted.
    """
    e, gaps = w.extremes, plant.nh + plant.nc
    for i in range(plant.nh, gaps):
        if impulse[i] > 0.0 and after[i] > least[i] + MOVES:
            return
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if first == last or impulse[plant.nh + c] <= 0.0:
            continue
        speed, power = friction.length(after[gaps:], first, last), 0.0
        if speed > MOVES:
            for s in range(first, last):
                power += impulse[gaps + s] * after[gaps + s] / h
            keep(e.table[c], WORST, DRIVE, power, t)
            keep(e.table[c], WORST, RUB, friction.length(impulse[gaps:], first, last) * speed / h, t)
