"""The extremes of a run: for each contact the worst of every promise, and when that was.

All are kept as "larger is worse", so that one comparison serves every kind; what never happened is −∞.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit

# Kinds of extremes of a contact; units for a gap in meters.
DEPTH = 0  # −gap, beyond the ends of surfaces excepted, m
OPEN = 1  # −gap while it is Free and approaches, or at the lowest point of a dip inside a step, m
PULL = 2  # −force while closed, N
PUSH = 3  # force while closed, N
PRODUCT = 4  # |gap × force|, J
EXCESS = 5  # friction beyond Coulomb's limit, over that limit (see `observe`)
CREEP = 6  # slip rate of what sticks rigidly, m/s
DRIVE = 7  # power of friction on what slides, W
RUB = 8  # friction times speed of what slides, W
GAIN = 9  # work that the friction of a bristle gave beyond what it had stored, J
STRUCK = 10  # impulse of an impact, N·s
CREATED = 11  # work created by the impulses of one instant or step, over the work that they moved
APPROACH = 12  # speed at which a gap closes, m/s
BEND = 13  # how far a gap, or a constraint, is from where its rate would have brought it within a time step, m
# Kinds of a whole run, in the row behind those of its contacts; BEND too.
DRIFT = 14  # largest |h| of a constraint, in its unit; instead of the time of a recorded row: which one
BALANCE = 15  # residual of the energy balance, J
MISS = 16  # what impulses missed of the law of contacts in a time step, over the largest rate
KINDS = 17
# Where the numbers of all kinds begin in a row of the table: the worst of the steps and when that was (s), that of the
# recorded rows and when, the limit (below zero: there is none).
WORST, WHEN, ROWS, ROWS_WHEN, LIMIT = 0, KINDS, 2 * KINDS, 3 * KINDS, 4 * KINDS


class Extremes(NamedTuple):
    """What a run keeps of itself for its certificate (nc contacts)."""

    table: Matrix  # (nc + 1) × 5 KINDS
    given: Vector  # work and store of each contact's bristles at their least, nc
    start: Vector  # gap of each contact at the start of a run in time steps, nc
    impulse: Vector  # of each contact in the last impact, nc
    halt: Vector  # along each slip, of what stopped it when its contact closed last, ns
    impacts: Integers  # in which each contact took part, nc
    energy: Vector  # largest kinetic, largest and −smallest potential energy, largest |v|, where looked at, 4


def extremes_of(nc: int, ns: int) -> Extremes:
    """Allocate the extremes of a run of nc contacts with ns slips in which nothing has happened yet."""
    return Extremes(
        table=np.full((nc + 1, 5 * KINDS), -np.inf),
        given=np.full(nc, np.inf),
        start=np.zeros(nc),
        impulse=np.zeros(nc),
        halt=np.zeros(ns),
        impacts=np.zeros(nc, dtype=np.int64),
        energy=np.array([0.0, -np.inf, -np.inf, 0.0]),
    )


@jit
def keep(row: Any, of: int, kind: int, number: float, t: float) -> None:
    """Keep a number of the steps (WORST) or of recorded ROWS in a row of the table if it is worse than all before."""
    if number > row[of + kind]:
        row[of + kind] = number
        row[of + KINDS + kind] = t
