"""Small mechanisms with known answers, for the tests of simulation. Each is built once."""

from __future__ import annotations

import functools

import casadi as ca

from impinge.model import Model, ModelBuilder

G = 9.81


@functools.cache
def balls(n: int) -> Model:
    """Return n balls of 1 kg side by side above one floor: coordinates z0, z1, …, contacts floor0, floor1, …"""
    b = ModelBuilder("balls")
    g = b.parameter("g", G, "m/s²")
    for k in range(n):
        z, v = b.coordinate(f"z{k}", start=1.0)
        b.kinetic(v**2 / 2)
        b.potential(g * z)
        b.gap(f"floor{k}", z)
    return b.build()


@functools.cache
def stack(n: int) -> Model:
    """Return n balls of diameter 0.1 m above each other, each with its own input: contact c0 is on the floor."""
    b = ModelBuilder("stack")
    g = b.parameter("g", G, "m/s²")
    below = None
    for k in range(n):
        z, v = b.coordinate(f"z{k}", start=0.1 * k)
        m = b.parameter(f"m{k}", 1.0, "kg")
        b.kinetic(m * v**2 / 2)
        b.potential(m * g * z)
        b.force(b.input(f"u{k}", "N"), along=z)
        b.gap(f"c{k}", z if below is None else z - below - 0.1)
        below = z
    return b.build()


@functools.cache
def pulled_ball(profile: str = "none", floor: float = 0.0) -> Model:
    """Return a ball of mass m above a floor, pulled up by input u plus s times a profile of time.

    Profiles: "none"; "ramp" = t; "cube" = t³; "fading" = 1 − t, down to zero at t = 1 and zero from then on.
    """
    b = ModelBuilder("pulled_ball")
    z, v = b.coordinate("z", start=floor)
    m, g, s = b.parameter("m", 1.0, "kg"), b.parameter("g", G, "m/s²"), b.parameter("s", 1.0, "N")
    rate = b.parameter("rate", 1.0, "1/s")
    b.kinetic(m * v**2 / 2)
    b.potential(m * g * z)
    t = rate * b.time
    b.force(b.input("u", "N") + s * {"none": 0, "ramp": t, "cube": t**3, "fading": ca.fmax(1 - t, 0)}[profile], along=z)
    b.gap("floor", z - floor)
    return b.build()


@functools.cache
def bump() -> Model:
    """Return a ball that flies at 1 m/s towards a bump of height a, width s and place x0."""
    b = ModelBuilder("bump")
    (x, vx), (z, vz) = b.coordinate("x", speed=1.0), b.coordinate("z", start=0.5)
    a, s, x0 = b.parameter("a", 1.0, "m"), b.parameter("s", 1.0, "m"), b.parameter("x0", 5.0, "m")
    g = b.parameter("g", 0.0, "m/s²")
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(g * z)
    b.gap("bump", z - a * ca.exp(-(((x - x0) / s) ** 2)))
    return b.build()


@functools.cache
def shaker() -> Model:
    """Return a ball above a table whose height is A sin(w t + f)."""
    b = ModelBuilder("shaker")
    z, v = b.coordinate("z", start=1.0)
    A, w, f = b.parameter("A", 0.1, "m"), b.parameter("w", 10.0, "rad/s"), b.parameter("f", 0.0, "rad")
    g = b.parameter("g", G, "m/s²")
    b.kinetic(v**2 / 2)
    b.potential(g * z)
    b.gap("table", z - A * ca.sin(w * b.time + f))
    return b.build()


TABLE_WEIGHT = 10.0 * G


@functools.cache
def table() -> Model:
    """Return a plate of 10 kg on four legs: height, pitch, roll; contacts leg0 … leg3. Its weight is `TABLE_WEIGHT`."""
    b = ModelBuilder("table")
    m, A, B = 10.0, 0.5, 0.3
    (z, vz), (pitch, wp), (roll, wr) = (
        b.coordinate("z", start=0.3),
        b.coordinate("pitch", unit="rad"),
        b.coordinate("roll", unit="rad"),
    )
    b.kinetic(m * vz**2 / 2 + m * A**2 / 3 * wp**2 / 2 + m * B**2 / 3 * wr**2 / 2)
    b.potential(m * G * z)
    for k, (i, j) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        b.gap(f"leg{k}", z + i * A * ca.sin(pitch) + j * B * ca.sin(roll))
    return b.build()


@functools.cache
def bead_pendulum() -> Model:
    """Return a bead on a horizontal wire with a bob on a rod of 1 m, which a force F draws along the wire.

    Contacts: the bead against a wall, the bob on a floor 0.8 m below the wire.
    """
    b = ModelBuilder("bead_pendulum")
    bead, bead_speed = b.coordinate("bead")
    (x, vx), (z, vz) = b.coordinate("x", start=0.8), b.coordinate("z", start=-0.6)
    F, c = b.parameter("F", 3.0, "N"), b.parameter("c", 2.0, "N·s/m")
    b.kinetic((bead_speed**2 + vx**2 + vz**2) / 2)
    b.potential(G * z)
    b.force(F, along=x)
    b.damping(c * bead_speed, along=bead)
    b.damping(c * vx, along=x)
    b.constraint("rod", (x - bead) ** 2 + z**2 - 1, unit="m²")
    b.gap("wall", 0.1 - bead)
    b.gap("floor", z + 0.8)
    return b.build()


@functools.cache
def cart(outputs: bool = False) -> Model:
    """Return a mass of 1 kg on a line, pushed by the input u: a double integrator."""
    b = ModelBuilder("cart")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.force(b.input("u", "N"), along=x)
    if outputs:
        b.output("twice", 2 * x, "m")
        b.output("speed", v, "m/s")
    return b.build()


@functools.cache
def two_carts() -> Model:
    """Return two masses of 1 kg, pushed by the inputs left and right."""
    b = ModelBuilder("two_carts")
    for side in ("left", "right"):
        x, v = b.coordinate(f"x_{side}")
        b.kinetic(v**2 / 2)
        b.force(b.input(side, "N"), along=x)
    return b.build()


@functools.cache
def pendulum(wall: bool = False) -> Model:
    """Return a pendulum of 1 m and 1 kg; with a wall, one that it meets at −0.5 rad."""
    b = ModelBuilder("pendulum")
    q, v = b.coordinate("q", start=1.0, unit="rad")
    b.kinetic(v**2 / 2)
    b.potential(G * (1 - ca.cos(q)))
    if wall:
        b.gap("wall", q + 0.5, unit="rad")
    return b.build()
