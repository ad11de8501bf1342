"""`simulate`: check everything, run the compiled loop, tick the controllers, hand over the result."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.law import ContactLaw, Law
from impinge.errors import ImpingeError, InputError, show
from impinge.model import Model, finite
from impinge.simulation.assemble import assemble
from impinge.simulation.check import check_start, command_list, friction_of, laws_of
from impinge.simulation.clock import Clock, Controller, exact_period
from impinge.simulation.dynamics import find_press, right_hand_side
from impinge.simulation.event_driven import EventDriven
from impinge.simulation.instant import DONE, FULL, PAUSED
from impinge.simulation.method import Adaptive, FixedStep, Method
from impinge.simulation.plant import (
    EVENT_COLUMNS,
    TIME,
    Log,
    Plant,
    Workspace,
    columns,
    contact_tables,
    sizes,
)
from impinge.simulation.pool import room_for
from impinge.simulation.record import add_current, measure
from impinge.simulation.result import Result
from impinge.simulation.settle import settle
from impinge.simulation.stepping import TimeStepping, stepping_law, stepping_plant
from impinge.simulation.strike import strike

FloatArray = NDArray[np.float64]

_DEFAULT_SAMPLES = 500
_DEFAULT_STEPS = 50  # at least, unless the method says otherwise
_ROOM = 2048  # rows and steps of a log at first
_REFRESH = 0.05  # s between two calls of `progress`
_MOST_BYTES = 2**31  # of one table of the log
_BUDGET = 20_000  # steps between two looks at the progress bar and at the keyboard


def simulate(
    model: Model,
    law: ContactLaw | Mapping[str, ContactLaw] | None = None,
    *,
    until: float,
    start: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    controller: Controller | Sequence[Controller] = (),
    method: Method | None = None,
    stabilization: tuple[float, float] = (400.0, 40.0),
    sample: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Simulate a model from t = 0: event by event, or in steps if its law is `Complementarity`.

    Args:
        model: what moves.
        law: how its contacts behave; one for all, or one for each by name.
        until: end time, s.
        start: start values that differ from the model's, by signal name (``x``, ``x_dot``).
        parameters: parameters that differ from the model's.
        inputs: inputs held constant, as far as no controller commands them.
        controller: sampled controllers, each with its own period.
        method: `Adaptive` (the default) or `FixedStep`; none if the law steps, which has its own.
        stabilization: (α₀, α₁) of bilateral constraints, ḧ + α₁ḣ + α₀h = 0; a law that steps needs none.
        sample: spacing of recorded rows, s. By default every step is recorded, and at least 500 rows event by event.
        progress: called now and then with the simulated time.

    Returns:
        The result; if the run fails half-way, what there is, with ``ok`` False and the reason.

    Raises:
        ImpingeError: if something is wrong before the run starts.

    Example:
        >>> from impinge import Baumgarte, robots
        >>> result = simulate(robots.ball(), Baumgarte(a0=100, a1=20, a2=1e6), until=2.0)
        >>> [round(t, 6) for t in result.times("floor", after="Contact")]
        [0.451524, 1.015104, 1.304346]
    """
    who = f"simulation of model '{model.name}'"
    end = finite(f"end time of the {who}", until)
    spacing = end / _DEFAULT_SAMPLES if sample is None else finite(f"sample spacing of the {who}", sample)
    if end <= 0 or spacing <= 0:
        raise InputError(
            who, "an end time and a sample spacing above zero", f"{end:g} s and {spacing:g} s", "Set both."
        )
    p = model.parameter_vector(parameters or {})
    q, v = model.start_vectors(start or {})
    u = model.input_vector(inputs or {})
    laws = laws_of(model, law, ContactLaw)
    stepped = stepping_law(model, law, laws)
    check_start(model, laws, 0.0, q, v, u, p)
    if stepped is not None:
        if method is not None:
            remedy = f"Leave it out: the law '{stepped.name}' has a step of its own."
            raise InputError(who, "no method", repr(method), remedy)
        plant = stepping_plant(model, laws, float(stepped.step), p, spacing, sample is None)
    else:
        chosen = Adaptive() if method is None else method
        if not isinstance(chosen, Adaptive | FixedStep):
            raise InputError(
                who, "a method, Adaptive(...) or FixedStep(...)", repr(method), "Leave it out for the default."
            )
        plant = plant_of(model, laws_of(model, law), p, stabilization, chosen, end)._replace(
            flight=model.flight.address if model.constraints else 0, sample=spacing, every_step=sample is None
        )
    controllers = list(controller) if isinstance(controller, Sequence) else [controller]
    with room_for(plant, (model.dynamics if stepped is None else model.stepping).size) as room:
        packed = Struct(plant), room.packed
        loop = EventDriven(model, room.w, packed) if stepped is None else TimeStepping(model, stepped, plant, room.w)
        run = _Run(model, plant, room.w, packed, loop, progress)
        room.w.y[: q.size + v.size] = np.concatenate([q, v])
        room.w.u[:] = u
        reason = run.through(end, controllers)
        return assemble(model, laws, plant, room.w, run.log, reason)


def plant_of(
    model: Model,
    laws: Sequence[Law],
    parameters: FloatArray,
    stabilization: tuple[float, float],
    method: Method,
    until: float,
) -> Plant:
    """Return the plant of a model whose contacts follow these laws."""
    who = f"simulation of model '{model.name}'"
    pair = stabilization if isinstance(stabilization, Sequence) and len(stabilization) == 2 else (0.0, 0.0)
    gains = [finite(f"stabilization of the {who}", a) for a in pair]
    if min(gains) <= 0:
        remedy = "A critically damped pair is (w², 2w)."
        raise InputError(who, "stabilization gains (a0, a1) above zero", show(stabilization), remedy)
    tables = contact_tables(model, laws)
    return Plant(
        evaluate=right_hand_side.address,
        find_press=find_press.address,
        settle=settle.address if any(gap.slides for gap in model.gaps) else 0,
        strike=strike.address if (tables["restitution"] >= 0).any() else 0,
        dynamics=model.dynamics.address,
        flight=0,
        signals=model.signals.address,
        **sizes(model),
        signal_size=model.signals.size,
        parameters=parameters,
        **tables,
        mu=friction_of(model, parameters),
        stabilization=np.array(gains),
        tableau=method.tableau,
        rtol=method.rtol,
        atol=method.atol,
        fixed_step=float(method.step),
        max_step=until / _DEFAULT_STEPS if method.max_step is None else float(method.max_step),
        sample=0.0,
        every_step=True,
    )


class _Run:
    """One run in progress."""

    def __init__(
        self,
        model: Model,
        plant: Plant,
        w: Workspace,
        packed: tuple[Struct, Struct],
        loop: EventDriven | TimeStepping,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.model, self.plant, self.w, self.packed, self.loop = model, plant, w, packed, loop
        self.progress = progress
        self.due = perf_counter()
        self.log = Log(
            rows=np.zeros((_ROOM, columns(plant)["y"].stop)),
            events=np.zeros((64 + 4 * plant.nc, EVENT_COLUMNS)),
            steps=np.zeros((_ROOM, 2)),
            used=np.zeros(3, dtype=np.int64),
        )
        self._pack_log()

    def _pack_log(self) -> None:
        self.packed_log = Struct(self.log)
        self.addresses = (*self.loop.addresses, self.packed_log.address)

    @functools.cached_property
    def measurement(self) -> Any:
        """Return the named tuple that controllers are given."""
        names = [x.name for x in self.model.outputs]
        if not names:
            names = [x.name for x in self.model.coordinates] + [f"{x.name}_dot" for x in self.model.coordinates]
        return namedtuple("Measurement", names)

    def through(self, end: float, controllers: list[Controller]) -> str:
        """Run to the end; return an empty string, or why it could not."""
        clock, w = self._clock(controllers), self.w
        if clock is not None:
            measure(*self.packed, 0.0, w.y)
            reason = self._tick(0.0, controllers, first=True)
            if reason:
                self._record()
                return reason
            w.u[:] = w.command
        w.command[:] = w.u
        reason = self._failure(self.loop.begin(end, self.packed_log))
        tick = 0
        while not reason:
            if clock is None:
                stop = end
            else:
                tick = clock.next(tick)
                stop = min(clock.time(tick), end)
            reason = self._advance(stop)
            if reason or stop >= end:
                break
            assert clock is not None
            reason = self._tick(stop, [controllers[i] for i in clock.due(tick)])
        self._record()
        return reason

    def _clock(self, controllers: list[Controller]) -> Clock | None:
        if not controllers:
            return None
        for one in controllers:
            if isinstance(one, type) or not isinstance(one, Controller):
                raise InputError(
                    f"simulation of model '{self.model.name}'",
                    "a controller with period, reset(measurement) and step(t, measurement)",
                    repr(one),
                    "Give the object these three members.",
                )
        return Clock([exact_period(f"controller {type(one).__name__}", one.period) for one in controllers])

    def _advance(self, stop: float) -> str:
        while True:
            status = self.loop.hold(*self.addresses, stop, _BUDGET)
            if self.progress is not None and perf_counter() > self.due:
                self.progress(float(self.w.time[TIME]))
                self.due = perf_counter() + _REFRESH
            if status == FULL:
                if max(table.nbytes for table in self.log) > _MOST_BYTES:
                    t = float(self.w.time[TIME])
                    return (
                        f"at t = {t:g} s the record fills {_MOST_BYTES / 2**30:g} GB: give a sample spacing, or check "
                        "whether the motion runs away"
                    )
                self._grow(self.log.rows.shape[0])
            elif status != PAUSED:
                return self._failure(status)

    def _tick(self, t: float, due: list[Controller], first: bool = False) -> str:
        """Let controllers sample the left limit at t and hold their commands from t on."""
        measurement = self.measurement(*self.w.seen.tolist())
        u = self.w.u.tolist()
        for one in due:
            if first:
                one.reset(measurement)
                u = command_list(self.model, one, one.step(t, measurement), u)
                continue
            try:
                u = command_list(self.model, one, one.step(t, measurement), u)
            except ImpingeError as problem:
                return f"controller {type(one).__name__} gave up at t = {t:g} s: {problem}"
        for k, value in enumerate(u):
            if not isfinite(value):
                return f"a controller commanded {value} for input '{self.model.inputs[k].name}' at t = {t:g} s"
        self.w.command[:] = u
        return ""

    def _record(self) -> None:
        self._grow(2)
        add_current(*self.packed, self.packed_log)

    def _grow(self, rows: int) -> None:
        """Make room in the log for this many rows more and for the events of an instant."""
        log, room, changes = self.log, rows + 4 * self.plant.nc + 16, {}
        for used, name in zip(log.used.tolist(), ("rows", "events", "steps"), strict=True):
            table = getattr(log, name)
            if used + room > table.shape[0]:
                changes[name] = np.concatenate([table, np.zeros((max(table.shape[0], room), table.shape[1]))])
        if changes:
            self.log = log._replace(**changes)
            self._pack_log()

    def _failure(self, status: int) -> str:
        return "" if status == DONE else self.loop.failure(status)
