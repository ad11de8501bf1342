"""Spheres poured into a bin: impinge's run of it, and MuJoCo's from the same places."""

from __future__ import annotations

from time import thread_time
from typing import Any

from impinge.bench.systems.stepped import FloatArray, Stepped
from impinge.studies.scenes.pile import DENSITY, FRICTION, RADIUS, pile, places

STEP = 2e-3
TOLERANCE = 1e-2


class Poured(Stepped):
    """A run of the pile."""

    def __init__(self, count: int) -> None:
        super().__init__(pile(count), STEP, TOLERANCE)


def mjcf(count: int, step: float, solver: str, hard: bool) -> str:
    """Return the same pile for MuJoCo: contacts as stiff as its step allows, friction in a circle.

    Hard ones have an impedance of almost one: less depth, and a problem that is harder to solve.
    """
    at, half = places(count)
    walls = "".join(
        f'<geom type="plane" size="5 5 .1" pos="{-a * half} {-b * half} 0" zaxis="{a} {b} 0"/>'
        for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size="{RADIUS}" density="{DENSITY}"/></body>'
        for x, y, z in at
    )
    impedance = "0.999 0.9999 0.001" if hard else "0.9 0.95 0.001"
    return (
        f'<mujoco><option timestep="{step}" solver="{solver}" cone="elliptic"/><size memory="2G"/>'
        f'<default><geom friction="{FRICTION} 0 0" solref="{2 * step} 1" solimp="{impedance}" condim="3"/></default>'
        f'<worldbody><geom type="plane" size="5 5 .1"/>{walls}{bodies}</worldbody></mujoco>'
    )


def mujoco_cost(
    mujoco: Any, count: int, setting: tuple[float, str, bool], state: tuple[FloatArray, FloatArray], steps: int
) -> tuple[float, float]:
    """Return MuJoCo's processor time per step, s, and its deepest penetration, m, after steps from a state."""
    model = mujoco.MjModel.from_xml_string(mjcf(count, *setting))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = state
    mujoco.mj_step(model, data, nstep=2)
    begin = thread_time()
    mujoco.mj_step(model, data, nstep=steps)
    cost = (thread_time() - begin) / steps
    depth = max((-float(data.contact.dist[k]) for k in range(data.ncon)), default=0.0)
    return cost, depth
