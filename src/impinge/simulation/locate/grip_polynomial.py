"""What friction can still hold, and what slides, as smooth functions over a step.

|f| has a kink where f vanishes, so the guard μλ − |f| stands here as (μλ)² − |f|², over a constant: it has the same
roots and is as smooth as λ and f are. The same holds for the speed of what sticks.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.contact.law import NOTHING, PARTS, SLOW, TANGENT, TOUCHING
from impinge.simulation.integrate.step import dense_polynomial
from impinge.simulation.system import contacts
from impinge.simulation.system.bristles import releases_at
from impinge.simulation.system.plant import FORCE, PRESS, RATE, Plant, Workspace, impulses


@jit
def friction_polynomials(plant: Plant, w: Workspace, c: int) -> None:
    """Write the slips of a closed contact as polynomials, and behind them its bristles or the impulses along them."""
    slips = plant.nq + plant.nv + plant.nc
    other = slips + plant.nt if plant.bristled[c] != 0 else impulses(plant) + plant.nc
    for s in range(plant.slips[c], plant.slips[c + 1]):
        dense_polynomial(plant, w, slips + s, w.poly[3 + s])
        dense_polynomial(plant, w, other + s, w.poly[3 + plant.nt + s])


@jit
def friction_at(plant: Plant, w: Workspace, h: float, c: int, theta: float, normal: float) -> None:
    """Write what the friction of a contact depends on at θ, from these polynomials, to ``w.grip``."""
    m = plant.nh + plant.nc
    w.grip[FORCE, plant.nh + c] = normal
    for s in range(plant.slips[c], plant.slips[c + 1]):
        slip, other, rate, force, bend = w.poly[3 + s], w.poly[3 + plant.nt + s], 0.0, 0.0, 0.0
        for j in range(slip.size - 1, -1, -1):
            rate = rate * theta + (j + 1) * slip[j]
            force = force * theta + (j + 1) * other[j]
            bend = (bend + other[j]) * theta
        w.grip[RATE, m + s], w.grip[FORCE, m + s] = rate, force
        if plant.bristled[c] != 0:
            bend = w.y[plant.nq + plant.nv + plant.nc + plant.nt + s] + h * bend
            ask(plant.prescribe[c], (plant.closing[c], TANGENT, bend, rate, plant.gains[c], w.grip[PRESS, m + s :]))


@jit
def _square(vector: Any, first: int, last: int) -> float:
    total = 0.0
    for s in range(first, last):
        total += vector[s] * vector[s]
    return total


@jit
def friction_scale(plant: Plant, w: Workspace, c: int) -> float:
    """Return a force by which a difference of squares is divided: the largest at both ends of the step."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    kind = PRESS if plant.bristled[c] != 0 else FORCE
    size = NOTHING
    for side in range(2):
        rows = w.rows_start if side == 0 else w.rows_end
        size = max(size, plant.mu[c] * abs(rows[FORCE, i]) + friction.length(rows[kind, m:], first, last))
    return size


@jit
def write_friction_node(plant: Plant, w: Workspace, rows: Any, c: int, n: int, scale: float) -> None:
    """Write the two guards of friction at a node of the step, for rows there; see `friction_scale`."""
    i, m, first, last = plant.nh + c, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    k, slides = PARTS * contacts.grip_guard(plant), w.mode[c] == plant.sliding[c]
    if plant.bristled[c] == 0:
        if slides:
            w.nodes[k, n] = contacts.along_direction(plant, w, rows, c) * (TOUCHING / SLOW)
            return
        speed = _square(rows[RATE, m:], first, last)
        w.nodes[k + PARTS, n] = (friction.HELD - speed / friction.HELD) * (TOUCHING / SLOW)
    held = _square(rows[PRESS if plant.bristled[c] != 0 else FORCE, m:], first, last)
    limit = plant.mu[c] * rows[FORCE, i]
    limit = releases_at(plant, c, limit) if slides else limit
    spare = (limit * limit - held) / scale * (TOUCHING / NOTHING)
    w.nodes[k, n] = -spare if slides else spare
