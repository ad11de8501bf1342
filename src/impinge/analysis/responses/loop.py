"""What root locus, frequency response and margins have in common: a loop as a function of the frequency."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import control
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from impinge.analysis.responses.poles import PoleZeroMap, poles_and_zeros
from impinge.analysis.responses.response import EPS, Response, border
from impinge.analysis.rest.inclusion import Roots, zeros_of
from impinge.errors import InputError

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

ALGEBRAIC = 1e-10  # 1 + gain L(∞) is not smaller than this, or the loop has no solution
STEP = 0.7  # the logarithm of a response changes by less than this from one frequency to the next
SMALL = 1e-3  # factors below this are of no concern
NARROW = 1e-11  # but frequencies nearer to each other than this part of them are not asked for
MOST = 40_000  # frequencies of a curve


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

    def respond(self, frequency: float | Real) -> Response:
        """Return the frequency response with bounds of its errors and its derivatives with respect to the frequency."""
        w = np.asarray(frequency, dtype=float)
        if not self.period:
            found = self.channel.respond(1j * w)
            return Response(found.value, found.error, 1j * found.slope)
        angle = w * self.period
        shift = border(angle, discrete=True)
        found = self.channel.respond(shift)
        with np.errstate(invalid="ignore", over="ignore"):
            slope = found.slope * 1j * self.period * (1 + shift)
            error = found.error + 4 * EPS * np.abs(found.slope) * (np.abs(angle) + np.abs(shift))
        return Response(found.value, np.where(np.isfinite(error), error, np.inf), slope)

    def closed_poles(self, gains: Real) -> Complex:
        """Return the closed-loop poles, a row for each gain."""
        system = self.channel.minimal
        feedthrough = 1 + gains * system.D[0, 0]
        if np.any(np.abs(feedthrough) < ALGEBRAIC):
            got = f"gain {gains[np.abs(feedthrough).argmin()]:g} with L(∞) = {system.D[0, 0]:g}"
            raise InputError(self.who, "1 + gain L(∞) ≠ 0", got, "Such an algebraic loop has no solution.")
        return np.linalg.eigvals(system.A - (gains / feedthrough)[:, None, None] * (system.B @ system.C)).astype(
            complex
        )

    def closed(self, gain: float = 1.0) -> Roots:
        """Return the closed-loop poles at a gain with how well each is known; in discrete time as z − 1."""
        origin = 1.0 if self.period else 0.0
        part = self.channel.parts.part
        guesses, lead = self.closed_poles(np.array([gain]))[0] - origin, 1 + gain * part.d
        unsure = 2 * EPS * (1 + abs(gain * part.d)) / abs(lead)
        return zeros_of(replace(part, c=gain * part.c, d=lead), guesses, lead, unsure, np.inf)

    def sides(self, roots: Roots) -> Real:
        """Return 1 for an unstable pole, −1 for a stable one, 0 for one that is on the border as far as it is known.

        In discrete time poles are given as z − 1.
        """
        p = roots.values
        beyond = (2 * p.real + np.abs(p) ** 2) / (np.abs(1 + p) + 1) if self.period else p.real
        return np.where(np.abs(beyond) <= roots.trust, 0.0, np.sign(beyond))

    @property
    def integrators(self) -> int:
        """How many poles at the origin (z = 1) the loop has, zeros there counted as minus one."""
        return int((self.channel.parts.poles.values == 0).sum()) - int((self.channel.parts.zeros.values == 0).sum())

    def unresolved(self) -> list[tuple[str, bool]]:
        """What is not known of the response next to poles on the border of stability, in words, and whether it matters.

        It does not where only factors far below 1 are concerned, as next to an integrator.
        """
        found = []
        parts = self.channel.parts
        origin = 1.0 if self.period else 0.0
        for pole, trust, side in zip(parts.poles.values, parts.poles.trust, self.sides(parts.poles), strict=True):
            if side or pole.imag < 0:
                continue
            width = 4 * trust / (self.period or 1.0)
            frequency = float((np.angle(1 + pole) if self.period else pole.imag) / (self.period or 1.0))
            if width < EPS * (frequency or float(np.abs(self.features()).min())):
                continue
            near = np.abs(self.respond(np.array([frequency + width, abs(frequency - width)])).value).min()
            least = 10 / max(float(near), np.finfo(float).tiny)
            text = f"a pole at {pole + origin:.6g} is on the border of stability within {trust:.1g}: factors below"
            found.append((f"{text} {least:.2g} are not resolved", least > SMALL))
        dipoles = parts.dipoles
        for pole in dipoles.poles[dipoles.bare & (dipoles.poles != 0) & (dipoles.poles.imag >= 0)]:
            text = (
                f"a mode at {pole + origin:.6g} that cancels is on the border of stability: next to it the response is"
            )
            found.append((f"{text} that of the others", False))
        return list(dict.fromkeys(found))

    def low_end(self) -> float:
        """The factor of the loop near ω = 0, to three digits: L ≈ factor / (jω)^integrators."""
        low = 1e-3 * float(np.abs(self.features()).min())
        return float(np.real(self.respond(low).value * (1j * low) ** self.integrators))

    def ends(self) -> list[tuple[float, complex, float]]:
        """The values at ω = 0 and at the highest frequency, if finite: each as frequency, value and error."""
        found: list[tuple[float, complex, float]] = []
        if self.integrators < 0:
            found.append((0.0, 0j, 0.0))
        elif self.integrators == 0:
            found.append((0.0, *self._at(0.0)))
        if self.period:
            found.append((math.pi / self.period, *self._at(-2.0)))
        else:
            found.append((math.inf, complex(self.channel.parts.part.d), 0.0))
        return [end for end in found if math.isfinite(end[2])]

    def _at(self, s: float) -> tuple[complex, float]:
        found = self.channel.respond(s)
        return complex(float(found.value.real)), float(found.error)

    def features(self) -> Complex:
        """Return poles and zeros, off the origin, as rates in rad/s; in discrete time their logarithms over T."""
        return self._rates(Roots.joined(self.channel.parts.poles, self.channel.parts.zeros).values)

    def _rates(self, values: Complex) -> Complex:
        if self.period:
            values = np.log1p(values[values != -1]) / self.period
        values = values[(values != 0) & np.isfinite(values)]
        return values if values.size else np.array([1 / (self.period or 1.0)], dtype=complex)

    def crossings(self) -> Complex:
        """Return where the magnitude crosses 1 beyond all poles and zeros, in rad/s, or how far out it may."""
        parts = self.channel.parts
        degree = len(parts.poles) - len(parts.zeros)
        low = abs(self.low_end()) if self.integrators else 0.0
        found = [low ** (1 / self.integrators)] if 0 < low < math.inf else []
        found += [abs(parts.gain) ** (1 / degree)] if degree and parts.gain and not self.period else []
        sizes = np.abs(self.features())
        for w, value, error in self.ends():  # a magnitude that ends near 1 crosses it late
            near = abs(abs(value) - 1)
            if error < near < 0.1 and not (self.period and w):
                found.append(sizes.max() / near if w else sizes.min() * near)
        return np.array([w for w in found if 0 < w < math.inf], dtype=complex)

    def curve(self, closed: Roots | None = None) -> tuple[Real, Response]:
        """Return frequencies, and the response there, near enough to each other to miss nothing.

        They reach from two decades below to two above the poles and zeros and, if closed-loop poles are given, those
        and the crossovers of the asymptotes. They are dense where damping is weak, and steps are halved until the
        logarithm of the response changes little from each to the next, as far as it is known.
        """
        features = self.features()
        if closed is not None:
            features = np.concatenate([features, self.crossings(), self._rates(closed.values)])
        frequency = self._grid(features)
        if closed is not None:
            frequency = np.concatenate([self._below(float(frequency[0])), frequency])
        if closed is not None and self.period:
            last = math.pi / self.period * (1 - np.geomspace(1e-9, 1e-2, 80))
            frequency = np.unique(np.concatenate([frequency, last]))
        found = self.respond(frequency)
        for _ in range(40):
            with np.errstate(divide="ignore", invalid="ignore"):
                rate = np.abs(found.slope / found.value)
            rate = np.where(np.isfinite(rate) & (found.trust < 1e-2), rate, 0.0)
            step = np.diff(frequency)
            coarse = np.maximum(rate[:-1], rate[1:]) * step > STEP
            coarse &= step > NARROW * frequency[1:]
            if not coarse.any() or len(frequency) > MOST:
                break
            middle = frequency[:-1][coarse] + step[coarse] / 2
            more = self.respond(middle)
            at = np.searchsorted(frequency, middle)
            frequency = np.insert(frequency, at, middle)
            found = Response(
                np.insert(found.value, at, more.value),
                np.insert(found.error, at, more.error),
                np.insert(found.slope, at, more.slope),
            )
        return frequency, found

    def _below(self, lowest: float) -> Real:
        """Return frequencies below the lowest, down to where poles are at the origin only as far as they are known."""
        poles = self.channel.parts.poles
        spread = 4 * float(poles.trust[poles.values == 0].max(initial=0.0)) / (self.period or 1.0)
        if not 0 < spread < lowest:
            return np.zeros(0)
        return np.geomspace(spread, lowest, 2 + math.ceil(20 * math.log10(lowest / spread)))[:-1]

    def _grid(self, features: Complex) -> Real:
        """Return frequencies about some rates, equally many in each decade around each of them."""
        sizes = np.abs(features)
        highest = math.pi / self.period if self.period else 100 * sizes.max()
        lowest = 0.01 * min(sizes.min(), highest)
        count = 100 * math.ceil(math.log10(highest / lowest))
        parts = [np.geomspace(lowest, highest, count)[: -1 if self.period else None]]
        for rate in features[features.imag > 0]:
            width = max(abs(rate.real), 1e-8 * rate.imag)
            decades = math.log10(rate.imag / width) + 1
            if decades > 0:
                away = np.geomspace(0.1 * width, rate.imag, max(2, math.ceil(10 * decades)))
                parts += [rate.imag - away, rate.imag + away, np.array([rate.imag])]
        grid = np.unique(np.concatenate(parts))
        return grid[(grid >= lowest) & ((grid < highest) if self.period else (grid <= highest))]

    def gains(self) -> Real:
        """Return gains over which the branches of the root locus move, near enough to each other for smooth curves."""
        sizes = np.abs(self.features())
        radius = np.geomspace(0.1 * sizes.min(), 10 * sizes.max(), 60)[:, None]
        s = radius * np.exp(1j * np.radians([20, 60, 100, 140, 170]))
        values = self.channel(np.exp(s[np.abs(s) * self.period < 3] * self.period) if self.period else s)
        moved = 1 / np.abs(values[np.isfinite(values) & (values != 0)])
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
