"""A linearly implicit step, for motion that is stiff: contacts whose springs and dampers are fast against it.

It is for motion on what stands still: f does not depend on time. With J = ∂f/∂y at the start of the step (see
`implicit_slopes`), the stages U₁ … U₈ solve

    (I/(γh) − J) Uᵢ = f(y + Σ aᵢⱼUⱼ) + Σ cᵢⱼUⱼ/h        j < i

and the new state is y + Σ a₈ⱼUⱼ + U₈, of order five, with U₈ as the estimate of its error. What is infinitely fast is
damped at once (G. Steinebach, Construction of Rosenbrock–Wanner method Rodas5P and numerical benchmarks within the
Julia Differential Equations package, BIT Numer. Math. 63 (2023) 27). The path within the step is a polynomial of degree
four. It is written to ``w.K`` as the rates that it has at the times of the explicit method's stages: the dense output
of that method gives it back, so all that looks inside a step is the same for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import entry, jit
from impinge.simulation.integrate.implicit_slopes import assemble_slopes, renew_slopes, write_law_slopes
from impinge.simulation.integrate.implicit_system import END, NEAR, START, factorize, substitute
from impinge.simulation.integrate.step import over_tolerance, watched
from impinge.simulation.system.dynamics import evaluate, evaluate_and_press
from impinge.simulation.system.plant import KEPT, KNOWN, Plant, Workspace, assign, assign_rows


@jit
def _stands(plant: Plant, w: Workspace, t: float, h: float) -> bool:
    """Tell whether nothing but the state changes f within the step.

    Surfaces that move would open contacts at a state that does not follow them, and tell nothing of its slopes.
    """
    if plant.steady != 0:
        return True
    now, later = w.implicit.f[START], w.implicit.f[NEAR]
    evaluate(plant, w, t + h, w.y, later)
    evaluate(plant, w, t, w.y, now)
    same = True
    for i in range(now.size):
        same &= now[i] == later[i]
    return same


@jit
def _solve(plant: Plant, w: Workspace, h: float, U: Any) -> None:
    """Replace a right-hand side r by the solution of (I/(γh) − J) U = r, for all components."""
    s, n, scale = w.implicit, w.implicit.active[0], plant.rosenbrock.gamma * h
    for i in range(U.size):
        U[i] *= scale
    for j in range(n):
        s.x[j] = U[s.places[j]]
    substitute(s.A, n, s.pivots, s.x)
    for j in range(n):
        slopes, share = s.slopes[j], scale * s.x[j]
        for i in range(U.size):
            U[i] += share * slopes[i]
    for j in range(n):
        U[s.places[j]] = s.x[j]


@jit
def _write_path(plant: Plant, w: Workspace, h: float) -> None:
    """Write the rates of the path within the step at the times of the explicit method's stages."""
    method, U, c = plant.rosenbrock, w.implicit.U, plant.tableau.c
    for i in range(w.y.size):
        bulge = w.implicit.path
        for k in range(3):
            bulge[k] = 0.0
            for j in range(U.shape[0]):
                bulge[k] += method.dense[k, j] * U[j, i]
        way = w.trial[i] - w.y[i]
        for stage in range(c.size):
            # The path is y + θ way + θ(1 − θ)(b₀ + θ(b₁ + θ b₂)).
            theta = c[stage]
            rate = bulge[0] + theta * (2.0 * (bulge[1] - bulge[0]) + theta * 3.0 * (bulge[2] - bulge[1]))
            w.K[stage, i] = (way + rate - 4.0 * theta**3 * bulge[2]) / h


@entry
def implicit_step(plant: Plant, w: Workspace, t: float, h: float) -> int:
    """Compute a step as `try_step` does, and write its error relative to the tolerance to the workspace.

    It is infinite where f depends on time. The derivative at the start must be in ``w.K[0]``, and its rows in
    ``w.rows_start``. It and its slopes are kept in the workspace, and found there if ``w.counts[KNOWN]`` is set; so is
    the derivative at the end. With ``w.counts[KEPT]`` set, slopes at held forces are those of an earlier step.
    """
    s, method = w.implicit, plant.rosenbrock
    U, f = s.U, s.f
    s.error[0] = np.inf
    if w.counts[KNOWN] == 0:
        stands = _stands(plant, w, t, h)
        assign(f[START], w.K[0])
        if not stands:
            return 0
        write_law_slopes(plant, w)
        if w.counts[KEPT] == 0:
            renew_slopes(plant, w, t)
        assemble_slopes(plant, w)
        w.counts[KNOWN] = 1
    n = s.active[0]
    for i in range(n):
        for j in range(n):
            s.A[i, j] = (1.0 if i == j else 0.0) - method.gamma * h * s.slopes[j, s.places[i]]
    if not factorize(s.A, n, s.pivots):
        return 0
    for stage in range(U.shape[0]):
        for i in range(w.y.size):
            w.trial[i] = w.y[i]
            for j in range(stage):
                w.trial[i] += method.a[stage, j] * U[j, i]
        if stage == 0:
            assign(U[0], f[START])
        else:
            evaluate(plant, w, t, w.trial, U[stage])
        for i in range(w.y.size):
            for j in range(stage):
                U[stage, i] += method.C[stage, j] / h * U[j, i]
        _solve(plant, w, h, U[stage])
    last = U[U.shape[0] - 1]
    for i in range(w.y.size):
        w.trial[i] += last[i]
    evaluate_and_press(plant, w, t + h, w.trial, f[END])
    assign_rows(w.rows_end, w.rows)
    _write_path(plant, w, h)
    s.error[0] = 0.0
    for i in range(watched(plant)):
        s.error[0] = max(s.error[0], over_tolerance(plant, w, i, abs(last[i]), 1.0))
    return 0
