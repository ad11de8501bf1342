"""The smallest forces that contacts can give among those that balance a load, or a proof that there are none.

Forces λ of some rows are admissible if every contact pushes, λ_n ≥ 0, and if its friction is within Coulomb's limit,
|f| ≤ μ λ_n: a convex set K. Where rows are redundant, all λ of an affine space Vᵀλ = Vᵀλ₀ balance the same load. The
smallest admissible one is a projection, and its dual an unconstrained concave problem without inequalities,

    min ½|λ − p|²  over  λ ∈ K, Vᵀλ = c        λ = Π_K(p + V y),   c − Vᵀ Π_K(p + V y) = 0,

which is solved by the proximal point method, each step of it by a semismooth Newton method (R. T. Rockafellar 1976,
L. Qi and J. Sun 1993). If no λ exists, y runs away along a direction d = Vw with wᵀc > sup {dᵀλ: λ ∈ K}. This is a
virtual motion −d of the contacts that none of them resists and that the load drives: the certificate (J. Farkas 1902).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Of the load, or of the forces if these are larger, a balance is met; and as well as rounding lets it be met, where
# forces are at the limits of all contacts at once.
_MET, _STALLED, _NEARLY = 1e-13, 1e-11, 1e-9
# Forces this many times larger than the smallest that balance the load are none.
_LARGEST = 1e6
# Of the load, forces that may change by less are unique: limits that are met to 1e-9 leave curved cones its root.
_FIXED = 1e-4
_PROXIMAL_STEPS, _NEWTON_STEPS = 25, 60


class Limit(NamedTuple):
    """What one contact can give, by rows among n. Rows of no contact, as those of constraints, give anything.

    Attributes:
        normal: row of the normal force, or None if that force is given.
        slips: rows of the friction.
        friction: coefficient of friction; infinite if the contact never slides.
        given: the normal force where it is given, N.
    """

    normal: int | None
    slips: Sequence[int] = ()
    friction: float = 0.0
    given: float = 0.0

    @property
    def most(self) -> float:
        """The largest friction under the given normal force, N."""
        return self.friction * self.given if self.given > 0.0 else (0.0 if self.friction < np.inf else np.inf)


def violation(force: FloatArray, limits: Sequence[Limit]) -> FloatArray:
    """Return for each contact how far its forces are from what it can give, N."""
    apart = force - _project(force, limits)[0]
    missing = [0.0 if limit.normal is not None else min(limit.given, 0.0) for limit in limits]
    rows = [[*limit.slips, *([] if limit.normal is None else [limit.normal])] for limit in limits]
    return np.array([np.hypot(np.linalg.norm(apart[own]), lack) for own, lack in zip(rows, missing, strict=True)])


def smallest_forces(
    force: FloatArray, internal: FloatArray, limits: Sequence[Limit], target: FloatArray | None = None
) -> tuple[FloatArray | None, FloatArray]:
    """Return the smallest admissible forces that differ from given ones by internal forces only.

    Args:
        force: forces that balance the load, admissible or not (n).
        internal: a basis of the forces that balance each other (n × k).
        limits: what the contacts can give.
        target: if given (n), not the smallest forces are found but those nearest to these.

    Returns:
        The forces (n), or None if there are none; and if so, the rates of all rows (n, the largest is 1) in a motion
        that the load drives and that no admissible force resists. They are zero if neither was found for certain.

    Example: a plank on three posts at −1, 0 and 1 m, with a load of 60 N at 0.9 m. The smallest forces would pull.
        >>> posts = [Limit(0), Limit(1), Limit(2)]
        >>> forces, _ = smallest_forces(np.array([-7.0, 20.0, 47.0]), np.array([[1.0], [-2.0], [1.0]]), posts)
        >>> forces.round(9).tolist()
        [0.0, 6.0, 54.0]
    """
    _, V, c, scaled, scale = _posed(force, internal, limits)
    found, motion = _nearest(np.zeros(force.size) if target is None else target / scale, V, c, scaled)
    if found is None:
        return None, motion / max(float(np.abs(motion).max()), 1e-300)
    return scale * found, np.zeros(force.size)


def only_forces(force: FloatArray, internal: FloatArray, limits: Sequence[Limit]) -> bool:
    """Tell whether no forces but the given ones are admissible and differ from these by internal forces only.

    They are if they are the nearest ones to all that lie beside them.

    Example: the same plank; the left post may carry up to 3 N.
        >>> posts, internal = [Limit(0), Limit(1), Limit(2)], np.array([[1.0], [-2.0], [1.0]])
        >>> only_forces(np.array([0.0, 6.0, 54.0]), internal, posts)
        False
        >>> only_forces(np.array([0.0, 0.0, 60.0]), internal, posts)
        True
    """
    N, V, c, scaled, scale = _posed(force, internal, limits)
    here = force / scale
    for direction in N.T:
        for beside in (direction, -direction):
            other, _ = _nearest(here + beside, V, c, scaled)
            if other is not None and np.abs(other - here).max() > _FIXED:
                return False
    return True


def _posed(
    force: FloatArray, internal: FloatArray, limits: Sequence[Limit]
) -> tuple[FloatArray, FloatArray, FloatArray, list[Limit], float]:
    """Return bases of internal forces and of all others, what of the load these carry, limits, all over a scale."""
    Q, k = np.linalg.qr(internal, mode="complete")[0], internal.shape[1]
    along = Q[:, k:].T @ force
    scale = max(float(np.linalg.norm(along)), *(abs(limit.given) for limit in limits), 0.0) or 1.0
    return Q[:, :k], Q[:, k:], along / scale, [limit._replace(given=limit.given / scale) for limit in limits], scale


def _nearest(
    p: FloatArray, V: FloatArray, c: FloatArray, limits: Sequence[Limit]
) -> tuple[FloatArray | None, FloatArray]:
    """Return the admissible λ with Vᵀλ = c that is nearest to p, or None and the rates of a motion that proves it.

    Where only forces on the edges of curved cones will do, y is infinite: then what is missing falls as σ rises.
    """
    y, sigma, best, least = np.zeros(c.size), 10.0, p, np.inf
    for _ in range(_PROXIMAL_STEPS):
        y, force = _proximal_step(y, sigma, p, V, c, limits)
        missing = c - V.T @ force
        left = float(np.linalg.norm(missing)) / max(1.0, float(np.linalg.norm(force)))
        stalls = least <= _STALLED and left > 0.5 * least
        if left < least:
            best, least = force + V @ missing, left
        if left <= _MET or stalls:
            break
        aim = missing / np.linalg.norm(missing)
        if _proves(V @ aim, float(c @ aim), limits):
            return None, -V @ aim
        sigma = min(10.0 * sigma, 1e14)
    return (best if least <= _NEARLY else None), np.zeros_like(p)


def _proves(direction: FloatArray, load: float, limits: Sequence[Limit]) -> bool:
    """Tell whether a direction, along which the load asks for this force, shows that no contacts can give it."""
    held = 0.0
    for limit in limits:
        if limit.normal is None and limit.most < np.inf:
            held += limit.most * float(np.linalg.norm(direction[list(limit.slips)]))
    away = [limit._replace(given=0.0) for limit in limits]
    return load - held > max(_NEARLY, _LARGEST * float(np.linalg.norm(_project(direction, away)[0])))


def _proximal_step(
    start: FloatArray, sigma: float, p: FloatArray, V: FloatArray, c: FloatArray, limits: Sequence[Limit]
) -> tuple[FloatArray, FloatArray]:
    """Maximize the dual less |y − start|²/2σ by Newton's method; return y and the forces Π_K(p + V y)."""

    def at(y: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        x = p + V @ y
        force, slope = _project(x, limits)
        value = float(c @ y - x @ force + 0.5 * force @ force - (y - start) @ (y - start) / (2.0 * sigma))
        return value, c - V.T @ force - (y - start) / sigma, force, slope

    y = start
    value, gradient, force, slope = at(y)
    for _ in range(_NEWTON_STEPS):
        size = float(np.linalg.norm(gradient))
        if size <= 1e-15 * max(1.0, float(np.abs(y).max(initial=0.0))):
            break
        step = np.linalg.solve(V.T @ slope @ V + np.eye(c.size) / sigma, gradient)
        rise, share = float(gradient @ step), 1.0
        for _ in range(20):
            trial = at(y + share * step)
            if trial[0] >= value + 1e-4 * share * rise or float(np.linalg.norm(trial[1])) <= 0.5 * size:
                break
            share *= 0.5
        else:
            break
        y, (value, gradient, force, slope) = y + share * step, trial
    return y, force


def _project(x: FloatArray, limits: Sequence[Limit]) -> tuple[FloatArray, FloatArray]:
    """Return the admissible forces nearest to x, and the derivative of that map (n × n), one of them at an edge."""
    force, slope = x.copy(), np.eye(x.size)
    for limit in limits:
        i, rows, mu = limit.normal, list(limit.slips), limit.friction
        f = x[rows]
        size = float(np.sqrt(f @ f))
        if i is None:
            if size > limit.most:
                force[rows] = limit.most / size * f
                slope[np.ix_(rows, rows)] = limit.most / size * (np.eye(len(rows)) - np.outer(f, f) / size**2)
            continue
        normal = float(x[i])
        if not rows or mu == np.inf:
            if normal < 0.0:
                force[i] = slope[i, i] = 0.0
            continue
        if size <= mu * normal:
            continue
        both = [i, *rows]
        if mu * size <= -normal:
            force[both] = 0.0
            slope[both, both] = 0.0
            continue
        pressed = (normal + mu * size) / (1.0 + mu * mu)
        along = np.concatenate([[1.0], mu / size * f]) / np.sqrt(1.0 + mu * mu)
        block = np.outer(along, along)
        block[1:, 1:] += mu * pressed / size * (np.eye(len(rows)) - np.outer(f, f) / size**2)
        force[i] = pressed
        force[rows] = mu * pressed / size * f
        slope[np.ix_(both, both)] = block
    return force, slope
