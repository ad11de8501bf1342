"""One contact of a scene in closed form: gap, rates and what they become.

Seen from the surface (axes S, angular velocity ω_b) the ball's center is at x; with the signed distance φ,

    γ = φ(x) − ρ,   γ̇ = n·ẋ,   γ̈ = n·ẍ + ẋᵀHẋ,   n = ∇φ,   ṅ = Hẋ,   H = ∇²φ.

The ball slides with u = ẋ − ρ Ω × n, where Ω is its angular velocity relative to the surface. Tangents follow the
normal by the least turn from a reference.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.scene.world import FOLLOWS, FREE, LINKED
from impinge.simulation.scenes.contacts.distance import distance
from impinge.simulation.scenes.contacts.pairs import BALL, NOTHING, margin, pair_gap, set_normal, set_slip, whole
from impinge.simulation.scenes.contacts.vectors import back, cross, dot, turned
from impinge.simulation.scenes.tables import SceneTables

# Vectors in passing, rows of `SceneTables.local`. Those before N are in the world's axes, the others in the surface's.
# ARM and REACH are the ball's center from the origins of its own frame and of the surface's.
ARM, REACH, RATE, CURVE, TURN, TURN_RATE, ALONG, HERE, THERE = 0, 1, 2, 3, 4, 5, 6, 7, 8
N, N_RATE, X, X_RATE, X_CURVE, SPIN, SPIN_RATE, T, T_RATE, U, U_RATE = 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19
VECTORS = 20
FAR = 0.5  # cosine between a normal and the reference of its tangents below which that moves on
_LEAST = 1e-9  # below this, one plus the cosine between normal and reference counts as this


@jit
def _add_point(motion: Any, f: int, arm: Any, sign: float, scratch: Any, rate: Any, curve: Any) -> None:
    """Add velocity and acceleration of a point of a frame."""
    w = motion.spin[f]
    cross(w, arm, scratch)
    for i in range(3):
        rate[i] += sign * (motion.velocity[f, i] + scratch[i])
    cross(w, scratch, scratch)
    for i in range(3):
        curve[i] += sign * (motion.push[f, i] + scratch[i])
    cross(motion.twist[f], arm, scratch)
    for i in range(3):
        curve[i] += sign * scratch[i]


@jit
def place(s: SceneTables, c: int) -> float:
    """Return the gap of a contact; write its normal and how ball and surface move against each other to ``s.local``."""
    f, motion, v = s.features, s.motion, s.local
    a, b = f.ball_frame[c], f.surface_frame[c]
    turned(motion.axes[a], f.ball[c], v[ARM])
    for i in range(3):
        v[REACH, i] = motion.at[a, i] + v[ARM, i] - motion.at[b, i]
        v[RATE, i] = v[CURVE, i] = 0.0
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += motion.axes[b, i, k] * f.axes[c, k, j]
            s.surface[i, j] = total
    _add_point(motion, a, v[ARM], 1.0, v[HERE], v[RATE], v[CURVE])
    _add_point(motion, b, v[REACH], -1.0, v[HERE], v[RATE], v[CURVE])
    w = motion.spin[b]
    cross(w, v[RATE], v[HERE])
    for i in range(3):
        v[CURVE, i] -= 2.0 * v[HERE, i]
        v[TURN, i] = motion.spin[a, i] - w[i]
    cross(w, v[TURN], v[HERE])
    for i in range(3):
        v[TURN_RATE, i] = motion.twist[a, i] - motion.twist[b, i] - v[HERE, i]
    back(motion.axes[b], v[REACH], v[X])
    for i in range(3):
        v[X, i] -= f.at[c, i]
    back(f.axes[c], v[X], v[X])
    back(s.surface, v[RATE], v[X_RATE])
    back(s.surface, v[CURVE], v[X_CURVE])
    gap = distance(s, c, v[X], v[X_RATE], v[N], v[N_RATE], v[HERE], v[THERE]) - f.radius[c]
    for i in range(3):
        s.normal[c, i] = v[N, i]
    return whole(gap)


@jit
def _relative(s: SceneTables, c: int) -> None:
    """Write the velocity with which the ball slides over the surface, and its rate."""
    v, rho = s.local, s.features.radius[c]
    back(s.surface, v[TURN], v[SPIN])
    back(s.surface, v[TURN_RATE], v[SPIN_RATE])
    cross(v[SPIN], v[N], v[U])
    cross(v[SPIN], v[N_RATE], v[U_RATE])
    cross(v[SPIN_RATE], v[N], v[HERE])
    for i in range(3):
        v[U, i] = v[X_RATE, i] - rho * v[U, i]
        v[U_RATE, i] = v[X_CURVE, i] - rho * (v[U_RATE, i] + v[HERE, i])


@jit
def tangent(s: SceneTables, c: int, second: bool) -> None:
    """Write a tangent at the current normal, and how it turns with it."""
    v, n0, t0 = s.local, s.features.reference[c, 0], s.features.reference[c, 1]
    n, turning, t, rate = v[N], v[N_RATE], v[T], v[T_RATE]
    if second:
        cross(n0, t0, v[HERE])
        t0 = v[HERE]
    near, lean = max(1.0 + dot(n, n0), _LEAST), dot(n, t0)
    factor = lean / near
    slope = (dot(turning, t0) - factor * dot(turning, n0)) / near
    for i in range(3):
        t[i] = t0[i] - factor * (n[i] + n0[i])
        rate[i] = -slope * (n[i] + n0[i]) - factor * turning[i]


@jit
def divide(L: Any, n: int, x: Any) -> None:
    """Solve L Lᵀ y = x in place, for the first n numbers."""
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for j in range(n):
        i = n - 1 - j
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@jit
def _sides(s: SceneTables, c: int, row: int, direction: Any) -> float:
    """Write J and X of a row along a direction in the surface's axes; return the part of its rate that is known."""
    world, motion, f, v, J, X = s.world, s.motion, s.features, s.local, s.J[row], s.X[row]
    e, moment, known = v[ALONG], v[HERE], 0.0
    turned(s.surface, direction, e)
    for side in range(2):
        frame = f.ball_frame[c] if side == 0 else f.surface_frame[c]
        sign, first = 1.0 - 2.0 * side, s.widest * side
        turned(s.surface, v[N], moment)
        for i in range(3):
            moment[i] = v[ARM + side, i] - f.radius[c] * moment[i]  # the touching point from the frame's origin
        cross(moment, e, moment)
        if world.kind[frame] == FOLLOWS:
            known += sign * (dot(e, motion.velocity[frame]) + dot(moment, motion.spin[frame]))
        elif world.kind[frame] == FREE:
            back(motion.axes[frame], moment, moment)
            turned(world.inverse[frame], moment, v[THERE])
            for i in range(3):
                J[first + i], J[first + 3 + i] = sign * e[i], sign * moment[i]
                X[first + i], X[first + 3 + i] = sign * e[i] / world.mass[frame], sign * v[THERE, i]
        elif world.kind[frame] == LINKED:
            r, L = world.robot[frame], motion.jacobian[frame]
            for k in range(world.nv[r]):
                total = 0.0
                for i in range(3):
                    total += e[i] * L[i, k] + moment[i] * L[3 + i, k]
                J[first + k] = X[first + k] = sign * total
            divide(motion.factor[r], world.nv[r], X[first:])
    return known


@jit
def locate(s: SceneTables, c: int) -> float:
    """Return the gap of any contact; write its normal in the surface's axes, and how that turns."""
    if s.features.form[c] == BALL:
        return place(s, c)
    if s.features.form[c] == NOTHING:
        return s.features.far[c]
    gap = pair_gap(s, c)
    set_normal(s, c, N, N_RATE)
    return whole(gap[0])


@jit
def _write_end(s: SceneTables, c: int, gap: Any, extent: Any, extent_rate: Any) -> None:
    """Write how far a contact is from that end of its features which is watched in this step."""
    value = margin(s, c, s.features.watched[c], gap)
    k = s.features.end[c]
    extent[k], extent_rate[k] = value[0], value[1]


@jit
def write_contact(
    s: SceneTables, c: int, g: Any, rate: Any, drift: Any, partial: Any, extent: Any, extent_rate: Any
) -> None:
    """Write gap and slips of a contact: values, rates, their rates without contact forces, their known parts."""
    f, v, nc = s.features, s.local, s.features.radius.size
    i, slips = s.nh + c, s.features.slips
    if f.form[c] == NOTHING:
        g[i], rate[i], drift[i], partial[i] = f.far[c], 0.0, 0.0, 0.0
        extent[f.end[c]], extent_rate[f.end[c]] = f.far[c], 0.0
        for row in range(s.nh + nc + slips[c], s.nh + nc + slips[c + 1]):
            g[row], rate[row], drift[row], partial[row] = 0.0, 0.0, 0.0, 0.0
        return
    if f.form[c] == BALL:
        g[i] = place(s, c)
        rate[i] = dot(v[N], v[X_RATE])
        drift[i] = dot(v[N], v[X_CURVE]) + dot(v[N_RATE], v[X_RATE])
        if slips[c + 1] > slips[c]:
            _relative(s, c)
    else:
        gap = pair_gap(s, c)
        _write_end(s, c, gap, extent, extent_rate)
        set_normal(s, c, N, N_RATE)
        set_slip(s, c, ARM, REACH, U, U_RATE, HERE)
        g[i], rate[i], drift[i] = whole(gap[0]), gap[1], gap[2]
    partial[i] = _sides(s, c, i, v[N])
    for k in range(slips[c], slips[c + 1]):
        row = s.nh + nc + k
        tangent(s, c, k > slips[c])
        g[row] = 0.0
        rate[row] = dot(v[T], v[U])
        drift[row] = dot(v[T_RATE], v[U]) + dot(v[T], v[U_RATE])
        partial[row] = _sides(s, c, row, v[T])
