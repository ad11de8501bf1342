"""Bodies that sank in are moved apart, without giving them speed.

Gaps are linear over a step, surfaces and turns are not: what is left over after the step, γ < 0, is of second order
in its length. Displacements δ = M⁻¹Jᵀλ with 0 ≤ λ ⊥ γ + J δ + slop ≥ 0 take it back, all contacts together, those
that are still open included. Nothing but positions changes; the energy that it lifts bodies by is counted.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import inlined, jit
from impinge.geometry.table import GAP
from impinge.simulation.bodies.frames import move
from impinge.simulation.bodies.stage import LIFTED, NOW

SLOP = 1e-7  # depth that is left as it is, m: half of it remains after a correction
_SWEEPS, _ENOUGH = 200, 1e-9  # at most; until nothing moves by more than this share of the slop: then δ is unique
_MANY, _FEWER = 200, 20  # with more contacts than that, fewer sweeps: the next step goes on


@inlined
def _visit_all(s: Any, D: int) -> float:
    problem, point, push, worst = s.problem, s.now.point, s.push, 0.0
    for c in range(s.used[NOW]):
        stiffness = problem.W[c, 0, 0]
        if not stiffness > 0.0:
            continue
        gap, J = point[c, GAP] + 0.5 * SLOP, problem.J[c, 0]
        for side in range(2):
            b = problem.body[c, side]
            if b >= 0:
                for j in range(D):
                    gap += J[side * D + j] * push[b, j]
        change = max(-s.pushed[c], -gap / stiffness)
        worst = max(worst, abs(change) * stiffness)
        if change != 0.0:
            s.pushed[c] += change
            response = problem.response[c, 0]
            for side in range(2):
                b = problem.body[c, side]
                if b >= 0:
                    for j in range(D):
                        push[b, j] += response[side * D + j] * change
    return worst


@jit
def _sweep(s: Any) -> float:
    """Visit all contacts once; return the largest change of a gap that one made."""
    D = s.push.shape[1]
    return _visit_all(s, 6) if D == 6 else _visit_all(s, D)  # said twice: what is known becomes vectors


@jit
def correct(world: Any, s: Any) -> None:
    """Move bodies apart that sank in, and the gaps with them."""
    problem, push = s.problem, s.push
    D = push.shape[1]
    for b in range(push.shape[0]):
        for j in range(D):
            push[b, j] = 0.0
    for c in range(s.used[NOW]):
        s.pushed[c] = 0.0
    for _ in range(_SWEEPS if s.used[NOW] <= _MANY else _FEWER):
        if _sweep(s) <= _ENOUGH * SLOP:
            break
    for f in range(world.kind.size):
        if world.place[f] >= 0:
            b = world.block[f]
            for i in range(3):
                s.tally[LIFTED] -= world.mass[f] * world.gravity[i] * push[b, i]
            move(world, s, f, push[b], 1.0)
    for r in range(world.kernels.size):
        for i in range(world.nv[r]):
            for j in range(world.nv[r]):
                s.q[world.first_q[r] + i] += s.basis[r, i, j] * push[r, j]
    for c in range(s.used[NOW]):
        for side in range(2):
            b = problem.body[c, side]
            if b >= 0:
                for j in range(D):
                    s.now.point[c, GAP] += problem.J[c, 0, side * D + j] * push[b, j]
