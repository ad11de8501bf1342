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
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_LOAD_GLOBAL, _STORE_NAME = opcode.opmap["LOAD_GLOBAL"], opcode.opmap["STORE_NAME"]
_EXTENDED, _CACHE = opcode.opmap["EXTENDED_ARG"], opcode.opmap["CACHE"]
_PACKAGE = __name__.partition(".")[0]
_TRANSLATORS = ("lowering", "whole", "machine")  # the files of this folder that decide what becomes of a loop


def closure_digest(loop: Any) -> str:
    """Return a hash of all that decides what the machine code of a loop does, but for the types of its arguments."""
    parts = sorted({_own_digest(member.function) for member in closure(loop).values()})
    return hashlib.sha256("\n".join([_translation(), _own_digest(loop.function), *parts]).encode()).hexdigest()


def closure(loop: Any) -> dict[str, Any]:
    """Return the loop and all loops that it calls, directly or not, by their full names."""
    found: dict[str, Any] = {}
    waiting = [loop]
    while waiting:
        one = waiting.pop()
        name = f"{full_name(one.function)}#{id(one.function)}"
        if name not in found:
            found[name] = one
            waiting += [value for _, value in _references(one.function) if is_loop(value)]
    return found


def is_loop(value: Any) -> bool:
    """Tell whether a value is a function for machine code (made by `jit` or `entry`)."""
    return isinstance(getattr(value, "function", None), FunctionType) and hasattr(value, "inline")


def full_name(function: Callable[..., Any]) -> str:
    """Return the name of a function with that of its module."""
    return f"{function.__module__}.{function.__qualname__}"


def _own_digest(function: FunctionType) -> str:
    """Return a hash of one function: its instructions, and the values that it refers to now."""
    parts = [full_name(function), _code_digest(function.__code__)]
    parts += [_described(function.__defaults__), _described(tuple((function.__kwdefaults__ or {}).items()))]
    parts += [f"{name}={_described(value)}" for name, value in _references(function)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


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
            parts.append(_described(code.co_consts[argument]))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _references(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names outside a function that it uses, and their values; of the package's modules, what it uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {name: cell.cell_contents for name, cell in cells}
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            found[name] = function.__globals__[name]
    for name, value in found.items():
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == _PACKAGE:
            for attribute in function.__code__.co_names:
                if hasattr(value, attribute):
                    yield f"{name}.{attribute}", getattr(value, attribute)
        else:
            yield name, value


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


def _described(value: Any) -> str:
    """Describe a value that machine code refers to by what it is, not by where it stands in memory."""
    if is_loop(value):
        return f"loop {full_name(value.function)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_described, value))})"
    if isinstance(value, frozenset):
        return f"set ({', '.join(sorted(map(_described, value)))})"
    if not isinstance(value, Enum) and isinstance(value, str | bytes | int | float | complex | np.generic | None):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, FunctionType):
        return f"function {full_name(value)} {_code_digest(value.__code__)}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if name is None or isinstance(value, Enum):  # rather compiled once too often than stale
        name = f"{type(value).__qualname__} {value!r}"
    return f"{getattr(value, '__module__', '')}.{name}"


@functools.cache
def _translation() -> str:
    """Return a hash of the code that turns loops into machine code, which need not be imported for that."""
    digest = hashlib.sha256()
    for name in _TRANSLATORS:
        module = f"{__package__}.{name}"
        spec = importlib.util.find_spec(module)
        loader: Any = spec.loader if spec else None
        code = loader.get_code(module)
        digest.update(_code_digest(code).encode())
    return digest.hexdigest()
