"""Bortoff's bouncing ball: section 2, Figs. 2 to 4."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.simulation import Result


def _run(p: Mapping[str, Any], law: Law | None, progress: Progress | None) -> Outcome:
    from impinge.contact import Baumgarte
    from impinge.robots import ball
    from impinge.simulation import simulate

    result = simulate(
        ball(),
        law or Baumgarte(a0=p["a0"], a1=p["a1"], a2=p["a2"]),
        until=p["until"],
        parameters={"m": p["m"], "g": p["g"]},
        start={"q": p["height"]},
        progress=progress,
    )
    return Outcome(result, _metrics(result, p["until"]))


def _metrics(result: Result, until: float) -> dict[str, Any]:
    closed = result.is_closed("floor")
    touchdowns, liftoffs = result.touchdowns("floor"), result.liftoffs("floor")
    tops, heights = result.maxima("gap_floor")
    flying = ~closed[result.t.searchsorted(tops, side="right") - 1]
    ups = result.crossings("gap_floor", direction=1, where=closed)
    first = result.mean_step(touchdowns[0], liftoffs[0]) if liftoffs else None
    last = result.mean_step(until - 1.0, until)
    return {
        "touchdown_times": touchdowns,
        "gap_zero_up_times": ups.tolist(),
        "liftoff_times": liftoffs,
        "rest_time": touchdowns[-1] if closed[-1] and touchdowns else None,
        "apex_heights": heights[flying].tolist(),
        "final_gap": float(result["gap_floor"][-1]),
        "final_force": float(result["force_floor"][-1]),
        "final_mode": result.mode("floor"),
        "force_at_gap_zero_up": [_force_at(result, time) for time in ups],
        "mean_step_first_contact_s": first,
        "mean_step_last_second_s": last,
        "step_ratio": last / first if first else None,
    }


def _force_at(result: Result, time: float) -> float:
    """Return the contact force at a time inside a contact, from the cubic through the four nearest rows."""
    import numpy as np

    k = int(result.t.searchsorted(time))
    rows = slice(max(k - 2, 0), k + 2)
    t, first = np.unique(result.t[rows], return_index=True)  # at an event two rows share one time
    return float(np.polyfit(t - time, result["force_floor"][rows][first], t.size - 1)[-1])


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Draw the whole run on the left (as Figs. 2 and 3), the end of one contact on the right (as Fig. 4)."""
    from matplotlib.figure import Figure

    from impinge.simulation.results.plot import mode_axis

    r = outcome.result
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    axes = figure.subplots(3, 2, sharex="col", width_ratios=(2, 1))
    for column in range(2):
        axes[0, column].plot(r.t, r["gap_floor"], color="C0")
        axes[1, column].plot(r.t, r["force_floor"], color="C3", marker="." if column else "")
        mode_axis(axes[2, column], r, "floor")
        axes[2, column].set_xlabel("time [s]")
        axes[0, column].axhline(0, color="black", lw=0.8)
        for axis in axes[:, column]:
            axis.grid(alpha=0.3)
    for axis, label in zip(axes[:, 0], ("gap h [m]", "force λ [N]", "contact state"), strict=True):
        axis.set_ylabel(label)
    axes[0, 0].set_title("whole run (paper: Figs. 2 and 3)")
    if outcome.metrics["liftoff_times"]:
        _close_up(axes[:, 1], outcome, p["m"] * p["g"])
    else:
        axes[0, 1].set_title("no liftoff in this run")
    figure.suptitle(f"Bouncing ball, α = ({p['a0']:g}, {p['a1']:g}, {p['a2']:g})")
    return figure


def _close_up(axes: Any, outcome: Outcome, weight: float) -> None:
    """Zoom a column of panels on the end of the fifth contact, or of the last one there is."""
    r, metrics = outcome.result, outcome.metrics
    k = min(4, len(metrics["liftoff_times"]) - 1)
    begin, end = metrics["touchdown_times"][k], metrics["liftoff_times"][k]
    left, right = end - 0.2 * (end - begin), end + 0.1 * (end - begin)
    inside = (r.t > left) & (r.t < right)
    axes[0].set_xlim(left, right)
    axes[0].locator_params(axis="x", nbins=5)
    for axis, name in zip(axes, ("gap_floor", "force_floor"), strict=False):
        low, high = r[name][inside].min(), r[name][inside].max()
        axis.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        axis.axvline(end, color="C3", ls="--", lw=1, label="force zero")
        for up in metrics["gap_zero_up_times"]:
            if begin < up < end:
                axis.axvline(up, color="C0", ls=":", lw=1.2, label="gap zero")
    axes[1].axhline(weight, color="gray", lw=0.8, label="weight")
    axes[1].legend(fontsize="small", loc="upper right")
    axes[0].set_title(f"end of contact {k + 1} (paper: Fig. 4)")


def _growth(outcome: Outcome) -> list[float]:
    heights = outcome.metrics["apex_heights"]
    return [1000 * (b - a) for a, b in itertools.pairwise(heights)]


def _steady(outcome: Outcome) -> float | None:
    return outcome.result.certificate.contacts["floor"].steady_penetration


_LISTING: dict[str, Any] = {}  # the defaults are those of the paper's listing
_CAPTION_2 = {"a1": 1.0}
_FIGURE_3 = {"a1": 0.0}

_CLAIMS = (
    Claim(
        "never-pulls",
        "Fig. 1 and text: the constraint force is always repulsive",
        lambda o: o.result.certificate.contacts["floor"].smallest_force or 0.0,
        expected=-1e-9,
        compare="at least",
    ),
    Claim(
        "listing-touchdowns",
        "listing of section 2 (a0 = 100, a1 = 20, a2 = 1e6): the ball lands, bounces and comes to rest",
        lambda o: o.metrics["touchdown_times"],
        expected=[0.451524, 1.015104, 1.304346],
        tolerance=1e-6,
        when=_LISTING,
        note="the paper prints no times; these were computed independently",
    ),
    Claim(
        "rest",
        "Fig. 2: at rest the Lagrange multiplier is positive, the weight",
        lambda o: o.metrics["final_force"],
        expected=9.81,
        tolerance=1e-6,
        when=_LISTING,
    ),
    Claim(
        "P1-not-stiff",
        "P1: not stiff after the collision; the mean step grows at least 20 times",
        lambda o: o.metrics["step_ratio"],
        expected=20.0,
        compare="at least",
        when=_LISTING,
        note="last second against first contact; the paper gives no number",
    ),
    Claim("P2-no-penetration", "P2: no steady penetration", _steady, expected=1e-9, compare="at most", when=_LISTING),
    Claim(
        "fig2-ballistic",
        "Fig. 2: the contact state passes through Ballistic",
        lambda o: "Ballistic" in {event.after for event in o.result.events},
        when=_LISTING,
    ),
    Claim(
        "fig2-four-bounces",
        "Fig. 2: after four bounces the ball comes to rest (caption: α₁ = 1)",
        lambda o: len(o.metrics["liftoff_times"]),
        expected=4,
        when=_CAPTION_2,
        note="with α₁ = 1 the ball still bounces at 10 s: the figure was made with more damping than its caption says",
    ),
    Claim(
        "fig3-height-grows",
        "Fig. 3: without damping the ball's height grows over time",
        lambda o: min(_growth(o)) > 0,
        when=_FIGURE_3,
    ),
    Claim(
        "fig3-growth",
        "Fig. 3 and C1: each contact adds energy; every apex is 13.885 mm higher",
        lambda o: sum(_growth(o)) / len(_growth(o)),
        expected=13.885,
        tolerance=1e-3,
        when=_FIGURE_3,
        note="closed form: q − (α₀q²/2 + α₂q⁴/4)/g with α₀q + α₂q³ = g, where the force vanishes",
    ),
    Claim(
        "fig4-gap",
        "Fig. 4: h crosses zero near t = 4.356 s",
        lambda o: o.metrics["gap_zero_up_times"][4],
        expected=4.35764,
        tolerance=1e-5,
        when=_FIGURE_3,
        note="the caption's 4.356 is read off the plot",
    ),
    Claim(
        "fig4-force",
        "Fig. 4: λ changes sign near t = 4.362 s",
        lambda o: o.metrics["liftoff_times"][4],
        expected=4.36201,
        tolerance=1e-5,
        when=_FIGURE_3,
        note="the caption prints 4.262, before h crosses zero; its own text says after",
    ),
    Claim(
        "fig4-weight",
        "Fig. 4: λ = 9.81 when h crosses zero",
        lambda o: o.metrics["force_at_gap_zero_up"][4],
        expected=9.81,
        tolerance=1e-3,
        when=_FIGURE_3,
    ),
)

study = Study(
    name="bouncing-ball",
    title="a ball on a stabilized contact: bounce, rest, and energy from nothing",
    paper="Bortoff 2020, Figs. 2, 3, 4",
    parameters=(
        Parameter("a0", 100.0, "1/s²", "α₀: return of the closed gap", minimum=0, above=True),
        Parameter("a1", 20.0, "1/s", "α₁: damping", minimum=0),
        Parameter("a2", 1e6, "1/(m²s²)", "α₂: stiffness of the collision", minimum=0),
        Parameter("m", 1.0, "kg", "mass", minimum=0, above=True),
        Parameter("g", 9.81, "m/s²", "gravity"),
        Parameter("height", 1.0, "m", "start height", minimum=0),
        Parameter("until", 10.0, "s", "end time", minimum=0, above=True),
    ),
    run=_run,
    claims=_CLAIMS,
    figure=_figure,
)
