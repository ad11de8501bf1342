"""The impulses of one step: what sank in is moved apart, what strikes rebounds, and everything is solved at once.

A contact that would close within the step with the approach speed a, and has a restitution e, leaves at e a. If more
energy came out of that than went in, the impulses are taken back towards those without restitution just far enough.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.solve import NO_ROOM
from impinge.contact.coulomb.sweeps import prepare
from impinge.geometry.table import GAP
from impinge.simulation.bodies.correct import SLOP, correct
from impinge.simulation.bodies.stage import NOW, Stage
from impinge.simulation.bodies.touch import deepest

TOUCHING = 1e-12  # a gap that is no more than rounding of positions, m: redundant contacts would share loads by it


@jit
def rate_of(problem: Any, c: int, r: int, v: Any) -> float:
    """Return what velocities of the blocks do to a row of a contact."""
    D, total = v.shape[1], 0.0
    for side in range(2):
        b = problem.body[c, side]
        if b >= 0:
            for j in range(D):
                total += problem.J[c, r, side * D + j] * v[b, j]
    return total


@jit
def _rebound(s: Any, c: int, h: float) -> float:
    """Return the speed at which a gap must open because it is struck within this step, or zero."""
    problem, gap, own = s.problem, s.now.point[c, GAP], s.problem.bias[c, 0]
    before, after = rate_of(problem, c, 0, s.before) + own, rate_of(problem, c, 0, problem.free) + own
    approach = -max(before, after)
    if approach <= 0.0 or gap + h * after > 0.0:
        return 0.0
    # No faster than if it had turned back as the step began: then the smooth forces cannot add to its energy.
    speed = min(s.rules.restitution * approach, after - 2.0 * before)
    return speed if speed > before - after else 0.0


@jit
def _require(s: Any, h: float, restitution: bool) -> bool:
    """Write what gaps ask of the velocities; return whether any is to rebound."""
    problem, any_rebound = s.problem, False
    for c in range(s.used[NOW]):
        gap, wanted = s.now.point[c, GAP], 0.0
        if restitution:
            wanted = _rebound(s, c, h)
        any_rebound |= wanted > 0.0
        s.pushed[c] = -wanted if wanted > 0.0 else (gap / h if gap > TOUCHING else 0.0)
    for c in range(s.used[NOW]):
        problem.bias[c, 0] += s.pushed[c]
    return any_rebound


@jit
def _forget(s: Any) -> None:
    """Take the gaps' demands out of the bias again."""
    for c in range(s.used[NOW]):
        s.problem.bias[c, 0] -= s.pushed[c]


@jit
def work_of(s: Any, before: Any) -> float:
    """Return the work of the impulses: p times the mean of the rates with velocities before, and with v⁺."""
    problem, total = s.problem, 0.0
    for c in range(s.used[NOW]):
        for r in range(3):
            if problem.impulse[c, r] != 0.0:
                mean = 0.5 * (rate_of(problem, c, r, before) + rate_of(problem, c, r, problem.v))
                total += problem.impulse[c, r] * mean
    return total


@jit
def _apply(s: Any) -> None:
    """Write v⁺ from v⁻ and the impulses."""
    problem = s.problem
    D = problem.v.shape[1]
    for b in range(problem.v.shape[0]):
        for j in range(D):
            problem.v[b, j] = problem.free[b, j]
    for c in range(s.used[NOW]):
        for r in range(3):
            p = problem.impulse[c, r]
            if p != 0.0:
                for side in range(2):
                    b = problem.body[c, side]
                    if b >= 0:
                        for j in range(D):
                            problem.v[b, j] += problem.response[c, r, side * D + j] * p


@jit
def _moderate(s: Any) -> None:
    """Mix impulses with restitution (in the problem) and without (in ``plain``) so that no energy is gained.

    Along the straight line between the two the work is a quadratic polynomial that is not positive at its start.
    """
    problem, count = s.problem, s.used[NOW]
    full = work_of(s, s.problem.free)
    if full <= 0.0:
        return
    for c in range(count):
        for r in range(3):
            problem.impulse[c, r], s.plain[c, r] = s.plain[c, r], problem.impulse[c, r]
    _apply(s)
    none = min(work_of(s, s.problem.free), 0.0)
    low, high = 0.0, 1.0
    slope = 0.0
    for c in range(count):
        for r in range(3):
            slope += (s.plain[c, r] - problem.impulse[c, r]) * rate_of(problem, c, r, problem.v)
    curve = full - none - slope
    for _ in range(60):
        middle = 0.5 * (low + high)
        if none + middle * (slope + middle * curve) <= 0.0:
            low = middle
        else:
            high = middle
    for c in range(count):
        for r in range(3):
            problem.impulse[c, r] += low * (s.plain[c, r] - problem.impulse[c, r])
    _apply(s)


@jit
def scale_of(s: Any, h: float) -> float:
    """Return the speed that misses are measured against: what gravity gives within the step, at least."""
    g = s.world.gravity
    return h * max((g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) ** 0.5, 1.0)


@entry
def push(s: Stage, h: float) -> int:
    """Move apart what sank in, and find the impulses of all contacts and v⁺."""
    problem, count = s.problem, s.used[NOW]
    if deepest(s) < -SLOP:
        prepare(problem, s.work)
        correct(s.world, s)
    scale, tolerance = scale_of(s, h), s.rules.tolerance
    if s.rules.restitution > 0.0 and _require(s, h, True):
        status = ask(s.rules.solve, (problem, s.work, tolerance, scale))
        if status == NO_ROOM:
            return status
        if work_of(s, s.problem.free) > 0.0:
            _forget(s)
            for c in range(count):
                for r in range(3):
                    s.plain[c, r] = problem.impulse[c, r]
            _require(s, h, False)
            status = ask(s.rules.solve, (problem, s.work, tolerance, scale))
            if status == NO_ROOM:
                return status
            for c in range(count):
                for r in range(3):
                    problem.impulse[c, r], s.plain[c, r] = s.plain[c, r], problem.impulse[c, r]
            _apply(s)
            _moderate(s)
        return status
    if s.rules.restitution > 0.0:
        _forget(s)
    _require(s, h, False)
    return ask(s.rules.solve, (problem, s.work, tolerance, scale))
