"""How what contacts prescribe changes with the state: slopes of laws, and of friction while it slides.

A row is told an acceleration or a force by its law, with slopes by its value and its rate. A contact that slides is
told a force along its slips that goes with its normal force, f = −μλd; there δf = −μ d δλ, plus what is written here,

    −λ (d δμ + μ δd),   δd = (1 − ddᵀ) δṡ / |ṡ|   in a plane, and zero along a line.

A bristle that slides bears f = μλ n along n = f̂/|f̂|, where f̂ is what its spring and damper would give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from impinge.compile import ask, jit
from impinge.contact import friction
from impinge.contact.law import NORMAL, TANGENT
from impinge.simulation.system.contacts import sticks_rigidly
from impinge.simulation.system.plant import FORCE, PRESS, RATE, VALUE, Plant, Workspace

if TYPE_CHECKING:
    from impinge.analysis.linear.tangent import Tangent


@jit
def write_targets(plant: Plant, w: Workspace, d: Tangent) -> None:
    """Write the derivatives of what is prescribed for every row of the state just evaluated to ``d.target``.

    Of a row whose force is a multiple of its normal force, only what does not come with the normal force.
    """
    gaps, m, nz = plant.nh + plant.nc, plant.nh + plant.nc + plant.ns, d.nz
    _slopes(plant, w, d)
    for i in range(m):
        by_value, by_rate = d.slopes[2 * i], d.slopes[2 * i + 1]
        for j in range(nz):
            d.target[i, j] = by_value * _by_value(plant, d, j, i) + by_rate * d.by.rate[j, i]
        for s in range(plant.ns):
            d.target[i, nz + s] = -by_value if i == gaps + s else 0.0
            d.target[i, nz + plant.ns + s] = 0.0
    for s in range(plant.ns):
        for j in range(nz + 2 * plant.ns):
            d.anchor[s, j] = 0.0
            if j < nz and plant.counted[s] != 0 and _is_closed(plant, w, s):  # a slip without a value: −bend it is
                d.anchor[s, j] = -d.by.rate[j, gaps + s]
    if plant.nt == 0:
        return
    for c in range(plant.nc):
        if w.mode[c] != plant.sliding[c]:
            continue
        if plant.bristled[c] != 0:
            _relax(plant, w, d, c)
        else:
            _drag(plant, w, d, c)


@jit
def _by_value(plant: Plant, d: Tangent, j: int, i: int) -> float:
    """Return how the value of a row changes with z; at rest what is given by its rate gets as far as that leads it."""
    slip = i - plant.nh - plant.nc
    if d.still[0] == 0 or slip < 0 or plant.counted[slip] == 0:
        return d.by.g[j, i]
    return d.by.rate[j + plant.nv, i] if j < plant.nv else 0.0


@jit
def _is_closed(plant: Plant, w: Workspace, s: int) -> bool:
    """Tell whether the contact of a slip is closed."""
    c = plant.normal[plant.nh + plant.nc + s] - plant.nh
    return plant.closed[c, w.mode[c]] != 0


@jit
def _slopes(plant: Plant, w: Workspace, d: Tangent) -> None:
    """Write the derivatives of what is prescribed for every row, by its value and by its rate, to ``d.slopes``."""
    nh, nc = plant.nh, plant.nc
    for i in range(2 * (nh + nc + plant.ns)):
        d.slopes[i] = 0.0
    for i in range(nh):
        d.slopes[2 * i], d.slopes[2 * i + 1] = -plant.stabilization[0], -plant.stabilization[1]
    for c in range(nc):
        i = nh + c
        if w.mode[c] == plant.passed[c]:
            continue
        slides = plant.nt > 0 and w.mode[c] == plant.sliding[c]
        own = plant.closing[c] if slides else w.mode[c]
        gap, rate = w.rows[VALUE, i], w.rows[RATE, i]
        ask(plant.slope[c], (own, NORMAL, gap, rate, plant.gains[c], d.slopes[2 * i :]))
        if slides and plant.bristled[c] == 0:
            continue
        for s in range(plant.slips[c], plant.slips[c + 1]):
            i = nh + nc + s
            slip, rate = w.rows[VALUE, i] - w.anchor[s], w.rows[RATE, i]
            if plant.nb > 0 and plant.bristled[c] != 0:
                slip = w.bent[s]
            ask(plant.slope[c], (own, TANGENT, slip, rate, plant.gains[c], d.slopes[2 * i :]))
            if sticks_rigidly(plant, c):  # it stands still, and is not drawn back to where it began to
                d.slopes[2 * i] = 0.0


@jit
def _drag(plant: Plant, w: Workspace, d: Tangent, c: int) -> None:
    """Write −λ (d δμ + μ δd) for the slips of a contact that slides."""
    nz, gaps, first, last = d.nz, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    force, mu, rates, aim = w.rows[FORCE, plant.nh + c], plant.mu[c], w.rows[RATE, gaps:], w.attempt
    turns = last > first + 1 and friction.along(rates, w.direction, first, last) > 0.0
    for s in range(first, last):
        aim[s] = w.direction[s]
    size, share, kept = 1.0, 0.0, 0.0
    if turns:
        friction.blend(rates, w.direction, first, last, aim)
        size, kept, share = friction.blend_slopes(rates, w.direction, first, last)
    for j in range(nz):
        along, told = 0.0, 0.0
        if turns:
            for s in range(first, last):
                told += share * rates[s] * d.by.rate[j, gaps + s]
            for s in range(first, last):
                along += aim[s] * (d.by.rate[j, gaps + s] + told * w.direction[s])
        for s in range(first, last):
            turn = 0.0
            if turns:
                change = d.by.rate[j, gaps + s] + told * w.direction[s]
                turn = (change - aim[s] * along) / size
            d.target[gaps + s, j] = -force * (aim[s] * d.mu[c, j] + mu * turn)
    for s in range(first, last):
        for j in range(nz, nz + plant.ns):
            d.target[gaps + s, j] = 0.0
        for r in range(first, last):
            turn = 1.0 if r == s else 0.0
            if turns:
                turn = kept * (turn - aim[s] * aim[r]) / size
            d.target[gaps + s, nz + plant.ns + r] = -force * mu * turn


@jit
def _relax(plant: Plant, w: Workspace, d: Tangent, c: int) -> None:
    """Turn the slopes of what the bristles of a contact would give into those of what they bear while they slide.

    Their anchors move at ṡ − ż with ż = (f − spring) / slope: the derivatives of that go to ``d.anchor``.
    """
    nz, gaps, first, last = d.nz, plant.nh + plant.nc, plant.slips[c], plant.slips[c + 1]
    force, mu, given = w.rows[FORCE, plant.nh + c], plant.mu[c], w.rows[PRESS, gaps:]
    size = friction.length(given, first, last)
    if size <= 0.0:
        for s in range(first, last):
            for j in range(nz + plant.ns):
                d.target[gaps + s, j] = 0.0
        return
    for j in range(nz + plant.ns):
        along, limit = 0.0, mu * d.target[plant.nh + c, j]
        if j < nz:
            limit += d.mu[c, j] * force
        for s in range(first, last):
            along += given[s] / size * d.target[gaps + s, j]
        for s in range(first, last):
            i = gaps + s
            across = d.target[i, j] - along * given[s] / size
            d.target[i, j] = limit * given[s] / size + mu * force / size * across
            rate, bent = 0.0, -1.0 if j == nz + s else 0.0
            if j < nz:
                rate, bent = d.by.rate[j, i] if plant.counted[s] == 0 else 0.0, d.by.g[j, i]
            d.anchor[s, j] = rate - (d.target[i, j] - d.slopes[2 * i] * bent) / d.slopes[2 * i + 1]
