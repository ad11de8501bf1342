"""The contact problem of one time step, and the memory that its solver works in.

Bodies b are blocks of up to D degrees of freedom with velocities v and a mass matrix. Contact c has the rates
u = J v + bias of its gap and of two slips, and an impulse p with v⁺ = v⁻ + M⁻¹ Jᵀ p. The law is that of Coulomb:
0 ≤ p_n ⊥ u_n ≥ 0, |p_t| ≤ μ p_n, and p_t = −μ p_n u_t/|u_t| where there is slip.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Cube, Entry, IntegerMatrix, Integers, Matrix, Vector, jit, prepare
from impinge.contact.lcp.cone import ConeWorkspace, cone_workspace
from impinge.errors import InputError

MISSES, SWEEP, ORDER, DIRECTION, BALANCE, PREDICT, ACCELERATE = range(7)  # where `Work.calls` keeps the address of each

UNLIMITED = 2**62  # iterations
HISTORY = 4  # sweeps that Anderson's method mixes: one vector
_BITS = 64  # of a word in the sets of neighbors


class Problem(NamedTuple):
    """Contacts between bodies: arrays with room for ``cap`` contacts, of which ``count[0]`` are in use."""

    count: Integers  # type: ignore[assignment]  # (1,): number of contacts, not the method of tuples
    body: IntegerMatrix  # (cap, 2): blocks of a contact; −1 is what does not move
    J: Cube  # (cap, 3, 2D): rates of gap and slips per velocity of the first and of the second block
    bias: Matrix  # (cap, 3): added to the rates: gap/step, speeds of surfaces
    mu: Vector  # (cap,): coefficients of friction
    slips: Integers  # (cap,): slips of each contact, two unless some rows of J are zero
    impulse: Matrix  # (cap, 3): first guess, then solution
    response: Cube  # (cap, 3, 2D): M⁻¹Jᵀ, row by row (found by `solve`)
    W: Cube  # (cap, 3, 3): J M⁻¹ Jᵀ (found by `solve`)
    miss: Vector  # (cap,): how far each contact is from its law, as a rate (found by `solve`)
    size: Integers  # (nb,): degrees of freedom of each block
    mass: Cube  # (nb, D, D): padded with identity
    inverse: Cube  # (nb, D, D)
    free: Matrix  # (nb, D): velocities without contacts
    v: Matrix  # (nb, D): velocities with contacts (found by `solve`)


class Pivots(NamedTuple):
    """What `pivot` writes on the way, with room for so many contacts as are few; none if nobody pivots."""

    facets: Integers  # (1,): sides of the polygon in place of the disk of friction; 0 if it is to be the disk
    solve: Integers  # (1,): address of `solve`, for what pivoting does not solve
    who: Integers  # (few,): contacts that take part
    part: Integers  # (few,): whether each does
    state: Integers  # (few,): of each contact in the last solution, see `statuses`
    along: Matrix  # (few, 2): direction of its friction there
    row: IntegerMatrix  # (3 few, 2): contact and row of each unknown, all gaps first
    slips: Integers  # (few + 1,): where the slips of each contact begin among all slips
    mu: Vector  # (few,)
    W: Matrix  # (3 few, 3 few): of the unknowns
    free: Vector  # (3 few,): their rates without impulses
    impulse: Vector  # (3 few,)
    cone: ConeWorkspace


class Work(NamedTuple):
    """What `solve` writes on the way, and how much it did."""

    pivoting: Pivots
    calls: Integers  # addresses of the parts of the solver
    counts: Integers  # sweeps, Newton iterations, factorizations, convex steps, islands, islands not solved
    most: Integers  # (1,): sweeps and Newton iterations that `solve` may make, together
    residual: Vector  # (4,): largest miss, largest scale, largest miss of an island, largest miss over its scale
    need: Integers  # (1,): blocks of the factors that were wanted, when there is no room
    pattern: IntegerMatrix  # (cap + 1, 2): pairs of blocks that the ordering was made for; last row: their number
    island: Integers  # (nb,): which one a block is in
    parent: Integers  # (nb,): work space of the search for islands
    order: Integers  # (nb,): blocks in the order of elimination, island after island
    place: Integers  # (nb,): where a block is in that order
    bodies: Integers  # (nb + 1,): where the blocks of each island start
    contacts: Integers  # (max(nb, cap) + 1,): where the contacts of each island start
    who: Integers  # (cap,): contacts, island after island
    links: IntegerMatrix  # (nb, words): sets of neighbors
    degree: Integers  # (nb,): their sizes
    start: Integers  # (nb + 1,): where the blocks of each column of the factor start
    row: Integers  # (blocks,): their rows
    where: Integers  # (nb,): block of a row, for one column
    slot: Integers  # (cap,): block of the two bodies of a contact
    diagonal: Cube  # (nb, D, D)
    lower: Cube  # (blocks, D, D)
    upper: Cube  # (blocks, D, D)
    pivots: Integers  # (D,): exchanges of rows in a block
    small: Cube  # (1, D, D)
    rows: Cube  # (1, 3, 2D)
    x: Matrix  # (nb, D): velocities of Newton's method
    base: Matrix  # (nb, D): those it started from
    trial: Matrix  # (nb, D)
    g: Matrix  # (nb, D): what is left of the balance of momentum
    step: Matrix  # (nb, D)
    rate: Matrix  # (cap, 3)
    change: Matrix  # (cap, 3): of the rates along a step
    push: Matrix  # (cap, 3): impulses that belong to the velocities of Newton's method
    slope: Cube  # (cap, 3, 3): their derivatives
    known: Cube  # (cap, 3, 3): those that the factors are of
    factors: Integers  # (1,): island that the factors are of, −1 if there are none
    old: Matrix  # (cap, 3): impulses to return to
    best: Matrix  # (cap, 3): impulses of the first of two attempts
    first: Matrix  # (cap, 3): impulses to begin with
    root: Matrix  # (cap, 3): roots of the diagonal of W
    moved: Cube  # (cap, 3, HISTORY): what each of the last sweeps changed, times these
    reached: Cube  # (cap, 3, HISTORY): and the impulses that it led to
    speeds: Cube  # (nb, D, HISTORY): and the velocities
    products: Matrix  # (HISTORY, HISTORY): of the changes
    least: Matrix  # (HISTORY, HISTORY): equations of the least squares
    alpha: Vector  # (HISTORY,): the mixture
    stick: Cube  # (cap, 3, 3): inverse of W
    stiffness: Vector  # (cap,): 3/trace W; zero if nothing moves the contact
    normal: Vector  # (cap,): stiffness along the normal that Newton's method gives each contact
    tangent: Vector  # (cap,): and along the tangents
    lift: Vector  # (cap,): μ|u_t| of the convex law


@jit
def left(work: Any) -> int:
    """Return how many sweeps and Newton iterations `solve` may still make."""
    return work.most[0] - work.counts[0] - work.counts[1]


def parts() -> tuple[Entry, ...]:
    """Return the parts of the solver, in the order of `Work.calls`; each calls the others by address."""
    from impinge.contact.coulomb import accelerate, elimination, newton, ordering, sweeps

    return (
        sweeps.misses,
        sweeps.sweep,
        ordering.order_blocks,
        elimination.direction,
        newton.balance,
        newton.predict,
        accelerate.accelerate,
    )


def _addresses() -> NDArray[np.int64]:
    prepare(parts())
    return np.array([part.address for part in parts()])


def pivots_of(few: int, facets: int, solve: int) -> Pivots:
    """Return what `pivot` works in, for so many contacts; see `Pivots`."""
    return Pivots(
        facets=np.full(1, facets),
        solve=np.full(1, solve),
        who=np.zeros(few, dtype=np.int64),
        part=np.zeros(few, dtype=np.int64),
        state=np.zeros(few, dtype=np.int64),
        along=np.zeros((few, 2)),
        row=np.zeros((3 * few, 2), dtype=np.int64),
        slips=np.zeros(few + 1, dtype=np.int64),
        mu=np.zeros(few),
        W=np.zeros((3 * few, 3 * few)),
        free=np.zeros(3 * few),
        impulse=np.zeros(3 * few),
        cone=cone_workspace(3 * few, few, facets),
    )


def allocate(contacts: int, bodies: int, D: int = 6, blocks: int | None = None) -> tuple[Problem, Work]:
    """Return room for a problem and for its solution.

    Args:
        contacts: most contacts.
        bodies: number of blocks.
        D: most degrees of freedom of a block.
        blocks: room for off-diagonal blocks of the factors; if left out, a guess that `enlarge` can correct.

    Example:
        >>> problem, work = allocate(contacts=4, bodies=1)
        >>> problem.J.shape
        (4, 3, 12)
    """
    if contacts < 0 or bodies < 0 or D < 1:
        raise InputError(
            "room for contacts", "sizes of zero or more", f"{contacts}, {bodies}, {D}", "Give the largest numbers."
        )
    nc, nb, room = contacts, bodies, 4 * bodies + contacts if blocks is None else blocks
    eye = np.tile(np.eye(D), (nb, 1, 1))
    problem = Problem(
        count=np.zeros(1, dtype=np.int64),
        body=np.full((nc, 2), -1),
        J=np.zeros((nc, 3, 2 * D)),
        bias=np.zeros((nc, 3)),
        mu=np.zeros(nc),
        slips=np.full(nc, 2),
        impulse=np.zeros((nc, 3)),
        response=np.zeros((nc, 3, 2 * D)),
        W=np.zeros((nc, 3, 3)),
        miss=np.zeros(nc),
        size=np.full(nb, D),
        mass=eye.copy(),
        inverse=eye.copy(),
        free=np.zeros((nb, D)),
        v=np.zeros((nb, D)),
    )
    integers: list[tuple[str, tuple[int, ...]]] = [
        ("bodies start", (nb + 1,)),
        ("contacts", (max(nb, nc) + 1,)),
        ("island parent order place degree where", (nb,)),
        ("who slot", (nc,)),
        ("pivots", (D,)),
        ("links", (nb, nb // _BITS + 1)),
        ("row", (room,)),
    ]
    floats: list[tuple[str, tuple[int, ...]]] = [
        ("x base trial g step", (nb, D)),
        ("rate change push old best first root", (nc, 3)),
        ("slope known stick", (nc, 3, 3)),
        ("stiffness normal tangent lift", (nc,)),
        ("diagonal", (nb, D, D)),
        ("lower upper", (room, D, D)),
        ("small", (1, D, D)),
        ("rows", (1, 3, 2 * D)),
        ("moved reached", (nc, 3, HISTORY)),
        ("speeds", (nb, D, HISTORY)),
        ("products least", (HISTORY, HISTORY)),
        ("alpha", (HISTORY,)),
    ]
    arrays: dict[str, Any] = {}
    for names, shape in integers:
        arrays |= {name: np.zeros(shape, dtype=np.int64) for name in names.split()}
    for names, shape in floats:
        arrays |= {name: np.zeros(shape) for name in names.split()}
    work = Work(
        pivoting=pivots_of(0, 0, 0),
        calls=_addresses(),
        counts=np.zeros(6, dtype=np.int64),
        most=np.full(1, UNLIMITED),
        residual=np.zeros(4),
        need=np.zeros(1, dtype=np.int64),
        factors=np.full(1, -1),
        pattern=np.full((nc + 1, 2), -2),
        **arrays,
    )
    return problem, work


def enlarge(work: Work) -> Work:
    """Return work space with room for as many blocks as the last `solve` wanted, and a quarter more."""
    room = int(work.need[0]) * 5 // 4 + 1
    D = work.small.shape[1]
    return work._replace(row=np.zeros(room, dtype=np.int64), lower=np.zeros((room, D, D)), upper=np.zeros((room, D, D)))
