"""One arm of the delta robot, symbolically, and the parameters that it is made of.

A. Okasha, S. A. Bortoff, Modelica-Based Control of a Delta Robot, 2020, eq. 1–5, Fig. 1–2 and Table 1. The z₃ axis
points down. An arm has the motor angle q_i1 of its proximal link, measured from the horizontal, and the angles
q_i2 and q_i3 of its distal pair, whose direction is (sin q_i2 sin q_i3, cos q_i2, sin q_i2 cos q_i3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import casadi as ca

from impinge.errors import InputError, as_number, show, unknown_name
from impinge.model import Quantity

PARAMETERS = (
    Quantity("l0", "m", 0.165, "base radius: Okasha, Table 1"),
    Quantity("l1", "m", 0.2, "proximal link: Okasha, Table 1"),
    Quantity("l2", "m", 0.4, "distal links: Okasha, Table 1"),
    Quantity("l3", "m", 0.0562, "wrist flange: Okasha, Table 1"),
    Quantity("m1", "kg", 0.5, "proximal link, a uniform rod: published nowhere, a stand-in"),
    Quantity("m2", "kg", 0.12, "pair of distal links of one arm, slender rods: a stand-in"),
    Quantity("m3", "kg", 0.35, "wrist flange, a third carried by each arm: a stand-in"),
    Quantity("J_r", "kg·m²", 1.4e-4, "rotor of a motor: the class of the HG-KR-73"),
    Quantity("d1", "N·m·s", 0.0, "viscous damping of a motor"),
    Quantity("d2", "N·m·s", 0.0, "viscous damping of a universal joint, each axis"),
    Quantity("g", "m/s²", 9.81, "gravity, along z₃"),
)
BRICK = (
    Quantity("m_b", "kg", 0.06, "brick: 90 mN do not move it; a stand-in (a Lego brick of 2.5 g would slide at 10 mN)"),
    Quantity("mu", "", 0.4, "friction of brick and table: a stand-in"),
)
_ABOVE_ZERO = ("l0", "l1", "l2", "l3", "m1", "m2", "m3", "m_b")

# Where arm i stands: z = R_i ψ(q_i) with R_2 = R_z(−2π/3), R_3 = R_z(2π/3).
TURNS = (0.0, -2 * pi / 3, 2 * pi / 3)


def values_of(changes: Mapping[str, float], parameters: Sequence[Quantity] = PARAMETERS) -> dict[str, float]:
    """Return all parameters by name, with changes; lengths and masses must be above zero."""
    values = {x.name: x.value for x in parameters}
    for name, value in changes.items():
        if name not in values:
            raise unknown_name("delta robot", "parameter", name, values)
        number = as_number(value)
        if not 0.0 <= number < float("inf") or (number == 0.0 and name in _ABOVE_ZERO):
            least = "above zero" if name in _ABOVE_ZERO else "of zero or more"
            raise InputError(
                f"parameter '{name}' of the delta robot",
                f"a finite number {least}",
                show(value),
                f"Leave it out for {values[name]:g}.",
            )
        values[name] = number
    return values


def rotation(angle: float) -> Any:
    """Return R_z(angle), with zeros where they are zeros."""
    c, s = (ca.SX(float(f(angle))) for f in (ca.cos, ca.sin))
    return ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]]) if angle else ca.SX.eye(3)


@dataclass(frozen=True)
class Arm:
    """An arm as expressions of its three angles, in its own frame.

    Attributes:
        elbow, wrist: of the distal pair, as seen from the flange's center; ``wrist`` is ψ(q), eq. 1.
    """

    q: Any
    p: Mapping[str, Any]

    @property
    def elbow(self) -> Any:
        """Upper end of the distal pair."""
        q, p = self.q, self.p
        return ca.vertcat(0, p["l0"] - p["l3"] + p["l1"] * ca.cos(q[0]), p["l1"] * ca.sin(q[0]))

    @property
    def wrist(self) -> Any:
        """ψ(q): where this arm puts the flange (1)."""
        q = self.q
        along = ca.vertcat(ca.sin(q[1]) * ca.sin(q[2]), ca.cos(q[1]), ca.sin(q[1]) * ca.cos(q[2]))
        return self.elbow + self.p["l2"] * along

    def kinetic(self, v: Any) -> Any:
        """Return the kinetic energy of the unconstrained arm with a third of the flange.

        A slender rod whose ends move at a and b has m (a² + a·b + b²)/6. With the elbow's velocity e, |e| = l₁v₁, and
        the distal pair's direction d, |ḋ|² = v₂² + sin²q₂ v₃², the wrist moves at e + l₂ḋ, and everything is a sum of
        |e|², |ḋ|² and e·ḋ; written out, it is a third of the instructions.
        """
        p, (q1, q2, q3) = self.p, ca.vertsplit(self.q)
        c1, s1, c2, s2, c3, s3 = (f(q) for q in (q1, q2, q3) for f in (ca.cos, ca.sin))
        motor = p["m1"] * p["l1"] ** 2 / 3 + p["J_r"] + p["l1"] ** 2 * (p["m2"] + p["m3"] / 3)
        distal = p["l2"] ** 2 * (p["m2"] + p["m3"]) / 3
        both = p["l1"] * p["l2"] * (p["m2"] / 2 + p["m3"] / 3)
        turning = (s1 * s2 + c1 * c2 * c3) * v[1] - c1 * s2 * s3 * v[2]  # e·ḋ / (l₁v₁)
        return (motor * v[0] ** 2 + distal * (v[1] ** 2 + s2**2 * v[2] ** 2)) / 2 + both * v[0] * turning

    def potential(self) -> Any:
        """Return the potential energy; z₃ points down."""
        p, upper, lower = self.p, self.elbow[2], self.wrist[2]
        return -p["g"] * (p["m1"] * upper / 2 + p["m2"] * (upper + lower) / 2 + p["m3"] * lower / 3)

    def inertia(self) -> Any:
        """Return the 3 × 3 inertia matrix."""
        v = ca.SX.sym("v", 3)
        return ca.hessian(self.kinetic(v), v)[0]

    def gravity(self) -> Any:
        """Return G(q), the torques that gravity takes from the left-hand side."""
        return ca.gradient(self.potential(), self.q)


def flange(arms: Sequence[Arm]) -> list[Any]:
    """Return where each arm puts the flange, in the base frame (2)."""
    return [rotation(turn) @ arm.wrist for turn, arm in zip(TURNS, arms, strict=True)]


def links(arms: Sequence[Arm], center: Any) -> dict[str, tuple[Any, Any]]:
    """Return position and axes of all links by name, in a space whose x axis is z₁ and whose z axis points up.

    Args:
        arms: the three arms.
        center: of the flange, in the base frame.
    """
    space = ca.diag(ca.SX([1, -1, -1]))
    found = {"base": (ca.SX(3, 1), ca.SX.eye(3))}
    for i, (turn, arm) in enumerate(zip(TURNS, arms, strict=True)):
        R, p = space @ rotation(turn), arm.p
        c1, c2, c3 = (ca.cos(arm.q[k]) for k in range(3))
        s1, s2, s3 = (ca.sin(arm.q[k]) for k in range(3))
        # Axes as columns: x, then y along or beside the motor's axis, then z along the link.
        proximal = ca.blockcat([[0, 1, 0], [-s1, 0, c1], [c1, 0, s1]])
        distal = ca.blockcat([[c2 * s3, c3, s2 * s3], [-s2, 0, c2], [c2 * c3, -s3, s2 * c3]])
        found[f"proximal{i + 1}"] = (R @ ca.vertcat(0, p["l0"], 0), R @ proximal)
        found[f"distal{i + 1}"] = (R @ (arm.elbow + ca.vertcat(0, p["l3"], 0)), R @ distal)
    found["flange"] = (space @ center, ca.SX.eye(3))
    return found


def loop(arms: Sequence[Arm]) -> Any:
    """Return h(q), zero when the three arms agree (4)."""
    first, second, third = flange(arms)
    return ca.vertcat(first - second, first - third)
