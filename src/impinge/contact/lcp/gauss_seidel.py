"""Projected Gauss–Seidel: a linear complementarity problem, one unknown after the other."""

from __future__ import annotations

from impinge.compile import Matrix, Vector, entry


@entry
def projected_sweeps(A: Matrix, b: Vector, z: Vector, count: int) -> None:
    """Improve z ≥ 0 towards 0 ≤ z ⊥ A z + b ≥ 0, one unknown at a time, ``count`` times there and back.

    For symmetric positive semi-definite A with a positive diagonal.
    """
    n = b.size
    for step in range(2 * count):
        for place in range(n):
            i = place if step % 2 == 0 else n - 1 - place
            w = b[i]
            for j in range(n):
                w += A[i, j] * z[j]
            z[i] = max(0.0, z[i] - w / A[i, i])
