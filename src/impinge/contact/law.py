"""What a contact law is: four small functions of one contact's gap, and a row of gains.

A law never sees the model. It sees the gap, its rate and the contact's force (while it is open: the force
it would have if it closed now), and

* prescribes: in a given mode, either the acceleration that the gap must have, or the force; likewise for
  the slip along each sliding direction, counted from where the contact closed,
* slopes: the partial derivatives of what it prescribes, for exact linear models,
* guards: what must stay positive for the mode to last. A guard is the largest of its parts, each of which is
  smooth: it falls when the last of them does, and the simulator looks for roots of the parts, never of the largest,
* decides: the mode to be in, at an instant.

They are machine code called by address, so that one compiled simulator serves every law, and every
contact may have its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from impinge.compile import Entry, jit
from impinge.compile.loops.layout import FLOAT, INTEGER, ArrayKind, Signature
from impinge.errors import InputError

# What a law prescribes (the return value of its first function).
FORCE = 0
ACCELERATION = 1
# What friction prescribes for the slip of a contact that slides: its force as a multiple of the normal force.
DRAG = 2

# What a part of a guard watches: which of these passes through zero with it. ABSENT: there is no such part. GRIP is
# what friction can still hold, or, of a contact that slides, its speed.
ABSENT, GAP, RATE, PRESS, EXTENT, GRIP = 0, 1, 2, 3, 4, 5
WATCH_BITS = 3

# What it prescribes for: the gap, or a slip.
NORMAL = 0
TANGENT = 1

# Guards of a law, and parts of each; a guard without parts never falls.
GUARDS, PARTS = 2, 3
FIRST, SECOND = 0, PARTS  # where the parts of the two guards begin

# Closer than this (m) two things touch; slower than this (m/s) a gap does not open; a force smaller than
# this (N) is none. Motion below it is rounding and changes no mode.
TOUCHING, SLOW, NOTHING = 1e-14, 1e-13, 1e-10

# prescribe(mode, NORMAL or TANGENT, gap or slip, rate, gains, out value) -> FORCE or ACCELERATION
_VECTOR = ArrayKind(FLOAT, 1)
PRESCRIBE = Signature((INTEGER, INTEGER, FLOAT, FLOAT, _VECTOR, _VECTOR), INTEGER)
# slope(the same, out derivatives by gap or slip and by rate) -> the same
SLOPE = PRESCRIBE
# guard(mode, gap, rate, force, gains, out values[GUARDS * PARTS]) -> what the parts watch, the sum of `watching` for
# each that was written; above -TOUCHING a guard has not clearly fallen, so rates and forces are scaled to that
GUARD = Signature((INTEGER, FLOAT, FLOAT, FLOAT, _VECTOR, _VECTOR), INTEGER)
# decide(mode, gap, rate, force, gains, fired guards as bits) -> mode
DECIDE = Signature((INTEGER, FLOAT, FLOAT, FLOAT, _VECTOR, INTEGER), INTEGER)
FUNCTIONS = {"prescribe": PRESCRIBE, "slope": SLOPE, "guard": GUARD, "decide": DECIDE}


@jit
def watching(part: int, what: int) -> int:
    """Return one term of what a guard function returns: that a part (FIRST, FIRST + 1, …, SECOND, …) watches this."""
    return what << (WATCH_BITS * part)


@jit
def watched_by(watched: int, part: int) -> int:
    """Return what a part watches; ABSENT if there is none."""
    return (watched >> (WATCH_BITS * part)) & ((1 << WATCH_BITS) - 1)


@runtime_checkable
class ContactLaw(Protocol):
    """What every law has, event-driven or not.

    Attributes:
        name: how the command line calls it.
        modes: names of its modes; a run starts in the first, and contacts that must be closed close at once.
        closed: for each mode, whether the contact is closed in it; the first such mode is the one it closes in.
    """

    name: ClassVar[str]
    modes: ClassVar[tuple[str, ...]]
    closed: ClassVar[tuple[bool, ...]]

    @property
    def gains(self) -> tuple[float, ...]:
        """Its numbers, as the simulator is given them."""
        ...


@runtime_checkable
class Law(ContactLaw, Protocol):
    """An event-driven contact law with its gains.

    Attributes:
        prescribe, slope, guard, decide: the compiled functions.
    """

    prescribe: ClassVar[Entry]
    slope: ClassVar[Entry]
    guard: ClassVar[Entry]
    decide: ClassVar[Entry]


def check_gains(law: ContactLaw) -> None:
    """Raise the error that fits if what a law hands to machine code as its gains are no numbers."""
    gains: Any = law.gains
    if not isinstance(gains, tuple) or not all(isinstance(gain, Real) and gain == gain for gain in gains):
        remedy = "Let it be a property that returns a tuple of numbers."
        raise InputError(f"law '{law.name}'", "gains that are numbers", repr(gains), remedy)


def law_code(laws: Iterable[Law]) -> list[Entry]:
    """Return the functions of some laws, each once."""
    return list({getattr(law, name): None for law in laws for name in FUNCTIONS})


def is_compliant(law: ContactLaw) -> bool:
    """Tell whether a law prescribes the force of a closed contact, so that its gap may be below zero at rest."""
    return _gives_force(law, NORMAL)


def sticks_compliantly(law: ContactLaw) -> bool:
    """Tell whether a law prescribes the force with which a closed contact sticks, so that its slip may move."""
    return _gives_force(law, TANGENT)


def _gives_force(law: ContactLaw, along: int) -> bool:
    if not isinstance(law, Law):
        return False
    gains, value = np.array([*law.gains, 0.0], dtype=float), np.zeros(1)
    return law.prescribe(law.closed.index(True), along, 0.0, 0.0, gains, value) == FORCE
