"""The part of a system that a single input can excite and a single output can see.

To compare eigenvalues with zeros does not find it: a pole of a Jordan block of size k is only known to about
eps^(1/k). States that no path of nonzero entries joins to the input and to the output are left out as they are. For the
others, subspaces that belong to well separated groups of poles are known to rounding. So the states are scaled, A is
split into such groups (Bavely and Stewart, SIAM J. Numer. Anal. 16, 1979), and in each group a staircase (Van Dooren,
IEEE TAC 26, 1981) takes away what is not controllable and then what is not observable. One staircase for the whole
system is not enough: its steps need not become small where a mode is lost. Of random systems with about ten states and
planted modes it got 5 to 25 % wrong.

What is small need not be nothing: at high frequency the response of a long chain is the difference of modes each of
which is hardly driven or hardly seen. A mode is left out only if the response stays what it is, relative to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, block_diag, eigvals, schur

from impinge.analysis.responses.dipoles import Dipoles
from impinge.analysis.responses.response import EPS, Realization
from impinge.analysis.rest.inclusion import Roots, poles_of, zeros_of

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

TOLERANCES = (1e-9, 1e-12)  # a coupling below this part of what the scaled states allow may count as none
ROUNDING = 1e3 * EPS  # what a change of states may have left where a zero was
ORIGIN = 1e-8  # a pole that cancels and is nearer to the origin than this part of |A| is a rigid body's
NEAR = 1e-5  # poles nearer to each other than this part of |A| are never split
ILL = 1e3  # largest norm of a projector onto a group of poles


@dataclass(frozen=True, eq=False)
class Minimal:
    """What a channel is made of.

    Attributes:
        whole: the system as it was given but for states that are joined to input or output by no entry at all.
        part: the minimal realization; `whole` itself where nothing else cancels.
        poles, zeros: those of the minimal realization.
        gain: the first of d, cb, cAb, … that is not zero.
        unsure: what part of it may be rounding.
        horizon: zeros beyond it are not told from infinite ones.
        cancelled, hiding: the poles that cancel, and the zeros that hide them: the same values, not as well known.
        dipoles: the modes that cancel but for rounding.
    """

    whole: Realization
    part: Realization
    poles: Roots
    zeros: Roots
    gain: float
    unsure: float
    horizon: float
    cancelled: Roots
    hiding: Roots
    dipoles: Dipoles


def minimal_part(system: Realization, discrete: bool = False) -> Minimal:
    """Find the minimal part of c (s − A)⁻¹ b + d with its poles and zeros; in discrete time s is z − 1.

    Example:
        >>> import numpy as np
        >>> hidden = Realization(np.diag([-1.0, -5.0]), np.array([1.0, 0.0]), np.array([2.0, 1.0]), 0.0)
        >>> found = minimal_part(hidden)
        >>> found.poles.values.real, found.cancelled.values.real, found.gain
        (array([-1.]), array([-5.]), 2.0)
    """
    whole, lost = _joined(system)
    whole = whole.scaled()
    part, cancelled, dipoles = whole, Roots.none(), Dipoles.none()
    if len(whole.a):
        groups = _groups(whole.a, whole.size)
        for tolerance in TOLERANCES:
            smaller, hidden = _reduced(whole, groups, tolerance)
            if len(smaller.a) == len(whole.a):
                break
            found = Dipoles.of(whole, smaller, hidden, discrete)
            if found is not None:
                part, cancelled, dipoles = smaller, hidden, found
                break
    degree, gain, unsure, horizon = _leading(whole, len(part.a))
    if degree and part.d:
        part = Realization(part.a, part.b, part.c, 0.0, part.noise)
    zeros = Roots.none()
    if len(part.a) > degree and gain:
        zeros = zeros_of(part, _guesses(part, len(part.a) - degree), gain, unsure, horizon)
    poles = poles_of(part.a, whole.size, part.noise)
    hiding = Roots(cancelled.values, cancelled.trust + dipoles.length)
    joined = Roots.joined(*lost, cancelled), Roots.joined(*lost, hiding)
    return Minimal(whole, part, poles, zeros, gain, unsure, horizon, *joined, dipoles)


def _joined(system: Realization) -> tuple[Realization, list[Roots]]:
    """Leave out the states that paths of nonzero entries do not join to the input and to the output."""
    linked = (system.a != 0).astype(float)
    driven, seen = system.b != 0, system.c != 0
    for _ in range(len(system.a)):
        driven, seen = driven | (linked @ driven > 0), seen | (seen @ linked > 0)
    kept = driven & seen
    # The states that are driven but not seen, those that are seen but not driven, and the rest have poles of their own.
    rest = [np.flatnonzero(mask) for mask in (driven & ~seen, ~driven & seen, ~driven & ~seen)]
    parts = [Realization(system.a[np.ix_(i, i)], system.b[i], system.c[i], 0.0).scaled() for i in rest]
    size = system.scaled().size
    lost = [poles_of(part.a, size) for part in parts]
    return Realization(system.a[np.ix_(kept, kept)], system.b[kept], system.c[kept], system.d), lost


def _reduced(whole: Realization, groups: list[tuple[Real, Real]], tolerance: float) -> tuple[Realization, Roots]:
    """Leave out of each group what is hardly driven or hardly seen; return the rest and the poles left out."""
    size = whole.size
    blocks: tuple[list[Real], list[Real], list[Real]] = ([], [], [])
    lost, noise = [], 0.0
    for right, left in groups:
        block, force, view = left @ whole.a @ right, left @ whole.b, whole.c @ right
        stretch = float(np.linalg.norm(left, 2))
        moved = 10 * EPS * len(whole.a) * stretch * size
        on, off = _staircase(block, force, tolerance * stretch * float(np.linalg.norm(whole.b)), tolerance * size)
        lost.append(poles_of(off.T @ block @ off, size, moved))
        block, force, view = on.T @ block @ on, on.T @ force, view @ on
        on, off = _staircase(block.T, view, tolerance * float(np.linalg.norm(whole.c)), tolerance * size)
        lost.append(poles_of(off.T @ block @ off, size, moved))
        for parts, values in zip(blocks, (on.T @ block @ on, on.T @ force, view @ on), strict=True):
            parts.append(values)
        noise = max(noise, moved)
    a = block_diag(*blocks[0]) if sum(map(len, blocks[1])) else np.zeros((0, 0))
    part = Realization(a, np.concatenate(blocks[1]), np.concatenate(blocks[2]), whole.d, noise)
    return part.scaled(), Roots.joined(*lost).at_origin(ORIGIN * size)


def _staircase(a: Real, b: Real, least: float, next_least: float) -> tuple[Real, Real]:
    """Orthonormal bases of what b reaches through a, and of the rest."""
    reached = np.zeros((len(b), 0))
    step = b
    while reached.shape[1] < len(b):
        for _ in range(2):  # once is not orthogonal enough
            step = step - reached @ (reached.T @ step)
        length = float(np.linalg.norm(step))
        if length <= least:
            break
        reached = np.column_stack([reached, step / length])
        step, least = a @ reached[:, -1], next_least
    return reached, np.linalg.qr(reached, mode="complete")[0][:, reached.shape[1] :]


def _groups(a: Real, size: float) -> list[tuple[Real, Real]]:
    """Right and left bases of the invariant subspaces of groups of poles that are well separated."""
    groups = [g.real + 1j * np.abs(g.imag) for g in _chains(eigvals(a), NEAR * size)]
    bases = [_bases(a, g, groups[:i] + groups[i + 1 :]) for i, g in enumerate(groups)]
    while None in bases:
        ill = groups.pop(bases.index(None))
        bases.remove(None)
        nearest = int(np.argmin([np.abs(g[:, None] - ill).min() for g in groups]))
        merged = np.concatenate([groups.pop(nearest), ill])
        del bases[nearest]
        bases.append(_bases(a, merged, groups))
        groups.append(merged)
    return [found for found in bases if found is not None]


def _chains(values: Complex, distance: float) -> list[Complex]:
    """Group values whose neighbors, or their conjugates, are not farther away than a distance."""
    chains: list[Complex] = []
    for value in values:
        gaps = [np.minimum(np.abs(chain - value), np.abs(chain.conj() - value)).min() for chain in chains]
        near = [chain for chain, gap in zip(chains, gaps, strict=True) if gap <= distance]
        chains = [chain for chain, gap in zip(chains, gaps, strict=True) if gap > distance]
        chains.append(np.concatenate([*near, [value]]))
    return chains


def _bases(a: Real, mine: Complex, groups: list[Complex]) -> tuple[Real, Real] | None:
    """Bases of one group's subspaces with left @ right = 1, or None if it is not separated from the others."""
    if not groups:
        return np.eye(len(a)), np.eye(len(a))
    others = np.concatenate(groups)

    def inside(real: float, imaginary: float) -> bool:
        value = complex(real, abs(imaginary))
        return bool(np.abs(mine - value).min() <= np.abs(others - value).min())

    try:
        (_, right, count), (_, left, same) = (schur(m, sort=inside) for m in (a, a.T))
    except LinAlgError:
        return None
    if not count == same == len(mine):
        return None
    right, left = right[:, :count], left[:, :count]
    overlap = left.T @ right
    if np.linalg.svd(overlap, compute_uv=False)[-1] < 1 / ILL:
        return None
    return right, np.linalg.solve(overlap, left.T)


def _leading(system: Realization, order: int) -> tuple[int, float, float, float]:
    """Relative degree, gain, the part of it that may be rounding, and how near the zeros taken for infinite may be."""
    if order == 0:
        return 0, system.d, 0.0, np.inf
    values, most = [system.d], [abs(system.d)]
    force, weight = system.b, np.abs(system.b)
    for _ in range(order):
        values.append(float(system.c @ force))
        most.append(float(np.abs(system.c) @ weight))
        force, weight = system.a @ force, np.abs(system.a) @ weight
    many = len(system.a)
    known = [abs(v) > ROUNDING * (k + 1) * m for k, (v, m) in enumerate(zip(values, most, strict=True))]
    degree = known.index(True) if any(known) else 0
    gain = values[degree]
    if not gain:
        return degree, 0.0, 0.0, np.inf
    far = [
        (abs(gain) / (many * ROUNDING * (k + 1) * most[k])) ** (1 / (degree - k)) for k in range(degree) if most[k] > 0
    ]
    return degree, gain, (degree + many) * EPS * most[degree] / abs(gain), min(far, default=np.inf)


def _guesses(system: Realization, count: int) -> Complex:
    """The smallest finite eigenvalues of the Rosenbrock pencil; the infinite ones are counted, not guessed."""
    size = system.size
    force, view = (size / (float(np.linalg.norm(v)) or 1.0) for v in (system.b, system.c))
    n = len(system.a)
    pencil = np.block(
        [[system.a, force * system.b[:, None]], [view * system.c[None, :], np.full((1, 1), system.d * force * view)]]
    )
    top, bottom = eigvals(pencil, np.diag([1.0] * n + [0.0]), homogeneous_eigvals=True)
    finite = np.argsort(np.arctan2(np.abs(top), np.abs(bottom)), kind="stable")[:count]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(top[finite] / bottom[finite], dtype=complex)
    wild = ~np.isfinite(values)
    values[wild] = size * np.exp(1j * (1 + np.arange(wild.sum())))
    return values
