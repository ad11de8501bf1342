"""A model as text and plain values, so that it can be copied, pickled and sent to another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import casadi as ca

from impinge.model.derive import Equations, Symbols
from impinge.model.links import Link

if TYPE_CHECKING:
    from impinge.model.model import Model

_TERMS = tuple(term.name for term in fields(Equations))
_SYMBOLIC = ("symbols", "equations", "output_expressions", "friction_expressions", "links")


def stored(model: Model) -> tuple[type[Model], Mapping[str, Any], tuple[str, ...], str]:
    """Return the class of a model, its plain fields, the names of its links, and all its expressions as one text."""
    s, e = model.symbols, model.equations
    plain = {x.name: getattr(model, x.name) for x in fields(model) if x.name not in _SYMBOLIC}
    expressions = [*(getattr(e, term) for term in _TERMS), model.output_expressions, model.friction_expressions]
    expressions += [part for link in model.links for part in (link.position, link.axes)]
    text = ca.Function("model", [s.t, s.q, s.v, s.u, s.p], expressions).serialize()
    plain["spins"] = s.spins
    return type(model), plain, tuple(link.name for link in model.links), text


def restored(kind: type[Model], plain: Mapping[str, Any], links: tuple[str, ...], text: str) -> Model:
    """Return the model that `stored` has taken apart, with symbols of its own."""
    function = ca.Function.deserialize(text)
    t, q, v, u, p = inputs = function.sx_in()
    expressions = function.call(inputs)
    n, values = len(_TERMS), dict(plain)
    spins = values.pop("spins")
    output, friction, *parts = expressions[n:]
    return kind(
        **values,
        symbols=Symbols(t=t, q=q, v=v, u=u, p=p, spins=spins),
        equations=Equations(*expressions[:n]),
        output_expressions=output,
        friction_expressions=friction,
        links=tuple(Link(name, *parts[2 * k : 2 * k + 2]) for k, name in enumerate(links)),
    )
