"""The time-stepping loop: steps of fixed length, one kernel call and one complementarity problem each.

    while t < end:
        record x at t if it is due
        v⁻ ← v + h a;  p ← impulses;  v⁺ ← v⁻ + M⁻¹Aᵀp;  q⁺ ← q + h v⁺
        if something was struck: p, v⁺ ← the whole impact at once, from v⁻
        evaluate the kernel at t + h: it serves what is recorded there, and the next step
        modes ← who pushed; record both ends of the step, and the events, if one changed

A step ends on a multiple of its length, and on every tick of a controller. The force in a row is that of the step
that ended there, impulse / h.
"""

from __future__ import annotations

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.solve import SOLVED
from impinge.contact.friction import CREEP, length
from impinge.contact.law import SLOW, TOUCHING
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.events.instant import DONE, FULL, NOT_FINITE, UNSOLVED
from impinge.simulation.results.extremes import MISS, WORST, keep
from impinge.simulation.results.observe import note_extremes
from impinge.simulation.results.observe_impulses import note_bend, note_step_friction, note_work
from impinge.simulation.results.record import EVENTS, ROWS, add_current, add_events, fill_row, measure
from impinge.simulation.results.record import STEPS as STEP_LOG
from impinge.simulation.steps.impulses import SHUT
from impinge.simulation.steps.loop import Course, go_on
from impinge.simulation.steps.stepper import EXPLICIT, IMPLICIT, ModelSteps, Stepper, StepWorkspace, look
from impinge.simulation.system.coordinates import move_along
from impinge.simulation.system.plant import (
    FORCE,
    RATE,
    ROW_TIME,
    STEPS,
    TIME,
    VALUE,
    Log,
    Plant,
    Workspace,
    assign,
    assign_rows,
    impulses,
    works,
)

# Why a step has no result, beside the reasons of the event-driven loop.
UNSETTLED = 9

# The implicit scheme iterates so often, until velocities change by less than this share.
_MOST_ITERATIONS, _SETTLED = 100, 1e-13


@jit
def _describe(stepper: Stepper, k: StepWorkspace) -> None:
    """Describe the rows of the state just evaluated in ``w.rows_start``; forces stay."""
    plant, w = stepper.plant, k.w
    terms, ne, m = w.terms, plant.ne, plant.nh + plant.nc + plant.ns
    for i in range(m):
        w.rows_start[VALUE, i], w.rows_start[RATE, i] = terms.g[i], terms.rate[i]
    if plant.counting != 0:
        for s in range(plant.ns):
            if plant.counted[s] != 0:
                w.rows_start[VALUE, plant.nh + plant.nc + s] = w.y[plant.nq + plant.nv + plant.nc + s]
    for e in range(ne):
        w.rows_start[VALUE, m + e], w.rows_start[RATE, m + e] = terms.extent[e], terms.extent_rate[e]
    for e in range(3):
        k.power[e] = terms.power[e]


@jit
def _set_free(plant: Plant, w: Workspace, k: StepWorkspace, h: float) -> None:
    """Write v + h a to ``k.velocity``."""
    for j in range(plant.nv):
        k.velocity[j] = w.y[plant.nq + j] + h * w.terms.free[j]


@jit
def _ask(stepper: Stepper, k: StepWorkspace, h: float) -> None:
    """Write v + h a to ``k.velocity``, the least rates of constraints and gaps, and who may touch.

    A gap γ that is open may close, γ + h γ̇⁺ ≥ 0. One that is not, and a constraint that is off, return within a whole
    step, also if this one is shorter. Where the kernel was evaluated at a guess of the end of the step, what γ̇⁺
    differs from the guess is what counts.
    """
    plant, w = stepper.plant, k.w
    nh = plant.nh
    _set_free(plant, w, k, h)
    for i in range(nh + plant.nc):
        g = w.terms.g[i]
        k.least_rate[i] = -g / (h if i >= nh and g > 0.0 else max(h, stepper.step))
        if stepper.scheme == IMPLICIT:
            k.least_rate[i] += w.terms.rate[i]
    for c in range(plant.nc):
        apart = stepper.scheme == EXPLICIT and w.rows_start[VALUE, nh + c] > 0.0
        beyond = plant.extent[c] >= 0 and w.rows_start[VALUE, plant.extent[c]] <= 0.0
        k.member[c] = -1 if apart or beyond or w.mode[c] == plant.passed[c] else 0


@jit
def _impulses(stepper: Stepper, k: StepWorkspace) -> int:
    """Find the impulses of the step; return DONE, or why there are none."""
    return DONE if ask(stepper.impulses, (stepper, k)) == SOLVED else UNSOLVED


@jit
def _iterate(stepper: Stepper, k: StepWorkspace, t: float, h: float) -> int:
    """Repeat the step with everything evaluated at its end until that no longer moves."""
    plant, w = stepper.plant, k.w
    nq, nv = plant.nq, plant.nv
    for _ in range(_MOST_ITERATIONS):
        for j in range(nq):
            k.guess[j] = w.y[j]
        for j in range(nv):
            k.guess[nq + j] = k.next[j]
        move_along(plant, k.guess, k.next, h)
        look(stepper, k, t + h, k.guess)
        _ask(stepper, k, h)
        status = _impulses(stepper, k)
        if status != DONE:
            return status
        change, size = 0.0, 0.0
        for j in range(nv):
            change = max(change, abs(k.next[j] - k.guess[nq + j]))
            size = max(size, abs(k.next[j]), abs(k.velocity[j]))
        if not np.isfinite(size):
            return NOT_FINITE
        if change <= _SETTLED * size:
            return DONE
    return UNSETTLED


@jit
def _account(stepper: Stepper, k: StepWorkspace, h: float) -> None:
    """Add impulses and their work: p times the mean of the rates before and after, first of what the constraints hold.

    Exact for the kinetic energy at fixed M: v⁻ to v⁺ with A as the step has it.
    """
    plant, w = stepper.plant, k.w
    nh, nc, m = plant.nh, plant.nc, plant.nh + plant.nc + plant.ns
    first, work_of = impulses(plant), works(plant)
    for i in range(m):
        own = w.terms.partial[i]
        work = k.impulse[i] * (0.5 * (k.free[i] + k.after[i]) - own)
        if i < nh:
            work += k.held[i] * 0.5 * (k.before[i] - k.after[i])
            w.y[work_of + 3] += work
        else:
            w.y[work_of + 4] += work
        if plant.nr > 0 and i >= nh + nc:
            rubbed = k.impulse[i] * 0.5 * (k.free[i] + k.after[i])  # seen from the other surface
            w.y[work_of - plant.nr + plant.normal[i] - nh] += rubbed
        w.rows_start[FORCE, i] = k.impulse[i] / h
        if nh <= i < nh + nc + plant.nt:
            w.y[first + i - nh] += k.impulse[i]


@jit
def _count_slips(plant: Plant, k: StepWorkspace, h: float) -> None:
    """Let slips that count how far closed contacts have slid go on by the step."""
    for s in range(plant.ns):
        i = plant.nh + plant.nc + s
        if plant.counted[s] != 0 and k.impulse[plant.normal[i]] > 0.0:
            k.w.y[plant.nq + plant.nv + plant.nc + s] += h * k.after[i]


@jit
def _decide(plant: Plant, k: StepWorkspace, c: int) -> int:
    """Return the mode of a contact at the end of the step just made."""
    w, i, m = k.w, plant.nh + c, plant.nh + plant.nc
    gap, mode = w.rows_start[VALUE, i], w.mode[c]
    if plant.extent[c] >= 0:
        if mode == plant.passed[c]:
            return 0 if gap > TOUCHING else mode
        if w.rows_start[VALUE, plant.extent[c]] <= 0.0:
            return plant.passed[c] if gap <= TOUCHING else 0
    shut = plant.closed[c, mode] != 0 and gap <= SHUT and k.after[i] <= SHUT
    if not (k.impulse[i] > 0.0 or shut):
        return 0
    if plant.sliding[c] >= 0 and length(k.after[m:], plant.slips[c], plant.slips[c + 1]) > CREEP:
        return plant.sliding[c]
    return plant.closing[c]


@jit
def _step(stepper: Stepper, k: StepWorkspace, t: float, h: float, end: float) -> int:
    """Make one step from the state whose kernel was evaluated last."""
    plant, w = stepper.plant, k.w
    nq, nv = plant.nq, plant.nv
    for j in range(nv):
        if not np.isfinite(w.terms.free[j]):
            return NOT_FINITE
    for i in range(w.terms.g.size):
        if not (np.isfinite(w.terms.g[i]) and np.isfinite(w.terms.rate[i])):
            return NOT_FINITE
    _ask(stepper, k, h)
    status = _impulses(stepper, k)
    if status == DONE and stepper.scheme == IMPLICIT:
        status = _iterate(stepper, k, t, h)
    if status != DONE:
        return status
    assign(k.travel, k.next)
    assign(k.travel_rates, k.after)
    if k.problem.count[0] > 0:
        if stepper.scheme != EXPLICIT:
            ask(stepper.strike, (stepper, k, h))
        keep(w.extremes.table[plant.nc], WORST, MISS, k.work.residual[3], end)
    for j in range(nv):
        if not np.isfinite(k.next[j]):
            return NOT_FINITE
    assign(w.left_y, w.y)
    assign_rows(w.rows_end, w.rows_start)
    for c in range(plant.nc):
        w.left_mode[c] = w.mode[c]
    _account(stepper, k, h)
    move_along(plant, w.y, w.y[nq : nq + nv] if stepper.scheme == EXPLICIT else k.travel, h)
    assign(w.y[nq:], k.next)
    if plant.counting != 0:
        _count_slips(plant, k, h)
    first = works(plant)
    for sign in range(2):  # half of each end's power
        for e in range(3):
            w.y[first + e] += (-0.5 if e == 1 else 0.5) * h * k.power[e]
        if sign == 0:
            look(stepper, k, end, w.y)
            _describe(stepper, k)
    for c in range(plant.nc):
        w.mode[c] = _decide(plant, k, c)
    w.time[TIME] = end
    w.counts[STEPS] += 1
    note_extremes(plant, w, w.rows_start)
    note_bend(plant, w, h, w.rows_end[RATE] if stepper.scheme == EXPLICIT else k.travel_rates, w.rows_end, end)
    note_work(plant, w, k.free, k.after, k.least_rate, k.impulse, end)
    if plant.nt > 0:
        note_step_friction(plant, w, h, k.after, k.least_rate, k.impulse, end)
    return DONE


@entry
def ready(m: ModelSteps, log: Log, t: float, due: int) -> int:
    """Record the row of t if it is due; FULL if there is no room for what a step records."""
    plant, w = m.stepper.plant, m.k.w
    if log.used[ROWS] + 4 >= log.rows.shape[0] or log.used[STEP_LOG] + 1 >= log.steps.shape[0]:
        return FULL
    if log.used[EVENTS] + plant.nc >= log.events.shape[0]:
        return FULL
    if due != 0:
        add_current(plant, w, log)
    return DONE


@entry
def take(m: ModelSteps, log: Log, t: float, h: float, end: float) -> int:
    """Take a step; record both ends of it, and the events, if a mode changed."""
    plant, w = m.stepper.plant, m.k.w
    status = _step(m.stepper, m.k, t, h, end)
    if status != DONE:
        return status
    step = log.steps[log.used[STEP_LOG]]
    step[0], step[1] = t, h
    log.used[STEP_LOG] += 1
    changed = False
    for c in range(plant.nc):
        changed |= w.mode[c] != w.left_mode[c]
    if changed:
        if w.time[ROW_TIME] < t:
            fill_row(plant, w, log.rows[log.used[ROWS]], t, w.left_y, w.left_mode, w.rows_end)
            log.used[ROWS] += 1
        add_current(plant, w, log)
        add_events(plant, w, log, end)
    return DONE


@entry
def begin(m: ModelSteps) -> int:
    """Evaluate the start state; who rests on a surface there is in contact."""
    stepper, k = m.stepper, m.k
    plant, w = stepper.plant, k.w
    look(stepper, k, w.time[TIME], w.y)
    _describe(stepper, k)
    for c in range(plant.nc):
        gap, rate = w.rows_start[VALUE, plant.nh + c], w.rows_start[RATE, plant.nh + c]
        w.extremes.start[c] = gap
        limited = plant.extent[c] >= 0
        if limited and gap < -START_TOLERANCE:
            w.mode[c] = plant.passed[c]
        elif gap <= TOUCHING and rate <= SLOW and not (limited and w.rows_start[VALUE, plant.extent[c]] <= 0.0):
            w.mode[c] = plant.closing[c]
    note_extremes(plant, w, w.rows_start)
    for j in range(plant.nv):
        if not np.isfinite(w.terms.free[j]):
            return NOT_FINITE
    return DONE


@entry
def hold(m: ModelSteps, course: Course, log: Log, end: float, budget: int) -> int:
    """Hold ``w.command`` from now until ``end`` and measure there; DONE, or why it came back."""
    stepper, k = m.stepper, m.k
    plant, w = stepper.plant, k.w
    changed = False
    for i in range(w.u.size):
        changed |= w.u[i] != w.command[i]
    if changed:
        assign(w.u, w.command)
        look(stepper, k, w.time[TIME], w.y)
        _describe(stepper, k)
    status = go_on(m, course, log, end, budget)
    measure(plant, w, w.time[TIME], w.y)
    return status
