"""Gravity compensation: the delta robot floats."""

from __future__ import annotations

from impinge.control.delta.controller import DeltaController


class GravityCompensation(DeltaController):
    """Torques that balance gravity and nothing else, as every controller of the delta robot has inside.

    Okasha and Bortoff 2020, eq. 21: [B Hᵀ][τ; λ] = G. The paper calls it six-dimensional and solves it by Newton's
    method; it is nine linear equations in nine unknowns, of which SᵀG with S = ∂q/∂y leaves the torques.

    Args:
        robot, period, limit, pole, encoder: as for `DeltaController`.

    Example:
        >>> from impinge import robots, simulate
        >>> result = simulate(robots.delta(), until=0.5, controller=GravityCompensation())
        >>> bool(abs(result["z3"] - 0.4).max() < 1e-9)
        True
    """

    def _torque(self, t: float, y: list[float], y_dot: list[float]) -> list[float]:
        return [0.0, 0.0, 0.0]
