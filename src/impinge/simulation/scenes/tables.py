"""A scene as its kernel sees it: what may touch, where everything is, and rows to be filled.

Every contact is that of a ball (a vertex is one of radius zero), fixed in one frame, with a surface, fixed in another:
a half-space, or all points at a distance from a box of half edges h: h = 0 is a sphere, h along z alone a capsule.
"""

from __future__ import annotations

from typing import NamedTuple

from impinge.compile import Cube, IntegerMatrix, Integers, Matrix, Vector, struct_at
from impinge.scene.world import World


class Features(NamedTuple):
    """The contacts of a scene (n of them)."""

    ball_frame: Integers
    ball: Matrix  # (n, 3): the ball's center in the axes of its frame
    radius: Vector
    surface_frame: Integers
    flat: Integers  # whether the surface is a half-space
    at: Matrix  # (n, 3): the surface's origin in the axes of its frame
    axes: Cube  # (n, 3, 3)
    half: Matrix  # (n, 3): half edges
    thick: Vector  # distance of the surface from the box
    slips: Integers  # the slips of contact c are slips[c] … slips[c + 1] − 1
    reference: Cube  # (n, 2, 3): a normal and its first tangent, in the surface's axes: tangents near by follow


class Motion(NamedTuple):
    """Where the frames are, and how they move while no contact pushes and no constraint holds (n frames)."""

    at: Matrix
    axes: Cube
    velocity: Matrix
    spin: Matrix
    push: Matrix  # acceleration
    twist: Matrix  # angular acceleration
    torque: Matrix  # about the center of mass, in the frame's axes, beside the gyroscopic one
    paths: Vector
    jacobian: Cube  # (n, 6, widest): of linked frames, by the velocities of their robot
    bias: Matrix  # (n, 6): accelerations of links that are there without any force
    robots: Vector  # what the kernels of the robots wrote
    factor: Cube  # (robots, widest, widest): of each robot's inertia, L of L Lᵀ
    free: Vector  # accelerations of all velocities


class Grips(NamedTuple):
    """How bodies are held: where they rest in their holder's axes."""

    at: Matrix
    axes: Cube


class LinkBounds(NamedTuple):
    """How links of robots are bounded along a step (n of them; robots have nq coordinates, which come first)."""

    bounds: int  # address of the kernel of `scene.paths.link_bounds`, or 0
    frames: Integers  # the frames that it bounds
    paths: Matrix  # (nq, 7): coordinates of the robots along the step
    box: Vector  # their ranges, and that of the time
    ranges: Vector  # what the kernel says


class SceneTables(NamedTuple):
    """All that the kernels of a scene need; their only parameter is its address."""

    world: World
    features: Features
    motion: Motion
    grips: Grips
    bodies: IntegerMatrix  # for each row, where the velocities that move its two frames stand, or −1
    width: IntegerMatrix  # for each row, how many these are
    J: Matrix  # for each row, by the velocities of its two frames, `widest` columns for each
    X: Matrix  # M⁻¹Jᵀ
    normal: Matrix  # of each contact, in the surface's axes
    surface: Matrix  # 3 × 3: axes of the surface in hand
    inertia: Matrix  # of the robot in hand, widest × widest
    local: Matrix  # vectors in passing
    unit: Vector  # a quaternion in passing
    fault: Vector  # which path last had no pose, or −1, and when
    nq: int
    nv: int
    nu: int
    nh: int  # rows of the robots' constraints, before those of contacts
    widest: int  # most velocities of a robot or body
    size: int  # of what `scene_kernel.dynamics` writes
    path_bounds: int  # address of the kernel of `scene.paths.path_bounds`, or 0
    moment: Vector  # a span of time, as that kernel takes it
    ranges: Vector  # what it says
    links: LinkBounds


tables_at = struct_at(SceneTables)
