"""The model: immutable, symbolic, and ignorant of how its contacts behave."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.compile import Kernel, compile_kernel
from impinge.model.bounds import GapBounds, gap_bounds
from impinge.model.derive import Equations, Symbols, delassus, solve_spd, tangent
from impinge.model.links import Link, linkage_expressions
from impinge.model.listing import listed
from impinge.model.quantities import Constraint, Coordinate, Gap, Input, Quantity, values_of
from impinge.model.spins import Spin, displaced, of_length_one, straight, way_between
from impinge.model.stored import restored, stored

# The kinds of work whose sum is the change of a model's energy.
WORKS = ("applied", "damping", "time", "constraints", "contacts")


@dataclass(frozen=True)
class Model:
    """A mechanism and its possible contacts; build one with `impinge.ModelBuilder`.

    Every expression is a CasADi SX of ``symbols``; every derivative in ``equations`` is exact.
    """

    name: str
    coordinates: tuple[Coordinate, ...]
    velocities: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    inputs: tuple[Input, ...]
    constraints: tuple[Constraint, ...]
    gaps: tuple[Gap, ...]
    outputs: tuple[Quantity, ...]
    symbols: Symbols
    equations: Equations
    output_expressions: Any
    friction_expressions: Any
    links: tuple[Link, ...] = ()

    @functools.cached_property
    def contacts(self) -> tuple[str, ...]:
        """Names of the possible contacts, one per gap."""
        return tuple(gap.name for gap in self.gaps)

    @property
    def label(self) -> str:
        """What it is and how it is called, for messages."""
        return f"model '{self.name}'"

    @property
    def spins(self) -> tuple[Spin, ...]:
        """Which coordinates are quaternions, and which velocities are their angular velocities."""
        return self.symbols.spins

    def around(self, near: Mapping[str, float] | None = None, *, within: float = 0.0, time: float = 0.0) -> Model:
        """Return the model itself: it is one everywhere. A scene is one around a pose; see `impinge.Scene.around`."""
        return self

    def without_gaps(self) -> Model:
        """Return the same mechanism without gaps, as a scene takes it: there contacts come from shapes of links.

        Example:
            >>> from impinge.robots import ball
            >>> ball().without_gaps().contacts
            ()
        """
        e, nothing = self.equations, ca.SX(0, 1)
        h = self.row_slices[0]
        left = {name: getattr(e, name)[h, :] for name in ("g", "A", "rate", "drift", "partial")}
        equations = replace(e, **left, extent=nothing, extent_rate=nothing)
        return replace(self, gaps=(), equations=equations, friction_expressions=nothing)

    @functools.cached_property
    def directions(self) -> tuple[Quantity, ...]:
        """In which a pose may change, one for each velocity: coordinates, and turns of rotations about own axes."""
        names = [self.coordinates[spin.q].name.removesuffix("_qw") for spin in self.spins]
        turns = {
            spin.v + k: Quantity(f"{name}_turn_{axis}", "rad")
            for spin, name in zip(self.spins, names, strict=True)
            for k, axis in enumerate("xyz")
        }
        return tuple(turns[k] if i < 0 else self.coordinates[i] for k, i in enumerate(self.straight.tolist()))

    @functools.cached_property
    def straight(self) -> NDArray[np.int64]:
        """The coordinate that each velocity is the rate of; −1 for angular velocities of rotations."""
        return straight(self.spins, len(self.velocities))

    def displaced(self, q: NDArray[np.float64], way: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coordinates (nq) moved by so much in each direction (nv); rotations turn by rotation vectors."""
        return displaced(q, way, self.spins, self.straight)

    def way_between(self, q: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much in each direction (nv) `displaced` leads from coordinates to others."""
        return way_between(q, other, self.spins, self.straight)

    def coordinate_slopes(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return N(q), by how much coordinates change with each direction (nq × nv)."""
        return np.array(ca.Function("N", [self.symbols.q], [ca.densify(self.symbols.N)])(q))

    @functools.cached_property
    def input_places(self) -> Mapping[str, int]:
        """Where each input stands, by name."""
        return {x.name: k for k, x in enumerate(self.inputs)}

    @functools.cached_property
    def slips(self) -> tuple[tuple[int, str], ...]:
        """The sliding directions of all contacts: index of the contact, name."""
        return tuple((c, name) for c, gap in enumerate(self.gaps) for name in gap.slips)

    @functools.cached_property
    def extents(self) -> tuple[int, ...]:
        """Indices of the contacts whose surface has an end."""
        return tuple(c for c, gap in enumerate(self.gaps) if gap.limited)

    @functools.cached_property
    def steady(self) -> bool:
        """Whether nothing depends on time: neither motion nor gaps."""
        e = self.equations
        motion = ca.veccat(e.M, e.applied, e.bias, e.damping, e.A, e.g, e.rate, e.drift, e.extent, e.extent_rate)
        return not ca.depends_on(motion, self.symbols.t)

    @functools.cached_property
    def dynamics(self) -> Kernel:
        """The kernel of `dynamics_expressions`."""
        return self._compile("dynamics", self.dynamics_expressions)

    @property
    def dynamics_expressions(self) -> dict[str, Any]:
        """Everything a simulator needs of one state, in contact space.

        Outputs: ``free`` = v̇ with all rows open; ``g``, ``rate``, ``drift``, ``partial`` of the rows;
        ``power``; ``response`` = M⁻¹Aᵀ; ``W`` = A M⁻¹Aᵀ; ``extent`` and its rate. With row forces λ,
        v̇ = free + response λ and g̈ = drift + W λ: this ``drift`` is that of `Equations` plus A free.
        """
        e = self.equations
        solved, _ = solve_spd(e.M, ca.horzcat(e.applied - e.bias - e.damping, e.A.T))
        free, response = solved[:, 0], solved[:, 1:]
        return {
            "free": free,
            "g": e.g,
            "rate": e.rate,
            "drift": e.drift + e.A @ free,
            "partial": e.partial,
            "power": e.power,
            "response": response,
            "W": delassus(e.A, response),
            "extent": e.extent,
            "extent_rate": e.extent_rate,
        }

    @functools.cached_property
    def flight(self) -> Kernel:
        """The motion while no contact is closed: what `dynamics` and the constraints' forces come to, in one kernel.

        Outputs: ``a`` = v̇; ``force`` of the constraints, which return to zero as ḧ + α₁ḣ + α₀h = 0 with ``gains``
        (α₀, α₁); ``g`` and ``rate`` of all rows; ``partial`` of the constraints; ``power``; ``extent`` and its rate;
        ``pivot``: the smallest of the factorization of W, relative to its diagonal. If it is small, constraints are
        redundant and nothing else here is to be used.
        """
        s, e, d, gains = self.symbols, self.equations, self.dynamics_expressions, ca.SX.sym("gains", 2)
        h = self.row_slices[0]
        wanted = -gains[0] * e.g[h, 0] - gains[1] * e.rate[h, 0] - d["drift"][h, 0]
        force, pivot = solve_spd(d["W"][h, h], wanted)
        outputs = {
            "a": d["free"] + d["response"][:, h] @ force,
            "force": force,
            "g": e.g,
            "rate": e.rate,
            "partial": e.partial[h, 0],
            "power": e.power,
            "extent": e.extent,
            "extent_rate": e.extent_rate,
            "pivot": pivot,
        }
        return compile_kernel("flight", {"q": s.q, "v": s.v, "t": s.t, "u": s.u, "p": s.p, "gains": gains}, outputs)

    @functools.cached_property
    def bounds(self) -> GapBounds:
        """What bounds the gaps along a path, for a proof that none closes on it; see `bounds.GapBounds`."""
        rows = self.row_slices[1]
        return gap_bounds([self.equations.g[i] for i in range(rows.start, rows.stop)], self.symbols)

    @functools.cached_property
    def stepping(self) -> Kernel:
        """`dynamics`, and behind it ``A``, transposed, and ``M``: what the contact problem of a step is made of."""
        e = self.equations
        return self._compile("stepping", {**self.dynamics_expressions, "A": e.A.T, "M": e.M})

    @functools.cached_property
    def linkage(self) -> Kernel:
        """What a scene needs of a robot; see `links.linkage_expressions`."""
        return self._compile("linkage", linkage_expressions(self.symbols, self.equations, self.links))

    @functools.cached_property
    def tangent(self) -> Kernel:
        """Exact derivatives of accelerations, rows, extents and outputs by (ξ, v, u, p, t); see `derive.tangent`."""
        s, e = self.symbols, self.equations
        a, force = ca.SX.sym("a", s.v.shape[0]), ca.SX.sym("force", e.g.shape[0])
        outputs = tangent(s, e, self.output_expressions, a, force)
        return compile_kernel(
            "tangent", {"q": s.q, "v": s.v, "t": s.t, "u": s.u, "p": s.p, "a": a, "force": force}, outputs
        )

    @functools.cached_property
    def signals(self) -> Kernel:
        """What a recording keeps besides the state: energies and the declared outputs."""
        e = self.equations
        return self._compile("signals", {"energies": ca.vertcat(e.kinetic, e.potential), "y": self.output_expressions})

    @functools.cached_property
    def _friction(self) -> Kernel:
        return compile_kernel("friction", {"p": self.symbols.p}, {"mu": self.friction_expressions})

    @functools.cached_property
    def _friction_slopes(self) -> Kernel:
        slopes = ca.densify(ca.jacobian(self.friction_expressions, self.symbols.p))
        return compile_kernel("friction_slopes", {"p": self.symbols.p}, {"slopes": slopes})

    def friction_at(self, p: ArrayLike) -> NDArray[np.float64]:
        """Return the coefficient of friction of each contact for a vector of parameters; infinite if none is given."""
        mu = np.full(len(self.gaps), np.inf)
        slides = [c for c, gap in enumerate(self.gaps) if gap.slides]
        if slides:
            mu[slides] = self._friction(p)["mu"]
        return mu

    def friction_slopes(self, p: ArrayLike) -> NDArray[np.float64]:
        """Return the derivative of `friction_at` by the parameters (contacts × parameters); zero if none is given."""
        slopes = np.zeros((len(self.gaps), len(self.parameters)))
        slides = [c for c, gap in enumerate(self.gaps) if gap.slides]
        if slides:
            slopes[slides] = self._friction_slopes(p)["slopes"].reshape((len(slides), -1), order="F")
        return slopes

    @functools.cached_property
    def _terms(self) -> Kernel:
        e, u = self.equations, self.symbols.u
        h, gap, slip = self.row_slices
        B = ca.jacobian(e.applied, u)
        outputs = {
            "M": e.M,
            "b": e.bias + e.damping - (e.applied - B @ u),
            "B": B,
            "h": e.g[h, 0],
            "H": e.A[h, :],
            "h_dot": e.rate[h, 0],
            "h_drift": e.drift[h, 0],
            "gap": e.g[gap, 0],
            "J": e.A[gap, :],
            "gap_dot": e.rate[gap, 0],
            "gap_drift": e.drift[gap, 0],
            "gap_partial": e.partial[gap, 0],
            "slip": e.g[slip, 0],
            "T": e.A[slip, :],
            "slip_dot": e.rate[slip, 0],
            "slip_drift": e.drift[slip, 0],
            "extent": e.extent,
        }
        return self._compile("terms", outputs)

    @functools.cached_property
    def row_slices(self) -> tuple[slice, slice, slice]:
        """Where constraints, gaps and slips stand among the rows."""
        gaps, slips = len(self.constraints), len(self.constraints) + len(self.gaps)
        return slice(0, gaps), slice(gaps, slips), slice(slips, slips + len(self.slips))

    def terms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        t: float = 0.0,
        u: ArrayLike | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Evaluate the terms of the equation of motion, for a controller or estimator of your own.

        Args:
            q: coordinates (nq).
            v: velocities (nv).
            t: time, s.
            u: inputs (nu); zero if left out.
            parameters: values that differ from the model's.

        Returns:
            ``M`` (nv × nv), ``b`` (nv), ``B`` (nv × nu); of the constraints ``h``, ``H``, ``h_dot`` and
            ``h_drift`` = Ḣv; of the gaps ``gap``, ``J``, ``gap_dot``, ``gap_drift`` = J̇v + ∂γ̇/∂t and
            ``gap_partial`` = ∂γ/∂t; of the sliding directions ``slip``, ``T``, ``slip_dot`` and
            ``slip_drift``; ``extent`` of the surfaces that have an end.

        Example:
            >>> from impinge.robots import ball
            >>> ball().terms(q=[1.0], v=[0.0], parameters={"m": 2.0})["M"]
            array([[2.]])
        """
        inputs = np.zeros(len(self.inputs)) if u is None else u
        return self.terms_at(q, v, t, inputs, self.parameter_vector(parameters or {}))

    def terms_at(
        self, q: ArrayLike, v: ArrayLike, t: float, u: ArrayLike, p: ArrayLike, only: Iterable[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Evaluate `terms`, all or some, for inputs and parameters given as vectors."""
        values, shapes = self._terms(q, v, t, u, p, only=only), self._terms.outputs
        return {k: x.reshape(shapes[k], order="F") if k in ("M", "B", "H", "J", "T") else x for k, x in values.items()}

    def _compile(self, what: str, outputs: Mapping[str, Any]) -> Kernel:
        s = self.symbols
        return compile_kernel(what, {"q": s.q, "v": s.v, "t": s.t, "u": s.u, "p": s.p}, outputs)

    def parameter_vector(self, changes: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the parameters as a vector, with ``changes`` by name."""
        return values_of(self.label, "parameter", self.parameters, changes)

    def input_vector(self, changes: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the inputs as a vector, with ``changes`` by name; inputs not named keep their default."""
        return values_of(self.label, "input", self.inputs, changes)

    def start_vectors(self, changes: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return start coordinates and velocities, with ``changes`` by signal name (``x``, ``x_dot``).

        Quaternions are scaled to length one.
        """
        x, n = (
            values_of(self.label, "start value", [*self.coordinates, *self.velocities], changes),
            len(self.coordinates),
        )
        names = [quantity.name for quantity in self.coordinates]
        return of_length_one(f"start of {self.label}", names, x[:n], self.spins), x[n:]

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, stored(self)

    def __str__(self) -> str:
        return listed(self)
