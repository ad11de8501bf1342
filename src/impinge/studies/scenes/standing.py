"""Things that stand: a stack of ten boxes, an arch of seven stones, a tent of two leaning boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.scene import Scene

_FALLEN = 1e-3  # m: what moved farther has not stood


def stack(boxes: int = 10, friction: float = 0.5) -> Scene:
    """Return a stack of boxes, each shifted and turned a little against the one below."""
    from impinge.geometry import Box, HalfSpace
    from impinge.scene import Scene

    scene = Scene("stack", friction=friction)
    scene.fixed("table", HalfSpace())
    for k in range(boxes):
        at = (0.004 * np.sin(2.0 * k), 0.004 * np.cos(3.0 * k), 0.05 + 0.1 * k)
        scene.body(f"box_{k + 1}", Box(0.2, 0.2, 0.1), density=700.0, at=at, turn=(0.0, 0.0, 0.1 * np.sin(k)))
    return scene


def arch(stones: int = 7, friction: float = 0.6, inner: float = 0.3, outer: float = 0.42, depth: float = 0.1) -> Scene:
    """Return half a ring of wedge-shaped stones that stands on the table."""
    from impinge.geometry import ConvexMesh, HalfSpace
    from impinge.scene import Scene

    scene = Scene("arch", friction=friction)
    scene.fixed("table", HalfSpace())
    cuts = np.linspace(0.0, np.pi, stones + 1)
    for k in range(stones):
        corners = [
            (r * np.cos(a), y, r * np.sin(a)) for a in cuts[k : k + 2] for r in (inner, outer) for y in (0, depth)
        ]
        points = np.array(corners)
        middle = points.mean(axis=0)
        scene.body(f"stone_{k + 1}", ConvexMesh.hull(points - middle), density=2000.0, at=middle)
    return scene


def tent(friction: float = 0.5, angle: float = 0.35, height: float = 0.5, thickness: float = 0.02) -> Scene:
    """Return two boards that lean against each other (angle from the vertical, rad), cut to lie flush at both ends."""
    from impinge.geometry import ConvexMesh, HalfSpace
    from impinge.scene import Scene

    scene = Scene("tent", friction=friction)
    scene.fixed("table", HalfSpace())
    foot, width = height * np.tan(angle), thickness / np.cos(angle)
    section = np.array([(foot, 0.0), (foot + width, 0.0), (0.0, height + thickness / np.sin(angle)), (0.0, height)])
    middle = section.mean(axis=0)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        corners = [(sign * (x - middle[0]), y, z - middle[1]) for x, z in section for y in (-0.15, 0.15)]
        scene.body(side, ConvexMesh.hull(corners), density=600.0, at=(sign * middle[0], 0.0, middle[1]))
    return scene


SCENES: dict[str, Callable[..., Scene]] = {"stack": stack, "arch": arch, "tent": tent}


def _run(p: Mapping[str, Any], law: Law | None, progress: Progress | None) -> Outcome:
    from impinge.contact import Complementarity
    from impinge.simulation import simulate

    scene = SCENES[p["what"]](friction=p["friction"])
    chosen = law or Complementarity(step=p["step"])
    result: Any = simulate(scene, chosen, until=p["until"], sample=p["until"] / 600, progress=progress)
    bodies = [name for name, part in scene.parts.items() if part.kind == "body"]
    moved = {
        name: max(float(np.abs(result[f"{name}_{x}"] - result[f"{name}_{x}"][0]).max()) for x in "xyz")
        for name in bodies
    }
    late = result.t >= 0.1 * p["until"]
    creep = max(float(np.ptp(result[f"{name}_{x}"][late])) for name in bodies for x in "xyz")
    velocities = [name for name, kind in result.kinds.items() if kind == "velocity"]
    return Outcome(
        result,
        {
            "stands": result.ok and max(moved.values()) < _FALLEN,
            "moved_mm": 1e3 * max(moved.values()),
            "creep_um": 1e6 * creep,
            "final_speed": max(float(np.abs(result[name][-1])) for name in velocities),
            "steady_penetration": result.certificate.contacts["all"].steady_penetration,
            "contacts_at_rest": len(result.contacts.at_row(result.t.size - 1)),
            "simulated_minutes": float(result.t[-1]) / 60,
        },
    )


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure

    from impinge.studies.scenes.scene_figure import draw_parts

    r: Any = outcome.result
    figure = Figure(figsize=(11, 5), layout="constrained")
    axis: Any = figure.add_subplot(1, 2, 1, projection="3d")
    draw_parts(axis, SCENES[p["what"]](friction=p["friction"]), r, -1, alpha=0.6)
    last = r.contacts.at_row(r.t.size - 1)
    size = 0.15 / max(float(np.linalg.norm(last.force, axis=1).max(initial=0.0)), 1e-9)
    for place, force in zip(last.place, last.force, strict=True):
        axis.plot(*np.column_stack([place, place + size * force]), color="black", lw=1.2)
    axis.set_title(f"{p['what']} after {r.t[-1] / 60:.3g} min, with the contact forces")
    plot = figure.add_subplot(1, 2, 2)
    for name in [n for n, part in SCENES[p["what"]](friction=p["friction"]).parts.items() if part.kind == "body"]:
        moved = np.linalg.norm([r[f"{name}_{x}"] - r[f"{name}_{x}"][0] for x in "xyz"], axis=0)
        plot.plot(r.t / 60, 1e6 * moved, label=name)
    plot.set(xlabel="time [min]", ylabel="distance from the start [µm]", title="how far each has moved")
    plot.legend(fontsize=7, ncols=2)
    plot.grid(alpha=0.3)
    return figure


study = Study(
    name="standing",
    title="a stack, an arch or a tent of boards stands for ten minutes",
    paper="ours",
    run=_run,
    figure=_figure,
    parameters=(
        Parameter("what", "arch", about="what stands", choices=tuple(SCENES)),
        Parameter("friction", 0.6, about="coefficient of all surfaces", minimum=0.0),
        Parameter("step", 2e-3, "s", "length of a time step", minimum=0.0, above=True),
        Parameter("until", 600.0, "s", "how long it is watched", minimum=0.0, above=True, effort=True),
    ),
    claims=(
        Claim("stands", "ours: it stands for ten simulated minutes", lambda o: o.metrics["stands"]),
        Claim("rests", "ours: nothing moves any more", lambda o: o.metrics["final_speed"], 1e-10, compare="at most"),
    ),
    quick=("until=20",),
)
