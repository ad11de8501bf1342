"""The contact problem of a model's time step: one block of velocities, bilateral constraints eliminated.

With v⁻ = v + h a and the rows' rates A v + ∂g/∂t, impulses p give W p + rate⁻. Constraints must reach a rate, gaps
at least one (`least`):

    W_hh λ + W_hc p + rate⁻_h = least_h        so that λ = λ₀ − W_hh⁺ W_hc p
    0 ≤ p ⊥ (W_cc − W_ch W_hh⁺ W_hc) p + rate⁻_c(λ₀) − least_c ≥ 0      and Coulomb's cone along the slips

W_hh is factored with pivoting and what depends is left out: that changes no motion. The constraints' own impulses are
those of smallest norm. What is left of M⁻¹Jᵀ is R = M⁻¹(Jᵀ − Hᵀ W_hh⁺ W_hc), and the rows of the problem are (M R)ᵀ:
velocities that keep the constraints have the same rates with them.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.balance import balance
from impinge.contact.coulomb.solve import SOLVED
from impinge.contact.friction import CREEP, length
from impinge.contact.nearest_force import FOUND, nearest_force
from impinge.contact.rows import minimum_norm, pivoted_cholesky
from impinge.simulation.steps.impulses import (
    SHUT,
    ask_of_struck,
    find_impulses,
    rebound,
    return_to_kept,
    solve_struck,
)
from impinge.simulation.steps.stepper import Stepper, StepWorkspace, kick, rates
from impinge.simulation.system.plant import RATE, VALUE, Plant, Workspace, assign

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
            k.after[i] = k.least_rate[i] - k.before[i]
        _constraint_impulses(plant, w, k.after, k.held)
        for i in range(plant.nh):
            kick(plant, w, i, k.held[i], k.velocity)
    rates(plant, w, k.velocity, k.free)


@jit
def _factorize_constraints(plant: Plant, k: StepWorkspace) -> int:
    """Factorize W of the constraints; return its rank."""
    solver = k.w.solver
    for i in range(plant.nh):
        for j in range(plant.nh):
            solver.A[i, j] = k.w.terms.W[i, j]
    return pivoted_cholesky(solver.A, plant.nh, solver)


@jit
def _write_row(plant: Plant, k: StepWorkspace, rank: int, a: int, r: int, row: int) -> None:
    """Write a row of a contact of the problem, its response and its own rate."""
    terms, problem, L, order, y = k.w.terms, k.problem, k.w.solver.L, k.w.solver.order, k.Y
    nv = plant.nv
    if plant.nh == 0:
        problem.bias[a, r] = terms.partial[row]
        for j in range(nv):
            problem.J[a, r, j], problem.response[a, r, j] = terms.A[row, j], terms.response[row, j]
        return
    for j in range(nv):
        problem.response[a, r, j] = terms.response[row, j]
    for i in range(rank):
        y[i] = terms.W[order[i], row]
        for m in range(i):
            y[i] -= L[i, m] * y[m]
        y[i] /= L[i, i]
    for n in range(rank):
        i = rank - 1 - n
        for m in range(i + 1, rank):
            y[i] -= L[m, i] * y[m]
        y[i] /= L[i, i]
        for j in range(nv):
            problem.response[a, r, j] -= y[i] * terms.response[order[i], j]
    problem.bias[a, r] = k.free[row]
    for i in range(nv):
        total = 0.0
        for j in range(nv):
            total += terms.M[i, j] * problem.response[a, r, j]
        problem.J[a, r, i] = total
        problem.bias[a, r] -= total * k.velocity[i]


@jit
def _clear_row(plant: Plant, k: StepWorkspace, a: int, r: int) -> None:
    """Let a contact of the problem not have a row."""
    k.problem.bias[a, r] = 0.0
    for j in range(plant.nv):
        k.problem.J[a, r, j] = k.problem.response[a, r, j] = 0.0


@jit
def _pose(plant: Plant, k: StepWorkspace) -> None:
    """Write the contact problem of all contacts that may touch, and what gaps ask for."""
    problem, w, nh, m, count = k.problem, k.w, plant.nh, plant.nh + plant.nc, 0
    rank = _factorize_constraints(plant, k) if nh > 0 else 0
    for i in range(plant.nv):
        problem.free[0, i] = k.velocity[i]
        for j in range(plant.nv):
            problem.mass[0, i, j] = w.terms.M[i, j]
    for c in range(plant.nc):
        if k.member[c] < 0:
            continue
        first, i = plant.slips[c], nh + c
        slips = plant.slips[c + 1] - first if plant.mu[c] > 0.0 else 0
        k.contacts[count], problem.mu[count], problem.slips[count] = c, plant.mu[c], slips
        _write_row(plant, k, rank, count, 0, i)
        problem.impulse[count, 0] = k.impulse[i]
        for s in range(2):
            if s < slips:
                _write_row(plant, k, rank, count, 1 + s, m + first + s)
            else:
                _clear_row(plant, k, count, 1 + s)
            problem.impulse[count, 1 + s] = k.impulse[m + first + s] if s < slips else 0.0
        now, least = w.rows_start[RATE, i], k.least_rate[i]
        k.least[count] = least
        k.leave[count] = max(least, rebound(plant.gains[c, 0], now, k.free[i], least))
        k.smooth[count] = abs(k.free[i] - now)
        count += 1
    problem.count[0] = count


@jit
def _take(plant: Plant, k: StepWorkspace) -> None:
    """Take the impulses of the problem, and what they lead to; who pushes or would close is a member."""
    for i in range(k.impulse.size):
        k.impulse[i] = 0.0
    for a in range(k.problem.count[0]):
        c = k.contacts[a]
        k.impulse[plant.nh + c] = k.problem.impulse[a, 0]
        for s in range(k.problem.slips[a]):
            k.impulse[plant.nh + plant.nc + plant.slips[c] + s] = k.problem.impulse[a, 1 + s]
        i = plant.nh + c
        k.member[c] = 1 if k.impulse[i] > 0.0 or k.free[i] < k.least_rate[i] else 0
    _apply(plant, k)


@jit
def _apply(plant: Plant, k: StepWorkspace) -> None:
    """Add the impulses of the constraints to those of contacts; write the velocity after them, and its rates."""
    w, nh = k.w, plant.nh
    assign(k.next, k.velocity)
    if nh > 0:
        for i in range(nh):
            k.after[i] = 0.0
            for j in range(nh, k.impulse.size):
                k.after[i] -= w.terms.W[i, j] * k.impulse[j]
        _constraint_impulses(plant, w, k.after, k.impulse)
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


@jit
def _collect(plant: Plant, k: StepWorkspace) -> int:
    """List the rows of contacts that rest or take part, gaps first, and what they can give; return their number."""
    cones, count, n = k.cones, 0, 0
    for a in range(k.problem.count[0]):
        c = k.contacts[a]
        if k.member[c] > 0 or _rests(plant, k, c):
            k.rows[count], cones.mu[count], cones.normal[count] = plant.nh + c, plant.mu[c], count
            cones.slips[count, 0] = c
            count += 1
    n = count
    for a in range(count):
        c = cones.slips[a, 0]
        cones.slips[a, 0] = n
        for s in range(plant.slips[c], plant.slips[c + 1]):
            k.rows[n] = plant.nh + plant.nc + s
            n += 1
        cones.slips[a, 1] = n
    return count


@jit
def _reduce(plant: Plant, k: StepWorkspace, n: int) -> None:
    """Write W of some rows, with the constraints eliminated."""
    W, L, order = k.w.terms.W, k.w.solver.L, k.w.solver.order
    rank = _factorize_constraints(plant, k) if plant.nh > 0 else 0
    for a in range(n):
        for i in range(rank):
            k.Z[i, a] = W[order[i], k.rows[a]]
            for j in range(i):
                k.Z[i, a] -= L[i, j] * k.Z[j, a]
            k.Z[i, a] /= L[i, i]
    for a in range(n):
        for b in range(n):
            k.W[a, b] = W[k.rows[a], k.rows[b]]
            for i in range(rank):
                k.W[a, b] -= k.Z[i, a] * k.Z[i, b]


@entry
def stand_impulses(stepper: Stepper, k: StepWorkspace) -> int:
    """Replace the impulses of a step by the smallest that leave what rests where it is, if contacts can give such.

    Who pushes how much may be open, and with it what friction can hold: some sharings of a load let go what others
    hold. What can rest, rests.
    """
    plant, cones = stepper.plant, k.cones
    count = _collect(plant, k)
    n = cones.slips[count - 1, 1]
    _reduce(plant, k, n)
    for i in range(cones.target.size):
        cones.target[i], cones.slip[i] = 0.0, i
        for j in range(cones.target.size):
            cones.V[i, j] = 0.0
    for a in range(n):
        k.wanted[a] = -k.free[k.rows[a]]
    for a in range(count):
        k.wanted[a] += k.least_rate[k.rows[a]]
    r = balance(k.W, k.wanted, n, _DEPENDENT, _CONTRADICTION, cones)
    if r < 0 or nearest_force(cones, count, r) != FOUND:
        return 1
    for i in range(k.impulse.size):
        k.impulse[i] = 0.0
    for a in range(n):
        k.impulse[k.rows[a]] = cones.force[a]
    for a in range(count):
        k.member[k.rows[a] - plant.nh] = 1
    _apply(plant, k)
    return 0


@entry
def step_impulses(stepper: Stepper, k: StepWorkspace) -> int:
    """Find the impulses of a step from ``k.velocity``, ``k.least_rate`` and who may touch (``k.member`` ≥ 0).

    On return ``k.next`` is v⁺, ``k.after`` its rates, ``k.impulse`` the impulses and ``k.member`` tells who took part.
    Returns the status of the contact problem's solver.
    """
    plant, closes = stepper.plant, False
    _hold_constraints(plant, k)
    k.problem.count[0] = 0
    for c in range(plant.nc):
        closes |= k.member[c] >= 0 and k.free[plant.nh + c] < k.least_rate[plant.nh + c]
    if closes:
        _pose(plant, k)
        status = find_impulses(k, stepper.solve, stepper.tolerance, 0.0)
        if status != SOLVED:
            return status
    _take(plant, k)
    if closes and plant.ns > 0 and _sets_out(plant, k):
        ask(stepper.stand, (stepper, k))
    return SOLVED


@entry
def strike_impulses(stepper: Stepper, k: StepWorkspace, h: float) -> int:
    """Let the impulses be those of the whole impact if something is struck within the step; see `impulses`.

    If that has no solution, as between walls that close in, they stay what they were.
    """
    if not ask_of_struck(k, h):
        return SOLVED
    if solve_struck(k, stepper.solve, stepper.tolerance, 0.0) != SOLVED:
        return_to_kept(k)
    _take(stepper.plant, k)
    return SOLVED
