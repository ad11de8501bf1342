"""Side by side with whatever peers are installed.

A benchmark is a module of this package that defines ``benchmark() -> Table``: a new file is a new
benchmark. Nothing heavy is loaded before one runs; what loads it lies in `systems`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection

from impinge.bench.table import Row, Table, render
from impinge.errors import unknown_name

__all__ = ["Row", "Table", "benchmarks", "render", "run_all"]


def benchmarks() -> dict[str, Callable[[], Table]]:
    """Return every benchmark by name.

    Example:
        >>> "kernel" in benchmarks()
        True
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module.benchmark for name, module in modules.items() if hasattr(module, "benchmark")}


def run_all(progress: Callable[[float], None] | None = None, only: Collection[str] | None = None) -> list[Table]:
    """Run benchmarks one after another.

    Args:
        progress: called after each benchmark with the share of them that is done, up to 1.
        only: names of the benchmarks to run; all of them if left out.

    Raises:
        InputError: if there is no benchmark of a name in ``only``.
    """
    known = benchmarks()
    chosen = list(known) if only is None else list(only)
    for name in chosen:
        if name not in known:
            raise unknown_name("impinge bench", "benchmark", name, known)
    tables = []
    for name in chosen:
        tables.append(known[name]())
        if progress is not None:
            progress(len(tables) / len(chosen))
    return tables
