"""The impulses of one time step: bilateral constraints eliminated, contacts and friction as a complementarity problem.

With v⁻ = v + h a and the rows' rates A v + ∂g/∂t, impulses p give W p + rate⁻. Constraints must reach a rate, gaps
at least one (`least`):

    W_hh λ + W_hc p + rate⁻_h = least_h        so that λ = λ₀ − W_hh⁺ W_hc p
    0 ≤ p ⊥ (W_cc − W_ch W_hh⁺ W_hc) p + rate⁻_c(λ₀) − least_c ≥ 0      and Coulomb's cone along the slips

W_hh is factored with pivoting and what depends is left out: that changes no motion. The constraints' own impulses are
those of smallest norm. Only contacts that would close within the step are part of the problem, and then those that
their impulses would close.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, entry, jit
from impinge.contact.balance import balance
from impinge.contact.friction import CREEP, length
from impinge.contact.lcp.cone import contact_impulses
from impinge.contact.lcp.lemke import SOLVED
from impinge.contact.nearest_force import FOUND, nearest_force
from impinge.contact.restitution import MISS, energy_given, impulses_with_restitution
from impinge.contact.rows import minimum_norm, pivoted_cholesky
from impinge.simulation.steps.stepper import Stepper, StepWorkspace, kick, rates
from impinge.simulation.system.plant import RATE, VALUE, Plant, Workspace, assign

# A gap below this at the end of a step is closed if it was, even if it does not push (m).
SHUT = 1e-12
# A rate is not too small if this little of its terms is missing.
_ROUNDING = 1e-13
# Rows depend on others if this share or less of them is left, and contradict these if they miss by this share.
_DEPENDENT, _CONTRADICTION = 1e-11, 1e-9


@jit
def _constraint_impulses(plant: Plant, w: Workspace, missing: Any, result: Any) -> None:
    """Find the impulses of smallest norm that change the constraints' rates by ``missing``."""
    nh, solver = plant.nh, w.solver
    for i in range(nh):
        solver.b[i] = missing[i]
        for j in range(nh):
            solver.A[i, j] = w.terms.W[i, j]
    minimum_norm(solver.A, nh, solver.b, solver.x, solver)
    for i in range(nh):
        result[i] = solver.x[i]


@jit
def _hold_constraints(plant: Plant, k: StepWorkspace) -> None:
    """Let the constraints act on ``k.velocity`` as if nothing touched; ``k.free`` and ``k.held`` say what comes out."""
    w = k.w
    rates(plant, w, k.velocity, k.before)
    if plant.nh > 0:
        for i in range(plant.nh):
            k.after[i] = k.least[i] - k.before[i]
        _constraint_impulses(plant, w, k.after, k.held)
        for i in range(plant.nh):
            kick(plant, w, i, k.held[i], k.velocity)
    rates(plant, w, k.velocity, k.free)


@jit
def _collect(plant: Plant, k: StepWorkspace) -> int:
    """List the contacts of the problem and its rows, gaps first; return how many contacts there are."""
    count: Any = np.int64(0)
    k.slips[0] = 0
    for c in range(plant.nc):
        if k.member[c] > 0:
            k.contacts[count], k.rows[count], k.mu[count] = c, plant.nh + c, plant.mu[c]
            k.slips[count + 1] = k.slips[count] + plant.slips[c + 1] - plant.slips[c]
            count += 1
    for a in range(count):
        first = plant.slips[k.contacts[a]]
        for s in range(k.slips[a + 1] - k.slips[a]):
            k.rows[count + k.slips[a] + s] = plant.nh + plant.nc + first + s
    return count


@jit
def _reduce(plant: Plant, k: StepWorkspace, size: int) -> None:
    """Write the Delassus matrix of the problem's rows, with the constraints eliminated."""
    w, nh, W = k.w, plant.nh, k.w.terms.W
    for a in range(size):
        for b in range(size):
            k.W[a, b] = W[k.rows[a], k.rows[b]]
    if nh == 0:
        return
    solver, L, order = w.solver, w.solver.L, w.solver.order
    for i in range(nh):
        for j in range(nh):
            solver.A[i, j] = W[i, j]
    rank = pivoted_cholesky(solver.A, nh, solver)
    for a in range(size):
        for i in range(rank):
            total = W[order[i], k.rows[a]]
            for j in range(i):
                total -= L[i, j] * k.Y[j, a]
            k.Y[i, a] = total / L[i, i]
    for a in range(size):
        for b in range(size):
            for i in range(rank):
                k.W[a, b] -= k.Y[i, a] * k.Y[i, b]


@entry
def cone_impulses(stepper: Stepper, k: StepWorkspace, count: int) -> int:
    """Find the impulses of the problem's contacts; called by address so that its callers do not each contain it."""
    plant, problem = stepper.plant, k.problem
    bounces = False
    for a in range(count + k.slips[count]):
        problem.rate[a] = problem.missing[a] = k.free[k.rows[a]]
    for a in range(count):
        c = k.contacts[a]
        problem.least[a] = k.least[plant.nh + c]
        problem.missing[a] -= problem.least[a]
        problem.leave[a] = max(problem.least[a], _rebound(plant, k.w, k, c))
        bounces |= problem.leave[a] > problem.least[a]
    if not bounces:
        solved = contact_impulses(k.W, problem.missing, k.mu[:count], k.slips, stepper.facets, k.solution, problem.cone)
        if solved == SOLVED:
            return SOLVED
    return ask(stepper.rebound, (stepper, k, count))


@entry
def rebound_impulses(stepper: Stepper, k: StepWorkspace, count: int) -> int:
    """Find impulses with restitution, or in a second way, of the problem that `cone_impulses` has posed."""
    w, problem = k.w, k.problem
    for a in range(count + k.slips[count]):
        problem.unit[a] = w.terms.W[k.rows[a], k.rows[a]]
    status = impulses_with_restitution(k.W, k.mu[:count], k.slips, stepper.facets, k.solution, problem, MISS)
    if status == SOLVED:
        given, _, _ = energy_given(k.W, count, k.slips, -1, k.solution, problem)
        w.impact.created[0] = max(w.impact.created[0], given)
    return status


@jit
def _rebound(plant: Plant, w: Workspace, k: StepWorkspace, c: int) -> float:
    """Return the speed at which a contact leaves by Newton's hypothesis, if it would close within the step.

    It approaches at the lesser of its speeds before and after the smooth forces of the step: what rests, or has
    turned back already, does not bounce, and a single impact cannot gain energy. Nor does what these forces would
    bring back within the step: bounces that become ever smaller come to an end. It leaves no faster than if it had
    turned back at the start of the step, with these forces still to come: else it would have its speed and be h a
    above the surface as well, more than it came with.
    """
    i, now = plant.nh + c, w.rows_start[RATE, plant.nh + c]
    speed = min(-plant.gains[c, 0] * max(k.free[i], now), k.free[i] - 2.0 * now)
    return speed if k.free[i] < k.least[i] and 2.0 * speed > max(0.0, now - k.free[i]) else -np.inf


@jit
def _apply(plant: Plant, k: StepWorkspace, size: int) -> None:
    """Write the impulses of all rows, the velocity after them, and the rates that it gives."""
    w, nh = k.w, plant.nh
    for i in range(k.impulse.size):
        k.impulse[i] = 0.0
    for a in range(size):
        k.impulse[k.rows[a]] = k.solution[a]
    if nh > 0:
        for i in range(nh):
            k.after[i] = 0.0
            for a in range(size):
                k.after[i] -= w.terms.W[i, k.rows[a]] * k.solution[a]
        if size > 0:
            _constraint_impulses(plant, w, k.after, k.impulse)
    assign(k.next, k.velocity)
    for i in range(k.impulse.size):
        if k.impulse[i] != 0.0:
            kick(plant, w, i, k.impulse[i], k.next)
    for i in range(nh):
        k.impulse[i] += k.held[i]
    rates(plant, w, k.next, k.after)


@jit
def _rests(plant: Plant, k: StepWorkspace, c: int) -> bool:
    """Tell whether a contact that may take part touches and has no rate as the step begins."""
    i, rows, slips = plant.nh + c, k.w.rows_start, plant.nh + plant.nc
    slow = length(rows[RATE, slips:], plant.slips[c], plant.slips[c + 1]) <= CREEP
    return k.member[c] >= 0 and rows[VALUE, i] <= SHUT and abs(rows[RATE, i]) <= CREEP and slow


@jit
def _sets_out(plant: Plant, k: StepWorkspace) -> bool:
    """Tell whether a contact that rests slips after the step, and all that take part rest."""
    slips, moves = plant.nh + plant.nc, False
    for c in range(plant.nc):
        rests = _rests(plant, k, c)
        if k.member[c] > 0 and not rests:
            return False
        moves |= rests and length(k.after[slips:], plant.slips[c], plant.slips[c + 1]) > CREEP
    return moves


@entry
def stand_impulses(stepper: Stepper, k: StepWorkspace) -> int:
    """Replace the impulses of a step by the smallest that leave what rests where it is, if contacts can give such.

    Who pushes how much may be open, and with it what friction can hold: some sharings of a load let go what others
    hold. What can rest, rests.
    """
    plant, cones = stepper.plant, k.cones
    for c in range(plant.nc):
        if k.member[c] == 0 and _rests(plant, k, c):
            k.member[c] = 2
    count = _collect(plant, k)
    n = count + k.slips[count]
    _reduce(plant, k, n)
    for i in range(cones.target.size):
        cones.target[i], cones.slip[i] = 0.0, i
        for j in range(cones.target.size):
            cones.V[i, j] = 0.0
    for a in range(n):
        k.wanted[a] = -k.free[k.rows[a]]
    for a in range(count):
        k.wanted[a] += k.least[k.rows[a]]
        cones.normal[a], cones.mu[a] = a, k.mu[a]
        cones.slips[a, 0], cones.slips[a, 1] = count + k.slips[a], count + k.slips[a + 1]
    r = balance(k.W, k.wanted, n, _DEPENDENT, _CONTRADICTION, cones)
    found = r >= 0 and nearest_force(cones, count, r) == FOUND
    for c in range(plant.nc):
        if k.member[c] == 2:
            k.member[c] = 1 if found else 0
    if not found:
        return 1
    for a in range(n):
        k.solution[a] = cones.force[a]
    _apply(plant, k, n)
    return 0


@entry
def step_impulses(stepper: Stepper, k: StepWorkspace) -> int:
    """Find the impulses of a step from ``k.velocity``, ``k.least`` and who may touch (``k.member`` ≥ 0).

    On return ``k.next`` is v⁺, ``k.after`` its rates, ``k.impulse`` the impulses and ``k.member`` tells who was part
    of the problem. Returns the status of the complementarity solver.
    """
    plant, nh = stepper.plant, stepper.plant.nh
    _hold_constraints(plant, k)
    assign(k.after, k.free)
    for attempt in range(plant.nc + 1):
        grown = attempt == 0
        for c in range(plant.nc):
            i = nh + c
            if k.member[c] == 0:
                missing = k.least[i] - k.after[i]
                if missing > _ROUNDING * (abs(k.free[i]) + abs(k.least[i])) * min(attempt, 1):
                    k.member[c] = 1
                    grown = True
        if not grown:
            if plant.ns > 0 and _sets_out(plant, k):
                ask(stepper.stand, (stepper, k))
            return 0
        count = _collect(plant, k)
        size = count + k.slips[count]
        if count > 0:
            _reduce(plant, k, size)
            status = ask(stepper.cone, (stepper, k, count))
            if status != SOLVED:
                return status
        _apply(plant, k, size)
    return 0


@jit
def ask_of_struck(stepper: Stepper, k: StepWorkspace, h: float) -> bool:
    """Ask that nothing approaches which this step brings to its surface; return whether it struck anything.

    A gap γ that closes within the step approaches at its end at γ/h. The coordinates get to the surface, but how much
    of the impact is left for the next step would depend on when in the step the gap closes, and so would what friction
    and other contacts do. An approach that is slower than what smooth forces change in the step is left as it is, since
    it is of the order of the step; so is that of a single contact without friction, whose two impulses add up.
    Contacts that stay open, and do not push, take no part.
    """
    plant, w, nh, struck, members, rubs = stepper.plant, k.w, stepper.plant.nh, False, 0, False
    for c in range(plant.nc):
        i = nh + c
        if k.member[c] > 0:
            members += 1
            rubs |= plant.mu[c] > 0.0
            if k.impulse[i] > 0.0:
                struck |= -k.after[i] > abs(k.free[i] - w.rows_start[RATE, i]) + SHUT / h
    if not struck or (members == 1 and not rubs):
        return False
    for c in range(plant.nc):
        i = nh + c
        shut = k.after[i] - k.least[i] <= SHUT / h
        if shut and k.member[c] >= 0:
            k.least[i] = max(k.least[i], 0.0)
        k.member[c] = 0 if k.member[c] >= 0 and (shut or k.impulse[i] > 0.0) else -1
    return True
