"""The impact map: what velocities do at the instant at which rigid contacts close.

Impulses p act on the rows of constraints, gaps and slips. Constraints keep their rate at zero; gaps obey Newton's
hypothesis for all that touch, at once,

    0 ≤ p_c  ⊥  γ̇_c⁺ + e_c min(γ̇_c⁻, 0) ≥ 0,      γ̇⁺ = γ̇⁻ + W p,

and slips obey Coulomb's, |p_s| ≤ μ p_c against the slip rate that remains. With e = 0 and without friction this is
the projection of the velocities onto those that the closed contacts allow. Where restitution would give energy, or
asks for what cannot be had, it is taken back, see `restitution`. For impacts that come one after another
see `propagation`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit
from impinge.contact.consistent import make_consistent
from impinge.contact.lcp.lemke import SOLVED
from impinge.contact.lcp.proximal import largest_rate
from impinge.contact.restitution import MISS, RestitutionWorkspace, impulses_with_restitution, restitution_workspace
from impinge.contact.rows import RowWorkspace, minimum_norm, pivoted_cholesky, row_workspace

# Directions of friction in an impact, where a contact has two slips.
FACETS = 16
# What never slides has a coefficient of friction like this in an impact.
_HOLDS = 1e4
# Rates of rows that depend on others may differ from what these say by this share of the largest rate, scaled.
_ALIKE = 1e-8
# A row of which constraints leave no more than this share has no motion of its own.
_HELD = 1e-13
# What gaps may close at, as `MISS`, where nothing better is found.
_COARSE = 1e-6


class ImpactWorkspace(NamedTuple):
    """Arrays that `impact_impulses` writes to."""

    active: Integers  # contacts that take part
    rows: Integers  # their rows: gaps, then slips
    slips: Integers
    mu: Vector
    e: Vector  # their restitution
    W: Matrix  # of these rows, the constraints eliminated
    impulse: Vector
    total: Vector  # of impacts that follow one another
    columns: Matrix  # L⁻¹ W between constraints and each row, where W_hh = L Lᵀ; last: L⁻¹ times the constraints' rates
    lines: Matrix  # L⁻¹ W between each row and constraints
    factor: Matrix  # what `make_consistent` works in
    order: Integers
    rest: Vector
    all: RestitutionWorkspace  # the problem of all contacts
    one: RestitutionWorkspace  # the problem of one contact
    W_one: Matrix
    p_one: Vector
    slips_one: Integers
    solver: RowWorkspace
    bounce: Vector  # restitution of each contact in this impact
    since: Vector  # time of each contact's last impact
    lasted: Matrix  # the two last intervals between impacts of each contact
    created: Vector  # the most energy, J, that an impact of this run gave; not above zero but for rounding


def impact_workspace(nh: int, nc: int, ns: int) -> ImpactWorkspace:
    """Allocate the work space of `impact_impulses` for these numbers of constraints, contacts and slips."""
    n, single = nc + ns, min(nc, 1) * (1 + min(ns, 2))
    return ImpactWorkspace(
        active=np.zeros(nc, dtype=np.int64),
        rows=np.zeros(n, dtype=np.int64),
        slips=np.zeros(nc + 1, dtype=np.int64),
        mu=np.zeros(nc),
        e=np.zeros(nc),
        W=np.zeros((n, n)),
        impulse=np.zeros(n),
        total=np.zeros(n),
        columns=np.zeros((n + 1, nh)),
        lines=np.zeros((n, nh)),
        factor=np.zeros((n, n)),
        order=np.zeros(n, dtype=np.int64),
        rest=np.zeros(n),
        all=restitution_workspace(n, nc, FACETS),
        one=restitution_workspace(single, min(nc, 1), FACETS),
        W_one=np.zeros((single, single)),
        p_one=np.zeros(single),
        slips_one=np.zeros(2, dtype=np.int64),
        solver=row_workspace(nh),
        bounce=np.zeros(nc),
        since=np.full(nc, -np.inf),
        lasted=np.full((nc, 2), np.inf),
        created=np.zeros(1),
    )


@jit
def rows_of(nh: int, slips: Any, mu: Any, restitution: Any, work: Any) -> tuple[int, int]:
    """Write the rows of the contacts that take part; return the number of contacts and of rows."""
    nc: Any = np.int64(0)
    for c in range(mu.size):
        if work.active[c] != 0:
            work.rows[nc] = nh + c
            work.mu[nc] = min(mu[c], _HOLDS)
            work.e[nc] = restitution[c]
            nc += 1
    n, place = nc, 0
    for c in range(mu.size):
        if work.active[c] != 0:
            work.slips[place] = n - nc
            place += 1
            for s in range(slips[c], slips[c + 1]):
                work.rows[n] = nh + mu.size + s
                n += 1
    work.slips[place] = n - nc
    return nc, n


@jit
def _forward(L: Any, order: Any, rank: int, source: Any, result: Any) -> None:
    """Write L⁻¹ times a vector over the constraints, as far as they are independent."""
    for i in range(rank):
        total = source[order[i]]
        for j in range(i):
            total -= L[i, j] * result[j]
        result[i] = total / L[i, i]


@jit
def reduce_rows(W: Any, rate: Any, nh: int, n: int, work: Any) -> None:
    """Write W and the rates of the rows that take part, with the constraints eliminated.

    What depends among the constraints is left out: that changes no motion. W may be one that is not symmetric.
    """
    rank, solver, rates = 0, work.solver, work.all.rate
    if nh > 0:
        for i in range(nh):
            for j in range(nh):
                solver.A[i, j] = W[i, j]
        rank = pivoted_cholesky(solver.A, nh, solver)
        _forward(solver.L, solver.order, rank, rate, work.columns[n])
        for k in range(n):
            _forward(solver.L, solver.order, rank, W[:, work.rows[k]], work.columns[k])
            _forward(solver.L, solver.order, rank, W[work.rows[k]], work.lines[k])
    for k in range(n):
        i = work.rows[k]
        rates[k] = rate[i]
        for r in range(rank):
            rates[k] -= work.lines[k, r] * work.columns[n, r]
        for j in range(n):
            work.W[k, j] = W[i, work.rows[j]]
            for r in range(rank):
                work.W[k, j] -= work.lines[k, r] * work.columns[j, r]
        work.all.unit[k] = W[i, i]
    for k in range(n if nh > 0 else 0):
        if work.W[k, k] <= _HELD * work.all.unit[k]:
            size = abs(rate[work.rows[k]])
            for r in range(rank):
                size += abs(work.lines[k, r] * work.columns[n, r])
            if abs(rates[k]) <= _HELD * size:
                rates[k] = 0.0
            for j in range(n):
                work.W[k, j] = work.W[j, k] = 0.0


@jit
def give_impulses(W: Any, rate: Any, nh: int, n: int, impulse: Any, work: Any) -> None:
    """Write the impulses of all rows: those found, and of the constraints those of smallest norm that they ask for."""
    solver = work.solver
    for k in range(n):
        impulse[work.rows[k]] = work.impulse[k]
    if nh == 0:
        return
    for i in range(nh):
        solver.b[i] = -rate[i]
        for k in range(n):
            solver.b[i] -= W[i, work.rows[k]] * work.impulse[k]
        for j in range(nh):
            solver.A[i, j] = W[i, j]
    minimum_norm(solver.A, nh, solver.b, solver.x, solver)
    for i in range(nh):
        impulse[i] = solver.x[i]


@jit
def simultaneous(nc: int, n: int, work: Any) -> int:
    """Find the impulses of one impact of all contacts that take part, whose rates are in ``work.all.rate``."""
    for c in range(nc):
        work.all.least[c] = 0.0
        work.all.leave[c] = -work.e[c] * min(work.all.rate[c], 0.0)
    mu, slips, p = work.mu[:nc], work.slips[: nc + 1], work.impulse[:n]
    status = impulses_with_restitution(work.W, mu, slips, FACETS, p, work.all, MISS)
    if status == SOLVED:
        return SOLVED
    for c in range(nc):
        work.all.leave[c] = 0.0
    make_consistent(work.W, work.all.rate, work.all.unit, n, _ALIKE * largest_rate(work.W, work.all.rate, n), work)
    return impulses_with_restitution(work.W, mu, slips, FACETS, p, work.all, _COARSE)


@jit
def impact_impulses(W: Any, rate: Any, nh: int, slips: Any, mu: Any, restitution: Any, impulse: Any, work: Any) -> int:
    """Find the impulses of constraints, gaps and slips at an impact; return the status of the solver, 0 if solved.

    Args:
        W: A M⁻¹ Aᵀ over all rows (constraints, gaps, slips).
        rate: rates of all rows before the impact.
        nh: number of constraints.
        slips: the slips of contact c are slips[c] … slips[c + 1] − 1.
        mu: coefficients of friction.
        restitution: of each contact.
        impulse: one for each row, out.
        work: from `impact_workspace`; ``work.active`` says which contacts take part.
    """
    for i in range(rate.size):
        impulse[i] = 0.0
    nc, n = rows_of(nh, slips, mu, restitution, work)
    reduce_rows(W, rate, nh, n, work)
    status = simultaneous(nc, n, work)
    if status == SOLVED:
        give_impulses(W, rate, nh, n, impulse, work)
    return status
