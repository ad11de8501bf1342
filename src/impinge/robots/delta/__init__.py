"""The delta robot: model, kinematics, workspace."""

from impinge.robots.delta.follow import DeltaPose
from impinge.robots.delta.kinematics import DeltaKinematics
from impinge.robots.delta.model import delta, delta_with_brick

__all__ = ["DeltaKinematics", "DeltaPose", "delta", "delta_with_brick"]
