"""What can be wrong with a model before anything is derived from it, and with what is taken for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, MissingError, ModelError, show
from impinge.model.derive import Symbols
from impinge.model.model import Model

# States at which it is tried whether a kinetic energy is one, and how well it must be.
_STATES, _ROUNDING = 5, 1e-9


def check_pieces(model: str, pieces: Iterable[tuple[str, Any, Any]]) -> None:
    """Raise the error that fits if a piece uses a symbol that it may not use, or a number that is none.

    Args:
        model: its name, for messages.
        pieces: what each is called, its expression, and the symbols that it may depend on.
    """
    for what, expression, allowed in pieces:
        names = {symbol.name() for symbol in ca.symvar(allowed)}
        strange = [symbol.name() for symbol in ca.symvar(expression) if symbol.name() not in names]
        probe = ca.Function("probe", [allowed], [expression], {"allow_free": True})
        if strange or probe.has_free():
            raise ModelError(
                f"{what} of model '{model}'",
                f"an expression of {', '.join(sorted(names))}",
                ", ".join(f"'{name}'" for name in strange) or "a symbol of another model with the same name",
                "Use the symbols that this builder's coordinate, parameter, input and time gave.",
            )
        if _holds_nan(probe):
            raise ModelError(
                f"{what} of model '{model}'",
                "an expression of numbers and symbols",
                "nan in it",
                "Use CasADi's functions of symbols (casadi.sin, not math.sin), and check for 0/0.",
            )


def _holds_nan(probe: Any) -> bool:
    """Tell whether NaN is among the constants of a function: it may vanish from derivatives, and so go unnoticed."""
    steps = range(probe.n_instructions())
    return any(probe.instruction_id(k) == ca.OP_CONST and np.isnan(probe.instruction_constant(k)) for k in steps)


def check_held(model: str, s: Symbols, rows: Sequence[tuple[str, Any]]) -> None:
    """Raise the error that fits if a constraint, gap or slip depends on no coordinate."""
    for what, expression in rows:
        if not ca.depends_on(expression, s.q):
            kind = what.split()[0]
            says = "holds nothing" if kind == "constraint" else "is no contact"
            raise ModelError(
                f"{what} of model '{model}'",
                "an expression that depends on a coordinate",
                str(expression),
                f"A {kind} that nothing can change {says}: leave it out.",
            )


def check_rates(model: str, s: Symbols, rates: Sequence[tuple[str, Any]]) -> None:
    """Raise the error that fits if a row that is given by its rate is not linear in the velocities."""
    for what, expression in rates:
        slopes = ca.jacobian(expression, s.v)
        if not slopes.nnz() or ca.depends_on(slopes, s.v):
            raise ModelError(
                f"{what} of model '{model}'",
                "an expression that is linear in the velocities",
                str(expression),
                "Write the speed that is to be zero, as the velocity of the point that touches.",
            )


def check_kinetic(model: str, s: Symbols, kinetic: Any, q: NDArray[np.float64], p: NDArray[np.float64]) -> None:
    """Raise the error that fits if a kinetic energy has a term without velocities that belongs to no square.

    A kinetic energy is ½(v + c)ᵀM(v + c), where c is the motion of what the velocities are counted from: it vanishes
    at v = −c. With its part without velocities T₀, and momentum b at v = 0, that means T₀ = ½ bᵀM⁻¹b. It is tried at
    a few states near the start, with parameters near their values.
    """
    still = ca.substitute(kinetic, s.v, ca.SX.zeros(*s.v.shape))
    if still.is_zero():
        return
    momentum = ca.gradient(kinetic, s.v)
    b = ca.substitute(momentum, s.v, ca.SX.zeros(*s.v.shape))
    at = ca.Function("at", [s.t, s.q, s.p, s.v], [still, b, ca.jacobian(momentum, s.v)])
    random = np.random.default_rng(0)
    for _ in range(_STATES):
        near = p * (1.0 + 0.1 * random.normal(size=p.size)) + 0.1 * random.normal(size=p.size)
        values = at(random.uniform(0.0, 1.0), q + random.normal(size=q.size), near, np.zeros(q.size))
        energy, start, M = (np.array(value, dtype=float) for value in values)
        if not all(np.isfinite(value).all() for value in (energy, start, M)):
            continue
        rest = energy.item()
        square = float((start.T @ np.linalg.lstsq(M, start, rcond=None)[0]).item()) / 2
        if abs(rest - square) > _ROUNDING * (abs(rest) + abs(square)):
            raise ModelError(
                f"the kinetic energy of model '{model}'",
                "terms with velocities",
                f"one without, {_short(still)}",
                "Give it to potential(...), with the opposite sign if it is meant as a part of the Lagrangian T − V.",
            )


def _short(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 60 else f"{text[:57]}..."


def missing_in_model(name: str, got: str, remedy: str) -> AttributeError:
    """Return the error for an attribute that an object lacks: that it is no model, if it is one that models have."""
    if name.startswith("_") or not (name in Model.__dataclass_fields__ or hasattr(Model, name)):
        return AttributeError(f"{got} has no attribute '{name}'")
    return MissingError("a function of models", "a Model", got, remedy)


def check_model(who: str, model: object) -> None:
    """Raise the error that fits if what should be a model is none."""
    if isinstance(model, Model):
        return
    forgotten = callable(getattr(type(model), "build", None))
    got = f"the ModelBuilder of '{getattr(model, 'name', '')}'" if forgotten else show(model)
    remedy = "Call its build() first." if forgotten else "Describe one with ModelBuilder(...), or a Scene(...)."
    raise InputError(who, "a model", got, remedy)
