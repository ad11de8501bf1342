"""Bodies on many contacts, loads for them, and linear programs that say which forces could hold them.

A body moves a little from where it rests: its displacement is d + θ × r. Contacts are points r with a normal, tangents
and a coefficient of friction, all of them parameters, so one model serves all shapes with as many contacts. The oracle
knows nothing of the model: it adds up forces and moments.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy.optimize import linprog

from impinge.model import Model, ModelBuilder

FACETS = 48
CLEARLY = 1e-5  # N, of loads of about 1 N: the linear programs are solved to 1e-7
WIDE = 1e-3  # N: forces that may change by this are not unique


@dataclass(frozen=True)
class Case:
    """A body and its load: points, normals and tangents (n × 3, n × 3, n × slips × 3), μ (n), force and moment (6)."""

    family: str
    points: np.ndarray
    normals: np.ndarray
    tangents: np.ndarray
    mu: np.ndarray
    load: np.ndarray

    @property
    def axes(self) -> list[int]:
        """Which of (x, y, z, and rotations about them) the body can do."""
        return {"table": [2, 3, 4], "planar": [0, 2, 4], "spatial": [0, 1, 2, 3, 4, 5]}[self.kind]

    @property
    def kind(self) -> str:
        return {0: "table", 1: "planar", 2: "spatial"}[self.tangents.shape[1]]

    @property
    def contacts(self) -> list[str]:
        return [f"c{k}" for k in range(len(self.mu))]

    @property
    def wrenches(self) -> np.ndarray:
        """What one newton of each force does: columns in the order of a model's rows, gaps before slips."""
        slips = self.tangents.reshape(-1, 3)
        at = np.vstack([self.points, np.repeat(self.points, self.tangents.shape[1], axis=0)])
        along = np.vstack([self.normals, slips])
        return np.hstack([along, np.cross(at, along)]).T[self.axes]

    def parameters(self) -> dict[str, float]:
        named = {f"f{k}": float(self.load[i]) for k, i in enumerate(self.axes)}
        for k in range(len(self.mu)):
            named[f"mu{k}"] = float(self.mu[k])
            for j, direction in enumerate([self.normals[k], *self.tangents[k]]):
                moment = np.concatenate([direction, np.cross(self.points[k], direction)])[self.axes]
                named |= {f"a{k}_{j}_{i}": float(x) for i, x in enumerate(moment)}
        return named

    def slips_of(self, k: int) -> list[int]:
        n, per = len(self.mu), self.tangents.shape[1]
        return [n + per * k + j for j in range(per)]

    def names(self) -> list[str]:
        per = self.tangents.shape[1]
        ends = {0: [], 1: [""], 2: ["_1", "_2"]}[per]
        return [f"force_{c}" for c in self.contacts] + [f"friction_{c}{end}" for c in self.contacts for end in ends]


@functools.cache
def body(kind: str, n: int, drives: int = 0) -> Model:
    """Return a body with n contacts and some inputs; its inertia matters little, its load is one of its parameters."""
    b = ModelBuilder(f"{kind}{n}_{drives}")
    names = {
        "table": ["z", "roll", "pitch"],
        "planar": ["x", "z", "pitch"],
        "spatial": [*"xyz", "roll", "pitch", "yaw"],
    }
    moves = [b.coordinate(name, unit="m" if len(name) == 1 else "rad") for name in names[kind]]
    q = ca.vertcat(*(x for x, _ in moves))
    b.kinetic(sum((0.5 + 0.3 * k) * v**2 / 2 for k, (_, v) in enumerate(moves)))
    for k, (x, _) in enumerate(moves):
        b.force(b.parameter(f"f{k}", 0.0), along=x)
    for k in range(drives):
        b.force(b.input(f"u{k}"), along=sum(b.parameter(f"b{k}_{i}", 0.0) * x for i, (x, _) in enumerate(moves)))
    slips = {"table": 0, "planar": 1, "spatial": 2}[kind]
    for c in range(n):
        mu = b.parameter(f"mu{c}", 0.5)
        # Values that are not all the same: a row that is no row, 0 = 0, is refused by the builder.
        rows = [
            ca.dot(ca.vertcat(*(b.parameter(f"a{c}_{j}_{i}", 0.1 + 0.1 * i + j + c) for i in range(len(moves)))), q)
            for j in range(1 + slips)
        ]
        b.gap(f"c{c}", rows[0], slip=rows[1:], friction=mu if slips else None)
    return b.build()


def tangents_of(normals: np.ndarray, turn: float) -> np.ndarray:
    """Return two tangents for each normal, turned by an angle about it."""
    some = np.where(np.abs(normals[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(normals, some)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(normals, first)
    both = np.cos(turn) * first + np.sin(turn) * second, np.cos(turn) * second - np.sin(turn) * first
    return np.stack(both, axis=1)


def case_of(family: str, seed: int) -> Case:
    """Return a random body of a family with a random load of about 1 N, of which about half can be held."""
    rng = np.random.default_rng([seed, sum(map(ord, family))])
    up, load = np.array([0.0, 0.0, 1.0]), np.zeros(6)
    if family == "table":
        n = int(rng.integers(3, 9))
        points = np.column_stack([rng.uniform(-0.5, 0.5, (n, 2)), np.zeros(n)])
        load[:3], at = -up, np.append(rng.dirichlet(np.ones(n) * 1.5) @ points[:, :2] * rng.uniform(0.5, 4.0), 0.0)
        load[3:] = np.cross(at, load[:3])
        return Case(family, points, np.tile(up, (n, 1)), np.zeros((n, 0, 3)), np.zeros(n), load)
    if family == "feet":  # a block on feet in a row
        n = int(rng.integers(2, 6))
        points = np.column_stack([rng.uniform(-0.5, 0.5, n), np.zeros(n), rng.uniform(-0.1, 0.1, n)])
        push, at = np.array([rng.normal() * 0.4, 0.0, -1.0]), np.array([rng.uniform(-0.4, 0.4), 0.0, 0.2])
        load = np.concatenate([push, np.cross(at, push)])
        sideways = np.tile([[[1.0, 0.0, 0.0]]], (n, 1, 1))
        return Case(family, points, np.tile(up, (n, 1)), sideways, rng.uniform(0.1, 0.9, n), load)
    if family == "wedge":  # a box between two walls that lean, its weight any way
        n = int(rng.integers(2, 6))
        side, lean = np.where(np.arange(n) % 2 == 0, -1.0, 1.0), rng.uniform(-0.6, 0.6)
        points = np.column_stack([0.2 * side, np.zeros(n), rng.uniform(-0.3, 0.3, n)])
        normals = np.column_stack([-side * np.cos(lean), np.zeros(n), np.full(n, np.sin(lean))])
        push = rng.normal(size=3) * [0.5, 0.0, 1.0]
        load = np.concatenate([push, np.cross(rng.uniform(-0.15, 0.15, 3), push)]) * [1, 0, 1, 0, 1, 0]
        tangents = np.stack([normals[:, 2], np.zeros(n), -normals[:, 0]], axis=1)[:, None, :]
        return Case(family, points, normals, tangents, rng.uniform(0.1, 0.7, n), load)
    n = int(rng.integers(3, 9 if family == "stand" else 6))
    points = rng.uniform(-0.5, 0.5, (n, 3)) * [1.0, 1.0, 0.2 if family == "stand" else 1.0]
    if family == "stand":  # a spatial body on frictional feet
        normals = np.tile(up, (n, 1)) + 0.1 * rng.normal(size=(n, 3))
        push, at = np.append(rng.normal(size=2) * 0.3, -1.0), np.append(rng.uniform(-0.3, 0.3, 2), 0.2)
    else:  # "grasp": fingers all around it
        normals = -points + 0.3 * rng.normal(size=(n, 3)) * 0.5
        push, at = rng.normal(size=3), rng.uniform(-0.2, 0.2, 3)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    load = np.concatenate([push, np.cross(at, push)])
    return Case(family, points, normals, tangents_of(normals, rng.uniform(0, 6)), rng.uniform(0.1, 0.9, n), load)


FAMILIES = ("table", "feet", "wedge", "stand", "grasp")


def _limits(case: Case, outer: bool) -> np.ndarray:
    """Return C with C λ ≤ 0 for forces within their limits: exact along lines, polygons around disks or in them."""
    rows, m = [], case.wrenches.shape[1]
    for k, mu in enumerate(case.mu):
        slips = case.slips_of(k)
        row = np.zeros(m)
        row[k] = -1.0
        rows.append(row)
        count = {0: 0, 1: 2, 2: FACETS}[len(slips)]
        for angle in 2 * np.pi * np.arange(count) / max(count, 1):
            row = np.zeros(m)
            row[slips] = [np.cos(angle), np.sin(angle)][: len(slips)]
            row[k] = -mu * (1.0 if outer or count == 2 else np.cos(np.pi / FACETS))
            rows.append(row)
    return np.array(rows)


def exists(case: Case) -> bool | None:
    """Tell whether forces hold the body, by how far inside their limits they may be; None if that is not clear."""
    G, m = case.wrenches, case.wrenches.shape[1]

    def room(outer: bool) -> float:
        C = _limits(case, outer)
        answer = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=np.hstack([C, np.ones((len(C), 1))]),
            b_ub=np.zeros(len(C)),
            A_eq=np.hstack([G, np.zeros((len(G), 1))]),
            b_eq=-case.load[case.axes],
            bounds=[(-1e4, 1e4)] * m + [(-1e3, 1.0)],
        )
        return -float(answer.fun) if answer.status == 0 else -np.inf

    if room(outer=True) < -CLEARLY:
        return False
    return True if room(outer=False) > CLEARLY else None


def is_unique(case: Case) -> bool | None:
    """Tell whether the forces that hold the body are the only ones, by the range of each; None if that is not clear."""
    ranges = []
    for outer in (False, True):
        C, G, widest = _limits(case, outer), case.wrenches, 0.0
        for i in range(G.shape[1]):
            ends = []
            for sign in (1.0, -1.0):
                aim = sign * np.eye(G.shape[1])[i]
                answer = linprog(
                    aim, A_ub=C, b_ub=np.full(len(C), 1e-9), A_eq=G, b_eq=-case.load[case.axes], bounds=(-1e4, 1e4)
                )
                if answer.status != 0:
                    return None
                ends.append(float(answer.fun))
            widest = max(widest, -ends[0] - ends[1])
            if widest > WIDE:
                break
        ranges.append(widest)
    if ranges[0] > WIDE:
        return False
    return True if ranges[1] < CLEARLY else None
