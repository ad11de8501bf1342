"""Symbolic functions become machine code in this process, with nothing but wheels installed."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.compile import cache, machine
from impinge.compile.kernels.bounds import FIELDS, bounds_assembly
from impinge.compile.kernels.ir import assembly
from impinge.compile.loops.struct import address_of
from impinge.errors import CompileError

Record = TypeVar("Record")  # a named tuple of arrays

_loaded: dict[str, tuple[int, Any]] = {}


@dataclass(frozen=True)
class Kernel:
    """Machine code for a symbolic function, callable by address from a hot loop.

    Attributes:
        name: what it computes, for messages.
        address: entry point ``void (double* in_0, ..., double* in_n, double* out)``.
        inputs: name → number of elements, in order.
        outputs: name → shape, in order; they stand one after another, column-major, in ``out``.
        instructions: scalar instructions in the symbolic function.
    """

    name: str
    address: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, tuple[int, int]]
    instructions: int

    @functools.cached_property
    def size(self) -> int:
        """Length of the output buffer."""
        return sum(rows * columns for rows, columns in self.outputs.values())

    @functools.cached_property
    def _places(self) -> dict[str, tuple[slice, tuple[int, int]]]:
        """Where each output stands in the buffer, and its shape."""
        ends = list(itertools.accumulate((rows * columns for rows, columns in self.outputs.values()), initial=0))
        places = map(slice, ends, ends[1:])
        return dict(zip(self.outputs, zip(places, self.outputs.values(), strict=True), strict=True))

    def __call__(self, *values: ArrayLike, only: Iterable[str] | None = None) -> dict[str, NDArray[np.float64]]:
        """Evaluate once from Python and return the outputs, all or some, by name (vectors as 1-D arrays)."""
        arrays = [_vector(value) for value in values]
        sizes = [array.size for array in arrays]
        if sizes != self._sizes:
            raise CompileError(
                f"kernel '{self.name}'",
                "inputs of sizes " + ", ".join(f"{k}: {n}" for k, n in self.inputs.items()),
                f"sizes {sizes}",
                "Pass one array for each input, in this order.",
            )
        out = np.zeros(self.size)
        self._entry(*[address_of(array) if array.size else None for array in (*arrays, out)])
        result, places = {}, self._places
        for name in self.outputs if only is None else only:
            place, shape = places[name]
            result[name] = out[place] if shape[1] == 1 else out[place].reshape(shape, order="F")
        return result

    def record(self, kind: type[Record]) -> Record:
        """Return arrays for all outputs, one after another in one piece of memory, as the fields of a named tuple.

        Fields are named as outputs; a matrix stands column by column, (columns, rows); a field that is no output is
        empty. The first of them is where the kernel writes.
        """
        hints, out, fields = get_type_hints(kind, include_extras=True), np.zeros(self.size), {}
        if [name for name in hints if name in self.outputs] != list(self.outputs):
            raise CompileError(
                f"kernel '{self.name}'",
                f"a record with fields {', '.join(self.outputs)}, in this order",
                f"{kind.__name__} with {', '.join(hints)}",
                "Name the fields as the outputs.",
            )
        for name, hint in hints.items():
            indices = hint.__metadata__[0].indices
            place, shape = self._places.get(name, (slice(0, 0), (0, 0)))
            fields[name] = out[place].reshape(shape[::-1] if indices == 2 else -1)
        return kind(**fields)

    def bind(self, *arrays: NDArray[np.float64]) -> Callable[[], None]:
        """Return a call of the kernel that reads and writes these very arrays (all inputs, then ``out``).

        For a controller's tick: a call takes a tenth of the time that `__call__` does.
        """
        sizes = [*self.inputs.values(), self.size]
        if [array.size for array in arrays] != sizes or not all(_plain(array) for array in arrays):
            raise CompileError(
                f"kernel '{self.name}'",
                f"contiguous float arrays of sizes {sizes}, the last for what it computes",
                f"sizes {[array.size for array in arrays]}",
                "Pass one array for each input, in order, and one for the outputs.",
            )
        call = functools.partial(self._entry, *(array.ctypes.data for array in arrays))
        call.arrays = arrays  # type: ignore[attr-defined]  # kept alive as long as the call
        return call

    @functools.cached_property
    def _sizes(self) -> list[int]:
        return list(self.inputs.values())

    @functools.cached_property
    def _entry(self) -> Any:
        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(self.inputs) + 1))(self.address)


def _vector(value: Any) -> NDArray[np.float64]:
    """Return numbers as a vector in memory; one that may be written is taken as it is."""
    if type(value) is float:
        return np.array([value])
    if type(value) is np.ndarray and value.ndim == 1 and _plain(value) and value.flags.writeable:
        return value
    vector = np.ascontiguousarray(value, dtype=float).ravel()
    return vector if vector.flags.writeable else vector.copy()


def _plain(array: NDArray[np.float64]) -> bool:
    return array.dtype == np.float64 and array.flags.c_contiguous


def _translate(text: str) -> bytes:
    return machine.host().emit(llvm.parse_assembly(text), machine.KERNELS)


def _load(text: str) -> int:
    """Return the entry point of the machine code for an assembly text, from the cache if it is there."""
    name = cache.key(text, machine.host().text) + ".kernel"
    if name not in _loaded:
        own, _, code = (cache.load(name) or b"").partition(b"\n")
        if own != name.encode():  # none, or another's
            code = _translate(text)
            cache.store(name, name.encode() + b"\n" + code)
        _loaded[name] = machine.load(code)
    return _loaded[name][0]


def no_record(kind: type[Record]) -> Record:
    """Return a named tuple of empty arrays, for a kernel that there is not."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{name: np.zeros((0,) * hint.__metadata__[0].indices) for name, hint in hints.items()})


def compile_kernel(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Kernel:
    """Compile CasADi SX expressions into a kernel.

    Args:
        name: for messages and profilers.
        inputs: name → SX column of symbols. Whatever may change between runs belongs here: a new value
            is then a new argument, never a recompilation.
        outputs: name → SX expression (vector or matrix).

    Example:
        >>> x = ca.SX.sym("x", 2)
        >>> norm = compile_kernel("norm", {"x": x}, {"r": ca.norm_2(x)})
        >>> norm([3.0, 4.0])["r"]
        array([5.])
    """
    function = _function(name, inputs, outputs)
    return Kernel(
        name=name,
        address=_load(assembly(function, machine.ENTRY)),
        inputs={k: v.numel() for k, v in inputs.items()},
        outputs={k: function.size_out(i) for i, k in enumerate(outputs)},
        instructions=function.n_instructions(),
    )


def compile_bounds(
    name: str, moving: Mapping[str, Any], fixed: Mapping[str, Any], outputs: Mapping[str, Any]
) -> Kernel:
    """Compile CasADi SX expressions into a kernel that bounds them, and their rates along a path, over a box.

    Args:
        name: for messages and profilers.
        moving: name → SX column of symbols that move along the path. For each element the kernel takes four numbers:
            the least and the greatest value over the box, then the least and the greatest rate.
        fixed: name → SX column of symbols that do not move, each one number.
        outputs: name → SX column. For each element the kernel gives the same four numbers; where nothing is known
            they are infinite. Every bound holds whatever rounding does.

    Example:
        >>> x = ca.SX.sym("x")
        >>> square = compile_bounds("square", {"x": x}, {}, {"y": x**2})
        >>> square([-1.0, 2.0, 3.0, 3.0])["y"].round(9)
        array([ 0.,  4., -6., 12.])
    """
    function = _function(name, {**moving, **fixed}, outputs)
    return Kernel(
        name=name,
        address=_load(bounds_assembly(function, len(moving), machine.ENTRY)),
        inputs={**{k: FIELDS * v.numel() for k, v in moving.items()}, **{k: v.numel() for k, v in fixed.items()}},
        outputs={k: (FIELDS, function.numel_out(i)) for i, k in enumerate(outputs)},
        instructions=function.n_instructions(),
    )


def _function(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Return expressions as a CasADi function, or raise the error that says which symbols it does not know."""
    shared = ca.cse(list(outputs.values()))
    function = ca.Function(name, list(inputs.values()), shared, list(inputs), list(outputs), {"allow_free": True})
    free = function.get_free()
    if free:
        raise CompileError(
            f"kernel '{name}'",
            f"expressions of {', '.join(inputs)} only",
            ", ".join(f"'{symbol}'" for symbol in free),
            "Declare these symbols in the model (coordinate, parameter, input) instead of making them by hand.",
        )
    return function
