"""What a time stepper needs in memory beside a plant and its workspace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impinge.compile import Integers, Matrix, Vector, call, jit
from impinge.contact.nearest_force import Cones, cones
from impinge.contact.restitution import RestitutionWorkspace, restitution_workspace
from impinge.simulation.system.plant import EVALUATIONS, Plant, Workspace

SEMI_IMPLICIT, EXPLICIT, IMPLICIT = 0, 1, 2


class Stepper(NamedTuple):
    """A plant and how it is stepped."""

    plant: Plant
    kernel: int  # address of the model's `stepping`
    impulses: int  # addresses of `impulses.step_impulses`, `cone_impulses`, `rebound_impulses` and `stand_impulses`
    cone: int
    rebound: int
    stand: int
    step: float
    scheme: int
    facets: int


class StepWorkspace(NamedTuple):
    """Arrays that a time stepper writes to, beside those of every run (m rows: nh constraints, nc gaps, ns slips)."""

    w: Workspace
    problem: RestitutionWorkspace
    velocity: Vector  # v⁻: after the smooth forces and what the constraints take of them, nv
    next: Vector  # v⁺, nv
    travel: Vector  # the velocity along which coordinates move, nv: v⁺ unless something was struck
    travel_rates: Vector  # the rates that it gives the rows, m
    guess: Vector  # state at the end of the step, as the implicit scheme has it so far, 2 nv
    before: Vector  # rates of the rows with the smooth forces alone, m
    free: Vector  # with v⁻, m
    after: Vector  # with v⁺, m
    least: Vector  # rate that a gap must have at least, and a constraint must have, nh + nc
    impulse: Vector  # of all rows, m
    held: Vector  # of the constraints as if nothing touched, nh
    member: Integers  # contacts that are part of the problem: 0 or 1, nc
    contacts: Integers  # which these are, nc
    rows: Integers  # rows of the problem's unknowns, nc + ns
    slips: Integers  # as the plant's, for the contacts of the problem, nc + 1
    mu: Vector  # nc
    W: Matrix  # Delassus matrix of the problem, the constraints eliminated, nc + ns
    solution: Vector  # nc + ns
    wanted: Vector  # what impulses are to change rates by, for nothing to move, nc + ns
    cones: Cones  # what contacts can give
    Y: Matrix  # L⁻¹ W between constraints and unknowns, nh × (nc + ns)
    power: Vector  # at the start of the step, 3


def step_workspace(plant: Plant, w: Workspace, facets: int) -> StepWorkspace:
    """Allocate what one run writes to."""
    contacts = plant.nc + plant.ns
    m = plant.nh + contacts
    return StepWorkspace(
        w=w,
        problem=restitution_workspace(contacts, plant.nc, facets),
        velocity=np.zeros(plant.nv),
        next=np.zeros(plant.nv),
        travel=np.zeros(plant.nv),
        travel_rates=np.zeros(m),
        guess=np.zeros(plant.nq + plant.nv),
        before=np.zeros(m),
        free=np.zeros(m),
        after=np.zeros(m),
        least=np.zeros(plant.nh + plant.nc),
        impulse=np.zeros(m),
        held=np.zeros(plant.nh),
        member=np.zeros(plant.nc, dtype=np.int64),
        contacts=np.zeros(plant.nc, dtype=np.int64),
        rows=np.zeros(contacts, dtype=np.int64),
        slips=np.zeros(plant.nc + 1, dtype=np.int64),
        mu=np.zeros(plant.nc),
        W=np.zeros((contacts, contacts)),
        solution=np.zeros(contacts),
        wanted=np.zeros(contacts),
        cones=cones(plant.nc, contacts),
        Y=np.zeros((plant.nh, contacts)),
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
