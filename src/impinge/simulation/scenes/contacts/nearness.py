"""How far candidates of a pair of shapes are from meeting, looked at where a step begins.

A candidate is near if its gap is small, its features do not end far from where they are nearest to each other, and all
that bounds them leads away from there.
"""

from __future__ import annotations

from math import atan2, cos, inf, sin, sqrt, tau
from typing import Any

from impinge.compile import jit
from impinge.geometry.features import relate
from impinge.simulation.scenes.contacts.pairs import ACROSS, BESIDE, CORNER, CROSS, OVER, PARALLEL
from impinge.simulation.scenes.contacts.rings import LEVEL, across
from impinge.simulation.scenes.contacts.vectors import back, cross, dot, turned
from impinge.simulation.scenes.tables import SceneTables

LEVEL_LINES = 1e-9  # sine of the angle between two lines up to which they are parallel, and do not cross
KEPT = 1.5  # how much farther a candidate may be while it is a contact
_SAMPLES = 24  # places on a rim that are tried
_APART = 1e-3  # sine by which faces lead away from where parallel edges meet
_MEETS = 1e-8  # share of the distance looked at, below which they have met
_ROUNDS = 40  # by which the nearest places of two rims are approached

# Rows of `SceneTables.local` that are free here: where the other shape is, a place, and others.
_AT, _TO, _AXIS, _ACROSS, _AWAY, _ONE, _U, _V, _OTHER, _Y, _Z, _EXTRA = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11


@jit
def _shift(p: Any, x: Any, R: Any, out: Any) -> None:
    turned(R, p, out)
    for i in range(3):
        out[i] += x[i]


@jit
def leads_away(s: SceneTables, first: int, last: int, n: Any, level: float) -> bool:
    """Tell whether all that bounds a feature leads away along a normal, in the same axes."""
    away = True
    for j in range(first, last):
        away &= dot(s.spokes[j], n) >= -level
    return away


@jit
def _inside(s: SceneTables, k: int, p: Any) -> float:
    """Return how far a place, seen from that of a plane, is from the nearest end of it."""
    o, least = s.candidates, inf
    for j in range(o.sides[k, 0], o.sides[k, 1]):
        side = s.sides[j]
        if side[0] == 0.0 and side[1] == 0.0 and side[2] == 0.0:
            away = dot(o.across[k], p)
            inside = 0.5 * (side[3] - (dot(p, p) - away * away) / side[3])
        else:
            inside = dot(side, p) + side[3]
        least = min(least, inside)
    return least


@jit
def _corner_off(s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float) -> float:
    o, p, n = s.candidates, s.local[_TO], s.local[_AXIS]
    _shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    gap = dot(o.across[k], p) - o.round[k, 0]
    if not -deep <= gap <= near:
        return inf
    inside = _inside(s, k, p)
    back(R, o.across[k], n)
    if inside < -aside or not leads_away(s, o.spokes[k, 0], o.spokes[k, 1], n, level):
        return inf
    return max(abs(gap), -inside)


@jit
def _beyond(x: float, length: float) -> float:
    """Return how far a place along a line is beyond its ends."""
    return max(-x, x - length)


@jit
def _watch_parallel(s: SceneTables, k: int, x: Any, R: Any, near: float) -> None:
    """Let steps become short while two sharp edges that are parallel come to meet, and note where they do.

    They would meet along their length, which has no normal: what lies level with a face does not count.
    """
    o, p, d, n = s.candidates, s.local[_TO], s.local[_AXIS], s.local[_ACROSS]
    _shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    begin = dot(o.across[k], p)
    end = begin + o.length[k, 0] * dot(d, o.across[k])
    for i in range(3):
        p[i] -= begin * o.across[k, i]
    away = sqrt(dot(p, p))
    if away > near or max(begin, end) < 0.0 or min(begin, end) > o.length[k, 1] or away == 0.0:
        return
    for i in range(3):
        n[i] = -p[i] / away
    meet = leads_away(s, o.spokes[k, 2], o.spokes[k, 3], n, -_APART)
    for i in range(3):
        p[i] = -n[i]
    back(R, p, n)
    if meet and leads_away(s, o.spokes[k, 0], o.spokes[k, 1], n, -_APART):
        s.hasten[0] = min(s.hasten[0], 0.5 * away / max(s.hasten[1], 1e-9))
        if away < _MEETS * near:
            s.fault[2] = float(k)


@jit
def _cross_off(
    s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float, side: Any
) -> float:
    o, p, d, n = s.candidates, s.local[_TO], s.local[_AXIS], s.local[_ACROSS]
    turned(R, o.along[k], d)
    cross(d, o.across[k], n)
    square = dot(n, n)
    if square < LEVEL_LINES * LEVEL_LINES:
        if o.round[k, 0] + o.round[k, 1] == 0.0:
            _watch_parallel(s, k, x, R, near)
        return inf
    sine = sqrt(square)
    _shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    sign = 1.0 if dot(n, side) > 0.0 else -1.0
    gap = sign * dot(n, p) / sine - o.round[k, 0] - o.round[k, 1]
    if not -deep <= gap <= near:
        return inf
    way = s.local[_ONE]
    cross(o.across[k], p, way)
    beyond = _beyond(dot(way, n) / square, o.length[k, 0])
    cross(d, p, way)
    beyond = max(beyond, _beyond(dot(way, n) / square, o.length[k, 1]))
    if beyond * max(sine, 0.05) > aside:
        return inf
    for i in range(3):
        n[i] *= -sign / sine
    if not leads_away(s, o.spokes[k, 2], o.spokes[k, 3], n, level):
        return inf
    for i in range(3):
        p[i] = -n[i]
    back(R, p, n)
    return max(abs(gap), beyond) if leads_away(s, o.spokes[k, 0], o.spokes[k, 1], n, level) else inf


@jit
def _beside_off(s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float) -> float:
    o, p, n = s.candidates, s.local[_TO], s.local[_AXIS]
    _shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    along = dot(o.across[k], p)
    square = max(dot(p, p) - along * along, 0.0)
    gap, beyond = sqrt(square) - o.round[k, 0] - o.round[k, 1], _beyond(along, o.length[k, 1])
    if not (-deep <= gap <= near and beyond <= aside):
        return inf
    if o.round[k, 0] > 0.0:
        turned(R, o.along[k], n)
        cross(n, o.across[k], n)
        if dot(n, n) > 4.0 * PARALLEL * PARALLEL:
            return inf
    for i in range(3):
        p[i] = (p[i] - along * o.across[k, i]) / max(sqrt(square), 1e-300)
    back(R, p, n)
    return max(abs(gap), beyond) if leads_away(s, o.spokes[k, 0], o.spokes[k, 1], n, level) else inf


@jit
def _over_off(
    s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float, turning: float
) -> float:
    o, p, axis, n = s.candidates, s.local[_TO], s.local[_AXIS], s.candidates.across[k]
    turned(R, o.along[k], axis)
    lean = dot(n, axis)
    sine = sqrt(max(1.0 - lean * lean, 0.0))
    if lean > level:
        return inf
    _shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i] + o.length[k, 0] * (n[i] - lean * axis[i]) / max(sine, 0.5 * LEVEL)
    gap, inside = dot(n, p), _inside(s, k, p)
    if sine < LEVEL and -deep <= gap <= near and turning > 0.0:  # a rim that begins to lean is looked at again soon
        s.hasten[0] = min(s.hasten[0], 2.0 * LEVEL / turning)
    if sine < 0.5 * LEVEL:
        return inf
    return max(abs(gap), -inside) if -deep <= gap <= near and inside >= -aside else inf


@jit
def _place_on(center: Any, u: Any, v: Any, radius: float, angle: float, out: Any) -> None:
    x, y = radius * cos(angle), radius * sin(angle)
    for i in range(3):
        out[i] = center[i] + x * u[i] + y * v[i]


@jit
def _angle_to(p: Any, center: Any, u: Any, v: Any) -> float:
    """Return at which angle of a rim it is nearest to a place."""
    x = y = 0.0
    for i in range(3):
        x += (p[i] - center[i]) * u[i]
        y += (p[i] - center[i]) * v[i]
    return atan2(y, x)


@jit
def _is_rim_turned(s: SceneTables, axis: Any, center: Any, p: Any, n: Any, sign: float, level: float) -> bool:
    """Tell whether a rim with this outward axis faces along ± n at a place on it."""
    turning = size = 0.0
    for i in range(3):
        turning += (p[i] - center[i]) * n[i]
        size += (p[i] - center[i]) ** 2
    return sign * dot(axis, n) >= -level and sign * turning >= -level * sqrt(size)


@jit
def _aside(p: Any, center: Any, n: Any) -> float:
    """Return how far a place is from a center along a direction of any length."""
    along = 0.0
    for i in range(3):
        along += (p[i] - center[i]) * n[i]
    return along / max(sqrt(dot(n, n)), 1e-300)


@jit
def _nearest_on_line(p: Any, at: Any, axis: Any, out: Any) -> float:
    """Write the nearest place of a line; return where along it that is."""
    along = 0.0
    for i in range(3):
        along += (p[i] - at[i]) * axis[i]
    for i in range(3):
        out[i] = at[i] + along * axis[i]
    return along


@jit
def _apart(p: Any, q: Any) -> float:
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2


@jit
def _rim_off(
    s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float, side: Any
) -> float:
    """Do so for a rim and a line or another rim: of the places tried, the nearest are improved in turn."""
    o, v = s.candidates, s.local
    center, axis, n, one, u, w, other = v[_TO], v[_AXIS], v[_ACROSS], v[_ONE], v[_U], v[_V], v[_OTHER]
    rims, size, best, angle, far_angle, along = o.form[k] != ACROSS, o.length[k, 0], inf, 0.0, 0.0, 0.0
    _shift(o.ball[k], x, R, center)
    turned(R, o.along[k], axis)
    across(o.along[k], one, other)
    turned(R, one, u)
    turned(R, other, w)
    if rims:
        across(o.across[k], v[_Y], v[_Z])
    else:
        _nearest_on_line(center, o.at[k], o.across[k], other)
        if sqrt(_apart(center, other)) - size > near + o.round[k, 1]:
            return inf
    if rims:  # two rims cross on both sides of the way between their centers
        for i in range(3):
            one[i] = center[i] - o.at[k, i]
        cross(o.across[k], one, n)
    else:
        for i in range(3):
            n[i] = o.across[k, i]
    held = o.owner[k] >= 0
    if held:
        angle = s.features.angle[o.owner[k], 0]
    before = last = inf
    for i in range(0 if held else _SAMPLES + 2):  # the nearest of the places on this half that are nearer than others
        _place_on(center, u, w, size, tau * i / _SAMPLES, one)
        if rims:
            _place_on(o.at[k], v[_Y], v[_Z], o.length[k, 1], _angle_to(one, o.at[k], v[_Y], v[_Z]), other)
        else:
            _nearest_on_line(one, o.at[k], o.across[k], other)
        apart = _apart(one, other)
        _place_on(center, u, w, size, tau * (i - 1) / _SAMPLES, one)
        if i > 1 and last <= before and last < apart and last < best and o.half[k] * _aside(one, center, n) >= 0.0:
            best, angle = last, tau * (i - 1) / _SAMPLES
        before, last = last, apart
    if not held and best == inf:
        return inf
    for _ in range(_ROUNDS):
        _place_on(center, u, w, size, angle, one)
        if rims:
            far_angle = _angle_to(one, o.at[k], v[_Y], v[_Z])
            _place_on(o.at[k], v[_Y], v[_Z], o.length[k, 1], far_angle, other)
        else:
            along = _nearest_on_line(one, o.at[k], o.across[k], other)
        angle = _angle_to(other, center, u, w)
    if sqrt(_apart(one, other)) > near + o.round[k, 1] + deep or (
        not held and o.half[k] * _aside(one, center, n) < 0.0
    ):
        return inf
    o.angle[k, 0], o.angle[k, 1] = angle, far_angle
    for i in range(3):  # the way between the two, or, if they are sharp, what is at right angles to both tangents
        n[i], v[_EXTRA, i] = cos(angle) * w[i] - sin(angle) * u[i], o.across[k, i]
        if rims:
            v[_EXTRA, i] = cos(far_angle) * v[_Z, i] - sin(far_angle) * v[_Y, i]
    cross(n, v[_EXTRA], n)
    sine = sqrt(dot(n, n))
    _place_on(center, u, w, size, angle, one)
    if o.round[k, 1] > 0.0:
        for i in range(3):
            n[i] = (one[i] - other[i]) / max(sqrt(_apart(one, other)), 1e-300)
    else:
        if sine < LEVEL_LINES:
            return inf
        scale = (1.0 if dot(n, side) > 0.0 else -1.0) / sine
        for i in range(3):
            n[i] *= scale
    gap = dot(n, one) - dot(n, other) - o.round[k, 1]
    faces = _is_rim_turned(s, axis, center, one, n, -1.0, level)
    if not (-deep <= gap <= near and faces):
        return inf
    if rims:
        return abs(gap) if _is_rim_turned(s, o.across[k], o.at[k], other, n, 1.0, level) else inf
    beyond = _beyond(along, o.length[k, 1])
    for i in range(3):
        one[i] = -n[i]
    ends = beyond <= aside / max(sine, 0.05)
    return max(abs(gap), beyond) if ends and leads_away(s, o.spokes[k, 2], o.spokes[k, 3], one, level) else inf


@jit
def _is_beyond(s: SceneTables, k: int, x: Any, R: Any) -> bool:
    """Tell whether the touching point of a contact that holds a candidate of a rim is on the other half of the rim."""
    o, v = s.candidates, s.local
    center, n, one, u, w, other = v[_TO], v[_ACROSS], v[_ONE], v[_U], v[_V], v[_OTHER]
    if o.owner[k] < 0:
        return False
    _shift(o.ball[k], x, R, center)
    across(o.along[k], one, other)
    turned(R, one, u)
    turned(R, other, w)
    for i in range(3):
        n[i] = o.across[k, i]
        one[i] = center[i] - o.at[k, i]
    if o.form[k] != ACROSS:
        cross(o.across[k], one, n)
    _place_on(center, u, w, o.length[k, 0], s.features.angle[o.owner[k], 0], one)
    return o.half[k] * _aside(one, center, n) < 0.0


@jit
def _rehome(s: SceneTables, k: int, x: Any, R: Any) -> None:
    """Let the contacts of both halves of a rim be those of the halves on which they are now."""
    o, f = s.candidates, s.features
    one, other = _is_beyond(s, k, x, R), _is_beyond(s, k + 1, x, R)
    if (one and (other or o.owner[k + 1] < 0)) or (other and o.owner[k] < 0):
        o.owner[k], o.owner[k + 1] = o.owner[k + 1], o.owner[k]
        for i in range(k, k + 2):
            if o.owner[i] >= 0:
                f.held[o.owner[i]] = i


@jit
def look(s: SceneTables, pair: int, near: float, aside: float, level: float, turning: float) -> None:
    """Write for all candidates of a pair how far they are from meeting, infinite if they are not near."""
    o, m = s.candidates, s.motion
    side, x, R = s.local[_AWAY], s.local[_AT], s.relative
    for turn in range(2):
        first, second = o.frames[pair, turn], o.frames[pair, 1 - turn]
        relate(m.at[second], m.axes[second], m.at[first], m.axes[first], x, R)
        _shift(o.center[pair, turn], x, R, side)
        for i in range(3):
            side[i] -= o.center[pair, 1 - turn, i]
        for k in range(o.first[pair], o.first[pair + 1]):
            if o.turned[k] != turn:
                continue
            if o.half[k] < 0.0:
                _rehome(s, k, x, R)
            more = KEPT if o.owner[k] >= 0 else 1.0
            if o.form[k] == CORNER:
                o.value[k] = _corner_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair])
            elif o.form[k] == CROSS:
                o.value[k] = _cross_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair], side)
            elif o.form[k] == OVER:
                o.value[k] = _over_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair], turning)
            elif o.form[k] != BESIDE:
                o.value[k] = _rim_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair], side)
            else:
                o.value[k] = _beside_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair])
