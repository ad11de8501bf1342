"""What the smooth forces do within a step: gravity and gyroscopic torques.

A free body turns by Euler's equations, I ω̇ = −ω × Iω, stepped by the implicit midpoint rule, which keeps ωᵀIω and
|Iω| as they are (both are quadratic).
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit

_ITERATIONS, _SETTLED = 50, 1e-16


@jit
def turn_freely(tensor: Any, inverse: Any, w: Any, h: float, scratch: Any) -> None:
    """Advance an angular velocity in the body's axes, without torque, by the implicit midpoint rule."""
    a, b, c = w[0], w[1], w[2]
    x, y, z = a, b, c
    for _ in range(_ITERATIONS):
        mx, my, mz = 0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z)
        for i in range(3):
            scratch[i] = tensor[i, 0] * mx + tensor[i, 1] * my + tensor[i, 2] * mz
        tx = scratch[1] * mz - scratch[2] * my
        ty = scratch[2] * mx - scratch[0] * mz
        tz = scratch[0] * my - scratch[1] * mx
        nx = a + h * (inverse[0, 0] * tx + inverse[0, 1] * ty + inverse[0, 2] * tz)
        ny = b + h * (inverse[1, 0] * tx + inverse[1, 1] * ty + inverse[1, 2] * tz)
        nz = c + h * (inverse[2, 0] * tx + inverse[2, 1] * ty + inverse[2, 2] * tz)
        change = abs(nx - x) + abs(ny - y) + abs(nz - z)
        x, y, z = nx, ny, nz
        if change <= _SETTLED * (abs(x) + abs(y) + abs(z)):
            break
    w[0], w[1], w[2] = x, y, z


@jit
def invert(A: Any, out: Any, n: int) -> None:
    """Write the inverse of a positive definite matrix, by Gauss and Jordan; A is overwritten."""
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        scale = 1.0 / A[k, k]
        for j in range(n):
            A[k, j] *= scale
            out[k, j] *= scale
        for i in range(n):
            if i != k and A[i, k] != 0.0:
                factor = A[i, k]
                for j in range(n):
                    A[i, j] -= factor * A[k, j]
                    out[i, j] -= factor * out[k, j]


@jit
def plain_inertia(world: Any, s: Any, f: int) -> None:
    """Write the inertia of a free body, and its inverse, into its block."""
    b = world.block[f]
    M, inverse = s.problem.mass[b], s.problem.inverse[b]
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            M[i, j] = inverse[i, j] = 1.0 if i == j and i >= 6 else 0.0
    for i in range(3):
        M[i, i] = world.mass[f]
        inverse[i, i] = 1.0 / world.mass[f]
        for j in range(3):
            M[3 + i, 3 + j] = world.tensor[f, i, j]
            inverse[3 + i, 3 + j] = world.inverse[f, i, j]


@jit
def smooth_velocities(world: Any, s: Any, h: float) -> None:
    """Write v⁻ of every block of a free body, from the velocities of this instant."""
    problem = s.problem
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            b, speed = world.block[f], world.speed[f]
            for i in range(3):
                problem.free[b, i] = s.v[speed + i] + h * world.gravity[i]
                problem.free[b, 3 + i] = s.v[speed + 3 + i]
            turn_freely(world.tensor[f], world.inverse[f], problem.free[b, 3:6], h, s.local[0])
