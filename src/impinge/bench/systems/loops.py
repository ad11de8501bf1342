"""Hot loops of the benchmarks."""

from __future__ import annotations

from impinge.compile import Vector, call, entry


@entry
def evaluate_many(address: int, q: Vector, v: Vector, t: float, u: Vector, p: Vector, out: Vector, times: int) -> None:
    """Evaluate a model's kernel this many times."""
    for _ in range(times):
        call(address, (q, v, t, u, p, out))
