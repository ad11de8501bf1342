"""The soft touch as the paper shows it (Fig. 13), and how the peak force is spread over bricks that stand elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.delta_soft_touch import SoftTouchOutcome, controller_gain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.studies.study import Outcome


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Return the figure."""
    import numpy as np
    from matplotlib.figure import Figure

    assert isinstance(outcome, SoftTouchOutcome)
    result, m = outcome.result, outcome.metrics
    t = result.t
    figure = Figure(figsize=(9, 11), layout="constrained")
    gap, speed, gain, force, brick, spread = figure.subplots(6, 1, height_ratios=(1, 1, 0.7, 1, 0.7, 1.2))
    for axis in (speed, gain, force, brick):
        axis.sharex(gap)

    gap.plot(t, 1000 * result["gap_finger"], color="C0", lw=1.2)
    gap.set_ylabel("distance to\nthe brick [mm]")
    gap.set_ylim(-0.3, 6)
    rate = -1000 * result["gap_finger_dot"] + 1000 * result["brick1_dot"]
    reference = [1000 * outcome.controller.reference.step(float(x)).velocity[0] for x in t]
    speed.plot(t, reference, color="black", lw=1, ls="--", label="reference")
    speed.plot(t, rate, color="C0", lw=1.2, label="finger")
    speed.set_ylim(-0.05, 0.5)
    speed.set_ylabel("velocity\n[mm/s]")
    speed.legend(fontsize="small", loc="upper right")
    stiff = p["controller"] == "stiff"
    gain.plot(t, [p["k_p_stiff"] if stiff else controller_gain(p, float(x)) for x in t], color="C2", lw=1.2)
    gain.set_ylabel("k_p [1/s²]")
    force.plot(t, 1000 * result["force_finger"], color="C3", lw=1.2)
    force.axhline(m["stick_limit_mN"], color="gray", lw=1, ls=":", label="brick slides")
    force.set_ylabel("contact force\n[mN]")
    force.set_ylim(0, 1.15 * max(m["stick_limit_mN"], m["peak_force_mN"]))
    force.legend(fontsize="small", loc="upper left")
    brick.plot(t, 1e6 * (result["brick1"] - result["brick1"][0]), color="C1", lw=1.2)
    brick.set_ylabel("brick moved\n[µm]")
    if m["brick_displacement_um"] < 1:
        brick.set_ylim(-1, 1)
    brick.set_xlabel("time [s]")

    offsets = 1000 * np.array([x.offset for x in outcome.sweep])
    peaks = 1000 * np.array([x.peak for x in outcome.sweep])
    limits = m["stick_limit_mN"] / p["mu"] * np.array([x.mu for x in outcome.sweep]) if p["mu"] > 0 else peaks * np.nan
    spread.scatter(offsets, limits, s=8, color="gray", marker="_", label="force at which this brick slides")
    spread.scatter(offsets, peaks, s=8, color="C3", label="peak force")
    spread.set_ylim(0, None)
    spread.set_xlabel(f"brick farther than in the run above [mm], {len(peaks)} bricks with friction from 0.2 to 0.6")
    spread.set_ylabel("force [mN]")
    spread.legend(fontsize="small", loc="upper left")
    for axis in figure.axes:
        axis.grid(alpha=0.3)
    figure.suptitle(f"A finger touches a brick (paper: Fig. 13): {p['controller']} controller")
    return figure
