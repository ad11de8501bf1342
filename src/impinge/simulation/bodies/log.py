"""Writing down what happened: rows of the state, a row for each contact that pushes, events of pairs of shapes."""

from __future__ import annotations

from typing import Any, NamedTuple

from impinge.compile import Integers, Matrix, ask, jit
from impinge.geometry.table import GAP, NORMAL, PLACE
from impinge.simulation.bodies.smooth import set_velocities
from impinge.simulation.bodies.stage import DEEPEST, GRIPPED, KICK, LAST, LIFTED, NOW, ROW_TIME, WORK

# Numbers of a row beside time, state and inputs: kinetic and potential energy, work of contacts and grips, energy
# lifted by corrections, deepest penetration so far. Then six for each grip.
EXTRAS = 6
# Columns of a contact: row, the two shapes, gap, normal, place, force along the normal, force on the first (world).
CONTACT = 13
# Columns of an event: time, the frames of the two shapes, whether they begin to push, impulse since they began.
EVENT = 5
ROWS, CONTACTS, EVENTS = 0, 1, 2


class SceneLog(NamedTuple):
    """Growing records."""

    rows: Matrix
    contacts: Matrix
    events: Matrix
    used: Integers


@jit
def energies(world: Any, s: Any, out: Any) -> None:
    """Write kinetic and potential energy of the free bodies.

    Velocities are those that steps go on with, half a step before: contacts never make this energy grow.
    """
    out[0], out[1] = 0.0, 0.0
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            v, x = s.v[world.speed[f] : world.speed[f] + 6], s.q[world.place[f] : world.place[f] + 3]
            for i in range(3):
                out[0] += 0.5 * world.mass[f] * v[i] * v[i]
                out[1] -= world.mass[f] * world.gravity[i] * x[i]
                for j in range(3):
                    out[0] += 0.5 * v[3 + i] * world.tensor[f, i, j] * v[3 + j]


@jit
def _add_contact(s: Any, log: Any, c: int) -> None:
    last, row = s.last, log.contacts[log.used[CONTACTS]]
    row[0] = log.used[ROWS]
    row[1], row[2] = last.shapes[c, 0], last.shapes[c, 1]
    row[3] = last.point[c, GAP]
    for i in range(3):
        row[4 + i] = last.point[c, NORMAL + i]
        row[7 + i] = last.point[c, PLACE + i]
        row[10 + i] = 0.0
        for r in range(3):
            row[10 + i] += last.axes[c, r, i] * last.impulse[c, r] / s.time[KICK]
    log.used[CONTACTS] += 1


@jit
def _add_event(s: Any, log: Any, t: float, frames: Any, closes: bool, impulse: float) -> None:
    row = log.events[log.used[EVENTS]]
    row[0], row[1], row[2], row[3], row[4] = t, frames[0], frames[1], closes, impulse
    log.used[EVENTS] += 1


@jit
def _before(a: Any, b: Any) -> bool:
    """Tell whether a pair of shapes comes before another in the order of contacts."""
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


@jit
def add_events(s: Any, log: Any, t: float) -> None:
    """Record which pairs of shapes begin or cease to push in the step that ends at t; both lists are in order.

    What comes to rest for good never ceases to push: steps that are not computed again need not be counted.
    """
    now, last = s.now, s.last
    n, m, i, j = s.used[NOW], s.used[LAST], 0, 0
    while i < n or j < m:
        ours = j == m or (i < n and not _before(last.shapes[j], now.shapes[i]))
        theirs = i == n or (j < m and not _before(now.shapes[i], last.shapes[j]))
        first, other, given, total = i, j, 0.0, 0.0
        if theirs:
            while j < m and last.shapes[j, 0] == last.shapes[other, 0] and last.shapes[j, 1] == last.shapes[other, 1]:
                given += last.given[j]
                j += 1
        if ours:
            while i < n and now.shapes[i, 0] == now.shapes[first, 0] and now.shapes[i, 1] == now.shapes[first, 1]:
                now.given[i] = 0.0
                total += max(s.problem.impulse[i, 0], 0.0)
                i += 1
            if total > 0.0:
                now.given[first] = given + total
                if given == 0.0:
                    _add_event(s, log, t, now.frames[first], True, 0.0)
        if given > 0.0 and total == 0.0:
            _add_event(s, log, t, last.frames[other], False, given)


@jit
def add_row(world: Any, s: Any, log: Any, t: float) -> bool:
    """Record this instant, once; return False if there is no room."""
    if t <= s.time[ROW_TIME]:
        return True
    if log.used[ROWS] >= log.rows.shape[0] or log.used[CONTACTS] + s.used[LAST] > log.contacts.shape[0]:
        return False
    set_velocities(world, s)
    row = log.rows[log.used[ROWS]]
    row[0] = t
    k = 1
    for i in range(s.q.size):
        row[k + i] = s.q[i]
    k += s.q.size
    for i in range(s.v.size):
        row[k + i] = s.instant[i]
    k += s.v.size
    for i in range(s.u.size):
        row[k + i] = s.u[i]
    k += s.u.size
    energies(world, s, row[k:])
    if s.rules.robot_energies != 0:
        ask(s.rules.robot_energies, (s, 0.0))
        row[k] += s.robot_energy[0]
        row[k + 1] += s.robot_energy[1]
    row[k + 2], row[k + 3], row[k + 4] = s.tally[WORK], s.tally[GRIPPED], s.tally[LIFTED]
    row[k + 5] = s.tally[DEEPEST]
    k += EXTRAS
    for g in range(s.grip.shape[0]):
        for m in range(6):
            row[k + 6 * g + m] = s.grip[g, m]
    for c in range(s.used[LAST]):
        if s.last.impulse[c, 0] > 0.0:
            _add_contact(s, log, c)
    log.used[ROWS] += 1
    s.time[ROW_TIME] = t
    return True
