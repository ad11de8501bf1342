"""How long the next step is, and by which method.

Steps are explicit (Dormand–Prince) at first. Where springs and dampers of contacts are fast, and what they do has long
since died down, stability keeps them short: the motion is stiff. So where many steps have passed since the equations
changed, an implicit one is tried (see `implicit`), and kept to as long as it is worth its price. Its slopes are dear:
they evaluate the equations once for each coordinate and velocity. So they are kept from step to step (see
`implicit_slopes`) until one fails, or must be clearly shorter than others that they have served for.
"""

from __future__ import annotations

from math import exp

import numpy as np

from impinge.compile import ask, jit
from impinge.simulation.integrate.implicit_system import START
from impinge.simulation.integrate.step import stability_ratio, try_step
from impinge.simulation.system.dynamics import in_flight
from impinge.simulation.system.plant import (
    CALLS,
    ERROR,
    EVALUATIONS,
    FARTHEST,
    KEPT,
    KNOWN,
    LATELY,
    LEAST_ERROR,
    PATIENCE,
    PER_CALL,
    SET_OUT,
    SPAN,
    STABLE,
    STEP,
    STIFF,
    TIME,
    WAIT,
    Plant,
    Workspace,
    assign,
)

# Dormand–Prince damps a decaying motion while h times its rate is below 3.3; keep clear of that.
_STABLE = 2.5
# After so many explicit steps an implicit one is tried; where that does not pay, after twice as many the next time, but
# not after more than the limit.
_PATIENCE, _LIMIT = 100, 800
# An implicit step is at most so many times as long as the last, and the first one as an explicit step of the same work;
# after so many what they cost is compared. So many times as far must they come: they take more than evaluations.
_GROWTH, _FIRST, _TRIALS, _GAIN = 5.0, 2.0, 40.0, 1.3
# Slopes are found anew where a step must be shorter than this share of the longest that they have served for. Where
# keeping them fails, they are for up to so many steps before that is tried again.
_WORN, _RENEWED = 0.7, 15


@jit
def is_implicit(w: Workspace) -> bool:
    """Tell whether steps are implicit now."""
    return w.counts[STIFF] != 0


@jit
def step_by(plant: Plant, w: Workspace, t: float, h: float) -> float:
    """Compute a step by the method that suits the motion; return its error relative to the tolerance."""
    if not is_implicit(w):
        return try_step(plant, w, t, h)
    ask(plant.implicit, (plant, w, t, h))
    return w.implicit.error[0]


@jit
def be_explicit(w: Workspace) -> None:
    """Let steps be explicit from now on: the equations have changed."""
    w.counts[PATIENCE] = _PATIENCE
    _set_out(w, 0)


@jit
def _set_out(w: Workspace, implicit: int) -> None:
    """Go on by a method, and note what has been spent until now."""
    w.counts[STIFF], w.counts[LATELY], w.counts[KNOWN], w.counts[KEPT] = implicit, 0, 0, 0
    w.counts[WAIT] = w.counts[SPAN] = 0
    _look_back_from_here(w)


@jit
def _look_back_from_here(w: Workspace) -> None:
    w.counts[CALLS], w.time[SET_OUT] = w.counts[EVALUATIONS], w.time[TIME]


@jit
def _price(plant: Plant) -> float:
    """Return how often an implicit step whose slopes are kept evaluates the equations."""
    return plant.rosenbrock.a.shape[0] + (0.0 if plant.steady != 0 else 2.0)


@jit
def _be_explicit_if_cheaper(plant: Plant, w: Workspace) -> None:
    """Return to explicit steps, for twice as long as the last time, if implicit ones are not worth their price.

    They are if they come clearly farther than explicit ones for the same work. The next one does not if it is too short
    for any gain, nor have the last ones together if they came less far.
    """
    spent, way = w.counts[EVALUATIONS] - w.counts[CALLS], w.time[PER_CALL]
    behind = False
    if spent > _TRIALS * _price(plant) + plant.nq + plant.nv:
        behind = w.time[TIME] - w.time[SET_OUT] < _GAIN * spent * way
        _look_back_from_here(w)
    if behind or w.time[STEP] <= _price(plant) * way:
        w.counts[PATIENCE] = min(2 * w.counts[PATIENCE], _LIMIT)
        w.time[STEP] = w.time[STABLE]
        _set_out(w, 0)


@jit
def shorten(plant: Plant, w: Workspace, h: float, error: float) -> None:
    """Choose the next length after a step whose error was too large."""
    if not is_implicit(w):
        w.time[STEP] = h * (max(0.2, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
        return
    if w.counts[KEPT] != 0:  # it may be the slopes
        w.counts[KEPT] = w.counts[KNOWN] = 0
        w.counts[WAIT] = w.counts[SPAN] = min(2 * w.counts[SPAN] + 1, _RENEWED)
        w.time[STEP] = h if error < _GROWTH**5 else h / _GROWTH
    else:
        w.time[STEP] = h * (max(0.1, 0.9 * error**-0.2) if np.isfinite(error) else 0.1)
    _return(plant, w)


@jit
def halve(plant: Plant, w: Workspace, h: float) -> None:
    """Choose half the length after a step in which an event was in doubt."""
    w.time[STEP] = 0.5 * h
    if is_implicit(w):
        _return(plant, w)


@jit
def _return(plant: Plant, w: Workspace) -> None:
    """Go back to where an implicit step began, whose derivative stands in the workspace."""
    assign(w.K[0], w.implicit.f[START])
    _be_explicit_if_cheaper(plant, w)


@jit
def _keep_slopes(w: Workspace, h: float) -> None:
    """Choose whether the next step has the slopes of the last one, which was good."""
    if w.counts[KEPT] != 0:
        w.counts[SPAN] = 0
    w.time[FARTHEST] = max(h, w.time[FARTHEST]) if w.counts[KEPT] != 0 else h
    serve = w.implicit.active[1] != 0 and w.time[STEP] >= _WORN * w.time[FARTHEST]
    w.counts[KNOWN], w.counts[KEPT] = 0, serve and w.counts[WAIT] == 0
    w.counts[WAIT] = max(0, w.counts[WAIT] - 1)


@jit
def lengthen(plant: Plant, w: Workspace, h: float, error: float) -> None:
    """Choose the next length after a step that was good.

    Explicit steps: Gustafsson's PI control with the constants of Hairer and Wanner's DOPRI5.
    """
    if is_implicit(w):
        proposal = h * min(_GROWTH, 0.9 * max(error, 1e-10) ** -0.2)
        w.time[STEP] = max(proposal, w.time[STEP]) if h < w.time[STEP] else proposal
        _keep_slopes(w, h)
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
def _consider(plant: Plant, w: Workspace) -> None:
    """Let the next step be implicit, and so long that it pays, if there have been many explicit ones."""
    w.counts[LATELY] += 1
    spent = w.counts[EVALUATIONS] - w.counts[CALLS]
    if w.counts[LATELY] > w.counts[PATIENCE] and spent > 0:
        latest = w.time[STEP] / (plant.tableau.c.size - 1)
        w.time[STABLE] = w.time[STEP]
        w.time[PER_CALL] = max((w.time[TIME] - w.time[SET_OUT]) / spent, latest)
        w.time[STEP] = min(_FIRST * _price(plant) * w.time[PER_CALL], plant.max_step)
        _set_out(w, 1)
