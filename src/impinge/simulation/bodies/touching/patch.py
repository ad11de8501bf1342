"""Where friction acts in a contact patch.

Points at the rim of a patch bear its load and keep it from tipping. If friction acted there too, it would turn a
spinning face back by more than a patch does whose pressure is uniform: a coin by 3/2 of what it should. It acts in
the same plane, at places that are moved towards the center of pressure, so that under its load the patch has its own
moment,

    x_c + κ (x − x_c),        κ Σ p |x − x_c| = spread Σ p,        κ ≤ 1.

The center of pressure, and with it the resultant of friction, is that of the last step's impulses. It stays at the same
points until it has moved by a hundredth of the patch: what rests has rows that do not change.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.geometry.table import GAP, PLACE, SPREAD
from impinge.simulation.bodies.stage import NOW

_LEVEL = 1e-2  # of two points the one that is farther apart by this share of their distance bears nothing at first
_MOVED = 1e-2  # share of the patch by which the center of pressure moves before friction follows
_WHOLE = 1e-9  # by which shares that are all known may miss one


@jit
def _apart(p: Any, q: Any) -> float:
    """Return the distance of two places."""
    return ((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2) ** 0.5


@jit
def _longest(s: Any, first: int, end: int) -> float:
    """Return the largest distance between two points of a pair of shapes."""
    longest = 0.0
    for c in range(first, end):
        for e in range(first, c):
            longest = max(longest, _apart(s.now.point[c, PLACE:], s.now.point[e, PLACE:]))
    return longest


@jit
def _share_load(s: Any, first: int, end: int, longest: float) -> None:
    """Write how the points of a pair of shapes share its load: as before, as in the last step, or the lowest alike."""
    share, point, impulse = s.now.share, s.now.point, s.problem.impulse
    known, total, low = 0.0, 0.0, point[first, GAP]
    for c in range(first, end):
        known, total, low = known + share[c], total + impulse[c, 0], min(low, point[c, GAP])
    if total > 0.0:
        x = y = z = 0.0
        for c in range(first, end):
            change = impulse[c, 0] / total - share[c]
            x, y, z = x + change * point[c, PLACE], y + change * point[c, PLACE + 1], z + change * point[c, PLACE + 2]
        if abs(known - 1.0) < _WHOLE and (x * x + y * y + z * z) ** 0.5 < _MOVED * longest:
            return
    for c in range(first, end):
        level = 1.0 if point[c, GAP] - low <= _LEVEL * longest else 0.0
        share[c] = impulse[c, 0] / total if total > 0.0 else level
        known = share[c] if c == first else known + share[c]
    for c in range(first, end):
        share[c] /= known


@jit
def _gather(s: Any, first: int, end: int) -> None:
    """Move friction of a pair of shapes with several contact points towards the center of pressure."""
    point, rub, share, center, arm = s.now.point, s.now.rub, s.now.share, s.local[0], 0.0
    longest = _longest(s, first, end)
    _share_load(s, first, end, longest)
    center[0] = center[1] = center[2] = 0.0
    for c in range(first, end):
        for i in range(3):
            center[i] += share[c] * point[c, PLACE + i]
    for c in range(first, end):
        arm += share[c] * _apart(point[c, PLACE:], center)
    spread = point[first, SPREAD] if point[first, SPREAD] > 0.0 else 0.25 * longest
    near = min(spread / arm, 1.0) if arm > 0.0 else 1.0
    for c in range(first, end):
        for i in range(3):
            rub[c, i] = center[i] + near * (point[c, PLACE + i] - center[i])


@jit
def place_friction(s: Any) -> None:
    """Write where friction acts, from the impulses that the contacts start with; where it is kept, it stays."""
    now, count, first = s.now, s.used[NOW], 0
    while first < count:
        end = first + 1
        while end < count and (
            now.shapes[end, 0] == now.shapes[first, 0] and now.shapes[end, 1] == now.shapes[first, 1]
        ):
            end += 1
        if s.kept[first] < 0:
            for i in range(3):
                now.rub[first, i] = now.point[first, PLACE + i]
            if end > first + 1:
                _gather(s, first, end)
        first = end
