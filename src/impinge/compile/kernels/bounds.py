"""CasADi's list of scalar instructions, rewritten as LLVM assembly that bounds what it computes along a path."""

from __future__ import annotations

from typing import Any

import casadi as ca

from impinge.compile.kernels.intervals import UNKNOWN, ZERO, Interval, constant
from impinge.compile.kernels.ir import definition, dense_positions
from impinge.compile.kernels.jets import Jet, Jets

FIELDS = 4  # numbers of a jet: least and greatest value, least and greatest rate


def _if_else(nodes: list[tuple[int, list[int]]], k: int) -> tuple[int, int, int] | None:
    """Return condition and branches if a node is CasADi's if_else, (c ? a : 0) + (!c ? b : 0)."""
    op, arguments = nodes[k]
    if op != ca.OP_ADD or any(nodes[i][0] != ca.OP_IF_ELSE_ZERO for i in arguments):
        return None
    (condition, yes), (negated, no) = (nodes[i][1] for i in arguments)
    return (condition, yes, no) if nodes[negated] == (ca.OP_NOT, [condition]) else None


def bounds_assembly(function: Any, moving: int, entry: str) -> str:
    """Write a CasADi SX function as one of jets, ``void entry(double* in_0, ..., double* in_n, double* out)``.

    The first ``moving`` inputs and all outputs have `FIELDS` numbers for each element: least and greatest value, least
    and greatest rate. The other inputs are numbers that do not move.
    """
    code = Jets()
    nodes: list[tuple[int, list[int]]] = []
    jets: list[Jet] = []
    place: dict[int, int] = {}
    results: dict[int, Jet] = {}
    starts = [sum(function.numel_out(j) for j in range(k)) for k in range(function.n_out())]
    positions = [dense_positions(function.sparsity_out(k)) for k in range(function.n_out())]

    def load(pointer: str, index: int) -> str:
        address = code.emit(f"getelementptr double, ptr {pointer}, i64 {index}")
        return code.emit(f"load double, ptr {address}")

    def loaded(pointer: str, index: int) -> Interval:
        lo, hi = load(pointer, index), load(pointer, index + 1)
        return Interval(code.greater(lo, UNKNOWN.lo), code.lesser(hi, UNKNOWN.hi))

    for k in range(function.n_instructions()):
        op, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[starts[target[0]] + positions[target[0]][target[1]]] = jets[place[source[0]]]
            continue
        if op == ca.OP_CONST:
            nodes.append((op, []))
            jets.append(Jet(constant(function.instruction_constant(k))))
        elif op == ca.OP_INPUT:
            nodes.append((op, []))
            pointer, i = f"%in{source[0]}", source[1]
            if source[0] < moving:
                jets.append(Jet(loaded(pointer, FIELDS * i), loaded(pointer, FIELDS * i + 2)))
            else:
                value = load(pointer, i)
                jets.append(Jet(Interval(code.greater(value, UNKNOWN.lo), code.lesser(value, UNKNOWN.hi))))
        else:
            nodes.append((op, [place[s] for s in source]))
            branches = _if_else(nodes, len(nodes) - 1)
            chosen = nodes[-1][1] if branches is None else branches
            arguments = [jets[i] for i in chosen]
            jets.append(code.operation(op, arguments) if branches is None else code.either_of(*arguments))
        place[target[0]] = len(nodes) - 1

    for index, jet in results.items():
        for j, value in enumerate((*jet.x[:2], *(jet.rate or ZERO)[:2])):
            address = code.emit(f"getelementptr double, ptr %out, i64 {FIELDS * index + j}")
            code.lines.append(f"  store double {value}, ptr {address}")
    return definition(entry, function.n_in(), code.lines)
