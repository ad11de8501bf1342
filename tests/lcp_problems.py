"""Complementarity problems of four families, each made from a seed."""

from __future__ import annotations

import numpy as np

from impinge.compile import Struct
from impinge.contact.lcp.cone import cone_workspace, contact_impulses

FACETS = 8


def definite(rng):
    n = int(rng.integers(1, 25))
    J = rng.normal(size=(n, n + 1)) * 10.0 ** rng.uniform(-1.5, 1.5, size=n)[:, None]
    return J @ J.T, rng.normal(size=n) * 10.0 ** rng.uniform(-2, 2)


def semidefinite(rng):
    """Fewer degrees of freedom than unknowns. Some z is feasible: b is A times nothing, plus something positive."""
    n = int(rng.integers(2, 25))
    J = rng.normal(size=(n, int(rng.integers(1, n))))
    for _ in range(int(rng.integers(0, 3))):
        J[rng.integers(n)] = rng.choice([0.0, 1.0, -1.0, 2.0]) * J[rng.integers(n)]
    slack = rng.uniform(size=n) * rng.integers(0, 2, size=n)
    return J @ J.T, J @ rng.normal(size=J.shape[1]) + slack


def tied(rng):
    """Small integers: equal ratios in nearly every pivot. Many of these have no feasible z."""
    n = int(rng.integers(2, 17))
    J = rng.integers(-1, 2, size=(n, int(rng.integers(1, n + 2)))).astype(float)
    A = J @ J.T
    if rng.random() < 0.3:
        A += np.eye(n)
    if rng.random() < 0.3:
        A = np.abs(A)  # copositive, and no more
    return A, rng.choice([-1.0, -1.0, 0.0, 1.0], size=n)


def inverse_masses(rng, bodies, spatial):
    d = 6 if spatial else 3
    blocks = np.zeros((bodies, d, d))
    for block in blocks:
        mass = 10.0 ** rng.uniform(-1.5, 1.5)
        block[:] = np.eye(d) / mass
        if spatial:
            turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            block[3:, 3:] = turn @ np.diag(1.0 / (mass * rng.uniform(0.05, 0.5, size=3))) @ turn.T
        else:
            block[2, 2] = 1.0 / (mass * rng.uniform(0.05, 0.5))
    return blocks


def frame(rng, spatial):
    """A normal and the directions of the slips."""
    if not spatial:
        angle = rng.uniform(0, 2 * np.pi)
        return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return turn


def rigid_contacts(rng, nc, spatial, redundant=0.25):
    """Contacts of random rigid bodies with each other and the ground: bodies, J (nc, k, 2d), inverse masses.

    A share of the contacts repeats others.
    """
    d, k = (6, 3) if spatial else (3, 2)
    count = int(rng.integers(1, nc // 2 + 2))
    pairs, rows = np.full((nc, 2), -1), np.zeros((nc, k, 2 * d))
    for c in range(nc):
        if c and rng.random() < redundant:
            twin = rng.integers(c)
            pairs[c], rows[c] = pairs[twin], rows[twin]
            continue
        directions = frame(rng, spatial)
        pairs[c, 0] = rng.integers(count)
        other = int(rng.integers(-1, count))
        pairs[c, 1] = -1 if other == pairs[c, 0] else other
        for side, sign in ((0, 1.0), (1, -1.0)):
            if pairs[c, side] < 0:
                continue
            arm = rng.normal(size=k) / 2
            arm = np.round(2 * arm) / 2 if rng.random() < 0.3 else arm
            for r, direction in enumerate(directions):
                turn = np.cross(arm, direction) if spatial else [arm[0] * direction[1] - arm[1] * direction[0]]
                rows[c, r, side * d : (side + 1) * d] = sign * np.concatenate([direction, turn])
    return pairs, rows, inverse_masses(rng, count, spatial)


def contact_space(pairs, rows, minv, velocity):
    """W and the free rates, all gaps first, then the slips contact by contact."""
    nc, k, d = rows.shape[0], rows.shape[1], velocity.shape[1]
    full = np.zeros((nc, k, velocity.size))
    for c in range(nc):
        for side in range(2):
            if pairs[c, side] >= 0:
                at = pairs[c, side] * d
                full[c, :, at : at + d] += rows[c, :, side * d : (side + 1) * d]
    J = np.vstack([full[:, 0], full[:, 1:].reshape(-1, velocity.size)])
    M = np.zeros((velocity.size, velocity.size))
    for body, block in enumerate(minv):
        M[body * d : (body + 1) * d, body * d : (body + 1) * d] = block
    W = J @ M @ J.T
    return (W + W.T) / 2, J @ velocity.ravel()


def contact_scene(rng, nc, spatial):
    """W, rate, mu, slips of random rigid bodies; some contacts are still a little apart."""
    pairs, rows, minv = rigid_contacts(rng, nc, spatial)
    W, rate = contact_space(pairs, rows, minv, rng.normal(size=minv.shape[:2]))
    rate[:nc] += rng.uniform(size=nc) * (rng.random(nc) < 0.2)
    mu = rng.choice([0.0, 0.1, 0.3, 0.7, 1.2], size=nc)
    return W, rate, mu, np.arange(nc + 1) * (2 if spatial else 1)


def impulses(W, rate, mu, slips, facets=FACETS):
    """Status, impulses and work space of `contact_impulses`."""
    work = cone_workspace(rate.size, mu.size, facets)
    found = np.full(rate.size, np.nan)
    return contact_impulses(W, rate, mu, slips, facets, found, Struct(work)), found, work


def frictional(rng):
    """The complementarity problem of Stewart and Trinkle for 2, 4 or 12 contacts in the plane or in space."""
    nc, spatial = int(rng.choice([2, 4, 12])), bool(rng.integers(2))
    W, rate, mu, slips = contact_scene(rng, nc, spatial)
    _, _, work = impulses(W, rate, mu, slips)
    n = nc + int((mu > 0).sum()) * (1 + (FACETS if spatial else 2))
    return np.ascontiguousarray(work.A[:n, :n]), work.b[:n].copy()


FAMILIES = {"definite": definite, "semidefinite": semidefinite, "frictional": frictional, "tied": tied}
