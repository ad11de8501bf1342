"""PID control: the sampled block, and a controller of several motors made of it.

    u = k_p (r − y) + k_i ∫ (r − y) dt − k_d ẏ

The derivative is that of the measurement, not of the error: a reference that steps does not kick the actuator, and
one that moves slowly costs only a lag that the integral takes away. Integral (trapezoidal rule) and filtered
derivative are exact for signals that are straight between two samples.

The output saturates. The integral then stands still wherever it would drive the output further out (clamping): no
time constant of its own to choose, as back-calculation has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp, inf
from numbers import Real
from typing import TYPE_CHECKING, Any

from impinge.control.blocks.derivative import FilteredDerivative
from impinge.control.check import one_each, vector
from impinge.errors import InputError, as_number, show, unknown_name

if TYPE_CHECKING:
    import control

Each = float | Sequence[float]

_NUMBERS = "Give a number, or a list of them."


class PID:
    """A PID controller as a sampled block for one axis or several: feed it references and measurements.

    Args:
        k_p, k_i, k_d: proportional, integral (per s) and derivative (times s) gain, zero or more: one for all
            axes, or one for each. For an actuator that acts the other way, change the sign of its command.
        axes: what the axes are called in messages; there are as many as names.
        period: s.
        pole: of the derivative's filter, rad/s.
        limit: largest output either way; one for all axes, or one for each.

    Attributes:
        integral: the integral's part of each output.

    Example:
        >>> pid = PID(k_p=2.0, k_i=1.0, period=0.1, limit=5.0)
        >>> [round(pid.step([1.0], [0.0])[0], 9) for _ in range(3)]
        [2.05, 2.15, 2.25]
        >>> pid.step([100.0], [0.0])
        [5.0]
    """

    def __init__(
        self,
        k_p: Each,
        k_i: Each = 0.0,
        k_d: Each = 0.0,
        *,
        axes: Sequence[str] = ("1",),
        period: float | Fraction = Fraction(1, 500),
        pole: float = 200.0,
        limit: Each = inf,
    ) -> None:
        self.axes = tuple(axes)
        self.k_p, self.k_i, self.k_d = (self._gains(*x) for x in (("k_p", k_p), ("k_i", k_i), ("k_d", k_d)))
        self.limit = one_each("PID controller", "limit", limit, self.axes, _NUMBERS)
        for axis, value in zip(self.axes, self.limit, strict=True):
            if not as_number(value) > 0:
                raise InputError(
                    f"PID controller, axis {axis}",
                    "an output limit above zero",
                    show(value),
                    "Leave it out for an actuator that has none.",
                )
        self._rate = FilteredDerivative(pole, period)
        self.period, self.pole = self._rate.period, self._rate.pole
        self._half = [gain * float(self.period) / 2 for gain in self.k_i]
        self._fixed = list(zip(self.k_p, self._half, self.k_d, self.limit, strict=True))
        self.reset([0.0] * len(self.axes))

    def _gains(self, name: str, given: Any) -> list[float]:
        gains = one_each("PID controller", name, given, self.axes, _NUMBERS)
        for axis, gain in zip(self.axes, gains, strict=True):
            if not 0 <= as_number(gain) < inf:
                raise InputError(
                    f"PID controller, axis {axis}",
                    f"a finite {name} of zero or more",
                    show(gain),
                    "If the actuator acts the other way, change the sign of its command instead.",
                )
        return [float(gain) for gain in gains]

    def reset(self, values: Sequence[float]) -> None:
        """Forget the past, as if measurements and references had always been these values."""
        self._rate.reset(values)
        self.integral, self._errors = [0.0] * len(self.axes), [0.0] * len(self.axes)

    def step(self, references: Sequence[float], values: Sequence[float]) -> list[float]:
        """Take the next samples and return the outputs that belong to them."""
        rates = self._rate.step(values)
        errors = [r - y for r, y in zip(references, values, strict=True)]
        outputs = []
        for k, (k_p, half, k_d, limit) in enumerate(self._fixed):
            more = half * (errors[k] + self._errors[k])
            output = k_p * errors[k] + self.integral[k] + more - k_d * rates[k]
            if output > limit:
                output, more = limit, min(more, 0.0)
            elif output < -limit:
                output, more = -limit, max(more, 0.0)
            self.integral[k] += more
            outputs.append(output)
        self._errors = errors
        return outputs

    def transfer(self, axis: int = 0) -> control.TransferFunction:
        """Return an axis's feedback, from the measurement to minus the output, in discrete time and unlimited."""
        import control

        T = float(self.period)
        decay = exp(-self.pole * T)  # the filter's pole; on a ramp it gives the slope in the end
        slope = self.k_d[axis] * (1 - decay) / T
        integral = control.tf([self._half[axis], self._half[axis]], [1.0, -1.0], T)
        derivative = control.tf([slope, -slope], [1.0, -decay], T)
        return control.tf([self.k_p[axis]], [1.0], T) + integral + derivative


class PIDController:
    """A PID controller on each of several motors, which follow a reference in time.

    Args:
        reference: from time, s, to where the outputs should be: one number for each, or one for all.
        outputs: names of the measured outputs.
        inputs: names of the inputs that drive them, in the same order.
        k_p, k_i, k_d, period, pole, limit: as for `PID`, whose axes are the outputs.

    Example:
        >>> from impinge import robots, simulate
        >>> hold = PIDController(
        ...     lambda t: 0.6, outputs=("y1", "y2", "y3"), inputs=("u1", "u2", "u3"), k_p=30, k_i=80, k_d=4, limit=2.4
        ... )
        >>> result = simulate(robots.delta(), until=4.0, controller=hold)
        >>> round(float(result["y1"][-1]), 3)
        0.6
    """

    def __init__(
        self,
        reference: Callable[[float], Each],
        *,
        outputs: Sequence[str],
        inputs: Sequence[str],
        k_p: Each,
        k_i: Each = 0.0,
        k_d: Each = 0.0,
        period: float | Fraction = Fraction(1, 500),
        pole: float = 200.0,
        limit: Each = inf,
    ) -> None:
        named = not isinstance(outputs, str) and not isinstance(inputs, str)
        if not named or not outputs or len(outputs) != len(inputs):
            raise InputError(
                "PID controller",
                "at least one output, and as many inputs, by name",
                f"outputs {outputs!r} and inputs {inputs!r}",
                'Pair them up, e.g. outputs=("y1", "y2"), inputs=("u1", "u2").',
            )
        if not callable(reference):
            raise InputError(
                "PID controller",
                "a reference that is a function of time",
                show(reference),
                "Write lambda t: 0.5 for a constant one.",
            )
        self.reference, self.outputs, self.inputs = reference, tuple(outputs), tuple(inputs)
        self.pid = PID(k_p, k_i, k_d, axes=self.outputs, period=period, pole=pole, limit=limit)
        self.period = self.pid.period

    def reset(self, measurement: Any) -> None:
        """Begin where the motors are."""
        for name in self.outputs:
            if not hasattr(measurement, name):
                raise unknown_name("PID controller", "output", name, getattr(measurement, "_fields", ()))
        first = self.reference(0.0)
        self._for_all = isinstance(first, Real)
        if not self._for_all:
            vector("PID controller", "a reference", first, len(self.outputs))
        self.pid.reset([getattr(measurement, name) for name in self.outputs])

    def step(self, t: float, measurement: Any) -> dict[str, float]:
        """Return the commands by input."""
        wanted: Any = self.reference(t)
        if self._for_all:
            wanted = [wanted] * len(self.outputs)
        values = [getattr(measurement, name) for name in self.outputs]
        return dict(zip(self.inputs, self.pid.step(wanted, values), strict=True))
