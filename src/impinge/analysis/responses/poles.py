"""Poles and zeros of one channel, with those that cancel told apart from those that the channel really has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import control
import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.analysis.responses.minimal import Minimal, minimal_part
from impinge.analysis.responses.response import EPS, Realization, Response
from impinge.analysis.rest.inclusion import Roots
from impinge.errors import InputError, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

SAME = 1e-3  # a cancelled pole this near to a constraint pole, relative to it, is that constraint pole
CLOSE = 1e-9  # or this near, relative to |A|
DECADES = 280  # products of rates farther than this from 1 are out of range
SURE = 1e-6  # poles and zeros known better than this are printed without saying how well


@dataclass(frozen=True)
class Cancellation:
    """A pole that does not appear in the channel, the zero that hides it, and why: the kind."""

    pole: complex
    zero: complex
    kind: str


@dataclass(frozen=True, eq=False)
class PoleZeroMap:
    """Poles and zeros of one channel; call it with s (or z) for the value of the transfer function.

    Values are computed from the state-space model, not from poles and zeros, which are often known far worse.

    Attributes:
        channel: ``"input → output"``.
        poles, zeros: all of the channel with multiplicity, the cancelled ones included.
        pole_trust, zero_trust: how far each may be from an exact one, in the same units. Poles (or zeros) that are
            equal may be several that cannot be told apart in double precision; all of them are this near.
        cancellations: the poles that cancel, each with its zero and its kind: ``"constraint"`` for a pole of
            constraint stabilization, ``"rigid-body"`` for one at the origin (z = 1), ``"structural"`` for others.
        remaining_poles, remaining_zeros: those of the minimal realization.
        remaining_pole_trust, remaining_zero_trust: how far each of these may be from an exact one.
        gain: the transfer function is gain ∏(s − zero)/∏(s − pole) over the remaining ones.
        gain_trust: what part of the gain may be rounding.
        horizon: zeros farther away than this from s = 0 (z = 1) are not told from infinite ones and not listed.
        minimal: the minimal realization.
        parts: what the channel is made of; in discrete time in δ = z − 1.
    """

    channel: str
    poles: Complex
    zeros: Complex
    pole_trust: Real
    zero_trust: Real
    cancellations: tuple[Cancellation, ...]
    remaining_poles: Complex
    remaining_zeros: Complex
    remaining_pole_trust: Real
    remaining_zero_trust: Real
    gain: float
    gain_trust: float
    horizon: float
    minimal: control.StateSpace = field(repr=False)
    parts: Minimal = field(repr=False)

    def __call__(self, s: ArrayLike) -> Complex:
        """Return the value of the channel's transfer function, infinite at a pole."""
        points = np.asarray(s, dtype=complex)
        return self.respond(points - 1 if self.minimal.isdtime(strict=True) else points).value

    def respond(self, s: ArrayLike) -> Response:
        """Return values with bounds of their errors and derivatives, in discrete time at δ = z − 1."""
        points = np.asarray(s, dtype=complex)
        found = self.parts.whole.respond(points)
        if self.parts.part is self.parts.whole:
            return found
        other = self.parts.part.respond(points)
        better, share = self.parts.dipoles.near(points)
        finite = np.isfinite(other.error)  # at a pole the value is infinite, and a share of nothing of it no number
        error = other.error + share * np.where(finite, np.abs(other.value), 0.0)
        return Response(
            np.where(better, other.value, found.value),
            np.where(better, error, found.error),
            np.where(better, other.slope, found.slope),
        )

    def __str__(self) -> str:
        size = float(np.abs(np.concatenate([self.poles, self.zeros])).max(initial=0.0))
        remaining = (
            ("pole", self.remaining_poles, self.remaining_pole_trust),
            ("zero", self.remaining_zeros, self.remaining_zero_trust),
        )
        rows = [
            (what, _text(v), "" if trust <= SURE * (abs(v) or size) else f"known to {trust:.1g}")
            for what, values, trusts in remaining
            for v, trust in zip(values, trusts, strict=True)
            if v.imag >= 0
        ]
        rows += [("pole = zero", _text(c.pole), c.kind) for c in self.cancellations if c.pole.imag >= 0]
        lines = [f"{self.channel}, gain {self.gain:.6g}"]
        for row in dict.fromkeys(rows):
            count = rows.count(row)
            lines.append(f"  {row[0]:<12}{row[1]:<24}{f'×{count}' if count > 1 else '':<5}{row[2]}".rstrip())
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Draw the poles as x, the zeros as o, and what cancels in gray with its kind."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 5), layout="constrained")
        axis = figure.subplots()
        plane(axis, bool(self.minimal.isdtime(strict=True)))
        for kind, shade in (("constraint", "0.55"), ("rigid-body", "0.7"), ("structural", "0.4")):
            points = np.array([c.pole for c in self.cancellations if c.kind == kind])
            if points.size:
                count = f" ×{points.size}" if points.size > 1 else ""
                axis.plot(points.real, points.imag, "x", color=shade, label=f"cancelled: {kind}{count}")
                axis.plot(points.real, points.imag, "o", color=shade, mfc="none", ms=9)
        mark(axis, self.remaining_poles, self.remaining_zeros)
        axis.legend(fontsize="small")
        axis.set_title(self.channel)
        return figure


def poles_and_zeros(
    system: control.StateSpace, input: str | int | None = None, output: str | int | None = None
) -> PoleZeroMap:
    """Find the poles and zeros of one channel and which of them cancel.

    Each has a trust: how far it may be from an exact one, given how sensitive it is to rounding. Poles, or zeros, that
    rounding could have torn off a multiple one are reported as their mean, which is known far better, and poles that
    cannot be told from zero are zero. A mode cancels only if the response is the same without it.

    Args:
        system: a model in continuous or discrete time, e.g. a `LinearModel`.
        input: name or number of the input; may be left out if there is only one.
        output: name or number of the output; may be left out if there is only one.

    Example:
        >>> import control
        >>> cart = control.ss([[0, 1, 0], [0, -2, 0], [0, 0, -5]], [[0], [1], [0]], [[1, 0, 1]], 0)
        >>> channel = poles_and_zeros(cart)
        >>> channel.remaining_poles.real
        array([-2.,  0.])
        >>> channel.cancellations
        (Cancellation(pole=(-5+0j), zero=(-5+0j), kind='structural'),)
    """
    if not isinstance(system, control.StateSpace):
        raise InputError(
            "poles_and_zeros", "a control.StateSpace", f"a {type(system).__name__}", "Convert it with control.ss."
        )
    row = _number("output", output, list(system.output_labels))
    column = _number("input", input, list(system.input_labels))
    discrete = bool(system.isdtime(strict=True))
    a, b, c, d = system.A, system.B[:, column], system.C[row], float(system.D[row, column])
    constraints = np.array(getattr(system, "constraint_poles", ()), dtype=complex)
    if not all(np.isfinite(matrix).all() for matrix in (a, b, c, d)):
        raise InputError("poles_and_zeros", "matrices of finite numbers", "nan or inf", "Look at system.A, B, C, D.")
    if discrete:  # in δ = z − 1 fast sampling does not press all poles together
        a, constraints = a - np.eye(len(a)), constraints - 1
    if len(a) * abs(math.log10(Realization(a, b, c, d).scaled().size)) > DECADES:
        got = f"rates of about {np.abs(a).max():.0e} in {len(a)} states"
        raise InputError("poles_and_zeros", "rates whose products are numbers", got, "Choose another unit of time.")
    try:
        found = minimal_part(Realization(a, b, c, d), discrete)
    except np.linalg.LinAlgError as error:
        remedy = "Choose units in which the entries of system.A, B and C differ less."
        raise InputError("poles_and_zeros", "a system that can be analyzed", str(error), remedy) from error
    hidden = found.cancelled
    kinds = _kinds(hidden, constraints, CLOSE * found.whole.size)
    every_pole, every_zero = Roots.joined(found.poles, hidden), Roots.joined(found.zeros, found.hiding)
    names = system.input_labels[column], system.output_labels[row]
    origin = 1.0 if discrete else 0.0
    part = found.part
    return PoleZeroMap(
        channel=" → ".join(names),
        poles=every_pole.values + origin,
        zeros=every_zero.values + origin,
        pole_trust=every_pole.trust + origin * EPS,
        zero_trust=every_zero.trust + origin * EPS,
        cancellations=_cancellations(hidden.values + origin, kinds),
        remaining_poles=found.poles.values + origin,
        remaining_zeros=found.zeros.values + origin,
        remaining_pole_trust=found.poles.trust + origin * EPS,
        remaining_zero_trust=found.zeros.trust + origin * EPS,
        gain=found.gain,
        gain_trust=found.unsure,
        horizon=found.horizon,
        minimal=control.StateSpace(
            part.a + origin * np.eye(len(part.a)),
            part.b[:, None],
            part.c[None, :],
            part.d,
            system.dt,
            inputs=names[:1],
            outputs=names[1:],
            remove_useless_states=False,
        ),
        parts=found,
    )


def plane(axis: Any, discrete: bool) -> None:
    """Prepare axes for poles: labels, and the border of stability."""
    unit = "" if discrete else " [rad/s]"
    axis.set(xlabel=f"real part{unit}", ylabel=f"imaginary part{unit}")
    axis.grid(alpha=0.3)
    axis.set_aspect("equal", adjustable="datalim")
    if discrete:
        circle = np.exp(1j * np.linspace(0, 2 * np.pi, 181))
        axis.plot(circle.real, circle.imag, color="k", lw=0.6)
    else:
        axis.axvline(0, color="k", lw=0.6)


def mark(axis: Any, poles: Complex, zeros: Complex) -> None:
    """Draw poles as x and zeros as o."""
    axis.plot(poles.real, poles.imag, "x", color="C3", ms=8, mew=2, label="poles")
    if zeros.size:
        axis.plot(zeros.real, zeros.imag, "o", color="C0", ms=8, mfc="none", mew=2, label="zeros")


def _text(value: complex) -> str:
    return f"{value.real:.6g} ± {value.imag:.6g}j" if value.imag else f"{value.real:.6g}"


def _number(kind: str, wanted: str | int | None, labels: Sequence[str]) -> int:
    if wanted is None and len(labels) == 1:
        return 0
    if isinstance(wanted, str):
        if wanted not in labels:
            raise unknown_name("poles_and_zeros", kind, wanted, labels)
        return list(labels).index(wanted)
    if not isinstance(wanted, int) or not 0 <= wanted < len(labels):
        got = f"a system with {len(labels)}" if wanted is None else f"{wanted} for a system with {len(labels)}"
        raise InputError("poles_and_zeros", f"one {kind}", got, f"Choose one of: {', '.join(labels)}.")
    return wanted


def _cancellations(hidden: Complex, kinds: Sequence[str]) -> tuple[Cancellation, ...]:
    """Return cancelled poles from left to right; what agrees to nine digits, by kind."""
    found = [Cancellation(complex(p), complex(p), kind) for p, kind in zip(hidden, kinds, strict=True)]
    size = max((abs(one.pole) for one in found), default=0.0) or 1.0
    return tuple(sorted(found, key=lambda one: (round(one.pole.real / size, 9), one.kind, one.pole.imag)))


def _kinds(cancelled: Roots, constraints: Complex, zero: float) -> list[str]:
    """Name each cancelled pole; every constraint pole explains one of them."""
    kinds = ["rigid-body" if pole == 0 else "structural" for pole in cancelled.values]
    for expected in constraints:
        open_ = [i for i, kind in enumerate(kinds) if kind != "constraint"]
        nearest = min(open_, key=lambda i: abs(cancelled.values[i] - expected), default=None)
        if nearest is None:
            break
        if abs(cancelled.values[nearest] - expected) <= zero + cancelled.trust[nearest] + SAME * abs(expected):
            kinds[nearest] = "constraint"
    return kinds
