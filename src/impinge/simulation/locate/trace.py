"""How far a gap of a model can come along the dense output of a step: paths of its forms, and bounds from its kernel.

Coordinates are polynomials of θ in [0, 1] over a step, so the forms of a gap are too (`model.bounds`). Their ranges
over a part of the step come from their Taylor polynomials about its middle, whose even powers have a sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impinge.compile import call, entry, jit
from impinge.compile.kernels.bounds import FIELDS
from impinge.simulation.locate.proof import RATE_SLACK, SLACK
from impinge.simulation.system.plant import Plant, Workspace

# What rounding adds: relative to where a path begins, and to how far the stages of a step would take it.
_ROUNDING, _ROUGHNESS = 2.0**-50, 2.0**-43
# A gap this many times as large as its bounds are wide is bounded over a larger box, to be trusted in later steps.
_AMPLE, _SHARE, _LARGEST = 4.0, 0.4, 50.0


@jit
def write_path(plant: Plant, w: Workspace, h: float, component: int, factor: float, path: Any) -> None:
    """Add a multiple of one component of the state, as a polynomial over the step just computed, to a path."""
    dense = plant.tableau.dense
    path[0] += factor * w.y[component]
    largest = 0.0
    for s in range(dense.shape[0]):
        largest = max(largest, abs(w.K[s, component]))
    for k in range(dense.shape[1]):
        total = 0.0
        for s in range(dense.shape[0]):
            total += dense[s, k] * w.K[s, component]
        path[k + 1] += factor * h * total
    reach = _ROUGHNESS * abs(factor * h * largest)
    path[SLACK] += _ROUNDING * abs(factor * w.y[component]) + reach
    path[RATE_SLACK] += 4.0 * reach


@jit
def clear_path(offset: float, path: Any) -> None:
    """Let a path begin as a constant."""
    for k in range(path.size):
        path[k] = 0.0
    path[0] = offset
    path[SLACK] = _ROUNDING * abs(offset)


@jit
def write_ranges(path: Any, a: float, b: float, box: Any) -> None:
    """Write least and greatest value of a path over [a, b] of the step, and of its rate by θ."""
    c, r = 0.5 * (a + b), 0.0
    if b > a:
        r = 0.5 * (b - a) * (1.0 + 2.0**-50) + 2.0**-52
    b4 = path[4]
    b3 = path[3] + c * b4
    b2 = path[2] + c * b3
    b1 = path[1] + c * b2
    b0 = path[0] + c * b1
    b3 += c * b4
    b2 += c * b3
    b1 += c * b2
    b3 += c * b4
    b2 += c * b3
    b3 += c * b4
    square = r * r
    reach = r * (abs(b1) + abs(b3) * square) + path[SLACK]
    box[0] = b0 - reach + square * (min(b2, 0.0) + min(b4, 0.0) * square)
    box[1] = b0 + reach + square * (max(b2, 0.0) + max(b4, 0.0) * square)
    reach = r * (2.0 * abs(b2) + 4.0 * abs(b4) * square) + path[RATE_SLACK]
    box[2] = b1 - reach + 3.0 * min(b3, 0.0) * square
    box[3] = b1 + reach + 3.0 * max(b3, 0.0) * square


@jit
def _write_paths(plant: Plant, w: Workspace, t: float, h: float, c: int) -> None:
    """Write the paths of all forms of a gap."""
    p = plant.proof
    for f in range(p.first[c], p.first[c + 1]):
        path = w.proof.path[f - p.first[c]]
        clear_path(p.offset[f], path)
        for k in range(p.term[f], p.term[f + 1]):
            if p.component[k] < plant.nq:
                write_path(plant, w, h, p.component[k], p.slope[k], path)
            else:
                path[0] += p.slope[k] * t
                path[1] += p.slope[k] * h
                path[SLACK] += _ROUNDING * abs(p.slope[k]) * (abs(t) + h)


@jit
def _write_first_box(plant: Plant, w: Workspace, t: float, h: float, c: int) -> None:
    """Write ranges of all forms over the whole step without their paths, from how much the stages differ."""
    p, tableau = plant.proof, plant.tableau
    for f in range(p.first[c], p.first[c + 1]):
        at, straight, spread, slack = p.offset[f], 0.0, 0.0, _ROUNDING * abs(p.offset[f])
        for k in range(p.term[f], p.term[f + 1]):
            i, slope = p.component[k], p.slope[k]
            value, rate, differ = t, 1.0, 0.0
            if i < plant.nq:
                value, rate = w.y[i], w.K[0, i]
                for s in range(1, tableau.c.size):
                    differ = max(differ, abs(w.K[s, i] - rate))
            way = slope * h * rate
            at += slope * value
            straight += way
            spread += abs(slope) * h * differ
            slack += _ROUNDING * abs(slope * value) + _ROUGHNESS * abs(way)
        box = w.proof.box[FIELDS * (f - p.first[c]) :]
        around = tableau.spread * spread + slack
        box[0], box[1] = at + min(straight, 0.0) - around, at + max(straight, 0.0) + around
        around = tableau.rate_spread * spread + 4.0 * slack
        box[2], box[3] = straight - around, straight + around


@jit
def _write_box(plant: Plant, w: Workspace, c: int, a: float, b: float) -> None:
    for k in range(plant.proof.first[c + 1] - plant.proof.first[c]):
        write_ranges(w.proof.path[k], a, b, w.proof.box[FIELDS * k :])


@jit
def _bound_box(plant: Plant, w: Workspace, c: int) -> None:
    p = plant.proof
    call(p.curved[c], (w.proof.box, p.constant[p.constants[c] :], w.proof.bounds))


@jit
def _is_trusted(plant: Plant, w: Workspace, c: int) -> bool:
    first, box, trusted = plant.proof.first[c], w.proof.box, w.proof.trusted
    for k in range(plant.proof.first[c + 1] - first):
        if not (trusted[first + k, 0] <= box[FIELDS * k] and box[FIELDS * k + 1] <= trusted[first + k, 1]):
            return False
    return True


@jit
def _trust_more(plant: Plant, w: Workspace, c: int, share: float) -> None:
    """Make the box larger, by a multiple of its size, where its forms are going; trust it if the gap is open in it."""
    first, box, trusted = plant.proof.first[c], w.proof.box, w.proof.trusted
    count = plant.proof.first[c + 1] - first
    for k in range(count):
        wider = share * (box[FIELDS * k + 1] - box[FIELDS * k])
        if box[FIELDS * k + 2] < 0.0:
            box[FIELDS * k] -= wider
        if box[FIELDS * k + 3] > 0.0:
            box[FIELDS * k + 1] += wider
        trusted[first + k, 0], trusted[first + k, 1] = box[FIELDS * k], box[FIELDS * k + 1]
    _bound_box(plant, w, c)
    if not w.proof.bounds[0] > 0.0:
        trusted[first, 0] = np.inf


@entry
def trace(plant: Plant, w: Workspace, t: float, h: float, c: int, end: float) -> bool:
    """Take a first look at a gap over the step just computed, and tell whether it is open all along.

    If that does not show, write the paths of its forms and bound it over [0, end].
    """
    _write_first_box(plant, w, t, h, c)
    if _is_trusted(plant, w, c):
        return True
    _bound_box(plant, w, c)
    lowest, width = w.proof.bounds[0], w.proof.bounds[1] - w.proof.bounds[0]
    if lowest > 0.0:
        if lowest > _AMPLE * width:
            _trust_more(plant, w, c, min(_SHARE * lowest / width, _LARGEST) if width > 0.0 else _LARGEST)
        return True
    _write_paths(plant, w, t, h, c)
    _write_box(plant, w, c, 0.0, end)
    _bound_box(plant, w, c)
    return False


@entry
def bound(plant: Plant, w: Workspace, t: float, h: float, c: int, a: float, b: float) -> None:
    """Bound a gap, and its rate by θ, over [a, b] of the step whose paths `trace` has written."""
    _write_box(plant, w, c, a, b)
    _bound_box(plant, w, c)
