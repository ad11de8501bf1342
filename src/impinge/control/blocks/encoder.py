"""What an encoder makes of an angle."""

from __future__ import annotations

from collections.abc import Sequence
from math import tau

from impinge.errors import InputError, show

_MOST_BITS = 40


class Encoder:
    """Rounds angles to the steps of an encoder. Angles that are so already stay as they are.

    Args:
        bits: a turn has 2^bits steps; the delta robot's encoders have 22.

    Example:
        >>> round(Encoder(22).resolution * 1e6, 3)  # µrad
        1.498
        >>> Encoder(4).step([0.1, 0.3])
        [0.0, 0.39269908169872414]
    """

    def __init__(self, bits: int) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= _MOST_BITS:
            raise InputError("encoder", f"a whole number of bits, 1 to {_MOST_BITS}", show(bits), "Give e.g. 22.")
        self.bits = bits
        self.resolution = tau / 2**bits  # rad

    def step(self, angles: Sequence[float]) -> list[float]:
        """Return the angles as the encoder gives them, rad."""
        return [round(angle / self.resolution) * self.resolution for angle in angles]
