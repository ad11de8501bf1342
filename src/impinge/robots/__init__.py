"""Mechanisms with sourced parameters; none knows a contact law."""

from impinge.robots.ball import ball
from impinge.robots.delta import DeltaKinematics, DeltaPose, delta, delta_with_brick
from impinge.robots.maze import maze

__all__ = ["DeltaKinematics", "DeltaPose", "ball", "delta", "delta_with_brick", "maze"]
