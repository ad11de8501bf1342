"""Compiling ahead: what every first run would compile, on all cores at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable


def _models() -> None:
    """Run what a model needs: event by event with friction and impacts, and in steps."""
    from impinge import Complementarity, Impact, ModelBuilder, simulate

    b = ModelBuilder("warm")
    x, v = b.coordinate("x", speed=0.1)
    z, w = b.coordinate("z", start=0.01)
    b.kinetic((v**2 + w**2) / 2)
    b.potential(9.81 * z)
    b.gap("floor", z, slip=x, friction=0.5)
    model = b.build()
    simulate(model, Impact(), until=0.1)
    simulate(model, Complementarity(), until=0.1)


def _scenes() -> None:
    """Run what a scene needs."""
    from impinge import Box, Complementarity, HalfSpace, Scene, Sphere, simulate

    scene = Scene("warm")
    scene.fixed("floor", HalfSpace())
    scene.body("one", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.05))
    scene.body("two", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.15))
    scene.body("ball", Sphere(0.1), mass=1.0, at=(1, 0, 0.1))
    scene.moving("hand", lambda t: (1, 0, 1))
    scene.hold("ball", "hand", stiffness=(1.0,) * 6, damping=(1.0,) * 6)
    simulate(scene, Complementarity(), until=0.01)


GROUPS: dict[str, Callable[[], None]] = {"models": _models, "scenes": _scenes}


def warm() -> None:
    """Compile the hot loops that are not in the cache yet, one process for each group of them."""
    started = [subprocess.Popen([sys.executable, "-m", __name__, group]) for group in GROUPS]
    for process in started:
        process.wait()


if __name__ == "__main__":
    GROUPS[sys.argv[1]]()
