"""Contact as a nonlinear spring whose damping is an exponential of the rate: it never pulls.

    F = k δⁿ exp(d δ̇),   δ = −γ,   and zero where the gap is open.

For slow motion this is Hunt and Crossley's F = k δⁿ (1 + d δ̇), and it has the same restitution at every speed (see
`impinge.contact.compliant`), but the force is positive however fast the surfaces part.

Beyond d δ̇ = 20, where the exponential is 5e8, it goes on as its tangent: a low restitution at a low speed is a large
d, and a faster impact would otherwise begin with a force that no step is short enough for. The speed after an impact is
hardly another: for F = k δⁿ g(d δ̇) it follows from ∫ x/g(x) dx up to d v, the x of the impact, and of that hardly
anything lies beyond 20. For d v up to 1000 it is off by a millionth, and a restitution of 0.05 or more is at its speed
what was typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import ClassVar

from impinge.compile import Entry, Vector, entry, jit
from impinge.contact.compliant import CONTACT, NonlinearSpring, choose, hold_slip, hold_slopes, power
from impinge.contact.law import FIRST, FORCE, GAP, NORMAL, watching

_STRAIGHT = 20.0  # exponent beyond which the exponential is replaced by its tangent


@jit
def _growth(x: float) -> float:
    """Return exp(x), and its tangent at 20 beyond that."""
    return exp(x) if x <= _STRAIGHT else exp(_STRAIGHT) * (1.0 + x - _STRAIGHT)


@entry
def _prescribe(mode: int, along: int, gap: float, rate: float, a: Vector, value: Vector) -> int:
    if along != NORMAL:
        return hold_slip(mode, gap, rate, a[3], a[4], value)
    pushes = mode == CONTACT and gap < 0.0
    value[0] = a[0] * power(-gap, a[1]) * _growth(-a[2] * rate) if pushes else 0.0
    return FORCE


@entry
def _slope(mode: int, along: int, gap: float, rate: float, a: Vector, slopes: Vector) -> int:
    if along != NORMAL:
        return hold_slopes(mode, a[3], a[4], slopes)
    slopes[0] = slopes[1] = 0.0
    if mode == CONTACT:
        depth, exponent = max(0.0, -gap), -a[2] * rate
        slopes[0] = -a[0] * a[1] * depth ** (a[1] - 1.0) * _growth(exponent)
        slopes[1] = -a[0] * a[2] * power(depth, a[1]) * exp(min(exponent, _STRAIGHT))
    return FORCE


@entry
def _guard(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    values[FIRST] = -gap if mode == CONTACT else gap
    return watching(FIRST, GAP)


@entry
def _decide(mode: int, gap: float, rate: float, force: float, a: Vector, fired: int) -> int:
    return choose(mode, -gap, rate, fired)


@dataclass(frozen=True)
class ExponentialHuntCrossley(NonlinearSpring):
    """Nonlinear spring with exponential damping: F = k δⁿ exp(d δ̇), for d δ̇ above 20 with the tangent of exp.

    Args:
        stiffness: k in N/mⁿ.
        exponent: n, 1 or more; 1.5 is that of two spheres (Hertz).
        damping: d in s/m.
        restitution: in place of damping: the restitution e of an impact at ``speed``, 0 < e ≤ 1; 0.5 if neither
            is given. Slower impacts have a higher one, up to 1, faster ones a lower one.
        speed: the impact speed, m/s, at which the restitution is e.
        stick_stiffness: of the spring that friction sticks with, N/m; k (1 mm)ⁿ⁻¹ if not given.
        stick_damping: of the damper beside it, N·s/m; one millisecond times its stiffness if not given.

    Example:
        >>> round(ExponentialHuntCrossley(stiffness=1e6, restitution=0.59362, speed=2.0).gains[2], 4)
        0.5
    """

    name: ClassVar[str] = "exponential-hunt-crossley"
    prescribe: ClassVar[Entry] = _prescribe
    slope: ClassVar[Entry] = _slope
    guard: ClassVar[Entry] = _guard
    decide: ClassVar[Entry] = _decide
