"""A short step in which all contacts are decided together, for where they would change without end.

Contacts that change each other without time passing, and feet that slide ever more slowly while their body settles,
have no smooth motion between events that could be followed in reasonable steps. A step of finite length has a
solution: with impulses p over the length τ,

    v⁺ = v + τ a + M⁻¹Aᵀp        q⁺ = q + τ q̇((v + v⁺)/2), and with v⁺ alone where a rigid contact may close
    gaps     0 ≤ p ⊥ γ̇⁺ − (γ̇ + τ γ̈*) ≥ 0,  where γ̈* is what the contact's law asks for; an open gap may close, not pass
    slips    Coulomb's cone

A, M and a are those of its middle, so that it keeps its account of energy to second order. Velocities jump as the step
begins and stay; modes follow from the impulses, forces are p/τ. Behind the step the run goes on from event to event.
"""

from __future__ import annotations

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact import friction
from impinge.contact.impact import impact_impulses
from impinge.contact.law import ACCELERATION, NORMAL, NOTHING
from impinge.simulation.system.contacts import sticks_rigidly
from impinge.simulation.system.coordinates import write_rates
from impinge.simulation.system.dynamics import evaluate
from impinge.simulation.system.plant import (
    FORCE,
    RATE,
    TIME,
    VALUE,
    WHOLE,
    Plant,
    Workspace,
    assign,
    impulses,
    works,
)

# Friction that is used up to this share is used up.
_ALL = 1.0 - 1e-9
# An open gap is far if the fastest gap takes this many steps for the same way.
_FAR = 10.0
# A rigid contact is off its surface if its gap is larger (m) than this.
_OFF = 1e-9


@jit
def _gives(plant: Plant, w: Workspace, i: int) -> bool:
    """Tell whether the force of a row is known, as those of compliant contacts are: it stays as it is over the step."""
    return i >= plant.nh and w.prescribed[i] != ACCELERATION and not sticks_rigidly(plant, plant.normal[i] - plant.nh)


@jit
def _fastest(plant: Plant, w: Workspace) -> float:
    """Return the largest rate that a gap has at the start of the step, or would have at its end, m/s."""
    largest = 0.0
    for i in range(plant.nh, plant.nh + plant.nc):
        largest = max(largest, abs(w.rows[RATE, i]), abs(w.delassus[0, i]))
    return largest


@jit
def _touches(plant: Plant, w: Workspace, c: int) -> bool:
    """Tell whether a contact acts on its surface: a rigid one that is off it is only kept from passing it."""
    if plant.restitution[c] < 0.0:
        return plant.closed[c, w.mode[c]] != 0 or w.rows[VALUE, plant.nh + c] <= 0.0
    return w.rows[VALUE, plant.nh + c] <= _OFF


@jit
def _least_rate(plant: Plant, w: Workspace, c: int, length: float, fastest: float) -> float:
    """Return the rate that a gap must have at the end of the step, m/s; without bound if it takes no part.

    A gap takes no part that is too far open to close within the step, however the others push: it would only hide
    what is small.
    """
    i = plant.nh + c
    gap, rate = w.rows[VALUE, i], w.rows[RATE, i]
    if w.mode[c] == plant.passed[c]:
        return -np.inf
    kind = ask(plant.prescribe[c], (plant.closing[c], NORMAL, gap, rate, plant.gains[c], w.attempt))
    if kind != ACCELERATION:
        return -np.inf
    if _touches(plant, w, c):
        return rate + length * w.attempt[0] if plant.restitution[c] < 0.0 else 0.0
    return -gap / length if gap <= _FAR * length * fastest else -np.inf


@jit
def _pose(plant: Plant, w: Workspace, length: float) -> None:
    """Write what the rates of all rows lack at the end of the step to ``w.value``, and who takes part."""
    nh, nc, m = plant.nh, plant.nc, plant.nh + plant.nc + plant.ns
    drift, W, rates = w.terms.drift, w.terms.W, w.delassus[0]
    for i in range(m):
        total = drift[i]
        for j in range(nh, m):
            if _gives(plant, w, j):
                total += W[i, j] * w.rows[FORCE, j]
        rates[i] = w.rows[RATE, i] + length * total
    fastest = _fastest(plant, w)
    for c in range(nc):
        least = _least_rate(plant, w, c, length, fastest)
        w.impact.active[c], w.impact.bounce[c] = least > -np.inf, 0.0
        w.value[nh + c] = rates[nh + c] - (least if w.impact.active[c] != 0 else 0.0)
        for s in range(plant.slips[c], plant.slips[c + 1]):
            w.value[nh + nc + s] = rates[nh + nc + s]
    for i in range(nh):
        target = plant.stabilization[0] * w.rows[VALUE, i] + plant.stabilization[1] * w.rows[RATE, i]
        w.value[i] = rates[i] - w.rows[RATE, i] + length * target


@jit
def _any_open(plant: Plant, w: Workspace) -> bool:
    """Tell whether a rigid contact takes part that is open, and must not be passed."""
    open_ = False
    for c in range(plant.nc):
        open_ |= w.impact.active[c] != 0 and plant.restitution[c] >= 0.0 and not _touches(plant, w, c)
    return open_


@jit
def _move(plant: Plant, w: Workspace, length: float) -> None:
    """Write the state at the end of the step to ``w.trial`` for the impulses in ``w.attempt``."""
    nq, nv, nh, nc, m = plant.nq, plant.nv, plant.nh, plant.nc, plant.nh + plant.nc + plant.ns
    terms, rates = w.terms, w.delassus[0]
    first, work, dy = impulses(plant), works(plant), w.scratch[1]
    for i in range(w.y.size):
        w.trial[i] = w.y[i] + length * dy[i]
    for k in range(nv):
        w.trial[nq + k] = w.y[nq + k] + length * terms.free[k]
    for k in range(first, w.y.size):
        if not work <= k < work + 3:
            w.trial[k] = w.y[k]
    for i in range(m):
        p, after = w.attempt[i], w.rows[RATE, i] + length * terms.drift[i]
        if _gives(plant, w, i):
            p += length * w.rows[FORCE, i]
        w.attempt[i] = p
        rates[i] = after
    for i in range(m):
        p, after = w.attempt[i], rates[i]
        for j in range(m):
            after += terms.W[i, j] * w.attempt[j]
        w.value[i] = after
        for k in range(nv):
            w.trial[nq + k] += terms.response[i, k] * p
        mean = 0.5 * (w.rows[RATE, i] + after)
        w.trial[work + (3 if i < nh else 4)] += p * (mean - terms.partial[i])
        if nh <= i < nh + nc + plant.nt:
            w.trial[first + i - nh] += p
        if plant.nr > 0 and i >= nh + nc:
            w.trial[work - plant.nr + plant.normal[i] - nh] += p * mean
    share = 1.0 if _any_open(plant, w) else 0.5
    for k in range(nq + nv):
        w.scratch[0, k] = w.y[k] + share * (w.trial[k] - w.y[k]) if k >= nq else w.y[k]
    write_rates(plant, w.scratch[0], dy)
    for k in range(nq):
        w.trial[k] = w.y[k] + length * dy[k]


@jit
def _choose(plant: Plant, w: Workspace, c: int) -> None:
    """Set the mode of a contact from its impulses in ``w.attempt`` and the rates after them in ``w.value``."""
    slips, i, first, last = plant.nh + plant.nc, plant.nh + c, plant.slips[c], plant.slips[c + 1]
    kept = plant.restitution[c] >= 0.0 and not _touches(plant, w, c)  # from passing: it strikes behind the step
    if w.attempt[i] <= NOTHING or kept:
        if plant.closed[c, w.mode[c]] != 0:
            state = (plant.closing[c], w.rows[VALUE, i], w.value[i], -1.0, plant.gains[c], 1)
            w.mode[c] = ask(plant.decide[c], state)
        return
    w.mode[c] = plant.closing[c]
    for s in range(first, last):
        w.anchor[s] = w.rows[VALUE, slips + s]
    if not sticks_rigidly(plant, c):
        return
    if friction.length(w.value[slips:], first, last) > friction.CREEP:
        w.mode[c], w.begins[c] = plant.sliding[c], 0
        friction.aim(w.value[slips:], w.direction, first, last, friction.CREEP)
    elif friction.length(w.attempt[slips:], first, last) >= _ALL * plant.mu[c] * w.attempt[i]:
        w.mode[c], w.begins[c] = plant.sliding[c], 1
        friction.yields(w.attempt[slips:], w.direction, first, last)


@jit
def _solve(plant: Plant, w: Workspace, length: float) -> int:
    """Find impulses and the state at the end of the step, for the rows and accelerations last evaluated."""
    m = plant.nh + plant.nc + plant.ns
    _pose(plant, w, length)
    for i in range(m):
        if not np.isfinite(w.value[i]):
            return 1
    bounce, value = w.impact.bounce, w.value[:m]
    status = impact_impulses(w.terms.W, value, plant.nh, plant.slips, plant.mu, bounce, w.attempt, w.impact)
    if status == 0:
        _move(plant, w, length)
    return status


@entry
def leap(plant: Plant, w: Workspace, length: float) -> int:
    """Let velocities jump for a step of a length, and set the modes in it; return 0 if that was possible.

    ``w.trial`` is then the state at its end, ``w.K`` describes the even motion to there, and ``w.rows_end`` has rates
    and forces, which are the same all along. Accelerations and the directions of forces are those of the middle of
    the step, from a first solution: what they give to the energy is then what is accounted for.
    """
    m, nq, nv, first = plant.nh + plant.nc + plant.ns, plant.nq, plant.nv, impulses(plant)
    w.counts[WHOLE] = 1
    evaluate(plant, w, w.time[TIME], w.y, w.scratch[1])
    for i in range(m):
        w.rows_end[VALUE, i], w.rows_end[RATE, i] = w.rows[VALUE, i], w.rows[RATE, i]
    status = _solve(plant, w, length)
    if status == 0:
        assign(w.scratch[0], w.y)
        for k in range(nq + nv):
            w.scratch[0, k] = 0.5 * (w.y[k] + w.trial[k])
        evaluate(plant, w, w.time[TIME] + 0.5 * length, w.scratch[0], w.scratch[1])
        for i in range(m):
            w.rows[VALUE, i], w.rows[RATE, i] = w.rows_end[VALUE, i], w.rows_end[RATE, i]
        status = _solve(plant, w, length)
    w.counts[WHOLE] = 0
    if status != 0:
        return status
    for c in range(plant.nc):
        if w.impact.active[c] != 0:
            _choose(plant, w, c)
    for i in range(m):
        w.rows_end[RATE, i], w.rows_end[FORCE, i] = w.value[i], w.attempt[i] / length
    for i in range(w.y.size):
        if nq <= i < nq + nv or i >= first:
            w.y[i] = w.trial[i]
        rate = (w.trial[i] - w.y[i]) / length
        for s in range(w.K.shape[0]):
            w.K[s, i] = rate
    return 0
