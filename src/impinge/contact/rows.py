"""Forces that give closed rows the accelerations they are asked for.

With g̈ = W λ + drift, the closed rows S must reach their target accelerations while the forces of the
open rows O are known:  W_SS λ_S = target_S − drift_S − W_SO λ_O.  Redundant rows make W_SS singular;
then λ_S is the least-squares solution of smallest norm, W_SS⁺ applied to the right-hand side, or the one nearest to
forces that are given in ``near``. A contact that slides
has friction f = c λ on the rows D of its slips, which adds W_SD c to the columns of its normal force.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, entry, jit
from impinge.contact.law import ACCELERATION, DRAG, FORCE

# A pivot this small against its row's own diagonal marks a row that depends on the others.
_DEPENDENT = 1e-11
# So few rows are first solved in their own order, if every pivot is this large: then none depends on the others, and
# rounding cannot make it seem so. More rows are solved with an eye on zeros.
_SMALL, INDEPENDENT = 12, 1e-3


@entry
def pivoted_cholesky(A: Matrix, n: int, work: RowWorkspace) -> int:
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
def _orthogonalize(L: Any, n: int, rank: int, Q: Any, R: Any) -> None:
    """Factor the first columns of L into Q R by Gram–Schmidt; twice, which is enough for any scaling."""
    for j in range(rank):
        for i in range(n):
            Q[i, j] = L[i, j]
        for i in range(j):
            R[i, j] = 0.0
        for _ in range(2):
            for k in range(j):
                along = 0.0
                for i in range(n):
                    along += Q[i, k] * Q[i, j]
                R[k, j] += along
                for i in range(n):
                    Q[i, j] -= along * Q[i, k]
        length = 0.0
        for i in range(n):
            length += Q[i, j] * Q[i, j]
        R[j, j] = np.sqrt(length)
        for i in range(n):
            Q[i, j] /= R[j, j]


@jit
def _solve_small(A: Any, n: int, b: Any, x: Any, work: Any) -> bool:
    """Solve A x = b by A = UᵀD⁻¹U without pivoting; return False if a row may depend on those before it."""
    U, inverse = work.Q, work.y
    for k in range(n):
        x[k] = b[k]
        for j in range(k, n):
            U[k, j] = A[k, j]
    for k in range(n):
        if not U[k, k] > INDEPENDENT * A[k, k]:
            return False
        inverse[k] = 1.0 / U[k, k]
        for i in range(k + 1, n):
            factor = U[k, i] * inverse[k]
            x[i] -= factor * x[k]
            for j in range(i, n):
                U[i, j] -= factor * U[k, j]
    for k in range(n - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, n):
            total -= U[k, j] * x[j]
        x[k] = total * inverse[k]
    return True


@jit
def _project(Q: Any, R: Any, n: int, rank: int, b: Any, order: Any, y: Any) -> None:
    """Write y = R⁻¹ Qᵀ b, with b in an order: the least-squares solution of QR y = b."""
    for j in range(rank - 1, -1, -1):
        y[j] = 0.0
        for i in range(n):
            y[j] += Q[i, j] * b[order[i]]
        for k in range(j + 1, rank):
            y[j] -= R[j, k] * y[k]
        y[j] /= R[j, j]


@jit
def _spread(Q: Any, R: Any, n: int, rank: int, y: Any, order: Any, x: Any) -> None:
    """Write x = Q R⁻ᵀ y, in an order: the smallest x with RᵀQᵀ x = y. Overwrites y."""
    for j in range(rank):
        for k in range(j):
            y[j] -= R[k, j] * y[k]
        y[j] /= R[j, j]
    for i in range(n):
        total = 0.0
        for j in range(rank):
            total += Q[i, j] * y[j]
        x[order[i]] = total


@jit
def minimum_norm(A: Any, n: int, b: Any, x: Any, work: Any) -> int:
    """Solve A x = b for a positive semi-definite n × n A; least squares and minimum norm if it is singular.

    Otherwise A = L Lᵀ with pivoting. If L has n columns it is solved with; else L = Q R and A⁺ = Q R⁻ᵀ R⁻¹ Qᵀ.
    ``work`` is from `row_workspace`. Returns the rank.
    """
    if n <= _SMALL and _solve_small(A, n, b, x, work):
        return n
    order, L, Q, R, y = work.order, work.L, work.Q, work.R, work.y
    rank = pivoted_cholesky(A, n, work)
    if rank == n:
        for i in range(n):
            y[i] = b[order[i]]
            for s in range(i):
                y[i] -= L[i, s] * y[s]
            y[i] /= L[i, i]
        for i in range(n - 1, -1, -1):
            for s in range(i + 1, n):
                y[i] -= L[s, i] * y[s]
            y[i] /= L[i, i]
            x[order[i]] = y[i]
        return rank
    _orthogonalize(L, n, rank, Q, R)
    _project(Q, R, n, rank, b, order, y)
    _spread(Q, R, n, rank, y, order, x)
    return rank


@jit
def _eliminate(n: int, work: Any) -> int:
    """Factor the leading n × n block of ``work.A`` in place by Gauss with complete pivoting; return its rank.

    With rows in ``order`` and columns in ``places``, A = L U: L (n × rank) has a unit diagonal and stands below
    the diagonal, U (rank × n) on and above it. Entries count in units of their row and column, ``work.rest``.
    """
    A, order, places, scale = work.A, work.order, work.places, work.rest
    for i in range(n):
        order[i], places[i] = i, i
    largest = 0.0
    for r in range(n):
        best, row, column = 0.0, r, r
        for i in range(r, n):
            for j in range(r, n):
                size = abs(A[i, j]) * scale[order[i]] * scale[places[j]]
                if size > best:
                    best, row, column = size, i, j
        largest = max(largest, best)
        if not best > _DEPENDENT * largest:
            return r
        order[r], order[row] = order[row], order[r]
        places[r], places[column] = places[column], places[r]
        for j in range(n):
            A[r, j], A[row, j] = A[row, j], A[r, j]
        for i in range(n):
            A[i, r], A[i, column] = A[i, column], A[i, r]
        for i in range(r + 1, n):
            A[i, r] /= A[r, r]
            if A[i, r] != 0.0:
                for j in range(r + 1, n):
                    A[i, j] -= A[i, r] * A[r, j]
    return n


@jit
def _solve_general(n: int, work: Any) -> None:
    """Solve A x = b for ``work.A``, which friction has made unsymmetric; least squares, minimum norm if singular.

    A = L U = Q₁ R₁ R₂ᵀ Q₂ᵀ with L = Q₁R₁ and Uᵀ = Q₂R₂, so that A⁺ = Q₂ R₂⁻ᵀ R₁⁻¹ Q₁ᵀ.
    """
    A, b, x, y, order, places = work.A, work.b, work.x, work.y, work.order, work.places
    rank = _eliminate(n, work)
    if rank == n:
        for i in range(n):
            y[i] = b[order[i]]
            for s in range(i):
                y[i] -= A[i, s] * y[s]
        for i in range(n - 1, -1, -1):
            for s in range(i + 1, n):
                y[i] -= A[i, s] * y[s]
            y[i] /= A[i, i]
            x[places[i]] = y[i]
        return
    L, Q, R = work.L, work.Q, work.R
    for i in range(n):
        for j in range(rank):
            L[i, j] = A[i, j] if j < i else (1.0 if i == j else 0.0)
    _orthogonalize(L, n, rank, Q, R)
    _project(Q, R, n, rank, b, order, y)
    for i in range(n):
        for j in range(rank):
            L[i, j] = A[j, i] if i >= j else 0.0
    _orthogonalize(L, n, rank, Q, R)
    _spread(Q, R, n, rank, y, places, x)


@jit
def row_forces(W: Any, drift: Any, kinds: Any, value: Any, normal: Any, force: Any, work: Any) -> None:
    """Fill ``force`` for all rows.

    Args:
        W: Delassus matrix, m × m.
        drift: accelerations of the rows without any force, m.
        kinds: what ``value`` is, m: ACCELERATION to reach, the FORCE itself, or DRAG, the force as a multiple of
            another row's.
        value: see ``kinds``, m.
        normal: for each row that may be dragged, the row whose force drags it, m.
        force: result, m.
        work: work space from `row_workspace`.
    """
    indices, A, b, x = work.indices, work.A, work.b, work.x
    m = drift.size
    n: Any = np.int64(0)  # for a literal 0, numba would compile what is called below twice
    slides = False
    for i in range(m):
        if kinds[i] == FORCE:
            force[i] = value[i]
            continue
        force[i] = 0.0
        if kinds[i] == ACCELERATION:
            indices[n] = i
            n += 1
        elif kinds[normal[i]] == FORCE:
            force[i] = value[i] * value[normal[i]]
        else:
            slides = True
    if n == 0:
        return
    for k in range(n):
        i = indices[k]
        b[k] = value[i] - drift[i]
        for j in range(m):
            if force[j] != 0.0:
                b[k] -= W[i, j] * force[j]
    if n == 1 and not slides:
        i = indices[0]
        force[i] = b[0] / W[i, i] if W[i, i] > 0.0 else 0.0
        return
    for k in range(n):
        for s in range(n):
            A[k, s] = W[indices[k], indices[s]]
    if slides:
        for k in range(n):
            work.rest[k] = 1.0 / np.sqrt(A[k, k]) if A[k, k] > 0.0 else 0.0
        for j in range(m):
            if kinds[j] == DRAG and kinds[normal[j]] == ACCELERATION:
                s = 0
                while indices[s] != normal[j]:
                    s += 1
                for k in range(n):
                    A[k, s] += W[indices[k], j] * value[j]
    for k in range(n):
        for s in range(n):
            if work.near[indices[s]] != 0.0:
                b[k] -= A[k, s] * work.near[indices[s]]
    if slides:
        _solve_general(n, work)
    else:
        minimum_norm(A, n, b, x, work)
    for k in range(n):
        force[indices[k]] = work.near[indices[k]] + x[k]
    if slides:
        for j in range(m):
            if kinds[j] == DRAG:
                force[j] = value[j] * force[normal[j]]


class RowWorkspace(NamedTuple):
    """Arrays that `row_forces` writes to, and forces that it is to be near to."""

    indices: Integers
    order: Integers
    places: Integers
    A: Matrix
    L: Matrix
    Q: Matrix
    R: Matrix
    rest: Vector
    b: Vector
    x: Vector
    y: Vector
    near: Vector  # given: of redundant rows, forces are those nearest to these; usually zero


def row_workspace(m: int) -> RowWorkspace:
    """Allocate the work space of `row_forces` for m rows, once per run."""
    return RowWorkspace(
        indices=np.zeros(m, dtype=np.int64),
        order=np.zeros(m, dtype=np.int64),
        places=np.zeros(m, dtype=np.int64),
        A=np.zeros((m, m)),
        L=np.zeros((m, m)),
        Q=np.zeros((m, m)),
        R=np.zeros((m, m)),
        rest=np.zeros(m),
        b=np.zeros(m),
        x=np.zeros(m),
        y=np.zeros(m),
        near=np.zeros(m),
    )
