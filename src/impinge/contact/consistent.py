"""Contact problems whose rows depend on each other, made consistent to the last digit.

Rows that move together, such as four contacts of a body that moves in a plane, give a singular W = A M⁻¹Aᵀ, and rates
A v in its range. Rounding moves both by a little, and then impulses that should not matter decide whether there is a
solution. W = G Gᵀ by a Cholesky factorization with pivoting, which ends where only rounding is left; then G Gᵀ is
taken for W, and rates in the range of G for those that are as good as in it. That is itself no better than the largest
rate times the rounding that G enlarges: it is for problems that have no solution otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit

# A pivot this small against the row's entry before constraints were eliminated is rounding.
_DEPENDENT = 1e-13
# Entries that differ from their mirror image by this share of the diagonal make W unsymmetric: another problem.
_SKEW = 1e-12


@jit
def _symmetric(W: Any, unit: Any, n: int) -> bool:
    for i in range(n):
        for j in range(i):
            difference = W[i, j] - W[j, i]
            if difference * difference > _SKEW * _SKEW * unit[i] * unit[j]:
                return False
    return True


@jit
def _factor(W: Any, unit: Any, n: int, G: Any, order: Any, rest: Any) -> int:
    """Factor W[order, order] = G Gᵀ; return the rank. Row k of G belongs to row order[k] of W."""
    for i in range(n):
        order[i], rest[i] = i, W[i, i]
    for r in range(n):
        best, pivot = _DEPENDENT, -1
        for k in range(r, n):
            size = unit[order[k]]
            if size > 0.0 and rest[k] > best * size:
                best, pivot = rest[k] / size, k
        if pivot < 0:
            return r
        order[r], order[pivot] = order[pivot], order[r]
        rest[r], rest[pivot] = rest[pivot], rest[r]
        for s in range(r):
            G[r, s], G[pivot, s] = G[pivot, s], G[r, s]
        G[r, r] = np.sqrt(rest[r])
        for k in range(r + 1, n):
            entry = W[order[k], order[r]]
            for s in range(r):
                entry -= G[k, s] * G[r, s]
            G[k, r] = entry / G[r, r]
            rest[k] -= G[k, r] * G[k, r]
    return n


@jit
def make_consistent(W: Any, rate: Any, unit: Any, n: int, alike: float, work: Any) -> None:
    """Replace W and the rates of its n rows by ones near them that are consistent, if rows depend on each other.

    Args:
        W: Delassus matrix (leading block); left as it is if it is not symmetric, or has full rank.
        rate: of each row; one that is not in the range of W is left as it is, such as that of a surface that moves.
        unit: the diagonal of W before constraints were eliminated.
        n: number of rows.
        alike: how far a rate may be from the range of W, in units of the root of W's diagonal.
        work: has room for n × n numbers in ``factor``, and for n in ``order`` and ``rest``.
    """
    G, order, rest = work.factor, work.order, work.rest
    if not _symmetric(W, unit, n):
        return
    rank = _factor(W, unit, n, G, order, rest)
    if rank == n:
        return
    for k in range(rank):  # rest becomes the motion that the independent rows have
        total = rate[order[k]]
        for s in range(k):
            total -= G[k, s] * rest[s]
        rest[k] = total / G[k, k]
    for k in range(rank, n):
        i, same = order[k], 0.0
        for s in range(rank):
            same += G[k, s] * rest[s]
        if abs(same - rate[i]) <= alike * np.sqrt(unit[i]):
            rate[i] = same
    for k in range(n):
        for j in range(k + 1):
            total = 0.0
            for s in range(min(j + 1, rank)):
                total += G[k, s] * G[j, s]
            W[order[k], order[j]] = W[order[j], order[k]] = total
