"""The impulses of one step of a scene: what sank in is moved apart, and what gaps ask for; see `steps.impulses`."""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.contact.coulomb.solve import NO_ROOM, SOLVED
from impinge.contact.coulomb.sweeps import prepare
from impinge.geometry.table import GAP
from impinge.simulation.bodies.smooth import turn_on
from impinge.simulation.bodies.stage import CORRECTIONS, LENGTH, NOW, Stage
from impinge.simulation.bodies.touching.correct import SLOP, correct
from impinge.simulation.bodies.touching.rows import carry_rows, write_rows
from impinge.simulation.steps.impulses import ask_of_struck, find_impulses, rebound, return_to_kept, solve_struck
from impinge.simulation.steps.work import rate_of

_BENT = 4.0  # times what gravity does: how far a gap that bends within a step may be below zero, and return in the next
_TWICE = 2.0  # as fast as a gap closes that bends steadily, it may return
_CREEP = 0.25  # share of what it is deep by that a gap returns, beside what it bends: all at once would swing

TOUCHING = 1e-12  # a gap that is no more than rounding of positions, m: redundant contacts would share loads by it


@jit
def scale_of(s: Any, h: float) -> float:
    """Return the speed that misses are measured against: what gravity gives within the step, at least."""
    g = s.world.gravity
    return h * max((g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) ** 0.5, 1.0)


@jit
def _depth_to_return(s: Any, c: int, h: float) -> float:
    """Return how far below zero a gap may be to return within the step: no faster than it closes without impulses.

    Where surfaces or turns bend a gap, it comes below zero by h²γ̈/2 within a step, and closes at hγ̈/2 along the last
    velocities; what stands still closes at none, and returns at none. Bends of more than a few times gravity are moved
    apart. An impulse that brings a gap back at no more than these rates gives no energy, unless it presses others.
    """
    problem, own = s.problem, s.problem.bias[c, 0]
    closes = min(-rate_of(problem, c, 0, problem.free) - own, -_TWICE * (rate_of(problem, c, 0, s.before) + own))
    return h * max(0.0, min(closes, _BENT * scale_of(s, h)))


@jit
def _ahead(s: Any, c: int) -> float:
    """Return what gyroscopic torques will change of the rate of a gap, after the contacts."""
    problem, total = s.problem, 0.0
    if s.rules.centered == 0:
        return total
    D = problem.v.shape[1]
    for side in range(2):
        b = problem.body[c, side]
        if b >= 0:
            for j in range(3):
                total += problem.J[c, 0, side * D + 3 + j] * s.ahead[b, j]
    return total


@jit
def _ask(s: Any, h: float) -> None:
    """Write what gaps ask of the velocities: without restitution or a return from below zero, and with them."""
    problem, e = s.problem, s.rules.restitution
    for c in range(s.used[NOW]):
        gap, ahead, own = s.now.point[c, GAP], _ahead(s, c), problem.bias[c, 0]
        before, after = rate_of(problem, c, 0, s.before) + own, rate_of(problem, c, 0, problem.free) + own
        wanted = rebound(e, before, after, -gap / h) if e > 0.0 else 0.0
        if s.rules.centered != 0 and h == s.time[LENGTH]:
            gap = gap + s.now.bend[c] if gap > 0.0 else min(gap, s.now.bend[c] + _CREEP * gap)
        gap += h * ahead
        asked, returns = max(gap, 0.0), max(gap, -_depth_to_return(s, c, h))
        s.least[c] = -asked / h if asked > TOUCHING else 0.0
        s.leave[c] = wanted if wanted > 0.0 else -returns / h if abs(returns) > TOUCHING else 0.0
        s.smooth[c] = abs(after - before) + abs(ahead)


@jit
def _carry(s: Any, h: float) -> None:
    """Let the impulses of an impact act where gaps will have closed."""
    problem = s.problem
    for c in range(s.used[NOW]):
        gap, closes = s.now.point[c, GAP], -rate_of(problem, c, 0, problem.free) - problem.bias[c, 0] + s.pushed[c]
        if gap > 0.0 and s.kept[c] < 0 and closes * h >= gap:
            carry_rows(s.world, s, c, gap / closes)


@jit
def _strike(s: Any, h: float, tolerance: float, scale: float) -> int:
    """Replace v⁺ by that of the whole impact if something is struck; if that is not found, all stays as it is."""
    problem, count = s.problem, s.used[NOW]
    miss, size, share = s.work.residual[0], s.work.residual[1], s.work.residual[3]
    if not ask_of_struck(s, h):
        return SOLVED
    _carry(s, h)
    status = solve_struck(s, s.rules.solve, tolerance, scale)
    if status == NO_ROOM:
        return NO_ROOM
    if status != SOLVED:
        write_rows(s.world, s)
        prepare(problem, s.work)
        for c in range(count):
            problem.bias[c, 0] += s.pushed[c]
        return_to_kept(s)
        s.work.residual[0], s.work.residual[1], s.work.residual[3] = miss, size, share
    return SOLVED


@jit
def _set_travel(world: Any, s: Any, h: float) -> None:
    """Let positions move along the velocities found; the problem does not hold what sleeps, which stays."""
    for b in range(s.travel.shape[0]):
        for j in range(s.travel.shape[1]):
            s.travel[b, j] = s.problem.v[b, j]
    for f in range(world.kind.size):
        if s.asleep[f] != 0:
            for j in range(s.travel.shape[1]):
                s.travel[world.block[f], j] = 0.0
        elif world.place[f] >= 0:
            turn_on(world, s, f, s.travel[world.block[f], 3:6], h)


@entry
def push(s: Stage, h: float) -> int:
    """Move apart what sank in; find the impulses of all contacts, v⁺, and the velocity along which positions move."""
    sunk = False
    for c in range(s.used[NOW]):
        sunk |= s.now.point[c, GAP] < -max(SLOP, _depth_to_return(s, c, h))
    if sunk:
        prepare(s.problem, s.work)
        correct(s.world, s)
        s.counts[CORRECTIONS] += 1
    scale, tolerance, s.work.most[0] = scale_of(s, h), s.rules.tolerance, s.rules.budget
    _ask(s, h)
    status = find_impulses(s, s.rules.solve, tolerance, scale)
    _set_travel(s.world, s, h)
    return _strike(s, h, tolerance, scale) if status == SOLVED else status
