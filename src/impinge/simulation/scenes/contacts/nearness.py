"""How far candidates of a pair of shapes are from meeting, looked at where a step begins.

A candidate is near if its gap is small, its features do not end far from where they are nearest to each other, and all
that bounds them leads away from there.
"""

from __future__ import annotations

from impinge.compile import jit
from impinge.geometry.features import relate
from impinge.simulation.scenes.contacts.near_corners import beside_off, corner_off, cross_off, shift
from impinge.simulation.scenes.contacts.near_rims import SPIN, over_off, rehome, rim_off
from impinge.simulation.scenes.contacts.pairs import BESIDE, CORNER, CROSS, OVER
from impinge.simulation.scenes.contacts.vectors import back
from impinge.simulation.scenes.tables import SceneTables

KEPT = 1.5  # how much farther a candidate may be while it is a contact

# Rows of `SceneTables.local` that are free here: where the other shape is, and which way its middle.
_AT, _AWAY = 0, 4


@jit
def look(s: SceneTables, pair: int, near: float, aside: float, level: float) -> None:
    """Write for all candidates of a pair how far they are from meeting, infinite if they are not near."""
    o, m = s.candidates, s.motion
    side, x, R = s.local[_AWAY], s.local[_AT], s.relative
    for turn in range(2):
        first, second = o.frames[pair, turn], o.frames[pair, 1 - turn]
        relate(m.at[second], m.axes[second], m.at[first], m.axes[first], x, R)
        shift(o.center[pair, turn], x, R, side)
        for i in range(3):
            side[i] -= o.center[pair, 1 - turn, i]
        for i in range(3):
            s.local[SPIN, i] = m.spin[first, i] - m.spin[second, i]
        back(m.axes[second], s.local[SPIN], s.local[SPIN])
        for k in range(o.first[pair], o.first[pair + 1]):
            if o.turned[k] != turn:
                continue
            if o.half[k] < 0.0:
                rehome(s, k, x, R)
            more = KEPT if o.owner[k] >= 0 else 1.0
            if o.form[k] == CORNER:
                o.value[k] = corner_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair])
            elif o.form[k] == CROSS:
                o.value[k] = cross_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair], side)
            elif o.form[k] == OVER:
                o.value[k] = over_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair])
            elif o.form[k] != BESIDE:
                o.value[k] = rim_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair], side)
            else:
                o.value[k] = beside_off(s, k, x, R, more * near, more * aside, more * level, o.depth[pair])
