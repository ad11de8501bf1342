"""Robots in a scene: a block of degrees of freedom each, with its constraints eliminated.

Gauss's elimination of H v = c, with pivoting over the whole matrix, splits the velocities into independent ones w and
dependent ones: v = S w + v_c. Redundant constraints fall out there. Contacts act on w with the inertia SᵀMS, and

    SᵀMS w⁻ = Sᵀ(M (v − v_c) + h F),        c = −h(q)/step − ∂h/∂t,

so that what a constraint has drifted is taken back in every step. Bodies that hang on a link add to M and F by the
Jacobian of their center of mass.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import call, entry, jit
from impinge.contact.inverse import invert
from impinge.geometry.rotation import turn
from impinge.scene.world import LINKED
from impinge.simulation.bodies.frames import rotate
from impinge.simulation.bodies.stage import GRIPPED, TIME, Stage
from impinge.simulation.results.extremes import BEND, DRIFT, WORST, keep

_INDEPENDENT = 1e-9  # smallest pivot of a constraint that counts, against the largest


@jit
def ask_robots(world: Any, s: Any, t: float) -> None:
    """Evaluate the kernels of all robots at the stage's state."""
    for r in range(world.kernels.size):
        q, v, u, p = world.first_q[r], world.first_v[r], world.first_u[r], world.first_p[r]
        nq, nv, nu = world.nq[r], world.nv[r], world.nu[r]
        call(
            world.kernels[r],
            (
                s.q[q : q + nq],
                s.v[v : v + nv],
                t,
                s.u[u : u + nu],
                world.parameters[p:],
                s.frames.robots[world.first_out[r] :],
            ),
        )


@jit
def set_links(world: Any, s: Any) -> None:
    """Write poses, velocities, Jacobians and drifts of all linked frames, from what the kernels wrote."""
    frames = s.frames
    for f in range(world.kind.size):
        if world.kind[f] != LINKED:
            continue
        r = world.robot[f]
        nv, nh, first_v = world.nv[r], world.nh[r], world.first_v[r]
        first = world.first_out[r] + nv * nv + nv + nh * (nv + 3) + 3 + world.link[f] * (18 + 6 * nv)
        out, L, arm, w = frames.robots, frames.jacobian[f], s.local[0], frames.spin[f]
        R = s.scratch
        for i in range(3):
            for j in range(3):
                R[i, j] = out[first + 3 + 3 * j + i]
        rotate(R, world.at[f], arm)
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
                frames.velocity[f, i] += L[i, j] * s.v[first_v + j]
                w[i] += L[3 + i, j] * s.v[first_v + j]
        a = frames.bias[f]
        for i in range(6):
            a[i] = out[drift + i]
        # of a point at the arm: + α × r + ω × (ω × r)
        x, y, z = w[1] * arm[2] - w[2] * arm[1], w[2] * arm[0] - w[0] * arm[2], w[0] * arm[1] - w[1] * arm[0]
        a[0] += a[4] * arm[2] - a[5] * arm[1] + w[1] * z - w[2] * y
        a[1] += a[5] * arm[0] - a[3] * arm[2] + w[2] * x - w[0] * z
        a[2] += a[3] * arm[1] - a[4] * arm[0] + w[0] * y - w[1] * x


@jit
def _hang(world: Any, s: Any, f: int, M: Any, force: Any) -> None:
    """Add a body that hangs on a link to the inertia and the forces of its robot."""
    frames, L, m, R, w = s.frames, s.frames.jacobian[f], world.mass[f], s.frames.axes[f], s.frames.spin[f]
    a, inertia, momentum, torque, nv = frames.bias[f], s.scratch, s.local[1], s.local[2], world.nv[world.robot[f]]
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
def _eliminate(H: Any, c: Any, nh: int, nv: int, order: Any) -> int:
    """Solve H v = c for as many velocities as H has rank; return it. ``order``: columns, the dependent ones first.

    H and c end as the rows of v_dependent = c − H v_independent, in that order of columns.
    """
    for j in range(nv):
        order[j] = j
    largest, rank = 0.0, 0
    for step in range(min(nh, nv)):
        row, column, best = step, step, 0.0
        for i in range(step, nh):
            for j in range(step, nv):
                if abs(H[i, order[j]]) > best:
                    row, column, best = i, j, abs(H[i, order[j]])
        largest = max(largest, best)
        if best <= _INDEPENDENT * largest or best == 0.0:
            break
        order[step], order[column] = order[column], order[step]
        for j in range(nv):
            H[step, j], H[row, j] = H[row, j], H[step, j]
        c[step], c[row] = c[row], c[step]
        pivot = H[step, order[step]]
        for j in range(nv):
            H[step, j] /= pivot
        c[step] /= pivot
        for i in range(nh):
            factor = H[i, order[step]]
            if i != step and factor != 0.0:
                for j in range(nv):
                    H[i, j] -= factor * H[step, j]
                c[i] -= factor * c[step]
        rank += 1
    return rank


@jit
def _note_drift(world: Any, s: Any, r: int, residual: Any, h: float) -> None:
    """Note how far a robot's constraints are off as a step begins, and the square of how far its joints move in it."""
    whole, fastest = s.extremes.table[1], 0.0
    for i in range(residual.size):
        keep(whole, WORST, DRIFT, abs(residual[i]), s.time[TIME])
    for i in range(world.nv[r]):
        fastest = max(fastest, abs(s.v[world.first_v[r] + i]))
    keep(whole, WORST, BEND, (h * fastest) ** 2, s.time[TIME])


@jit
def robot_velocities(world: Any, s: Any, h: float) -> None:
    """Write w⁻ and the inertia of every robot into its block, and reduce the Jacobians of its links to w."""
    problem, local = s.problem, s.robot_work
    D = problem.v.shape[1]
    for r in range(world.kernels.size):
        nv, nh, first_v = world.nv[r], world.nh[r], world.first_v[r]
        out = s.frames.robots[world.first_out[r] :]
        M, force, H, c, S, offset, order = local.M, local.force, local.H, local.c, s.basis[r], s.offset[r], local.order
        for i in range(nv):
            force[i] = out[nv * nv + i]
            for j in range(nv):
                M[i, j] = out[nv * i + j]
        for f in range(world.kind.size):
            if world.robot[f] == r and world.hung[f] == 1:
                _hang(world, s, f, M, force)
        at_h = nv * nv + nv
        s.tally[GRIPPED] += h * out[at_h + nh * (nv + 3) + 2]
        at_H, at_partial = at_h + nh, at_h + nh + nh * nv
        if nh > 0:
            _note_drift(world, s, r, out[at_h : at_h + nh], h)
        for i in range(nh):
            c[i] = -out[at_h + i] / h - out[at_partial + i]
            for j in range(nv):
                H[i, j] = out[at_H + i * nv + j]
        rank = _eliminate(H, c, nh, nv, order)
        k = nv - rank
        for i in range(D):
            offset[i] = 0.0
            for j in range(D):
                S[i, j] = 0.0
        for i in range(rank):
            offset[order[i]] = c[i]
            for j in range(k):
                S[order[i], j] = -H[i, order[rank + j]]
        for j in range(k):
            S[order[rank + j], j] = 1.0
        for j in range(k):  # reduced velocities are those of the independent coordinates
            s.before[r, j] = s.v[first_v + order[rank + j]]
        mass, rhs = problem.mass[r], local.rhs
        for i in range(D):
            for j in range(D):
                mass[i, j] = 1.0 if i == j and i >= k else 0.0
        for i in range(nv):
            rhs[i] = h * force[i]
            for j in range(nv):
                rhs[i] += M[i, j] * (s.v[first_v + j] - offset[j])
        for a in range(k):
            local.reduced[a] = 0.0
            for i in range(nv):
                local.reduced[a] += S[i, a] * rhs[i]
                for b in range(k):
                    for j in range(nv):
                        mass[a, b] += S[i, a] * M[i, j] * S[j, b]
        for i in range(D):
            for j in range(D):
                s.scratch[i, j] = mass[i, j]
        invert(s.scratch, problem.inverse[r], D)
        for a in range(D):
            problem.free[r, a] = 0.0
            for b in range(k):
                problem.free[r, a] += problem.inverse[r, a, b] * local.reduced[b]
        _reduce_links(world, s, r, k)


@jit
def _reduce_links(world: Any, s: Any, r: int, k: int) -> None:
    """Let the Jacobians of a robot's links act on its reduced velocities, and keep what these leave over."""
    frames, nv, S, row = s.frames, world.nv[r], s.basis[r], s.local[0]
    D = S.shape[0]
    for f in range(world.kind.size):
        if world.robot[f] != r:
            continue
        L = frames.jacobian[f]
        for i in range(6):
            frames.left[f, i] = 0.0
            for j in range(nv):
                frames.left[f, i] += L[i, j] * s.offset[r, j]
            for a in range(D):
                row[a] = 0.0
                if a < k:
                    for j in range(nv):
                        row[a] += L[i, j] * S[j, a]
            for a in range(D):
                L[i, a] = row[a]


@jit
def advance_robots(world: Any, s: Any, h: float) -> None:
    """Give every robot its velocities at the end of the step, and move it along ``travel``."""
    way = s.robot_work.rhs
    for r in range(world.kernels.size):
        nv, first_v = world.nv[r], world.first_v[r]
        for i in range(nv):
            speed = travel = s.offset[r, i]
            for j in range(nv):
                speed += s.basis[r, i, j] * s.problem.v[r, j]
                travel += s.basis[r, i, j] * s.travel[r, j]
            s.v[first_v + i], way[i] = speed, h * travel
            place = world.straight[first_v + i]
            if place >= 0:
                s.q[place] += h * travel
        for k in range(world.first_spin[r], world.first_spin[r + 1]):
            e, w = world.spins[k, 0], world.spins[k, 1] - first_v
            turn(s.q[e : e + 4], way[w], way[w + 1], way[w + 2])


@entry
def place_robots(s: Stage, h: float) -> int:
    """Write poses and velocities of all links, and, for a step of some length, w⁻ and inertia of every robot."""
    world = s.world
    ask_robots(world, s, s.time[TIME])
    set_links(world, s)
    if h > 0.0:
        robot_velocities(world, s, h)
    return 0


@entry
def robot_energies(s: Stage, h: float) -> int:
    """Write kinetic and potential energy of all robots, and of what hangs on them, as they are now."""
    world, frames, out = s.world, s.frames, s.robot_energy
    ask_robots(world, s, s.time[TIME])
    set_links(world, s)
    out[0], out[1] = 0.0, 0.0
    for r in range(world.kernels.size):
        nv, nh = world.nv[r], world.nh[r]
        first = world.first_out[r] + nv * nv + nv + nh * (nv + 3)
        out[0] += frames.robots[first]
        out[1] += frames.robots[first + 1]
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
    return 0


@entry
def move_robots(s: Stage, h: float) -> int:
    """Move every robot along its velocities at the end of the step."""
    advance_robots(s.world, s, h)
    return 0
