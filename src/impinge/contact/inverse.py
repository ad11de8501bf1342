"""The inverse of a small positive definite matrix."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit


@jit
def invert(A: Any, out: Any, n: int) -> None:
    """Write the inverse of a positive definite matrix, by Gauss and Jordan; A is overwritten."""
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        scale = 1.0 / A[k, k]
        for j in range(n):
            A[k, j] *= scale
            out[k, j] *= scale
        for i in range(n):
            if i != k and A[i, k] != 0.0:
                factor = A[i, k]
                for j in range(n):
                    A[i, j] -= factor * A[k, j]
                    out[i, j] -= factor * out[k, j]
