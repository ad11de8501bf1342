"""Three cubes above a table: they fall, strike each other, and come to rest (Bortoff, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import Law
    from impinge.scene import Scene
    from impinge.simulation.bodies.assemble import SceneResult

EDGE = 0.1
NAMES = ("red", "green", "blue")
_SLOW = 1e-10  # m/s and rad/s: at rest
# Where the cubes start, in edges, and how they are turned (rotation vectors, rad).
_STARTS = {
    "tumble": (
        ((0.0, 0.0, 1.2), (0.5, 0.3, 0.1)),
        ((0.35, 0.1, 2.9), (0.2, -0.4, 0.6)),
        ((-0.2, 0.25, 4.6), (1.0, 0.5, 0.0)),
    ),
    "stack": (
        ((0.0, 0.0, 0.6), (0.0, 0.0, 0.1)),
        ((0.1, 0.05, 1.8), (0.0, 0.0, 0.4)),
        ((-0.1, 0.1, 3.0), (0.0, 0.0, -0.3)),
    ),
}


def cubes(start: str, friction: float) -> Scene:
    """Return the scene: three equal cubes above a table."""
    from impinge.geometry import Box, HalfSpace
    from impinge.scene import Scene

    scene = Scene("three cubes", friction=friction)
    scene.fixed("table", HalfSpace())
    for name, (at, turn) in zip(NAMES, _STARTS[start], strict=True):
        scene.body(name, Box(EDGE, EDGE, EDGE), density=600.0, at=EDGE * np.array(at), turn=turn)
    return scene


def _state(result: SceneResult, row: int) -> dict[str, float]:
    """Return the state of a row, as `simulate` takes it for a start."""
    kinds = result.kinds
    return {name: float(x[row]) for name, x in result.signals.items() if kinds[name] in ("coordinate", "velocity")}


def speeds(result: SceneResult) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the largest velocity of any body in each row, m/s or rad/s."""
    names = [name for name, kind in result.kinds.items() if kind == "velocity"]
    return np.abs([result[name] for name in names]).max(axis=0)


def rest_time(result: SceneResult) -> float | None:
    """Return the time from which on nothing moves, or None."""
    moving = np.flatnonzero(speeds(result) > _SLOW)
    if moving.size and moving[-1] + 1 >= result.t.size:
        return None
    return float(result.t[moving[-1] + 1]) if moving.size else 0.0


def creep(before: Mapping[str, float], result: SceneResult) -> float:
    """Return the largest change of a position between a state and any row of a result, µm."""
    names = [name for name in before if name.endswith(("_x", "_y", "_z"))]
    return 1e6 * max(float(np.abs(result[name] - before[name]).max()) for name in names)


def never_gains(result: SceneResult) -> bool:
    """Tell whether impulses never gave energy, and the whole never grew but by what corrections lifted."""
    total = result["energy_kinetic"] + result["energy_potential"] - result["energy_lifted"]
    slack = 1e-12 * float(np.abs(total).max())
    return result.solver.created <= 1e-12 * float(result["energy_kinetic"].max()) and bool(
        (np.diff(total) <= slack).all()
    )


def _run(p: Mapping[str, Any], law: Law | None, progress: Progress | None) -> Outcome:
    from impinge.contact import Complementarity
    from impinge.simulation import simulate

    scene = cubes(p["start"], p["friction"])
    chosen = law or Complementarity(step=p["step"])
    result: Any = simulate(scene, chosen, until=p["until"], sample=2 * p["step"], progress=progress)
    rest = rest_time(result) if result.ok else None
    crept = None
    if rest is not None:
        state = _state(result, -1)
        later: Any = simulate(scene, chosen, until=3600.0, start=state, sample=60.0, progress=progress)
        crept = creep(state, later) if later.ok else None
    certificate = result.certificate.contacts["all"]
    last = result.contacts.at_row(result.t.size - 1)
    return Outcome(
        result,
        {
            "rest_time": rest,
            "final_speed": float(speeds(result)[-1]),
            "max_penetration": certificate.deepest_penetration,
            "steady_penetration": certificate.steady_penetration,
            "creep_um_per_hour": crept,
            "energy_monotone": never_gains(result),
            "energy_lifted_J": result.solver.lifted,
            "contacts_at_rest": len(last),
            "total_force_on_table_N": float(-result.contacts.force_on("table", result.t.size)[-1, 2]),
        },
    )


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure

    from impinge.studies.scenes.scene_figure import draw_parts

    r: Any = outcome.result
    scene = cubes(p["start"], p["friction"])
    figure = Figure(figsize=(11, 7), layout="constrained")
    grid = figure.add_gridspec(2, 12, height_ratios=(1.2, 1))
    end = outcome.metrics["rest_time"] or r.t[-1]
    for k, share in enumerate((0.0, 0.35, 1.0)):
        row = int(np.searchsorted(r.t, share * end))
        axis: Any = figure.add_subplot(grid[0, 4 * k : 4 * k + 4], projection="3d")
        draw_parts(axis, scene, r, min(row, r.t.size - 1))
        axis.set_title(f"t = {r.t[min(row, r.t.size - 1)]:.2f} s", fontsize=10)
    energy, force, depth = (figure.add_subplot(grid[1, 4 * k : 4 * k + 4]) for k in range(3))
    energy.plot(r.t, r["energy_kinetic"], label="kinetic")
    energy.plot(r.t, r["energy_kinetic"] + r["energy_potential"], label="total")
    energy.set(xlabel="time [s]", ylabel="energy [J]", title="energy")
    energy.legend(fontsize=8)
    force.plot(r.t, -r.contacts.force_on("table", r.t.size)[:, 2], lw=0.8, color="C3")
    weight = outcome.metrics["total_force_on_table_N"]
    force.set(xlabel="time [s]", ylabel="force on the table [N]", title="table", ylim=(0, 12 * max(weight, 1.0)))
    depth.semilogy(r.t, np.maximum(speeds(r), 1e-16), lw=0.8, color="C4")
    depth.axhline(_SLOW, color="gray", lw=0.8, ls="--")
    depth.set(xlabel="time [s]", ylabel="largest velocity [m/s, rad/s]", title="coming to rest")
    for axis in (energy, force, depth):
        axis.grid(alpha=0.3)
    return figure


study = Study(
    name="three-cubes",
    title="three cubes fall on a table, strike each other and rest for an hour",
    paper="Bortoff, section 2 (named there, not simulated)",
    run=_run,
    figure=_figure,
    parameters=(
        Parameter("start", "tumble", about="how the cubes start", choices=tuple(_STARTS)),
        Parameter("friction", 0.5, about="coefficient of all surfaces", minimum=0.0),
        Parameter("step", 1e-3, "s", "length of a time step", minimum=0.0, above=True),
        Parameter("until", 3.0, "s", "end of the fall", minimum=0.0, above=True),
    ),
    claims=(
        Claim(
            "rests", "ours: at rest, velocity below 1e-10", lambda o: o.metrics["final_speed"], 1e-10, compare="at most"
        ),
        Claim(
            "no-creep", "ours: no creep in an hour", lambda o: o.metrics["creep_um_per_hour"], 1e-6, compare="at most"
        ),
        Claim(
            "penetration",
            "ours: at rest below 1e-6 m",
            lambda o: o.metrics["steady_penetration"],
            1e-6,
            compare="at most",
        ),
        Claim("no-energy", "ours: contacts never create kinetic energy", lambda o: o.metrics["energy_monotone"]),
    ),
)
