"""Which features of two shapes are contacts now: they are exchanged where a step begins.

A pair of shapes has a few contacts and many candidates for them: corners over faces, edges that cross, corners beside a
round edge. A candidate becomes a contact when its features are near each other and may meet within the next step, and
ceases to be one, as long as it is open, when they are not. A step is so short that nothing comes nearer in it than it
was looked at. What takes part of a load from another contact is near it and touches: it closes at the instant at which
the other one ends, without a jump of velocity (`contacts.emerge`).
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from impinge.compile import entry, jit
from impinge.contact.law import TOUCHING
from impinge.simulation.scenes.contacts.contact import FAR, N, T, locate, tangent
from impinge.simulation.scenes.contacts.near_corners import leads_away
from impinge.simulation.scenes.contacts.nearness import KEPT, look
from impinge.simulation.scenes.contacts.pairs import (
    ACROSS,
    CORNER,
    CROSS,
    NOTHING,
    RIMS,
    margin,
    note_spot,
    pair_gap,
    worst_margin,
)
from impinge.simulation.scenes.contacts.vectors import back, dot, turned
from impinge.simulation.scenes.kernel import move
from impinge.simulation.scenes.tables import SceneTables, tables_at
from impinge.simulation.system.plant import CAP, STEP, TIME, Plant, Workspace

_LEANS = 0.3  # sine up to which what leads away from a feature may come nearer along the normal: what is soft sinks in
_LEVEL = 1e-2  # the same for what rivals a face
_SAME = 1e-6  # share of a shape's size, and of one, up to which two contacts are at one place
_CLOSED = -2.0  # how much earlier features of closed contacts end, in those of open ones
_FAST = 20.0  # m/s²: how much faster bodies may become within a step without being looked at

# Rows of `SceneTables.local` that are free while candidates are looked at.
_AT, _TO, _AXIS, _ACROSS = 0, 1, 2, 3


@jit
def _middle(s: SceneTables, f: int, place: Any, out: Any) -> None:
    """Write where a place of a frame is."""
    turned(s.motion.axes[f], place, out)
    for i in range(3):
        out[i] += s.motion.at[f, i]


@jit
def _swing(s: SceneTables, f: int, place: Any, size: float) -> float:
    """Return how fast what is within a distance of a place moves because a frame turns."""
    square = 0.0
    for i in range(3):
        square += (place[i] - s.motion.at[f, i]) ** 2
    return sqrt(dot(s.motion.spin[f], s.motion.spin[f])) * (sqrt(square) + size)


@jit
def _release(s: SceneTables, plant: Plant, w: Workspace, c: int) -> None:
    """Let a contact be of nothing."""
    f = s.features
    s.candidates.owner[f.held[c]] = -1
    f.held[c], f.form[c], w.mode[c], w.left_mode[c] = -1, NOTHING, 0, 0
    for n in range(1 + f.slips[c + 1] - f.slips[c]):
        row = s.nh + c if n == 0 else s.nh + f.radius.size + f.slips[c] + n - 1
        for j in range(2):
            s.bodies[row, j] = -1
        for j in range(2 * s.widest):
            s.J[row, j] = s.X[row, j] = 0.0


@jit
def _aim(s: SceneTables, c: int) -> None:
    """Let the tangents of a contact begin anew, from its normal."""
    n, pair, least = s.normal[c], s.features.reference[c], 0
    for i in range(3):
        pair[0, i] = n[i]
        if abs(n[i]) < abs(n[least]) - 1e-6:
            least = i
    size = sqrt(1.0 - n[least] * n[least])
    for i in range(3):
        pair[1, i] = ((1.0 if i == least else 0.0) - n[least] * n[i]) / size


@jit
def _follow(s: SceneTables, c: int) -> None:
    """Let the reference of a contact's tangents move along with its normal."""
    locate(s, c)
    if dot(s.normal[c], s.features.reference[c, 0]) < FAR:
        tangent(s, c, False)
        for i in range(3):
            s.features.reference[c, 0, i], s.features.reference[c, 1, i] = s.local[N, i], s.local[T, i]


@jit
def _see_rivals(s: SceneTables, c: int) -> None:
    """Note which faces beside that of a contact its corner may touch, too: they may be less deep."""
    f, o, n, m = s.features, s.candidates, s.local[_TO], s.local[_AXIS]
    k = f.held[c]
    f.rivals[c] = 0
    if f.form[c] != CORNER:
        return
    carried = s.local[_ACROSS]
    _middle(s, f.ball_frame[c], f.ball[c], carried)
    for i in range(3):
        carried[i] -= s.motion.at[f.surface_frame[c], i]
    back(s.motion.axes[f.surface_frame[c]], carried, carried)
    for i in range(3):
        carried[i] -= f.at[c, i]
    away = dot(carried, f.across[c])
    for j in range(f.sides[c, 0], f.sides[c, 1]):
        share = s.sides[j, 4]
        cosine = (1.0 - share * share) / (1.0 + share * share)
        for i in range(3):
            n[i] = cosine * f.across[c, i] - (2.0 * share / (1.0 + share * share)) * s.sides[j, i]
        if dot(n, n) == 0.0:  # a circle, beyond which the side of a cylinder is
            for i in range(3):
                n[i] = carried[i] - away * f.across[c, i]
            size = sqrt(dot(n, n))
            for i in range(3):
                n[i] /= max(size, 1e-300)
        turned(s.motion.axes[f.surface_frame[c]], n, m)
        back(s.motion.axes[f.ball_frame[c]], m, m)
        if leads_away(s, o.spokes[k, 0], o.spokes[k, 1], m, _LEVEL):
            f.rivals[c] |= 1 << (j - f.sides[c, 0])


@jit
def _take(s: SceneTables, plant: Plant, w: Workspace, pair: int, c: int, k: int) -> None:
    """Let a contact be that of a candidate."""
    f, o = s.features, s.candidates
    turn = o.turned[k]
    f.held[c], o.owner[k], f.form[c] = k, c, o.form[k]
    f.ball_frame[c], f.surface_frame[c] = o.frames[pair, turn], o.frames[pair, 1 - turn]
    for i in range(3):
        f.ball[c, i], f.at[c, i] = o.ball[k, i], o.at[k, i]
        f.along[c, i], f.across[c, i] = o.along[k, i], o.across[k, i]
    for i in range(2):
        f.round[c, i], f.length[c, i] = o.round[k, i], o.length[k, i]
        f.angle[c, i], f.sides[c, i] = o.angle[k, i], o.sides[k, i]
    for n in range(1 + f.slips[c + 1] - f.slips[c]):
        row = s.nh + c if n == 0 else s.nh + f.radius.size + f.slips[c] + n - 1
        for j in range(2):
            frame = f.ball_frame[c] if j == 0 else f.surface_frame[c]
            s.bodies[row, j], s.width[row, j] = s.block[frame, 0], s.block[frame, 1]
        for j in range(2 * s.widest):
            s.J[row, j] = s.X[row, j] = 0.0
    if o.form[k] == CROSS or o.form[k] == ACROSS or o.form[k] == RIMS:
        f.sign[c] = 1.0
        locate(s, c)
        n = s.local[_TO]
        turned(s.motion.axes[f.surface_frame[c]], s.normal[c], n)
        turned(s.motion.axes[f.ball_frame[c]], o.center[pair, turn], s.local[_AXIS])
        turned(s.motion.axes[f.surface_frame[c]], o.center[pair, 1 - turn], s.local[_ACROSS])
        for i in range(3):
            s.local[_AXIS, i] += s.motion.at[f.ball_frame[c], i]
            s.local[_AXIS, i] -= s.motion.at[f.surface_frame[c], i] + s.local[_ACROSS, i]
        f.sign[c] = 1.0 if dot(n, s.local[_AXIS]) > 0.0 else -1.0
    locate(s, c)
    _aim(s, c)
    f.inset[c] = o.inset[pair]
    _see_rivals(s, c)
    gap = note_spot(s, c)
    f.watched[c] = worst_margin(s, c, gap)
    ends = margin(s, c, f.watched[c], gap)[0] <= 0.0 and gap[0] <= 0.0
    w.mode[c] = plant.passed[c] if ends or gap[0] < -o.depth[pair] else 0
    w.left_mode[c] = w.mode[c]
    for n in range(f.slips[c], f.slips[c + 1]):
        w.anchor[n] = 0.0


@jit
def _place_for(s: SceneTables, plant: Plant, w: Workspace, pair: int, value: float) -> int:
    """Return a contact for a candidate that is so far off, of nothing or of one farther off; −1 if there is none."""
    f, o, worst = s.features, s.candidates, -1
    for c in range(o.contacts[pair, 0], o.contacts[pair, 1]):
        if f.form[c] == NOTHING:
            return c
        if plant.closed[c, w.mode[c]] == 0 and o.value[f.held[c]] > value:
            if worst < 0 or o.value[f.held[c]] > o.value[f.held[worst]]:
                worst = c
    return worst


@jit
def _doubles(s: SceneTables, plant: Plant, w: Workspace, pair: int, c: int) -> bool:
    """Tell whether a contact is at the place of another one of its pair, and along the same normal."""
    f, o, found = s.features, s.candidates, False
    near = _SAME * min(o.size[pair, 0], o.size[pair, 1])
    for k in range(o.contacts[pair, 0], o.contacts[pair, 1]):
        if k == c or f.form[k] == NOTHING or w.mode[k] == plant.passed[k]:
            continue
        square = 0.0
        for i in range(3):
            square += (f.spot[k, i] - f.spot[c, i]) ** 2
        found |= square <= near * near and abs(dot(f.toward[k], f.toward[c])) >= 1.0 - _SAME
    return found


@jit
def _choose(s: SceneTables, plant: Plant, w: Workspace, pair: int) -> bool:
    """Exchange the contacts of a pair for those of candidates that are near; tell whether any changed."""
    f, o, changed = s.features, s.candidates, False
    for c in range(o.contacts[pair, 0], o.contacts[pair, 1]):
        if f.form[c] != NOTHING and plant.closed[c, w.mode[c]] == 0 and o.value[f.held[c]] == inf:
            _release(s, plant, w, c)
            changed = True
        if f.form[c] != NOTHING:
            note_spot(s, c)
            _follow(s, c)
    for k in range(o.first[pair], o.first[pair + 1]):
        if o.owner[k] < 0 and o.value[k] < inf:
            c = _place_for(s, plant, w, pair, o.value[k])
            if c >= 0:
                if f.form[c] != NOTHING:
                    _release(s, plant, w, c)
                _take(s, plant, w, pair, c, k)
                if _doubles(s, plant, w, pair, c):
                    _release(s, plant, w, c)
                else:
                    changed = True
    return changed


@jit
def _watch(s: SceneTables, plant: Plant, w: Workspace, pair: int) -> bool:
    """Watch the end of each contact's features that it is nearest to; tell whether something is new."""
    f, new = s.features, False
    for c in range(s.candidates.contacts[pair, 0], s.candidates.contacts[pair, 1]):
        if f.form[c] == NOTHING:
            continue
        inset, rivals = f.inset[c], f.rivals[c]
        f.inset[c] = s.candidates.inset[pair] * (_CLOSED if plant.closed[c, w.mode[c]] != 0 else 1.0)
        _see_rivals(s, c)
        gap = pair_gap(s, c)
        worst = worst_margin(s, c, gap)
        new |= inset != f.inset[c] or rivals != f.rivals[c]
        new |= worst != f.watched[c]
        f.watched[c] = worst
        if w.mode[c] == plant.passed[c] and -plant.takes_over[c] < gap[0] <= TOUCHING:
            new |= margin(s, c, worst, gap)[0] > 0.0
    return new


@jit
def _fastest(s: SceneTables, pair: int) -> tuple[float, float, float]:
    """Return how far two shapes are apart at least, how fast they may approach, and how much faster they may become."""
    o, m, one, other = s.candidates, s.motion, s.local[_AT], s.local[_TO]
    a, b = o.frames[pair, 0], o.frames[pair, 1]
    _middle(s, a, o.center[pair, 0], one)
    _middle(s, b, o.center[pair, 1], other)
    place, size = (one, o.size[pair, 0]) if o.size[pair, 0] <= o.size[pair, 1] else (other, o.size[pair, 1])
    size += o.range[pair]
    spin, swing = _swing(s, a, place, size), _swing(s, b, place, size)
    square = rate = push = 0.0
    for i in range(3):
        square += (one[i] - other[i]) ** 2
        rate += (m.velocity[a, i] - m.velocity[b, i]) ** 2
        push += (m.push[a, i] - m.push[b, i]) ** 2
    turning = spin * sqrt(dot(m.spin[a], m.spin[a])) + swing * sqrt(dot(m.spin[b], m.spin[b]))
    apart = sqrt(square) - o.size[pair, 0] - o.size[pair, 1]
    return apart, sqrt(rate) + spin + swing, sqrt(push) + turning + _FAST


@entry
def exchange(plant: Plant, w: Workspace) -> bool:
    """Exchange contacts where a step begins, and say how long it may be; tell whether contacts are to be looked at."""
    s = tables_at(int(plant.parameters[0]))
    o, new, longest = s.candidates, False, inf
    move(s, w.y[: plant.nq], w.y[plant.nq : plant.nq + plant.nv], w.time[TIME], w.u)
    for pair in range(o.contacts.shape[0]):
        apart, speed, push = _fastest(s, pair)
        near = max(apart, o.range[pair])
        h = near / (speed + sqrt(speed * speed + push * near))
        longest = min(longest, h)
        if apart > KEPT * o.range[pair]:
            for k in range(o.first[pair], o.first[pair + 1]):
                o.value[k] = inf
        else:
            h = min(h, w.time[STEP], plant.max_step)
            turning, s.hasten[0], s.hasten[1] = 0.0, inf, speed
            for i in range(2):
                spin = s.motion.spin[o.frames[pair, i]]
                turning += sqrt(dot(spin, spin)) + h * push / o.size[pair, i]
            aside = 2.0 * h * (speed + push * h) + 2.0 * o.inset[pair]
            look(s, pair, o.range[pair], aside, _LEANS + 2.0 * h * turning)
            longest = min(longest, s.hasten[0])
        new |= _choose(s, plant, w, pair)
        new |= _watch(s, plant, w, pair)
    w.time[CAP] = longest
    return new
