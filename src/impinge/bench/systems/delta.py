"""The delta robot that swings under gravity and constant torques, for MuJoCo from impinge's own numbers.

MuJoCo joins a distal pair to its proximal link by two hinges, the first parallel to the motor's axis and the second
across. The paper's q_i2 and q_i3 are angles in the arm's frame, which does not turn with the motor; no two hinges on
the link have them as angles. The direction of the distal pair is the same, and gives one from the other exactly.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.model import Model
from impinge.robots.delta import delta
from impinge.robots.delta.arm import PARAMETERS, TURNS

FloatArray = NDArray[np.float64]

START = (0.05, -0.04, 0.38)  # m
TORQUES = (-0.4, -0.8, -0.6)  # N·m: less than gravity takes, so that it falls, swings and stays within its workspace
POSITION = ("z1", "z2", "z3")

_P = {x.name: x.value for x in PARAMETERS}
_THIN = 1e-14  # kg·m², of a slender rod about itself: MuJoCo wants some


def model() -> Model:
    """Return the robot where it starts."""
    return delta(START)


def torques() -> dict[str, float]:
    """Return the motor torques by name."""
    return {f"u{i + 1}": torque for i, torque in enumerate(TORQUES)}


def hinges(q: Any) -> Any:
    """Return the nine angles of MuJoCo's hinges for joint angles q; expressions too."""
    angles = []
    for i in range(3):
        motor, polar, turn = q[3 * i], q[3 * i + 1], q[3 * i + 2]
        # Before it is turned by the motor, a distal pair has the direction (−sin b, cos a cos b, sin a cos b).
        x, y, z = ca.sin(polar) * ca.sin(turn), ca.cos(polar), ca.sin(polar) * ca.cos(turn)
        angles += [motor, ca.atan2(z, y) - motor, -ca.asin(x)]
    return ca.vertcat(*angles)


def start_hinges() -> FloatArray:
    """Return the angles of MuJoCo's hinges where the robot starts."""
    return np.array(hinges(ca.DM([x.value for x in model().coordinates]))).ravel()


def _arm(i: int) -> str:
    """Return an arm with its third of the flange; its wrist is where the flange's center would be."""
    l1, l2, m1, m2, m3 = (_P[name] for name in ("l1", "l2", "m1", "m2", "m3"))
    third = m3 / 3
    mass = m2 + third
    center = (m2 * l2 / 2 + third * l2) / mass
    rod = m1 * l1**2 / 12
    pair = m2 * l2**2 / 12 + m2 * (l2 / 2 - center) ** 2 + third * (l2 - center) ** 2
    angle = TURNS[i]
    # Rz(angle) takes the y axis, along which an arm points, to (−sin, cos).
    base = _P["l0"] - _P["l3"]
    return f"""
    <body name="proximal{i + 1}" pos="{-base * sin(angle)!r} {base * cos(angle)!r} 0" euler="0 0 {angle!r}">
      <joint name="motor{i + 1}" type="hinge" axis="1 0 0" armature="{_P["J_r"]!r}"/>
      <inertial pos="0 {l1 / 2!r} 0" mass="{m1!r}" diaginertia="{rod!r} {_THIN} {rod!r}"/>
      <body name="distal{i + 1}" pos="0 {l1!r} 0">
        <joint name="along{i + 1}" type="hinge" axis="1 0 0"/>
        <joint name="across{i + 1}" type="hinge" axis="0 0 1"/>
        <inertial pos="0 {center!r} 0" mass="{mass!r}" diaginertia="{pair!r} {_THIN} {pair!r}"/>
        <site name="wrist{i + 1}" pos="0 {l2!r} 0"/>
      </body>
    </body>"""


def mjcf(integrator: str, step: float) -> str:
    """Return the robot as MuJoCo reads it; the wrists are connected by equality constraints. z₃ points down.

    The constraints are as stiff as MuJoCo allows at this step: a time constant of two steps.
    """
    loops = "".join(
        f'<connect site1="wrist1" site2="wrist{i}" solref="{2 * step} 1" solimp="0.99 0.9999 0.001"/>' for i in (2, 3)
    )
    return f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="{step}" integrator="{integrator}" gravity="0 0 {_P["g"]!r}"/>
  <worldbody>{"".join(_arm(i) for i in range(3))}
  </worldbody>
  <equality>{loops}</equality>
</mujoco>"""
