"""Places and directions as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.errors import InputError, show
from impinge.geometry.rotation import EXACT

FloatArray = NDArray[np.float64]


def vector(who: str, value: ArrayLike, size: int = 3) -> FloatArray:
    """Return finite numbers as a vector of a given size, or raise the error that says whose they are."""
    try:
        array = np.array(value, dtype=float).ravel()
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.size != size or not np.isfinite(array).all():
        raise InputError(who, f"{size} finite numbers", repr(value), f"Give a sequence of {size} numbers.")
    return array


def quaternion(who: str, turn: Any) -> FloatArray:
    """Return a rotation as a unit quaternion (w, x, y, z).

    Args:
        who: for messages.
        turn: None for no rotation; a rotation vector (3 numbers: axis times angle, rad); a quaternion (w, x, y, z) of
            length one; or a 3 × 3 rotation matrix.

    Example:
        >>> quaternion("a body", (0, 0, np.pi)).round(12)
        array([0., 0., 0., 1.])
    """
    if turn is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    try:
        given = np.array(turn, dtype=float)
    except (TypeError, ValueError):
        given = np.empty(0)
    if np.isfinite(given).all():
        if given.shape == (3,):
            half = np.linalg.norm(given) / 2
            return np.concatenate([[np.cos(half)], np.sinc(half / np.pi) * given / 2])
        if given.shape == (4,) and abs(np.linalg.norm(given) - 1.0) < EXACT:
            return given / np.linalg.norm(given)
        if given.shape == (3, 3) and off_rotation(given) <= EXACT:
            return _from_matrix(given)
    remedy = "Give e.g. turn=(0, 0, 0.5): half a radian about z."
    raise InputError(who, "a rotation vector, a unit quaternion (w, x, y, z) or a rotation matrix", show(turn), remedy)


def off_rotation(R: FloatArray) -> float:
    """Return how far a finite 3 × 3 matrix is from one that turns, as `geometry.rotation.is_rotation` measures it."""
    crossed = np.cross(np.roll(R, -1, axis=1), np.roll(R, -2, axis=1), axis=0)
    return max(float(np.abs(R - crossed).max()), abs(float((R * R).sum()) / 3.0 - 1.0))


def _from_matrix(R: FloatArray) -> FloatArray:
    """Return the quaternion of a matrix: of the four ways to write it the one that divides by most."""
    diagonal = np.diag(R)
    squares = np.array([1 + R.trace(), *(1 + 2 * diagonal - R.trace())])
    k = int(np.argmax(squares))
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if k == 0:
        q = np.array([squares[0], *axial])
    else:
        q = np.array([axial[k - 1], *(R + R.T)[k - 1]])
        q[k] = squares[k]
    return q / np.linalg.norm(q)


def matrix(q: ArrayLike) -> FloatArray:
    """Return the rotation matrix of a unit quaternion; its columns are the turned axes."""
    w, *axis = np.asarray(q, dtype=float).tolist()
    a = np.array(axis)
    cross = np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
    return np.asarray((w * w - a @ a) * np.eye(3) + 2 * np.outer(a, a) + 2 * w * cross)
