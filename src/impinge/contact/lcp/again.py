"""The basis of a problem: what its solution is refined with, and the first that is tried on the next problem.

From one time step to another it seldom changes.

With the unknowns S of that basis, A_SS z_S = −b_S and all other z zero. It counts only if it is a solution: z ≥ 0,
A z + b ≥ 0, and zero on S, each up to the rounding of its terms.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit

# What may be missed, against the size of the terms of a sum; of unknowns, against the largest.
_ROUNDING = 1e-13
# A miss this small is not worth a correction.
_PRECISE = 1e-15
# A pivot this small against the largest entry of its row at the start is none.
_SINGULAR = 1e-10


@jit
def keep_basis(n: int, work: Any) -> None:
    """Keep the basis of the problem just solved in ``work.kept``: its size, how many unknowns, which."""
    count = 0
    for i in range(n):
        if work.place[n + i] < 0:
            work.kept[2 + count] = i
            count += 1
    work.kept[0], work.kept[1] = n, count


@jit
def _eliminate(A: Any, b: Any, count: int, work: Any) -> bool:
    """Solve A_SS x = −b_S by elimination with partial pivoting, into ``work.x``; tell whether that was possible."""
    T, S, x = work.T, work.kept[2:], work.x
    for i in range(count):
        largest = 0.0
        for j in range(count):
            T[i, j] = A[S[i], S[j]]
            largest = max(largest, abs(T[i, j]))
        if largest == 0.0:
            return False
        inverse = 1.0 / largest
        for j in range(count):
            T[i, j] *= inverse
        T[i, count] = -b[S[i]] * inverse
    for k in range(count):
        pivot = k
        for i in range(k + 1, count):
            if abs(T[i, k]) > abs(T[pivot, k]):
                pivot = i
        if abs(T[pivot, k]) < _SINGULAR:
            return False
        if pivot != k:
            for j in range(k, count + 1):
                T[k, j], T[pivot, j] = T[pivot, j], T[k, j]
        inverse = 1.0 / T[k, k]
        for i in range(k + 1, count):
            factor = T[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, count + 1):
                    T[i, j] -= factor * T[k, j]
    for k in range(count - 1, -1, -1):
        total = T[k, count]
        for j in range(k + 1, count):
            total -= T[k, j] * x[j]
        x[k] = total / T[k, k]
    return True


@jit
def same_basis(A: Any, b: Any, n: int, z: Any, work: Any) -> bool:
    """Write the solution that belongs to the kept basis; return False, and zeros, if it is none.

    ``z`` must be zero.
    """
    if work.kept[0] != n or not _eliminate(A, b, work.kept[1], work):
        return False
    S, count, largest = work.kept[2:], work.kept[1], 0.0
    for k in range(count):
        largest = max(largest, abs(work.x[k]))
    for k in range(count):
        if not work.x[k] >= -_ROUNDING * largest:
            return False
    for k in range(count):
        z[S[k]] = max(0.0, work.x[k])
    for i in range(n):
        w, size = b[i], abs(b[i])
        for k in range(count):
            term = A[i, S[k]] * z[S[k]]
            w += term
            size += abs(term)
        inside = False
        for k in range(count):
            inside |= S[k] == i
        if not w >= -_ROUNDING * size or (inside and not w <= _ROUNDING * size):
            for k in range(count):
                z[S[k]] = 0.0
            return False
    return True


@jit
def _miss(A: Any, b: Any, n: int, z: Any, work: Any) -> float:
    """Write w = A z + b to ``work.r``; return the most that it misses of its terms: zero on the basis, else w ≥ 0."""
    S, count, worst = work.kept[2:], work.kept[1], 0.0
    for i in range(n):
        total, size = b[i], abs(b[i])
        for j in range(count):
            term = A[i, S[j]] * z[S[j]]
            total += term
            size += abs(term)
        work.r[i] = total
        if total < 0.0 or work.place[n + i] < 0:
            worst = max(worst, abs(total) / size)
    return worst


@jit
def refine(A: Any, b: Any, n: int, z: Any, work: Any) -> None:
    """Correct a solution by what it misses on the basis just kept, unless that is singular or it gets no better."""
    S, count = work.kept[2:], work.kept[1]
    before = _miss(A, b, n, z, work)
    if before <= _PRECISE or not _eliminate(A, work.r, count, work):
        return
    for k in range(count):
        work.row[k] = z[S[k]]
        z[S[k]] = max(0.0, z[S[k]] + work.x[k])
    if not _miss(A, b, n, z, work) < before:
        for k in range(count):
            z[S[k]] = work.row[k]
