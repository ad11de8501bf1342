"""Looking at a result: one column of panels over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.simulation.result import Result


def mode_axis(axis: Any, result: Result, contact: str, label: str | None = None) -> None:
    """Draw a contact's mode as steps with the modes' names on the axis."""
    axis.step(result.t, result[f"mode_{contact}"], where="post", label=label or contact)
    names = result.modes[contact]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(-0.3, len(names) - 0.7)


def overview(result: Result) -> Figure:
    """Draw coordinates, gaps, forces, modes and inputs over time, each kind in its own panel and unit."""
    from matplotlib.figure import Figure

    contacts = list(result.modes)
    groups: dict[str, list[str]] = {}
    for name in result.signals:
        kind, _, rest = name.partition("_")
        if kind == "gap" and rest in contacts:
            groups.setdefault(f"gap [{result.units[name]}]", []).append(name)
        elif kind == "force" and f"force_{rest}" == name and (rest in contacts or f"residual_{rest}" in result.signals):
            groups.setdefault(f"force [{result.units[name]}]", []).append(name)
        elif f"{name}_dot" in result.signals or kind not in ("energy", "work", "mode", "impulse", "residual", "gap"):
            if not name.endswith("_dot"):
                groups.setdefault(f"[{result.units[name]}]", []).append(name)
    panels = len(groups) + bool(contacts)
    figure = Figure(figsize=(8, 1.2 + 1.8 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, names) in zip(axes, groups.items(), strict=False):
        for name in names:
            held = "steps-post" if name in result.inputs else "default"
            axis.plot(result.t, result[name], label=name, drawstyle=held)
        axis.set_ylabel(label)
    if contacts:
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
