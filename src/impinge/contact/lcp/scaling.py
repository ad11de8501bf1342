"""Scales of rows and columns that bring the largest entry of each near one."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import Matrix, Vector, entry, jit

_PASSES = 2
# If the smallest diagonal entry and the largest entry lie this near together, one scale serves all.
_ALIKE = 64.0


@jit
def _power_of_two(x: Any) -> Any:
    return 2.0 ** np.round(np.log2(x))


@jit
def _largest(A: Any, n: int) -> float:
    """Return the largest entry of A; four at once, which do not wait for each other."""
    m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(n):
        for j in range(0, whole, 4):
            s0, s1, s2, s3 = abs(A[i, j]), abs(A[i, j + 1]), abs(A[i, j + 2]), abs(A[i, j + 3])
            m0 = s0 if s0 > m0 else m0
            m1 = s1 if s1 > m1 else m1
            m2 = s2 if s2 > m2 else m2
            m3 = s3 if s3 > m3 else m3
        for j in range(whole, n):
            s0 = abs(A[i, j])
            m0 = s0 if s0 > m0 else m0
    return max(m0, m1, m2, m3)


@entry
def equilibrate(A: Matrix, n: int, rows: Vector, columns: Vector, in_column: Vector) -> None:
    """Scale the leading n × n block of A by square roots of its largest entries (D. Ruiz 2001).

    The scales are powers of two, so that scaling is exact and equal numbers stay equal. If no diagonal entry is
    much smaller than the largest entry, one scale serves all.

    Args:
        A: matrix, kept as it is.
        n: size of the block.
        rows: receives the scales of the rows; those of zero rows are one.
        columns: receives the scales of the columns.
        in_column: work space of n numbers.
    """
    largest, smallest = _largest(A, n), np.inf
    for i in range(n):
        smallest = min(smallest, abs(A[i, i]))
    alike = largest <= _ALIKE * smallest  # every row and column has its largest entry between the two
    common = _power_of_two(1.0 / largest) if alike and largest > 0.0 else 1.0
    for i in range(n):
        rows[i] = 1.0
        columns[i] = common
    if alike:
        return
    for _ in range(_PASSES):
        for j in range(n):
            in_column[j] = 0.0
        for i in range(n):
            in_row, scale = 0.0, rows[i]
            for j in range(n):
                size = abs(A[i, j]) * scale
                in_column[j] = size if size > in_column[j] else in_column[j]
            for j in range(n):
                size = abs(A[i, j]) * columns[j]
                in_row = size if size > in_row else in_row
            if in_row > 0.0:
                rows[i] = np.sqrt(scale / in_row)
        for j in range(n):
            if in_column[j] > 0.0:
                columns[j] = np.sqrt(columns[j] / in_column[j])
    for i in range(n):
        rows[i] = _power_of_two(rows[i])
        columns[i] = _power_of_two(columns[i])
