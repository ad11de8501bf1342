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
def pivoted_cholesky(A: Any, n: int, work: Any) -> int:
    """Factor the leading n × n block of a positive semi-definite A: A[order, order] = L Lᵀ.

    Zeros cost nothing: contacts that do not act on each other are solved in O(n²).

    Args:
        A: matrix, kept as it is.
        n: size of the block.
        work: on return ``order`` holds the rows in pivot order, independent ones first, and the first
            ``rank`` columns of ``L`` the factor.

    Returns:
        The rank.
    """
    order, L, rest, places = work.order, work.L, work.rest, work.places
    for i in range(n):
        order[i] = i
        rest[i] = A[i, i]
    for r in range(n):
        best, pivot = _DEPENDENT, -1
        for i in range(r, n):
            whole = A[order[i], order[i]]
            if whole > 0.0 and rest[i] > best * whole:
                best, pivot = rest[i] / whole, i
        if pivot < 0:
            return r
        order[r], order[pivot] = order[pivot], order[r]
        rest[r], rest[pivot] = rest[pivot], rest[r]
        count = 0
        for s in range(r):
            L[r, s], L[pivot, s] = L[pivot, s], L[r, s]
            if L[r, s] != 0.0:
                places[count] = s
                count += 1
        L[r, r] = np.sqrt(rest[r])
        for i in range(r + 1, n):
            entry = A[order[i], order[r]]
            for k in range(count):
                entry -= L[i, places[k]] * L[r, places[k]]
            L[i, r] = entry / L[r, r]
            rest[i] -= L[i, r] * L[i, r]
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
def minimum_norm(A: Any, n: int, b: Any, x: Any, work: Any) -> int:
    """Solve A x = b for a positive semi-definite n × n A; least squares and minimum norm if it is singular.

    With A = L Lᵀ of rank r, A⁺ = L (LᵀL)⁻² Lᵀ. ``work`` is from `row_workspace`. Returns the rank.
    """
    order, L, N = work.order, work.L, work.N
    rank = pivoted_cholesky(A, n, work)
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
    minimum_norm(A, n, b, x, work)
    for k in range(n):
        force[indices[k]] = x[k]


class RowWorkspace(NamedTuple):
    """Arrays that `row_forces` writes to."""

    indices: Integers
    order: Integers
    places: Integers
    A: Matrix
    L: Matrix
    N: Matrix
    rest: Vector
    b: Vector
    x: Vector


def row_workspace(m: int) -> RowWorkspace:
    """Allocate the work space of `row_forces` for m rows, once per run."""
    return RowWorkspace(
        indices=np.zeros(m, dtype=np.int64),
        order=np.zeros(m, dtype=np.int64),
        places=np.zeros(m, dtype=np.int64),
        A=np.zeros((m, m)),
        L=np.zeros((m, m)),
        N=np.zeros((m, m)),
        rest=np.zeros(m),
        b=np.zeros(m),
        x=np.zeros(m),
    )
