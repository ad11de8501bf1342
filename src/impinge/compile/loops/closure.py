"""What a loop's machine code depends on: its own code, that of all loops it calls, and the constants they use.

The digest looks at what Python made of the source, not at its text: comments, docstrings, annotations and line numbers
do not count, and neither does anything that is not called. The names of an entry in a cache are made of it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import opcode
from collections.abc import Callable, Iterator
from enum import Enum, EnumMeta
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_LOAD_GLOBAL, _STORE_NAME = opcode.opmap["LOAD_GLOBAL"], opcode.opmap["STORE_NAME"]
_EXTENDED, _CACHE = opcode.opmap["EXTENDED_ARG"], opcode.opmap["CACHE"]
_RAISES = [opcode.opmap[name] for name in ("RAISE_VARARGS", "LOAD_ASSERTION_ERROR") if name in opcode.opmap]
_KNOWN = ("math", "numpy")  # modules whose functions numba has machine code for
# What decides what becomes of a loop.
_TRANSLATORS = (
    "impinge.compile.loops.blocks",
    "impinge.compile.loops.lowering",
    "impinge.compile.loops.whole",
    "impinge.compile.machine",
)


def closure_digest(loop: Any) -> str:
    """Return a hash of all that decides what the machine code of a loop does, but for the types of its arguments."""
    return hashlib.sha256(f"{_translation()} {loop_digest(loop, {})}".encode()).hexdigest()


def loop_digest(loop: Any, known: dict[Any, str]) -> str:
    """Return a hash of a loop: its instructions, and the values that it refers to now, loops included."""
    function = loop.function
    if function not in known:
        known[function] = "itself"  # a function that calls itself is refused when it is compiled
        parts = [full_name(function), _code_digest(function.__code__), str(loop.inline)]
        parts.append(_described(function.__defaults__, known))
        parts.append(_described(tuple((function.__kwdefaults__ or {}).items()), known))
        parts += [f"{name}={_described(value, known)}" for name, value in _references(function)]
        known[function] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return known[function]


def _called(loop: Any) -> list[Any]:
    """Return the loops that a loop refers to, also as members of tuples."""
    found, values = [], [value for _, value in _references(loop.function)]
    while values:
        value = values.pop()
        if is_loop(value):
            found.append(value)
        elif isinstance(value, tuple | list):
            values += value
    return found


def refused(loop: Any) -> tuple[str, str] | None:
    """Return what machine code cannot do and which function of a closure does it all the same, or None.

    An exception would have nobody to go to, and a function that calls itself would not end where numba expects it to.
    """
    state: dict[Any, bool] = {}  # whether a loop is done, or is being looked at

    def look(one: Any) -> tuple[str, str] | None:
        state[one.function] = False
        for code in _codes(one.function.__code__):
            for operation, _ in _instructions(code):
                if operation in _RAISES:
                    return (
                        "a raise or an assert",
                        f"'{full_name(one.function)}' ({code.co_filename}:{code.co_firstlineno})",
                    )
        for other in _called(one):
            if state.get(other.function) is False:
                return "a function that calls itself", f"'{full_name(other.function)}'"
            if other.function not in state:
                found = look(other)
                if found:
                    return found
        state[one.function] = True
        return None

    return look(loop)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def is_loop(value: Any) -> bool:
    """Tell whether a value is a function for machine code (made by `jit` or `entry`)."""
    return isinstance(getattr(value, "function", None), FunctionType) and hasattr(value, "inline")


def full_name(function: Callable[..., Any]) -> str:
    """Return the name of a function with that of its module."""
    return f"{function.__module__}.{function.__qualname__}"


def _instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield the operations of a piece of code with their arguments."""
    argument = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument = argument << 8 | low
        if operation == _EXTENDED:
            continue
        if operation != _CACHE:
            yield operation, argument
        argument = 0


@functools.cache
def _code_digest(code: CodeType) -> str:
    """Hash what a piece of code does; its docstring is a constant that no function loads."""
    parts: list[str] = [repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))]
    for operation, argument in _instructions(code):
        if operation == _STORE_NAME and code.co_names[argument] == "__doc__":  # that of a class or module
            parts.pop()
        elif operation not in opcode.hasconst:
            parts.append(f"{operation} {argument}")
        elif isinstance(code.co_consts[argument], CodeType):
            parts.append(_code_digest(code.co_consts[argument]))
        else:
            parts.append(_described(code.co_consts[argument], {}))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _references(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names outside a function that it uses, and their values; of a module, what it uses of that."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {name: cell.cell_contents for name, cell in cells}
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            found[name] = function.__globals__[name]
    used = [name for code in _codes(function.__code__) for name in code.co_names]
    for name, value in found.items():
        if isinstance(value, ModuleType) and value.__name__ not in _KNOWN:
            yield from _attributes(name, value, used, {value})
        else:
            yield name, value


def _attributes(name: str, module: ModuleType, used: list[str], seen: set[ModuleType]) -> Iterator[tuple[str, Any]]:
    """Yield what may be meant by attributes of a module, and of modules in it, that a function uses."""
    for attribute in used:
        value = vars(module).get(attribute)
        if isinstance(value, ModuleType) and value not in seen:
            yield from _attributes(f"{name}.{attribute}", value, used, {*seen, value})
        elif value is not None and not isinstance(value, ModuleType):
            yield f"{name}.{attribute}", value


@functools.cache
def _global_names(code: CodeType) -> tuple[str, ...]:
    """Return the global names that a piece of code loads, those of functions inside it included."""
    names = {
        code.co_names[argument >> 1]: None for operation, argument in _instructions(code) if operation == _LOAD_GLOBAL
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= dict.fromkeys(_global_names(constant))
    return tuple(names)


def _described(value: Any, known: dict[Any, str]) -> str:
    """Describe a value that machine code refers to by what it is, not by where it stands in memory."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if is_loop(value):
        return f"loop {loop_digest(value, known)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.strides}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple | list | frozenset):
        members = [_described(member, known) for member in value]
        order = sorted(members) if isinstance(value, frozenset) else members
        return f"{kind} {getattr(value, '_fields', '')}({', '.join(order)})"
    if isinstance(value, EnumMeta):
        return f"{kind} {value.__module__}.{value.__qualname__} {[(one.name, one.value) for one in value]!r}"  # type: ignore[var-annotated]
    if not isinstance(value, Enum):
        if isinstance(value, str | bytes | int | float | complex | np.generic | None):
            return f"{kind} {value!r}"
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if name is not None:  # of a function or class that numba knows, or refuses
            return f"{getattr(value, '__module__', '')}.{name} {getattr(value, '_fields', '')}"
    return f"{kind} {value!r}"  # rather compiled once too often than stale


@functools.cache
def _translation() -> str:
    """Return a hash of the code that turns loops into machine code, which need not be imported for that."""
    digest = hashlib.sha256()
    for module in _TRANSLATORS:
        spec = importlib.util.find_spec(module)
        loader: Any = spec.loader if spec else None
        code = loader.get_code(module)
        digest.update(_code_digest(code).encode())
    return digest.hexdigest()
