"""What a motion controller follows: position, velocity and acceleration that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from impinge.control.check import vector
from impinge.errors import InputError


class Setpoint(NamedTuple):
    """Where to be at an instant, one number for each axis."""

    position: list[float]
    velocity: list[float]
    acceleration: list[float]


@runtime_checkable
class Reference(Protocol):
    """A sampled source of setpoints."""

    def reset(self, position: Sequence[float]) -> None:
        """Forget the past; the machine is at this position."""
        ...

    def step(self, t: float) -> Setpoint:
        """Return the setpoint at time t, s; times do not go back."""
        ...


def reference_of(who: str, reference: object) -> Reference:
    """Return a reference, or raise the error that asks for one."""
    if isinstance(reference, type) or not isinstance(reference, Reference):
        raise InputError(
            who, "a reference", repr(reference), "Give Hold(position), a Trajectory(...) or a Joystick(...) to follow."
        )
    return reference


class Hold:
    """Stay: at a position, or where the machine is at the start.

    Example:
        >>> here = Hold()
        >>> here.reset([0.0, 0.0, 0.4])
        >>> here.step(1.0).position
        [0.0, 0.0, 0.4]
    """

    def __init__(self, position: Sequence[float] | None = None) -> None:
        self.position = None if position is None else vector("reference Hold", "a position", position)
        self.reset(self.position or [0.0])

    def reset(self, position: Sequence[float]) -> None:
        """Begin afresh with the machine at this position."""
        still = [0.0] * len(position)
        self._setpoint = Setpoint(list(self.position or position), still, still)

    def step(self, t: float) -> Setpoint:
        """Return the position, at rest."""
        return self._setpoint
