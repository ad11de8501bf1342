"""Rims of cylinders: over a plane, across a line, across each other; see `pairs`.

A place on a rim is C + R (cos φ U + sin φ V). Where two curves are nearest to each other the way between them is at
right angles to both; the angles are found by Newton's method from where they were, and their rates by two more steps of
it with numbers that move, each of which adds an order.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

from impinge.compile import jit
from impinge.simulation.scenes.contacts.jets import (
    Number,
    add,
    carry_direction,
    cosine_and_sine,
    fixed,
    inner,
    minus,
    outer,
    plus,
    scaled,
    times,
    unit,
)
from impinge.simulation.scenes.contacts.vectors import cross
from impinge.simulation.scenes.tables import SceneTables

# Rows of `SceneTables.jets`: as in `pairs`, and two directions across each axis.
_P, _D, _Q, _E, _N, _X, _W, _V, _U1, _V1, _U2, _V2 = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
JETS = 12
LEVEL = 1e-7  # sine of the angle between a flat face and a plane below which its rim has no lowest place
_ITERATIONS = 30


@jit
def across(axis: Any, u: Any, v: Any) -> None:
    """Write two directions at right angles to an axis and to each other; they depend on the axis alone."""
    least = 0
    for i in range(1, 3):
        if abs(axis[i]) < abs(axis[least]) - 1e-9:
            least = i
    for i in range(3):
        v[i] = 1.0 if i == least else 0.0
    cross(v, axis, u)
    size = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) ** 0.5
    for i in range(3):
        u[i] /= size
    cross(axis, u, v)


@jit
def _carry_rim(s: SceneTables, frame: int, axis: Any, one: int, other: int) -> None:
    u, v = s.local[2], s.local[3]
    across(axis, u, v)
    carry_direction(s.motion, frame, u, s.local[0], s.jets[one])
    carry_direction(s.motion, frame, v, s.local[0], s.jets[other])


@jit
def rim_over_plane(s: SceneTables, c: int) -> Number:
    """Return the gap of a rim's lowest place over a plane; write normal and touching point, and how the rim leans."""
    f, jets = s.features, s.jets
    carry_direction(s.motion, f.ball_frame[c], f.along[c], s.local[0], jets[_D])
    carry_direction(s.motion, f.surface_frame[c], f.across[c], s.local[0], jets[_N])
    lean = inner(jets[_N], jets[_D])
    add(jets[_N], (-lean[0], -lean[1], -lean[2]), jets[_D], jets[_V])
    sine = unit(jets[_V], jets[_V])
    for k in range(3):
        s.along[0, k] = f.length[c, 0] * sine[k]
    add(jets[_P], fixed(-f.length[c, 0]), jets[_V], jets[_X])
    add(jets[_X], fixed(-1.0), jets[_Q], jets[_W])
    return inner(jets[_W], jets[_N])


@jit
def _between(s: SceneTables, c: int) -> Number:
    """Return how far nearest places X and W of two curves are apart, whose tangents there are in jets V and E.

    Sharp curves that touch have no way between them: their normal is at right angles to both.
    """
    f, jets = s.features, s.jets
    add(jets[_X], fixed(-1.0), jets[_W], jets[_W])
    if f.round[c, 1] > 0.0:
        return unit(jets[_W], jets[_N])
    outer(jets[_V], jets[_E], jets[_N])
    unit(jets[_N], jets[_N])
    scaled(fixed(f.sign[c]), jets[_N], jets[_N])
    return inner(jets[_W], jets[_N])


@jit
def _on_rim(s: SceneTables, place: int, one: int, other: int, radius: float, c: Number, sn: Number, out: int) -> None:
    jets, r = s.jets, fixed(radius)
    add(jets[place], times(r, c), jets[one], jets[out])
    add(jets[out], times(r, sn), jets[other], jets[out])


@jit
def _tangent(s: SceneTables, one: int, other: int, c: Number, sn: Number, out: int) -> None:
    scaled(c, s.jets[other], s.jets[out])
    add(s.jets[out], (-sn[0], -sn[1], -sn[2]), s.jets[one], s.jets[out])


@jit
def rim_across_line(s: SceneTables, c: int) -> Number:
    """Return the gap of a rim and a line; write normal and touching point, and where along the line that is."""
    f, jets, R = s.features, s.jets, s.features.length[c, 0]
    carry_direction(s.motion, f.surface_frame[c], f.across[c], s.local[0], jets[_E])
    _carry_rim(s, f.ball_frame[c], f.along[c], _U1, _V1)
    a, b, e = inner(jets[_W], jets[_U1]), inner(jets[_W], jets[_V1]), inner(jets[_W], jets[_E])
    g, h = inner(jets[_U1], jets[_E]), inner(jets[_V1], jets[_E])
    angle, slope = f.angle[c, 0], 1.0
    for _ in range(_ITERATIONS):
        x, y = cos(angle), sin(angle)
        way, turn = e[0] + R * (x * g[0] + y * h[0]), x * h[0] - y * g[0]
        slope = -x * a[0] - y * b[0] - R * turn * turn + way * (x * g[0] + y * h[0])
        step = (x * b[0] - y * a[0] - way * turn) / slope
        angle -= max(min(step, 0.3), -0.3)
        if abs(step) < 1e-15:
            break
    s.angle[0] = angle
    phi = fixed(angle)
    for order in range(1, 3):
        x_, y_ = cosine_and_sine(phi)
        round_ = plus(times(x_, g), times(y_, h))
        way_ = plus(e, times(fixed(R), round_))
        turn_ = minus(times(x_, h), times(y_, g))
        off = minus(minus(times(x_, b), times(y_, a)), times(way_, turn_))
        phi = (phi[0], -off[1] / slope, 0.0) if order == 1 else (phi[0], phi[1], -off[2] / slope)
    x_, y_ = cosine_and_sine(phi)
    _on_rim(s, _P, _U1, _V1, R, x_, y_, _X)
    _tangent(s, _U1, _V1, x_, y_, _V)
    along = plus(e, times(fixed(R), plus(times(x_, g), times(y_, h))))
    for k in range(3):
        s.along[1, k] = along[k]
    add(jets[_Q], along, jets[_E], jets[_W])
    gap = _between(s, c)
    return gap[0] - f.round[c, 1], gap[1], gap[2]


@jit
def rim_across_rim(s: SceneTables, c: int) -> Number:
    """Return the gap of two rims; write normal and touching point."""
    f, jets = s.features, s.jets
    R, r = f.length[c, 0], f.length[c, 1]
    _carry_rim(s, f.ball_frame[c], f.along[c], _U1, _V1)
    _carry_rim(s, f.surface_frame[c], f.across[c], _U2, _V2)
    a1, b1 = inner(jets[_W], jets[_U1]), inner(jets[_W], jets[_V1])
    a2, b2 = inner(jets[_W], jets[_U2]), inner(jets[_W], jets[_V2])
    uu, uv = inner(jets[_U1], jets[_U2]), inner(jets[_U1], jets[_V2])
    vu, vv = inner(jets[_V1], jets[_U2]), inner(jets[_V1], jets[_V2])
    one, other = f.angle[c, 0], f.angle[c, 1]
    j11 = j12 = j21 = j22 = 0.0
    for _ in range(_ITERATIONS):
        x, y, z, w = cos(one), sin(one), cos(other), sin(other)
        f1 = x * b1[0] - y * a1[0] - r * (z * (x * vu[0] - y * uu[0]) + w * (x * vv[0] - y * uv[0]))
        f2 = z * b2[0] - w * a2[0] + R * (x * (z * uv[0] - w * uu[0]) + y * (z * vv[0] - w * vu[0]))
        both = x * (z * uu[0] + w * uv[0]) + y * (z * vu[0] + w * vv[0])
        turns = x * (z * vv[0] - w * vu[0]) - y * (z * uv[0] - w * uu[0])
        j11, j12 = -x * a1[0] - y * b1[0] + r * both, -r * turns
        j21, j22 = R * turns, -z * a2[0] - w * b2[0] - R * both
        det = j11 * j22 - j12 * j21
        step, more = (f1 * j22 - f2 * j12) / det, (f2 * j11 - f1 * j21) / det
        one -= max(min(step, 0.3), -0.3)
        other -= max(min(more, 0.3), -0.3)
        if abs(step) + abs(more) < 1e-15:
            break
    s.angle[0], s.angle[1] = one, other
    phi, psi = fixed(one), fixed(other)
    det = j11 * j22 - j12 * j21
    for order in range(1, 3):
        x_, y_ = cosine_and_sine(phi)
        z_, w_ = cosine_and_sine(psi)
        first = minus(times(x_, b1), times(y_, a1))
        part = plus(times(z_, minus(times(x_, vu), times(y_, uu))), times(w_, minus(times(x_, vv), times(y_, uv))))
        o1 = minus(first, times(fixed(r), part))
        second = minus(times(z_, b2), times(w_, a2))
        part = plus(times(x_, minus(times(z_, uv), times(w_, uu))), times(y_, minus(times(z_, vv), times(w_, vu))))
        o2 = plus(second, times(fixed(R), part))
        step, more = (o1[order] * j22 - o2[order] * j12) / det, (o2[order] * j11 - o1[order] * j21) / det
        if order == 1:
            phi, psi = (phi[0], -step, 0.0), (psi[0], -more, 0.0)
        else:
            phi, psi = (phi[0], phi[1], -step), (psi[0], psi[1], -more)
    x_, y_ = cosine_and_sine(phi)
    z_, w_ = cosine_and_sine(psi)
    _on_rim(s, _P, _U1, _V1, R, x_, y_, _X)
    _tangent(s, _U1, _V1, x_, y_, _V)
    _on_rim(s, _Q, _U2, _V2, r, z_, w_, _W)
    _tangent(s, _U2, _V2, z_, w_, _E)
    return _between(s, c)
