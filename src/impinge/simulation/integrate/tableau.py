"""Explicit Runge–Kutta methods as data.

Every method here ends with a stage at the new state (first same as last), so the derivative at the end
of a step is known, the next step begins with it, and the dense output

    y(t + θh) = y + h Σᵢ (Σⱼ dense[i, j] θʲ⁺¹) kᵢ

uses it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impinge.compile import Matrix, Vector, pack_once


class Tableau(NamedTuple):
    """Coefficients of one method: s stages, dense output of degree d.

    Attributes:
        a: s × s, strictly lower triangular; the last row gives the new state.
        c: s, stage times.
        error: s, weights of the error estimate; all zero for a method that has none.
        dense: s × d.
        order: order of the solution.
        spread: how far the path within a step is from a straight line along its first stage, at most, in multiples of
            h and of the largest difference between a stage and the first.
        rate_spread: the same for its rate by θ.
    """

    a: Matrix
    c: Vector
    error: Vector
    dense: Matrix
    order: int
    spread: float
    rate_spread: float


def _tableau(a: Matrix, c: Vector, error: Vector, dense: Matrix, order: int) -> Tableau:
    """Complete the coefficients of a method; every weight of its dense output is a polynomial of a low degree."""
    theta, powers = np.linspace(0.0, 1.0, 2001)[:, None], np.arange(1, dense.shape[1] + 1)
    weights, rates = theta**powers @ dense[1:].T, (powers * theta ** (powers - 1)) @ dense[1:].T
    spread, rate_spread = (1.001 * float(np.abs(x).sum(axis=1).max()) for x in (weights, rates))
    return Tableau(a, c, error, dense, order, spread, rate_spread)


def _dormand_prince() -> Tableau:
    """Order 5(4) with a dense output of order 4.

    J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19–26; the dense output is that of
    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, II.6.
    """
    a = np.zeros((7, 7))
    a[1, :1] = [1 / 5]
    a[2, :2] = [3 / 40, 9 / 40]
    a[3, :3] = [44 / 45, -56 / 15, 32 / 9]
    a[4, :4] = [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]
    a[5, :5] = [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]
    a[6, :6] = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
    error = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
    d = np.array(
        [
            -12715105075 / 11282082432,
            0,
            87487479700 / 32700410799,
            -10690763975 / 1880347072,
            701980252875 / 199316789632,
            -1453857185 / 822651844,
            69997945 / 29380423,
        ]
    )
    # Hairer's nested form θ(r₂ + (1−θ)(r₃ + θ(r₄ + (1−θ)r₅))), multiplied out in powers of θ.
    b, first, last = a[6], np.eye(7)[0], np.eye(7)[6]
    r2, r3 = b, first - b
    r4 = b - last - r3
    dense = np.stack([r2 + r3, -r3 + r4 + d, -r4 - 2 * d, d], axis=1)
    return _tableau(a, np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]), error, dense, 5)


def _classical() -> Tableau:
    """Kutta's method of order 4 with the cubic Hermite polynomial as dense output."""
    a = np.zeros((5, 5))
    a[1, 0], a[2, 1], a[3, 2] = 1 / 2, 1 / 2, 1
    a[4, :4] = [1 / 6, 1 / 3, 1 / 3, 1 / 6]
    b, first, last = a[4], np.eye(5)[0], np.eye(5)[4]
    dense = np.stack([first, 3 * b - 2 * first - last, -2 * b + first + last], axis=1)
    return _tableau(a, np.array([0, 1 / 2, 1 / 2, 1, 1]), np.zeros(5), dense, 4)


DORMAND_PRINCE: Tableau = pack_once(_dormand_prince())
CLASSICAL: Tableau = pack_once(_classical())
