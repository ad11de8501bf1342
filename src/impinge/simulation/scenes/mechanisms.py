"""Robots of a scene, event by event: their motion without contacts, and their constraints as rows."""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

from impinge.compile import call, jit
from impinge.scene.world import LINKED
from impinge.simulation.scenes.contacts.contact import HERE, TURN, divide
from impinge.simulation.scenes.tables import SceneTables
from impinge.simulation.system.linkage import ask_robots, hang, hung_energies, robot_places, set_links


@jit
def _factorize(M: Any, n: int, L: Any) -> None:
    """Write the factor L of M = L Lᵀ for the first n rows; NaN where M is not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = sqrt(total) if total > 0.0 else nan
            else:
                L[i, j] = total / L[j, j]


@jit
def move_robots(s: SceneTables, q: Any, v: Any, u: Any, t: float) -> None:
    """Write how robots and their links move while no contact pushes and no constraint holds."""
    world, m = s.world, s.motion
    ask_robots(world, q, v, u, t, m.robots)
    set_links(world, m, v, s.local[HERE], s.surface)
    for r in range(world.kernels.size):
        nv, first, out = world.nv[r], world.first_v[r], m.robots[world.first_out[r] :]
        force, M, L = m.free[first : first + nv], s.inertia, m.factor[r]
        at_force = robot_places(world, r)[0]
        for i in range(nv):
            force[i] = out[at_force + i]
            for j in range(nv):
                M[i, j] = out[nv * i + j]
        for f in range(world.kind.size):
            if world.robot[f] == r and world.hung[f] == 1:
                hang(world, m, f, s.local[TURN:], s.surface, M, force)
        _factorize(M, nv, L)
        divide(L, nv, force)
        for f in range(world.kind.size):
            if world.kind[f] == LINKED and world.robot[f] == r:
                for i in range(3):
                    m.push[f, i], m.twist[f, i] = m.bias[f, i], m.bias[f, 3 + i]
                    for k in range(nv):
                        m.push[f, i] += m.jacobian[f, i, k] * force[k]
                        m.twist[f, i] += m.jacobian[f, 3 + i, k] * force[k]


@jit
def write_constraints(s: SceneTables, v: Any, g: Any, rate: Any, drift: Any, partial: Any, powers: Any) -> None:
    """Write the rows of the robots' constraints, which come first, and add the powers of the robots' own forces."""
    world, m, row = s.world, s.motion, 0
    for r in range(world.kernels.size):
        nv, first, out = world.nv[r], world.first_v[r], m.robots[world.first_out[r] :]
        _, h, H, at_partial, at_drift, energies, _ = robot_places(world, r)
        for k in range(3):
            powers[k] += out[energies + 2 + k]
        for i in range(world.nh[r]):
            J, X = s.J[row], s.X[row]
            g[row], partial[row] = out[h + i], out[at_partial + i]
            rate[row], drift[row] = partial[row], out[at_drift + i]
            for k in range(nv):
                J[k] = X[k] = out[H + nv * i + k]
                rate[row] += J[k] * v[first + k]
                drift[row] += J[k] * m.free[first + k]
            divide(m.factor[r], nv, X)
            row += 1


@jit
def robot_outputs(s: SceneTables, q: Any, v: Any, u: Any, t: float, out: Any) -> None:
    """Write the outputs of all robots, one after another."""
    world, told, k = s.world, s.told, 0
    for r in range(told.counts.size):
        if told.counts[r] == 0:
            continue
        a, b, c, p = world.first_q[r], world.first_v[r], world.first_u[r], world.first_p[r]
        state, speed, held = q[a : a + world.nq[r]], v[b : b + world.nv[r]], u[c : c + world.nu[r]]
        call(told.kernels[r], (state, speed, t, held, world.parameters[p:], told.buffer))
        for i in range(told.sizes[r] - told.counts[r], told.sizes[r]):
            out[k] = told.buffer[i]
            k += 1


@jit
def robot_energies(s: SceneTables, q: Any, v: Any, u: Any, t: float, out: Any) -> None:
    """Add kinetic and potential energy of all robots, and of what hangs on them, to ``out[0]`` and ``out[1]``."""
    world, m = s.world, s.motion
    ask_robots(world, q, v, u, t, m.robots)
    set_links(world, m, v, s.local[HERE], s.surface)
    for r in range(world.kernels.size):
        first = world.first_out[r] + robot_places(world, r)[5]
        out[0] += m.robots[first]
        out[1] += m.robots[first + 1]
    hung_energies(world, m, out)
