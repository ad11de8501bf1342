"""The impact map: what velocities do at the instant at which rigid contacts close.

Impulses p act on the rows of constraints, gaps and slips. Constraints keep their rate at zero; gaps obey Newton's
hypothesis for all that touch, at once,

    0 ≤ p_c  ⊥  γ̇_c⁺ + e_c min(γ̇_c⁻, 0) ≥ 0,      γ̇⁺ = γ̇⁻ + W p,

and slips obey Coulomb's, |p_s| ≤ μ p_c against the slip rate that remains. With e = 0 and without friction this is
the projection of the velocities onto those that the closed contacts allow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, jit
from impinge.contact.lcp.cone import ConeWorkspace, cone_workspace, contact_impulses
from impinge.contact.rows import RowWorkspace, minimum_norm, row_workspace

# Directions of friction in an impact, where a contact has two slips.
FACETS = 16
# What never slides has a coefficient of friction like this in an impact.
_HOLDS = 1e4


class ImpactWorkspace(NamedTuple):
    """Arrays that `impact_impulses` writes to."""

    active: Integers  # contacts that take part
    rows: Integers  # their rows: gaps, then slips
    slips: Integers
    mu: Vector
    W: Matrix
    rate: Vector
    impulse: Vector
    tied: Matrix  # impulses of constraints for a unit impulse of each row, and for none
    cone: ConeWorkspace
    solver: RowWorkspace
    bounce: Vector  # restitution of each contact in this impact
    since: Vector  # time of each contact's last impact
    lasted: Matrix  # the two last intervals between impacts of each contact


def impact_workspace(nh: int, nc: int, ns: int) -> ImpactWorkspace:
    """Allocate the work space of `impact_impulses` for these numbers of constraints, contacts and slips."""
    n = nc + ns
    return ImpactWorkspace(
        active=np.zeros(nc, dtype=np.int64),
        rows=np.zeros(n, dtype=np.int64),
        slips=np.zeros(nc + 1, dtype=np.int64),
        mu=np.zeros(nc),
        W=np.zeros((n, n)),
        rate=np.zeros(n),
        impulse=np.zeros(n),
        tied=np.zeros((n + 1, nh)),
        cone=cone_workspace(n, nc, FACETS),
        solver=row_workspace(nh),
        bounce=np.zeros(nc),
        since=np.full(nc, -np.inf),
        lasted=np.full((nc, 2), np.inf),
    )


@jit
def _tie(W: Any, m: int, nh: int, source: Any, stride: int, tied: Any, work: Any) -> None:
    """Write the impulses of constraints that cancel a change of their rates."""
    for i in range(nh):
        work.b[i] = source[i * stride]
        for j in range(nh):
            work.A[i, j] = W[i * m + j]
    minimum_norm(work.A, nh, work.b, work.x, work)
    for i in range(nh):
        tied[i] = -work.x[i]


@jit
def _rows_of(nh: int, slips: Any, mu: Any, work: Any) -> tuple[int, int]:
    """Write the rows of the contacts that take part; return the number of contacts and of rows."""
    nc: Any = np.int64(0)
    for c in range(mu.size):
        if work.active[c] != 0:
            work.rows[nc] = nh + c
            work.mu[nc] = min(mu[c], _HOLDS)
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
def impact_impulses(W: Any, rate: Any, nh: int, slips: Any, mu: Any, restitution: Any, impulse: Any, work: Any) -> int:
    """Find the impulses of constraints, gaps and slips at an impact; return the status of the solver, 0 if solved.

    Args:
        W: A M⁻¹ Aᵀ over all rows (constraints, gaps, slips), flat.
        rate: rates of all rows before the impact.
        nh: number of constraints.
        slips: the slips of contact c are slips[c] … slips[c + 1] − 1.
        mu: coefficients of friction.
        restitution: of each contact.
        impulse: one for each row, out.
        work: from `impact_workspace`; ``work.active`` says which contacts take part.
    """
    m = rate.size
    for i in range(m):
        impulse[i] = 0.0
    nc, n = _rows_of(nh, slips, mu, work)
    if nh > 0:
        _tie(W, m, nh, rate, 1, work.tied[n], work.solver)
        for k in range(n):
            _tie(W, m, nh, W[work.rows[k] :], m, work.tied[k], work.solver)
    for k in range(n):
        i = work.rows[k]
        work.rate[k] = rate[i]
        for r in range(nh):
            work.rate[k] += W[i * m + r] * work.tied[n, r]
        if k < nc:
            work.rate[k] += restitution[i - nh] * min(rate[i], 0.0)
        for j in range(n):
            work.W[k, j] = W[i * m + work.rows[j]]
            for r in range(nh):
                work.W[k, j] += W[i * m + r] * work.tied[j, r]
    status = contact_impulses(
        work.W, work.rate[:n], work.mu[:nc], work.slips[: nc + 1], FACETS, work.impulse[:n], work.cone
    )
    if status != 0:
        return status
    for k in range(n):
        impulse[work.rows[k]] = work.impulse[k]
        for r in range(nh):
            impulse[r] += work.tied[k, r] * work.impulse[k]
    for r in range(nh):
        impulse[r] += work.tied[n, r]
    return 0
