"""Spheres or boxes poured into a bin: many contacts at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.scene import Scene

RADIUS = 0.02
DENSITY = 1000.0
FRICTION = 0.5


def places(count: int, seed: int = 0) -> tuple[NDArray[np.float64], float]:
    """Return where things start, layer over layer with a little disorder, and half the width of the bin, m."""
    rng = np.random.default_rng(seed)
    side = max(2, int(np.ceil((count / 2) ** (1 / 3))))
    k = np.arange(count)
    cells = np.column_stack([k // side % side, k % side, k // side**2]).astype(float)
    cells[:, :2] -= (side - 1) / 2
    at = 2.2 * RADIUS * cells
    at[:, :2] += rng.uniform(-0.05, 0.05, size=(count, 2)) * RADIUS
    at[:, 2] += 1.05 * RADIUS
    return at, 1.15 * side * RADIUS


def pile(count: int, what: str = "spheres", friction: float = FRICTION) -> Scene:
    """Return the scene: things above a bin of five half-spaces."""
    from impinge.geometry import Box, HalfSpace, Sphere
    from impinge.scene import Placed, Scene

    at, half = places(count)
    scene = Scene("pile", friction=friction)
    walls = [Placed(HalfSpace())]
    for axis, angle in (
        ((0, 1, 0), np.pi / 2),
        ((0, 1, 0), -np.pi / 2),
        ((1, 0, 0), -np.pi / 2),
        ((1, 0, 0), np.pi / 2),
    ):
        turn = angle * np.array(axis, dtype=float)
        outward = np.array([np.sin(turn[1]), -np.sin(turn[0]), 0.0])
        walls.append(Placed(HalfSpace(), at=-half * outward, turn=turn))
    scene.fixed("bin", walls)
    edge = 1.15 * RADIUS  # a box of that size fits into the sphere, however it is turned
    for k, place in enumerate(at):
        if what == "spheres":
            scene.body(f"s{k}", Sphere(RADIUS), density=DENSITY, at=place)
        else:
            scene.body(
                f"s{k}", Box(edge, edge, edge), density=DENSITY, at=place, turn=(0.1 * k % 1.0, 0.2 * k % 0.7, 0.0)
            )
    return scene


def _run(p: Mapping[str, Any], law: Law | None, progress: Progress | None) -> Outcome:
    from impinge.contact import Complementarity
    from impinge.simulation import simulate

    scene = pile(p["N"], p["what"], p["friction"])
    chosen = law or Complementarity(step=p["step"], tolerance=p["tolerance"])
    result: Any = simulate(scene, chosen, until=p["until"], sample=p["until"] / 100, progress=progress)
    certificate = result.certificate.contacts["all"]
    weight = 9.81 * sum(part.inertia.mass for part in scene.parts.values() if part.inertia)
    steps = max(result.certificate.steps, 1)
    heights = np.array([result[f"s{k}_z"] for k in range(p["N"])])
    return Outcome(
        result,
        {
            "contacts_at_end": len(result.contacts.at_row(result.t.size - 1)),
            "max_penetration": certificate.deepest_penetration,
            "steady_penetration": certificate.steady_penetration,
            "kinetic_energy_end_J": float(result["energy_kinetic"][-1]),
            "force_on_floor_over_weight": float(-result.contacts.force_on("bin", result.t.size)[-1, 2]) / weight,
            "lowest_center_mm": 1e3 * float(heights[:, -1].min()),
            "sweeps_per_step": result.solver.sweeps / steps,
            "newton_per_step": result.solver.newton / steps,
            "energy_created_J": result.solver.created,
        },
    )


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure

    from impinge.studies.scenes.scene_figure import draw_parts

    r: Any = outcome.result
    scene = pile(p["N"], p["what"], p["friction"])
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    axis: Any = figure.add_subplot(1, 2, 1, projection="3d")
    draw_parts(axis, scene, r, -1, alpha=1.0)
    axis.set_title(f"{p['N']} {p['what']} after {r.t[-1]:g} s")
    energy, contacts = figure.add_subplot(2, 2, 2), figure.add_subplot(2, 2, 4)
    energy.semilogy(r.t, np.maximum(r["energy_kinetic"], 1e-16), color="C0")
    energy.set(ylabel="kinetic energy [J]", title="coming to rest")
    contacts.plot(r.t, np.bincount(r.contacts.row, minlength=r.t.size), color="C1")
    contacts.set(xlabel="time [s]", ylabel="contacts that push")
    for plot in (energy, contacts):
        plot.grid(alpha=0.3)
    return figure


study = Study(
    name="pile",
    title="spheres or boxes poured into a bin",
    paper="ours",
    run=_run,
    figure=_figure,
    parameters=(
        Parameter("N", 100, about="how many", minimum=1, effort=True),
        Parameter("what", "spheres", about="what is poured", choices=("spheres", "boxes")),
        Parameter("friction", FRICTION, about="coefficient of all surfaces", minimum=0.0),
        Parameter("step", 2e-3, "s", "length of a time step", minimum=0.0, above=True),
        Parameter("tolerance", 1e-2, about="of the impulses, see Complementarity", minimum=0.0, above=True),
        Parameter("until", 2.0, "s", "end of the run", minimum=0.0, above=True, effort=True),
    ),
    claims=(
        Claim(
            "inside",
            "ours: nothing leaves the bin",
            lambda o: o.metrics["lowest_center_mm"],
            0.5e3 * RADIUS,
            compare="at least",
        ),
        Claim(
            "no-energy",
            "ours: contacts never create energy",
            lambda o: o.metrics["energy_created_J"],
            1e-9,
            compare="at most",
        ),
    ),
    quick=("N=20", "until=0.6"),
)
