"""Products of the rows of a contact and of blocks of six, as vectors of four and two numbers."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ll
import numba
from numba.extending import intrinsic

from impinge.compile.loops.layout import WORD
from impinge.compile.loops.lowering import check_array

types: Any = numba.types  # numba has type hints for some of them only
_INT, _I32 = ll.IntType(64), ll.IntType(32)

_WIDE, _LANES = 6, (4, 2)  # of a block, and the vectors that a row of it is
_ROWS = 3  # of a contact


@intrinsic  # type: ignore[untyped-decorator]
def subtract_product(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Subtract the product of two 6 × 6 blocks from a third: rows as vectors, a product and a difference as one."""
    for block in (a, b, c):
        if not check_array(block, "a product of blocks", (types.float64,)) or block.ndim != 2:
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
        if not check_array(array, "a product of rows", (types.float64,)) or array.ndim != indices:
            raise numba.TypingError(f"a product of rows takes a matrix and vectors, not {array}")


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
        if not check_array(block, "a product of rows", (types.float64,)) or block.ndim != 2:
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


BLOCKS = {
    "subtract_product": subtract_product,
    "times_rows": times_rows,
    "add_rows": add_rows,
    "add_crossed": add_crossed,
    "write_rows_times": write_rows_times,
}
