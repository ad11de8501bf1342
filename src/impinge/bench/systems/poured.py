"""Spheres poured into a bin: impinge's run of it, and MuJoCo's from the same places."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.contact import Complementarity
from impinge.scene.world import layout_of
from impinge.simulation.bodies.run import SceneRun, rules_of
from impinge.simulation.bodies.stage import CORRECTIONS, LAST, MISS, MISSED, NEWTON, STEPS, SWEEPS
from impinge.simulation.bodies.touching.push import push
from impinge.simulation.bodies.touching.touch import look_around
from impinge.simulation.events.instant import DONE, FULL, PAUSED
from impinge.studies.scenes.pile import DENSITY, FRICTION, RADIUS, pile, places

FloatArray = NDArray[np.float64]

STEP = 2e-3
TOLERANCE = 1e-2


class Poured:
    """A run of the pile that can be stopped, timed and looked into."""

    def __init__(self, count: int) -> None:
        scene = pile(count)
        law = Complementarity(step=STEP, tolerance=TOLERANCE)
        self.run = SceneRun(scene, layout_of(scene), rules_of(scene, law), np.zeros(0), 1e9, None)
        self.run.start()

    def until(self, t: float) -> float:
        """Go on until a time; return the processor time that it took, s."""
        begin = thread_time()
        while (status := self.run.hold(t)) != DONE:
            if status == FULL:
                self.run.grow()
            elif status != PAUSED:
                raise RuntimeError(self.run.failure(status))
        return thread_time() - begin

    @property
    def state(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates and velocities, as MuJoCo orders them too."""
        return self.run.stage.q.copy(), self.run.stage.v.copy()

    @property
    def counts(self) -> dict[str, int]:
        """What has been done so far."""
        counts = self.run.stage.counts
        named = {"steps": STEPS, "sweeps": SWEEPS, "newton": NEWTON, "corrections": CORRECTIONS, "missed": MISSED}
        return {name: int(counts[k]) for name, k in named.items()}

    @property
    def miss(self) -> float:
        """The worst miss of a contact's law over the scale of the tolerance."""
        return float(self.run.stage.tally[MISS])

    @property
    def penetration(self) -> float:
        """How deep the contacts that push are in each other, at most, m."""
        last, used = self.run.stage.last, int(self.run.stage.used[LAST])
        pushing = last.impulse[:used, 0] > 0.0
        return max(0.0, -float(last.point[:used][pushing, 0].min(initial=0.0)))

    def profile(self, repeats: int = 5) -> dict[str, float]:
        """Time finding the contacts and solving for the impulses of one step, s."""
        address = self.run.packed.address

        def best(action: Callable[[], object]) -> float:
            times = []
            for _ in range(repeats):
                begin = thread_time()
                action()
                times.append(thread_time() - begin)
            return min(times)

        q = self.run.stage.q.copy()
        found = best(lambda: look_around(address, STEP))
        both = best(lambda: (look_around(address, STEP), push(address, STEP)))
        self.run.stage.q[:] = q
        return {"contacts": found, "impulses": both - found}


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
