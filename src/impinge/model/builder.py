"""Describe a mechanism in a few lines of CasADi expressions; `build` derives and freezes it."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from impinge.errors import ModelError
from impinge.model.derive import Equations, Symbols, direct, lagrange, rows
from impinge.model.links import Link
from impinge.model.model import WORKS, Model
from impinge.model.quantities import Coordinate, Gap, Input, Quantity, finite
from impinge.model.verify import check_held, check_kinetic, check_pieces, missing_in_model

_Kind = TypeVar("_Kind", bound=Quantity)


class ModelBuilder:
    """Collects the pieces of a model.

    Example:
        >>> b = ModelBuilder("ball")
        >>> z, w = b.coordinate("z", start=1.0, unit="m")
        >>> m, g = b.parameter("m", 1.0, "kg"), b.parameter("g", 9.81, "m/s²")
        >>> b.kinetic(m * w**2 / 2)
        >>> b.potential(m * g * z)
        >>> b.gap("floor", z)
        >>> b.build().contacts
        ('floor',)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.time = ca.SX.sym("t")
        self._taken = {"t", "energy_kinetic", "energy_potential", *(f"work_{work}" for work in WORKS)}
        self._coordinates: list[tuple[Coordinate, Any, Any]] = []
        self._parameters: list[tuple[Quantity, Any]] = []
        self._inputs: list[tuple[Input, Any]] = []
        self._constraints: list[tuple[Quantity, Any]] = []
        self._gaps: list[tuple[Gap, Any]] = []
        self._slips: list[tuple[str, Any]] = []
        self._extents: list[tuple[str, Any]] = []
        self._friction: list[tuple[str, Any]] = []
        self._outputs: list[tuple[Quantity, Any]] = []
        self._links: list[Link] = []
        self._forces: list[tuple[Any, Any]] = []
        self._damping: list[tuple[Any, Any]] = []
        self._kinetic: Any = None
        self._potential: Any = ca.SX(0)
        self._direct: tuple[Any, Any] | None = None

    def coordinate(
        self, name: str, start: float = 0.0, speed: float = 0.0, unit: str = "m", about: str = ""
    ) -> tuple[Any, Any]:
        """Add a coordinate; return its symbol and that of its velocity."""
        who = f"coordinate '{name}' of model '{self.name}'"
        quantity = Coordinate(name, unit, finite(who, start), about, speed=finite(who, speed))
        self._claim(name, name, f"{name}_dot")
        q, v = ca.SX.sym(name), ca.SX.sym(f"{name}_dot")
        self._coordinates.append((quantity, q, v))
        return q, v

    def parameter(self, name: str, value: float, unit: str = "", about: str = "") -> Any:
        """Add a parameter, changeable at run time without recompiling; return its symbol."""
        return self._symbol(self._parameters, "parameter", Quantity(name, unit, value, about))

    def input(
        self, name: str, unit: str = "", value: float = 0.0, about: str = "", *, disturbance: bool = False
    ) -> Any:
        """Add an input, held between the ticks of a controller or constant; return its symbol.

        A disturbance acts as any other input does, but nobody can choose it: it carries no load in `equilibrium`.
        """
        return self._symbol(self._inputs, "input", Input(name, unit, value, about, disturbance=disturbance))

    def kinetic(self, energy: Any) -> None:
        """Add kinetic energy, quadratic in the velocities."""
        term = self._scalar("kinetic energy", energy)
        self._kinetic = term if self._kinetic is None else self._kinetic + term

    def potential(self, energy: Any) -> None:
        """Add potential energy."""
        self._potential = self._potential + self._scalar("potential energy", energy)

    def inertia(self, M: Any, b: Any) -> None:
        """Give M(q) and b(q, v, t) directly instead of a kinetic energy; potentials and damping still add to b."""
        self._direct = (self._expression("inertia matrix M", M), self._expression("bias b", b))

    def force(self, force: Any, along: Any) -> None:
        """Add a force along a displacement: a coordinate, or any expression of the coordinates."""
        self._forces.append((self._scalar("force", force), self._scalar("displacement", along)))

    def damping(self, force: Any, along: Any) -> None:
        """Add a force that opposes a displacement, e.g. ``damping(c * v, along=q)``; its work counts as dissipated."""
        self._damping.append((self._scalar("damping force", force), self._scalar("displacement", along)))

    def constraint(self, name: str, expression: Any, unit: str = "m", about: str = "") -> None:
        """Add a bilateral constraint: the expression stays zero."""
        residual = self._scalar(f"constraint '{name}'", expression)
        self._claim(name, f"residual_{name}", f"force_{name}")
        self._constraints.append((Quantity(name, unit, about=about), residual))

    def gap(
        self,
        name: str,
        expression: Any,
        unit: str = "m",
        about: str = "",
        slip: Any = (),
        extent: Any = None,
        friction: Any = None,
    ) -> None:
        """Add a possible contact by its gap: positive when apart. It may depend on `time`.

        Args:
            name: of the contact.
            expression: the gap.
            unit: of the gap.
            about: where it comes from.
            slip: how far one surface has slid over the other, as an expression of the coordinates whose
                rate is the sliding speed; one for each tangential direction. Without it the contact is smooth.
                It must not jump (as an angle does after a turn) while the contact is closed.
            extent: positive where the surface is, if it has an end (an edge, a gate); continuous. What passes
                below it there is inside, not penetrating, until it comes out again.
            friction: coefficient of Coulomb friction along the slips, a number or an expression of parameters.
                Without it a contact that has slips never slides: it rolls or sticks.
        """
        distance = self._scalar(f"gap '{name}'", expression)
        slips = [self._scalar(f"slip of gap '{name}'", s) for s in (slip if isinstance(slip, Sequence) else (slip,))]
        names = (name,) if len(slips) == 1 else tuple(f"{name}_{k + 1}" for k in range(len(slips)))
        claimed = [f"{kind}_{s}" for s in names for kind in ("slip", "friction")] + [f"slip_{s}_dot" for s in names]
        extents = [] if extent is None else [self._scalar(f"extent of gap '{name}'", extent)]
        claimed += [f"extent_{name}"] * len(extents)
        if friction is not None and not slips:
            raise self._error(
                "friction along at least one slip", f"none for gap '{name}'", "Give gap(..., slip=...) its directions."
            )
        self._claim(
            name, f"gap_{name}", f"gap_{name}_dot", f"force_{name}", f"mode_{name}", f"impulse_{name}", *claimed
        )
        self._slips += [(f"slip of gap '{name}'", s) for s in slips]
        self._extents += [(f"extent of gap '{name}'", e) for e in extents]
        if friction is not None:
            self._friction.append((f"friction of gap '{name}'", self._scalar(f"friction of gap '{name}'", friction)))
        kind = Gap(name, unit, about=about, slips=names, limited=extent is not None, slides=friction is not None)
        self._gaps.append((kind, distance))

    def output(self, name: str, expression: Any, unit: str = "", about: str = "") -> None:
        """Add an output: what sensors see of the mechanism, and what a controller is given."""
        value = self._scalar(f"output '{name}'", expression)
        self._claim(name, name)
        self._outputs.append((Quantity(name, unit, about=about), value))

    def link(self, name: str, position: Any, axes: Any = None) -> None:
        """Name a frame of the mechanism for shapes in a scene: position (3), axes as columns (3 × 3)."""
        given = list(position) if isinstance(position, Sequence) else [position]
        at = ca.vertcat(*[self._expression(f"position of link '{name}'", x) for x in given])
        turned = self._expression(f"axes of link '{name}'", ca.SX.eye(3) if axes is None else axes)
        if at.shape != (3, 1) or turned.shape != (3, 3):
            got = f"{at.shape[0]} × {at.shape[1]} and {turned.shape[0]} × {turned.shape[1]}"
            raise self._error("links with a position (3) and axes (3 × 3)", got, f"Check link '{name}'.")
        self._claim(name)
        if any(link.name == name for link in self._links):
            raise self._error("a name of its own for every link", f"'{name}' twice", "Rename one of the two.")
        self._links.append(Link(name, at, turned))

    def build(self) -> Model:
        """Check the pieces, derive every term exactly and return the immutable model."""
        if not self._coordinates:
            raise self._error("at least one coordinate", "none", "Call coordinate(...) first.")
        column = ca.vertcat
        symbols = Symbols(
            t=self.time,
            q=column(*(q for _, q, _ in self._coordinates)),
            v=column(*(v for _, _, v in self._coordinates)),
            u=column(ca.SX(0, 1), *(u for _, u in self._inputs)),
            p=column(ca.SX(0, 1), *(p for _, p in self._parameters)),
        )
        self._check_dependence(symbols)
        M, bias, kinetic, explicit = self._left_hand_side(symbols)
        stacked: list[tuple[Any, Any]] = [*self._constraints, *self._gaps, *self._slips]
        g = column(ca.SX(0, 1), *(row for _, row in stacked))
        A, rate, drift, partial = rows(symbols, g)
        extent = column(ca.SX(0, 1), *(e for _, e in self._extents))
        applied, damping = self._generalized(symbols, self._forces), self._generalized(symbols, self._damping)
        equations = Equations(
            M=M,
            bias=bias,
            damping=damping,
            applied=applied,
            g=g,
            A=A,
            rate=rate,
            drift=drift,
            partial=partial,
            extent=extent,
            extent_rate=rows(symbols, extent)[1],
            kinetic=kinetic,
            potential=self._potential,
            power=column(ca.dot(symbols.v, applied), ca.dot(symbols.v, damping), explicit),
        )
        return Model(
            name=self.name,
            coordinates=tuple(c for c, _, _ in self._coordinates),
            parameters=tuple(x for x, _ in self._parameters),
            inputs=tuple(x for x, _ in self._inputs),
            constraints=tuple(x for x, _ in self._constraints),
            gaps=tuple(x for x, _ in self._gaps),
            outputs=tuple(x for x, _ in self._outputs),
            symbols=symbols,
            equations=equations,
            output_expressions=column(ca.SX(0, 1), *(y for _, y in self._outputs)),
            friction_expressions=column(ca.SX(0, 1), *(mu for _, mu in self._friction)),
            links=tuple(self._links),
        )

    def __getattr__(self, name: str) -> Any:
        raise missing_in_model(
            name, f"the ModelBuilder of '{self.__dict__.get('name', '')}'", "Call its build() first."
        )

    def _left_hand_side(self, s: Symbols) -> tuple[Any, Any, Any, Any]:
        if (self._kinetic is None) == (self._direct is None):
            got = "neither" if self._direct is None else "both"
            raise self._error("either kinetic(...) or inertia(M, b)", got, "Give exactly one of the two.")
        if self._direct is None:
            left = lagrange(s, self._kinetic, self._potential)
            if ca.depends_on(left[0], s.v):
                raise self._error(
                    "a kinetic energy quadratic in the velocities",
                    "an inertia that depends on them",
                    "Check the powers of the velocities in kinetic(...).",
                )
            q = np.array([x.value for x, _, _ in self._coordinates])
            check_kinetic(self.name, s, self._kinetic, q, np.array([x.value for x, _ in self._parameters]))
            return left
        M, b = self._direct
        n = s.v.shape[0]
        if M.shape != (n, n) or b.shape != (n, 1):
            raise self._error(
                f"M of {n} × {n} and b of {n} for {n} coordinates",
                f"M of {M.shape[0]} × {M.shape[1]} and b of {b.numel()}",
                "Give one row for each coordinate.",
            )
        return direct(s, M, b, self._potential)

    def _generalized(self, s: Symbols, forces: list[tuple[Any, Any]]) -> Any:
        total = ca.SX(s.v.shape[0], 1)
        for force, along in forces:
            total += ca.jacobian(along, s.q).T * force
        return total

    def _check_dependence(self, s: Symbols) -> None:
        """Say which piece uses what it may not use, such as velocities in a place for positions."""
        everything = ca.vertcat(s.t, s.q, s.v, s.u, s.p)
        position = ca.vertcat(s.t, s.q, s.p)
        pieces = [("the potential energy", self._potential, position)]
        pieces += [(f"constraint '{x.name}'", h, position) for x, h in self._constraints]
        pieces += [(f"gap '{x.name}'", gap, position) for x, gap in self._gaps]
        pieces += [(what, expression, position) for what, expression in self._slips + self._extents]
        pieces += [(what, expression, s.p) for what, expression in self._friction]
        pieces += [(f"output '{x.name}'", y, everything) for x, y in self._outputs]
        pieces += [
            (f"link '{x.name}'", ca.vertcat(x.position, ca.vec(x.axes)), ca.vertcat(s.q, s.p)) for x in self._links
        ]
        pieces += [("a displacement", along, position) for _, along in self._forces + self._damping]
        pieces += [("a force", force, everything) for force, _ in self._forces + self._damping]
        if self._kinetic is not None:
            pieces.append(("the kinetic energy", self._kinetic, ca.vertcat(position, s.v)))
        if self._direct is not None:
            pieces += [("the inertia matrix M", self._direct[0], position)]
            pieces += [("the bias b", self._direct[1], everything)]
        check_pieces(self.name, pieces)
        rows = [(f"constraint '{x.name}'", h) for x, h in self._constraints]
        rows += [(f"gap '{gap.name}'", e) for gap, e in self._gaps] + self._slips
        check_held(self.name, s, rows)

    def _symbol(self, where: list[tuple[_Kind, Any]], kind: str, x: _Kind) -> Any:
        value = finite(f"{kind} '{x.name}' of model '{self.name}'", x.value)
        self._claim(x.name, x.name)
        symbol = ca.SX.sym(x.name)
        where.append((replace(x, value=value), symbol))
        return symbol

    def _expression(self, what: str, value: Any) -> Any:
        try:
            return ca.SX(value)
        except (NotImplementedError, RuntimeError, TypeError):  # CasADi's three ways of saying no
            raise ModelError(
                f"{what} of model '{self.name}'",
                "a CasADi SX expression or a number",
                type(value).__name__,
                "Build it from the symbols that the builder returns.",
            ) from None

    def _scalar(self, what: str, value: Any) -> Any:
        expression = self._expression(what, value)
        if expression.shape != (1, 1):
            got = f"one of {expression.shape[0]} × {expression.shape[1]}"
            raise ModelError(f"{what} of model '{self.name}'", "a scalar", got, "Give one scalar at a time.")
        return expression

    def _claim(self, name: str, *signals: str) -> None:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise self._error("names that are Python identifiers", f"'{name}'", "Use letters, digits and underscores.")
        clash = sorted(self._taken.intersection(signals))
        if clash:
            raise self._error("a name of its own for every signal", f"'{clash[0]}' twice", "Rename one of the two.")
        self._taken.update(signals)

    def _error(self, expected: str, got: str, remedy: str) -> ModelError:
        return ModelError(f"model '{self.name}'", expected, got, remedy)
