"""Hot loops of the benchmarks."""

from __future__ import annotations

from typing import Any

from impinge.compile import call, jit


@jit
def evaluate_many(address: int, q: Any, v: Any, t: float, u: Any, p: Any, out: Any, times: int) -> None:
    """Evaluate a model's kernel this many times."""
    for _ in range(times):
        call(address, (q, v, t, u, p, out))
