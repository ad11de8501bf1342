"""The one exception family of impinge: every message says who, expected, got and what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Real


class ImpingeError(Exception):
    """A problem that the user can fix.

    Args:
        who: the thing that complains, e.g. ``"parameter 'm' of model 'ball'"``.
        expected: what would have been right.
        got: what was there instead.
        remedy: what to do about it, as a sentence.

    Example:
        >>> str(ImpingeError("law 'baumgarte'", "a1 >= 0", "a1 = -1", "Give a damping of zero or more."))
        "law 'baumgarte': expected a1 >= 0, got a1 = -1. Give a damping of zero or more."
    """

    def __init__(self, who: str, expected: str, got: str, remedy: str) -> None:
        super().__init__(f"{who}: expected {expected}, got {got}. {remedy}")
        self.who = who
        self.expected = expected
        self.got = got
        self.remedy = remedy


class ImpingeWarning(UserWarning):
    """A run that ended early, or that broke a promise: its result says which."""


class CompileError(ImpingeError):
    """An expression that cannot become machine code."""


class ModelError(ImpingeError):
    """A model that is incomplete or contradicts itself."""


class InputError(ImpingeError):
    """A value, name or file given to a run that cannot be used."""


class StartError(ImpingeError):
    """A start state from which the model cannot be simulated."""


class MissingError(InputError, AttributeError):
    """A name asked of an object that does not have it; ``hasattr`` still answers that it has none."""


class LcpError(ImpingeError):
    """A complementarity problem without a solution, or none that was found.

    Attributes:
        indices: the unknowns or contacts that are involved.
        residual: how far the problem is from a solution.
        infeasible: True if it is proved that there is none.
    """

    def __init__(
        self,
        who: str,
        expected: str,
        got: str,
        remedy: str,
        indices: tuple[int, ...] = (),
        residual: float = math.nan,
        infeasible: bool = False,
    ) -> None:
        super().__init__(who, expected, got, remedy)
        self.indices = indices
        self.residual = residual
        self.infeasible = infeasible


def as_number(value: object) -> float:
    """Return a real number as a float, and NaN for anything else: NaN fails every comparison."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan


def show(value: object) -> str:
    """Return a value for a message: numbers short, anything else as Python writes it."""
    if isinstance(value, (list, tuple)):
        return f"({', '.join(show(item) for item in value)})"
    return repr(value) if math.isnan(as_number(value)) else f"{as_number(value):g}"


def unknown_name(who: str, kind: str, got: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that does not exist, naming the nearest ones that do."""
    names = sorted(known)
    matches = difflib.get_close_matches(got.lower(), {name.lower() for name in names}, n=3, cutoff=0.5)
    near = [name for match in matches for name in names if name.lower() == match]
    if near:
        remedy = "Did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
    elif names:
        remedy = "Known: " + ", ".join(names) + "."
    else:
        remedy = f"There is no {kind} here: leave it out."
    expected = f"a known {kind}" if names else f"no {kind}"
    return InputError(who, expected, f"'{got}'", remedy)
