"""What bounds a gap along a path: kernels in interval arithmetic, of forms that are affine in coordinates and time.

Bounds of a difference x₁ − x₂ that come from those of x₁ and of x₂ forget that both may move together. So the largest
subexpressions of a gap that are affine in coordinates and time, its *forms*, are taken out of it: along a polynomial
path each is a polynomial of its own, whose range is known. What is left of the gap is a function of its forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from impinge.compile import Kernel, compile_bounds, compile_kernel
from impinge.model.derive import Symbols

_FIXED, _AFFINE, _CURVED = 0, 1, 2  # in coordinates and time


@dataclass(frozen=True)
class GapBounds:
    """Kernels that bound the gaps of a model, and the forms that they are functions of.

    Attributes:
        kernels: for each gap one of its forms and its constants, see `compile_bounds`; None if it is affine itself.
        forms: for each gap, how many forms it has; all forms stand one after another.
        constants: for each gap, how many constants it has: expressions of parameters alone.
        terms: for each form, the coordinates that it depends on; their number stands for the time.
        coefficients: kernel of the parameters that gives ``slope`` of each term, ``offset`` of each form and
            ``constant``, all of them one after another.
    """

    kernels: tuple[Kernel | None, ...]
    forms: tuple[int, ...]
    constants: tuple[int, ...]
    terms: tuple[tuple[int, ...], ...]
    coefficients: Kernel


@dataclass(frozen=True)
class _Split:
    """An expression as a function of symbols for its forms and constants, and what these stand for."""

    rest: Any
    symbols: tuple[list[Any], list[Any]]
    meaning: tuple[list[Any], list[Any]]


def _kind_of(op: int, kinds: list[int]) -> int:
    """Return how the result of an operation depends on coordinates and time."""
    if max(kinds) == _FIXED:
        return _FIXED
    if op in (ca.OP_ASSIGN, ca.OP_NEG, ca.OP_TWICE, ca.OP_ADD, ca.OP_SUB):
        return max(kinds)
    if op == ca.OP_MUL and min(kinds) == _FIXED:
        return max(kinds)
    return kinds[0] if op == ca.OP_DIV and kinds[1] == _FIXED else _CURVED


def _split(expression: Any, s: Symbols) -> _Split | None:
    """Take the forms and constants out of an expression; None if it is affine itself."""
    function = ca.Function("gap", [s.q, s.t, s.p], ca.cse([expression]))
    given, split = (s.q, s.t, s.p), _Split(None, ([], []), ([], []))
    kind: dict[int, int] = {}
    value: dict[int, Any] = {}  # of a place in CasADi's working memory: what it is, in terms of …
    known: dict[int, Any] = {}  # the symbols of forms and constants, by the hash of what they stand for

    def symbol(place: int) -> Any:
        """Return the symbol for an affine or fixed value that something curved depends on."""
        x = value[place]
        if kind[place] == _CURVED or x.is_constant():
            return x
        code = x.element_hash()
        if code not in known:
            which = 0 if kind[place] == _AFFINE else 1
            known[code] = ca.SX.sym("form" if which == 0 else "constant")
            split.symbols[which].append(known[code])
            split.meaning[which].append(x)
        return known[code]

    for k in range(function.n_instructions()):
        op, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            if kind[source[0]] != _CURVED:
                return None
            return _Split(value[source[0]], split.symbols, split.meaning)
        if op == ca.OP_CONST:
            found, how = ca.SX(function.instruction_constant(k)), _FIXED
        elif op == ca.OP_INPUT:
            found, how = given[source[0]][source[1]], _AFFINE if source[0] < 2 else _FIXED
        else:
            how = _kind_of(op, [kind[i] for i in source])
            arguments = [symbol(i) if how == _CURVED else value[i] for i in source]
            found = ca.SX.unary(op, *arguments) if len(arguments) == 1 else ca.SX.binary(op, *arguments)
        kind[target[0]], value[target[0]] = how, found
    return None


def _column(items: Sequence[Any]) -> Any:
    return ca.vertcat(ca.SX(0, 1), *items)


def gap_bounds(gaps: Sequence[Any], s: Symbols) -> GapBounds:
    """Compile what bounds some gaps, given as SX scalars."""
    moving = ca.vertcat(s.q, s.t)
    splits = [_split(gap, s) for gap in gaps]
    kernels = [
        None
        if split is None
        else compile_bounds(
            "bounds",
            {"form": _column(split.symbols[0])},
            {"constant": _column(split.symbols[1])},
            {"gap": split.rest},
        )
        for split in splits
    ]
    forms, constants = ([x for split in splits if split for x in split.meaning[which]] for which in range(2))
    slopes = [ca.jacobian(form, moving) for form in forms]
    offsets = [ca.substitute(form, moving, ca.SX.zeros(moving.shape[0])) for form in forms]
    return GapBounds(
        kernels=tuple(kernels),
        forms=tuple(0 if split is None else len(split.meaning[0]) for split in splits),
        constants=tuple(0 if split is None else len(split.meaning[1]) for split in splits),
        terms=tuple(tuple(slope.sparsity().get_triplet()[1]) for slope in slopes),
        coefficients=compile_kernel(
            "forms",
            {"p": s.p},
            {
                "slope": _column([x for slope in slopes for x in slope.nonzeros()]),
                "offset": _column(offsets),
                "constant": _column(constants),
            },
        ),
    )
