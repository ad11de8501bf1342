"""Contact of two features that are fixed in two frames: gap, normal, touching point, and how far it is from their ends.

    CORNER   a place, of a ball of some radius, over a plane of the other
    CROSS    two lines that cross, each the center line of a round edge of some radius
    BESIDE   a place beside a line; of an end of a cylinder's axis beside a parallel line, as long as it is one
    OVER     the rim of a cylinder over a plane
    ACROSS   a rim and a line that cross
    RIMS     two rims that cross

The normal points from the second feature to the first. Features end: margins are above zero inside, in meters. If the
two are in each other, a face ends where its neighbor is less deep, as far as the first feature may touch that one at
all; lines end by their depth earlier. Where they have such rivals, features of open contacts end a little early and
those of closed ones a little late, so that whoever slides over an edge is never without a contact, and does not catch
at what lies level with it.
"""

from __future__ import annotations

from impinge.compile import jit
from impinge.contact.law import TOUCHING
from impinge.simulation.scenes.contacts.jets import (
    Number,
    add,
    carry_direction,
    carry_point,
    fixed,
    inner,
    inverse,
    minus,
    outer,
    plus,
    scaled,
    times,
    unit,
)
from impinge.simulation.scenes.contacts.rings import LEVEL, rim_across_line, rim_across_rim, rim_over_plane
from impinge.simulation.scenes.contacts.vectors import back, cross
from impinge.simulation.scenes.tables import SceneTables

# What a contact is of; NOTHING: none now. A BALL is one with a surface, see `contact`.
NOTHING, BALL, CORNER, CROSS, BESIDE, OVER, ACROSS, RIMS = -1, 0, 1, 2, 3, 4, 5, 6
# Rows of `SceneTables.jets`: places and directions of both features, normal, touching point, and others in passing.
_P, _D, _Q, _E, _N, _X, _W, _V = 0, 1, 2, 3, 4, 5, 6, 7
PARALLEL = 1e-4  # sine of the angle up to which the end of a cylinder's axis stands for its side, beside a line
_FLUSH = 1e-3  # how far beyond a cylinder's flat end its rim may face, rad: what lies on that end lies on its rim
_ENDLESS = (1.0, 0.0, 0.0)  # how far a contact is from the end of a plane that has none
_MINUS = (-1.0, 0.0, 0.0)


@jit
def _carry(s: SceneTables, c: int) -> None:
    """Write how the places of both features, and what is between them, move."""
    f, jets, arm, scratch = s.features, s.jets, s.local[0], s.local[1]
    carry_point(s.motion, f.ball_frame[c], f.ball[c], arm, scratch, jets[_P])
    carry_point(s.motion, f.surface_frame[c], f.at[c], arm, scratch, jets[_Q])
    add(jets[_P], _MINUS, jets[_Q], jets[_W])


@jit
def _corner(s: SceneTables, c: int) -> Number:
    f, jets = s.features, s.jets
    carry_direction(s.motion, f.surface_frame[c], f.across[c], s.local[0], jets[_N])
    away = inner(jets[_W], jets[_N])
    add(jets[_P], fixed(-f.round[c, 0]), jets[_N], jets[_X])
    return away[0] - f.round[c, 0], away[1], away[2]


@jit
def _cross(s: SceneTables, c: int) -> Number:
    f, jets = s.features, s.jets
    carry_direction(s.motion, f.ball_frame[c], f.along[c], s.local[0], jets[_D])
    carry_direction(s.motion, f.surface_frame[c], f.across[c], s.local[0], jets[_E])
    outer(jets[_D], jets[_E], jets[_V])
    left = inverse(inner(jets[_V], jets[_V]))
    unit(jets[_V], jets[_N])
    scaled(fixed(f.sign[c]), jets[_N], jets[_N])
    away = inner(jets[_W], jets[_N])
    outer(jets[_E], jets[_W], jets[_X])
    one = times(inner(jets[_X], jets[_V]), left)
    outer(jets[_D], jets[_W], jets[_X])
    other = times(inner(jets[_X], jets[_V]), left)
    for k in range(3):
        s.along[0, k], s.along[1, k] = one[k], other[k]
    add(jets[_P], one, jets[_D], jets[_X])
    add(jets[_X], fixed(-f.round[c, 0]), jets[_N], jets[_X])
    return away[0] - f.round[c, 0] - f.round[c, 1], away[1], away[2]


@jit
def _beside(s: SceneTables, c: int) -> Number:
    f, jets = s.features, s.jets
    carry_direction(s.motion, f.surface_frame[c], f.across[c], s.local[0], jets[_E])
    along = inner(jets[_W], jets[_E])
    for k in range(3):
        s.along[1, k] = along[k]
    add(jets[_W], (-along[0], -along[1], -along[2]), jets[_E], jets[_N])
    away = unit(jets[_N], jets[_N])
    add(jets[_P], fixed(-f.round[c, 0]), jets[_N], jets[_X])
    return away[0] - f.round[c, 0] - f.round[c, 1], away[1], away[2]


@jit
def pair_gap(s: SceneTables, c: int) -> Number:
    """Return the gap of a contact of two features with its rates; write normal and touching point."""
    _carry(s, c)
    form = s.features.form[c]
    if form == CORNER:
        return _corner(s, c)
    if form == CROSS:
        return _cross(s, c)
    if form == BESIDE:
        return _beside(s, c)
    if form == OVER:
        return rim_over_plane(s, c)
    return rim_across_line(s, c) if form == ACROSS else rim_across_rim(s, c)


@jit
def margin_count(s: SceneTables, c: int) -> int:
    """Return how many ends the features of a contact have."""
    f = s.features
    form, sides = f.form[c], f.sides[c, 1] - f.sides[c, 0]
    if form == CORNER:
        return sides
    if form == OVER:
        return sides + 1
    if form == BESIDE:
        return 2 if f.round[c, 0] == 0.0 else 3
    return 4


@jit
def _from_side(s: SceneTables, c: int, k: int, gap: Number) -> Number:
    """Return how far the touching point is from an end of a plane: a straight one, or a circle."""
    f, jets, row = s.features, s.jets, s.sides[s.features.sides[c, 0] + k]
    if row[0] == 0.0 and row[1] == 0.0 and row[2] == 0.0:
        away, square = inner(jets[_W], jets[_N]), inner(jets[_W], jets[_W])
        off = minus(times(away, away), square)
        inside = times(fixed(0.5 / row[3]), plus(fixed(row[3] * row[3]), off))
    else:
        carry_direction(s.motion, f.surface_frame[c], row[:3], s.local[0], jets[_V])
        inside = plus(inner(jets[_V], jets[_W]), fixed(row[3]))
    if (f.rivals[c] >> k) & 1 == 0:
        return inside[0] + abs(f.inset[c]), inside[1], inside[2]
    return plus(plus(inside, fixed(-f.inset[c])), times(fixed(row[4]), gap))


@jit
def _facing(s: SceneTables, c: int, k: int) -> Number:
    """Return how far the normal is from where a rim ends: at the side of its cylinder, or at its flat end."""
    f, jets, first = s.features, s.jets, s.features.form[c] == ACROSS or k < 2
    frame, axis, size = f.surface_frame[c], f.across[c], f.length[c, 1]
    if first:
        frame, axis, size = f.ball_frame[c], f.along[c], f.length[c, 0]
    out = fixed(-1.0 if first else 1.0)
    if k % 2 == 0:
        carry_direction(s.motion, frame, axis, s.local[0], jets[_V])
        return plus(times(fixed(size), times(out, inner(jets[_V], jets[_N]))), fixed(abs(f.inset[c])))
    add(jets[_X], _MINUS, jets[_P] if first else jets[_Q], jets[_V])
    return plus(times(out, inner(jets[_V], jets[_N])), fixed(_FLUSH * size))


@jit
def margin(s: SceneTables, c: int, k: int, gap: Number) -> Number:
    """Return how far a contact is from one of its ends, with its rates, where `pair_gap` has just been called."""
    f, jets = s.features, s.jets
    form = f.form[c]
    if form == RIMS or (form == ACROSS and k >= 2):
        return _facing(s, c, k)
    if form == OVER and k == f.sides[c, 1] - f.sides[c, 0]:
        return s.along[0, 0] - LEVEL * f.length[c, 0], s.along[0, 1], s.along[0, 2]
    if form in (CORNER, OVER):
        return _from_side(s, c, k, gap) if f.sides[c, 1] > f.sides[c, 0] else _ENDLESS
    if form == BESIDE and k == 2:
        carry_direction(s.motion, f.ball_frame[c], f.along[c], s.local[0], jets[_D])
        outer(jets[_D], jets[_E], jets[_V])
        square = inner(jets[_V], jets[_V])
        return plus(fixed(PARALLEL * f.length[c, 1]), times(fixed(-f.length[c, 1] / PARALLEL), square))
    line = k // 2 if form == CROSS else 1
    inset = f.inset[c] if f.round[c, line] == 0.0 else -abs(f.inset[c])
    x, y, z = s.along[line, 0], s.along[line, 1], s.along[line, 2]
    if k % 2 == 1:
        x, y, z = f.length[c, line] - x, -y, -z
    return x - inset + gap[0], y + gap[1], z + gap[2]


@jit
def worst_margin(s: SceneTables, c: int, gap: Number) -> int:
    """Return which end of its features a contact is nearest to, or farthest beyond."""
    least, worst = 0.0, 0
    for k in range(margin_count(s, c)):
        value = margin(s, c, k, gap)[0]
        if k == 0 or value < least:
            least, worst = value, k
    return worst


@jit
def set_normal(s: SceneTables, c: int, N: int, N_RATE: int) -> None:
    """Write the normal and how it turns in the axes of the second feature's frame, and let these be the surface's."""
    m, v, jets, b = s.motion, s.local, s.jets, s.features.surface_frame[c]
    for i in range(3):
        for j in range(3):
            s.surface[i, j] = m.axes[b, i, j]
    cross(m.spin[b], jets[_N, 0], v[N_RATE])
    for i in range(3):
        v[N_RATE, i] = jets[_N, 1, i] - v[N_RATE, i]
    back(s.surface, v[N_RATE], v[N_RATE])
    back(s.surface, jets[_N, 0], v[N])
    for i in range(3):
        s.normal[c, i] = v[N, i]


@jit
def set_slip(s: SceneTables, c: int, ARM: int, REACH: int, U: int, U_RATE: int, HERE: int) -> None:
    """Write the touching point as seen from both frames, and with which velocity the first slides over the second."""
    m, v, x = s.motion, s.local, s.jets[_X]
    for i in range(3):
        v[U, i] = v[U_RATE, i] = 0.0
    for side in range(2):
        f = s.features.ball_frame[c] if side == 0 else s.features.surface_frame[c]
        arm, sign = v[ARM] if side == 0 else v[REACH], 1.0 - 2.0 * side
        for i in range(3):
            arm[i] = x[0, i] - m.at[f, i]
        cross(m.spin[f], arm, v[HERE])
        for i in range(3):
            v[U, i] += sign * (m.velocity[f, i] + v[HERE, i])
        cross(m.twist[f], arm, v[HERE])
        for i in range(3):
            v[U_RATE, i] += sign * (m.push[f, i] + v[HERE, i])
            v[HERE, i] = x[1, i] - m.velocity[f, i]
        cross(m.spin[f], v[HERE], v[HERE])
        for i in range(3):
            v[U_RATE, i] += sign * v[HERE, i]
    cross(m.spin[s.features.surface_frame[c]], v[U], v[HERE])
    for i in range(3):
        v[U_RATE, i] -= v[HERE, i]
    back(s.surface, v[U], v[U])
    back(s.surface, v[U_RATE], v[U_RATE])


@jit
def note_spot(s: SceneTables, c: int) -> Number:
    """Keep where a contact of two features is, and where on a rim, and return its gap."""
    gap = pair_gap(s, c)
    for i in range(2):
        s.features.angle[c, i] = s.angle[i]
    for i in range(3):
        s.features.spot[c, i], s.features.toward[c, i] = s.jets[_X, 0, i], s.jets[_N, 0, i]
    return gap


@jit
def whole(gap: float) -> float:
    """Return a gap; what touches up to rounding touches."""
    return gap if abs(gap) > TOUCHING else 0.0
