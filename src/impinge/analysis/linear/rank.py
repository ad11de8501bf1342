"""Where closed rows depend on each other: everywhere around a point, or at this point only."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.point import Point, row_names
from impinge.errors import StartError
from impinge.model import Model

FloatArray = NDArray[np.float64]

# Rows depend on each other if they do so within this, each over its own length.
_DEPENDENT = 3e-6
# Of its terms, a sum of curvatures that is smaller is none.
_FLAT = 1e-6


def redundant_rows(model: Model, point: Point, A: FloatArray, rows: Sequence[int], who: str) -> list[str]:
    """Return the names of the closed rows that depend on each other on the whole manifold around a point.

    Rows with nᵀA = 0 stay dependent along it just if nᵀA does not change in the directions in which the rows let the
    model move, wᵀ ∂(nᵀA)/∂ξ w = 0 for all w with A w = 0. Otherwise the manifold branches there, or ends.

    Args:
        model: what moves.
        point: on the closed rows.
        A: what velocities do to the closed rows (n × nv).
        rows: their indices.
        who: for messages.

    Raises:
        StartError: if the rows are dependent at this point only, where the motion has no linear model.
    """
    p = model.parameter_vector(point.parameters)
    mass = np.sqrt(np.diag(model.terms_at(point.q, point.v, point.time, point.u, p, only=("M",))["M"]))
    size = np.linalg.norm(A / mass, axis=1)
    size[size == 0.0] = 1.0
    U, sizes, Vt = np.linalg.svd(A / mass / size[:, None])
    rank = int((sizes > _DEPENDENT).sum())
    dependent, moves = U[:, rank:], Vt[rank:].T
    shares = np.abs(dependent).max(axis=1, initial=0.0)
    involved = [row_names(model)[i][0] for i, share in zip(rows, shares, strict=True) if share > _FLAT]
    if not involved:
        return []
    s, nv = model.symbols, mass.size
    turned = s.by_motion(ca.vec(model.equations.A[list(rows), :]))
    bends = ca.Function("bends", [s.q, s.t, s.p], [turned])
    bend = np.array(bends(point.q, point.time, p)).reshape((nv, len(rows), nv)).transpose(1, 0, 2)
    bend = bend / size[:, None, None] / np.outer(mass, mass)
    for n in dependent.T:
        total = np.abs(moves.T @ np.tensordot(n, bend, 1) @ moves).max(initial=0.0)
        if total > _FLAT * float(np.abs(n) @ np.abs(bend).max(axis=(1, 2))):
            raise StartError(
                who,
                "closed rows that hold as many directions at this point as around it",
                f"a singular point of {', '.join(involved)}, where motions branch",
                "Choose a point beside it: here the motion has no linear model.",
            )
    return involved
