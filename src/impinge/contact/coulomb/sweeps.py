"""Rates, misses and sweeps: nonsmooth Gauss–Seidel over contacts (M. Jean and J. J. Moreau, 1992)."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import add_rows, entry, inlined, jit, times_rows, write_rows_times
from impinge.contact.coulomb.one import solve_one
from impinge.contact.coulomb.problem import Problem, Work, left

_SINGULAR = 1e-13  # added to W, against its trace, before it is inverted


@jit
def _invert(W: Any, out: Any) -> None:
    """Write the inverse of W + ε, which is as good as that of W in a step that is repeated."""
    e = _SINGULAR * (W[0, 0] + W[1, 1] + W[2, 2])
    a, b, c, d, f, g = W[0, 0] + e, W[0, 1], W[0, 2], W[1, 1] + e, W[1, 2], W[2, 2] + e
    A, B, C = d * g - f * f, c * f - b * g, b * f - c * d
    k = 1.0 / (a * A + b * B + c * C)
    out[0, 0], out[1, 1], out[2, 2] = A * k, (a * g - c * c) * k, (a * d - b * b) * k
    out[0, 1] = out[1, 0] = B * k
    out[0, 2] = out[2, 0] = C * k
    out[1, 2] = out[2, 1] = (b * c - a * f) * k


@jit
def _fix(c: int, problem: Any, work: Any) -> None:
    """Take a contact out of the problem whose gap no impulse changes."""
    work.stiffness[c] = problem.miss[c] = 0.0
    for r in range(3):
        problem.impulse[c, r] = 0.0
        for s in range(3):
            problem.W[c, r, s] = 0.0


@jit
def _respond(c: int, problem: Any, D: int) -> None:
    """Write M⁻¹Jᵀ and W of a contact of blocks of any size."""
    J, response, W = problem.J[c], problem.response[c], problem.W[c]
    for side in range(2):
        b, at = problem.body[c, side], side * D
        for r in range(3):
            for i in range(D):
                total = 0.0
                if b >= 0:
                    for j in range(D):
                        total += problem.inverse[b, i, j] * J[r, at + j]
                response[r, at + i] = total
    for r in range(3):
        for s in range(r + 1):
            total = 0.0
            for j in range(2 * D):
                total += J[r, j] * response[s, j]
            W[r, s] = W[s, r] = total


@jit
def _respond_six(c: int, problem: Any) -> None:
    """Write M⁻¹Jᵀ and W of a contact of blocks of six; what does not move has a row of J that is zero."""
    J, response, W = problem.J[c], problem.response[c], problem.W[c]
    for side in range(2):
        write_rows_times(J, 6 * side, problem.inverse[max(problem.body[c, side], 0)], response)
    for r in range(3):
        W[0, r], W[1, r], W[2, r] = times_rows(J, response[r, :6], response[r, 6:])
    W[0, 1], W[0, 2], W[1, 2] = W[1, 0], W[2, 0], W[2, 1]


@jit
def prepare(problem: Any, work: Any) -> None:
    """Compute M⁻¹Jᵀ and W of all contacts; a contact of a block with itself becomes one of a single block."""
    J, W, D = problem.J, problem.W, problem.v.shape[1]
    for c in range(problem.count[0]):
        if problem.body[c, 0] < 0 and problem.body[c, 1] < 0:
            _fix(c, problem, work)
            continue
        if problem.body[c, 0] == problem.body[c, 1]:
            problem.body[c, 1] = -1
            for r in range(3):
                for j in range(D):
                    J[c, r, j] += J[c, r, D + j]
        for side in range(2):
            if problem.body[c, side] < 0:
                for r in range(3):
                    for j in range(D):
                        J[c, r, side * D + j] = 0.0
        if D == 6:
            _respond_six(c, problem)
        else:
            _respond(c, problem, D)
        for r in range(3):
            work.root[c, r] = np.sqrt(W[c, r, r])
        trace = W[c, 0, 0] + W[c, 1, 1] + W[c, 2, 2]
        moves = W[c, 0, 0] > _SINGULAR * trace
        work.stiffness[c] = 3.0 / trace if moves else 0.0
        if moves:
            _invert(W[c], work.stick[c])
        else:
            _fix(c, problem, work)


@inlined
def blocks_of(c: int, problem: Any) -> tuple[int, int]:
    """Return the two blocks of a contact; in place of one that does not move the other, for which its rows are zero."""
    a, b = problem.body[c, 0], problem.body[c, 1]
    return max(a if a >= 0 else b, 0), max(b if b >= 0 else a, 0)


@inlined
def _motion(c: int, problem: Any, v: Any, D: int) -> tuple[float, float, float]:
    J = problem.J[c]
    u0, u1, u2 = 0.0, 0.0, 0.0
    for side in range(2):
        b, at = problem.body[c, side], side * D
        if b >= 0:
            for j in range(D):
                w = v[b, j]
                u0 += J[0, at + j] * w
                u1 += J[1, at + j] * w
                u2 += J[2, at + j] * w
    return u0, u1, u2


@inlined
def motion(c: int, problem: Any, v: Any) -> tuple[float, float, float]:
    """Return what velocities of the blocks give to the rates of a contact."""
    if v.shape[1] == 6:
        a, b = blocks_of(c, problem)
        return times_rows(problem.J[c], v[a], v[b])
    return _motion(c, problem, v, v.shape[1])


@jit
def rates(c: int, problem: Any, v: Any) -> tuple[float, float, float]:
    """Return the rates of a contact."""
    u0, u1, u2 = motion(c, problem, v)
    return u0 + problem.bias[c, 0], u1 + problem.bias[c, 1], u2 + problem.bias[c, 2]


@inlined
def push(c: int, problem: Any, rows: Any, p0: float, p1: float, p2: float, v: Any) -> None:
    """Add rows of a contact, M⁻¹Jᵀ or Jᵀ, times numbers to what there is of each of its blocks."""
    D = v.shape[1]
    if D == 6:
        a, b = blocks_of(c, problem)
        add_rows(rows[c], p0, p1, p2, v[a], v[b])
        return
    for side in range(2):
        b, at = problem.body[c, side], side * D
        if b >= 0:
            for j in range(D):
                v[b, j] += rows[c, 0, at + j] * p0 + rows[c, 1, at + j] * p1 + rows[c, 2, at + j] * p2


@inlined
def _push_bodies(c: int, problem: Any, p0: float, p1: float, p2: float) -> None:
    """Change the velocities of the blocks of a contact by an impulse."""
    push(c, problem, problem.response, p0, p1, p2, problem.v)


@jit
def _apply_all(problem: Any, work: Any, i: int) -> None:
    """Compute the velocities of an island from its impulses afresh."""
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(problem.v.shape[1]):
            problem.v[b, j] = problem.free[b, j]
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        _push_bodies(c, problem, problem.impulse[c, 0], problem.impulse[c, 1], problem.impulse[c, 2])


@jit
def _miss_of(c: int, problem: Any) -> float:
    """Return how far a contact is from its law, as a rate.

    That is |min(u_n, W_nn p_n)| for the gap, and for the slips W_tt times the distance of p_t to p_t − u_t/W_tt
    shortened to μ p_n.
    """
    W, p = problem.W[c], problem.impulse[c]
    u0, u1, u2 = rates(c, problem, problem.v)
    miss = abs(min(u0, W[0, 0] * p[0]))
    stiffness = W[1, 1] + W[2, 2]
    if stiffness > 0.0:
        z1, z2, radius = p[1] - u1 / stiffness, p[2] - u2 / stiffness, problem.mu[c] * max(p[0], 0.0)
        r = np.sqrt(z1 * z1 + z2 * z2)
        factor = radius / r if r > radius else 1.0
        miss = max(miss, stiffness * np.sqrt((z1 * factor - p[1]) ** 2 + (z2 * factor - p[2]) ** 2))
    return miss


@entry
def misses(problem: Problem, work: Work, i: int) -> int:
    """Compute the velocities of an island from its impulses, and write its misses and the largest of them."""
    _apply_all(problem, work, i)
    worst = 0.0
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        problem.miss[c] = _miss_of(c, problem) if work.stiffness[c] > 0.0 else 0.0
        if not problem.miss[c] <= worst:  # NaN too
            worst = problem.miss[c]
    work.residual[2] = worst
    return 0


@entry
def sweep(problem: Problem, work: Work, i: int, times: int) -> int:
    """Solve each contact of an island for itself, in turn and back, a number of times, if as many sweeps are left."""
    first, end, impulse = work.contacts[i], work.contacts[i + 1], problem.impulse
    times = min(times, max(left(work), 0))
    for turn in range(times):
        for k in range(first, end):
            c = work.who[k if turn % 2 == 0 else first + end - 1 - k]
            if work.stiffness[c] == 0.0:
                continue
            u0, u1, u2 = rates(c, problem, problem.v)
            o0, o1, o2 = impulse[c, 0], impulse[c, 1], impulse[c, 2]
            if o0 == 0.0 and u0 >= 0.0:
                continue
            p0, p1, p2 = solve_one(problem.W[c], work.stick[c], problem.mu[c], o0, o1, o2, u0, u1, u2)
            impulse[c, 0], impulse[c, 1], impulse[c, 2] = p0, p1, p2
            _push_bodies(c, problem, p0 - o0, p1 - o1, p2 - o2)
    work.counts[0] += times
    return 0
