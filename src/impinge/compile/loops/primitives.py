"""Names that only machine code can use; `lowering` and `blocks` say what becomes of them."""

from __future__ import annotations

from typing import Any

from impinge.compile.loops.layout import Layout, layout_of
from impinge.errors import CompileError


class Primitive:
    """A name that only machine code can use."""

    def __init__(self, name: str, doc: str, struct: Layout | None = None) -> None:
        self.name, self.struct, self.__doc__ = name, struct, doc
        self.__qualname__ = f"{name} {struct.text if struct else ''}"

    @property
    def _numba_type_(self) -> Any:
        from impinge.compile.loops.whole import type_of

        return type_of(self)

    def __call__(self, *arguments: Any) -> Any:
        """Refuse: Python has other ways."""
        raise CompileError(f"'{self.name}'", "a call in machine code", "one from Python", "Use it in a jit function.")


call = Primitive("call", "Call the kernel at an address: ``call(address, (x, t, u, p, out))``.")
ask = Primitive("ask", "Call the entry point at an address: ``ask(address, (w, x, n))``; it returns an int.")
vector_at = Primitive("vector_at", "Take the numbers at a pointer for a vector: ``vector_at(pointer, size)``.")
subtract_product = Primitive(
    "subtract_product", "Subtract the product of two 6 × 6 matrices from a third: ``subtract_product(a, b, c)``."
)
times_rows = Primitive(
    "times_rows", "Return three rows of twelve times two vectors of six, as a tuple: ``times_rows(rows, x, y)``."
)
add_rows = Primitive(
    "add_rows",
    "Add three rows of twelve, times numbers, to two vectors of six: ``add_rows(rows, a, b, c, x, y)``.",
)
add_crossed = Primitive(
    "add_crossed",
    "Add aᵀb to a 6 × 6 matrix c: six columns each of three rows of twelve, from i and j on: "
    "``add_crossed(a, i, b, j, c)``.",
)
write_rows_times = Primitive(
    "write_rows_times",
    "Write six columns of three rows of twelve, from i on, times a 6 × 6 matrix b to the same place of others: "
    "``write_rows_times(rows, i, b, out)``.",
)


def struct_at(struct: type) -> Primitive:
    """Return a function for machine code that takes an address for the packed struct of a named tuple class."""
    return Primitive("struct_at", f"Take an address for a {struct.__name__}.", layout_of(struct))
