"""Grips: springs and dampers in six directions between a body and its holder, at the end of the step.

With the map G from a body's velocities to the rate of the grip's six displacements e, ė = G v − ė_h and
C = hD + h²K,

    (M + GᵀCG) v⁻ = M v + h M g − h GᵀK e + GᵀC ė_h,

so stiff grips cannot make a step unstable, and contacts see the inertia M + GᵀCG.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.contact.inverse import invert
from impinge.geometry.rotation import rotation_vector
from impinge.simulation.bodies.frames import rotate
from impinge.simulation.bodies.smooth import plain_inertia
from impinge.simulation.bodies.stage import GRIPPED, Stage


@jit
def relate(s: Any, k: int, offset: Any, spin: Any) -> None:
    """Write where the center of compliance is, seen from the holder, and the matrix of the body's axes there."""
    world, frames = s.world, s.frames
    body, holder = world.held[k], world.holder[k]
    R, B = frames.axes[holder], frames.axes[body]
    for i in range(3):
        total = 0.0
        for j in range(3):
            arm = B[j, 0] * world.center[k, 0] + B[j, 1] * world.center[k, 1] + B[j, 2] * world.center[k, 2]
            total += R[j, i] * (frames.at[body, j] + arm - frames.at[holder, j])
            turned = 0.0
            for m in range(3):
                turned += R[m, i] * B[m, j]
            spin[i, j] = turned
        offset[i] = total


@jit
def _grip(s: Any, k: int) -> None:
    """Write the map G, the displacements e and the holder's own rate ė_h of a grip."""
    world, frames, local = s.world, s.frames, s.local
    body, holder = world.held[k], world.holder[k]
    R, B = frames.axes[holder], frames.axes[body]
    G, offset = s.grip_map[k], s.grip_offset[k]
    relate(s, k, local[0], local[1:4])
    # displacement: of the center, and the turn from the rest attitude, in the holder's axes
    for i in range(3):
        offset[i] = local[0, i] - s.rest_at[k, i]
    for i in range(3):
        for j in range(3):
            total = 0.0
            for m in range(3):
                total += local[1 + i, m] * s.rest_axes[k, j, m]
            local[4 + i, j] = total
    rotation_vector(local[4:7], offset[3:6])
    # the holder's point at the center of compliance moves with the holder
    rotate(B, world.center[k], local[7])
    for i in range(3):
        local[0, i] = frames.at[body, i] + local[7, i] - frames.at[holder, i]
    w, arm = frames.spin[holder], local[0]
    vx = frames.velocity[holder, 0] + w[1] * arm[2] - w[2] * arm[1]
    vy = frames.velocity[holder, 1] + w[2] * arm[0] - w[0] * arm[2]
    vz = frames.velocity[holder, 2] + w[0] * arm[1] - w[1] * arm[0]
    c = world.center[k]
    for i in range(3):
        offset[6 + i] = R[0, i] * vx + R[1, i] * vy + R[2, i] * vz
        offset[9 + i] = R[0, i] * w[0] + R[1, i] * w[1] + R[2, i] * w[2]
        # RᵀB is in local[1:4]; velocity of the center is v + B (ω × c)
        a0, a1, a2 = local[1 + i, 0], local[1 + i, 1], local[1 + i, 2]
        for j in range(3):
            G[i, j] = R[j, i]
            G[3 + i, j] = 0.0
            G[3 + i, 3 + j] = local[1 + i, j]
        G[i, 3] = a2 * c[1] - a1 * c[2]
        G[i, 4] = a0 * c[2] - a2 * c[0]
        G[i, 5] = a1 * c[0] - a0 * c[1]


@jit
def _held(s: Any, k: int, h: float) -> None:
    """Add a grip to the inertia and to the velocity of the body that it holds."""
    _grip(s, k)
    world, problem = s.world, s.problem
    b = world.block[world.held[k]]
    G, offset, M, v, rhs = s.grip_map[k], s.grip_offset[k], problem.mass[b], problem.free[b], s.local[0]
    for i in range(6):
        rhs[i] = 0.0
        for j in range(6):
            rhs[i] += M[i, j] * v[j]
    for m in range(6):
        K, C = world.stiffness[k, m], h * (world.damping[k, m] + h * world.stiffness[k, m])
        for i in range(6):
            rhs[i] += G[m, i] * (C * offset[6 + m] - h * K * offset[m])
            for j in range(6):
                M[i, j] += G[m, i] * C * G[m, j]
    inverse, copy = problem.inverse[b], s.scratch
    for i in range(6):
        for j in range(6):
            copy[i, j] = M[i, j]
    invert(copy, inverse, 6)
    for i in range(6):
        v[i] = 0.0
        for j in range(6):
            v[i] += inverse[i, j] * rhs[j]


@entry
def rest_grips(s: Stage, h: float) -> int:
    """Let the grips be at rest as everything is now."""
    for k in range(s.world.held.size):
        relate(s, k, s.rest_at[k], s.rest_axes[k])
    return 0


@entry
def hold_bodies(s: Stage, h: float) -> int:
    """Add the grips to the inertia and to v⁻ of the bodies that they hold."""
    for k in range(s.world.held.size):
        plain_inertia(s.world, s, s.world.held[k])
    for k in range(s.world.held.size):
        _held(s, k, h)
    return 0


@entry
def note_grips(s: Stage, h: float) -> int:
    """Write the wrenches of the grips at the end of the step, −K(e + hė) − Dė, and their work on the bodies."""
    world = s.world
    for k in range(world.held.size):
        v, G, offset = s.problem.v[world.block[world.held[k]]], s.grip_map[k], s.grip_offset[k]
        for m in range(6):
            rate = 0.0
            for j in range(6):
                rate += G[m, j] * v[j]
            relative = rate - offset[6 + m]
            s.grip[k, m] = -world.stiffness[k, m] * (offset[m] + h * relative) - world.damping[k, m] * relative
            s.tally[GRIPPED] += h * s.grip[k, m] * rate
    return 0
