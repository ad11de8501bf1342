"""Mechanisms with closed contacts and closed chains, for the tests of analysis. Each is built once.

Beside a model stands what the tests need to be on its constraint manifold: a pose for each of its degrees of freedom.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np

from impinge import robots
from impinge.model import Model, ModelBuilder

G = 9.81

maze = functools.cache(robots.maze)

FOUR_BAR = {"l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.8, "m1": 1.0, "m2": 2.0, "m3": 1.5}


@functools.cache
def four_bar() -> Model:
    """Return a four-bar linkage of uniform rods: crank, coupler, rocker; angles from the ground link.

    Two loop constraints. Input torque on the crank and load on the rocker; damping in the rocker's joint. Its
    outputs depend on coordinates, velocities and inputs.
    """
    b = ModelBuilder("four_bar")
    (crank, crank_dot), (coupler, coupler_dot), (rocker, rocker_dot) = (
        b.coordinate(name, unit="rad") for name in ("crank", "coupler", "rocker")
    )
    q, v = ca.vertcat(crank, coupler, rocker), ca.vertcat(crank_dot, coupler_dot, rocker_dot)
    l0, l1, l2, l3 = (b.parameter(name, FOUR_BAR[name], "m") for name in ("l0", "l1", "l2", "l3"))
    masses = [b.parameter(name, FOUR_BAR[name], "kg") for name in ("m1", "m2", "m3")]
    g, c = b.parameter("g", G, "m/s²"), b.parameter("c", 0.3, "N·m·s/rad")

    def along(angle):
        return ca.vertcat(ca.cos(angle), ca.sin(angle))

    pin, ground = l1 * along(crank), ca.vertcat(l0, 0)
    centers = [pin / 2, pin + l2 / 2 * along(coupler), ground + l3 / 2 * along(rocker)]
    for m, length, center, speed in zip(
        masses, (l1, l2, l3), centers, (crank_dot, coupler_dot, rocker_dot), strict=True
    ):
        b.kinetic(m * ca.sumsqr(ca.jtimes(center, q, v)) / 2 + m * length**2 / 12 * speed**2 / 2)
        b.potential(m * g * center[1])
    torque = b.input("torque", "N·m")
    b.force(torque, along=crank)
    b.force(b.input("load", "N·m"), along=rocker)
    b.damping(c * rocker_dot, along=rocker)
    loop = pin + l2 * along(coupler) - ground - l3 * along(rocker)
    b.constraint("loop_x", loop[0])
    b.constraint("loop_y", loop[1])
    b.output("height", centers[1][1], "m")
    b.output("speed", ca.jtimes(centers[1], q, v)[0], "m/s")
    b.output("power", torque * crank_dot, "W")
    return b.build()


def four_bar_pose(crank: float, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the pose for an angle of the crank, from the triangle of coupler, rocker and diagonal."""
    l0, l1, l2, l3 = ({**FOUR_BAR, **(parameters or {})}[name] for name in ("l0", "l1", "l2", "l3"))
    pin = l1 * np.array([np.cos(crank), np.sin(crank)])
    across = np.array([l0, 0.0]) - pin
    d = np.hypot(*across)
    at_pin = np.arccos((d**2 + l2**2 - l3**2) / (2 * d * l2))
    coupler = np.arctan2(across[1], across[0]) + at_pin
    x, y = pin + l2 * np.array([np.cos(coupler), np.sin(coupler)]) - np.array([l0, 0.0])
    return {"crank": crank, "coupler": float(coupler), "rocker": float(np.arctan2(y, x))}


@functools.cache
def coupled_cranks() -> Model:
    """Return three cranks of length r, d apart, joined by one rod: six constraints, of which five are independent.

    The forces that they exchange in vain act along the cranks, so they turn as the cranks turn.
    """
    b = ModelBuilder("coupled_cranks")
    angles = [b.coordinate(f"a{k}", start=0.8, unit="rad") for k in range(3)]
    (x, vx), (z, vz), (tilt, w) = b.coordinate("x"), b.coordinate("z"), b.coordinate("tilt", unit="rad")
    r, d = b.parameter("r", 0.3, "m"), b.parameter("d", 0.5, "m")
    m, g, c = b.parameter("m", 3.0, "kg"), b.parameter("g", G, "m/s²"), b.parameter("c", 0.2, "N·m·s/rad")
    end = b.parameter("end", 0.4, "kg", "at the free end of the rod")
    b.kinetic(m * (vx**2 + vz**2 + w**2 / 3) / 2)
    b.potential(m * g * (z + 0.8 * d * ca.sin(tilt)) + end * g * (z + 2 * d * ca.sin(tilt)))
    for k, (angle, speed) in enumerate(angles):
        b.kinetic((0.02 + 0.01 * k) * speed**2 / 2)
        b.constraint(f"pin{k}_x", x + k * d * ca.cos(tilt) - k * d - r * ca.cos(angle))
        b.constraint(f"pin{k}_z", z + k * d * ca.sin(tilt) - r * ca.sin(angle))
    b.damping(c * angles[2][1], along=angles[2][0])
    b.force(b.input("torque", "N·m"), along=angles[0][0])
    b.output("end_height", z + 2 * d * ca.sin(tilt), "m")
    return b.build()


def coupled_cranks_pose(angle: float, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return the pose for an angle of the cranks."""
    r = {"r": 0.3, **(parameters or {})}["r"]
    return {"a0": angle, "a1": angle, "a2": angle, "x": r * np.cos(angle), "z": r * np.sin(angle), "tilt": 0.0}


@functools.cache
def beam() -> Model:
    """Return a beam on two posts, A left and right of its middle, and on a roller at s that a force pushes along it.

    Three contacts, of which two are independent. What the third carries depends on where the roller is.
    """
    b = ModelBuilder("beam")
    (z, vz), (pitch, w), (s, vs) = b.coordinate("z"), b.coordinate("pitch", unit="rad"), b.coordinate("s")
    m, A = b.parameter("m", 5.0, "kg"), b.parameter("A", 0.5, "m")
    e, g = b.parameter("e", 0.0, "m", "its center of mass"), b.parameter("g", G, "m/s²")
    c = b.parameter("c", 0.0, "N·s/m")
    b.kinetic(m * (vz**2 + A**2 / 3 * w**2) / 2 + 0.3 * vs**2 / 2)
    b.potential(m * g * (z + e * ca.sin(pitch)))
    b.force(b.input("push", "N"), along=s)
    b.force(b.input("press", "N"), along=-z)
    b.damping(c * vs, along=s)
    b.gap("left", z - A * ca.sin(pitch))
    b.gap("right", z + A * ca.sin(pitch))
    b.gap("roller", z + s * ca.sin(pitch))
    return b.build()


def beam_forces(s: float, m: float = 5.0, A: float = 0.5, e: float = 0.0, press: float = 0.0) -> np.ndarray:
    """Return the smallest forces of left, right and roller that carry the beam: P (PᵀP)⁻¹ load."""
    arms = np.array([[1.0, -A], [1.0, A], [1.0, s]])
    return arms @ np.linalg.solve(arms.T @ arms, np.array([m * G + press, m * G * e]))


@functools.cache
def block(sticking: bool = False) -> Model:
    """Return a block in a plane, x and z of its center and its angle, on a floor that moves as f sin(w t).

    Its lower corners are the contacts left and right, its lower right corner the contact wall; sticking, the lower
    corners have sliding directions. Input push acts on its upper left corner, press on its center.
    """
    b = ModelBuilder("block")
    (x, vx), (z, vz), (angle, speed) = (
        b.coordinate("x"),
        b.coordinate("z", start=0.1),
        b.coordinate("angle", unit="rad"),
    )
    a, h = b.parameter("a", 0.2, "m", "half width"), b.parameter("h", 0.1, "m", "half height")
    m, g, c = b.parameter("m", 2.0, "kg"), b.parameter("g", G, "m/s²"), b.parameter("c", 0.0, "N·s/m")
    f, w = b.parameter("f", 0.0, "m"), b.parameter("w", 5.0, "rad/s")
    wall = b.parameter("wall", 1.0, "m")
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * (a**2 + h**2) / 3 * speed**2 / 2)
    b.potential(m * g * z)

    def corner(i, j):
        return (
            x + i * a * ca.cos(angle) - j * h * ca.sin(angle),
            z + i * a * ca.sin(angle) + j * h * ca.cos(angle),
        )

    b.force(b.input("push", "N"), along=corner(-1, 1)[0])
    b.force(b.input("press", "N"), along=-z)
    b.damping(c * vx, along=x)
    for name, side in (("left", -1), ("right", 1)):
        along, height = corner(side, -1)
        b.gap(name, height - f * ca.sin(w * b.time), slip=along if sticking else ())
    b.gap("wall", wall - corner(1, -1)[0])
    b.output("top", corner(1, 1)[1], "m")
    b.output("edge_speed", ca.jtimes(corner(-1, 1)[0], ca.vertcat(x, z, angle), ca.vertcat(vx, vz, speed)), "m/s")
    return b.build()


@functools.cache
def hoop() -> Model:
    """Return a bead on a circle of radius l about the origin by a constraint, pushed sideways by u."""
    b = ModelBuilder("hoop")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z", start=-1.0)
    m, radius, g = b.parameter("m", 1.0, "kg"), b.parameter("l", 1.0, "m"), b.parameter("g", G, "m/s²")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * g * z)
    b.force(b.input("u", "N"), along=x)
    b.constraint("circle", (x**2 + z**2 - radius**2) / (2 * radius))
    return b.build()


@functools.cache
def track() -> Model:
    """Return a bead on a track that is curved and shaken: z = k x²/2 − d x³ + f sin(w t); pushed by u, damped by c."""
    b = ModelBuilder("track")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    m, g, c = b.parameter("m", 1.0, "kg"), b.parameter("g", G, "m/s²"), b.parameter("c", 0.0, "N·s/m")
    k, d = b.parameter("k", 1.5, "1/m"), b.parameter("d", 0.2, "1/m²")
    f, w = b.parameter("f", 0.0, "m"), b.parameter("w", 7.0, "rad/s")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * g * z)
    b.force(b.input("u", "N"), along=x)
    b.damping(c * vx, along=x)
    b.gap("floor", z - k * x**2 / 2 + d * x**3 - f * ca.sin(w * b.time))
    return b.build()


@functools.cache
def weighted(stiffness: float = 0.0) -> Model:
    """Return a heavy crate on a floor and, apart from it, a light weight that hangs on a spring."""
    b = ModelBuilder("weighted")
    (crate, v_crate), (hung, v_hung) = b.coordinate("crate"), b.coordinate("hung")
    M, m, g = b.parameter("M", 1000.0, "kg"), b.parameter("m", 1e-3, "kg"), b.parameter("g", G, "m/s²")
    b.kinetic(M * v_crate**2 / 2 + m * v_hung**2 / 2)
    b.potential(M * g * crate + m * g * hung + stiffness * hung**2 / 2)
    b.gap("floor", crate)
    return b.build()
