"""The right-hand side: a kernel call, what the laws prescribe, the row forces, and their work."""

from __future__ import annotations

from typing import Any

from impinge.compile import Vector, ask, call, entry, inlined, jit
from impinge.contact.law import ACCELERATION, NORMAL, SLOW, TOUCHING
from impinge.contact.law import FORCE as GIVEN
from impinge.contact.rows import INDEPENDENT, row_forces
from impinge.simulation.system.bristles import bend
from impinge.simulation.system.contacts import closing_mode, prescribe, prescribe_again, sticks_rigidly
from impinge.simulation.system.coordinates import count_slips, make_unit, write_rates
from impinge.simulation.system.plant import (
    DESCRIBED,
    EVALUATIONS,
    FORCE,
    HELD,
    PRESS,
    RATE,
    ROWS,
    SAME,
    VALUE,
    WHOLE,
    Plant,
    Workspace,
    impulses,
    works,
)
from impinge.simulation.system.slide import slide_instead, slip_accelerations

# A sum is nothing if it is this small against its terms: then what rests has no acceleration at all.
_ROUNDING = 16 * 2.0**-52
_SMALL = 1e-9  # larger ones are not even looked at
# An acceleration is above another if it is by more than this share of its terms.
_CLEARLY = 1e-12


@jit
def in_flight(plant: Plant, w: Workspace) -> bool:
    """Tell whether no contact is closed, so that the kernel for that may be used."""
    closed = w.counts[WHOLE]
    for c in range(plant.nc):
        closed += plant.closed[c, w.mode[c]]
    return closed == 0


@inlined
def _fly(plant: Plant, w: Workspace, t: float, y: Any, dy: Any) -> bool:
    """Write what `evaluate` does while no contact is closed; return False if constraints are redundant."""
    nq, nv, nh, ne, flight, rows = plant.nq, plant.nv, plant.nh, plant.ne, w.flight, w.rows
    integrated = plant.nc + plant.nt
    m = nh + plant.nc + plant.ns
    call(plant.flight, (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters, plant.stabilization, flight.a))
    if not flight.pivot[0] > INDEPENDENT:
        return False
    write_rates(plant, y, dy)
    for i in range(nv):
        dy[nq + i] = flight.a[i]
    work = 0.0
    for i in range(nh):
        rows[VALUE, i], rows[RATE, i], rows[FORCE, i] = flight.g[i], flight.rate[i], flight.force[i]
        work += flight.force[i] * (flight.rate[i] - flight.partial[i])
    for i in range(nh, m):
        rows[VALUE, i], rows[RATE, i], rows[FORCE, i] = flight.g[i], flight.rate[i], 0.0
    first, impulse, total = nq + nv, impulses(plant), works(plant)
    for k in range(integrated):
        dy[first + k] = flight.rate[nh + k]
    if plant.counting != 0:
        count_slips(plant, w, y, dy)
    for k in range(plant.nb):
        dy[first + integrated + k] = 0.0
    for k in range(ne):
        rows[VALUE, m + k], rows[RATE, m + k] = flight.extent[k], flight.extent_rate[k]
        dy[first + integrated + plant.nb + k] = flight.extent_rate[k]
    for k in range(impulse, total):
        dy[k] = 0.0
    dy[total], dy[total + 1], dy[total + 2] = flight.power[0], -flight.power[1], flight.power[2]
    dy[total + 3] = work
    dy[total + 4] = 0.0
    return True


@entry
def right_hand_side(plant: Plant, w: Workspace, t: float, y: Vector, dy: Vector) -> int:
    """Do the work of `evaluate`; called by address so that its many callers do not each contain it.

    With ``w.counts[HELD]`` set to FORCES or ROWS, the forces that laws give are those in ``w.implicit.forces``; with
    SAME or ROWS the kernel is not called, for the state is the one that it was called for last.
    """
    nq, nv, nh, nc, ne, nt = plant.nq, plant.nv, plant.nh, plant.nc, plant.ne, plant.nt
    m = nh + nc + plant.ns
    terms, rows, closed, value = w.terms, w.rows, w.prescribed, w.value
    held = w.counts[HELD]
    if held != ROWS and held != SAME:
        w.counts[EVALUATIONS] += 1
        w.counts[DESCRIBED] = 0
        if held == 0 and plant.flight != 0 and in_flight(plant, w) and _fly(plant, w, t, y, dy):
            return 0
        w.counts[DESCRIBED] = 1
        call(plant.dynamics, (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters, terms.free))
    for i in range(m):
        rows[VALUE, i], rows[RATE, i] = terms.g[i], terms.rate[i]
    if plant.counting != 0:
        for s in range(plant.ns):
            if plant.counted[s] != 0:
                rows[VALUE, nh + nc + s] = y[nq + nv + nc + s]
    for k in range(ne):
        rows[VALUE, m + k], rows[RATE, m + k] = terms.extent[k], terms.extent_rate[k]
        dy[nq + nv + nc + nt + plant.nb + k] = terms.extent_rate[k]
    for s in range(plant.nb):
        c = plant.normal[nh + nc + s] - nh
        w.bent[s] = y[nq + nv + nc + nt + s] if plant.closed[c, w.mode[c]] != 0 else 0.0

    for i in range(nh):
        closed[i] = 1
        value[i] = -plant.stabilization[0] * terms.g[i] - plant.stabilization[1] * terms.rate[i]
    for c in range(nc):
        prescribe(plant, w, c, w.mode[c], terms.g[nh + c], terms.rate[nh + c])
    if held != 0 and held != SAME:
        for i in range(nh, m):
            if closed[i] == GIVEN:
                value[i] = w.implicit.forces[i]
    row_forces(terms.W, terms.drift, closed, value, plant.normal, rows[FORCE], w.solver)

    write_rates(plant, y, dy)
    for i in range(nv):
        dy[nq + i] = terms.free[i]
    first_impulse, total = impulses(plant), works(plant)
    for k in range(3):
        dy[total + k] = terms.power[k]
    dy[total + 1] = -dy[total + 1]
    dy[total + 3] = 0.0
    dy[total + 4] = 0.0
    for k in range(total - plant.nr, total):
        dy[k] = 0.0
    for i in range(m):
        force = rows[FORCE, i]
        if force != 0.0:
            for k in range(nv):
                dy[nq + k] += terms.response[i, k] * force
        work = force * (terms.rate[i] - terms.partial[i])
        if i < nh:
            dy[total + 3] += work
        else:
            dy[total + 4] += work
        if nh <= i < nh + nc + nt:
            dy[nq + nv + i - nh] = terms.rate[i]
            dy[first_impulse + i - nh] = force
        if plant.nr > 0 and i >= nh + nc:
            dy[total - plant.nr + plant.normal[i] - nh] += force * terms.rate[i]
    if plant.nb > 0:
        bend(plant, w, dy)
    if nt > 0:
        _quiet(plant, w, dy)
        if plant.counting != 0:
            count_slips(plant, w, y, dy)
    return 0


@inlined
def _quiet(plant: Plant, w: Workspace, dy: Any) -> None:
    """Set accelerations to zero that are the rounding of their terms: what sticks stays exactly where it is."""
    for k in range(plant.nv):
        change = abs(dy[plant.nq + k])
        if 0.0 < change <= _SMALL:
            size = abs(w.terms.free[k])
            for i in range(plant.nh + plant.nc + plant.ns):
                size += abs(w.terms.response[i, k] * w.rows[FORCE, i])
            if change <= _ROUNDING * size:
                dy[plant.nq + k] = 0.0


@jit
def evaluate(plant: Plant, w: Workspace, t: float, y: Any, dy: Any) -> None:
    """Write dy/dt for the current modes and inputs, and describe the rows in ``w.rows``."""
    ask(plant.evaluate, (plant, w, t, y, dy))


@jit
def _force_if_closed(plant: Plant, w: Workspace, c: int, gap: float, rate: float) -> float:
    """Return the force that a contact would have if it were closed at the state just evaluated."""
    i = plant.nh + c
    mode = closing_mode(plant, w, c)
    prescribe_again(plant, w, c, mode, gap, rate)
    row_forces(w.terms.W, w.terms.drift, w.prescribed, w.value, plant.normal, w.attempt, w.solver)
    if plant.nt > 0 and sticks_rigidly(plant, c):
        slide_instead(plant, w, c, mode, gap, rate)
    prescribe_again(plant, w, c, w.mode[c], w.rows[VALUE, i], w.rows[RATE, i])
    return w.attempt[i]


@jit
def _lacks(plant: Plant, w: Workspace, c: int, gap: float, rate: float) -> bool:
    """Tell whether an open gap accelerates by less than its law would ask for: else nothing need push it.

    Where others hold the body, its share of their load may be positive all the same.
    """
    W, i = w.terms.W, plant.nh + c
    if ask(plant.prescribe[c], (plant.closing[c], NORMAL, gap, rate, plant.gains[c], w.attempt)) != ACCELERATION:
        return True
    total = w.terms.drift[i] - w.attempt[0]
    size = abs(total)
    for j in range(W.shape[0]):
        total += W[i, j] * w.rows[FORCE, j]
        size += abs(W[i, j] * w.rows[FORCE, j])
    return total < -_CLEARLY * size


@entry
def find_press(plant: Plant, w: Workspace) -> int:
    """Do the second half of `evaluate_and_press`, by address for the same reason."""
    for c in range(plant.nc):
        i = plant.nh + c
        gap, rate, press = w.rows[VALUE, i], w.rows[RATE, i], w.rows[FORCE, i]
        closed = plant.closed[c, w.mode[c]] != 0
        resting = abs(gap) <= TOUCHING and abs(rate) <= SLOW
        if closed:
            if press < 0.0 and resting:
                press = max(press, _force_if_closed(plant, w, c, 0.0, 0.0))
        elif gap <= 0.0 and w.mode[c] != plant.passed[c]:
            if plant.settle != 0 and not resting and not _lacks(plant, w, c, gap, rate):
                press = -1.0
            else:
                press = _force_if_closed(plant, w, c, gap, rate)
                if press > 0.0 and resting:
                    press = min(press, _force_if_closed(plant, w, c, 0.0, 0.0))
        w.rows[PRESS, i] = press
    if plant.nt > 0:
        slip_accelerations(plant, w)
    return 0


@jit
def evaluate_and_press(plant: Plant, w: Workspace, t: float, y: Any, dy: Any) -> None:
    """Evaluate, and find for each contact the force that its law decides by (``w.rows[PRESS]``).

    That is its own force if it is closed, and the one it would have if it is open but the gap is not. Where
    gap and rate are rounding, so is the force that the law would answer them with: then a contact opens only
    if it would also do so at rest on the surface, and closes only if it would also do so there.
    """
    evaluate(plant, w, t, y, dy)
    asked = False
    for c in range(plant.nc):
        i = plant.nh + c
        press = w.rows[FORCE, i]
        w.rows[PRESS, i] = press
        asked |= press < 0.0 if plant.closed[c, w.mode[c]] != 0 else w.rows[VALUE, i] <= 0.0
    if asked:
        if plant.flight != 0 and in_flight(plant, w):  # contact space is not known then
            w.counts[WHOLE] = 1
            evaluate(plant, w, t, y, dy)
            w.counts[WHOLE] = 0
    if asked or plant.nt > 0:
        ask(plant.find_press, (plant, w))


@jit
def find_forces(plant: Plant, w: Workspace, t: float, y: Any, dy: Any) -> None:
    """Do what `evaluate_and_press` does for the state evaluated last, of which only modes or directions are others.

    What a kernel says of a state does not depend on these.
    """
    if w.counts[DESCRIBED] != 0 and (plant.flight == 0 or not in_flight(plant, w)):
        w.counts[HELD] = SAME
    evaluate_and_press(plant, w, t, y, dy)
    w.counts[HELD] = 0


@jit
def restore_gaps(plant: Plant, w: Workspace) -> None:
    """Set the gaps, slips and extents of the state that a step begins with to their true values."""
    y, rows = w.y, w.rows_start
    if plant.spins.shape[0] > 0:
        make_unit(plant, w)
    if plant.tidy != 0:
        ask(plant.tidy, (plant, w))
    x, m = plant.nq + plant.nv, plant.nh + plant.nc + plant.ns
    integrated = plant.nc + plant.nt
    for k in range(integrated):
        y[x + k] = rows[VALUE, plant.nh + k]
    for k in range(plant.ne):
        y[x + integrated + plant.nb + k] = rows[VALUE, m + k]
