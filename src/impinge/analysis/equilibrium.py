"""Rest states with contacts closed, and what holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.point import Point, closed_rows, in_mode, mode_indices, named, point_of, row_names
from impinge.contact import Baumgarte
from impinge.errors import StartError
from impinge.model import Model
from impinge.simulation.plant import FORCE, VALUE

FloatArray = NDArray[np.float64]

_ITERATIONS = 100
_BALANCED = 1e-9  # of the largest force in it, a force balance is met
_CLOSED = 1e-12  # m or rad: a closed row is met
# A metre or radian of change counts as much as so many times the largest force: the pose stays where it can.
_CHEAP = 1e6


@dataclass(frozen=True)
class Equilibrium(Point):
    """A rest state of a model in a mode.

    Attributes:
        model: name of the model.
        mode: the contacts that are closed.
        pose: coordinates by name.
        inputs: what the inputs must hold, by name.
        forces: of constraints and closed contacts, by the name that results give them.
        gaps: of all contacts, by name.
    """

    model: str = ""
    mode: tuple[str, ...] = ()
    pose: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, float] = field(default_factory=dict)
    forces: Mapping[str, float] = field(default_factory=dict)
    gaps: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.model} at rest, {', '.join(self.mode) or 'no contact'} closed"]
        for what, values in (("pose", self.pose), ("inputs", self.inputs), ("forces", self.forces)):
            lines += [f"  {what:7}{name:16}{value:.9g}" for name, value in values.items()]
        return "\n".join(lines)


def equilibrium(
    model: Model,
    mode: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> Equilibrium:
    """Return the rest state nearest to a pose in which the mode's contacts are closed.

    Args:
        model: what rests.
        mode: the contacts that are closed; they stick where they have sliding directions.
        near: coordinates to start from, by name; the rest as in the model.
        inputs: values of inputs that are given; the others are found, as small a change as will do.
        parameters: parameters that differ from the model's.
        time: the instant, for models that depend on it.

    Raises:
        ImpingeError: if nothing rests there: it says which balance or constraint cannot be met, which contact
            would have to pull, or which surface is not there.

    Example:
        >>> from impinge import robots
        >>> rest = equilibrium(robots.ball(), mode=["floor"], near={"q": 0.1})
        >>> abs(rest.pose["q"]) < 1e-12, round(rest.forces["force_floor"], 9)
        (True, 9.81)
    """
    who = f"equilibrium of model '{model.name}'"
    closed = mode_indices(model, who, mode)
    start = point_of(model, {**(near or {}), **(inputs or {})}, parameters)
    free = [k for k, x in enumerate(model.inputs) if x.name not in (inputs or {})]
    q, u = _newton(model, who, closed, start, free, time)
    point = Point(q, np.zeros_like(q), u, start.parameters, time)
    plant, w = in_mode(model, point, closed, Baumgarte(), (400.0, 40.0), who)
    rows, names = closed_rows(model, closed), row_names(model)
    gaps = w.rows[VALUE][plant.nh : plant.nh + plant.nc]
    return Equilibrium(
        q,
        point.v,
        u,
        start.parameters,
        time,
        model=model.name,
        mode=tuple(model.contacts[c] for c in closed),
        pose=named([x.name for x in model.coordinates], q),
        inputs=named([x.name for x in model.inputs], u),
        forces={names[i][1]: float(w.rows[FORCE, i]) for i in rows},
        gaps=named(model.contacts, gaps),
    )


def _newton(
    model: Model, who: str, closed: Sequence[int], start: Point, free: Sequence[int], time: float
) -> tuple[FloatArray, FloatArray]:
    """Solve balance of forces and closed rows for q, the free inputs and the forces: smallest steps, halved if need be.

    Redundant rows leave forces open and symmetry leaves coordinates open; the smallest step decides.
    """
    s, e = model.symbols, model.equations
    rows = closed_rows(model, closed)
    slips = model.row_slices[2].start
    held = [i for i in rows if i < slips]
    force = ca.SX.sym("force", len(rows))
    A = e.A[rows, :] if rows else ca.SX(0, s.q.shape[0])
    balance = e.bias + e.damping - e.applied - A.T @ force
    residual = ca.substitute(ca.vertcat(balance, e.g[held, 0] if held else ca.SX(0, 1)), s.v, ca.SX.zeros(s.v.shape[0]))
    unknowns = ca.vertcat(s.q, s.u[list(free), 0] if free else ca.SX(0, 1), force)
    weight = ca.substitute(e.bias - e.applied, s.v, ca.SX.zeros(s.v.shape[0]))
    system = ca.Function("rest", [s.q, s.u, force, s.t, s.p], [residual, ca.jacobian(residual, unknowns), weight])
    nq, nu, nb = s.q.shape[0], len(free), s.v.shape[0]
    p = model.parameter_vector(start.parameters)
    q, u, x = start.q.copy(), start.u.copy(), np.zeros(len(rows))

    def at(q: FloatArray, u: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        r, J, b = (np.array(part) for part in system(q, u, x, time, p))
        size = max(1e-9, float(np.abs(b).max()), float(np.abs(x).max(initial=0.0)))
        return r.ravel(), J, size

    r, J, size = at(q, u, x)
    for _ in range(_ITERATIONS):
        scale = np.concatenate([np.full(nb, 1.0 / size), np.ones(len(held))])
        if np.abs(r[:nb]).max(initial=0.0) <= _BALANCED * size and np.abs(r[nb:]).max(initial=0.0) <= _CLOSED:
            return q, u
        cheap = np.concatenate([np.ones(nq), np.full(nu + len(rows), _CHEAP * size)])
        step = cheap * np.linalg.lstsq(scale[:, None] * J * cheap, -scale * r, rcond=1e-12)[0]
        worst = np.linalg.norm(scale * r)
        for _ in range(30):
            trial = q + step[:nq], u.copy(), x + step[nq + nu :]
            trial[1][list(free)] += step[nq : nq + nu]
            r, J, new_size = at(*trial)
            if np.isfinite(r).all() and np.linalg.norm(scale * r) <= (1 - 1e-4) * worst:
                break
            step = step / 2
        else:
            break
        (q, u, x), size = trial, new_size
    r, _, size = at(q, u, x)
    raise _stuck(model, who, r, size, held)


def _stuck(model: Model, who: str, r: FloatArray, size: float, held: Sequence[int]) -> StartError:
    nb = len(model.coordinates)
    units = [x.unit for x in (*model.constraints, *model.gaps)]
    for k, i in enumerate(held):
        if abs(r[nb + k]) > _CLOSED:
            name = row_names(model)[i][0]
            return StartError(
                who,
                f"{name} to be zero",
                f"{r[nb + k]:.6g} {units[i]} at best",
                "It cannot be met beside the others: check the mode, or start nearer with `near`.",
            )
    k = int(np.argmax(np.abs(r[:nb])))
    return StartError(
        who,
        f"forces along '{model.coordinates[k].name}' in balance",
        f"{r[k]:.6g} left over",
        "Nothing holds it there: close another contact, leave an input free, or start elsewhere with `near`.",
    )
