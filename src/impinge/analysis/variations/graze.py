"""Contacts that graze: a gap that comes down to zero and goes up again has no derivative by what moves it.

On one side of a graze there is a contact and on the other there is none. Whether a law's force then begins so gently
that a derivative exists all the same is not asked: a graze is where a model is about to do something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.variations.frame import Frame, Side
from impinge.errors import InputError
from impinge.model import Model
from impinge.simulation.results.result import Result
from impinge.simulation.system.dynamics import right_hand_side
from impinge.simulation.system.plant import RATE, VALUE, Plant

FloatArray = NDArray[np.float64]

# So many times the error that a step may have, a run's gaps are off.
_ERRORS = 10.0
# What rests or hovers goes no higher, in units of that.
_HOVERS = 10.0
_BISECTIONS = 60


class Dip(NamedTuple):
    """An open gap that stops falling: whose, in which step, and between which times since its start, s."""

    contact: int
    step: int
    low: float
    high: float


def tolerance_at(plant: Plant, x: FloatArray) -> float:
    """Return how exactly a run knows its gaps at a state, m."""
    return _ERRORS * (plant.atol + plant.rtol * float(np.abs(x[: plant.nq]).max(initial=0.0)))


def dips_of(result: Result, model: Model, plant: Plant) -> list[Dip]:
    """Return where open gaps of a run have a minimum, from above the run's tolerance to above it; in order of time."""
    t, begins, found = result.t, result.steps[:, 0], list[Dip]()
    largest = max((float(np.abs(result[x.name]).max()) for x in model.coordinates), default=0.0)
    clear = _HOVERS * _ERRORS * (plant.atol + plant.rtol * largest)
    for c, name in enumerate(model.contacts):
        gap, rate, mode = result[f"gap_{name}"], result[f"gap_{name}_dot"], result[f"mode_{name}"].astype(int)
        open_ = (plant.closed[c, mode] == 0) & (mode != plant.passed[c])
        if model.gaps[c].limited:
            open_ &= result[f"extent_{name}"] > 0.0
        turns = open_[:-1] & open_[1:] & (mode[:-1] == mode[1:]) & (rate[:-1] < 0.0) & (rate[1:] > 0.0)
        for k in np.flatnonzero(turns & (t[:-1] < t[1:]) & (gap[:-1] > 0.0) & (gap[1:] > 0.0)):
            shut = np.flatnonzero(~open_)
            first, last = shut[shut < k].max(initial=-1) + 1, shut[shut > k].min(initial=t.size)
            if min(gap[first : k + 1].max(), gap[k + 1 : last].max()) > clear:
                n = int(np.searchsorted(begins, t[k], side="right")) - 1
                found.append(Dip(c, n, float(t[k] - begins[n]), float(t[k + 1] - begins[n])))
    return sorted(found, key=lambda dip: (dip.step, dip.low))


def check_dip(frame: Frame, who: str, dip: Dip) -> None:
    """Refuse a dip that touches the surface, within the run's tolerance; the frame must be where its step begins."""
    plant, w, flow, i = frame.plant, frame.w, frame.flow, frame.plant.nh + dip.contact
    (t, _), x = flow.steps[dip.step], flow.states[dip.step]
    a, c, nx = plant.tableau.a, plant.tableau.c, x.size
    bristles = slice(nx + plant.nc + plant.nt, nx + plant.nc + plant.nt + plant.nb)
    k, start = np.zeros((c.size, w.y.size)), np.zeros(w.y.size)
    start[:nx], start[bristles] = x, flow.bent[: plant.nb]

    def gap_at(h: float) -> tuple[float, float]:
        for s in range(c.size):
            right_hand_side(*frame.packed[:2], t + c[s] * h, start + h * (a[s] @ k), k[s])
        return float(w.rows[VALUE, i]), float(w.rows[RATE, i])

    low, high = max(dip.low, 0.0), dip.high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if gap_at(middle)[1] < 0.0 else (low, middle)
    least, _ = gap_at(low)
    if abs(least) <= tolerance_at(plant, x):
        raise _grazes(frame, who, dip.contact, t + low, least)


def check_approach(frame: Frame, who: str, left: Side, rates: FloatArray, contacts: Sequence[int]) -> None:
    """Refuse contacts that close where their gap would have turned back within the run's tolerance.

    The frame must be just differentiated on the left side, in the modes before, with these rates of z and the anchors.
    """
    plant, w, within = frame.plant, frame.w, tolerance_at(frame.plant, left.x)
    for c in contacts:
        i = plant.nh + c
        gap, rate, acceleration = w.rows[VALUE, i], w.rows[RATE, i], float(frame.row("rate", i) @ rates)
        if abs(gap) <= within and acceleration > 0.0 and rate**2 <= 2.0 * acceleration * within:
            raise _grazes(frame, who, c, left.time, -(rate**2) / (2.0 * acceleration))


def _grazes(frame: Frame, who: str, c: int, time: float, gap: float) -> InputError:
    return InputError(
        who,
        f"contact '{frame.model.contacts[c]}' to pass its surface clearly or to touch it at speed",
        f"a graze at t = {time:.9g} s, with a gap of {gap:.3g} {frame.model.gaps[c].unit} at the least",
        "There is no derivative there: start a little beside it.",
    )
