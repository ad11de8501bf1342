"""Rotations as coordinates: unit quaternions, whose rates are angular velocities and not their own velocities.

A quaternion e = (w, x, y, z) turns what it carries by R(e); with the angular velocity ω in the turning axes

    ė = ½ e ∘ (0, ω)        Ṙ = R [ω]×

R is written so that it depends on the direction of e alone, and so does all that is made of it. The rate ė keeps the
length of e, and is as long as e is, so these relations hold at any length; a run sets it to one where a step begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.errors import StartError

_SERIES = 1e-8  # squares of the sine of a turn below which its ratio to the turn is a series
_LEAST_LENGTH = 1e-6  # of a quaternion that is scaled to one


class Spin(NamedTuple):
    """Where a rotation stands: the first of its four coordinates, and of its three velocities."""

    q: int
    v: int


def rotation_matrix(e: Any) -> Any:
    """Return the rotation matrix (3 × 3) of a quaternion of any length, as an expression."""
    w, x, y, z = (e[k] for k in range(4))
    twice = 2.0 / ca.dot(e, e)
    rows = (
        (1 - twice * (y * y + z * z), twice * (x * y - w * z), twice * (x * z + w * y)),
        (twice * (x * y + w * z), 1 - twice * (x * x + z * z), twice * (y * z - w * x)),
        (twice * (x * z - w * y), twice * (y * z + w * x), 1 - twice * (x * x + y * y)),
    )
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def quaternion_rate(e: Any, spin: Any) -> Any:
    """Return the rate of a quaternion (4) for an angular velocity (3) in the turning axes, as an expression."""
    x, y, z = (spin[k] for k in range(3))
    return 0.5 * ca.vertcat(
        -e[1] * x - e[2] * y - e[3] * z,
        e[0] * x + e[2] * z - e[3] * y,
        e[0] * y - e[1] * z + e[3] * x,
        e[0] * z + e[1] * y - e[2] * x,
    )


def rotation_vector(R: Any) -> Any:
    """Return the rotation vector (3) of a rotation matrix, as an expression that is smooth where there is no turn."""
    twice = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    square, c = ca.sumsqr(twice) / 4, (ca.trace(R) - 1) / 2
    small = square < _SERIES
    sine = ca.sqrt(ca.if_else(small, 1.0, square))
    return ca.if_else(ca.logic_and(small, c > 0), 1 + square / 6, ca.atan2(sine, c) / sine) * twice / 2


def rates(q: Any, v: Any, spins: Sequence[Spin]) -> Any:
    """Return q̇ = N(q) v as an expression: of rotations as above, of all other coordinates their velocity."""
    first = {spin.q: spin.v for spin in spins}
    parts, i, k = [], 0, 0
    while i < q.shape[0]:
        if i in first:
            parts.append(quaternion_rate(q[i : i + 4], v[k : k + 3]))
            i, k = i + 4, k + 3
        else:
            parts.append(v[k])
            i, k = i + 1, k + 1
    return ca.vertcat(ca.SX(0, 1), *parts)


def straight(spins: Sequence[Spin], nv: int) -> NDArray[np.int64]:
    """Return, for each of nv velocities, the coordinate whose rate it is; −1 for those of rotations."""
    places, coordinate, velocity = np.full(nv, -1), 0, 0
    for spin in (*spins, Spin(-1, nv)):
        while velocity < spin.v:
            places[velocity] = coordinate
            coordinate, velocity = coordinate + 1, velocity + 1
        coordinate, velocity = coordinate + 4, velocity + 3
    return places


def displaced(
    q: NDArray[np.float64], way: NDArray[np.float64], spins: Sequence[Spin], places: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return coordinates moved along velocities that act for one unit of time: rotations turn by rotation vectors.

    Args:
        q: coordinates (nq).
        way: velocities times time (nv).
        spins: the rotations.
        places: as `straight` gives them.
    """
    moved = q.copy()
    moved[places[places >= 0]] += way[places >= 0]
    for spin in spins:
        turn = way[spin.v : spin.v + 3]
        half = 0.5 * float(np.linalg.norm(turn))
        w, axis = np.cos(half), 0.5 * np.sinc(half / np.pi) * turn
        e = q[spin.q : spin.q + 4]
        moved[spin.q] = e[0] * w - e[1:] @ axis
        moved[spin.q + 1 : spin.q + 4] = e[0] * axis + w * e[1:] + np.cross(e[1:], axis)
    return moved


def way_between(
    q: NDArray[np.float64], other: NDArray[np.float64], spins: Sequence[Spin], places: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the way (nv) along which `displaced` leads from coordinates to others; no turn is above half a turn."""
    way = np.zeros(places.size)
    way[places >= 0] = (other - q)[places[places >= 0]]
    for spin in spins:
        e, to = q[spin.q : spin.q + 4], other[spin.q : spin.q + 4]
        w, axis = e @ to, e[0] * to[1:] - to[0] * e[1:] - np.cross(e[1:], to[1:])
        if w < 0.0:
            w, axis = -w, -axis
        size = float(np.linalg.norm(axis))
        way[spin.v : spin.v + 3] = 2.0 * (np.arctan2(size, w) / size if size > 0.0 else 1.0 / w) * axis
    return way


def of_length_one(who: str, names: Sequence[str], q: NDArray[np.float64], spins: Sequence[Spin]) -> NDArray[np.float64]:
    """Return coordinates with quaternions of length one; raise the error that fits one that has none.

    Args:
        who: what starts there, for messages.
        names: of the coordinates.
        q: coordinates (nq).
        spins: the rotations among them.
    """
    scaled = q.copy()
    for spin in spins:
        e = scaled[spin.q : spin.q + 4]
        length = float(np.linalg.norm(e))
        if not length >= _LEAST_LENGTH:
            raise StartError(
                who,
                f"a quaternion ({', '.join(names[spin.q : spin.q + 4])}) of length one",
                f"({', '.join(f'{x:g}' for x in e)})",
                "Give all four, or leave them out.",
            )
        e /= length
    return scaled
