"""The linear equations of an implicit step: where they stand, and Gaussian elimination with partial pivoting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit
from impinge.simulation.integrate.rosenbrock import RODAS5P

# Derivatives: at the start of the step, at its end, and of a neighbor of its start.
START, END, NEAR = 0, 1, 2
# Rows of `law`.
BY_VALUE, BY_RATE, STRESS = 0, 1, 2


class ImplicitWorkspace(NamedTuple):
    """What an implicit step writes to: ny components, of which up to n act on the motion, and m rows."""

    slopes: Matrix  # ∂f/∂y of what acts, n × ny
    held: Matrix  # the same while the forces of laws are held
    push: Matrix  # ∂f by these forces, m × ny
    stretches: Matrix  # derivatives of what laws are given as values of the rows, n × m
    speeds: Matrix  # and of the rows' rates
    law: Matrix  # BY_VALUE, BY_RATE: slopes of the forces that laws give; STRESS: these forces, uncapped; 3 × m
    given: Integers  # whether a law gives the force of a row
    change: Vector  # how these forces change with a component, m
    forces: Vector  # that are held, m
    stretch: Vector  # values that laws are given at the start, m
    speed: Vector  # and rates
    places: Integers  # where what acts stands in the state
    active: Integers  # how much acts now; whether slopes at held forces may be kept
    A: Matrix  # I − γh ∂f/∂y of what acts, factorized, n × n
    pivots: Integers
    x: Vector  # a right-hand side, then the solution, n
    path: Vector  # coefficients of one component's path within the step
    U: Matrix  # stages, 8 × ny
    f: Matrix  # derivatives START, END, NEAR, 3 × ny
    error: Vector  # of the step, relative to the tolerance, 1


def implicit_workspace(ny: int, n: int, m: int) -> ImplicitWorkspace:
    """Allocate what an implicit step writes to; of nothing where none is taken (ny = n = m = 0)."""
    return ImplicitWorkspace(
        slopes=np.zeros((n, ny)),
        held=np.zeros((n, ny)),
        push=np.zeros((m, ny)),
        stretches=np.zeros((n, m)),
        speeds=np.zeros((n, m)),
        law=np.zeros((3, m)),
        given=np.zeros(m, dtype=np.int64),
        change=np.zeros(m),
        forces=np.zeros(m),
        stretch=np.zeros(m),
        speed=np.zeros(m),
        places=np.zeros(n, dtype=np.int64),
        active=np.zeros(2, dtype=np.int64),
        A=np.zeros((n, n)),
        pivots=np.zeros(n, dtype=np.int64),
        x=np.zeros(n),
        path=np.zeros(3),
        U=np.zeros((RODAS5P.a.shape[0], ny)),
        f=np.zeros((3, ny)),
        error=np.zeros(1),
    )


@jit
def factorize(A: Any, n: int, pivots: Any) -> bool:
    """Replace the leading n × n block by its triangular factors, and note which rows were exchanged.

    Return whether it is regular.
    """
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
def substitute(A: Any, n: int, pivots: Any, x: Any) -> None:
    """Replace a right-hand side by the solution; the matrix is as `factorize` left it."""
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
