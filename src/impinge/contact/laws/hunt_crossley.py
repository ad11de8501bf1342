"""Contact as a nonlinear spring whose damping grows with depth.

K. H. Hunt, F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975:

    F = k δⁿ (1 + d δ̇),   δ = −γ,   and zero where the gap is open.

The force begins and ends at zero. A body that nothing else acts on never leaves faster than 1/d; one that is drawn away
faster would be pulled at, and there the force is zero too. Damping d is given, or found from the restitution at a
speed, exactly (see `impinge.contact.compliant`; the paper's d = 3(1 − e)/(2v) is its limit for e → 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from impinge.compile import Entry, Vector, entry, jit
from impinge.contact.compliant import CONTACT, NonlinearSpring, choose, hold_slip, hold_slopes, power
from impinge.contact.law import FIRST, FORCE, GAP, NORMAL, RATE, SECOND, SLOW, TOUCHING, watching


@jit
def _slack(rate: float, a: Any) -> float:
    """Return how much faster the gap may open before the force would pull, as a length."""
    return (1.0 / a[2] - rate) * (TOUCHING / SLOW) if a[2] > 0.0 else inf


@entry
def _prescribe(mode: int, along: int, gap: float, rate: float, a: Vector, value: Vector) -> int:
    if along != NORMAL:
        return hold_slip(mode, gap, rate, a[3], a[4], value)
    pushes = mode == CONTACT and gap < 0.0
    value[0] = max(0.0, a[0] * power(-gap, a[1]) * (1.0 - a[2] * rate)) if pushes else 0.0
    return FORCE


@entry
def _slope(mode: int, along: int, gap: float, rate: float, a: Vector, slopes: Vector) -> int:
    if along != NORMAL:
        return hold_slopes(mode, a[3], a[4], slopes)
    slopes[0] = slopes[1] = 0.0
    if mode == CONTACT:
        depth = max(0.0, -gap)
        slopes[0] = -a[0] * a[1] * depth ** (a[1] - 1.0) * (1.0 - a[2] * rate)
        slopes[1] = -a[0] * a[2] * power(depth, a[1])
    return FORCE


@entry
def _guard(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    damped = a[2] > 0.0
    slack = _slack(rate, a) if damped else 1.0
    if mode == CONTACT:
        values[FIRST], values[SECOND] = -gap, slack
        return watching(FIRST, GAP) + (watching(SECOND, RATE) if damped else 0)
    values[FIRST], values[FIRST + 1] = gap, -slack
    return watching(FIRST, GAP) + (watching(FIRST + 1, RATE) if damped else 0)


@entry
def _decide(mode: int, gap: float, rate: float, force: float, a: Vector, fired: int) -> int:
    return choose(mode, min(-gap, _slack(rate, a)), rate, fired)


@dataclass(frozen=True)
class HuntCrossley(NonlinearSpring):
    """Nonlinear spring with damping that grows with depth: F = k δⁿ (1 + d δ̇) where that pushes.

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
        >>> round(HuntCrossley(stiffness=1e6, restitution=0.59362, speed=2.0).gains[2], 4)
        0.5
    """

    name: ClassVar[str] = "hunt-crossley"
    prescribe: ClassVar[Entry] = _prescribe
    slope: ClassVar[Entry] = _slope
    guard: ClassVar[Entry] = _guard
    decide: ClassVar[Entry] = _decide
