"""One step of a millisecond of the delta robot, nine coordinates and six constraints: impinge beside MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.bench.table import Row, Table, duration, load, missing, race

FloatArray = NDArray[np.float64]

STEP = 1e-3
END = 10.0
STEPS = round(END / STEP)
FASTER_THAN_MUJOCO = 10.0

_OURS, _THEIRS = ("impinge", "RK4"), ("MuJoCo", "RK4")


def reference_position() -> FloatArray:
    """Return the flange's position at the end, computed adaptively and tightly."""
    from impinge import Adaptive

    return impinge_runner(Adaptive(rtol=1e-12, atol=1e-12))()


def impinge_runner(method: Any = None) -> Callable[[], FloatArray]:
    """Return impinge's run, with a fixed step if no method is given; it returns the flange's position at the end."""
    from impinge import FixedStep, simulate
    from impinge.bench.systems import delta

    model, inputs, chosen = delta.model(), delta.torques(), method or FixedStep(STEP)

    def run() -> FloatArray:
        result = simulate(model, until=END, sample=END, inputs=inputs, method=chosen)
        return np.array([result[name][-1] for name in delta.POSITION])

    return run


def mujoco_runner(mujoco: Any, integrator: str, step: float = STEP) -> Callable[[], FloatArray]:
    """Return MuJoCo's run; it returns the flange's position at the end, the mean of the three wrists."""
    from impinge.bench.systems import delta

    model = mujoco.MjModel.from_xml_string(delta.mjcf(integrator, step))
    data = mujoco.MjData(model)
    start, motors = delta.start_hinges(), [0, 3, 6]

    def run() -> FloatArray:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = start
        data.qfrc_applied[motors] = delta.TORQUES
        mujoco.mj_step(model, data, nstep=round(END / step))
        mujoco.mj_kinematics(model, data)
        return np.array(data.site_xpos.mean(axis=0))

    return run


def tick_runner() -> Callable[[], None]:
    """Return what a controller computes of the kinematics in one tick: inverse with rates, forward with Jacobians."""
    from impinge.bench.systems import delta
    from impinge.robots import DeltaKinematics

    robot = DeltaKinematics()
    pose = robot.follow(robot.inverse(delta.START))
    # Two milliseconds at 1 m/s, there and back.
    goals = [tuple(x + shift for x in delta.START) for shift in (1.2e-3, 0.0)]
    angles = [robot.inverse(goal)[[0, 3, 6]] for goal in goals]
    rate = acceleration = (0.1, 0.2, 0.3)

    def run() -> None:
        for goal, y in zip(goals, angles, strict=True):
            robot.motion(goal, rate, acceleration)
            pose.update(y, rate)

    return run


def verdict(times: Mapping[tuple[str, str], float], errors: Mapping[tuple[str, str], float]) -> bool | None:
    """Tell whether the claim holds; None if MuJoCo is missing."""
    if _THEIRS not in times:
        return None
    return times[_THEIRS] >= FASTER_THAN_MUJOCO * times[_OURS] and errors[_OURS] < errors[_THEIRS]


def benchmark() -> Table:
    """Measure it."""
    from impinge import Adaptive

    runners = {_OURS: impinge_runner(), ("impinge", "Dormand–Prince 5(4)"): impinge_runner(Adaptive())}
    mujoco = load("mujoco")
    if mujoco is not None:
        runners |= {("MuJoCo", name): mujoco_runner(mujoco, name) for name in ("RK4", "implicitfast", "Euler")}
    exact = reference_position()
    errors = {key: float(np.abs(run() - exact).max()) for key, run in runners.items()}
    times = race(runners)
    tick = race({"tick": tick_runner()})["tick"] / 2
    ours = times[_OURS]
    rows = [
        Row(*key, seconds / STEPS, errors[key], "" if key == _OURS else f"{seconds / ours:.3g} × impinge's RK4")
        for key, seconds in times.items()
    ]
    if mujoco is None:
        rows.append(missing("MuJoCo"))
    return Table(
        title=f"Delta robot: a step of {1e3 * STEP:g} ms",
        claim=f"impinge's RK4 is at least {FASTER_THAN_MUJOCO:g} × faster than MuJoCo's, with a smaller error",
        rows=tuple(rows),
        met=verdict(times, errors),
        per="step",
        error=f"error at {END:g} s (m)",
        notes=(
            f"Error: of the flange's position, against a tight adaptive run. {STEPS:,} steps in one call; with step",
            "control the time is that of the whole run over as many. MuJoCo's constraints are soft, as stiff as its",
            f"step allows. Forward and inverse kinematics of one tick of a controller take {duration(tick)}.",
        ),
    )
