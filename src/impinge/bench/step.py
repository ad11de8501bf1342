"""One step of a millisecond of a closed chain: impinge beside MuJoCo. For information; nothing is claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.bench.table import Row, Table, load, missing, race

FloatArray = NDArray[np.float64]

STEP = 1e-3
END = 2.0
STEPS = round(END / STEP)


def reference_angles() -> FloatArray:
    """Return the joint angles at the end, computed adaptively and tightly."""
    from impinge import Adaptive

    return impinge_runner(Adaptive(rtol=1e-12, atol=1e-12))()


def impinge_runner(method: Any = None) -> Callable[[], FloatArray]:
    """Return impinge's run, with a fixed step if no method is given; it returns the joint angles at the end."""
    from impinge import FixedStep, simulate
    from impinge.bench.systems import five_bar

    model, chosen = five_bar.model(), method or FixedStep(STEP)

    def run() -> FloatArray:
        result = simulate(model, until=END, sample=END, method=chosen)
        return np.array([result[name][-1] for name in five_bar.JOINTS])

    return run


def mujoco_runner(mujoco: Any, integrator: str, step: float = STEP) -> Callable[[], FloatArray]:
    """Return MuJoCo's run; it returns the joint angles at the end."""
    from impinge.bench.systems import five_bar

    model = mujoco.MjModel.from_xml_string(five_bar.mjcf(integrator, step))
    data = mujoco.MjData(model)
    start = five_bar.start_angles()

    def run() -> FloatArray:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        mujoco.mj_step(model, data, nstep=round(END / step))
        return np.array(data.qpos)

    return run


def benchmark() -> Table:
    """Measure it."""
    runners = {("impinge", "RK4"): impinge_runner()}
    mujoco = load("mujoco")
    if mujoco is not None:
        runners |= {("MuJoCo", name): mujoco_runner(mujoco, name) for name in ("Euler", "RK4")}
    exact = reference_angles()
    errors = {key: float(np.abs(run() - exact).max()) for key, run in runners.items()}
    times = race(runners)
    ours = times["impinge", "RK4"]
    rows = [
        Row(*key, seconds / STEPS, errors[key], "" if key[0] == "impinge" else f"{seconds / ours:.3g} × impinge")
        for key, seconds in times.items()
    ]
    if mujoco is None:
        rows.append(missing("MuJoCo"))
    return Table(
        title=f"Five-bar linkage: one step of {1e3 * STEP:g} ms",
        claim="",
        rows=tuple(rows),
        per="step",
        error=f"error at {END:g} s (rad)",
        notes=(
            f"Error: the largest of the four joint angles, against a tight adaptive run. {STEPS:,} steps in one call.",
            "MuJoCo's constraint is soft, as stiff as its step allows.",
        ),
    )
