"""Everything that can be wrong with a run before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from impinge.compile import address_of
from impinge.contact.law import FUNCTIONS, ContactLaw, Law, is_compliant
from impinge.errors import InputError, StartError, show, unknown_name
from impinge.model import Gap, Model, Quantity
from impinge.simulation.system.inertia import surely_inertia
from impinge.simulation.system.interface import System

# How far a start state may miss a constraint or sink into a surface, in the row's unit.
START_TOLERANCE = 1e-6
# Below this an inertia matrix with a unit diagonal is singular up to rounding.
_SINGULAR = 1e-13

FloatArray = NDArray[np.float64]


def laws_of(model: System, law: ContactLaw | Mapping[str, ContactLaw] | None, kind: Any = Law) -> list[Any]:
    """Return one law for each contact, each of a kind: event-driven ones, or any."""
    who = f"simulation of {model.label}"
    if law is None and model.gaps:
        raise InputError(
            who,
            f"a law for its contacts ({', '.join(model.contacts)})",
            "none",
            "Pass law=Baumgarte(), or a dict from contact to law.",
        )
    if law is None:
        return []
    if not isinstance(law, Mapping):
        chosen = dict.fromkeys(model.contacts, law)
    else:
        chosen = dict(law)
        for name in chosen:
            if name not in model.contacts:
                raise unknown_name(who, "contact", name, model.contacts)
        missing = [contact for contact in model.contacts if contact not in chosen]
        if missing:
            raise InputError(who, "a law for every contact", f"none for '{missing[0]}'", "Add it to the dict of laws.")
    for contact, one in chosen.items():
        if not _is_law(one, kind):
            what = "an event-driven law" if _is_law(one, ContactLaw) else "a law"
            remedy = "Pass an object such as Baumgarte()."
            asked = ("name", "modes", "closed", "gains", *(FUNCTIONS if kind is Law else ()))
            lacking = [name for name in asked if not hasattr(one, name)]
            more = f", which has no {' and no '.join(lacking)}" if 0 < len(lacking) < len(asked) else ""
            raise InputError(who, f"{what} for contact '{contact}'", repr(one) + more, remedy)
        if type(one) not in _CHECKED:
            _check_functions(one)
    return [chosen[contact] for contact in model.contacts]


_LAWS: set[tuple[type, type]] = set()
_CHECKED: set[type] = set()


def _check_functions(law: ContactLaw) -> None:
    """Raise the error that fits if a law's functions do not have the signatures that the simulator calls."""
    if not len(law.modes) == len(law.closed) > 0 or not any(law.closed):
        raise InputError(
            f"law '{law.name}'",
            "as many entries in closed as in modes, at least one of them True",
            f"modes {law.modes} and closed {law.closed}",
            "Say for each mode whether the contact is closed in it.",
        )
    for what, signature in FUNCTIONS.items() if isinstance(law, Law) else ():
        got = getattr(getattr(law, what), "signature", None)
        if got != signature:
            raise InputError(
                f"'{what}' of law '{law.name}'",
                f"an entry point {signature}",
                "no entry point" if got is None else str(got),
                "Decorate it with impinge.compile.entry and annotate its arguments as impinge.contact.law says.",
            )
    _CHECKED.add(type(law))


def _is_law(one: object, kind: Any) -> bool:
    """Tell whether an object is a law of a kind; a protocol is slow to ask, so each class is asked once."""
    asked = type(one), kind
    if asked not in _LAWS and not isinstance(one, type) and isinstance(one, kind):
        _LAWS.add(asked)
    return asked in _LAWS


def friction_of(model: System, p: FloatArray) -> FloatArray:
    """Return the coefficients of friction of all contacts; those of the last parameters are kept with the model."""
    known, kept = p.tobytes(), model.__dict__.get("_friction_of")
    if kept is None or kept[0] != known:
        kept = model.__dict__["_friction_of"] = known, _checked_friction(model, p)
    mu: FloatArray = kept[1].copy()
    return mu


def _checked_friction(model: System, p: FloatArray) -> FloatArray:
    mu = model.friction_at(p)
    if not any(gap.slides for gap in model.gaps):
        return mu
    for contact, value in zip(model.contacts, mu, strict=True):
        if not value >= 0:
            raise InputError(
                f"friction of contact '{contact}' of {model.label}",
                "a coefficient of zero or more",
                f"{value:g}",
                "Check the parameters that it depends on.",
            )
    return mu


def check_start(
    model: Model, laws: Sequence[Law], t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray
) -> None:
    """Raise the error that fits if a model cannot start here: M, constraints, gaps that are closed too far."""
    who = f"start of model '{model.name}'"
    terms = model.terms_at(q, v, t, u, p, only=("M", "h", "h_dot", "H", "gap"))
    check_inertia(who, terms["M"])
    check_constraints(who, model, terms)
    check_gaps(who, model.gaps, laws, terms["gap"])


def check_constraints(who: str, model: System, terms: Mapping[str, FloatArray]) -> None:
    """Raise the error that fits if a start state misses a constraint, or a constraint holds nothing there."""
    for kind, values_, limit in (("residual", terms["h"], "zero"), ("rate", terms["h_dot"], "zero")):
        for quantity, value in zip(model.constraints, values_, strict=True):
            if not abs(value) <= START_TOLERANCE:
                raise StartError(
                    who,
                    f"{kind} {limit} of constraint '{quantity.name}' within {START_TOLERANCE:g}",
                    f"{value:.6g}",
                    "Choose start values that satisfy the constraint.",
                )
    for quantity, row in zip(model.constraints, terms["H"], strict=True):
        if not np.isfinite(row).all() or not row.any():
            raise StartError(
                who,
                f"constraint '{quantity.name}' to hold a direction of motion, with a finite gradient other than zero",
                f"the gradient {show(row.tolist())}",
                "Write it so that no coordinate leaves it zero to first order, or leave it out if it says nothing.",
            )


def start_tolerance(radius: FloatArray, most: float = START_TOLERANCE) -> FloatArray:
    """Return how far a part of some radius (m) may sink in at the start: of small parts a thousandth of it."""
    return np.minimum(most, 1e-3 * radius)


def check_gaps(
    who: str,
    gaps: Sequence[Gap],
    laws: Sequence[Law],
    values: FloatArray,
    tolerance: FloatArray | None = None,
    deepest: FloatArray | None = None,
    limited: bool = True,
) -> None:
    """Raise the error that fits if gaps are closed too far: below zero by ``tolerance``, else by START_TOLERANCE.

    Under a compliant law, whose contacts rest at some depth, they may be below zero by ``deepest``, else by anything.
    With ``limited`` those of surfaces that end may be below zero: there it may be that nothing is closed.
    """
    for c, (quantity, law, value) in enumerate(zip(gaps, laws, values.tolist(), strict=True)):
        overlaps = value < -(START_TOLERANCE if tolerance is None else float(tolerance[c])) and not (
            limited and quantity.limited
        )
        if overlaps and is_compliant(law):
            overlaps = value < -(np.inf if deepest is None else float(deepest[c]))
        if value != value or overlaps:
            raise StartError(
                who,
                f"gap '{quantity.name}' of zero or more",
                f"{value:.6g} {quantity.unit}",
                "Choose start values at which the two do not overlap.",
            )


def _smallest(M: FloatArray) -> float:
    return float(M[0, 0] if M.size == 1 else np.linalg.eigvalsh(M)[0])


def check_inertia(who: str, M: FloatArray) -> None:
    """Raise the error that fits if an inertia matrix is none."""
    contiguous, n = np.ascontiguousarray(M), M.shape[0]
    scratch = np.empty_like(contiguous)
    if surely_inertia.unchecked(address_of(contiguous), n, n, address_of(scratch), n, n):
        return
    if not np.isfinite(M).all() or (np.abs(M - M.T) > 1e-12 + 1e-9 * np.abs(M)).any():
        raise StartError(who, "a finite, symmetric inertia matrix", f"M = {M.tolist()}", "Check kinetic(...) there.")
    size = np.sqrt(np.abs(np.diag(M)))  # coordinates in different units are compared without them
    if (size == 0).any() or _smallest(M / np.outer(size, size)) <= _SINGULAR:
        smallest = float(np.linalg.eigvalsh(M)[0])
        raise StartError(
            who,
            "a positive definite inertia matrix",
            f"smallest eigenvalue {smallest:.3g}",
            "Give every coordinate a mass or an inertia above zero.",
        )


class Commanded(Protocol):
    """What has inputs by name: a model, or a scene."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def label(self) -> str:
        """What messages call it."""
        ...

    @property
    def inputs(self) -> Sequence[Quantity]:
        """The inputs, in order."""
        ...

    @property
    def input_places(self) -> Mapping[str, int]:
        """Where each input stands, by name."""
        ...


def command_list(model: Commanded, controller: Any, command: Any, held: list[float]) -> list[float]:
    """Return a controller's command as a list of all inputs; inputs it does not name stay held."""
    if type(command) is float and len(held) == 1:
        return [command]
    who, names = f"controller {type(controller).__name__} of model '{model.name}'", model.input_places
    try:
        if isinstance(command, Mapping):
            values = list(held)
            for name, value in command.items():
                if name not in names:
                    raise unknown_name(who, "input", name, names)
                values[names[name]] = float(value)
            return values
        if command is None:  # NumPy would make it a NaN
            raise InputError(who, "a command", "none", "Let its step(t, measurement) return one; {} changes no input.")
        values = np.atleast_1d(np.asarray(command, dtype=float)).ravel().tolist()
    except (TypeError, ValueError):
        raise InputError(who, "a command of numbers", repr(command), "Return numbers, or a dict of them.") from None
    if len(values) != len(names):
        raise InputError(
            who,
            f"a command of {len(names)} numbers ({', '.join(names) or 'the model has no input'})",
            f"{len(values)}",
            "Return one number for each input, in order, or a dict by name.",
        )
    return values
