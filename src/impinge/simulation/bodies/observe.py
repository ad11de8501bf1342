"""What a step of a scene observes of itself, for the certificate: of all contacts the worst of every promise."""

from __future__ import annotations

from typing import Any

from impinge.compile import jit
from impinge.geometry.table import GAP
from impinge.simulation.bodies.stage import NOW, TIME
from impinge.simulation.results.extremes import CREATED, DEPTH, DRIVE, EXCESS, RUB, WORST, keep
from impinge.simulation.results.observe import MOVES
from impinge.simulation.steps.work import rate_of

# Coulomb's limit is missed relative to itself, but at least to this share of the step's largest.
_SHARE = 1e-2


@jit
def _keep(s: Any, kind: int, number: float, c: int) -> None:
    """Keep a number of a contact if it is worse than all before, and which contact that was."""
    e = s.extremes
    if number > e.table[0, WORST + kind]:
        keep(e.table[0], WORST, kind, number, s.time[TIME])
        s.worst[kind, 0], s.worst[kind, 1] = s.now.frames[c, 0], s.now.frames[c, 1]


@jit
def note_depths(s: Any) -> None:
    """Note how deep the contacts are as a step begins, before anything moves them."""
    for c in range(s.used[NOW]):
        _keep(s, DEPTH, -s.now.point[c, GAP], c)


@jit
def note_contacts(s: Any, kick: float) -> None:
    """Note the friction and work of a step's impulses.

    Rates are those seen from the other surface. Impulses miss their law by a rate that the solver says. That changes
    impulses by as much over the inverse inertia of their contact, and work and power by as much times the impulses: it
    is taken off, twice. A step with a rebound is an impact, in which others may turn a slip about against its friction:
    the power of that is not noted.
    """
    problem, miss = s.problem, s.work.residual[0]
    work, moved, total, most, who, rebounds = 0.0, 0.0, 0.0, 0.0, 0, False
    for c in range(s.used[NOW]):
        p = problem.impulse[c]
        if p[0] > most:
            most, who = p[0], c
        if s.rules.restitution > 0.0 and p[0] > 0.0:
            rebounds |= rate_of(problem, c, 0, problem.v) + problem.bias[c, 0] - s.pushed[c] > MOVES
    for c in range(s.used[NOW]):
        p = problem.impulse[c]
        own = problem.bias[c, 0] - s.pushed[c]
        rate = rate_of(problem, c, 0, problem.v) + own
        if p[0] <= 0.0 or s.kept[c] >= 0:
            continue
        work += p[0] * 0.5 * (rate_of(problem, c, 0, problem.free) + own + rate)
        moved += p[0] * (abs(rate_of(problem, c, 0, problem.free) + own) + abs(rate))
        power, speed, size = 0.0, 0.0, (p[1] * p[1] + p[2] * p[2]) ** 0.5
        for r in range(1, 3):
            slip = rate_of(problem, c, r, problem.v) + problem.bias[c, r]
            before = rate_of(problem, c, r, problem.free) + problem.bias[c, r]
            work += p[r] * 0.5 * (before + slip)
            moved += abs(p[r]) * (abs(before) + abs(slip))
            power += p[r] * slip
            speed += slip * slip
        total += p[0] + size
        limit = problem.mu[c] * p[0] + 2.0 * miss / min(problem.W[c, 1, 1], problem.W[c, 2, 2])
        _keep(s, EXCESS, (size - limit) / (limit + _SHARE * most), c)
        speed = speed**0.5
        if speed > MOVES and not rebounds:
            _keep(s, DRIVE, (power - 2.0 * miss * size) / kick, c)
            _keep(s, RUB, size * speed / kick, c)
    if moved > 0.0:
        _keep(s, CREATED, (work - 2.0 * miss * total) / moved, who)
