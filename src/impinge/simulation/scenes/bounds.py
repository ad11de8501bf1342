"""How far a gap of a scene can come along the dense output of a step: bounded by speed and reach.

A signed distance changes no faster than the ball's center moves as seen from the surface: no faster than

    |ṗ_a − ṗ_b| + |ω_a| |arm| + |ω_b| |reach|

with the centers p, the ball's arm in its body and its reach from the surface's. Along a polynomial path of a quaternion
Q a body turns no faster than 2|Q̇|/|Q|. From a plane that stands still, only the part along its normal counts.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from impinge.compile import call, entry, jit
from impinge.compile.kernels.bounds import FIELDS
from impinge.scene.paths import POSE
from impinge.scene.world import FOLLOWS, FREE, LINKED, STANDS
from impinge.simulation.integrate.step import dense_state
from impinge.simulation.locate.trace import clear_path, write_path, write_ranges
from impinge.simulation.scenes.contacts.contact import locate
from impinge.simulation.scenes.contacts.distance import FLAT
from impinge.simulation.scenes.contacts.pairs import BALL, NOTHING
from impinge.simulation.scenes.contacts.vectors import turned
from impinge.simulation.scenes.kernel import move
from impinge.simulation.scenes.tables import SceneTables, tables_at
from impinge.simulation.system.plant import Plant, Workspace

# Rows of the paths: p_a − p_b, as far as these are free or stand still, then the quaternions of both.
_APART, _TURNS = 0, 3
_MORE = 1.0 + 1e-12  # covers the rounding of what follows
_LEAST = 1e-3  # a quaternion that may be shorter than this says nothing


@jit
def _write_paths(s: SceneTables, plant: Plant, w: Workspace, h: float, c: int) -> None:
    """Write the paths of both frames of a contact."""
    for side in range(2):
        f = s.features.ball_frame[c] if side == 0 else s.features.surface_frame[c]
        sign, place = 1.0 - 2.0 * side, s.world.place[f]
        for i in range(3):
            path = w.proof.path[_APART + i]
            if side == 0:
                clear_path(0.0, path)
            if s.world.kind[f] == FREE:
                write_path(plant, w, h, place + i, sign, path)
            elif s.world.kind[f] == STANDS:
                path[0] += sign * s.world.at[f, i]
        for i in range(4):
            path = w.proof.path[_TURNS + 4 * side + i]
            clear_path(0.0, path)
            if s.world.kind[f] == FREE:
                write_path(plant, w, h, place + 3 + i, 1.0, path)


@jit
def _largest(lo: float, hi: float) -> float:
    return max(abs(lo), abs(hi))


@jit
def _spin(w: Workspace, row: int, a: float, b: float) -> float:
    """Return how fast a free frame turns at most over a part of the step, by θ."""
    box, rate, size = w.proof.box, 0.0, 0.0
    for i in range(4):
        write_ranges(w.proof.path[row + i], a, b, box)
        rate += _largest(box[2], box[3]) ** 2
        size += max(max(box[0], -box[1]), 0.0) ** 2
    if rate == 0.0:
        return 0.0
    return 2.0 * sqrt(rate / size) if size > _LEAST else np.inf


@jit
def _add_ranges(ranges: Any, k: int, sign: float, w: Workspace) -> float:
    """Add where the k-th of some bounded frames is, and how fast it moves, to the box; return how fast it turns."""
    square = 0.0
    for i in range(3):
        own, box = ranges[FIELDS * (POSE * k + i) :], w.proof.box[FIELDS * (1 + i) :]
        for j in range(FIELDS):
            box[j] += own[j] if sign > 0.0 else -own[j ^ 1]
    for i in range(3, POSE):
        own = ranges[FIELDS * (POSE * k + i) :]
        square += _largest(own[2], own[3]) ** 2
    return sqrt(0.5 * square)


@jit
def _write_moment(s: SceneTables, t: float, h: float, a: float, b: float) -> None:
    """Write the span of time that a part of the step is, by θ."""
    s.moment[0], s.moment[1], s.moment[2], s.moment[3] = t + a * h, t + b * h, h, h


@jit
def _follows(s: SceneTables, f: int, sign: float, w: Workspace) -> float:
    """Add where a frame on a path is, and how fast it moves, to the box; return how fast it turns at most."""
    call(s.path_bounds, (s.moment, w.u, s.ranges))
    spin = 0.0
    for k in range(s.world.followers.size):
        if s.world.followers[k] == f:
            spin = _add_ranges(s.ranges, k, sign, w)
    return spin


@jit
def _is_carried(s: SceneTables, f: int, sign: float, w: Workspace, a: float, b: float) -> float:
    """Do the same for the link of a robot, from the paths of the robots' coordinates."""
    spin, n = 0.0, s.links.paths.shape[0]
    for i in range(n):
        write_ranges(s.links.paths[i], a, b, s.links.box[FIELDS * i :])
    for j in range(FIELDS):
        s.links.box[FIELDS * n + j] = s.moment[j]
    call(s.links.bounds, (s.links.box, s.world.parameters, s.links.ranges))
    for k in range(s.links.frames.size):
        if s.links.frames[k] == f:
            spin = _add_ranges(s.links.ranges, k, sign, w)
    return spin


@entry
def trace_scene(plant: Plant, w: Workspace, t: float, h: float, c: int, end: float) -> int:
    """Do for a scene what `trace.trace` does for a model; never is that all."""
    s = tables_at(int(plant.parameters[0]))
    _write_paths(s, plant, w, h, c)
    for i in range(s.links.paths.shape[0]):
        clear_path(0.0, s.links.paths[i])
        write_path(plant, w, h, i, 1.0, s.links.paths[i])
    bound_scene(plant, w, t, h, c, 0.0, end)
    return 0


@entry
def bound_scene(plant: Plant, w: Workspace, t: float, h: float, c: int, a: float, b: float) -> None:
    """Do for a scene what `trace.bound` does for a model: at one place the gap itself, over a part its rate."""
    s, bounds, box = tables_at(int(plant.parameters[0])), w.proof.bounds, w.proof.box
    if a == b:
        y, nq = w.scratch[0], plant.nq
        dense_state(plant, w, h, a, y)
        move(s, y[:nq], y[nq : nq + plant.nv], t + a * h, w.u)
        bounds[0] = bounds[1] = locate(s, c)
        return
    f, world = s.features, s.world
    if f.form[c] == NOTHING:
        bounds[0], bounds[1], bounds[2], bounds[3] = f.far[c], f.far[c], 0.0, 0.0
        return
    one, other = f.ball_frame[c], f.surface_frame[c]
    spin = _spin(w, _TURNS, a, b) if world.kind[one] == FREE else 0.0
    swing = _spin(w, _TURNS + 4, a, b) if world.kind[other] == FREE else 0.0
    for i in range(3):
        write_ranges(w.proof.path[_APART + i], a, b, box[FIELDS * (1 + i) :])
    _write_moment(s, t, h, a, b)
    if world.kind[one] == FOLLOWS:
        spin = _follows(s, one, 1.0, w)
    elif world.kind[one] == LINKED:
        spin = _is_carried(s, one, 1.0, w, a, b)
    if world.kind[other] == FOLLOWS:
        swing = _follows(s, other, -1.0, w)
    elif world.kind[other] == LINKED:
        swing = _is_carried(s, other, -1.0, w, a, b)
    arm = f.reach[c]
    bounds[0], bounds[1] = -np.inf, np.inf
    if f.form[c] == BALL and f.surface[c] == FLAT and world.kind[other] == STANDS:
        n, low, high = w.proof.box, -_MORE * spin * arm, _MORE * spin * arm
        for i in range(3):
            n[i] = f.axes[c, i, 2]
        turned(world.axes[other], n, n)
        for i in range(3):
            least, most = box[FIELDS * (1 + i) + 2], box[FIELDS * (1 + i) + 3]
            low += min(n[i] * least, n[i] * most)
            high += max(n[i] * least, n[i] * most)
        slack = 1e-15 * (abs(low) + abs(high))
        bounds[2], bounds[3] = low - slack, high + slack
        return
    square, reach = 0.0, 0.0
    for i in range(3):
        part = box[FIELDS * (1 + i) :]
        square += _largest(part[2], part[3]) ** 2
        reach += _largest(part[0], part[1]) ** 2
    speed = sqrt(square) + spin * arm + (swing * (sqrt(reach) + arm) if swing > 0.0 else 0.0)
    bounds[2], bounds[3] = -_MORE * speed, _MORE * speed
