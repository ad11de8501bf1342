"""Derivatives of a trajectory through its contacts, by start values, parameters and inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.variations.frame import Frame, Side
from impinge.analysis.variations.graze import dips_of
from impinge.analysis.variations.impact_map import ends_series
from impinge.analysis.variations.saltation import Instant, Variation
from impinge.analysis.variations.same_run import ANYWHERE, check_same_run
from impinge.contact.law import Law
from impinge.errors import ImpingeWarning, InputError, unknown_name
from impinge.model import Model
from impinge.scene.scene import Scene
from impinge.simulation import Adaptive, Result, simulate
from impinge.simulation.check import laws_of
from impinge.simulation.integrate.method import Method
from impinge.simulation.locate.guards import resolution
from impinge.simulation.results.result import Event
from impinge.simulation.run import plant_of
from impinge.simulation.system.plant import Plant

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sensitivity:
    """The derivative of a run's state by what it depends on, over time.

    Attributes:
        result: the run.
        by: what the columns are derivatives by: start values, parameters, inputs.
        states: what the rows are derivatives of: coordinates, then velocities. In place of the quaternion of a rotation
            there are small turns about its own axes, ``…_turn_x`` …, rad.
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
    system: Model | Scene,
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
    """Simulate a system and differentiate its trajectory, through contacts that open, close, strike, stick and slide.

    A rigid contact that is closed at the start stays closed, and what sticks there stands still: start values are
    varied along such contacts only.

    Args:
        system: what moves: a model, or a scene as it is around its start (`impinge.Scene.around`).
        law: how its contacts behave; one for all, or one for each by name.
        until: end time, s.
        by: names of start values (``x``, ``x_dot``), parameters and inputs; by default all start values, so
            that the matrix at the end is the state transition matrix.
        start: start values that differ from the model's.
        parameters: parameters that differ from the model's.
        inputs: inputs, held constant.
        method: `Adaptive` (the default) or `FixedStep`; the derivatives are integrated on the run's own steps, which
            are explicit.
        stabilization: (α₀, α₁) of bilateral constraints.

    Raises:
        ImpingeError: if a name is unknown, the run fails, or there is no derivative: a contact grazes, contacts that
            act on each other change at one instant, bounces accumulate, restitution was taken back, or more contacts
            slide than the motion tells apart.

    Example:
        >>> from impinge import Baumgarte, robots
        >>> fall = sensitivity(robots.ball(), Baumgarte(), until=0.4, by=["q", "q_dot", "g"])
        >>> fall.matrix.round(9).tolist()
        [[1.0, 0.4, -0.08], [0.0, 1.0, -0.4]]
    """
    model = system.around(start, within=ANYWHERE)
    who = f"sensitivity of {system.label}"
    states = [x.name for x in (*model.directions, *model.velocities)]
    known = states + [x.name for x in (*model.inputs, *model.parameters)]
    names = states if by is None else [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in known:
            raise unknown_name(who, "start value, parameter or input", name, known)
    if not names:
        raise InputError(who, "at least one name in `by`", "none", "Leave it out to have all start values.")
    laws = laws_of(model, law)
    # Variations are integrated on the run's steps by the explicit method, so these must be ones that it can take.
    method = method or Adaptive()
    method = replace(method, implicit=False) if isinstance(method, Adaptive) else method
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
    if parameters is None:
        check_same_run(who, system, model, law, result, until, start, inputs, method)
    if result.certificate.leaps:
        got = f"a run that steps over contacts {result.certificate.leaps} times, where they change without end"
        raise InputError(who, "smooth motion between events", got, "End the run before, or choose another law.")
    p, u = model.parameter_vector(parameters or {}), model.input_vector(inputs or {})
    plant = plant_of(model, laws, p, stabilization, method, float(until))

    # Time does not vary: its row is the last.
    seed = np.vstack([np.eye(len(known)), np.zeros(len(known))])[:, [known.index(name) for name in names]]
    rows = _Rows(model, plant, result)
    # A step starts at a row of its own, or just behind the two rows of an event.
    begins = np.searchsorted(result.t, result.steps[:, 0], side="right") - 1
    frame = Frame(model, plant, u, result.steps, rows.x[begins], seed)
    t, matrices, saltations = _through(Variation(frame), who, rows)
    rate = frame.at(float(result.t[-1]), rows.x[-1])[: frame.nx]
    return Sensitivity(result, tuple(names), tuple(states), t, matrices, rate, saltations)


class _Rows:
    """What variations need of a run: states and modes of its rows, and in which directions contacts slide there."""

    def __init__(self, model: Model, plant: Plant, result: Result) -> None:
        self.model, self.plant, self.result = model, plant, result
        names = [x.name for x in (*model.coordinates, *model.velocities)]
        self.x = np.stack([result[name] for name in names], axis=1)
        modes = [result[f"mode_{name}"] for name in model.contacts]
        self.modes = np.array(modes, dtype=np.int64).reshape((-1, result.t.size)).T

    def side(self, row: int, time: float) -> Side:
        """Return one side of an instant."""
        return Side(time, self.x[row], self.modes[row], self._direction(row))

    def _direction(self, row: int) -> FloatArray:
        """Return the directions of slips at a row: against friction, or along their rates where there is none."""
        direction, names = np.zeros(self.plant.ns), [name for _, name in self.model.slips]
        for c in range(self.plant.nc):
            own = range(self.plant.slips[c], self.plant.slips[c + 1])
            if self.modes[row, c] != self.plant.sliding[c]:
                continue
            friction = np.array([self.result[f"friction_{names[s]}"][row] for s in own])
            rates = np.array([self.result[f"slip_{names[s]}_dot"][row] for s in own])
            along = -friction if friction.any() else rates
            if along.any():
                direction[own.start : own.stop] = along / np.linalg.norm(along)
        return direction

    def instant(self, events: Sequence[Event], after: float) -> Instant:
        """Return an instant from its events; behind it the run goes on at a time."""
        row, time, contacts = events[0].row, events[0].time, self.model.contacts
        impulses = [self.result[f"impulse_{name}"] for name in contacts]
        pushing = [c for c, p in enumerate(impulses) if self.plant.restitution[c] >= 0.0 and p[row + 1] > p[row]]
        changed = [contacts.index(event.contact) for event in events]
        left, right, closed = self.side(row, time), self.side(row + 1, after), self.plant.closed
        stopped = {contacts.index(event.contact) for event in events if event.halt > 0.0}
        stopped |= {c for c in changed if closed[c, right.modes[c]] > closed[c, left.modes[c]]}
        halting = [c for c in sorted(stopped) if self.plant.halted[c] != 0]
        return Instant(left, right, changed, pushing, halting)


def _through(
    variation: Variation, who: str, rows: _Rows
) -> tuple[FloatArray, FloatArray, tuple[tuple[float, tuple[str, ...], FloatArray], ...]]:
    """Carry variations along a run; return times, derivatives and saltations."""
    result, nx, X = rows.result, variation.frame.nx, variation.frame.flow.X
    begins, ends = result.steps[:, 0], result.steps.sum(axis=1)
    dips = dips_of(result, rows.model, rows.plant)
    instants = [list(events) for _, events in groupby(result.events, key=lambda event: event.row)]
    record, times = np.zeros((1 + len(ends) + len(instants), nx, X.shape[1])), [0.0]
    first, saltations = 0, []
    variation.begin(rows.side(0, 0.0))
    record[0] = X[:nx]
    for events in instants:
        time = events[0].time
        # An event ends a step; where its guard falls at the very start of one, the one before.
        last = int(np.searchsorted(ends, time - 2 * np.spacing(time)))
        if last < len(ends) and begins[last] < time:
            last += 1
        elif last > first and ends[last - 1] < time - 10 * resolution(time):
            raise ends_series(who, events[0].contact, time)
        variation.through(who, first, last, dips, record[len(times) :])
        times += [*ends[first:last].tolist(), time]
        later = np.searchsorted(begins, time, side="right")
        after = float(begins[later]) if later < begins.size else time + resolution(time)
        saltation = variation.jump(who, rows.instant(events, after))
        saltations.append((time, tuple(event.contact for event in events), saltation))
        record[len(times) - 1] = X[:nx]
        first = last
    variation.through(who, first, len(ends), dips, record[len(times) :])
    return np.array([*times, *ends[first:].tolist()]), record, tuple(saltations)
