"""Kinematics of the delta robot as a controller needs them: microseconds a call."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, show
from impinge.robots.delta.arm import values_of
from impinge.robots.delta.follow import DeltaPose, three
from impinge.robots.delta.kernels import inverse_kernel

FloatArray = NDArray[np.float64]

_WHO = "inverse kinematics"


class DeltaKinematics:
    """Kinematics of one delta robot.

    Args:
        parameters: lengths and masses that differ from the model's, by name.

    Example:
        >>> robot = DeltaKinematics()
        >>> q = robot.inverse((0.01, 0.02, 0.4))
        >>> pose = robot.follow(q)
        >>> pose.z.round(9).tolist()
        [0.01, 0.02, 0.4]
    """

    def __init__(self, **parameters: float) -> None:
        self.parameters = values_of(parameters)
        self.p = np.array(list(self.parameters.values()))
        self._motion, self._out = np.zeros((3, 3)), np.zeros(inverse_kernel(False).size)
        self._call = inverse_kernel(False).bind(*self._motion, self.p, self._out)

    def inverse(self, z: Sequence[float] | FloatArray, inward: bool = False) -> FloatArray:
        """Return the nine joint angles that put the flange at z, in closed form.

        Args:
            z: position of the flange, m.
            inward: the other solution of each arm, with elbows turned in.

        Raises:
            InputError: if an arm does not reach that far.
        """
        if not inward:
            self._solve(z, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            return self._out[:9].copy()
        out = inverse_kernel(True)(three(_WHO, "a position", z), np.zeros(3), np.zeros(3), self.p)
        self._check(z, out["reach"].tolist())
        return out["q"]

    def motion(
        self, z: Sequence[float], z_dot: Sequence[float], z_ddot: Sequence[float]
    ) -> tuple[list[float], list[float], list[float]]:
        """Return the motor angles, their rates and accelerations for a motion of the flange, exactly."""
        self._solve(z, z_dot, z_ddot)
        y = self._out.tolist()
        return y[9:12], y[12:15], y[15:18]

    def _solve(self, z: Any, z_dot: Any, z_ddot: Any) -> None:
        motion = self._motion
        motion[0] = three(_WHO, "a position", z)
        motion[1], motion[2] = three(_WHO, "a velocity", z_dot), three(_WHO, "an acceleration", z_ddot)
        self._call()
        self._check(z, self._out[18:].tolist())

    def _check(self, z: Any, reach: Sequence[float]) -> None:
        if not min(reach) >= 0.0:
            short = ", ".join(str(i + 1) for i, x in enumerate(reach) if not x >= 0.0)
            raise InputError(
                f"{_WHO} of the delta robot",
                "a position within reach of all three arms",
                f"z = {show(list(map(float, z)))} m, out of reach of arm {short}",
                "Choose a position in the workspace (`workspace` maps it), e.g. (0, 0, 0.4).",
            )

    def forward(self, y: Sequence[float]) -> DeltaPose:
        """Return the pose of the robot with its motors at y, rad, and its flange below the elbows.

        Where all motors are at the same angle, the pose has a closed form; from the mean angle it follows them to y.

        Example:
            >>> robot = DeltaKinematics()
            >>> robot.forward(robot.inverse((0.1, -0.05, 0.45))[[0, 3, 6]].tolist()).z.round(9).tolist()
            [0.1, -0.05, 0.45]
        """
        n, mean = self.parameters, sum(three("forward kinematics", "motor angles", y)) / 3
        elbow = n["l0"] - n["l3"] + n["l1"] * cos(mean)
        distal = atan2(sqrt(max(n["l2"] ** 2 - elbow**2, 0.0)), -elbow)
        pose = self.follow([mean, distal, 0.0] * 3)
        pose.update(y)
        return pose

    def follow(self, q: Sequence[float] | FloatArray) -> DeltaPose:
        """Return a pose that starts at joint angles q and follows the motor angles from there."""
        return DeltaPose(self.p, np.asarray(q, dtype=float))
