"""One Runge–Kutta step, its error, its dense output, and the first step's length."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import inlined, jit
from impinge.simulation.system.dynamics import evaluate, evaluate_and_press
from impinge.simulation.system.plant import VALUE, Plant, Workspace, assign_rows

# Steps shorter than this (s, at the start of a run) are brief: where a gap jumps, none would be short enough.
_BRIEF = 1e-9


@jit
def _needed(plant: Plant) -> int:
    """Return how much of a state its derivative depends on.

    Nothing depends on the gaps, impulses and work; on bristles, and on slips that have no other value, it does.
    """
    moving = plant.nq + plant.nv
    return moving + plant.nc + plant.nt + plant.nb if plant.counting != 0 or plant.nb > 0 else moving


@jit
def try_step(plant: Plant, w: Workspace, t: float, h: float) -> float:
    """Compute the stages of a step from ``w.y`` and return its error relative to the tolerance.

    On return ``w.trial`` is the new state, ``w.rows_end`` describes its rows and ``w.K`` the stages.
    The derivative at the start must be in ``w.K[0]``.
    """
    tableau = plant.tableau
    stages, needed = tableau.c.size, _needed(plant)
    for s in range(1, stages):
        size = w.y.size if s == stages - 1 else needed
        for i in range(size):
            w.trial[i] = 0.0
        for r in range(s):
            weight = tableau.a[s, r]
            if weight != 0.0:  # the classical method has many zeros
                for i in range(size):
                    w.trial[i] += weight * w.K[r, i]
        for i in range(size):
            w.trial[i] = w.y[i] + h * w.trial[i]
        if s < stages - 1:
            evaluate(plant, w, t + tableau.c[s] * h, w.trial, w.K[s])
        else:
            evaluate_and_press(plant, w, t + h, w.trial, w.K[s])
    assign_rows(w.rows_end, w.rows)
    return _error(plant, w, t, h)


@jit
def _finite(y: Any) -> float:
    """Return zero for finite numbers, else infinity."""
    for i in range(y.size):
        if not np.isfinite(y[i]):
            return np.inf
    return 0.0


@jit
def watched(plant: Plant) -> int:
    """Return how many components of a state step control watches: coordinates, velocities, rows, bristles, extents."""
    return plant.nq + plant.nv + plant.nc + plant.nt + plant.nb + plant.ne


@inlined
def over_tolerance(plant: Plant, w: Workspace, i: int, estimate: float, watch: float) -> float:
    """Return the error of a component of the step just computed over its tolerance, infinite if it is not finite.

    Gaps, slips and extents also have the difference between their integrated and true values: a surface whose bumps
    fall between the stages shows there. With ``watch`` zero these three, on which no motion depends, must only be
    finite.
    """
    x, m = plant.nq + plant.nv, plant.nh + plant.nc + plant.ns
    rows = x + plant.nc + plant.nt
    extents = rows + plant.nb
    absolute = plant.velocity_atol[i - plant.nq] if plant.nq <= i < x else plant.atol
    if x <= i < rows or i >= extents:
        row = plant.nh + i - x if i < rows else m + i - extents
        estimate = watch * max(estimate, abs(w.trial[i] - w.rows_end[VALUE, row]))
    ratio = estimate / (absolute + plant.rtol * max(abs(w.y[i]), abs(w.trial[i])))
    return ratio if np.isfinite(ratio) and np.isfinite(w.trial[i]) else np.inf


@jit
def _error(plant: Plant, w: Workspace, t: float, h: float) -> float:
    """Return the largest component of the error estimate over its tolerance, infinite if not finite."""
    if plant.fixed_step > 0.0:
        return _finite(w.trial)
    worst = 0.0
    tableau, watch = plant.tableau, 1.0 if h > _BRIEF * (1.0 + 0.01 * abs(t)) else 0.0
    for i in range(watched(plant)):
        estimate = 0.0
        for s in range(tableau.c.size):
            estimate += tableau.error[s] * w.K[s, i]
        ratio = over_tolerance(plant, w, i, abs(h * estimate), watch)
        if ratio == np.inf:
            return np.inf
        worst = max(worst, ratio)
    return worst


@jit
def stability_ratio(plant: Plant, w: Workspace, h: float) -> float:
    """Return h times the fastest rate seen in the step just computed.

    The last two stages are two states at one time; the difference of their derivatives over their own
    difference estimates the largest eigenvalue (E. Hairer, G. Wanner, Solving Ordinary Differential
    Equations II, IV.2). Step control alone lets an explicit method grow unstable on a motion that has
    decayed, up to the tolerance: things at rest would keep trembling.
    """
    a, last = plant.tableau.a, plant.tableau.c.size - 1
    change, difference = 0.0, 0.0
    for i in range(plant.nq + plant.nv):
        apart = 0.0
        for r in range(last):
            apart += (a[last, r] - a[last - 1, r]) * w.K[r, i]
        slope = w.K[last, i] - w.K[last - 1, i]
        change += slope * slope
        difference += apart * apart
    return np.sqrt(change / difference) if difference > 0.0 else 0.0


@jit
def dense_state(plant: Plant, w: Workspace, h: float, theta: float, y: Any) -> None:
    """Write the state at t + θh inside (or a hair beyond) the step just computed."""
    _write_dense(plant, w, h, theta, w.y.size, y)


@jit
def dense_motion(plant: Plant, w: Workspace, h: float, theta: float, y: Any) -> None:
    """Write as much of that state as its derivative depends on."""
    _write_dense(plant, w, h, theta, _needed(plant), y)


@jit
def _write_dense(plant: Plant, w: Workspace, h: float, theta: float, size: int, y: Any) -> None:
    dense = plant.tableau.dense
    stages, degree = dense.shape
    for i in range(size):
        y[i] = w.y[i]
    for s in range(stages):
        weight = 0.0
        for k in range(degree - 1, -1, -1):
            weight = (weight + dense[s, k]) * theta
        for i in range(size):
            y[i] += h * weight * w.K[s, i]


@jit
def dense_polynomial(plant: Plant, w: Workspace, component: int, coefficients: Any) -> None:
    """Write the coefficients of θ, θ², … of (y(t + θh) − y(t)) / h for one component."""
    dense = plant.tableau.dense
    for k in range(dense.shape[1]):
        total = 0.0
        for s in range(dense.shape[0]):
            total += dense[s, k] * w.K[s, component]
        coefficients[k] = total


@jit
def first_step(plant: Plant, w: Workspace, t: float, longest: float) -> float:
    """Guess the length of a first step from the size of the derivatives.

    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.4.
    """
    x = plant.nq + plant.nv
    size, slope = 0.0, 0.0
    for i in range(x):
        scale = plant.atol + plant.rtol * abs(w.y[i])
        size, slope = max(size, abs(w.y[i]) / scale), max(slope, abs(w.K[0, i]) / scale)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    h = min(h, longest)
    for i in range(w.y.size):
        w.trial[i] = w.y[i] + h * w.K[0, i]
    evaluate(plant, w, t + h, w.trial, w.K[1])
    curve = 0.0
    for i in range(x):
        scale = plant.atol + plant.rtol * abs(w.y[i])
        curve = max(curve, abs(w.K[1, i] - w.K[0, i]) / scale / h)
    steepest = max(slope, curve)
    second = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** (1.0 / plant.tableau.order)
    return min(100 * h, second, longest)
