"""Moves from point to point with limited velocity, acceleration and jerk."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from impinge.control.check import above_zero, each, vector
from impinge.control.references.reference import Setpoint
from impinge.errors import InputError, show

# A move may last this much longer than asked, relatively: rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Move:
    """One move of a trajectory.

    Attributes:
        to: where it ends, m.
        velocity: how fast it arrives there, m/s; at rest if left out.
        duration: how long it takes, s; as short as the limits allow if left out. A move to where one is
            waits that long.
    """

    to: Sequence[float]
    velocity: Sequence[float] | None = None
    duration: float | None = None


class Trajectory:
    """Moves one after another, each as fast as the limits allow or in the time given (Bortoff 2020, Fig. 14).

    A move from rest to rest is a straight line. After the last move the motion goes on at its final velocity.
    The paper's reference generator uses cubic splines; these moves are splines of third order too, with jumps
    only in jerk, computed by Ruckig (L. Berscheid, T. Kröger, 2021).

    Args:
        start: where the motion begins at t = 0, at rest, m.
        moves: `Move`s, or positions to rest at.
        velocity, acceleration, jerk: limits in m/s, m/s², m/s³; one for all axes, or one for each.

    Attributes:
        times: when each move ends, s.

    Example:
        >>> approach = Trajectory((0.0, 0.0, 0.4), [Move((0.02, 0.0, 0.4), velocity=(2e-4, 0.0, 0.0), duration=2.5)])
        >>> z = approach.at(7.5)  # 5 s later, at 0.2 mm/s
        >>> round(z.position[0], 9), round(z.velocity[0], 9)
        (0.021, 0.0002)
    """

    def __init__(
        self,
        start: Sequence[float],
        moves: Sequence[Move | Sequence[float]],
        *,
        velocity: float | Sequence[float] = 0.1,
        acceleration: float | Sequence[float] = 0.5,
        jerk: float | Sequence[float] = 5.0,
    ) -> None:
        who = "trajectory"
        begin = vector(who, "a start", start)
        self.limits = {
            name: [above_zero(who, f"a limit on {name}", x, "Leave it out for the default.") for x in given]
            for name, given in (
                ("velocity", each(velocity, len(begin))),
                ("acceleration", each(acceleration, len(begin))),
                ("jerk", each(jerk, len(begin))),
            )
        }
        for name, given in self.limits.items():
            vector(who, f"limits on {name}", given, len(begin))
        if not moves:
            raise InputError(who, "at least one move", "none", "To stay, use Hold(position).")
        still = [0.0] * len(begin)
        at = Setpoint(begin, still, still)
        self._begins, self._parts, time = [0.0], [], 0.0
        for k, move in enumerate(moves):
            part = self._plan(f"move {k + 1} of the {who}", at, move if isinstance(move, Move) else Move(move))
            at = Setpoint(*part.at_time(part.duration))
            time += part.duration
            self._parts.append(part)
            self._begins.append(time)
        self.times = self._begins[1:]

    def _plan(self, who: str, at: Setpoint, move: Move) -> Any:
        import ruckig

        size, most = len(at.position), self.limits["velocity"]
        to = vector(who, "a position", move.to, size)
        arriving = [0.0] * size if move.velocity is None else vector(who, "a final velocity", move.velocity, size)
        if any(abs(v) > high for v, high in zip(arriving, most, strict=True)):
            raise InputError(
                who, f"a final velocity within {show(most)} m/s", show(arriving), "Arrive slower, or raise the limit."
            )
        request = ruckig.InputParameter(size)
        request.current_position, request.current_velocity, request.current_acceleration = at
        request.target_position, request.target_velocity = to, arriving
        request.max_velocity, request.max_acceleration, request.max_jerk = self.limits.values()
        request.synchronization = ruckig.Synchronization.Phase
        if move.duration is not None:
            request.minimum_duration = above_zero(who, "a duration", move.duration, "Leave it out for the shortest.")
        planned = ruckig.Trajectory(size)
        try:
            result = ruckig.Ruckig(size).calculate(request, planned)
        except ruckig.RuckigError as problem:
            raise InputError(
                who,
                "a move that Ruckig can plan",
                str(problem).strip().splitlines()[0],
                "Change its limits or its end.",
            ) from problem
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise InputError(who, "a move that Ruckig can plan", str(result), "Change its limits or its end.")
        if move.duration is not None and planned.duration > move.duration * (1 + _ROUNDING):
            raise InputError(
                who,
                f"a duration of at least {planned.duration:.6g} s, the shortest that the limits allow",
                f"{move.duration:g} s",
                "Give it more time, or raise the limits.",
            )
        return planned

    def at(self, t: float) -> Setpoint:
        """Return position, velocity and acceleration at any time t, s."""
        k = min(max(bisect_right(self._begins, t) - 1, 0), len(self._parts) - 1)
        return Setpoint(*self._parts[k].at_time(t - self._begins[k]))

    def reset(self, position: Sequence[float]) -> None:
        """Begin afresh; the motion begins where it was planned to, wherever the machine is."""

    def step(self, t: float) -> Setpoint:
        """Return the setpoint at time t, s."""
        return self.at(t)
