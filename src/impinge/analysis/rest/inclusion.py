"""Roots of determinants, each with a disk in which it is proved to lie, up to the rounding of the determinants.

Poles are the roots of det(s − A), zeros those of det [[s − A, b], [−c, d]], closed-loop poles those of the same with
1 + d. For such a polynomial p of degree n with leading coefficient g and any distinct points z_i,

    p(s) / (g ∏(s − z_i)) = 1 + Σ w_i / (s − z_i),     w_i = p(z_i) / (g ∏_{j≠i} (z_i − z_j)).

The corrections w_i improve the points (Durand and Kerner), and the right-hand side cannot vanish outside of disks about
them (Smith, J. ACM 17, 1970): the disks of k points, if they meet no others, hold exactly k roots. Determinants are
computed with a bound of what rounding did to them, entry by entry. So a disk says both how well a root is known and
which roots cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from impinge.analysis.responses.response import EPS, Realization

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

SPREADS = 4  # how often groups that rounding does not resolve are spread
STEPS = 60  # of the corrections; multiple roots converge slowly
CROWD = 0.25  # points that take more than this part of each other's corrections are one group
ONE = 1e-2  # a group of roots within this part of their mean is one multiple root
ORIGIN = 1e-5  # roots known to this part of |A| that may be zero are zero


@dataclass(frozen=True, eq=False)
class Roots:
    """Roots, and for each the radius of a disk about it that holds as many exact roots as there are values in it.

    Values that are equal are those of a group that cannot be told apart: each of its exact roots is in the disk.
    """

    values: Complex
    trust: Real

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def none(cls) -> Roots:
        """No roots at all."""
        return cls(np.zeros(0, dtype=complex), np.zeros(0))

    @classmethod
    def joined(cls, *parts: Roots) -> Roots:
        """Several lists of roots as one, from left to right."""
        values = np.concatenate([np.zeros(0, dtype=complex), *(part.values for part in parts)])
        trust = np.concatenate([np.zeros(0), *(part.trust for part in parts)])
        order = np.lexsort((values.imag, values.real))
        return cls(values[order], trust[order])

    def at_origin(self, distance: float) -> Roots:
        """Take zero for the roots that are within a distance of it."""
        near = np.abs(self.values) <= distance
        return Roots(np.where(near, 0, self.values), self.trust + np.where(near, np.abs(self.values), 0.0))


def poles_of(a: Real, size: float, noise: float = 0.0) -> Roots:
    """Return the eigenvalues of A.

    Args:
        a: the matrix.
        size: the norm of the matrix that A is a part of.
        noise: the norm of what is unknown of A beyond rounding.
    """
    guesses = np.asarray(np.linalg.eigvals(a) if a.size else np.zeros(0), dtype=complex)
    return _included(a, len(a), guesses, 1.0, 0.0, np.inf, noise, size)


def zeros_of(system: Realization, guesses: Complex, gain: float, unsure: float, horizon: float) -> Roots:
    """Return the zeros of a realization from guesses, one for each.

    Args:
        system: the realization.
        guesses: as many as there are zeros nearer than the horizon.
        gain: the first of d, cb, cAb, … that is not zero.
        unsure: what part of the gain may be rounding.
        horizon: how near a zero may be that is taken for infinite.
    """
    size = system.size
    force, view = (size / (float(np.linalg.norm(v)) or 1.0) for v in (system.b, system.c))
    n = len(system.a)
    bordered = np.empty((n + 1, n + 1))
    bordered[:n, :n], bordered[:n, n] = system.a, -system.b * force
    bordered[n, :n], bordered[n, n] = system.c * view, -system.d * force * view
    return _included(bordered, n, guesses, gain * force * view, unsure, horizon, system.noise, size)


def _included(
    matrix: Real, order: int, guesses: Complex, lead: float, unsure: float, horizon: float, noise: float, size: float
) -> Roots:
    if not len(guesses):
        return Roots.none()
    least = len(matrix) * EPS * size
    roots = _enclosed(_Pencil(matrix, order, noise, size), guesses, lead, unsure, horizon)
    if noise >= least or not ((roots.values != 0) & (np.abs(roots.values) <= ORIGIN * size)).any():
        return roots
    # Rounding that was done before A was given is not bounded entry by entry. What it tears off a multiple root at the
    # origin goes all ways, so that the mean is zero; a root that is small by itself has no such company.
    blurred = _enclosed(_Pencil(matrix, order, least, size), guesses, lead, unsure, horizon)
    near = np.argsort(np.abs(roots.values), kind="stable")[: int((blurred.values == 0).sum())]
    torn = near.size and abs(roots.values[near].mean()) <= 4 * least
    return roots.at_origin(float(np.abs(roots.values[near]).max())) if torn else roots


def _enclosed(pencil: _Pencil, guesses: Complex, lead: float, unsure: float, horizon: float) -> Roots:
    size = pencil.size
    points = _paired(_converged(pencil, _apart(np.asarray(guesses, dtype=complex), size, 1e-6), lead))
    points = _apart(points, size, 16 * EPS)
    best = _Disks(points, points, [[i] for i in range(len(points))], np.full(len(points), np.inf))
    for _ in range(SPREADS):
        points, logs, errors = pencil.determinants(points)
        far = len(points) * np.abs(points) / horizon
        lost = errors + unsure + 2 * far
        disks = _Disks.of(points, _corrections(points, logs, lead), np.where(far + unsure > 0.5, np.inf, lost), size)
        if not disks.radius.sum() >= best.radius.sum():
            best = disks
        spread = _spread(points, logs.real + np.log1p(errors) - np.log(abs(lead)))
        if np.array_equal(spread, points):
            break
        points = _apart(spread, size, 16 * EPS)
    return best.roots(size)


class _Pencil:
    """The determinants of s E − F, where E is the unit matrix, but for a last zero if F is a bordered matrix."""

    def __init__(self, matrix: Real, order: int, noise: float, size: float) -> None:
        self.matrix, self.noise, self.size = matrix, noise, size
        self.free = np.diag([1.0] * order + [0.0] * (len(matrix) - order))
        self.factor, self.invert = get_lapack_funcs(("getrf", "getri"), dtype=complex)
        self.many = 4 + int((matrix != 0).sum(axis=1).max())

    def determinants(self, points: Complex) -> tuple[Complex, Complex, Real]:
        """Return the points, moved off exact roots, logarithms there and what part of each may be rounding."""
        found = [self._determinant(s) for s in points]
        return (
            np.array([s for s, _, _ in found], dtype=complex),
            np.array([log for _, log, _ in found], dtype=complex),
            np.array([error for _, _, error in found]),
        )

    def _determinant(self, s: complex) -> tuple[complex, complex, float]:
        least = max(abs(s), EPS * self.size)
        for shift in (0.0, 4 * EPS * least, 4 * EPS * self.size, 1e-12 * self.size, 1e-8 * self.size):
            s += shift
            matrix = s * self.free - self.matrix
            lu, pivots, singular = self.factor(matrix)
            if not singular and np.isfinite(lu).all():
                break
        else:
            return s, 0j, np.inf
        order = np.arange(len(lu))
        for i, j in enumerate(pivots):
            order[[i, j]] = order[[j, i]]
        products = np.empty(lu.shape)
        products[order] = (np.abs(np.tril(lu, -1)) + np.eye(len(lu))) @ np.abs(np.triu(lu))
        inverse, _ = self.invert(lu, pivots)
        rounding = self.many * EPS * (products + np.abs(matrix))
        error = float((np.abs(inverse).T * rounding).sum())
        if self.noise:
            error += self.noise * float(np.sqrt(len(lu)) * np.abs(inverse).sum(axis=0).max())
        swaps = int((pivots != np.arange(len(lu))).sum())
        return s, complex(np.log(lu.diagonal()).sum() + 1j * np.pi * swaps), error if np.isfinite(error) else np.inf


def _converged(pencil: _Pencil, points: Complex, lead: float) -> Complex:
    """Correct points until what is left is rounding."""
    points, logs, errors = pencil.determinants(points)
    for _ in range(STEPS):
        steps = _corrections(points, logs, lead)
        active = (errors < 0.5) & (np.abs(steps) > 8 * EPS * np.maximum(np.abs(points), EPS * pencil.size))
        if not active.any():
            break
        reach = 0.5 * np.abs(points) + 1e-3 * pencil.size
        steps *= np.minimum(1.0, reach / np.maximum(np.abs(steps), np.finfo(float).tiny))
        moved = _apart(np.where(active, points - steps, points), pencil.size, 16 * EPS)
        active = moved != points
        points = moved
        points[active], logs[active], errors[active] = pencil.determinants(points[active])
    return points


def _corrections(points: Complex, logs: Complex, lead: float) -> Complex:
    """The corrections w of points at which the logarithms of p are known."""
    apart = points[:, None] - points
    np.fill_diagonal(apart, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(logs - np.log(apart).sum(axis=1) - np.log(complex(lead)))


def _apart(points: Complex, size: float, share: float) -> Complex:
    """Move points that coincide to circles about their mean; the theorem needs them distinct."""
    points = points.copy()
    for chain in chains(points, lambda value: share * max(abs(value), EPS * size)):
        if len(chain) > 1:
            mean = points[chain].mean()
            radius = 2 * share * max(abs(mean), EPS * size) * len(chain)
            points[chain] = mean + radius * np.exp(2j * np.pi * (np.arange(len(chain)) + 0.3) / len(chain))
    return points


def _paired(points: Complex) -> Complex:
    """Make points symmetric to the real axis again, as the roots of a real polynomial are."""
    left, found = list(np.argsort(-points.imag)), []
    while left:
        i = left.pop(0)
        rest = np.array([i, *left])
        j = int(rest[np.abs(points[rest] - points[i].conjugate()).argmin()])
        if i == j:
            found.append(complex(points[i].real))
        else:
            left.remove(j)
            middle = (points[i] + points[j].conjugate()) / 2
            found += [middle, middle.conjugate()]
    return np.array(found, dtype=complex)


def chains(values: Complex, reach: Callable[[complex], float]) -> list[list[int]]:
    """Group the indices of values whose neighbors are within reach."""
    groups: list[list[int]] = []
    for i, value in enumerate(values):
        near = [group for group in groups if np.abs(values[group] - value).min() <= reach(value)]
        groups = [group for group in groups if group not in near]
        groups.append([*(k for group in near for k in group), i])
    return groups


@dataclass(frozen=True, eq=False)
class _Disks:
    """Points in groups; the disks of a group, all together, hold as many roots as it has points."""

    points: Complex
    centers: Complex
    groups: list[list[int]]
    radius: Real

    @classmethod
    def of(cls, points: Complex, steps: Complex, errors: Real, size: float) -> _Disks:
        """Join points until the disks of no two groups meet, given their corrections and the errors of these."""
        with np.errstate(invalid="ignore"):
            width = np.abs(steps) * (1 + errors)
        width = np.where(np.isfinite(width), width, np.inf)
        groups = [[i] for i in range(len(points))]
        apart = np.abs(points[:, None] - points)
        while True:
            number = np.empty(len(points), dtype=int)
            for k, group in enumerate(groups):
                number[group] = k
            count = np.array([len(groups[k]) for k in number])
            reach = 2 * count * width
            other = number[:, None] != number
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = apart - reach[:, None]
                share = np.where(other, np.where(gap > 0, width / gap, np.inf), 0.0)
            total = share.sum(axis=1)
            touch = other & ((apart <= reach[:, None] + reach) | (share > CROWD))
            if not touch.any():
                crowded = np.flatnonzero(total > CROWD)
                if not crowded.size:
                    # A root that is alone is at z − w / (1 + ε) with |ε| not larger than the sum of the others' shares.
                    alone = (count == 1) & (errors < 0.5)
                    with np.errstate(invalid="ignore"):
                        radius = np.where(alone, np.abs(steps) * (errors + total), count * width) / (1 - total)
                    radius = radius + 2 * EPS * (np.abs(points) + EPS * size)
                    centers = np.where(alone, points - steps, points)
                    meet = np.abs(centers[:, None] - centers) <= radius[:, None] + radius
                    touch = other & alone[:, None] & alone & meet
                    if not touch.any():
                        return cls(points, centers, groups, radius)
                else:
                    touch[crowded, share[crowded].argmax(axis=1)] = True
            i, j = (int(k) for k in np.argwhere(touch)[0])
            one, two = groups[number[i]], groups[number[j]]
            groups = [group for group in groups if group is not one and group is not two] + [one + two]

    def mean(self, group: list[int]) -> complex:
        """The mean of a group, real if the group is symmetric to the real axis."""
        mean = complex(self.points[group].mean())
        return complex(mean.real) if abs(mean.imag) <= len(group) * EPS * np.abs(self.points[group]).max() else mean

    def roots(self, size: float) -> Roots:
        """Take the mean of each group that is one multiple root, and zero for what cannot be told from it."""
        values, trust = self.centers.copy(), self.radius.copy()
        for group in self.groups:
            if len(group) == 1:
                continue
            mean = self.mean(group)
            bound = float((np.abs(self.points[group] - mean) + self.radius[group]).max())
            if bound <= ONE * abs(mean) or bound <= ORIGIN * size:
                values[group], trust[group] = mean, bound
            else:
                ends = np.abs(self.points[group][:, None] - self.points[group]) + self.radius[group]
                trust[group] = ends.max(axis=1)
        zero = (np.abs(values) <= trust) & (trust <= ORIGIN * size)
        return Roots.joined(Roots(np.where(zero, 0, values), trust + np.where(zero, np.abs(values), 0.0)))


def _spread(points: Complex, logs: Real) -> Complex:
    """Move points that are nearer together than rounding can tell to circles as wide as that: their disks are smaller.

    `logs` are logarithms of what |p/g| is at most at the points.
    """
    points, done = points.copy(), np.zeros(len(points), dtype=bool)
    for i in range(len(points)):
        order = np.argsort(np.abs(points - points[i]), kind="stable")
        for count in range(1, len(points) + 1):
            group, others = order[:count], order[count:]
            mean = points[group].mean()
            gaps = np.abs(points[others] - mean)
            with np.errstate(divide="ignore"):
                radius = float(np.exp(min((logs[group].max() - np.log(gaps).sum()) / count, 700.0)))
            if radius <= 0.5 * gaps.min(initial=np.inf):
                break
        if count > 1 and not done[group].any() and np.abs(points[group] - mean).max() < 0.5 * radius < np.inf:
            points[group] = mean + radius * np.exp(2j * np.pi * (np.arange(count) + 0.5) / count)
            done[group] = True
    return _paired(points) if done.any() else points
