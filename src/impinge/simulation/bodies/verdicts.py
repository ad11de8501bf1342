"""The verdicts on a scene that was stepped, of all its contacts together."""

from __future__ import annotations

from math import inf

from impinge.scene.world import Layout
from impinge.simulation.bodies.stage import MISS, Stage
from impinge.simulation.bodies.touching.part import DEEP
from impinge.simulation.check import START_TOLERANCE
from impinge.simulation.results.extremes import BEND, CREATED, DEPTH, DRIFT, DRIVE, EXCESS, RUB, WHEN, WORST
from impinge.simulation.results.judge import CREATED_SHARE, DRIVEN_SHARE, EXCESS_SHARE
from impinge.simulation.results.verdict import Findings, Judged, verdict


def findings_of(layout: Layout, stage: Stage, constrained: bool) -> Findings:
    """Return what was found of a run; see `Verdict`.

    Bodies are moved apart until nothing is deeper than `DEEP`. Work and power are those beyond what the solver misses.
    The constraints of robots are linear over a step: their drift is limited to ten times the square of the fastest
    joint's way in it. The laws of the contacts are to be met to the tolerance that was asked for.
    """
    e, rules = stage.extremes, stage.rules
    row, whole = e.table.tolist()
    value, time = row[WORST:], row[WHEN:]
    limits = {
        "penetration": (DEPTH, DEEP, "m"),
        "work of impacts": (CREATED, CREATED_SHARE, ""),
        "Coulomb's limit": (EXCESS, EXCESS_SHARE, ""),
        "power of friction": (DRIVE, DRIVEN_SHARE * max(value[RUB], 0.0), "W"),
    }
    found = []
    for name, (kind, limit, unit) in limits.items():
        if value[kind] > -inf:
            number = max(value[kind], 0.0)
            pair = "_".join(layout.frames[int(f)] for f in stage.worst[kind])
            found.append(verdict(name, number, limit, unit, *((pair, time[kind]) if number > 0.0 else (None, None))))
    found.append(verdict("contact laws", float(stage.tally[MISS]), rules.tolerance, "", None, None))
    if constrained:
        limit = START_TOLERANCE + 10.0 * whole[WORST + BEND]
        found.append(verdict("constraint drift", whole[WORST + DRIFT], limit, "", None, whole[WHEN + DRIFT]))
    return Judged(found)
