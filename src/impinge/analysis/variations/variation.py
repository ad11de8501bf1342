"""The variational equation along a run: δẋ = f_x δx + f_θ δθ, on the simulator's own steps."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np

from impinge.analysis.linear.tangent import Tangent, differentiate
from impinge.compile import Cube, Matrix, Vector, entry, jit
from impinge.contact import friction
from impinge.simulation.events.directions import aim, oblique
from impinge.simulation.system.plant import RATE, Plant, Workspace

# The variations of a step may be off by so many times the run's tolerances.
_SHARE = 10.0
# A step is divided into no smaller parts than this: halves of halves, whose sum is one to the bit.
_SMALLEST = 2.0**-10


class Flow(NamedTuple):
    """What `propagate` reads and writes; ``X`` has the variations of z = (ξ, v, u, p, t), anchors and directions.

    Time itself does not vary: its row is zero. Bristles have no place in a run's rows; they are integrated again.
    """

    steps: Matrix  # start and length of each step
    states: Matrix  # at the start of each step
    X: Matrix  # (nz + 2 ns) × nθ
    bent: Vector  # how far bristles are bent, ns
    start: Vector  # state and bends where a part of a step begins, nx + ns
    X_start: Matrix  # (2 nv + ns) × nθ
    K: Cube  # stages × (2 nv + ns) × nθ
    k: Matrix  # stages × (nx + ns)
    turn: Vector  # variations of the directions of one contact, ns
    y: Vector


def flow_of(plant: Plant, size: int, steps: Matrix, states: Matrix, seed: Matrix) -> Flow:
    """Allocate a flow for a run whose integrated vector has this size; ``seed`` (nz × nθ) is δz at its start."""
    n, m = plant.nq + plant.nv + plant.ns, 2 * plant.nv + plant.ns
    stages, columns = plant.tableau.c.size, seed.shape[1]
    return Flow(
        steps=steps,
        states=states,
        X=np.ascontiguousarray(np.vstack([seed, np.zeros((2 * plant.ns, columns))])),
        bent=np.zeros(plant.ns),
        start=np.zeros(n),
        X_start=np.zeros((m, columns)),
        K=np.zeros((stages, m, columns)),
        k=np.zeros((stages, n)),
        turn=np.zeros(plant.ns),
        y=np.zeros(size),
    )


@jit
def _size(plant: Plant, flow: Flow, h: float) -> float:
    """Return the estimated error of the variations of the step just tried, over what is allowed."""
    nx, columns, worst = 2 * plant.nv, flow.X.shape[1], 0.0
    for j in range(columns):
        scale, error = 0.0, 0.0
        for i in range(nx):
            off = 0.0
            for s in range(plant.tableau.c.size):
                off += plant.tableau.error[s] * flow.K[s, i, j]
            scale, error = max(scale, abs(flow.X_start[i, j]), abs(flow.X[i, j])), max(error, abs(h * off))
        if error > 0.0:
            worst = max(worst, error / (_SHARE * (plant.atol + plant.rtol * scale)))
    return worst


@jit
def _stage(plant: Plant, w: Workspace, d: Tangent, flow: Flow, t: float, h: float, s: int) -> None:
    """Write the state and the variations of a stage, from ``flow.start`` and ``flow.X_start``, and their rates."""
    nv, nx, moved, nb, columns, a = (
        plant.nv,
        plant.nq + plant.nv,
        2 * plant.nv,
        plant.nb,
        flow.X.shape[1],
        plant.tableau.a,
    )
    bristles = nx + plant.nc + plant.nt
    for i in range(nx + nb):
        value = flow.start[i]
        for r in range(s):
            value += h * a[s, r] * flow.k[r, i]
        flow.y[i if i < nx else bristles + i - nx] = value
    for i in range(moved + nb):
        row = i if i < moved else d.nz + i - moved
        for j in range(columns):
            flow.X[row, j] = flow.X_start[i, j]
            for r in range(s):
                flow.X[row, j] += h * a[s, r] * flow.K[r, i, j]
    differentiate(plant, w, d, t + plant.tableau.c[s] * h, flow.y)
    for i in range(nx + nb):
        flow.k[s, i] = d.derivative[i if i < nx else bristles + i - nx]
    for i in range(moved + nb):
        for j in range(columns):
            if i < nv:
                flow.K[s, i, j] = flow.X[nv + i, j]
                continue
            total = 0.0
            for z in range(flow.X.shape[0]):
                slope = d.a[i - nv, z] if i < moved else d.anchor[i - moved, z]
                total += slope * flow.X[z, j]
            flow.K[s, i, j] = total
    _carry(plant, flow, s)


@jit
def _carry(plant: Plant, flow: Flow, s: int) -> None:
    """Add to the rates of small turns that their axes turn: ξ̇ = δω − ω × ξ."""
    for r in range(plant.spins.shape[0]):
        first = plant.spins[r, 1]
        w = flow.y[plant.nq + first :]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for column in range(flow.X.shape[1]):
                change = w[j] * flow.X[first + k, column] - w[k] * flow.X[first + j, column]
                flow.K[s, first + i, column] -= change


@jit
def _aim(plant: Plant, w: Workspace, d: Tangent, flow: Flow, t: float) -> None:
    """Turn directions of contacts that slide in a plane to those of their slip rates, with their variations."""
    nz, gaps = d.nz, plant.nh + plant.nc
    directions, known = nz + plant.ns, False
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if w.mode[c] != plant.sliding[c] or plant.bristled[c] != 0 or last == first + 1:
            continue
        if not known:
            differentiate(plant, w, d, t, flow.y)
            known = True
        rates = w.rows[RATE, gaps:]
        if friction.along(rates, w.direction, first, last) <= 0.0:
            continue
        if oblique(rates, w.direction, first, last):
            friction.aim(rates, w.attempt, first, last, friction.CREEP)
            size, kept, share = friction.length(rates, first, last), 0.0, 0.0
        else:
            friction.blend(rates, w.direction, first, last, w.attempt)
            size, kept, share = friction.blend_slopes(rates, w.direction, first, last)
        for j in range(flow.X.shape[1]):
            told, along = 0.0, 0.0
            for s in range(first, last):
                flow.turn[s] = 0.0
                for z in range(nz):
                    flow.turn[s] += d.by.rate[z, gaps + s] * flow.X[z, j]
                told += share * rates[s] * flow.turn[s]
            for s in range(first, last):
                flow.turn[s] += told * w.direction[s] + kept * flow.X[directions + s, j]
                along += w.attempt[s] * flow.turn[s]
            for s in range(first, last):
                flow.X[directions + s, j] = (flow.turn[s] - w.attempt[s] * along) / size
    if known:
        aim(plant, w, w.rows)


@jit
def _rest(plant: Plant, d: Tangent, flow: Flow, back: bool) -> None:
    """Let the next part of a step begin where the last ended; or go back to where it began."""
    nx, moved, nb = plant.nq + plant.nv, 2 * plant.nv, plant.nb
    bristles = plant.nq + plant.nv + plant.nc + plant.nt
    for i in range(0 if back else nx + nb):
        flow.start[i] = flow.y[i if i < nx else bristles + i - nx]
    for i in range(moved + nb):
        row = i if i < moved else d.nz + i - moved
        for j in range(flow.X.shape[1]):
            if back:
                flow.X[row, j] = flow.X_start[i, j]
            else:
                flow.X_start[i, j] = flow.X[row, j]


@entry
def propagate(plant: Plant, w: Workspace, d: Tangent, flow: Flow, first: int, last: int, record: Cube) -> None:
    """Carry ``flow.X`` through consecutive steps in the current mode; ``record`` receives it at their ends.

    A step whose variations are less accurate than the run is divided: a force that is smooth enough for the motion may
    have slopes that are not, as that of a spring which grows like a power of its depth.
    """
    nx, nb, columns = plant.nq + plant.nv, plant.nb, flow.X.shape[1]
    stages, bristles = plant.tableau.c.size, plant.nq + plant.nv + plant.nc + plant.nt
    for n in range(first, last):
        t, h = flow.steps[n, 0], flow.steps[n, 1]
        for i in range(nx):
            flow.y[i] = flow.states[n, i]
        for s in range(nb):
            flow.y[bristles + s] = flow.bent[s]
        _rest(plant, d, flow, False)
        if plant.nt > 0:  # as the simulator does where a step begins
            _aim(plant, w, d, flow, t)
        done, part = 0.0, 1.0
        while done < 1.0:
            for s in range(stages):
                _stage(plant, w, d, flow, t + done * h, part * h, s)
            if part > _SMALLEST and _size(plant, flow, part * h) > 1.0:
                _rest(plant, d, flow, True)
                part *= 0.5
                continue
            _rest(plant, d, flow, False)
            done += part
            if done < 1.0 and done / (2.0 * part) == floor(done / (2.0 * part)):
                part *= 2.0
        for s in range(nb):
            flow.bent[s] = flow.y[bristles + s]
        for i in range(2 * plant.nv):
            for j in range(columns):
                record[n - first, i, j] = flow.X[i, j]
