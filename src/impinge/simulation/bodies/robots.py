"""Robots in a scene: a block of degrees of freedom each, with its constraints eliminated.

Gauss's elimination of H v = c, with pivoting over the whole matrix, splits the velocities into independent ones w and
dependent ones: v = S w + v_c. Redundant constraints fall out there. Contacts act on w with the inertia SᵀMS, and

    SᵀMS w⁻ = Sᵀ(M (v − v_c) + h F),        c = −h(q)/step − ∂h/∂t,

so that what a constraint has drifted is taken back in every step. Bodies that hang on a link add to M and F by the
Jacobian of their center of mass.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.contact.inverse import invert
from impinge.geometry.rotation import turn
from impinge.simulation.bodies.stage import GRIPPED, TIME, Stage
from impinge.simulation.results.extremes import BEND, DRIFT, WORST, keep
from impinge.simulation.system.linkage import ask_robots, hang, hung_energies, robot_places, set_links

_INDEPENDENT = 1e-9  # smallest pivot of a constraint that counts, against the largest


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
        at_force, at_h, at_H, at_partial, _, energies, _ = robot_places(world, r)
        for i in range(nv):
            force[i] = out[at_force + i]
            for j in range(nv):
                M[i, j] = out[nv * i + j]
        for f in range(world.kind.size):
            if world.robot[f] == r and world.hung[f] == 1:
                hang(world, s.frames, f, s.local[1:], s.scratch, M, force)
        s.tally[GRIPPED] += h * (out[energies + 2] - out[energies + 3])
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
    ask_robots(world, s.q, s.v, s.u, s.time[TIME], s.frames.robots)
    set_links(world, s.frames, s.v, s.local[0], s.scratch)
    if h > 0.0:
        robot_velocities(world, s, h)
    return 0


@entry
def robot_energies(s: Stage, h: float) -> int:
    """Write kinetic and potential energy of all robots, and of what hangs on them, as they are now."""
    world, frames, out = s.world, s.frames, s.robot_energy
    ask_robots(world, s.q, s.v, s.u, s.time[TIME], s.frames.robots)
    set_links(world, s.frames, s.v, s.local[0], s.scratch)
    out[0], out[1] = 0.0, 0.0
    for r in range(world.kernels.size):
        first = world.first_out[r] + robot_places(world, r)[5]
        out[0] += frames.robots[first]
        out[1] += frames.robots[first + 1]
    hung_energies(world, frames, out)
    return 0


@entry
def move_robots(s: Stage, h: float) -> int:
    """Move every robot along its velocities at the end of the step."""
    advance_robots(s.world, s, h)
    return 0
