"""The derivative of the impact map: how velocities behind an impact vary with what they were before.

Velocities jump by v⁺ = v⁻ + M⁻¹Aᵀp, where the impulses p obey as many equations as there are: constraints keep no rate,
ḣ⁺ = 0; gaps that push obey γ̇⁺ = −eγ̇⁻; slips that stick have ṡ⁺ = 0, those that slide p_s = −μ p_c d. For a given choice
of these they are linear in p, and smooth in (q, v⁻, t) and in parameters. A contact that never slides and closes under
a compliant law has impulses along its slips only, and these stick. So

    δv⁺ = δv⁻ + ∂(M⁻¹Aᵀp)/∂z δz + M⁻¹Aᵀδp,      W δp = −δ(eγ̇⁻) − δγ̇⁺ at fixed p   for rows that are held.

Who pushes, sticks and slides is read from the run, and the velocities that follow are compared with the run's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.variations.frame import Frame, Side
from impinge.contact.impact import FACETS
from impinge.errors import InputError
from impinge.simulation.system.plant import RATE

FloatArray = NDArray[np.float64]

# A slip rate behind an impact that is this small against those before it is none.
_STUCK = 1e-8
# Rates behind an impact are what the equations make them, up to this share of those before it.
_AS_SOLVED = 1e-6
# Friction is on a corner of its polygon, or opposite to the slip, if it is so by this much.
_EXACTLY = 1e-6


class _Equations:
    """The equations of the impulses of some rows, E p = F, with their derivatives E δp = dF, one after another."""

    def __init__(self, rows: Sequence[int], columns: int) -> None:
        self.rows, self.columns = list(rows), columns
        self.E, self.extra = list[FloatArray](), list[FloatArray]()
        self.F, self.dF = list[float](), list[FloatArray]()

    def add(self, E: FloatArray, F: float, dF: FloatArray, extra: FloatArray | None = None) -> None:
        """Add one; ``extra`` is part of the derivative's matrix only."""
        size = float(np.abs(E).max())
        self.E.append(E / size)
        self.extra.append(np.zeros_like(E) if extra is None else extra / size)
        self.F.append(F / size)
        self.dF.append(dF / size)

    def impulses(self) -> FloatArray:
        """Return p, the smallest if rows are redundant."""
        return np.asarray(np.linalg.lstsq(np.array(self.E), np.array(self.F), rcond=1e-11)[0])

    def slopes(self) -> FloatArray:
        """Return ∂p/∂z."""
        return np.asarray(np.linalg.lstsq(np.array(self.E) + np.array(self.extra), np.array(self.dF), rcond=1e-11)[0])


def impact_jacobian(
    frame: Frame, who: str, left: Side, pushing: Sequence[int], after: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the derivative of the velocities behind an impact by z (nv × nz), and these velocities.

    Args:
        frame: just differentiated on the left side.
        who: for errors.
        left: the state before the impact.
        pushing: contacts with an impulse, those whose slips alone are stopped among them.
        after: velocities behind it, or None if they are to be found; then every slip is taken to stick.

    Raises:
        InputError: if these contacts do not explain the velocities behind the impact.
    """
    plant, model, nz, nq, nv = frame.plant, frame.model, frame.nz, frame.plant.nq, frame.plant.nv
    slips = {c: list(range(plant.slips[c], plant.slips[c + 1])) for c in pushing}
    own = {c: [frame.slips.start + s for s in slips[c]] for c in pushing}
    rigid = [c for c in pushing if plant.halted[c] == 0]
    rows = [*range(plant.nh), *(plant.nh + c for c in rigid), *(i for c in pushing for i in own[c])]
    W, response = frame.W.copy(), frame.response.copy()
    rate, slope = frame.w.rows[RATE, : frame.slips.stop].copy(), frame.by["rate"].copy()
    A, x, u = slope[:, nv : frame.nx], left.x, frame.w.u
    v = x[nq:]

    def tangent(v: FloatArray, a: FloatArray, force: FloatArray) -> dict[str, FloatArray]:
        values, shapes = model.tangent(x[:nq], v, left.time, u, plant.parameters, a, force), model.tangent.outputs
        return {k: values[k].reshape(shapes[k], order="F") for k in ("E", "rate")}

    still = rate if after is None else rate + A @ (after - v)
    speed = float(np.abs(rate).max(initial=0.0))
    stuck = {c: c not in rigid or after is None or np.linalg.norm(still[own[c]]) <= _STUCK * speed for c in pushing}
    if after is not None:
        _check_restitution(frame, who, left, rigid, rate, still)

    def posed(fixed: FloatArray, p: FloatArray, target: FloatArray) -> _Equations:
        """Return the equations; ``fixed`` is ∂ġ⁺/∂z at fixed impulses p."""
        found = _Equations(rows, nz)
        for i in range(plant.nh):
            found.add(W[i, rows], -rate[i], -fixed[i])
        for c in pushing:
            i = plant.nh + c
            if c in rigid:
                e = plant.restitution[c] if plant.closed[c, left.modes[c]] == 0 and rate[i] < 0.0 else 0.0
                found.add(W[i, rows], -(1 + e) * rate[i], -fixed[i] - e * slope[i])
            if stuck[c]:
                for k in own[c]:
                    found.add(W[k, rows], -rate[k], -fixed[k])
            else:
                _slide(found, plant.mu[c], frame.d.mu[c], i, own[c], W, rate, fixed, p, target)
        return found

    nothing, none = np.zeros((frame.slips.stop, nz)), np.zeros(frame.slips.stop)
    p = none.copy()
    if rows:
        first = np.zeros(frame.slips.stop)
        if after is not None:  # friction in a plane is told by the impulses
            first[rows] = np.linalg.lstsq(response[:, rows], after - v, rcond=1e-11)[0]
        p[rows] = posed(nothing, first, still).impulses()
    found = v + response @ p
    if after is not None and np.abs(A @ (found - after)).max(initial=0.0) > _AS_SOLVED * speed:
        raise _unknown(who, [model.contacts[c] for c in pushing], left.time)
    behind = found if after is None else after
    turned = tangent(v, response @ p, p)["E"] - tangent(v, np.zeros(plant.nv), none)["E"]
    kept = turned.copy()
    kept[:, nv : frame.nx] += np.eye(plant.nv)
    fixed = tangent(behind, np.zeros(plant.nv), none)["rate"]
    fixed[:, nv : frame.nx] = 0.0
    fixed = fixed + A @ kept
    return kept + response[:, rows] @ posed(fixed, p, still).slopes(), behind


def _slide(
    found: _Equations,
    mu: float,
    mu_slope: FloatArray,
    gap: int,
    slips: Sequence[int],
    W: FloatArray,
    rate: FloatArray,
    fixed: FloatArray,
    p: FloatArray,
    still: FloatArray,
) -> None:
    """Add the equations of a contact that slides on, from its impulses and its slip rates behind the impact.

    Friction of two slips is in a polygon of `FACETS` directions: on a corner, whose direction is fixed; or on an edge,
    and then the slip is across it. Where it is neither it is opposite to the slip.
    """
    place = {i: k for k, i in enumerate(found.rows)}
    n, push = place[gap], float(p[gap])
    rates, borne = still[list(slips)], p[list(slips)]
    d = rates / np.linalg.norm(rates)
    turns = False
    if len(slips) == 2:
        turn, limit = np.arctan2(borne[1], borne[0]) * FACETS / (2 * np.pi), mu * push
        size = np.linalg.norm(borne)
        if abs(turn - round(turn)) <= _EXACTLY and abs(size - limit) <= _EXACTLY * limit:
            angle = round(turn) * 2 * np.pi / FACETS
            d = -np.array([np.cos(angle), np.sin(angle)])
        elif np.linalg.norm(borne + limit * d) <= _EXACTLY * limit:
            turns = True
        elif limit > 0.0:
            angle, half = (np.floor(turn) + 0.5) * 2 * np.pi / FACETS, np.cos(np.pi / FACETS)
            normal, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
            E = np.zeros(len(place))
            E[[place[i] for i in slips]], E[n] = normal, -mu * half
            found.add(E, 0.0, half * push * mu_slope)
            rows = list(slips)
            found.add(across @ W[np.ix_(rows, found.rows)], -float(across @ rate[rows]), -across @ fixed[rows])
            return
    for k, i in enumerate(slips):
        E, extra, dF = np.zeros(len(place)), np.zeros(len(place)), -push * d[k] * mu_slope
        E[place[i]], E[n] = 1.0, mu * d[k]
        if turns:
            project = mu * push * (np.eye(len(slips))[k] - d[k] * d) / np.linalg.norm(rates)
            extra = project @ W[np.ix_(list(slips), found.rows)]
            dF = dF - project @ fixed[list(slips)]
        found.add(E, 0.0, dF, extra)


def _check_restitution(
    frame: Frame, who: str, left: Side, pushing: Sequence[int], rate: FloatArray, still: FloatArray
) -> None:
    """Refuse impacts whose restitution is not the law's: it ended a series of bounces, or would have created energy."""
    plant, speed = frame.plant, float(np.abs(rate).max())
    for c in pushing:
        i, e = plant.nh + c, float(plant.restitution[c])
        open_ = plant.closed[c, left.modes[c]] == 0 and rate[i] < 0.0
        target, contact = -e * rate[i] if open_ else 0.0, frame.model.contacts[c]
        if abs(still[i] - target) <= _AS_SOLVED * speed:
            continue
        if abs(still[i]) <= _AS_SOLVED * e * abs(rate[i]):
            raise ends_series(who, contact, left.time)
        raise InputError(
            who,
            f"an impact of contact '{contact}' with its restitution, {e:g}",
            f"one with {-still[i] / rate[i]:.6g} at t = {left.time:.9g} s, as it would have created energy",
            "How much is taken back has no derivative here: choose a smaller restitution.",
        )


def ends_series(who: str, contact: str, time: float) -> InputError:
    """Return the error for a contact that closes at the limit of its bounces."""
    return InputError(
        who,
        "bounces one by one",
        f"those of contact '{contact}' accumulating at t = {time:.9g} s, where it comes to rest",
        "Beyond infinitely many impacts there is no derivative here: end the run before, or choose restitution 0.",
    )


def _unknown(who: str, contacts: Sequence[str], time: float) -> InputError:
    return InputError(
        who,
        f"velocities behind an impact that the impulses of {', '.join(contacts)} explain",
        f"others at t = {time:.9g} s",
        "There is no derivative here: start a little beside it.",
    )
