"""Which of two shapes of one kind comes first: so that what they make of each other does not depend on who is asked.

Where two faces, or a face and an edge, part two shapes equally, one of them has to give the normal; where points are
left out, some have to go. The larger shape decides. Of equal ones it is the one that lies lower along a direction
mostly upward and square to nothing that people build along, of equal ones in one place the one turned less far.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.geometry.table import NORMAL

_X, _Y, _Z = 0.2281, 0.1367, 0.9640  # a direction, and weights of a matrix's entries
_TURN = (_X, -_Y, _Z)


@jit
def comes_first(size: Any, x: Any, R: Any, a: int, b: int) -> bool:
    """Tell whether shape a comes before b, by their sizes, places and axes."""
    for i in range(3):
        if size[a, i] != size[b, i]:
            return size[a, i] > size[b, i]
    ahead = _X * (x[b, 0] - x[a, 0]) + _Y * (x[b, 1] - x[a, 1]) + _Z * (x[b, 2] - x[a, 2])
    if ahead == 0.0:
        for i in range(3):
            ahead += _TURN[i] * (
                _X * (R[b, i, 0] - R[a, i, 0]) + _Y * (R[b, i, 1] - R[a, i, 1]) + _Z * (R[b, i, 2] - R[a, i, 2])
            )
    return ahead >= 0.0


@jit
def turn_over(points: Any, count: int) -> None:
    """Let the normals of contact points show the other way."""
    for k in range(count):
        for i in range(NORMAL, NORMAL + 3):
            points[k, i] = 0.0 - points[k, i]
