"""The impulses of one step: what sank in is moved apart, what strikes rebounds, and everything is solved at once.

A contact that would close within the step with the approach speed a, and has a restitution e, leaves at e a. If more
energy came out of that than went in, the impulses are taken back towards those without restitution just far enough.

A gap γ that closes within the step without restitution still approaches at γ/h at its end. Positions move along this
velocity, `travel`, and so reach the surface; v⁺ is that of the whole impact, one problem from v⁻. How much of an impact
were left to the next step would else depend on when in the step the gap closes, and so would what friction does.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.solve import NO_ROOM, SOLVED
from impinge.contact.coulomb.sweeps import prepare
from impinge.geometry.table import GAP
from impinge.simulation.bodies.smooth import turn_on
from impinge.simulation.bodies.stage import CORRECTIONS, LENGTH, NOW, Stage
from impinge.simulation.bodies.touching.correct import SLOP, correct
from impinge.simulation.bodies.touching.rows import carry_rows, write_rows
from impinge.simulation.bodies.touching.work import MISSES, apply, creates, moderate, rate_of
from impinge.simulation.steps.impulses import SHUT

_BENT = 4.0  # times what gravity does: how far a gap that bends within a step may be below zero, and return in the next
_TWICE = 2.0  # as fast as a gap closes that bends steadily, it may return
_CREEP = 0.25  # share of what it is deep by that a gap returns, beside what it bends: all at once would swing
_BEYOND = 1e3  # over the fastest rate of approach: faster than any contact comes to approach

TOUCHING = 1e-12  # a gap that is no more than rounding of positions, m: redundant contacts would share loads by it


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
def _require(s: Any, h: float, leave: bool) -> bool:
    """Write what gaps ask of the velocities; return whether any is to rebound or to return, if they may."""
    problem, any_leaves = s.problem, False
    for c in range(s.used[NOW]):
        gap, wanted = s.now.point[c, GAP], 0.0
        if s.rules.centered != 0 and h == s.time[LENGTH]:
            gap = gap + s.now.bend[c] if gap > 0.0 else min(gap, s.now.bend[c] + _CREEP * gap)
        gap += h * _ahead(s, c)
        if leave and s.rules.restitution > 0.0:
            wanted = _rebound(s, c, h)
        asked = max(gap, -_depth_to_return(s, c, h) if leave else 0.0)
        s.pushed[c] = -wanted if wanted > 0.0 else (asked / h if abs(asked) > TOUCHING else 0.0)
        any_leaves |= s.pushed[c] < 0.0
    for c in range(s.used[NOW]):
        problem.bias[c, 0] += s.pushed[c]
    return any_leaves


@jit
def _forget(s: Any) -> None:
    """Take the gaps' demands out of the bias again."""
    for c in range(s.used[NOW]):
        s.problem.bias[c, 0] -= s.pushed[c]


@jit
def _end_rate(s: Any, c: int) -> float:
    """Return the rate of a gap that the velocities found give it, without what the gap asks for."""
    return rate_of(s.problem, c, 0, s.problem.v) + s.problem.bias[c, 0] - s.pushed[c]


@jit
def _is_struck(s: Any, c: int, h: float) -> bool:
    """Tell whether a contact pushes and still approaches, by more than what smooth forces change within the step."""
    problem = s.problem
    if not problem.impulse[c, 0] > 0.0:
        return False
    smooth = abs(rate_of(problem, c, 0, problem.free) - rate_of(problem, c, 0, s.before)) + abs(_ahead(s, c))
    return -_end_rate(s, c) > smooth + SHUT / h + MISSES * s.work.residual[0]


@jit
def _ask_of_struck(s: Any, h: float) -> bool:
    """Ask that nothing approaches which this step brings to its surface; return whether it struck anything.

    What pushed and leaves is to leave as fast; contacts that stay open take no part, since none approaches so fast.
    """
    struck, beyond = False, _BEYOND * s.work.residual[1]
    for c in range(s.used[NOW]):
        struck |= _is_struck(s, c, h)
    if not struck:
        return False
    for c in range(s.used[NOW]):
        rate, pushes = _end_rate(s, c), s.problem.impulse[c, 0] > 0.0
        shut = pushes or rate + s.pushed[c] <= SHUT / h + MISSES * s.work.residual[0]
        asked = -max(rate, 0.0) if shut else beyond
        s.problem.bias[c, 0] += asked - s.pushed[c]
        s.pushed[c] = asked
    return True


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
    if not _ask_of_struck(s, h):
        return SOLVED
    for c in range(count):
        for r in range(3):
            s.plain[c, r] = problem.impulse[c, r]
    _carry(s, h)
    status = ask(s.rules.solve, (problem, s.work, tolerance, scale))
    if status == NO_ROOM:
        return NO_ROOM
    if status != SOLVED or creates(s):
        write_rows(s.world, s)
        prepare(problem, s.work)
        for c in range(count):
            problem.bias[c, 0] += s.pushed[c]
            for r in range(3):
                problem.impulse[c, r] = s.plain[c, r]
        apply(s)
        s.work.residual[0], s.work.residual[1], s.work.residual[3] = miss, size, share
    return SOLVED


@jit
def _find_impulses(s: Any, h: float, tolerance: float, scale: float) -> int:
    """Find the impulses of all contacts that let no gap close beyond zero; gaps leave where that gives no energy."""
    problem, count = s.problem, s.used[NOW]
    leaves = _require(s, h, True)
    status = ask(s.rules.solve, (problem, s.work, tolerance, scale))
    if status == NO_ROOM or not leaves or not creates(s):
        return status
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
    apply(s)
    moderate(s)
    return status


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
    status = _find_impulses(s, h, tolerance, scale)
    _set_travel(s.world, s, h)
    return _strike(s, h, tolerance, scale) if status == SOLVED else status
