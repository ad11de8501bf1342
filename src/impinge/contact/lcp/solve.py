"""Linear complementarity problems from Python: 0 ≤ z ⊥ w = A z + b ≥ 0, solved and checked, or an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.lcp.gauss_seidel import projected_sweeps
from impinge.contact.lcp.lemke import RAY, lemke, lemke_workspace
from impinge.contact.lcp.scaling import equilibrate
from impinge.errors import InputError, LcpError, unknown_name

FloatArray = NDArray[np.float64]

_BLOCK = 10  # sweeps between two looks at the residual
_INFEASIBLE = 1e-7  # of the scaled problem; what the linear program is solved to
_SHOWN = 6  # indices in a message
TOLERANCE = {"lemke": 1e-9, "gauss-seidel": 1e-9}


@dataclass(frozen=True)
class Solution:
    """A solution of a linear complementarity problem.

    Attributes:
        z: the unknowns.
        w: A z + b.
        residual: see `residual`; computed from A, b and z.
        steps: pivots of Lemke's method, or sweeps of Gauss–Seidel.
    """

    z: FloatArray
    w: FloatArray
    residual: float
    steps: int


def _scaled(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return scales of rows and columns, and how far below zero the scaled b reaches; one if it does not."""
    n = b.size
    rows, columns = np.ones(n), np.ones(n)
    equilibrate(A, n, rows, columns, np.zeros(n))
    return rows, columns, float((-rows * b).max(initial=0.0)) or 1.0


def _misses(A: FloatArray, b: FloatArray, z: FloatArray) -> FloatArray:
    rows, columns, size = _scaled(A, b)
    scaled_z, scaled_w = z / columns / size, (A @ z + b) * rows / size
    unit = np.maximum(max(1.0, np.abs(scaled_z).max(initial=0.0)), np.abs(b) * rows / size)
    return np.asarray(np.abs(np.minimum(scaled_z, scaled_w)) / unit)


def residual(A: FloatArray, b: FloatArray, z: FloatArray) -> float:
    """Return how far z is from a solution: the largest |min(z, w)|, which is zero at solutions only.

    It has no units: rows and columns are scaled so that the largest entry of each is near one, then b so that its
    lowest is −1. What is larger than one, be it z or the row's b, it is relative to.

    Example:
        >>> residual(np.eye(2), np.array([-1.0, 2.0]), np.array([1.0, 0.0]))
        0.0
    """
    return float(_misses(A, b, z).max(initial=0.0))


def solve_lcp(
    A: Any,
    b: Any,
    solver: str = "lemke",
    *,
    tolerance: float | None = None,
    sweeps: int = 10_000,
    names: Sequence[str] | None = None,
) -> Solution:
    """Find z ≥ 0 with w = A z + b ≥ 0 and zᵀw = 0.

    Args:
        A: square matrix.
        b: vector.
        solver: ``"lemke"``, or ``"gauss-seidel"`` for large symmetric positive semi-definite A.
        tolerance: largest `residual` of what is returned.
        sweeps: most sweeps of Gauss–Seidel.
        names: of the unknowns, for messages.

    Raises:
        InputError: if A and b are no such problem.
        LcpError: if it has no solution, or none was found; it says why, where, and how far away it is.

    Example:
        >>> solution = solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
        >>> solution.z.round(12)
        array([1.33333333, 2.33333333])
        >>> solve_lcp([[0.0]], [-1.0])
        Traceback (most recent call last):
        ...
        impinge.errors.LcpError: LCP of 1 unknown: expected z ≥ 0 with A z + b ≥ 0, got none: infeasible by 1 (scaled),
        at 0. The rows named contradict each other: check their signs.
    """
    if solver not in TOLERANCE:
        raise unknown_name("solve_lcp", "solver", str(solver), TOLERANCE)
    matrix, vector = _checked(A, b, names)
    allowed = TOLERANCE[solver] if tolerance is None else tolerance
    z, status, steps = _by_lemke(matrix, vector) if solver == "lemke" else _by_sweeps(matrix, vector, allowed, sweeps)
    miss = residual(matrix, vector, z)
    if status == 0 and miss <= allowed:
        return Solution(z, matrix @ z + vector, miss, steps)
    raise _failure(matrix, vector, z, status, steps, solver, names)


def _checked(A: Any, b: Any, names: Sequence[str] | None) -> tuple[FloatArray, FloatArray]:
    try:
        matrix, vector = np.array(A, dtype=float, order="C"), np.array(b, dtype=float)
    except (TypeError, ValueError):
        raise InputError("solve_lcp", "a matrix and a vector of numbers", "something else", "Give arrays.") from None
    n = vector.size
    if vector.ndim != 1 or matrix.shape != (n, n):
        got = f"A of shape {matrix.shape} and b of shape {vector.shape}"
        raise InputError("solve_lcp", "A of shape (n, n) and b of shape (n,)", got, "Make the sizes match.")
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
        raise InputError("solve_lcp", "finite numbers in A and b", "NaN or infinity", "Check where they come from.")
    if names is not None and len(names) != n:
        raise InputError("solve_lcp", f"{n} names", f"{len(names)}", "Give one name for each unknown.")
    return matrix, vector


def _by_lemke(A: FloatArray, b: FloatArray) -> tuple[FloatArray, int, int]:
    work, z = lemke_workspace(b.size), np.zeros(b.size)
    status = lemke(A, b, b.size, z, Struct(work))
    return z, status, int(work.pivots[0])


def _by_sweeps(A: FloatArray, b: FloatArray, tolerance: float, most: int) -> tuple[FloatArray, int, int]:
    n = b.size
    if not (np.diag(A) > 0.0).all() or np.abs(A - A.T).max(initial=0.0) > 1e-9 * np.abs(A).max(initial=0.0):
        got = "one that is not symmetric, or whose diagonal is not positive"
        raise InputError("Gauss–Seidel", "a symmetric A with a positive diagonal", got, "Use solver='lemke'.")
    z, done = np.zeros(n), 0
    while residual(A, b, z) > tolerance and done < most:
        projected_sweeps(A, b, z, _BLOCK // 2)
        done += _BLOCK
    return z, 0, done


def _failure(
    A: FloatArray, b: FloatArray, z: FloatArray, status: int, steps: int, solver: str, names: Sequence[str] | None
) -> LcpError:
    """Say whether there is no feasible z, or only none was found, and where."""
    n = b.size
    who = f"LCP of {n} unknown{'s' * (n != 1)}"

    def called(indices: NDArray[np.int64]) -> str:
        some = ", ".join(names[i] if names is not None else str(i) for i in indices[:_SHOWN])
        return some + (", …" if indices.size > _SHOWN else "")

    distance, involved = infeasibility(A, b)
    if distance > _INFEASIBLE:
        return LcpError(
            who,
            "z ≥ 0 with A z + b ≥ 0",
            f"none: infeasible by {distance:.3g} (scaled), at {called(involved)}",
            "The rows named contradict each other: check their signs.",
            indices=tuple(int(i) for i in involved),
            residual=distance,
            infeasible=True,
        )
    miss = _misses(A, b, z)
    worst = np.argsort(-miss)[:_SHOWN]
    worst = worst[miss[worst] > 0.0]
    how = "on a ray" if status == RAY else f"after {steps} {'pivots' if solver == 'lemke' else 'sweeps'}"
    return LcpError(
        who,
        f"a solution by {solver}",
        f"none: not converged, ended {how} at residual {miss.max():.2g}, largest at {called(worst)}",
        "Feasible z exist. Check that zᵀA z ≥ 0 for all z ≥ 0, or try the other solver.",
        indices=tuple(int(i) for i in worst),
        residual=float(miss.max()),
        infeasible=False,
    )


def infeasibility(A: FloatArray, b: FloatArray) -> tuple[float, NDArray[np.int64]]:
    """Return how much must be added to all of A z + b to make it feasible for some z ≥ 0, and which rows ask for it.

    Both are scaled as for `residual`. A linear program decides, not the solver that failed.
    """
    from scipy.optimize import linprog

    rows, columns, size = _scaled(A, b)
    n = b.size
    matrix = np.hstack([-(A * rows[:, None]) * columns, -np.ones((n, 1))])
    found = linprog(np.append(np.zeros(n), 1.0), A_ub=matrix, b_ub=b * rows / size, bounds=(0, None), method="highs")
    weights = np.abs(found.ineqlin.marginals)
    return float(found.fun), np.flatnonzero(weights > 1e-9 * max(weights.max(initial=0.0), 1e-300))
