"""How to integrate between events."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from impinge.errors import InputError, as_number, show
from impinge.simulation.integrate.tableau import CLASSICAL, DORMAND_PRINCE


def _check_flag(method: str, name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InputError(f"method {method}", f"{name} = True or False", show(value), "Leave it out for True.")


@dataclass(frozen=True)
class Adaptive:
    """Dormand–Prince 5(4) with step control.

    Args:
        rtol, atol: the error of one step may be ``atol + rtol·|x|`` in each coordinate, velocity and gap. For the
            angular velocity of a scene's body that is smaller than one meter, ``atol`` is that of the speed of its
            farthest point: divided by how far its shapes reach from its center of mass, in meters.
        max_step: longest step, s; a fiftieth of the run by default.
        prove: whether every open gap is proved to stay open over each step, so that no gap closes unseen along the
            dense output, however narrow a bump is against the way of a step. The certificate counts the steps for
            which that was possible. Without it, a bump that is narrower than a fifteenth of the way of the longest
            step can slip between its stages.
        budget: the most steps that may be tried within a twentieth of the longest step, by default a thousandth of
            the run; a run that needs more ends and names the contacts.
        implicit: whether steps are linearly implicit, of order five, where springs and dampers of contacts are fast
            against the motion and would keep explicit steps short: light bodies at rest on stiff contacts. One is tried
            after 100 to 800 explicit ones, unless something depends on time (a table that moves), and kept to as long
            as that costs less.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    max_step: float | None = None
    prove: bool = True
    budget: float = 20_000
    implicit: bool = True

    tableau = DORMAND_PRINCE
    step = 0.0

    def __post_init__(self) -> None:
        longest = 1.0 if self.max_step is None else as_number(self.max_step)
        if not (0 < as_number(self.atol) < 1 and 0 < as_number(self.rtol) < 1 and longest > 0):
            raise InputError(
                "method Adaptive",
                "0 < rtol < 1, 0 < atol < 1 and max_step > 0",
                f"rtol = {show(self.rtol)}, atol = {show(self.atol)}, max_step = {show(self.max_step)}",
                "The defaults, rtol = 1e-8 and atol = 1e-10, suit most models.",
            )
        _check_flag("Adaptive", "prove", self.prove)
        _check_flag("Adaptive", "implicit", self.implicit)
        if not as_number(self.budget) >= 1:
            remedy = "The default, 20,000, suits most models; float('inf') is no budget."
            raise InputError("method Adaptive", "a budget of one step or more", show(self.budget), remedy)


@dataclass(frozen=True)
class FixedStep:
    """The classical Runge–Kutta method of order 4 on a fixed grid; an event splits the step it falls in.

    Args:
        step: grid spacing, s.
        prove: as in `Adaptive`.
    """

    step: float
    prove: bool = True

    tableau = CLASSICAL
    rtol = 1e-8
    atol = 1e-10
    max_step = None
    budget = inf
    implicit = False

    def __post_init__(self) -> None:
        if not 0 < as_number(self.step) < inf:
            raise InputError("method FixedStep", "a step above zero, in seconds", show(self.step), "Give e.g. 1e-3.")
        _check_flag("FixedStep", "prove", self.prove)


Method = Adaptive | FixedStep
