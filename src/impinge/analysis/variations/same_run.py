"""Whether a scene moves as the model does that it is around the start of a run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from impinge.contact import Law
from impinge.errors import ImpingeWarning, InputError
from impinge.model import Model
from impinge.scene.scene import Scene
from impinge.simulation import Result, simulate
from impinge.simulation.integrate.method import Method

ANYWHERE = 1e3  # m: features that are nearer to each other at the start are contacts of a run
_SAME = 1e-6  # by how much ends of two runs of one motion may differ, relative to their size or to 1


def check_same_run(
    who: str,
    system: Model | Scene,
    model: Model,
    law: Law | Mapping[str, Law] | None,
    result: Result,
    until: float,
    start: Mapping[str, float] | None,
    inputs: Mapping[str, float] | None,
    method: Method | None,
) -> None:
    """Raise the error that fits if a scene's own run ends elsewhere than that of its model around the start.

    The features that are nearest to each other at the start are the model's contacts; if others come to touch, its
    derivatives are not those of the scene. A law for each contact by name is one for the model's contacts only, and
    then nothing is known of the scene.
    """
    if system is model or isinstance(law, Mapping):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpingeWarning)
        own = simulate(system, law, until=until, start=start, inputs=inputs, method=method)
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    miss, name = max((abs(own[x][-1] - result[x][-1]) / (1.0 + abs(own[x][-1])), x) for x in names)
    if not own.ok or not miss <= _SAME:
        raise InputError(
            who,
            "a motion in which those features touch that are nearest to each other at its start",
            own.reason or f"one that ends {miss:.2g} elsewhere in '{name}' than the scene itself",
            "End it before other features touch, or begin nearer to where they do.",
        )
