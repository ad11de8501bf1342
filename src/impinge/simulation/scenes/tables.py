"""A scene as its kernel sees it: what may touch, where everything is, and rows to be filled.

Every contact is that of two features, fixed in two frames. One that lasts is of a ball (a vertex is one of radius zero)
with a surface: a half-space, or all points at a distance from a box of half edges h: h = 0 is a sphere, h along z alone
a capsule. Others are of those features of two shapes that are near each other, and change in a run (`exchange`).
"""

from __future__ import annotations

from typing import NamedTuple

from impinge.compile import Cube, IntegerMatrix, Integers, Matrix, Vector, struct_at
from impinge.scene.world import World


class Features(NamedTuple):
    """The contacts of a scene (n of them): of a ball with a surface, or of two features that change in a run.

    Of the latter, ``ball`` and ``at`` are a place on each; see `pairs`.
    """

    form: Integers  # BALL, ..., of `pairs`
    held: Integers  # which of the `Candidates` it is, or −1
    ball_frame: Integers
    ball: Matrix  # (n, 3): the ball's center in the axes of its frame
    radius: Vector
    surface_frame: Integers
    surface: Integers  # ROUND, ..., of `distance`
    polytope: Integers  # which one the surface is, or −1
    at: Matrix  # (n, 3): the surface's origin in the axes of its frame
    axes: Cube  # (n, 3, 3)
    half: Matrix  # (n, 3): half edges; of a cylinder radius and half length
    thick: Vector  # distance of the surface from the box
    along: Matrix  # (n, 3): direction of the first feature, if it has one
    across: Matrix  # (n, 3): of the second
    round: Matrix  # (n, 2): their radii
    length: Matrix  # (n, 2): their lengths; of a rim its radius
    angle: Matrix  # (n, 2): where on a rim the touching point is
    sign: Vector  # of two lines: 1 if their vector product points from the second to the first, else −1
    sides: IntegerMatrix  # (n, 2): of a plane, its ends are these of `SceneTables.sides`
    inset: Vector  # how much earlier features end, m; later while the contact is closed
    rivals: Integers  # of a plane's ends, bit by bit: whether the first feature may touch the face beyond it
    watched: Integers  # which end is looked at in this step
    end: Integers  # where that stands among the extents
    far: Vector  # gap while there are no two features near each other, m
    slips: Integers  # the slips of contact c are slips[c] … slips[c + 1] − 1
    reference: Cube  # (n, 2, 3): a normal and its first tangent, in the surface's axes: tangents near by follow
    reach: Vector  # how far a touching point may be from the origin of either frame, m
    spot: Matrix  # (n, 3): where the touching point was when features were last looked at
    toward: Matrix  # (n, 3): and where the normal pointed


class Candidates(NamedTuple):
    """Pairs of shapes whose features change in a run (n of them), and all features of each that may meet (m).

    A candidate is what becomes of a contact when it is chosen for it: its fields are those of `Features`.
    """

    first: Integers  # the candidates of pair p are first[p] … first[p + 1] − 1
    contacts: IntegerMatrix  # (n, 2): the contacts that a pair has
    frames: IntegerMatrix  # (n, 2): of both shapes
    center: Cube  # (n, 2, 3): a place inside each shape, in its frame
    size: Matrix  # (n, 2): how far each shape reaches from there
    range: Vector  # how near features are to be looked at, m
    inset: Vector  # see `Features`
    depth: Vector  # how deep below its surface a contact may be taken over from another, m
    owner: Integers  # (m): the contact that a candidate has now, or −1
    value: Vector  # (m): how far it was off when last looked at; infinite if it was not near
    form: Integers
    turned: Integers  # whether the first feature is of the second shape
    ball: Matrix
    at: Matrix
    along: Matrix
    across: Matrix
    round: Matrix
    length: Matrix
    angle: Matrix
    half: Vector  # of a rim and what crosses it: which of the two places at which they may
    sides: IntegerMatrix
    spokes: IntegerMatrix  # (m, 4): what bounds both features are these of `SceneTables.spokes`


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


class Told(NamedTuple):
    """What robots tell of themselves: their outputs (one entry for each robot)."""

    kernels: Integers  # addresses of their `Model.signals`
    sizes: Integers  # how many numbers these write
    counts: Integers  # how many of them, the last ones, are outputs
    buffer: Vector


class SceneTables(NamedTuple):
    """All that the kernels of a scene need; their only parameter is its address."""

    world: World
    features: Features
    candidates: Candidates
    sides: Matrix  # (…, 5): ends of planes: n·x + d along the plane, seen from its place, and tan θ/2 of the edge
    # there; without a direction a circle of radius d about that place
    spokes: Matrix  # (…, 3): from a corner along its edges, from an edge along its faces
    motion: Motion
    grips: Grips
    bodies: IntegerMatrix  # for each row, where the velocities that move its two frames stand, or −1
    width: IntegerMatrix  # for each row, how many these are
    J: Matrix  # for each row, by the velocities of its two frames, `widest` columns for each
    X: Matrix  # M⁻¹Jᵀ
    normal: Matrix  # of each contact, in the surface's axes
    surface: Matrix  # 3 × 3: axes of the surface in hand
    inertia: Matrix  # of the robot in hand, widest × widest
    relative: Matrix  # 3 × 3: axes of one shape as another sees them
    local: Matrix  # vectors in passing
    jets: Cube  # vectors that move, in passing
    angle: Vector  # (2): where on two rims the touching point in hand is
    hasten: Vector  # (2): how soon contacts are to be looked at again, s; how fast two shapes may approach, m/s
    along: Matrix  # (2, 3): where two lines are nearest to each other, along each
    block: IntegerMatrix  # for each frame, where the velocities that move it stand, or −1, and how many these are
    unit: Vector  # a quaternion in passing
    fault: Vector  # which path last had no pose, or −1, and when; which candidate met along parallel edges, or −1
    nq: int
    nv: int
    nu: int
    nh: int  # rows of the robots' constraints, before those of contacts
    ne: int  # contacts of features that end
    ny: int  # outputs of all robots
    widest: int  # most velocities of a robot or body
    size: int  # of what `scene_kernel.dynamics` writes
    path_bounds: int  # address of the kernel of `scene.paths.path_bounds`, or 0
    moment: Vector  # a span of time, as that kernel takes it
    ranges: Vector  # what it says
    links: LinkBounds
    told: Told


tables_at = struct_at(SceneTables)
