"""A five-bar linkage that swings under gravity, for impinge and for MuJoCo from the same numbers.

Two arms of two links hang from the ground, `SPAN` apart; their tips are one. An angle is zero when the
link continues its predecessor, the first when it hangs down; it grows toward +x.
"""

from __future__ import annotations

from math import acos, atan2, cos, hypot, sin
from typing import Any

import casadi as ca

from impinge.model import Model, ModelBuilder

GRAVITY = 9.81
SPAN = 0.2
UPPER, LOWER = 0.2, 0.3  # lengths, m
UPPER_MASS, LOWER_MASS = 0.6, 0.4  # kg
JOINTS = ("left_upper", "left_lower", "right_upper", "right_lower")

_LEFT_START, _RIGHT_START = -0.3, 0.7  # rad, of the upper links


def start_angles() -> tuple[float, float, float, float]:
    """Return the joint angles at which the tips meet below both elbows."""
    left = UPPER * sin(_LEFT_START), -UPPER * cos(_LEFT_START)
    right = SPAN + UPPER * sin(_RIGHT_START), -UPPER * cos(_RIGHT_START)
    across, up = right[0] - left[0], right[1] - left[1]
    spread, tilt = acos(hypot(across, up) / (2 * LOWER)), atan2(up, across)
    # Absolute angles of the lower links, measured from hanging down.
    first, second = tilt - spread + acos(0.0), tilt + spread - acos(0.0)
    return _LEFT_START, first - _LEFT_START, _RIGHT_START, second - _RIGHT_START


def _inertia(mass: Any, length: Any) -> Any:
    """Return a thin rod's moment of inertia about its center."""
    return mass * length**2 / 12


def model() -> Model:
    """Return the linkage as a model of impinge: four angles, two constraints."""
    b = ModelBuilder("five_bar")
    gravity = b.parameter("g", GRAVITY, "m/s²")
    links = [
        (link, b.parameter(f"l_{link}", length, "m"), b.parameter(f"m_{link}", mass, "kg"))
        for link, length, mass in (("upper", UPPER, UPPER_MASS), ("lower", LOWER, LOWER_MASS))
    ]
    span = b.parameter("d", SPAN, "m")
    tips = []
    start = dict(zip(JOINTS, start_angles(), strict=True))
    for side, anchor in (("left", 0.0), ("right", span)):
        angle, turning = ca.SX(0), ca.SX(0)
        x, z, x_dot, z_dot = ca.SX(anchor), ca.SX(0), ca.SX(0), ca.SX(0)
        for link, length, mass in links:
            name = f"{side}_{link}"
            q, v = b.coordinate(name, start=start[name], unit="rad")
            angle, turning = angle + q, turning + v
            across, down = length * ca.sin(angle), length * ca.cos(angle)
            b.kinetic(mass * ((x_dot + down * turning / 2) ** 2 + (z_dot + across * turning / 2) ** 2) / 2)
            b.kinetic(_inertia(mass, length) * turning**2 / 2)
            b.potential(mass * gravity * (z - down / 2))
            x, z = x + across, z - down
            x_dot, z_dot = x_dot + down * turning, z_dot + across * turning
        tips.append((x, z))
    b.constraint("tip_x", tips[0][0] - tips[1][0])
    b.constraint("tip_z", tips[0][1] - tips[1][1])
    return b.build()


def _body(name: str, anchor: str, length: float, mass: float, inner: str) -> str:
    moment = _inertia(mass, length)
    return f"""
    <body name="{name}" pos="{anchor}">
      <joint name="{name}" type="hinge" axis="0 -1 0"/>
      <inertial pos="0 0 {-length / 2}" mass="{mass}" diaginertia="{moment} {moment} {moment * 1e-3}"/>
      {inner}
    </body>"""


def mjcf(integrator: str, step: float) -> str:
    """Return the linkage as MuJoCo reads it; the tips are connected by an equality constraint.

    The constraint is as stiff as MuJoCo allows at this step: a time constant of two steps.
    """
    arms = ""
    for side, x in (("left", 0.0), ("right", SPAN)):
        tip = f'<site name="{side}_tip" pos="0 0 {-LOWER}"/>'
        lower = _body(f"{side}_lower", f"0 0 {-UPPER}", LOWER, LOWER_MASS, tip)
        arms += _body(f"{side}_upper", f"{x} 0 0", UPPER, UPPER_MASS, lower)
    return f"""
<mujoco>
  <option timestep="{step}" integrator="{integrator}" gravity="0 0 {-GRAVITY}"/>
  <worldbody>{arms}
  </worldbody>
  <equality>
    <connect site1="left_tip" site2="right_tip" solref="{2 * step} 1" solimp="0.99 0.9999 0.001"/>
  </equality>
</mujoco>"""
