"""Time per bounce at equal achieved error: impinge, SciPy, CVODE and heyoka on the bouncing ball."""

from __future__ import annotations

import numpy as np

from impinge.bench.ladder import Rung, time_at
from impinge.bench.systems.ball import Contender, FloatArray, contenders, exact_events
from impinge.bench.table import Row, Table, load, missing, race

TARGETS = (1e-6, 1e-8)
PEERS = ("SciPy", "CVODE", "heyoka")
FASTER_THAN_SCIPY = 20.0


def achieved_error(times: FloatArray, exact: FloatArray) -> float:
    """Return the largest error of an event time, s; infinite if events are missing or too many."""
    return float(np.abs(times - exact).max()) if times.shape == exact.shape else float("inf")


def ladders(field: list[Contender]) -> dict[tuple[str, str], list[Rung]]:
    """Race every contender at each of its tolerances; return its rungs by system and method."""
    exact = exact_events()
    solvers = {(c, tolerance): c.prepare(tolerance) for c in field for tolerance in c.tolerances}
    errors = {key: achieved_error(solve(), exact) for key, solve in solvers.items()}
    times = race({key: solve for key, solve in solvers.items() if np.isfinite(errors[key])})
    bounces = (exact.size + 1) // 2
    climbed: dict[tuple[str, str], list[Rung]] = {(c.system, c.method): [] for c in field}
    for (c, tolerance), seconds in times.items():
        climbed[c.system, c.method].append(Rung(errors[c, tolerance], seconds / bounces))
    return climbed


def fastest(climbed: dict[tuple[str, str], list[Rung]], target: float) -> dict[str, tuple[float, str]]:
    """Return, for each system that reaches the target error, its best time and the method that took it."""
    best: dict[str, tuple[float, str]] = {}
    for (system, method), rungs in climbed.items():
        seconds = time_at(target, rungs)
        if seconds is not None and seconds < best.get(system, (float("inf"), ""))[0]:
            best[system] = seconds, method
    return best


def verdict(times: list[dict[str, tuple[float, str]]]) -> bool | None:
    """Tell whether the claim holds at every target; None if a peer it names is missing and nothing refutes it."""
    decided = True
    for best in times:
        if "impinge" not in best:
            return False
        ours = best["impinge"][0]
        if "SciPy" in best and best["SciPy"][0] < FASTER_THAN_SCIPY * ours:
            return False
        if "CVODE" in best and best["CVODE"][0] <= ours:
            return False
        decided &= "SciPy" in best and "CVODE" in best
    return True if decided else None


def benchmark() -> Table:
    """Measure it."""
    title = "Bouncing ball: time per bounce at equal achieved error"
    claim = f"impinge is at least {FASTER_THAN_SCIPY:g} × faster than SciPy, and faster than CVODE"
    if load("scipy") is None:  # the closed form needs its elliptic integrals
        return Table(title, claim, (missing("SciPy"),))
    field = contenders()
    climbed = ladders(field)
    times = [fastest(climbed, target) for target in TARGETS]
    systems = list(dict.fromkeys(c.system for c in field))
    rows: list[Row] = []
    for target, best in zip(TARGETS, times, strict=True):
        for system in systems:
            if system not in best:
                rows.append(Row(system, "", error=target, note="does not get there"))
                continue
            seconds, method = best[system]
            note = f"{seconds / best['impinge'][0]:.3g} × impinge" if "impinge" in best else ""
            rows.append(Row(system, method, seconds, target, note))
    rows += [missing(peer) for peer in PEERS if peer not in systems]
    return Table(
        title=title,
        claim=claim,
        rows=tuple(rows),
        met=verdict(times),
        per="bounce",
        error="error (s)",
        notes=(
            "Error: the largest of all event times against the closed form. Each solver ran at several tolerances;",
            "the times are interpolated to the same error, and each system shows its fastest method.",
            "impinge's simulate() records every step; with sample=until it records events and the end only.",
            "Compilation is not counted, for impinge and heyoka alike.",
        ),
    )
