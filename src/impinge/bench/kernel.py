"""A kernel's machine code against CasADi's interpreter, on the same expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impinge.bench.table import Row, Table, duration, race

FloatArray = NDArray[np.float64]

LINKS = 8
FASTER = 10.0
_EVALUATIONS = 2000  # in one timed run


def interpreted(model: Any) -> Any:
    """Return the CasADi function of the expressions that `Model.dynamics` compiles."""
    import casadi as ca

    s = model.symbols
    outputs = list(model.dynamics_expressions.values())
    return ca.Function("dynamics", [s.q, s.v, s.t, s.u, s.p], ca.cse(outputs))


@dataclass(frozen=True)
class Buffered:
    """A CasADi function called by buffer: the fastest call from Python, on memory that stays in place.

    Attributes:
        trigger: evaluates the function.
        results: the structural nonzeros of its outputs.
        kept: what must stay alive for that.
    """

    trigger: Callable[[], None]
    results: list[FloatArray]
    kept: Any


def by_buffer(function: Any, inputs: Sequence[FloatArray]) -> Buffered:
    """Prepare a CasADi function to be called by buffer."""
    buffer, trigger = function.buffer()
    results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    for k, array in enumerate(inputs):
        buffer.set_arg(k, array.data)
    for k, array in enumerate(results):
        buffer.set_res(k, array.data)
    return Buffered(trigger, results, (buffer, inputs))


def _repeat(trigger: Callable[[], None], times: int) -> None:
    for _ in range(times):
        trigger()


def state(model: Any) -> list[FloatArray]:
    """Return q, v, t, u and p at which to evaluate: an arbitrary state in motion."""
    n = len(model.coordinates)
    return [
        np.linspace(0.1, 0.5, n),
        np.linspace(-1.0, 1.0, n),
        np.zeros(1),
        np.zeros(len(model.inputs)),
        model.parameter_vector({}),
    ]


def benchmark() -> Table:
    """Measure it."""
    import casadi as ca

    from impinge.bench.systems.closed_chain import closed_chain
    from impinge.bench.systems.loops import evaluate_many

    model = closed_chain(LINKS)
    function, kernel = interpreted(model), model.dynamics
    q, v, t, u, p = inputs = state(model)
    out = np.zeros(kernel.size)
    single = by_buffer(function, inputs)
    mapped = by_buffer(function.map(_EVALUATIONS), [np.tile(x, _EVALUATIONS) for x in inputs])
    nothing = by_buffer(ca.Function("nothing", function.sx_in(), [ca.SX(1, 1)] * function.n_out()), inputs)
    times = race(
        {
            "kernel": lambda: evaluate_many(kernel.address, q, v, float(t[0]), u, p, out, _EVALUATIONS),
            "buffer": lambda: _repeat(single.trigger, _EVALUATIONS),
            "map": mapped.trigger,
            "empty": lambda: _repeat(nothing.trigger, _EVALUATIONS),
        }
    )
    each = {name: seconds / _EVALUATIONS for name, seconds in times.items()}
    ratio = {name: f"{each[name] / each['kernel']:.3g} × impinge" for name in ("buffer", "map")}
    return Table(
        title=f"Closed chain of {LINKS} links: one evaluation of its dynamics, {kernel.instructions:,} instructions",
        claim=f"machine code is at least {FASTER:g} × faster than CasADi's interpreter called by buffer",
        rows=(
            Row("impinge", "kernel, called from a hot loop", each["kernel"]),
            Row("CasADi", "interpreter, called by buffer", each["buffer"], note=ratio["buffer"]),
            Row("CasADi", f"interpreter, {_EVALUATIONS:,} points in one call (map)", each["map"], note=ratio["map"]),
        ),
        met=each["buffer"] >= FASTER * each["kernel"],
        per="evaluation",
        notes=(
            f"Of the call by buffer, {duration(each['empty'])} are Python's loop and the call, not the interpreter.",
            f"CasADi's function has {function.n_instructions():,} instructions: the same expressions.",
        ),
    )
