"""Root locus and frequency response of loops under negative feedback: 1 + L(s) = 0.

Responses are those of the state-space model, each with a bound of its error. Modes that cancel do not count for
stability; see `poles_and_zeros` for what cancels.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import control
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from impinge.analysis.responses.loop import Loop, branches
from impinge.analysis.responses.margins import verdict
from impinge.analysis.responses.poles import mark, plane
from impinge.analysis.responses.response import EPS, Response
from impinge.errors import ImpingeWarning, InputError, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

SURE = 1e-3  # values known worse than this are warned of


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Closed-loop poles over the gain.

    Attributes:
        gains: the gains.
        poles: a row for each gain and a column for each branch.
        open_poles, zeros: where the branches begin and end.
    """

    gains: Real
    poles: Complex
    open_poles: Complex
    zeros: Complex
    loop: Loop = field(repr=False)

    @cached_property
    def trust(self) -> Real:
        """How far each of the poles may be from the exact one; found when it is asked for, which takes longer."""
        origin, found = 1.0 if self.loop.period else 0.0, np.empty(self.poles.shape)
        for gain, poles, trust in zip(self.gains, self.poles, found, strict=True):
            known = self.loop.closed(float(gain))
            apart = np.abs(poles[:, None] - (known.values + origin)) + known.trust
            one, other = linear_sum_assignment(np.where(np.isfinite(apart), apart, 1e300))
            trust[one] = apart[one, other] + origin * EPS
        return found

    def plot(self, gain: float | None = None) -> Figure:
        """Draw the branches with the open-loop poles and zeros, and the closed-loop poles at a gain."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 5), layout="constrained")
        axis = figure.subplots()
        plane(axis, self.loop.period > 0)
        axis.plot(self.poles.real, self.poles.imag, color="C0", lw=1)
        mark(axis, self.open_poles, self.zeros)
        shown = np.concatenate([self.open_poles, self.zeros])
        if gain is not None:
            closed = self.loop.closed_poles(_checked_gains([gain]))[0]
            axis.plot(closed.real, closed.imag, "s", color="C2", label=f"closed loop, gain {gain:g}")
            shown = np.concatenate([shown, closed])
        reach = 1.5 * float(np.abs(shown).max(initial=0.0)) or 1.0
        axis.set(xlim=(-reach, reach), ylim=(-reach, reach), title=self.loop.channel.channel)
        axis.legend(fontsize="small")
        return figure


def root_locus(loop: control.LTI, gains: ArrayLike | None = None) -> RootLocus:
    """Follow the closed-loop poles while the gain of a loop grows from zero.

    Args:
        loop: a system with one input and one output; for negative gains pass ``-loop``.
        gains: zero or more; left out, they are chosen such that the branches are seen as smooth curves.

    Example:
        >>> import control
        >>> locus = root_locus(control.tf([1], [1, 2, 0]), gains=[0, 1, 2])
        >>> locus.poles[2].real
        array([-1., -1.])
    """
    minimal = Loop.of("root_locus", loop)
    if not minimal.channel.remaining_poles.size:
        raise InputError("root_locus", "a loop with poles", "none", "A pure gain has no root locus.")
    values = minimal.gains() if gains is None else _checked_gains(gains)
    return RootLocus(
        gains=values,
        poles=branches(minimal.closed_poles(values)),
        open_poles=minimal.channel.remaining_poles,
        zeros=minimal.channel.remaining_zeros,
        loop=minimal,
    )


@dataclass(frozen=True, eq=False)
class Bode:
    """A frequency response.

    Attributes:
        frequency: in rad/s.
        magnitude, phase: the absolute value, and the continuous phase in degrees.
        trust: what part of the complex value at each frequency may be rounding; of the phase, in radians.
    """

    channel: str
    frequency: Real
    magnitude: Real
    phase: Real
    trust: Real

    def plot(self) -> Figure:
        """Draw magnitude and phase over the frequency."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True)
        top.loglog(self.frequency, self.magnitude)
        bottom.semilogx(self.frequency, self.phase)
        top.set(ylabel="magnitude", title=self.channel)
        bottom.set(ylabel="phase [°]", xlabel="frequency [rad/s]")
        for axis in (top, bottom):
            axis.grid(alpha=0.3)
        return figure


def bode(system: control.LTI) -> Bode:
    """Return the frequency response, from well below the slowest to well above the fastest pole or zero.

    Example:
        >>> import control
        >>> response = bode(control.tf([1], [1, 0, 0]))
        >>> float(response.phase[0]), float(response.phase[-1])
        (-180.0, -180.0)
    """
    minimal = Loop.of("bode", system)
    frequency, found = minimal.curve()
    _warn(minimal, found)
    phase = _unwrapped(found)
    start = -90 * minimal.integrators - (180 if minimal.low_end() < 0 else 0)
    phase += 360 * np.round((start - phase[0]) / 360)
    return Bode(minimal.channel.channel, frequency, np.abs(found.value), phase, found.trust)


@dataclass(frozen=True, eq=False)
class Nyquist:
    """The curve L(jω) for ω > 0, and what it says.

    Attributes:
        frequency, curve: rad/s, and the complex values there; the other half is its mirror image.
        encirclements: how often the whole curve goes clockwise around −1, passing poles on the border of stability
            on their right. It is counted as closed-loop minus open-loop unstable poles, which it equals.
        stable: whether all closed-loop poles are.
        closed_poles: the closed-loop poles.
        trust: what part of each value of the curve may be rounding.
        closed_trust: how far each closed-loop pole may be from the exact one.
        doubts: what double precision does not resolve, in words; usually nothing.
    """

    channel: str
    frequency: Real
    curve: Complex
    encirclements: int
    stable: bool
    closed_poles: Complex
    trust: Real
    closed_trust: Real
    doubts: tuple[str, ...]

    def plot(self) -> Figure:
        """Draw the curve, its mirror image and the point −1."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 5), layout="constrained")
        axis = figure.subplots()
        axis.plot(self.curve.real, self.curve.imag, color="C0", label="ω > 0")
        axis.plot(self.curve.real, -self.curve.imag, color="C0", ls="--", lw=0.8, label="ω < 0")
        axis.plot([-1], [0], "+", color="C3", ms=10, mew=2, label="−1")
        # A curve that comes from infinity would leave nothing to see around −1.
        largest = float(np.abs(self.curve).max())
        reach = 1.1 * max(1.5, largest) if largest < 30 else 10.0
        axis.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="real part", ylabel="imaginary part")
        axis.set_title(f"{self.channel}: {'stable' if self.stable else 'unstable'}")
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
        return figure


def nyquist(loop: control.LTI) -> Nyquist:
    """Return the Nyquist curve of a loop and whether the closed loop is stable.

    Example:
        >>> import control
        >>> result = nyquist(control.tf([2], [1, -1]))
        >>> result.encirclements, result.stable
        (-1, True)
    """
    minimal = Loop.of("nyquist", loop)
    closed = minimal.closed()
    frequency, found = minimal.curve(closed)
    _warn(minimal, found)
    after, before = minimal.sides(closed), minimal.sides(minimal.channel.parts.poles)
    stable, doubts, unsure = verdict(minimal, closed)
    if unsure:
        warnings.warn(f"nyquist of {minimal.channel.channel}: {'; '.join(doubts)}", ImpingeWarning, stacklevel=2)
    return Nyquist(
        channel=minimal.channel.channel,
        frequency=frequency,
        curve=found.value,
        encirclements=int((after > 0).sum()) - int((before > 0).sum()),
        stable=stable,
        closed_poles=closed.values + (1.0 if minimal.period else 0.0),
        trust=found.trust,
        closed_trust=closed.trust,
        doubts=tuple(doubts),
    )


def _unwrapped(found: Response) -> Real:
    """The continuous phase in degrees; at a pole on the border of stability it falls by 180°, at a zero it rises."""
    angle = np.angle(found.value)
    steps = (np.diff(angle) + np.pi) % (2 * np.pi) - np.pi
    with np.errstate(divide="ignore", invalid="ignore"):
        grows = np.nan_to_num((found.slope / found.value).real)[:-1] > 0
    steps = np.where(np.abs(steps) > 2.5, np.where(grows, -np.abs(steps), np.abs(steps)), steps)
    turns = np.round((np.concatenate([[0.0], np.cumsum(steps)]) + angle[0] - angle) / (2 * np.pi))
    return np.degrees(angle) + 360 * turns


def _warn(loop: Loop, found: Response) -> None:
    vague = int((~(found.trust <= SURE)).sum())
    if vague:
        text = f"{vague} of {found.value.size} values are known to less than three digits; see trust"
        warnings.warn(f"{loop.who} of {loop.channel.channel}: {text}", ImpingeWarning, stacklevel=3)


def _checked_gains(gains: ArrayLike) -> Real:
    try:
        values = np.atleast_1d(np.asarray(gains, dtype=float))
    except (TypeError, ValueError):
        values = np.array([math.nan])
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise InputError("root_locus", "gains of zero or more", show(gains), "For negative gains pass -loop.")
    return values
