"""Mechanisms with sourced parameters; none knows a contact law."""

from impinge.robots.ball import ball
from impinge.robots.block import block
from impinge.robots.delta import DeltaKinematics, DeltaPose, Workspace, delta, delta_with_brick, workspace
from impinge.robots.maze import maze
from impinge.robots.particle import particle, particle_on_a_roof, particle_past_a_disk, pushed_particle

__all__ = [
    "DeltaKinematics",
    "DeltaPose",
    "Workspace",
    "ball",
    "block",
    "delta",
    "delta_with_brick",
    "maze",
    "particle",
    "particle_on_a_roof",
    "particle_past_a_disk",
    "pushed_particle",
    "workspace",
]
