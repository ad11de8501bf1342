"""What the blocks ask of the numbers they are given."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

from impinge.errors import InputError, as_number, show


def above_zero(who: str, what: str, value: object, remedy: str) -> float:
    """Return a finite number above zero, or raise the error that asks for one."""
    number = as_number(value)
    if not 0.0 < number < inf:
        raise InputError(who, f"{what}: a finite number above zero", show(value), remedy)
    return number


def vector(who: str, what: str, values: Any, size: int | None = None) -> list[float]:
    """Return finite numbers, one for each axis, as a list."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    numbers = [as_number(x) for x in plain] if isinstance(plain, Sequence) and not isinstance(plain, str) else []
    if not numbers or not all(map(isfinite, numbers)) or (size is not None and len(numbers) != size):
        count = "finite numbers, one for each axis" if size is None else f"{size} finite numbers, one for each axis"
        raise InputError(who, f"{what}: {count}", show(plain), "Write e.g. (0.0, 0.0, 0.4).")
    return numbers


def each(values: Any, size: int) -> list[Any]:
    """Return one value for each axis: those given, or one for all."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    return list(plain) if isinstance(plain, Sequence) and not isinstance(plain, str) else [plain] * size


def one_each(who: str, name: str, values: Any, axes: Sequence[str], remedy: str) -> list[Any]:
    """Return one value for each of some axes, or raise the error that names them."""
    given = each(values, len(axes))
    if len(given) != len(axes):
        expected = f"one {name} for all axes, or one for each of {', '.join(axes)}"
        raise InputError(who, expected, f"{len(given)}", remedy)
    return given
