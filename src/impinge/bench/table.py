"""What a benchmark returns, how it is timed, and how it is printed."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any, TypeVar

INSTALL = "not installed: pip install impinge[bench]"

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes:
        system: whose it is.
        method: which of its methods, with what matters of its settings.
        seconds: time per unit of work (`Table.per`), None if it was not measured.
        error: achieved error, None if that does not apply.
        note: what else there is to say.
    """

    system: str
    method: str
    seconds: float | None = None
    error: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Table:
    """The outcome of one benchmark.

    Attributes:
        title: what was measured.
        claim: what impinge promises of it, empty if nothing.
        rows: the measurements.
        met: whether the claim holds here; None if there is none, or if a peer it names is missing.
        per: the unit of work that `Row.seconds` counts.
        error: what `Row.error` is, with its unit.
        notes: how it was measured.
        figure: draws it, for `impinge bench --out`.
    """

    title: str
    claim: str
    rows: tuple[Row, ...]
    met: bool | None = None
    per: str = "run"
    error: str = "error"
    notes: tuple[str, ...] = ()
    figure: Callable[[], Any] | None = None


def load(package: str) -> Any | None:
    """Import a peer; return None if it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def missing(system: str) -> Row:
    """Return the row of a peer that is not installed."""
    return Row(system, "", note=INSTALL)


def race(contenders: Mapping[K, Callable[[], object]], rounds: int = 9, least: float = 0.02) -> dict[K, float]:
    """Time contenders against each other and return the best time of one run of each, s.

    What counts is this thread's processor time: the share that others take of the machine does not. Every
    round times each contender once, in turn, so that slow spells meet all alike. A short run is repeated
    until it fills ``least`` seconds: otherwise it would find quiet moments that a long one cannot.
    """
    repeats: dict[K, int] = {}
    for name, run in contenders.items():
        run()
        repeats[name] = max(1, round(least / _seconds(run, 1)))
    samples: dict[K, list[float]] = {name: [] for name in contenders}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in contenders.items():
                samples[name].append(_seconds(run, repeats[name]))
            gc.collect()
    finally:
        if enabled:
            gc.enable()
    return {name: min(times) for name, times in samples.items()}


def _seconds(run: Callable[[], object], repeats: int) -> float:
    start = thread_time()
    for _ in range(repeats):
        run()
    return (thread_time() - start) / repeats


def duration(seconds: float) -> str:
    """Write a time with three digits and the unit that suits it.

    Example:
        >>> [duration(t) for t in (2.5e-9, 3.14159e-5, 0.02, 12.0)]
        ['2.50 ns', '31.4 µs', '20.0 ms', '12.0 s']
    """
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, size in units.items() if seconds >= 0.9995 * size), "ns")
    value = seconds / units[unit]
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def _cells(table: Table) -> list[tuple[str, ...]]:
    cells: list[tuple[str, ...]] = [("system", "method", f"CPU time per {table.per}", table.error, "")]
    for row in table.rows:
        time = "" if row.seconds is None else duration(row.seconds)
        error = "" if row.error is None else f"{row.error:.1e}"
        cells.append((row.system, row.method, time, error, row.note))
    return cells


def render(table: Table) -> str:
    """Write a table as plain text with aligned columns.

    Example:
        >>> print(render(Table("Sums", "", (Row("a", "fast", 2e-6), Row("b", "slow", 3e-3)), per="sum")))
        Sums
          system  method  CPU time per sum
          a       fast             2.00 µs
          b       slow             3.00 ms
    """
    cells = _cells(table)
    used = [k for k in range(5) if any(row[k] for row in cells[1:])]
    widths = {k: max(len(row[k]) for row in cells) for k in used}
    numbers = {2, 3}
    lines = [table.title]
    if table.claim:
        verdict = {True: "met", False: "NOT MET", None: "not decided"}[table.met]
        lines.append(f"  claim: {table.claim}: {verdict}")
    for row in cells:
        padded = (row[k].rjust(widths[k]) if k in numbers else row[k].ljust(widths[k]) for k in used)
        lines.append(("  " + "  ".join(padded)).rstrip())
    return "\n".join([*lines, *(f"  {note}" for note in table.notes)])
