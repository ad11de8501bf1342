"""A scene in time steps that can be stopped, timed and looked into; nothing is recorded on the way."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from impinge.contact import Complementarity
from impinge.scene.scene import Scene
from impinge.scene.world import layout_of
from impinge.simulation.bodies.run import SceneRun, rules_of
from impinge.simulation.bodies.stage import CORRECTIONS, DEEPEST, LAST, MISS, MISSED, NEWTON, STEPS, SWEEPS
from impinge.simulation.bodies.touching.push import push
from impinge.simulation.bodies.touching.touch import look_around
from impinge.simulation.events.instant import DONE, FULL, PAUSED

FloatArray = NDArray[np.float64]

_NEVER = 1e9  # s between rows


class Stepped:
    """A run of a scene, from its start on."""

    def __init__(self, scene: Scene, step: float, tolerance: float) -> None:
        law = Complementarity(step=step, tolerance=tolerance)
        self.step = step
        self.run = SceneRun(scene, layout_of(scene), rules_of(scene, law), np.zeros(0), _NEVER, None)
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
    def deepest(self) -> float:
        """How deep any contact has been, m."""
        return float(self.run.stage.tally[DEEPEST])

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
        found = best(lambda: look_around(address, self.step))
        both = best(lambda: (look_around(address, self.step), push(address, self.step)))
        self.run.stage.q[:] = q
        return {"contacts": found, "impulses": both - found}
