"""A plain C struct of numbers and arrays, handed to machine code as one address.

numba passes a tuple of arrays by value: thirty arrays are two hundred arguments of every call, and minutes of
compilation. Here a function receives an address, and ``w.y`` inside it loads what it needs. The fields never change
after packing (their arrays' elements may), which the loads tell the optimizer.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from operator import index
from struct import Struct as Packing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile.layout import FLOAT, INTEGER, ArrayKind, Layout, layout_of

_DOUBLE, _INTEGER = Packing("d"), Packing("q")


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
    """Remember how an array is packed that stays as it is and is part of many structs."""
    _words[id(array)] = _described(array)
    _constant.append(array)


def _described(array: NDArray[Any]) -> tuple[int, ...]:
    return (address_of(array), array.size, *array.shape, *array.strides)


_packed: dict[int, Struct] = {}
_words: dict[int, tuple[int, ...]] = {}
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
        self.layout: Layout = layout_of(type(values))
        self.address: int
        words: list[int] = []
        self._kept: list[Any] = []
        for field, value in zip(self.layout.fields, values, strict=True):
            kind = field.kind
            if kind is INTEGER:
                words.append(index(value))
            elif kind is FLOAT:
                words.append(_INTEGER.unpack(_DOUBLE.pack(value))[0])
            elif isinstance(kind, ArrayKind):
                if value.dtype != kind.dtype or value.ndim != kind.indices or not value.flags.c_contiguous:
                    raise TypeError(f"field '{field.name}' must be a contiguous array {kind}")
                self._kept.append(value)
                words += _words.get(id(value)) or _described(value)
            else:
                nested = _packed.get(id(value)) or Struct(value)
                if nested.layout is not kind and nested.layout != kind:
                    raise TypeError(f"field '{field.name}' must be a {kind}, not a {nested.layout}")
                self._kept.append(nested)
                words.append(nested.address)
        self._memory = np.array(words, dtype=np.int64)
        self.address = address_of(self._memory)
        self._as_parameter_ = self.address  # what ctypes passes for it
