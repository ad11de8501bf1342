"""Impulses of many contacts with friction between many bodies, by nonsmooth Gauss–Seidel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.lcp.gauss_seidel import ContactGraph, misses, sweep
from impinge.errors import InputError, LcpError

_BLOCK = 10  # sweeps between two looks at the residual
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ContactSolution:
    """Impulses that keep bodies apart.

    Attributes:
        impulse: of each contact: along its gap, then along its slips (nc, k).
        velocity: of each body, after the impulses (bodies, d).
        residual: largest miss of a contact law, as a rate, over the largest free rate of contacts that approach.
        sweeps: how often all contacts were visited.
    """

    impulse: FloatArray
    velocity: FloatArray
    residual: float
    sweeps: int


def contact_graph(bodies: Any, J: Any, inverse_mass: Any, velocity: Any, mu: Any, bias: Any = None) -> ContactGraph:
    """Check and gather contacts between bodies.

    Args:
        bodies: the two bodies of each contact (nc, 2), −1 for the ground.
        J: rates of its gap and its slips per velocity of its first and its second body (nc, k, 2d).
        inverse_mass: M⁻¹ of each body (bodies, d, d).
        velocity: of each body without any contact (bodies, d).
        mu: coefficient of friction of each contact.
        bias: added to the rate of each gap, such as gap/step; zero if left out.

    Raises:
        InputError: if sizes do not match or a number is not finite.
    """
    pairs = np.ascontiguousarray(bodies, dtype=np.int64)
    rows, minv, v = (np.array(x, dtype=float, order="C") for x in (J, inverse_mass, velocity))
    nc = len(pairs)
    friction = np.array(mu, dtype=float)
    start = np.zeros(nc) if bias is None else np.array(bias, dtype=float)
    who = "contacts between bodies"
    d = v.shape[1] if v.ndim == 2 else 0
    shapes = {
        "bodies": (pairs.shape, (nc, 2)),
        "velocity": (v.shape, (len(v), d)),
        "inverse_mass": (minv.shape, (len(v), d, d)),
        "J": (rows.shape, (nc, rows.shape[1] if rows.ndim == 3 else 1, 2 * d)),
        "mu": (friction.shape, (nc,)),
        "bias": (start.shape, (nc,)),
    }
    for name, (got, expected) in shapes.items():
        if got != expected:
            raise InputError(who, f"{name} of shape {expected}", f"shape {got}", "Make the sizes match.")
    for name, array in {"J": rows, "inverse_mass": minv, "velocity": v, "mu": friction, "bias": start}.items():
        if not np.isfinite(array).all():
            raise InputError(who, f"finite numbers in {name}", "NaN or infinity", "Check where they come from.")
    if pairs.size and not (pairs.min() >= -1 and pairs.max() < len(v)):
        raise InputError(who, f"bodies from -1 to {len(v) - 1}", f"{pairs.min()} to {pairs.max()}", "Number them so.")
    if nc and friction.min() < 0.0:
        raise InputError(who, "mu of zero or more", f"{friction.min():g}", "Give a coefficient of friction.")
    if rows.shape[1] not in (1, 2, 3):
        raise InputError(who, "one gap and up to two slips", f"{rows.shape[1]} rows", "Give one to three rows.")
    return _gathered(pairs, rows, minv, v, friction, start)


def _gathered(pairs: Any, rows: Any, minv: Any, v: Any, friction: Any, bias: Any) -> ContactGraph:
    nc, k, d = len(pairs), rows.shape[1], v.shape[1]
    rows[:, :, :d][pairs[:, 0] < 0] = 0.0
    rows[:, :, d:][pairs[:, 1] < 0] = 0.0
    sides = rows.reshape(nc, k, 2, d)
    response = np.einsum("crsj,csij->crsi", sides, minv[pairs]) if len(v) else np.zeros((nc, k, 2, d))
    return ContactGraph(
        bodies=pairs,
        J=rows,
        response=np.ascontiguousarray(response).reshape(nc, k, 2 * d),
        W=np.ascontiguousarray(np.einsum("crsj,cqsj->crq", sides, response)),
        bias=bias,
        mu=friction,
        v=v,
        impulse=np.zeros((nc, k)),
        rate=np.zeros(k),
        new=np.zeros(k),
        old=np.zeros(k),
    )


def _approach(graph: ContactGraph) -> float:
    """Return the largest free rate of a row of the contacts that approach."""
    v = np.where(graph.bodies[:, :, None] >= 0, graph.v[graph.bodies], 0.0)
    rate = np.einsum("crj,cj->cr", graph.J, v.reshape(len(v), -1))
    rate[:, 0] += graph.bias
    return float(np.abs(rate[rate[:, 0] < 0.0]).max(initial=0.0))


def _add_impulses(graph: ContactGraph, free: FloatArray) -> None:
    """Compute the velocities from the impulses afresh, so that no rounding of sweeps stays in them."""
    d = free.shape[1]
    graph.v[:] = free
    change = np.einsum("cr,crj->cj", graph.impulse, graph.response)
    for side in range(2):
        body = graph.bodies[:, side]
        held = body >= 0
        np.add.at(graph.v, body[held], change[held, side * d : (side + 1) * d])


def solve_contacts(
    graph: ContactGraph, tolerance: float = 1e-8, sweeps: int = 20_000, names: Sequence[str] | None = None
) -> ContactSolution:
    """Find the impulses of contacts that neither sink in nor pull, with friction |p_t| ≤ μ p_n.

    Args:
        graph: contacts from `contact_graph`; it is used up.
        tolerance: largest residual (`ContactSolution.residual`).
        sweeps: most sweeps before giving up.
        names: of the contacts, for messages.

    Raises:
        LcpError: if that many sweeps do not reach the tolerance; it says which contacts are farthest from it.

    Example:
        >>> ball = contact_graph([[0, -1]], [[[1.0, 0.0]]], [[[0.5]]], [[-3.0]], mu=[0.0])
        >>> solve_contacts(ball).impulse
        array([[6.]])
    """
    free, packed, miss = graph.v.copy(), Struct(graph), np.zeros(len(graph.mu))
    size = _approach(graph)
    done, residual = 0, np.inf
    while True:
        _add_impulses(graph, free)
        residual = misses(packed, miss) / size if size > 0.0 else 0.0
        if residual <= tolerance:
            return ContactSolution(graph.impulse.copy(), graph.v.copy(), residual, done)
        if done >= sweeps or not np.isfinite(residual):
            break
        sweep(packed, _BLOCK)
        done += _BLOCK
    worst = np.argsort(-miss)[:5]
    called = ", ".join(names[c] if names is not None else str(c) for c in worst)
    raise LcpError(
        "Gauss–Seidel over contacts",
        f"a residual below {tolerance:g} within {sweeps} sweeps",
        f"{residual:.2g} after {done}, largest at contact {called}",
        "Allow more sweeps or a larger residual, or check that these contacts can be satisfied together.",
        indices=tuple(int(c) for c in worst),
        residual=float(residual),
    )
