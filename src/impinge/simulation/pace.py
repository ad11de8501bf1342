"""How long the next step is, and by which method.

Steps are explicit (Dormand–Prince) at first. Where springs and dampers of contacts are fast, and what they do has long
since died down, stability keeps them short: the motion is stiff. So where many steps have passed since the equations
changed, an implicit one is tried (see `implicit`), and kept to as long as it is worth its price: it evaluates the
equations once for each component that acts on the motion.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from impinge.compile import ask, jit
from impinge.simulation.dynamics import in_flight
from impinge.simulation.implicit_system import START
from impinge.simulation.plant import ERROR, KNOWN, LATELY, LEAST_ERROR, PATIENCE, STABLE, STEP, STIFF, acting, assign
from impinge.simulation.step import stability_ratio, try_step

# Dormand–Prince damps a decaying motion while h times its rate is below 3.3; keep clear of that.
_STABLE = 2.5
# After so many explicit steps an implicit one is tried; where that does not pay, after twice as many the next time, but
# not after more than the limit.
_PATIENCE, _LIMIT = 100, 800
# Explicit steps evaluate the equations so many times.
_STAGES = 6.0
_GROWTH = 5.0


@jit
def is_implicit(w: Any) -> bool:
    """Tell whether steps are implicit now."""
    return w.counts[STIFF] != 0


@jit
def step_by(plant: Any, w: Any, t: float, h: float) -> float:
    """Compute a step by the method that suits the motion; return its error relative to the tolerance."""
    if not is_implicit(w):
        return try_step(plant, w, t, h)
    ask(plant.implicit, (plant, w, t, h))
    return w.implicit.error[0]


@jit
def be_explicit(w: Any) -> None:
    """Let steps be explicit from now on: the equations have changed."""
    w.counts[STIFF], w.counts[LATELY], w.counts[PATIENCE] = 0, 0, _PATIENCE


@jit
def _price(plant: Any) -> float:
    """Return how many explicit steps cost as much as an implicit one."""
    return (acting(plant) + plant.rosenbrock.c.size + 2.0) / _STAGES


@jit
def _be_explicit_if_cheaper(plant: Any, w: Any) -> None:
    """Return to explicit steps, for twice as long as the last time, if the next implicit one is not worth its price."""
    if w.time[STEP] <= _price(plant) * w.time[STABLE]:
        w.counts[STIFF], w.counts[LATELY] = 0, 0
        w.counts[PATIENCE] = min(2 * w.counts[PATIENCE], _LIMIT)
        w.time[STEP] = w.time[STABLE]


@jit
def shorten(plant: Any, w: Any, h: float, error: float) -> None:
    """Choose the next length after a step whose error was too large."""
    if not is_implicit(w):
        w.time[STEP] = h * (max(0.2, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
        return
    w.time[STEP] = h * (max(0.1, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
    _return(plant, w)


@jit
def halve(plant: Any, w: Any, h: float) -> None:
    """Choose half the length after a step in which an event was in doubt."""
    w.time[STEP] = 0.5 * h
    if is_implicit(w):
        _return(plant, w)


@jit
def _return(plant: Any, w: Any) -> None:
    """Go back to where an implicit step began, whose derivative stands in the workspace."""
    assign(w.K[0], w.implicit.f[START])
    _be_explicit_if_cheaper(plant, w)


@jit
def lengthen(plant: Any, w: Any, h: float, error: float) -> None:
    """Choose the next length after a step that was good.

    Explicit steps: Gustafsson's PI control with the constants of Hairer and Wanner's DOPRI5.
    """
    if is_implicit(w):
        proposal = h * min(_GROWTH, 0.9 * max(error, 1e-10) ** -0.2)
        w.time[STEP] = max(proposal, w.time[STEP]) if h < w.time[STEP] else proposal
        w.counts[KNOWN] = 0
        _be_explicit_if_cheaper(plant, w)
        return
    size = np.log(max(error, 1e-10))
    factor = 0.9 * exp(0.04 * w.time[ERROR] - 0.17 * size)
    proposal = h * min(10.0, max(0.2, factor), _STABLE / max(stability_ratio(plant, w, h), 1e-3))
    w.time[STEP] = max(proposal, w.time[STEP]) if h < w.time[STEP] else proposal
    w.time[ERROR] = max(size, LEAST_ERROR)
    if plant.implicit != 0 and not in_flight(plant, w):
        _consider(plant, w)


@jit
def _consider(plant: Any, w: Any) -> None:
    """Let the next step be implicit, and so long that it pays, if there have been many explicit ones."""
    w.counts[LATELY] += 1
    if w.counts[LATELY] > w.counts[PATIENCE]:
        w.counts[STIFF], w.counts[KNOWN], w.time[STABLE] = 1, 0, w.time[STEP]
        w.time[STEP] = min(_GROWTH * _price(plant) * w.time[STABLE], plant.max_step)
