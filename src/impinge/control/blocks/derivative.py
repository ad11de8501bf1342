"""The derivative of a sampled signal behind a first-order filter."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp

from impinge.control.check import above_zero
from impinge.simulation.clock import exact_period


class FilteredDerivative:
    """s p / (s + p), sampled: d ← a d + (1 − a)(y − y_before)/T with a = exp(−p T).

    This is what the filter gives exactly if the signal is a straight line between two samples (ramp-invariant
    discretization). On a ramp its error decays as exp(−p t), to nothing.

    Args:
        pole: p, rad/s: below it the block differentiates, above it noise is held back.
        period: T, s.

    Example:
        >>> rate = FilteredDerivative(pole=100.0, period=0.002)
        >>> rate.reset([0.0, 1.0])
        >>> for k in range(1, 200):
        ...     slope = rate.step([0.5 * 0.002 * k, 1.0])
        >>> [round(x, 9) for x in slope]
        [0.5, 0.0]
    """

    def __init__(self, pole: float, period: float | Fraction) -> None:
        who = "filtered derivative"
        self.pole = above_zero(who, "a pole in rad/s (it stands at s = -pole)", pole, "Some 100 rad/s at 500 Hz.")
        self.period = exact_period(who, period)
        self._decay = exp(-self.pole * float(self.period))
        self._gain = (1.0 - self._decay) / float(self.period)
        self.reset([0.0])

    def reset(self, values: Sequence[float]) -> None:
        """Forget the past, as if the values, one for each axis, had always been these."""
        self._values, self._rates = list(values), [0.0] * len(values)

    def step(self, values: Sequence[float]) -> list[float]:
        """Take the next samples and return their rates."""
        decay, gain = self._decay, self._gain
        self._rates = [
            decay * rate + gain * (value - before)
            for rate, value, before in zip(self._rates, values, self._values, strict=True)
        ]
        self._values = list(values)
        return self._rates
