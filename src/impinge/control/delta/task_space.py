"""PDFF control of the delta robot's flange, direction by direction."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from impinge.control.blocks.linear3 import solve, times
from impinge.control.blocks.pdff import PDFF
from impinge.control.blocks.schedule import Gain
from impinge.control.delta.controller import RATED_TORQUE, DeltaController
from impinge.control.references.reference import Reference, reference_of
from impinge.robots.delta import DeltaKinematics


class TaskSpacePDFF(DeltaController):
    """τ = M_y J_c⁻¹ u + gravity, with u = k_p (r − z) + k_d (ṙ − ż) + r̈ for each direction of the flange.

    Bortoff 2020, section 4, eq. 12 and 13: with k_p reduced to zero along the way to an object, position control
    becomes velocity control without a switch, and the contact is soft. In direction i the flange then obeys
    z̈_i = u_i + (what pushes it)_i, up to terms of second order in the velocities. A flange that is pushed by f
    moves as one of the robot's own inertia Λ = J_c⁻ᵀ M_y J_c⁻¹ with stiffness k_p Λ and damping k_d Λ.

    Args:
        reference: where the flange should be, m.
        k_p, k_d: gains in 1/s² and 1/s; one for all directions, or one for each of z₁, z₂, z₃: a number, a `Ramp`,
            or a function of time, within 0 ≤ k_p ≤ k_d².
        robot, period, limit, pole, encoder: as for `DeltaController`.

    Example:
        >>> from impinge import robots, simulate
        >>> from impinge.control import Move, Ramp, Trajectory
        >>> approach = Trajectory((0.0, 0.0, 0.4), [Move((0.005, 0.0, 0.4), velocity=(2e-4, 0.0, 0.0), duration=0.6)])
        >>> soft = TaskSpacePDFF(approach, k_p=(Ramp(100, 0, begin=0.6, end=0.9), 100, 100), k_d=20)
        >>> result = simulate(robots.delta(), until=1.0, controller=soft)
        >>> bool(abs(result["z1"][-1] - 0.00508) < 1e-4)
        True
    """

    def __init__(
        self,
        reference: Reference,
        *,
        k_p: Gain | Sequence[Gain] = 100.0,
        k_d: Gain | Sequence[Gain] = 20.0,
        robot: DeltaKinematics | None = None,
        period: float | Fraction = Fraction(1, 500),
        limit: float = RATED_TORQUE,
        pole: float = 200.0,
        encoder: int | None = None,
    ) -> None:
        super().__init__(robot=robot, period=period, limit=limit, pole=pole, encoder=encoder)
        self.reference = reference_of("controller TaskSpacePDFF", reference)
        self.pdff = PDFF(k_p, k_d, axes=("z1", "z2", "z3"), period=self.period, pole=pole)

    def _begin(self) -> None:
        z = self.pose.z.tolist()
        self.reference.reset(z)
        self.pdff.reset(z)

    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        pose = self.pose
        u = self.pdff.step(t, pose.z.tolist(), self.reference.step(t))
        return times(pose.inertia["exact"].tolist(), solve(pose.J_c.tolist(), u))
