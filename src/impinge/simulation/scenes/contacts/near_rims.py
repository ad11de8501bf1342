"""How far rims of cylinders are from faces, lines and other rims that they may meet; see `nearness`."""

from __future__ import annotations

from math import atan2, cos, inf, sin, sqrt, tau
from typing import Any

from impinge.compile import jit
from impinge.simulation.scenes.contacts.near_corners import LEVEL_LINES, beyond_of, inside_of, leads_away, shift
from impinge.simulation.scenes.contacts.pairs import ACROSS
from impinge.simulation.scenes.contacts.rings import LEVEL, across
from impinge.simulation.scenes.contacts.vectors import cross, dot, turned
from impinge.simulation.scenes.tables import SceneTables

_SAMPLES = 24  # places on a rim that are tried
_TOUCHES = 1e-5  # share of the distance looked at, below which a flat end touches
_ROUNDS = 40  # by which the nearest places of two rims are approached

# Rows of `SceneTables.local` that are free here: where the other shape is, a place, and others.
_AT, _TO, _AXIS, _ACROSS, _AWAY, _ONE, _U, _V, _OTHER, _Y, _Z, _EXTRA = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
SPIN = 12  # how one shape turns as seen from the other


@jit
def over_off(s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float) -> float:
    """Return how far a rim's lowest place is from meeting a face, infinite if it is not near."""
    o, p, axis, n = s.candidates, s.local[_TO], s.local[_AXIS], s.candidates.across[k]
    turned(R, o.along[k], axis)
    lean = dot(n, axis)
    sine = sqrt(max(1.0 - lean * lean, 0.0))
    if lean > level:
        return inf
    shift(o.ball[k], x, R, p)
    for i in range(3):
        p[i] -= o.at[k, i] + o.length[k, 0] * (n[i] - lean * axis[i]) / max(sine, 0.5 * LEVEL)
    gap, inside = dot(n, p), inside_of(s, k, p)
    # A rim that begins to lean is looked at again soon.
    if sine < LEVEL and -deep <= gap <= _TOUCHES * near and inside >= -aside:
        cross(s.local[SPIN], n, s.local[_ONE])
        leaning = sqrt(dot(s.local[_ONE], s.local[_ONE]))
        if leaning > 0.0:
            s.hasten[0] = min(s.hasten[0], 2.0 * LEVEL / leaning)
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
def rim_off(
    s: SceneTables, k: int, x: Any, R: Any, near: float, aside: float, level: float, deep: float, side: Any
) -> float:
    """Do so for a rim and a line or another rim: of the places tried, the nearest are improved in turn."""
    o, v = s.candidates, s.local
    center, axis, n, one, u, w, other = v[_TO], v[_AXIS], v[_ACROSS], v[_ONE], v[_U], v[_V], v[_OTHER]
    rims, size, best, angle, far_angle, along = o.form[k] != ACROSS, o.length[k, 0], inf, 0.0, 0.0, 0.0
    shift(o.ball[k], x, R, center)
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
    beyond = beyond_of(along, o.length[k, 1])
    for i in range(3):
        one[i] = -n[i]
    ends = beyond <= aside / max(sine, 0.05)
    return max(abs(gap), beyond) if ends and leads_away(s, o.spokes[k, 2], o.spokes[k, 3], one, level) else inf


@jit
def _isbeyond_of(s: SceneTables, k: int, x: Any, R: Any) -> bool:
    """Tell whether the touching point of a contact that holds a candidate of a rim is on the other half of the rim."""
    o, v = s.candidates, s.local
    center, n, one, u, w, other = v[_TO], v[_ACROSS], v[_ONE], v[_U], v[_V], v[_OTHER]
    if o.owner[k] < 0:
        return False
    shift(o.ball[k], x, R, center)
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
def rehome(s: SceneTables, k: int, x: Any, R: Any) -> None:
    """Let the contacts of both halves of a rim be those of the halves on which they are now."""
    o, f = s.candidates, s.features
    one, other = _isbeyond_of(s, k, x, R), _isbeyond_of(s, k + 1, x, R)
    if (one and (other or o.owner[k + 1] < 0)) or (other and o.owner[k] < 0):
        o.owner[k], o.owner[k + 1] = o.owner[k + 1], o.owner[k]
        for i in range(k, k + 2):
            if o.owner[i] >= 0:
                f.held[o.owner[i]] = i
