"""Margins of loops under negative feedback: 1 + L(s) = 0.

Crossings are located on the response itself, whose derivative is known as well: of a quantity that keeps its sign from
one frequency to the next but turns around in between, the turning point is looked at too. How well a crossing is known
follows from the error of the response and its slope there.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import control
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from impinge.analysis.responses.loop import SMALL, Loop
from impinge.analysis.responses.response import EPS, Response
from impinge.analysis.rest.inclusion import Roots
from impinge.errors import ImpingeWarning

Real = NDArray[np.float64]
Mask = NDArray[np.bool_]

SURE = 1e-6  # numbers known worse than this are said to be
BORDER = 1e-9  # a pole that is on the border of stability within this part of it needs no warning


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
        trust: by name, what part of each of these numbers may be rounding; of lists the largest.
        doubts: what double precision does not resolve, in words; usually nothing.
    """

    stable: bool
    gain: tuple[tuple[float, float], ...]
    crossovers: tuple[float, ...]
    gain_up: float | None = None
    gain_down: float | None = None
    phase: float | None = None
    delay: float | None = None
    modulus: float | None = None
    trust: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    doubts: tuple[str, ...] = ()


def margins(loop: control.LTI) -> Margins:
    """Return the margins of a loop.

    A warning says if a number is known to less than six digits; `trust` and `doubts` of the result say which and why.

    Example:
        >>> import control
        >>> result = margins(control.tf([1], [1, 2, 1, 0]))
        >>> round(result.gain_up, 9), round(result.phase, 2)
        (2.0, 21.39)
    """
    minimal = Loop.of("margins", loop)
    closed = minimal.closed()
    search = _Search(minimal, *minimal.curve(closed))
    stable, doubts, unsure = verdict(minimal, closed)
    gain, turns = search.real_axis(), search.unit_circle()
    trust = {
        "gain": max((max(one.blur / one.frequency if one.frequency else 0.0, one.trust) for one in gain), default=0.0),
        "crossovers": max((one.blur / one.frequency for one in turns), default=0.0),
    }
    numbers: dict[str, float] = {}
    if stable:
        numbers, known = _numbers(minimal, gain, turns, search.modulus())
        trust |= known
        unsure |= bool(search.doubts)
    doubts += search.doubts + search.faint
    vague = [f"{name} is known to {value:.1g} of it" for name, value in trust.items() if not value <= SURE]
    near = [one for one in gain if SMALL < one.number < 1 / SMALL and not one.trust <= SURE]
    if unsure or near or any(not value <= SURE for name, value in trust.items() if name != "gain"):
        text = "; ".join(doubts + vague)
        warnings.warn(f"margins of {minimal.channel.channel}: {text}", ImpingeWarning, stacklevel=2)
    return Margins(
        stable=stable,
        gain=tuple((one.frequency, one.number) for one in gain),
        crossovers=tuple(one.frequency for one in turns),
        trust=MappingProxyType(trust),
        doubts=tuple(doubts + vague),
        **numbers,
    )


def verdict(loop: Loop, closed: Roots) -> tuple[bool, list[str], bool]:
    """Return whether closed-loop poles are all stable, what is not resolved of that, and whether it matters."""
    sides = loop.sides(closed)
    if (sides > 0).any():
        return False, [], False
    origin = 1.0 if loop.period else 0.0
    border = [
        (p + origin, trust) for p, trust, side in zip(closed.values, closed.trust, sides, strict=True) if not side
    ]
    doubts = [f"a closed-loop pole at {p:.6g} is on the border of stability within {t:.1g}" for p, t in border]
    unsure = any(not t <= BORDER * abs(p) for p, t in border if p != origin)
    return not border, list(dict.fromkeys(doubts)), unsure


@dataclass(frozen=True)
class _Crossing:
    """A frequency, how far it may be off, and a number that belongs to it with its relative or absolute error."""

    frequency: float
    blur: float
    number: float
    trust: float


class _Search:
    """Where the response of a loop crosses the real axis and the unit circle, and where it is nearest to −1."""

    def __init__(self, loop: Loop, frequency: Real, found: Response) -> None:
        self.loop, self.frequency, self.found = loop, frequency, found
        unresolved = loop.unresolved()
        self.doubts = [text for text, matters in unresolved if matters]
        self.faint = [text for text, matters in unresolved if not matters]

    def real_axis(self) -> list[_Crossing]:
        """Crossings of the negative real axis, with factors and their relative errors."""
        crossings = []
        for w in self._roots(lambda r: r.value.imag, lambda r: r.slope.imag, lambda r: r.error, "real", _negative):
            at = self.loop.respond(w)
            value, error, slope = complex(at.value), float(at.error), complex(at.slope)
            # Through a pole on the border the imaginary part changes sign without being zero.
            if abs(value.imag) > max(error, 1e-6 * abs(value)) or not self._below(w, value, error):
                continue
            blur = error / abs(slope.imag) + 2 * EPS * w if slope.imag else math.inf
            trust = (error + abs(value.imag) + abs(slope.real) * blur) / abs(value)
            crossings.append(_Crossing(w, blur, -1 / value.real, trust))
        for w, value, error in self.loop.ends():
            if self._below(w, value, error):
                crossings.append(_Crossing(w, 0.0, -1 / value.real, error / abs(value) + EPS))
        return sorted(crossings, key=lambda one: (one.frequency, one.number))

    def _below(self, w: float, value: complex, error: float) -> bool:
        """Whether a real value is negative; one that is not told from zero would be crossed by a large factor only."""
        if error and abs(value.real) <= error:
            text = f"at {w:.6g} rad/s the response is zero within rounding: factors above {1 / error:.2g}"
            self.faint.append(f"{text} are not resolved")
        return value.real < -error

    def unit_circle(self) -> list[_Crossing]:
        """Crossovers with the angles there and their errors, in radians."""
        crossings = []
        for w in self._roots(_log_size, lambda r: (r.slope / r.value).real, lambda r: r.trust, "of modulus 1", _any):
            at = self.loop.respond(w)
            rate, trust = complex(at.slope / at.value), float(at.trust)
            if abs(float(_log_size(at))) > max(trust, 1e-6):
                continue
            blur = trust / abs(rate.real) + 2 * EPS * w if rate.real else math.inf
            crossings.append(_Crossing(w, blur, float(np.angle(at.value)), trust + 2 * EPS + abs(rate.imag) * blur))
        return crossings

    def modulus(self) -> list[tuple[float, float]]:
        """Distances to −1 where they are smallest, and at the ends, each with its error."""
        found, w = self.found, self.frequency
        with np.errstate(invalid="ignore", over="ignore"):
            change = _approach(found)
        low = np.flatnonzero((change[:-1] < 0) & (change[1:] > 0))
        lowest = int(np.where(np.isfinite(found.value), np.abs(1 + found.value), np.inf).argmin())
        at = [self._root(_approach, float(w[i]), float(w[i + 1])) for i in low] + [float(w[lowest])]
        near = self.loop.respond(np.array(at))
        distances = list(zip(np.abs(1 + near.value).tolist(), near.error.tolist(), strict=True))
        return distances + [(abs(1 + value), error + EPS) for _, value, error in self.loop.ends()]

    def _roots(
        self,
        function: Callable[[Response], Real],
        slope: Callable[[Response], Real],
        error: Callable[[Response], Real],
        what: str,
        matters: Callable[[Response], Mask],
    ) -> list[float]:
        """Frequencies where a function of the response changes its sign, also twice between two that are known."""
        w, found = self.frequency, self.found
        with np.errstate(divide="ignore", invalid="ignore"):
            value, rate, blur = function(found), slope(found), error(found)
        sure = np.isfinite(value) & np.isfinite(rate) & (np.abs(value) > blur)
        self._stretches(~sure & (blur > 0) & np.isfinite(value) & (found.trust < 1e-3) & matters(found), what)
        sure &= found.trust < 1e-1
        points = np.flatnonzero(sure)
        toward = np.sign(value) * np.sign(rate)  # products of what is faint would be zero
        roots = []
        for i, j in zip(points[:-1].tolist(), points[1:].tolist(), strict=True):
            low, high = float(w[i]), float(w[j])
            if np.sign(value[i]) != np.sign(value[j]):
                roots.append(self._root(function, low, high))
            elif toward[i] < 0 < toward[j] and _reach(value[i], rate[i], value[j], rate[j], high - low):
                turn = self._root(slope, low, high)
                at = self.loop.respond(turn)
                if np.sign(function(at)) != np.sign(value[i]):
                    roots += [self._root(function, low, turn), self._root(function, turn, high)]
                if abs(function(at)) <= error(at) and matters(at):
                    text = f"at {turn:.6g} rad/s the response just becomes {what}, or just does not"
                    self._doubt(text, np.abs(at.value))
        return roots

    def _root(self, function: Callable[[Response], Real], low: float, high: float) -> float:
        def at(w: float) -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                return float(np.clip(np.nan_to_num(function(self.loop.respond(w))), -1e300, 1e300))

        if not np.sign(at(low)) * np.sign(at(high)) < 0:  # rounding of what is zero at one end
            return low if abs(at(low)) < abs(at(high)) else high
        return float(brentq(at, low, high, xtol=EPS * low, rtol=4 * EPS, maxiter=500))

    def _stretches(self, unsure: Mask, what: str) -> None:
        """Say where a function is zero within rounding at several frequencies in a row."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], unsure, [False]]).astype(int)))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            low, high = float(self.frequency[start]), float(self.frequency[end - 1])
            if high > 1.001 * low:
                sizes = np.abs(self.found.value[start:end])
                # What is not resolved at the first or the last frequency is not resolved beyond it either.
                ends = self.loop.ends()
                if start == 0:
                    sizes = np.append(sizes, [abs(value) for w, value, _ in ends if w == 0] or [np.inf])
                if end == len(self.frequency):
                    sizes = np.append(sizes, [abs(value) for w, value, _ in ends if w > 0])
                self._doubt(f"from {low:.3g} to {high:.3g} rad/s the response is {what} within rounding", sizes)

    def _doubt(self, text: str, sizes: Real) -> None:
        """Keep a doubt; it matters if factors are concerned by which the loop might change."""
        with np.errstate(divide="ignore"):
            least, most = float(1 / np.max(sizes)), float(1 / np.min(sizes))
        matters = least < 1 / SMALL and most > SMALL
        text = f"{text}: factors from {least:.2g} to {most:.2g} are not resolved"
        (self.doubts if matters else self.faint).append(text)


def _numbers(
    loop: Loop, gain: list[_Crossing], turns: list[_Crossing], distances: list[tuple[float, float]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the margins of a stable loop by name, and what part of each may be rounding."""
    up = [(one.number, one.number * one.trust) for one in gain if one.number > 1]
    down = [(-one.number, one.number * one.trust) for one in gain if one.number < 1]
    phases = [(180 - abs(math.degrees(one.number)), math.degrees(one.trust)) for one in turns]
    lags = []
    for one in turns:
        lag = (one.number + math.pi) % (2 * math.pi)
        wrapped = min(lag, 2 * math.pi - lag) <= one.trust
        error = 2 * math.pi if wrapped else one.trust + lag * one.blur / one.frequency
        lags.append((lag / one.frequency, error / one.frequency))
    if not loop.period and abs(loop.channel.parts.part.d) >= 1:
        lags.append((0.0, 0.0))  # |L| stays above 1 for ever, where the slightest delay turns the phase around
    least = {
        "gain_up": _smallest(up, math.inf),
        "gain_down": _smallest(down, 0.0),
        "phase": _smallest(phases, math.inf),
        "delay": _smallest(lags, math.inf),
        "modulus": _smallest(distances, math.inf),
    }
    numbers = {name: value for name, (value, _) in least.items()}
    numbers["gain_down"] = abs(numbers["gain_down"])
    return numbers, {name: trust for name, (_, trust) in least.items()}


def _smallest(candidates: list[tuple[float, float]], none: float) -> tuple[float, float]:
    """The smallest of some numbers with errors, and its relative error."""
    if not candidates:
        return none, 0.0
    value = min(value for value, _ in candidates)
    low, high = min(value - error for value, error in candidates), min(value + error for value, error in candidates)
    if low == high:
        return value, EPS
    return value, (high - low) / abs(value) if value else math.inf


def _reach(one: float, slope: float, other: float, incline: float, width: float) -> bool:
    """Whether a function could be zero between two points, given its values and slopes there."""
    return abs(one) <= 2 * abs(slope) * width and abs(other) <= 2 * abs(incline) * width


def _log_size(response: Response) -> Real:
    return np.log(np.abs(response.value))


def _approach(response: Response) -> Real:
    return ((1 + response.value).conj() * response.slope).real


def _negative(response: Response) -> Mask:
    return response.value.real < 0


def _any(response: Response) -> Mask:
    return np.isfinite(response.value)
