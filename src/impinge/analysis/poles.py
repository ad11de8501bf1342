"""Poles and zeros of one channel, with those that cancel told apart from those that the channel really has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import control
import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.analysis.minimal import TOLERANCE, minimal_part
from impinge.errors import InputError, unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]

SAME = 1e-3  # a cancelled pole this near to a constraint pole, relative to it, is that constraint pole


@dataclass(frozen=True)
class Cancellation:
    """A pole that does not appear in the channel, the zero that hides it, and why: the kind."""

    pole: complex
    zero: complex
    kind: str


@dataclass(frozen=True, eq=False)
class PoleZeroMap:
    """Poles and zeros of one channel; call it with s (or z) for the value of the transfer function.

    Attributes:
        channel: ``"input → output"``.
        poles, zeros: all of the channel with multiplicity, the cancelled ones included.
        cancellations: the poles that cancel, each with its zero and its kind: ``"constraint"`` for a pole of
            constraint stabilization, ``"rigid-body"`` for one at the origin (z = 1), ``"structural"`` for others.
        remaining_poles, remaining_zeros: those of the minimal realization.
        gain: the transfer function is gain ∏(s − zero)/∏(s − pole) over the remaining ones.
        minimal: the minimal realization.
    """

    channel: str
    poles: Complex
    zeros: Complex
    cancellations: tuple[Cancellation, ...]
    remaining_poles: Complex
    remaining_zeros: Complex
    gain: float
    minimal: control.StateSpace = field(repr=False)

    def __call__(self, s: ArrayLike) -> Complex:
        """Return the value of the channel's transfer function."""
        points = np.asarray(s, dtype=complex)[..., None]
        top, bottom = points - self.remaining_zeros, points - self.remaining_poles
        # Dividing factor by factor keeps high orders from overflowing.
        at_pole = (bottom == 0).any(axis=-1)
        bottom = np.where(bottom == 0, 1, bottom)
        paired = (top / bottom[..., : top.shape[-1]]).prod(axis=-1)
        return np.where(at_pole, np.inf, self.gain * paired / bottom[..., top.shape[-1] :].prod(axis=-1))

    def __str__(self) -> str:
        rows = [("pole", p, "") for p in self.remaining_poles] + [("zero", z, "") for z in self.remaining_zeros]
        rows += [("pole = zero", c.pole, c.kind) for c in self.cancellations]
        lines = [f"{self.channel}, gain {self.gain:.6g}"]
        for what, value, kind in dict.fromkeys((w, _text(v), k) for w, v, k in rows if v.imag >= 0):
            count = sum((w, _text(v), k) == (what, value, kind) for w, v, k in rows if v.imag >= 0)
            lines.append(f"  {what:<12}{value:<24}{f'×{count}' if count > 1 else '':<5}{kind}".rstrip())
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

    Poles that rounding has torn off a multiple one are reported as their mean, which is known far better; this is
    done where a perturbation of A as small as rounding would make them equal. Poles below 1e-9 |A| are zero, zeros
    beyond 1e9 |A| infinite.

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
    period = 1.0 if system.dt in (0, None, True) else float(system.dt)
    discrete = bool(system.isdtime(strict=True))
    a, b, c, d = system.A, system.B[:, column], system.C[row], float(system.D[row, column])
    constraints = np.array(getattr(system, "constraint_poles", ()), dtype=complex)
    if not all(np.isfinite(matrix).all() for matrix in (a, b, c, d)):
        raise InputError("poles_and_zeros", "matrices of finite numbers", "nan or inf", "Look at system.A, B, C, D.")
    if discrete:  # in δ = (z − 1)/T fast sampling does not press all poles together
        a, c = (a - np.eye(len(a))) / period, c / period
        constraints = (constraints - 1) / period
    part = minimal_part(a, b, c, d)
    kinds = _kinds(part.cancelled, constraints, TOLERANCE * part.size)
    a, c, gain, poles, zeros, hidden = part.a, part.c, part.gain, part.poles, part.zeros, part.cancelled
    if discrete:
        a, c = np.eye(len(a)) + period * a, period * c
        gain *= period ** (len(poles) - len(zeros))
        poles, zeros, hidden = (1 + period * values for values in (poles, zeros, hidden))
    names = system.input_labels[column], system.output_labels[row]
    return PoleZeroMap(
        channel=" → ".join(names),
        poles=np.sort_complex(np.concatenate([poles, hidden])),
        zeros=np.sort_complex(np.concatenate([zeros, hidden])),
        cancellations=_cancellations(hidden, kinds),
        remaining_poles=np.sort_complex(poles),
        remaining_zeros=np.sort_complex(zeros),
        gain=gain,
        minimal=control.StateSpace(
            a,
            part.b[:, None],
            c[None, :],
            part.d,
            system.dt,
            inputs=names[:1],
            outputs=names[1:],
            remove_useless_states=False,
        ),
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


def _kinds(cancelled: Complex, constraints: Complex, zero: float) -> list[str]:
    """Name each cancelled pole; every constraint pole explains one of them."""
    kinds = ["rigid-body" if pole == 0 else "structural" for pole in cancelled]
    for expected in constraints:
        open_ = [i for i, kind in enumerate(kinds) if kind != "constraint"]
        nearest = min(open_, key=lambda i: abs(cancelled[i] - expected), default=None)
        if nearest is not None and abs(cancelled[nearest] - expected) <= zero + SAME * abs(expected):
            kinds[nearest] = "constraint"
    return kinds
