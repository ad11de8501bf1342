"""When guards fall, and how that instant moves: δt = −δg/ġ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.variations.frame import Frame, Side
from impinge.compile import IntegerMatrix, Matrix, Vector, entry
from impinge.contact.friction import CREEP
from impinge.contact.law import ABSENT, EXTENT, GAP, GRIP, PARTS, TOUCHING, watched_by
from impinge.contact.law import RATE as WATCHES_RATE
from impinge.errors import InputError
from impinge.simulation.locate.guards import guards_of_rows, resolution
from impinge.simulation.system.dynamics import evaluate_and_press
from impinge.simulation.system.plant import FORCE, PRESS, RATE, VALUE, Plant, Workspace

FloatArray = NDArray[np.float64]

# A guard that changes its speed by as much as that speed itself within this time (s) grazes.
_GRAZING = 1e-6
# What a guard of friction watches when feet that stick contradict each other: nothing that has a derivative.
_CREEP = -1


class Fall(NamedTuple):
    """A guard that falls: whose, the derivative by z and the anchors of what it watches, and its rate."""

    contact: int
    row: FloatArray
    rate: float

    def shift(self, X: FloatArray) -> FloatArray:
        """Return by how much later it falls, for each of some variations."""
        return -(self.row @ X) / self.rate


@entry
def _watch(plant: Plant, w: Workspace, t: float, y: Vector, dy: Vector, values: Matrix, watched: IntegerMatrix) -> None:
    """Write the guards of all contacts at a state, and what the largest part of each watches."""
    evaluate_and_press(plant, w, t, y, dy)
    guards_of_rows(plant, w, w.rows, 2)
    for c in range(plant.nc):
        for k in range(values.shape[1]):
            values[c, k], watched[c, k] = w.guards[2, c, k], ABSENT
            for p in range(PARTS * k, PARTS * (k + 1)):
                what = watched_by(w.watched[c], p)
                if what != ABSENT and w.parts[2, c, p] == values[c, k]:
                    watched[c, k] = what


def falls_at(frame: Frame, who: str, left: Side, right: Side, rates: FloatArray, changed: Sequence[int]) -> list[Fall]:
    """Return the guards of some contacts that fall at an instant, in the modes before it.

    Args:
        frame: in the modes before the instant.
        who: for errors.
        left: the side before the instant.
        right: the side behind it.
        rates: those of z and the anchors on its left side.
        changed: the contacts that change.
    """
    return [_fall(frame, who, left, c, what, rates) for c, what in _fallen(frame, left, right, rates, changed)]


def _fallen(frame: Frame, left: Side, right: Side, rates: FloatArray, changed: Sequence[int]) -> list[tuple[int, int]]:
    """Return the guards that fall at an instant, as contact and what they watch."""
    y, derivative = frame.flow.y, np.zeros(frame.w.y.size)
    shape = frame.w.guards.shape[1:]
    # Beyond the instant, and where the motion would be there had nothing changed.
    ahead = 2.0 * max(right.time - left.time, float(resolution(left.time)))
    states = [(right.time, right.x), (left.time + ahead, frame.later(left.x, rates, ahead)), (left.time, left.x)]
    values, watched = np.zeros((3, *shape)), np.zeros(shape, dtype=np.int64)
    for (t, x), guards in zip(states, values, strict=True):
        y[: x.size] = x
        _watch(*frame.packed[:2], t, y, derivative, guards, watched)
    beyond, onward, before = values
    fell = (before >= 0.0) & (np.minimum(beyond, onward) < 0.0)
    if not fell[changed].any():
        fell = np.abs(before) <= 10 * TOUCHING  # rounding hides the fall
    if frame.plant.nt > 0:
        watched[:, -1] = np.where(watched[:, -1] == ABSENT, ABSENT, _CREEP)
    watches = [{int(watched[c, k]) for k in range(shape[1]) if fell[c, k] and watched[c, k]} for c in changed]
    for c, kinds in zip(changed, watches, strict=True):
        # How far a bristle is bent is known within the tolerance only: its guard need not be seen to fall.
        if frame.plant.bristled[c] and frame.plant.closed[c, left.modes[c]] and frame.plant.closed[c, right.modes[c]]:
            kinds.add(GRIP)
    return [(c, what) for c, kinds in zip(changed, watches, strict=True) for what in sorted(kinds)]


def _fall(frame: Frame, who: str, left: Side, c: int, what: int, rates: FloatArray) -> Fall:
    contact = frame.model.contacts[c]
    if what == _CREEP:
        raise InputError(
            who,
            "contacts that stick without contradicting each other",
            f"contact '{contact}' torn from its stick by others at t = {left.time:.9g} s",
            "There is no derivative there: let fewer contacts of one body stick, or start a little beside it.",
        )
    _, later = _slope(frame, c, what, left.time + _GRAZING, frame.later(left.x, rates, _GRAZING))
    row, rate = _slope(frame, c, what, left.time, left.x)
    if not abs(later - rate) < abs(rate):
        raise _too_slow(who, contact, left.time, rate)
    return Fall(c, row, rate)


def strike_of(frame: Frame, who: str, left: Side, c: int, rates: FloatArray) -> Fall:
    """Return the fall of a gap that strikes, at the state just differentiated on the left side."""
    i = frame.plant.nh + c
    row = frame.row("g", i)
    fall = Fall(c, row, float(row @ rates))
    if not _GRAZING * abs(float(frame.row("rate", i) @ rates)) < abs(fall.rate):
        raise _too_slow(who, frame.model.contacts[c], left.time, fall.rate)
    return fall


def _too_slow(who: str, contact: str, time: float, rate: float) -> InputError:
    return InputError(
        who,
        f"contact '{contact}' to change at speed",
        f"a grazing change at t = {time:.9g} s, where its guard falls at {rate:.3g} per second",
        "There is no derivative there: start a little beside it.",
    )


def _slope(frame: Frame, c: int, what: int, t: float, x: FloatArray) -> tuple[FloatArray, float]:
    """Return the derivative by z and the anchors of what a guard watches, and its rate along the motion."""
    rates, plant, i = frame.at(t, x), frame.plant, frame.plant.nh + c
    if what == GAP:
        row = frame.row("g", i)
    elif what == EXTENT:
        row = frame.row("extent", plant.extent[c] - frame.slips.stop)
    elif what == WATCHES_RATE:
        row = frame.row("rate", i)
    elif what == GRIP:
        row = _slope_of_grip(frame, c)
    else:
        row = _slope_of_force(frame, c, t, x)
    return row, float(row @ rates)


def _slope_of_grip(frame: Frame, c: int) -> FloatArray:
    """Return the same of what friction can still hold, or of the speed of what slides, at the state just evaluated."""
    plant, w, d, nz = frame.plant, frame.w, frame.d, frame.nz
    i, own = plant.nh + c, np.arange(plant.slips[c], plant.slips[c + 1])
    rows = frame.slips.start + own
    slides = w.mode[c] == plant.sliding[c]
    if slides and plant.bristled[c] == 0:
        row = np.zeros(frame.size)
        for s, k in zip(own, rows, strict=True):
            row += w.direction[s] * frame.row("rate", k)
            row[nz + plant.ns + s] = w.rows[RATE, k]
        return row
    friction = d.force[rows].copy()
    borne = w.rows[FORCE, rows]
    if slides:  # what its bristles would give
        borne = w.rows[PRESS, rows]
        for n, (s, k) in enumerate(zip(own, rows, strict=True)):
            friction[n] = d.slopes[2 * k] * frame.row("g", k) + d.slopes[2 * k + 1] * frame.row("rate", k)
            friction[n, nz + s] -= d.slopes[2 * k]
    size = float(np.linalg.norm(borne))
    limit = plant.mu[c] * d.force[i]
    limit[:nz] += w.rows[FORCE, i] * d.mu[c]
    spare = limit - (borne / size @ friction if size > 0.0 else 0.0)
    return np.asarray(-spare if slides else spare)


def _slope_of_force(frame: Frame, c: int, t: float, x: FloatArray) -> FloatArray:
    """Return the same of a contact's force; of an open one, of the force that it would have if closed.

    Slip of an open contact would count from where it is: its anchor goes with it.
    """
    w, plant, mode, i = frame.w, frame.plant, frame.w.mode[c], frame.plant.nh + c
    if plant.closed[c, mode]:
        return frame.d.force[i].copy()
    follow = np.arange(plant.slips[c], plant.slips[c + 1])
    rows = frame.slips.start + follow
    w.mode[c] = plant.closing[c]
    w.anchor[follow] = w.rows[VALUE, rows]
    speed = float(np.linalg.norm(w.rows[RATE, rows]))
    if plant.sliding[c] >= 0 and plant.bristled[c] == 0 and speed > CREEP:
        w.mode[c] = plant.sliding[c]
        w.direction[follow] = w.rows[RATE, rows] / speed
    frame.at(t, x)
    row = frame.d.force[i].copy()
    row[: frame.nz] += row[frame.nz + follow] @ frame.by["g"][rows]
    row[frame.nz + follow] = 0.0
    w.mode[c] = mode
    return row
