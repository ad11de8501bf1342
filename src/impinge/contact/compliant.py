"""What compliant laws share: two modes, when they change, how slips are held, and damping from restitution.

A compliant law gives the force of a contact as a function of its depth δ = −γ and the rate δ̇, and is zero where that
would pull. Its contacts are closed where the force pushes. A *margin* (m) says how far they are from the end of that:
positive where the force pushes, negative where the contact is open. It is scaled so that gaps and rates that are
rounding move it by no more than TOUCHING.

Damping and restitution. For F = k δⁿ (1 + d δ̇) and F = k δⁿ exp(d δ̇) an impact at speed v ends at speed e v with

    (1 + x) exp(−x) = (1 − e x) exp(e x),   x = d v,

for every mass, stiffness and exponent, since m δ̇ dδ̇ = −F dδ separates for both.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import inf, log1p, sqrt
from typing import Any, ClassVar

from impinge.compile import jit
from impinge.contact.law import FORCE, SLOW, TOUCHING
from impinge.errors import InputError, as_number, show

FREE, CONTACT = 0, 1
_HERTZ = 1.5
# An impact whose x is smaller is computed from a series, where the difference of logarithms is all rounding.
_SERIES = 0.1
# Of a law that is given neither damping nor restitution.
_RESTITUTION = 0.5
# Of a law that is not told otherwise, stick is as stiff as the normal spring is at this depth (m), and its damping is
# its stiffness times this (s).
_DEPTH, _RELAXATION = 1e-3, 1e-3


@jit
def power(depth: float, exponent: float) -> float:
    """Return a depth to the power of an exponent; Hertz's has a root, which takes a fraction of the time."""
    return depth * sqrt(depth) if exponent == _HERTZ else depth**exponent


@jit
def hold_slip(mode: int, slip: float, rate: float, stiffness: float, damping: float, value: Any) -> int:
    """Prescribe a slip: the force of a spring and a damper from where the contact began to stick, else none."""
    value[0] = -(stiffness * slip + damping * rate) if mode == CONTACT else 0.0
    return FORCE


@jit
def hold_slopes(mode: int, stiffness: float, damping: float, slopes: Any) -> int:
    """Write the derivatives of what `hold_slip` prescribes."""
    slopes[0] = slopes[1] = 0.0
    if mode == CONTACT:
        slopes[0], slopes[1] = -stiffness, -damping
    return FORCE


@jit
def choose(mode: int, margin: float, rate: float, fired: int) -> int:
    """Return the mode for a margin: what touches and does not open is closed, what has clearly parted is open."""
    fell = fired & 3 != 0
    if mode == CONTACT:
        return FREE if fell or margin < -TOUCHING else CONTACT
    if margin > TOUCHING or (fell and margin >= -TOUCHING) or (margin >= 0.0 and rate <= SLOW):
        return CONTACT
    return FREE


@functools.lru_cache(maxsize=256)
def damping_of(restitution: float, speed: float) -> float:
    """Return the damping d, in s/m, with which an impact at this speed has this restitution, 0 < e ≤ 1.

    Example:
        >>> round(damping_of(0.59362, 1.0), 4)
        1.0
    """
    low, high = 0.0, 1.0 / restitution
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _excess(middle, restitution) < 0.0 else (low, middle)
    return 0.5 * (low + high) / speed if restitution < 1.0 else 0.0


def _excess(x: float, e: float) -> float:
    """Return a function that rises through zero where x fits the restitution e."""
    y = e * x
    if y >= 1.0:
        return inf
    if x < _SERIES:
        return x * (_cubic(x) + e**3 * _cubic(-y)) - 0.5 * (1.0 - e) * (1.0 + e)
    return log1p(x) - x - log1p(-y) - y


def _cubic(x: float) -> float:
    """Return (log(1 + x) − x + x²/2) / x³ for a small x."""
    return sum((-x) ** k / (k + 3) for k in range(20))


def stick_of(law: str, stiffness: float, given: float | None, damping: float | None) -> tuple[float, float]:
    """Return stiffness (N/m) and damping (N·s/m) of a law's stick: as given, or in proportion to a stiffness.

    Raises:
        InputError: if one of them is not above zero; without damping a bristle that slides would not know its bend.
    """
    k = stiffness if given is None else check_number(law, "stick_stiffness", given, least=0.0)
    return k, k * _RELAXATION if damping is None else check_number(law, "stick_damping", damping, least=0.0)


def check_number(law: str, name: str, value: object, *, least: float, above: bool = True) -> float:
    """Return a law's parameter as a float.

    Raises:
        InputError: if it is no finite number, or not above (or at) the least.
    """
    number = as_number(value)
    if not (least < number < inf or (number == least and not above)):
        sign = "above" if above else "of at least"
        raise InputError(f"law '{law}'", f"a finite {name} {sign} {least:g}", show(value), f"Choose {name} so.")
    return number


def _check_damping(law: str, damping: object, restitution: object, speed: object) -> None:
    """Check how damping is given: by itself, or by the restitution at a speed."""
    check_number(law, "speed", speed, least=0.0)
    if damping is not None and restitution is not None:
        raise InputError(
            f"law '{law}'",
            "damping or restitution",
            f"both, damping = {show(damping)} and restitution = {show(restitution)}",
            "Leave one out: restitution at the given speed determines damping.",
        )
    if damping is not None:
        check_number(law, "damping", damping, least=0.0, above=False)
    e = as_number(restitution)
    if restitution is not None and e == 0.0:
        raise InputError(
            f"law '{law}'",
            "a restitution above 0 and up to 1, since a compliant contact always returns something",
            "0",
            "Use a law with exact restitution zero, Impact(restitution=0) or Complementarity().",
        )
    if restitution is not None and not 0.0 < e <= 1.0:
        raise InputError(
            f"law '{law}'",
            "a restitution above 0 and up to 1",
            show(restitution),
            "It is the speed after an impact over the speed before.",
        )
    if restitution is not None and not damping_of(e, as_number(speed)) < inf:
        raise InputError(
            f"law '{law}'",
            "a restitution whose damping is a finite number",
            f"restitution = {show(restitution)} at speed = {show(speed)} m/s",
            "Give a larger one, at a larger speed.",
        )


@dataclass(frozen=True)
class NonlinearSpring:
    """What the laws with F = k δⁿ times a function of d δ̇ are given."""

    stiffness: float = 1e6
    exponent: float = 1.5
    damping: float | None = None
    restitution: float | None = None
    speed: float = 1.0
    stick_stiffness: float | None = None
    stick_damping: float | None = None

    name: ClassVar[str] = ""
    modes: ClassVar[tuple[str, ...]] = ("Free", "Contact")
    closed: ClassVar[tuple[bool, ...]] = (False, True)

    def __post_init__(self) -> None:
        check_number(self.name, "stiffness", self.stiffness, least=0.0)
        check_number(self.name, "exponent", self.exponent, least=1.0, above=False)
        _check_damping(self.name, self.damping, self.restitution, self.speed)
        stick_of(self.name, 1.0, self.stick_stiffness, self.stick_damping)

    @property
    def gains(self) -> tuple[float, ...]:
        """Stiffness, exponent and damping; stiffness and damping of its stick."""
        d = self.damping
        if d is None:
            e = _RESTITUTION if self.restitution is None else self.restitution
            d = damping_of(float(e), float(self.speed))
        k, n = float(self.stiffness), float(self.exponent)
        return k, n, float(d), *stick_of(self.name, k * _DEPTH ** (n - 1.0), self.stick_stiffness, self.stick_damping)
