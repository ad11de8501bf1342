"""Write a scene around a pose as a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from impinge.errors import InputError
from impinge.model import Coordinate, Input, Model, Symbols, finite, values_of
from impinge.model.derive import rows
from impinge.scene.around.contacts import contacts_of
from impinge.scene.around.dynamics import motion_of, rest_of_grip
from impinge.scene.around.frames import frames_of, poses_at
from impinge.scene.around.robots import equations_with, links_of, parameters_of, robots_of, stacked_rows
from impinge.scene.scene import Scene
from impinge.scene.world import layout_of


def model_around(scene: Scene, near: Mapping[str, float] | None, within: float, time: float) -> Model:
    """Return a scene around a pose as a model; see `Scene.around`."""
    who = f"scene '{scene.name}' as a model"
    if not finite(f"distance of the {who}", within) >= 0.0:
        raise InputError(who, "a distance of zero or more", f"within = {within:g} m", "Give it in meters.")
    layout = layout_of(scene)
    coordinates, velocities = layout.start
    own = parameters_of(scene)
    s = Symbols(
        t=ca.SX.sym("t"),
        q=_symbols(x.name for x in coordinates),
        v=_symbols(x.name for x in velocities),
        u=_symbols(x.name for x in scene.inputs),
        p=_symbols(x.name for x in own),
        spins=layout.spins,
    )
    robots = robots_of(scene, layout, s)
    frames = frames_of(scene, layout, s, links_of(layout, robots))
    p, nq = np.array([x.value for x in own]), len(coordinates)
    home = np.array([x.value for x in coordinates])
    rests = [_numbers(rest_of_grip(layout, frames, k), s, home, p) for k in range(len(scene.grips))]
    motion = motion_of(layout, s, robots, frames, rests)
    start = values_of(who, "coordinate or velocity", (*coordinates, *velocities), near or {})
    contacts = contacts_of(who, layout, frames, poses_at(frames, s, start[:nq], time, p), within, s)
    of_contacts = rows(s, [*(c.gap for c in contacts), *(slip for c in contacts for slip in c.slips)])
    g, A, rate, drift, partial = stacked_rows(robots, s.v.shape[0], of_contacts)
    equations = equations_with(
        {
            "M": motion.M,
            "bias": motion.bias,
            "damping": motion.damping,
            "applied": motion.applied,
            "g": g,
            "A": A,
            "rate": rate,
            "drift": drift,
            "partial": partial,
            "kinetic": motion.kinetic,
            "potential": motion.potential,
            "power": ca.vertcat(ca.dot(s.v, motion.applied), ca.dot(s.v, motion.damping), motion.explicit),
        }
    )
    return Model(
        name=scene.name,
        coordinates=tuple(
            Coordinate(x.name, x.unit, float(value)) for x, value in zip(coordinates, start[:nq], strict=True)
        ),
        velocities=tuple(replace(x, value=float(value)) for x, value in zip(velocities, start[nq:], strict=True)),
        parameters=own,
        inputs=tuple(x if isinstance(x, Input) else Input(x.name, x.unit, x.value, x.about) for x in scene.inputs),
        constraints=tuple(x for robot in scene.robots for x in robot.model.constraints),
        gaps=tuple(c.kind for c in contacts),
        outputs=tuple(x for robot in scene.robots for x in robot.model.outputs),
        symbols=s,
        equations=equations,
        output_expressions=ca.vertcat(ca.SX(0, 1), *(robot.outputs for robot in robots)),
        friction_expressions=ca.vertcat(ca.SX(0, 1), *(ca.SX(c.mu) for c in contacts if c.kind.slides)),
    )


def _symbols(names: Iterable[str]) -> Any:
    return ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(name) for name in names))


def _numbers(expressions: tuple[Any, Any], s: Symbols, q: Any, p: Any) -> tuple[Any, Any]:
    """Return the values of some expressions at the start of a run."""
    place, axes = ca.Function("rest", [s.q, s.t, s.p], list(expressions))(q, 0.0, p)
    return place, axes
