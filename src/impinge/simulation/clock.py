"""Integer clocks: every period is a whole number of base ticks, so rates never drift apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from impinge.errors import InputError

_FINEST = 10**9  # no period finer than a nanosecond's fraction is told apart


@runtime_checkable
class Controller(Protocol):
    """A sampled controller: it has a period and knows nothing of what it drives.

    ``step`` is called at t = 0, period, 2·period, … with the measurement just before that instant; the
    command it returns is held until the next call. ``reset`` comes once before the first step. A
    measurement is a named tuple: the model's outputs, or its coordinates and velocities if it declares
    none. A command is a number for each input: a dict by name, a sequence in order, or one number.
    """

    @property
    def period(self) -> float | Fraction:
        """Time between two steps, s."""
        ...

    def reset(self, measurement: Any) -> None:
        """Forget the past."""
        ...

    def step(self, t: float, measurement: Any) -> Any:
        """Return the command to hold from t on."""
        ...


def exact_period(who: str, period: Any) -> Fraction:
    """Return a period in seconds as an exact fraction: 0.002 is 1/500, 1/3 is 1/3."""
    try:
        exact = Fraction(period).limit_denominator(_FINEST)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(0)
    if exact <= 0:
        raise InputError(who, "a period above zero, in seconds", repr(period), "Give e.g. period = 0.002 for 500 Hz.")
    return exact


class Clock:
    """Ticks of several periods on one base tick.

    Example:
        >>> clock = Clock([Fraction(1, 500), Fraction(1, 200)])
        >>> clock.base, clock.multiples
        (Fraction(1, 1000), (2, 5))
        >>> clock.time(5), clock.due(10)
        (0.005, (0, 1))
    """

    def __init__(self, periods: Sequence[Fraction]) -> None:
        denominator = math.lcm(*(period.denominator for period in periods))
        numerators = [int(period * denominator) for period in periods]
        self.base = Fraction(math.gcd(*numerators), denominator)
        self.multiples = tuple(int(period / self.base) for period in periods)
        self._all = tuple(range(len(periods)))

    def time(self, tick: int) -> float:
        """Return the time of a base tick, s, rounded once."""
        return tick * self.base.numerator / self.base.denominator

    def due(self, tick: int) -> tuple[int, ...]:
        """Return which periods have a tick at this base tick."""
        if len(self._all) == 1:
            return self._all
        return tuple(i for i, n in enumerate(self.multiples) if tick % n == 0)

    def next(self, tick: int) -> int:
        """Return the next base tick after this one at which any period has a tick."""
        if len(self._all) == 1:
            return tick + 1
        return min((tick // n + 1) * n for n in self.multiples)
