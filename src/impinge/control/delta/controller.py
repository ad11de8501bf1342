"""What the delta robot's controllers have in common: a believed robot, its pose, gravity, the motors' limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from impinge.control.blocks.derivative import FilteredDerivative
from impinge.control.blocks.encoder import Encoder
from impinge.control.blocks.saturation import Saturation
from impinge.errors import InputError
from impinge.robots.delta import DeltaKinematics, DeltaPose
from impinge.simulation.clock import exact_period

RATED_TORQUE = 2.4  # N·m, of the HG-KR-73: Okasha and Bortoff 2020


class DeltaController(ABC):
    """A controller of the delta robot: it measures ``y1`` … ``y3`` and commands ``u1`` … ``u3``.

    Every tick it follows the measured angles with the pose of the robot that it believes to drive, adds to its own
    torque the one that balances gravity (Okasha and Bortoff 2020, eq. 21), and cuts the sum at the limit.

    Args:
        robot: the believed robot; the model's as it comes if left out.
        period: s.
        limit: largest torque of a motor, N·m.
        pole: of the filter that differentiates the motor angles, rad/s.
        encoder: bits of the motors' encoders, 22 in the paper's robot; angles are taken as they come if left out.

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
        encoder: int | None = None,
    ) -> None:
        who = f"controller {type(self).__name__}"
        if robot is not None and not isinstance(robot, DeltaKinematics):
            raise InputError(who, "the robot it believes to drive", repr(robot), "Give e.g. DeltaKinematics(m3=0.4).")
        self.robot = DeltaKinematics() if robot is None else robot
        self.period = exact_period(who, period)
        self._saturation = Saturation(limit, who)
        self._encoder = None if encoder is None else Encoder(encoder)
        self._derivative = FilteredDerivative(pole, self.period)

    @property
    def limit(self) -> float:
        """Largest torque of a motor, N·m."""
        return self._saturation.limit

    def reset(self, measurement: Any) -> None:
        """Forget the past: the robot is at rest where it is measured."""
        try:
            y = self._angles(measurement)
        except AttributeError:
            raise InputError(
                f"controller {type(self).__name__}",
                "a measurement with y1, y2 and y3, the motor angles of a delta robot",
                repr(measurement),
                "Use it with robots.delta(), or a model with these outputs.",
            ) from None
        self.pose = self.robot.forward(y)
        self._derivative.reset(y)
        self._begin()

    def step(self, t: float, measurement: Any) -> dict[str, float]:
        """Return the motor torques to hold from t on, N·m."""
        y = self._angles(measurement)
        y_dot = self._derivative.step(y)
        self.pose.update(y, y_dot)
        own, gravity = self._torque(t, y, y_dot), self.pose.gravity.tolist()
        u = self._saturation.step([a + b for a, b in zip(own, gravity, strict=True)])
        return {"u1": u[0], "u2": u[1], "u3": u[2]}

    def _angles(self, measurement: Any) -> list[float]:
        y = [measurement.y1, measurement.y2, measurement.y3]
        return y if self._encoder is None else self._encoder.step(y)

    def _begin(self) -> None:  # noqa: B027 - not every controller has something of its own
        """Reset what a controller has of its own; the pose is known."""

    @abstractmethod
    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        """Return the torques beside gravity's, from the pose."""
