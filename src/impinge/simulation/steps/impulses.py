"""The impulses of one time step of anything that is stepped: a model, or a scene of bodies and robots.

A contact problem knows blocks of velocities and what they do to the rates of contacts (`contact.coulomb.problem`); who
wrote it, kernels or shapes, does not matter here, nor who solves it: the solver is an address. What is stepped, ``s``,
has beside what `work` says

    least     the rate that each gap must have at least: −γ/h, so that it does not close within the step
    leave     that with restitution
    smooth    what smooth forces change of its rate within the step

    p ← solve, with what gaps leave at
    if that gives energy: p ← mixed with those without restitution
    positions will move along v⁺
    if something was struck: p, v⁺ ← the whole impact at once, from v⁻

A contact that would close within the step with the approach speed a, and has a restitution e, leaves at e a.

A gap γ that closes within the step without restitution still approaches at γ/h at its end. Positions move along this
velocity and so reach the surface; v⁺ is that of the whole impact, one problem from v⁻. How much of an impact were left
to the next step would else depend on when in the step the gap closes, and so would what friction does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import ask, jit
from impinge.contact.coulomb.solve import NO_ROOM, SOLVED, UNSOLVED
from impinge.simulation.steps.work import MISSES, apply, creates, end_rate, exchange, find_islands, moderate

# A gap below this at the end of a step is closed if it was, even if it does not push (m).
SHUT = 1e-12
_BEYOND = 1e3  # over the fastest rate of approach: faster than any contact comes to approach


@jit
def rebound(restitution: float, before: float, after: float, least: float) -> float:
    """Return the speed at which a gap opens by Newton's hypothesis if it is struck within the step, or −∞.

    It approaches at the lesser of its speeds before and after the smooth forces of the step: what rests, or has
    turned back already, does not bounce, and a single impact cannot gain energy. Nor does what these forces would
    bring back within the step: bounces that become ever smaller come to an end. It leaves no faster than if it had
    turned back at the start of the step, with these forces still to come: else it would have its speed and be h a
    above the surface as well, more than it came with.
    """
    speed = min(-restitution * max(before, after), after - 2.0 * before)
    return speed if after < least and 2.0 * speed > max(0.0, before - after) else -np.inf


@jit
def _demand(s: Any, rates: Any) -> None:
    """Let gaps ask for these rates."""
    for c in range(s.problem.count[0]):
        s.problem.bias[c, 0] += -rates[c] - s.pushed[c]
        s.pushed[c] = -rates[c]


@jit
def _keep(s: Any) -> None:
    """Keep the impulses in ``plain``."""
    for c in range(s.problem.count[0]):
        for r in range(3):
            s.plain[c, r] = s.problem.impulse[c, r]


@jit
def _leave_where_possible(s: Any, solver: int, tolerance: float, scale: float) -> int:
    """Find impulses where not all islands of a single block can leave: what is between two walls cannot leave both."""
    problem, work, which = s.problem, s.work, s.given
    find_islands(problem, work)
    islands = work.counts[4]
    for i in range(islands):
        for k in range(work.contacts[i], work.contacts[i + 1]):
            which[work.who[k]] = i
    for i in range(islands):
        leaves = False
        for c in range(problem.count[0]):
            leaves |= which[c] == i and s.leave[c] > s.least[c]
        if leaves:
            for c in range(problem.count[0]):
                asked = s.leave[c] if which[c] == i else s.least[c]
                problem.bias[c, 0] += -asked - s.pushed[c]
                s.pushed[c] = -asked
            if ask(solver, (problem, work, tolerance, scale)) != SOLVED:
                for c in range(problem.count[0]):
                    if which[c] == i:
                        s.leave[c] = s.least[c]
    _demand(s, s.leave)
    return ask(solver, (problem, work, tolerance, scale))


@jit
def find_impulses(s: Any, solver: int, tolerance: float, scale: float) -> int:
    """Find the impulses of all contacts that let no gap close beyond zero; gaps leave where that gives no energy."""
    leaves = False
    for c in range(s.problem.count[0]):
        s.pushed[c] = 0.0
        leaves |= s.leave[c] > s.least[c]
    _demand(s, s.leave)
    status = ask(solver, (s.problem, s.work, tolerance, scale))
    if status == NO_ROOM or not leaves or (status == SOLVED and not creates(s)):
        return status
    if status != SOLVED and s.work.pivoting.part.size > 0:
        status = _leave_where_possible(s, solver, tolerance, scale)
    found = status == SOLVED
    _keep(s)
    _demand(s, s.least)
    status = ask(solver, (s.problem, s.work, tolerance, scale))
    if found and status != NO_ROOM:
        for c in range(s.problem.count[0]):
            exchange(s, c)
        moderate(s)
    return status


@jit
def _is_struck(s: Any, c: int, h: float) -> bool:
    """Tell whether a contact pushes and still approaches, by more than what smooth forces change within the step."""
    if not s.problem.impulse[c, 0] > 0.0:
        return False
    return -end_rate(s, c) > s.smooth[c] + SHUT / h + MISSES * s.work.residual[0]


@jit
def ask_of_struck(s: Any, h: float) -> bool:
    """Ask that nothing approaches which this step brings to its surface; return whether it struck anything.

    An approach that is slower than what smooth forces change in the step is left as it is, since it is of the order of
    the step. So is that of a single contact of a model without friction, whose two impulses add up, as in the tables of
    J. C. Trinkle. What pushed and leaves is to leave as fast; contacts that stay open take no part, since none
    approaches so fast. The impulses found are kept.
    """
    problem, struck, pushing, rubs, beyond = s.problem, False, 0, False, _BEYOND * s.work.residual[1]
    for c in range(problem.count[0]):
        struck |= _is_struck(s, c, h)
        if problem.impulse[c, 0] > 0.0:
            pushing += 1
            rubs |= problem.mu[c] > 0.0
    if not struck or (pushing == 1 and not rubs and s.work.pivoting.part.size > 0):
        return False
    for c in range(problem.count[0]):
        rate = end_rate(s, c)
        shut = problem.impulse[c, 0] > 0.0 or rate + s.pushed[c] <= SHUT / h + MISSES * s.work.residual[0]
        asked = -max(rate, 0.0) if shut else beyond
        problem.bias[c, 0] += asked - s.pushed[c]
        s.pushed[c] = asked
    _keep(s)
    return True


@jit
def solve_struck(s: Any, solver: int, tolerance: float, scale: float) -> int:
    """Find the impulses of the whole impact; UNSOLVED if there are none, or if they would give energy."""
    status = ask(solver, (s.problem, s.work, tolerance, scale))
    return UNSOLVED if status == SOLVED and creates(s) else status


@jit
def return_to_kept(s: Any) -> None:
    """Let the impulses be those that were kept."""
    for c in range(s.problem.count[0]):
        exchange(s, c)
    apply(s)
