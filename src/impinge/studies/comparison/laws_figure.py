"""The figure of the study ``laws``: height and force of the ball, motion of the block, and the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from impinge.simulation import Result

_HEADS = {
    "contact_time_ms": "contact [ms]",
    "peak_force_N": "peak [N]",
    "restitution": "restitution",
    "energy_lost_J": "lost [J]",
    "steady_penetration_um": "sinks [µm]",
    "steps": "steps",
    "wall_time_ms": "wall [ms]",
}


def _show(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if key == "steps":
        return str(value)
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.0e}"


def _table(axis: Axes, lines: Mapping[str, Mapping[str, Any]], title: str) -> None:
    from matplotlib.transforms import Bbox

    axis.axis("off")
    cells = [[_show(key, line[key]) for key in _HEADS] for line in lines.values()]
    drawn = axis.table(
        cells,
        rowLabels=list(lines),
        colLabels=list(_HEADS.values()),
        bbox=Bbox.from_bounds(0.09, 0.0, 0.91, 0.98),
        cellLoc="center",
        edges="horizontal",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(8)
    for k, label in enumerate(lines):
        drawn[k + 1, -1].get_text().set_color(f"C{k}")
        assert drawn[k + 1, -1].get_text().get_text() == label
    axis.set_title(title, fontsize=10)


def draw(p: Mapping[str, Any], table: Mapping[str, Any], runs: Mapping[str, Mapping[str, Result]]) -> Figure:
    """Draw every law in its color, and the numbers below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 9), layout="constrained")
    axes: dict[str, Any] = figure.subplot_mosaic(
        [["height", "force"], ["angle", "path"], ["ball", "ball"], ["block", "block"]],
        height_ratios=(1.3, 1.3, 1, 1),
    )
    touch = float(np.sqrt(2 * p["height"] / p["gravity"]))
    for k, (label, r) in enumerate(runs["ball"].items()):
        axes["height"].plot(r.t, 1e3 * r["gap_floor"], color=f"C{k}", lw=1.2, label=label)
        style = "steps-pre" if label == "complementarity" else "default"  # a step's force is that of its whole length
        axes["force"].plot(
            1e3 * (r.t - touch), r["force_floor"], color=f"C{k}", lw=1.2, marker=".", ms=3, drawstyle=style
        )
    for k, r in enumerate(runs["block"].values()):
        axes["angle"].plot(r.t, r["angle"], color=f"C{k}", lw=1.2)
        axes["path"].plot(1e3 * r["x"], 1e3 * r["z"], color=f"C{k}", lw=1.2)
    axes["height"].set(xlabel="time [s]", ylabel="height [mm]", title="a ball is dropped")
    axes["height"].legend(fontsize=8, ncols=2)
    peaks = [line["peak_force_N"] or 0.0 for name, line in table["ball"].items() if name != "complementarity"]
    top = 1.2 * max(max(peaks, default=0.0), 1.0)
    axes["force"].set(xlabel="time after touchdown [ms]", ylabel="force [N]", title="its first touch", ylim=(0, top))
    width = max((line["contact_time_ms"] for line in table["ball"].values()), default=1.0) or 1.0
    axes["force"].set_xlim(-0.3 * width, 1.6 * width)
    axes["angle"].set(xlabel="time [s]", ylabel="angle of its base [rad]", title="a block is dropped on a corner")
    axes["path"].set(xlabel="x of its center [mm]", ylabel="z [mm]", title="its path")
    for name in ("height", "force", "angle", "path"):
        axes[name].grid(alpha=0.3)
    _table(axes["ball"], table["ball"], "the ball: first touch, and rest")
    _table(axes["block"], table["block"], "the block: first touch of the corner that lands, and rest")
    return figure
