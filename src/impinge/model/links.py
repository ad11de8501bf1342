"""Links: the frames of a mechanism that carry shapes, with what their motion takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from impinge.model.derive import Equations, Symbols


@dataclass(frozen=True)
class Link:
    """A frame of the mechanism: position (3) and axes (3 × 3) as expressions of the coordinates and parameters."""

    name: str
    position: Any
    axes: Any


def angular_velocity(axes: Any, rate: Any) -> Any:
    """Return the angular velocity (world axes) that a rotation matrix and its rate mean."""
    product = rate @ axes.T
    return ca.vertcat(product[2, 1], product[0, 2], product[1, 0])


def linkage_expressions(s: Symbols, e: Equations, links: Sequence[Link]) -> dict[str, Any]:
    """Return inertia, forces, constraints, energies, and of each link its pose, Jacobian and drift.

    Outputs, one after another: ``M``; ``force`` = Bu − b; ``h``, ``H`` transposed, ``partial`` = ∂h/∂t, ``drift``;
    ``energies``: kinetic, potential, and the three powers of `Equations`; for each link position (3), axes (9, column
    by column), Jacobian of velocity and angular velocity (6 × nv, column by column), and its rate times v (6).
    """
    outputs = {
        "M": e.M,
        "force": e.applied - e.bias - e.damping,
        "h": e.g,
        "H": e.A.T,
        "partial": e.partial,
        "drift": e.drift,
        "energies": ca.vertcat(e.kinetic, e.potential, e.power),
    }
    for k, link in enumerate(links):
        rate = ca.reshape(s.change(ca.vec(link.axes)), 3, 3)
        twist = ca.vertcat(s.change(link.position), angular_velocity(link.axes, rate))
        outputs[f"position_{k}"] = link.position
        outputs[f"axes_{k}"] = ca.vec(link.axes)
        outputs[f"jacobian_{k}"] = ca.jacobian(twist, s.v)
        outputs[f"drift_{k}"] = s.change(twist)
    return outputs
