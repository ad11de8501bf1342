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
from impinge.simulation.plant import (
    CALLS,
    ERROR,
    EVALUATIONS,
    KNOWN,
    LATELY,
    LEAST_ERROR,
    PATIENCE,
    PER_CALL,
    SET_OUT,
    STABLE,
    STEP,
    STIFF,
    TIME,
    acting,
    assign,
)
from impinge.simulation.step import stability_ratio, try_step

# Dormand–Prince damps a decaying motion while h times its rate is below 3.3; keep clear of that.
_STABLE = 2.5
# After so many explicit steps an implicit one is tried; where that does not pay, after twice as many the next time, but
# not after more than the limit.
_PATIENCE, _LIMIT = 100, 800
# An implicit step is at most so many times as long as the last; so many are tried before what they cost is compared;
# and so many times as far must they come. Where motion is smooth and not stiff, explicit steps are the more accurate.
_GROWTH, _TRIALS, _GAIN = 5.0, 4.0, 4.0


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
    w.counts[PATIENCE] = _PATIENCE
    _set_out(w, 0)


@jit
def _set_out(w: Any, implicit: int) -> None:
    """Go on by a method, and note what has been spent until now."""
    w.counts[STIFF], w.counts[LATELY], w.counts[KNOWN] = implicit, 0, 0
    w.counts[CALLS], w.time[SET_OUT] = w.counts[EVALUATIONS], w.time[TIME]


@jit
def _price(plant: Any) -> float:
    """Return how often an implicit step evaluates the equations."""
    return acting(plant) + plant.rosenbrock.a.shape[0] + 2.0


@jit
def _be_explicit_if_cheaper(plant: Any, w: Any) -> None:
    """Return to explicit steps, for twice as long as the last time, if implicit ones are not worth their price.

    They are if they come several times as far as explicit ones for the same work. The next one does not if it is too
    short for that, nor have all together if they came less far.
    """
    spent, way = w.counts[EVALUATIONS] - w.counts[CALLS], _GAIN * w.time[PER_CALL]
    behind = spent > _TRIALS * _price(plant) and w.time[TIME] - w.time[SET_OUT] < spent * way
    if behind or w.time[STEP] <= _price(plant) * way:
        w.counts[PATIENCE] = min(2 * w.counts[PATIENCE], _LIMIT)
        w.time[STEP] = w.time[STABLE]
        _set_out(w, 0)


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
    spent = w.counts[EVALUATIONS] - w.counts[CALLS]
    if w.counts[LATELY] > w.counts[PATIENCE] and spent > 0:
        w.time[STABLE], w.time[PER_CALL] = w.time[STEP], (w.time[TIME] - w.time[SET_OUT]) / spent
        w.time[STEP] = min(_GROWTH * _price(plant) * w.time[PER_CALL], plant.max_step)
        _set_out(w, 1)
