"""What the delta robot's controllers have in common: a believed robot, its pose, gravity, the motors' limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import atan2, cos, sqrt
from typing import Any

import numpy as np

from impinge.control.derivative import FilteredDerivative
from impinge.control.saturation import Saturation
from impinge.errors import InputError
from impinge.robots.delta import DeltaKinematics, DeltaPose
from impinge.simulation.clock import exact_period

RATED_TORQUE = 2.4  # N·m, of the HG-KR-73: Okasha and Bortoff 2020


def pose_at(robot: DeltaKinematics, y: Sequence[float]) -> DeltaPose:
    """Return the pose of a robot whose motors are at y, rad.

    Where all motors are at the same angle, the pose has a closed form; from the mean angle it follows them to y. So no
    guess is needed, and it is the pose with the flange below the elbows.

    Example:
        >>> robot = DeltaKinematics()
        >>> pose_at(robot, robot.inverse((0.1, -0.05, 0.45))[[0, 3, 6]].tolist()).z.round(9).tolist()
        [0.1, -0.05, 0.45]
    """
    n, mean = robot.parameters, sum(y) / 3
    elbow = n["l0"] - n["l3"] + n["l1"] * cos(mean)
    distal = atan2(sqrt(max(n["l2"] ** 2 - elbow**2, 0.0)), -elbow)
    pose = robot.follow(np.array([mean, distal, 0.0] * 3))
    pose.update(y)
    return pose


class DeltaController(ABC):
    """A controller of the delta robot: it measures ``y1`` … ``y3`` and commands ``u1`` … ``u3``.

    Every tick it follows the measured angles with the pose of the robot that it believes to drive, adds to its own
    torque the one that balances gravity (Okasha and Bortoff 2020, eq. 21), and cuts the sum at the limit.

    Args:
        robot: the believed robot; the model's as it comes if left out.
        period: s.
        limit: largest torque of a motor, N·m.
        pole: of the filter that differentiates the motor angles, rad/s.

    Attributes:
        pose: of the believed robot at the last tick.
    """

    pose: DeltaPose

    def __init__(
        self,
        *,
        robot: DeltaKinematics | None = None,
        period: float | Fraction = Fraction(1, 500),
        limit: float = RATED_TORQUE,
        pole: float = 200.0,
    ) -> None:
        who = f"controller {type(self).__name__}"
        if robot is not None and not isinstance(robot, DeltaKinematics):
            raise InputError(who, "the robot it believes to drive", repr(robot), "Give e.g. DeltaKinematics(m3=0.4).")
        self.robot = DeltaKinematics() if robot is None else robot
        self.period = exact_period(who, period)
        self._saturation = Saturation(limit)
        self._derivative = FilteredDerivative(pole, self.period)

    @property
    def limit(self) -> float:
        """Largest torque of a motor, N·m."""
        return self._saturation.limit

    def reset(self, measurement: Any) -> None:
        """Forget the past: the robot is at rest where it is measured."""
        try:
            y = [measurement.y1, measurement.y2, measurement.y3]
        except AttributeError:
            raise InputError(
                f"controller {type(self).__name__}",
                "a measurement with y1, y2 and y3, the motor angles of a delta robot",
                repr(measurement),
                "Use it with robots.delta(), or a model with these outputs.",
            ) from None
        self.pose = pose_at(self.robot, y)
        self._derivative.reset(y)
        self._begin()

    def step(self, t: float, measurement: Any) -> dict[str, float]:
        """Return the motor torques to hold from t on, N·m."""
        y = [measurement.y1, measurement.y2, measurement.y3]
        y_dot = self._derivative.step(y)
        self.pose.update(y, y_dot)
        own, gravity = self._torque(t, y, y_dot), self.pose.gravity.tolist()
        u = self._saturation.step([a + b for a, b in zip(own, gravity, strict=True)])
        return {"u1": u[0], "u2": u[1], "u3": u[2]}

    def _begin(self) -> None:  # noqa: B027 - not every controller has something of its own
        """Reset what a controller has of its own; the pose is known."""

    @abstractmethod
    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        """Return the torques beside gravity's, from the pose."""
