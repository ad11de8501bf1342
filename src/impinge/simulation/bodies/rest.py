"""Islands of bodies that rest: who is slow enough, who need not be computed again, and what wakes them.

An island whose bodies all touch and are slower than the tolerance resolves, rests: their velocities are zero. If its
impulses are then those of the step before, to the last bit, and nothing that moves on its own touches it, every
further step would be the same. It sleeps: its contacts and impulses are kept as they are, and take no part in the
problem, until something else comes near enough to touch it.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.scene.world import STANDS
from impinge.simulation.bodies.stage import CORRECTIONS, KEPT, NOW, STEPS, TAKEN
from impinge.simulation.bodies.touching.push import scale_of

_SLOW, _FINEST = 100.0, 1e-10  # a body that touches and is slower than so many tolerances rests; none counts for more


@jit
def _slower(world: Any, s: Any, f: int, limit: float) -> bool:
    """Tell whether a body that is pushed in this step moves more slowly than a limit."""
    v, way = s.problem.v[world.block[f]], s.travel[world.block[f]]
    slower = s.touched[world.block[f]] == s.counts[TAKEN]
    for i in range(3):
        slower &= max(abs(v[i]), abs(way[i])) < limit
        slower &= max(abs(v[3 + i]), abs(way[3 + i])) * world.radius[f] < limit
    return slower


@jit
def find_quiet(world: Any, s: Any, h: float) -> None:
    """Write which bodies rest after this step: each that hardly moves, and islands of bodies that all are slow."""
    scale, island = scale_of(s, h), s.work.island
    fine, coarse = _SLOW * scale * min(s.rules.tolerance, _FINEST), scale * s.rules.tolerance
    for b in range(s.calm.size):
        s.calm[b] = 1
    for f in range(world.kind.size):
        if world.place[f] >= 0 and s.asleep[f] == 0 and island[world.block[f]] >= 0:
            if not _slower(world, s, f, coarse):
                s.calm[island[world.block[f]]] = 0
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            i = island[world.block[f]]
            slow = s.asleep[f] != 0 or _slower(world, s, f, fine)
            s.quiet[f] = 1 if slow or (i >= 0 and s.calm[i] == 1) else 0


@jit
def fall_asleep(world: Any, s: Any, corrections: int) -> None:
    """Let islands sleep that rested before and after this step with the same impulses; bodies in ``quiet`` of 2 did."""
    island, calm, problem = s.work.island, s.calm, s.problem
    for b in range(calm.size):
        calm[b] = 1 if s.counts[CORRECTIONS] == corrections else 0
    for f in range(world.kind.size):
        if world.place[f] >= 0 and island[world.block[f]] >= 0 and s.quiet[f] != 2:
            calm[island[world.block[f]]] = 0
    for k in range(world.held.size):
        if island[world.block[world.held[k]]] >= 0:
            calm[island[world.block[world.held[k]]]] = 0
    for c in range(s.used[NOW]):
        b = max(problem.body[c, 0], problem.body[c, 1])
        if b < 0:
            continue
        same = s.match[c] >= 0
        for side in range(2):
            f = s.now.frames[c, side]
            same &= world.kind[f] == STANDS or world.place[f] >= 0
        if same:
            for r in range(3):
                same &= problem.impulse[c, r] == s.last.impulse[s.match[c], r]
        if not same:
            calm[island[b]] = 0
    for f in range(world.kind.size):
        if world.place[f] >= 0 and s.asleep[f] == 0:
            i = island[world.block[f]]
            if i >= 0 and calm[i] == 1:
                s.asleep[f] = 1 + s.counts[STEPS] * calm.size + i
                for j in range(world.speed[f], world.speed[f] + 6):
                    s.past[0, j] = s.past[1, j] = 0.0


@jit
def keep_impulses(s: Any) -> None:
    """Give the contacts that are kept their impulses back, which the problem does not know."""
    for c in range(s.used[NOW]):
        if s.kept[c] >= 0:
            s.counts[KEPT] += 1
            for r in range(3):
                s.problem.impulse[c, r] = s.last.impulse[s.kept[c], r]


@jit
def wake_all(world: Any, s: Any) -> None:
    """Let nothing sleep: in a step of another length, and in the next, forces act for another time than before."""
    for f in range(world.kind.size):
        s.asleep[f] = 0
