"""Where planar mechanisms lie in space: in the x–z plane, x to the right and z up, as gravity of a scene has it."""

from __future__ import annotations

from typing import Any

import casadi as ca


def turned(angle: Any) -> Any:
    """Return axes turned in the x–z plane by an angle, rad, from x to z: counterclockwise where x points right, z up.

    Args:
        angle: an expression.

    Returns:
        The axes as columns (3 × 3); y stays.
    """
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.blockcat([[c, 0, -s], [0, 1, 0], [s, 0, c]])
