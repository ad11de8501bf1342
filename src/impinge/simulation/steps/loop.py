"""The loop over time steps, of models and of scenes.

    while t < stop:
        make ready: what a step has left behind, and the row of t if it is due
        take one step, to the next multiple of its length or to the stop

What is common to all that is stepped is this loop, the contact problem with its solvers, and the way to the impulses
of a step (`impulses`, `work`). What is not is where rows come from and what is recorded of them: those of a model are
always there, have names, modes and surfaces that end, and may be stepped explicitly or implicitly (`timestep`,
`contacts`); those of a scene come and go with its shapes, by thousands, and its bodies are leapfrogged, parted and
put to sleep (`bodies`).

A step may be longer or shorter by a little of its length to end where it must: much shorter ones would make gaps that
are rounding into speeds.
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple

from impinge.compile import Integers, Vector, ask, jit
from impinge.simulation.events.instant import DONE, PAUSED
from impinge.simulation.locate.guards import resolution

_STRETCH = 1e-3  # share of its length by which a step may differ to end where it must
_EXACT = 1e-9  # share that is rounding


class Course(NamedTuple):
    """How something is stepped."""

    ready: int  # addresses of entries: (what is stepped, log, t, whether a row is due), and
    take: int  # (what is stepped, log, t, length, end); DONE, or why not
    step: float  # length of a step, s
    sample: float  # spacing of recorded rows, s; 0 for every step
    time: Vector  # first of it: how far the run is
    rows: Integers  # (1,): rows that were due


@jit
def _next_end(step: float, t: float, stop: float) -> float:
    """Return when the step that begins now ends."""
    grid = (floor(t / step + _STRETCH) + 1) * step
    return stop if grid >= stop - _STRETCH * step else grid


@jit
def go_on(stepped: Any, course: Any, log: Any, stop: float, budget: int) -> int:
    """Step until a time, so many steps at most; DONE, PAUSED, or why not."""
    step, sample, slack = course.step, course.sample, _EXACT * course.step
    for _ in range(budget):
        t = course.time[0]
        last = stop - t <= resolution(stop)
        due = not last and (sample == 0.0 or course.rows[0] * sample <= t + slack)
        status = ask(course.ready, (stepped, log, t, 1 if due else 0))
        if status != DONE or last:
            return status
        if due and sample > 0.0:
            course.rows[0] = floor((t + slack) / sample) + 1
        end = _next_end(step, t, stop)
        h = step if abs(end - t - step) < slack else end - t
        status = ask(course.take, (stepped, log, t, h, end))
        if status != DONE:
            return status
        course.time[0] = end
    return PAUSED
