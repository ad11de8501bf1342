"""The ball maze: a ball on the outside of concentric rings that turn about a horizontal axis.

S. A. Bortoff, Modeling Contact and Collisions for Robotic Assembly Control, 2020, section 3. Coordinates as
there: q₁ ``angle`` of the maze and q₄ ``roll`` of the ball, counterclockwise; q₂ ``x`` and q₃ ``y`` of the
ball's center. With θ = atan(q₂/q₃), clockwise from the top, and R = r_m + r_b, ring by ring

    gap     (q₂² + q₃² − R²) / 2R      paper (10a) prints q₁² + q₂² + (…)²; q₂² + q₃² − (…)² is meant
    slip    r_b q₄ + r_m q₁ + R θ      paper (10b) prints r_m θ; no slip in the base frame needs R θ
    gate    q₁ + θ = π/2 or 0          paper (11) prints r_m tan(q₂/q₃); the angle θ is meant

Divided by 2R the gap is the distance where the two touch, and its force is in newtons. The paper's gates have
one edge; here they have two, 2w apart about c: the first edge, where turning forth (rings 1 and 3) or back
(2 and 4) opens them, is the paper's. A ring's extent cos w − cos(q₁ + θ − c) is positive on its wall. In the
center the ball lies inside the innermost ring, which is smooth there, its gate taken to be shut behind it.

On a ring i the energies, with r_b q̇₄ = −(R θ̇ + r_m q̇₁) and J_b = ⅖ m r_b², are

    T = ½ J_m q̇₁² + ½ m R² θ̇² + ⅕ m (R θ̇ + r_m q̇₁)²,     V = m g R cos θ

so at the top, without torque, θ̈ = p² θ with p² = g / (R (7/5 − (4/25) m r_m² / (J_m + ⅖ m r_m²))).
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from impinge.model import Model, ModelBuilder
from impinge.robots.plane import turned

# Outer faces of the walls, outermost first, m: public CAD of the circular maze.
RINGS = (0.0816, 0.0614, 0.0413, 0.0212)


def maze(height: float = 0.15) -> Model:
    """Return the maze with the ball above it.

    Input ``torque`` on the maze; outputs ``x`` and ``angle`` as in the paper, and ``distance`` of the ball
    from the axis. Contacts ``ring1`` (outermost) … ``ring4`` and ``center``. Links as in `maze_rings`, and ``ball``: at
    the ball's center, x to the right where ``roll`` is zero.

    Example:
        >>> maze().contacts
        ('ring1', 'ring2', 'ring3', 'ring4', 'center')
    """
    b = ModelBuilder("maze")
    angle, radii, gate = _rings(b)
    x, x_dot = b.coordinate("q2", unit="m", about="ball, to the right")
    y, y_dot = b.coordinate("q3", start=height, unit="m", about="ball, up")
    roll, roll_dot = b.coordinate("q4", unit="rad", about="angle of the ball, counterclockwise")
    m_b = b.parameter("m_b", 8.4e-3, "kg", "ball: steel, as in the toy")
    r_b = b.parameter("r_b", 6.35e-3, "m", "ball: half an inch across, as in the toy")
    g = b.parameter("g", 9.81, "m/s²", "gravity")
    wall = b.parameter("wall", 2e-3, "m", "thickness of the innermost wall: a stand-in")

    J_b = 2 / 5 * m_b * r_b**2
    b.kinetic(m_b * (x_dot**2 + y_dot**2) / 2 + J_b * roll_dot**2 / 2)
    b.potential(m_b * g * y)

    square = x**2 + y**2
    along, across = y * ca.cos(angle) - x * ca.sin(angle), x * ca.cos(angle) + y * ca.sin(angle)
    for i, r_m in enumerate(radii):
        R = r_m + r_b
        slip = r_b * roll + r_m * angle + R * ca.atan2(x, y)
        w, c = _gate(i, r_m, gate)
        extent = ca.cos(w) - (along * ca.cos(c) + across * ca.sin(c)) / R
        b.gap(f"ring{i + 1}", (square - R**2) / (2 * R), slip=slip, extent=extent)
    inner = radii[-1] - wall
    R = inner - r_b
    b.gap("center", (R**2 - square) / (2 * R), extent=1)
    b.output("angle", angle, "rad")
    b.output("x", x, "m")
    b.output("distance", ca.sqrt(square), "m")
    b.link("ball", (x, 0, y), turned(roll))
    return b.build()


def maze_rings() -> Model:
    """Return the maze without its ball, for a scene: its walls get shapes there, and balls are bodies.

    Coordinate ``q1``, input ``torque``, output ``angle``. The maze lies in the x–z plane of the space, z up, with its
    axis of rotation along y. Links ``ring1`` (outermost) … ``ring4`` turn with it: their origins are on the axis, and
    their x axes go through the middle of their ring's gate.

    Example:
        >>> [link.name for link in maze_rings().links]
        ['ring1', 'ring2', 'ring3', 'ring4']
    """
    b = ModelBuilder("maze_rings")
    angle, _, _ = _rings(b)
    b.output("angle", angle, "rad")
    return b.build()


def _gate(ring: int, radius: Any, width: Any) -> tuple[Any, Any]:
    """Return half of a gate's width as an angle, and where its middle is, clockwise from the top, in the maze."""
    w = width / (2 * radius)
    return w, (-w if ring % 2 else ca.pi / 2 + w)


def _rings(b: ModelBuilder) -> tuple[Any, list[Any], Any]:
    """Add the rings to a model; return their angle, the radii of their walls and the width of a gate."""
    angle, angle_dot = b.coordinate("q1", unit="rad", about="angle of the maze, counterclockwise")
    J_m = b.parameter("J_m", 1e-3, "kg·m²", "inertia of the maze: published nowhere, a fair stand-in")
    gate = b.parameter("gate", 19e-3, "m", "width of a gate, three radii of the ball: a stand-in")
    radii = [b.parameter(f"r_m{i + 1}", r, "m", "outer face, public CAD") for i, r in enumerate(RINGS)]
    b.kinetic(J_m * angle_dot**2 / 2)
    b.force(b.input("torque", "N·m"), along=angle)
    for i, r_m in enumerate(radii):
        _, c = _gate(i, r_m, gate)
        b.link(f"ring{i + 1}", (0, 0, 0), turned(angle + ca.pi / 2 - c))
    return angle, radii, gate
