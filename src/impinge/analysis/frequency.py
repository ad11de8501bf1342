"""Root locus, frequency response and margins of loops under negative feedback: 1 + L(s) = 0.

All of them see the minimal part of a loop only, in its factored form: modes that cancel neither disturb a curve nor
count for stability, and no polynomial coefficients are formed. See `poles_and_zeros` for what cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import control
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from impinge.analysis.loop import Loop, branches
from impinge.analysis.poles import mark, plane
from impinge.errors import InputError, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Closed-loop poles over the gain: `poles` has a row for each gain and a column for each branch."""

    gains: Real
    poles: Complex
    open_poles: Complex
    zeros: Complex
    loop: Loop = field(repr=False)

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
    """A frequency response: `frequency` in rad/s, `magnitude`, and continuous `phase` in degrees."""

    channel: str
    frequency: Real
    magnitude: Real
    phase: Real

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
    frequency = minimal.grid(minimal.features())
    values = minimal(frequency)
    phase = np.degrees(np.unwrap(np.angle(values)))
    exponent, factor = minimal.low_end
    start = 90 * exponent - (180 if factor < 0 else 0)
    phase += 360 * np.round((start - phase[0]) / 360)
    return Bode(minimal.channel.channel, frequency, np.abs(values), phase)


@dataclass(frozen=True, eq=False)
class Nyquist:
    """The curve L(jω) for ω > 0, and what it says.

    Attributes:
        frequency, curve: rad/s, and the complex values there; the other half is its mirror image.
        encirclements: how often the whole curve goes clockwise around −1, passing poles on the border of stability
            on their right. It is counted as closed-loop minus open-loop unstable poles, which it equals.
        stable: whether all closed-loop poles are.
        closed_poles: the closed-loop poles.
    """

    channel: str
    frequency: Real
    curve: Complex
    encirclements: int
    stable: bool
    closed_poles: Complex

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
    closed = minimal.closed_poles(np.ones(1))[0]
    frequency = minimal.grid(np.concatenate([minimal.features(), minimal.crossings()]))
    after, before = minimal.growth(closed), minimal.growth(minimal.channel.remaining_poles)
    return Nyquist(
        channel=minimal.channel.channel,
        frequency=frequency,
        curve=minimal(frequency),
        encirclements=int((after > 0).sum()) - int((before > 0).sum()),
        stable=bool((after < 0).all()),
        closed_poles=closed,
    )


@dataclass(frozen=True)
class Margins:
    """How far a closed loop is from instability; the margins of an unstable one are None.

    Attributes:
        stable: whether the closed loop is.
        gain: (frequency in rad/s, factor) for each crossing of the negative real axis: with that factor in the loop
            a closed-loop pole is on the border of stability.
        gain_up: the smallest factor above 1 that makes the loop unstable; infinite if there is none.
        gain_down: the largest factor below 1 that does; zero if there is none.
        phase: the smallest change of phase that does, in degrees; infinite if |L| is never 1.
        delay: the smallest delay that does, in s.
        crossovers: the frequencies in rad/s where |L| = 1.
        modulus: the smallest distance of the Nyquist curve to −1, one over the peak of the sensitivity.
    """

    stable: bool
    gain: tuple[tuple[float, float], ...]
    crossovers: tuple[float, ...]
    gain_up: float | None = None
    gain_down: float | None = None
    phase: float | None = None
    delay: float | None = None
    modulus: float | None = None


def margins(loop: control.LTI) -> Margins:
    """Return the margins of a loop.

    Example:
        >>> import control
        >>> result = margins(control.tf([1], [1, 2, 1, 0]))
        >>> round(result.gain_up, 9), round(result.phase, 2)
        (2.0, 21.39)
    """
    minimal = Loop.of("margins", loop)
    closed = minimal.closed_poles(np.ones(1))[0]
    grid = minimal.grid(np.concatenate([minimal.features(), minimal.crossings()]))

    def value(frequency: float) -> complex:
        return complex(minimal(frequency))

    def imaginary(frequency: float) -> float:
        at = value(frequency)
        return at.imag if abs(at.imag) > 1e-12 * abs(at) else 0.0

    crossings = [(w, value(w)) for w in _roots(imaginary, grid)]
    # Through a pole on the border the imaginary part changes sign without being zero.
    crossings = [(w, at) for w, at in crossings if abs(at.imag) < 1e-6 * abs(at)] + minimal.ends
    gain = tuple(sorted((w, -1 / at.real) for w, at in crossings if at.real < 0))
    crossovers = tuple(_roots(lambda w: min(abs(value(w)), 1e300) - 1, grid))
    if not (minimal.growth(closed) < 0).all():
        return Margins(False, gain, crossovers)
    angles = [float(np.angle(value(w))) for w in crossovers]
    lags = [(angle + math.pi) % (2 * math.pi) / w for angle, w in zip(angles, crossovers, strict=True)]
    if not minimal.period and abs(minimal.channel.minimal.D[0, 0]) >= 1:
        lags.append(0.0)  # |L| stays above 1 for ever, where the slightest delay turns the phase around
    distance = np.abs(1 + minimal(grid))
    low = int(np.clip(distance.argmin(), 1, len(grid) - 2))
    found = minimize_scalar(lambda w: abs(1 + value(w)), bounds=(grid[low - 1], grid[low + 1]), method="bounded")
    return Margins(
        stable=True,
        gain=gain,
        crossovers=crossovers,
        gain_up=min((factor for _, factor in gain if factor > 1), default=math.inf),
        gain_down=max((factor for _, factor in gain if factor < 1), default=0.0),
        phase=min((180 - abs(math.degrees(angle)) for angle in angles), default=math.inf),
        delay=min(lags, default=math.inf),
        modulus=float(min(found.fun, distance.min(), *(abs(1 + at) for _, at in minimal.ends))),
    )


def _roots(function: Callable[[float], float], grid: Real) -> list[float]:
    """Return where a function changes its sign on a grid."""
    points = [(w, sign) for w in grid.tolist() if (sign := np.sign(function(w)))]
    return [float(brentq(function, w, v)) for (w, one), (v, other) in itertools.pairwise(points) if one != other]


def _checked_gains(gains: ArrayLike) -> Real:
    try:
        values = np.atleast_1d(np.asarray(gains, dtype=float))
    except (TypeError, ValueError):
        values = np.array([math.nan])
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise InputError("root_locus", "gains of zero or more", show(gains), "For negative gains pass -loop.")
    return values
