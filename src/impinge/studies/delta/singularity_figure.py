"""The delta robot at its singularity as the paper shows it (Fig. 4), and beside it the swing at its own scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.delta.delta_singularity import BEGIN, LOOPS, MOTORS, TORQUES, turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from impinge.simulation import Result
    from impinge.studies.study import Outcome

_SHOWN = (0.5, 5.5)  # s before and after the kick
_NESTED, _EQUAL = (1.0, 2.3, 3.6), (1.2, 1.2, 1.2)  # widths of three lines, which may coincide or not
_HEIGHTS = (1.2, 0.7, 1.0, 1.2, 1.0)
_DIGITS = "₁₂₃₄₅₆"


def draw(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    """Return the figure: one column if the run ends before the kick."""
    from matplotlib.figure import Figure

    r = outcome.result
    kicked = bool(r.t[-1] > p["kick_time"])
    figure = Figure(figsize=(13 if kicked else 8, 12), layout="constrained")
    axes = figure.subplots(5, 1 + kicked, sharex="col", squeeze=False, height_ratios=_HEIGHTS)
    _whole(axes[:, 0], r, p)
    if kicked:
        axes[0, 0].set_title("whole run")
        axes[0, 1].set_title("kick and swing")
        _swing(axes[:, 1], r, p)
    for axis in figure.axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0.01)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]")
    figure.align_ylabels()
    kick = f", kicked by {p['kick']:g} N for {1000 * p['kick_duration']:g} ms at {p['kick_time']:g} s" if kicked else ""
    figure.suptitle(f"Delta robot driven to y = {p['angle']:.4f} rad{kick} (paper: Fig. 4)")
    return figure


def _whole(axes: Any, r: Result, p: Mapping[str, Any]) -> None:
    """Draw the paper's four panels and the torques."""
    from impinge.control.delta.controller import RATED_TORQUE

    angle, force, flange, multiplier, torque = axes
    _three(angle, r.t, [r[name] for name in MOTORS], "y", "servo angle\n[rad]")
    angle.plot(r.t, _reference(r, p), color="black", lw=1, ls="--", zorder=4, label="reference")
    angle.axhline(_singular(), color="C3", lw=1, ls=":", label="singular")
    _three(force, r.t, [r[f"f{k}"] for k in (1, 2, 3)], "f", "force on the flange\n[N]", drawstyle="steps-post")
    _three(flange, r.t, [1000 * r[f"z{k}"] for k in (1, 2, 3)], "z", "flange position\n[mm]", (1.0, 2.3, 1.4))
    _multipliers(multiplier, r, slice(None))
    _three(torque, r.t, [r[name] for name in TORQUES], "u", "motor torque\n[N·m]")
    for sign in (-1, 1):
        torque.axhline(sign * RATED_TORQUE, color="black", lw=1, ls="--", label="rated" if sign > 0 else None)
    for axis in axes:
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _swing(axes: Any, r: Result, p: Mapping[str, Any]) -> None:
    """Draw what the kick changes, each at the scale of the swing."""
    import numpy as np

    kick, after = p["kick_time"], p["kick_time"] + p["kick_duration"]
    shown = (r.t >= kick - _SHOWN[0]) & (r.t <= kick + _SHOWN[1])
    t, rest = r.t[shown], max(int(np.searchsorted(r.t, kick)) - 1, 0)
    error, force, flange, multiplier, torque = axes
    off = [1e6 * (r[name] - _reference(r, p))[shown] for name in MOTORS]
    _three(error, t, off, "y", "servo error y − r\n[µrad]", _EQUAL)
    _three(force, t, [r[f"f{k}"][shown] for k in (1, 2, 3)], "f", "force on the flange\n[N]", drawstyle="steps-post")
    _three(flange, t, [1000 * r[f"z{k}"][shown] for k in (1, 2)], "z", "flange position\n[mm]")
    _multipliers(multiplier, r, shown)
    swing = shown & (r.t >= after)
    peak, most = (max(abs(r[name][rows]).max(initial=0.0) for name in LOOPS) for rows in (shown, swing))
    if peak > 1.5 * most > 0:  # the kick itself would set the scale
        multiplier.set_ylim(-1.5 * most, 1.5 * most)
        multiplier.text(
            0.98,
            0.95,
            f"cut off: {peak:.2g} N in the kick",
            transform=multiplier.transAxes,
            ha="right",
            va="top",
            fontsize="small",
        )
    more = [1000 * (r[name][shown] - r[name][rest]) for name in TORQUES]
    _three(torque, t, more, "u", "torque beyond\nthat at rest [mN·m]", _EQUAL)


def _three(
    axis: Axes,
    t: NDArray[Any],
    signals: list[NDArray[Any]],
    symbol: str,
    label: str,
    lw: tuple[float, ...] = _NESTED,
    **style: Any,
) -> None:
    """Draw signals that may coincide: the first is on top, and the others wider."""
    for k, signal in enumerate(signals):
        axis.plot(t, signal, color=f"C{k}", lw=lw[k], zorder=3 - 0.1 * k, label=symbol + _DIGITS[k], **style)
    axis.set_ylabel(label)


def _multipliers(axis: Axes, r: Result, rows: Any) -> None:
    """Draw λ: colors are the directions of z, lines the loops, between arms 1 and 2 and between arms 1 and 3."""
    for k, name in enumerate(LOOPS):
        style: dict[str, Any] = {"lw": 2.6, "alpha": 0.45} if k < 3 else {"lw": 1.2, "ls": "--"}
        axis.plot(r.t[rows], r[name][rows], color=f"C{k % 3}", label=f"λ{_DIGITS[k]}", **style)
    axis.set_ylabel("multiplier\n[N]")


def _reference(r: Result, p: Mapping[str, Any]) -> NDArray[Any]:
    import numpy as np

    reference = turn(r[MOTORS[0]][0], p["angle"], BEGIN, BEGIN + p["turn"])
    return np.array([reference(t) for t in r.t])


def _singular() -> float:
    """Return the motor angle at which the six distal links are parallel, rad."""
    from impinge.robots import DeltaKinematics

    n = DeltaKinematics().parameters
    return math.acos((n["l3"] - n["l0"]) / n["l1"])
