"""Contacts of a scene that contradict each other: whether any velocities keep all gaps from closing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impinge.contact.coulomb.problem import Problem, Work

# A contradiction below this share of the worst miss is rounding.
_SHARE = 1e-3


def contradiction(problem: Problem, work: Work) -> tuple[float, NDArray[np.int64]]:
    """Return by how much gaps of the worst island close at least, m/s, and the contacts that contradict each other.

    A linear program over the velocities of its blocks decides, not the solver that failed: the least rate by which some
    gap falls short of what is asked of it, whatever the impulses are. Zero, and no contacts, if there need not be any.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    count, D = int(problem.count[0]), problem.v.shape[1]
    worst = int(np.argmax(problem.miss[:count]))
    sides = problem.body[:count]
    islands = np.where(sides >= 0, work.island[sides], -1).max(axis=1)
    chosen = np.flatnonzero(islands == islands[worst])
    blocks, places = np.unique(sides[chosen], return_inverse=True)
    places = places.reshape(-1, 2)
    rows, columns, values = [], [], []
    for side in range(2):
        here = np.flatnonzero(blocks[places[:, side]] >= 0)
        rows.append(np.repeat(here, D))
        columns.append((D * places[here, side, None] + np.arange(D)).ravel())
        values.append(-problem.J[chosen[here], 0, side * D : (side + 1) * D].ravel())
    n, width = chosen.size, D * blocks.size
    rows.append(np.arange(n))
    columns.append(np.full(n, width))
    values.append(-np.ones(n))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    found = linprog(
        np.append(np.zeros(width), 1.0),
        A_ub=csr_array(entries, shape=(n, width + 1)),
        b_ub=problem.bias[chosen, 0],
        bounds=[(None, None)] * width + [(0, None)],
        method="highs",
    )
    if found.status != 0 or not found.fun > _SHARE * float(problem.miss[worst]):
        return 0.0, np.zeros(0, dtype=np.int64)
    weights = np.abs(found.ineqlin.marginals)
    return float(found.fun), chosen[weights > 1e-9 * weights.max()]
