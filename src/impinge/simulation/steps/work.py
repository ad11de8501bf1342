"""The work of a step's impulses, and impulses that are taken back as far as they would give energy.

What is stepped, ``s``, has a contact problem with its solver's work space (``problem``, ``work``), what the bias of
its gaps asks for (``pushed``), and the impulses without restitution (``plain``).

Newton's hypothesis may ask for more energy than there was: with friction, and where contacts touch at once that act on
each other. Impulses with and without restitution are both admissible, and so are all between them. Along the straight
line between the two the work is a quadratic polynomial that is not positive at its start. Contacts that do not act on
each other, directly or through others, are islands: each is judged by itself.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import inlined, jit
from impinge.contact.coulomb.statuses import coupling
from impinge.contact.restitution import largest_share

MISSES = 10.0  # so many times what the solver misses is none
_FINE = 1e-10  # of the scale: a miss as of the default tolerance
_NOTHING = 1e-12  # share of the energy that impulses move: less than that is rounding
_APART = 1e-13  # entries of W this small against those on its diagonal do not make contacts act on each other


@inlined
def _rate_of(problem: Any, c: int, r: int, v: Any, D: int) -> float:
    total, J = 0.0, problem.J[c, r]
    for side in range(2):
        b = problem.body[c, side]
        if b >= 0:
            for j in range(D):
                total += J[side * D + j] * v[b, j]
    return total


@jit
def rate_of(problem: Any, c: int, r: int, v: Any) -> float:
    """Return what velocities of the blocks do to a row of a contact."""
    D = v.shape[1]
    return _rate_of(problem, c, r, v, 6) if D == 6 else _rate_of(problem, c, r, v, D)


@jit
def end_rate(s: Any, c: int) -> float:
    """Return the rate of a gap that the velocities found give it, without what the gap asks for."""
    return rate_of(s.problem, c, 0, s.problem.v) + s.problem.bias[c, 0] - s.pushed[c]


@jit
def work_of(s: Any, before: Any) -> float:
    """Return the work of the impulses: p times the mean of the rates with velocities before, and with v⁺."""
    problem, total = s.problem, 0.0
    for c in range(problem.count[0]):
        for r in range(3):
            if problem.impulse[c, r] != 0.0:
                mean = 0.5 * (rate_of(problem, c, r, before) + rate_of(problem, c, r, problem.v))
                total += problem.impulse[c, r] * mean
    return total


@jit
def _created_by(s: Any, c: int) -> float:
    """Return the work of the impulses of a contact as seen from its surfaces, which move on their own."""
    problem, total = s.problem, -s.problem.impulse[c, 0] * s.pushed[c]
    for r in range(3):
        p = problem.impulse[c, r]
        if p != 0.0:
            mean = 0.5 * (rate_of(problem, c, r, problem.free) + rate_of(problem, c, r, problem.v))
            total += p * (mean + problem.bias[c, r])
    return total


@jit
def created_of(s: Any) -> float:
    """Return the work of all impulses as seen from the surfaces."""
    total = 0.0
    for c in range(s.problem.count[0]):
        total += _created_by(s, c)
    return total


@jit
def _acts(problem: Any, c: int, e: int) -> bool:
    """Tell whether impulses of one contact change rates of another."""
    for r in range(1 + problem.slips[c]):
        for s in range(1 + problem.slips[e]):
            W = coupling(problem, c, r, e, s)
            if _APART * _APART * coupling(problem, c, r, c, r) * coupling(problem, e, s, e, s) < W * W:
                return True
    return False


@jit
def find_islands(problem: Any, work: Any) -> None:
    """List the islands: those of the solver, but of a model's single block the contacts that act on each other."""
    if work.pivoting.part.size == 0:
        return
    count, first, islands = problem.count[0], 0, 0
    work.pattern[work.pattern.shape[0] - 1, 0] = -1  # the islands of the solver are those of blocks
    for c in range(count):
        work.who[c] = c
    while first < count:
        work.contacts[islands] = first
        end = first + 1
        while first < end:
            for k in range(end, count):
                if _acts(problem, work.who[first], work.who[k]):
                    work.who[end], work.who[k] = work.who[k], work.who[end]
                    end += 1
            first += 1
        islands += 1
    work.contacts[islands] = count
    work.counts[4] = islands


@jit
def _created_in(s: Any, i: int) -> float:
    """Return the work of the impulses of an island as seen from the surfaces."""
    work, total = s.work, 0.0
    for k in range(work.contacts[i], work.contacts[i + 1]):
        total += _created_by(s, work.who[k])
    return total


@jit
def creates(s: Any) -> bool:
    """Tell whether an island's impulses give energy, beyond rounding and what a fine solution misses.

    A coarse one may not give it either.
    """
    problem, work = s.problem, s.work
    miss = MISSES * min(work.residual[0], _FINE * work.residual[1])
    find_islands(problem, work)
    for i in range(work.counts[4]):
        created = _created_in(s, i)
        if created > 0.0:
            moved = 0.0
            for k in range(work.contacts[i], work.contacts[i + 1]):
                c = work.who[k]
                for r in range(3):
                    p = abs(problem.impulse[c, r])
                    if p > 0.0:
                        moved += p * (_NOTHING * abs(rate_of(problem, c, r, problem.free)) + miss)
            if created > moved:
                return True
    return False


@jit
def apply(s: Any) -> None:
    """Write v⁺ from v⁻ and the impulses."""
    problem = s.problem
    D = problem.v.shape[1]
    for b in range(problem.v.shape[0]):
        for j in range(D):
            problem.v[b, j] = problem.free[b, j]
    for c in range(problem.count[0]):
        for r in range(3):
            p = problem.impulse[c, r]
            if p != 0.0:
                for side in range(2):
                    b = problem.body[c, side]
                    if b >= 0:
                        for j in range(D):
                            problem.v[b, j] += problem.response[c, r, side * D + j] * p


@jit
def exchange(s: Any, c: int) -> None:
    """Exchange the impulses of a contact for those in ``plain``."""
    for r in range(3):
        s.problem.impulse[c, r], s.plain[c, r] = s.plain[c, r], s.problem.impulse[c, r]


@jit
def moderate(s: Any) -> None:
    """Mix impulses after which gaps leave (in the problem) and others (in ``plain``) so that no island gains energy."""
    problem, work, given = s.problem, s.work, s.given
    find_islands(problem, work)
    apply(s)
    for i in range(work.counts[4]):
        given[i] = _created_in(s, i)
        if given[i] > 0.0:
            for k in range(work.contacts[i], work.contacts[i + 1]):
                exchange(s, work.who[k])
    apply(s)
    for i in range(work.counts[4]):
        if given[i] > 0.0:
            none, slope = min(_created_in(s, i), 0.0), 0.0
            for k in range(work.contacts[i], work.contacts[i + 1]):
                c = work.who[k]
                for r in range(3):
                    rate = end_rate(s, c) if r == 0 else rate_of(problem, c, r, problem.v) + problem.bias[c, r]
                    slope += (s.plain[c, r] - problem.impulse[c, r]) * rate
            given[i] = largest_share(none, slope, given[i] - none - slope)
    for i in range(work.counts[4]):
        for k in range(work.contacts[i], work.contacts[i + 1]):
            c = work.who[k]
            for r in range(3):
                if given[i] > 0.0:
                    problem.impulse[c, r] += given[i] * (s.plain[c, r] - problem.impulse[c, r])
    apply(s)
