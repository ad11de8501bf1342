"""Rigid contact: velocities jump when it closes, and while it is closed its gap does not change.

Newton's restitution: γ̇⁺ = −e γ̇⁻. All contacts that touch at that instant take part in one problem, see
`contact.impact`, or follow one another, see `contact.propagation`. Bounces whose intervals shrink geometrically end at
the limit of their times, in Contact. There the force is what keeps the gap as it is, and the contact opens when that
would pull.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from impinge.compile import Entry, Vector, entry, jit
from impinge.contact.law import (
    ACCELERATION,
    FIRST,
    FORCE,
    GAP,
    NOTHING,
    PRESS,
    RATE,
    SLOW,
    TOUCHING,
    watching,
)
from impinge.errors import InputError, as_number, show, unknown_name

FREE, CONTACT = 0, 1
ORDERS = ("simultaneous", "propagating")

# Once it is closed, a gap or slip that drifts off returns as ẍ + 40 ẋ + 400 x = 0. What is smaller than this (m, m/s)
# is left as it is: it is rounding, and to correct it would never end.
_A0, _A1 = 400.0, 40.0
_DRIFT = 1e-10


@jit
def _beyond(value: float) -> float:
    return max(value - _DRIFT, 0.0) + min(value + _DRIFT, 0.0)


@entry
def _prescribe(mode: int, along: int, gap: float, rate: float, a: Vector, value: Vector) -> int:
    value[0] = 0.0
    if mode != CONTACT:
        return FORCE
    value[0] = -(_A0 * _beyond(gap) + _A1 * _beyond(rate))
    return ACCELERATION


@entry
def _slope(mode: int, along: int, gap: float, rate: float, a: Vector, slopes: Vector) -> int:
    slopes[0] = slopes[1] = 0.0
    if mode != CONTACT:
        return FORCE
    slopes[0], slopes[1] = -_A0, -_A1
    return ACCELERATION


@entry
def _guard(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    if mode == CONTACT:
        values[FIRST] = force * (TOUCHING / NOTHING)
        return watching(FIRST, PRESS)
    values[FIRST], values[FIRST + 1] = gap, rate * (TOUCHING / SLOW)
    return watching(FIRST, GAP) + watching(FIRST + 1, RATE)


@entry
def _decide(mode: int, gap: float, rate: float, force: float, a: Vector, fired: int) -> int:
    if mode == CONTACT:
        return FREE if force < -NOTHING or fired & 1 != 0 else CONTACT
    return CONTACT if gap <= TOUCHING and rate <= SLOW and force > 0.0 else FREE


@dataclass(frozen=True)
class Impact:
    """Rigid contact with Newton's restitution.

    Each contact that approaches leaves at e times its speed, if there is energy for that: an impact never gives
    any, and restitution is taken back as far as that takes, or as far as contacts cannot have it together.

    At once, Newton's law asks nothing of a contact that touches already and does not approach, but that it does not
    close: of three equal balls that touch, the first of which arrives at speed 1 with e = 1, the first pair parts at 1
    and the second pair stays together, (−1/3, 2/3, 2/3). One after another, the last ball takes all, (0, 0, 1).

    Args:
        restitution: e, from 0 (no rebound) to 1 (no loss).
        order: of the contacts that touch in an impact. ``"simultaneous"``: Newton's law holds for all of them at once.
            ``"propagating"``: they are struck one after another, the one that approaches fastest first (among
            equals the first declared), each alone with its own restitution, friction and bound of energy, until none
            approaches. After 100 impacts for each contact, or if what is left is rounding, the rest is one
            impact of all with e = 0. If contacts differ in it, an impact propagates if any that takes part asks for it.

    Example:
        >>> Impact(restitution=0.5).rebound
        0.5
    """

    restitution: float = 0.0
    order: str = "simultaneous"

    name: ClassVar[str] = "impact"
    modes: ClassVar[tuple[str, ...]] = ("Free", "Contact")
    closed: ClassVar[tuple[bool, ...]] = (False, True)
    prescribe: ClassVar[Entry] = _prescribe
    slope: ClassVar[Entry] = _slope
    guard: ClassVar[Entry] = _guard
    decide: ClassVar[Entry] = _decide

    def __post_init__(self) -> None:
        if not 0 <= as_number(self.restitution) <= 1:
            raise InputError(
                "law 'impact'",
                "a restitution from 0 to 1",
                show(self.restitution),
                "0 is a landing without rebound, 1 a bounce without loss.",
            )
        if self.order not in ORDERS:
            raise unknown_name("law 'impact'", "order", str(self.order), ORDERS)

    @property
    def gains(self) -> tuple[float, ...]:
        """None are needed."""
        return (0.0,)

    @property
    def rebound(self) -> float:
        """The restitution with which velocities jump."""
        return float(self.restitution)
