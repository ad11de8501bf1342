"""The value of a transfer function from its state-space model, with a bound of its error.

With M = s − A, the solutions of M x = b and Mᵀ y = c give the value c x + d and its sensitivity: an error E of M
changes it by −yᵀ E x. So a value comes with what rounding can have done to it, entry by entry. Such a bound does not
depend on the units of the states and knows which entries of A are exactly zero: a response of thirty masses in a row
that is a hundred decades below its peak is known to twelve digits. Products of factors (s − zero) would not be: zeros
may be known far worse than the response.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import matrix_balance

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

EPS = float(np.finfo(float).eps)
FLOOR = 1e-4  # entries below this part of the largest do not drive the scaling: they may be rounding
BATCH = 2**20  # entries of the matrices that are inverted at once


@dataclass(frozen=True, eq=False)
class Response:
    """Values of a transfer function, how far each may be off, and the derivatives with respect to s."""

    value: Complex
    error: Real
    slope: Complex

    @property
    def trust(self) -> Real:
        """The error relative to the value; zero for a value that is exactly zero, infinite at a pole."""
        size = np.abs(self.value)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isinf(size), np.inf, np.where(self.error == 0, 0.0, self.error / size))


@dataclass(frozen=True, eq=False)
class Realization:
    """One input and one output: c (s − A)⁻¹ b + d, with A of shape (n, n), b and c of shape (n,).

    Attributes:
        noise: how far a change of states has moved A, as a norm, and b and c by the same part; zero if the matrices are
            those that were given.
    """

    a: Real
    b: Real
    c: Real
    d: float
    noise: float = 0.0

    def scaled(self) -> Realization:
        """Scale the states by powers of two, which is exact, until no unit sticks out."""
        n = len(self.a)
        if not n:
            return self
        system = np.block([[self.a, self.b[:, None]], [self.c[None, :], np.zeros((1, 1))]])
        for _ in range(50):
            weight = np.abs(system - np.diag(np.diag(system)))
            _, (scale, _) = matrix_balance(weight + FLOOR * weight.max(), permute=False, separate=True)
            if np.all(scale == 1):
                break
            system = system / scale[:, None] * scale
        return Realization(system[:n, :n], system[:n, n], system[n, :n], self.d, self.noise)

    @property
    def size(self) -> float:
        """The norm of A, 1 if A is zero."""
        return float(np.linalg.norm(self.a)) or 1.0

    def respond(self, s: ArrayLike) -> Response:
        """Evaluate the transfer function at points of any shape."""
        points = np.asarray(s, dtype=complex)
        flat = points.reshape(-1)
        count = max(1, BATCH // max(1, self.a.size))
        parts = [self._evaluate(flat[i : i + count]) for i in range(0, len(flat), count)]
        return Response(
            np.concatenate([np.zeros(0, dtype=complex), *(value for value, _, _ in parts)]).reshape(points.shape),
            np.concatenate([np.zeros(0), *(error for _, error, _ in parts)]).reshape(points.shape),
            np.concatenate([np.zeros(0, dtype=complex), *(slope for _, _, slope in parts)]).reshape(points.shape),
        )

    def _evaluate(self, s: Complex) -> tuple[Complex, Real, Complex]:
        n = len(self.a)
        if not n:
            return np.full(s.shape, self.d, dtype=complex), np.zeros(s.shape), np.zeros(s.shape, dtype=complex)
        matrix = s[:, None, None] * np.eye(n) - self.a
        with np.errstate(all="ignore"):
            inverse = _inverses(matrix)
            x, y = inverse @ self.b, self.c @ inverse
            for _ in range(2):  # refined in the same precision, solutions are as good as entries of M allow
                rest = self.b - (s[:, None] * x - x @ self.a.T)
                step = np.einsum("kij,kj->ki", inverse, rest)
                x = x + step
                left = self.c - (s[:, None] * y - y @ self.a)
                y = y + np.einsum("ki,kij->kj", left, inverse)
            rest = self.b - (s[:, None] * x - x @ self.a.T)
            left = self.c - (s[:, None] * y - y @ self.a)
            step = np.einsum("kij,kj->ki", inverse, rest)
            value = self.d + x @ self.c + (y * rest).sum(axis=1)
            terms = np.abs(s)[:, None] * np.abs(x) + np.abs(x) @ np.abs(self.a).T + np.abs(self.b)
            rounding = (np.abs(y) * terms).sum(axis=1) + np.abs(x) @ np.abs(self.c) + abs(self.d)
            moved: Real | float = 0.0
            if self.noise:  # of A, and of b and c by the same part
                right, left_size = np.abs(x).sum(axis=1), np.abs(y).sum(axis=1)
                share = self.noise / self.size
                ends = np.linalg.norm(self.b) * left_size + np.linalg.norm(self.c) * right
                moved = self.noise * right * left_size + share * ends
            many = 4 + int((self.a != 0).sum(axis=1).max())
            error = many * EPS * rounding + (np.abs(left) * np.abs(step)).sum(axis=1) + moved
            slope = -(y * x).sum(axis=1)
        lost = ~np.isfinite(value) | ~np.isfinite(error)
        return np.where(lost, np.inf, value), np.where(lost, np.inf, error), np.where(lost, np.inf, slope)


def border(frequency: Real, discrete: bool) -> Complex:
    """The points of the border of stability at frequencies: jω, in discrete time exp(jω) − 1 with ω in rad a sample."""
    w = np.asarray(frequency, dtype=float)
    return -2 * np.sin(w / 2) ** 2 + 1j * np.sin(w) if discrete else 1j * w


def _inverses(matrices: Complex) -> Complex:
    """Invert a stack of matrices; one that is singular has an inverse of no numbers."""
    try:
        return np.asarray(np.linalg.inv(matrices), dtype=complex)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full(matrices.shape, np.nan, dtype=complex)
        return np.concatenate([_inverses(matrices[i : i + 1]) for i in range(len(matrices))])
