"""`impinge bench`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from impinge.bench import Table, benchmarks, render, run_all
from impinge.cli.progress import progress_bar
from impinge.errors import InputError, unknown_name


def run_benchmarks(only: Sequence[str], out: str | None = None) -> int:
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
    if out is not None:
        _write(Path(out), list(only) or list(known), tables)
    return 0 if all(table.met is not False for table in tables) else 1


def _write(folder: Path, names: Sequence[str], tables: Sequence[Table]) -> None:
    """Write each table as text, and its figure if it has one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in zip(names, tables, strict=True):
            (folder / f"{name}.txt").write_text(render(table) + "\n")
            if table.figure is not None:
                table.figure().savefig(folder / f"{name}.png", dpi=120)
    except OSError as problem:
        got = problem.strerror or str(problem)
        raise InputError(f"--out {folder}", "a folder that can be written", got, "Choose another folder.") from problem
