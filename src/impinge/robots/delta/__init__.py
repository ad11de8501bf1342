"""The delta robot: model, kinematics, workspace."""

from impinge.robots.delta.follow import DeltaPose
from impinge.robots.delta.kinematics import DeltaKinematics
from impinge.robots.delta.model import delta, delta_with_brick
from impinge.robots.delta.workspace import Workspace, workspace

__all__ = ["DeltaKinematics", "DeltaPose", "Workspace", "delta", "delta_with_brick", "workspace"]
