"""What a system's kernels write, by name: arrays that stand one after another, as the kernel has them.

With m rows (nh constraints, nc gaps, ns slips) and ne extents. Matrices stand as kernels write them, column by column:
``response[i]`` is what a unit force in row i does to the velocities. Each record begins with what the kernel writes
first, so the address of that is where the kernel writes.
"""

from __future__ import annotations

from typing import NamedTuple

from impinge.compile import Matrix, Vector


class Terms(NamedTuple):
    """What `Model.dynamics` or `Model.stepping` says of a state: v̇ = free + Σ λᵢ response[i], g̈ = drift + W λ."""

    free: Vector  # accelerations without any row's force, nv
    g: Vector  # rows, m
    rate: Vector  # ġ, m
    drift: Vector  # g̈ without any row's force, m
    partial: Vector  # ∂g/∂t, m
    power: Vector  # of applied forces, of damping, of explicit time, 3
    response: Matrix  # M⁻¹Aᵀ, m × nv
    W: Matrix  # A M⁻¹Aᵀ, m × m
    extent: Vector  # of surfaces that end, ne
    extent_rate: Vector  # ne
    A: Matrix  # ∂g/∂q, m × nv; empty but for a time stepper
    M: Matrix  # inertia, nv × nv; empty but for a time stepper


class Flight(NamedTuple):
    """What `Model.flight` says of a state in which no contact is closed."""

    a: Vector  # accelerations, nv
    force: Vector  # of the constraints, nh
    g: Vector  # m
    rate: Vector  # m
    partial: Vector  # of the constraints, nh
    power: Vector  # 3
    extent: Vector  # ne
    extent_rate: Vector  # ne
    pivot: Vector  # how far constraints are from being redundant, 1
