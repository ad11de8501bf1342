"""Particles that meet walls and driven bodies: the examples of Trinkle's notes on contact and simulation."""

from __future__ import annotations

import casadi as ca

from impinge.model import Model, ModelBuilder


def particle(
    wall: float = 11.0, wall_speed: float = 0.0, mass: float = 1.0, gravity: float = 1.0, start: float = 0.0
) -> Model:
    """Return a point mass that falls along x towards a wall, which may move at a constant speed.

    Coordinate ``x``, parameters ``m``, ``g``, ``L`` (where the wall is at t = 0) and ``w`` (its speed), one contact
    ``wall`` with gap L + w t − x; the wall's place is an output. The link ``particle`` is at x below the origin of the
    space, whose z axis points up.

    Example:
        >>> particle().contacts
        ('wall',)
    """
    b = ModelBuilder("particle")
    x, v = b.coordinate("x", start=start, about="towards the wall")
    m = b.parameter("m", mass, "kg", "Trinkle, page 5")
    g = b.parameter("g", gravity, "m/s²", "Trinkle, page 5: along x")
    place = b.parameter("L", wall, "m", "Trinkle, page 7") + b.parameter("w", wall_speed, "m/s") * b.time
    b.kinetic(m * v**2 / 2)
    b.potential(-m * g * x)
    b.gap("wall", place - x)
    b.output("x_wall", place, "m")
    b.link("particle", (0, 0, -x))
    return b.build()


def pushed_particle() -> Model:
    """Return a particle in space that a sphere pushes without friction; the sphere's path is a function of time.

    Trinkle, pages 14 to 16. Coordinates ``x``, ``y``, ``z``; the sphere of radius ``R`` circles about the origin at
    the radius ``r`` with ``n`` rad/s, bobbing by ``H`` with twice that, while nothing else acts on the particle but
    a drag ``c`` and gravity ``g``. Its center is in the outputs ``cx``, ``cy``, ``cz``. The link ``particle`` is at
    (x, y, z) of the space.
    """
    b = ModelBuilder("pushed_particle")
    axes = [b.coordinate(name, start=start) for name, start in (("x", 0.75), ("y", 0.8), ("z", 0.2))]
    q, v = ca.vertcat(*(q for q, _ in axes)), ca.vertcat(*(v for _, v in axes))
    m, g, c = b.parameter("m", 0.5, "kg"), b.parameter("g", 0.0, "m/s²"), b.parameter("c", 5.0, "N·s/m")
    R, r, H = b.parameter("R", 0.5, "m"), b.parameter("r", 1.0, "m"), b.parameter("H", 0.2, "m")
    n = b.parameter("n", 1.0, "rad/s")
    center = ca.vertcat(r * ca.cos(n * b.time), r * ca.sin(n * b.time), H * ca.sin(2 * n * b.time))
    b.kinetic(m * ca.sumsqr(v) / 2)
    b.potential(m * g * q[2])
    for k in range(3):
        b.damping(c * v[k], along=q[k])
    b.gap("sphere", ca.norm_2(q - center) - R)
    for k, name in enumerate(("cx", "cy", "cz")):
        b.output(name, center[k], "m")
    b.link("particle", q)
    return b.build()


def particle_past_a_disk() -> Model:
    """Return a particle that flies at a disk of radius ``R`` about the origin, in a plane; no force acts.

    Coordinates ``x`` and ``z``, contact ``disk``; the link ``particle`` is in the x–z plane of the space. Without
    restitution it goes on along the tangent where it touches.
    """
    b = ModelBuilder("particle_past_a_disk")
    (x, vx), (z, vz) = b.coordinate("x", start=-2.0), b.coordinate("z", start=0.7)
    m, R = b.parameter("m", 1.0, "kg"), b.parameter("R", 1.0, "m")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.gap("disk", ca.sqrt(x**2 + z**2) - R)
    b.link("particle", (x, 0, z))
    return b.build()


ROOFS = ("extended", "ending", "nearest")


def particle_on_a_roof(facets: str = "extended") -> Model:
    """Return a particle that falls onto the ridge of a roof whose sides fall by ``slope`` to the left and the right.

    Coordinates ``x`` (from the ridge) and ``z``. The facets are told in one of three ways: "extended", each a plane
    without end, contacts ``left`` and ``right`` (Trinkle, page 18); "ending", the same with extents at the ridge;
    "nearest", one contact ``roof`` whose gap is the distance to the facet that counts. The link ``particle`` is in the
    x–z plane of the space, z up.
    """
    b = ModelBuilder(f"particle_on_a_roof_{facets}")
    (x, vx), (z, vz) = b.coordinate("x", start=0.02), b.coordinate("z", start=0.1)
    m, g = b.parameter("m", 1.0, "kg"), b.parameter("g", 9.81, "m/s²")
    slope = b.parameter("slope", 0.5, "rad")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * g * z)
    left, right = (z * ca.cos(slope) + side * x * ca.sin(slope) for side in (-1, 1))
    if facets == "nearest":
        b.gap("roof", ca.if_else(x < 0, left, right))
    else:
        b.gap("left", left, extent=-x if facets == "ending" else None)
        b.gap("right", right, extent=x if facets == "ending" else None)
    b.link("particle", (x, 0, z))
    return b.build()
