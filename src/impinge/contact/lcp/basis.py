"""The solution that belongs to a complementary basis, computed from the problem's own data.

With the unknowns S in the basis it is A_SS z_S = −b_S, all other z zero. What the pivots left of it counts only
if the data confirm it.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit

# What signs and zeros may be missed by in the scaled problem, against its largest value: by the values that
# pivoting left, and by those that were solved for.
_EXACT, _MISS = 1e-13, 1e-10


@jit
def _factor(A: Any, count: int, work: Any) -> bool:
    """Factor the transpose of the scaled block of the unknowns in ``tied``, with partial pivoting, into T.

    Its rows' order goes to ``basic``. With the factors of the transpose, substitution runs along rows.
    """
    T, chosen, order, upper = work.T, work.tied, work.basic, work.row
    rows, columns = work.row_scale, work.column_scale
    for j in range(count):
        order[j] = j
        scale = rows[chosen[j]]
        for i in range(count):
            T[i, j] = A[chosen[j], chosen[i]] * (scale * columns[chosen[i]])
    for k in range(count):
        pivot = k
        for i in range(k + 1, count):
            if abs(T[i, k]) > abs(T[pivot, k]):
                pivot = i
        if T[pivot, k] == 0.0:
            return False
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            for j in range(count):
                T[k, j], T[pivot, j] = T[pivot, j], T[k, j]
        inverse = 1.0 / T[k, k]
        for j in range(k + 1, count):  # a copy: the loop below is then known to be free of overlaps
            upper[j] = T[k, j]
        for i in range(k + 1, count):
            if T[i, k] != 0.0:
                factor = T[i, k] * inverse
                T[i, k] = factor
                for j in range(k + 1, count):
                    T[i, j] -= factor * upper[j]
    return True


@jit
def _substitute(count: int, work: Any) -> None:
    """Solve with the factors: ``r`` is the right-hand side and is used up, the solution is added to ``x``."""
    T, order, r, x = work.T, work.basic, work.r, work.x
    for k in range(count):
        value = r[k] / T[k, k]
        r[k] = value
        for j in range(k + 1, count):
            r[j] -= T[k, j] * value
    for k in range(count - 1, -1, -1):
        value = r[k]
        x[order[k]] += value
        for j in range(k):
            r[j] -= T[k, j] * value


@jit
def _row_sum(A: Any, i: int, n: int, z: Any) -> float:
    """Return row i of A z; in four sums at once, which do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for j in range(0, whole, 4):
        s0 += A[i, j] * z[j]
        s1 += A[i, j + 1] * z[j + 1]
        s2 += A[i, j + 2] * z[j + 2]
        s3 += A[i, j + 3] * z[j + 3]
    for j in range(whole, n):
        s0 += A[i, j] * z[j]
    return (s0 + s1) + (s2 + s3)


@jit
def _holds(A: Any, b: Any, n: int, scale: float, allowed: float, z: Any, work: Any) -> bool:
    """Tell whether w = A z + b has the right signs, and vanishes where z is in the basis."""
    for i in range(n):
        unit = scale * work.row_scale[i]
        w, limit = (b[i] + _row_sum(A, i, n, z)) * unit, allowed * max(1.0, b[i] * unit)
        if not w >= -limit or (work.place[n + i] < 0 and not w <= limit):
            return False
    return True


@jit
def solve_basis(A: Any, b: Any, n: int, scale: float, z: Any, work: Any) -> bool:
    """Compute the solution that belongs to the final basis of `lemke`; tell whether it is one.

    The values in the dictionary are taken if A z + b confirms them; otherwise they are solved for anew.

    Args:
        A: matrix of the problem.
        b: vector of the problem.
        n: number of unknowns.
        scale: of b.
        z: receives the solution.
        work: packed work space of `lemke`; its dictionary may be overwritten.
    """
    columns, largest = work.column_scale, 1.0
    for i in range(n):
        z[i] = 0.0
        row = -1 - work.place[n + i]
        if row >= 0:
            value = max(0.0, work.T[row, n + 1])
            z[i] = columns[i] * value / scale
            largest = max(largest, value)
    return _holds(A, b, n, scale, _EXACT * largest, z, work) or _solve(A, b, n, scale, z, work)


@jit
def _solve(A: Any, b: Any, n: int, scale: float, z: Any, work: Any) -> bool:
    """Solve the linear equations of the basis, with one refinement."""
    chosen, r, x = work.tied, work.r, work.x
    rows, columns = work.row_scale, work.column_scale
    count = 0
    for i in range(n):
        z[i] = 0.0
        if work.place[n + i] < 0:
            chosen[count] = i
            count += 1
    if not _factor(A, count, work):
        return False
    for i in range(count):
        x[i] = 0.0
        r[i] = -b[chosen[i]] * scale * rows[chosen[i]]
    _substitute(count, work)
    for i in range(count):
        z[chosen[i]] = columns[chosen[i]] * x[i] / scale
    for i in range(count):
        k = chosen[i]
        r[i] = -(b[k] + _row_sum(A, k, n, z)) * scale * rows[k]
    _substitute(count, work)
    largest = 1.0
    for i in range(count):
        largest = max(largest, abs(x[i]))
    for i in range(count):
        if not x[i] >= -_MISS * largest:
            return False
        z[chosen[i]] = columns[chosen[i]] * max(0.0, x[i]) / scale
    return _holds(A, b, n, scale, _MISS * largest, z, work)
