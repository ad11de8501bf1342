"""Looking at a result: one column of panels over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.simulation.results.result import Result


def mode_axis(axis: Any, result: Result, contact: str, label: str | None = None) -> None:
    """Draw a contact's mode as steps with the modes' names on the axis."""
    axis.step(result.t, result.mode_index(contact), where="post", label=label or contact)
    names = result.modes[contact]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.3, len(names) - 0.7)


def overview(result: Result) -> Figure:
    """Draw coordinates, outputs, gaps, forces, modes and inputs over time, each kind and unit in its own panel."""
    from matplotlib.figure import Figure

    groups: dict[str, list[str]] = {}
    for kind in ("coordinate", "output", "gap", "force", "input"):
        for name in result.signals:
            if result.kinds[name] == kind:
                unit = f" [{result.units[name]}]" if result.units[name] else ""
                groups.setdefault(kind + unit, []).append(name)
    contacts = list(result.modes)
    panels = len(groups) + bool(contacts)
    figure = Figure(figsize=(8, 1.2 + 1.8 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, names) in zip(axes, groups.items(), strict=False):
        for name in names:
            held = result.kinds[name] == "input"
            axis.plot(result.t, result[name], label=name, drawstyle="steps-post" if held else "default")
        axis.set_ylabel(label)
    for contact in contacts:
        mode_axis(axes[-1], result, contact)
        axes[-1].set_ylabel("mode")
    for axis in axes:
        axis.grid(alpha=0.3)
        if len(axis.lines) <= 8:
            axis.legend(loc="upper right", fontsize="small")
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(result.model)
    return figure
