"""The limit of an actuator."""

from __future__ import annotations

from collections.abc import Sequence

from impinge.control.check import above_zero


class Saturation:
    """Cuts every command at ±limit.

    Args:
        limit: largest command, in the command's unit.

    Example:
        >>> Saturation(2.4).step([1.0, 3.0, -5.0])
        [1.0, 2.4, -2.4]
    """

    def __init__(self, limit: float) -> None:
        self.limit = above_zero("saturation", "a limit", limit, "The delta robot's motors are rated for 2.4 N·m.")

    def step(self, values: Sequence[float]) -> list[float]:
        """Return the commands within the limit."""
        high = self.limit
        return [high if x > high else -high if x < -high else x for x in values]
