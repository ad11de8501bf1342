"""Rotations in machine code: unit quaternions (w, x, y, z) and 3 × 3 matrices that turn local into world vectors."""

from __future__ import annotations

from math import atan2, cos, inf, sin, sqrt
from typing import Any

from impinge.compile import jit

EXACT = 1e-6  # how far a matrix may be from a rotation that it is meant to be
_SERIES = 1e-4  # half angles below which sin(x)/x is its series


@jit
def matrix_of(q: Any, R: Any) -> None:
    """Write the rotation matrix of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@jit
def normalize(q: Any) -> None:
    """Scale a quaternion to length one."""
    size = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for k in range(4):
        q[k] /= size


@jit
def turn(q: Any, x: float, y: float, z: float) -> None:
    """Turn a quaternion by a rotation vector in its own axes: q ← q exp((x, y, z)/2), of length one again."""
    half = 0.5 * sqrt(x * x + y * y + z * z)
    if half > _SERIES:
        c, s = cos(half), 0.5 * sin(half) / half
    else:
        c, s = 1.0 - 0.5 * half * half, 0.5 - half * half / 12.0
    x, y, z = s * x, s * y, s * z
    w0, x0, y0, z0 = q[0], q[1], q[2], q[3]
    q[0] = w0 * c - x0 * x - y0 * y - z0 * z
    q[1] = w0 * x + x0 * c + y0 * z - z0 * y
    q[2] = w0 * y - x0 * z + y0 * c + z0 * x
    q[3] = w0 * z + x0 * y - y0 * x + z0 * c
    if x != 0.0 or y != 0.0 or z != 0.0:
        normalize(q)


@jit
def quaternion_rate(q: Any, x: float, y: float, z: float, rate: Any) -> None:
    """Write q̇ = ½ q ∘ (0, ω) for an angular velocity ω = (x, y, z) in the body's own axes."""
    rate[0] = 0.5 * (-q[1] * x - q[2] * y - q[3] * z)
    rate[1] = 0.5 * (q[0] * x + q[2] * z - q[3] * y)
    rate[2] = 0.5 * (q[0] * y - q[1] * z + q[3] * x)
    rate[3] = 0.5 * (q[0] * z + q[1] * y - q[2] * x)


@jit
def rotation_vector(R: Any, out: Any) -> None:
    """Write the rotation vector of a rotation matrix (angles below π)."""
    x, y, z = 0.5 * (R[2, 1] - R[1, 2]), 0.5 * (R[0, 2] - R[2, 0]), 0.5 * (R[1, 0] - R[0, 1])
    c = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    s = sqrt(x * x + y * y + z * z)
    factor = atan2(s, c) / s if s > 0.0 else 1.0
    out[0], out[1], out[2] = factor * x, factor * y, factor * z


@jit
def is_rotation(R: Any, tolerance: float) -> bool:
    """Tell whether a 3 × 3 matrix turns: its columns have length one and each is the cross product of the other two.

    NaN is no rotation.
    """
    size = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for r in range(3):
            a, b = (r + 1) % 3, (r + 2) % 3
            size += R[r, i] * R[r, i]
            if not abs(R[r, i] - R[a, j] * R[b, k] + R[b, j] * R[a, k]) <= tolerance:
                return False
    return abs(size / 3.0 - 1.0) <= tolerance


@jit
def is_pose(at: Any, R: Any, velocity: Any, spin: Any, tolerance: float) -> bool:
    """Tell whether a frame has a place, axes that are a rotation, and rates, all finite."""
    for i in range(3):
        if not (abs(at[i]) < inf and abs(velocity[i]) < inf and abs(spin[i]) < inf):
            return False
    return is_rotation(R, tolerance)
