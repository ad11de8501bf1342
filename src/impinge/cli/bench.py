"""`impinge bench`."""

from __future__ import annotations

from collections.abc import Sequence

from impinge.bench import benchmarks, render, run_all
from impinge.cli.progress import progress_bar
from impinge.errors import unknown_name


def run_benchmarks(only: Sequence[str]) -> int:
    """Run benchmarks, print their tables, and return 0 if every claim that could be measured is met."""
    known = benchmarks()
    for name in only:
        if name not in known:
            raise unknown_name("impinge bench", "benchmark", name, known)
    with progress_bar("bench", 1.0) as progress:
        tables = run_all(progress=progress, only=list(only) or None)
    for table in tables:
        print(render(table))
        print()
    return 0 if all(table.met is not False for table in tables) else 1
