"""What loops say that Python alone does not know, told to numba: structs, calls by address, arrays at an address."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.ir as ll
import numba
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_untracked
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model

from impinge.compile.loops.layout import FLOAT, INTEGER, POINTER, WORD, ArrayKind, Field, Kind, Layout

types: Any = numba.types  # numba has type hints for some of them only
_INT, _I32 = ll.IntType(64), ll.IntType(32)
_NUMBERS = {FLOAT: types.float64, INTEGER: types.int64, POINTER: types.CPointer(types.float64)}


class StructType(types.Type):  # type: ignore[misc]
    """The type of a packed struct."""

    def __init__(self, layout: Layout) -> None:
        self.fields: dict[str, Field] = {field.name: field for field in layout.fields}
        super().__init__(name=f"Struct({layout.text})")


@functools.cache
def numba_type(kind: Kind) -> Any:
    """Return the numba type of a kind."""
    if isinstance(kind, Layout):
        return StructType(kind)
    if isinstance(kind, ArrayKind):
        return types.Array(_NUMBERS[kind.element], kind.indices, "C")
    return _NUMBERS[kind]


@register_model(StructType)
class _StructModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: StructType) -> None:
        super().__init__(manager, kind, _INT)


@infer_getattr
class _StructAttributes(AttributeTemplate):  # type: ignore[misc]
    key = StructType

    def generic_resolve(self, struct: StructType, name: str) -> Any:
        return numba_type(struct.fields[name].kind) if name in struct.fields else None


@lower_getattr_generic(StructType)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, struct: StructType, value: Any, name: str) -> Any:
    field = struct.fields[name]
    kind = numba_type(field.kind)

    def load(word: int, what: Any) -> Any:
        address = builder.add(value, ll.Constant(_INT, field.offset + word * WORD))
        loaded = builder.load(builder.inttoptr(address, what.as_pointer()))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if not isinstance(field.kind, ArrayKind):
        return impl_ret_untracked(context, builder, kind, load(0, context.get_value_type(kind)))
    pointer = builder.inttoptr(load(0, _INT), context.get_data_type(kind.dtype).as_pointer())
    shape = [load(2 + k, _INT) for k in range(kind.ndim)]
    strides = [load(2 + kind.ndim + k, _INT) for k in range(kind.ndim)]
    return impl_ret_untracked(context, builder, kind, array_at(context, builder, kind, pointer, shape, strides))


def array_at(context: Any, builder: Any, kind: Any, pointer: Any, shape: Any, strides: Any = None) -> Any:
    """Return the array of a type that stands at a pointer; without strides, contiguous."""
    if strides is None:
        strides = [ll.Constant(_INT, WORD)]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
    array = context.make_array(kind)(context, builder)
    itemsize = ll.Constant(_INT, WORD)
    context.populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def _parts(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """Return what a C function is passed for an argument: an array is its address and its extents."""
    if not isinstance(kind, types.Array):
        return [value]
    array = context.make_array(kind)(context, builder, value)
    return [array.data, *cgutils.unpack_tuple(builder, array.shape, kind.ndim)]


def check_array(kind: Any, who: str, elements: tuple[Any, ...]) -> bool:
    """Tell whether a type is an array; raise an error if it is one of other elements, or not contiguous."""
    if not isinstance(kind, types.Array):
        return False
    if kind.layout != "C" or kind.dtype not in elements:
        raise numba.TypingError(f"{who} takes contiguous {' or '.join(map(str, elements))} arrays, not {kind}")
    return True


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the kernel at an address: arrays by the pointer to their first element, a float by one to a copy of it."""
    for argument in arguments:
        if not check_array(argument, "a kernel", (types.float64,)) and argument != types.float64:
            raise numba.TypingError(f"a kernel takes float64 and contiguous float64 arrays, not {argument}")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = []
        for k, argument in enumerate(signature.args[1]):
            value = builder.extract_value(values[1], k)
            if isinstance(argument, types.Array):
                pointers.append(context.make_array(argument)(context, builder, value).data)
            else:
                pointers.append(cgutils.alloca_once_value(builder, value))
        function = ll.FunctionType(ll.VoidType(), [pointer.type for pointer in pointers])
        builder.call(builder.inttoptr(values[0], function.as_pointer()), pointers)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@intrinsic  # type: ignore[untyped-decorator]
def ask(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the entry point at an address, which returns an int."""
    for argument in arguments:
        if not check_array(argument, "an entry point", (types.float64, types.int64)):
            number = argument == types.float64 or types.unliteral(argument) == types.int64
            if not number and not isinstance(argument, StructType):
                raise numba.TypingError(f"an entry point takes int64, float64, arrays and structs, not {argument}")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        passed: list[Any] = []
        for k, argument in enumerate(signature.args[1]):
            passed += _parts(context, builder, argument, builder.extract_value(values[1], k))
        function = ll.FunctionType(_INT, [value.type for value in passed])
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), passed)

    return types.int64(types.int64, arguments), generate


@functools.cache
def struct_at(layout: Layout) -> Any:
    """Return an intrinsic that takes an address for a packed struct."""
    kind = numba_type(layout)

    @intrinsic  # type: ignore[untyped-decorator]
    def at(typing_context: Any, address: Any) -> Any:
        return kind(types.int64), lambda context, builder, signature, values: values[0]

    return at


@intrinsic  # type: ignore[untyped-decorator]
def vector_at(typing_context: Any, pointer: Any, size: Any) -> Any:
    """Take the numbers at a pointer for a vector."""
    kind = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return array_at(context, builder, kind, values[0], [values[1]])

    return kind(types.CPointer(types.float64), types.int64), generate


INTRINSICS = {"call": call, "ask": ask, "vector_at": vector_at}
