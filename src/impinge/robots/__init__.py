"""Mechanisms with sourced parameters; none knows a contact law.

All have links, for shapes and bodies in a scene. They are told in a space whose z axis points up; planar mechanisms lie
in its x–z plane. A model that has gaps of its own enters a scene without them: `Model.without_gaps`.
"""

from impinge.robots.ball import ball
from impinge.robots.block import block
from impinge.robots.delta import DeltaKinematics, DeltaPose, Workspace, delta, delta_with_brick, workspace
from impinge.robots.maze import maze, maze_rings
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
    "maze_rings",
    "particle",
    "particle_on_a_roof",
    "particle_past_a_disk",
    "pushed_particle",
    "workspace",
]
