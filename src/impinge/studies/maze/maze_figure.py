"""The figure of the ball maze: root loci (Fig. 7), the run (Fig. 10) and snapshots (Fig. 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from impinge.studies.study import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from impinge.simulation import Result

_RING_COLORS = ("C0", "C1", "C2", "C4")


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Draw all three."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 15), layout="constrained")
    parts: Any = figure.subfigures(3, 1, height_ratios=(4, 8, 2.3))
    loci, run, strip = parts
    _root_loci(loci, p, outcome)
    _run(run, outcome.result)
    _strip(strip, outcome.result)
    return figure


def _root_loci(figure: Any, p: Mapping[str, Any], outcome: Outcome) -> None:
    from impinge.analysis import root_locus
    from impinge.control import Lead
    from impinge.control.maze.design import ball_loop, ring_models, turn_loop
    from impinge.robots import maze

    gains = outcome.metrics["gains"]
    shapes = Lead(p["ball_zero"], p["ball_pole"]), Lead(p["turn_zero"], p["turn_pole"])
    ball = Lead(p["ball_zero"], p["ball_pole"], gains["ball"])
    models = ring_models(maze(), {"J_m": p["J_m"], "m_b": p["m_b"]})
    axes = figure.subplots(1, 3, width_ratios=(1, 1, 1))
    for (ring, linear), color in zip(models.items(), _RING_COLORS, strict=True):
        first, second = ball_loop(linear, shapes[0]), turn_loop(linear, ball, shapes[1])
        for axis, loop, gain in ((axes[0], first, gains["ball"]), *((a, second, gains["turn"]) for a in axes[1:])):
            locus = root_locus(loop, np.concatenate([[0.0], gain * np.geomspace(1e-4, 1e3, 3000)]))
            closed = root_locus(loop, [gain]).poles[0]
            axis.plot(locus.poles.real, locus.poles.imag, color=color, lw=1)
            axis.plot(locus.open_poles.real, locus.open_poles.imag, "x", color=color)
            axis.plot(locus.zeros.real, locus.zeros.imag, "o", color=color, mfc="none")
            axis.plot(closed.real, closed.imag, "s", color=color, ms=5, label=ring)
    titles = (
        f"first loop: x, gain {gains['ball']:.4g} N·m/m",
        f"second loop: angle, gain {gains['turn']:.3g} N·m/rad",
        "second loop, near the origin",
    )
    for axis, title, reach in zip(axes, titles, ((-170, 60, 160), (-30, 25, 40), (-1.6, 1.0, 1.0)), strict=True):
        axis.set(xlim=reach[:2], ylim=(-reach[2], reach[2]), title=title, xlabel="real part [rad/s]")
        axis.axhline(0, color="black", lw=0.6)
        axis.axvline(0, color="black", lw=0.6)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("imaginary part [rad/s]")
    axes[0].legend(title="■ closed loop", fontsize="small", loc="upper left")
    figure.suptitle("Root loci of the two compensators on all rings (paper: Fig. 7)")


def _run(figure: Any, r: Result) -> None:
    from impinge.studies.maze.ball_maze import contact_states

    axes = figure.subplots(5, 1, sharex=True)
    axes[0].plot(r.t, r["q1"], color="C0")
    axes[0].set_ylabel("maze angle q₁\n[rad]")
    roll = axes[0].twinx()
    roll.plot(r.t, r["q4"], color="C5", lw=1, ls="--")
    roll.set_ylabel("ball angle q₄\n[rad], dashed")
    axes[1].plot(r.t, 1000 * r["q2"], color="C1")
    axes[1].set_ylabel("ball x\n[mm]")
    axes[2].plot(r.t, 1000 * r["q3"], color="C2")
    axes[2].set_ylabel("ball y\n[mm]")
    states = contact_states(r)
    times = [time for time, _ in states] + [r.t[-1]]
    axes[3].step(times, [state for _, state in states] + [states[-1][1]], where="post", color="black")
    axes[3].set_ylabel("contact\n(Fig. 9)")
    axes[3].set_yticks(range(0, 9, 2))
    for ring, color in zip(("ring1", "ring2", "ring3", "ring4", "center"), (*_RING_COLORS, "C7"), strict=True):
        force = np.where(r.is_closed(ring), r[f"force_{ring}"], np.nan)
        axes[4].plot(r.t, force, color=color, lw=1, label=ring)
        peak = r.certificate.contacts[ring].largest_force
        if peak is not None:  # far between two rows: a landing takes a tenth of a millisecond
            axes[4].vlines(r.touchdowns(ring)[:1], 0.02, peak, color=color, lw=1)
            axes[4].plot(r.touchdowns(ring)[:1], [peak], "^", color=color, ms=4)
    axes[4].set_yscale("log")
    axes[4].set_ylabel("contact force\n[N], ▲ peak")
    axes[4].legend(fontsize="small", ncols=5, loc="center right")
    axes[4].set_xlabel("time [s]")
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.suptitle("The run (paper: Fig. 10)")


def _strip(figure: Any, r: Result) -> None:
    """Draw the maze before and after each fall."""
    from impinge.studies.maze.ball_maze import contact_states

    falls = [time for time, state in contact_states(r) if state % 2 == 0 and state > 0]
    shown = [0.0, *(moment for fall in falls for moment in (fall, min(fall + 1.0, r.t[-1])))]
    axes = np.atleast_1d(figure.subplots(1, max(len(shown), 2)))
    for axis in axes:
        axis.set_axis_off()
    for axis, time in zip(axes, shown, strict=False):
        _snapshot(axis, r, int(np.searchsorted(r.t, time)))
    figure.suptitle("Snapshots: at the start, at each gate, and a second later (paper: Fig. 11)")


def _snapshot(axis: Axes, r: Result, row: int) -> None:
    from matplotlib.patches import Circle

    from impinge.robots import maze

    values = {quantity.name: quantity.value for quantity in maze().parameters}
    angle = r["q1"][row]
    for ring in range(4):
        radius = values[f"r_m{ring + 1}"]
        half = values["gate"] / (2 * radius)
        first = np.pi / 2 if ring % 2 == 0 else -2 * half  # the gate, clockwise from the top of the maze
        wall = np.linspace(first + 2 * half, first + 2 * np.pi, 200) - angle
        axis.plot(radius * np.sin(wall), radius * np.cos(wall), color="C0", lw=1.5)
    axis.add_patch(Circle((r["q2"][row], r["q3"][row]), values["r_b"], color="C3"))
    axis.set(xlim=(-0.095, 0.095), ylim=(-0.095, 0.15), aspect="equal")
    axis.set_title(f"{r.t[row]:.1f} s", fontsize="small")
