"""A chain of links that is closed through the ground: as many instructions as one likes."""

from __future__ import annotations

import casadi as ca

from impinge.model import Model, ModelBuilder


def closed_chain(links: int) -> Model:
    """Return a planar chain of equal links, hinged to the ground at both ends."""
    b = ModelBuilder("closed_chain")
    gravity = b.parameter("g", 9.81, "m/s²")
    mass = b.parameter("m", 1.0, "kg")
    length = b.parameter("l", 0.3, "m")
    inertia = b.parameter("J", 0.0075, "kg·m²")
    span = b.parameter("d", 0.3 * links / 2, "m")
    angle, turning = ca.SX(0), ca.SX(0)
    x, z, x_dot, z_dot = ca.SX(0), ca.SX(0), ca.SX(0), ca.SX(0)
    for k in range(links):
        q, v = b.coordinate(f"q{k}", unit="rad")
        angle, turning = angle + q, turning + v
        across, down = length * ca.sin(angle), length * ca.cos(angle)
        b.kinetic(mass * ((x_dot + down * turning / 2) ** 2 + (z_dot + across * turning / 2) ** 2) / 2)
        b.kinetic(inertia * turning**2 / 2)
        b.potential(mass * gravity * (z - down / 2))
        x, z = x + across, z - down
        x_dot, z_dot = x_dot + down * turning, z_dot + across * turning
    b.constraint("end_x", x - span)
    b.constraint("end_z", z)
    return b.build()
