"""The soft touch as the paper shows it (Fig. 13), the impact itself, and the peak forces on bricks elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.delta.delta_soft_touch import CLOSEUP, SoftTouchOutcome, gain_of, reference_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.studies.study import Outcome

_PAPER = (("peak in the paper", 90.0), ("steady in the paper", 40.0))  # mN


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Return the figure."""
    from matplotlib.figure import Figure

    assert isinstance(outcome, SoftTouchOutcome)
    figure = Figure(figsize=(10, 11), layout="constrained")
    grid = figure.add_gridspec(5, 2, height_ratios=(1, 1, 0.7, 1.1, 1.3))
    gap = figure.add_subplot(grid[0, :])
    speed, gain, force = (figure.add_subplot(grid[k, :], sharex=gap) for k in (1, 2, 3))
    _course(p, outcome, gap, speed, gain, force)
    _impact(outcome, figure.add_subplot(grid[4, 0]))
    _spread(outcome, figure.add_subplot(grid[4, 1]))
    for axis in figure.axes:
        axis.grid(alpha=0.3)
    figure.suptitle(f"A finger touches a brick (paper: Fig. 13), {p['controller']} controller")
    return figure


def _course(p: Mapping[str, Any], outcome: SoftTouchOutcome, gap: Any, speed: Any, gain: Any, force: Any) -> None:
    result, m, t = outcome.result, outcome.metrics, outcome.result.t
    gap.plot(t, 1000 * result["gap_finger"], color="C0", lw=1.2)
    gap.set_ylabel("distance to\nthe brick [mm]")
    gap.set_ylim(-0.3, 6)
    reference = reference_of(p)
    speed.plot(
        t, [1000 * reference.at(float(x)).velocity[0] for x in t], color="black", lw=1, ls="--", label="reference"
    )
    speed.plot(t, 1000 * (result["brick1_dot"] - result["gap_finger_dot"]), color="C0", lw=1.2, label="finger")
    speed.set_ylim(-0.05, 0.5)
    speed.set_ylabel("velocity [mm/s]\n(cut at 0.5)")
    speed.legend(fontsize="small", loc="upper right")
    k_p = gain_of(p)
    gain.plot(t, [k_p(float(x)) for x in t], color="C2", lw=1.2)
    gain.set_ylim(0, 1.15 * max(k_p(0.0), 1.0))
    gain.set_ylabel("k_p [1/s²]")
    force.plot(t, 1000 * result["force_finger"], color="C3", lw=1.2)
    force.axhline(m["stick_limit_mN"], color="gray", lw=1, ls=":")
    force.text(0.2, m["stick_limit_mN"], "the brick slides", color="gray", fontsize="small", va="bottom")
    force.set_ylabel("contact force [mN]")
    force.set_ylim(0, 1.25 * max(m["stick_limit_mN"], m["peak_force_mN"], 1.0))
    moved = force.twinx()
    moved.plot(t, 1e6 * (result["brick1"] - result["brick1"][0]), color="C1", lw=1.2)
    moved.set_ylim(-0.1, max(1.0, 1.25 * m["brick_displacement_um"]))
    moved.set_ylabel("brick moved [µm]", color="C1")
    force.set_xlabel("time [s]")
    for axis in (gap, speed, gain, force):
        if m["contact_time"] is not None:
            axis.axvline(m["contact_time"], color="C3", lw=0.8, alpha=0.5)
    for axis in (gap, speed, gain):
        axis.tick_params(labelbottom=False)


def _impact(outcome: SoftTouchOutcome, axis: Any) -> None:
    """Draw the beginning of the contact, step by step."""
    m, close = outcome.metrics, outcome.closeup
    axis.set_ylabel("contact force [mN]")
    if close is None:
        axis.text(0.5, 0.5, "no contact", ha="center", transform=axis.transAxes)
        return
    axis.plot(1000 * (close.t - m["contact_time"]), 1000 * close["force_finger"], color="C3", lw=1.2)
    for what, level in _PAPER:
        axis.axhline(level, color="black", lw=0.8, ls="--")
        axis.text(980 * CLOSEUP, level, what, fontsize="small", ha="right", va="bottom")
    axis.set_xlim(-5, 1000 * CLOSEUP)
    axis.set_ylim(0, 1.25 * max(90.0, m["peak_force_mN"] if m["bounces"] == 0 else 90.0))
    axis.set_xlabel("time from contact [ms]")
    axis.set_title("the impact", fontsize="medium")


def _spread(outcome: SoftTouchOutcome, axis: Any) -> None:
    offsets = [1000 * x.offset for x in outcome.sweep]
    shares = [x.peak / x.limit if x.limit > 0 else float("nan") for x in outcome.sweep]
    axis.scatter(offsets, shares, s=9, color="C3")
    axis.axhline(1.0, color="gray", lw=1, ls=":")
    axis.text(-2, 1.0, "the brick slides", color="gray", fontsize="small", va="bottom")
    axis.set_ylim(0, 1.2 * max(1.0, *shares) if shares else None)
    axis.set_xlim(-2.1, 2.1)
    axis.set_xlabel("brick farther than in the run above [mm]")
    axis.set_ylabel("peak force over the force\nat which this brick slides")
    axis.set_title(f"{len(offsets)} bricks, friction 0.2 to 0.6", fontsize="medium")
