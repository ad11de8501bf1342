"""Processes that turn LLVM's language into objects, while this one goes on writing it."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from impinge.compile import machine
from impinge.compile.machine import Machine, UnknownSymbolError

Emit = Callable[[Machine, bytes], "Future[bytes]"]


@contextlib.contextmanager
def emitting(jobs: int) -> Iterator[Emit]:
    """Yield a function that has a module of LLVM's bit code emitted for a machine; its result comes later.

    A single job is done here and at once: to start another process takes as long as a short one.
    """
    if jobs <= 1 or not sys.executable or getattr(sys, "frozen", False):  # in an application of its own
        yield _at_once
        return
    free: queue.Queue[Any] = queue.Queue()
    count = min(jobs, max(1, (os.cpu_count() or 1) - 1))  # this process is at work, too
    started: list[Any] = []
    for _ in range(count):
        free.put(None)  # to be started when it is first needed

    def emit(target: Machine, module: bytes) -> bytes:
        process = free.get() or _start(started)
        try:
            return _ask(process, target, module)
        except (OSError, EOFError):  # it was ended, could not start, or says something else
            process = None
            return _emit(target, module)
        finally:
            free.put(process)

    with ThreadPoolExecutor(count) as threads:
        try:
            yield lambda target, module: threads.submit(emit, target, module)
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
            for process in started:
                with contextlib.suppress(OSError):
                    process.stdin.close()
                process.stdout.close()
                process.wait()


def _start(started: list[Any]) -> Any:
    """Start a process that serves; -P keeps the `struct` of this folder from standing in for that of Python."""
    command = [sys.executable, "-P", str(Path(machine.__file__))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    started.append(process)
    return process


def _ask(process: Any, target: Machine, module: bytes) -> bytes:
    machine.send(process.stdin, target.triple.encode(), target.cpu.encode(), target.features.encode(), module)
    what, answer = machine.receive(process.stdout, 2)
    if what != b"code":
        raise UnknownSymbolError(answer.decode())
    return answer


def _emit(target: Machine, module: bytes) -> bytes:
    return target.emit(llvm.parse_bitcode(module))


def _at_once(target: Machine, module: bytes) -> Future[bytes]:
    done: Future[bytes] = Future()
    try:
        done.set_result(_emit(target, module))
    except UnknownSymbolError as problem:
        done.set_exception(problem)
    return done
