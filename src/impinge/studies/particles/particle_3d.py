"""A particle in space, pushed by a sphere on a path that is known: Trinkle's pages 14 to 16."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import ContactLaw
    from impinge.simulation import Result

_PLANT = ("m", "g", "c", "R", "r", "H", "n")


def _simulate(p: Mapping[str, Any], step: float, law: ContactLaw | None, progress: Progress | None = None) -> Result:
    from impinge.contact import Complementarity
    from impinge.robots import pushed_particle
    from impinge.simulation import simulate

    return simulate(
        pushed_particle(),
        law or Complementarity(step=step),
        until=p["until"],
        parameters={name: p[name] for name in _PLANT},
        progress=progress,
    )


def _run(p: Mapping[str, Any], law: ContactLaw | None, progress: Progress | None) -> Outcome:
    result = _simulate(p, p["step"], law, progress)
    runs = [result, *(_simulate(p, p["step"] / k, law) for k in (2, 4))]
    return Outcome(result, {**_metrics(result, p), "order": _order(runs)})


def _metrics(result: Result, p: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    contact = result.certificate.contacts["sphere"]
    touches = result.touchdowns("sphere")
    return {
        "touchdown_times": touches,
        "share_in_contact": float(np.mean(result.is_closed("sphere"))),
        "largest_penetration_m": contact.deepest_penetration,
        "allowed_penetration_m": _curvature(p) * p["step"] ** 2 / 2,
        "smallest_force_N": contact.smallest_force,
        "largest_force_N": contact.largest_force,
        "momentum_residual_Ns": _momentum_residual(result, p),
        "end": [float(result[name][-1]) for name in ("x", "y", "z")],
        "end_speed": float(np.sqrt(sum(result[f"{name}_dot"][-1] ** 2 for name in ("x", "y", "z")))),
    }


def _curvature(p: Mapping[str, Any]) -> float:
    """Return a bound of the acceleration of the sphere's center."""
    return float(p["n"] ** 2 * (p["r"] ** 2 + (4 * p["H"]) ** 2) ** 0.5)


def _momentum_residual(result: Result, p: Mapping[str, Any]) -> float:
    """Return the largest sum, up to any step, of what changed the momentum but was no impulse: it is rounding."""
    import numpy as np

    q = np.array([result[name] for name in ("x", "y", "z")])
    v = np.array([result[f"{name}_dot"] for name in ("x", "y", "z")])
    away = q - np.array([result[name] for name in ("cx", "cy", "cz")])
    normal = (away / np.sqrt((away**2).sum(axis=0)))[:, :-1]  # where each step began
    h, push = np.diff(result.t), np.diff(result["impulse_sphere"])
    smooth = -p["c"] * v[:, :-1] - p["m"] * p["g"] * np.array([[0.0], [0.0], [1.0]])
    missing = p["m"] * np.diff(v) - h * smooth - push * normal
    return float(np.abs(np.cumsum(missing, axis=1)).max())


def _order(runs: list[Result]) -> float | None:
    """Return the order at which the end of the path converges, from three steps that are halved."""
    import numpy as np

    ends = [np.array([run[name][-1] for name in ("x", "y", "z")]) for run in runs]
    first, second = np.linalg.norm(ends[0] - ends[1]), np.linalg.norm(ends[1] - ends[2])
    return float(np.log2(first / second)) if first > 0 and second > 0 else None


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    import numpy as np
    from matplotlib.figure import Figure

    r = outcome.result
    closed = r.is_closed("sphere")
    figure = Figure(figsize=(12, 6), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.2, 1))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    space.plot(r["cx"], r["cy"], r["cz"], color="gray", lw=1, label="center of the sphere")
    space.plot(r["x"], r["y"], r["z"], color="C0", lw=1, label="particle")
    touching = [np.where(closed, r[name], np.nan) for name in ("x", "y", "z")]
    space.plot(*touching, color="C3", lw=2, label="in contact")
    a, b = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
    k = int(np.argmax(closed)) if closed.any() else 0
    space.plot_wireframe(
        r["cx"][k] + p["R"] * np.cos(a) * np.sin(b),
        r["cy"][k] + p["R"] * np.sin(a) * np.sin(b),
        r["cz"][k] + p["R"] * np.cos(b),
        color="gray",
        lw=0.3,
    )
    space.set_xlabel("x [m]")
    space.set_ylabel("y [m]")
    space.set_zlabel("z [m]")
    space.set_aspect("equal")
    space.set_box_aspect(np.ptp([space.get_xlim(), space.get_ylim(), space.get_zlim()], axis=1), zoom=0.85)
    space.legend(fontsize="small")
    axes = [figure.add_subplot(grid[k, 1]) for k in range(3)]
    axes[0].plot(r.t, r["gap_sphere"], color="C0")
    axes[1].plot(r.t, 1e6 * np.where(closed, r["gap_sphere"], np.nan), color="C3")
    axes[1].axhline(-1e6 * outcome.metrics["allowed_penetration_m"], color="gray", ls="--", lw=1)
    low = -1e6 * outcome.metrics["allowed_penetration_m"]
    axes[1].annotate("−½h²|c̈|", (r.t[-1], low), ha="right", va="bottom", fontsize="small")
    axes[1].set_xlim(axes[0].get_xlim())
    axes[1].set_ylim(-2e6 * outcome.metrics["allowed_penetration_m"], 8e6 * outcome.metrics["allowed_penetration_m"])
    axes[2].plot(r.t, r["force_sphere"], color="C2")
    largest = np.sort(r["force_sphere"])[-5] if r.t.size > 5 else 1.0
    axes[2].set_ylim(0, max(1.2 * float(largest), 1e-3))
    for axis, label in zip(axes, ("gap [m]", "gap in contact [µm]", "force [N]"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[2].set_xlabel("time [s]")
    figure.suptitle(f"A sphere on a known path pushes a particle, h = {p['step']:g} s")
    return figure


study = Study(
    name="particle-3d",
    title="a sphere on a known path pushes a particle through space",
    paper="Trinkle 2018, pages 14 to 16",
    parameters=(
        Parameter("step", 2e-3, "s", "h: length of a step", minimum=0, above=True),
        Parameter("m", 0.5, "kg", "mass of the particle", minimum=0, above=True),
        Parameter("g", 0.0, "m/s²", "gravity, against z"),
        Parameter("c", 5.0, "N·s/m", "drag of the particle", minimum=0),
        Parameter("R", 0.5, "m", "radius of the sphere", minimum=0, above=True),
        Parameter("r", 1.0, "m", "radius of its path", minimum=0),
        Parameter("H", 0.2, "m", "height of its path", minimum=0),
        Parameter("n", 1.0, "rad/s", "how fast it goes round", minimum=0),
        Parameter("until", 4.0, "s", "end time", minimum=0, above=True),
    ),
    run=_run,
    claims=(
        Claim("touches", "page 14: the driven body meets the particle", lambda o: bool(o.metrics["touchdown_times"])),
        Claim(
            "never-pulls",
            "page 14: 0 ≤ f: the body can push, not pull",
            lambda o: o.metrics["smallest_force_N"] or 0.0,
            expected=0.0,
            compare="at least",
        ),
        Claim(
            "penetration",
            "page 15: ψ is linearized; what the path curves within a step is all that the particle can sink",
            lambda o: o.metrics["largest_penetration_m"] <= 1.001 * o.metrics["allowed_penetration_m"] + 1e-12,
            when={},
            note="at most ½h²|c̈|: the distance to a sphere is convex; with the notes' c⁺ − c in place of ċh, nothing",
        ),
        Claim(
            "momentum",
            "page 14: v⁺ = v + hM⁻¹(g + n f): momentum changes by these impulses alone",
            lambda o: o.metrics["momentum_residual_Ns"],
            expected=1e-12,
            compare="at most",
            when={},
        ),
        Claim(
            "first-order",
            "page 3: the method is of first order",
            lambda o: o.metrics["order"],
            expected=1.0,
            tolerance=0.35,
            when={},
            note="from three runs with h, h/2 and h/4, through the impact",
        ),
    ),
    figure=_figure,
)
