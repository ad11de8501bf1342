"""What the studies of Trinkle's particle have in common: the columns of his tables, and their figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from impinge.studies.study import Claim, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.simulation import Result

COLUMNS = {"x": "x", "v": "x_dot", "gap": "gap_wall", "force": "force_wall", "wall": "x_wall"}

PARAMETERS = (
    Parameter("step", 1.0, "s", "h: length of a step", minimum=0, above=True),
    Parameter("m", 1.0, "kg", "mass", minimum=0, above=True),
    Parameter("g", 1.0, "m/s²", "acceleration towards the wall"),
    Parameter("wall_at", 11.0, "m", "where the wall is at first", minimum=0),
)


def plant_parameters(p: Mapping[str, Any], wall_speed: float = 0.0) -> dict[str, float]:
    """Return the model's parameters from those of a study."""
    return {"m": p["m"], "g": p["g"], "L": p["wall_at"], "w": wall_speed}


def columns(result: Result) -> dict[str, list[float]]:
    """Return the columns of the notes' tables, a row for each step."""
    return {name: result[signal].tolist() for name, signal in COLUMNS.items()}


def _cells(name: str, rows: int) -> Callable[[Outcome], Any]:
    return lambda outcome: outcome.metrics[name][:rows]


def table_claims(page: str, table: Mapping[str, Sequence[float]], note: str = "") -> tuple[Claim, ...]:
    """Return a claim for each column of a table: every cell, exactly."""
    units = {"x": "m", "v": "m/s", "gap": "m", "force": "N", "wall": "m"}
    return tuple(
        Claim(
            f"table-{name}",
            f"{page}: {name} [{units[name]}] = {', '.join(f'{cell:g}' for cell in cells)}",
            _cells(name, len(cells)),
            expected=list(cells),
            when={},
            note=note,
        )
        for name, cells in table.items()
    )


def figure_of(title: str, runs: Mapping[str, Result]) -> Figure:
    """Draw place, velocity and force step by step, one color for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    first = next(iter(runs.values()))
    axes[0].plot(first.t, first["x_wall"], color="black", lw=1.2, label="wall")
    for k, (name, run) in enumerate(runs.items()):
        style = {"color": f"C{k}", "marker": "o", "ms": 4, "label": name}
        axes[0].plot(run.t, run["x"], **style)
        axes[1].plot(run.t, run["x_dot"], **style)
        # A force acts over the step that ends in its row.
        axes[2].step(run.t, run["force_wall"], where="pre", **style)
    for axis, label in zip(axes, ("x [m]", "velocity [m/s]", "force on the particle [N]"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    axes[2].set_xlabel("time [s]")
    figure.suptitle(title)
    return figure
