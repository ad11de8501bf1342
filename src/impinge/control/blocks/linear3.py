"""3 × 3 algebra on plain numbers: a tick is too short for NumPy's overhead."""

from __future__ import annotations

from collections.abc import Sequence

from impinge.errors import InputError

_SINGULAR = 1e-6
Row = Sequence[float]
Rows = Sequence[Row]


def times(A: Rows, x: Row) -> list[float]:
    """Return A x."""
    x1, x2, x3 = x
    return [a1 * x1 + a2 * x2 + a3 * x3 for a1, a2, a3 in A]


def transposed_times(A: Rows, x: Row) -> list[float]:
    """Return Aᵀ x."""
    x1, x2, x3 = x
    return [a1 * x1 + a2 * x2 + a3 * x3 for a1, a2, a3 in zip(*A, strict=True)]


def solve(A: Rows, b: Row) -> list[float]:
    """Return A⁻¹ b by Cramer's rule, for a control Jacobian.

    Raises:
        InputError: if A is singular, as where an arm of the robot is stretched.

    Example:
        >>> solve([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [1.0, 0.0, 1.0]], [2.0, 2.0, 3.0])
        [1.0, 0.5, 2.0]
    """
    (a, b1, c), (d, e, f), (g, h, i) = A
    x, y, z = b
    # The rows of the adjugate, without their common denominator.
    A1, B1, C1 = e * i - f * h, c * h - b1 * i, b1 * f - c * e
    A2, B2, C2 = f * g - d * i, a * i - c * g, c * d - a * f
    A3, B3, C3 = d * h - e * g, b1 * g - a * h, a * e - b1 * d
    determinant = a * A1 + b1 * A2 + c * A3
    size = max(abs(a), abs(b1), abs(c), abs(d), abs(e), abs(f), abs(g), abs(h), abs(i))
    if not abs(determinant) > _SINGULAR * size**3:
        raise InputError(
            "control Jacobian",
            "a pose from which the flange can move in all directions",
            f"a determinant of {determinant:.2g} for entries up to {size:.2g}",
            "Keep the reference away from where an arm is stretched.",
        )
    scale = 1.0 / determinant
    return [
        (A1 * x + B1 * y + C1 * z) * scale,
        (A2 * x + B2 * y + C2 * z) * scale,
        (A3 * x + B3 * y + C3 * z) * scale,
    ]
