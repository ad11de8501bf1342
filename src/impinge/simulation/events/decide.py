"""In which modes contacts are at an instant: they decide, and are evaluated anew, until no mode changes."""

from __future__ import annotations

from impinge.compile import ask, jit
from impinge.simulation.events import directions
from impinge.simulation.events.settle import contradicted, driven
from impinge.simulation.events.standstill import forget_forces, may_stand
from impinge.simulation.events.still import STILL, fastest_stick, stop_slips_here
from impinge.simulation.locate.guards import wants_change
from impinge.simulation.system import contacts
from impinge.simulation.system.dynamics import evaluate_and_press, find_forces
from impinge.simulation.system.plant import JAMMED, STALLED, TIME, Plant, Workspace, assign
from impinge.simulation.system.slide import steer

# Directions in which contacts begin to slide are improved so often, until they turn by less than this.
_TURNS, _STRAIGHT = 60, 1e-9

# What sticks is stopped so often at one instant: where feet contradict each other a rate remains.
_STILLED = 3


@jit
def decide_modes(plant: Plant, w: Workspace) -> bool:
    """Change modes at the current instant until none changes; return False if they never stop, or a contact jams.

    Slips of contacts that close and never slide are stopped; then others may change or strike, and be stopped, too.
    """
    evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    return decide_evaluated(plant, w)


@jit
def decide_evaluated(plant: Plant, w: Workspace) -> bool:
    """Do the same where the current state has just been evaluated, its derivative into ``w.K[0]``."""
    rounds = 0
    while _agree(plant, w):
        rounds += 1
        if plant.halt == 0 or rounds > plant.nc or ask(plant.halt, (plant, w)) == 0:
            return True
        evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
        if plant.strike != 0:
            if ask(plant.strike, (plant, w)) != 0:
                return False
            evaluate_and_press(plant, w, w.time[TIME], w.y, w.K[0])
    return False


@jit
def _agree(plant: Plant, w: Workspace) -> bool:
    """Change modes for the velocities that there are until none changes; return as `decide_modes` does.

    First every contact decides at once. Then one at a time, the first that wants to: this is the
    least-index principal pivoting of K. G. Murty (Opsearch 11, 1974), finite for independent contacts.
    If that does not end, or contacts ask for what they cannot have together, one problem is solved for all.
    ``w.fired`` holds the guards that fell; ``w.changed`` returns who changed in the last rounds. The
    derivative at the current state is then in ``w.K[0]``.
    """
    t = w.time[TIME]
    w.counts[JAMMED] = 0
    if plant.nt > 0:
        turned = forget_forces(w)
        turned |= directions.realign(plant, w)
        turned |= directions.aim(plant, w, w.rows)
        if turned:
            find_forces(plant, w, t, w.y, w.K[0])
    settled, steered, stilled = False, False, 0
    for attempt in range(50 + 10 * plant.nc):
        if plant.settle != 0 and not settled and contradicted(plant, w):
            settled = True
            if _stand(plant, w, t):
                return True
            if _settle(plant, w, t):
                continue
        if not _decide_again(plant, w, attempt):
            if plant.nt > 0 and not steered and _steer(plant, w, t):
                steered = True
                continue
            if plant.nt > 0 and stilled < _STILLED and _still(plant, w, t):
                stilled += 1
                continue
            jams = w.counts[JAMMED] != 0
            if plant.settle != 0 and may_stand(plant, w) and _stand(plant, w, t):
                return True
            if settled or plant.settle == 0 or not (jams or driven(plant, w)):
                return not jams
            settled = True
            if not _settle(plant, w, t):
                return not jams
            continue
        w.counts[JAMMED] = 0
        find_forces(plant, w, t, w.y, w.K[0])
    if plant.settle != 0 and _stand(plant, w, t):
        return True
    if settled or plant.settle == 0 or not _settle(plant, w, t) or w.counts[JAMMED] != 0:
        return False
    agree = True
    for c in range(plant.nc):
        agree &= not wants_change(plant, w, w.rows, c)
    return agree


@jit
def _still(plant: Plant, w: Workspace, t: float) -> bool:
    """Stop what has come to stick; what slides may then slide another way: tell whether there was anything to stop."""
    if fastest_stick(plant, w, w.rows, True) <= STILL:
        return False
    stop_slips_here(plant, w, t, w.y, True)
    directions.realign(plant, w)
    evaluate_and_press(plant, w, t, w.y, w.K[0])
    return True


@jit
def _steer(plant: Plant, w: Workspace, t: float) -> bool:
    """Find the directions in which contacts begin to slide; tell whether there was one to turn."""
    found = False
    for _ in range(_TURNS):
        if steer(plant, w) <= _STRAIGHT:
            break
        found = True
        find_forces(plant, w, t, w.y, w.K[0])
    return found


@jit
def _decide_again(plant: Plant, w: Workspace, attempt: int) -> bool:
    """Let contacts decide, all in the first attempt, later the first that wants to; tell whether one changed."""
    again = False
    if attempt % max(plant.nc, 10) == 0 and w.counts[STALLED] == 0:
        for c in range(plant.nc):
            w.changed[c] = 0
    for c in range(plant.nc):
        mode = contacts.decide(plant, w, w.rows, c, w.fired[c])
        w.fired[c] = 0
        if mode != w.mode[c]:
            contacts.change(plant, w, c, mode)
            w.changed[c] = 1
            again = True
            if attempt > 0:
                break
    return again


@jit
def _stand(plant: Plant, w: Workspace, t: float) -> bool:
    """Let bodies rest that can, and evaluate; tell whether some do now, and none that is held moves.

    Else directions stay what they were: forces by which contacts have decided must not change behind that.
    """
    assign(w.tried_direction, w.direction)
    failed = ask(plant.stand, (plant, w))
    if failed != 0:
        assign(w.direction, w.tried_direction)
    for c in range(plant.nc):
        if w.mode[c] != w.left_mode[c]:
            w.changed[c] = 1
    find_forces(plant, w, t, w.y, w.K[0])
    if failed == 0:
        w.counts[JAMMED] = 0
    return failed == 0


@jit
def _settle(plant: Plant, w: Workspace, t: float) -> bool:
    """Decide for all contacts at once, and evaluate; return False if there is no decision, and nothing has changed."""
    assign(w.tried_direction, w.direction)
    if ask(plant.settle, (plant, w)) != 0:
        assign(w.direction, w.tried_direction)
        return False
    for c in range(plant.nc):
        if w.mode[c] != w.left_mode[c]:
            w.changed[c] = 1
    w.counts[JAMMED] = 0
    find_forces(plant, w, t, w.y, w.K[0])
    return True
