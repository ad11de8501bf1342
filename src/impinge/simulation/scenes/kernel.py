"""The kernels of every scene: one compiled function each, whatever the scene.

They have the signatures of a model's kernels `dynamics` and `signals`; the only parameter is the address of the
scene's tables. Free bodies move by Newton's and Euler's equations, m v̇ = m g + f and I ω̇ = τ − ω × Iω, with v of the
center of mass in the world's axes and ω in the body's. Robots move by M v̇ = F, their constraints are rows.
"""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import Any

from impinge.compile import Pointer, call, entry, jit, vector_at
from impinge.geometry.rotation import EXACT, is_pose, matrix_of, rotation_vector
from impinge.scene.paths import PATH, follow
from impinge.scene.world import FREE
from impinge.simulation.scenes.contacts.contact import FAR, HERE, THERE, N, T, locate, tangent, write_contact
from impinge.simulation.scenes.contacts.pairs import BALL
from impinge.simulation.scenes.contacts.vectors import back, cross, dot, turned
from impinge.simulation.scenes.mechanisms import move_robots, robot_energies, robot_outputs, write_constraints
from impinge.simulation.scenes.tables import SceneTables, tables_at
from impinge.simulation.system.plant import TIME, Plant, Workspace


@jit
def _follow(s: SceneTables, t: float, u: Any) -> bool:
    """Write how the frames on paths move; tell whether they have poses, and note one that has none."""
    world, m, posed = s.world, s.motion, True
    call(world.paths, (t, u, m.paths))
    for k in range(world.followers.size):
        f, first = world.followers[k], PATH * k
        follow(m.paths[first:], m.at[f], m.axes[f], m.velocity[f], m.spin[f])
        for i in range(3):
            m.push[f, i], m.twist[f, i] = m.paths[first + 18 + i], m.paths[first + 21 + i]
        if not is_pose(m.at[f], m.axes[f], m.velocity[f], m.spin[f], EXACT):
            s.fault[0], s.fault[1], posed = k, t, False
    return posed


@jit
def _pose(s: SceneTables, f: int, q: Any, v: Any) -> None:
    """Write pose and velocities of a free frame; a quaternion of any length is a direction."""
    m, a, b = s.motion, s.world.place[f], s.world.speed[f]
    size = sqrt(q[a + 3] ** 2 + q[a + 4] ** 2 + q[a + 5] ** 2 + q[a + 6] ** 2)
    for i in range(4):
        s.unit[i] = q[a + 3 + i] / size
    matrix_of(s.unit, m.axes[f])
    for i in range(3):
        m.at[f, i], m.velocity[f, i] = q[a + i], v[b + i]
        m.push[f, i], m.torque[f, i] = s.world.gravity[i], 0.0
    turned(m.axes[f], v[b + 3 : b + 6], m.spin[f])


@jit
def _grip(s: SceneTables, k: int) -> float:
    """Add the force −Ke − Dė of a grip to the body it holds; return its power."""
    world, m, v = s.world, s.motion, s.local
    body, holder = world.held[k], world.holder[k]
    B, R, arm, reach, force, moment, e, rate = m.axes[body], m.axes[holder], v[0], v[1], v[2], v[3], v[4], v[5]
    turned(B, world.center[k], arm)
    for i in range(3):
        reach[i] = m.at[body, i] + arm[i] - m.at[holder, i]
    back(R, reach, e)
    cross(m.spin[body], arm, force)
    cross(m.spin[holder], reach, moment)
    for i in range(3):
        e[i] -= s.grips.at[k, i]
        rate[i] = m.velocity[body, i] + force[i] - m.velocity[holder, i] - moment[i]
    back(R, rate, rate)
    for i in range(3):
        force[i] = -world.stiffness[k, i] * e[i] - world.damping[k, i] * rate[i]
    for i in range(3):  # the turn from rest, RᵀB restᵀ
        for j in range(3):
            total = 0.0
            for a in range(3):
                for b in range(3):
                    total += R[a, i] * B[a, b] * s.grips.axes[k, j, b]
            s.surface[i, j] = total
        rate[i] = m.spin[body, i] - m.spin[holder, i]
    rotation_vector(s.surface, e)
    back(R, rate, rate)
    for i in range(3):
        moment[i] = -world.stiffness[k, 3 + i] * e[i] - world.damping[k, 3 + i] * rate[i]
    turned(R, force, force)
    turned(R, moment, moment)
    cross(arm, force, e)
    for i in range(3):
        moment[i] += e[i]
        m.push[body, i] += force[i] / world.mass[body]
    power = dot(force, m.velocity[body]) + dot(moment, m.spin[body])
    back(B, moment, e)
    for i in range(3):
        m.torque[body, i] += e[i]
    return power


@jit
def move(s: SceneTables, q: Any, v: Any, t: float, u: Any) -> float:
    """Write how all frames move while no contact pushes; return the power of the grips, NaN if a frame has no pose."""
    world, m, power = s.world, s.motion, 0.0
    if world.paths != 0 and not _follow(s, t, u):
        power = nan
    for f in range(world.kind.size):
        if world.kind[f] == FREE:
            _pose(s, f, q, v)
    if world.kernels.size > 0:
        move_robots(s, q, v, u, t)
    for k in range(world.held.size):
        power += _grip(s, k)
    for f in range(world.kind.size):
        if world.kind[f] == FREE:
            w, momentum, torque = v[world.speed[f] + 3 : world.speed[f] + 6], s.local[HERE], s.local[THERE]
            turned(world.tensor[f], w, momentum)
            cross(momentum, w, torque)
            for i in range(3):
                torque[i] += m.torque[f, i]
            turned(world.inverse[f], torque, m.torque[f])  # from here on the angular acceleration
            turned(m.axes[f], m.torque[f], m.twist[f])
            for i in range(3):
                m.free[world.speed[f] + i], m.free[world.speed[f] + 3 + i] = m.push[f, i], m.torque[f, i]
    return power


@jit
def _write_response(s: SceneTables, response: Any, W: Any) -> None:
    """Write M⁻¹Aᵀ (nv × m, column by column) and A M⁻¹Aᵀ from the rows."""
    m, nv, bodies, width, J, X = s.bodies.shape[0], s.nv, s.bodies, s.width, s.J, s.X
    for i in range(m):
        for k in range(nv):
            response[i * nv + k] = 0.0
    for i in range(m):
        for side in range(2):
            if bodies[i, side] >= 0:
                for k in range(width[i, side]):
                    response[i * nv + bodies[i, side] + k] = X[i, s.widest * side + k]
        for j in range(i + 1):
            total = 0.0
            for one in range(2):
                for other in range(2):
                    if bodies[i, one] >= 0 and bodies[i, one] == bodies[j, other]:
                        for k in range(width[i, one]):
                            total += J[i, s.widest * one + k] * X[j, s.widest * other + k]
            W[i * m + j] = W[j * m + i] = total


@jit
def _cut(values: Any, n: int) -> tuple[Any, Any]:
    """Return the first n of some values, and the others."""
    return values[:n], values[n:]


@entry
def dynamics(state: Pointer, speed: Pointer, time: Pointer, held: Pointer, address: Pointer, result: Pointer) -> int:
    """Write what `Model.dynamics_expressions` lists, for a scene."""
    s = tables_at(int(address[0]))
    m, nc = s.bodies.shape[0], s.features.radius.size
    q, v, u = vector_at(state, s.nq), vector_at(speed, s.nv), vector_at(held, s.nu)
    free, rest = _cut(vector_at(result, s.size), s.nv)
    power = move(s, q, v, time[0], u)
    for k in range(s.nv):
        free[k] = s.motion.free[k]
    g, rest = _cut(rest, m)
    rate, rest = _cut(rest, m)
    drift, rest = _cut(rest, m)
    partial, rest = _cut(rest, m)
    powers, rest = _cut(rest, 3)
    response, rest = _cut(rest, s.nv * m)
    W, rest = _cut(rest, m * m)
    extent, extent_rate = _cut(rest, s.ne)
    powers[0], powers[1], powers[2] = power, 0.0, 0.0
    if s.world.kernels.size > 0:
        write_constraints(s, v, g, rate, drift, partial, powers)
    for c in range(nc):
        write_contact(s, c, g, rate, drift, partial, extent, extent_rate)
    _write_response(s, response, W)
    if not abs(power) < inf or s.fault[2] >= 0.0:  # this is no motion, whether or not anything touches what has no pose
        free[0] = nan
    return 0


@entry
def signals(state: Pointer, speed: Pointer, time: Pointer, held: Pointer, address: Pointer, result: Pointer) -> int:
    """Write kinetic and potential energy of a scene, and the outputs of its robots."""
    s = tables_at(int(address[0]))
    world, energies = s.world, vector_at(result, 2 + s.ny)
    energies[0] = energies[1] = 0.0
    if world.kernels.size > 0:
        q, v, u = vector_at(state, s.nq), vector_at(speed, s.nv), vector_at(held, s.nu)
        robot_energies(s, q, v, u, time[0], energies)
        robot_outputs(s, q, v, u, time[0], energies[2:])
    for f in range(world.kind.size):
        if world.kind[f] == FREE:
            a, b = world.place[f], world.speed[f]
            for i in range(3):
                energies[0] += 0.5 * world.mass[f] * speed[b + i] ** 2
                energies[1] -= world.mass[f] * world.gravity[i] * state[a + i]
                for j in range(3):
                    energies[0] += 0.5 * speed[b + 3 + i] * world.tensor[f, i, j] * speed[b + 3 + j]
    return 0


@entry
def tidy(plant: Plant, w: Workspace) -> int:
    """Let the references of tangents follow where a step begins."""
    s = tables_at(int(plant.parameters[0]))
    f, moved = s.features, False
    for c in range(f.radius.size):
        if f.form[c] == BALL and dot(s.normal[c], f.reference[c, 0]) < FAR:
            if not moved:
                move(s, w.y[: plant.nq], w.y[plant.nq : plant.nq + plant.nv], w.time[TIME], w.u)
                moved = True
            locate(s, c)
            tangent(s, c, False)
            for i in range(3):
                f.reference[c, 0, i], f.reference[c, 1, i] = s.local[N, i], s.local[T, i]
    return 0
