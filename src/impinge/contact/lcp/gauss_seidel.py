"""Nonsmooth Gauss–Seidel for many contacts with friction: M. Jean and J. J. Moreau (1992).

Bodies have velocities v, contacts k rows each: the gap, then its slips. A contact acts on at most two bodies, and
what it does to them is applied at once, v += M⁻¹Jᵀ Δp, so that a sweep costs the same for each contact, however
many there are. Friction is in the disk |p_t| ≤ μ p_n: with one slip an interval, with two a true circle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Matrix, Vector, entry, jit

_LOCAL = 20  # iterations for one contact that slides
_SETTLED = 1e-14  # change of an impulse, against its size, that ends them


class ContactGraph(NamedTuple):
    """Contacts between bodies, as `sweep` takes them: nc contacts of k rows, bodies of d degrees of freedom."""

    bodies: IntegerMatrix  # (nc, 2): the two bodies of each contact; −1 is the ground
    J: Cube  # (nc, k, 2d): rates of gap and slips per velocity of the first and of the second body
    response: Cube  # (nc, k, 2d): M⁻¹Jᵀ of the two bodies, row by row
    W: Cube  # (nc, k, k): J M⁻¹ Jᵀ
    bias: Vector  # (nc,): added to the rate of each gap
    mu: Vector  # (nc,): coefficients of friction
    v: Matrix  # (bodies, d): velocities, changed by sweeps
    impulse: Matrix  # (nc, k): what has been applied
    rate: Vector  # (k,): work space
    new: Vector  # (k,): work space
    old: Vector  # (k,): work space


@jit
def _rates(c: int, graph: Any) -> None:
    """Write the rates of the rows of a contact."""
    bodies, J, v, rate = graph.bodies, graph.J, graph.v, graph.rate
    d = v.shape[1]
    for r in range(rate.size):
        total = graph.bias[c] if r == 0 else 0.0
        for side in range(2):
            body = bodies[c, side]
            if body >= 0:
                for j in range(d):
                    total += J[c, r, side * d + j] * v[body, j]
        rate[r] = total


@jit
def _into_disk(p: Any, radius: float) -> None:
    """Shorten the impulses along slips to a length."""
    square = 0.0
    for r in range(1, p.size):
        square += p[r] * p[r]
    if square > radius * radius:
        factor = radius / np.sqrt(square)
        for r in range(1, p.size):
            p[r] *= factor


@jit
def _solve_contact(c: int, graph: Any) -> None:
    """Find the impulse of one contact, all others given: ``rate`` is what they leave, ``new`` starts as a guess."""
    W, rate, p, before = graph.W, graph.rate, graph.new, graph.old
    k, mu = rate.size, graph.mu[c]
    stiffness = 0.0  # of the tangent plane, from above
    for r in range(1, k):
        stiffness += W[c, r, r]
    for _ in range(_LOCAL):
        change, size = 0.0, 0.0
        for r in range(k):
            before[r] = p[r]
        push = -rate[0]
        for r in range(1, k):
            push -= W[c, 0, r] * p[r]
        p[0] = max(0.0, push / W[c, 0, 0])
        if stiffness > 0.0:
            for r in range(1, k):
                slide = rate[r]
                for s in range(k):
                    slide += W[c, r, s] * (p[s] if s == 0 else before[s])
                p[r] = before[r] - slide / stiffness
            _into_disk(p, mu * p[0])
        for r in range(k):
            change = max(change, abs(p[r] - before[r]))
            size = max(size, abs(p[r]))
        if change <= _SETTLED * size:
            return


@jit
def _apply(c: int, graph: Any) -> None:
    """Replace the impulse of a contact by ``new``, and change the velocities of its bodies."""
    d = graph.v.shape[1]
    for r in range(graph.new.size):
        change = graph.new[r] - graph.impulse[c, r]
        graph.impulse[c, r] = graph.new[r]
        for side in range(2):
            body = graph.bodies[c, side]
            if body >= 0:
                for j in range(d):
                    graph.v[body, j] += graph.response[c, r, side * d + j] * change


@entry
def sweep(graph: ContactGraph, count: int) -> None:
    """Solve each contact for itself, in turn and back, ``count`` times.

    Args:
        graph: packed `ContactGraph`; its velocities and impulses change.
        count: number of sweeps.
    """
    nc, k = graph.impulse.shape
    for step in range(count):
        for place in range(nc):
            c = place if step % 2 == 0 else nc - 1 - place
            if not graph.W[c, 0, 0] > 0.0:  # nothing moves it
                continue
            _rates(c, graph)
            for r in range(k):
                graph.new[r] = graph.impulse[c, r]
            for r in range(k):
                for s in range(k):
                    graph.rate[r] -= graph.W[c, r, s] * graph.impulse[c, s]
            _solve_contact(c, graph)
            _apply(c, graph)


@entry
def misses(graph: ContactGraph, miss: Vector) -> float:
    """Write how far each contact is from its laws, as a rate, and return the largest.

    That is |min(u_n, W_nn p_n)| for the gap; for the slips W_tt times the distance of p_t to the projection of
    p_t − u_t/W_tt into the disk.
    """
    nc, k = graph.impulse.shape
    worst = 0.0
    for c in range(nc):
        _rates(c, graph)
        p, new, rate, stiffness = graph.impulse, graph.new, graph.rate, 0.0
        for r in range(1, k):
            stiffness += graph.W[c, r, r]
        miss[c] = abs(min(rate[0], graph.W[c, 0, 0] * p[c, 0]))
        if stiffness > 0.0:
            for r in range(1, k):
                new[r] = p[c, r] - rate[r] / stiffness
            _into_disk(new, graph.mu[c] * p[c, 0])
            for r in range(1, k):
                miss[c] = max(miss[c], stiffness * abs(new[r] - p[c, r]))
        worst = max(worst, miss[c])
    return worst


@entry
def projected_sweeps(A: Matrix, b: Vector, z: Vector, count: int) -> None:
    """Improve z ≥ 0 towards 0 ≤ z ⊥ A z + b ≥ 0, one unknown at a time, ``count`` times there and back.

    For symmetric positive semi-definite A with a positive diagonal.
    """
    n = b.size
    for step in range(2 * count):
        for place in range(n):
            i = place if step % 2 == 0 else n - 1 - place
            w = b[i]
            for j in range(n):
                w += A[i, j] * z[j]
            z[i] = max(0.0, z[i] - w / A[i, i])
