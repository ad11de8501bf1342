"""Modes that cancel but for rounding: a pole and a zero that are next to nothing apart.

Rounding couples what is not coupled. A mode that is left out of a system is therefore a dipole of the response, and one
that is not hidden, only faint, is a dipole too: that is told apart by what it does to the response.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvals

from impinge.analysis.responses.response import Realization, border
from impinge.analysis.rest.inclusion import Roots

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

SAME = 1e-9  # changes of a frequency response that count as none, relative to it
NEARLY = 1e-8  # the same off the border of stability, near the poles left out


@dataclass(frozen=True, eq=False)
class Dipoles:
    """Poles that are left out, with what is known of the zeros next to them.

    Attributes:
        poles: the poles.
        reach: how near to each pole the response has no meaning of its own: it is that of the rest.
        length: how far the zero of each may be from it.
        share: what part of the response about each may be different from that of the rest.
        bare: whether a pole is on the border of stability as far as is known, so that its dipole may be seen there.
    """

    poles: Complex
    reach: Real
    length: Real
    share: Real
    bare: NDArray[np.bool_]

    @classmethod
    def none(cls) -> Dipoles:
        """No dipoles at all."""
        return cls(np.zeros(0, dtype=complex), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, whole: Realization, part: Realization, hidden: Roots, discrete: bool) -> Dipoles | None:
        """Compare a system with the part of it that is left; None if its response is not the same.

        It is compared on the border of stability over the range of the poles that stay and next to those that go, and
        on circles about the latter: near a dipole of length ε a response changes by ε over the distance.
        """
        rates = np.abs(eigvals(part.a)) if len(part.a) else np.ones(1)
        rates = rates[rates > 1e-7 * rates.max()] if rates.any() else np.ones(1)
        reach = np.maximum(1e-2 * np.abs(hidden.values), 1e-3 * rates.min())
        reach = np.maximum(reach, 4 * hidden.trust)
        highest = np.pi if discrete else 30 * rates.max()
        axis = border(np.geomspace(min(0.03 * rates.min(), 0.03 * highest), highest, 60), discrete)
        next_to = border(np.angle(1 + hidden.values) if discrete else hidden.values.imag, discrete)
        bare = np.abs(next_to - hidden.values) <= 10 * hidden.trust
        axis = np.concatenate([axis, next_to[~bare]])
        axis = axis[(np.abs(axis[:, None] - hidden.values) > np.where(bare, reach, 0.0)).all(axis=1)]
        about = hidden.values[:, None] + reach[:, None] * np.exp(1j * np.array([0.3, 1.9, 3.5, 5.1]))
        points = np.concatenate([axis, about.reshape(-1)])
        allowed = np.repeat([SAME, NEARLY], [len(axis), about.size])
        before, after = whole.respond(points), part.respond(points)
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.abs(before.value - after.value)
            known = before.trust < 1e-3
            if not known.any() or not (change <= allowed * np.abs(before.value) + 2 * before.error)[known].all():
                return None
            share = np.where(known, (change + before.error) / np.abs(before.value), np.inf)[len(axis) :]
        most = share.reshape(about.shape).max(axis=1)
        return cls(hidden.values, reach, 2 * reach * most, 2 * most, bare)

    def near(self, points: Complex) -> tuple[NDArray[np.bool_], Real]:
        """Whether points are where only the response of the rest has a meaning, and what part of it may be wrong."""
        inside = np.abs(points[..., None] - self.poles) < self.reach
        return np.asarray(inside.any(axis=-1)), np.where(inside, self.share, 0.0).max(axis=-1, initial=0.0)
