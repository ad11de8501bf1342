"""Hot loops: numba functions that are compiled once per source text and cached beside the kernels.

numba's own cache looks at the file of the outermost function only, so an edited callee in another
file goes unnoticed, and a damaged entry is an exception. This one is stamped with the text of all
layers that every hot loop may call and of the function's own folder, and it shares the tolerant store of `cache`.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.ir as ll
import numba
from numba.core import cgutils, sigutils, types
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.ccallback import CFunc
from numba.core.serialize import dumps
from numba.extending import intrinsic

from impinge.compile import cache

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parents[1]
_HOT_LAYERS = (
    "compile",
    "geometry",
    "scene",
    "contact",
    "simulation",
)  # which hot loops anywhere may call or take constants from


_announce: list[Callable[[], None]] = []


def before_compiling(action: Callable[[], None]) -> None:
    """Call an action once, when a hot loop is not in the cache and is about to be compiled."""
    _announce[:] = [action]


@functools.cache
def _text_stamp(file: Path) -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    layers = (source for layer in _HOT_LAYERS for source in sorted((_PACKAGE / layer).rglob("*.py")))
    beside = sorted(file.parent.glob("*.py")) if file.is_relative_to(_PACKAGE) else [file]
    for source in (*layers, *beside):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _OverloadCache(NullCache):  # type: ignore[misc]  # numba has no type hints
    """What a numba dispatcher asks of its cache, on top of our store."""

    def __init__(self, function: Callable[..., Any]) -> None:
        file = Path(inspect.getfile(function))
        self._function = f"{function.__module__}.{function.__qualname__}"
        self._stamp = _text_stamp(file) if file.exists() else None

    def _key(self, signature: object, codegen: Any) -> str:
        target = str(codegen.magic_tuple())
        return cache.key(str(self._stamp), self._function, str(signature), target) + ".loop"

    def load_overload(self, sig: object, target_context: Any) -> Any:
        target_context.refresh()
        payload = cache.load(self._key(sig, target_context.codegen())) if self._stamp else None
        if payload is None:
            while _announce:
                _announce.pop()()
            return None
        try:
            return CompileResultCacheImpl.rebuild(None, target_context, pickle.loads(payload))
        except Exception:  # whatever an entry of another world holds, recompiling is right
            return None

    def save_overload(self, sig: object, data: Any) -> None:
        if self._stamp and CompileResultCacheImpl.check_cachable(None, data):
            cache.store(self._key(sig, data.codegen), dumps(data._reduce()))


def jit(function: F) -> F:
    """Compile a function with numba: no GIL, no Python objects, cached on disk.

    Example:
        >>> @jit
        ... def twice(x):
        ...     return 2 * x
        >>> twice(21)
        42
    """
    # Without numba's run-time (_nrt) a loop that would allocate memory does not even compile.
    dispatcher = numba.njit(nogil=True, error_model="numpy", _nrt=False)(function)
    dispatcher._cache = _OverloadCache(function)
    return cast(F, dispatcher)


def inlined(function: F) -> F:
    """Compile a function as `jit` does, as a part of each of its callers: for small ones that are called often."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", _nrt=False, inline="always")(function))


class Callback:
    """A function with a C signature, compiled when its address is first asked for.

    From Python it is called with numbers; arrays and structs by their address. That costs a tenth of what
    numba's dispatcher takes.
    """

    def __init__(self, signature: Any, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self._signature = signature
        self._function = function

    @functools.cached_property
    def address(self) -> int:
        """Where the machine code is; the callback must be kept alive while it is in use."""
        compiled: Any = CFunc(
            self._function,
            sigutils.normalize_signature(self._signature),
            locals={},
            options={"nogil": True, "error_model": "numpy"},
        )
        compiled._cache = _OverloadCache(self._function)
        compiled.compile()
        self._compiled = compiled
        return int(compiled.address)

    @functools.cached_property
    def _entry(self) -> Any:
        arguments = sigutils.normalize_signature(self._signature)[0]
        kinds = [ctypes.c_double if kind is types.float64 else ctypes.c_int64 for kind in arguments]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self.address)

    def __call__(self, *arguments: float) -> int:
        """Call the machine code once."""
        return int(self._entry(*arguments))


def callback(signature: Any) -> Callable[[Callable[..., Any]], Callback]:
    """Turn a function into machine code that a hot loop calls by address (a numba signature, or its text)."""
    return functools.partial(Callback, signature)


@intrinsic  # type: ignore[untyped-decorator]
def call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the machine code at an address from a hot loop: ``call(address, (x, t, u, p, out))``.

    An array is passed as the pointer to its first element, a float as a pointer to a copy of it.
    """
    for argument in arguments:
        array = isinstance(argument, types.Array) and argument.layout == "C"
        if not (array and argument.dtype == types.float64) and argument != types.float64:
            raise numba.TypingError(f"a kernel takes float64 and contiguous float64 arrays, not {argument}")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        tuple_type, pointers = signature.args[1], []
        for k, argument in enumerate(tuple_type):
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
    """Call the callback at an address: integers and floats by value, arrays by pointer; it returns an int."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        tuple_type, passed = signature.args[1], []
        for k, argument in enumerate(tuple_type):
            value = builder.extract_value(values[1], k)
            if isinstance(argument, types.Array):
                value = context.make_array(argument)(context, builder, value).data
            passed.append(value)
        function = ll.FunctionType(ll.IntType(64), [value.type for value in passed])
        return builder.call(builder.inttoptr(values[0], function.as_pointer()), passed)

    return types.int64(types.int64, arguments), generate
