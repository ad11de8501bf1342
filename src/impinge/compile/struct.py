"""A plain C struct of numbers and arrays, handed to hot loops as one address.

numba passes a tuple of arrays by value: thirty arrays are two hundred arguments of every call, and
minutes of compilation. Here a function receives an address, and ``w.y`` inside it loads what it needs.
The fields never change after packing (their arrays' elements may), which the loads tell the optimizer.
"""

from __future__ import annotations

import ctypes
import functools
from struct import Struct as Packing
from typing import Annotated, Any, NamedTuple, get_origin, get_type_hints

import llvmlite.ir as ll
import numpy as np
from numba.core import types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_untracked
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, intrinsic, lower_getattr_generic, register_model, unbox
from numpy.typing import NDArray

_WORD = 8
_DOUBLE, _INTEGER = Packing("d"), Packing("q")

# How the fields of a packed named tuple are annotated.
Vector = Annotated[NDArray[np.float64], types.float64, 1]
Matrix = Annotated[NDArray[np.float64], types.float64, 2]
Cube = Annotated[NDArray[np.float64], types.float64, 3]
Integers = Annotated[NDArray[np.int64], types.int64, 1]
IntegerMatrix = Annotated[NDArray[np.int64], types.int64, 2]

_DTYPES = {types.float64: np.dtype(np.float64), types.int64: np.dtype(np.int64)}
_NUMBERS = {int: types.int64, bool: types.int64, float: types.float64}


class StructType(types.Type):
    """The numba type of a packed struct: its fields' names, types and byte offsets."""

    def __init__(self, fields: tuple[tuple[str, Any, int], ...]) -> None:
        self.fields = fields
        # What packing asks of each array, in NumPy's terms.
        self.arrays = {
            name: (_DTYPES[kind.dtype], kind.ndim) for name, kind, _ in fields if isinstance(kind, types.Array)
        }
        super().__init__(name="Struct(" + ", ".join(f"{name}: {kind}" for name, kind, _ in fields) + ")")

    def field(self, name: str) -> tuple[Any, int] | None:
        """Return type and offset of a field."""
        return next(((kind, offset) for field, kind, offset in self.fields if field == name), None)


@functools.cache
def struct_type(layout: type) -> StructType:
    """Return the numba type of a named tuple class whose annotations are those of this module."""
    fields: list[tuple[str, Any, int]] = []
    kind: Any
    offset = 0
    for name, hint in get_type_hints(layout, include_extras=True).items():
        if hint in _NUMBERS:
            kind, words = _NUMBERS[hint], 1
        elif get_origin(hint) is Annotated:
            dtype, ndim = hint.__metadata__
            kind, words = types.Array(dtype, ndim, "C"), 2 + 2 * ndim
        else:
            kind, words = struct_type(hint), 1
        fields.append((name, kind, offset))
        offset += words * _WORD
    return StructType(tuple(fields))


def struct_at(layout: type) -> Any:
    """Return a function for hot loops that takes an address for the packed struct of a named tuple class."""
    kind = struct_type(layout)

    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing_context: Any, address: Any) -> Any:
        return kind(types.int64), lambda context, builder, signature, values: values[0]

    return at


def _pointer(array: NDArray[Any]) -> int:
    """Return where an array's data is, in half the time of ``array.ctypes.data``, which an empty one needs."""
    if array.size == 0:
        return int(array.ctypes.data)
    return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # it is a buffer


def pack_once(values: Any) -> Any:
    """Pack a named tuple that never changes and is part of many structs; return it."""
    _packed[id(values)] = Struct(values)
    _constant.append(values)  # its identity must stay its own
    return values


def keep_array(array: NDArray[Any]) -> None:
    """Remember how an array is packed that stays as it is and is part of many structs."""
    _words[id(array)] = _described(array)
    _constant.append(array)


def _described(array: NDArray[Any]) -> tuple[int, ...]:
    return (_pointer(array), array.size, *array.shape, *array.strides)


_packed: dict[int, Struct] = {}
_words: dict[int, tuple[int, ...]] = {}
_constant: list[Any] = []


class Struct:
    """A packed named tuple; keep it alive while its address is in use.

    Example:
        >>> from impinge.compile import jit
        >>> class Point(NamedTuple):
        ...     x: Vector
        ...     scale: float
        >>> @jit
        ... def first(p):
        ...     return p.scale * p.x[0]
        >>> first(Struct(Point(np.array([3.0, 4.0]), 2.0)))
        6.0
    """

    def __init__(self, values: NamedTuple) -> None:
        self._numba_type_ = struct_type(type(values))  # where numba's dispatcher looks first
        self.address = 0
        words: list[int] = []
        self._kept: list[Any] = []
        arrays = self._numba_type_.arrays
        for (name, kind, _), value in zip(self._numba_type_.fields, values, strict=True):
            if kind is types.int64:
                words.append(int(value))
            elif kind is types.float64:
                words.append(_INTEGER.unpack(_DOUBLE.pack(value))[0])
            elif hasattr(value, "_fields"):
                nested = _packed.get(id(value)) or Struct(value)
                self._kept.append(nested)
                words.append(nested.address)
            else:
                if (value.dtype, value.ndim) != arrays[name] or not value.flags.c_contiguous:
                    raise TypeError(f"field '{name}' must be a contiguous {kind}")
                self._kept.append(value)
                words += _words.get(id(value)) or _described(value)
        self._memory = np.array(words, dtype=np.int64)
        self.address = _pointer(self._memory)


@register_model(StructType)
class _StructModel(models.PrimitiveModel):  # type: ignore[misc]  # numba leaves its models untyped
    def __init__(self, manager: Any, kind: StructType) -> None:
        super().__init__(manager, kind, ll.IntType(64))


@unbox(StructType)  # type: ignore[untyped-decorator]
def _unbox(kind: StructType, value: Any, c: Any) -> Any:
    attribute = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(attribute)
    c.pyapi.decref(attribute)
    return NativeValue(address)


@infer_getattr
class _StructAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StructType

    def generic_resolve(self, struct: StructType, name: str) -> Any:
        found = struct.field(name)
        return found[0] if found else None


@lower_getattr_generic(StructType)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, struct: StructType, value: Any, name: str) -> Any:
    found = struct.field(name)
    assert found is not None
    kind, offset = found

    def load(word: int, what: Any) -> Any:
        address = builder.add(value, ll.Constant(ll.IntType(64), offset + word * _WORD))
        loaded = builder.load(builder.inttoptr(address, what.as_pointer()))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    integer = ll.IntType(64)
    if not isinstance(kind, types.Array):
        return impl_ret_untracked(context, builder, kind, load(0, context.get_value_type(kind)))
    array = context.make_array(kind)(context, builder)
    data = load(0, integer)
    pointer = builder.inttoptr(data, context.get_data_type(kind.dtype).as_pointer())
    shape = [load(2 + k, integer) for k in range(kind.ndim)]
    strides = [load(2 + kind.ndim + k, integer) for k in range(kind.ndim)]
    context.populate_array(
        array,
        data=pointer,
        shape=shape,
        strides=strides,
        itemsize=ll.Constant(integer, _WORD),
        meminfo=None,
    )
    return impl_ret_untracked(context, builder, kind, array._getvalue())
