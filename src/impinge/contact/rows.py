"""Forces that give closed rows the accelerations they are asked for.

With g̈ = W λ + drift, the closed rows S must reach their target accelerations while the forces of the
open rows O are known:  W_SS λ_S = target_S − drift_S − W_SO λ_O.  Redundant rows make W_SS singular;
then λ_S is the least-squares solution of smallest norm, W_SS⁺ applied to the right-hand side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit

# A pivot this small against its row's own diagonal marks a row that depends on the others.
_DEPENDENT = 1e-11


@jit
def pivoted_cholesky(A: Any, n: int, order: Any, L: Any) -> int:
    """Factor the leading n × n block of a positive semi-definite A: A[order, order] = L Lᵀ.

    Args:
        A: matrix, kept as it is.
        n: size of the block.
        order: int array of n, on return the rows in pivot order, independent ones first.
        L: n × n array, on return its first ``rank`` columns hold the factor.

    Returns:
        The rank.
    """
    for i in range(n):
        order[i] = i
    for r in range(n):
        best, pivot = _DEPENDENT, -1
        for i in range(r, n):
            row = order[i]
            rest = A[row, row]
            for s in range(r):
                rest -= L[i, s] * L[i, s]
            L[i, r] = rest
            if A[row, row] > 0.0 and rest > best * A[row, row]:
                best, pivot = rest / A[row, row], i
        if pivot < 0:
            return r
        order[r], order[pivot] = order[pivot], order[r]
        for s in range(r + 1):
            L[r, s], L[pivot, s] = L[pivot, s], L[r, s]
        L[r, r] = np.sqrt(L[r, r])
        for i in range(r + 1, n):
            rest = A[order[i], order[r]]
            for s in range(r):
                rest -= L[i, s] * L[r, s]
            L[i, r] = rest / L[r, r]
    return n


@jit
def solve_triangular_pair(L: Any, n: int, x: Any) -> None:
    """Solve L Lᵀ y = x in place for a lower triangular L of size n."""
    for i in range(n):
        for s in range(i):
            x[i] -= L[i, s] * x[s]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for s in range(i + 1, n):
            x[i] -= L[s, i] * x[s]
        x[i] /= L[i, i]


@jit
def minimum_norm(A: Any, n: int, b: Any, x: Any, order: Any, L: Any, N: Any) -> int:
    """Solve A x = b for a positive semi-definite n × n A; least squares and minimum norm if it is singular.

    With A = L Lᵀ of rank r, A⁺ = L (LᵀL)⁻² Lᵀ. ``order``, ``L`` and ``N`` are work space. Returns the rank.
    """
    rank = pivoted_cholesky(A, n, order, L)
    if rank == n:
        for i in range(n):
            N[0, i] = b[order[i]]
        solve_triangular_pair(L, n, N[0])
        for i in range(n):
            x[order[i]] = N[0, i]
        return rank
    for i in range(n):
        x[i] = 0.0
    if rank == 0:
        return rank
    for r in range(rank):  # N = LᵀL, factored in place; x's first entries hold Lᵀb
        for s in range(r + 1):
            total = 0.0
            for i in range(n):
                total += L[i, r] * L[i, s]
            for k in range(s):
                total -= N[r, k] * N[s, k]
            N[r, s] = np.sqrt(total) if s == r else total / N[s, s]
        for i in range(n):
            x[r] += L[i, r] * b[order[i]]
    solve_triangular_pair(N, rank, x)
    solve_triangular_pair(N, rank, x)
    for r in range(rank):
        N[r, n - 1] = x[r]  # the last column is free: rank < n
    for i in range(n):
        total = 0.0
        for r in range(rank):
            total += L[i, r] * N[r, n - 1]
        x[order[i]] = total
    return rank


@jit
def row_forces(W: Any, drift: Any, closed: Any, value: Any, force: Any, work: Any) -> None:
    """Fill ``force`` for all rows.

    Args:
        W: Delassus matrix, flat, m × m.
        drift: accelerations of the rows without any force, m.
        closed: 1 where ``value`` is the acceleration to reach, 0 where it is the force itself, m.
        value: see ``closed``, m.
        force: result, m.
        work: work space from `row_workspace`.
    """
    indices, A, b, x = work.indices, work.A, work.b, work.x
    m = drift.size
    n = 0
    for i in range(m):
        force[i] = 0.0 if closed[i] else value[i]
        if closed[i]:
            indices[n] = i
            n += 1
    if n == 0:
        return
    for k in range(n):
        i = indices[k]
        b[k] = value[i] - drift[i]
        for j in range(m):
            if force[j] != 0.0:
                b[k] -= W[i * m + j] * force[j]
    if n == 1:
        i = indices[0]
        force[i] = b[0] / W[i * m + i] if W[i * m + i] > 0.0 else 0.0
        return
    for k in range(n):
        for s in range(n):
            A[k, s] = W[indices[k] * m + indices[s]]
    minimum_norm(A, n, b, x, work.order, work.L, work.N)
    for k in range(n):
        force[indices[k]] = x[k]


class RowWorkspace(NamedTuple):
    """Arrays that `row_forces` writes to."""

    indices: Integers
    order: Integers
    A: Matrix
    L: Matrix
    N: Matrix
    b: Vector
    x: Vector


def row_workspace(m: int) -> RowWorkspace:
    """Allocate the work space of `row_forces` for m rows, once per run."""
    return RowWorkspace(
        indices=np.zeros(m, dtype=np.int64),
        order=np.zeros(m, dtype=np.int64),
        A=np.zeros((m, m)),
        L=np.zeros((m, m)),
        N=np.zeros((m, m)),
        b=np.zeros(m),
        x=np.zeros(m),
    )
