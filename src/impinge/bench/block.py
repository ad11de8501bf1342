"""One time step of a block that slides on two corners, with friction: impinge beside MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from impinge.bench.table import Row, Table, load, missing, race

END = 10.0
FASTER_THAN_MUJOCO = 3.0

_OURS, _THEIRS = ("impinge", "complementarity"), ("MuJoCo", "Euler")


def impinge_runner() -> Callable[[], float]:
    """Return impinge's run; it returns where the block comes to rest."""
    from impinge import Complementarity, simulate
    from impinge.bench.systems import block

    model, law = block.model(), Complementarity(step=block.STEP)

    def run() -> float:
        result = simulate(model, law, until=END, sample=END, start={"x_dot": block.SPEED})
        return float(result["x"][-1])

    return run


def mujoco_runner(mujoco: Any, integrator: str) -> Callable[[], float]:
    """Return MuJoCo's run; it returns where the block is at the end."""
    from impinge.bench.systems import block

    model = mujoco.MjModel.from_xml_string(block.mjcf(integrator))
    data = mujoco.MjData(model)

    def run() -> float:
        mujoco.mj_resetData(model, data)
        data.qvel[0] = block.SPEED
        mujoco.mj_step(model, data, nstep=round(END / block.STEP))
        return float(data.qpos[0])

    return run


def verdict(times: Mapping[tuple[str, str], float]) -> bool | None:
    """Tell whether the claim holds; None if MuJoCo is missing."""
    return times[_THEIRS] >= FASTER_THAN_MUJOCO * times[_OURS] if _THEIRS in times else None


def benchmark() -> Table:
    """Measure it."""
    from impinge.bench.systems import block

    runners: dict[tuple[str, str], Callable[[], float]] = {_OURS: impinge_runner()}
    mujoco = load("mujoco")
    if mujoco is not None:
        runners |= {("MuJoCo", name): mujoco_runner(mujoco, name) for name in ("Euler", "implicitfast")}
    p = {x.name: x.value for x in block.model().parameters}
    exact = block.SPEED**2 / (2 * p["mu"] * p["g"])
    errors = {key: abs(run() - exact) for key, run in runners.items()}
    times, steps = race(runners), round(END / block.STEP)
    ours = times[_OURS]
    rows = [
        Row(*key, seconds / steps, errors[key], "" if key == _OURS else f"{seconds / ours:.3g} × impinge")
        for key, seconds in times.items()
    ]
    if mujoco is None:
        rows.append(missing("MuJoCo"))
    return Table(
        title=f"Block on two corners: a time step of {1e3 * block.STEP:g} ms",
        claim=f"impinge's step is at least {FASTER_THAN_MUJOCO:g} × faster than MuJoCo's",
        rows=tuple(rows),
        met=verdict(times),
        per="step",
        error="error at rest (m)",
        notes=(
            f"It slides at {block.SPEED:g} m/s and stops after v²/(2μg); then it rests. {steps} steps in one call.",
            "MuJoCo's corners are spheres of 0.1 mm on a plane, with its default contact and pyramids of friction.",
        ),
    )
