"""Many balls that touch: a wall of columns side by side, and a loose cloud; friction at every contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impinge.contact.lcp.contacts import contact_graph
from impinge.contact.lcp.gauss_seidel import ContactGraph

FloatArray = NDArray[np.float64]

GRAVITY = 9.81
STEP = 1e-2
RADIUS = 0.5
_TOUCH = 1e-9


def _rows(normal: FloatArray, arm: FloatArray) -> FloatArray:
    """Return the rates of gap and slips (3, 6) of a body that is pushed along the normal at an arm from its center."""
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    frame = np.array([normal, first, np.cross(normal, first)])
    return np.hstack([frame, np.cross(arm, frame)])


def balls(at: FloatArray, velocity: FloatArray, friction: float, reach: float = 2 * RADIUS) -> ContactGraph:
    """Return the contacts of balls with each other, up to a distance of their centers, and with the ground z = 0.

    Args:
        at: centers of the balls (n, 3).
        velocity: of their centers (n, 3).
        friction: coefficient of all contacts.
        reach: distance at which two balls are in contact.
    """
    up, n = np.array([0.0, 0.0, 1.0]), len(at)
    bodies, J = [], []
    for i, place in enumerate(at):
        if place[2] < RADIUS + _TOUCH:
            bodies.append((i, -1))
            J.append(np.hstack([_rows(up, -RADIUS * up), np.zeros((3, 6))]))
        for k in np.flatnonzero(np.linalg.norm(at[i + 1 :] - place, axis=1) < reach + _TOUCH) + i + 1:
            normal = (place - at[k]) / np.linalg.norm(place - at[k])
            bodies.append((i, int(k)))
            J.append(np.hstack([_rows(normal, -RADIUS * normal), -_rows(normal, RADIUS * normal)]))
    inverse_mass = np.diag([1.0] * 3 + [1.0 / (0.4 * RADIUS**2)] * 3)
    free = np.hstack([velocity, np.zeros((n, 3))])
    return contact_graph(
        np.reshape(bodies, (-1, 2)),
        np.reshape(J, (-1, 3, 12)),
        np.tile(inverse_mass, (n, 1, 1)),
        free,
        np.full(len(J), friction),
    )


def wall(columns: int, height: int, friction: float = 0.5) -> ContactGraph:
    """Return a wall of columns that touch, after one step of free fall pushed along and across."""
    x, z = np.meshgrid(np.arange(columns), np.arange(height))
    at = np.column_stack([x.ravel(), np.zeros(x.size), RADIUS + z.ravel()]) * 1.0
    return balls(at, np.tile([0.02, 0.1, -GRAVITY * STEP], (len(at), 1)), friction)


def cloud(count: int, friction: float = 0.5, seed: int = 0) -> ContactGraph:
    """Return balls scattered at random, about five contacts each, that move at random."""
    rng = np.random.default_rng(seed)
    at = rng.uniform(0.0, np.cbrt(1.2 * count), size=(count, 3)) + np.array([0.0, 0.0, 2 * RADIUS])
    return balls(at, rng.normal(size=(count, 3)), friction)
