"""The outputs that the robots of a scene declare: what their sensors see, and signals of the result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impinge.scene.scene import Scene
from impinge.scene.world import Layout

FloatArray = NDArray[np.float64]


class Outputs:
    """Outputs of all robots of a scene, one robot after another.

    Attributes:
        names: of the outputs, with their units.
    """

    def __init__(self, scene: Scene, layout: Layout) -> None:
        world, told = layout.world, [r for r, robot in enumerate(scene.robots) if robot.model.outputs]
        self.names = [(x.name, x.unit) for r in told for x in scene.robots[r].model.outputs]
        self._calls, self._copies = [], []
        for r in told:
            model, p = scene.robots[r].model, scene.robots[r].parameters
            own = tuple(
                slice(int(first[r]), int(first[r] + size[r]))
                for first, size in ((world.first_q, world.nq), (world.first_v, world.nv), (world.first_u, world.nu))
            )
            state = tuple(np.zeros(x.stop - x.start) for x in own)
            out, t = np.zeros(model.signals.size), np.zeros(1)
            self._calls.append(model.signals.bind(state[0], state[1], t, state[2], p.copy(), out))
            self._copies.append((own, state, t, out[out.size - len(model.outputs) :]))

    def at(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray) -> FloatArray:
        """Return all outputs for a time, s, and the coordinates, velocities and inputs of the whole scene."""
        values = []
        for call, (own, state, time, y) in zip(self._calls, self._copies, strict=True):
            time[0] = t
            for new, place, whole in zip(state, own, (q, v, u), strict=True):
                new[:] = whole[place]
            call()
            values.append(y.copy())
        return np.concatenate([np.zeros(0), *values])
