"""The delta robot under a joystick as the paper shows it (Fig. 9), and how far from the reference each run is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from impinge.studies.delta.delta_tracking import AXES, FIRM, GOOD, OFF, TORQUES, Tracking, TrackingOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from impinge.studies.study import Outcome

_SMALLEST = 1e-2  # mm: a distance that is smaller leaves its panel
_NESTED = (1.0, 2.0, 3.0)  # widths of three lines that may coincide


class _Line(NamedTuple):
    run: Tracking
    label: str
    style: Mapping[str, Any]


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Return the figure."""
    import numpy as np
    from matplotlib.figure import Figure

    assert isinstance(outcome, TrackingOutcome)
    lines = _lines(p, outcome.runs)
    longest = max((x.run for x in lines), key=lambda run: run.result.t[-1])
    stroke = 1000 * float(np.ptp(longest.reference, axis=1).max())
    figure = Figure(figsize=(10, 13), layout="constrained")
    axes = figure.subplots(5, 1, sharex=True, height_ratios=(1, 1, 1, 1.5, 1))
    for k, axis in enumerate(axes[:3]):
        _position(axis, k, lines, longest, stroke)
    _distance(axes[3], lines, GOOD * stroke)
    _torques(axes[4], outcome.runs["run"])
    axes[4].set_xlabel("time [s]")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0.01)
    figure.align_ylabels()
    handles = [*axes[0].get_legend_handles_labels()[0], *axes[3].get_legend_handles_labels()[0]]
    axes[0].legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.03), ncols=2, fontsize="small")
    figure.suptitle(
        "A joystick moves the flange (paper: Fig. 9)\n"
        f"{p['inertia']} inertia, {_masses(p['model_error'])}, {_gains(p['k_p'], p['k_d'])}"
    )
    return figure


def _masses(error: float) -> str:
    if error == 0:
        return "masses known exactly"
    return f"masses taken {abs(100 * error):g} % too {'large' if error > 0 else 'small'}"


def _gains(k_p: float, k_d: float) -> str:
    return f"$k_p$ = {k_p:g} s⁻², $k_d$ = {k_d:g} s⁻¹"


def _lines(p: Mapping[str, Any], runs: Mapping[str, Tracking]) -> list[_Line]:
    """Return what is drawn: the run, the other inertia, and a model error with the run's gains and with firm ones."""
    other = "printed" if p["inertia"] == "exact" else "exact"
    lines = [
        _Line(runs["run"], "this run", {"color": "C0", "lw": 1.8, "zorder": 3}),
        _Line(runs[other], f"with the {other} inertia", {"color": "C3", "lw": 1.2}),
        _Line(runs["model_error"], f"with {_masses(OFF)}", {"color": "C1", "lw": 1.2}),
        _Line(runs["firm_model_error"], f"with {_masses(OFF)}, {_gains(*FIRM)}", {"color": "C2", "lw": 1.2}),
    ]
    if p["model_error"] == OFF or (p["k_p"], p["k_d"]) == FIRM:
        del lines[2]  # another line already
    return [x if x.run.lost is None else x._replace(label=f"{x.label}: × lost at {x.run.lost:.2f} s") for x in lines]


def _position(axis: Axes, k: int, lines: list[_Line], longest: Tracking, stroke: float) -> None:
    """Draw one direction, at a scale that leaves out the runs that are lost."""
    reference = 1000 * longest.reference[k]
    low, high = reference.min(), reference.max()
    for run, label, style in lines:
        z = 1000 * run.result[AXES[k]]
        axis.plot(run.result.t, z, label=label, **style)
        if run.lost is None:
            low, high = min(low, z.min()), max(high, z.max())
        else:
            _cross(axis, run, z[-1], style)
    axis.plot(longest.result.t, reference, color="black", lw=1, ls="--", zorder=4, label="reference")
    room = max(0.1 * stroke, 1.0)
    axis.set_ylim(low - room, high + room)
    axis.set_ylabel(f"z{'₁₂₃'[k]} [mm]")


def _distance(axis: Axes, lines: list[_Line], good: float) -> None:
    import numpy as np

    for run, _, style in lines:
        size = 1000 * np.linalg.norm(run.error, axis=0)
        axis.plot(run.result.t, size, **style)
        if run.lost is not None:
            _cross(axis, run, size[-1], style)
    axis.axhline(
        good, color="gray", lw=1.5, ls="--", label=f"taken for good: {good:.3g} mm, {100 * GOOD:g} % of the stroke"
    )
    axis.set_yscale("log")
    axis.set_ylim(_SMALLEST, 2 * max([good, *(x.run.largest_mm for x in lines)]))
    axis.set_ylabel("distance from\nreference [mm]")


def _cross(axis: Axes, run: Tracking, last: float, style: Mapping[str, Any]) -> None:
    axis.plot(run.result.t[-1], last, "x", color=style["color"], ms=7, mew=2, zorder=5)


def _torques(axis: Axes, run: Tracking) -> None:
    """Draw the run's torques, and the rating on the side that they are on."""
    from impinge.control.delta.controller import RATED_TORQUE

    torques = [run.result[name] for name in TORQUES]
    for k, torque in enumerate(torques):
        axis.plot(run.result.t, torque, color=f"C{k}", lw=_NESTED[k], zorder=3 - 0.1 * k, label=f"u{'₁₂₃'[k]}")
    sides = [sign for sign in (-1, 1) if any((sign * torque > 0).any() for torque in torques)]
    for sign in sides:
        axis.axhline(sign * RATED_TORQUE, color="black", lw=1, ls="--", label="rated" if sign == sides[0] else None)
    if len(sides) == 1:
        axis.set_ylim(*sorted((0, sides[0] * 1.1 * RATED_TORQUE)))
    axis.set_ylabel("motor torque of\nthis run [N·m]")
    axis.legend(fontsize="small", ncols=4)
