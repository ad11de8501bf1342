"""What a run does where contacts change without end: it steps over them; where steps crowd, that is noticed."""

from __future__ import annotations

from math import floor

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.simulation.events.decide import decide_modes
from impinge.simulation.events.instant import (
    CHATTER,
    CROWDED,
    CYCLE,
    TOO_SMALL,
    restart,
    return_modes,
    strikes_solved,
)
from impinge.simulation.results.record import ROWS, add_even_row, add_even_samples, add_events, add_row
from impinge.simulation.results.record import STEPS as STEP_LOG
from impinge.simulation.system import contacts
from impinge.simulation.system.dynamics import evaluate_and_press
from impinge.simulation.system.plant import (
    AGAIN,
    BEGAN,
    CROWD,
    EVALUATIONS,
    HASTE,
    JAMMED,
    LAST,
    LEAP,
    LEAPED,
    LEAPS,
    LEFT_TIME,
    MARK,
    RATE,
    SLOW,
    SPENT,
    STALLED,
    TIME,
    Log,
    Plant,
    Workspace,
    assign,
    swap,
)

# The work of a run is watched over parts of its longest step, each by default a thousandth of the run. A step over
# contacts that change without end is at most this part of the longest step, and at first this share of that.
_WINDOWS, _PARTS, _SHORTEST = 20.0, 400.0, 1e-2
# Steps are short if they are this share of a step over contacts. So many of them are forgotten in the time that such a
# step takes, and so many are too many.
_SHORT, _FEW, _MANY = 0.05, 20, 1000
# One that evaluates the equations so often, to locate what then changes nothing, counts twice, and so on.
_DEAR = 30
# What slides more slowly (m/s) than this makes the motion stiff.
_SLOWLY = 1e-4


@jit
def longest_leap(plant: Plant) -> float:
    """Return the length of the longest step over contacts that change without end, s."""
    return plant.max_step / _PARTS


@jit
def _leap_over(plant: Plant, w: Workspace, log: Log, length: float) -> bool:
    """Go on by a step in which all contacts are decided together; tell whether that was possible.

    Where contacts still do not agree on their modes behind it, ``w.counts[AGAIN]`` is 1: another such step must follow.
    """
    t, rows = w.time[TIME], log.used[ROWS]
    if w.counts[AGAIN] == 0:
        add_row(plant, w, log, t, w.y, w.mode)
    else:
        add_even_row(plant, w, log, t, w.y)
    contacts.remember(w)
    if ask(plant.leap, (plant, w, length)) != 0:
        return False
    if contacts.any_changed(plant, w):
        add_even_row(plant, w, log, t, w.y)
        add_events(plant, w, log, t)
    else:
        log.used[ROWS] = rows
    add_even_samples(plant, w, log, t, length)
    step = log.steps[log.used[STEP_LOG]]
    step[0], step[1] = t, length
    log.used[STEP_LOG] += 1
    w.counts[STALLED] = 0
    w.counts[LEAPS] += 1
    w.time[TIME], w.time[LEFT_TIME] = t + length, t
    assign(w.y, w.trial)
    assign(w.left_y, w.trial)
    contacts.remember(w)
    for c in range(plant.nc):
        w.fired[c] = 0
    w.counts[AGAIN] = 0 if strikes_solved(plant, w) and decide_modes(plant, w) else 1
    if w.counts[AGAIN] != 0:
        return_modes(plant, w)
        return True
    if contacts.any_changed(plant, w):
        swap(w.mode, w.left_mode)
        add_even_row(plant, w, log, w.time[TIME], w.left_y)
        swap(w.mode, w.left_mode)
        add_row(plant, w, log, w.time[TIME], w.y, w.mode)
        add_events(plant, w, log, w.time[TIME])
        evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    restart(plant, w, length)
    return True


@jit
def crowded(plant: Plant, w: Workspace) -> bool:
    """Count the steps tried in a part of the run; tell whether they are more than its budget."""
    if w.time[TIME] > w.time[MARK] + plant.max_step / _WINDOWS:
        w.time[MARK], w.counts[CROWD] = w.time[TIME], 0
    w.counts[CROWD] += 1
    return w.counts[CROWD] > plant.budget


@jit
def _feet_in_plane(plant: Plant, w: Workspace) -> int:
    """Return how many closed contacts have friction in a plane."""
    count = 0
    for c in range(plant.nc):
        planar = plant.slips[c + 1] == plant.slips[c] + 2
        count += planar and plant.closed[c, w.mode[c]] != 0 and contacts.sticks_rigidly(plant, c)
    return count


@jit
def _slides_slowly(plant: Plant, w: Workspace) -> bool:
    """Tell whether one of several feet slides in a plane so slowly that its friction makes the motion stiff.

    What is at its limit and does not move is still: there is nothing to step over.
    """
    slow, rates = False, w.rows_start[RATE, plant.nh + plant.nc :]
    for c in range(plant.nc):
        first, last = plant.slips[c], plant.slips[c + 1]
        if w.mode[c] == plant.sliding[c] and contacts.sticks_rigidly(plant, c) and last == first + 2:
            slow |= friction.CREEP < friction.length(rates, first, last) < _SLOWLY
    return slow and _feet_in_plane(plant, w) > 1


@jit
def lingers(plant: Plant, w: Workspace) -> bool:
    """Tell whether contacts with friction in a plane have made a run try too many short steps.

    That is so where they change again and again, and while a body settles on feet that slide slowly: these are stepped
    over until they are fast or still.
    """
    if plant.leap == 0:
        return False
    leap = longest_leap(plant)
    way, w.time[LAST] = w.time[TIME] - w.time[LAST], w.time[TIME]
    spent, w.counts[SPENT] = w.counts[EVALUATIONS] - w.counts[SPENT], w.counts[EVALUATIONS]
    passed = floor((w.time[TIME] - w.time[BEGAN]) / leap)
    if passed >= 1.0:
        w.time[BEGAN] = w.time[TIME]
        w.counts[SLOW] = max(0, w.counts[SLOW] - _FEW * int(min(passed, 1e6)))
    if way < _SHORT * leap and _feet_in_plane(plant, w) > 0:
        w.counts[SLOW] += 1 + spent // _DEAR
    too_many = w.counts[SLOW] > _MANY
    if too_many:
        w.counts[SLOW] = _MANY
    w.counts[HASTE] = (too_many or w.counts[HASTE] != 0) and _slides_slowly(plant, w)
    return too_many or w.counts[HASTE] != 0


@jit
def steps_over(plant: Plant, w: Workspace, log: Log, status: int, end: float) -> bool:
    """Step over contacts that change without end, if that is why the run came back; tell whether it could."""
    t, longest = w.time[TIME], longest_leap(plant)
    if plant.leap == 0 or w.counts[JAMMED] < 0 or status not in (CHATTER, CROWDED, TOO_SMALL, CYCLE):
        return False
    if status == CROWDED:
        w.time[LEAP] = longest
    else:  # the first one is short; those that follow it closely are longer and longer
        near = t - w.time[LEAPED] < 100.0 * w.time[LEAP]
        w.time[LEAP] = min(longest, 4.0 * w.time[LEAP]) if near else _SHORTEST * longest
    w.time[LEAPED] = t
    return _leap_over(plant, w, log, min(w.time[LEAP], end - t))
