"""What a time stepper needs in memory beside a plant and its workspace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, call, jit
from impinge.contact.coulomb.problem import Problem, Work, allocate, pivots_of
from impinge.contact.coulomb.solve import solve
from impinge.contact.nearest_force import Cones, cones
from impinge.simulation.system.plant import EVALUATIONS, Plant, Workspace

SEMI_IMPLICIT, EXPLICIT, IMPLICIT = 0, 1, 2


class Stepper(NamedTuple):
    """A plant and how it is stepped."""

    plant: Plant
    kernel: int  # address of the model's `stepping`
    impulses: int  # addresses of `contacts.step_impulses`, `strike_impulses` and `stand_impulses`
    strike: int
    stand: int
    solve: int  # of the solver of the contact problem
    step: float
    scheme: int
    tolerance: float


class StepWorkspace(NamedTuple):
    """Arrays that a time stepper writes to, beside those of every run (m rows: nh constraints, nc gaps, ns slips)."""

    w: Workspace
    problem: Problem
    work: Work
    pushed: Vector  # of each contact of the problem, see `impulses` and `work`
    plain: Matrix
    least: Vector
    leave: Vector
    smooth: Vector
    given: Vector
    velocity: Vector  # v⁻: after the smooth forces and what the constraints take of them, nv
    next: Vector  # v⁺, nv
    travel: Vector  # the velocity along which coordinates move, nv: v⁺ unless something was struck
    travel_rates: Vector  # the rates that it gives the rows, m
    guess: Vector  # state at the end of the step, as the implicit scheme has it so far, 2 nv
    before: Vector  # rates of the rows with the smooth forces alone, m
    free: Vector  # with v⁻, m
    after: Vector  # with v⁺, m
    least_rate: Vector  # rate that a gap must have at least, and a constraint must have, nh + nc
    impulse: Vector  # of all rows, m
    held: Vector  # of the constraints as if nothing touched, nh
    member: Integers  # contacts that take part: 1; 0 if they do not, −1 if they may not, nc
    contacts: Integers  # those of the problem, nc
    rows: Integers  # of what rests and takes part, nc + ns
    W: Matrix  # of these rows, the constraints eliminated
    wanted: Vector  # what impulses are to change their rates by, for nothing to move, nc + ns
    cones: Cones  # what their contacts can give
    Y: Vector  # of one row, while the constraints are eliminated, nh
    Z: Matrix  # of all rows, nh × (nc + ns)
    power: Vector  # of applied forces, of damping, of explicit time, 3


class ModelSteps(NamedTuple):
    """A model that is stepped."""

    stepper: Stepper
    k: StepWorkspace


def step_workspace(plant: Plant, w: Workspace, facets: int) -> StepWorkspace:
    """Allocate what one run writes to."""
    nc, contacts = plant.nc, plant.nc + plant.ns
    m = plant.nh + contacts
    problem, work = allocate(nc, 1, plant.nv)
    problem.body[:, 0] = 0
    pivots = pivots_of(nc, facets, solve.address)
    return StepWorkspace(
        w=w,
        problem=problem,
        work=work._replace(pivoting=pivots),
        pushed=np.zeros(nc),
        plain=np.zeros((nc, 3)),
        least=np.zeros(nc),
        leave=np.zeros(nc),
        smooth=np.zeros(nc),
        given=np.zeros(nc),
        velocity=np.zeros(plant.nv),
        next=np.zeros(plant.nv),
        travel=np.zeros(plant.nv),
        travel_rates=np.zeros(m),
        guess=np.zeros(plant.nq + plant.nv),
        before=np.zeros(m),
        free=np.zeros(m),
        after=np.zeros(m),
        least_rate=np.zeros(plant.nh + nc),
        impulse=np.zeros(m),
        held=np.zeros(plant.nh),
        member=np.zeros(nc, dtype=np.int64),
        contacts=np.zeros(nc, dtype=np.int64),
        rows=np.zeros(contacts, dtype=np.int64),
        W=np.zeros((contacts, contacts)),
        wanted=np.zeros(contacts),
        cones=cones(nc, contacts),
        Y=np.zeros(plant.nh),
        Z=np.zeros((plant.nh, contacts)),
        power=np.zeros(3),
    )


@jit
def look(stepper: Stepper, k: StepWorkspace, t: float, y: Any) -> None:
    """Evaluate the kernel at a state: its one call per step."""
    plant = stepper.plant
    nq, nv = plant.nq, plant.nv
    call(stepper.kernel, (y[:nq], y[nq : nq + nv], t, k.w.u, plant.parameters, k.w.terms.free))
    k.w.counts[EVALUATIONS] += 1


@jit
def rates(plant: Plant, w: Workspace, velocity: Any, result: Any) -> None:
    """Write the rates that a velocity gives the rows, with A and ∂g/∂t as last evaluated."""
    terms = w.terms
    for i in range(terms.partial.size):
        total = terms.partial[i]
        for j in range(plant.nv):
            total += terms.A[i, j] * velocity[j]
        result[i] = total


@jit
def kick(plant: Plant, w: Workspace, row: int, impulse: float, velocity: Any) -> None:
    """Add what an impulse on a row does to a velocity."""
    for j in range(plant.nv):
        velocity[j] += w.terms.response[row, j] * impulse
