"""What a run can say about itself, computed from its data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from impinge.simulation.results.verdict import Findings, Verdict

# The share of a run, at its end, over which a closed contact's penetration counts as steady.
STEADY_SHARE = 0.05


@dataclass(frozen=True)
class ContactCertificate:
    """One contact: how deep, how deep at rest, how little it pushed, how far from complementary.

    Attributes:
        deepest_penetration: largest −gap, inside steps too, or 0.
        steady_penetration: largest −gap over the last twentieth of the run if the contact stays closed
            through it, else None.
        smallest_force, largest_force: while closed, inside steps too; None if it never stayed closed.
        complementarity: largest |gap × force|, J.
        steady_complementarity: the same over the last twentieth of the run, J.
        impacts: how many impacts it took part in, with a jump of velocities.
        largest_impulse: of these, or None.
        unit: of its gap, m or rad. Forces are in N, or N·m; impulses in N·s, or N·m·s.
    """

    deepest_penetration: float
    steady_penetration: float | None
    smallest_force: float | None
    largest_force: float | None
    complementarity: float
    steady_complementarity: float
    impacts: int = 0
    largest_impulse: float | None = None
    unit: str = "m"

    def __str__(self) -> str:
        force, unit = force_unit(self.unit), self.unit
        steady = "not closed at the end" if self.steady_penetration is None else f"{self.steady_penetration:.3g} {unit}"
        pushed = "never closed" if not self.impacts else "none between impacts"
        if self.smallest_force is not None:
            pushed = f"{self.smallest_force:.3g} to {self.largest_force:.3g} {force}"
        lines = [
            f"  deepest penetration   {self.deepest_penetration:.3g} {unit}",
            f"  steady penetration    {steady}",
            f"  force                 {pushed}",
            f"  |gap x force|         {self.complementarity:.3g} J, steady {self.steady_complementarity:.3g} J",
        ]
        if self.impacts:
            lines.append(f"  impacts               {self.impacts}, largest {self.largest_impulse:.3g} {force}·s")
        return "\n".join(lines)


def force_unit(unit: str) -> str:
    """Return the unit of the force along a row with a unit: force times row is an energy.

    Example:
        >>> force_unit("m"), force_unit("rad"), force_unit("mm")
        ('N', 'N·m', 'J/mm')
    """
    return {"m": "N", "rad": "N·m", "": "J"}.get(unit) or f"J/{unit}"


@dataclass(frozen=True)
class EnergyBalance:
    """ΔE = applied work + explicit time + constraint work + contact work − dissipation, all in J.

    What was not measured is None, and is part of the residual. ``residual`` is what the integrator left over;
    ``relative`` is over the largest term.
    """

    start: float
    end: float
    applied: float
    dissipated: float | None
    time: float | None
    constraints: float | None
    contacts: float
    residual: float
    relative: float


@dataclass(frozen=True)
class Certificate:
    """What a result certifies about itself.

    Attributes:
        constraint_drift: largest |h| of all constraints, each in its own unit; None if there are none.
        evaluations: of the right-hand side for the motion: stages, events and decisions; what is evaluated to record
            rows and for this certificate is not counted, so that it does not depend on what is recorded. In time
            steps, of the kernel that describes a step.
        findings: what the verdicts are made of.
        proved, unproved: steps of open contacts for which it is proved that no gap closes unseen along the dense
            output, and those for which it could not be.
        leaps: short steps of first order in which all contacts were decided together, because they would have changed
            without end, or have taken many more steps than the motion is worth.
    """

    constraint_drift: float | None
    contacts: dict[str, ContactCertificate]
    energy: EnergyBalance
    steps: int
    rejected: int
    evaluations: int
    events: int
    findings: Findings = field(repr=False, compare=False)
    proved: int = 0
    unproved: int = 0
    leaps: int = 0

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not self.findings.broken

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The promises of the run; see `Verdict`."""
        return self.findings.verdicts()

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The promises that were not kept."""
        return () if self.ok else tuple(verdict for verdict in self.verdicts if not verdict.ok)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and dicts, as JSON knows them."""
        names = ("constraint_drift", "steps", "rejected", "evaluations", "events", "proved", "unproved", "leaps", "ok")
        return dict(
            plain(
                {
                    **{name: getattr(self, name) for name in names},
                    "contacts": {name: asdict(contact) for name, contact in self.contacts.items()},
                    "energy": asdict(self.energy),
                    "verdicts": [asdict(verdict) for verdict in self.verdicts],
                }
            )
        )

    def __str__(self) -> str:
        e = self.energy
        drift = "no constraints" if self.constraint_drift is None else f"{self.constraint_drift:.3g}"
        lines = [
            f"{self.steps} steps, {self.rejected} rejected, {self.evaluations} evaluations, {self.events} events",
            f"constraint drift        {drift}",
            f"energy                  {e.start:.6g} J -> {e.end:.6g} J, balance residual {e.residual:.2g} J",
        ]
        missing = [name for name in ("dissipated", "time", "constraints") if getattr(e, name) is None]
        if missing:
            lines.append(f"  not measured          {', '.join(missing)}")
        if self.proved or self.unproved:
            every = self.proved + self.unproved
            lines.append(f"no gap closes unseen     in {self.proved} of {every} steps of open contacts")
        if self.leaps:
            lines.append(f"stepped over             {self.leaps} times, where contacts change without end")
        for name, contact in self.contacts.items():
            lines += [f"contact {name}", str(contact)]
        lines.append(f"verdicts                {said(self.verdicts)}")
        lines += [f"  {'holds' if verdict.ok else 'BROKEN'}  {verdict}" for verdict in self.verdicts]
        return "\n".join(lines)


def said(verdicts: Sequence[Verdict]) -> str:
    """Return in a few words how many promises were kept."""
    broken = sum(not verdict.ok for verdict in verdicts)
    if not verdicts:
        return "none"
    return f"all {len(verdicts)} hold" if not broken else f"{broken} of {len(verdicts)} BROKEN"


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: NumPy's numbers as Python's, what is not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def energy_balance(start: float, end: float, work: Mapping[str, float | None]) -> EnergyBalance:
    """Close the balance from the energies at both ends and the work integrated in between."""
    known = [value for value in work.values() if value is not None]
    residual, damping = end - start - sum(known), work["damping"]
    largest = max(abs(value) for value in (start, end, *known))
    return EnergyBalance(
        start=start,
        end=end,
        applied=work["applied"] or 0.0,
        dissipated=None if damping is None else -damping,
        time=work["time"],
        constraints=work["constraints"],
        contacts=work["contacts"] or 0.0,
        residual=residual,
        relative=abs(residual) / largest if largest else abs(residual),  # what is no number stays none
    )
