"""A linearly implicit step, for motion that is stiff: contacts whose springs and dampers are fast against it.

With J = ∂f/∂y at the start of the step, by finite differences, the stages U₁ … U₈ solve

    (I/(γh) − J) Uᵢ = f(t + cᵢh, y + Σ aᵢⱼUⱼ) + Σ cᵢⱼUⱼ/h + dᵢ h ∂f/∂t        j < i

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
from impinge.simulation.dynamics import evaluate, evaluate_and_press
from impinge.simulation.implicit_system import END, LATER, NEAR, START, factorize, substitute
from impinge.simulation.plant import KNOWN, Plant, Workspace, acting_place, assign, assign_rows
from impinge.simulation.step import over_tolerance, watched

# Differences are taken over this share of a velocity, or of 1 m/s if that is more, and of other components: contacts of
# light bodies are less than a micrometer deep, and their force ends where that does.
_FASTER, _APART = 1e-7, 1e-9


@jit
def _find_slopes(plant: Any, w: Any, t: float) -> None:
    """Write the derivatives of f by what acts on the motion, at the start of the step."""
    s, near = w.implicit, w.implicit.f[NEAR]
    assign(w.trial, w.y)
    for j in range(s.x.size):
        i = acting_place(plant, j)
        share = _FASTER if plant.nq <= i < plant.nq + plant.nv else _APART
        w.trial[i] = w.y[i] + share * max(abs(w.y[i]), 1.0)
        evaluate(plant, w, t, w.trial, near)
        for k in range(near.size):
            s.slopes[k, j] = (near[k] - s.f[START, k]) / (w.trial[i] - w.y[i])
        w.trial[i] = w.y[i]


@jit
def _find_drift(plant: Any, w: Any, t: float, h: float) -> None:
    """Write h ∂f/∂t at the start of the step, to second order in h; rounding is not magnified."""
    s = w.implicit
    evaluate(plant, w, t + 0.5 * h, w.y, s.f[LATER])
    evaluate(plant, w, t + h, w.y, s.f[NEAR])
    for i in range(w.y.size):
        s.f[LATER, i] = 4.0 * (s.f[LATER, i] - s.f[START, i]) - (s.f[NEAR, i] - s.f[START, i])


@jit
def _solve(plant: Any, w: Any, h: float, U: Any) -> None:
    """Replace a right-hand side r by the solution of (I/(γh) − J) U = r, for all components."""
    s, gamma = w.implicit, plant.rosenbrock.gamma
    for i in range(U.size):
        U[i] *= gamma * h
    for j in range(s.x.size):
        s.x[j] = U[acting_place(plant, j)]
    substitute(s.A, s.pivots, s.x)
    for i in range(U.size):
        for j in range(s.x.size):
            U[i] += gamma * h * s.slopes[i, j] * s.x[j]
    for j in range(s.x.size):
        U[acting_place(plant, j)] = s.x[j]


@jit
def _write_path(plant: Any, w: Any, h: float) -> None:
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

    The derivative at the start must be in ``w.K[0]``, or, if ``w.counts[KNOWN]`` is set, in the workspace already, with
    the slopes there. That at the end is left in the workspace.
    """
    s, method, n = w.implicit, plant.rosenbrock, w.implicit.x.size
    U, f = s.U, s.f
    if w.counts[KNOWN] == 0:
        assign(f[START], w.K[0])
        _find_slopes(plant, w, t)
        w.counts[KNOWN] = 1
    _find_drift(plant, w, t, h)
    for i in range(n):
        for j in range(n):
            s.A[i, j] = (1.0 if i == j else 0.0) - method.gamma * h * s.slopes[acting_place(plant, i), j]
    s.error[0] = np.inf
    if not factorize(s.A, s.pivots):
        return 0
    for stage in range(U.shape[0]):
        for i in range(w.y.size):
            w.trial[i] = w.y[i]
            for j in range(stage):
                w.trial[i] += method.a[stage, j] * U[j, i]
        if stage == 0:
            assign(U[0], f[START])
        else:
            evaluate(plant, w, t + method.c[stage] * h, w.trial, U[stage])
        for i in range(w.y.size):
            U[stage, i] += method.d[stage] * f[LATER, i]
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
