"""What is wrong with the pose of a part that follows a path or hangs on a robot, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, show
from impinge.scene.pose import off_rotation
from impinge.scene.scene import Scene

FloatArray = NDArray[np.float64]

_TURNED_WRONG = "axes that are no rotation"


def pose_fault(at: FloatArray, axes: FloatArray, velocity: FloatArray, spin: FloatArray, tolerance: float) -> str:
    """Say what is wrong with a position (m), axes (3 × 3), velocity (m/s) and angular velocity (rad/s), or nothing."""
    for what, value in (("position", at), ("axes", axes), ("velocity", velocity), ("angular velocity", spin)):
        if not np.isfinite(value).all():
            return f"{what} {show(value.tolist())}"
    if off_rotation(axes) > tolerance:
        return f"{_TURNED_WRONG} (off by {off_rotation(axes):.2g}), {show(axes.tolist())}"
    return ""


def _owner(scene: Scene, part: str) -> str:
    kind = "path of" if part in scene.paths else scene.parts[part].kind
    return f"{kind} '{part}' in scene '{scene.name}'"


def bad_pose(scene: Scene, part: str, fault: str) -> InputError:
    """Return the error for a part that has no pose at the start of a run."""
    remedy = "Use CasADi's functions (casadi.sin, not math.sin), and check roots and quotients at t = 0."
    if fault.startswith(_TURNED_WRONG):
        remedy = "Give (axis, angle), or a matrix whose columns are right-handed unit vectors at right angles."
    if part not in scene.paths:
        remedy = "Check this link of its model, and the start values that it depends on."
    return InputError(_owner(scene, part), "a place, a rotation and finite velocities at the start", fault, remedy)


def lost_pose(scene: Scene, part: str, fault: str, t: float) -> str:
    """Return why a run ends in which a part has no pose any more."""
    return (
        f"at t = {t:g} s the {_owner(scene, part)} has {fault}: "
        "it needs a place, a rotation and finite velocities as long as the run lasts"
    )
