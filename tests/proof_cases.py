"""Bodies that pass narrow bumps, tables that rise past floating bodies, and the exact times of their first contacts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from impinge import (
    Adaptive,
    Baumgarte,
    ExponentialHuntCrossley,
    HuntCrossley,
    Impact,
    KelvinVoigt,
    Model,
    ModelBuilder,
    simulate,
)

STEPS = 50  # a step is at most this part of a run
BUMPS = 3  # of a landscape
LAWS = ("impact", "baumgarte", "kelvin-voigt", "hunt-crossley", "exponential-hunt-crossley")


class Case(NamedTuple):
    """A run, when its first contact is, and how well that is known (s)."""

    model: Model
    start: dict[str, float]
    parameters: dict[str, float]
    until: float
    contact: float
    within: float
    slope: float  # of the gap by the coordinate that it changes fastest with
    speed: float  # of the gap at contact


def _bell(x: Any, exp: Any, fmax: Any, fabs: Any, choose: Any) -> Any:
    return exp(-(x**2))


def _tent(x: Any, exp: Any, fmax: Any, fabs: Any, choose: Any) -> Any:
    return fmax(0.0, 1.0 - fabs(x))


def _wall(x: Any, exp: Any, fmax: Any, fabs: Any, choose: Any) -> Any:
    return choose(fabs(x) < 1.0, 1.0, 0.0)


SHAPES: dict[str, Callable[..., Any]] = {"bell": _bell, "tent": _tent, "wall": _wall}
REACH = {"bell": 7.0, "tent": 1.0, "wall": 1.0}  # in widths: beyond it, a shape is nothing


@functools.cache
def landscape(shape: str, bumps: int) -> Model:
    """A body in free flight over bumps, each with its place, height and width as parameters."""
    b = ModelBuilder(f"{shape}{bumps}")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    g = b.parameter("g", 0.0)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(g * z)
    ground: Any = 0.0
    for k in range(bumps):
        at, height, width = b.parameter(f"x{k}", 0.0), b.parameter(f"h{k}", 0.0), b.parameter(f"s{k}", 1.0)
        ground += height * SHAPES[shape]((x - at) / width, ca.exp, ca.fmax, ca.fabs, ca.if_else)
    b.gap("ground", z - ground)
    return b.build()


def _first_below(gap: Callable[[Any], Any], places: Any) -> float:
    """Return the first time at which a function falls through zero between ascending places, to rounding."""
    values = gap(places)
    falls = np.flatnonzero((values[:-1] > 0.0) & (values[1:] <= 0.0))
    if falls.size == 0:
        return np.inf
    low, high = places[falls[0]], places[falls[0] + 1]
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gap(middle) > 0.0 else (low, middle)
    return float(high)


def over_bumps(rng: np.random.Generator) -> Case:
    """A body that flies over narrow bumps, the width of each from 1/50 down to 1e-6 of the longest step's way."""
    shape, bumps = str(rng.choice(list(SHAPES))), int(rng.choice([1, BUMPS]))
    until, speed = 10.0 ** rng.uniform(-1, 1), rng.choice([-1, 1]) * 10.0 ** rng.uniform(-1, 1)
    way = abs(speed) * until / STEPS
    z0, g = rng.uniform(0.5, 2.0), rng.choice([0.0, 1.0]) * 0.1 / until**2
    vz = -rng.uniform(0.0, 0.2) / until if shape == "wall" else rng.uniform(-0.2, 0.2) / until
    parameters, windows = {"g": g}, []
    bump = []
    first, together = rng.uniform(0.03, 0.97) * until, rng.random() < 0.5  # about within one step
    for k in range(bumps):
        t = first
        if k > 0:
            t = first + rng.uniform(-0.5, 0.5) * until / STEPS if together else rng.uniform(0.03, 0.97) * until
        width = way * 10.0 ** rng.uniform(-6.0, np.log10(1 / 50))
        height = (z0 + vz * t - g * t**2 / 2) * (1.0 + 10.0 ** rng.uniform(-2, 0.5))
        if k > 0 and rng.random() < 0.3:
            height *= 0.4  # it passes above this one
        bump.append((speed * t, height, width))
        parameters |= {f"x{k}": speed * t, f"h{k}": height, f"s{k}": width}
        windows.append(t + np.linspace(-1.001, 1.001, 6001) * REACH[shape] * width / abs(speed))
    choose = np.where
    one = SHAPES[shape]

    def gap(t: Any) -> Any:
        ground = sum(h * one((speed * t - x) / s, np.exp, np.maximum, np.abs, choose) for x, h, s in bump)
        return z0 + vz * t - g * t**2 / 2 - ground

    contact = min(_first_below(gap, window[window > 0.0]) for window in windows)
    steepest = max(h / s for _, h, s in bump)
    within = 1e-11 * until + 1e-6 * min(s for *_, s in bump) / abs(speed)
    start = {"x": 0.0, "z": z0, "x_dot": speed, "z_dot": vz}
    return Case(landscape(shape, bumps), start, parameters, until, contact, within, steepest, steepest * abs(speed))


@functools.cache
def shaken_table() -> Model:
    """A table that moves as a sin(w t + f) below a body that floats."""
    b = ModelBuilder("shaken")
    z, v = b.coordinate("z", start=1.0)
    a, w, f = b.parameter("a", 1.0), b.parameter("w", 1.0), b.parameter("f", 0.0)
    b.kinetic(v**2 / 2)
    b.gap("table", z - a * ca.sin(w * b.time + f))
    return b.build()


def under_a_body(rng: np.random.Generator) -> Case:
    """A table that rises just past a floating body, within a few of its periods or many."""
    a, w = 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(0, 3)
    depth, f = a * 10.0 ** rng.uniform(-5, -1), -rng.uniform(0, np.pi / 2)
    height = a - depth
    contact = (np.arcsin(height / a) - f) / w
    until = contact + 2 * np.pi / w * 10.0 ** rng.uniform(-1, 1)
    # Where the table turns, an error of rounding in the height is one of a root in the time.
    within = 1e-11 * until + 1e-6 / w
    return Case(shaken_table(), {"z": height}, {"a": a, "w": w, "f": f}, until, contact, within, 1.0, a * w)


@functools.cache
def pulsed_table() -> Model:
    """A table that rises for a moment under a body that floats."""
    b = ModelBuilder("pulsed")
    z, v = b.coordinate("z", start=1.0)
    h, at, s = b.parameter("h", 1.0), b.parameter("at", 1.0), b.parameter("s", 1.0)
    b.kinetic(v**2 / 2)
    b.gap("table", z - h * ca.exp(-(((b.time - at) / s) ** 2)))
    return b.build()


def pulse(rng: np.random.Generator) -> Case:
    """A pulse from 1/50 down to 1e-6 of the longest step."""
    until = 10.0 ** rng.uniform(-1, 1)
    width, at = until / STEPS * 10.0 ** rng.uniform(-6, np.log10(1 / 50)), rng.uniform(0.03, 0.97) * until
    height, z = 10.0 ** rng.uniform(-2, 1), 1.0 - 10.0 ** rng.uniform(-3, -0.5)
    contact = at - width * np.sqrt(-np.log(z))
    start, parameters = {"z": z * height}, {"h": height, "at": at, "s": width}
    return Case(pulsed_table(), start, parameters, until, contact, 1e-11 * until + 1e-6 * width, 1.0, height / width)


def random_case(rng: np.random.Generator) -> Case:
    """Return one of the above."""
    kind = rng.random()
    return over_bumps(rng) if kind < 0.6 else (under_a_body(rng) if kind < 0.8 else pulse(rng))


def law_for(name: str, case: Case) -> Any:
    """Return a law that is soft against a steep bump, so that what happens after the contact is not stiff."""
    k = 1.0 / case.slope**2
    return {
        "impact": lambda: Impact(0.5),
        "baumgarte": lambda: Baumgarte(a0=100.0, a1=20.0, a2=0.0),
        "kelvin-voigt": lambda: KelvinVoigt(stiffness=k, damping=0.1 * k),
        "hunt-crossley": lambda: HuntCrossley(stiffness=k, damping=0.1 / case.speed),
        "exponential-hunt-crossley": lambda: ExponentialHuntCrossley(stiffness=k, damping=0.1 / case.speed),
    }[name]()


def first_contact(case: Case, law: str, method: Any = None) -> tuple[float, Any]:
    """Simulate a case up to its first contact and a little more; return when that is (infinite if never), and the run.

    What is behind the contact only counts for the length of the steps.
    """
    longest = case.until / STEPS
    after = min(case.until, case.contact + 0.02 * longest)
    chosen = Adaptive(max_step=longest) if method is None else method(longest)
    result = simulate(
        case.model, law_for(law, case), until=after, start=case.start, parameters=case.parameters, method=chosen
    )
    return min((event.time for event in result.events), default=np.inf), result


def is_lost(case: Case, found: float) -> bool:
    """Tell whether a first contact was not found, or at another time."""
    return not abs(found - case.contact) <= case.within
