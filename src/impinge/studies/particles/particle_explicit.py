"""What fails: Trinkle's particle with explicit Euler steps, pages 5 and 8, beside the semi-implicit ones of page 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from impinge.studies.particles.particle_table import PARAMETERS, columns, figure_of, plant_parameters, table_claims
from impinge.studies.study import Claim, Outcome, Parameter, Progress, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from impinge.contact import ContactLaw
    from impinge.simulation import Result

_FAR = 1e6  # m: page 6 has no wall yet


def _simulate(p: Mapping[str, Any], scheme: str, law: ContactLaw | None = None, **changes: float) -> Result:
    from impinge.contact import Complementarity
    from impinge.robots import particle
    from impinge.simulation import simulate

    chosen = law or Complementarity(step=p["step"], scheme=scheme)
    return simulate(particle(), chosen, until=p["until"], parameters={**plant_parameters(p), **changes})


def _run(p: Mapping[str, Any], law: ContactLaw | None, progress: Progress | None) -> Outcome:
    result = _simulate(p, "explicit", law)
    free = _simulate(p, "semi-implicit", L=_FAR)
    beside = _simulate(p, "semi-implicit")
    metrics = {
        **columns(result),
        "deepest_m": result.certificate.contacts["wall"].deepest_penetration,
        "semi_implicit_x": free["x"].tolist(),
        "semi_implicit_v": free["x_dot"].tolist(),
        "semi_implicit_deepest_m": beside.certificate.contacts["wall"].deepest_penetration,
    }
    return Outcome(result, metrics)


def _figure(p: Mapping[str, Any], outcome: Outcome) -> Figure:
    title = f"Explicit steps do not see the wall, h = {p['step']:g} s"
    return figure_of(title, {"explicit": outcome.result, "semi-implicit": _simulate(p, "semi-implicit")})


study = Study(
    name="particle-explicit",
    title="explicit Euler steps run through the wall that semi-implicit ones anticipate",
    paper="Trinkle 2018, pages 5, 6, 8",
    parameters=(*PARAMETERS, Parameter("until", 6.0, "s", "end time", minimum=0, above=True)),
    run=_run,
    claims=(
        *table_claims(
            "tables of pages 5 and 8",
            {
                "x": (0, 0, 1, 3, 6, 10, 15),
                "v": (0, 1, 2, 3, 4, 5, 6),
                "gap": (11, 11, 10, 8, 5, 1, -4),
                "force": (0, 0, 0, 0, 0, 0),
            },
            note="the notes leave the force of the last row blank",
        ),
        Claim(
            "page6-x",
            "table of page 6, semi-implicit: x = 0, 1, 3, 6, 10, 15",
            lambda o: o.metrics["semi_implicit_x"][:6],
            expected=[0, 1, 3, 6, 10, 15],
            when={},
        ),
        Claim(
            "page6-v",
            "table of page 6, semi-implicit: v = 0, 1, 2, 3, 4, 5",
            lambda o: o.metrics["semi_implicit_v"][:6],
            expected=[0, 1, 2, 3, 4, 5],
            when={},
        ),
        Claim(
            "fails",
            "page 8: fully explicit Euler fails (with constant h): the gap becomes negative",
            lambda o: o.metrics["deepest_m"],
            expected=4.0,
            when={},
        ),
        Claim(
            "anticipates",
            "page 9: semi-implicit Euler allows anticipation of collision",
            lambda o: o.metrics["semi_implicit_deepest_m"],
            expected=0.0,
            when={},
        ),
    ),
    figure=_figure,
)
