"""From the raw log of a run to a result with names, units and a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Struct
from impinge.contact.law import ContactLaw
from impinge.contact.laws.complementarity import SCHEMES
from impinge.model import WORKS, Gap
from impinge.simulation.locate.proof import PROVED, UNPROVED
from impinge.simulation.results.certificate import (
    STEADY_SHARE,
    Certificate,
    ContactCertificate,
    energy_balance,
    force_unit,
)
from impinge.simulation.results.extremes import DEPTH, DRIFT, PRODUCT, PULL, PUSH, STRUCK, WHEN, WORST
from impinge.simulation.results.judge import judge
from impinge.simulation.results.record import EVENTS, ROWS
from impinge.simulation.results.record import STEPS as STEP_LOG
from impinge.simulation.results.result import Result
from impinge.simulation.results.verdict import Findings
from impinge.simulation.steps.stepper import EXPLICIT
from impinge.simulation.system.contacts import PASSED, SLIDING
from impinge.simulation.system.interface import System
from impinge.simulation.system.plant import EVALUATIONS, LEAPS, REJECTED, STEPS, Log, Plant, Workspace, columns

FloatArray = NDArray[np.float64]
Packed = tuple[Struct, Struct]  # of a plant and its workspace


class _Signal(NamedTuple):
    name: str
    unit: str
    kind: str
    column: int


class _Table(NamedTuple):
    columns: tuple[tuple[str, int], ...]
    units: Mapping[str, str]
    kinds: Mapping[str, str]


def _table_of(model: System, plant: Plant) -> _Table:
    """Return name, column, unit and kind of every signal: found once, and kept with the model as its kernels are."""
    kept = model.__dict__.get("_signal_table")
    if kept is None:
        named = list(_signals(model, plant))
        kept = model.__dict__["_signal_table"] = _Table(
            columns=tuple((signal.name, signal.column) for signal in named),
            units={signal.name: signal.unit for signal in named},
            kinds={signal.name: signal.kind for signal in named},
        )
    return cast(_Table, kept)


def _signals(model: System, plant: Plant) -> Iterator[_Signal]:
    """Name every column of the log."""
    at = {kind: place.start for kind, place in columns(plant).items()}
    places = [_Signal(x.name, x.unit, "coordinate", at["q"] + k) for k, x in enumerate(model.coordinates)]
    rates = [_Signal(x.name, x.unit, "velocity", at["v"] + k) for k, x in enumerate(model.velocities)]
    if model.spins:
        yield from (*places, *rates)
    else:  # each rate beside its coordinate
        yield from (signal for pair in zip(places, rates, strict=True) for signal in pair)
    for k, gap in enumerate(model.gaps):
        row = plant.nh + k
        yield _Signal(f"gap_{gap.name}", gap.unit, "gap", at["g"] + row)
        yield _Signal(f"gap_{gap.name}_dot", f"{gap.unit}/s", "gap rate", at["rate"] + row)
        yield _Signal(f"force_{gap.name}", force_unit(gap.unit), "force", at["force"] + row)
        yield _Signal(f"mode_{gap.name}", "", "mode", at["mode"] + k)
        yield _Signal(f"impulse_{gap.name}", f"{force_unit(gap.unit)}·s", "impulse", at["impulse"] + k)
    for k, (owner, name) in enumerate(model.slips):
        row, unit = plant.nh + plant.nc + k, model.gaps[owner].unit
        yield _Signal(f"slip_{name}", unit, "slip", at["g"] + row)
        yield _Signal(f"slip_{name}_dot", f"{unit}/s", "slip rate", at["rate"] + row)
        yield _Signal(f"friction_{name}", force_unit(unit), "friction", at["force"] + row)
    for k, gap in enumerate(model.gaps if plant.nr else ()):
        if gap.slides:
            yield _Signal(f"work_friction_{gap.name}", "J", "work", at["rubbing"] + k)
    for k, owner in enumerate(model.extents):
        row = plant.nh + plant.nc + plant.ns + k
        yield _Signal(f"extent_{model.gaps[owner].name}", "", "extent", at["g"] + row)
    for k, h in enumerate(model.constraints):
        yield _Signal(f"residual_{h.name}", h.unit, "residual", at["g"] + k)
        yield _Signal(f"force_{h.name}", force_unit(h.unit), "force", at["force"] + k)
    for k, u in enumerate(model.inputs):
        yield _Signal(u.name, u.unit, "input", at["u"] + k)
    for k, y in enumerate(model.outputs):
        yield _Signal(y.name, y.unit, "output", at["y"] + k)
    for k, energy in enumerate(("kinetic", "potential")):
        yield _Signal(f"energy_{energy}", "J", "energy", at["energies"] + k)
    for k, work in enumerate(WORKS):
        yield _Signal(f"work_{work}", "J", "work", at["work"] + k)


def _contact(
    signals: dict[str, FloatArray], last: slice, closed_modes: tuple[bool, ...], w: Workspace, c: int, one: Gap
) -> ContactCertificate:
    name, worst, impacts = one.name, w.extremes.table[c, WORST:WHEN].tolist(), int(w.extremes.impacts[c])
    gap, force = signals[f"gap_{name}"][last], signals[f"force_{name}"][last]
    closed = all(closed_modes[int(mode)] for mode in set(signals[f"mode_{name}"][last].tolist()))
    pull = worst[WORST + PULL]
    return ContactCertificate(
        deepest_penetration=max(0.0, worst[WORST + DEPTH]),
        steady_penetration=max(0.0, -float(gap.min())) if closed else None,
        smallest_force=-pull if isfinite(pull) else None,
        largest_force=worst[WORST + PUSH] if isfinite(pull) else None,
        complementarity=max(0.0, worst[WORST + PRODUCT]),
        steady_complementarity=float(abs(gap * force).max()),
        impacts=impacts,
        largest_impulse=worst[WORST + STRUCK] if impacts else None,
        unit=one.unit,
    )


def _findings(
    model: System,
    laws: Sequence[ContactLaw],
    plant: Plant,
    w: Workspace,
    packed: Packed,
    signals: Mapping[str, FloatArray],
) -> Findings:
    """Return what was found of a run; see `Verdict`."""
    explicit = plant.evaluate == 0 and any(getattr(law, "scheme", "") == SCHEMES[EXPLICIT] for law in laws)
    way = plant.fixed_step if explicit else 0.0
    one, other = packed
    kinetic, potential = signals["energy_kinetic"], signals["energy_potential"]
    start, energies = float(kinetic[0] + potential[0]), (float(kinetic[-1]), float(potential[-1]))
    broken = judge.unchecked(one.address, other.address, way, start, *energies)
    return Findings(broken > 0, w.extremes.table.copy(), model)


def assemble(
    model: System, laws: Sequence[ContactLaw], plant: Plant, w: Workspace, packed: Packed, log: Log, reason: str
) -> Result:
    """Return the result of a run from its raw records; an empty ``reason`` means that it reached its end."""
    rows = log.rows[: log.used[ROWS]].copy()
    table = _table_of(model, plant)
    signals = {name: rows[:, column] for name, column in table.columns}
    t = rows[:, 0]
    start, end = (float(signals["energy_kinetic"][k] + signals["energy_potential"][k]) for k in (0, -1))
    names = model.contacts
    both = list(zip(laws, model.gaps, strict=True))
    modes = [law.modes + (PASSED,) * gap.limited + (SLIDING,) * gap.slides for law, gap in both]
    closed = [law.closed + (False,) * gap.limited + (True,) * gap.slides for law, gap in both]
    last = slice(int(t.searchsorted(t[-1] - STEADY_SHARE * (t[-1] - t[0]))), None)
    balance = energy_balance(start, end, {work: float(signals[f"work_{work}"][-1]) for work in WORKS})
    certificate = Certificate(
        constraint_drift=float(w.extremes.table[-1, WORST + DRIFT]) if plant.nh else None,
        contacts={gap.name: _contact(signals, last, closed[c], w, c, gap) for c, gap in enumerate(model.gaps)},
        energy=balance,
        steps=int(w.counts[STEPS]),
        rejected=int(w.counts[REJECTED]),
        evaluations=int(w.counts[EVALUATIONS]),
        events=int(log.used[EVENTS]),
        findings=_findings(model, laws, plant, w, packed, signals),
        proved=int(w.proof.counts[PROVED]),
        unproved=int(w.proof.counts[UNPROVED]),
        leaps=int(w.counts[LEAPS]),
    )
    return Result(
        model=model.name,
        t=t,
        signals=signals,
        units=dict(table.units),
        kinds=dict(table.kinds),
        laws={name: law.name for name, law in zip(names, laws, strict=True)},
        modes=dict(zip(names, modes, strict=True)),
        closed=dict(zip(names, closed, strict=True)),
        event_table=log.events[: log.used[EVENTS]].copy(),
        steps=log.steps[: log.used[STEP_LOG]].copy(),
        certificate=certificate,
        tolerance=plant.atol,
        ok=not reason,
        reason=reason,
    )
