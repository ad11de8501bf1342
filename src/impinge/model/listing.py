"""A model as a table to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from impinge.model.quantities import Coordinate, Quantity

if TYPE_CHECKING:
    from impinge.model.model import Model


def listed(model: Model) -> str:
    """Return a model as a table: what it is made of, with units, values and where they come from."""
    kinds: list[tuple[str, Sequence[Quantity]]] = [
        ("coordinate", model.coordinates),
        ("parameter", model.parameters),
        ("input", model.inputs),
        ("constraint", model.constraints),
        ("gap", model.gaps),
        ("output", model.outputs),
        ("link", [Quantity(link.name, "") for link in model.links]),
    ]
    valued = {"coordinate", "parameter", "input"}
    table = [("", "name", "unit", "value", "")]
    for kind, quantities in kinds:
        for k, x in enumerate(quantities):
            value = f"{x.value:g}" if kind in valued else ""
            if isinstance(x, Coordinate) and x.speed:
                value += f", moving at {x.speed:g}"
            table.append((kind if k == 0 else "", x.name, x.unit, value, x.about))
    widths = [max(len(row[k]) for row in table) for k in range(5)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([f"model {model.name}", *("  " + line for line in lines)])
