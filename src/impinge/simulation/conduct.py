"""A run in progress: the compiled loop from tick to tick, and the controllers in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.errors import ImpingeError, InputError, MissingError, unknown_name
from impinge.simulation.check import Commanded, command_list
from impinge.simulation.clock import Clock, Controller, exact_period
from impinge.simulation.events.instant import DONE, FULL, PAUSED

_REFRESH = 0.05  # s between two calls of `progress`
_MOST_BYTES = 2**31  # of one table of the log
BUDGET = 20_000  # steps between two looks at the progress bar and at the keyboard


class Run(ABC):
    """One run; the loops differ in how they begin, hold and record.

    Attributes:
        u, command: inputs that are held, and those to hold from the next instant on.
        seen: what sensors see, as `look` left it.
    """

    u: NDArray[np.float64]
    command: NDArray[np.float64]
    seen: NDArray[np.float64]

    def __init__(self, system: Commanded, measured: Sequence[str], progress: Callable[[float], None] | None) -> None:
        self.system, self.progress = system, progress
        self.measured = measured
        self.due = perf_counter()

    @abstractmethod
    def begin(self, end: float) -> str:
        """Prepare the start; return an empty string, or why it cannot begin."""

    @abstractmethod
    def hold(self, stop: float) -> int:
        """Go on until a time, at most `BUDGET` steps; return DONE, PAUSED, FULL, or why not."""

    @abstractmethod
    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""

    @abstractmethod
    def look(self) -> None:
        """Let ``seen`` be what sensors see of the start."""

    @abstractmethod
    def record(self) -> None:
        """Record this instant if it is not recorded yet."""

    @abstractmethod
    def grow(self) -> int:
        """Make room in the log; return the bytes of its largest table."""

    @property
    @abstractmethod
    def time(self) -> float:
        """How far it is, s."""

    def through(self, end: float, controllers: list[Controller]) -> str:
        """Run to the end; return an empty string, or why it could not."""
        clock = self._clock(controllers)
        self._several, self._owners = len(controllers) > 1, dict[str, Controller]()
        if clock is not None:
            self._measurement = _measurement_of(self.system.label, self.measured)
            self.look()
            reason = self._tick(0.0, controllers, first=True)
            if reason:
                self.record()
                return reason
            self.u[:] = self.command
        self.command[:] = self.u
        reason = self.begin(end)
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
        self.record()
        return reason

    def _clock(self, controllers: list[Controller]) -> Clock | None:
        if not controllers:
            return None
        for one in controllers:
            if isinstance(one, type) or not isinstance(one, Controller):
                raise InputError(
                    f"simulation of {self.system.label}",
                    "a controller with period, reset(measurement) and step(t, measurement)",
                    repr(one),
                    "Give the object these three members.",
                )
        return Clock([exact_period(f"controller {type(one).__name__}", one.period) for one in controllers])

    def _advance(self, stop: float) -> str:
        while True:
            status = self.hold(stop)
            if self.progress is not None and perf_counter() > self.due:
                self.progress(self.time)
                self.due = perf_counter() + _REFRESH
            if status == FULL:
                if self.grow() > _MOST_BYTES:
                    return (
                        f"at t = {self.time:g} s the record fills {_MOST_BYTES / 2**30:g} GB: give a sample spacing, "
                        "or check whether the motion runs away"
                    )
            elif status != PAUSED:
                return "" if status == DONE else self.failure(status)

    def _tick(self, t: float, due: list[Controller], first: bool = False) -> str:
        """Let controllers sample the left limit at t and hold their commands from t on."""
        measurement: Any = self._measurement(*self.seen.tolist())
        u = self.u.tolist()
        for one in due:
            if first:
                one.reset(measurement)
                u = self._commanded(one, one.step(t, measurement), u)
                continue
            try:
                u = self._commanded(one, one.step(t, measurement), u)
            except ImpingeError as problem:
                return f"controller {type(one).__name__} gave up at t = {t:g} s: {problem}"
        for k, value in enumerate(u):
            if not isfinite(value):
                return f"a controller commanded {value} for input '{self.system.inputs[k].name}' at t = {t:g} s"
        self.command[:] = u
        return ""

    def _commanded(self, one: Controller, command: Any, held: list[float]) -> list[float]:
        """Return all inputs after a controller's command; raise the error that fits if another commands one of them."""
        values = command_list(self.system, one, command, held)
        if self._several:
            for name in command if isinstance(command, Mapping) else self.system.input_places:
                owner = self._owners.setdefault(name, one)
                if owner is not one:
                    raise InputError(
                        f"input '{name}' of {self.system.label}",
                        "one controller that commands it",
                        f"two, {type(owner).__name__} and {type(one).__name__}",
                        "Let each return a dict of the inputs that are its own, or add the two up in one controller.",
                    )
        return values


def _measurement_of(system: str, names: Sequence[str]) -> type[Any]:
    """Return the class of what controllers are given: a tuple with these names, which says so if asked for another."""

    def missing(self: Any, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        problem = unknown_name(f"measurement of {system}", "signal", name, names)
        more = " Outputs, coordinates and velocities are measured: add output(...) for what else a controller needs."
        raise MissingError(problem.who, problem.expected, problem.got, problem.remedy + more)

    return type("Measurement", (namedtuple("Measurement", names),), {"__slots__": (), "__getattr__": missing})
