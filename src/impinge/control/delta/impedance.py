"""Impedance control of the delta robot: the flange as a spring and a damper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from impinge.control.blocks.linear3 import solve, times, transposed_times
from impinge.control.check import each, vector
from impinge.control.delta.controller import RATED_TORQUE, DeltaController
from impinge.control.references.reference import Reference, reference_of
from impinge.errors import InputError, show
from impinge.robots.delta import DeltaKinematics

_AXES = ("z1", "z2", "z3")


class Impedance(DeltaController):
    """τ = J_cᵀ (K (r − z) + D (ṙ − ż)) + M_y J_c⁻¹ r̈ + gravity.

    A force f on the flange then meets Λ (z̈ − r̈) + D (ż − ṙ) + K (z − r) = f, with the robot's own inertia
    Λ = J_c⁻ᵀ M_y J_c⁻¹, up to terms of second order in the velocities: in equilibrium it gives way by f / K,
    whatever the model. For gains per inertia instead of stiffness, take `TaskSpacePDFF`.

    Args:
        reference: where the flange should be, m.
        stiffness: K, N/m; one for all directions, or one for each of z₁, z₂, z₃.
        damping: D, N·s/m; the same.
        robot, period, limit, pole, encoder: as for `DeltaController`.

    Example:
        >>> from impinge import robots, simulate
        >>> from impinge.control import Hold
        >>> spring = Impedance(Hold(), stiffness=(200.0, 500.0, 500.0), damping=40.0)
        >>> result = simulate(robots.delta(), until=2.0, controller=spring, inputs={"f1": 1.0})
        >>> round(1000 * float(result["z1"][-1]), 2)  # 1 N / 200 N/m, in mm
        5.0
    """

    def __init__(
        self,
        reference: Reference,
        *,
        stiffness: float | Sequence[float],
        damping: float | Sequence[float],
        robot: DeltaKinematics | None = None,
        period: float | Fraction = Fraction(1, 500),
        limit: float = RATED_TORQUE,
        pole: float = 200.0,
        encoder: int | None = None,
    ) -> None:
        super().__init__(robot=robot, period=period, limit=limit, pole=pole, encoder=encoder)
        self.reference = reference_of("impedance controller", reference)
        self.stiffness, self.damping = _gains("stiffness", stiffness), _gains("damping", damping)

    def _begin(self) -> None:
        self.reference.reset(self.pose.z.tolist())

    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        pose, goal = self.pose, self.reference.step(t)
        J_c = pose.J_c.tolist()
        force = [
            k * (r - z) + d * (r_dot - z_dot)
            for k, d, r, r_dot, z, z_dot in zip(
                self.stiffness,
                self.damping,
                goal.position,
                goal.velocity,
                pose.z.tolist(),
                pose.z_dot.tolist(),
                strict=True,
            )
        ]
        forward = times(pose.inertia["exact"].tolist(), solve(J_c, goal.acceleration))
        return [a + b for a, b in zip(transposed_times(J_c, force), forward, strict=True)]


def _gains(name: str, given: float | Sequence[float]) -> list[float]:
    gains = vector("impedance controller", name, each(given, 3), 3)
    for axis, gain in zip(_AXES, gains, strict=True):
        if gain < 0:
            raise InputError(
                f"impedance controller, axis {axis}", f"a {name} of zero or more", show(gain), "Zero leaves it free."
            )
    return gains
