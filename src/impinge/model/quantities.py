"""Named numbers: coordinates, parameters, inputs, gaps and outputs as a model lists them, and values for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, show, unknown_name


@dataclass(frozen=True)
class Quantity:
    """A named number: what it is called, in which unit, its value, and where that comes from."""

    name: str
    unit: str
    value: float = 0.0
    about: str = ""


@dataclass(frozen=True)
class Input(Quantity):
    """An input with the value it has unless told otherwise; nobody can choose that of a disturbance."""

    disturbance: bool = False


@dataclass(frozen=True)
class Coordinate(Quantity):
    """A coordinate with its start value and start speed."""

    speed: float = 0.0


@dataclass(frozen=True)
class Constraint(Quantity):
    """A bilateral constraint; one that is given by its rate binds velocities only."""

    by_rate: bool = False


@dataclass(frozen=True)
class Gap(Quantity):
    """A possible contact.

    Attributes:
        slips: names of its sliding directions.
        limited: whether its surface has an end.
        slides: whether it may slide.
        by_rate: whether its slips are given by their rates, so that they have no value of their own.
    """

    slips: tuple[str, ...] = ()
    limited: bool = False
    slides: bool = False
    by_rate: bool = False


def values_of(owner: str, kind: str, known: Sequence[Quantity], changes: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the values of some quantities as a vector, with changes by name; raise the error that fits a bad one."""
    values = np.array([quantity.value for quantity in known], dtype=float)
    given: object = changes
    if not isinstance(given, Mapping):
        example = f"{{'{known[0].name}': {known[0].value:g}}}" if known else "{}"
        raise InputError(owner, f"a dict from {kind} to number", show(given), f"Write e.g. {example}.")
    if changes:
        places = {quantity.name: k for k, quantity in enumerate(known)}
        for name, value in changes.items():
            if name not in places:
                raise unknown_name(owner, kind, name, places)
            values[places[name]] = finite(f"{kind} '{name}' of {owner}", value)
    return values


def finite(who: str, value: object) -> float:
    """Return a value as a finite float, or raise the error that says whose value it is."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, RuntimeError):
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(who, "a finite number", repr(value), "Give it a finite value.")
    return number
