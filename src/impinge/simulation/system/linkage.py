"""What the kernels of a scene's robots write (`model/links.py`), and where links are and how they move by it.

Each robot has a place in one common buffer. Jacobians are of the velocity of a frame's origin and of its angular
velocity, in the world's axes, by the velocities of its robot: 6 × nv.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import call, jit
from impinge.scene.world import LINKED


@jit
def robot_places(world: Any, r: int) -> tuple[int, int, int, int, int, int, int]:
    """Return where force, h, H, ∂h/∂t, drift, energies and powers, and the links of a robot begin; M comes first."""
    nv, nh = world.nv[r], world.nh[r]
    force = nv * nv
    h = force + nv
    H = h + nh
    partial = H + nh * nv
    drift = partial + nh
    energies = drift + nh
    return force, h, H, partial, drift, energies, energies + 5


@jit
def ask_robots(world: Any, q: Any, v: Any, u: Any, t: float, out: Any) -> None:
    """Evaluate the kernels of all robots at a state."""
    for r in range(world.kernels.size):
        a, b, c, p = world.first_q[r], world.first_v[r], world.first_u[r], world.first_p[r]
        nq, nv, nu = world.nq[r], world.nv[r], world.nu[r]
        at = out[world.first_out[r] :]
        call(world.kernels[r], (q[a : a + nq], v[b : b + nv], t, u[c : c + nu], world.parameters[p:], at))


@jit
def set_links(world: Any, frames: Any, v: Any, arm: Any, R: Any) -> None:
    """Write poses, velocities, Jacobians and drifts of all linked frames, from what the kernels wrote.

    Args:
        world: tables of the scene.
        frames: what is written to: ``at``, ``axes``, ``velocity``, ``spin``, ``jacobian``, ``bias``; the kernels'
            numbers are in ``robots``.
        v: velocities of the whole scene.
        arm: three numbers to write to on the way.
        R: 3 × 3 numbers to write to on the way.
    """
    for f in range(world.kind.size):
        if world.kind[f] != LINKED:
            continue
        r = world.robot[f]
        nv, first_v = world.nv[r], world.first_v[r]
        first = world.first_out[r] + robot_places(world, r)[6] + world.link[f] * (18 + 6 * nv)
        out, L, w = frames.robots, frames.jacobian[f], frames.spin[f]
        for i in range(3):
            for j in range(3):
                R[i, j] = out[first + 3 + 3 * j + i]
        for i in range(3):
            arm[i] = R[i, 0] * world.at[f, 0] + R[i, 1] * world.at[f, 1] + R[i, 2] * world.at[f, 2]
        for i in range(3):
            frames.at[f, i] = out[first + i] + arm[i]
            frames.velocity[f, i] = w[i] = 0.0
            for j in range(3):
                total = 0.0
                for m in range(3):
                    total += R[i, m] * world.axes[f, m, j]
                frames.axes[f, i, j] = total
        jacobian, drift = first + 12, first + 12 + 6 * nv
        for j in range(nv):
            for i in range(6):
                L[i, j] = out[jacobian + 6 * j + i]
            L[0, j] += L[4, j] * arm[2] - L[5, j] * arm[1]
            L[1, j] += L[5, j] * arm[0] - L[3, j] * arm[2]
            L[2, j] += L[3, j] * arm[1] - L[4, j] * arm[0]
            for i in range(3):
                frames.velocity[f, i] += L[i, j] * v[first_v + j]
                w[i] += L[3 + i, j] * v[first_v + j]
        a = frames.bias[f]
        for i in range(6):
            a[i] = out[drift + i]
        # of a point at the arm: + α × r + ω × (ω × r)
        x, y, z = w[1] * arm[2] - w[2] * arm[1], w[2] * arm[0] - w[0] * arm[2], w[0] * arm[1] - w[1] * arm[0]
        a[0] += a[4] * arm[2] - a[5] * arm[1] + w[1] * z - w[2] * y
        a[1] += a[5] * arm[0] - a[3] * arm[2] + w[2] * x - w[0] * z
        a[2] += a[3] * arm[1] - a[4] * arm[0] + w[0] * y - w[1] * x


@jit
def hang(world: Any, frames: Any, f: int, local: Any, inertia: Any, M: Any, force: Any) -> None:
    """Add a body that hangs on a link to the inertia and the forces of its robot.

    Args:
        world: tables of the scene.
        frames: where the links are and how they move.
        f: the body's frame.
        local: two rows of three numbers to write to on the way.
        inertia: 3 × 3 numbers to write to on the way.
        M: inertia of the robot, nv × nv.
        force: forces of the robot, nv.
    """
    L, m, R, w = frames.jacobian[f], world.mass[f], frames.axes[f], frames.spin[f]
    a, momentum, torque, nv = frames.bias[f], local[0], local[1], world.nv[world.robot[f]]
    for i in range(3):
        for j in range(3):
            inertia[i, j] = 0.0
            for k in range(3):
                for n in range(3):
                    inertia[i, j] += R[i, k] * world.tensor[f, k, n] * R[j, n]
    for i in range(3):
        momentum[i] = inertia[i, 0] * w[0] + inertia[i, 1] * w[1] + inertia[i, 2] * w[2]
    for i in range(3):
        torque[i] = -(inertia[i, 0] * a[3] + inertia[i, 1] * a[4] + inertia[i, 2] * a[5])
    torque[0] -= w[1] * momentum[2] - w[2] * momentum[1]
    torque[1] -= w[2] * momentum[0] - w[0] * momentum[2]
    torque[2] -= w[0] * momentum[1] - w[1] * momentum[0]
    for j in range(nv):
        for i in range(3):
            force[j] += L[i, j] * m * (world.gravity[i] - a[i]) + L[3 + i, j] * torque[i]
        for k in range(nv):
            for i in range(3):
                M[j, k] += m * L[i, j] * L[i, k]
                for n in range(3):
                    M[j, k] += L[3 + i, j] * inertia[i, n] * L[3 + n, k]


@jit
def hung_energies(world: Any, frames: Any, out: Any) -> None:
    """Add kinetic and potential energy of all bodies that hang on links to ``out[0]`` and ``out[1]``."""
    for f in range(world.kind.size):
        if world.hung[f] == 1:
            R, v, w = frames.axes[f], frames.velocity[f], frames.spin[f]
            for i in range(3):
                out[0] += 0.5 * world.mass[f] * v[i] * v[i]
                out[1] -= world.mass[f] * world.gravity[i] * frames.at[f, i]
                for j in range(3):
                    a = R[0, i] * w[0] + R[1, i] * w[1] + R[2, i] * w[2]
                    b = R[0, j] * w[0] + R[1, j] * w[1] + R[2, j] * w[2]
                    out[0] += 0.5 * a * world.tensor[f, i, j] * b
