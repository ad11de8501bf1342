"""From energies, forces, constraints and gaps to the terms of the equation of motion, exactly.

    M(q) v̇ + b(q, v, t) = B u + Hᵀ(q) λ_h + J(q, t)ᵀ λ        q̇ = v

Constraints h, gaps γ and slips s are treated alike as rows g = [h; γ; s]: ġ = A v + ∂g/∂t and
g̈ = A v̇ + drift, with A = [H; J; T]. What tells them apart is only who may close them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca


@dataclass(frozen=True)
class Symbols:
    """The symbols every expression of a model is made of (SX columns)."""

    t: Any
    q: Any
    v: Any
    u: Any
    p: Any


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

    d/dt ∂T/∂v − ∂T/∂q + ∂V/∂q with q̇ = v; the power is −∂L/∂t = ∂V/∂t − ∂T/∂t.
    """
    momentum = ca.gradient(kinetic, s.v)
    M = ca.jacobian(momentum, s.v)
    bias = (
        ca.jtimes(momentum, s.q, s.v)
        + ca.jacobian(momentum, s.t)
        - ca.gradient(kinetic, s.q)
        + ca.gradient(potential, s.q)
    )
    power = ca.jacobian(potential, s.t) - ca.jacobian(kinetic, s.t)
    return M, bias, ca.dot(momentum, s.v) - kinetic, power


def direct(s: Symbols, M: Any, b: Any, potential: Any) -> tuple[Any, Any, Any, Any]:
    """Return the same four for an inertia matrix and a bias given as they are.

    With T = ½ vᵀMv, the power that b does not account for as ½ vᵀṀv counts as explicit.
    """
    kinetic = ca.dot(s.v, M @ s.v) / 2
    rate_of_M = ca.reshape(ca.jtimes(ca.vec(M), s.q, s.v) + ca.jacobian(ca.vec(M), s.t), M.shape)
    power = ca.jacobian(potential, s.t) + ca.dot(s.v, rate_of_M @ s.v) / 2 - ca.dot(s.v, b)
    return M, b + ca.gradient(potential, s.q), kinetic, power


def rows(s: Symbols, g: Any) -> tuple[Any, Any, Any, Any]:
    """Return A, ġ, the drift g̈ − A v̇, and ∂g/∂t of stacked rows."""
    A = ca.jacobian(g, s.q)
    partial = ca.jacobian(g, s.t)
    rate = A @ s.v + partial
    drift = ca.jtimes(rate, s.q, s.v) + ca.jacobian(rate, s.t)
    return A, rate, drift, partial


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
    """Return derivatives by z = (q, v, u, p, t), for accelerations ``a`` that belong to the row forces λ = ``force``.

        E = ∂/∂z [M⁻¹(F + Aᵀλ)] at fixed λ = −M⁻¹ ∂/∂z (M a − F − Aᵀλ) at fixed a and λ
        G = ∂/∂z g̈             at fixed λ = ∂/∂z (A a + drift) at fixed a, plus A E

    and those of rows, their rates, extents and outputs.
    """
    z = ca.vertcat(s.q, s.v, s.u, s.p, s.t)
    balance = e.M @ a - (e.applied - e.bias - e.damping) - e.A.T @ force
    E = -solve_spd(e.M, ca.jacobian(balance, z))[0]
    return {
        "E": E,
        "G": ca.jacobian(e.A @ a + e.drift, z) + e.A @ E,
        "g": ca.jacobian(e.g, z),
        "rate": ca.jacobian(e.rate, z),
        "extent": ca.jacobian(e.extent, z),
        "y": ca.jacobian(outputs, z),
    }
