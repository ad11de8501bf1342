"""The event-driven loop as a run sees it: begin, hold until, and say why not."""

from __future__ import annotations

from impinge.compile import Struct
from impinge.simulation import dynamics, engine, inside, instant, judge, observe, record
from impinge.simulation.plant import JAMMED, TIME, Workspace
from impinge.simulation.system import System


class EventDriven:
    """The event-driven loop of one run."""

    code = (
        engine.hold,
        instant.begin,
        record.add_current,
        dynamics.right_hand_side,
        dynamics.find_press,
        observe.note,
        inside.look,
        judge.judge,
    )

    def __init__(self, model: System, w: Workspace, packed: tuple[Struct, Struct]) -> None:
        self.model, self.w, self.packed = model, w, packed
        self.hold = engine.hold.unchecked
        self.addresses = tuple(part.address for part in packed)

    def begin(self, end: float, log: Struct) -> int:
        """Find the modes in which the run starts."""
        return instant.begin(*self.packed, log, end)

    def failure(self, status: int) -> str:
        """Say why the loop came back with a status that is no success."""
        t, jammed = float(self.w.time[TIME]), int(self.w.counts[JAMMED])
        if status == instant.CYCLE and jammed:
            return (
                f"at t = {t:g} s contact {self.model.contacts[jammed - 1]} jams: sliding, friction presses it together "
                "faster than its force parts it, and it can neither slide nor lift; lower its friction"
            )
        if status == instant.UNSOLVED:
            pushing = [name for name, flag in zip(self.model.contacts, self.w.impact.active, strict=True) if flag]
            return f"at t = {t:g} s no impulses solve the impact of contacts {', '.join(pushing)}: check their friction"
        changing = [name for name, flag in zip(self.model.contacts, self.w.changed, strict=True) if flag]
        return {
            instant.TOO_SMALL: f"at t = {t:g} s the step became shorter than the time resolution: the motion is too "
            "fast there; soften the contact, loosen the tolerances or check the model",
            instant.NOT_FINITE: f"at t = {t:g} s the motion stopped being finite: check the model near this state",
            instant.CYCLE: f"at t = {t:g} s contacts {', '.join(changing)} open and close each other without end: "
            "check whether their gaps contradict each other",
            instant.CHATTER: f"at t = {t:g} s contacts {', '.join(changing)} change without time passing: "
            "check whether their law's gains suit the model",
        }[status]
