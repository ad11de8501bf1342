"""Contact as a spring and a damper side by side, that cannot pull.

    F = k δ + c δ̇,   δ = −γ,   and zero where that would be negative or the gap is open.

At touchdown the force jumps to c δ̇. It vanishes while the surface is still pressed in, since it cannot follow as fast
as the body leaves: a body of mass m that nothing else acts on leaves when k δ = −c δ̇, with the restitution
exp(−ζ/√(1−ζ²) · arctan2(2ζ√(1−ζ²), 2ζ²−1)) for ζ = c/(2√(km)) < 1, whatever the speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from impinge.compile import Entry, Vector, entry, jit
from impinge.contact.compliant import CONTACT, check_number, choose, hold_slip, hold_slopes, stick_of
from impinge.contact.law import FIRST, FORCE, GAP, NORMAL, PRESS, SLOW, TOUCHING, watching


@jit
def _push(gap: float, rate: float, a: Any) -> float:
    """Return the force over the one that rounding of gap and rate makes, as a length."""
    return -(a[0] * gap + a[1] * rate) / (a[0] + a[1] * (SLOW / TOUCHING))


@entry
def _prescribe(mode: int, along: int, gap: float, rate: float, a: Vector, value: Vector) -> int:
    if along != NORMAL:
        return hold_slip(mode, gap, rate, a[2], a[3], value)
    value[0] = max(0.0, -(a[0] * gap + a[1] * rate)) if mode == CONTACT else 0.0
    return FORCE


@entry
def _slope(mode: int, along: int, gap: float, rate: float, a: Vector, slopes: Vector) -> int:
    if along != NORMAL:
        return hold_slopes(mode, a[2], a[3], slopes)
    slopes[0] = slopes[1] = 0.0
    if mode == CONTACT:
        slopes[0], slopes[1] = -a[0], -a[1]
    return FORCE


@entry
def _guard(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    push = _push(gap, rate, a)
    if mode == CONTACT:
        values[FIRST] = push
        return watching(FIRST, PRESS)
    values[FIRST], values[FIRST + 1] = gap, -push
    return watching(FIRST, GAP) + watching(FIRST + 1, PRESS)


@entry
def _decide(mode: int, gap: float, rate: float, force: float, a: Vector, fired: int) -> int:
    return choose(mode, min(-gap, _push(gap, rate, a)), rate, fired)


@dataclass(frozen=True)
class KelvinVoigt:
    """Spring and damper: F = k δ + c δ̇ where that pushes.

    Args:
        stiffness: k in N/m.
        damping: c in N·s/m.
        stick_stiffness: of the spring that friction sticks with, N/m; as k if not given.
        stick_damping: of the damper beside it, N·s/m; one millisecond times its stiffness if not given.

    Example:
        >>> KelvinVoigt(stiffness=1e5, damping=50).gains
        (100000.0, 50.0, 100000.0, 100.0)
    """

    stiffness: float = 1e5
    damping: float = 100.0
    stick_stiffness: float | None = None
    stick_damping: float | None = None

    name: ClassVar[str] = "kelvin-voigt"
    modes: ClassVar[tuple[str, ...]] = ("Free", "Contact")
    closed: ClassVar[tuple[bool, ...]] = (False, True)
    prescribe: ClassVar[Entry] = _prescribe
    slope: ClassVar[Entry] = _slope
    guard: ClassVar[Entry] = _guard
    decide: ClassVar[Entry] = _decide

    def __post_init__(self) -> None:
        check_number(self.name, "stiffness", self.stiffness, least=0.0)
        check_number(self.name, "damping", self.damping, least=0.0, above=False)
        stick_of(self.name, 1.0, self.stick_stiffness, self.stick_damping)

    @property
    def gains(self) -> tuple[float, ...]:
        """Stiffness and damping, of the gap and of its stick."""
        k = float(self.stiffness)
        return k, float(self.damping), *stick_of(self.name, k, self.stick_stiffness, self.stick_damping)
