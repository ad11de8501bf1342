"""What root locus, frequency response and margins have in common: a loop reduced to its minimal part."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import control
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from impinge.analysis.poles import PoleZeroMap, poles_and_zeros
from impinge.errors import InputError

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

BORDER = 1e-10  # a pole nearer to the border of stability than this part of the fastest one is on it


@dataclass(frozen=True, eq=False)
class Loop:
    """The minimal part of a system with one input and one output, in the words of the frequency domain."""

    who: str
    channel: PoleZeroMap

    @classmethod
    def of(cls, who: str, system: control.LTI) -> Loop:
        """Reduce a system to its minimal part, or say why it is not a loop."""
        if not isinstance(system, (control.StateSpace, control.TransferFunction)):
            raise InputError(who, "a linear system", f"a {type(system).__name__}", "Convert it with control.ss.")
        if not system.issiso():
            got = f"{system.ninputs} inputs and {system.noutputs} outputs"
            raise InputError(who, "one input and one output", got, "Choose a channel: system['output', 'input'].")
        if isinstance(system, control.TransferFunction):
            if len(system.num[0][0]) > len(system.den[0][0]):
                remedy = "Add a pole: a derivative cannot be built without one."
                raise InputError(who, "no more zeros than poles", "an improper transfer function", remedy)
            system = control.tf2ss(system)
        return cls(who, poles_and_zeros(system))

    @property
    def period(self) -> float:
        """The sampling period in s, 1 if it is unknown; zero in continuous time."""
        dt = self.channel.minimal.dt
        return float(dt) if self.channel.minimal.isdtime(strict=True) else 0.0

    def __call__(self, frequency: float | Real) -> Complex:
        """Return the frequency response."""
        s = 1j * np.asarray(frequency)
        return self.channel(np.exp(s * self.period) if self.period else s)

    def closed_poles(self, gains: Real) -> Complex:
        """Return the closed-loop poles, a row for each gain."""
        system = self.channel.minimal
        feedthrough = 1 + gains * system.D[0, 0]
        if np.any(np.abs(feedthrough) < BORDER):
            got = f"gain {gains[np.abs(feedthrough).argmin()]:g} with L(∞) = {system.D[0, 0]:g}"
            raise InputError(self.who, "1 + gain L(∞) ≠ 0", got, "Such an algebraic loop has no solution.")
        return np.linalg.eigvals(system.A - (gains / feedthrough)[:, None, None] * (system.B @ system.C)).astype(
            complex
        )

    def growth(self, poles: Complex) -> Real:
        """Return how far poles are beyond the border of stability: negative if stable, zero on the border."""
        beyond = np.abs(poles) - 1 if self.period else poles.real
        return np.where(np.abs(beyond) <= BORDER * np.abs(poles).max(initial=0.0), 0.0, beyond)

    @property
    def low_end(self) -> tuple[int, float]:
        """Exponent and factor of the loop near ω = 0: L ≈ factor (jω)^exponent."""
        origin = 1.0 if self.period else 0.0
        zeros, poles = self.channel.remaining_zeros, self.channel.remaining_poles
        exponent = int((zeros == origin).sum()) - int((poles == origin).sum())
        steady = (origin - zeros[zeros != origin]).prod() / (origin - poles[poles != origin]).prod()
        return exponent, float(np.real(self.channel.gain * steady)) * (self.period or 1.0) ** exponent

    @property
    def ends(self) -> list[tuple[float, complex]]:
        """The values at ω = 0, if finite, and at the highest frequency, if finite, each after its frequency."""
        found: list[tuple[float, complex]] = []
        exponent, factor = self.low_end
        if exponent >= 0:
            found.append((0.0, complex(factor if exponent == 0 else 0.0)))
        if not self.period:
            found.append((math.inf, complex(self.channel.minimal.D[0, 0])))
        elif np.all(np.abs(self.channel.remaining_poles + 1) > BORDER):
            found.append((math.pi / self.period, complex(np.real(self.channel(-1.0)))))
        return found

    def features(self) -> Complex:
        """Return poles and zeros, off the origin, as rates in rad/s; in discrete time their logarithms over T."""
        values: Complex = np.concatenate([self.channel.remaining_poles, self.channel.remaining_zeros])
        if self.period:
            values = np.log(values[values != 0]) / self.period
        values = values[values != 0]
        return values if values.size else np.array([1 / (self.period or 1.0)], dtype=complex)

    def crossings(self) -> Complex:
        """Return where the asymptotes of the magnitude at both ends cross 1, in rad/s."""
        degree = len(self.channel.remaining_poles) - len(self.channel.remaining_zeros)
        exponent, factor = self.low_end
        found = [abs(factor) ** (-1 / exponent)] if exponent and factor else []
        found += [abs(self.channel.gain) ** (1 / degree)] if degree and self.channel.gain and not self.period else []
        return np.array(found, dtype=complex)

    def grid(self, features: Complex) -> Real:
        """Return frequencies from two decades below to two above some features, dense where damping is weak."""
        sizes = np.abs(features)
        highest = math.pi / self.period if self.period else 100 * sizes.max()
        lowest = 0.01 * min(sizes.min(), highest)
        count = 100 * math.ceil(math.log10(highest / lowest))
        sharp = features[features.imag > 0]
        width = np.maximum(np.abs(sharp.real), 1e-8 * sharp.imag)[:, None] * np.logspace(-1, 3, 41)
        near = np.concatenate([sharp.imag[:, None] - width, sharp.imag[:, None] + width], axis=None)
        inside = near[(near > lowest) & (near < highest)]
        return np.unique(np.concatenate([np.geomspace(lowest, highest, count)[: -1 if self.period else None], inside]))

    def gains(self) -> Real:
        """Return gains over which the branches of the root locus move, near enough to each other for smooth curves."""
        sizes = np.abs(self.features())
        radius = np.geomspace(0.1 * sizes.min(), 10 * sizes.max(), 60)[:, None]
        s = radius * np.exp(1j * np.radians([20, 60, 100, 140, 170]))
        moved = 1 / np.abs(self.channel(np.exp(s[np.abs(s) * self.period < 3] * self.period) if self.period else s))
        gains = np.concatenate([[0.0], np.geomspace(0.1 * moved.min(), 10 * moved.max(), 200)])
        extent = 3 * np.abs(np.concatenate([self.channel.remaining_poles, self.channel.remaining_zeros])).max()
        for _ in range(6):
            gains = gains[np.abs(1 + gains * self.channel.minimal.D[0, 0]) > 1e-6]
            poles = branches(self.closed_poles(gains))
            far = np.abs(np.diff(poles, axis=0)) > 0.02 * extent
            seen = np.minimum(np.abs(poles[:-1]), np.abs(poles[1:])) < extent
            gaps = np.flatnonzero((far & seen).any(axis=1))
            if not gaps.size:
                break
            gains = np.sort(np.concatenate([gains, (gains[gaps] + gains[gaps + 1]) / 2]))
        return gains


def branches(poles: Complex) -> Complex:
    """Order each row such that the columns are continuous."""
    ordered = poles.copy()
    for before, row in itertools.pairwise(ordered):
        _, order = linear_sum_assignment(np.abs(before[:, None] - row))
        row[:] = row[order]
    return ordered
