"""LLVM: a module → an object for a kind of processor → code in this process."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

ENTRY = "entry"  # the symbol at which the code of an object begins

# Functions of the C library that objects may call; LLVM's own intrinsics become calls of some of them.
LIBRARY_FUNCTIONS = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "expm1", "log", "log1p", "log2", "log10", "pow", "hypot", "erf", "fmod", "remainder", "ldexp", "frexp"),
    *("sqrt", "cbrt", "fabs", "floor", "ceil", "trunc", "rint", "round", "fmin", "fmax", "copysign"),
)
MEMORY_FUNCTIONS = ("memcpy", "memmove", "memset")

LOOPS, KERNELS = 3, 2  # how hard LLVM tries


@dataclass(frozen=True)
class Machine:
    """A kind of processor.

    Attributes:
        triple: LLVM's name of architecture and system.
        cpu: LLVM's name of the processor or of a level of processors.
        features: what it has besides, as LLVM writes it.
    """

    triple: str
    cpu: str
    features: str

    @property
    def text(self) -> str:
        """All that machine code for it depends on, the version of LLVM included."""
        return f"{self.triple} {self.cpu} {self.features} llvmlite {llvmlite.__version__}"

    def target(self) -> Any:
        """Return LLVM's own description, a new one: what loads code keeps it."""
        _initialize()
        target = llvm.Target.from_triple(self.triple)
        # Objects are loaded anywhere in memory, far from the C library; on x86 code for that is not relocatable.
        placed = {"reloc": "static" if self.triple.startswith("x86_64") else "default", "codemodel": "jitdefault"}
        return target.create_target_machine(cpu=self.cpu, features=self.features, opt=3, jit=True, **placed)

    def emit(self, module: Any, level: int = LOOPS) -> bytes:
        """Optimize a module for this machine and return the object; at level 3 also with vectors."""
        target = self.target()
        module.triple, module.data_layout = target.triple, str(target.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = level > 2
        passes = llvm.create_pass_builder(target, options)
        passes.getModulePassManager().run(module, passes)
        foreign = [name for name in _declared(module) if name not in (*LIBRARY_FUNCTIONS, *MEMORY_FUNCTIONS)]
        if foreign:
            raise UnknownSymbolError(", ".join(foreign))
        return bytes(target.emit_object(module))


class UnknownSymbolError(Exception):
    """Code needs functions that are in no library it may call."""


def _declared(module: Any) -> list[str]:
    """Return the functions that a module calls and does not have, but for LLVM's own."""
    declared = [function.name for function in module.functions if function.is_declaration]
    return [name for name in declared if not name.startswith("llvm.")]


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL(ctypes.util.find_library("m") or "ucrtbase")
    for name in LIBRARY_FUNCTIONS:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


@functools.cache
def host() -> Machine:
    """Return the machine this process runs on."""
    features = llvm.get_host_cpu_features().flatten()
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def load(code: bytes) -> tuple[int, Any]:
    """Load an object into this process; return where its code begins and what must be kept alive with it."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host().target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine.get_function_address(ENTRY), engine


MARK = b"impinge:"  # before every message, so that what others print is not taken for one


def send(pipe: Any, *parts: bytes) -> None:
    """Write some parts to a pipe."""
    pipe.write(MARK + b"".join(len(part).to_bytes(8, "little") + part for part in parts))
    pipe.flush()


def receive(pipe: Any, count: int) -> list[bytes]:
    """Read as many parts from a pipe; raise EOFError if it ends or if something else comes."""
    if pipe.read(len(MARK)) != MARK:
        raise EOFError
    return [pipe.read(int.from_bytes(pipe.read(8), "little")) for _ in range(count)]


def serve() -> None:
    """Emit the modules that come on standard input, until it ends; another process asks for that, see `emitter`."""
    while True:
        try:
            triple, cpu, features, module = receive(sys.stdin.buffer, 4)
        except EOFError:
            return
        target = Machine(triple.decode(), cpu.decode(), features.decode())
        try:
            send(sys.stdout.buffer, b"code", target.emit(llvm.parse_bitcode(module)))
        except UnknownSymbolError as problem:
            send(sys.stdout.buffer, b"unknown", str(problem).encode())


if __name__ == "__main__":
    serve()
