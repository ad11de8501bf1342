"""Lemke's method: impinge beside quantecon, on the same problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impinge.bench.table import Row, Table, load, missing, race

SIZES = (4, 8, 15, 30, 60)
_PROBLEMS = 50  # solved in one timed run


def worst_residual(A: Any, b: Any, z: Any) -> float:
    """Return the largest residual of several problems."""
    from impinge.contact.lcp import residual

    return max(residual(*problem) for problem in zip(A, b, z, strict=True))


def benchmark() -> Table:
    """Measure it."""
    from impinge.bench.systems import complementarity

    quantecon = load("quantecon")
    kinds = {"definite": complementarity.definite, "redundant": complementarity.redundant}
    runners: dict[tuple[str, str, int], Callable[[], Any]] = {}
    errors: dict[tuple[str, str, int], float] = {}
    for kind, problems in kinds.items():
        for n in SIZES:
            A, b = problems(n, _PROBLEMS)
            runners["impinge", kind, n] = complementarity.impinge_runner(A, b)
            if quantecon is not None:
                runners["quantecon", kind, n] = complementarity.quantecon_runner(A, b)
            errors |= {key: worst_residual(A, b, run()) for key, run in runners.items() if key[1:] == (kind, n)}
    times = race(runners)
    rows = []
    for (system, kind, n), seconds in times.items():
        ratio = seconds / times["impinge", kind, n]
        note = "" if system == "impinge" else f"{ratio:.3g} × impinge"
        rows.append(Row(system, f"{kind}, n = {n}", seconds / _PROBLEMS, errors[system, kind, n], note))
    if quantecon is None:
        rows.append(missing("quantecon"))
    return Table(
        title="Linear complementarity problems by Lemke's method",
        claim="not slower than quantecon at any size",
        rows=tuple(rows),
        met=verdict(times),
        per="problem",
        error="worst residual",
        notes=(f"{_PROBLEMS} random problems per size, solved from compiled loops; compilation is not counted.",),
    )


def verdict(times: dict[tuple[str, str, int], float]) -> bool | None:
    """Tell whether impinge is never slower; None if there is no quantecon."""
    theirs = {key[1:]: seconds for key, seconds in times.items() if key[0] == "quantecon"}
    return all(times["impinge", kind, n] <= seconds for (kind, n), seconds in theirs.items()) if theirs else None
