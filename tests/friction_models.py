"""Mechanisms with dry friction, for the tests of it. Each is built once."""

from __future__ import annotations

import functools

import casadi as ca

from impinge.model import Model, ModelBuilder

G = 9.81


def _planar(b: ModelBuilder, start_z: float = 0.0):
    """Return x, z and their velocities."""
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z", start=start_z)
    return x, vx, z, vz


@functools.cache
def incline(friction: bool | None = True) -> Model:
    """Return a block on a plane that falls by th towards x, with a force F + k t + A sin(w t) down the plane.

    Its coordinates are those in which gravity is vertical. Without friction (False) it never slides; with None it
    has no slip at all. The input P presses it onto the plane.
    """
    b = ModelBuilder("incline")
    x, vx, z, vz = _planar(b)
    m, th, mu = b.parameter("m", 1.0, "kg"), b.parameter("th", 0.3, "rad"), b.parameter("mu", 0.5)
    k, A, w = b.parameter("k", 0.0, "N/s"), b.parameter("A", 0.0, "N"), b.parameter("w", 1.0, "rad/s")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * z)
    down, up = x * ca.cos(th) - z * ca.sin(th), x * ca.sin(th) + z * ca.cos(th)
    b.force(b.input("F", "N") + k * b.time + A * ca.sin(w * b.time), along=down)
    b.force(b.input("P", "N"), along=-up)
    if friction is None:
        b.gap("plane", up)
    else:
        b.gap("plane", up, slip=down, **({"friction": mu} if friction else {}))
    b.output("down", down, "m")
    b.output("speed", vx * ca.cos(th) - vz * ca.sin(th), "m/s")
    return b.build()


@functools.cache
def puck() -> Model:
    """Return a puck on a plane that falls by th towards x; the slips are turned by rot against x and y.

    Forces: fx + A sin(w t) along x, fy along y.
    """
    b = ModelBuilder("puck")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z")
    m, th, mu = b.parameter("m", 1.0, "kg"), b.parameter("th", 0.0, "rad"), b.parameter("mu", 0.3)
    rot, A, w = b.parameter("rot", 0.0, "rad"), b.parameter("A", 0.0, "N"), b.parameter("w", 1.0, "rad/s")
    b.kinetic(m * (vx**2 + vy**2 + vz**2) / 2)
    b.potential(m * G * (z * ca.cos(th) - x * ca.sin(th)))
    b.force(b.input("fx", "N") + A * ca.sin(w * b.time), along=x)
    b.force(b.input("fy", "N"), along=y)
    slips = [x * ca.cos(rot) + y * ca.sin(rot), y * ca.cos(rot) - x * ca.sin(rot)]
    b.gap("plane", z, slip=slips, friction=mu)
    return b.build()


@functools.cache
def conveyor(belt: bool = True) -> Model:
    """Return a block on a belt of speed V (or of displacement B sin(w t)), tied by a spring of stiffness k to x = 0."""
    b = ModelBuilder("conveyor")
    x, vx, z, vz = _planar(b)
    m, V, k, mu = (
        b.parameter("m", 2.0, "kg"),
        b.parameter("V", 0.5, "m/s"),
        b.parameter("k", 0.0),
        b.parameter("mu", 0.4),
    )
    B, w, A = b.parameter("B", 0.0, "m"), b.parameter("w", 3.0, "rad/s"), b.parameter("A", 0.0, "N")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * z + k * x**2 / 2)
    b.force(A * ca.cos(w * b.time), along=x)
    b.gap("belt", z, slip=x - V * b.time - B * ca.sin(w * b.time) if belt else x, friction=mu)
    return b.build()


@functools.cache
def feet(n: int = 2, slides: bool = True) -> Model:
    """Return a block of half width 0.2 m and half height 0.1 m in a plane, on n feet evenly along its lower side.

    A force F + k t acts hp above its center, a moment T turns it, P presses it down. Contacts foot0, foot1, …
    """
    b = ModelBuilder("feet")
    x, vx, z, vz = _planar(b, 0.1)
    angle, speed = b.coordinate("angle", unit="rad")
    m, mu, hp = b.parameter("m", 2.0, "kg"), b.parameter("mu", 0.5), b.parameter("hp", 0.0, "m")
    k, th = b.parameter("k", 0.0, "N/s"), b.parameter("th", 0.0, "rad")
    a, h = 0.2, 0.1
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * (a**2 + h**2) / 3 * speed**2 / 2)
    b.potential(m * G * (z * ca.cos(th) - x * ca.sin(th)))
    b.force(b.input("F", "N") + k * b.time, along=x - hp * ca.sin(angle))
    b.force(b.input("T", "N·m"), along=angle)
    b.force(b.input("P", "N"), along=-z)
    for i in range(n):
        place = a * (2 * i / (n - 1) - 1)
        height = z + place * ca.sin(angle) - h * ca.cos(angle)
        slip = x + place * ca.cos(angle) + h * ca.sin(angle)
        b.gap(f"foot{i}", height, slip=slip, **({"friction": mu} if slides else {}))
    return b.build()


@functools.cache
def ladder() -> Model:
    """Return a uniform rod of 2 l against a wall at x = 0 and on a floor at z = 0; angle from the floor."""
    b = ModelBuilder("ladder")
    (x, vx), (z, vz), (angle, speed) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    m, half, g = b.parameter("m", 3.0, "kg"), b.parameter("l", 1.0, "m"), b.parameter("g", G, "m/s²")
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * half**2 / 3 * speed**2 / 2)
    b.potential(m * g * z)
    top = x - half * ca.cos(angle), z + half * ca.sin(angle)
    foot = x + half * ca.cos(angle), z - half * ca.sin(angle)
    b.gap("wall", top[0], slip=top[1], friction=b.parameter("mu_wall", 0.2))
    b.gap("floor", foot[1], slip=foot[0], friction=b.parameter("mu_floor", 0.2))
    return b.build()


@functools.cache
def rod() -> Model:
    """Return a uniform rod of 2 l whose lower end may touch the floor: the rod of Painlevé. Pressed down by P."""
    b = ModelBuilder("rod")
    (x, vx), (z, vz), (angle, speed) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    m, half, mu = b.parameter("m", 1.0, "kg"), b.parameter("l", 1.0, "m"), b.parameter("mu", 0.3)
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * half**2 / 3 * speed**2 / 2)
    b.potential(m * G * z)
    b.gap("floor", z - half * ca.sin(angle), slip=x - half * ca.cos(angle), friction=mu)
    return b.build()


@functools.cache
def wedge() -> Model:
    """Return a block (x, z) on the slope of a wedge (s) that falls by th towards x, on a floor."""
    b = ModelBuilder("wedge")
    (s, vs), (h, vh) = b.coordinate("s"), b.coordinate("h")
    x, vx, z, vz = _planar(b)
    M, m, th = b.parameter("M", 3.0, "kg"), b.parameter("m", 1.0, "kg"), b.parameter("th", 0.6, "rad")
    b.kinetic((M * (vs**2 + vh**2) + m * (vx**2 + vz**2)) / 2)
    b.potential(M * G * h + m * G * z)
    dx, dz = x - s, z - h
    b.gap("floor", h, slip=s, friction=b.parameter("mu_floor", 0.05))
    slope = dx * ca.cos(th) - dz * ca.sin(th)
    b.gap("slope", dx * ca.sin(th) + dz * ca.cos(th), slip=slope, friction=b.parameter("mu_slope", 0.2))
    return b.build()


@functools.cache
def vise() -> Model:
    """Return a block between a wall and a plate that a force F − r t presses on; both rub along the vertical."""
    b = ModelBuilder("vise")
    x, vx, z, vz = _planar(b)
    plate, v_plate = b.coordinate("plate")
    m, r = b.parameter("m", 2.0, "kg"), b.parameter("r", 0.0, "N/s")
    b.kinetic(m * (vx**2 + vz**2) / 2 + 0.5 * v_plate**2 / 2)
    b.potential(m * G * z)
    b.force(b.input("F", "N") - r * b.time, along=-plate)
    b.gap("wall", x, slip=z, friction=b.parameter("mu_wall", 0.3))
    b.gap("plate", plate - x, slip=z, friction=b.parameter("mu_plate", 0.5))
    return b.build()


@functools.cache
def drawer() -> Model:
    """Return a drawer of length 2 a and width 2 w in a slot without play, pulled by F, e beside its middle line.

    It touches the slot at its front left and its rear right corner.
    """
    b = ModelBuilder("drawer")
    (x, vx), (y, vy), (angle, speed) = b.coordinate("x"), b.coordinate("y"), b.coordinate("angle", unit="rad")
    m, e, mu = b.parameter("m", 2.0, "kg"), b.parameter("e", 0.1, "m"), b.parameter("mu", 0.3)
    a, w = b.parameter("a", 0.2, "m"), b.parameter("w", 0.15, "m")
    b.kinetic(m * (vx**2 + vy**2) / 2 + m * (a**2 + w**2) / 3 * speed**2 / 2)
    b.force(b.input("F", "N"), along=x + e * ca.sin(angle))
    front = x + a * ca.cos(angle) - w * ca.sin(angle), y + a * ca.sin(angle) + w * ca.cos(angle)
    rear = x - a * ca.cos(angle) + w * ca.sin(angle), y - a * ca.sin(angle) - w * ca.cos(angle)
    b.gap("front", w - front[1], slip=front[0], friction=mu)
    b.gap("rear", rear[1] + w, slip=rear[0], friction=mu)
    return b.build()


@functools.cache
def stacked() -> Model:
    """Return a block on a block on a floor; the lower one is drawn by F + k t."""
    b = ModelBuilder("stacked")
    (x1, v1), (z1, w1) = b.coordinate("x1"), b.coordinate("z1")
    (x2, v2), (z2, w2) = b.coordinate("x2"), b.coordinate("z2")
    m1, m2 = b.parameter("m1", 2.0, "kg"), b.parameter("m2", 1.0, "kg")
    b.kinetic((m1 * (v1**2 + w1**2) + m2 * (v2**2 + w2**2)) / 2)
    b.potential(G * (m1 * z1 + m2 * z2))
    b.force(b.input("F", "N") + b.parameter("k", 0.0, "N/s") * b.time, along=x1)
    b.gap("floor", z1, slip=x1, friction=b.parameter("mu1", 0.2))
    b.gap("between", z2 - z1, slip=x2 - x1, friction=b.parameter("mu2", 0.3))
    return b.build()


@functools.cache
def pair() -> Model:
    """Return two blocks of m1 and m2 side by side, each drawn by its own k t; a spring c joins them."""
    b = ModelBuilder("pair")
    t, c, last = b.time, b.parameter("c", 0.0, "N/m"), None
    for i in (1, 2):
        (x, v), (z, w) = b.coordinate(f"x{i}"), b.coordinate(f"z{i}")
        m, k = b.parameter(f"m{i}", 1.0, "kg"), b.parameter(f"k{i}", 1.0, "N/s")
        b.kinetic(m * (v**2 + w**2) / 2)
        b.potential(m * G * z)
        b.force(k * t, along=x)
        b.gap(f"floor{i}", z, slip=x, friction=b.parameter(f"mu{i}", 0.3))
        if last is not None:
            b.potential(c * (x - last) ** 2 / 2)
        last = x
    return b.build()


@functools.cache
def thrown(surface: str = "plane", friction: bool = True) -> Model:
    """Return a point of m above a floor, drawn by fx and fz + s t.

    Surfaces: "plane"; "edge" ends at x = L; "shaken" is at the height B sin(w t).
    """
    b = ModelBuilder("thrown")
    x, vx, z, vz = _planar(b)
    m, mu, s = b.parameter("m", 1.0, "kg"), b.parameter("mu", 0.3), b.parameter("s", 0.0, "N/s")
    L, B, w = b.parameter("L", 1.0, "m"), b.parameter("B", 0.0, "m"), b.parameter("w", 8.0, "rad/s")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * z)
    b.force(b.input("fx", "N"), along=x)
    b.force(b.input("fz", "N") + s * b.time, along=z)
    height = z - B * ca.sin(w * b.time) if surface == "shaken" else z
    extent = L - x if surface == "edge" else None
    b.gap("floor", height, extent=extent, **({"slip": x, "friction": mu} if friction else {}))
    return b.build()


@functools.cache
def stool() -> Model:
    """Return a flat plate on four legs, in space: its legs touch the floor at the height of its center of mass.

    Contacts leg0 … leg3, each with two slips.
    """
    b = ModelBuilder("stool")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z")
    yaw, wy = b.coordinate("yaw", unit="rad")
    (pitch, wp), (roll, wr) = b.coordinate("pitch", unit="rad"), b.coordinate("roll", unit="rad")
    m, mu, J = b.parameter("m", 4.0, "kg"), b.parameter("mu", 0.3), b.parameter("J", 0.5, "kg·m²")
    b.kinetic(m * (vx**2 + vy**2 + vz**2) / 2 + J * wy**2 / 2 + 0.2 * (wp**2 + wr**2) / 2)
    b.potential(m * G * z)
    b.force(b.input("fx", "N") + b.parameter("k", 0.0, "N/s") * b.time, along=x)
    for i, (p, q) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        at = x + p * ca.cos(yaw) - q * ca.sin(yaw), y + p * ca.sin(yaw) + q * ca.cos(yaw)
        b.gap(f"leg{i}", z - p * pitch + q * roll, slip=list(at), friction=mu)
    return b.build()


@functools.cache
def sliding_four_bar() -> Model:
    """Return a four-bar linkage whose coupler carries a foot: the foot is pressed by a spring onto a floor."""
    b = ModelBuilder("sliding_four_bar")
    (crank, w1), (coupler, w2), (rocker, w3) = (b.coordinate(n, unit="rad") for n in ("crank", "coupler", "rocker"))
    q, v = ca.vertcat(crank, coupler, rocker), ca.vertcat(w1, w2, w3)
    (foot, v_foot), mu = b.coordinate("foot"), b.parameter("mu", 0.3)
    l0, l1, l2, l3 = 1.0, 0.4, 0.9, 0.8

    def along(angle):
        return ca.vertcat(ca.cos(angle), ca.sin(angle))

    pin, ground = l1 * along(crank), ca.vertcat(l0, 0)
    centers = [pin / 2, pin + l2 / 2 * along(coupler), ground + l3 / 2 * along(rocker)]
    for m, length, center, speed in zip((1.0, 2.0, 1.5), (l1, l2, l3), centers, (w1, w2, w3), strict=True):
        b.kinetic(m * ca.sumsqr(ca.jtimes(center, q, v)) / 2 + m * length**2 / 12 * speed**2 / 2)
        b.potential(m * G * center[1])
    # The foot is a mass of 0.5 kg on a vertical guide at the coupler's center: it may be at any height.
    at = ca.jtimes(centers[1][0], q, v)
    b.kinetic(0.5 * (at**2 + v_foot**2) / 2)
    b.potential(0.5 * G * foot)
    b.force(b.input("torque", "N·m"), along=crank)
    b.force(b.input("press", "N"), along=-foot)
    loop = pin + l2 * along(coupler) - ground - l3 * along(rocker)
    b.constraint("loop_x", loop[0])
    b.constraint("loop_y", loop[1])
    b.gap("floor", foot, slip=centers[1][0], friction=mu)
    return b.build()
