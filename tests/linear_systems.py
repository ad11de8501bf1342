"""Families of random linear systems: chains of masses, filters, modes, matrices; continuous and sampled."""

from __future__ import annotations

import control
import numpy as np
from scipy.linalg import block_diag

from impinge import sampled


def plain(a, b, c, d=0.0, dt=0):
    n = len(a)
    return control.StateSpace(a, np.reshape(b, (n, 1)), np.reshape(c, (1, n)), d, dt, remove_useless_states=False)


def chain(masses, damping, collocated, seed):
    """Masses and springs in a row, force on the first, position of the first or the last.

    `damping` is "damped", "undamped" or "mixed"; every second chain is tied to the ground.
    """
    rng = np.random.default_rng([seed, masses])
    m, k = 10 ** rng.uniform(-1, 1, masses), 10 ** rng.uniform(2, 6, masses - 1)
    c = k * 10 ** rng.uniform(-5, -3, masses - 1) * {"damped": 1.0, "undamped": 0.0}.get(damping, 1.0)
    if damping == "mixed":
        c *= rng.random(masses - 1) < 0.5
    stiff, damp = np.zeros((masses, masses)), np.zeros((masses, masses))
    for i in range(masses - 1):
        for matrix, value in ((stiff, k[i]), (damp, c[i])):
            matrix[i : i + 2, i : i + 2] += value * np.array([[1, -1], [-1, 1]])
    if seed % 2:
        stiff[0, 0] += 1e3
        damp[0, 0] += 0.0 if damping == "undamped" else 1.0
    a = np.block([[np.zeros((masses, masses)), np.eye(masses)], [-stiff / m[:, None], -damp / m[:, None]]])
    b, view = np.zeros(2 * masses), np.zeros(2 * masses)
    b[masses], view[0 if collocated else masses - 1] = 1 / m[0], 1
    return plain(a, b, view)


def rates(rng, count, unstable=0.15):
    """Real and complex rates over three decades, as blocks."""
    blocks, n = [], 0
    while n < count:
        if rng.random() < 0.4 and n + 2 <= count:
            w, damping = 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(-3, 0) * (-1 if rng.random() < unstable / 2 else 1)
            blocks.append(np.array([[0, w], [-w, -2 * damping * w]]))
            n += 2
        else:
            blocks.append(np.array([[(1 if rng.random() < unstable else -1) * 10 ** rng.uniform(-1, 2)]]))
            n += 1
    return blocks


def dense(rng, n):
    a = rng.normal(size=(n, n)) - rng.uniform(0, 3) * np.eye(n)
    return plain(a, rng.normal(size=n), rng.normal(size=n), rng.choice([0.0, 0.0, rng.normal()]))


def modal(rng, n):
    """Modes behind a change of states of moderate condition."""
    a = block_diag(*rates(rng, n))
    change = rng.normal(size=(n, n)) + 2 * np.eye(n)
    back = np.linalg.inv(change)
    return plain(change @ a @ back, change @ rng.normal(size=n), rng.normal(size=n) @ back, rng.choice([0.0, 0.5]))


def polynomial(rng, n):
    """A ratio of polynomials given by poles and zeros, in companion form."""
    poles = np.linalg.eigvals(block_diag(*rates(rng, n)))
    count = int(rng.integers(0, n + 1))
    zeros = np.linalg.eigvals(block_diag(*rates(rng, count, 0.4))) if count else []
    a = np.diag(np.ones(n - 1), 1)
    a[-1] = -np.poly(poles).real[:0:-1]
    num = np.concatenate([np.zeros(n - count), np.atleast_1d(np.poly(zeros)).real]) * 10 ** rng.uniform(-1, 3)
    return plain(a, np.eye(n)[-1], (num[1:] - num[0] * np.poly(poles).real[1:])[::-1], num[0])


def filters(rng, n):
    """Integrators, lags, leads and resonances in series."""
    system = plain(np.zeros((0, 0)), [], [], 1.0)
    while system.nstates < n:
        kind = rng.integers(4) if system.nstates + 2 <= n else rng.integers(3)
        w = 10 ** rng.uniform(-1, 3)
        if kind == 0:
            part = plain([[0.0]], [1.0], [w])
        elif kind == 1:
            part = plain([[-w]], [1.0], [w])
        elif kind == 2:
            part = plain([[-w]], [1.0], [w * rng.uniform(-1, 1)], rng.uniform(0.1, 2))
        else:
            part = plain([[0, 1], [-w * w, -2 * 10 ** rng.uniform(-3, 0) * w]], [0, w * w], [1, rng.choice([0, 1 / w])])
        system = part * system
    return plain(system.A, system.B, system.C, system.D)


def units(rng, system):
    """The same in other units of its states."""
    scale = 10 ** rng.uniform(-4, 4, system.nstates)
    return plain(scale[:, None] * system.A / scale, scale * system.B[:, 0], system.C[0] / scale, system.D, system.dt)


def random_system(seed):
    """One of the families above, continuous or sampled, in units that may be odd."""
    rng = np.random.default_rng([seed, 77])
    family = [dense, modal, polynomial, filters][seed % 4]
    system = family(rng, int(rng.integers(1, 9)))
    if rng.random() < 0.4:
        system = units(rng, system)
    if seed % 8 >= 4:
        fastest = np.abs(np.linalg.eigvals(system.A)).max() or 1.0
        held = sampled(system, 10 ** rng.uniform(-2, 0) / fastest)
        system = plain(held.A, held.B, held.C, held.D, held.dt)
    return system


def random_loop(seed):
    """A random system with a gain such that its modulus is 1 somewhere in the range of its poles."""
    rng = np.random.default_rng([seed, 78])
    system = random_system(seed + 10_000)
    poles = np.linalg.eigvals(system.A)
    if system.dt:
        poles = np.log(poles[poles != 0]) / system.dt
    sizes = np.abs(poles[poles != 0])
    w = 10 ** rng.uniform(*np.log10([0.3 * sizes.min(), 3 * sizes.max()])) if sizes.size else 1.0
    s = np.exp(1j * w * system.dt) if system.dt else 1j * w
    value = system.D[0, 0] + (system.C @ np.linalg.solve(s * np.eye(system.nstates) - system.A, system.B))[0, 0]
    gain = (1 if rng.random() < 0.7 else -1) * np.sign(np.real(system.D[0, 0]) or 1) / (abs(value) or 1.0)
    return plain(system.A, system.B, system.C * gain, system.D * gain, system.dt)


def loop_of(system, seed):
    """A system with a gain such that its modulus is between 0.1 and 10 in the range of its poles."""
    rng = np.random.default_rng([seed, 79])
    sizes = np.abs(np.linalg.eigvals(system.A))
    w = float(np.median(sizes[sizes > 0])) * 10 ** rng.uniform(-1, 0.3)
    value = (system.C @ np.linalg.solve(1j * w * np.eye(system.nstates) - system.A, system.B))[0, 0]
    return plain(system.A, system.B, system.C * (10 ** rng.uniform(-1, 1) / abs(value)))


def series(*parts):
    system = parts[0]
    for part in parts[1:]:
        system = part * system
    return plain(system.A, system.B, system.C, system.D, system.dt)


def resonance(w, damping, feed=0.0):
    return plain([[0, w], [-w, -2 * damping * w]], [0, w], [1, 0], feed)


def strange_loop(seed):
    """Loops of kinds that numerics dislike; see the names of the kinds below."""
    rng = np.random.default_rng([seed, 80])
    kind = ("stiff", "integrators", "narrow", "multiple", "nonminimum", "feedthrough", "delay", "pair", "far")[seed % 9]
    w = 10 ** rng.uniform(-1, 2)
    lag = plain([[-w]], [1.0], [w])
    if kind == "stiff":
        rates_ = 10 ** rng.uniform(-5, 6, int(rng.integers(2, 6)))
        system = series(*(plain([[-r]], [1.0], [r]) for r in rates_))
        system = plain(system.A, system.B, system.C * 10 ** rng.uniform(0, 3))
    elif kind == "integrators":
        parts = [plain([[0.0]], [1.0], [w])] * int(rng.integers(1, 4))
        leads = [plain([[-30 * w]], [1.0], [-29 * 30 * w], 30.0)] * (len(parts) - 1)
        system = series(*parts, *leads)
    elif kind == "narrow":
        parts = [
            resonance(w * 10 ** rng.uniform(0, 1), 10 ** rng.uniform(-7, -5)) for _ in range(int(rng.integers(1, 4)))
        ]
        system = series(lag, *parts)
        system = plain(system.A, system.B, system.C * 10 ** rng.uniform(-6, 0))
    elif kind == "multiple":
        system = series(*[lag] * int(rng.integers(2, 6)))
        system = plain(system.A, system.B, system.C * rng.uniform(0.5, 5))
    elif kind == "nonminimum":
        mirror = plain([[-w]], [1.0], [2 * w * rng.uniform(0.5, 2)], -1.0)
        system = series(lag, mirror, plain([[-3 * w]], [1.0], [w * rng.uniform(0.3, 3)]))
    elif kind == "feedthrough":
        feed = rng.choice([-0.9, -0.3, 0.5, 1.0, 3.0, 1e-6])
        system = series(resonance(w, 10 ** rng.uniform(-3, 0), feed), plain([[-w]], [1.0], [rng.normal() * w], 1.0))
    elif kind == "delay":
        period = 10 ** rng.uniform(-4, 0)
        count = int(rng.integers(1, 5))
        shift = plain(np.diag(np.ones(count - 1), 1), np.eye(count)[-1], np.eye(count)[0], 0.0, period)
        pole = rng.choice([1.0, rng.uniform(-1, 1), 1 - 10 ** rng.uniform(-8, -2)])
        return series(shift, plain([[pole]], [1.0], [10 ** rng.uniform(-4, 0)], 0.0, period))
    elif kind == "pair":  # a zero next to a lightly damped pole
        damping, gap = 10 ** rng.uniform(-6, -2), 10 ** rng.uniform(-6, -1)
        system = series(lag, resonance(w, damping))
        direct = plain(lag.A, lag.B, lag.C)
        a = block_diag(direct.A, system.A)
        b, c = np.concatenate([direct.B[:, 0], system.B[:, 0]]), np.concatenate([direct.C[0], gap * system.C[0]])
        system = plain(a, b, c * 10 ** rng.uniform(-1, 1))
    else:  # rates and units far from 1
        size = 10 ** rng.uniform(-9, 9)
        base = random_loop(int(seed) * 8)
        system = plain(size * base.A, base.B * size, base.C, base.D) if not base.dt else base
    if rng.random() < 0.3:
        system = units(rng, system)
    if rng.random() < 0.3 and not system.dt:
        held = sampled(system, 0.2 / (np.abs(np.linalg.eigvals(system.A)).max() or 1.0))
        system = plain(held.A, held.B, held.C, held.D, held.dt)
    return system


def hidden_loop(seed):
    """A random loop with one to three modes that are not driven or not seen, all states turned into each other."""
    rng = np.random.default_rng([seed, 991])
    base = random_loop(8 * seed + int(rng.integers(4)))
    count = int(rng.integers(1, 4))
    rates_ = 10 ** rng.uniform(-1, 1.5, count) * np.where(rng.random(count) < 0.2, 1, -1)
    some, none = rng.normal(size=count), np.zeros(count)
    drive, view = (some, none) if rng.random() < 0.5 else (none, some)
    turn = np.linalg.qr(rng.normal(size=(base.nstates + count,) * 2))[0]
    a = turn @ block_diag(base.A, np.diag(rates_)) @ turn.T
    return plain(a, turn @ np.append(base.B[:, 0], drive), np.append(base.C[0], view) @ turn.T, base.D)
