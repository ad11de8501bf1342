"""What velocities of the blocks do to the rates of the contacts."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.geometry.table import PLACE
from impinge.scene.world import FREE, LINKED
from impinge.simulation.bodies.stage import NOW


@jit
def _side(world: Any, s: Any, c: int, f: int, side: int, sign: float) -> None:
    """Write what the velocities of one side do to the rates of a contact."""
    frames, problem, axes = s.frames, s.problem, s.now.axes[c]
    D, at = problem.v.shape[1], frames.at[f]
    b, J = world.block[f], problem.J[c]
    problem.body[c, side] = b
    v, w, R = frames.velocity[f], frames.spin[f], frames.axes[f]
    for r in range(3):
        place = s.now.point[c, PLACE : PLACE + 3] if r == 0 else s.now.rub[c]
        x, y, z = place[0] - at[0], place[1] - at[1], place[2] - at[2]
        d0, d1, d2 = sign * axes[r, 0], sign * axes[r, 1], sign * axes[r, 2]
        m0, m1, m2 = y * d2 - z * d1, z * d0 - x * d2, x * d1 - y * d0
        if world.kind[f] == FREE:
            J[r, side * D], J[r, side * D + 1], J[r, side * D + 2] = d0, d1, d2
            for j in range(3):
                J[r, side * D + 3 + j] = R[0, j] * m0 + R[1, j] * m1 + R[2, j] * m2
            for j in range(6, D):
                J[r, side * D + j] = 0.0
        else:
            for j in range(D):
                J[r, side * D + j] = 0.0
            if world.kind[f] == LINKED:
                L, left = frames.jacobian[f], frames.left[f]
                problem.bias[c, r] += d0 * left[0] + d1 * left[1] + d2 * left[2]
                problem.bias[c, r] += m0 * left[3] + m1 * left[4] + m2 * left[5]
                for j in range(D):
                    J[r, side * D + j] = (
                        d0 * L[0, j] + d1 * L[1, j] + d2 * L[2, j] + m0 * L[3, j] + m1 * L[4, j] + m2 * L[5, j]
                    )
            else:
                problem.bias[c, r] += d0 * v[0] + d1 * v[1] + d2 * v[2] + m0 * w[0] + m1 * w[1] + m2 * w[2]


@jit
def write_rows(world: Any, s: Any) -> None:
    """Write J of all contacts, and the rates that moving parts give them, into the problem."""
    problem, now = s.problem, s.now
    problem.count[0] = s.used[NOW]
    for c in range(s.used[NOW]):
        for r in range(3):
            problem.bias[c, r] = 0.0
        if s.kept[c] >= 0:  # it takes no part
            problem.body[c, 0] = problem.body[c, 1] = -1
            continue
        _side(world, s, c, now.frames[c, 0], 0, 1.0)
        _side(world, s, c, now.frames[c, 1], 1, -1.0)


@jit
def _velocity(frames: Any, f: int, place: Any, i: int) -> float:
    """Return a component of the velocity of a place of a frame."""
    j, k, v, w = (i + 1) % 3, (i + 2) % 3, frames.velocity[f], frames.spin[f]
    return v[i] + w[j] * (place[k] - frames.at[f, k]) - w[k] * (place[j] - frames.at[f, j])


@jit
def carry_rows(world: Any, s: Any, c: int, time: float) -> None:
    """Let the impulse of a contact act where it and its bodies will be after a time, at their velocities.

    There is one place for both, so that no momentum is lost. Links of robots stay where they are.
    """
    frames, problem, axes = s.frames, s.problem, s.now.axes[c]
    D, fa, fb, arm, m = problem.v.shape[1], s.now.frames[c, 0], s.now.frames[c, 1], s.local[2], s.local[3]
    if world.kind[fa] == LINKED or world.kind[fb] == LINKED:
        return
    for side in range(2):
        f, sign = s.now.frames[c, side], 1.0 - 2.0 * side
        if world.kind[f] != FREE:
            continue
        R, w = frames.axes[f], frames.spin[f]
        for r in range(3):
            place, d = s.now.point[c, PLACE : PLACE + 3] if r == 0 else s.now.rub[c], axes[r]
            for i in range(3):
                moved = 0.5 * (_velocity(frames, fa, place, i) + _velocity(frames, fb, place, i))
                arm[i] = place[i] - frames.at[f, i] + time * (moved - frames.velocity[f, i])
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                m[i] = sign * (arm[j] * d[k] - arm[k] * d[j])
            for j in range(3):
                total = 0.0
                for i in range(3):
                    k, n = (i + 1) % 3, (i + 2) % 3
                    total += R[i, j] * (m[i] - time * (w[k] * m[n] - w[n] * m[k]))
                problem.J[c, r, side * D + 3 + j] = total
