"""The pieces of a model as a builder collects them: each is checked as it comes, and all together in the end."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import casadi as ca

from impinge.errors import ModelError
from impinge.model.derive import Row, Symbols
from impinge.model.links import Link
from impinge.model.model import WORKS
from impinge.model.quantities import Constraint, Coordinate, Gap, Input, Quantity, finite
from impinge.model.spins import Spin
from impinge.model.verify import check_held, check_pieces, check_rates

_Kind = TypeVar("_Kind", bound=Quantity)


class Pieces:
    """What a builder has been given so far, and the names that are taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.time = ca.SX.sym("t")
        self._taken = {"t", "energy_kinetic", "energy_potential", *(f"work_{work}" for work in WORKS)}
        self._coordinates: list[tuple[Coordinate, Any]] = []
        self._velocities: list[tuple[Quantity, Any]] = []
        self._spins: list[Spin] = []
        self._parameters: list[tuple[Quantity, Any]] = []
        self._inputs: list[tuple[Input, Any]] = []
        self._constraints: list[tuple[Constraint, Row]] = []
        self._gaps: list[tuple[Gap, Any]] = []
        self._slips: list[tuple[str, Row]] = []
        self._extents: list[tuple[str, Any]] = []
        self._friction: list[tuple[str, Any]] = []
        self._outputs: list[tuple[Quantity, Any]] = []
        self._links: list[Link] = []
        self._forces: list[tuple[Any, Row]] = []
        self._damping: list[tuple[Any, Row]] = []
        self._kinetic: Any = None
        self._potential: Any = ca.SX(0)
        self._direct: tuple[Any, Any] | None = None

    def _check_dependence(self, s: Symbols) -> None:
        """Say which piece uses what it may not use, such as velocities in a place for positions."""
        everything = ca.vertcat(s.t, s.q, s.v, s.u, s.p)
        position = ca.vertcat(s.t, s.q, s.p)
        pieces = [("the potential energy", self._potential, position)]
        stacked = [(f"constraint '{x.name}'", row) for x, row in self._constraints]
        stacked += [(f"gap '{gap.name}'", Row(distance)) for gap, distance in self._gaps] + self._slips
        values = [(what, row.value) for what, row in stacked if row.value is not None]
        by_rate = [(f"rate of {what}", row.rate) for what, row in stacked if row.value is None]
        pieces += [(what, expression, position) for what, expression in values + self._extents]
        pieces += [(what, expression, ca.vertcat(position, s.v)) for what, expression in by_rate]
        pieces += [(what, expression, s.p) for what, expression in self._friction]
        pieces += [(f"output '{x.name}'", y, everything) for x, y in self._outputs]
        pieces += [
            (f"link '{x.name}'", ca.vertcat(x.position, ca.vec(x.axes)), ca.vertcat(s.q, s.p)) for x in self._links
        ]
        along = [("a displacement", row) for _, row in self._forces + self._damping]
        pieces += [(what, row.value, position) for what, row in along if row.value is not None]
        speeds = [(f"rate of {what}", row.rate) for what, row in along if row.value is None]
        pieces += [(what, expression, ca.vertcat(position, s.v)) for what, expression in speeds]
        pieces += [("a force", force, everything) for force, _ in self._forces + self._damping]
        if self._kinetic is not None:
            pieces.append(("the kinetic energy", self._kinetic, ca.vertcat(position, s.v)))
        if self._direct is not None:
            pieces += [("the inertia matrix M", self._direct[0], position)]
            pieces += [("the bias b", self._direct[1], everything)]
        check_pieces(self.name, pieces)
        check_held(self.name, s, values)
        check_rates(self.name, s, by_rate + speeds)

    def _symbol(self, where: list[tuple[_Kind, Any]], kind: str, x: _Kind) -> Any:
        value = finite(f"{kind} '{x.name}' of model '{self.name}'", x.value)
        self._claim(x.name, x.name)
        symbol = ca.SX.sym(x.name)
        where.append((replace(x, value=value), symbol))
        return symbol

    def _row(self, what: str, value: Any, rate: Any) -> Row:
        if value is not None and rate is not None:
            raise self._error(f"{what} by an expression or by its rate", "both", "Give one of the two.")
        return Row(self._scalar(what, value)) if rate is None else Row(rate=self._scalar(f"rate of {what}", rate))

    def _slip_rows(self, gap: str, slip: Any, slip_rate: Any) -> list[Row]:
        """Return the rows of a gap's slips, which are given one by one or as a sequence."""
        given, by_rate = (slip, False) if slip_rate is None else (slip_rate, True)
        if by_rate and not (isinstance(slip, Sequence) and not slip):
            raise self._error(f"slips of gap '{gap}' by slip or by slip_rate", "both", "Give one of the two.")
        values = given if isinstance(given, Sequence) else (given,)
        what = f"slip of gap '{gap}'"
        return [self._row(what, None, x) if by_rate else self._row(what, x, None) for x in values]

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
