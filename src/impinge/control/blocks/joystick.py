"""References from velocity commands, as a joystick gives them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from impinge.control.check import above_zero, vector
from impinge.control.references.reference import Setpoint
from impinge.errors import InputError, show

Commands = Sequence[tuple[float, Sequence[float]]] | Callable[[float], Sequence[float]]


class Joystick:
    """Turns velocity commands into position, velocity and acceleration that belong together.

    Okasha and Bortoff 2020, Fig. 6 (Ref.Gen): "consistent position and acceleration references are computed with
    filters". Here each axis goes to the commanded velocity as fast as its limits on acceleration and jerk allow,
    planned anew (by Ruckig) whenever a step finds another command. Velocity is the exact integral of
    acceleration and position that of velocity: a state that each step continues, not a sum over samples.

    Args:
        commands: (time, velocity) pairs, s and m/s for each axis, each valid from its time on and zero before
            the first; or a function from time to velocity.
        acceleration, jerk: limits in m/s² and m/s³.
        start: where the motion begins, m; where the machine is if left out.

    Example:
        >>> stick = Joystick([(0.0, (0.05, 0.0, 0.0)), (1.0, (0.0, 0.0, 0.0))], acceleration=0.5, jerk=5.0)
        >>> stick.reset([0.0, 0.0, 0.4])
        >>> for k in range(1000):
        ...     setpoint = stick.step(0.002 * k)
        >>> [round(x, 9) for x in setpoint.position]  # 0.05 m/s for 1 s
        [0.05, 0.0, 0.4]
    """

    def __init__(
        self,
        commands: Commands,
        *,
        acceleration: float = 0.5,
        jerk: float = 5.0,
        start: Sequence[float] | None = None,
    ) -> None:
        who = "joystick"
        self.acceleration = above_zero(who, "a limit on acceleration", acceleration, "0.5 m/s² suits the delta robot.")
        self.jerk = above_zero(who, "a limit on jerk", jerk, "5 m/s³ suits the delta robot.")
        self.start = None if start is None else vector(who, "a start", start)
        self._commands = _checked(commands) if callable(commands) else _staircase(commands)

    def reset(self, position: Sequence[float]) -> None:
        """Begin at rest, at the start if one was given, else at this position."""
        import ruckig

        start = vector("joystick", "a start", position) if self.start is None else self.start
        size = len(start)
        self._planner, self._plan = ruckig.Ruckig(size), ruckig.Trajectory(size)
        self._request: Any = ruckig.InputParameter(size)
        self._request.control_interface = ruckig.ControlInterface.Velocity
        self._request.synchronization = ruckig.Synchronization.No
        self._request.max_acceleration, self._request.max_jerk = [self.acceleration] * size, [self.jerk] * size
        self._request.current_position = start
        self._command, self._begin = [0.0] * size, 0.0
        self._planner.calculate(self._request, self._plan)

    def step(self, t: float) -> Setpoint:
        """Read the command at time t, s, and return the setpoint there."""
        now = Setpoint(*self._plan.at_time(t - self._begin))
        command = self._commands(t)
        if command != self._command:
            self._change(t, now, command)
        return now

    def _change(self, t: float, now: Setpoint, command: list[float]) -> None:
        """Plan from the present state to another velocity."""
        request = self._request
        request.current_position, request.current_velocity, request.current_acceleration = now
        request.target_velocity = vector(f"joystick at t = {t:g} s", "a velocity", command, len(now.position))
        self._planner.calculate(request, self._plan)
        self._command, self._begin = command, t


def _checked(commands: Callable[[float], Sequence[float]]) -> Callable[[float], list[float]]:
    return lambda t: vector(f"joystick at t = {t:g} s", "a velocity", commands(t))


def _staircase(commands: Sequence[tuple[float, Sequence[float]]]) -> Callable[[float], list[float]]:
    who = "joystick"
    try:
        times, velocities = zip(*commands, strict=True)
        whole = vector(who, "times", list(times))
    except (TypeError, ValueError):
        raise InputError(who, "(time, velocity) pairs", repr(commands), "Write e.g. [(0.0, (0.05, 0, 0))].") from None
    if any(a >= b for a, b in pairwise(whole)):
        raise InputError(who, "times that increase", show(whole), "Sort the commands by time.")
    known = [vector(who, f"a velocity at t = {t:g} s", v) for t, v in zip(whole, velocities, strict=True)]
    if len({len(v) for v in known}) != 1:
        raise InputError(who, "as many axes in every command", show(list(velocities)), "Give all axes every time.")
    steps = [[0.0] * len(known[0]), *known]
    return lambda t: steps[bisect_right(whole, t)]
