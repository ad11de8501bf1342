"""PD control with feedforward and gains that may vary in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, isnan

from impinge.control.blocks.derivative import FilteredDerivative
from impinge.control.blocks.schedule import Gain, Ramp
from impinge.control.check import one_each
from impinge.control.references.reference import Setpoint
from impinge.errors import InputError, as_number, show


class PDFF:
    """u = k_p (r − y) + k_d (ṙ − ẏ) + r̈ + f, with ẏ by a filtered derivative.

    S. A. Bortoff, Modeling Contact and Collisions for Robotic Assembly Control, 2020, eq. 12. On a double integrator,
    ÿ = u, the loop is stable for every k_p(t) that stays within 0 ≤ k_p ≤ k_d² (13), by the circle criterion and
    for constant k_d. The block raises an error where a gain leaves that range: at once for numbers and the ends
    of ramps, and at every step for whatever varies. The criterion knows neither filter nor sampling: keep the filter's
    pole several times above k_d.

    Args:
        k_p, k_d: gains in 1/s² and 1/s; one for all axes, or one for each: a number, a `Ramp`, or a function
            of time.
        axes: what the axes are called in messages; there are as many as names.
        period: s.
        pole: of the derivative's filter, rad/s.

    Example:
        >>> block = PDFF(k_p=[Ramp(100, 0, begin=2.5, end=9), 100.0], k_d=20.0, axes=("x", "y"))
        >>> block.reset([0.0, 0.0])
        >>> goal = Setpoint([0.01, 0.01], [0.0, 0.0], [0.0, 0.0])
        >>> block.step(0.0, [0.0, 0.0], goal), block.step(10.0, [0.0, 0.0], goal)
        ([1.0, 1.0], [0.0, 1.0])
    """

    def __init__(
        self,
        k_p: Gain | Sequence[Gain],
        k_d: Gain | Sequence[Gain],
        *,
        axes: Sequence[str] = ("1",),
        period: float | Fraction = Fraction(1, 500),
        pole: float = 200.0,
    ) -> None:
        self.axes = tuple(axes)
        self._gains = list(zip(self._functions("k_p", k_p), self._functions("k_d", k_d), strict=True))
        self._derivative = FilteredDerivative(pole, period)
        self.period = self._derivative.period
        for axis, (stiffness, damping) in zip(self.axes, self._gains, strict=True):
            for t in sorted({0.0, *_corners(stiffness), *_corners(damping)}):
                _check(axis, t, stiffness(t), damping(t))

    def _functions(self, name: str, given: Gain | Sequence[Gain]) -> list[Callable[[float], float]]:
        remedy = "A gain is a number, a Ramp(...) or a function of time."
        gains = one_each("PDFF controller", name, given, self.axes, remedy)
        for gain in gains:
            if not callable(gain) and isnan(as_number(gain)):
                raise InputError(
                    "PDFF controller", f"{name} as a number, a Ramp(...) or a function of time", show(gain), "Give one."
                )
        return [gain if callable(gain) else _Constant(as_number(gain)) for gain in gains]

    def reset(self, y: Sequence[float]) -> None:
        """Forget the past, as if y had always been this."""
        self._derivative.reset(y)

    def step(self, t: float, y: Sequence[float], goal: Setpoint, f: Sequence[float] | None = None) -> list[float]:
        """Return the acceleration to command.

        Args:
            t: time, s, at which the gains are taken.
            y: the measured position.
            goal: r, ṙ and r̈.
            f: what a sensor or planner adds, none if left out.

        Raises:
            InputError: if a gain leaves the range in which the loop is stable.
        """
        command = []
        for axis, (stiffness, damping), place, rate, r, r_dot, r_ddot in zip(
            self.axes, self._gains, y, self._derivative.step(y), *goal, strict=True
        ):
            k_p, k_d = stiffness(t), damping(t)
            if not (0.0 <= k_p <= k_d * k_d and 0.0 <= k_d < inf):
                _check(axis, t, k_p, k_d)
            command.append(k_p * (r - place) + k_d * (r_dot - rate) + r_ddot)
        return command if f is None else [u + extra for u, extra in zip(command, f, strict=True)]


class _Constant:
    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, t: float) -> float:
        return self.value


def _corners(gain: object) -> list[float]:
    return [gain.begin, gain.end] if isinstance(gain, Ramp) else []


def _check(axis: str, t: float, k_p: float, k_d: float) -> None:
    stiffness, damping = as_number(k_p), as_number(k_d)
    if not (0.0 <= stiffness <= damping * damping and 0.0 <= damping < inf):
        raise InputError(
            f"PDFF controller, axis {axis} at t = {t:g} s",
            "0 <= k_p <= k_d² and k_d >= 0, or the loop need not be stable (Bortoff 2020, eq. 13)",
            f"k_p = {show(k_p)} 1/s², k_d = {show(k_d)} 1/s with k_d² = {damping * damping:g}",
            "Lower k_p or raise k_d.",
        )
