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


def _check_array(kind: Any, who: str, elements: tuple[Any, ...]) -> bool:
    if not isinstance(kind, types.Array):
        return False
    if kind.layout != "C" or kind.dtype not in elements:
        raise numba.TypingError(f"{who} takes contiguous {' or '.join(map(str, elements))} arrays, not {kind}")
    return True


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the kernel at an address: arrays by the pointer to their first element, a float by one to a copy of it."""
    for argument in arguments:
        if not _check_array(argument, "a kernel", (types.float64,)) and argument != types.float64:
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
        if not _check_array(argument, "an entry point", (types.float64, types.int64)):
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


_WIDE, _LANES = 6, (4, 2)  # of a block, and the vectors that a row of it is
_ROWS = 3  # of a contact


@intrinsic  # type: ignore[untyped-decorator]
def subtract_product(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Subtract the product of two 6 × 6 blocks from a third: rows as vectors, a product and a difference as one."""
    for block in (a, b, c):
        if not _check_array(block, "a product of blocks", (types.float64,)) or block.ndim != 2:
            raise numba.TypingError(f"a product of blocks takes matrices, not {block}")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        x, y, z = (context.make_array(k)(context, builder, v).data for k, v in zip(signature.args, values, strict=True))

        def lanes(pointer: Any, row: int) -> list[Any]:
            found, at = [], _WIDE * row
            for size in _LANES:
                place = builder.gep(pointer, [ll.Constant(_INT, at)])
                found.append(builder.bitcast(place, ll.VectorType(ll.DoubleType(), size).as_pointer()))
                at += size
            return found

        def load(place: Any) -> Any:
            loaded = builder.load(place)
            loaded.align = WORD
            return loaded

        rows = [[load(place) for place in lanes(z, i)] for i in range(_WIDE)]
        for k in range(_WIDE):
            across = [load(place) for place in lanes(y, k)]
            for i in range(_WIDE):
                factor = builder.load(builder.gep(x, [ll.Constant(_INT, _WIDE * i + k)]))
                for lane, vector in enumerate(across):
                    spread = _spread(builder, factor, vector.type.count)
                    product = builder.fmul(spread, vector, flags=["contract"])
                    rows[i][lane] = builder.fsub(rows[i][lane], product, flags=["contract"])
        for i in range(_WIDE):
            for place, vector in zip(lanes(z, i), rows[i], strict=True):
                builder.store(vector, place).align = WORD
        return context.get_dummy_value()

    return types.void(a, b, c), generate


def _lanes(builder: Any, pointer: Any, start: int, size: int) -> Any:
    """Return where a vector of so many numbers stands."""
    place = builder.gep(pointer, [ll.Constant(_INT, start)])
    return builder.bitcast(place, ll.VectorType(ll.DoubleType(), size).as_pointer())


def _loaded(builder: Any, pointer: Any, start: int, size: int) -> Any:
    vector = builder.load(_lanes(builder, pointer, start, size))
    vector.align = WORD
    return vector


def _shuffled(builder: Any, a: Any, b: Any, lanes: tuple[int, ...]) -> Any:
    """Return the lanes of two vectors, one after the other, that are named."""
    return builder.shuffle_vector(a, b, ll.Constant(ll.VectorType(_I32, len(lanes)), list(lanes)))


def _spread(builder: Any, number: Any, size: int) -> Any:
    """Return a vector of so many times a number."""
    kind = ll.VectorType(ll.DoubleType(), size)
    one = builder.insert_element(ll.Constant(kind, ll.Undefined), number, ll.Constant(_I32, 0))
    zeros = ll.Constant(ll.VectorType(_I32, size), None)
    return builder.shuffle_vector(one, ll.Constant(kind, ll.Undefined), zeros)


def _data(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
    """Return the pointers of arrays, and numbers as they are."""
    return [
        context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, values, strict=True)
    ]


def _check_rows(rows: Any, x: Any, y: Any) -> None:
    for array, indices in ((rows, 2), (x, 1), (y, 1)):
        if not _check_array(array, "a product of rows", (types.float64,)) or array.ndim != indices:
            raise numba.TypingError(f"a product of rows takes a matrix and two vectors, not {array}")


@intrinsic  # type: ignore[untyped-decorator]
def times_rows(typing_context: Any, rows: Any, x: Any, y: Any) -> Any:
    """Return three rows of twelve times two vectors of six that stand for one of twelve."""
    _check_rows(rows, x, y)
    result = types.UniTuple(types.float64, _ROWS)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, first, second = _data(context, builder, signature, values)
        middle = _loaded(builder, first, 4, 2), _loaded(builder, second, 0, 2)
        vectors = (
            _loaded(builder, first, 0, 4),
            _shuffled(builder, *middle, (0, 1, 2, 3)),
            _loaded(builder, second, 2, 4),
        )
        sums = []
        for r in range(_ROWS):
            total = builder.fmul(_loaded(builder, pointer, 2 * _WIDE * r, 4), vectors[0])
            for k in (1, 2):
                product = builder.fmul(
                    _loaded(builder, pointer, 2 * _WIDE * r + 4 * k, 4), vectors[k], flags=["contract"]
                )
                total = builder.fadd(total, product, flags=["contract"])
            half = builder.fadd(_shuffled(builder, total, total, (0, 1)), _shuffled(builder, total, total, (2, 3)))
            parts = [builder.extract_element(half, ll.Constant(_I32, k)) for k in range(2)]
            sums.append(builder.fadd(*parts))
        return context.make_tuple(builder, result, sums)

    return result(rows, x, y), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_rows(typing_context: Any, rows: Any, p0: Any, p1: Any, p2: Any, x: Any, y: Any) -> Any:
    """Add three rows of twelve, each times a number, to two vectors of six that stand for one of twelve."""
    _check_rows(rows, x, y)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer, *numbers, first, second = _data(context, builder, signature, values)
        for side, target in enumerate((first, second)):
            at = 0
            for size in _LANES:
                total = _loaded(builder, target, at, size)
                for r, number in enumerate(numbers):
                    row = _loaded(builder, pointer, _WIDE * (2 * r + side) + at, size)
                    product = builder.fmul(_spread(builder, number, size), row, flags=["contract"])
                    total = builder.fadd(total, product, flags=["contract"])
                builder.store(total, _lanes(builder, target, at, size)).align = WORD
                at += size
        return context.get_dummy_value()

    number = types.float64
    return types.void(rows, number, number, number, x, y), generate


def _at(builder: Any, pointer: Any, column: Any) -> Any:
    """Return where rows begin at a column."""
    return builder.gep(pointer, [column])


def _check_blocks(blocks: tuple[Any, ...]) -> None:
    for block in blocks:
        if not _check_array(block, "a product of rows", (types.float64,)) or block.ndim != 2:
            raise numba.TypingError(f"a product of rows takes matrices, not {block}")


@intrinsic  # type: ignore[untyped-decorator]
def add_crossed(typing_context: Any, a: Any, row: Any, b: Any, column: Any, block: Any) -> Any:
    """Add aᵀ b to a 6 × 6 block, of six columns of three rows of twelve each, from a row and a column on."""
    _check_blocks((a, b, block))

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        first, row, second, column, target = _data(context, builder, signature, values)
        first, second = _at(builder, first, row), _at(builder, second, column)
        starts = (0, _LANES[0])
        across = [
            [_loaded(builder, second, 2 * _WIDE * r + at, size) for at, size in zip(starts, _LANES, strict=True)]
            for r in range(_ROWS)
        ]
        for i in range(_WIDE):
            factors = [builder.load(builder.gep(first, [ll.Constant(_INT, 2 * _WIDE * r + i)])) for r in range(_ROWS)]
            for lane, (at, size) in enumerate(zip(starts, _LANES, strict=True)):
                total = _loaded(builder, target, _WIDE * i + at, size)
                for r, factor in enumerate(factors):
                    product = builder.fmul(_spread(builder, factor, size), across[r][lane], flags=["contract"])
                    total = builder.fadd(total, product, flags=["contract"])
                builder.store(total, _lanes(builder, target, _WIDE * i + at, size)).align = WORD
        return context.get_dummy_value()

    return types.void(a, types.int64, b, types.int64, block), generate


@intrinsic  # type: ignore[untyped-decorator]
def write_rows_times(typing_context: Any, rows: Any, column: Any, block: Any, out: Any) -> Any:
    """Write six columns of three rows of twelve, from a column on, times a 6 × 6 block to the same place of others."""
    _check_blocks((rows, block, out))

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        source, column, matrix, target = _data(context, builder, signature, values)
        source, target = _at(builder, source, column), _at(builder, target, column)
        for r in range(_ROWS):
            at = 0
            for size in _LANES:
                total = ll.Constant(ll.VectorType(ll.DoubleType(), size), None)
                for j in range(_WIDE):
                    factor = builder.load(builder.gep(source, [ll.Constant(_INT, 2 * _WIDE * r + j)]))
                    line = _loaded(builder, matrix, _WIDE * j + at, size)
                    product = builder.fmul(_spread(builder, factor, size), line, flags=["contract"])
                    total = builder.fadd(total, product, flags=["contract"])
                builder.store(total, _lanes(builder, target, 2 * _WIDE * r + at, size)).align = WORD
                at += size
        return context.get_dummy_value()

    return types.void(rows, types.int64, block, out), generate


INTRINSICS = {
    "call": call,
    "ask": ask,
    "vector_at": vector_at,
    "subtract_product": subtract_product,
    "times_rows": times_rows,
    "add_rows": add_rows,
    "add_crossed": add_crossed,
    "write_rows_times": write_rows_times,
}
