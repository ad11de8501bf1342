"""Derivatives of a trajectory through its contacts, by start values, parameters and inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.saltation import Instant, Variation
from impinge.contact.law import Law
from impinge.errors import ImpingeWarning, InputError, unknown_name
from impinge.model import Model
from impinge.simulation import Adaptive, Result, simulate
from impinge.simulation.check import laws_of
from impinge.simulation.contacts import SLIDING
from impinge.simulation.guards import resolution
from impinge.simulation.method import Method
from impinge.simulation.run import plant_of

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """The derivative of a run's state by what it depends on, over time.

    Attributes:
        result: the run.
        by: what the columns are derivatives by: start values, parameters, inputs.
        states: what the rows are derivatives of: coordinates, then velocities.
        t: the start, the end of every step, and behind every event its time once more, s.
        matrices: the derivatives at these times, n × nx × len(by).
        rate: ẋ at the end: the derivative by the end time.
        saltations: for every event its time, the contacts that change, and by which matrix the derivatives by
            the state jump, δx⁺ = S δx⁻. NaN if contacts that act on each other change at once, and do so for
            everything in ``by`` but not for every start state.
    """

    result: Result
    by: tuple[str, ...]
    states: tuple[str, ...]
    t: FloatArray
    matrices: FloatArray
    rate: FloatArray
    saltations: tuple[tuple[float, tuple[str, ...], FloatArray], ...]

    @property
    def matrix(self) -> FloatArray:
        """The derivatives at the end, nx × len(by)."""
        return self.matrices[-1]


def sensitivity(
    model: Model,
    law: Law | Mapping[str, Law] | None = None,
    *,
    until: float,
    by: Sequence[str] | None = None,
    start: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    method: Method | None = None,
    stabilization: tuple[float, float] = (400.0, 40.0),
) -> Sensitivity:
    """Simulate a model and differentiate its trajectory, through every contact that opens or closes.

    Args:
        model: what moves.
        law: how its contacts behave; one for all, or one for each by name.
        until: end time, s.
        by: names of start values (``x``, ``x_dot``), parameters and inputs; by default all start values, so
            that the matrix at the end is the state transition matrix.
        start: start values that differ from the model's.
        parameters: parameters that differ from the model's.
        inputs: inputs, held constant.
        method: `Adaptive` (the default) or `FixedStep`; the derivatives are integrated on the run's own steps.
        stabilization: (α₀, α₁) of bilateral constraints.

    Raises:
        ImpingeError: if a name is unknown, the run fails, or there is no derivative: a contact grazes, or
            contacts that act on each other change at one instant.

    Example:
        >>> from impinge import Baumgarte, robots
        >>> fall = sensitivity(robots.ball(), Baumgarte(), until=0.4, by=["q", "q_dot", "g"])
        >>> fall.matrix.round(9).tolist()
        [[1.0, 0.4, -0.08], [0.0, 1.0, -0.4]]
    """
    who = f"sensitivity of model '{model.name}'"
    coordinates = [x.name for x in model.coordinates]
    states = coordinates + [f"{name}_dot" for name in coordinates]
    known = states + [x.name for x in (*model.inputs, *model.parameters)]
    names = states if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in known:
            raise unknown_name(who, "start value, parameter or input", name, known)
    if not names:
        raise InputError(who, "at least one name in `by`", "none", "Leave it out to have all start values.")
    with warnings.catch_warnings():  # an early end is an error below
        warnings.filterwarnings("ignore", ".*stopped early", ImpingeWarning)
        result = simulate(
            model,
            law,
            until=until,
            start=start,
            parameters=parameters,
            inputs=inputs,
            method=method,
            stabilization=stabilization,
        )
    if not result.ok:
        raise InputError(who, "a run that reaches its end", result.reason, "Make the run itself succeed first.")
    _check_stick(who, result)
    _check_smooth(who, result, dict(zip(model.contacts, laws_of(model, law), strict=True)))
    p, u = model.parameter_vector(parameters or {}), model.input_vector(inputs or {})
    plant = plant_of(model, laws_of(model, law), p, stabilization, method or Adaptive(), float(until))

    seed = np.eye(len(known))[:, [known.index(name) for name in names]]
    x = np.stack([result[name] for name in states], axis=1)
    # A step starts at a row of its own, or just behind the two rows of an event.
    begins = np.searchsorted(result.t, result.steps[:, 0], side="right") - 1
    variation = Variation(model, plant, u, result.steps, x[begins], seed)
    t, matrices, saltations = _through(variation, who, result, x)
    rate = variation.derivative(float(result.t[-1]), x[-1])
    return Sensitivity(result, tuple(names), tuple(states), t, matrices, rate, saltations)


def _check_stick(who: str, result: Result) -> None:
    """Refuse runs in which a contact slides: what friction does then is not differentiated."""
    for contact, modes in result.modes.items():
        if modes[-1] == SLIDING and (result[f"mode_{contact}"] == len(modes) - 1).any():
            t = float(result.t[np.argmax(result[f"mode_{contact}"] == len(modes) - 1)])
            raise InputError(
                who,
                "contacts that stick or are open",
                f"contact '{contact}' sliding from t = {t:.6g} s",
                "Raise its friction, or end the run before.",
            )


def _check_smooth(who: str, result: Result, laws: Mapping[str, Law]) -> None:
    """Refuse runs in which a rigid contact strikes: what velocities do then is not differentiated."""
    for event in result.events:
        closed = dict(zip(result.modes[event.contact], result.closed[event.contact], strict=True))
        if hasattr(laws[event.contact], "rebound") and (closed[event.after] or event.before == event.after):
            raise InputError(
                who,
                "contacts with finite forces",
                f"an impact of contact '{event.contact}' at t = {event.time:.6g} s",
                "Choose a law such as Baumgarte(), or end the run before.",
            )


def _through(
    variation: Variation, who: str, result: Result, x: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[tuple[float, tuple[str, ...], FloatArray], ...]]:
    """Carry variations along a run; return times, derivatives and saltations."""
    begins, ends = result.steps[:, 0], result.steps.sum(axis=1)
    modes = np.array([result[f"mode_{name}"] for name in result.modes], dtype=np.int64).reshape((-1, result.t.size)).T
    instants = [list(events) for _, events in groupby(result.events, key=lambda event: event.row)]
    seed = variation.flow.X[: x.shape[1]]
    record, times = np.zeros((1 + len(ends) + len(instants), *seed.shape)), [0.0]
    record[0], first, saltations = seed, 0, []
    variation.begin(x[0], modes[0])
    for events in instants:
        time, row = events[0].time, events[0].row
        # An event ends a step; where its guard falls at the very start of one, the one before.
        last = int(np.searchsorted(ends, time - 2 * np.spacing(time))) + 1
        variation.through(first, last, record[len(times) :])
        times += [*ends[first:last].tolist(), time]
        later = np.searchsorted(begins, time, side="right")
        after = float(begins[later]) if later < begins.size else time + resolution(time)
        at = Instant(time, after, x[row], x[row + 1], modes[row], modes[row + 1])
        saltations.append((time, tuple(event.contact for event in events), variation.jump(who, at)))
        record[len(times) - 1] = variation.flow.X[: x.shape[1]]
        first = last
    variation.through(first, len(ends), record[len(times) :])
    return np.array([*times, *ends[first:].tolist()]), record, tuple(saltations)
