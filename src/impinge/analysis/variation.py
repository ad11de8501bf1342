"""The variational equation along a run: δẋ = f_x δx + f_θ δθ, on the simulator's own steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.analysis.tangent import differentiate
from impinge.compile import Cube, Matrix, Vector, call, jit
from impinge.contact.rows import minimum_norm
from impinge.model import Model
from impinge.simulation.plant import FORCE, Plant


class Flow(NamedTuple):
    """What `propagate` reads and writes; the variations of z = (q, v, u, p) and of the anchors stand in ``X``."""

    steps: Matrix  # start and length of each step
    states: Matrix  # at the start of each step
    X: Matrix  # (nz + ns) × nθ
    X_start: Matrix  # nx × nθ
    K: Cube  # stages × nx × nθ
    k: Matrix  # stages × nx
    y: Vector
    out: Vector  # of the tangent kernel, at other row forces
    a: Vector
    force: Vector
    column: Vector
    solution: Vector
    second: Vector


def flow_of(model: Model, plant: Plant, size: int, steps: Matrix, states: Matrix, seed: Matrix) -> Flow:
    """Allocate a flow for a run whose integrated vector has this size; ``seed`` (nz × nθ) is δz at its start."""
    nx, m, stages, columns = plant.nq + plant.nv, plant.nh + plant.nc + plant.ns, plant.tableau.c.size, seed.shape[1]
    return Flow(
        steps=steps,
        states=states,
        X=np.ascontiguousarray(np.vstack([seed, np.zeros((plant.ns, columns))])),
        X_start=np.zeros((nx, columns)),
        K=np.zeros((stages, nx, columns)),
        k=np.zeros((stages, nx)),
        y=np.zeros(size),
        out=np.zeros(model.tangent.size),
        a=np.zeros(plant.nv),
        force=np.zeros(m),
        column=np.zeros(m),
        solution=np.zeros(m),
        second=np.zeros(m),
    )


@jit
def vary(plant: Any, w: Any, d: Any, flow: Any, t: float) -> None:
    """Differentiate at ``flow.y`` as `differentiate` does, also where redundant rows contradict each other.

    Off the surface, rows that are redundant cannot all have the accelerations that are prescribed. Then
    λ = W⁺r leaves the residual ρ = r − Wλ, and (G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10, 1973)

        δλ = W⁺(δr − δW λ) + W⁺W⁺ δW ρ + (1 − W⁺W) δW W⁺λ,

    of which `differentiate` has the first term, all there is on the surface and without redundancy.
    """
    differentiate(plant, w, d, t, flow.y)
    nv, m = plant.nv, plant.nh + plant.nc + plant.ns
    n, drift, response, solver = 0, nv + 2 * m, nv + 4 * m + 3, w.solver
    W = w.out[response + nv * m :]
    for i in range(m):
        n += w.prescribed[i]
    if n < 2:
        return
    for k in range(n):
        flow.column[k] = w.rows[FORCE, solver.indices[k]]
    if minimum_norm(solver.A, n, flow.column, flow.second, solver) == n:
        return
    for i in range(m):
        flow.force[i] = 0.0
        if w.prescribed[i] != 0:
            flow.force[i] = w.value[i] - w.out[drift + i]
            for j in range(m):
                flow.force[i] -= W[i * m + j] * w.rows[FORCE, j]
    _turn(plant, w, d, flow, t)
    for j in range(d.nz):
        _column(flow, d, solver, n, j)
        minimum_norm(solver.A, n, flow.column, flow.solution, solver)
        minimum_norm(solver.A, n, flow.solution, flow.column, solver)
        for k in range(n):
            i = solver.indices[k]
            d.force[i, j] += flow.column[k]
            for r in range(nv):
                d.a[r, j] += w.out[response + i * nv + r] * flow.column[k]
    for i in range(m):
        flow.force[i] = 0.0
    for k in range(n):
        flow.force[solver.indices[k]] = flow.second[k]
    _turn(plant, w, d, flow, t)
    for j in range(d.nz):
        _column(flow, d, solver, n, j)
        minimum_norm(solver.A, n, flow.column, flow.solution, solver)
        for k in range(n):
            d.force[solver.indices[k], j] += flow.column[k]
            for r in range(n):
                d.force[solver.indices[k], j] -= solver.A[k, r] * flow.solution[r]


@jit
def _turn(plant: Any, w: Any, d: Any, flow: Any, t: float) -> None:
    """Call the tangent kernel with ``flow.force`` on top of the row forces: G then differs by ∂(W force)/∂z."""
    nq, nv, m = plant.nq, plant.nv, plant.nh + plant.nc + plant.ns
    response = nv + 4 * m + 3
    for k in range(nv):
        flow.a[k] = d.derivative[nq + k]
        for i in range(m):
            flow.a[k] += w.out[response + i * nv + k] * flow.force[i]
    for i in range(m):
        flow.force[i] += w.rows[FORCE, i]
    arguments = (flow.y[:nq], flow.y[nq : nq + nv], t, w.u, plant.parameters)
    call(d.kernel, (*arguments, flow.a, flow.force, flow.out))


@jit
def _column(flow: Any, d: Any, solver: Any, n: int, j: int) -> None:
    """Write the closed rows of ∂(W force)/∂z_j after `_turn`."""
    nv, m = flow.a.size, flow.force.size
    for k in range(n):
        place = nv * d.nz + j * m + solver.indices[k]
        flow.column[k] = flow.out[place] - d.out[place]


@jit
def propagate(plant: Any, w: Any, d: Any, flow: Any, first: int, last: int, record: Any) -> None:
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
            vary(plant, w, d, flow, t + c[s] * h)
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
