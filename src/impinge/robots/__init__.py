"""Mechanisms with sourced parameters; none knows a contact law."""

from impinge.robots.ball import ball
from impinge.robots.block import block
from impinge.robots.delta import DeltaKinematics, DeltaPose, Workspace, delta, delta_with_brick, workspace
from impinge.robots.maze import maze

__all__ = [
    "DeltaKinematics",
    "DeltaPose",
    "Workspace",
    "ball",
    "block",
    "delta",
    "delta_with_brick",
    "maze",
    "workspace",
]
