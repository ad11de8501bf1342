"""What tells quickly that a matrix is an inertia matrix."""

from __future__ import annotations

import math

from impinge.compile import Matrix, entry

# The determinant, of a matrix with a unit diagonal, above which no eigenvalue is near the limit of rounding: the
# smallest of them is at least a third of it.
_CLEAR = 1e-12


@entry
def surely_inertia(M: Matrix, L: Matrix) -> bool:
    """Tell whether a matrix is surely finite, symmetric and positive definite; if not, it may be all the same.

    It is scaled to a unit diagonal, so that coordinates in different units are compared without them, and factorized
    in ``L``, which is as large. The product of the pivots is its determinant. The other eigenvalues, whose sum is less
    than n, are at most n/(n − 1) in the geometric mean: the smallest is at least the determinant over e.
    """
    n, determinant = M.shape[0], 1.0
    for i in range(n):
        if not 0.0 < M[i, i] < math.inf:
            return False
    for i in range(n):
        for j in range(i + 1):
            if not abs(M[i, j] - M[j, i]) <= 1e-12 + 1e-9 * min(abs(M[i, j]), abs(M[j, i])):
                return False
            total = M[i, j] / math.sqrt(M[i, i] * M[j, j])
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i != j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                determinant *= total
                L[i, i] = math.sqrt(total)
            else:
                return False
    return determinant > _CLEAR
