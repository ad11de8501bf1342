"""The linear equations of an implicit step: where they stand, and Gaussian elimination with partial pivoting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit
from impinge.simulation.rosenbrock import RODAS5P

# Derivatives: at the start of the step, how they change with time, at its end, and of a neighbor.
START, LATER, END, NEAR = 0, 1, 2, 3


class ImplicitWorkspace(NamedTuple):
    """What an implicit step writes to: ny components, of which n act on the motion."""

    slopes: Matrix  # ∂f/∂y, ny × n
    A: Matrix  # I − γh ∂f/∂y of those n, factorized, n × n
    pivots: Integers
    x: Vector  # a right-hand side, then the solution, n
    path: Vector  # coefficients of one component's path within the step
    U: Matrix  # stages, 8 × ny
    f: Matrix  # derivatives START, LATER, END, NEAR, 4 × ny
    error: Vector  # of the step, relative to the tolerance, 1


def implicit_workspace(ny: int, n: int) -> ImplicitWorkspace:
    """Allocate what an implicit step writes to; of nothing where none is taken (ny = n = 0)."""
    return ImplicitWorkspace(
        slopes=np.zeros((ny, n)),
        A=np.zeros((n, n)),
        pivots=np.zeros(n, dtype=np.int64),
        x=np.zeros(n),
        path=np.zeros(3),
        U=np.zeros((RODAS5P.c.size, ny)),
        f=np.zeros((4, ny)),
        error=np.zeros(1),
    )


@jit
def factorize(A: Any, pivots: Any) -> bool:
    """Replace a square matrix by its triangular factors, and note which rows were exchanged; tell if it is regular."""
    n = A.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        pivots[k] = best
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            share = A[i, k]
            if share != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= share * A[k, j]
    return True


@jit
def substitute(A: Any, pivots: Any, x: Any) -> None:
    """Replace a right-hand side by the solution; the matrix is as `factorize` left it."""
    n = A.shape[0]
    for k in range(n):
        other = pivots[k]
        x[k], x[other] = x[other], x[k]
    for i in range(n):
        for j in range(i):
            x[i] -= A[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
