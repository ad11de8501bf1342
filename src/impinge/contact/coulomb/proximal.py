"""Which impulses: those of vanishing compliance, and the proximal point method that finds them.

Where contacts are redundant, velocities and the sums of impulses on each body are known, but how contacts share them
is not. Contacts that give way a little, u = −p/K, share them in one way only; and as K grows that becomes the
solution of smallest norm, K weighing impulses along the normal and friction. So all contacts of an island have the
same K, which does not depend on the order of anything, and friction has a weaker one: what pushes need not rub. The
first step of the proximal point method from p = 0 solves exactly that; further steps, p ← P(p − K u), take the
compliance out of the velocities and leave the sharing as it is (R. T. Rockafellar, 1976).

Where Newton's method does not find that at once, the same method begins with weak contacts that are made stronger
step by step, again from p = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, jit
from impinge.contact.coulomb.newton import BOLD, BRIEF, CAREFUL, CONVEX, copy
from impinge.contact.coulomb.problem import BALANCE, MISSES, PREDICT

_STIFF, _RUBBING, _SPREAD = 1e6, 1e-2, 1e3  # κ; friction's share of it; largest range of K over own stiffness
_SOFT, _RISE, _STIFFEST = 1e2, 1e2, 1e9  # κ to begin with where Newton's method needs help, its growth, and its most
_WAIT, _DRIFT, _HARDLY = 40, 3000, 1e-3  # steps in which the largest miss need not fall; and if it is hardly one
_SOON = 10  # the same in haste
_FALLS = 0.5  # reduction of the largest miss that makes one more step worth it
EXTRA = 1e-3  # of the limit: what is larger is worth one more step, if the same factors serve

FINE = 1e-10  # miss over the scale from which on impulses serve, and rest is exact, if the tolerance allows it

_OUTER = 100  # steps of the way with weak contacts
_WEAKEST, _STRONG, _STRONGEST, _CONVEX = 3.0, 1e4, 1e8, 3e3  # κ: at first, enough for most, at most, convex steps
_STRONGER, _WEAKER = 3.0, 0.3
_WORSE = 5.0  # growth of the largest miss that is accepted
_LESS, _PATIENCE = 0.7, 50  # what counts as better, and how many changes without it end what is good already
GOOD = 1e-2  # miss over the scale that is good already
_SLOW = 0.3  # reduction of the largest miss that asks for a larger κ

HASTY, WAITING, PATIENT = 0, 1, 2  # to give up soon; only if Newton's method does not arrive at once; or late


@jit
def _weigh(work: Any, i: int, kappa: float, same: bool) -> None:
    """Write the stiffness of each contact: κ times its own, or the same for all of the island."""
    most = 0.0
    for k in range(work.contacts[i], work.contacts[i + 1]):
        most = max(most, work.stiffness[work.who[k]])
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        own = work.stiffness[c]
        work.normal[c] = kappa * (min(most, _SPREAD * own) if same else own)
        work.tangent[c] = work.normal[c] * _RUBBING if same else work.normal[c]
    work.factors[0] = -1


@jit
def _exchange(problem: Any, work: Any, i: int, back: bool) -> None:
    """Keep the impulses and take those of Newton's method, or go back to the ones that were kept."""
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        for r in range(3):
            if back:
                problem.impulse[c, r] = work.old[c, r]
            else:
                work.old[c, r] = problem.impulse[c, r]
                problem.impulse[c, r] = work.push[c, r]


@jit
def clear(problem: Any, work: Any, i: int) -> None:
    """Let the impulses of an island be zero."""
    for k in range(work.contacts[i], work.contacts[i + 1]):
        for r in range(3):
            problem.impulse[work.who[k], r] = 0.0


@jit
def _balanced(problem: Any, work: Any, i: int, patience: int) -> bool:
    """Find the velocities that the impulses of an island lead to; say whether that was possible."""
    if patience == HASTY:
        return ask(work.calls[BALANCE], (problem, work, i, BRIEF)) != 0
    bold = ask(work.calls[BALANCE], (problem, work, i, BOLD)) != 0
    return bold or ask(work.calls[BALANCE], (problem, work, i, CAREFUL)) != 0


@jit
def _first(problem: Any, work: Any, i: int, patience: int) -> bool:
    """Find the impulses of a small compliance; if that fails at once, and there is time, of a larger one first."""
    _weigh(work, i, _STIFF, True)
    found = ask(work.calls[PREDICT], (problem, work, i)) != 0
    clear(problem, work, i)
    if not found or ask(work.calls[BALANCE], (problem, work, i, BRIEF if patience == HASTY else BOLD)) != 0:
        return found
    if patience != PATIENT:
        return False
    kappa = _SOFT
    while kappa <= _STIFF:
        _weigh(work, i, kappa, True)
        found = _balanced(problem, work, i, patience)
        if found:
            copy(work, i, work.x, work.base)
        kappa *= _RISE
    return found


@jit
def _take_out(problem: Any, work: Any, i: int, limit: float, patience: int) -> bool:
    """Take the compliance out of the velocities by further steps; say whether the largest miss is below the limit."""
    kappa, miss, waited, dear = _STIFF, np.inf, 0, True
    hardly = _HARDLY * work.residual[1]
    while True:
        _exchange(problem, work, i, False)
        ask(work.calls[MISSES], (problem, work, i))
        now = work.residual[2]
        if miss <= limit and not now <= _FALLS * miss:  # not this last step, then
            _exchange(problem, work, i, True)
            ask(work.calls[MISSES], (problem, work, i))
            return True
        if now <= EXTRA * limit or (now <= min(limit, FINE * work.residual[1]) and dear):
            return True
        if not now <= _LESS * miss:  # contacts that hardly contradict each other: impulses drift until one gives way
            waited += 1
            if waited > (_SOON if patience == HASTY else _DRIFT if now <= hardly else _WAIT):
                return now <= limit
            if kappa < _STIFFEST:
                kappa *= _RISE
                _weigh(work, i, kappa, True)
        miss, made = now, work.counts[2]
        copy(work, i, work.x, work.base)
        while not _balanced(problem, work, i, patience):
            if kappa <= _SOFT or patience == HASTY:
                return now <= limit
            kappa /= _RISE
            _weigh(work, i, kappa, True)
        dear = work.counts[2] > made


@jit
def find_smallest(problem: Any, work: Any, i: int, limit: float, patience: int) -> bool:
    """Find the impulses of vanishing compliance of an island; those that there are say who pushes, sticks and slides.

    Args:
        problem: packed `Problem`.
        work: packed `Work`.
        i: the island.
        limit: of the largest miss.
        patience: HASTY, WAITING or PATIENT.

    Returns:
        Whether their largest miss is below the limit.
    """
    return _first(problem, work, i, patience) and _take_out(problem, work, i, limit, patience)


@jit
def let_drift(problem: Any, work: Any, i: int, limit: float) -> bool:
    """Take stiff steps from impulses that hardly miss, until those drift no more; say whether that is so.

    Where contacts nearly contradict each other, impulses grow by K u in a step until one slides: weak contacts, and
    sweeps, do not get there.
    """
    _weigh(work, i, _STIFF, True)
    copy(work, i, problem.v, work.base)
    return _balanced(problem, work, i, PATIENT) and _take_out(problem, work, i, limit, PATIENT)


@jit
def find_any(problem: Any, work: Any, i: int, limit: float) -> float:
    """Improve the impulses of an island until its largest miss is below a limit; return that miss."""
    kappa, miss, convex, best, waited = _WEAKEST, work.residual[2], 0, np.inf, 0
    copy(work, i, problem.v, work.base)
    for _ in range(_OUTER):
        if miss <= limit:
            break
        _weigh(work, i, min(kappa, _CONVEX) if convex == 1 else kappa, False)
        found = ask(work.calls[BALANCE], (problem, work, i, CONVEX if convex == 1 else CAREFUL))
        if found > 0 or convex == 1:
            _exchange(problem, work, i, False)
            ask(work.calls[MISSES], (problem, work, i))
            if convex == 0 and not work.residual[2] < _WORSE * miss:
                _exchange(problem, work, i, True)
                found = 0
        if found == 0 and convex == 0:
            convex = 1
            continue
        slow = work.residual[2] > _SLOW * miss
        if convex == 1 or (slow and found == 2):
            kappa = max(_WEAKER * kappa, _WEAKEST)
        elif slow or kappa < _STRONG:
            kappa = min(_STRONGER * kappa, _STRONGEST)
        work.counts[3] += convex
        convex, miss = 0, work.residual[2]
        if miss < _LESS * best:
            best, waited = miss, 0
        else:
            waited += 1
            if waited > _PATIENCE and miss <= GOOD * work.residual[1]:
                break
        copy(work, i, work.x, work.base)
    ask(work.calls[MISSES], (problem, work, i))  # the last impulses may have been rejected
    return work.residual[2]
