"""Trinkle's particle and a wall that comes towards it: page 13."""

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

    chosen, parameters = law or Complementarity(step=p["step"]), plant_parameters(p, p["wall_speed"])
    result = simulate(particle(), chosen, until=p["until"], parameters=parameters, progress=progress)
    return Outcome(result, columns(result))


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    title = f"A particle and a wall that moves at {p['wall_speed']:g} m/s, h = {p['step']:g} s"
    return figure_of(title, {"particle": outcome.result})


study = Study(
    name="particle-moving-wall",
    title="a wall comes towards a falling particle and carries it along",
    paper="Trinkle 2018, page 13",
    parameters=(
        *PARAMETERS,
        Parameter("wall_speed", -1.0, "m/s", "velocity of the wall"),
        Parameter("until", 8.0, "s", "end time", minimum=0, above=True),
    ),
    run=_run,
    claims=(
        *table_claims(
            "table of page 13",
            {
                "x": (0, 1, 3, 6, 7, 6, 5, 4, 3),
                "v": (0, 1, 2, 3, 1, -1, -1, -1, -1),
                "force": (0, 0, 0, 0, 3, 3, 1, 1, 1),
                "gap": (11, 9, 6, 2, 0, 0, 0, 0, 0),
                "wall": (11, 10, 9, 8, 7, 6, 5, 4, 3),
            },
        ),
        Claim(
            "carried",
            "page 13: in steady contact the particle has the wall's velocity",
            lambda o: o.metrics["v"][-1],
            expected=-1.0,
            when={},
        ),
    ),
    figure=_figure,
)
