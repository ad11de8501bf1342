"""Periodic motions through contacts, and whether they are stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.point import Point, named, onto_rows
from impinge.analysis.sensitivity import Sensitivity, sensitivity
from impinge.contact.law import Law
from impinge.errors import ImpingeError, InputError
from impinge.model import Model, finite
from impinge.simulation import Adaptive
from impinge.simulation.method import Method

FloatArray = NDArray[np.float64]

_ITERATIONS = 30
_HALVINGS = 10
# Accurate enough for Newton's method to see the map and not the integrator's choice of steps.
_METHOD = Adaptive(rtol=1e-11, atol=1e-13)


@dataclass(frozen=True)
class Orbit:
    """A periodic motion.

    Attributes:
        start: the state at t = 0, by name, as `simulate` takes it.
        period: s.
        multipliers: by which small deviations grow in one period: the eigenvalues of the monodromy matrix,
            largest first; of an autonomous motion without the one that is 1, a shift along the motion.
        sensitivity: the run over one period with its derivatives by the start state.
        residual: largest difference between the states at the end and at the start.
        iterations: Newton steps it took.
    """

    start: Mapping[str, float]
    period: float
    multipliers: NDArray[np.complex128]
    sensitivity: Sensitivity
    residual: float
    iterations: int

    @property
    def stable(self) -> bool:
        """Whether small deviations die out."""
        return bool(np.all(np.abs(self.multipliers) < 1.0))


def periodic_orbit(
    model: Model,
    law: Law | Mapping[str, Law] | None = None,
    *,
    period: float | None = None,
    guess_period: float | None = None,
    near: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    method: Method | None = None,
    stabilization: tuple[float, float] = (400.0, 40.0),
    tolerance: float = 1e-9,
) -> Orbit:
    """Find a periodic motion, stable or not, by Newton's method with exact derivatives.

    Give ``period`` for a motion that is driven in time, a multiple of the drive's period; or ``guess_period`` for
    one that runs by itself, whose period is found. The start must not be inside a surface: choose the instant
    t = 0 accordingly.

    Args:
        model: what moves.
        law: how its contacts behave; one for all, or one for each by name.
        period: of a driven motion, s.
        guess_period: roughly, of an autonomous motion, s.
        near: start values to begin from, by name; the rest as in the model.
        parameters: parameters that differ from the model's.
        inputs: inputs, held constant.
        method: by default `Adaptive` with rtol = 1e-11 and atol = 1e-13.
        stabilization: (α₀, α₁) of bilateral constraints.
        tolerance: how well the state must return, relative to the largest of its values or to 1.

    Raises:
        ImpingeError: if no motion that returns is found, or none but rest.

    Example:
        >>> from impinge import ModelBuilder
        >>> b = ModelBuilder("van_der_pol")
        >>> x, v = b.coordinate("x", start=2.0)
        >>> b.kinetic(v**2 / 2)
        >>> b.potential(x**2 / 2)
        >>> b.force((1 - x**2) * v, along=x)
        >>> orbit = periodic_orbit(b.build(), guess_period=6.5)
        >>> round(orbit.period, 6), orbit.stable
        (6.663287, True)
    """
    who = f"periodic orbit of model '{model.name}'"
    T = _period(who, model, period, guess_period)
    p, u = dict(parameters or {}), model.input_vector(inputs or {})
    names = [f"{x.name}{dot}" for dot in ("", "_dot") for x in model.coordinates]

    def run(x: FloatArray, T: float) -> tuple[Sensitivity, FloatArray]:
        found = sensitivity(
            model,
            law,
            until=T,
            start=named(names, x),
            parameters=parameters,
            inputs=inputs,
            method=method or _METHOD,
            stabilization=stabilization,
        )
        return found, np.array([found.result[name][-1] for name in names]) - x

    x = _onto_constraints(model, np.concatenate(model.start_vectors(near or {})), u, p)
    found, r = run(x, T)
    for iteration in range(_ITERATIONS):
        if np.abs(r).max() <= tolerance * max(1.0, float(np.abs(x).max())):
            return _orbit(who, named(names, x), T, period is None, found, float(np.abs(r).max()), iteration)
        J = found.matrix - np.eye(x.size)
        if period is None:
            J = np.column_stack([J, found.rate])
        # The smallest step: the phase of an autonomous motion stays free.
        step = np.linalg.lstsq(J, -r, rcond=1e-10)[0]
        if period is None:
            step *= min(1.0, 0.5 * T / max(abs(float(step[-1])), 1e-300))
        for _ in range(_HALVINGS):
            try:
                trial = _onto_constraints(model, x + step[: x.size], u, p), T + float(step[x.size :].sum())
                candidate = run(*trial)
            except ImpingeError:  # the step leads where nothing can start, or has no derivative
                candidate = None
            if candidate is not None and np.linalg.norm(candidate[1]) < np.linalg.norm(r):
                break
            step = step / 2
        else:
            break
        (x, T), (found, r) = trial, candidate
    raise InputError(
        who,
        f"a start from which the motion returns within {tolerance:g}",
        f"one that misses itself by {np.abs(r).max():.3g} after {T:.6g} s, at best",
        "Begin nearer with `near`, for instance from the end of a long simulation, or check the period.",
    )


def _period(who: str, model: Model, period: float | None, guess: float | None) -> float:
    if (period is None) == (guess is None):
        got = "neither" if period is None else "both"
        remedy = "Give the period of the drive, or a guess for a motion that runs by itself."
        raise InputError(who, "either period or guess_period", got, remedy)
    T = finite(f"period of the {who}", guess if period is None else period)
    if T <= 0:
        raise InputError(who, "a period above zero", f"{T:g} s", "Give it in seconds.")
    terms = ca.vertcat(*(ca.vec(term) for term in model.dynamics_expressions.values()))
    if period is None and ca.depends_on(terms, model.symbols.t):
        raise InputError(who, "its period, as the model depends on time", "a guess", "Pass period=... .")
    return T


def _onto_constraints(model: Model, x: FloatArray, u: FloatArray, parameters: Mapping[str, float]) -> FloatArray:
    """Return the state that satisfies the bilateral constraints at t = 0, near another."""
    q, v = np.split(x, 2)
    return np.concatenate(onto_rows(model, Point(q, v, u, parameters), range(len(model.constraints))))


def _orbit(
    who: str, start: dict[str, float], T: float, free: bool, found: Sensitivity, residual: float, iterations: int
) -> Orbit:
    multipliers = np.linalg.eigvals(found.matrix).astype(np.complex128)
    if free:
        if np.abs(found.rate).max() * T <= 1e-6 * max(1.0, *(abs(value) for value in start.values())):
            at = ", ".join(f"{name} = {value:.6g}" for name, value in start.items())
            raise InputError(who, "a motion", f"rest at {at}", "Begin farther from it, with `near` and guess_period.")
        multipliers = np.delete(multipliers, np.argmin(np.abs(multipliers - 1.0)))
    order = np.argsort(-np.abs(multipliers))
    return Orbit(start, T, multipliers[order], found, residual, iterations)
