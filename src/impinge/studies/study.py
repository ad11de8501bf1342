"""What a study is: one experiment, with its parameters, its run, its figure, and a paper's claims as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from impinge.errors import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.simulation import Result

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study; the type of its default is the type it takes.

    Attributes:
        minimum: smallest value allowed; ``above`` excludes it.
        choices: the values allowed, for words.
        effort: whether it says how much is done, not what: claims speak of any value of it.
    """

    name: str
    value: float | int | str | bool
    unit: str = ""
    about: str = ""
    minimum: float | None = None
    above: bool = False
    choices: tuple[str, ...] = ()
    effort: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a run of a study gives: numbers, and the trajectory they were measured from."""

    result: Result
    metrics: Mapping[str, Any]


COMPARISONS = ("equal", "at least", "at most")


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, and how to check it.

    Attributes:
        id: short and stable.
        paper: what the paper says, with figure or equation.
        measure: from the outcome to the value that is compared.
        expected: the number, numbers or truth value that the claim amounts to.
        tolerance: how far a number may be off.
        compare: ``"equal"`` within tolerance, ``"at least"`` or ``"at most"`` the expected.
        when: the parameters (apart from defaults) of which the claim speaks; None for any.
        note: where we differ from the print, why.
    """

    id: str
    paper: str
    measure: Callable[[Outcome], Any]
    expected: Any = True
    tolerance: float = 0.0
    compare: Literal["equal", "at least", "at most"] = "equal"
    when: Mapping[str, Any] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.compare not in COMPARISONS:
            raise unknown_name(f"claim '{self.id}'", "comparison", str(self.compare), COMPARISONS)

    def check(self, outcome: Outcome) -> dict[str, Any]:
        """Measure the value and return the claim's line of the ledger."""
        value = self.measure(outcome)
        return {"id": self.id, "paper": self.paper, "value": value, "ok": self._holds(value), "note": self.note}

    def _holds(self, value: Any) -> bool:
        if value is None:
            return False
        if self.compare == "at least":
            return bool(value >= self.expected)
        if self.compare == "at most":
            return bool(value <= self.expected)
        if isinstance(self.expected, (list, tuple)):
            near = (abs(a - b) <= self.tolerance for a, b in zip(value, self.expected, strict=False))
            return len(value) == len(self.expected) and all(near)
        if isinstance(self.expected, (bool, str)):
            return bool(value == self.expected)
        return bool(abs(value - self.expected) <= self.tolerance)


@dataclass(frozen=True)
class Study:
    """One experiment.

    Attributes:
        name: as in ``impinge run NAME``.
        title: one line for ``impinge list``.
        paper: which figure of which paper, or where the idea comes from.
        parameters: what ``--set`` may change.
        run: (parameters, law or None for the study's own, progress or None) → outcome.
        claims: what the paper says.
        figure: (parameters, outcome) → figure; the result's overview if left out.
        touches: whether anything touches in it; if not, it takes no law.
        quick: settings, as ``--set`` takes them, of a run that does the same with less effort.
    """

    name: str
    title: str
    run: Callable[[Mapping[str, Any], Law | None, Progress | None], Outcome]
    parameters: tuple[Parameter, ...] = ()
    claims: tuple[Claim, ...] = field(default=())
    paper: str = ""
    figure: Callable[[Mapping[str, Any], Outcome], Figure] | None = None
    touches: bool = True
    quick: tuple[str, ...] = ()
