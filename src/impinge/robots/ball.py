"""A ball above a floor: Bortoff's first example, and ours."""

from __future__ import annotations

from impinge.model import Model, ModelBuilder


def ball(height: float = 1.0, mass: float = 1.0, gravity: float = 9.81) -> Model:
    """Return a point mass that moves up and down above a floor.

    Coordinate ``q`` (height), parameters ``m`` and ``g``, one contact ``floor`` with gap q, one link ``ball`` with its
    origin at the lowest point, on the z axis of the space.

    Example:
        >>> ball(height=2.0).coordinates[0].value
        2.0
    """
    b = ModelBuilder("ball")
    q, v = b.coordinate("q", start=height, unit="m", about="height of its lowest point")
    m = b.parameter("m", mass, "kg", "Bortoff, listing of section 2")
    g = b.parameter("g", gravity, "m/s²", "Bortoff, listing of section 2")
    b.kinetic(m * v**2 / 2)
    b.potential(m * g * q)
    b.gap("floor", q)
    b.link("ball", (0, 0, q))
    return b.build()
