"""Random impacts, and what must hold after each: made from a seed, judged from M, A and v alone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from impinge.compile import Struct
from impinge.contact.impact import FACETS, impact_impulses, impact_workspace
from impinge.contact.propagation import propagating_impulses


class ImpactProblem:
    """An inertia matrix, rows of constraints, gaps and slips, and velocities at which the gaps touch.

    Some gaps depend on others: two of the same normal, opposite ones between which a body is caught, sums of two.
    """

    def __init__(self, seed, moving=False, rubs=True):
        rng = np.random.default_rng(seed)
        self.nh, self.nc, nv = int(rng.choice([0, 0, 1, 2])), int(rng.integers(1, 5)), int(rng.integers(3, 7))
        axes, _ = np.linalg.qr(rng.normal(size=(nv, nv)))
        M = axes @ np.diag(10.0 ** rng.uniform(-1, 1, nv)) @ axes.T
        self.M = (M + M.T) / 2
        H, J = rng.normal(size=(self.nh, nv)), rng.normal(size=(self.nc, nv))
        if self.nh == 2 and rng.random() < 0.3:
            H[1] = H[0]
        kind = rng.random()
        if self.nc > 1 and kind < 0.3:
            J[1] = J[0] * rng.choice([-1.0, 1.0])
        elif self.nc > 2 and kind < 0.6:
            J[2] = (J[0] + J[1]) * rng.choice([-1.0, 1.0])
        counts = rng.integers(0, 3, size=self.nc) if rubs else np.zeros(self.nc, dtype=int)
        self.slips = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.A = np.vstack([H, J, rng.normal(size=(self.slips[-1], nv))])
        self.mu = rng.choice([0.0, 0.1, 0.5, 1.0, 3.0], size=self.nc)
        v = rng.normal(size=nv)
        self.v = v - np.linalg.pinv(H) @ (H @ v) if self.nh else v
        self.rate = self.A @ self.v
        if moving:
            self.rate[self.gaps] += rng.normal(size=self.nc) * rng.integers(0, 2, size=self.nc)
        mixed = rng.random() < 0.5
        self.e = (
            rng.choice([0.0, 0.3, 0.7, 1.0], size=self.nc) if mixed else np.full(self.nc, rng.choice([0, 0.5, 1.0]))
        )
        W = self.A @ np.linalg.solve(self.M, self.A.T)
        self.W = (W + W.T) / 2

    @property
    def gaps(self):
        return slice(self.nh, self.nh + self.nc)

    def slips_of(self, c):
        first = self.nh + self.nc
        return slice(first + self.slips[c], first + self.slips[c + 1])

    def solve(self, e=None, propagating=False):
        """Return the status and the impulses."""
        work = impact_workspace(self.nh, self.nc, int(self.slips[-1]))
        work.active[:] = 1
        p = np.full(len(self.rate), np.nan)
        find = propagating_impulses if propagating else impact_impulses
        e = self.e if e is None else np.full(self.nc, e)
        status = find(self.W.copy(), self.rate, self.nh, self.slips, self.mu, e, p, Struct(work))
        return status, p

    def energy_gain(self, p):
        """Return the kinetic energy that impulses give, of that before."""
        after = self.v + np.linalg.solve(self.M, self.A.T @ p)
        before = self.v @ self.M @ self.v
        return (after @ self.M @ after - before) / before

    def check_admissible(self, p, tolerance=1e-9):
        """Assert that gaps do not close, impulses push and friction is in its cone; return the rates after."""
        after, scale = self.rate + self.W @ p, self.scale()
        assert (after[self.gaps] >= -tolerance * scale[self.gaps]).all()
        terms = np.abs(self.rate) + np.abs(self.W) @ np.abs(p)
        assert (np.abs(after[: self.nh]) <= 1e-13 * terms[: self.nh]).all()
        assert (p[self.gaps] >= 0).all()
        for c in range(self.nc):
            force = np.linalg.norm(p[self.slips_of(c)])
            assert force <= self.mu[c] * p[self.nh + c] * (1 + 1e-12) + 1e-15
        return after

    def check_coulomb(self, p, tolerance=1e-8):
        """Assert the laws of an impact without restitution: what pushes stays closed, what can stick sticks."""
        after, scale = self.check_admissible(p), self.scale()
        largest = (np.abs(p) * np.sqrt(np.diag(self.W))).max() + 1e-300
        for c in range(self.nc):
            n, s = self.nh + c, self.slips_of(c)
            if p[n] * np.sqrt(self.W[n, n]) > 1e-9 * largest:
                assert after[n] <= tolerance * scale[n]
                if np.linalg.norm(p[s]) < 0.999 * np.cos(np.pi / FACETS) * self.mu[c] * p[n]:
                    assert (np.abs(after[s]) <= tolerance * scale[s]).all()
                assert p[s] @ after[s] <= tolerance * (np.abs(p[s]) * scale[s]).sum() + 1e-15

    def scale(self):
        """Return what each rate is compared with: the fastest row's, in the same units."""
        unit = np.sqrt(np.diag(self.W))
        return unit * (np.abs(self.rate) / unit).max()

    def can_open(self):
        """Tell by a linear program whether velocities exist that keep the constraints and close no gap."""
        H, J = self.A[: self.nh], self.A[self.gaps]
        nv = J.shape[1]
        slack = np.hstack([-J, -np.ones((self.nc, 1))])
        equal = np.hstack([H, np.zeros((self.nh, 1))]) if self.nh else None
        found = linprog(
            np.append(np.zeros(nv), 1.0),
            A_ub=slack,
            b_ub=self.rate[self.gaps],
            A_eq=equal,
            b_eq=-self.rate[: self.nh] if self.nh else None,
            bounds=[(None, None)] * nv + [(0, None)],
        )
        return found.fun < 1e-7
