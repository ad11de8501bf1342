"""Where the polynomials of a step make guards fall: a first look, from which `find` locates the first fall.

Every part of a guard is smooth; they are combined at the root, not before.
"""

from __future__ import annotations

from impinge.compile import jit
from impinge.contact.law import ABSENT, PARTS, TOUCHING, watched_by
from impinge.simulation.events.quiet import gap_alone, pushes_throughout, span
from impinge.simulation.integrate.step import dense_polynomial
from impinge.simulation.locate.grip_polynomial import (
    friction_at,
    friction_polynomials,
    friction_scale,
    write_friction_node,
)
from impinge.simulation.locate.guards import evaluate_inside, guards_of_rows, resolution, wants_change
from impinge.simulation.locate.roots import (
    DEGREE,
    NODES,
    NONE,
    next_fall,
    stays_positive,
    to_bernstein,
    value_at,
)
from impinge.simulation.system import contacts
from impinge.simulation.system.plant import Plant, Workspace, impulses

# A part of a guard that is above zero by this share of its size, where another falls, may be below: see there.
_ABOUT = 1e-6


@jit
def sample_parts(plant: Plant, w: Workspace, h: float, c: int) -> bool:
    """Write the parts of one contact's guards at the nodes of the step: true at both ends, polynomials between.

    Between, an open contact is taken to press; whether it does is seen where its guard is located. Every part is
    smooth: what friction holds stands here as a difference of squares (see `grip_polynomial`).
    Return False, and write nothing, if no guard can fall.
    """
    gap, impulse, extent = w.poly[0], w.poly[1], w.poly[2]
    first, limited = plant.nq + plant.nv + c, plant.ne > 0 and plant.extent[c] >= 0
    place = impulses(plant) - plant.ne + plant.extent[c] - plant.nh - plant.nc - plant.ns  # of the extent in y
    closed = plant.closed[c, w.mode[c]] != 0
    dense_polynomial(plant, w, first, gap)
    if not closed:
        if w.y[first] > span(h, gap) and gap_alone(plant, w, c):
            return False
        if limited and w.mode[c] == plant.passed[c] and -w.y[first] - plant.takes_over[c] > span(h, gap):
            return False
    dense_polynomial(plant, w, impulses(plant) + c, impulse)
    if closed and pushes_throughout(plant, w, c, impulse):
        return False
    if limited:
        dense_polynomial(plant, w, place, extent)
    count, rubs = PARTS * contacts.guard_count(plant), plant.nt > 0 and plant.sliding[c] >= 0 and closed
    for k in range(count):
        w.nodes[k, 0], w.nodes[k, DEGREE] = w.parts[0, c, k], w.parts[1, c, k]
    scale = 1.0
    if rubs:
        scale = friction_scale(plant, w, c)
        friction_polynomials(plant, w, c)
    for n in range(1, DEGREE):
        theta = NODES[n]
        value, slope, force = 0.0, 0.0, 0.0
        for j in range(gap.size - 1, -1, -1):
            slope = slope * theta + value
            value = value * theta + gap[j]
            force = force * theta + (j + 1) * impulse[j]
        # value is now p(θ) and slope p′(θ), where the gap is γ + hθp(θ)
        rate = value + theta * slope
        value = w.y[first] + h * theta * value
        press = force if closed else 1.0
        reach = 0.0
        if limited:
            for j in range(extent.size - 1, -1, -1):
                reach = (reach + extent[j]) * theta
            reach = w.y[place] + h * reach
        parts = w.parts[2, c]
        contacts.guards(plant, c, w.mode[c], value, rate, press, reach, 1.0, 1.0, parts)
        for k in range(count):
            w.nodes[k, n] = parts[k]
        if rubs:
            friction_at(plant, w, h, c, theta, press)
            write_friction_node(plant, w, w.grip, c, n, scale)
    if rubs:
        write_friction_node(plant, w, w.rows_start, c, 0, scale)
        write_friction_node(plant, w, w.rows_end, c, DEGREE, scale)
    return True


@jit
def next_candidate(plant: Plant, w: Workspace, c: int, k: int, after: float) -> float:
    """Return where the polynomials of the contact last sampled make a guard fall first behind a place, or NONE.

    It falls where one of its parts does while the others are below zero already: combined at the root, not before.
    """
    start, end = w.guards[0, c, k], w.guards[1, c, k]
    exact = start > 0.0 and end <= 0.0 and wants_change(plant, w, w.rows_end, c)
    for p in range(PARTS * k, PARTS * (k + 1)):
        if watched_by(w.watched[c], p) == ABSENT:
            continue
        if not exact:
            for n in range(DEGREE + 1):
                w.nodes[p, n] += TOUCHING
        if stays_positive(w.nodes[p]) or not to_bernstein(w.nodes[p], w.bernstein[p]):
            return NONE
    best = NONE
    for p in range(PARTS * k, PARTS * (k + 1)):
        if watched_by(w.watched[c], p) == ABSENT:
            continue
        theta = after
        for _ in range(DEGREE):
            theta = next_fall(w.bernstein[p], theta, w.stack)
            if theta >= best:
                break
            below = True
            for q in range(PARTS * k, PARTS * (k + 1)):
                if q != p and watched_by(w.watched[c], q) != ABSENT:
                    size = 0.0
                    for n in range(DEGREE + 1):
                        size = max(size, abs(w.bernstein[q, n]))
                    below &= value_at(w.bernstein[q], theta) <= _ABOUT * size
            if below:
                best = theta
                break
    return best


@jit
def write_candidates(plant: Plant, w: Workspace, t: float, h: float) -> None:
    """Write, for every guard, where the step's polynomials make it fall (θ, or NONE).

    A guard falls if it goes from above zero through zero and clearly below, or if its law decides otherwise
    at the end of the step. A contact that is past its guard at the start changes there if its law now
    decides otherwise; if it comes to do so unseen within the step, that instant is found by halving.
    """
    guards_of_rows(plant, w, w.rows_end, 1)
    guards_of_rows(plant, w, w.rows_start, 0)
    for c in range(plant.nc):
        sampled = sample_parts(plant, w, h, c)
        for k in range(contacts.guard_count(plant)):
            w.candidates[c, k], w.after[c, k] = NONE, NONE
            if not sampled:
                continue
            if w.guards[0, c, k] <= 0.0 and wants_change(plant, w, w.rows_start, c):
                w.candidates[c, k], w.after[c, k] = 0.0, 0.0
                continue
            w.candidates[c, k] = next_candidate(plant, w, c, k, -1.0)
            late = w.guards[1, c, k] <= 0.0 and w.candidates[c, k] == NONE
            if late and wants_change(plant, w, w.rows_end, c):
                w.candidates[c, k], w.after[c, k] = turning(plant, w, t, h, c)


@jit
def turning(plant: Plant, w: Workspace, t: float, h: float, c: int) -> tuple[float, float]:
    """Return the last θ at which a contact keeps its mode and the first at which its law decides otherwise."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high or (high - low) * h <= resolution(t):
            break
        evaluate_inside(plant, w, t, h, middle, w.scratch[0])
        if wants_change(plant, w, w.rows, c):
            high = middle
        else:
            low = middle
    return low, high
