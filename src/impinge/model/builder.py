"""Describe a mechanism in a few lines of CasADi expressions; `build` derives and freezes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from impinge.errors import ModelError
from impinge.model.derive import Equations, Row, Symbols, direct, lagrange, rows
from impinge.model.links import Link
from impinge.model.model import Model
from impinge.model.pieces import Pieces
from impinge.model.quantities import Constraint, Coordinate, Gap, Input, Quantity, finite
from impinge.model.spins import Spin, rotation_matrix
from impinge.model.verify import check_kinetic, missing_in_model


class ModelBuilder(Pieces):
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

    def coordinate(
        self, name: str, start: float = 0.0, speed: float = 0.0, unit: str = "m", about: str = ""
    ) -> tuple[Any, Any]:
        """Add a coordinate; return its symbol and that of its velocity."""
        who = f"coordinate '{name}' of model '{self.name}'"
        quantity = Coordinate(name, unit, finite(who, start), about, speed=finite(who, speed))
        self._claim(name, name, f"{name}_dot")
        q, v = ca.SX.sym(name), ca.SX.sym(f"{name}_dot")
        self._coordinates.append((quantity, q))
        self._velocities.append((Quantity(f"{name}_dot", f"{unit}/s", quantity.speed), v))
        return q, v

    def rotation(
        self,
        name: str,
        start: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
        spin: Sequence[float] = (0.0, 0.0, 0.0),
        about: str = "",
    ) -> tuple[Any, Any]:
        """Add a rotation that goes any way round, such as a ball joint's or a free body's.

        Its coordinates are a unit quaternion, ``name_qw``, ``name_qx``, ``name_qy``, ``name_qz``, singular in no
        attitude. Its velocities are the angular velocity in the turning axes, ``name_wx``, ``name_wy``, ``name_wz``.

        Args:
            name: of the rotation.
            start: quaternion (w, x, y, z) at the start; it is scaled to length one.
            spin: angular velocity at the start, in the turning axes, rad/s.
            about: where it comes from.

        Returns:
            The rotation matrix (3 × 3), which turns vectors in the turning axes into those in the fixed ones, and the
            angular velocity (3) in the turning axes.

        Example:
            >>> import casadi as ca
            >>> b = ModelBuilder("top")
            >>> R, w = b.rotation("top", spin=(0, 0, 50))
            >>> I = ca.diag(ca.SX([2e-4, 2e-4, 3e-4]))
            >>> b.kinetic(w.T @ I @ w / 2)
            >>> b.potential(0.1 * 9.81 * (R @ ca.SX([0, 0, 0.04]))[2])
            >>> [x.name for x in b.build().velocities]
            ['top_wx', 'top_wy', 'top_wz']
        """
        who = f"rotation '{name}' of model '{self.name}'"
        quaternion, speeds = ([finite(who, x) for x in values] for values in (start, spin))
        if len(quaternion) != 4 or len(speeds) != 3 or not np.linalg.norm(quaternion) > 0.0:
            raise ModelError(
                who,
                "a start quaternion (w, x, y, z) other than zero, and a spin of three numbers",
                f"{tuple(quaternion)} and {tuple(speeds)}",
                "No turn at all is (1, 0, 0, 0).",
            )
        unit = np.array(quaternion) / np.linalg.norm(quaternion)
        coordinates, velocities = [f"{name}_q{x}" for x in "wxyz"], [f"{name}_w{x}" for x in "xyz"]
        self._claim(name, *coordinates, *velocities, *(f"{name}_turn_{x}" for x in "xyz"))
        self._spins.append(Spin(len(self._coordinates), len(self._velocities)))
        q, v = [ca.SX.sym(x) for x in coordinates], [ca.SX.sym(x) for x in velocities]
        for x, value, symbol in zip(coordinates, unit.tolist(), q, strict=True):
            self._coordinates.append((Coordinate(x, "", value, about), symbol))
        for x, value, symbol in zip(velocities, speeds, v, strict=True):
            self._velocities.append((Quantity(x, "rad/s", value), symbol))
        return rotation_matrix(ca.vertcat(*q)), ca.vertcat(*v)

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

    def force(self, force: Any, along: Any = None, *, rate: Any = None) -> None:
        """Add a force along a displacement: a coordinate, or any expression of the coordinates.

        In its place the speed may be given at which the force does work, linear in the velocities: a torque about an
        axis of a rotation acts at a component of its angular velocity.
        """
        self._forces.append((self._scalar("force", force), self._row("displacement", along, rate)))

    def damping(self, force: Any, along: Any = None, *, rate: Any = None) -> None:
        """Add a force that opposes a displacement, e.g. ``damping(c * v, along=q)``; its work counts as dissipated.

        In place of the displacement its speed may be given, as for `force`.
        """
        self._damping.append((self._scalar("damping force", force), self._row("displacement", along, rate)))

    def constraint(
        self, name: str, expression: Any = None, unit: str = "m", about: str = "", *, rate: Any = None
    ) -> None:
        """Add a bilateral constraint: the expression stays zero.

        Args:
            name: of the constraint.
            expression: of the coordinates, and maybe of `time`.
            unit: of the expression.
            about: where it comes from.
            rate: in its place, an expression that is linear in the velocities, as that of a wheel which rolls. It binds
                velocities only: where the wheel gets to depends on the way that it takes.
        """
        row = self._row(f"constraint '{name}'", expression, rate)
        self._claim(name, f"residual_{name}", f"force_{name}")
        self._constraints.append((Constraint(name, unit, about=about, by_rate=rate is not None), row))

    def gap(
        self,
        name: str,
        expression: Any,
        unit: str = "m",
        about: str = "",
        slip: Any = (),
        extent: Any = None,
        friction: Any = None,
        slip_rate: Any = None,
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
            slip_rate: in place of ``slip``, the sliding speeds themselves, linear in the velocities: of what rolls in
                space no displacement is a function of the coordinates.
        """
        distance = self._scalar(f"gap '{name}'", expression)
        slips = self._slip_rows(name, slip, slip_rate)
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
        self._slips += [(f"slip of gap '{name}'", row) for row in slips]
        self._extents += [(f"extent of gap '{name}'", e) for e in extents]
        if friction is not None:
            self._friction.append((f"friction of gap '{name}'", self._scalar(f"friction of gap '{name}'", friction)))
        kind = Gap(
            name,
            unit,
            about=about,
            slips=names,
            limited=extent is not None,
            slides=friction is not None,
            by_rate=slip_rate is not None,
        )
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
            q=column(*(q for _, q in self._coordinates)),
            v=column(*(v for _, v in self._velocities)),
            u=column(ca.SX(0, 1), *(u for _, u in self._inputs)),
            p=column(ca.SX(0, 1), *(p for _, p in self._parameters)),
            spins=tuple(self._spins),
        )
        self._check_dependence(symbols)
        M, bias, kinetic, explicit = self._left_hand_side(symbols)
        of_gaps = [(gap, Row(distance)) for gap, distance in self._gaps]
        g, A, rate, drift, partial = rows(symbols, [row for _, row in (*self._constraints, *of_gaps, *self._slips)])
        extent, _, extent_rate, _, _ = rows(symbols, [Row(e) for _, e in self._extents])
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
            extent_rate=extent_rate,
            kinetic=kinetic,
            potential=self._potential,
            power=column(ca.dot(symbols.v, applied), ca.dot(symbols.v, damping), explicit),
        )
        return Model(
            name=self.name,
            coordinates=tuple(x for x, _ in self._coordinates),
            velocities=tuple(x for x, _ in self._velocities),
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
            q = np.array([x.value for x, _ in self._coordinates])
            check_kinetic(self.name, s, self._kinetic, q, np.array([x.value for x, _ in self._parameters]))
            return left
        M, b = self._direct
        n = s.v.shape[0]
        if M.shape != (n, n) or b.shape != (n, 1):
            raise self._error(
                f"M of {n} × {n} and b of {n} for {n} velocities",
                f"M of {M.shape[0]} × {M.shape[1]} and b of {b.numel()}",
                "Give one row for each velocity.",
            )
        return direct(s, M, b, self._potential)

    def _generalized(self, s: Symbols, forces: list[tuple[Any, Row]]) -> Any:
        total = ca.SX(s.v.shape[0], 1)
        for force, along in forces:
            slopes = ca.jacobian(along.rate, s.v) if along.value is None else s.by_motion(along.value)
            total += slopes.T * force
        return total
