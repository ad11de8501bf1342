"""Lead compensators: k (s + z) / (s + p), to design with and to run."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from impinge.errors import InputError, as_number, show
from impinge.simulation.clock import exact_period

if TYPE_CHECKING:
    import control


@dataclass(frozen=True)
class Lead:
    """A first-order compensator gain·(s + zero)/(s + pole).

    Args:
        zero: where its zero is, −zero, rad/s.
        pole: where its pole is, −pole, rad/s.
        gain: at high frequency.

    Example:
        >>> round(Lead(zero=1.0, pole=10.0, gain=2.0).sampled(0.1).step(1.0), 9)
        1.4
    """

    zero: float
    pole: float
    gain: float = 1.0

    def __post_init__(self) -> None:
        zero, pole, gain = as_number(self.zero), as_number(self.pole), as_number(self.gain)
        if not (isfinite(zero) and isfinite(gain) and 0 < pole < float("inf")):
            raise InputError(
                "lead compensator",
                "a stable one: finite zero and gain, and a pole above zero (it stands at s = -pole)",
                f"zero = {show(self.zero)}, pole = {show(self.pole)}, gain = {show(self.gain)}",
                "A lead has 0 < zero < pole, e.g. Lead(zero=30, pole=150).",
            )

    @property
    def transfer(self) -> control.TransferFunction:
        """The compensator as python-control has it."""
        import control

        return control.tf([self.gain, self.gain * self.zero], [1.0, self.pole])

    def sampled(self, period: float) -> SampledLead:
        """Return the compensator as it runs with a period in s (trapezoidal rule)."""
        return SampledLead(self, period)


class SampledLead:
    """A lead compensator as a sampled block: feed it one value per period."""

    def __init__(self, lead: Lead, period: float) -> None:
        self.lead, self.period = lead, float(exact_period("lead compensator", period))
        half = self.period / 2
        scale = 1 + half * lead.pole
        self._now, self._before = lead.gain * (1 + half * lead.zero) / scale, lead.gain * (half * lead.zero - 1) / scale
        self._decay = (1 - half * lead.pole) / scale
        self.reset()

    def reset(self, value: float = 0.0) -> None:
        """Forget the past, as if the value had always been this one."""
        self._value = value
        self._output = self.lead.gain * self.lead.zero / self.lead.pole * value

    def step(self, value: float) -> float:
        """Take the next sample and return the output that belongs to it."""
        self._output = self._decay * self._output + self._now * value + self._before * self._value
        self._value = value
        return self._output

    @property
    def transfer(self) -> control.TransferFunction:
        """The block as python-control has it, in discrete time."""
        import control

        return control.tf([self._now, self._before], [1.0, -self._decay], self.period)
