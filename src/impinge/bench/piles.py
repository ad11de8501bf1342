"""Piles of 10 to 1,000 spheres, and boxes that stand: what a step costs, and MuJoCo at the same penetration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING, Any

from impinge.bench.table import Row, Table, duration, load, missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = (10, 30, 100, 300, 1000)
SETTLED = 1.5  # s
_PEER_STEPS = 100
# MuJoCo's step, solver, and whether its contacts are hard: as stiff as a step allows, their depth follows its square.
_PEERS = ((2e-3, "CG", False), (5e-4, "CG", True), (2e-5, "CG", False))
_NEWTON = (5e-4, "Newton", True)
_MATCHED = 3.0  # times impinge's penetration
_NEWTON_UP_TO = 100  # spheres: beyond, a step of MuJoCo's Newton solver takes a quarter of a second and more
_TOLERANCES = (1e-10, 1e-3)  # of boxes
_MOVING = 0.1  # s, in which boxes that drop still move
_FIELD_PEERS = (*_PEERS[:2], (2e-3, "Newton", False), _NEWTON)
_NOISE = 0.05  # of a power that is fitted to times measured once


@dataclass(frozen=True)
class Cost:
    """One system at one size: processor time per simulated second and per step, s; penetration at rest, m."""

    system: str
    method: str
    count: int
    second: float
    step: float
    depth: float
    note: str = ""


def ours(count: int) -> tuple[Cost, Any]:
    """Pour, time all of it, and return the cost and the run."""
    from impinge.bench.systems.poured import STEP, Poured

    if count == COUNTS[0]:
        Poured(count).until(10 * STEP)  # compiles
    run = Poured(count)
    spent = run.until(SETTLED)
    done, parts = run.counts, run.profile()
    whole = sum(parts.values())
    note = (
        f"worst miss {run.miss:.2g}, missed in {done['missed']} of {done['steps']} steps; "
        f"{done['sweeps'] / done['steps']:.0f} sweeps and {done['newton'] / done['steps']:.1f} Newton steps each; "
        f"settled: contacts {100 * parts['contacts'] / whole:.0f} %, impulses {100 * parts['impulses'] / whole:.0f} %"
    )
    cost = Cost("impinge", f"{count} spheres", count, spent / SETTLED, spent / done["steps"], run.penetration, note)
    return cost, run


def theirs(mujoco: Any, count: int, state: Any) -> list[Cost]:
    """Time MuJoCo from impinge's pile at rest, with each of its settings."""
    from impinge.bench.systems.poured import mujoco_cost

    settings = [*_PEERS, *((_NEWTON,) if count <= _NEWTON_UP_TO else ())]
    found = []
    for step, solver, hard in settings:
        each, depth = mujoco_cost(mujoco, count, (step, solver, hard), state, _PEER_STEPS)
        method = f"{count} spheres, {solver}, {1e3 * step:g} ms{', hard' if hard else ''}"
        found.append(Cost("MuJoCo", method, count, each / step, each, depth))
    return found


def growth(costs: Sequence[Cost]) -> tuple[float, list[float]]:
    """Return the power of N log N that the costs follow, by least squares, and each over N log N, against the first."""
    x = [log(cost.count * log(cost.count)) for cost in costs]
    y = [log(cost.step) for cost in costs]
    mean_x, mean_y = fmean(x), fmean(y)
    power = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    return power, [exp(b - a - (y[0] - x[0])) for a, b in zip(x, y, strict=True)]


def matched(mine: Sequence[Cost], peers: Sequence[Cost]) -> str:
    """Say what the cheapest of a peer's settings costs that sinks in no deeper than impinge, within a factor."""
    found = []
    for cost in mine:
        fit = [p.second / cost.second for p in peers if p.count == cost.count and p.depth <= _MATCHED * cost.depth]
        found.append(f"{min(fit):.3g} × at {cost.count:,}" if fit else f"no setting here at {cost.count:,}")
    return "; ".join(found)


def draw(mine: Sequence[Cost], peers: Sequence[Cost]) -> Figure:
    """Draw cost per step and per simulated second over the number of spheres, both logarithmic."""
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    n = np.array([cost.count for cost in mine], dtype=float)
    kinds = {cost.method.split(", ", 1)[1]: [] for cost in peers}  # type: dict[str, list[Cost]]
    for cost in peers:
        kinds[cost.method.split(", ", 1)[1]].append(cost)
    for axis, what in ((left, "step"), (right, "second")):
        axis.loglog(n, [getattr(cost, what) for cost in mine], "o-", color="black", lw=2, label="impinge, 2 ms")
        for kind, costs in kinds.items():
            depth = max(cost.depth for cost in costs)
            values = [getattr(cost, what) for cost in costs]
            axis.loglog([c.count for c in costs], values, "s--", lw=1, label=f"MuJoCo, {kind} ({1e6 * depth:.2g} µm)")
        guide = n * np.log(n)
        first = getattr(mine[0], what)
        axis.loglog(n, first * guide / guide[0], color="gray", lw=1, ls=":", label="N log N")
        axis.set_xlabel("spheres N")
        axis.grid(alpha=0.3, which="both")
    left.set(ylabel="processor time per step [s]", title="one step")
    right.set(ylabel="processor time per simulated second [s]", title="one simulated second")
    deepest = 1e6 * max(cost.depth for cost in mine)
    left.legend(fontsize=8, title=f"penetration at rest; impinge: {deepest:.2g} µm", title_fontsize=8)
    return figure


def standing(mujoco: Any) -> list[Row]:
    """Measure boxes that stand, at the default tolerance and at a coarse one, and MuJoCo with the same step."""
    from impinge.bench.systems.bricks import KINDS, mujoco_cost, ours

    rows = []
    for kind in KINDS:
        costs = []
        for tolerance in _TOLERANCES:
            cost, result = ours(kind, tolerance)
            costs.append(cost)
            depth = result.certificate.contacts["all"].deepest_penetration
            note = f"worst miss {result.solver.miss:.1e}, missed in {result.solver.missed} steps"
            rows.append(Row("impinge", f"{kind}, tolerance {tolerance:g}", cost, depth, note))
        if mujoco is not None:
            cost, depth = mujoco_cost(mujoco, kind)
            rows.append(Row("MuJoCo", f"{kind}, Newton", cost, depth, f"{cost / costs[0]:.3g} × impinge"))
    return rows


def dropping(mujoco: Any) -> list[Row]:
    """Measure stacks that drop and settle: while they move, and over a second; MuJoCo with its settings for spheres."""
    from impinge.bench.systems.bricks import FIELDS, STEP, mujoco_cost, ours

    rows = []
    for kind in FIELDS:
        moving, _ = ours(kind, _TOLERANCES[0], _MOVING)
        cost, result = ours(kind, _TOLERANCES[0])
        depth = result.certificate.contacts["all"].deepest_penetration
        note = f"worst miss {result.solver.miss:.1e}, missed in {result.solver.missed} steps"
        own = f"{duration(cost / STEP)} per simulated second; the first {_MOVING:g} s {duration(moving)} a step; {note}"
        rows.append(Row("impinge", f"{kind}, tolerance {_TOLERANCES[0]:g}", cost, depth, own))
        for step, solver, hard in _FIELD_PEERS if mujoco is not None else ():
            each, depth = mujoco_cost(mujoco, kind, (step, solver, hard), round(_MOVING / step))
            ratio = f"{duration(each / step)} per simulated second: {each / step * STEP / cost:.3g} × impinge"
            ratio += f", {each / step * STEP / moving:.3g} × while they move"
            method = f"{kind}, {solver}, {1e3 * step:g} ms{', hard' if hard else ''}"
            rows.append(Row("MuJoCo", method, each, depth, ratio))
    return rows


def benchmark() -> Table:
    """Measure it."""
    mujoco = load("mujoco")
    mine, peers = [], []  # type: list[Cost], list[Cost]
    for count in COUNTS:
        cost, run = ours(count)
        mine.append(cost)
        if mujoco is not None:
            peers += theirs(mujoco, count, run.state)
    rows = []
    for cost in mine:
        own = f"{duration(cost.second)} per simulated second; {cost.note}"
        rows.append(Row(cost.system, cost.method, cost.step, cost.depth, own))
        for peer in peers:
            if peer.count == cost.count:
                ratio = f"{duration(peer.second)} per simulated second: {peer.second / cost.second:.3g} × impinge"
                rows.append(Row(peer.system, peer.method, peer.step, peer.depth, ratio))
    rows += standing(mujoco)
    rows += dropping(mujoco)
    if mujoco is None:
        rows.append(missing("MuJoCo"))
    power, scaled = growth(mine)
    return Table(
        title="Piles of spheres in a bin, and boxes that stand: a time step",
        claim="impinge's cost per step grows no faster than N log N",
        rows=tuple(rows),
        met=power <= 1.0 + _NOISE,
        per="step",
        error="penetration at rest (m)",
        notes=(
            f"Cost per step follows (N log N)^{power:.3f}; over N log N, against {COUNTS[0]} spheres: "
            f"{', '.join(f'{x:.2f}' for x in scaled)}.",
            *(
                (f"MuJoCo at {_MATCHED:g} times impinge's penetration or less: {matched(mine, peers)}.",)
                if peers
                else ()
            ),
            f"impinge: mean over pouring and settling, {SETTLED:g} s, steps of 2 ms, tolerance 1e-2.",
            "Boxes: the first second of what stands, or hardly, steps of 2 ms; MuJoCo without the conveyor.",
            f"Boxes that drop: stacks of five, each falls by 2 mm more; MuJoCo: the first {_MOVING:g} s.",
            f"MuJoCo: {_PEER_STEPS} steps from impinge's pile at rest; contacts as stiff as its step allows",
            "(solref of two steps), hard ones with solimp 0.999 to 0.9999. Depth falls with the square of the step.",
        ),
        figure=partial(draw, mine, peers),
    )
