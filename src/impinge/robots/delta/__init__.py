"""The delta robot: model, kinematics, workspace."""

from impinge.robots.delta.follow import DeltaPose
from impinge.robots.delta.kinematics import DeltaKinematics
from impinge.robots.delta.model import delta

__all__ = ["DeltaKinematics", "DeltaPose", "delta"]
