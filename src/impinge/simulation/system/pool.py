"""Workspaces and logs that are used again: to allocate and pack them takes as long as a short run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from impinge.compile import Kernel, Struct, pack_once
from impinge.simulation.system.plant import Log, Plant, Workspace, log_of, workspace

_free: dict[tuple[int, ...], list[Room]] = {}


class Room:
    """A workspace and a log, packed, and how the workspace looks at the start of a run.

    All arrays of the workspace stand in one piece of memory. A result has its own copy of what is in the log.
    """

    def __init__(self, w: Workspace, log: Log) -> None:
        self._memory = np.zeros(_size(w), dtype=np.int64)
        self.w: Workspace = pack_once(_placed(w, self._memory))  # a time stepper's workspace contains it
        self._start = self._memory.copy()
        self.packed = Struct(self.w)
        self.log, self.packed_log = log, Struct(log)
        self._beside: dict[tuple[int, ...], tuple[Any, Any, Any]] = {}

    def beside(self, sizes: tuple[int, ...], make: Callable[[Workspace], Any]) -> Any:
        """Return what else a run of these sizes writes to, as new, and packed; its first field is the workspace."""
        if sizes not in self._beside:
            made = make(self.w)
            memory = np.zeros(_size(made[1:]), dtype=np.int64)
            fields = pack_once(type(made)(self.w, *_parts(made[1:], memory)))
            self._beside[sizes] = fields, memory, memory.copy()
        fields, memory, start = self._beside[sizes]
        np.copyto(memory, start)
        return fields

    def tidy(self) -> None:
        """Make everything as it was when it was new."""
        np.copyto(self._memory, self._start)
        self.log.used[:] = 0


def _size(fields: Any) -> int:
    return sum(_size(field) if isinstance(field, tuple) else field.size for field in fields)


def _placed(fields: Any, memory: Any) -> Any:
    """Return the arrays of a (nested) named tuple as parts of a piece of memory; each element takes eight bytes."""
    return type(fields)(*_parts(fields, memory))


def _parts(fields: Any, memory: Any) -> list[Any]:
    placed, begin = [], 0
    for field in fields:
        end = begin + (_size(field) if isinstance(field, tuple) else field.size)
        if isinstance(field, tuple):
            placed.append(_placed(field, memory[begin:end]))
        else:
            part = memory[begin:end].view(field.dtype).reshape(field.shape)
            part[...] = field
            placed.append(part)
        begin = end
    return placed


@contextmanager
def room_for(plant: Plant, kernel: Kernel, flight: Kernel | None = None) -> Iterator[Room]:
    """Lend a workspace for one run of a plant; no two runs have the same one at a time."""
    tableau = plant.tableau.dense.shape
    rows = (plant.nh, plant.nc, plant.ns, plant.ne, plant.nt, plant.nb)
    kinds = int(plant.strike + plant.settle != 0), int(plant.implicit != 0)
    proof = plant.proof.offset.size, plant.proof.paths, int(plant.proof.trace != 0)
    kernels = kernel.size, 0 if flight is None else flight.size
    sizes = (plant.nq, plant.nv, plant.nu, plant.ny, plant.signal_size, *kernels)
    free = _free.setdefault((*sizes, *rows, *kinds, *proof, *tableau), [])
    try:
        room = free.pop()
    except IndexError:
        room = Room(workspace(plant, kernel, flight), log_of(plant))
    else:
        room.tidy()
    try:
        yield room
    finally:
        free.append(room)
