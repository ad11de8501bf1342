"""The event-driven loop as a run sees it: begin, hold until, and say why not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.law import Law
from impinge.simulation.events import engine, instant
from impinge.simulation.locate import prove, trace
from impinge.simulation.results import inside, judge, observe, record
from impinge.simulation.system import dynamics, inertia
from impinge.simulation.system.interface import System
from impinge.simulation.system.plant import FORCE, JAMMED, TIME, VALUE, Workspace
from impinge.simulation.unsolved import why_unsolved

_NAMED = 3  # signals in a message


class EventDriven:
    """The event-driven loop of one run."""

    code = (
        *(engine.hold, instant.begin, record.add_current, dynamics.right_hand_side, dynamics.find_press),
        *(prove.prove, trace.trace, trace.bound, observe.note, inside.look, judge.judge, inertia.surely_inertia),
    )

    def __init__(self, model: System, laws: Sequence[Law], w: Workspace, packed: tuple[Struct, Struct]) -> None:
        self.model, self.laws, self.w, self.packed = model, laws, w, packed
        self.hold = engine.hold.unchecked
        self.addresses = tuple(part.address for part in packed)

    def begin(self, end: float, log: Struct) -> int:
        """Find the modes in which the run starts."""
        return int(instant.begin.unchecked(*self.addresses, log.address, end))

    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""
        t, jammed = float(self.w.time[TIME]), int(self.w.counts[JAMMED])
        if status == instant.CYCLE and jammed < 0:
            contact, law = self.model.contacts[-1 - jammed], self.laws[-1 - jammed]
            return (
                f"at t = {t:g} s law '{law.name}' of contact {contact} decided for a mode that it does not have: "
                f"let its 'decide' return 0 … {len(law.modes) - 1} ({', '.join(law.modes)})"
            )
        if status == instant.CYCLE and jammed:
            return (
                f"at t = {t:g} s contact {self.model.contacts[jammed - 1]} jams: sliding, friction presses it together "
                "faster than its force parts it, and it can neither slide nor lift; lower its friction"
            )
        if status == instant.UNSOLVED:
            pushing = [gap for gap, flag in zip(self.model.gaps, self.w.impact.active, strict=True) if flag]
            n, impact = len(pushing), self.w.impact
            names, rubs = [gap.name for gap in pushing], [bool(gap.slips) for gap in pushing]
            return f"at t = {t:g} s the impulses of {why_unsolved(impact.W[:n, :n], impact.all.rate[:n], names, rubs)}"
        if status == instant.CROWDED:
            forces = self.w.rows_start[FORCE, len(self.model.constraints) :]
            closed = [name for name, force in zip(self.model.contacts, forces, strict=False) if force != 0.0]
            more = f" while contacts {', '.join(closed)} are closed" if closed else ""
            return (
                f"at t = {t:g} s the run takes more steps than its budget{more}: the motion is too fast or too stiff "
                "there; soften the contacts, loosen the tolerances, or raise the method's budget"
            )
        gaps = self.w.rows_start[VALUE, len(self.model.constraints) :][: len(self.model.gaps)]
        chosen = next((flags for flags in (self.w.changed, self.w.struck) if flags.any()), gaps <= 0.0)
        changing = [name for name, flag in zip(self.model.contacts, chosen, strict=True) if flag]
        held = [g.name for g in self.model.gaps if g.name in changing and g.slips and not g.slides]
        check = "check whether their law's gains suit the model, and whether a surface jumps"
        if held:
            check = (
                f"slips of {', '.join(held)} are held whatever it takes, which may leave no force that is right, "
                f"closed or open; give them a coefficient of friction, or {check}"
            )
        return {
            instant.TOO_SMALL: f"at t = {t:g} s the step became shorter than the time resolution: the motion is too "
            "fast there; soften the contact, loosen the tolerances or check the model",
            instant.NOT_FINITE: f"at t = {t:g} s the motion stopped being finite{self._where()}: "
            "check the model near this state",
            instant.CYCLE: f"at t = {t:g} s contacts {', '.join(changing)} open and close without end: "
            f"{check if held else 'check whether their gaps contradict each other'}",
            instant.CHATTER: f"at t = {t:g} s contacts {', '.join(changing)} change without time passing: {check}",
        }[status]

    def _where(self) -> str:
        """Say which velocities or gaps stopped being finite in the step that was tried last: the first that did."""
        gaps = [f"gap_{name}" for name in self.model.contacts]
        places = len(self.model.coordinates)
        for rates in self.w.K:
            names = not_finite([x.name for x in self.model.velocities] + gaps, rates[places:])
            if names:
                return f" in {names}"
        return ""


def not_finite(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """Return the names of the first few values that are not finite; the values may be followed by others."""
    found = [name for name, flag in zip(names, np.isfinite(values), strict=False) if not flag]
    return ", ".join(found[:_NAMED])
