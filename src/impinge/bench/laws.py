"""A second of the study ``laws`` under each law, at the same accuracy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.bench.table import Row, Table, race

FloatArray = NDArray[np.float64]

ACCURACY = 1e-4  # m, of every position at the end
_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
_STEPS = (5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)
_TIGHT, _FINE = 1e-12, 5e-6


def _settings(law: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield ways to run a law, from coarse to fine: a label, the law and the method. The first is the reference."""
    from impinge import Adaptive

    if hasattr(law, "step"):
        for step in (_FINE, *_STEPS):
            yield f"step {step:g} s", dataclasses.replace(law, step=step), None
    else:
        for tolerance in (_TIGHT, *_TOLERANCES):
            yield f"tolerance {tolerance:g}", law, Adaptive(rtol=tolerance, atol=1e-3 * tolerance)


def _runner(model: Any, law: Any, method: Any, until: float) -> Callable[[], FloatArray]:
    from impinge import simulate

    names = [x.name for x in model.coordinates if x.unit == "m"]

    def run() -> FloatArray:
        result = simulate(model, law, until=until, sample=until, method=method)
        return np.array([result[name][-1] for name in names])

    return run


def benchmark() -> Table:
    """Measure it: for each law the coarsest setting that is accurate enough, timed side by side."""
    from impinge.studies.comparison.laws import laws_of, models_of, study

    p: dict[str, Any] = {parameter.name: parameter.value for parameter in study.parameters}
    until = {"ball": 0.35, "block": 0.5}
    chosen, rows = {}, []
    for name, model in models_of(p).items():
        for label, law in laws_of(p).items():
            (_, exact_law, exact_method), *others = _settings(law)
            exact = _runner(model, exact_law, exact_method, until[name])()
            for setting, one, method in others:
                run = _runner(model, one, method, until[name])
                error = float(np.abs(run() - exact).max())
                if error <= ACCURACY:
                    chosen[name, label, setting, error] = run
                    break
            else:
                rows.append(Row(name, label, note=f"not accurate to {1e3 * ACCURACY:g} mm with a {setting}"))
    times = race(chosen)
    rows += [Row(key[0], key[1], t / until[key[0]], key[3], key[2]) for key, t in times.items()]
    return Table(
        title="Laws: a simulated second of the study 'laws'",
        claim="",
        rows=tuple(rows),
        per="simulated second",
        error="error (m)",
        notes=(
            f"Each law runs with the coarsest setting that ends within {1e3 * ACCURACY:g} mm of its own tight run:",
            f"{until['ball']:g} s of the ball, {until['block']:g} s of the block dropped on a corner.",
        ),
    )
