"""What the smooth forces do within a step: gravity and gyroscopic torques.

A free body turns by Euler's equations, I ω̇ = −ω × Iω, stepped by the implicit midpoint rule, which keeps ωᵀIω and
|Iω| as they are (both are quadratic).

Velocities are those in the middle of a step, while positions are those at its ends (leapfrog steps): forces act from
the middle of the last step to the middle of this one, for the `KICK`. Contacts act halfway, at the instant that their
places are of: gyroscopic torques turn a body up to there, and from there on as it is turning then. So bodies move with
second order in the step as long as contacts neither strike nor cease, and free ones fall exactly; contacts never make
energy grow, and keep the angular momentum of that instant. The velocities of an instant are found from those half a
step before. In scenes with robots or grips, forces act for the whole step.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.simulation.bodies.stage import EARLIER, KICK, LENGTH, TAKEN

_ITERATIONS, _SETTLED = 50, 1e-16
_STRONG = 2.0  # times gravity: more than this may be an impact
_VARIES = 0.5  # accelerations of two steps that differ by more than this share of the larger are not steady


@jit
def turn_freely(tensor: Any, inverse: Any, w: Any, h: float, scratch: Any) -> None:
    """Advance an angular velocity in the body's axes, by the implicit midpoint rule."""
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
def _struck(world: Any, s: Any, f: int) -> bool:
    """Tell whether the center of a free body was accelerated by more than twice gravity.

    That may be an impact, which may last for several steps, or a push in a scene without gravity.
    """
    first, square, g = world.speed[f], 0.0, world.gravity
    for i in range(3):
        square += ((s.v[first + i] - s.past[0, first + i]) / s.time[KICK]) ** 2
    return square > _STRONG * _STRONG * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2])


@jit
def _steady(world: Any, s: Any, f: int) -> bool:
    """Tell whether a free body was accelerated in the last step about as in the one before.

    The first step of a run has none before it: then it may not be by more than twice gravity.
    """
    first, square, other, apart = world.speed[f], 0.0, 0.0, 0.0
    for i in range(6):
        weight = 1.0 if i < 3 else world.radius[f] * world.radius[f]
        now = (s.v[first + i] - s.past[0, first + i]) / s.time[KICK]
        then = (s.past[0, first + i] - s.past[1, first + i]) / s.time[EARLIER]
        square, other = square + weight * now * now, other + weight * then * then
        apart += weight * (now - then) ** 2
    if s.counts[TAKEN] < 2:
        return not _struck(world, s, f)
    return apart <= _VARIES * _VARIES * max(square, other)


@jit
def _pushed(world: Any, s: Any, f: int) -> bool:
    """Tell whether contacts pushed a free body in the last step."""
    return s.touched[world.block[f]] == s.counts[TAKEN] - 1


@jit
def smooth_velocities(world: Any, s: Any, kick: float, h: float) -> None:
    """Write v⁻ of every block of a free body, from the velocities that it has, and what is `ahead` of it."""
    problem, first = s.problem, 0.5 * s.time[LENGTH] if s.rules.centered != 0 else h
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            b, speed = world.block[f], world.speed[f]
            for i in range(3):
                problem.free[b, i] = s.v[speed + i] + kick * world.gravity[i]
                problem.free[b, 3 + i] = s.v[speed + 3 + i]
            w = problem.free[b, 3:6]
            turn_freely(world.tensor[f], world.inverse[f], w, first, s.local[0])
            for i in range(3):
                s.ahead[b, i] = w[i]
                if s.rules.centered != 0:
                    s.before[b, 3 + i] = w[i]
            turn_on(world, s, f, s.ahead[b], h)
            for i in range(3):
                s.ahead[b, i] -= w[i]


@jit
def turn_on(world: Any, s: Any, f: int, w: Any, h: float) -> None:
    """Advance the angular velocity of a free body from the instant of its contacts to the middle of the step."""
    if s.rules.centered != 0:
        turn_freely(world.tensor[f], world.inverse[f], w, 0.5 * h, s.local[0])


@jit
def set_velocities(world: Any, s: Any) -> None:
    """Write the velocities of this instant to ``s.instant``, from those in the middle of the last step.

    What is free moves on as it does; what is pushed steadily goes on as in the last step. Where contacts strike, slip
    or cease, that is not known: velocities stay those of the last step, but for gyroscopic torques.
    """
    half = 0.5 * s.time[LENGTH]
    for i in range(s.v.size):
        s.instant[i] = s.v[i]
    if s.rules.centered == 0 or half == 0.0:
        return
    for f in range(world.kind.size):
        if world.place[f] < 0 or s.asleep[f] != 0:
            continue
        first = world.speed[f]
        v = s.instant[first : first + 6]
        if not _pushed(world, s, f):
            for i in range(3):
                v[i] += half * world.gravity[i]
        elif _steady(world, s, f) and not _struck(world, s, f):
            for i in range(6):
                v[i] += half / s.time[KICK] * (s.v[first + i] - s.past[0, first + i])
            continue
        turn_freely(world.tensor[f], world.inverse[f], v[3:6], half, s.local[0])
