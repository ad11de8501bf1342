"""A contact problem of few contacts by pivoting: Lemke's method, with `solve` behind it for what that cannot do.

What it asks and what it returns is what `solve` asks and returns; which of the two a stepper has is an address. One
slip has two directions, so the linear problem is exact; two slips have a polygon of directions, if one is asked for,
in place of the disk. A basis is exact but for rounding, mostly that of the last step, and quick as long as contacts
are few. Where several solutions exist it is any of them; `solve` has the smallest.

Only contacts that would close take part, and then those that impulses close.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.problem import Problem, Work
from impinge.contact.coulomb.solve import SOLVED, UNSOLVED
from impinge.contact.coulomb.sweeps import rates
from impinge.contact.inverse import invert
from impinge.contact.lcp.cone import contact_impulses

# A rate is not too small if this little of its terms is missing.
_ROUNDING = 1e-13


@jit
def _free(problem: Any, work: Any) -> float:
    """Let those take part who would close. Return the largest rate, of gap or slips, of the terms."""
    largest, D = 0.0, problem.v.shape[1]
    for c in range(problem.count[0]):
        u0, _, _ = rates(c, problem, problem.free)
        work.pivoting.part[c] = 1 if u0 < 0.0 else 0
        for r in range(1 + problem.slips[c]):
            size = abs(problem.bias[c, r])
            for side in range(2):
                b = problem.body[c, side]
                if b >= 0:
                    for j in range(D):
                        size += abs(problem.J[c, r, side * D + j] * problem.free[b, j])
            largest = max(largest, size)
    return largest


@jit
def _collect(problem: Any, work: Any) -> int:
    """List those who take part, and their rows, gaps first; return how many they are."""
    p, count = work.pivoting, 0
    p.slips[0] = 0
    for c in range(problem.count[0]):
        if p.part[c] != 0:
            p.who[count], p.mu[count] = c, problem.mu[c]
            p.slips[count + 1] = p.slips[count] + problem.slips[c]
            count += 1
    for a in range(count):
        p.row[a, 0], p.row[a, 1] = p.who[a], 0
        for s in range(p.slips[a + 1] - p.slips[a]):
            k = count + p.slips[a] + s
            p.row[k, 0], p.row[k, 1] = p.who[a], 1 + s
    return count


@jit
def coupling(problem: Any, c: int, r: int, e: int, s: int) -> float:
    """Return what a unit impulse in row s of contact e does to the rate of row r of contact c."""
    D, total = problem.v.shape[1], 0.0
    for side in range(2):
        b = problem.body[c, side]
        for other in range(2):
            if b >= 0 and b == problem.body[e, other]:
                for j in range(D):
                    total += problem.J[c, r, side * D + j] * problem.response[e, s, other * D + j]
    return total


@jit
def _couple(problem: Any, work: Any, n: int) -> None:
    """Write W of the unknowns, and their rates without impulses."""
    p = work.pivoting
    for i in range(n):
        c, r = p.row[i, 0], p.row[i, 1]
        for k in range(i + 1):
            p.W[i, k] = p.W[k, i] = coupling(problem, c, r, p.row[k, 0], p.row[k, 1])
        total = problem.bias[c, r]
        for side in range(2):
            b = problem.body[c, side]
            if b >= 0:
                D = problem.v.shape[1]
                for j in range(D):
                    total += problem.J[c, r, side * D + j] * problem.free[b, j]
        p.free[i] = total


@jit
def _apply(problem: Any, work: Any, n: int) -> None:
    """Write impulses and velocities from the unknowns."""
    p, D = work.pivoting, problem.v.shape[1]
    for c in range(problem.count[0]):
        problem.impulse[c, 0] = problem.impulse[c, 1] = problem.impulse[c, 2] = 0.0
    for b in range(problem.v.shape[0]):
        for j in range(D):
            problem.v[b, j] = problem.free[b, j]
    for i in range(n):
        c, r, impulse = p.row[i, 0], p.row[i, 1], p.impulse[i]
        problem.impulse[c, r] = impulse
        if impulse != 0.0:
            for side in range(2):
                b = problem.body[c, side]
                if b >= 0:
                    for j in range(D):
                        problem.v[b, j] += problem.response[c, r, side * D + j] * impulse


@jit
def _grows(problem: Any, work: Any, n: int) -> bool:
    """Let those take part who have come to close; return whether there are any. ``miss`` is that of the gaps."""
    grown, worst, p = False, 0.0, work.pivoting
    for c in range(problem.count[0]):
        u0, _, _ = rates(c, problem, problem.v)
        problem.miss[c] = max(-u0, 0.0)
        if p.part[c] == 0:
            before, _, _ = rates(c, problem, problem.free)
            if -u0 > _ROUNDING * (abs(before) + abs(problem.bias[c, 0])):
                p.part[c], grown = 1, True
        worst = max(worst, problem.miss[c])
    for a in range(n):
        c = p.row[a, 0]
        if p.row[a, 1] == 0:
            u0, _, _ = rates(c, problem, problem.v)
            problem.miss[c] = abs(min(u0, p.W[a, a] * problem.impulse[c, 0]))
            worst = max(worst, problem.miss[c])
    work.residual[2] = worst
    return grown


@jit
def _misses_friction(problem: Any, work: Any, count: int) -> None:
    """Add what the friction of contacts misses that have one slip, of which the linear problem is exact."""
    p = work.pivoting
    for a in range(count):
        c, k = p.who[a], count + p.slips[a]
        if p.slips[a + 1] == p.slips[a] + 1 and p.W[k, k] > 0.0:
            _, u1, _ = rates(c, problem, problem.v)
            limit, friction = problem.mu[c] * max(problem.impulse[c, 0], 0.0), problem.impulse[c, 1]
            wanted = min(max(friction - u1 / p.W[k, k], -limit), limit)
            problem.miss[c] = max(problem.miss[c], p.W[k, k] * abs(wanted - friction))
            work.residual[2] = max(work.residual[2], problem.miss[c])


@jit
def _by_pivots(problem: Any, work: Any) -> int:
    """Find impulses by pivoting; SOLVED, or why not."""
    p, n = work.pivoting, 0
    while True:
        count = _collect(problem, work)
        for a in range(count):
            if p.slips[a + 1] - p.slips[a] == 2 and p.facets[0] == 0:
                return UNSOLVED
        n = count + p.slips[count]
        _couple(problem, work, n)
        if contact_impulses(p.W, p.free, p.mu[:count], p.slips, p.facets[0], p.impulse, p.cone) != SOLVED:
            return UNSOLVED
        _apply(problem, work, n)
        if not _grows(problem, work, n):
            _misses_friction(problem, work, count)
            return SOLVED


@jit
def _report(work: Any) -> int:
    """Let the residuals be those of the one island that there is; return SOLVED."""
    work.residual[0] = work.residual[2]
    work.residual[3] = work.residual[2] / work.residual[1] if work.residual[1] > 0.0 else 0.0
    return SOLVED


@entry
def pivot(problem: Problem, work: Work, tolerance: float, scale: float) -> int:
    """Find impulses and velocities by pivoting, or as `solve` does where that fails or misses the tolerance.

    Args:
        problem: packed `Problem`, with what `solve` finds itself: ``response``, that of ``mass``. ``inverse`` is
            found if it is needed.
        work: packed `Work` with room in ``pivoting`` for all contacts.
        tolerance: largest miss of a contact law over the scale.
        scale: least scale; larger is the largest rate, of gap or slips, that goes in.

    Returns:
        SOLVED; or UNSOLVED, with the misses in the problem, also if pivots are used up.
    """
    p = work.pivoting
    work.residual[1] = max(scale, _free(problem, work))
    work.residual[0] = work.residual[2] = work.residual[3] = 0.0
    status = _by_pivots(problem, work)
    if status == SOLVED and work.residual[2] <= tolerance * work.residual[1]:
        return _report(work)
    done = p.cone.lemke.pivots
    if status != SOLVED and done[0] >= done[2]:
        return UNSOLVED
    least, missed = work.residual[1], work.residual[2]
    for b in range(problem.v.shape[0]):
        for i in range(problem.v.shape[1]):
            for j in range(problem.v.shape[1]):
                work.diagonal[b, i, j] = problem.mass[b, i, j]
        invert(work.diagonal[b], problem.inverse[b], problem.v.shape[1])
    if ask(p.solve[0], (problem, work, tolerance, least)) == SOLVED:
        return SOLVED
    if status == SOLVED and not work.residual[0] < missed:
        _by_pivots(problem, work)
        work.residual[1] = least
        return _report(work)
    return status
