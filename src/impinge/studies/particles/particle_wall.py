"""Trinkle's particle and a wall: one complementarity problem per step, page 10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.particles.particle_table import PARAMETERS, columns, figure_of, plant_parameters, table_claims
from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import ContactLaw


def _run(p: Mapping[str, Any], law: ContactLaw | None, progress: Progress | None) -> Outcome:
    from impinge.contact import Complementarity
    from impinge.robots import particle
    from impinge.simulation import simulate

    chosen = law or Complementarity(p["restitution"], step=p["step"])
    result = simulate(particle(), chosen, until=p["until"], parameters=plant_parameters(p), progress=progress)
    return Outcome(result, {**columns(result), "steps_of_impact": _steps_of_impact(result["x_dot"].tolist())})


def _steps_of_impact(speeds: list[float]) -> int | None:
    """Return how many steps an impact takes, from the first that is slowed down to the first after which it rests."""
    slowed = next((k for k in range(1, len(speeds)) if speeds[k] < speeds[k - 1]), None)
    if slowed is None:
        return None
    rests = next((k for k in range(slowed, len(speeds)) if abs(speeds[k]) < 1e-12), None)
    return None if rests is None else rests - slowed + 1


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    return figure_of(f"A particle and a wall, h = {p['step']:g} s", {"particle": outcome.result})


study = Study(
    name="particle-wall",
    title="a particle falls against a wall, one complementarity problem per step",
    paper="Trinkle 2018, page 10",
    parameters=(
        *PARAMETERS,
        Parameter("restitution", 0.0, "", "e, from 0 to 1", minimum=0),
        Parameter("until", 8.0, "s", "end time", minimum=0, above=True),
    ),
    run=_run,
    claims=(
        *table_claims(
            "table of page 10",
            {
                "x": (0, 1, 3, 6, 10, 11, 11, 11, 11),
                "v": (0, 1, 2, 3, 4, 1, 0, 0, 0),
                "gap": (11, 10, 8, 5, 1, 0, 0, 0, 0),
                "force": (0, 0, 0, 0, 0, 4, 2, 1, 1),
            },
        ),
        Claim(
            "two-steps",
            "page 11: two time steps were needed to model the impact",
            lambda o: o.metrics["steps_of_impact"],
            expected=2,
            when={},
        ),
        Claim(
            "balance",
            "page 11: after the impact, the contact force exactly balances the external force",
            lambda o: o.metrics["force"][-1],
            expected=1.0,
            when={},
        ),
    ),
    figure=_figure,
)
