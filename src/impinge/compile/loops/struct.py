"""A plain C struct of numbers and arrays, handed to machine code as one address.

numba passes a tuple of arrays by value: thirty arrays are two hundred arguments of every call, and minutes of
compilation. Here a function receives an address, and ``w.y`` inside it loads what it needs. The fields never change
after packing (their arrays' elements may), which the loads tell the optimizer.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from struct import Struct as Packing
from struct import error as PackingError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile.loops.layout import FLOAT, ArrayKind, Layout, layout_of


def address_of(array: NDArray[Any]) -> int:
    """Return where an array's data is, in half the time of ``array.ctypes.data``, which an empty one needs."""
    if array.size == 0:
        return int(array.ctypes.data)
    return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # it is a buffer


def pack_once(values: Any) -> Any:
    """Pack a named tuple that never changes and is part of many structs; return it."""
    _packed[id(values)] = Struct(values)
    _constant.append(values)  # its identity must stay its own
    return values


def pack_for(owner: object, values: Any) -> Callable[[], None]:
    """Pack a named tuple that is part of many structs as long as its owner lives; return a call that ends that."""
    _packed[id(values)] = Struct(values)
    forget: Callable[[], None] = weakref.finalize(owner, _forget, values)
    return forget


def _forget(values: Any) -> None:
    _packed.pop(id(values), None)


def keep_array(array: NDArray[Any]) -> None:
    """Remember how a contiguous array is packed that stays as it is and is part of many structs."""
    _words[id(array)] = array.dtype, array.ndim, _described(array)
    _constant.append(array)


def _described(array: NDArray[Any]) -> tuple[int, ...]:
    return (address_of(array), array.size, *array.shape, *array.strides)


@functools.cache
def _plan(struct: type) -> tuple[Layout, Packing, list[tuple[int, str, ArrayKind]], list[tuple[int, str, Layout]]]:
    """Return how a named tuple is packed: its words, its arrays from the last to the first, and its structs."""
    layout, arrays, structs, codes = layout_of(struct), [], [], ""
    for k, field in enumerate(layout.fields):
        kind = field.kind
        if isinstance(kind, ArrayKind):
            arrays.append((k, field.name, kind))
        elif isinstance(kind, Layout):
            structs.append((k, field.name, kind))
        codes += "q" * kind.words if isinstance(kind, ArrayKind) else "d" if kind == FLOAT else "q"
    return layout, Packing("=" + codes), arrays[::-1], structs


_packed: dict[int, Struct] = {}
_words: dict[int, tuple[np.dtype[Any], int, tuple[int, ...]]] = {}
_constant: list[Any] = []


class Struct:
    """A packed named tuple; keep it alive while its address is in use.

    Example:
        >>> from impinge.compile import Vector, jit
        >>> Point = NamedTuple("Point", [("x", Vector), ("scale", float)])
        >>> @jit
        ... def first(p):
        ...     return p.scale * p.x[0]
        >>> first(Struct(Point(np.array([3.0, 4.0]), 2.0)))
        6.0
    """

    def __init__(self, values: NamedTuple) -> None:
        self.layout: Layout
        self.address: int
        self.layout, packing, arrays, structs = _plan(type(values))
        parts: list[Any] = list(values)
        self._kept: list[Any] = []
        for k, name, kind in structs:
            nested = _packed.get(id(parts[k])) or Struct(parts[k])
            if nested.layout is not kind and nested.layout != kind:
                raise TypeError(f"field '{name}' must be a {kind}, not a {nested.layout}")
            self._kept.append(nested)
            parts[k] = nested.address
        for k, name, array_kind in arrays:  # from the last to the first: each becomes several words
            value = parts[k]
            self._kept.append(value)
            known = _words.get(id(value))
            if known is not None and known[0] == array_kind.dtype and known[1] == array_kind.indices:
                parts[k : k + 1] = known[2]
                continue
            if value.dtype != array_kind.dtype or value.ndim != array_kind.indices or not value.flags.c_contiguous:
                raise TypeError(f"field '{name}' must be a contiguous array {array_kind}")
            parts[k : k + 1] = _described(value)
        self._memory = bytearray(packing.size)
        try:
            packing.pack_into(self._memory, 0, *parts)
        except PackingError as problem:
            wrong = TypeError if str(problem).startswith("required") else OverflowError
            raise wrong(f"a number of a {self.layout}: {problem}") from None
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._as_parameter_ = self.address  # what ctypes passes for it
