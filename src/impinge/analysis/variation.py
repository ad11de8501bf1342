"""The variational equation along a run: δẋ = f_x δx + f_θ δθ, on the simulator's own steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impinge.analysis.tangent import Tangent, differentiate
from impinge.compile import Cube, Matrix, Vector, entry
from impinge.simulation.plant import Plant, Workspace


class Flow(NamedTuple):
    """What `propagate` reads and writes; the variations of z = (q, v, u, p) and of the anchors stand in ``X``."""

    steps: Matrix  # start and length of each step
    states: Matrix  # at the start of each step
    X: Matrix  # (nz + ns) × nθ
    X_start: Matrix  # nx × nθ
    K: Cube  # stages × nx × nθ
    k: Matrix  # stages × nx
    y: Vector


def flow_of(plant: Plant, size: int, steps: Matrix, states: Matrix, seed: Matrix) -> Flow:
    """Allocate a flow for a run whose integrated vector has this size; ``seed`` (nz × nθ) is δz at its start."""
    nx, stages, columns = plant.nq + plant.nv, plant.tableau.c.size, seed.shape[1]
    return Flow(
        steps=steps,
        states=states,
        X=np.ascontiguousarray(np.vstack([seed, np.zeros((plant.ns, columns))])),
        X_start=np.zeros((nx, columns)),
        K=np.zeros((stages, nx, columns)),
        k=np.zeros((stages, nx)),
        y=np.zeros(size),
    )


@entry
def propagate(plant: Plant, w: Workspace, d: Tangent, flow: Flow, first: int, last: int, record: Cube) -> None:
    """Carry ``flow.X`` through consecutive steps in the current mode; ``record`` receives it at their ends."""
    nq, nx, columns = plant.nq, plant.nq + plant.nv, flow.X.shape[1]
    a, c = plant.tableau.a, plant.tableau.c
    for n in range(first, last):
        t, h = flow.steps[n, 0], flow.steps[n, 1]
        for i in range(nx):
            for j in range(columns):
                flow.X_start[i, j] = flow.X[i, j]
        for s in range(c.size):
            for i in range(nx):
                flow.y[i] = flow.states[n, i]
                for r in range(s):
                    flow.y[i] += h * a[s, r] * flow.k[r, i]
                for j in range(columns):
                    flow.X[i, j] = flow.X_start[i, j]
                    for r in range(s):
                        flow.X[i, j] += h * a[s, r] * flow.K[r, i, j]
            if s == c.size - 1:
                break  # this is the new state; its derivative is the next step's first
            differentiate(plant, w, d, t + c[s] * h, flow.y)
            for i in range(nx):
                flow.k[s, i] = d.derivative[i]
                for j in range(columns):
                    if i < nq:
                        flow.K[s, i, j] = flow.X[nq + i, j]
                        continue
                    total = 0.0
                    for z in range(flow.X.shape[0]):
                        total += d.a[i - nq, z] * flow.X[z, j]
                    flow.K[s, i, j] = total
        for i in range(nx):
            for j in range(columns):
                record[n - first, i, j] = flow.X[i, j]
