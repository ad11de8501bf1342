"""How coordinates follow velocities, q̇ = N(q) v: most are their integrals, quaternions turn."""

from __future__ import annotations

from math import sqrt
from typing import Any

from impinge.compile import inlined, jit
from impinge.geometry.rotation import quaternion_rate, turn
from impinge.simulation.system.plant import VALUE, Plant, Workspace


@inlined
def write_rates(plant: Plant, y: Any, dy: Any) -> None:
    """Write the rates of the coordinates of a state to its derivative."""
    nq = plant.nq
    if plant.spins.shape[0] == 0:
        for i in range(nq):
            dy[i] = y[nq + i]
        return
    for k in range(plant.nv):
        if plant.straight[k] >= 0:
            dy[plant.straight[k]] = y[nq + k]
    for k in range(plant.spins.shape[0]):
        e, s = plant.spins[k, 0], nq + plant.spins[k, 1]
        quaternion_rate(y[e : e + 4], y[s], y[s + 1], y[s + 2], dy[e : e + 4])


@jit
def move_along(plant: Plant, q: Any, v: Any, h: float) -> None:
    """Move coordinates along velocities that stay as they are for a time; quaternions keep their length of one."""
    for k in range(plant.nv):
        if plant.straight[k] >= 0:
            q[plant.straight[k]] += h * v[k]
    for k in range(plant.spins.shape[0]):
        e, s = plant.spins[k, 0], plant.spins[k, 1]
        turn(q[e : e + 4], h * v[s], h * v[s + 1], h * v[s + 2])


@jit
def make_unit(plant: Plant, w: Workspace) -> None:
    """Scale the quaternions that a step begins with to length one, and their rates with them.

    All that depends on a quaternion depends on its direction alone, so nothing else changes.
    """
    for k in range(plant.spins.shape[0]):
        first, square = plant.spins[k, 0], 0.0
        for i in range(first, first + 4):
            square += w.y[i] * w.y[i]
        scale = 1.0 / sqrt(square)
        for i in range(first, first + 4):
            w.y[i] *= scale
            w.K[0, i] *= scale


@jit
def count_slips(plant: Plant, w: Workspace, y: Any, dy: Any) -> None:
    """Show how far contacts have slid where slips count that; they rest while their contact is open."""
    for s in range(plant.ns):
        c, place = plant.normal[plant.nh + plant.nc + s] - plant.nh, plant.nq + plant.nv + plant.nc + s
        if plant.counted[s] != 0:
            w.rows[VALUE, plant.nh + plant.nc + s] = y[place]
            if plant.closed[c, w.mode[c]] == 0:
                dy[place] = 0.0
