"""Vectors and rotations in machine code."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit


@jit
def dot(a: Any, b: Any) -> float:
    """Return a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def cross(a: Any, b: Any, out: Any) -> None:
    """Write a × b; out may be one of them."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@jit
def turned(R: Any, x: Any, out: Any) -> None:
    """Write R x; out may be x."""
    a, b, c = x[0], x[1], x[2]
    for i in range(3):
        out[i] = R[i, 0] * a + R[i, 1] * b + R[i, 2] * c


@jit
def back(R: Any, x: Any, out: Any) -> None:
    """Write Rᵀx; out may be x."""
    a, b, c = x[0], x[1], x[2]
    for i in range(3):
        out[i] = R[0, i] * a + R[1, i] * b + R[2, i] * c
