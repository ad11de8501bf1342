"""Contact problems of one time step, for tests."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from impinge.compile import Struct
from impinge.contact.coulomb import NO_ROOM, Problem, Work, allocate, enlarge, solve

GRAVITY = 9.81


class Touch(NamedTuple):
    """A contact at a point: first body, second body, point, normal from the second to the first, gap."""

    a: int
    b: int
    at: np.ndarray
    normal: np.ndarray
    gap: float = 0.0


def frame(normal):
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first)
    return np.array([normal, first, np.cross(normal, first)])


def rigid(centers, mass, inertia, free, touches, mu, step=1.0):
    """Problem of rigid bodies with velocities (linear, angular) in world axes."""
    nb, nc = len(centers), len(touches)
    problem, work = allocate(nc, nb)
    problem.count[0] = nc
    for b in range(nb):
        problem.mass[b] = np.diag([mass[b]] * 3 + [0.0] * 3)
        problem.mass[b, 3:, 3:] = inertia[b] * np.eye(3) if np.ndim(inertia[b]) < 2 else inertia[b]
        problem.inverse[b] = np.linalg.inv(problem.mass[b])
    problem.free[:] = free
    for c, touch in enumerate(touches):
        axes = frame(np.asarray(touch.normal, float))
        for side, (body, sign) in enumerate(((touch.a, 1.0), (touch.b, -1.0))):
            problem.body[c, side] = body
            if body >= 0:
                arm = touch.at - centers[body]
                problem.J[c, :, 6 * side : 6 * side + 6] = sign * np.hstack([axes, np.cross(arm, axes)])
        problem.bias[c, 0] = touch.gap / step
    problem.mu[:] = mu
    return problem, work


def balls(at, velocity, mu, radius=0.5, density=None, reach=None, step=1.0):
    """Balls that touch each other and the ground z = 0."""
    at = np.asarray(at, float)
    mass = 1.0 if density is None else density * 4 / 3 * np.pi * radius**3
    reach, up, touches = 2 * radius + 1e-9 if reach is None else reach, np.array([0.0, 0.0, 1.0]), []
    for i, p in enumerate(at):
        if p[2] < reach - radius:
            touches.append(Touch(i, -1, p - p[2] * up, up, p[2] - radius))
        for k in np.flatnonzero(np.linalg.norm(at[i + 1 :] - p, axis=1) < reach) + i + 1:
            apart = np.linalg.norm(p - at[k])
            touches.append(Touch(i, int(k), (p + at[k]) / 2, (p - at[k]) / apart, apart - 2 * radius))
    n = len(at)
    free = np.hstack([np.broadcast_to(velocity, (n, 3)), np.zeros((n, 3))])
    return rigid(at, [mass] * n, [0.4 * mass * radius**2] * n, free, touches, mu, step)


def heap(layers, mu):
    """Square layers of balls, each in the hollows of the one below, after one step of free fall."""
    spacing = 1.05
    rise = np.sqrt(1.0 - spacing**2 / 2)
    at = [
        (spacing * (x + level / 2), spacing * (y + level / 2), 0.5 + level * rise)
        for level in range(layers)
        for x, y in itertools.product(range(layers - level), repeat=2)
    ]
    return balls(at, [0.0, 0.0, -0.1], mu)


def wall(columns, height, mu=0.5):
    """A wall of columns of balls that touch, after one step of free fall pushed along and across."""
    x, z = np.meshgrid(np.arange(columns), np.arange(height))
    at = np.column_stack([x.ravel(), np.zeros(x.size), 0.5 + z.ravel()]) * 1.0
    return balls(at, [0.02, 0.1, -0.0981], mu)


class Run:
    """A problem packed with its work space, solved as often as asked."""

    def __init__(self, problem: Problem, work: Work) -> None:
        self.problem, self.work = problem, work
        self.packed = Struct(problem), Struct(work)

    def __call__(self, tolerance: float = 1e-12, scale: float = 0.0) -> int:
        status = solve(*(p.address for p in self.packed), tolerance, scale)
        while status == NO_ROOM:
            self.work = enlarge(self.work)
            self.packed = self.packed[0], Struct(self.work)
            status = solve(*(p.address for p in self.packed), tolerance, scale)
        return status

    def rates(self):
        p = self.problem
        v = np.where(p.body[:, :, None] >= 0, p.v[p.body], 0.0)
        return np.einsum("crj,cj->cr", p.J, v.reshape(len(v), -1)) + p.bias


def box_on_incline(angle, mu, speed=(0.0, 0.0), step=1e-3, size=(0.2, 0.2, 0.1)):
    """A box on four points of a plane, in the axes of the plane: x downhill, z away from it."""
    half = np.array(size) / 2
    inertia = np.diag([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2]) / 3
    fall = GRAVITY * step * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    touches = [
        Touch(0, -1, np.array([x * half[0], y * half[1], -half[2]]), np.array([0.0, 0.0, 1.0]))
        for x, y in itertools.product((-1, 1), repeat=2)
    ]
    free = [[speed[0] + fall[0], speed[1], fall[2], 0.0, 0.0, 0.0]]
    return rigid(np.zeros((1, 3)), [1.0], [inertia], free, touches, mu)


def stack(boxes, mu=0.5, step=1e-3, masses=None):
    """Boxes on top of each other, four points between two, after one step of gravity."""
    masses = np.ones(boxes) if masses is None else np.asarray(masses, float)
    centers = np.array([[0.0, 0.0, 0.05 + 0.1 * k] for k in range(boxes)])
    inertia = [m * np.diag([0.05**2 * 2] * 3) / 3 for m in masses]
    touches = [
        Touch(k, k - 1, np.array([0.05 * x, 0.05 * y, 0.1 * k]), np.array([0.0, 0.0, 1.0]))
        for k in range(boxes)
        for x, y in itertools.product((-1, 1), repeat=2)
    ]
    free = np.tile([0.0, 0.0, -GRAVITY * step, 0.0, 0.0, 0.0], (boxes, 1))
    return rigid(centers, masses, inertia, free, touches, mu)


def arch(stones=7, mu=0.8, step=1e-3, inner=1.0, outer=1.4, width=0.4):
    """A half-circle of wedges that stands on two abutments which do not move, after one step of gravity."""
    joint = np.linspace(0.0, np.pi, stones + 1)
    middle, radius, touches = (joint[:-1] + joint[1:]) / 2, (inner + outer) / 2, []
    centers = np.column_stack([radius * np.cos(middle), np.zeros(stones), radius * np.sin(middle)])
    for k, angle in enumerate(joint):
        along = np.array([-np.sin(angle), 0.0, np.cos(angle)])  # towards the next stone
        a, b = (k, k - 1) if k < stones else (k - 1, -1)
        for r, y in itertools.product((inner, outer), (-width / 2, width / 2)):
            at = np.array([r * np.cos(angle), y, r * np.sin(angle)])
            touches.append(Touch(a, b, at, along if k < stones else -along))
    free = np.tile([0.0, 0.0, -GRAVITY * step, 0.0, 0.0, 0.0], (stones, 1))
    return rigid(centers, [50.0] * stones, [1.5] * stones, free, touches, mu)


def scatter(count, seed, mu=0.5):
    """Bodies with random inertia that touch each other and the ground at random, moving at random."""
    rng = np.random.default_rng(seed)
    bodies = max(1, count // 2)
    centers, touches = rng.normal(size=(bodies, 3)), []
    for _ in range(count):
        a = int(rng.integers(bodies))
        b = int(rng.integers(-1, bodies))
        normal = rng.normal(size=3)
        at = centers[a] + 0.3 * rng.normal(size=3)
        touches.append(Touch(a, b if b != a else -1, at, normal / np.linalg.norm(normal)))
    inertia = [np.diag(rng.uniform(0.1, 1.0, 3)) for _ in range(bodies)]
    friction = rng.uniform(0.0, 2 * mu, count)
    return rigid(centers, rng.uniform(0.5, 2.0, bodies), inertia, rng.normal(size=(bodies, 6)), touches, friction)


def loose_pile(count, mu=0.5, seed=0):
    """Balls that were pushed down and apart until they hardly overlap, after one step of gravity."""
    rng = np.random.default_rng(seed)
    radius, step, width = 0.02, 2e-3, 0.04 * max(2.0, 1.3 * np.cbrt(count))
    at = rng.uniform(radius, width - radius, (count, 3))
    for _ in range(300):
        at[:, 2] -= 0.02 * radius
        apart = at[:, None] - at[None]
        distance = np.linalg.norm(apart, axis=2) + 10 * np.eye(count)
        overlap = np.maximum(2 * radius - distance, 0.0)
        at += 0.4 * np.einsum("ij,ijk->ik", overlap / distance, apart)
        at = np.clip(at, radius, [width - radius, width - radius, np.inf])
    return balls(at, [0.0, 0.0, -GRAVITY * step], mu, radius, 1000.0, 2 * radius * 1.002, step)
