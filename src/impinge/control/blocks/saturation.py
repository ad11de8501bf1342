"""The limit of an actuator."""

from __future__ import annotations

from collections.abc import Sequence

from impinge.control.check import above_zero


class Saturation:
    """Cuts every command at ±limit.

    Args:
        limit: largest command, in the command's unit.
        who: whose limit it is, for messages.

    Example:
        >>> Saturation(2.4).step([1.0, 3.0, -5.0])
        [1.0, 2.4, -2.4]
    """

    def __init__(self, limit: float, who: str = "saturation") -> None:
        self.limit = above_zero(who, "a limit", limit, "Give what the actuator can do at most.")

    def step(self, values: Sequence[float]) -> list[float]:
        """Return the commands within the limit."""
        high = self.limit
        return [high if x > high else -high if x < -high else x for x in values]
