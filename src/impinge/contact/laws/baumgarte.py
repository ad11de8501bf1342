"""Contact as a stabilized constraint that is switched by a state machine.

S. A. Bortoff, Modeling Contact and Collisions for Robotic Assembly Control, 2020, eq. 5–7 and Fig. 1.
While a contact is in Contact its gap obeys

    γ̈ + α₁ γ̇ + α₀ γ + α₂ γ³ = 0                                               (7)

and the force is whatever that takes (the text below (7) calls the cubic gain α₃; α₂ is meant). The
force below Fig. 2 prints + for what (7) makes −: for the ball λ = m (g − α₁v − α₀q − α₂q³).

The state machine: Free → Contact when the gap closes; Contact → Ballistic when the force would pull;
Ballistic → Free when the gap opens (an edge: a ball that leaves with γ > 0 stays Ballistic for its
flight); Ballistic → Contact when γ ≤ 0, γ̇ < 0. To the paper's last condition we add that contact
would push: without it, a contact that is pulled at while it sinks would be entered and left for ever.
Free → Ballistic, for the same reason, when the gap closes and contact would pull.

A contact with sliding directions rolls or sticks: while in Contact, the slip s since it closed obeys
s̈ + α₁ṡ + α₀s = 0 (the paper's h₂, eq. 8b and 10b).

Beyond the paper, α₃γ²γ̇ may be added to (7): a landing at speed v then stops at the depth (3v/α₃)^⅓ without
bouncing, and nothing is stiff once the contact is at rest. With α₁ alone, the damping that a fast landing
needs stays for as long as the contact lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from impinge.compile import Entry, Vector, entry
from impinge.contact.law import (
    ACCELERATION,
    FIRST,
    FORCE,
    GAP,
    NORMAL,
    NOTHING,
    PRESS,
    RATE,
    SECOND,
    SLOW,
    TOUCHING,
    watching,
)
from impinge.errors import InputError, as_number, show

FREE, CONTACT, BALLISTIC = 0, 1, 2


@entry
def _prescribe(mode: int, along: int, gap: float, rate: float, a: Vector, value: Vector) -> int:
    if mode == CONTACT:
        value[0] = -(a[0] * gap + a[1] * rate)
        if along == NORMAL:
            value[0] -= gap * gap * (a[2] * gap + a[3] * rate)
        return ACCELERATION
    value[0] = 0.0
    return FORCE


@entry
def _slope(mode: int, along: int, gap: float, rate: float, a: Vector, slopes: Vector) -> int:
    slopes[0] = slopes[1] = 0.0
    if mode != CONTACT:
        return FORCE
    slopes[0], slopes[1] = -a[0], -a[1]
    if along == NORMAL:
        slopes[0] -= 3.0 * a[2] * gap * gap + 2.0 * a[3] * gap * rate
        slopes[1] -= a[3] * gap * gap
    return ACCELERATION


@entry
def _guard(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    if mode == CONTACT:
        values[FIRST] = force * (TOUCHING / NOTHING)
        return watching(FIRST, PRESS)
    values[FIRST] = gap
    if mode == FREE:
        return watching(FIRST, GAP)
    values[FIRST + 1], values[FIRST + 2] = rate * (TOUCHING / SLOW), -force * (TOUCHING / NOTHING)
    values[SECOND] = -gap
    again = watching(FIRST, GAP) + watching(FIRST + 1, RATE) + watching(FIRST + 2, PRESS)
    return again + watching(SECOND, GAP)


@entry
def _decide(mode: int, gap: float, rate: float, force: float, a: Vector, fired: int) -> int:
    fell = fired & 1 != 0
    if mode == CONTACT:
        return BALLISTIC if force < -NOTHING or fell else CONTACT
    if mode == BALLISTIC and fired & 2 != 0 and rate > SLOW:
        return FREE
    if gap <= 0.0 and rate <= SLOW and force > 0.0:
        return CONTACT
    if gap < -TOUCHING or (mode == FREE and fell and gap < 0.0 and rate < -SLOW):
        return BALLISTIC
    return mode


@dataclass(frozen=True)
class Baumgarte:
    """Bortoff's contact law: γ̈ + (α₁ + α₃γ²)γ̇ + α₀γ + α₂γ³ = 0 while in Contact.

    Args:
        a0: α₀ in 1/s²; how fast a closed gap returns to zero, √α₀ rad/s.
        a1: α₁ in 1/s; damping of that return and of the collision.
        a2: α₂ in 1/(m²s²); stiffness of the collision.
        a3: α₃ in 1/(m²s); damping of the collision that grows with depth, ours.

    Example:
        >>> Baumgarte(a0=100, a1=20, a2=1e6).gains
        (100, 20, 1000000.0, 0.0)
    """

    a0: float = 100.0
    a1: float = 20.0
    a2: float = 1e6
    a3: float = 0.0

    name: ClassVar[str] = "baumgarte"
    modes: ClassVar[tuple[str, ...]] = ("Free", "Contact", "Ballistic")
    closed: ClassVar[tuple[bool, ...]] = (False, True, False)
    prescribe: ClassVar[Entry] = _prescribe
    slope: ClassVar[Entry] = _slope
    guard: ClassVar[Entry] = _guard
    decide: ClassVar[Entry] = _decide

    def __post_init__(self) -> None:
        a0, a1, a2, a3 = (as_number(gain) for gain in self.gains)
        if not (0 < a0 < inf and 0 <= a1 < inf and 0 <= a2 < inf and 0 <= a3 < inf):
            raise InputError(
                "law 'baumgarte'",
                "finite a0 > 0, a1 >= 0, a2 >= 0 and a3 >= 0, for which the closed gap is stable",
                f"a0 = {show(self.a0)}, a1 = {show(self.a1)}, a2 = {show(self.a2)}, a3 = {show(self.a3)}",
                "Choose a0 from the time the gap may take to close (a0 = w², a1 = 2w) and a2 from the stiffness.",
            )

    @property
    def gains(self) -> tuple[float, ...]:
        """α₀, α₁, α₂, α₃."""
        return (self.a0, self.a1, self.a2, self.a3)
