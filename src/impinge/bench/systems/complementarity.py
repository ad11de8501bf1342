"""Random complementarity problems, and loops that solve many of them: impinge's and quantecon's."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Cube, Matrix, Struct, entry
from impinge.contact.lcp.lemke import LemkeWorkspace, lemke, lemke_workspace

FloatArray = NDArray[np.float64]


def definite(n: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return problems with positive definite matrices: A (count, n, n) and b (count, n)."""
    rng = np.random.default_rng(n)
    J = rng.normal(size=(count, n, n + 2))
    return J @ J.transpose(0, 2, 1), rng.normal(size=(count, n))


def redundant(n: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return problems of contacts on half as many degrees of freedom: singular matrices."""
    rng = np.random.default_rng(n)
    J = rng.normal(size=(count, n, n // 2))
    return J @ J.transpose(0, 2, 1), np.einsum("kij,kj->ki", J, rng.normal(size=(count, n // 2)))


class _Batch(NamedTuple):
    A: Cube
    b: Matrix
    z: Matrix
    work: LemkeWorkspace


@entry
def _lemke_many(batch: _Batch) -> int:
    status = 0
    for k in range(batch.b.shape[0]):
        status = max(status, lemke(batch.A[k], batch.b[k], batch.b.shape[1], batch.z[k], batch.work))
    return status


def impinge_runner(A: FloatArray, b: FloatArray) -> Callable[[], FloatArray]:
    """Return a run that solves all problems in one call; it returns z."""
    z = np.zeros_like(b)
    batch = Struct(_Batch(A, b, z, lemke_workspace(b.shape[1])))

    def run() -> FloatArray:
        _lemke_many(batch)
        return z

    return run


@functools.cache
def _quantecon_many() -> Any:
    import numba

    solve = importlib.import_module("quantecon.optimize").lcp_lemke

    @numba.njit  # type: ignore[untyped-decorator]
    def many(A: Any, b: Any, z: Any, cover: Any, tableau: Any, basis: Any) -> None:
        for k in range(b.shape[0]):
            solve(A[k], b[k], cover, tableau=tableau, basis=basis, z=z[k])

    return many


def quantecon_runner(A: FloatArray, b: FloatArray) -> Callable[[], FloatArray]:
    """Return the same by quantecon, which is given its work space and called from a compiled loop, too."""
    many, n = _quantecon_many(), b.shape[1]
    z, cover = np.zeros_like(b), np.ones(n)
    tableau, basis = np.zeros((n, 2 * n + 2)), np.zeros(n, dtype=np.int64)

    def run() -> FloatArray:
        many(A, b, z, cover, tableau, basis)
        return z

    return run
