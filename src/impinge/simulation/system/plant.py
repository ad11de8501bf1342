"""What a run needs in memory: a plant that never changes, and a workspace that does.

The integrated vector y holds, one after another,

    q (nq), v (nv), gaps (nc), slips (nt), bristles (nb), extents (ne), impulses of gaps (nc) and slips (nt),
    work of friction (nr), work (5: applied, damping, time, constraints, contacts).

Slips (nt = ns) and the work of friction (nr = nc) are there if any contact may slide, bristles (nb = ns, see
`bristles`) if one sticks compliantly. Gaps, slips and extents are integrated beside the coordinates, so that step
control resolves them and dense output gives them as polynomials; the impulses' derivatives give the forces. At the
start of every step they are set to their true values. Slips that are given by their rates have no value of their own
(rolling is no function of q): they count how far a closed contact has slid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Cube, IntegerMatrix, Integers, Kernel, Matrix, Vector, jit, no_record
from impinge.contact.impact import ImpactWorkspace, impact_workspace
from impinge.contact.law import GUARDS, PARTS
from impinge.contact.nearest_force import Cones, cones
from impinge.contact.rows import RowWorkspace, row_workspace
from impinge.model import WORKS
from impinge.simulation.integrate.implicit_system import ImplicitWorkspace, implicit_workspace
from impinge.simulation.integrate.rosenbrock import Rosenbrock
from impinge.simulation.integrate.tableau import Tableau
from impinge.simulation.locate.proof import Proof, ProofWorkspace, proof_workspace
from impinge.simulation.locate.roots import NODES, root_workspace
from impinge.simulation.results.extremes import Extremes, extremes_of
from impinge.simulation.system.terms import Flight, Terms

# Rows of the arrays that describe constraints, gaps, slips and extents (nh + nc + ns + ne) at one instant.
# PRESS is what a law sees as a contact's force: its own while closed, else the one it would have.
VALUE, RATE, FORCE, PRESS = 0, 1, 2, 3


class StandWorkspace(NamedTuple):
    """Arrays that `standstill` writes to: the balance of the rows of one island, B λ = b."""

    island: Integers  # 1 for rows of this island, 2 for those of others before
    B: Matrix
    b: Vector
    cones: Cones


class Plant(NamedTuple):
    """Addresses, sizes and numbers that stay fixed in a run (nh constraints, nc contacts, ns slips, ne extents)."""

    evaluate: int
    find_press: int
    settle: int  # what decides for all contacts at once, or 0 if none may slide
    stand: int  # what finds forces by which contacts at rest hold, or 0 likewise
    stop_slips: int  # what keeps still what sticks
    leap: int  # what steps over contacts that change without end, or 0
    implicit: int  # what steps where the motion is stiff, or 0
    steady: int  # whether nothing depends on time
    strike: int  # what happens when rigid contacts close, or 0 if none is rigid
    halt: int  # what stops the slips of contacts that close and never slide, or 0 if none is stopped so
    note: int  # what keeps the extremes of a run, of a state
    look: int  # and of a step
    dynamics: int
    flight: int  # the kernel while no contact is closed, or 0
    signals: int
    tidy: int  # what else is set anew at the start of a step, or 0
    exchange: int  # what exchanges contacts where a step begins, or 0 if they stay those that they are
    counting: int  # whether any slip counts how far its contact has slid, having no value of its own
    nq: int
    nv: int
    nu: int
    nh: int
    nc: int
    ns: int
    ne: int
    nt: int
    nb: int
    nr: int
    ny: int
    signal_size: int
    straight: Integers  # the coordinate that each velocity is the rate of; −1 for angular velocities
    spins: IntegerMatrix  # (rotations, 2): where each quaternion begins among coordinates, and its angular velocity
    parameters: Vector
    prescribe: Integers
    slope: Integers
    guard: Integers
    decide: Integers
    gains: Matrix
    closed: IntegerMatrix
    modes: Integers  # how many modes a contact's law has
    closing: Integers
    slips: Integers  # the slips of contact c are slips[c] … slips[c + 1] − 1
    counted: Integers  # whether a slip counts
    extent: Integers  # the row of a contact's extent, or −1
    passed: Integers  # its mode beyond the end of its surface, or −1
    takes_over: Vector  # how deep it may be where its surface begins and it takes a load over, m; 0: never
    sliding: Integers  # its mode while it slides, or −1
    bristled: Integers  # whether it may slide and sticks compliantly
    grain: Vector  # what its bristles' dampers bear at speeds that the tolerance leaves open, N
    halted: Integers  # whether it never slides and sticks compliantly: an impulse stops its slips when it closes
    normal: Integers  # for each row, that of the gap of its contact
    restitution: Vector  # with which velocities jump when a contact closes; below zero: they do not
    propagates: Integers  # whether its impacts are passed on one after another
    mu: Vector  # coefficients of friction, infinite where it never slides
    proof: Proof
    stabilization: Vector
    tableau: Tableau
    rosenbrock: Rosenbrock
    rtol: float
    atol: float
    velocity_atol: Vector  # absolute tolerance of each velocity
    fixed_step: float
    max_step: float
    budget: float  # most steps in each thousandth of the run
    sample: float
    every_step: bool


class Workspace(NamedTuple):
    """Arrays that a run writes to; allocated once."""

    y: Vector
    u: Vector
    command: Vector  # inputs to hold from now on
    held: Vector  # inputs held until now
    seen: Vector  # what sensors see: outputs, coordinates and velocities
    mode: Integers
    time: Vector  # TIME, STEP, ...: see below
    counts: Integers  # STEPS, ...: see below
    K: Matrix
    trial: Vector
    scratch: Matrix
    terms: Terms  # what `dynamics` says of the last evaluated state
    flight: Flight  # what `flight` does
    signal: Vector
    rows: Matrix  # at the last evaluated state
    rows_start: Matrix
    rows_end: Matrix
    prescribed: Integers
    value: Vector
    attempt: Vector
    delassus: Matrix  # of all contacts that may push, as `settle` poses their problem, m × m
    rub: Vector  # their friction there
    stand: StandWorkspace
    anchor: Vector  # slip at which each sliding direction began to stick
    bent: Vector  # how far bristles are bent at the last evaluated state
    direction: Vector  # in which contacts slide: one entry for each of their slips
    solver: RowWorkspace
    poly: Matrix
    grip: Matrix  # rows at a node of the step, as far as friction asks for them
    nodes: Matrix  # the parts of one contact's guards at the nodes of the step
    bernstein: Matrix  # the same as Bernstein coefficients
    parts: Cube  # the parts of all contacts' guards at both ends of the step, and at one instant inside
    watched: Integers  # what they watch
    guards: Cube  # all contacts' guards, the largest of their parts, at these instants
    candidates: Matrix
    after: Matrix
    stack: Matrix
    left_y: Vector
    left_mode: Integers
    fired: Integers
    left_direction: Vector  # on the left side of an instant
    tried_direction: Vector  # before all contacts are asked at once, which may be in vain
    begins: Integers  # contacts that have just begun to slide, in a direction that stays as it is
    turned: Integers  # how often each contact has begun to slide from a stand at this instant
    struck: Integers  # contacts that pushed in an impact at this instant, or whose slips an impulse stopped
    impact: ImpactWorkspace
    implicit: ImplicitWorkspace
    proof: ProofWorkspace
    since: Vector
    extremes: Extremes
    changed: Integers


# Indices into Workspace.time.
TIME, STEP, ERROR, LEFT_TIME, ROW_TIME, TAIL, MARK, LEAP, LEAPED, BEGAN, LAST = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
STABLE, PER_CALL, SET_OUT = 11, 12, 13  # length and way per evaluation of explicit steps; when the method changed
FARTHEST = 14  # the longest step that the slopes kept have served for
CAP = 15  # how long a step may be before contacts are looked at again
# Step control remembers the logarithm of the last step's error; smaller ones are as good as this.
LEAST_ERROR = float(np.log(1e-4))
# Indices into Workspace.counts.
STEPS, REJECTED, EVALUATIONS, SAMPLES, STALLED, WHOLE, JAMMED, DOUBT = 0, 1, 2, 3, 4, 5, 6, 7
CROWD, LEAPS, AGAIN, SLOW, HASTE, STIFF, KNOWN, PATIENCE, LATELY, CALLS = 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
KEPT, HELD = 18, 19  # whether an implicit step may use slopes that an earlier one has found; what evaluation finds held
WAIT, SPAN = 20, 21  # for how many steps more slopes are not kept; for how many that was the last time
SPENT = 23  # evaluations up to the last step
DESCRIBED = 22  # whether ``w.terms`` describe the last evaluated state, as they do unless it was in flight
# Values of HELD other than zero: the forces that laws give are held; nor do the rows change, so no kernel is called.
# SAME: forces are found anew where state, time and inputs are those last evaluated, so no kernel is called either.
FORCES, ROWS, SAME = 1, 2, 3


class Log(NamedTuple):
    """Growing records: rows of the trajectory, events, and accepted steps."""

    rows: Matrix  # n × columns, see `columns`
    events: Matrix  # n × EVENT_COLUMNS
    steps: Matrix  # n × 2: start and length of each accepted step
    used: Integers  # rows, events, steps in use


# Time, contact, mode before, mode after, impulse, index of the row on the left side, impulse of an impact, and of what
# stopped its slips.
EVENT_COLUMNS = 8


_ROOM = 2048  # rows and steps of a log at first


def log_of(plant: Plant) -> Log:
    """Allocate an empty log."""
    return Log(
        rows=np.zeros((_ROOM, columns(plant)["y"].stop)),
        events=np.zeros((64 + 4 * plant.nc, EVENT_COLUMNS)),
        steps=np.zeros((_ROOM, 2)),
        used=np.zeros(3, dtype=np.int64),
    )


def columns(plant: Plant) -> dict[str, slice]:
    """Return where each kind of signal stands in a row of the log."""
    sizes = {
        "t": 1,
        "q": plant.nq,
        "v": plant.nv,
        "u": plant.nu,
        "g": plant.nh + plant.nc + plant.ns + plant.ne,
        "rate": plant.nh + plant.nc + plant.ns + plant.ne,
        "force": plant.nh + plant.nc + plant.ns + plant.ne,
        "mode": plant.nc,
        "impulse": plant.nc + plant.nt,
        "rubbing": plant.nr,
        "work": len(WORKS),
        "energies": 2,
        "y": plant.ny,
    }
    places, start = {}, 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places


@jit
def impulses(plant: Plant) -> int:
    """Return where the impulses stand in the integrated vector."""
    return plant.nq + plant.nv + plant.nc + plant.nt + plant.nb + plant.ne


@jit
def works(plant: Plant) -> int:
    """Return where the work stands in the integrated vector; before it, that of each contact's friction."""
    return impulses(plant) + plant.nc + plant.nt + plant.nr


@jit
def assign(target: Any, source: Any) -> None:
    """Copy a vector into the first elements of another; slices would ask numba for memory."""
    for i in range(source.size):
        target[i] = source[i]


@jit
def swap(one: Any, other: Any) -> None:
    """Exchange the elements of two vectors."""
    for i in range(one.size):
        one[i], other[i] = other[i], one[i]


@jit
def assign_rows(target: Any, source: Any) -> None:
    """Copy one description of all rows into another."""
    for k in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[k, i] = source[k, i]


def _stand_workspace(contacts: int, m: int) -> StandWorkspace:
    return StandWorkspace(np.zeros(m, dtype=np.int64), np.zeros((m, m)), np.zeros(m), cones(contacts, m))


def _start_times() -> Any:
    times = np.zeros(CAP + 1)
    times[[LEFT_TIME, ROW_TIME, MARK, LEAPED, BEGAN, LAST]] = -np.inf
    times[ERROR], times[CAP] = LEAST_ERROR, np.inf
    return times


def workspace(plant: Plant, kernel: Kernel, flight: Kernel | None = None) -> Workspace:
    """Allocate everything a run of this plant writes to, and what these kernels do; see `terms`."""
    n = plant.nq + plant.nv + 2 * (plant.nc + plant.nt) + plant.nb + plant.ne + plant.nr + len(WORKS)
    m, s = plant.nh + plant.nc + plant.ns, plant.tableau.c.size
    guards = GUARDS + min(plant.ne, 1) + 2 * min(plant.nt, 1)
    return Workspace(
        y=np.zeros(n),
        u=np.zeros(plant.nu),
        command=np.zeros(plant.nu),
        held=np.zeros(plant.nu),
        seen=np.zeros(plant.nq + plant.nv + plant.ny),
        mode=np.zeros(plant.nc, dtype=np.int64),
        time=_start_times(),
        counts=np.zeros(24, dtype=np.int64),
        K=np.zeros((s, n)),
        trial=np.zeros(n),
        scratch=np.zeros((2, n)),
        terms=kernel.record(Terms),
        flight=no_record(Flight) if flight is None else flight.record(Flight),
        signal=np.zeros(plant.signal_size),
        rows=np.zeros((4, m + plant.ne)),
        rows_start=np.zeros((4, m + plant.ne)),
        rows_end=np.zeros((4, m + plant.ne)),
        prescribed=np.zeros(m, dtype=np.int64),
        value=np.zeros(m),
        attempt=np.zeros(m),
        delassus=np.zeros((m, m) if plant.settle else (0, 0)),
        rub=np.zeros(plant.nc),
        stand=_stand_workspace(*((plant.nc, m) if plant.settle else (0, 0))),
        anchor=np.zeros(plant.ns),
        bent=np.zeros(plant.ns),
        direction=np.zeros(plant.ns),
        solver=row_workspace(m),
        poly=np.zeros((3 + 2 * plant.nt, plant.tableau.dense.shape[1])),
        grip=np.zeros((4, m if plant.nt else 0)),
        nodes=np.zeros((guards * PARTS, NODES.size)),
        bernstein=np.zeros((guards * PARTS, NODES.size)),
        parts=np.zeros((3, plant.nc, guards * PARTS)),
        watched=np.zeros(plant.nc, dtype=np.int64),
        guards=np.zeros((3, plant.nc, guards)),
        candidates=np.zeros((plant.nc, guards)),
        after=np.zeros((plant.nc, guards)),
        stack=root_workspace(),
        left_y=np.zeros(n),
        left_mode=np.zeros(plant.nc, dtype=np.int64),
        fired=np.zeros(plant.nc, dtype=np.int64),
        left_direction=np.zeros(plant.ns),
        tried_direction=np.zeros(plant.ns),
        begins=np.zeros(plant.nc, dtype=np.int64),
        turned=np.zeros(plant.nc, dtype=np.int64),
        struck=np.zeros(plant.nc, dtype=np.int64),
        impact=impact_workspace(*((plant.nh, plant.nc, plant.ns) if plant.strike or plant.settle else (0, 0, 0))),
        implicit=implicit_workspace(*((n, plant.nq + plant.nv + plant.ns, m) if plant.implicit else (0, 0, 0))),
        proof=proof_workspace(plant.proof),
        since=np.zeros(plant.nc),
        extremes=extremes_of(plant.nc, plant.ns),
        changed=np.zeros(plant.nc, dtype=np.int64),
    )
