"""The right-hand side: a kernel call, what the laws prescribe, the row forces, and their work."""

from __future__ import annotations

from typing import Any

from numba import carray, types

from impinge.compile import ask, call, callback, jit, struct_type
from impinge.contact.rows import row_forces
from impinge.simulation.plant import ACCELERATION, EVALUATIONS, FORCE, RATE, VALUE, Plant, Workspace

_POINTER = types.CPointer(types.float64)
_EVALUATE = types.int64(struct_type(Plant), struct_type(Workspace), types.float64, _POINTER, _POINTER)


@callback(_EVALUATE)
def right_hand_side(plant: Any, w: Any, t: float, state: Any, derivative: Any) -> int:
    """Do the work of `evaluate`; called by address so that its many callers do not each contain it."""
    nq, nv, nh, nc = plant.nq, plant.nv, plant.nh, plant.nc
    m = nh + nc
    y, dy = carray(state, w.y.size), carray(derivative, w.y.size)
    out, rows, closed, value = w.out, w.rows, w.prescribed, w.value
    w.counts[EVALUATIONS] += 1
    call(plant.dynamics, (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters, out))
    g, rate, drift = nv, nv + m, nv + 2 * m
    partial, power, response = nv + 3 * m, nv + 4 * m, nv + 4 * m + 3
    W = out[response + nv * m :]

    for i in range(nh):
        closed[i] = 1
        value[i] = -plant.stabilization[0] * out[g + i] - plant.stabilization[1] * out[rate + i]
    for c in range(nc):
        i = nh + c
        arguments = (w.mode[c], out[g + i], out[rate + i], plant.gains[c], value[i:])
        closed[i] = ask(plant.prescribe[c], arguments)
    row_forces(W, out[drift : drift + m], closed, value, rows[FORCE], w.solver)

    for i in range(nq):
        dy[i] = y[nq + i]
    for i in range(nv):
        dy[nq + i] = out[i]
    works = nq + nv + 2 * nc
    for k in range(3):
        dy[works + k] = out[power + k]
    dy[works + 1] = -dy[works + 1]
    dy[works + 3] = 0.0
    dy[works + 4] = 0.0
    for i in range(m):
        rows[VALUE, i] = out[g + i]
        rows[RATE, i] = out[rate + i]
        acceleration = out[drift + i]
        for j in range(m):
            if rows[FORCE, j] != 0.0:
                acceleration += W[i * m + j] * rows[FORCE, j]
        rows[ACCELERATION, i] = acceleration
        force = rows[FORCE, i]
        if force != 0.0:
            for k in range(nv):
                dy[nq + k] += out[response + i * nv + k] * force
        work = force * (out[rate + i] - out[partial + i])
        if i < nh:
            dy[works + 3] += work
        else:
            dy[works + 4] += work
            dy[nq + nv + i - nh] = out[rate + i]
            dy[nq + nv + nc + i - nh] = force
    return 0


@jit
def evaluate(plant: Any, w: Any, t: float, y: Any, dy: Any) -> None:
    """Write dy/dt for the current modes and inputs, and describe the rows in ``w.rows``."""
    ask(plant.evaluate, (plant, w, t, y, dy))


@jit
def restore_gaps(plant: Any, y: Any, rows: Any) -> None:
    """Set the integrated gaps to their true values."""
    for c in range(plant.nc):
        y[plant.nq + plant.nv + c] = rows[VALUE, plant.nh + c]
