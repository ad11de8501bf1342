"""Gains that change in the course of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from impinge.errors import InputError, as_number, show

Gain = float | Callable[[float], float]


@dataclass(frozen=True)
class Ramp:
    """A gain that goes from ``first`` to ``last`` on a straight line between two times, in s.

    Example:
        >>> k_p = Ramp(100.0, 0.0, begin=2.5, end=9.0)
        >>> k_p(0.0), k_p(5.75), k_p(20.0)
        (100.0, 50.0, 0.0)
    """

    first: float
    last: float
    begin: float
    end: float

    def __post_init__(self) -> None:
        given = (self.first, self.last, self.begin, self.end)
        if not all(isfinite(as_number(x)) for x in given) or not self.begin < self.end:
            raise InputError(
                "ramp",
                "finite values, and a begin before its end",
                f"from {show(self.first)} to {show(self.last)} between {show(self.begin)} and {show(self.end)} s",
                "Write e.g. Ramp(100, 0, begin=2.5, end=9).",
            )

    def __call__(self, t: float) -> float:
        """Return the value at time t, s."""
        if t <= self.begin:
            return self.first
        if t >= self.end:
            return self.last
        return self.first + (self.last - self.first) * (t - self.begin) / (self.end - self.begin)
