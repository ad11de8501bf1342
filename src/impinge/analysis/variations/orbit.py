"""Periodic motions through contacts, and whether they are stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.point import Point, named, onto_rows
from impinge.analysis.variations.same_run import ANYWHERE, check_same_run
from impinge.analysis.variations.sensitivity import Sensitivity, sensitivity
from impinge.analysis.variations.symmetry import Symmetry, check_symmetry, symmetry_of
from impinge.contact.law import Law
from impinge.errors import ImpingeError, InputError
from impinge.model import Model, finite
from impinge.scene.scene import Scene
from impinge.simulation import Adaptive
from impinge.simulation.check import laws_of
from impinge.simulation.integrate.method import Method
from impinge.simulation.system.contacts import SLIDING

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
        multipliers: by which small deviations grow in one period: the eigenvalues of the monodromy matrix, with the
            symmetry applied, largest first; without those that are 1 whatever the motion: of a shift along an
            autonomous motion, and of one along each coordinate whose advance was found. A deviation that opens a
            rigid contact which is closed at the start is none: its multiplier is 0.
        sensitivity: the run over one period with its derivatives by the start state.
        residual: largest difference between the states at the end, with the symmetry applied, and at the start.
        iterations: Newton steps it took.
        advance: by how much coordinates advance in one period, by name, m or rad.
    """

    start: Mapping[str, float]
    period: float
    multipliers: NDArray[np.complex128]
    sensitivity: Sensitivity
    residual: float
    iterations: int
    advance: Mapping[str, float] = field(default_factory=dict)

    @property
    def stable(self) -> bool:
        """Whether small deviations die out."""
        return bool(np.all(np.abs(self.multipliers) < 1.0))


def periodic_orbit(
    system: Model | Scene,
    law: Law | Mapping[str, Law] | None = None,
    *,
    period: float | None = None,
    guess_period: float | None = None,
    advance: Mapping[str, float | None] | None = None,
    relabel: Mapping[str, str] | None = None,
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
    t = 0 accordingly. A rigid contact that is closed at the start stays so while the start is varied.

    A motion may repeat up to a symmetry of the model: a wheel has turned on by one spoke, a walker stands farther
    on with its legs swapped.

    Args:
        system: what moves: a model, or a scene as it is around its start (`impinge.Scene.around`).
        law: how its contacts behave; one for all, or one for each by name.
        period: of a driven motion, s.
        guess_period: roughly, of an autonomous motion, s.
        advance: coordinates that are farther on after one period, by name: by this much (m or rad), or None for an
            advance that is to be found; the model must not depend on such a coordinate.
        relabel: coordinates that trade places after one period: ``{"left": "right", "right": "left"}`` lets the next
            period begin with ``left`` where ``right`` ended, and the other way round; velocities go with them.
        near: start values to begin from, by name; the rest as in the model.
        parameters: parameters that differ from the model's.
        inputs: inputs, held constant.
        method: by default `Adaptive` with rtol = 1e-11 and atol = 1e-13.
        stabilization: (α₀, α₁) of bilateral constraints.
        tolerance: how well the state must return, relative to the largest of its values or to 1.

    Raises:
        ImpingeError: if no motion that returns is found, or none but rest, or the model has no such symmetry.

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

        A rotor whose torque and damping hold it at two turns per second repeats with every turn:

        >>> from math import pi
        >>> b = ModelBuilder("rotor")
        >>> q, w = b.coordinate("q", speed=4 * pi, unit="rad")
        >>> b.kinetic(w**2 / 2)
        >>> b.force(1.0 - w / (4 * pi), along=q)
        >>> turn = periodic_orbit(b.build(), guess_period=0.45, advance={"q": 2 * pi})
        >>> round(turn.period, 9), turn.multipliers.real.round(4)
        (0.5, array([0.961]))
    """
    model = system.around(near, within=ANYWHERE)
    who = f"periodic orbit of {system.label}"
    T = _period(who, model, period, guess_period)
    p, u = dict(parameters or {}), model.input_vector(inputs or {})
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    nq, nv = len(model.coordinates), len(model.velocities)
    symmetry = symmetry_of(who, model, advance, relabel)

    def missed(x: FloatArray, end: FloatArray) -> FloatArray:
        """Return how far, in each direction and velocity, a motion that begins at x misses itself."""
        return np.concatenate([model.way_between(x[:nq], end[:nq]), end[nq:] - x[nq:]])

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
        return found, np.array([found.result[name][-1] for name in names])

    x = _onto(model, np.concatenate(model.start_vectors(near or {})), u, p, range(len(model.constraints)))
    found, end = run(x, T)
    check_symmetry(who, model, symmetry, found.result, u, p)
    s = missed(x, end)[list(symmetry.free)]
    r = missed(x, symmetry.apply(end, s))
    for iteration in range(_ITERATIONS):
        if np.abs(r).max() <= tolerance * max(1.0, float(np.abs(x).max())):
            check_symmetry(who, model, symmetry, found.result, u, p, s, T)
            if parameters is None:
                begin = named(names, x)
                check_same_run(who, system, model, law, found.result, T, begin, inputs, method or _METHOD)
            return _orbit(who, model, x, T, period is None, found, symmetry, s, float(np.abs(r).max()), iteration)
        columns = [symmetry.turn @ found.matrix - np.eye(2 * nv), symmetry.columns()]
        if period is None:
            columns.append((symmetry.turn @ found.rate)[:, None])
        # The smallest step: the phase of an autonomous motion stays free.
        step = np.linalg.lstsq(np.hstack(columns), -r, rcond=1e-10)[0]
        if period is None:
            step *= min(1.0, 0.5 * T / max(abs(float(step[-1])), 1e-300))
        rows = _closed_at_start(model, law, found)
        for _ in range(_HALVINGS):
            try:
                way: FloatArray = np.asarray(step[: 2 * nv], dtype=float)
                moved = np.concatenate([model.displaced(x[:nq], way[:nv]), x[nq:] + way[nv:]])
                trial = _onto(model, moved, u, p, rows), T + (float(step[-1]) if period is None else 0.0)
                candidate = run(*trial)
            except ImpingeError:  # the step leads where nothing can start, or has no derivative
                candidate = None
            if candidate is not None:
                new_s = s + step[2 * nv : 2 * nv + s.size]
                new_r = missed(trial[0], symmetry.apply(candidate[1], new_s))
                if np.linalg.norm(new_r) < np.linalg.norm(r):
                    break
            step = step / 2
        else:
            break
        assert candidate is not None
        (x, T), (found, end), s, r = trial, candidate, new_s, new_r
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


def _closed_at_start(model: Model, law: Law | Mapping[str, Law] | None, found: Sensitivity) -> list[int]:
    """Return the rows that a start must be on: constraints, and of rigid contacts that are closed gaps and stick."""
    h, gaps, slips = model.row_slices
    result, rows = found.result, list(range(h.stop))
    for c, (name, one) in enumerate(zip(model.contacts, laws_of(model, law), strict=True)):
        mode = int(result[f"mode_{name}"][0])
        if hasattr(one, "rebound") and result.closed[name][mode]:
            rows.append(gaps.start + c)
            if result.modes[name][mode] != SLIDING:
                rows += [slips.start + s for s, (owner, _) in enumerate(model.slips) if owner == c]
    return sorted(rows)


def _onto(
    model: Model, x: FloatArray, u: FloatArray, parameters: Mapping[str, float], rows: Sequence[int]
) -> FloatArray:
    """Return the state that is on some rows at t = 0, to rounding, near another."""
    q, v = np.split(x, [len(model.coordinates)])
    return np.concatenate(onto_rows(model, Point(q, v, u, parameters), rows, 0.0))


def _orbit(
    who: str,
    model: Model,
    x: FloatArray,
    T: float,
    autonomous: bool,
    found: Sensitivity,
    symmetry: Symmetry,
    s: FloatArray,
    residual: float,
    iterations: int,
) -> Orbit:
    start = named([quantity.name for quantity in (*model.coordinates, *model.velocities)], x)
    size = len(found.states)
    monodromy, along = symmetry.turn @ found.matrix, symmetry.turn @ found.rate
    # Directions in which a motion may be shifted as it is: deviations count across them only.
    shifts = [np.eye(size)[k] for k in symmetry.free]
    if autonomous:
        if np.abs(found.rate).max() * T <= 1e-6 * max(1.0, *(abs(value) for value in start.values())):
            at = ", ".join(f"{name} = {value:.6g}" for name, value in start.items())
            raise InputError(who, "a motion", f"rest at {at}", "Begin farther from it, with `near` and guess_period.")
        shifts.append(along / np.linalg.norm(along))
    across = np.linalg.qr(np.column_stack([*shifts, np.eye(size)]))[0][:, len(shifts) :]
    multipliers = np.linalg.eigvals(across.T @ monodromy @ across).astype(np.complex128)
    order = np.argsort(-np.abs(multipliers))
    advance = {c.name: float(a) for c, a in zip(model.directions, symmetry.advance(s), strict=False)}
    return Orbit(start, T, multipliers[order], found, residual, iterations, advance)
