"""Contact impulses with Coulomb friction: the problem of D. E. Stewart and J. C. Trinkle (1996).

The rows' rates are W p + rate. The unknowns are the normal impulses p_n, the impulses p_f along the directions D
of each contact, and the sliding speeds s:

    0 ≤ p_n ⊥ W_nn p_n + W_nt D p_f + rate_n ≥ 0
    0 ≤ p_f ⊥ Dᵀ(W_tn p_n + W_tt D p_f + rate_t) + E s ≥ 0
    0 ≤ s   ⊥ U p_n − Eᵀ p_f ≥ 0

One slip has the directions ±1, which is exact; two slips have a polygon of directions in place of the disk. The basis
that solved the last problem in the same work space is tried first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit
from impinge.contact.lcp.again import keep_basis, refine, same_basis
from impinge.contact.lcp.lemke import SOLVED, LemkeWorkspace, lemke, lemke_workspace


class ConeWorkspace(NamedTuple):
    """Arrays of `contact_impulses`."""

    A: Matrix
    b: Vector
    z: Vector
    D: Matrix  # directions: one row per friction unknown, its weights of the contact's first and second slip
    owner: Integers  # contact of each friction unknown
    speed: Integers  # contacts with friction, in the order of their sliding speeds
    diagonal: Vector  # of W, while `proximal` changes it
    shifted: Vector  # the free rates that it solves with
    last: Vector  # its impulses, one step after another
    next: Vector
    lemke: LemkeWorkspace


def cone_workspace(m: int, nc: int, facets: int) -> ConeWorkspace:
    """Allocate the work space of `contact_impulses`, once.

    Args:
        m: largest number of rows, gaps and slips.
        nc: largest number of contacts.
        facets: largest number of directions of a contact with two slips.
    """
    directions = max(2, facets) * nc
    size = 2 * nc + directions
    return ConeWorkspace(
        A=np.zeros((size, size)),
        b=np.zeros(size),
        z=np.zeros(size),
        D=np.zeros((directions, 2)),
        owner=np.zeros(directions, dtype=np.int64),
        speed=np.zeros(nc, dtype=np.int64),
        diagonal=np.zeros(m),
        shifted=np.zeros(m),
        last=np.zeros(m),
        next=np.zeros(m),
        lemke=lemke_workspace(size),
    )


@jit
def _directions(nc: int, mu: Any, slips: Any, facets: int, work: Any) -> tuple[int, int]:
    """List the directions of all contacts with friction; return how many there are, and how many contacts."""
    count, sliding = 0, 0
    for c in range(nc):
        slip = slips[c + 1] - slips[c]
        if slip == 0 or not mu[c] > 0.0:
            continue
        work.speed[sliding] = c
        sliding += 1
        sides = 2 if slip == 1 else facets
        for k in range(sides):
            work.owner[count] = c
            if k == 0:
                work.D[count, 0], work.D[count, 1] = 1.0, 0.0
            elif 2 * k < sides:
                angle = 2.0 * np.pi * k / sides
                work.D[count, 0], work.D[count, 1] = np.cos(angle), np.sin(angle)
            else:  # opposite, to the bit
                work.D[count, 0] = -work.D[count - sides // 2, 0]
                work.D[count, 1] = -work.D[count - sides // 2, 1]
            count += 1
    return count, sliding


@jit
def _along(W: Any, row: int, k: int, nc: int, slips: Any, work: Any) -> float:
    """Return what a unit impulse along direction k does to the rate of a row."""
    c = work.owner[k]
    first = nc + slips[c]
    rate = W[row, first] * work.D[k, 0]
    if slips[c + 1] - slips[c] == 2:
        rate += W[row, first + 1] * work.D[k, 1]
    return rate


@jit
def _assemble(W: Any, rate: Any, mu: Any, nc: int, slips: Any, count: int, sliding: int, work: Any) -> None:
    """Write A and b of the complementarity problem."""
    A, b, D = work.A, work.b, work.D
    n = nc + count + sliding
    for i in range(n):
        b[i] = 0.0
        for j in range(n):
            A[i, j] = 0.0
    for c in range(nc):
        b[c] = rate[c]
        for e in range(nc):
            A[c, e] = W[c, e]
        for k in range(count):
            A[c, nc + k] = _along(W, c, k, nc, slips, work)
    for k in range(count):
        c = work.owner[k]
        first = nc + slips[c]
        for s in range(slips[c + 1] - slips[c]):
            weight = D[k, s]
            b[nc + k] += weight * rate[first + s]
            for e in range(nc):
                A[nc + k, e] += weight * W[first + s, e]
            for i in range(count):
                A[nc + k, nc + i] += weight * _along(W, first + s, i, nc, slips, work)
    for s in range(sliding):
        c, row = work.speed[s], nc + count + s
        A[row, c] = mu[c]
        for k in range(count):
            if work.owner[k] == c:
                A[nc + k, row] = 1.0
                A[row, nc + k] = -1.0


@jit
def contact_impulses(W: Any, rate: Any, mu: Any, slips: Any, facets: int, impulse: Any, work: Any) -> int:
    """Compute the impulses of contacts that neither sink in nor pull, with Coulomb friction.

    Args:
        W: Delassus matrix A M⁻¹ Aᵀ of the rows (leading block): all gaps, then all slips.
        rate: free rates of the rows.
        mu: coefficient of friction of each contact; its length is the number of contacts nc.
        slips: the slips of contact c are the rows nc + slips[c] … nc + slips[c + 1] − 1: none, one or two.
        facets: even number, at least 4, of directions in which a contact with two slips may slide.
        impulse: receives the impulse of each row.
        work: packed work space from `cone_workspace`.

    Returns:
        The status of `lemke`; if it is not SOLVED, all impulses are zero. With friction A is copositive but no more:
        a RAY then says that no impulses were found, not that there are none.
    """
    nc = mu.size
    count, sliding = _directions(nc, mu, slips, facets, work)
    _assemble(W, rate, mu, nc, slips, count, sliding, work)
    n = nc + count + sliding
    for i in range(n):
        work.z[i] = 0.0
    status = SOLVED
    if not same_basis(work.A, work.b, n, work.z, work.lemke):
        status = lemke(work.A, work.b, n, work.z, work.lemke)
        if status == SOLVED and work.lemke.pivots[0] > 0:
            keep_basis(n, work.lemke)
            refine(work.A, work.b, n, work.z, work.lemke)
    for c in range(nc):
        impulse[c] = work.z[c]
    for s in range(slips[nc]):
        impulse[nc + s] = 0.0
    for k in range(count):
        c = work.owner[k]
        for s in range(slips[c + 1] - slips[c]):
            impulse[nc + slips[c] + s] += work.D[k, s] * work.z[nc + k]
    return status
