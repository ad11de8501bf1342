"""A peg in two-point contact with its hole: does it slide in under a constant load, and is it wedged by a squeeze?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from impinge.studies.peg.peg_in_hole import LENGTH, MASS, RIM, THICKNESS, WIDTH, middle_of, plate, tip_of
from impinge.studies.peg.whitney import tilt_of

if TYPE_CHECKING:
    from impinge.scene import Scene

_SOFT = 1e-3  # N/m: of a spring that is stretched so far that its force does not change
_TWIST = 2.5  # rad by which it is twisted; the peg's turns of some 0.02 rad change its moment by one percent
_DRAG = 200.0  # N·s/m: the peg creeps, so that its inertia does not matter
# N·s/m and N·m·s/rad: it stays in the plane. Otherwise it may rock across, and what rubs that way resists less.
_ACROSS, _ROCKING = 1e6, 1e3
_GAP = 1e-9  # m: room left at both contacts in the beginning
_JAW_GUIDE, _JAW_ATTITUDE = 1e8, 1e6  # N/m and N·m/rad: the jaw moves along x alone
_CREEPS = 1e-4  # m/s: what moves faster is not stuck


@dataclass(frozen=True)
class Loaded:
    """What a constant load did to a peg.

    Attributes:
        moved: how far the tip went down, m.
        speed: with which it still goes down at the end, m/s.
        turned: how far it turned upright, rad.
        ok: whether the simulation reached its end; else ``reason`` says why not.
    """

    moved: float
    speed: float
    turned: float
    ok: bool
    reason: str

    @property
    def slides(self) -> bool:
        """Whether it still goes down at the end."""
        return self.speed > _CREEPS


class _Pull:
    """Stretches springs at once, and keeps them so."""

    period = 1.0

    def __init__(self, **ends: float) -> None:
        self.ends = ends

    def reset(self, measurement: Any) -> None:
        """Nothing to forget."""

    def step(self, t: float, measurement: Any) -> dict[str, float]:
        """Return where the springs end."""
        return self.ends


def _leaning_peg(scene: Scene, length: float, hole: float, turning: float) -> None:
    """Add a peg that leans towards +x in two-point contact, and a spring at the middle of its tip."""
    from impinge.geometry import Box

    tilt = tilt_of(WIDTH, hole - 2 * _GAP, length)
    tip = (-0.5 * hole + _GAP + 0.5 * WIDTH * np.cos(tilt), 0.5 * WIDTH * np.sin(tilt) - length * np.cos(tilt))
    scene.body("peg", Box(WIDTH, WIDTH, LENGTH), mass=MASS, at=middle_of(tip, tilt), turn=(0.0, tilt, 0.0))
    scene.moving("spring", lambda t, x, z, turn: ((x, 0, z), ((0, 1, 0), turn)), inputs=("x", "z", "turn"))
    scene.hold(
        "peg",
        "spring",
        stiffness=[_SOFT] * 3 + [0.0, turning, 0.0],
        damping=[_DRAG, _ACROSS, _DRAG, _ROCKING, 0.0, _ROCKING],
        center=(0.0, 0.0, -0.5 * LENGTH),
    )


def _watch(scene: Scene, pull: _Pull, until: float, step: float) -> Loaded:
    from impinge.contact import Complementarity
    from impinge.simulation import simulate

    r = simulate(scene, Complementarity(step=step, tolerance=1e-6), until=until, controller=pull, sample=step)
    tilt = 2.0 * np.arctan2(r["peg_qy"], r["peg_qw"])
    tip = tip_of(r["peg_x"], r["peg_z"], r["peg_qw"], r["peg_qy"])[1]
    speed = float((tip[-2] - tip[-1]) / (r.t[-1] - r.t[-2])) if r.t.size > 1 else 0.0
    return Loaded(float(tip[0] - tip[-1]), speed, float(tilt[0] - tilt[-1]), r.ok, r.reason)


def load(
    length: float,
    friction: float,
    across: float,
    push: float,
    moment: float,
    *,
    clearance: float = 1e-4,
    until: float = 0.2,
    step: float = 1e-3,
) -> Loaded:
    """Load a peg in two-point contact at its tip, and see what it does.

    Args:
        length: from the tip to the contact with the rim, along the peg, m.
        friction: coefficient of peg and plate.
        across: F towards +x, N.
        push: P down, N; there is no weight.
        moment: M about y, N·m.
        clearance: by which the hole is wider, m.
        until: end, s.
        step: of time, s.
    """
    from impinge.scene import Scene

    scene = Scene("loaded peg", gravity=(0.0, 0.0, 0.0), friction=friction)
    plate(scene, WIDTH + clearance)
    _leaning_peg(scene, length, WIDTH + clearance, abs(moment) / _TWIST)
    twist = float(np.copysign(_TWIST, moment))
    return _watch(scene, _Pull(x=across / _SOFT, z=-push / _SOFT, turn=twist), until, step)


def squeeze(
    length: float,
    friction: float,
    force: float,
    pull: float,
    *,
    clearance: float = 1e-4,
    until: float = 0.1,
    step: float = 1e-3,
) -> Loaded:
    """Press the right wall, which gives way along x, against a peg in two-point contact, and pull the peg up.

    Args:
        length: from the tip to the contact with the rim, along the peg, m.
        friction: coefficient of peg and walls.
        force: of the wall on the peg, N.
        pull: upwards, at the tip, N.
        clearance: by which the hole is wider, m.
        until: end, s.
        step: of time, s.
    """
    from impinge.geometry import Box
    from impinge.scene import Scene

    hole = WIDTH + clearance
    size, far, deep = (RIM, hole + 2 * RIM, THICKNESS), 0.5 * (hole + RIM), -0.5 * THICKNESS
    scene = Scene("squeezed peg", gravity=(0.0, 0.0, 0.0), friction=friction)
    scene.fixed("left", Box(*size), at=(-far, 0.0, deep))
    scene.body("jaw", Box(*size), mass=1.0, at=(far, 0.0, deep))
    scene.moving("vice", lambda t, close: (-close, 0, 0), inputs=("close",))
    stiffness, damping = [_SOFT, *[_JAW_GUIDE] * 2, *[_JAW_ATTITUDE] * 3], [_DRAG, *[0.0] * 5]
    scene.hold("jaw", "vice", stiffness=stiffness, damping=damping)
    _leaning_peg(scene, length, hole, 0.0)
    return _watch(scene, _Pull(close=force / _SOFT, x=0.0, z=pull / _SOFT, turn=0.0), until, step)
