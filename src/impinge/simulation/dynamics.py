"""The right-hand side: a kernel call, what the laws prescribe, the row forces, and their work."""

from __future__ import annotations

from typing import Any

from numba import carray, types

from impinge.compile import ask, call, callback, jit, struct_type
from impinge.contact.law import SLOW, TOUCHING
from impinge.contact.rows import row_forces
from impinge.simulation.contacts import prescribe
from impinge.simulation.plant import EVALUATIONS, FORCE, PRESS, RATE, VALUE, Plant, Workspace, impulses

_POINTER = types.CPointer(types.float64)
_EVALUATE = types.int64(struct_type(Plant), struct_type(Workspace), types.float64, _POINTER, _POINTER)
_FIND_PRESS = types.int64(struct_type(Plant), struct_type(Workspace))


@callback(_EVALUATE)
def right_hand_side(plant: Any, w: Any, t: float, state: Any, derivative: Any) -> int:
    """Do the work of `evaluate`; called by address so that its many callers do not each contain it."""
    nq, nv, nh, nc, ne = plant.nq, plant.nv, plant.nh, plant.nc, plant.ne
    m = nh + nc + plant.ns
    y, dy = carray(state, w.y.size), carray(derivative, w.y.size)
    out, rows, closed, value = w.out, w.rows, w.prescribed, w.value
    w.counts[EVALUATIONS] += 1
    call(plant.dynamics, (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters, out))
    g, rate, drift = nv, nv + m, nv + 2 * m
    partial, power, response = nv + 3 * m, nv + 4 * m, nv + 4 * m + 3
    W = out[response + nv * m :]
    extent = response + (nv + m) * m

    for i in range(m):
        rows[VALUE, i], rows[RATE, i] = out[g + i], out[rate + i]
    for k in range(ne):
        rows[VALUE, m + k] = out[extent + k]
        rows[RATE, m + k] = out[extent + ne + k]
        dy[nq + nv + nc + k] = out[extent + ne + k]

    for i in range(nh):
        closed[i] = 1
        value[i] = -plant.stabilization[0] * out[g + i] - plant.stabilization[1] * out[rate + i]
    for c in range(nc):
        prescribe(plant, w, c, w.mode[c], out[g + nh + c], out[rate + nh + c])
    row_forces(W, out[drift : drift + m], closed, value, rows[FORCE], w.solver)

    for i in range(nq):
        dy[i] = y[nq + i]
    for i in range(nv):
        dy[nq + i] = out[i]
    first_impulse = impulses(plant)
    works = first_impulse + nc
    for k in range(3):
        dy[works + k] = out[power + k]
    dy[works + 1] = -dy[works + 1]
    dy[works + 3] = 0.0
    dy[works + 4] = 0.0
    for i in range(m):
        force = rows[FORCE, i]
        if force != 0.0:
            for k in range(nv):
                dy[nq + k] += out[response + i * nv + k] * force
        work = force * (out[rate + i] - out[partial + i])
        if i < nh:
            dy[works + 3] += work
        else:
            dy[works + 4] += work
        if nh <= i < nh + nc:
            dy[nq + nv + i - nh] = out[rate + i]
            dy[first_impulse + i - nh] = force
    return 0


@jit
def evaluate(plant: Any, w: Any, t: float, y: Any, dy: Any) -> None:
    """Write dy/dt for the current modes and inputs, and describe the rows in ``w.rows``."""
    ask(plant.evaluate, (plant, w, t, y, dy))


@jit
def _prescribe(plant: Any, w: Any, c: int, mode: int, gap: float, rate: float) -> None:
    prescribe(plant, w, c, mode, gap, rate)


@jit
def _force_if_closed(plant: Any, w: Any, c: int, gap: float, rate: float) -> float:
    """Return the force that a contact would have if it were closed at the state just evaluated."""
    nv, i, m = plant.nv, plant.nh + c, plant.nh + plant.nc + plant.ns
    drift = w.out[nv + 2 * m : nv + 3 * m]
    W = w.out[nv + 4 * m + 3 + nv * m :]
    _prescribe(plant, w, c, plant.closing[c], gap, rate)
    row_forces(W, drift, w.prescribed, w.value, w.attempt, w.solver)
    _prescribe(plant, w, c, w.mode[c], w.rows[VALUE, i], w.rows[RATE, i])
    return w.attempt[i]


@callback(_FIND_PRESS)
def find_press(plant: Any, w: Any) -> int:
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
            press = _force_if_closed(plant, w, c, gap, rate)
            if press > 0.0 and resting:
                press = min(press, _force_if_closed(plant, w, c, 0.0, 0.0))
        w.rows[PRESS, i] = press
    return 0


@jit
def evaluate_and_press(plant: Any, w: Any, t: float, y: Any, dy: Any) -> None:
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
        ask(plant.find_press, (plant, w))


@jit
def restore_gaps(plant: Any, y: Any, rows: Any) -> None:
    """Set the integrated gaps and extents to their true values."""
    x, m = plant.nq + plant.nv, plant.nh + plant.nc + plant.ns
    for c in range(plant.nc):
        y[x + c] = rows[VALUE, plant.nh + c]
    for k in range(plant.ne):
        y[x + plant.nc + k] = rows[VALUE, m + k]
