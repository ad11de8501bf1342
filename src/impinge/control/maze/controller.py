"""The controller that takes a ball through the maze: two lead compensators and a sequence of turns.

Bortoff 2020, section 3 and Fig. 8. The first compensator balances the ball on top of a ring, the second,
slower, turns the maze under it:

    u = C₁(s) x + C₂(s) (angle − reference)

Both feed back with a positive sign: a torque moves the ball the other way, and so, with the first loop
closed, it does the maze in the long run. While the ball is in the air there is nothing to balance: the torque
is zero, and the compensators begin afresh where it lands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from impinge.control.blocks.lead import Lead
from impinge.control.check import above_zero

# This near to a ring's surface the ball is on it, m.
_NEAR = 1e-3


@dataclass(frozen=True)
class Turns:
    """How the maze is turned: wait after a landing, then turn at a rate reached with an acceleration.

    Attributes:
        first: time from the start to the first turn, s.
        wait: time from a landing to the next turn, s.
        rate: rad/s.
        acceleration: rad/s².
    """

    first: float = 10.0
    wait: float = 5.0
    rate: float = 0.2
    acceleration: float = 0.1


class MazeController:
    """Balances the ball and turns the maze: one way until the ball falls through a gate, then the other.

    It measures the ball's ``x`` and ``distance`` from the axis, and the maze's ``angle``. Which ring the ball
    is on follows from the distance. In the center the controller switches itself off.

    Args:
        ball, turn: the two compensators.
        radii: distance of the ball's center from the axis on each ring, outermost first, m.
        period: s.
        limit: largest torque, N·m.
        turns: the sequence.
    """

    def __init__(
        self,
        ball: Lead,
        turn: Lead,
        radii: Sequence[float],
        period: float = 0.005,
        limit: float = 0.1,
        turns: Turns | None = None,
    ) -> None:
        self.period, self.limit = period, above_zero("controller MazeController", "a limit", limit, "Give it in N·m.")
        self.turns = turns or Turns()
        self._radii = tuple(radii)
        self._ball, self._turn = ball.sampled(period), turn.sampled(period)
        inner = (*radii[1:], 0.0)
        self._falls = [(r + below) / 2 for r, below in zip(radii, inner, strict=True)]

    def reset(self, measurement: Any) -> None:
        """Begin above the outermost ring, with the reference where the maze is."""
        self.ring = 0  # rings left behind
        self.landed = False
        self.reference, self.rate = measurement.angle, 0.0
        self._begin = self.turns.first

    def step(self, t: float, measurement: Any) -> float:
        """Return the torque."""
        while self.ring < len(self._falls) and measurement.distance < self._falls[self.ring]:
            self.ring += 1
            self.landed = False
        if self.ring == len(self._falls) or abs(measurement.distance - self._radii[self.ring]) > _NEAR:
            return 0.0
        if not self.landed:
            self._land(t, measurement)
        goal = 0.0
        if t >= self._begin:
            goal = self.turns.rate if self.ring % 2 == 0 else -self.turns.rate
        change = self.turns.acceleration * self.period
        self.rate += min(max(goal - self.rate, -change), change)
        self.reference += self.rate * self.period
        torque = self._ball.step(measurement.x) + self._turn.step(measurement.angle - self.reference)
        return min(max(torque, -self.limit), self.limit)

    def _land(self, t: float, measurement: Any) -> None:
        self.landed = True
        self._ball.reset(measurement.x)
        self._turn.reset(measurement.angle - self.reference)
        self._begin = max(self._begin, t + self.turns.wait)
