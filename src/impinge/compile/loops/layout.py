"""What machine code sees of Python's data: numbers, arrays, and structs of both, described without numba.

The fields of a named tuple, and the arguments of an entry point, are annotated with the names of this module. All
of an array's elements take eight bytes and stand one after another, the last index running fastest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

WORD = 8  # bytes of a number, an address or an extent

FLOAT, INTEGER, POINTER = "float64", "int64", "pointer"
FAULT = -(2**63)  # what an entry point returns if its code raised


@dataclass(frozen=True)
class ArrayKind:
    """A contiguous array: the type of its elements, FLOAT or INTEGER, and how many indices it has."""

    element: str
    indices: int

    def __str__(self) -> str:
        return f"{self.element}[{self.indices}]"

    @property
    def words(self) -> int:
        """How many words describe it in a struct: address, number of elements, extents, strides."""
        return 2 + 2 * self.indices

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """The elements' type in NumPy's terms."""
        return np.dtype(self.element)


# How fields and arguments are annotated; to a type checker they are NumPy's arrays.
Vector = Annotated[NDArray[np.float64], ArrayKind(FLOAT, 1)]
Matrix = Annotated[NDArray[np.float64], ArrayKind(FLOAT, 2)]
Cube = Annotated[NDArray[np.float64], ArrayKind(FLOAT, 3)]
Integers = Annotated[NDArray[np.int64], ArrayKind(INTEGER, 1)]
IntegerMatrix = Annotated[NDArray[np.int64], ArrayKind(INTEGER, 2)]
Pointer = Annotated[NDArray[np.float64], POINTER]  # the first of some numbers, as kernels are given them


@dataclass(frozen=True)
class Field:
    """One field of a struct: its name, what it is, and how many bytes stand before it."""

    name: str
    kind: Kind
    offset: int


@dataclass(frozen=True)
class Layout:
    """A named tuple as a C struct; one inside another is its address."""

    name: str
    fields: tuple[Field, ...]

    @functools.cached_property
    def text(self) -> str:
        """All that machine code depends on."""
        return "{" + ", ".join(f"{field.name}: {kind_text(field.kind)}" for field in self.fields) + "}"

    def __str__(self) -> str:
        return self.name


Kind = str | ArrayKind | Layout


def kind_text(kind: Kind) -> str:
    """Return all that machine code depends on in a kind."""
    return kind.text if isinstance(kind, Layout) else str(kind)


def kind_of(hint: Any) -> Kind:
    """Return what an annotation stands for; raise TypeError if that is nothing machine code knows."""
    if hint is float:
        return FLOAT
    if hint is int or hint is bool:
        return INTEGER
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], ArrayKind | str):
        kind: Kind = hint.__metadata__[0]
        return kind
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return layout_of(hint)
    raise TypeError(
        f"{hint!r} is none of float, int, bool, Vector, Matrix, Cube, Integers, IntegerMatrix, Pointer "
        "or a named tuple of these"
    )


@functools.cache
def layout_of(struct: type) -> Layout:
    """Return the layout of a named tuple class whose fields are annotated as this module says."""
    fields: list[Field] = []
    offset = 0
    for name, hint in get_type_hints(struct, include_extras=True).items():
        kind = kind_of(hint)
        fields.append(Field(name, kind, offset))
        offset += WORD * (kind.words if isinstance(kind, ArrayKind) else 1)
    return Layout(struct.__qualname__, tuple(fields))


@dataclass(frozen=True)
class Signature:
    """The C signature of an entry point: a struct is its address, an array its address and its extents.

    Attributes:
        arguments: what each argument is.
        result: FLOAT or INTEGER, where a function that returns nothing gives 0; None if its code decides.
    """

    arguments: tuple[Kind, ...]
    result: str | None

    @functools.cached_property
    def text(self) -> str:
        """All that machine code depends on."""
        return f"{self.result}({', '.join(map(kind_text, self.arguments))})"

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.arguments))})"


def signature_of(function: Callable[..., Any]) -> Signature:
    """Read the signature from the annotations of a function; raise TypeError, naming the argument, if it has none."""
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return", int)
    code = function.__code__
    arguments = []
    for name in code.co_varnames[: code.co_argcount]:
        if name not in hints:
            raise TypeError(f"argument '{name}' is not annotated")
        try:
            arguments.append(kind_of(hints[name]))
        except TypeError as problem:
            raise TypeError(f"argument '{name}': {problem}") from None
    if result not in (int, bool, float, type(None)):
        raise TypeError(f"it returns {result!r}, not a number or None")
    return Signature(tuple(arguments), FLOAT if result is float else INTEGER)
