"""What redundant rows ask of forces, without the redundancy: an orthonormal basis of the rows of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import jit
from impinge.contact.nearest_force import length


@jit
def balance(B: Any, b: Any, n: int, dependent: float, inconsistent: float, w: Any) -> int:
    """Write ``V`` and ``load`` such that B λ = b just if Vᵀλ = load; return the number of columns, −1 if there is no λ.

    Rows of B are taken in the order of what is left of them, by Gram–Schmidt, twice. ``w.slope`` and ``w.half`` are
    what it works in.
    """
    rest, known = w.slope, w.x
    for i in range(n):
        size = 0.0
        for j in range(n):
            size += B[i, j] * B[i, j]
        size = np.sqrt(size)
        w.missing[i] = size > 0.0
        known[i] = b[i] / size if size > 0.0 else 0.0
        if size == 0.0 and abs(b[i]) > inconsistent:
            return -1
        for j in range(n):
            rest[i, j] = B[i, j] / size if size > 0.0 else 0.0
    scale, r = max(length(known, n), 1e-300), 0
    while r < n:
        best, row = dependent, -1
        for i in range(n):
            left = 0.0
            for j in range(n):
                left += rest[i, j] * rest[i, j]
            left = np.sqrt(left)
            if w.missing[i] != 0.0 and left > best:
                best, row = left, i
        if row < 0:
            break
        w.missing[row] = 0.0
        w.load[r] = known[row] / best
        for j in range(n):
            w.V[j, r] = rest[row, j] / best
        for k in range(r):  # once more, for what rounding left
            along = 0.0
            for j in range(n):
                along += w.V[j, k] * w.V[j, r]
            w.load[r] -= along * w.load[k]
            for j in range(n):
                w.V[j, r] -= along * w.V[j, k]
        size = 0.0
        for j in range(n):
            size += w.V[j, r] * w.V[j, r]
        size = np.sqrt(size)
        w.load[r] /= size
        for j in range(n):
            w.V[j, r] /= size
        for i in range(n):
            if w.missing[i] != 0.0:
                along = 0.0
                for j in range(n):
                    along += w.V[j, r] * rest[i, j]
                known[i] -= along * w.load[r]
                for j in range(n):
                    rest[i, j] -= along * w.V[j, r]
        r += 1
    for i in range(n):
        if w.missing[i] != 0.0 and abs(known[i]) > inconsistent * scale:
            return -1
    return r
