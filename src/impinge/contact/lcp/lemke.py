"""Lemke's method for the linear complementarity problem 0 ≤ z ⊥ A z + b ≥ 0.

C. E. Lemke (1965); R. W. Cottle, J.-S. Pang and R. E. Stone, *The Linear Complementarity Problem* (1992), section 4.4.
An artificial variable z₀ with a covering vector d > 0 makes w = A z + b + d z₀ feasible; complementary pivots then
drive it out. Ties are broken lexicographically, so that degenerate problems do not cycle. The dictionary
x_B = q + T x_N is only the way to a basis: the solution itself is computed from the given data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit

SOLVED = 0
RAY = 1  # no complementary solution on this path; if A is copositive-plus, there is none at all
LIMIT = 2  # too many pivots, or no basis whose solution holds

# Against the largest entry of its column, an entry this small is rounding.
_ZERO = 1e-11
# Ratios this near to the smallest are tied; values are those of the scaled problem, at most about one.
_TIE = 1e-12
# What the scaled solution may miss its signs by, against the size of the terms.
_MISS = 1e-10
# Covering vectors that are tried before giving up.
_ATTEMPTS = 5


class LemkeWorkspace(NamedTuple):
    """Arrays of `lemke`, for problems of up to n unknowns."""

    T: Matrix  # dictionary, n × (n + 2): n + 1 nonbasic columns, then the values of the basic variables
    basic: Integers  # variable of each row: w_i is i, z_i is n + i, z₀ is 2n
    nonbasic: Integers  # variable of each column
    place: Integers  # of each variable: its column, or −1 − row if it is basic
    tied: Integers
    row_scale: Vector
    column_scale: Vector
    cover: Vector
    x: Vector
    r: Vector
    ray: Vector  # direction in z of the ray on which a RAY ended
    count: Integers  # pivots done


def lemke_workspace(n: int) -> LemkeWorkspace:
    """Allocate the work space of `lemke` for up to n unknowns, once."""
    return LemkeWorkspace(
        T=np.zeros((n, n + 2)),
        basic=np.zeros(n, dtype=np.int64),
        nonbasic=np.zeros(n + 1, dtype=np.int64),
        place=np.zeros(2 * n + 1, dtype=np.int64),
        tied=np.zeros(n, dtype=np.int64),
        row_scale=np.zeros(n),
        column_scale=np.zeros(n),
        cover=np.zeros(n),
        x=np.zeros(n),
        r=np.zeros(n),
        ray=np.zeros(n),
        count=np.zeros(1, dtype=np.int64),
    )


@jit
def _power_of_two(x: float) -> float:
    """Return a power of two near 1/√x, and 1 for zero: scaling with it is exact."""
    return 2.0 ** np.round(-0.5 * np.log2(x)) if x > 0.0 else 1.0


@jit
def _equilibrate(A: Any, n: int, work: Any) -> None:
    """Find scales of rows and columns that bring the largest entry of each near one (D. Ruiz 2001)."""
    rows, columns, x, r = work.row_scale, work.column_scale, work.x, work.r
    for i in range(n):
        rows[i] = 1.0
        columns[i] = 1.0
    for _ in range(3):
        for i in range(n):
            x[i] = 0.0
            r[i] = 0.0
        for i in range(n):
            for j in range(n):
                size = abs(A[i, j]) * rows[i] * columns[j]
                x[i] = max(x[i], size)
                r[j] = max(r[j], size)
        for i in range(n):
            rows[i] *= _power_of_two(x[i])
            columns[i] *= _power_of_two(r[i])


@jit
def _pivot(T: Any, n: int, row: int, column: int, work: Any) -> None:
    """Exchange the basic variable of a row with the nonbasic variable of a column."""
    basic, nonbasic, place = work.basic, work.nonbasic, work.place
    inverse = 1.0 / T[row, column]
    for j in range(n + 2):
        T[row, j] *= -inverse
    T[row, column] = inverse
    for i in range(n):
        factor = T[i, column]
        if i == row or factor == 0.0:
            continue
        T[i, column] = 0.0
        for j in range(n + 2):
            T[i, j] += factor * T[row, j]
    basic[row], nonbasic[column] = nonbasic[column], basic[row]
    place[basic[row]] = -1 - row
    place[nonbasic[column]] = column


@jit
def _response(T: Any, row: int, k: int, place: Any) -> float:
    """Return how the basic variable of a row follows b_k: the entry of the inverse basis."""
    where = place[k]
    if where < 0:
        return 1.0 if -1 - where == row else 0.0
    return -T[row, where]


@jit
def _leaving(T: Any, n: int, column: int, work: Any) -> int:
    """Return the row that blocks the variable of a column first, lexicographically; −1 if none does."""
    place, tied, basic = work.place, work.tied, work.basic
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(T[i, column]))
    least = -_ZERO * largest
    best = np.inf
    for i in range(n):
        if T[i, column] < least:
            best = min(best, max(T[i, n + 1], 0.0) / -T[i, column])
    if best == np.inf:
        return -1
    count = 0
    for i in range(n):
        if T[i, column] < least and max(T[i, n + 1], 0.0) / -T[i, column] <= best + _TIE * (1.0 + best):
            if basic[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    for k in range(n):
        if count == 1:
            break
        best = np.inf
        for c in range(count):
            best = min(best, _response(T, tied[c], k, place) / -T[tied[c], column])
        kept = 0
        for c in range(count):
            if _response(T, tied[c], k, place) / -T[tied[c], column] <= best + _TIE * (1.0 + abs(best)):
                tied[kept] = tied[c]
                kept += 1
        count = kept
    return tied[0]


@jit
def _begin(A: Any, b: Any, n: int, scale: float, work: Any) -> int:
    """Fill the dictionary of w = A z + b + d z₀, scaled; return the row that z₀ enters first."""
    T, rows, columns, cover = work.T, work.row_scale, work.column_scale, work.cover
    for i in range(n):
        for j in range(n):
            T[i, j] = A[i, j] * rows[i] * columns[j]
        T[i, n] = cover[i]
        T[i, n + 1] = b[i] * rows[i] * scale
        work.basic[i] = i
        work.nonbasic[i] = n + i
        work.place[i] = -1 - i
        work.place[n + i] = i
    work.nonbasic[n] = 2 * n
    work.place[2 * n] = n
    first = 0
    for i in range(1, n):  # among equals the last: the perturbation of the row is the smallest
        if T[i, n + 1] / cover[i] <= T[first, n + 1] / cover[first]:
            first = i
    return first


@jit
def _walk(A: Any, b: Any, n: int, scale: float, work: Any) -> int:
    """Pivot until z₀ leaves the basis (SOLVED), nothing blocks (RAY) or it takes too long (LIMIT)."""
    T = work.T
    row = _begin(A, b, n, scale, work)
    column = n
    for _ in range(20 * n + 50):
        _pivot(T, n, row, column, work)
        work.count[0] += 1
        left = work.nonbasic[column]
        if left == 2 * n:
            return SOLVED
        column = work.place[left + n if left < n else left - n]
        row = _leaving(T, n, column, work)
        if row < 0:
            for i in range(n):
                place = work.place[n + i]
                step = 1.0 if place == column else 0.0
                work.ray[i] = work.column_scale[i] * (max(0.0, T[-1 - place, column]) if place < 0 else step)
            return RAY
    return LIMIT


@jit
def _factor(A: Any, count: int, work: Any) -> bool:
    """Factor the scaled block of the unknowns in ``tied`` with partial pivoting, into T; rows' order in ``basic``."""
    T, chosen, order = work.T, work.tied, work.basic
    rows, columns = work.row_scale, work.column_scale
    for i in range(count):
        order[i] = i
        for j in range(count):
            T[i, j] = A[chosen[i], chosen[j]] * rows[chosen[i]] * columns[chosen[j]]
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
        for i in range(k + 1, count):
            if T[i, k] != 0.0:
                factor = T[i, k] * inverse
                T[i, k] = factor
                for j in range(k + 1, count):
                    T[i, j] -= factor * T[k, j]
    return True


@jit
def _substitute(count: int, work: Any) -> None:
    """Solve with the factors: the right-hand side is in ``r``, the solution is added to ``x``."""
    T, order, r, x, y = work.T, work.basic, work.r, work.x, work.cover
    for i in range(count):
        y[i] = r[order[i]]
        for j in range(i):
            y[i] -= T[i, j] * y[j]
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            y[i] -= T[i, j] * y[j]
        y[i] /= T[i, i]
        x[i] += y[i]


@jit
def _resolve(A: Any, b: Any, n: int, scale: float, z: Any, work: Any) -> bool:
    """Compute the solution that belongs to the final basis from the data; tell whether its signs are right."""
    T, chosen, r, x = work.T, work.tied, work.r, work.x
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
    for _ in range(3):
        for i in range(count):
            r[i] = -b[chosen[i]] * rows[chosen[i]] * scale
            for j in range(count):
                r[i] -= A[chosen[i], chosen[j]] * rows[chosen[i]] * columns[chosen[j]] * x[j]
        _substitute(count, work)
    largest = 1.0
    for i in range(count):
        largest = max(largest, abs(x[i]))
    for i in range(count):
        if not x[i] >= -_MISS * largest:
            return False
        z[chosen[i]] = columns[chosen[i]] * max(0.0, x[i]) / scale
    for i in range(n):
        gap, terms = b[i], abs(b[i])
        for j in range(count):
            term = A[i, chosen[j]] * z[chosen[j]]
            gap += term
            terms += abs(term)
        if not gap >= -_MISS * max(terms, 1.0 / (scale * rows[i])):
            return False
    for i in range(count):
        gap, terms = b[chosen[i]], abs(b[chosen[i]])
        for j in range(count):
            term = A[chosen[i], chosen[j]] * z[chosen[j]]
            gap += term
            terms += abs(term)
        if not gap <= _MISS * max(terms, 1.0 / (scale * rows[chosen[i]])):
            return False
    return True


@jit
def lemke(A: Any, b: Any, n: int, z: Any, work: Any) -> int:
    """Find z ≥ 0 with A z + b ≥ 0 and zᵀ(A z + b) = 0 for the leading n × n block of A.

    Args:
        A: matrix, kept as it is.
        b: vector, kept as it is.
        n: number of unknowns.
        z: receives the solution; zero if there is none.
        work: packed work space from `lemke_workspace` of at least this size.

    Returns:
        SOLVED, RAY (if A is copositive-plus, a proof that no z is feasible) or LIMIT.
    """
    work.count[0] = 0
    least = 0.0
    for i in range(n):
        z[i] = 0.0
        least = min(least, b[i])
    if least >= 0.0:
        return SOLVED
    _equilibrate(A, n, work)
    size = 0.0
    for i in range(n):
        size = max(size, abs(b[i]) * work.row_scale[i])
    scale = 1.0 / size
    rays = 0
    for attempt in range(_ATTEMPTS):
        for i in range(n):  # multiples of the golden ratio are spread evenly
            work.cover[i] = 1.0 + (0.0 if attempt == 0 else ((i + 1) * attempt * 0.6180339887498949) % 1.0)
        status = _walk(A, b, n, scale, work)
        if status == SOLVED and _resolve(A, b, n, scale, z, work):
            return SOLVED
        for i in range(n):
            z[i] = 0.0
        if status == RAY:
            rays += 1
            if rays == 2:
                return RAY
    return RAY if rays > 0 else LIMIT
