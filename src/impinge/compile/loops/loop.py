"""Functions for machine code: those that others of them call (`jit`), and entry points with a C signature (`entry`).

numba compiles them, but is imported only when there is something to compile: an entry point's code is looked for among
the frozen objects that came with the package, then in the user's cache, and made if it is in neither.
"""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from impinge.compile import cache, frozen
from impinge.compile.emitter import emitting
from impinge.compile.loops.closure import closure_digest, full_name
from impinge.compile.loops.layout import FAULT, FLOAT, INTEGER, ArrayKind, Kind, Layout, Signature, signature_of
from impinge.compile.loops.struct import Struct, address_of
from impinge.compile.machine import Machine, UnknownSymbolError, host, load
from impinge.compile.progress import compiling
from impinge.errors import CompileError

F = TypeVar("F", bound=Callable[..., Any])

_NUMBERS: dict[str, Any] = {FLOAT: ctypes.c_double, INTEGER: ctypes.c_int64}

_FIRST_PAGE = 4096  # nothing stands at addresses below this
_alive: list[Code] = []
_preparing = threading.RLock()

ENTRIES: dict[str, Entry] = {}  # the package's own entry points, by full name, as far as their modules are imported


class Loop:
    """A function for machine code.

    Called from other such functions it becomes a part of them. Called from Python it is compiled for the arguments it
    is given: numbers, contiguous arrays and structs. That is for trying things out; what the package calls is declared
    as an `entry`.
    """

    def __init__(self, function: Callable[..., Any], inline: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function = cast(FunctionType, function)
        self.inline = inline
        self._made: dict[tuple[Kind, ...], Entry] = {}

    # What numba's inliner looks for in what is called.
    @property
    def targetoptions(self) -> dict[str, Any]:
        """How numba treats calls of it."""
        return {"inline": "always"} if self.inline else {}

    @property
    def py_func(self) -> Callable[..., Any]:
        """The Python function."""
        return self.function

    @property
    def _numba_type_(self) -> Any:
        from impinge.compile.loops.whole import type_of

        return type_of(self)

    def __call__(self, *arguments: Any) -> Any:
        """Compile it for these arguments, unless that was done before, and call it."""
        kinds = tuple(map(_kind_of_value, arguments))
        if kinds not in self._made:
            self._made[kinds] = Entry(self.function, Signature(kinds, None))
        return self._made[kinds](*arguments)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {full_name(self.function)}>"


class Entry(Loop):
    """A function for machine code with a C signature, which Python and other code call by its address.

    From Python it is called with numbers, arrays and structs; a struct may be given as its address. In the C signature
    a struct is an address, and an array is an address and its extents.
    """

    def __init__(self, function: Callable[..., Any], signature: Signature | None = None) -> None:
        super().__init__(function)
        self.name = re.sub("[<>]", "", full_name(function))
        if signature is not None:
            self.signature = signature
            self.name += "." + cache.key(signature.text)[:8]
        elif self.name.startswith("impinge."):
            ENTRIES[self.name] = self

    @functools.cached_property
    def signature(self) -> Signature:
        """Read from the annotations of the function."""
        try:
            return signature_of(self.function)
        except (TypeError, NameError) as problem:
            remedy = "Annotate it with int, float, bool, Vector, Matrix, Integers or a named tuple of these."
            raise CompileError(f"entry point '{self.name}'", "a C signature", str(problem), remedy) from None

    @functools.cached_property
    def key(self) -> str:
        """A hash of all that decides what its code does."""
        return cache.key(closure_digest(self), self.signature.text)[:32]

    @property
    def address(self) -> int:
        """Where the code is."""
        return self._loaded.address

    @property
    def _loaded(self) -> Code:
        if "_code" not in self.__dict__:
            prepare((self,))
        code: Code = self.__dict__["_code"]
        return code

    @functools.cached_property
    def unchecked(self) -> Callable[..., Any]:
        """The C function itself, for calls that come often: with addresses and numbers, which nobody checks."""
        passed: list[Any] = []
        for kind in self.signature.arguments:
            extents = kind.indices if isinstance(kind, ArrayKind) else 0
            passed += [_NUMBERS.get(cast(str, kind), ctypes.c_int64), *[ctypes.c_int64] * extents]
        result = _NUMBERS[FLOAT] if self._loaded.result == FLOAT else _NUMBERS[INTEGER]
        return ctypes.CFUNCTYPE(result, *passed)(self._loaded.address)

    def __call__(self, *arguments: Any) -> Any:
        """Call the code once."""
        kinds = self.signature.arguments
        if len(arguments) != len(kinds):
            raise self._refused(f"{len(kinds)} arguments, {self.signature}", f"{len(arguments)}")
        passed: list[Any] = []
        for k, (kind, value) in enumerate(zip(kinds, arguments, strict=True)):
            passed += self._passed(k, kind, value)
        value = self.unchecked(*passed)
        if value == FAULT:
            remedy = "Check the values that it was given."
            raise CompileError(f"machine code of '{self.name}'", "no exception in it", "one", remedy)
        if self._loaded.result == "none":
            return None
        return bool(value) if self._loaded.result == "bool" else value

    def _passed(self, k: int, kind: Kind, value: Any) -> Sequence[Any]:
        """Return what the C function is passed for an argument: of an array, its address and its extents."""
        name = self.function.__code__.co_varnames[k]
        if isinstance(kind, ArrayKind):
            if not isinstance(value, np.ndarray):
                raise self._refused(f"a contiguous array {kind} for '{name}'", type(value).__name__)
            flags = value.flags
            if value.dtype != kind.dtype or value.ndim != kind.indices or not flags.c_contiguous or not flags.writeable:
                more = "" if flags.writeable else ", read-only"
                raise self._refused(f"a contiguous array {kind} for '{name}'", f"{value.dtype}{value.shape}{more}")
            return address_of(value), *value.shape
        if isinstance(value, Struct):
            if not isinstance(kind, Layout) or value.layout.text != kind.text:
                raise self._refused(f"{kind} for '{name}'", f"a struct {value.layout}")
            return (value.address,)
        try:
            number = math.ldexp(value, 0) if kind == FLOAT else operator.index(value)  # which take no text
        except (TypeError, OverflowError):
            raise self._refused(f"{kind} for '{name}'", type(value).__name__) from None
        if isinstance(kind, Layout) and number < _FIRST_PAGE:
            raise self._refused(f"{kind} for '{name}'", f"{number}, which is no address")
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise self._refused(f"{kind} for '{name}'", f"{number}, which has more than 64 bits")
        return (number,)

    def _refused(self, expected: str, got: str) -> CompileError:
        remedy = "Arrays are contiguous float64 or int64 that may be written; a named tuple is packed with Struct."
        return CompileError(f"'{self.name}'", expected, got, remedy)


def jit(function: F) -> F:
    """Let a function become machine code: no Python objects, no memory allocated, no interpreter's lock.

    Example:
        >>> @jit
        ... def twice(x):
        ...     return 2 * x
        >>> twice(21)
        42
    """
    return cast(F, Loop(function))


def inlined(function: F) -> F:
    """Let a function become machine code as a part of each of its callers: for small ones that are called often."""
    return cast(F, Loop(function, inline=True))


def entry(function: Callable[..., Any]) -> Entry:
    """Let a function become machine code with a C signature, which its annotations say.

    Example:
        >>> from impinge.compile import Vector
        >>> @entry
        ... def total(x: Vector) -> float:
        ...     sum = 0.0
        ...     for i in range(x.size):
        ...         sum += x[i]
        ...     return sum
        >>> total(np.array([1.0, 2.0]))
        3.0
    """
    return Entry(function)


class Code:
    """Code in this process: where it is, and what it returns: float64, int64, bool or none."""

    def __init__(self, contents: bytes) -> None:
        header, _, code = contents.partition(b"\n")
        self.result = frozen.Header.read(header).result
        self.address, self._engine = load(code)
        _alive.append(self)  # somebody may have its address


def stored(one: Entry) -> bytes | None:
    """Return what is stored of an entry point if it is frozen or in the cache."""
    return frozen.load(one.name, one.key) or frozen.load_cached(one.name, one.key)


def contents_of(entries: Sequence[Entry], targets: Sequence[Machine]) -> Iterator[tuple[Entry, Machine, bytes]]:
    """Compile entry points for some machines; yield what is to be stored: a line that says what it is, and the code.

    Types are inferred in this process, once for all machines, while others optimize what is ready.
    """
    try:
        from impinge.compile.loops.whole import write
    except ImportError as problem:
        remedy = "Install it: pip install numba."
        raise CompileError(f"'{entries[0].name}'", "numba, to compile it", str(problem), remedy) from None

    def result(job: tuple[Entry, Machine, str, Future[bytes]]) -> tuple[Entry, Machine, bytes]:
        one, target, returned, code = job
        try:
            return one, target, frozen.Header(one.name, one.key, target.text, returned).line() + code.result()
        except UnknownSymbolError as problem:
            remedy = "Use arithmetic, functions of math, and arrays that are given; nothing of Python is there."
            who = f"machine code of '{one.name}'"
            raise CompileError(who, "code that calls the C library only", str(problem), remedy) from None

    with emitting(len(entries) * len(targets)) as emit:
        jobs: deque[tuple[Entry, Machine, str, Future[bytes]]] = deque()
        for one in entries:
            module, returned = write(one, one.signature)
            jobs += [(one, target, returned, emit(target, module)) for target in targets]
            while jobs and jobs[0][3].done():
                yield result(jobs.popleft())
        while jobs:
            yield result(jobs.popleft())


def compile_and_store(entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Compile entry points for this machine, show how many are left, and yield what was stored in the cache."""
    if not entries:
        return
    with compiling(entries) as count:
        for one, _, contents in contents_of(entries, [host()]):
            if not cache.store(frozen.cache_name(one.name, one.key), contents):
                cache.say_unwritable()
            count(one.name)
            yield one, contents


def prepare(entries: Iterable[Entry]) -> None:
    """Load the code of some entry points; compile those that are missing, and show how many are left."""
    absent = [one for one in entries if "_code" not in one.__dict__]
    if not absent:
        return
    with _preparing:
        missing = []
        for one in absent:
            if "_code" not in one.__dict__:
                contents = stored(one)
                if contents is None:
                    missing.append(one)
                else:
                    one.__dict__["_code"] = Code(contents)
        for one, contents in compile_and_store(missing):
            one.__dict__["_code"] = Code(contents)


def _kind_of_value(value: Any) -> Kind:
    """Return what a value given by Python is for machine code."""
    if isinstance(value, Struct):
        return value.layout
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, int | np.integer):
        return INTEGER
    if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.int64) and value.flags.c_contiguous:
        return ArrayKind(str(value.dtype), value.ndim)
    got = f"{type(value).__name__}" + (f" of {value.dtype}" if isinstance(value, np.ndarray) else "")
    remedy = "Pack a named tuple with Struct; make arrays contiguous."
    raise CompileError("machine code", "numbers, contiguous arrays of float64 or int64, structs", got, remedy)
