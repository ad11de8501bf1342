"""Approximate feedback linearization of the delta robot in joint space."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Literal

from impinge.control.blocks.linear3 import times
from impinge.control.delta.controller import RATED_TORQUE, DeltaController
from impinge.control.references.reference import Reference, reference_of
from impinge.errors import InputError, as_number, show, unknown_name
from impinge.robots.delta import DeltaKinematics

_INERTIAS = ("exact", "printed")


class FeedbackLinearization(DeltaController):
    """τ = M_y (k_p (r − y) + k_d (ṙ − ẏ) + r̈) + gravity, after which ë + k_d ė + k_p e = 0.

    Okasha and Bortoff 2020, eq. 27 and 28, with y the motor angles and r the reference of the flange through the
    inverse kinematics. Terms of second order in the velocities are left out, hence approximate. Equation 26
    prints M̄₁₁ − M̄₁₂ h_x⁻¹ h_y for M_y, which drops the force of the constraints and is about half of what is
    meant, SᵀMS.

    The gains are constant, so that every pair above zero is stable; the paper's violate 0 ≤ k_p ≤ k_d², which only
    gains that vary must keep.

    Args:
        reference: where the flange should be, m.
        k_p, k_d: gains on the linearized error, 1/s² and 1/s.
        inertia: ``"exact"`` or, as the paper prints it, ``"printed"``.
        robot, period, limit, pole, encoder: as for `DeltaController`.

    Example:
        >>> from impinge import robots, simulate
        >>> from impinge.control import Trajectory
        >>> up = Trajectory((0.0, 0.0, 0.4), [(0.0, 0.0, 0.38)])
        >>> result = simulate(robots.delta(), until=1.0, controller=FeedbackLinearization(up))
        >>> bool(abs(result["z3"][-1] - 0.38) < 1e-3)
        True
    """

    def __init__(
        self,
        reference: Reference,
        *,
        k_p: float = 1.0,
        k_d: float = 0.25,
        inertia: Literal["exact", "printed"] = "exact",
        robot: DeltaKinematics | None = None,
        period: float | Fraction = Fraction(1, 500),
        limit: float = RATED_TORQUE,
        pole: float = 200.0,
        encoder: int | None = None,
    ) -> None:
        super().__init__(robot=robot, period=period, limit=limit, pole=pole, encoder=encoder)
        self.reference = reference_of("feedback linearization", reference)
        self.k_p, self.k_d = as_number(k_p), as_number(k_d)
        if not (0.0 < self.k_p < inf and 0.0 < self.k_d < inf):
            raise InputError(
                "feedback linearization",
                "gains above zero, or the linearized error ë + k_d ė + k_p e = 0 is not stable",
                f"k_p = {show(k_p)}, k_d = {show(k_d)}",
                "The paper has k_p = 1.0, k_d = 0.25.",
            )
        if inertia not in _INERTIAS:
            raise unknown_name("feedback linearization", "inertia", str(inertia), _INERTIAS)
        self.inertia = inertia

    def _begin(self) -> None:
        self.reference.reset(self.pose.z.tolist())

    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        k_p, k_d = self.k_p, self.k_d
        wanted = self.robot.motion(*self.reference.step(t))
        acceleration = [
            k_p * (r - angle) + k_d * (r_dot - rate) + r_ddot
            for r, r_dot, r_ddot, angle, rate in zip(*wanted, y, y_dot, strict=True)
        ]
        return times(self.pose.inertia[self.inertia].tolist(), acceleration)
