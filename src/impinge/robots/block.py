"""A rectangular block that moves in a vertical plane above a floor: two contacts, friction, and it can tip."""

from __future__ import annotations

from math import cos, sin

import casadi as ca

from impinge.model import Model, ModelBuilder
from impinge.robots.plane import turned


def block(
    height: float = 0.0,
    angle: float = 0.0,
    half_width: float = 0.1,
    half_height: float = 0.06,
    mass: float = 1.0,
    friction: float = 0.4,
    gravity: float = 9.81,
) -> Model:
    """Return a block whose lower corners may touch a floor.

    Coordinates ``x`` and ``z`` (of its center) and ``angle``; contacts ``left`` and ``right``, each with a slip along
    the floor; parameters ``a``, ``h`` (half width and height), ``m``, ``g`` and ``mu``. Both upper corners are taken to
    stay clear of the floor. Its link ``block`` has its origin at the center; x and z are the block's width and height,
    which lie in the x–z plane of the space, z up.

    Args:
        height: of its lowest point at the start, m.
        angle: of its base against the floor at the start, rad.
        half_width: m.
        half_height: m.
        mass: kg.
        friction: coefficient of friction of both corners.
        gravity: m/s².

    Example:
        >>> block().contacts
        ('left', 'right')
    """
    b = ModelBuilder("block")
    up = height + half_width * abs(sin(angle)) + half_height * cos(angle)
    x, vx = b.coordinate("x", unit="m", about="of the center, along the floor")
    z, vz = b.coordinate("z", start=up, unit="m", about="height of the center")
    turn, speed = b.coordinate("angle", start=angle, unit="rad", about="of the base against the floor")
    a, h = b.parameter("a", half_width, "m", "half the width"), b.parameter("h", half_height, "m", "half the height")
    m, g = b.parameter("m", mass, "kg"), b.parameter("g", gravity, "m/s²")
    mu = b.parameter("mu", friction, "", "coefficient of friction")
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * (a**2 + h**2) / 3 * speed**2 / 2)
    b.potential(m * g * z)
    for name, side in (("left", -1), ("right", 1)):
        along = x + side * a * ca.cos(turn) + h * ca.sin(turn)
        b.gap(name, z + side * a * ca.sin(turn) - h * ca.cos(turn), slip=along, friction=mu)
    b.link("block", (x, 0, z), turned(turn))
    return b.build()
