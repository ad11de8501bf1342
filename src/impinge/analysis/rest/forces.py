"""The balance of a model at rest with contacts closed, by Newton's method.

Unknown are the coordinates q, the free inputs u and the forces x of closed rows. They solve

    load(q, u) = A(q)ᵀx,     g(q) = 0  for constraints and closed gaps,     g(q) = −depth(x)  for compliant ones,

which leaves more than one solution where contacts are redundant, inputs do what contacts could do, or a whole range of
poses is at rest: `nearest` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.point import Point, closed_rows, rates_only, row_names
from impinge.analysis.rest.rest_depth import rest_depth
from impinge.contact.admissible import Limit
from impinge.contact.law import Law
from impinge.errors import StartError
from impinge.model import Model
from impinge.simulation.check import friction_of

FloatArray = NDArray[np.float64]

_ITERATIONS = 100
_BALANCED = 1e-9  # of the forces in it, a balance is met
_CLOSED = 1e-12  # m or rad: a closed row is met
STRIDE = 1.0  # m or rad: no step is longer, so that the rest state is one nearby
_MOVED = 1e-3  # m or rad: what forces change by over this way counts as their size too


class Unknowns(NamedTuple):
    """A pose, all inputs, and the forces of the closed rows."""

    q: FloatArray
    u: FloatArray
    x: FloatArray


class Rest:
    """The equations of a model at rest at one instant, with some contacts closed and some inputs free.

    Args:
        model: what rests.
        who: for messages.
        closed: contacts.
        start: pose, inputs, parameters and time from which what is found is to be the nearest.
        free: indices of the inputs that are found.
    """

    def __init__(self, model: Model, who: str, closed: Sequence[int], start: Point, free: Sequence[int]) -> None:
        s, e = model.symbols, model.equations
        self.model, self.who, self.start, self.free = model, who, start, list(free)
        self.rows, self.closed = closed_rows(model, closed), closed
        self.held = [i for i in self.rows if i < model.row_slices[2].start and i not in rates_only(model)]
        self.nb, self.p = s.v.shape[0], model.parameter_vector(start.parameters)
        self.soft: Mapping[int, Law] = {}
        force, still = ca.SX.sym("force", len(self.rows)), ca.SX.zeros(self.nb)
        A = e.A[self.rows, :] if self.rows else ca.SX(0, self.nb)
        load = ca.substitute(e.bias + e.damping - e.applied, s.v, still)
        residual = ca.vertcat(load - A.T @ force, e.g[self.held, 0] if self.held else ca.SX(0, 1))
        loads = (force, s.u[self.free, 0] if self.free else ca.SX(0, 1))

        def by_all(x: Any) -> Any:
            return ca.horzcat(*(ca.jacobian(x, load) for load in loads), s.by_motion(x))

        # The size of each balance: the forces in it, and those that the heaviest load could bring there.
        forces = ca.fabs(load) + ca.fabs(A.T) @ (ca.fabs(force) + ca.norm_inf(load))
        known = [s.q, s.u, force, s.t, s.p]
        slopes = [*(ca.jacobian(residual, x) for x in loads), s.by_motion(residual)]
        self._system = ca.Function("rest", known, [residual, forces, *slopes])
        weight = ca.SX.sym("weight", residual.shape[0])
        curvature = by_all(by_all(ca.dot(weight, residual)).T)
        self._curvature = ca.Function("curvature", [*known, weight], [curvature])

    def at(self, z: Unknowns) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return what is left over, its sizes, and its derivatives by forces, free inputs and pose."""
        r, size, *jacobians = (np.array(part) for part in self._system(*z, self.start.time, self.p))
        gaps = self.model.row_slices[1].start
        for c, law in self.soft.items():
            row, k = self.nb + self.held.index(gaps + c), self.rows.index(gaps + c)
            depth, slope = rest_depth(law, float(z.x[k]))
            r[row] += depth
            jacobians[0][row, k] += slope
        size = size.ravel() + _MOVED * np.abs(jacobians[-1][: self.nb]).sum(axis=1)
        size = np.maximum(size, 1e-14 * size.max()) if size.any() else np.ones(self.nb)
        return r.ravel(), np.concatenate([size, np.ones(len(self.held))]), jacobians

    def curvature(self, z: Unknowns, weight: FloatArray) -> FloatArray:
        """Return the second derivative of a weighted sum of what is left over, by forces, free inputs and pose."""
        curvature = np.array(self._curvature(*z, self.start.time, self.p, weight))
        return 0.5 * (curvature + curvature.T)

    def limits(self, z: Unknowns | None = None) -> list[Limit]:
        """Return what the contacts can give; at given unknowns, compliant ones push as much as their depth says."""
        (_, gaps, slips), place = self.model.row_slices, {i: k for k, i in enumerate(self.rows)}
        mu, limits = friction_of(self.model, self.p), list[Limit]()
        for c in self.closed:
            normal, own = (
                place[gaps.start + c],
                [slips.start + s for s, (k, _) in enumerate(self.model.slips) if k == c],
            )
            limit = Limit(normal, [place[i] for i in own], float(mu[c]))
            if z is not None and c in self.soft:
                limit = limit._replace(normal=None, given=float(z.x[normal]))
            limits.append(limit)
        return limits

    def solve(self, z: Unknowns) -> Unknowns:
        """Return a solution from a guess, by Newton's method in steps halved if need be.

        Raises:
            StartError: if there is none: it says which balance or row is not met.
        """
        r, size, jacobians = self.at(z)
        limit = np.concatenate([np.full(self.nb, _BALANCED), np.full(len(self.held), _CLOSED)])
        met = False
        for _ in range(_ITERATIONS):
            worst = np.linalg.norm(r / size)
            if worst == 0.0:
                return z
            met = bool((np.abs(r) <= limit * size).all())
            order = -1 if self.soft else 1  # springs follow the forces, else forces are what the pose asks for
            dx, du, dq = _smallest_step([J / size[:, None] for J in jacobians[::order]], r / size)[::order]
            short = min(1.0, STRIDE / max(float(np.abs(dq).max()), 1e-300))
            for _ in range(1 if met else 30):
                trial = self.moved(z, short * dq, short * du, short * dx)
                r, new_size, jacobians = self.at(trial)
                if np.isfinite(r).all() and np.linalg.norm(r / size) <= (0.5 if met else 1 - 1e-4) * worst:
                    break
                short /= 2
            else:
                break
            z, size = trial, new_size
        if met:  # and the last step was but rounding
            return z
        raise self._stuck(*self.at(z)[:2])

    def moved(self, z: Unknowns, dq: FloatArray, du: FloatArray, dx: FloatArray) -> Unknowns:
        """Return unknowns that are changed by this, of the inputs the free ones only."""
        u = z.u.copy()
        u[self.free] += du
        return Unknowns(self.model.displaced(z.q, dq), u, z.x + dx)

    def away(self, q: FloatArray) -> FloatArray:
        """Return in which directions, and how far, a pose is from the start's (nv)."""
        return self.model.way_between(self.start.q, q)

    def _stuck(self, r: FloatArray, size: FloatArray) -> StartError:
        units = [x.unit for x in (*self.model.constraints, *self.model.gaps)]
        for k, i in enumerate(self.held):
            if abs(r[self.nb + k]) > _CLOSED:
                return StartError(
                    self.who,
                    f"{row_names(self.model)[i][0]} to be zero",
                    f"{r[self.nb + k]:.6g} {units[i]} at best",
                    "It cannot be met beside the others: check the mode, or start nearer with `near`.",
                )
        k = int(np.argmax(np.abs(r[: self.nb] / size[: self.nb])))
        return StartError(
            self.who,
            f"forces along '{self.model.directions[k].name}' in balance",
            f"{r[k]:.6g} left over",
            "Nothing holds it there: close another contact, leave an input free, or start elsewhere with `near`.",
        )


def _smallest_step(jacobians: Sequence[FloatArray], r: FloatArray) -> list[FloatArray]:
    """Return changes with Σ J δ = −r in the least-squares sense: of the last as little as will do, then of the others.

    The pose stays where it can, inputs as they are if forces of constraints and contacts do it.
    """
    project = np.eye(r.size)
    projected = []
    for J in jacobians:
        P = project @ J
        U, sizes, Vt = np.linalg.svd(P, full_matrices=False)
        kept = sizes > 1e-10 * np.linalg.norm(J)  # what projection leaves of the rest is rounding
        inverse = (Vt[kept].T / sizes[kept]) @ U[:, kept].T
        projected.append((inverse, project))
        project = project - P @ inverse @ project
    steps: list[FloatArray] = []
    for J, (inverse, before) in zip(reversed(jacobians), reversed(projected), strict=True):
        step = -inverse @ (before @ r)
        steps.append(step)
        r = r + J @ step
    return steps[::-1]
