"""Symbolic functions → machine code, cached. The lowest layer."""

from impinge.compile.jit import ask, call, callback, inlined, jit
from impinge.compile.kernel import Kernel, compile_kernel
from impinge.compile.struct import (
    Cube,
    IntegerMatrix,
    Integers,
    Matrix,
    Struct,
    Vector,
    keep_array,
    pack_once,
    struct_at,
    struct_type,
)

__all__ = [
    "Cube",
    "IntegerMatrix",
    "Integers",
    "Kernel",
    "Matrix",
    "Struct",
    "Vector",
    "ask",
    "call",
    "callback",
    "compile_kernel",
    "inlined",
    "jit",
    "keep_array",
    "pack_once",
    "struct_at",
    "struct_type",
]
