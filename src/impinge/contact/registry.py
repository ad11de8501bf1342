"""Laws by name, as the command line gives them: ``baumgarte:a0=100,a1=20``."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from typing import Any

from impinge.contact import laws
from impinge.contact.law import ContactLaw
from impinge.errors import InputError, show, unknown_name


def known_laws() -> dict[str, type[Any]]:
    """Return the law classes in `impinge.contact.laws` by name."""
    found: dict[str, type[Any]] = {}
    for entry in pkgutil.iter_modules(laws.__path__):
        module = importlib.import_module(f"{laws.__name__}.{entry.name}")
        for value in vars(module).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__:
                found[str(value.__dict__["name"])] = value
    return found


def parse_law(text: str) -> ContactLaw:
    """Return the law that a text names.

    Example:
        >>> parse_law("baumgarte:a1=5").gains
        (100.0, 5.0, 1000000.0, 0.0)
    """
    name, _, rest = text.partition(":")
    known = known_laws()
    if name not in known:
        raise unknown_name("--law", "law", name, known)
    defaults = {field.name: field.default for field in dataclasses.fields(known[name])}
    values: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if key not in defaults:
            raise unknown_name(f"law '{name}'", "parameter", key, defaults)
        kind: Any = float if defaults[key] is None else type(defaults[key])
        try:
            if not equals:
                raise ValueError
            values[key] = kind(value)
        except ValueError:
            got = f"'{pair}'" if equals else f"'{key}' without a value"
            wanted = {float: "KEY=NUMBER pairs", int: "a whole number"}.get(kind, "KEY=VALUE pairs")
            remedy = f"Write e.g. {name}:{key}={show(1.0 if defaults[key] is None else defaults[key])}."
            raise InputError(f"law '{name}'", wanted, got, remedy) from None
    law: ContactLaw = known[name](**values)
    return law
