"""CasADi's list of scalar instructions, rewritten one to one as LLVM assembly."""

from __future__ import annotations

import struct
from typing import Any

import casadi as ca

from impinge.errors import CompileError

# A product and a sum may become one instruction that rounds once (contract): faster, and no less accurate.
_ARITHMETIC = {
    ca.OP_ADD: "fadd contract",
    ca.OP_SUB: "fsub contract",
    ca.OP_MUL: "fmul contract",
    ca.OP_DIV: "fdiv",
    ca.OP_FMOD: "frem",
}
_COMPARISON = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
_LOGIC = {ca.OP_AND: "and", ca.OP_OR: "or"}

# Functions of one and of two arguments: LLVM's own where it has them, the C library's otherwise.
_CALLS = {
    ca.OP_SQRT: ("llvm.sqrt.f64", 1),
    ca.OP_SIN: ("llvm.sin.f64", 1),
    ca.OP_COS: ("llvm.cos.f64", 1),
    ca.OP_EXP: ("llvm.exp.f64", 1),
    ca.OP_LOG: ("llvm.log.f64", 1),
    ca.OP_FABS: ("llvm.fabs.f64", 1),
    ca.OP_FLOOR: ("llvm.floor.f64", 1),
    ca.OP_CEIL: ("llvm.ceil.f64", 1),
    ca.OP_TAN: ("tan", 1),
    ca.OP_ASIN: ("asin", 1),
    ca.OP_ACOS: ("acos", 1),
    ca.OP_ATAN: ("atan", 1),
    ca.OP_SINH: ("sinh", 1),
    ca.OP_COSH: ("cosh", 1),
    ca.OP_TANH: ("tanh", 1),
    ca.OP_ASINH: ("asinh", 1),
    ca.OP_ACOSH: ("acosh", 1),
    ca.OP_ATANH: ("atanh", 1),
    ca.OP_LOG1P: ("log1p", 1),
    ca.OP_EXPM1: ("expm1", 1),
    ca.OP_ERF: ("erf", 1),
    ca.OP_POW: ("llvm.pow.f64", 2),
    ca.OP_CONSTPOW: ("llvm.pow.f64", 2),
    ca.OP_FMIN: ("llvm.minnum.f64", 2),
    ca.OP_FMAX: ("llvm.maxnum.f64", 2),
    ca.OP_COPYSIGN: ("llvm.copysign.f64", 2),
    ca.OP_ATAN2: ("atan2", 2),
    ca.OP_HYPOT: ("hypot", 2),
    ca.OP_REMAINDER: ("remainder", 2),
}

_OP_NAMES = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}


def literal(value: float) -> str:
    """Return a number as LLVM writes it."""
    return "0x" + struct.pack(">d", value).hex().upper()


def value_of(text: str) -> float:
    """Return the number that `literal` wrote."""
    return float(struct.unpack(">d", bytes.fromhex(text[2:]))[0])


class _Body:
    """The instructions of one function in static single assignment form."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def emit(self, text: str) -> str:
        register = f"%r{len(self.lines)}"
        self.lines.append(f"  {register} = {text}")
        return register

    def store(self, value: str, pointer: str, index: int) -> None:
        address = self.emit(f"getelementptr double, ptr {pointer}, i64 {index}")
        self.lines.append(f"  store double {value}, ptr {address}")

    def truth(self, value: str) -> str:
        return self.emit(f"fcmp une double {value}, {literal(0.0)}")

    def number(self, bit: str) -> str:
        return self.emit(f"uitofp i1 {bit} to double")

    def operation(self, op: int, args: list[str]) -> str:
        """Emit one CasADi operation on values already in registers."""
        if op in _ARITHMETIC:
            return self.emit(f"{_ARITHMETIC[op]} double {args[0]}, {args[1]}")
        if op in _CALLS:
            name, arity = _CALLS[op]
            return self.emit(f"call double @{name}({', '.join('double ' + a for a in args[:arity])})")
        if op in _COMPARISON:
            return self.number(self.emit(f"fcmp {_COMPARISON[op]} double {args[0]}, {args[1]}"))
        if op in _LOGIC:
            left, right = self.truth(args[0]), self.truth(args[1])
            return self.number(self.emit(f"{_LOGIC[op]} i1 {left}, {right}"))
        return self._other(op, args)

    def _other(self, op: int, args: list[str]) -> str:
        zero = literal(0.0)
        if op == ca.OP_ASSIGN:
            return args[0]
        if op == ca.OP_NEG:
            return self.emit(f"fneg double {args[0]}")
        if op == ca.OP_SQ:
            return self.emit(f"fmul contract double {args[0]}, {args[0]}")
        if op == ca.OP_TWICE:
            return self.emit(f"fadd double {args[0]}, {args[0]}")
        if op == ca.OP_INV:
            return self.emit(f"fdiv double {literal(1.0)}, {args[0]}")
        if op == ca.OP_NOT:
            return self.number(self.emit(f"fcmp oeq double {args[0]}, {zero}"))
        if op == ca.OP_SIGN:
            positive = self.emit(f"fcmp ogt double {args[0]}, {zero}")
            negative = self.emit(f"fcmp olt double {args[0]}, {zero}")
            below = self.emit(f"select i1 {negative}, double {literal(-1.0)}, double {args[0]}")
            return self.emit(f"select i1 {positive}, double {literal(1.0)}, double {below}")
        if op == ca.OP_IF_ELSE_ZERO:
            return self.emit(f"select i1 {self.truth(args[0])}, double {args[1]}, double {zero}")
        raise CompileError(
            f"kernel '{self.name}'",
            "operations that have machine code",
            _OP_NAMES.get(op, f"operation {op}"),
            "Rewrite the expression with elementary functions.",
        )


def dense_positions(sparsity: Any) -> list[int]:
    """Return, for each structural nonzero, its place in the dense column-major array."""
    rows = sparsity.size1()
    return [row + rows * column for row, column in zip(*sparsity.get_triplet(), strict=True)]


def assembly(function: Any, entry: str) -> str:
    """Write a CasADi SX function as ``void entry(double* in_0, ..., double* in_n, double* out)``.

    The outputs stand one after another in ``out``, each dense and column-major. Structural zeros are
    not written: ``out`` must be zero at first and belong to this kernel alone.
    """
    body = _Body(function.name())
    positions, offset = [], 0
    for k in range(function.n_out()):
        positions.append([offset + place for place in dense_positions(function.sparsity_out(k))])
        offset += function.numel_out(k)

    register: dict[int, str] = {}
    for k in range(function.n_instructions()):
        op, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_CONST:
            register[target[0]] = literal(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            address = body.emit(f"getelementptr double, ptr %in{source[0]}, i64 {source[1]}")
            register[target[0]] = body.emit(f"load double, ptr {address}")
        elif op == ca.OP_OUTPUT:
            body.store(register[source[0]], "%out", positions[target[0]][target[1]])
        else:
            register[target[0]] = body.operation(op, [register[s] for s in source])

    return definition(entry, function.n_in(), body.lines)


def definition(entry: str, inputs: int, lines: list[str]) -> str:
    """Return the instructions of ``void entry(double* in_0, ..., double* in_n, double* out)`` as a whole module."""
    arguments = [f"ptr noalias readonly %in{k}" for k in range(inputs)] + ["ptr noalias %out"]
    declarations = [
        f"declare double @{name}({', '.join(['double'] * arity)}) #0"
        for name, arity in sorted(set(_CALLS.values()))
        if any(f"@{name}(" in line for line in lines)
    ]
    return "\n".join(
        [
            *declarations,
            f"define void @{entry}({', '.join(arguments)}) {{",
            *lines,
            "  ret void",
            "}",
            "attributes #0 = { nounwind willreturn memory(none) }",
            "",
        ]
    )
