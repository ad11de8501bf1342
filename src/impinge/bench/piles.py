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
TIMES = (0.1, 0.3, 0.5, 1.0, 1.5)  # s, at which MuJoCo's cost is sampled, each for the time since the one before
SETTLED, _POURED = TIMES[-1], 0.5  # s: the end, and while spheres still fall onto each other
_PEER_STEPS, _DEAR = 50, 3  # of each sample: of most settings, and of the Newton solver with many spheres
# MuJoCo's step, solver, and whether its contacts are hard: as stiff as a step allows, their depth follows its square.
# First its two solvers as they come, at the same step; then as hard as can be; then to match the penetration.
_PEERS = ((2e-3, "CG", False), (2e-3, "Newton", False), (5e-4, "CG", True), (5e-4, "Newton", True), (2e-5, "CG", False))
_MATCHED = 3.0  # times impinge's penetration
_NEWTON_UP_TO = 100  # spheres: beyond, a step of MuJoCo's Newton solver takes a quarter of a second and more
_TOLERANCES = (1e-10, 1e-3)  # of boxes
_MOVING = 0.1  # s, in which boxes that drop still move
_FIELD_PEERS = _PEERS[:4]
_NOISE = 0.05  # of a power that is fitted to times measured once


@dataclass(frozen=True)
class Cost:
    """One system at one size: processor time per simulated second and per step, s; penetration at rest, m.

    ``moving`` is the time per simulated second while spheres still fall onto each other.
    """

    system: str
    method: str
    count: int
    second: float
    step: float
    depth: float
    note: str = ""
    moving: float = 0.0


def ours(count: int) -> tuple[Cost, list[Any]]:
    """Pour, time all of it, and return the cost and the states at `TIMES`."""
    from impinge.bench.systems.poured import STEP, Poured

    if count == COUNTS[0]:
        Poured(count).until(10 * STEP)  # compiles
    run = Poured(count)
    spent, states = [], []
    for t in TIMES:
        spent.append(run.until(t))
        states.append(run.state)
    done, parts = run.counts, run.profile()
    whole = sum(parts.values())
    note = (
        f"worst miss {run.miss:.2g}, missed in {done['missed']} of {done['steps']} steps; "
        f"{done['sweeps'] / done['steps']:.0f} sweeps and {done['newton'] / done['steps']:.1f} Newton steps each; "
        f"settled: contacts {100 * parts['contacts'] / whole:.0f} %, impulses {100 * parts['impulses'] / whole:.0f} %"
    )
    moving = sum(spent[: TIMES.index(_POURED) + 1]) / _POURED
    each = sum(spent) / done["steps"]
    cost = Cost("impinge", f"{count} spheres", count, sum(spent) / SETTLED, each, run.penetration, note, moving)
    return cost, states


def theirs(mujoco: Any, count: int, states: Sequence[Any]) -> list[Cost]:
    """Time MuJoCo from impinge's states, with each of its settings."""
    from impinge.bench.systems.poured import mujoco_cost

    found, spans = [], [t - before for t, before in zip(TIMES, (0.0, *TIMES), strict=False)]
    for step, solver, hard in _PEERS:
        dear = solver == "Newton" and count > _NEWTON_UP_TO
        if dear and hard:
            continue
        samples = [
            mujoco_cost(mujoco, count, (step, solver, hard), state, _DEAR if dear else _PEER_STEPS) for state in states
        ]
        costs = [each * span for (each, _), span in zip(samples, spans, strict=True)]
        each, depth = sum(costs) / SETTLED, samples[-1][1]
        moving = sum(costs[: TIMES.index(_POURED) + 1]) / _POURED / step
        method = f"{count} spheres, {solver}, {1e3 * step:g} ms{', hard' if hard else ''}"
        found.append(Cost("MuJoCo", method, count, each / step, each, depth, moving=moving))
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
            cost, run = ours(kind, tolerance)
            costs.append(cost)
            note = f"worst miss {run.miss:.1e}, missed in {run.counts['missed']} steps"
            rows.append(Row("impinge", f"{kind}, tolerance {tolerance:g}", cost, run.deepest, note))
        if mujoco is not None:
            _, cost, depth = mujoco_cost(mujoco, kind)
            rows.append(Row("MuJoCo", f"{kind}, Newton", cost, depth, f"{cost / costs[0]:.3g} × impinge"))
    return rows


def dropping(mujoco: Any) -> list[Row]:
    """Measure stacks that drop and settle: while they move, and over a second; MuJoCo with its settings for spheres."""
    from impinge.bench.systems.bricks import FIELDS, STEP, mujoco_cost, ours

    rows = []
    for kind in FIELDS:
        moving, _ = ours(kind, _TOLERANCES[0], _MOVING)
        cost, run = ours(kind, _TOLERANCES[0])
        note = f"worst miss {run.miss:.1e}, missed in {run.counts['missed']} steps"
        own = f"{duration(cost / STEP)} per simulated second; the first {_MOVING:g} s {duration(moving)} a step; {note}"
        rows.append(Row("impinge", f"{kind}, tolerance {_TOLERANCES[0]:g}", cost, run.deepest, own))
        for step, solver, hard in _FIELD_PEERS if mujoco is not None else ():
            early, each, depth = mujoco_cost(mujoco, kind, (step, solver, hard), _MOVING)
            ratio = f"{duration(each / step)} per simulated second: {each / step * STEP / cost:.3g} × impinge"
            ratio += f", {early / step * STEP / moving:.3g} × while they move"
            method = f"{kind}, {solver}, {1e3 * step:g} ms{', hard' if hard else ''}"
            rows.append(Row("MuJoCo", method, each, depth, ratio))
    return rows


def benchmark() -> Table:
    """Measure it."""
    mujoco = load("mujoco")
    mine, peers = [], []  # type: list[Cost], list[Cost]
    for count in COUNTS:
        cost, states = ours(count)
        mine.append(cost)
        if mujoco is not None:
            peers += theirs(mujoco, count, states)
    rows = []
    for cost in mine:
        own = f"{duration(cost.second)} per simulated second, {duration(cost.moving)} while they fall; {cost.note}"
        rows.append(Row(cost.system, cost.method, cost.step, cost.depth, own))
        for peer in peers:
            if peer.count == cost.count:
                ratio = f"{duration(peer.second)} per simulated second: {peer.second / cost.second:.3g} × impinge"
                ratio += f", {peer.moving / cost.moving:.3g} × while they fall"
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
            f"impinge: mean over pouring and settling, {SETTLED:g} s, steps of 2 ms, tolerance 1e-2; spheres fall onto",
            f"each other for {_POURED:g} s.",
            "Boxes: the first second of what stands, or hardly, steps of 2 ms; MuJoCo without the conveyor.",
            f"Boxes that drop: stacks of five, each falls by 2 mm more; they move for {_MOVING:g} s, then most rest.",
            "MuJoCo: its solvers CG and Newton, the default, both at impinge's step, and hard at a quarter of it; CG",
            "at 2e-5 s is as deep as impinge. Spheres: sampled from impinge's states, each for the time since the",
            f"last, at {', '.join(f'{t:g}' for t in TIMES)} s: {_PEER_STEPS} steps, {_DEAR} of Newton if many.",
            "Contacts are as stiff as the step allows (solref of two steps), hard ones with solimp 0.999 to 0.9999.",
            "Depth falls with the square of the step. Making models and scenes is counted for neither.",
        ),
        figure=partial(draw, mine, peers),
    )
