"""How far corners are from faces, and lines from lines and corners that they may meet; see `nearness`."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from impinge.compile import jit
from impinge.simulation.scenes.contacts.pairs import PARALLEL
from impinge.simulation.scenes.contacts.vectors import back, cross, dot, turned
from impinge.simulation.scenes.tables import SceneTables

LEVEL_LINES = 1e-9  # sine of the angle between two lines up to which they are parallel, and do not cross
_APART = 1e-3  # sine by which faces lead away from where parallel edges meet
_MEETS = 1e-8  # share of the distance looked at, below which they have met

# Rows of `SceneTables.local` that are free here: where the other shape is, a place, and others.
_AT, _TO, _AXIS, _ACROSS, _AWAY, _ONE = 0, 1, 2, 3, 4, 5


@jit
def shift(p: Any, x: Any, R: Any, out: Any) -> None:
    """Write where a place of one shape is, seen from the other, whose pose there is x, R."""
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
def inside_of(s: SceneTables, k: int, p: Any) -> float:
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
def corner_off(s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float) -> float:
    """Return how far a corner is from meeting a face, infinite if it is not near; see `nearness.look`."""
    o, p, n = s.candidates, s.local[_TO], s.local[_AXIS]
    shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    gap = dot(o.across[k], p) - o.round[k, 0]
    if not -deep <= gap <= near:
        return inf
    inside = inside_of(s, k, p)
    back(R, o.across[k], n)
    if inside < -aside or not leads_away(s, o.spokes[k, 0], o.spokes[k, 1], n, level):
        return inf
    return max(abs(gap), -inside)


@jit
def beyond_of(x: float, length: float) -> float:
    """Return how far a place along a line is beyond its ends."""
    return max(-x, x - length)


@jit
def _watch_parallel(s: SceneTables, k: int, x: Any, R: Any, near: float) -> None:
    """Let steps become short while two sharp edges that are parallel come to meet, and note where they do.

    They would meet along their length, which has no normal: what lies level with a face does not count.
    """
    o, p, d, n = s.candidates, s.local[_TO], s.local[_AXIS], s.local[_ACROSS]
    shift(o.ball[k], x, R, p)
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
def cross_off(
    s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float, side: Any
) -> float:
    """Return how far two lines are from meeting where they cross, infinite if they are not near."""
    o, p, d, n = s.candidates, s.local[_TO], s.local[_AXIS], s.local[_ACROSS]
    turned(R, o.along[k], d)
    cross(d, o.across[k], n)
    square = dot(n, n)
    if square < LEVEL_LINES * LEVEL_LINES:
        if o.round[k, 0] + o.round[k, 1] == 0.0:
            _watch_parallel(s, k, x, R, near)
        return inf
    sine = sqrt(square)
    shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    sign = 1.0 if dot(n, side) > 0.0 else -1.0
    gap = sign * dot(n, p) / sine - o.round[k, 0] - o.round[k, 1]
    if not -deep <= gap <= near:
        return inf
    way = s.local[_ONE]
    cross(o.across[k], p, way)
    beyond = beyond_of(dot(way, n) / square, o.length[k, 0])
    cross(d, p, way)
    beyond = max(beyond, beyond_of(dot(way, n) / square, o.length[k, 1]))
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
def beside_off(s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float) -> float:
    """Return how far a place is from meeting a line beside it, infinite if it is not near."""
    o, p, n = s.candidates, s.local[_TO], s.local[_AXIS]
    shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i]
    along = dot(o.across[k], p)
    square = max(dot(p, p) - along * along, 0.0)
    gap, beyond = sqrt(square) - o.round[k, 0] - o.round[k, 1], beyond_of(along, o.length[k, 1])
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
