"""Lemke's method for the linear complementarity problem 0 ≤ z ⊥ A z + b ≥ 0.

C. E. Lemke (1965); R. W. Cottle, J.-S. Pang and R. E. Stone, *The Linear Complementarity Problem* (1992), section 4.4.
An artificial variable z₀ with a covering vector d > 0 makes w = A z + b + d z₀ feasible; complementary pivots then
drive it out. Ties are broken lexicographically, so that degenerate problems do not cycle. The dictionary
x_B = q + T x_N is only the way to a basis: the solution is confirmed by the given data, or computed from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, entry, jit
from impinge.contact.lcp.basis import solve_basis
from impinge.contact.lcp.scaling import equilibrate

SOLVED = 0
RAY = 1  # no complementary solution on this path; if A is copositive-plus, there is none at all
UNLIMITED = 2**62  # pivots
LIMIT = 2  # too many pivots, or no basis whose solution holds

# Against the largest entry of its column, an entry this small is rounding.
_ZERO = 1e-11
# Ratios this near to the smallest are tied; values are those of the scaled problem, in which no b is below −1.
_TIE = 1e-12
# How far bᵀz must fall along a ray, against the size of its terms.
_FALL = 1e-9
# A value of z₀ this small is none.
_GONE = 1e-11
# Covering vectors that are tried before giving up.
_ATTEMPTS = 8


class LemkeWorkspace(NamedTuple):
    """Arrays of `lemke`, for problems of up to n unknowns."""

    T: Matrix  # dictionary: n + 1 nonbasic columns, the values of the basic variables, zeros
    basic: Integers  # variable of each row: w_i is i, z_i is n + i, z₀ is 2n
    nonbasic: Integers  # variable of each column
    place: Integers  # of each variable: its column, or −1 − row if it is basic
    tied: Integers  # rows that block first; then the unknowns in the basis
    row: Vector  # a copy of a row, or ratios
    row_scale: Vector
    column_scale: Vector
    cover: Vector  # d
    x: Vector  # values of the unknowns in the basis
    r: Vector  # right-hand side of their equations
    ray: Vector  # direction in z of the ray on which a RAY ended
    pivots: Integers  # pivots done, covering vectors that did not do, and pivots that may be done
    kept: Integers  # a basis to try first, see `again`


def lemke_workspace(n: int) -> LemkeWorkspace:
    """Allocate the work space of `lemke` for up to n unknowns, once."""
    return LemkeWorkspace(
        T=np.zeros((n, n + 5)),
        basic=np.zeros(n, dtype=np.int64),
        nonbasic=np.zeros(n + 1, dtype=np.int64),
        place=np.zeros(2 * n + 1, dtype=np.int64),
        tied=np.zeros(n, dtype=np.int64),
        row=np.zeros(n + 5),
        row_scale=np.zeros(n),
        column_scale=np.zeros(n),
        cover=np.zeros(n),
        x=np.zeros(n),
        r=np.zeros(n),
        ray=np.zeros(n),
        pivots=np.array([0, 0, UNLIMITED]),
        kept=np.zeros(n + 2, dtype=np.int64),
    )


@jit
def _width(n: int) -> int:
    """Return the length of the dictionary's rows: a multiple of four, as many as are worked on at once."""
    return (n + 5) // 4 * 4


@jit
def _pivot(n: int, row: int, column: int, work: Any) -> None:
    """Exchange the basic variable of a row with the nonbasic variable of a column."""
    T, y, basic, nonbasic, place = work.T, work.row, work.basic, work.nonbasic, work.place
    width = _width(n)
    inverse = 1.0 / T[row, column]
    for j in range(width):  # a copy: the loop below is then known to be free of overlaps
        y[j] = -inverse * T[row, j]
    y[column] = 0.0
    for i in range(n):
        factor = T[i, column]
        if i == row or factor == 0.0:
            continue
        for j in range(width):
            T[i, j] += factor * y[j]
        T[i, column] = factor * inverse
    for j in range(width):
        T[row, j] = y[j]
    T[row, column] = inverse
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
def _leaving(n: int, column: int, work: Any) -> int:
    """Return the row that blocks the variable of a column first, lexicographically; −1 if none does."""
    T, place, tied, ratio = work.T, work.place, work.tied, work.row
    largest = 0.0
    for i in range(n):
        size = abs(T[i, column])
        largest = size if size > largest else largest
    least, best = _ZERO * largest, np.inf
    for i in range(n):  # without branches, which would be taken at random
        fall, value = -T[i, column], T[i, n + 1]
        step = (value if value > 0.0 else 0.0) / fall
        step = step if fall > least else np.inf
        ratio[i] = step
        best = step if step < best else best
    if best == np.inf:
        return -1
    count, near = 0, best + _TIE * (1.0 + best)
    for i in range(n):
        if ratio[i] <= near:
            if work.basic[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    for k in range(n):
        if count == 1:
            break
        best = np.inf
        for c in range(count):
            i = tied[c]
            ratio[i] = _response(T, i, k, place) / -T[i, column]
            best = min(best, ratio[i])
        near, kept = best + _TIE * (1.0 + abs(best)), 0
        for c in range(count):
            if ratio[tied[c]] <= near:
                tied[kept] = tied[c]
                kept += 1
        count = kept
    return tied[0]


@jit
def _begin(A: Any, b: Any, n: int, scale: float, work: Any) -> int:
    """Fill the dictionary of w = A z + b + d z₀, scaled; return the row that z₀ enters first."""
    T, rows, columns, cover = work.T, work.row_scale, work.column_scale, work.cover
    for i in range(n):
        row_scale = rows[i]
        for j in range(n):
            T[i, j] = A[i, j] * (row_scale * columns[j])
        T[i, n] = cover[i]
        T[i, n + 1] = b[i] * rows[i] * scale
        for j in range(n + 2, _width(n)):
            T[i, j] = 0.0
        work.basic[i] = i
        work.nonbasic[i] = n + i
        work.place[i] = -1 - i
        work.place[n + i] = i
    work.nonbasic[n] = 2 * n
    work.place[2 * n] = n
    first, best = 0, np.inf
    for i in range(n):  # among equals the last: the perturbation of its row is the smallest
        ratio = T[i, n + 1] / cover[i]
        if ratio <= best:
            first, best = i, ratio
    return first


@jit
def _points_down(b: Any, n: int, column: int, work: Any) -> bool:
    """Write the ray along which nothing blocks, and tell whether it is one: bᵀz falls along it, beyond rounding."""
    T, place, ray = work.T, work.place, work.ray
    fall, terms = 0.0, 0.0
    for i in range(n):
        where = place[n + i]
        step = 1.0 if where == column else 0.0
        if where < 0:
            step = max(0.0, T[-1 - where, column])
        ray[i] = work.column_scale[i] * step
        fall -= b[i] * ray[i]
        terms += abs(b[i]) * ray[i]
    return fall > _FALL * terms


@jit
def _walk(A: Any, b: Any, n: int, scale: float, work: Any) -> int:
    """Pivot until z₀ leaves the basis (SOLVED), nothing blocks (RAY) or it takes too long (LIMIT)."""
    T = work.T
    row = _begin(A, b, n, scale, work)
    column = n
    for _ in range(20 * n + 50):
        if work.pivots[0] >= work.pivots[2]:
            return LIMIT
        _pivot(n, row, column, work)
        work.pivots[0] += 1
        left = work.nonbasic[column]
        if left == 2 * n:
            return SOLVED
        other, column = column, work.place[left + n if left < n else left - n]
        row = _leaving(n, column, work)
        if row < 0:
            artificial = -1 - work.place[2 * n]
            if T[artificial, n + 1] <= _GONE:  # the values are a solution already: any of its pair will do
                better = abs(T[artificial, other]) > abs(T[artificial, column])
                _pivot(n, artificial, other if better else column, work)
                return SOLVED
            return RAY if _points_down(b, n, column, work) else LIMIT
    return LIMIT


@entry
def lemke(A: Matrix, b: Vector, n: int, z: Vector, work: LemkeWorkspace) -> int:
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
    work.pivots[0] = 0
    work.pivots[1] = 0
    below = 0
    for i in range(n):
        z[i] = 0.0
        if not b[i] >= 0.0:
            below += 1
    if below == 0:
        return SOLVED
    equilibrate(A, n, work.row_scale, work.column_scale, work.x)
    size = 0.0  # of what must be overcome: a row that is far from its bound does not count
    for i in range(n):
        size = max(size, -b[i] * work.row_scale[i])
    scale = 1.0 / size
    rays = 0
    for attempt in range(_ATTEMPTS):
        for i in range(n):  # multiples of the golden ratio are spread evenly
            work.cover[i] = 1.0 + (0.0 if attempt == 0 else ((i + 1) * attempt * 0.6180339887498949) % 1.0)
        work.pivots[1] = attempt
        status = _walk(A, b, n, scale, work)
        if status == SOLVED and solve_basis(A, b, n, scale, z, work):
            return SOLVED
        for i in range(n):
            z[i] = 0.0
        if status == RAY:
            rays += 1
            if rays == 2:
                return RAY
    return RAY if rays > 0 else LIMIT
