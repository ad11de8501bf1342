"""The extremes of a run: for each contact the worst of every promise, and when that was.

All are kept as "larger is worse", so that one comparison serves every kind; what never happened is −∞.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit

# Kinds of extremes, the rows of `Extremes.value` and `Extremes.time`; units for a gap in meters.
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
BEND = 13  # how far a gap is from where its rate would have brought it within a time step, m
KINDS = 14


class Extremes(NamedTuple):
    """What a run keeps of itself for its certificate (nh constraints, nc contacts)."""

    value: Matrix  # KINDS × nc
    time: Matrix  # when that was, KINDS × nc
    recorded: Matrix  # the same of recorded rows, for EXCESS, CREEP and DRIVE, KINDS × nc
    recorded_time: Matrix  # KINDS × nc
    drift: Vector  # largest |h|, nh
    drift_time: Vector  # nh
    bend: Vector  # as BEND for constraints, nh
    given: Vector  # work and store of each contact's bristles at their least, nc
    impulse: Vector  # of each contact in the last impact, nc
    impacts: Integers  # in which each contact took part, nc
    energy: Vector  # largest kinetic, largest and −smallest potential energy, largest |v|, where looked at, 4


def extremes_of(nh: int, nc: int) -> Extremes:
    """Allocate the extremes of a run in which nothing has happened yet."""
    return Extremes(
        value=np.full((KINDS, nc), -np.inf),
        time=np.zeros((KINDS, nc)),
        recorded=np.full((KINDS, nc), -np.inf),
        recorded_time=np.zeros((KINDS, nc)),
        drift=np.zeros(nh),
        drift_time=np.zeros(nh),
        bend=np.zeros(nh),
        given=np.full(nc, np.inf),
        impulse=np.zeros(nc),
        impacts=np.zeros(nc, dtype=np.int64),
        energy=np.array([0.0, -np.inf, -np.inf, 0.0]),
    )


@jit
def keep(value: Any, time: Any, kind: int, c: int, number: float, t: float) -> None:
    """Keep a number if it is worse than all before."""
    if number > value[kind, c]:
        value[kind, c] = number
        time[kind, c] = t
