"""A contact problem of one block by pivoting: Lemke's method, with `solve` behind it for what that cannot do.

What it asks and what it returns is what `solve` asks and returns; which of the two a stepper has is an address. First
contacts do as in the last solution (`statuses`). If they do not, one slip has two directions, so the linear problem is
exact; two slips have a polygon of directions if one is asked for, else the disk, which is for `solve`. A basis is exact
but for rounding, and quick as long as contacts are few. Where several solutions exist it is any of them; `solve` has
the smallest.

Only contacts that would close take part in a linear problem, and then those that impulses close.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, entry, jit
from impinge.contact.coulomb.problem import Problem, Work
from impinge.contact.coulomb.solve import SOLVED, UNSOLVED
from impinge.contact.coulomb.statuses import apply_impulses, as_before, coupling, keep_states, sharpen
from impinge.contact.inverse import invert
from impinge.contact.lcp.cone import contact_impulses

# A rate is not too small if this little of its terms is missing.
_ROUNDING = 1e-13


@jit
def _begin(problem: Any, work: Any) -> float:
    """Write the rates without impulses, and let those take part who would close; return the largest that goes in."""
    p, D, largest = work.pivoting, problem.v.shape[1], 0.0
    for c in range(problem.count[0]):
        for r in range(1 + problem.slips[c]):
            total = 0.0
            for j in range(D):
                total += problem.J[c, r, j] * problem.free[0, j]
            largest = max(largest, abs(total) + abs(problem.bias[c, r]))
            work.rate[c, r] = total + problem.bias[c, r]
        p.part[c] = 1 if work.rate[c, 0] < 0.0 else 0
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
def _couple(problem: Any, work: Any, n: int) -> None:
    """Write W of the unknowns, and their rates without impulses."""
    p = work.pivoting
    for i in range(n):
        c, r = p.row[i, 0], p.row[i, 1]
        p.free[i] = work.rate[c, r]
        for k in range(i + 1):
            p.W[i, k] = p.W[k, i] = coupling(problem, c, r, p.row[k, 0], p.row[k, 1])


@jit
def _apply(problem: Any, work: Any, n: int) -> None:
    """Write impulses and velocities from the unknowns."""
    p = work.pivoting
    for c in range(problem.count[0]):
        problem.impulse[c, 0] = problem.impulse[c, 1] = problem.impulse[c, 2] = 0.0
    for i in range(n):
        problem.impulse[p.row[i, 0], p.row[i, 1]] = p.impulse[i]
    apply_impulses(problem)


@jit
def _rate(p: Any, n: int, i: int) -> float:
    """Return the rate of an unknown's row after the impulses."""
    total = p.free[i]
    for j in range(n):
        total += p.W[i, j] * p.impulse[j]
    return total


@jit
def _grows(problem: Any, work: Any) -> bool:
    """Let those take part who have come to close; return whether there are any."""
    p, grown = work.pivoting, False
    for c in range(problem.count[0]):
        if p.part[c] == 0:
            total = problem.bias[c, 0]
            for j in range(problem.v.shape[1]):
                total += problem.J[c, 0, j] * problem.v[0, j]
            problem.miss[c] = max(-total, 0.0)
            if -total > _ROUNDING * (abs(work.rate[c, 0]) + 2.0 * abs(problem.bias[c, 0])):
                p.part[c], grown = 1, True
    return grown


@jit
def _find_misses(problem: Any, work: Any, count: int, n: int) -> None:
    """Write what those who take part miss of their law: of friction if there is one slip, where pivoting is exact."""
    p = work.pivoting
    for a in range(count):
        c, k = p.who[a], count + p.slips[a]
        miss = abs(min(_rate(p, n, a), p.W[a, a] * p.impulse[a]))
        if p.slips[a + 1] == p.slips[a] + 1 and p.W[k, k] > 0.0:
            limit = problem.mu[c] * max(p.impulse[a], 0.0)
            wanted = min(max(p.impulse[k] - _rate(p, n, k) / p.W[k, k], -limit), limit)
            miss = max(miss, p.W[k, k] * abs(wanted - p.impulse[k]))
        problem.miss[c] = miss
    work.residual[2] = 0.0
    for c in range(problem.count[0]):
        work.residual[2] = max(work.residual[2], problem.miss[c])


@jit
def _by_pivots(problem: Any, work: Any) -> int:
    """Find impulses by pivoting; SOLVED, or why not."""
    p = work.pivoting
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
        if not _grows(problem, work):
            _find_misses(problem, work, count, n)
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
        problem: packed `Problem` of one block, with the ``response`` that `solve` finds itself, and ``mass``;
            ``inverse`` is found if it is needed.
        work: packed `Work` with room in ``pivoting`` for all contacts.
        tolerance: largest miss of a contact law over the scale.
        scale: least scale; larger is the largest rate, of gap or slips, that goes in.

    Returns:
        SOLVED; or UNSOLVED, with the misses in the problem, also if pivots are used up.
    """
    p = work.pivoting
    work.residual[1] = max(scale, _begin(problem, work))
    work.residual[0] = work.residual[2] = work.residual[3] = 0.0
    if as_before(problem, work):
        return _report(work)
    status = _by_pivots(problem, work)
    if status == SOLVED:
        keep_states(problem, work)
    if status == SOLVED and work.residual[2] <= tolerance * work.residual[1]:
        return _report(work)
    done = p.cone.lemke.pivots
    if status != SOLVED and done[0] >= done[2]:
        return UNSOLVED
    least, missed = work.residual[1], work.residual[2]
    for i in range(problem.v.shape[1]):
        for j in range(problem.v.shape[1]):
            work.diagonal[0, i, j] = problem.mass[0, i, j]
    invert(work.diagonal[0], problem.inverse[0], problem.v.shape[1])
    if ask(p.solve[0], (problem, work, tolerance, least)) == SOLVED:
        sharpen(problem, work)
        return SOLVED
    if status == SOLVED and not work.residual[0] < missed:
        _by_pivots(problem, work)
        work.residual[1] = least
        return _report(work)
    return status
