"""The admissible forces nearest to given ones among those that balance a load, in machine code; see `admissible`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import IntegerMatrix, Integers, Matrix, Vector, jit

# Of the load, or of the forces if these are larger, a balance is met; and as well as rounding lets it be met, where
# forces are at the limits of all contacts at once.
_MET, _STALLED, NEARLY = 1e-13, 1e-11, 1e-9
# Forces this many times larger than the smallest that balance the load are none.
_LARGEST = 1e6
_PROXIMAL_STEPS, _NEWTON_STEPS, _HALVINGS = 25, 60, 20
_STIFFEST = 1e14

FOUND, NONE, UNSURE = 0, 1, 2


class Cones(NamedTuple):
    """What contacts can give, by rows among n, and what `nearest_force` writes to.

    Rows of no contact, as those of constraints, give anything.
    """

    normal: Integers  # row of each contact's normal force, or −1 if that force is given
    slips: IntegerMatrix  # its rows of friction are slip[slips[c, 0]] … slip[slips[c, 1] − 1]
    slip: Integers
    mu: Vector  # coefficient of friction; infinite if it never slides
    most: Vector  # the largest friction where the normal force is given, N
    V: Matrix  # orthonormal columns: Vᵀλ is what balances the load (n × r, in n × n)
    load: Vector  # and this is the load (r, in n)
    target: Vector  # forces to be near to (n)
    force: Vector  # result: the forces, or rates of a motion that proves that there are none (n)
    y: Vector
    start: Vector
    other: Vector
    gradient: Vector
    step: Vector
    missing: Vector
    x: Vector
    best: Vector
    slope: Matrix
    half: Matrix
    H: Matrix


def cones(contacts: int, n: int) -> Cones:
    """Allocate what `nearest_force` works in, for these numbers of contacts and rows."""
    vectors = ("load", "target", "force", "y", "start", "other", "gradient", "step", "missing", "x", "best")
    matrices = ("V", "slope", "half", "H")
    return Cones(
        normal=np.zeros(contacts, dtype=np.int64),
        slips=np.zeros((contacts, 2), dtype=np.int64),
        slip=np.zeros(n, dtype=np.int64),
        mu=np.zeros(contacts),
        most=np.zeros(contacts),
        **{name: np.zeros(n) for name in vectors},
        **{name: np.zeros((n, n)) for name in matrices},
    )


@jit
def length(x: Any, n: int) -> float:
    """Return the length of the first part of a vector."""
    total = 0.0
    for i in range(n):
        total += x[i] * x[i]
    return np.sqrt(total)


@jit
def _size_of(w: Any, x: Any, c: int) -> float:
    """Return the size of a contact's friction among forces."""
    total = 0.0
    for k in range(w.slips[c, 0], w.slips[c, 1]):
        total += x[w.slip[k]] * x[w.slip[k]]
    return np.sqrt(total)


@jit
def _project(w: Any, contacts: int, x: Any, force: Any, away: bool) -> None:
    """Write the admissible forces nearest to x; if ``away``, of those that are so however much is given of them."""
    for i in range(x.size):
        force[i] = x[i]
    for c in range(contacts):
        i, mu, size = w.normal[c], w.mu[c], _size_of(w, x, c)
        if i < 0:
            most = w.most[c] if not away or w.most[c] == np.inf else 0.0
            share = most / size if size > most else 1.0
        elif w.slips[c, 0] == w.slips[c, 1] or mu == np.inf:
            force[i] = max(x[i], 0.0)
            share = 1.0
        elif size <= mu * x[i]:
            share = 1.0
        elif mu * size <= -x[i]:
            force[i] = share = 0.0
        else:
            force[i] = (x[i] + mu * size) / (1.0 + mu * mu)
            share = mu * force[i] / size
        if share != 1.0:
            for k in range(w.slips[c, 0], w.slips[c, 1]):
                force[w.slip[k]] = share * x[w.slip[k]]


@jit
def _differentiate(w: Any, contacts: int, x: Any, slope: Any) -> None:
    """Write the derivative of that map, one of them at an edge."""
    for i in range(x.size):
        for j in range(x.size):
            slope[i, j] = i == j
    for c in range(contacts):
        i, mu, first, last = w.normal[c], w.mu[c], w.slips[c, 0], w.slips[c, 1]
        size = _size_of(w, x, c)
        if i >= 0 and (first == last or mu == np.inf):
            if x[i] < 0.0:
                slope[i, i] = 0.0
            continue
        if size <= (mu * x[i] if i >= 0 else w.most[c]):
            continue
        inside = i >= 0 and mu * size <= -x[i]
        along, turn = 0.0, 0.0
        if i < 0:
            turn = w.most[c] / size
        elif not inside:
            along = mu * mu / (1.0 + mu * mu)
            turn = mu * (x[i] + mu * size) / ((1.0 + mu * mu) * size)
        for k in range(first, last):
            a = w.slip[k]
            for n in range(first, last):
                b = w.slip[n]
                both = x[a] * x[b] / (size * size) if size > 0.0 else 0.0
                slope[a, b] = (along - turn) * both + (turn if a == b else 0.0)
        if i >= 0:
            slope[i, i] = 0.0 if inside else 1.0 / (1.0 + mu * mu)
            for k in range(first, last):
                a = w.slip[k]
                slope[i, a] = slope[a, i] = 0.0 if inside else mu * x[a] / ((1.0 + mu * mu) * size)


@jit
def _at(w: Any, contacts: int, r: int, y: Any, sigma: float) -> float:
    """Write forces and gradient of the dual at y, less |y − start|²/2σ; return its value."""
    n, value = w.x.size, 0.0
    for i in range(n):
        w.x[i] = w.target[i]
        for k in range(r):
            w.x[i] += w.V[i, k] * y[k]
    _project(w, contacts, w.x, w.force, False)
    for i in range(n):
        value += (0.5 * w.force[i] - w.x[i]) * w.force[i]
    for k in range(r):
        near = y[k] - w.start[k]
        value += w.load[k] * y[k] - 0.5 * near * near / sigma
        w.gradient[k] = w.load[k] - near / sigma
        for i in range(n):
            w.gradient[k] -= w.V[i, k] * w.force[i]
    return value


@jit
def _solve(H: Any, n: int, b: Any) -> None:
    """Overwrite b by the solution of H x = b; Gauss with partial pivoting."""
    for r in range(n):
        best = r
        for i in range(r + 1, n):
            if abs(H[i, r]) > abs(H[best, r]):
                best = i
        for j in range(n):
            H[r, j], H[best, j] = H[best, j], H[r, j]
        b[r], b[best] = b[best], b[r]
        if H[r, r] == 0.0:
            H[r, r] = 1e-300
        for i in range(r + 1, n):
            factor = H[i, r] / H[r, r]
            if factor != 0.0:
                for j in range(r, n):
                    H[i, j] -= factor * H[r, j]
                b[i] -= factor * b[r]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= H[i, j] * b[j]
        b[i] /= H[i, i]


@jit
def _proximal_step(w: Any, contacts: int, r: int, sigma: float) -> None:
    """Maximize the dual less |y − start|²/2σ by Newton's method, from y = start."""
    n = w.x.size
    for k in range(r):
        w.start[k] = w.y[k]
    value = _at(w, contacts, r, w.y, sigma)
    for _ in range(_NEWTON_STEPS):
        size, largest, rise = length(w.gradient, r), 1.0, 0.0
        for k in range(r):
            largest = max(largest, abs(w.y[k]))
        if size <= 1e-15 * largest:
            break
        _differentiate(w, contacts, w.x, w.slope)
        for i in range(n):
            for k in range(r):
                w.half[i, k] = 0.0
                for j in range(n):
                    w.half[i, k] += w.slope[i, j] * w.V[j, k]
        for k in range(r):
            w.step[k] = w.gradient[k]
            for s in range(r):
                w.H[k, s] = 1.0 / sigma if k == s else 0.0
                for i in range(n):
                    w.H[k, s] += w.V[i, k] * w.half[i, s]
        _solve(w.H, r, w.step)
        for k in range(r):
            rise += w.gradient[k] * w.step[k]
        share, better, trial = 1.0, False, value
        for _ in range(_HALVINGS):
            for k in range(r):
                w.other[k] = w.y[k] + share * w.step[k]
            trial = _at(w, contacts, r, w.other, sigma)
            better = trial >= value + 1e-4 * share * rise or length(w.gradient, r) <= 0.5 * size
            if better:
                break
            share *= 0.5
        if not better:
            _at(w, contacts, r, w.y, sigma)
            break
        value = trial
        for k in range(r):
            w.y[k] = w.other[k]


@jit
def _proves(w: Any, contacts: int, r: int) -> bool:
    """Tell whether ``missing`` is a direction along which the load asks for what no contacts can give.

    The direction is then in ``force``.
    """
    n, asked, size = w.x.size, 0.0, length(w.missing, r)
    for k in range(r):
        asked += w.load[k] * w.missing[k] / size
    for i in range(n):
        w.x[i] = 0.0
        for k in range(r):
            w.x[i] += w.V[i, k] * w.missing[k] / size
    for c in range(contacts):
        if w.normal[c] < 0 and w.most[c] < np.inf:
            asked -= w.most[c] * _size_of(w, w.x, c)
    _project(w, contacts, w.x, w.force, True)
    return asked > max(NEARLY, _LARGEST * length(w.force, n))


@jit
def _scale(w: Any, contacts: int, r: int, share: float) -> None:
    """Let the load be of size one: forces of a ton and impulses of a gram are alike then."""
    for k in range(r):
        w.load[k] *= share
    for i in range(w.x.size):
        w.target[i] *= share
    for c in range(contacts):
        w.most[c] *= share


@jit
def nearest_force(w: Any, contacts: int, r: int) -> int:
    """Find the admissible forces nearest to ``w.target`` with Vᵀλ = load, by the proximal point method on the dual.

    Where only forces on the edges of curved cones will do, y is infinite: then what is missing falls as σ rises.

    Returns:
        FOUND; or NONE, and ``w.force`` is −1 times the rates of a motion which proves that; or UNSURE.
    """
    n, sigma, least, size = w.x.size, 10.0, np.inf, length(w.load, r)
    _scale(w, contacts, r, 1.0 / size if size > 0.0 else 1.0)
    for k in range(r):
        w.y[k] = 0.0
    for _ in range(_PROXIMAL_STEPS):
        _proximal_step(w, contacts, r, sigma)
        for k in range(r):
            w.missing[k] = w.load[k]
            for i in range(n):
                w.missing[k] -= w.V[i, k] * w.force[i]
        left = length(w.missing, r) / max(1.0, length(w.force, n))
        stalls = least <= _STALLED and left > 0.5 * least
        if left < least:
            least = left
            for i in range(n):
                w.best[i] = w.force[i]
                for k in range(r):
                    w.best[i] += w.V[i, k] * w.missing[k]
        if left <= _MET or stalls:
            break
        if _proves(w, contacts, r):
            for i in range(n):
                w.force[i] = w.x[i]
            return NONE
        sigma = min(10.0 * sigma, _STIFFEST)
    for i in range(n):
        w.force[i] = w.best[i] * (size if size > 0.0 else 1.0)
    return FOUND if least <= NEARLY else UNSURE
