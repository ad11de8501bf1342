"""Exact derivatives of the simulator's right-hand side in a mode.

The model's tangent kernel gives E and G, the derivatives of free accelerations and of row accelerations at
fixed row forces, for all modes. What is left of the mode is a solve with the Delassus matrix: closed rows
must follow the accelerations that their laws prescribe, δλ = W⁺(δtarget − G δz) among them, and
δa = E δz + M⁻¹Aᵀ δλ.

Rows that are redundant have the smallest forces that do it, λ = W⁺r. Off their surface they may contradict each
other and leave a residual ρ = r − Wλ. Then (G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10, 1973)

    δλ = W⁺(δr − δW λ) + W⁺W⁺ δW ρ + (1 − W⁺W) δW W⁺λ

of which the first term is all there is without redundancy. Friction of contacts that slide goes with their normal
forces, δf = c δλ + …, see `targets`; then W is not symmetric, and redundant rows have no derivative here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.analysis.linear.targets import write_targets
from impinge.compile import Integers, Matrix, Vector, call, entry, jit
from impinge.contact.law import ACCELERATION, DRAG
from impinge.contact.rows import minimum_norm, pivoted_cholesky, row_forces
from impinge.model import Model
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import FORCE, Plant, Workspace


class Slopes(NamedTuple):
    """What `Model.tangent` writes: derivatives by z = (ξ, v, u, p, t), nz of them, each a row here; δq = N δξ.

    E is that of the free accelerations and G that of the rows' at fixed forces; see `impinge.model.derive.tangent`.
    """

    E: Matrix  # nz × nv
    G: Matrix  # nz × m
    g: Matrix  # nz × m
    rate: Matrix  # nz × m
    extent: Matrix  # nz × ne
    y: Matrix  # nz × outputs


class OtherForces(NamedTuple):
    """Where the kernel is asked again, at other row forces, to see how W turns."""

    by: Slopes
    a: Vector
    force: Vector
    column: Vector
    solution: Vector
    second: Vector


class Tangent(NamedTuple):
    """Work space of `differentiate`; the columns are ξ, v, u, p, t, the anchors of the slips and their directions.

    There are n = nz + 2 ns. A direction is that in which a contact slides where a step begins, see `friction.blend`. An
    anchor is where a slip began to stick. That of a bristle is the slip less its bend, and moves while it slides.
    """

    kernel: int
    nz: int
    still: Integers  # whether the point is at rest, where slips that are given by their rates get as far as these lead
    by: Slopes
    mu: Matrix  # of the coefficients of friction, nc × nz
    derivative: Vector  # of the integrated vector
    a: Matrix  # nv × n
    force: Matrix  # m × n
    anchor: Matrix  # of the rates of the anchors, ns × n
    target: Matrix  # of what is prescribed, m × n
    redundant: Integers  # whether rows were redundant beside contacts that slide
    value: Vector
    column: Vector
    solution: Vector
    slopes: Vector
    other: OtherForces


def tangent_workspace(model: Model, size: int, parameters: Vector) -> Tangent:
    """Allocate the work space for a model with these parameters whose integrated vector has this size."""
    kernel = model.tangent
    m, nv = model.equations.g.shape[0], len(model.velocities)
    nz = 2 * nv + len(model.inputs) + len(model.parameters) + 1
    columns = nz + 2 * len(model.slips)
    mu = np.zeros((len(model.gaps), nz))
    mu[:, nz - 1 - len(model.parameters) : nz - 1] = model.friction_slopes(parameters)
    return Tangent(
        kernel=kernel.address,
        nz=nz,
        still=np.zeros(1, dtype=np.int64),
        by=kernel.record(Slopes),
        mu=mu,
        derivative=np.zeros(size),
        a=np.zeros((nv, columns)),
        force=np.zeros((m, columns)),
        anchor=np.zeros((len(model.slips), columns)),
        target=np.zeros((m, columns)),
        redundant=np.zeros(1, dtype=np.int64),
        value=np.zeros(m),
        column=np.zeros(m),
        solution=np.zeros(m),
        slopes=np.zeros(2 * m),
        other=OtherForces(
            by=kernel.record(Slopes),
            a=np.zeros(nv),
            force=np.zeros(m),
            column=np.zeros(m),
            solution=np.zeros(m),
            second=np.zeros(m),
        ),
    )


@entry
def differentiate(plant: Plant, w: Workspace, d: Tangent, t: float, y: Vector) -> None:
    """Evaluate the current mode at a state and write ∂a/∂z and ∂λ/∂z to ``d.a`` and ``d.force``.

    Derivatives by the coordinates alone leave the anchors of the slips where they are.
    """
    nq, nv, nz = plant.nq, plant.nv, d.nz
    m = plant.nh + plant.nc + plant.ns
    evaluate(plant, w, t, y, d.derivative)
    arguments = (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters)
    call(d.kernel, (*arguments, d.derivative[nq : nq + nv], w.rows[FORCE], d.by.E))
    W, response = w.terms.W, w.terms.response
    write_targets(plant, w, d)
    for j in range(nz + 2 * plant.ns):
        for i in range(m):
            d.column[i] = d.by.G[j, i] if j < nz else 0.0
            d.value[i] = d.target[i, j]
        for i in range(m):
            if w.prescribed[i] == DRAG:
                d.value[i] = w.value[i]
                for k in range(m):
                    d.column[k] += W[k, i] * d.target[i, j]
        row_forces(W, d.column, w.prescribed, d.value, plant.normal, d.solution, w.solver)
        for i in range(m):
            if w.prescribed[i] == DRAG:
                d.solution[i] += d.target[i, j]
        for k in range(nv):
            d.a[k, j] = d.by.E[j, k] if j < nz else 0.0
            for i in range(m):
                d.a[k, j] += response[i, k] * d.solution[i]
        for i in range(m):
            d.force[i, j] = d.solution[i]
    _add_redundant(plant, w, d, t, y)


@jit
def _closed_rows(plant: Plant, w: Workspace, W: Any) -> int:
    """Write the matrix of the rows with a prescribed acceleration to ``w.solver``; return how many.

    Below zero if one of them has friction that goes with it.
    """
    m, solver = plant.nh + plant.nc + plant.ns, w.solver
    n: Any = np.int64(0)
    drags = False
    for i in range(m):
        if w.prescribed[i] == ACCELERATION:
            solver.indices[n] = i
            n += 1
        drags |= w.prescribed[i] == DRAG and w.prescribed[plant.normal[i]] == ACCELERATION
    for k in range(n):
        for j in range(n):
            solver.A[k, j] = W[solver.indices[k], solver.indices[j]]
    return -n if drags else n


@jit
def _add_redundant(plant: Plant, w: Workspace, d: Tangent, t: float, y: Any) -> None:
    """Add the second and third terms of δλ, if closed rows are redundant."""
    nv, m = plant.nv, plant.nh + plant.nc + plant.ns
    W, response, solver, other = w.terms.W, w.terms.response, w.solver, d.other
    n = _closed_rows(plant, w, W)
    if n < 0 and pivoted_cholesky(solver.A, -n, solver) < -n:
        d.redundant[0] = 1
    if n < 2:
        return
    for k in range(n):
        other.column[k] = w.rows[FORCE, solver.indices[k]]
    if minimum_norm(solver.A, n, other.column, other.second, solver) == n:
        return
    for i in range(m):
        other.force[i] = 0.0
        if w.prescribed[i] == ACCELERATION:
            other.force[i] = w.value[i] - w.terms.drift[i]
            for j in range(m):
                other.force[i] -= W[i, j] * w.rows[FORCE, j]
    _turn(plant, w, d, t, y)
    for j in range(d.nz):
        _column(d, solver, n, j)
        minimum_norm(solver.A, n, other.column, other.solution, solver)
        minimum_norm(solver.A, n, other.solution, other.column, solver)
        for k in range(n):
            i = solver.indices[k]
            d.force[i, j] += other.column[k]
            for r in range(nv):
                d.a[r, j] += response[i, r] * other.column[k]
    for i in range(m):
        other.force[i] = 0.0
    for k in range(n):
        other.force[solver.indices[k]] = other.second[k]
    _turn(plant, w, d, t, y)
    for j in range(d.nz):
        _column(d, solver, n, j)
        minimum_norm(solver.A, n, other.column, other.solution, solver)
        for k in range(n):
            d.force[solver.indices[k], j] += other.column[k]
            for r in range(n):
                d.force[solver.indices[k], j] -= solver.A[k, r] * other.solution[r]


@jit
def _turn(plant: Plant, w: Workspace, d: Tangent, t: float, y: Any) -> None:
    """Call the tangent kernel with ``d.other.force`` on top of the row forces: G then differs by ∂(W force)/∂z."""
    nq, nv, m, other = plant.nq, plant.nv, plant.nh + plant.nc + plant.ns, d.other
    for k in range(nv):
        other.a[k] = d.derivative[nq + k]
        for i in range(m):
            other.a[k] += w.terms.response[i, k] * other.force[i]
    for i in range(m):
        other.force[i] += w.rows[FORCE, i]
    arguments = (y[:nq], y[nq : nq + nv], t, w.u, plant.parameters)
    call(d.kernel, (*arguments, other.a, other.force, other.by.E))


@jit
def _column(d: Tangent, solver: Any, n: int, j: int) -> None:
    """Write the closed rows of ∂(W force)/∂z_j after `_turn`."""
    for k in range(n):
        i = solver.indices[k]
        d.other.column[k] = d.other.by.G[j, i] - d.by.G[j, i]
