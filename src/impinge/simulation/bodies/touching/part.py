"""Bodies that a step has left in each other are moved apart before anything looks at them.

Gaps are linear over a step, surfaces and turns are not, and features may meet that were not near when it began. So the
pairs that may have come too deep are looked at once more where they are now, and moved apart without speed, again and
again, until no true gap is deeper than `LEFT`. Most steps have no such pair: none that moved by less than it was apart.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.sweeps import prepare
from impinge.geometry.table import FEATURE, GAP
from impinge.scene.world import FREE, STANDS
from impinge.simulation.bodies.frames import set_frames, set_shapes
from impinge.simulation.bodies.stage import CORRECTIONS, GRIPPED, LAST, NOW, REST, TIME, Stage
from impinge.simulation.bodies.touching.correct import correct
from impinge.simulation.bodies.touching.rows import write_rows
from impinge.simulation.bodies.touching.touch import add_pair, deepest, seek

DEEP = 5e-6  # m: what is deeper is moved apart
LEFT = 1e-6  # m: until nothing is deeper than this
_ROUNDS = 20


@jit
def _way(world: Any, s: Any, f: int, h: float) -> float:
    """Return how far the shapes of a frame have turned at most, or moved if it is no free body."""
    if world.kind[f] == STANDS:
        return 0.0
    if world.kind[f] != FREE:
        return s.reach[f]
    w = s.travel[world.block[f]]
    return h * world.radius[f] * (w[3] ** 2 + w[4] ** 2 + w[5] ** 2) ** 0.5


@jit
def _apart(world: Any, s: Any, fa: int, fb: int, h: float) -> float:
    """Return how far two frames have moved along each other at most."""
    square = 0.0
    for i in range(3):
        change = 0.0
        if world.kind[fa] == FREE:
            change += s.travel[world.block[fa], i]
        if world.kind[fb] == FREE:
            change -= s.travel[world.block[fb], i]
        square += change * change
    return h * square**0.5 + _way(world, s, fa, h) + _way(world, s, fb, h)


@jit
def _may_be_deep(world: Any, s: Any, h: float) -> bool:
    """Tell whether any pair of shapes may have come too deep in the step of length h that ended."""
    last = s.last
    for c in range(s.used[LAST]):
        if last.point[c, GAP] - _apart(world, s, last.frames[c, 0], last.frames[c, 1], h) < -DEEP:
            return True
    return False


@jit
def _look_again(world: Any, s: Any) -> bool:
    """Find the contacts, as they are now, of the pairs that had some; return False if there is no room for them."""
    last, count, c = s.last, 0, 0
    while c < s.used[LAST]:
        a, b, first = last.shapes[c, 0], last.shapes[c, 1], c
        while c < s.used[LAST] and last.shapes[c, 0] == a and last.shapes[c, 1] == b:
            c += 1
        if s.asleep[last.frames[first, 0]] == 0 and s.asleep[last.frames[first, 1]] == 0:
            many = add_pair(world, s, a, b, 0.0, count)
            if many < 0:
                return False
            count += many
    s.used[NOW] = count
    return True


@jit
def _note_bends(s: Any) -> None:
    """Note how far the gaps of the last step are from where its rates brought them, before anything is moved apart."""
    now, last, first = s.now, s.last, 0
    for c in range(s.used[NOW]):
        a, b = now.shapes[c, 0], now.shapes[c, 1]
        k = first = seek(s, first, a, b)
        while k < s.used[LAST] and last.shapes[k, 0] == a and last.shapes[k, 1] == b:
            if last.point[k, FEATURE] == now.point[c, FEATURE]:
                last.bend[k] = now.point[c, GAP] - last.expected[k]
                break
            k += 1


@entry
def part(s: Stage, h: float) -> int:
    """Move apart what has come too deep in the step of length h that ended; 0 if there is no room for contacts."""
    world, given, limit = s.world, s.tally[GRIPPED], DEEP
    if not _may_be_deep(world, s, h):
        return 1
    for _ in range(_ROUNDS):
        set_frames(world, s, s.time[TIME])
        if s.rules.place_robots != 0:
            ask(s.rules.place_robots, (s, h))
            s.tally[GRIPPED] = given
        set_shapes(world, s)
        if not _look_again(world, s):
            return 0
        if deepest(s) >= -limit:
            break
        if limit == DEEP:
            _note_bends(s)
            s.counts[CORRECTIONS] += 1
            s.counts[REST] = 0
        write_rows(world, s)
        prepare(s.problem, s.work)
        correct(world, s)
        limit = LEFT
    return 1
