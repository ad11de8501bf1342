"""How much faster than real time the delta robot touches a brick, controller included."""

from __future__ import annotations

from typing import Any

from impinge.bench.table import Row, Table, race

FASTER_THAN_LIFE = 20.0


def benchmark() -> Table:
    """Measure it: the run of the study ``delta-soft-touch`` at its defaults, without its sweep."""
    from impinge.simulation import simulate
    from impinge.studies.delta.delta_soft_touch import controller_of, laws_of, model_of, study

    p: dict[str, Any] = {parameter.name: parameter.value for parameter in study.parameters}
    model, laws, until = model_of(p), laws_of(p), float(p["until"])

    def run() -> Any:
        return simulate(model, laws, until=until, controller=controller_of(p), sample=0.01)

    seconds = race({"impinge": run})["impinge"] / until
    return Table(
        title="Soft touch: a second of the closed-loop run",
        claim=f"at least {FASTER_THAN_LIFE:g} × faster than real time",
        rows=(Row("impinge", "Dormand–Prince 5(4)", seconds, note=f"{1 / seconds:.3g} × real time"),),
        met=1 / seconds >= FASTER_THAN_LIFE,
        per="simulated second",
        notes=(
            f"{until:g} s of the delta robot with finger, brick and table: 12 coordinates, 10 rows, a controller in",
            f"Python that ticks {1 / float(p['period']):g} times a second.",
        ),
    )
