"""The bouncing ball, solved by impinge and by its peers as a good user of each would write it.

The contact is Bortoff's with α₁ = 0, so the ball bounces for ever. Two modes follow each other:

    flight   q̈ = −g                 until q falls through 0            (touchdown)
    contact  q̈ = −(α₀ + α₂q²) q     until m (g + q̈) falls through 0    (liftoff)

Every solver returns the times of touchdown and liftoff up to `END`, in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import acos, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.bench.table import load

FloatArray = NDArray[np.float64]
Solver = Callable[[], FloatArray]

GRAVITY, HEIGHT = 9.81, 1.0
A0, A2 = 100.0, 1e6
END = 10.0

# The absolute tolerance is this share of the relative one, for every solver that has both.
_ABSOLUTE = 1e-2


@dataclass(frozen=True)
class Contender:
    """A solver to race.

    Attributes:
        system, method: what it is called in the table.
        tolerances: the relative tolerances to run it at.
        prepare: from a tolerance to the solver, with all that is done once (compiling) done.
    """

    system: str
    method: str
    tolerances: tuple[float, ...]
    prepare: Callable[[float], Solver]


def exact_events() -> FloatArray:
    """Return the event times in closed form.

    Flight is a parabola. In contact energy is conserved, q̇² = v² − α₀q² − α₂q⁴/2 =
    (α₂/2)(a² − q²)(q² + b²), and the time between two heights is an elliptic integral of the first kind.
    """
    from scipy.special import ellipk, ellipkinc

    lift = 0.0
    for _ in range(50):  # Newton: the height at which contact would begin to pull
        lift -= (A2 * lift**3 + A0 * lift - GRAVITY) / (3 * A2 * lift**2 + A0)
    t, v = sqrt(2 * HEIGHT / GRAVITY), sqrt(2 * GRAVITY * HEIGHT)
    times = []
    while t < END:
        times.append(t)
        d = A0 / A2
        a_squared = 2 * v**2 / A2 / (d + sqrt(d**2 + 2 * v**2 / A2))
        sum_of_squares = 2 * a_squared + 2 * d
        k_squared = a_squared / sum_of_squares
        turns = 3 * ellipk(k_squared) - ellipkinc(acos(lift / sqrt(a_squared)), k_squared)
        t += float(sqrt(2 / A2 / sum_of_squares) * turns)
        if t < END:
            times.append(t)
        leaving = sqrt(v**2 - A0 * lift**2 - A2 * lift**4 / 2)
        v = sqrt(leaving**2 + 2 * GRAVITY * lift)
        t += (leaving + v) / GRAVITY
    return np.array(times)


def impinge_solver(sample: float | None) -> Callable[[float], Solver]:
    """Return impinge's `simulate` with a spacing of recorded rows (None: its default)."""

    def prepare(tolerance: float) -> Solver:
        from impinge import Adaptive, Baumgarte, robots, simulate

        ball = robots.ball(height=HEIGHT, gravity=GRAVITY)
        law = Baumgarte(a0=A0, a1=0.0, a2=A2)
        method = Adaptive(rtol=tolerance, atol=_ABSOLUTE * tolerance)

        def solve() -> FloatArray:
            result = simulate(ball, law, until=END, method=method, sample=sample)
            return np.array([event.time for event in result.events])

        return solve

    return prepare


def _flight(t: float, y: Any) -> tuple[float, float]:
    return y[1], -GRAVITY


def _contact(t: float, y: Any) -> tuple[float, float]:
    q = y[0]
    return y[1], -(A0 + A2 * q * q) * q


def _gap(t: float, y: Any) -> float:
    return y[0]


def _force(t: float, y: Any) -> float:
    q = y[0]
    return GRAVITY - (A0 + A2 * q * q) * q


def scipy_solver(method: str) -> Callable[[float], Solver]:
    """Return SciPy's `solve_ivp`, restarted at every event."""

    def prepare(tolerance: float) -> Solver:
        from scipy.integrate import solve_ivp

        for event in (_gap, _force):
            event.terminal, event.direction = True, -1  # type: ignore[attr-defined]  # how SciPy takes them
        modes = ((_flight, _gap), (_contact, _force))

        def solve() -> FloatArray:
            times: list[float] = []
            t, y = 0.0, np.array([HEIGHT, 0.0])
            while True:
                right, event = modes[len(times) % 2]
                part = solve_ivp(right, (t, END), y, method, events=event, rtol=tolerance, atol=_ABSOLUTE * tolerance)
                if part.status != 1:
                    return np.array(times)
                t, y = part.t[-1], part.y[:, -1]
                times.append(t)

        return solve

    return prepare


def _flight_in_place(t: float, y: Any, rate: Any) -> None:
    rate[0] = y[1]
    rate[1] = -GRAVITY


def _contact_in_place(t: float, y: Any, rate: Any) -> None:
    q = y[0]
    rate[0] = y[1]
    rate[1] = -(A0 + A2 * q * q) * q


def _gap_in_place(t: float, y: Any, value: Any) -> None:
    value[0] = y[0]


def _force_in_place(t: float, y: Any, value: Any) -> None:
    q = y[0]
    value[0] = GRAVITY - (A0 + A2 * q * q) * q


def cvode_solver(method: str, compiled: bool) -> Callable[[float], Solver]:
    """Return CVODE with root finding, restarted at every event.

    scikit-sundae calls a Python object for the right-hand side. That may be a numba function.
    """

    def prepare(tolerance: float) -> Solver:
        from numba import njit
        from sksundae.cvode import CVODE

        accuracy = {"rtol": tolerance, "atol": _ABSOLUTE * tolerance, "max_num_steps": 10**6}
        pairs = ((_flight_in_place, _gap_in_place), (_contact_in_place, _force_in_place))
        modes = [(njit(right), njit(root)) if compiled else (right, root) for right, root in pairs]
        for _, root in modes:
            root.terminal, root.direction = [True], [-1]  # type: ignore[union-attr]  # how scikit-sundae takes them

        def solve() -> FloatArray:
            # New ones for every run: scikit-sundae keeps the events of all former runs.
            solvers = [CVODE(f, eventsfn=root, num_events=1, method=method, **accuracy) for f, root in modes]
            times: list[float] = []
            t, y = 0.0, np.array([HEIGHT, 0.0])
            while True:
                solver = solvers[len(times) % 2]
                solver.init_step(t, y)
                part = solver.step(END, tstop=END)
                if part.status != 2:
                    return np.array(times)
                t, y = float(part.t), part.y
                times.append(t)

        return solve

    return prepare


def heyoka_solver(tolerance: float) -> Solver:
    """Return heyoka's Taylor integrators, one for each mode, compiled, with terminal events."""
    import heyoka as hy

    q, v = hy.make_vars("q", "v")
    pull = (A0 + A2 * q * q) * q
    down = hy.event_direction.negative
    flight, contact = (
        hy.taylor_adaptive(
            [(q, v), (v, acceleration)], [HEIGHT, 0.0], tol=tolerance, t_events=[hy.t_event(root, direction=down)]
        )
        for acceleration, root in ((hy.expression(-GRAVITY), q), (-pull, GRAVITY - pull))
    )

    def solve() -> FloatArray:
        times: list[float] = []
        now, other = flight, contact
        now.time, now.state[:] = 0.0, (HEIGHT, 0.0)
        while True:
            now.reset_cooldowns()
            if now.propagate_until(END)[0] == hy.taylor_outcome.time_limit:
                return np.array(times)
            times.append(now.time)
            other.time, other.state[:] = now.time, now.state
            now, other = other, now

    return solve


def contenders() -> list[Contender]:
    """Return the solvers that are installed, impinge first."""
    loose, tight = tuple(10.0**-k for k in range(5, 11)), tuple(10.0**-k for k in range(7, 14))
    found = [
        Contender("impinge", "simulate()", loose, impinge_solver(None)),
        Contender("impinge, sparse", "simulate(sample=until)", loose, impinge_solver(END)),
    ]
    for name, tolerances in (("RK45", loose), ("DOP853", loose), ("LSODA", tight)):
        found.append(Contender("SciPy", name, tolerances, scipy_solver(name)))
    if load("sksundae.cvode"):
        for name, compiled in (("Adams", False), ("Adams", True), ("BDF", False)):
            method = f"{name}, {'numba' if compiled else 'Python'} functions"
            found.append(Contender("CVODE", method, tight, cvode_solver(name, compiled)))
    if load("heyoka"):
        found.append(Contender("heyoka", "Taylor", tuple(10.0**-k for k in (2, 3, 4, 6, 8, 10)), heyoka_solver))
    return found
