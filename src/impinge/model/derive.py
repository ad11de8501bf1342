"""From energies, forces, constraints and gaps to the terms of the equation of motion, exactly.

    M(q) v̇ + b(q, v, t) = B u + Hᵀ(q) λ_h + J(q, t)ᵀ λ        q̇ = N(q) v

Constraints h, gaps γ and slips s are treated alike as rows g = [h; γ; s]: ġ = A v + ∂g/∂t and
g̈ = A v̇ + drift, with A = [H; J; T]. What tells them apart is only who may close them. A row may be given by its rate
alone, as that of rolling is: it binds velocities, and its value is always zero.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from impinge.model.spins import Spin, rates


@dataclass(frozen=True)
class Symbols:
    """The symbols every expression of a model is made of (SX columns), and which coordinates are rotations."""

    t: Any
    q: Any
    v: Any
    u: Any
    p: Any
    spins: tuple[Spin, ...] = ()

    @functools.cached_property
    def q_dot(self) -> Any:
        """The rates of the coordinates, N(q) v."""
        return rates(self.q, self.v, self.spins)

    @functools.cached_property
    def N(self) -> Any:
        """What velocities do to coordinates, nq × nv."""
        return ca.jacobian(self.q_dot, self.v)

    def change(self, x: Any) -> Any:
        """Return how fast an expression of q and v changes because the coordinates move."""
        return ca.jtimes(x, self.q, self.q_dot)

    def by_motion(self, x: Any) -> Any:
        """Return the derivative of an expression along what each velocity does: ∂x/∂q N, nv columns."""
        slopes = ca.jacobian(x, self.q)
        return slopes @ self.N if self.spins else slopes


@dataclass(frozen=True)
class Equations:
    """The symbolic equation of motion.

    Attributes:
        M: inertia matrix, nv × nv.
        bias: Coriolis, centrifugal and potential forces, nv.
        damping: dissipative forces, on the left-hand side like ``bias``, nv.
        applied: generalized forces of inputs and declared forces, nv.
        g, A, rate, drift, partial: rows, ∂g/∂q, ġ, g̈ − A v̇, ∂g/∂t.
        extent, extent_rate: of the surfaces that have an end, and its time derivative.
        kinetic, potential: energies; their sum is the energy function vᵀ∂T/∂v − T + V.
        power: [applied, damping, explicit time]: ΔE is the integral of first − second + third, plus the
            work of the rows' forces.
    """

    M: Any
    bias: Any
    damping: Any
    applied: Any
    g: Any
    A: Any
    rate: Any
    drift: Any
    partial: Any
    extent: Any
    extent_rate: Any
    kinetic: Any
    potential: Any
    power: Any


def lagrange(s: Symbols, kinetic: Any, potential: Any) -> tuple[Any, Any, Any, Any]:
    """Return M, bias, the kinetic part of the energy function and the power of explicit time.

    d/dt ∂T/∂v − Nᵀ∂T/∂q + Nᵀ∂V/∂q, and ω × ∂T/∂ω for each rotation: velocities ω in turning axes belong to motions
    that do not commute (H. Poincaré, C. R. Acad. Sci. 132 (1901) 369). The power is −∂L/∂t = ∂V/∂t − ∂T/∂t.
    """
    momentum = ca.gradient(kinetic, s.v)
    M = ca.jacobian(momentum, s.v)
    bias = s.change(momentum) + ca.jacobian(momentum, s.t) - s.by_motion(kinetic).T + s.by_motion(potential).T
    for spin in s.spins:
        own = slice(spin.v, spin.v + 3)
        bias[own] += ca.cross(s.v[own], momentum[own])
    power = ca.jacobian(potential, s.t) - ca.jacobian(kinetic, s.t)
    return M, bias, ca.dot(momentum, s.v) - kinetic, power


def direct(s: Symbols, M: Any, b: Any, potential: Any) -> tuple[Any, Any, Any, Any]:
    """Return the same four for an inertia matrix and a bias given as they are.

    With T = ½ vᵀMv, the power that b does not account for as ½ vᵀṀv counts as explicit.
    """
    kinetic = ca.dot(s.v, M @ s.v) / 2
    rate_of_M = ca.reshape(s.change(ca.vec(M)) + ca.jacobian(ca.vec(M), s.t), M.shape)
    power = ca.jacobian(potential, s.t) + ca.dot(s.v, rate_of_M @ s.v) / 2 - ca.dot(s.v, b)
    return M, b + s.by_motion(potential).T, kinetic, power


@dataclass(frozen=True)
class Row:
    """What a row is made of: its value, an expression of coordinates, or else its rate, affine in velocities."""

    value: Any = None
    rate: Any = None


def rows(s: Symbols, stacked: Sequence[Row]) -> tuple[Any, Any, Any, Any, Any]:
    """Return g, A, ġ, the drift g̈ − A v̇, and ∂g/∂t of stacked rows."""
    g = ca.vertcat(ca.SX(0, 1), *(ca.SX(0) if row.value is None else row.value for row in stacked))
    A, partial = s.by_motion(g), ca.jacobian(g, s.t)
    still = ca.SX.zeros(*s.v.shape)
    for i, row in enumerate(stacked):
        if row.value is None:
            A[i, :], partial[i] = ca.jacobian(row.rate, s.v), ca.substitute(row.rate, s.v, still)
    rate = A @ s.v + partial
    drift = s.change(rate) + ca.jacobian(rate, s.t)
    return g, A, rate, drift, partial


def solve_spd(M: Any, right: Any) -> tuple[Any, Any]:
    """Solve M X = right symbolically for a positive definite M, keeping its sparsity (LDLᵀ).

    Return X, and the smallest pivot relative to M's diagonal.
    """
    D, LT, order = ca.ldl(M, True)
    pivot = ca.SX(1)
    for k, row in enumerate(order):
        pivot = ca.fmin(pivot, D[k] / M[row, row])
    return ca.ldl_solve(right, D, LT, order), pivot


def delassus(A: Any, response: Any) -> Any:
    """Return W = A M⁻¹ Aᵀ from A and ``response`` = M⁻¹Aᵀ, computing each entry of the symmetric matrix once."""
    m = A.shape[0]
    W = ca.SX(m, m)
    for i in range(m):
        for j in range(i + 1):
            entry = A[i, :] @ response[:, j]
            if entry.nnz():
                W[i, j] = entry
                W[j, i] = entry
    return W


def tangent(s: Symbols, e: Equations, outputs: Any, a: Any, force: Any) -> dict[str, Any]:
    """Return derivatives by z = (ξ, v, u, p, t), for accelerations ``a`` that belong to the row forces λ = ``force``.

    Where velocities lead coordinates, δq = N δξ: of rotations ξ is a small turn about their own axes, else it is q.

        E = ∂/∂z [M⁻¹(F + Aᵀλ)] at fixed λ = −M⁻¹ ∂/∂z (M a − F − Aᵀλ) at fixed a and λ
        G = ∂/∂z g̈             at fixed λ = ∂/∂z (A a + drift) at fixed a, plus A E

    and those of rows, their rates, extents and outputs.
    """

    def by_all(x: Any) -> Any:
        if s.spins:
            return ca.horzcat(s.by_motion(x), ca.jacobian(x, ca.vertcat(s.v, s.u, s.p, s.t)))
        return ca.jacobian(x, ca.vertcat(s.q, s.v, s.u, s.p, s.t))

    balance = e.M @ a - (e.applied - e.bias - e.damping) - e.A.T @ force
    E = -solve_spd(e.M, by_all(balance))[0]
    return {
        "E": E,
        "G": by_all(e.A @ a + e.drift) + e.A @ E,
        "g": by_all(e.g),
        "rate": by_all(e.rate),
        "extent": by_all(e.extent),
        "y": by_all(outputs),
    }
