"""Verdicts: what a run promises, each with the worst that happened and the limit up to which that is no fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.extremes import (
    APPROACH,
    BEND,
    CREATED,
    CREEP,
    DEPTH,
    DRIVE,
    EXCESS,
    GAIN,
    OPEN,
    RUB,
    Extremes,
)

if TYPE_CHECKING:
    from impinge.simulation.certificate import EnergyBalance

# Limits; `Verdict` says what each is for.
OPEN_DEPTH, CREATED_SHARE, DRIVEN_SHARE, EXCESS_SHARE, CREEP_RATE = 1e-9, 1e-9, 1e-9, 1e-6, 1e-6


@dataclass(frozen=True)
class Verdict:
    """One promise of a run: the worst that happened, and the limit beyond which the promise is broken.

    The promises and their limits, of the contact that is worst:

    * ``gap while open``: how far a gap was below zero while its contact was Free and approached, or turned about inside
      a step. Limit: 1e-9 m, ten times the absolute tolerance, and the way of four time resolutions. Depth while closed
      is the law's; so is that of a compliant contact which parts faster than it relaxes, of a Ballistic one (the law
      lets it be below zero until it returns), and of one that is Passed.
    * ``work of impacts``: what the impulses of one impact add to the energy that is seen from the surfaces, over what
      they move, Σ|p|(|γ̇⁻| + |γ̇⁺|). Limit: 1e-9, rounding.
    * ``power of friction``: the largest power that friction gives to what slides faster than 1e-6 m/s, both seen from
      the other surface. Limit: 1e-9 of the largest product of friction and speed of the run, rounding.
    * ``work of bristles``: of a contact that sticks compliantly, by how much the sum of the work that its friction
      gives and of what it has stored ever grew. Limit: that of the energy balance.
    * ``Coulomb's limit``: by which share friction, or its impulse at an impact, was beyond μ times that along the
      normal; small forces count as a hundredth of the largest. Limit: 1e-6.
    * ``slip while sticking``: the slip rate of a rigid contact with friction that sticks. Limit: 1e-6 m/s.
    * ``energy balance``: what is left of ΔE − work. Limit: what the tolerances allow, see `energy_limit`. Fixed steps
      promise no tolerance, and have no such verdict.
    * ``constraint drift``: the largest |h|. Limit: see `drift_limit`.

    In time steps of length h a contact has no state inside the step, and

    * ``penetration`` takes the place of the gap while open, closed or not: gaps are linear over a step, so that they
      end below zero by as much as they bend within it. Limit: twice the largest difference between a gap and where its
      rate would have brought it, which is O(h²), and the depth at the start; explicit steps see a contact after it has
      closed, so that a step's way is added, which is O(h).
    * ``work of impacts`` is that of every step, without what it takes to lift a gap that is below zero; the power of
      friction is that at the end of the step, as its impulses see it.
    * ``constraint drift`` has twice the largest bend of the constraints as its limit, which is O(h²).
    * the energy balance has no verdict: its residual is the error of Euler's method, m a² h²/2 in every step of a fall.

    Attributes:
        name: which promise.
        ok: whether it was kept.
        number, limit, unit: the worst that happened, and up to where that is no fault.
        contact: where, or None if the promise is not a contact's.
        time: when, s, or None if it is one of the whole run.
    """

    name: str
    ok: bool
    number: float
    limit: float
    unit: str
    contact: str | None = None
    time: float | None = None

    def __str__(self) -> str:
        where = "" if self.contact is None else f" at contact {self.contact}"
        when = "" if self.time is None else f", t = {self.time:.6g} s"
        return f"{self.name}: {_short(self.number, self.unit)}{where}{when} (limit {_short(self.limit, self.unit)})"


def _short(number: float, unit: str) -> str:
    return f"{number:.3g} {unit}".rstrip()


def verdict(
    name: str, number: float, limit: float, unit: str, contact: str | None = None, time: float | None = None
) -> Verdict:
    """Return a verdict; what is no number breaks every promise."""
    return Verdict(name, bool(number <= limit), number, limit, unit, contact, time)


def energy_limit(rtol: float, atol: float, steps: int, extremes: Extremes, balance: EnergyBalance) -> float:
    """Return the residual of an energy balance that the tolerances of an integration allow, J.

    In every step each velocity may be off by rtol of itself and by atol, and the energy by twice that share of the
    largest that the run moved: kinetic, potential from its lowest to its highest, or work. Errors of steps may add up.
    Five times that is the limit, for a hundred steps at least, and the rounding of the energies themselves.
    """
    kinetic, highest, lowest, fastest = extremes.energy.tolist()
    works = (balance.applied, balance.dissipated, balance.time, balance.constraints, balance.contacts)
    work = max(abs(x) for x in works if x is not None)
    scale = max(kinetic, highest + lowest, abs(balance.end - balance.start), work)
    share = rtol + (atol / fastest if fastest > 0.0 else 0.0) + 1e-10
    return max(steps, 100) * (10.0 * share * scale + 1e-15 * (abs(balance.start) + abs(balance.end)))


def drift_limit(rtol: float, atol: float) -> float:
    """Return the drift of constraints that the tolerances of an integration allow, in their unit.

    A start may be off by `START_TOLERANCE`. Every step adds its error, and stabilization takes it back within the time
    that its gains give it, in which there may be a thousand steps.
    """
    return START_TOLERANCE + 1e3 * (atol + rtol)


class Judge:
    """The extremes of a run as lists, with the names and units of its contacts, from which verdicts are made."""

    def __init__(self, extremes: Extremes, names: Sequence[str], units: Sequence[str]) -> None:
        self.value, self.time = extremes.value.tolist(), extremes.time.tolist()
        self.recorded, self.recorded_time = extremes.recorded.tolist(), extremes.recorded_time.tolist()
        self.names, self.units = names, units

    def of(self, name: str, kind: int, limits: Sequence[float], suffix: str | None = None) -> list[Verdict]:
        """Return the verdict of one kind, of the contact that is worst; none if no contact has anything to show.

        Args:
            name: of the promise.
            kind: of the extremes.
            limits: one for each contact.
            suffix: what follows the unit of the gap, or None for a number that is a share.
        """
        value, time = self.value[kind], self.time[kind]
        worst, share = -1, -1.0
        for c, limit in enumerate(limits):
            if value[c] == float("-inf"):
                continue
            if self.recorded[kind][c] > limit and self.recorded[kind][c] > value[c]:
                value[c], time[c] = self.recorded[kind][c], self.recorded_time[kind][c]
            ratio = max(value[c], 0.0) / limit if limit > 0.0 else float(value[c] > 0.0)
            if not ratio <= share:
                worst, share = c, ratio
        if worst < 0:
            return []
        number = max(value[worst], 0.0)
        unit = "" if suffix is None else suffix if suffix in ("W", "J") else f"{self.units[worst]}{suffix}"
        where = (self.names[worst], time[worst]) if number > 0.0 else (None, None)
        return [verdict(name, number, limits[worst], unit, *where)]

    def contacts(self, atol: float, resolution: float) -> list[Verdict]:
        """Return the verdicts on the contacts of a run event by event."""
        n = range(len(self.names))
        if not self.names:
            return []
        depth = OPEN_DEPTH + 10.0 * atol
        opens = [depth + 4.0 * resolution * max(self.value[APPROACH][c], 0.0) for c in n]
        return [
            *self.of("gap while open", OPEN, opens, ""),
            *self._common(),
            *self.of("slip while sticking", CREEP, [CREEP_RATE for _ in n], "/s"),
        ]

    def stepped(self, start: Sequence[float], way: float) -> list[Verdict]:
        """Return the verdicts on the contacts of a run in time steps, from the gaps at its start and a step's way.

        Args:
            start: gaps at the start.
            way: length of a step that sees contacts only when they are closed, s, or 0.
        """
        n = range(len(self.names))
        limits = [
            1e-12 + 2.0 * max(self.value[BEND][c], 0.0) + max(-start[c], 0.0) + way * max(self.value[APPROACH][c], 0.0)
            for c in n
        ]
        return [*self.of("penetration", DEPTH, limits, ""), *self._common()] if self.names else []

    def _common(self) -> list[Verdict]:
        n = range(len(self.names))
        return [
            *self.of("work of impacts", CREATED, [CREATED_SHARE for _ in n]),
            *self.of("Coulomb's limit", EXCESS, [EXCESS_SHARE for _ in n]),
            *self.of("power of friction", DRIVE, [DRIVEN_SHARE * max(self.value[RUB][c], 0.0) for c in n], "W"),
        ]

    def bristles(self, limit: float) -> list[Verdict]:
        """Return the verdict on contacts that stick compliantly."""
        return self.of("work of bristles", GAIN, [limit for _ in self.names], "J")
