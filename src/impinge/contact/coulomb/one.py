"""The law of one contact: its solution while all others rest, and the two maps that Newton's method is made of.

The normal impulse and the friction in its disk: P. Alart and A. Curnier (1991). The projection into the friction
cone, which is the gradient of a convex function: G. De Saxcé and Z.-Q. Feng (1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit

_TURNS = 12  # iterations for the direction of slip
_DIRECTIONS = 24  # directions that are tried if those fail
_PRECISE = 1e-14


@jit
def _turn(W: Any, q0: float, q1: float, q2: float, mu: float, x: float, y: float) -> tuple[float, float, float]:
    """Return the moment of slip about the direction of friction, its slope, and the slip along friction.

    With p_n = −q_n/(W_nn + μ w·d) all of it is times W_nn + μ w·d.
    """
    s = W[0, 0] + mu * (W[0, 1] * x + W[0, 2] * y)
    ds = mu * (W[0, 2] * x - W[0, 1] * y)
    g1 = q1 * s - q0 * (W[0, 1] + mu * (W[1, 1] * x + W[1, 2] * y))
    g2 = q2 * s - q0 * (W[0, 2] + mu * (W[1, 2] * x + W[2, 2] * y))
    h1 = q1 * ds - q0 * mu * (W[1, 2] * x - W[1, 1] * y)
    h2 = q2 * ds - q0 * mu * (W[2, 2] * x - W[1, 2] * y)
    return x * g2 - y * g1, x * h2 - y * h1 - (y * g2 + x * g1), x * g1 + y * g2


@jit
def _follow(W: Any, q0: float, q1: float, q2: float, mu: float, x: float, y: float) -> tuple[float, float, bool]:
    """Improve a direction of friction by Newton's method; say whether it is one that opposes slip."""
    for _ in range(_TURNS):
        f, df, along = _turn(W, q0, q1, q2, mu, x, y)
        if abs(f) <= _PRECISE * abs(along):
            return x, y, along <= 0.0
        turn = -f / df if df > 0.0 else np.copysign(0.5, -f)  # a stable root has a rising moment
        turn = min(max(turn, -0.5), 0.5)
        x, y = x - turn * y, y + turn * x
        length = 1.0 / np.sqrt(x * x + y * y)
        x, y = x * length, y * length
    f, df, along = _turn(W, q0, q1, q2, mu, x, y)
    return x, y, along <= 0.0 and abs(f) <= 1e-8 * abs(along)


@jit
def solve_one(
    W: Any, stick: Any, mu: float, p0: float, p1: float, p2: float, u0: float, u1: float, u2: float
) -> tuple[float, float, float]:
    """Return the impulse of a contact that satisfies its law while all others stay.

    W is the change of its rates per impulse and ``stick`` the inverse of that; p are its impulses and u its rates now.
    """
    q0 = u0 - (W[0, 0] * p0 + W[0, 1] * p1 + W[0, 2] * p2)
    if q0 >= 0.0:
        return 0.0, 0.0, 0.0
    a0 = p0 - (stick[0, 0] * u0 + stick[0, 1] * u1 + stick[0, 2] * u2)
    a1 = p1 - (stick[1, 0] * u0 + stick[1, 1] * u1 + stick[1, 2] * u2)
    a2 = p2 - (stick[2, 0] * u0 + stick[2, 1] * u1 + stick[2, 2] * u2)
    if a0 > 0.0 and a1 * a1 + a2 * a2 <= mu * mu * a0 * a0:
        return a0, a1, a2
    if mu == 0.0:
        return -q0 / W[0, 0], 0.0, 0.0
    q1 = u1 - (W[1, 0] * p0 + W[1, 1] * p1 + W[1, 2] * p2)
    q2 = u2 - (W[2, 0] * p0 + W[2, 1] * p1 + W[2, 2] * p2)
    x, y = p1, p2
    length = np.sqrt(x * x + y * y)
    skew = max(abs(W[0, 1]), abs(W[0, 2]), abs(W[1, 2]), abs(W[1, 1] - W[2, 2]))
    # As it slid before, or, if it did not or slips in all directions alike, against the slip without friction.
    if not length > 0.5 * mu * p0 or skew <= _PRECISE * W[1, 1]:
        x, y = q0 * W[0, 1] - q1 * W[0, 0], q0 * W[0, 2] - q2 * W[0, 0]
        length = np.sqrt(x * x + y * y)
    good = length > 0.0
    if good:
        x, y, good = _follow(W, q0, q1, q2, mu, x / length, y / length)
    k = 0
    while not good and k < _DIRECTIONS:
        angle = 2.0 * np.pi * k / _DIRECTIONS
        x, y, good = _follow(W, q0, q1, q2, mu, np.cos(angle), np.sin(angle))
        k += 1
    s = W[0, 0] + mu * (W[0, 1] * x + W[0, 2] * y)
    if not good or not s > 0.0:  # no sliding solution either: keep what there is, without pulling
        return p0, p1, p2
    p0 = -q0 / s
    return p0, mu * p0 * x, mu * p0 * y


@jit
def disk(z0: float, z1: float, z2: float, mu: float, p: Any, slope: Any) -> None:
    """Write max(z_n, 0) and z_t shortened to μ times that, and their derivatives with respect to z."""
    for i in range(3):
        p[i] = 0.0
        for j in range(3):
            slope[i, j] = 0.0
    if z0 <= 0.0:
        return
    p[0], slope[0, 0] = z0, 1.0
    r, radius = np.sqrt(z1 * z1 + z2 * z2), mu * z0
    if r <= radius and mu > 0.0:
        p[1], p[2], slope[1, 1], slope[2, 2] = z1, z2, 1.0, 1.0
    elif r > 0.0:
        x, y, bend = z1 / r, z2 / r, radius / r
        p[1], p[2] = radius * x, radius * y
        slope[1, 0], slope[2, 0] = mu * x, mu * y
        slope[1, 1], slope[2, 2] = bend * y * y, bend * x * x
        slope[1, 2] = slope[2, 1] = -bend * x * y


@jit
def cone(z0: float, z1: float, z2: float, mu: float, p: Any, slope: Any) -> None:
    """Write the projection of z into the friction cone and its derivatives."""
    for i in range(3):
        p[i] = 0.0
        for j in range(3):
            slope[i, j] = 0.0
    r = np.sqrt(z1 * z1 + z2 * z2)
    if r <= mu * z0 and mu > 0.0:
        p[0], p[1], p[2] = z0, z1, z2
        slope[0, 0], slope[1, 1], slope[2, 2] = 1.0, 1.0, 1.0
    elif mu * r > -z0:
        part = 1.0 / (1.0 + mu * mu)
        n = (z0 + mu * r) * part
        p[0], slope[0, 0] = n, part
        if r > 0.0:
            x, y, bend = z1 / r, z2 / r, mu * n / r
            p[1], p[2] = mu * n * x, mu * n * y
            slope[0, 1], slope[0, 2] = part * mu * x, part * mu * y
            slope[1, 0], slope[2, 0] = slope[0, 1], slope[0, 2]
            slope[1, 1] = part * mu * mu * x * x + bend * y * y
            slope[2, 2] = part * mu * mu * y * y + bend * x * x
            slope[1, 2] = slope[2, 1] = (part * mu * mu - bend) * x * y
