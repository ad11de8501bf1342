"""From the raw log of a scene's run to a result with names, units, contacts and a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from impinge.contact.laws.complementarity import Complementarity
from impinge.model import WORKS
from impinge.scene.names import grip_signals
from impinge.scene.scene import Scene
from impinge.scene.world import Layout
from impinge.simulation.bodies.log import CONTACTS, EVENTS, ROWS, SceneLog
from impinge.simulation.bodies.outputs import Outputs
from impinge.simulation.bodies.stage import (
    CORRECTIONS,
    CREATED,
    DEEPEST,
    KEPT,
    LEAST_FORCE,
    LIFTED,
    MISS,
    MISSED,
    MOST_FORCE,
    NEWTON,
    PRODUCT,
    REPEATS,
    RESIDUAL,
    STEPS,
    SWEEPS,
    TAKEN,
    Stage,
)
from impinge.simulation.bodies.touching.contacts import ContactTable
from impinge.simulation.bodies.verdicts import findings_of
from impinge.simulation.results.certificate import STEADY_SHARE, Certificate, ContactCertificate, energy_balance
from impinge.simulation.results.extremes import DRIFT, WORST
from impinge.simulation.results.result import Result
from impinge.simulation.system.plant import EVENT_COLUMNS

FloatArray = NDArray[np.float64]

ALL = "all"  # what the certificate calls the contacts of a scene, taken together
_MODES = ("Free", "Contact")
_INSTANT = 1e-12  # s: a row that is earlier than an event by less is at its time


@dataclass(frozen=True)
class SolverReport:
    """What the contacts took.

    Attributes:
        residual: worst miss of a contact's law that was accepted, m/s.
        miss: the same over the scale that the tolerance is of, see `Complementarity`.
        missed: steps in which that was above the tolerance.
        created: largest energy that impulses gave in any step (a rounding error, or a wrong solver), J.
        lifted: potential energy given by moving bodies apart that had sunk in, J.
        sweeps, newton: iterations in all.
        kept: contacts that were not computed again, since the bodies of their island rest, in all steps.
        corrections: steps in which bodies were moved apart.
        repeats: steps repeated because a body went farther than contacts had been looked for.
    """

    residual: float
    miss: float
    missed: int
    created: float
    lifted: float
    sweeps: int
    newton: int
    kept: int
    corrections: int
    repeats: int


@dataclass(frozen=True, repr=False)
class SceneResult(Result):
    """A result of a scene: signals of its bodies, and all contacts as a table.

    For a body ``b``: position of its axes ``b_x``, ``b_y``, ``b_z``, quaternion ``b_qw`` … ``b_qz``, velocity of its
    center of mass ``b_x_dot`` …, angular velocity about its own axes ``b_wx`` …; for a grip on it ``grip_b_fx`` …
    ``grip_b_mz``, the wrench on the body along the holder's axes. Robots have their own signals, outputs among them.
    Events are those of pairs of parts, in every step: one is named after its two parts, and its time is the end of the
    step in which they begin or cease to push each other.
    """

    contacts: ContactTable
    solver: SolverReport

    def mode_index(self, contact: str) -> FloatArray:
        """Return, for every row, whether a pair of parts pushes each other there: 1 for Contact, 0 for Free."""
        self._modes(contact)
        table, closed = self.contacts, np.zeros(self.t.size)
        for one, other in table.pairs():
            if f"{one}_{other}" == contact:
                closed[table.between(one, other).row] = 1.0
        return closed


def _signals(scene: Scene, layout: Layout) -> list[tuple[str, str, str]]:
    """Name every column of the log after the time: name, unit, kind."""
    named = [(name, unit, "coordinate") for name, unit in layout.coordinates]
    named += [(name, unit, "velocity") for name, unit in layout.velocities]
    named += [(x.name, x.unit, "input") for x in scene.inputs]
    named += [("energy_kinetic", "J", "energy"), ("energy_potential", "J", "energy")]
    named += [("work_contacts", "J", "work"), ("work_applied", "J", "work"), ("energy_lifted", "J", "work")]
    named += [("deepest_penetration", "m", "gap")]
    for grip in scene.grips:
        units = ("N",) * 3 + ("N·m",) * 3
        named += [(name, unit, "force") for name, unit in zip(grip_signals(grip.body), units, strict=True)]
    return named


def _table(layout: Layout, log: SceneLog, t: FloatArray) -> ContactTable:
    found = log.contacts[: log.used[CONTACTS]]
    row = found[:, 0].astype(np.int64)
    frame = layout.world.shapes.frame
    return ContactTable(
        parts=layout.frames,
        row=row,
        t=t[row],
        first=frame[found[:, 1].astype(np.int64)],
        second=frame[found[:, 2].astype(np.int64)],
        gap=found[:, 3].copy(),
        normal=found[:, 4:7].copy(),
        place=found[:, 7:10].copy(),
        force=found[:, 10:13].copy(),
    )


def _events(layout: Layout, log: SceneLog, t: FloatArray) -> tuple[list[str], FloatArray]:
    """Return names of pairs of parts, and when these begin and cease to push each other, from pairs of their shapes.

    At one instant those of a pair of parts that begin come first: another shape of a part may take over.
    """
    found = sorted(log.events[: log.used[EVENTS]].tolist(), key=lambda event: (event[0], -event[3]))
    rows = (np.searchsorted(t, [event[0] - _INSTANT for event in found]) - 1).clip(0).tolist()
    events, names = [], dict[str, int]()
    closed, given = dict[tuple[float, float], int](), dict[tuple[float, float], float]()
    for (time, one, other, closes, impulse), row in zip(found, rows, strict=True):
        pair = one, other
        before = closed.get(pair, 0)
        closed[pair] = before + (1 if closes else -1)
        given[pair] = given.get(pair, 0.0) + impulse
        if closes and before == 0:
            modes, delivered = (0, 1), 0.0
        elif not closes and before == 1:
            modes, delivered = (1, 0), given.pop(pair)
        else:
            continue
        name = f"{layout.frames[int(one)]}_{layout.frames[int(other)]}"
        events.append((time, names.setdefault(name, len(names)), *modes, delivered, row, 0.0, 0.0))
    return list(names), np.array(events, dtype=float).reshape((-1, EVENT_COLUMNS))


def _measured(outputs: Outputs, nq: int, nv: int, nu: int, rows: FloatArray) -> list[tuple[str, str, FloatArray]]:
    """Return name, unit and values of all outputs in the rows of a log."""
    if not outputs.names:
        return []
    q, v, u = 1, 1 + nq, 1 + nq + nv
    values = np.array([outputs.at(x[0], x[q:v], x[v:u], x[u : u + nu]) for x in rows])
    return [(name, unit, values[:, k].copy()) for k, (name, unit) in enumerate(outputs.names)]


def assemble(scene: Scene, layout: Layout, outputs: Outputs, stage: Stage, log: SceneLog, reason: str) -> SceneResult:
    """Return the result of a run from its raw records; an empty ``reason`` means that it reached its end."""
    rows = log.rows[: log.used[ROWS]].copy()
    t, nq = rows[:, 0].copy(), layout.q.size
    rows[:, 1 : 1 + nq] = layout.shown(rows[:, 1 : 1 + nq])
    named = _signals(scene, layout)
    signals = {name: rows[:, 1 + k] for k, (name, _, _) in enumerate(named)}
    measured = _measured(outputs, nq, layout.v.size, len(scene.inputs), rows)
    signals |= {name: values for name, _, values in measured}
    named += [(name, unit, "output") for name, unit, _ in measured]
    contacts, tally, counts = _table(layout, log, t), stage.tally, stage.counts
    steady = contacts.t >= t[-1] - STEADY_SHARE * (t[-1] - t[0])
    gaps, forces = contacts.gap[steady], contacts.normal_force[steady]
    least = float(tally[LEAST_FORCE])
    all_contacts = ContactCertificate(
        deepest_penetration=float(tally[DEEPEST]),
        steady_penetration=max(0.0, -float(gaps.min())) if gaps.size else None,
        smallest_force=least if np.isfinite(least) else None,
        largest_force=float(tally[MOST_FORCE]) if np.isfinite(least) else None,
        complementarity=float(tally[PRODUCT]),
        steady_complementarity=float(np.abs(gaps * forces).max(initial=0.0)),
    )
    energy = signals["energy_kinetic"] + signals["energy_potential"]
    # Free bodies have no damping, no constraints and nothing that depends on time; of robots these are not measured.
    work: dict[str, float | None] = dict.fromkeys(WORKS, None if scene.robots else 0.0)
    work |= {"contacts": float(signals["work_contacts"][-1]), "applied": float(signals["work_applied"][-1])}
    constrained = int(layout.world.nh.sum()) > 0
    names, events = _events(layout, log, t)
    pairs = dict.fromkeys(names, _MODES)
    return SceneResult(
        model=scene.name,
        t=t,
        signals=signals,
        units={name: unit for name, unit, _ in named},
        kinds={name: kind for name, _, kind in named},
        laws={ALL: Complementarity.name},
        modes=pairs,
        closed=dict.fromkeys(pairs, (False, True)),
        event_table=events,
        steps=cast(FloatArray, np.zeros((0, 2))),
        certificate=Certificate(
            constraint_drift=float(stage.extremes.table[1, WORST + DRIFT]) if constrained else None,
            contacts={ALL: all_contacts},
            energy=energy_balance(float(energy[0]), float(energy[-1]), work),
            steps=int(counts[STEPS]),
            rejected=int(counts[REPEATS]),
            evaluations=int(counts[TAKEN]),
            events=len(events),
            findings=findings_of(layout, stage, constrained),
        ),
        tolerance=0.0,
        ok=not reason,
        reason=reason,
        contacts=contacts,
        solver=SolverReport(
            residual=float(tally[RESIDUAL]),
            miss=float(tally[MISS]),
            missed=int(counts[MISSED]),
            created=float(tally[CREATED]),
            lifted=float(tally[LIFTED]),
            sweeps=int(counts[SWEEPS]),
            newton=int(counts[NEWTON]),
            kept=int(counts[KEPT]),
            corrections=int(counts[CORRECTIONS]),
            repeats=int(counts[REPEATS]),
        ),
    )
