"""The delta robot as an index-1 DAE, alone or with a brick on a table within reach of its finger.

Okasha and Bortoff 2020, eq. 3–5 and 12–14: nine joint angles, six loop constraints, torques on the three motors.
The equations hold at the kinematic singularities of the workspace too, where forward kinematics are lost: the
constraint Jacobian H keeps its rank there. (Not everywhere, as the paper has it: swung by 52° out of the singular pose
toward the right side, H has rank 5. The simulation passes through that too, since redundant rows are no trouble.) The
chart has a pole where sin q_i2 = 0, a distal pair along its arm's axis: M is singular there. The paper puts this pole
at q_i3 = π/2; neither is mechanically reachable.

Links are told in a space whose z axis points up, as scenes have it: x along z₁, y against z₂, z against z₃.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import casadi as ca

from impinge.errors import InputError, as_number, show
from impinge.model import Model, ModelBuilder
from impinge.robots.delta.arm import BRICK, PARAMETERS, Arm, flange, links, loop, values_of
from impinge.robots.delta.kinematics import DeltaKinematics

HOME = (0.0, 0.0, 0.4)


def delta(z: Sequence[float] = HOME, **parameters: float) -> Model:
    """Return the delta robot, at rest with its flange at z.

    Coordinates ``q11`` … ``q33``; inputs: motor torques ``u1`` … ``u3``, matched disturbances ``tau_u1`` …
    ``tau_u3``, virtual ones ``tau_v11`` … ``tau_v33`` on every joint, and a force ``f1`` … ``f3`` on the flange,
    which acts through J_v (14); all but the motor torques are disturbances. Outputs: motor angles ``y1`` … ``y3`` (5),
    which is all that the robot measures, and the flange's position ``z1`` … ``z3``.

    Links, in a space with x along z₁, y against z₂ and z up:

    ``base``
        stands; its origin is in the middle between the motors, its axes are those of the space.
    ``proximal1`` … ``proximal3``
        origin on the motor's axis, z toward the elbow, y along the motor's axis.
    ``distal1`` … ``distal3``
        the middle line of a pair of rods: origin at the elbow, z toward the wrist, y along the axis about which q_i2
        turns, which is the motor's where q_i3 is zero.
    ``flange``
        origin in the middle of the wrists, axes those of the space: it never turns. It carries a tool or a finger.

    Args:
        z: where the flange is, m.
        parameters: lengths, masses, damping and gravity that differ; `print` the robot to see them.

    Example:
        >>> robot = delta(z=(0.02, 0.0, 0.42), m3=0.5)
        >>> len(robot.coordinates), len(robot.constraints)
        (9, 6)
    """
    b = ModelBuilder("delta")
    _robot(b, z, parameters)
    return b.build()


def delta_with_brick(
    z: Sequence[float] = HOME, brick: Sequence[float] = (0.02, 0.0), table: float = 0.5, **parameters: float
) -> Model:
    """Return the delta robot with a finger on its flange and a brick on a table.

    The finger reaches down to the brick and touches its face from the left, moving along z₁: contact ``finger``. The
    face is a plane, as high and wide as one likes, and smooth. The brick does not turn; it stands on the table by
    contact ``table``, with Coulomb friction ``mu``. Its coordinates are ``brick1`` … ``brick3``; all else is as in
    `delta`. The link ``brick`` has its origin in the face, where that meets the table: at
    (brick1, −brick2, −brick3) of the space, whose axes it has.

    Args:
        z: where the flange is, m; the finger's tip is below it.
        brick: where the brick's face is along z₁ and its center along z₂, m.
        table: height of the table, along z₃ (down), m.
        parameters: as for `delta`, and ``m_b``, ``mu``.

    Example:
        >>> delta_with_brick().contacts
        ('finger', 'table')
    """
    place = [as_number(x) for x in brick]
    if len(place) != 2 or not all(map(isfinite, (*place, as_number(table)))):
        raise InputError(
            "brick beside the delta robot",
            "where its face is along z₁ and its center along z₂, and the height of the table, in m",
            f"brick = {show(list(brick))}, table = {show(table)}",
            "Give e.g. brick=(0.02, 0.0), table=0.5.",
        )
    values = values_of(parameters, (*PARAMETERS, *BRICK))
    b = ModelBuilder("delta_with_brick")
    position, gravity = _robot(b, z, {name: x for name, x in parameters.items() if name not in ("m_b", "mu")})
    m, mu = (b.parameter(x.name, values[x.name], x.unit, x.about) for x in BRICK)
    starts = (*place, table)
    names = ("face of the brick, along z₁", "center of the brick, along z₂", "bottom of the brick, along z₃")
    x, v = zip(*(b.coordinate(f"brick{k + 1}", starts[k], unit="m", about=names[k]) for k in range(3)), strict=True)
    b.kinetic(m * sum(speed**2 for speed in v) / 2)
    b.potential(-m * gravity * x[2])
    b.gap("finger", x[0] - position[0], about="finger to the brick's face")
    floor = b.parameter("table", table, "m", "height of the table, along z₃")
    b.gap("table", floor - x[2], slip=[x[0], x[1]], friction=mu, about="brick to the table")
    b.link("brick", (x[0], -x[1], -x[2]))
    return b.build()


def _robot(b: ModelBuilder, z: Sequence[float], parameters: Mapping[str, float]) -> tuple[Any, Any]:
    """Add the robot to a model, and return the flange's position (12) and gravity."""
    values = values_of(parameters)
    start = DeltaKinematics(**parameters).inverse(z)
    p = {x.name: b.parameter(x.name, values[x.name], x.unit, x.about) for x in PARAMETERS}
    what = ("motor", "universal joint, from the arm's plane", "universal joint, across it")
    arms, velocities = [], []
    for i in range(3):
        q, v = zip(
            *(
                b.coordinate(f"q{i + 1}{j + 1}", float(start[3 * i + j]), unit="rad", about=f"arm {i + 1}: {what[j]}")
                for j in range(3)
            ),
            strict=True,
        )
        arms.append(Arm(ca.vertcat(*q), p))
        velocities.append(ca.vertcat(*v))
    for arm, v in zip(arms, velocities, strict=True):
        b.kinetic(arm.kinetic(v))
        b.potential(arm.potential())
        for j, d in enumerate(("d1", "d2", "d2")):
            b.damping(p[d] * v[j], along=arm.q[j])
    for name, about in (("u", "motor torque"), ("tau_u", "matched disturbance")):
        for i, arm in enumerate(arms):
            torque = b.input(f"{name}{i + 1}", "N·m", about=about, disturbance=name != "u")
            b.force(torque, along=arm.q[0])
    for i, arm in enumerate(arms):
        for j in range(3):
            torque = b.input(f"tau_v{i + 1}{j + 1}", "N·m", about="virtual disturbance", disturbance=True)
            b.force(torque, along=arm.q[j])
    threefold = sum(flange(arms), ca.SX(3, 1))  # its gradient is in the loops already
    position = threefold / 3
    for k in range(3):
        force = b.input(f"f{k + 1}", "N", about="force on the flange", disturbance=True)
        b.force(force / 3, along=threefold[k])
    for k, h in enumerate(ca.vertsplit(loop(arms))):
        b.constraint(f"loop{k + 1}", h)
    for i, arm in enumerate(arms):
        b.output(f"y{i + 1}", arm.q[0], "rad", "motor angle, as measured (5)")
    for k in range(3):
        b.output(f"z{k + 1}", position[k], "m", "flange (12), to look at: the robot has no sensor for it")
    for name, (place, axes) in links(arms, position).items():
        b.link(name, place, axes)
    return position, p["g"]
