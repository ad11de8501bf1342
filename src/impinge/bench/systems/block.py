"""The block in a plane on a floor, for MuJoCo from impinge's own numbers."""

from __future__ import annotations

from impinge.model import Model
from impinge.robots import block

STEP = 1e-3
SPEED = 1.0  # m/s along the floor, at the start: it slides, and comes to rest


def model() -> Model:
    """Return the block on the floor."""
    return block()


def mjcf(integrator: str = "Euler") -> str:
    """Return the block for MuJoCo: three joints, two small spheres as corners, a plane."""
    p = {x.name: x.value for x in block().parameters}
    a, h, m, mu = p["a"], p["h"], p["m"], p["mu"]
    touch = f'friction="{mu} 0 0" contype="1" conaffinity="2" condim="3"'
    inertia, tip = m * (a**2 + h**2) / 3, 1e-4
    return f"""
<mujoco>
  <option timestep="{STEP}" integrator="{integrator}" gravity="0 0 {-p["g"]}" cone="pyramidal"/>
  <worldbody>
    <geom name="floor" type="plane" size="10 10 1" friction="{mu} 0 0" contype="2" conaffinity="1" condim="3"/>
    <body name="block" pos="0 0 {h}">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="angle" type="hinge" axis="0 -1 0"/>
      <inertial pos="0 0 0" mass="{m}" diaginertia="{inertia} {inertia} {inertia}"/>
      <geom type="sphere" size="{tip}" pos="{-a} 0 {tip - h}" {touch}/>
      <geom type="sphere" size="{tip}" pos="{a} 0 {tip - h}" {touch}/>
    </body>
  </worldbody>
</mujoco>
"""
