"""Verdicts: what a run promises, each with the worst that happened and the limit up to which that is no fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from impinge.simulation.results.extremes import (
    BALANCE,
    CREATED,
    CREEP,
    DEPTH,
    DRIFT,
    DRIVE,
    EXCESS,
    GAIN,
    LIMIT,
    MISS,
    OPEN,
    ROWS_WHEN,
    WHEN,
    WORST,
)
from impinge.simulation.system.interface import System


@dataclass(frozen=True)
class Verdict:
    """One promise of a run: the worst that happened, and the limit beyond which the promise is broken.

    The promises and their limits, of the contact that is worst:

    * ``gap while open``: how far a gap was below zero while its contact was Free and did not part, or turned about
      inside a step. Limit: 1e-9 m, ten times the absolute tolerance, and the way of four time resolutions. Depth while
      closed is the law's; so is that of a compliant contact which parts faster than it relaxes, of a Ballistic one (the
      law lets it be below zero until it returns), and of one that is Passed.
    * ``work of impacts``: what the impulses of one impact add to the energy that is seen from the surfaces, over what
      they move, Σ|p|(|γ̇⁻| + |γ̇⁺|); also of the impulses that stop slips which never slide. Limit: 1e-9, rounding.
    * ``power of friction``: the largest power that friction gives to what slides faster than 1e-6 m/s, both seen from
      the other surface. Limit: 1e-9 of the largest product of friction and speed of the run, rounding.
    * ``work of bristles``: of a contact that sticks compliantly, by how much the sum of the work that its friction
      gives and of what it has stored ever grew. Limit: that of the energy balance.
    * ``Coulomb's limit``: by which share friction, or its impulse at an impact, was beyond μ times that along the
      normal; small forces count as a hundredth of the largest. Limit: 1e-6.
    * ``slip while sticking``: the slip rate of a rigid contact with friction that sticks. Limit: 1e-6 m/s.
    * ``energy balance``: what is left of ΔE − work. Limit: what the tolerances allow, see `judge`. Fixed steps
      promise no tolerance, and have no such verdict.
    * ``constraint drift``: the largest |h|. Limit: what a start may be off
      by, 1e-6, and the tolerances of a thousand steps, within which stabilization takes their errors back.

    In time steps of length h a contact has no state inside the step, and

    * ``penetration`` takes the place of the gap while open, closed or not: gaps are linear over a step, so that they
      end below zero by as much as they bend within it. Limit: twice the largest difference between a gap and where its
      rate would have brought it, which is O(h²), and the depth at the start; explicit steps see a contact after it has
      closed and then still move on, so that the way of two steps is added, which is O(h). Bodies of a scene are moved
      apart at the end of a step: its limit is 5 µm, whatever the step.
    * ``contact laws``: by how much an impulse missed its contact's law, over the scale that the tolerance is of; of
      friction in a polygon that is not judged. Limit: the tolerance.
    * ``work of impacts`` is that of every step, without what it takes to lift a gap that is below zero; the power of
      friction is that at the end of a step without a rebound, as its impulses see it.
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


# What each kind of extreme is called, in the order in which verdicts are listed, and what follows the unit of the gap
# in the unit of its number; a share has no unit.
_NAMES = {
    OPEN: ("gap while open", ""),
    DEPTH: ("penetration", ""),
    CREATED: ("work of impacts", None),
    EXCESS: ("Coulomb's limit", None),
    DRIVE: ("power of friction", "W"),
    GAIN: ("work of bristles", "J"),
    CREEP: ("slip while sticking", "/s"),
}


class Findings:
    """What was found of a run: verdicts are made of it when they are asked for, which few runs are.

    Args:
        broken: whether a promise was broken.
        table: as in `Extremes`, judged.
        system: what was simulated.
    """

    def __init__(self, broken: bool, table: NDArray[np.float64], system: System) -> None:
        self.broken, self._table, self._system = broken, table, system

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return all verdicts; those on contacts are one for each promise, of the contact that is worst."""
        *rows, whole = self._table.tolist()
        found = [one for kind in _NAMES for one in self._of(kind, rows)]
        if whole[LIMIT + BALANCE] > -inf:
            found.append(verdict("energy balance", whole[WORST + BALANCE], whole[LIMIT + BALANCE], "J"))
        if whole[LIMIT + MISS] > -inf:
            found.append(
                verdict("contact laws", whole[WORST + MISS], whole[LIMIT + MISS], "", None, whole[WHEN + MISS])
            )
        if whole[LIMIT + DRIFT] > -inf:
            unit, when = self._system.constraints[int(whole[ROWS_WHEN + DRIFT])].unit, whole[WHEN + DRIFT]
            found.append(verdict("constraint drift", whole[WORST + DRIFT], whole[LIMIT + DRIFT], unit, None, when))
        return tuple(found)

    def _of(self, kind: int, rows: list[list[float]]) -> list[Verdict]:
        shown = [c for c, row in enumerate(rows) if row[WORST + kind] > -inf and row[LIMIT + kind] > -inf]
        if not shown:
            return []
        worst = max(shown, key=lambda c: max(rows[c][WORST + kind], 0.0) / (rows[c][LIMIT + kind] or 1e-300))
        row, (name, suffix) = rows[worst], _NAMES[kind]
        number = max(row[WORST + kind], 0.0)
        unit = suffix if suffix in ("W", "J") else "" if suffix is None else f"{self._system.gaps[worst].unit}{suffix}"
        where = (self._system.contacts[worst], row[WHEN + kind]) if number > 0.0 else (None, None)
        return [verdict(name, number, row[LIMIT + kind], unit or "", *where)]


class Judged(Findings):
    """Findings whose verdicts were made at once."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self.broken = not all(one.ok for one in verdicts)
        self._verdicts = tuple(verdicts)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return them."""
        return self._verdicts
