"""Gauss–Seidel over many contacts with friction: what a sweep costs. For information; nothing is claimed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from impinge.bench.table import Row, Table, duration, race

WALLS = ((3, 2), (5, 5), (7, 8), (12, 13), (18, 18), (30, 17))  # columns, height
CLOUDS = (15, 60, 200, 650)  # balls
_SWEEPS = 100  # in one timed run


def sweeper(graph: Any) -> Callable[[], None]:
    """Return a run of sweeps over contacts, from their start each time."""
    from impinge.compile import Struct
    from impinge.contact.lcp.gauss_seidel import sweep

    packed, free = Struct(graph), graph.v.copy()

    def run() -> None:
        graph.v[:] = free
        graph.impulse[:] = 0.0
        sweep(packed, _SWEEPS)

    return run


def benchmark() -> Table:
    """Measure it."""
    from impinge.bench.systems.pile import cloud, wall
    from impinge.contact.lcp import solve_contacts

    scenes = {f"wall of {w} × {h} balls": partial(wall, w, h) for w, h in WALLS}
    scenes |= {f"cloud of {n} balls": partial(cloud, n) for n in CLOUDS}
    solutions = {name: solve_contacts(scene()) for name, scene in scenes.items()}
    graphs = {name: scene() for name, scene in scenes.items()}
    times = race({name: sweeper(graph) for name, graph in graphs.items()})
    rows = []
    for name, seconds in times.items():
        contacts, each = graphs[name].mu.size, seconds / _SWEEPS
        note = (
            f"{contacts} contacts, {duration(each / contacts)} each; {solutions[name].sweeps} sweeps to that residual"
        )
        rows.append(Row("impinge", name, each, solutions[name].residual, note))
    return Table(
        title="Gauss–Seidel over contacts with friction in a disk",
        claim="",
        rows=tuple(rows),
        per="sweep",
        error="residual",
        notes=("Residual: largest miss of a contact law over the largest free rate of approach; asked for is 1e-8.",),
    )
