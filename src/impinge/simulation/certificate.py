"""What a run can say about itself, computed from its data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

# The share of a run, at its end, over which a closed contact's penetration counts as steady.
STEADY_SHARE = 0.05


@dataclass(frozen=True)
class ContactCertificate:
    """One contact: how deep, how deep at rest, how little it pushed, how far from complementary.

    Attributes:
        deepest_penetration: largest −gap over every accepted step, or 0, m.
        steady_penetration: largest −gap over the last twentieth of the run if the contact stays closed
            through it, else None, m.
        smallest_force, largest_force: while closed, over every accepted step; None if it never was, N.
        complementarity: largest |gap × force| over every accepted step, J.
        steady_complementarity: the same over the last twentieth of the run, J.
    """

    deepest_penetration: float
    steady_penetration: float | None
    smallest_force: float | None
    largest_force: float | None
    complementarity: float
    steady_complementarity: float


@dataclass(frozen=True)
class EnergyBalance:
    """ΔE = applied work + explicit time + constraint work + contact work − dissipation, all in J.

    ``residual`` is what the integrator left over; ``relative`` is over the largest term.
    """

    start: float
    end: float
    applied: float
    dissipated: float
    time: float
    constraints: float
    contacts: float
    residual: float
    relative: float


@dataclass(frozen=True)
class Certificate:
    """What a result certifies about itself.

    No gap closes unseen along the dense output of a step for which that is proved: ``proved`` counts the steps of open
    contacts for which it is, ``unproved`` those for which it could not be.
    """

    constraint_drift: float
    contacts: dict[str, ContactCertificate]
    energy: EnergyBalance
    steps: int
    rejected: int
    evaluations: int
    events: int
    proved: int = 0
    unproved: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and dicts, as JSON knows them."""
        return dict(plain(asdict(self)))

    def __str__(self) -> str:
        e = self.energy
        lines = [
            f"{self.steps} steps, {self.rejected} rejected, {self.evaluations} evaluations, {self.events} events",
            f"constraint drift        {self.constraint_drift:.3g}",
            f"energy                  {e.start:.6g} J -> {e.end:.6g} J, balance residual {e.residual:.2g} J",
        ]
        if self.proved or self.unproved:
            every = self.proved + self.unproved
            lines.append(f"no gap closes unseen     in {self.proved} of {every} steps of open contacts")
        for name, c in self.contacts.items():
            steady = "not closed at the end" if c.steady_penetration is None else f"{c.steady_penetration:.3g} m"
            force = "never closed" if c.smallest_force is None else f"{c.smallest_force:.3g} to {c.largest_force:.3g} N"
            lines += [
                f"contact {name}",
                f"  deepest penetration   {c.deepest_penetration:.3g} m",
                f"  steady penetration    {steady}",
                f"  force                 {force}",
                f"  |gap x force|         {c.complementarity:.3g} J, steady {c.steady_complementarity:.3g} J",
            ]
        return "\n".join(lines)


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: NumPy's numbers as Python's, what is not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def energy_balance(start: float, end: float, work: dict[str, float]) -> EnergyBalance:
    """Close the balance from the energies at both ends and the work integrated in between."""
    change, done = end - start, sum(work.values())
    largest = float(np.max(np.abs([start, end, *work.values()])))
    residual = change - done
    return EnergyBalance(
        start=start,
        end=end,
        applied=work["applied"],
        dissipated=-work["damping"],
        time=work["time"],
        constraints=work["constraints"],
        contacts=work["contacts"],
        residual=residual,
        relative=0.0 if largest == 0 else abs(residual) / largest,
    )
