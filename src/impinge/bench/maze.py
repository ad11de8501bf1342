"""How much faster than real time the ball goes through the maze, controller included."""

from __future__ import annotations

from typing import Any

from impinge.bench.table import Row, Table, race

FASTER_THAN_LIFE = 100.0


def benchmark() -> Table:
    """Measure it: the run of the study ``ball-maze``, from the start to the end, at its defaults."""
    from impinge.contact import Baumgarte
    from impinge.control import Lead
    from impinge.control.maze.design import design, ring_models
    from impinge.robots import maze
    from impinge.studies.maze.ball_maze import simulate_maze, study

    p: dict[str, Any] = {parameter.name: parameter.value for parameter in study.parameters}
    model = maze()
    leads = design(
        ring_models(model, {}), Lead(p["ball_zero"], p["ball_pole"], 0.0), Lead(p["turn_zero"], p["turn_pole"], 0.0)
    )
    law = Baumgarte(p["a0"], p["a1"], p["a2"], p["a3"])
    until = float(p["until"])
    seconds = race({"impinge": lambda: simulate_maze(model, law, *leads, p, {}, 0.0)})["impinge"] / until
    ticks = 1 / float(p["period"])
    return Table(
        title="Ball maze: a second of the closed-loop run",
        claim=f"at least {FASTER_THAN_LIFE:g} × faster than real time",
        rows=(Row("impinge", "Dormand–Prince 5(4)", seconds, note=f"{1 / seconds:.3g} × real time"),),
        met=1 / seconds >= FASTER_THAN_LIFE,
        per="simulated second",
        notes=(f"{until:g} s with contact events and a controller in Python that ticks {ticks:g} times a second.",),
    )
