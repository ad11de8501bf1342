"""The figure of the peg: its motion, its forces, and the jamming diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impinge.studies.peg.peg_in_hole import GRIPPERS, LENGTH, THICKNESS, WIDTH, Insertion, Motion, insert, motion_of
from impinge.studies.peg.whitney import parallelogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.studies.study import Outcome

_COLORS = {"soft": "C0", "stiff": "C3"}
_SHOWN = 0.022  # of the plate on both sides, m


def _outline(m: Motion, row: int) -> NDArray[np.float64]:
    """Return the peg's corners in the plane, mm."""
    along = np.array([np.sin(m.tilt[row]), np.cos(m.tilt[row])])
    across = 0.5 * WIDTH * np.array([along[1], -along[0]])
    tip = np.array([m.x[row], m.z[row]])
    return 1e3 * np.array([tip - across, tip + across, tip + across + LENGTH * along, tip - across + LENGTH * along])


def _draw_motion(
    axis: Any, p: Mapping[str, Any], t: NDArray[np.float64], m: Motion, began: Mapping[str, float]
) -> None:
    half, top = 0.5e3 * WIDTH + 0.5 * p["clearance"], 0.0
    for side in (-1.0, 1.0):
        axis.fill_betweenx([-1e3 * THICKNESS, top], side * half, side * 1e3 * _SHOWN, color="0.8", lw=0)
    names = [name for name in ("weigh", "search", "insert", "inserted", "jammed", "lost") if name in began]
    for k, name in enumerate(names):
        row = min(int(np.searchsorted(t, began[name])), t.size - 1)
        label = {"weigh": "start", "search": "touches", "insert": "has dropped"}.get(name, name)
        shape = _outline(m, row)
        axis.fill(*shape.T, fill=False, ec=f"C{k}", lw=1.2, label=f"{label}, {t[row]:.2f} s")
    axis.set(xlabel="x [mm]", ylabel="z [mm]", title="the peg", aspect="equal", ylim=(-1e3 * THICKNESS, 90))
    axis.legend(fontsize=7, loc="upper left")


def _draw_forces(depth: Any, force: Any, runs: Mapping[str, tuple[Any, Insertion]]) -> None:
    for name, (r, _) in runs.items():
        m, color = motion_of(r), _COLORS[name]
        depth.plot(r.t, -1e3 * m.z, color=color, label=name)
        force.plot(r.t, m.load[:, 1], color=color, lw=1.0, label=f"{name}: down")
        force.plot(r.t, m.load[:, 0], color=color, lw=0.8, ls="--", label=f"{name}: across")
    depth.set(ylabel="depth of the tip [mm]", title="depth and forces")
    force.set(xlabel="time [s]", ylabel="force on the plate [N]", yscale="symlog")
    for axis in (depth, force):
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)


def _draw_diagram(
    axis: Any, p: Mapping[str, Any], loads: list[list[Any]], runs: Mapping[str, tuple[Any, Insertion]]
) -> None:
    corners = parallelogram(WIDTH, 1e-3 * p["length"], p["friction"])
    axis.fill(*corners.T, color="C2", alpha=0.15, lw=0, label=f"slides in, l = {p['length']:g} mm")
    for slid, marker, label in ((True, "o", "slid in"), (False, "x", "stuck")):
        chosen = np.array([x[:2] for x in loads if x[2] == slid]).reshape(-1, 2)
        axis.plot(*chosen.T, marker, ms=4, color="C2" if slid else "0.4", ls="", label=f"simulated: {label}")
    for name, (r, _) in runs.items():
        m = motion_of(r)
        rows = m.two_point & (m.load[:, 1] > 0.0)
        if rows.any():
            last = parallelogram(WIDTH, float(m.length[rows][-1]), p["friction"])
            label = f"{name}, to l = {1e3 * m.length[rows][-1]:.1f} mm"
            axis.plot(*np.vstack([last, last[:1]]).T, color=_COLORS[name], lw=0.6, ls=":")
            axis.plot(*(m.load[rows][:, [0, 2]] / m.load[rows][:, 1:2]).T, ".-", color=_COLORS[name], ms=3, label=label)
    size = 1.45 * np.abs(corners).max(axis=0)
    axis.set(xlim=(-size[0], size[0]), ylim=(-size[1], size[1]), title="jamming diagram")
    axis.set(xlabel="F / P", ylabel="M / (r P)")
    axis.legend(fontsize=7, loc="upper left")
    axis.grid(alpha=0.3)


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Draw the motion of a run, and both grippers' forces and loads beside it."""
    from matplotlib.figure import Figure

    runs = {name: insert({**p, "gripper": name}) for name in GRIPPERS}
    r, controller = runs[p["gripper"]]
    figure = Figure(figsize=(13, 5.5), layout="constrained")
    grid = figure.add_gridspec(2, 3, width_ratios=(0.8, 1, 1.2))
    _draw_motion(figure.add_subplot(grid[:, 0]), p, r.t, motion_of(r), controller.began)
    depth = figure.add_subplot(grid[0, 1])
    _draw_forces(depth, figure.add_subplot(grid[1, 1], sharex=depth), runs)
    _draw_diagram(figure.add_subplot(grid[:, 2]), p, outcome.metrics["loads"], runs)
    return figure
