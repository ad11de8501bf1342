"""Who may touch within a step, and what velocities do to the gaps.

A pair of shapes is near if the two could meet within the step at their speeds, with some room to spare. Each of its
contact points has a normal n from the second shape to the first and two tangents; their rates are

    u = (v_a + ω_a × r_a) − (v_b + ω_b × r_b)   along n, t₁, t₂,

linear in the velocities of what can be pushed (J), plus what moves on its own (bias).
"""

from __future__ import annotations

from math import isnan, nan, sqrt
from typing import Any

from impinge.compile import ask, entry, jit
from impinge.geometry.broad import bounds, near_pairs, place_of
from impinge.geometry.pairs.meeting_edges import TOGETHER, have_two_normals
from impinge.geometry.table import BOX, FEATURE, GAP, NORMAL, PLACE
from impinge.scene.world import STANDS
from impinge.simulation.bodies.stage import LAST, NOW, PAIRS, ROOM, Stage
from impinge.simulation.bodies.touching.patch import place_friction
from impinge.simulation.bodies.touching.rows import write_rows

# Beside its own speed, room for what pushes within the step can do: as a share of it, in m, and of the radius.
_SPARE, _LEAST, _SHARE = 1.5, 1e-6, 0.01


@jit
def set_reach(world: Any, s: Any, h: float) -> None:
    """Write how far each frame's shapes may move within a step at their speeds."""
    frames = s.frames
    fall = h * sqrt(world.gravity[0] ** 2 + world.gravity[1] ** 2 + world.gravity[2] ** 2)
    for f in range(world.kind.size):
        v, w = frames.velocity[f], frames.spin[f]
        speed = sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
        spin = sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2)
        if spin > 0.0:
            speed += spin * world.radius[f]
        s.reach[f] = _SPARE * h * speed + _LEAST
        if world.block[f] >= 0:
            s.reach[f] += _SPARE * h * fall + _SHARE * world.radius[f]


@jit
def _rub(world: Any, a: int, b: int, fa: int, fb: int) -> float:
    """Return the coefficient of friction of two shapes."""
    own = place_of(world.rubbing, min(fa, fb) * world.kind.size + max(fa, fb))
    return world.coefficient[own] if own >= 0 else min(world.shapes.friction[a], world.shapes.friction[b])


@jit
def tangents(axes: Any) -> None:
    """Write two tangents below a normal."""
    x, y, z = axes[0, 0], axes[0, 1], axes[0, 2]
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        a, b, c = 0.0, z, -y
    elif abs(y) <= abs(z):
        a, b, c = -z, 0.0, x
    else:
        a, b, c = y, -x, 0.0
    size = sqrt(a * a + b * b + c * c)
    a, b, c = a / size, b / size, c / size
    axes[1, 0], axes[1, 1], axes[1, 2] = a, b, c
    axes[2, 0], axes[2, 1], axes[2, 2] = y * c - z * b, z * a - x * c, x * b - y * a


@jit
def _wake(world: Any, s: Any) -> None:
    """Wake the islands that something which is neither fixed nor asleep may touch within the step."""
    shapes, frames = world.shapes, s.frames
    for k in range(s.used[PAIRS]):
        a, b = s.pairs[k, 0], s.pairs[k, 1]
        fa, fb = shapes.frame[a], shapes.frame[b]
        if (s.asleep[fa] != 0) == (s.asleep[fb] != 0):
            continue
        sleeper, other = (fa, fb) if s.asleep[fa] != 0 else (fb, fa)
        if world.kind[other] == STANDS:
            continue
        code, margin = s.collide.code[shapes.kind[a], shapes.kind[b]], s.reach[fa] + s.reach[fb]
        if ask(code, (shapes, frames.shape_at, frames.shape_axes, s.collide, a, b, margin, s.points)) > 0:
            group = s.asleep[sleeper]
            for f in range(world.kind.size):
                if s.asleep[f] == group:
                    s.asleep[f] = 0


@jit
def _kept(world: Any, s: Any, fa: int, fb: int) -> bool:
    """Tell whether the contacts of two frames are kept as they were in the last step."""
    resting = (s.asleep[fa] != 0 or world.kind[fa] == STANDS) and (s.asleep[fb] != 0 or world.kind[fb] == STANDS)
    return resting and (s.asleep[fa] != 0 or s.asleep[fb] != 0)


@jit
def seek(s: Any, first: int, a: int, b: int) -> int:
    """Return where the contacts of two shapes start in the last step, not before a place; both lists are in order."""
    last = s.last
    while first < s.used[LAST] and (
        last.shapes[first, 0] < a or (last.shapes[first, 0] == a and last.shapes[first, 1] < b)
    ):
        first += 1
    return first


@jit
def _copy_last(s: Any, first: int, count: int, a: int, b: int) -> int:
    """Take over the contacts of two shapes from the last step; return how many, or −1 if there is no room."""
    now, last, k = s.now, s.last, first
    while k < s.used[LAST] and last.shapes[k, 0] == a and last.shapes[k, 1] == b:
        c = count + k - first
        if c >= now.point.shape[0]:
            s.used[ROOM] = 2 * now.point.shape[0]
            return -1
        for side in range(2):
            now.shapes[c, side], now.frames[c, side] = last.shapes[k, side], last.frames[k, side]
        for j in range(now.point.shape[1]):
            now.point[c, j] = last.point[k, j]
        for r in range(3):
            now.rub[c, r] = last.rub[k, r]
            for j in range(3):
                now.axes[c, r, j] = last.axes[k, r, j]
        now.share[c], s.problem.mu[c], s.kept[c] = last.share[k], 0.0, k
        k += 1
    return k - first


@jit
def _rate(frames: Any, f: int, place: Any, n: Any) -> float:
    """Return how fast a place of a frame moves along a direction."""
    x, y, z = place[0] - frames.at[f, 0], place[1] - frames.at[f, 1], place[2] - frames.at[f, 2]
    v, w = frames.velocity[f], frames.spin[f]
    along = n[0] * (v[0] + w[1] * z - w[2] * y) + n[1] * (v[1] + w[2] * x - w[0] * z)
    return along + n[2] * (v[2] + w[0] * y - w[1] * x)


@jit
def _leave_edges(world: Any, s: Any, fa: int, fb: int, h: float, points: Any) -> int:
    """Keep one normal of two where edges that meet slide off each other within the step; return how many points stay.

    They part along the normal along which they will be farther apart; the other one would hold them back.
    """
    first, second = 0.0, 0.0
    for k in range(2):
        place = points[k, PLACE : PLACE + 3]
        one, other = points[k, NORMAL : NORMAL + 3], points[2 + k, NORMAL : NORMAL + 3]
        first += 0.5 * h * (_rate(s.frames, fa, place, one) - _rate(s.frames, fb, place, one))
        second += 0.5 * h * (_rate(s.frames, fa, place, other) - _rate(s.frames, fb, place, other))
    if abs(first - second) <= TOGETHER * min(world.radius[fa], world.radius[fb]):
        return 4
    if second > first:
        for k in range(2):
            for j in range(points.shape[1]):
                points[k, j] = points[2 + k, j]
    return 2


@jit
def add_pair(world: Any, s: Any, a: int, b: int, h: float, count: int) -> int:
    """Add the contact points of two shapes that could close within the step; return how many, or −1 without room."""
    shapes, now, points = world.shapes, s.now, s.points
    fa, fb = shapes.frame[a], shapes.frame[b]
    code = s.collide.code[shapes.kind[a], shapes.kind[b]]
    if code == 0:  # two half-spaces
        return 0
    margin = s.reach[fa] + s.reach[fb]
    many = ask(code, (shapes, s.frames.shape_at, s.frames.shape_axes, s.collide, a, b, margin, points))
    if shapes.kind[a] >= BOX and have_two_normals(points, many):
        many = _leave_edges(world, s, fa, fb, h, points)
    if count + many > now.point.shape[0]:
        s.used[ROOM] = 2 * now.point.shape[0] + many
        return -1
    mu = _rub(world, a, b, fa, fb)
    for c in range(count, count + many):
        now.shapes[c, 0], now.shapes[c, 1] = a, b
        now.frames[c, 0], now.frames[c, 1] = fa, fb
        for j in range(points.shape[1]):
            now.point[c, j] = points[c - count, j]
        for j in range(3):
            now.axes[c, 0, j] = points[c - count, NORMAL + j]
        tangents(now.axes[c])
        s.problem.mu[c], s.kept[c] = mu, -1
    return many


@jit
def find_contacts(world: Any, s: Any, h: float) -> bool:
    """Find all contact points that could close within the step; return False if there is no room for them."""
    shapes = world.shapes
    for k in range(shapes.kind.size):
        s.around[k] = s.reach[shapes.frame[k]]
    x, R = s.frames.shape_at, s.frames.shape_axes
    bounds(shapes.kind, shapes.size, shapes.polytope, shapes.polytopes, x, R, s.around, s.lo, s.hi)
    found = near_pairs(s.lo, s.hi, shapes.kind, shapes.frame, world.dynamic, world.excluded, s.grid, s.pairs)
    if found < 0:
        s.used[ROOM] = -found
        return False
    s.used[PAIRS], count, first = found, 0, 0
    _wake(world, s)
    for k in range(found):
        a, b = s.pairs[k, 0], s.pairs[k, 1]
        if _kept(world, s, shapes.frame[a], shapes.frame[b]):
            first = seek(s, first, a, b)
            many = _copy_last(s, first, count, a, b)
        else:
            many = add_pair(world, s, a, b, h, count)
        if many < 0:
            return False
        count += many
    s.used[NOW] = count
    return True


@jit
def _same(one: Any, other: Any) -> bool:
    for i in range(3):
        for j in range(3):
            if one[i, j] != other[i, j]:
                return False
    return True


@jit
def remember(s: Any) -> None:
    """Start each contact from the impulse that the same features had in the last step; both lists are in order."""
    now, last, impulse = s.now, s.last, s.problem.impulse
    first = 0
    for c in range(s.used[NOW]):
        for r in range(3):
            impulse[c, r] = 0.0
        s.match[c] = s.kept[c]
        if s.kept[c] >= 0:
            continue
        a, b, now.share[c], now.bend[c] = now.shapes[c, 0], now.shapes[c, 1], 0.0, 0.0
        k = first = seek(s, first, a, b)
        while k < s.used[LAST] and last.shapes[k, 0] == a and last.shapes[k, 1] == b:
            if last.point[k, FEATURE] == now.point[c, FEATURE]:
                s.match[c], now.share[c] = k, last.share[k]
                if last.impulse[k, 0] > 0.0:
                    came = now.point[c, GAP] - last.expected[k]
                    now.bend[c] = min(came if isnan(last.bend[k]) else last.bend[k], 0.0)
                if _same(now.axes[c], last.axes[k]):  # then nothing is to be rounded: what rests stays exactly so
                    for r in range(3):
                        impulse[c, r] = last.impulse[k, r]
                    break
                for r in range(3):
                    for i in range(3):
                        along = 0.0
                        for j in range(3):
                            along += now.axes[c, r, j] * last.axes[k, i, j]
                        impulse[c, r] += along * last.impulse[k, i]
                break
            k += 1


@jit
def keep(s: Any) -> None:
    """Make the contacts of this step those of the last."""
    now, last = s.now, s.last
    s.used[LAST] = s.used[NOW]
    for c in range(s.used[NOW]):
        for side in range(2):
            last.shapes[c, side], last.frames[c, side] = now.shapes[c, side], now.frames[c, side]
        for j in range(now.point.shape[1]):
            last.point[c, j] = now.point[c, j]
        for r in range(3):
            last.impulse[c, r], last.rub[c, r] = s.problem.impulse[c, r], now.rub[c, r]
            for j in range(3):
                last.axes[c, r, j] = now.axes[c, r, j]
        last.given[c], last.share[c] = now.given[c], now.share[c]
        last.expected[c], last.bend[c] = now.expected[c], nan


@entry
def look_around(s: Stage, h: float) -> int:
    """Find all contacts that could close within the step, with their rows and first impulses; 0 if there is no room."""
    if not find_contacts(s.world, s, h):
        return 0
    remember(s)
    place_friction(s)
    write_rows(s.world, s)
    return 1


@jit
def deepest(s: Any) -> float:
    """Return the smallest gap of all contacts."""
    least = 0.0
    for c in range(s.used[NOW]):
        least = min(least, s.now.point[c, GAP])
    return least
