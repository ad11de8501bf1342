"""A loop and all it calls → one object: numba infers types and writes LLVM's language, once for each function.

numba by itself links everything a function calls into it, optimizes that and emits it, at each level of the call tree
anew. Here only an entry point is optimized and emitted, with its whole closure; what it calls stays as it was written.
The object has one symbol, with a C signature, and needs nothing of Python.
"""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ll
from numba.core import cgutils, codegen, cpu, target_extension, typing
from numba.core import types as nb
from numba.core.compiler_lock import global_compiler_lock
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.np import arrayobj

from impinge.compile.loops.blocks import BLOCKS
from impinge.compile.loops.closure import loop_digest, refused
from impinge.compile.loops.layout import FAULT, FLOAT, INTEGER, ArrayKind, Signature
from impinge.compile.loops.lowering import INTRINSICS, array_at, numba_type, struct_at
from impinge.compile.machine import ENTRY
from impinge.errors import CompileError

_TARGET = "impinge"
_OWN = "_ZN7impinge"  # how numba's names of the package's own functions begin
_EXPECTED = "code that can become machine code"
# Without numba's run-time (_nrt) a loop that would allocate memory does not even compile.
_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True}


class _Library(codegen.CPUCodeLibrary):  # type: ignore[misc]  # numba has no type hints
    """Code that is kept as numba wrote it."""

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        """Do nothing: it is optimized as a part of the entry points that contain it."""

    @property
    def module(self) -> Any:
        """What numba wrote."""
        return self._final_module

    def closure(self) -> Iterator[_Library]:
        """Yield all libraries that this one calls, directly or not, but for itself."""
        seen, waiting = {self}, [self]
        while waiting:
            for library in waiting.pop()._linking_libraries:
                if library not in seen:
                    seen.add(library)
                    waiting.append(library)
                    yield library


class _Codegen(codegen.AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Library


class _Context(cpu.CPUContext):  # type: ignore[misc]
    """numba's target, where nothing is emitted."""

    allow_dynamic_globals = False

    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen("impinge")

    def add_dynamic_addr(self, builder: Any, address: int, info: str) -> Any:
        """Return nothing in place of a Python object's address, which numba writes beside calls and nobody reads."""
        return ll.Constant(self.get_value_type(nb.voidptr), None)

    def post_lowering(self, module: Any, library: Any) -> None:
        """Leave the code as it is, without numba's run-time."""

    def get_executable(self, library: Any, description: Any, environment: Any) -> Any:
        """Return what stands for the function when others call it; it cannot be called from Python."""
        return lambda: None


def _place(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """Return an index as it is in the package's own loops, where none is negative; elsewhere it may count from the end.

    To tell one from the other takes a tenth of the time of a loop over small arrays.
    """
    if isinstance(context, _Context) and builder.function.name.startswith(_OWN):
        return context.cast(builder, index, kind, nb.intp)
    return _place_anywhere(context, builder, kind, index, size)


_place_anywhere, arrayobj.fix_integer_index = arrayobj.fix_integer_index, _place


class _Target(TargetDescriptor):  # type: ignore[misc]
    """Types and target of the functions here, apart from those that others compile with numba in this process."""

    options = cpu.CPUTargetOptions

    @functools.cached_property
    def typing_context(self) -> Any:
        return typing.Context()

    @functools.cached_property
    def target_context(self) -> Any:
        return _Context(self.typing_context, self._target_name)


class _Loops(target_extension.CPU):  # type: ignore[misc]
    """What numba knows how to do on this processor can be done here too."""


class _Inner(Dispatcher):
    """A function for machine code, compiled for the types that its callers have."""

    targetdescr = _Target(_TARGET)

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result


def _compile_too(*_: Any, **options: Any) -> Callable[[Any], _Inner]:
    """Be the decorator with which numba compiles its own functions that loops call."""
    options.pop("target", None)
    return lambda function: _Inner(function, targetoptions={**_OPTIONS, **options})


target_extension.target_registry[_TARGET] = _Loops
target_extension.dispatcher_registry[_Loops] = _Inner
target_extension.jit_registry[_Loops] = _compile_too


_dispatchers: dict[tuple[Any, str], _Inner] = {}
_digests: dict[Any, str] = {}  # of functions, while an entry point is written


def _dispatcher(loop: Any) -> _Inner:
    """Return what compiles a loop with all it refers to as that is now."""
    known = loop, loop_digest(loop, _digests)
    if known not in _dispatchers:
        inline = {"inline": "always"} if loop.inline else {}
        _dispatchers[known] = _Inner(loop.function, targetoptions={**_OPTIONS, **inline})
    return _dispatchers[known]


def type_of(value: Any) -> Any:
    """Return the numba type of a loop or of one of the names in `primitives` that only loops can use."""
    if hasattr(value, "function"):
        return nb.Dispatcher(_dispatcher(value))
    return _type_of_primitive(value)


@functools.cache
def _type_of_primitive(value: Any) -> Any:
    intrinsic = (INTRINSICS | BLOCKS)[value.name] if value.struct is None else struct_at(value.struct)
    context = _Inner.targetdescr.typing_context
    context.refresh()  # where it has just been made
    return context.resolve_value_type(intrinsic)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Keep Python from searching for garbage: numba makes many objects and drops few of them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _wrap(context: Any, description: Any, signature: Signature, returned: str) -> Any:
    """Write the function with the C signature that calls numba's."""
    module = context.create_module("entry")
    inner_type = context.call_conv.get_function_type(description.restype, description.argtypes)
    inner = ll.Function(module, inner_type, description.llvm_func_name)
    integer, double = ll.IntType(64), ll.DoubleType()
    passed: list[Any] = []
    for kind in signature.arguments:
        if isinstance(kind, ArrayKind):
            passed += [ll.PointerType(context.get_data_type(numba_type(kind).dtype)), *[integer] * kind.indices]
        else:
            passed.append(context.get_value_type(numba_type(kind)))
    result = double if returned == FLOAT else integer
    outer = ll.Function(module, ll.FunctionType(result, passed), ENTRY)
    builder = ll.IRBuilder(outer.append_basic_block("entry"))
    given, values = iter(outer.args), []
    for kind in signature.arguments:
        value = next(given)
        if isinstance(kind, ArrayKind):
            shape = [next(given) for _ in range(kind.indices)]
            value = array_at(context, builder, numba_type(kind), value, shape)
        values.append(value)
    status, out = context.call_conv.call_function(builder, inner, description.restype, description.argtypes, values)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ll.Constant(result, FAULT if result is integer else float("nan")))
    if description.restype == nb.none:
        builder.ret(ll.Constant(result, 0))
    else:
        builder.ret(context.cast(builder, out, description.restype, numba_type(returned)))
    return module


def _result(loop: Any, signature: Signature, found: Any) -> str:
    """Return what an entry point returns: float64, int64, bool or none; what its signature says, if it says it."""
    names = {nb.none: "none", nb.boolean: "bool", nb.float64: FLOAT}
    result = names.get(found, INTEGER if isinstance(found, nb.Integer) else "")
    if not result or (signature.result == INTEGER and result == FLOAT):
        what = {INTEGER: "an int from every return", FLOAT: "a float from every return"}
        remedy = "Other results are written into an array that is given."
        raise CompileError(
            f"'{loop.name}'", what.get(signature.result or "", "a number or nothing"), str(found), remedy
        )
    return signature.result or result


def _complaint(problem: Exception) -> str:
    """Say in a line or two what numba says in a hundred: the first cause, and the line of the user's file."""
    text = str(problem)
    if "NRT required" in text or "enable_nrt" in text or "Only accept returning of array" in text:
        cause = "code that allocates memory, such as a list, a text or a new array"
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if not line.startswith(("Failed in", "During", "File", ">>>", "<source"))]
        telling = re.findall(r"(?:TypingError|NumbaTypeError): (?!Failed in)(.+)", text) or telling
        cause = telling[0] if telling else type(problem).__name__
        if "Cannot determine Numba type of <class 'function'>" in text:
            cause += "; decorate that function with @jit"
    places = [found for found in re.findall(r'File "([^"]+)", line (\d+)', text) if "numba" not in found[0]]
    places += [(place, line) for place, line in re.findall(r"at (\S+\.py) \((\d+)\)", text) if "numba" not in place]
    return cause + (f", at {places[-1][0]}:{places[-1][1]}" if places else "")


def _infer(loop: Any, arguments: tuple[Any, ...]) -> Any:
    """Have numba infer the types in a loop for these arguments and write it and all it calls; return what it knows."""
    with global_compiler_lock, _without_collecting(), target_extension.target_override(_TARGET):
        _digests.clear()
        found = refused(loop)
        if found is not None:
            remedy = "Return a number that says so; write a loop in place of a recursion."
            raise CompileError(
                f"'{loop.name}'", "code that can become machine code", f"{found[0]} in {found[1]}", remedy
            )
        types = tuple(numba_type(kind) for kind in arguments)
        dispatcher = _dispatcher(loop)
        try:
            dispatcher.compile(types)
        except Exception as problem:  # numba's own, and whatever comes out of it for names that do not exist
            remedy = "Loops have numbers, tuples, given arrays, structs, functions of math, and functions with @jit."
            raise CompileError(
                f"'{loop.name}'", "code that can become machine code", _complaint(problem), remedy
            ) from None
        return dispatcher.overloads[types]


def write(loop: Any, signature: Signature) -> tuple[bytes, str]:
    """Return a loop with its closure in LLVM's language, and what it returns."""
    found = _infer(loop, signature.arguments)
    target, result = _Inner.targetdescr.target_context, _result(loop, signature, found.signature.return_type)
    with global_compiler_lock, _without_collecting():
        wrapper = _wrap(target, found.fndesc, signature, FLOAT if result == FLOAT else INTEGER)
        module = llvm.parse_assembly(cgutils.normalize_ir_text(str(wrapper)))
        for library in (found.library, *found.library.closure()):
            module.link_in(library.module, preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.name != ENTRY:
                function.linkage = "internal"
        for variable in module.global_variables:
            if not variable.is_declaration:
                variable.linkage = "internal"
        return module.as_bitcode(), result
