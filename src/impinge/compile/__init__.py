"""Symbolic functions and hot loops → machine code: frozen, cached or made now. The lowest layer."""

from impinge.compile.kernels.kernel import Kernel, compile_bounds, compile_kernel, no_record
from impinge.compile.loops.layout import Cube, IntegerMatrix, Integers, Matrix, Pointer, Vector
from impinge.compile.loops.loop import Entry, entry, inlined, jit, prepare
from impinge.compile.loops.primitives import (
    add_crossed,
    add_rows,
    ask,
    call,
    struct_at,
    subtract_product,
    times_rows,
    vector_at,
    write_rows_times,
)
from impinge.compile.loops.struct import Struct, address_of, keep_array, pack_for, pack_once

__all__ = [
    "Cube",
    "Entry",
    "IntegerMatrix",
    "Integers",
    "Kernel",
    "Matrix",
    "Pointer",
    "Struct",
    "Vector",
    "add_crossed",
    "add_rows",
    "address_of",
    "ask",
    "call",
    "compile_bounds",
    "compile_kernel",
    "entry",
    "inlined",
    "jit",
    "keep_array",
    "no_record",
    "pack_for",
    "pack_once",
    "prepare",
    "struct_at",
    "subtract_product",
    "times_rows",
    "vector_at",
    "write_rows_times",
]
