"""The robots of a scene in the symbols of the whole scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from impinge.model import Quantity, Symbols
from impinge.model.derive import Equations
from impinge.scene.scene import Scene
from impinge.scene.world import LINKED, Layout

_TERMS = ("M", "bias", "damping", "applied", "g", "A", "rate", "drift", "partial", "kinetic", "potential", "power")


class RobotTerms(NamedTuple):
    """One robot.

    Attributes:
        terms: those of its `Equations`, by name.
        links: position and axes of its links.
        outputs: a column.
        velocities: where its velocities stand among all.
    """

    terms: dict[str, Any]
    links: list[tuple[Any, Any]]
    outputs: Any
    velocities: slice


def parameters_of(scene: Scene) -> tuple[Quantity, ...]:
    """Return the parameters of all robots with the values that they have in the scene.

    Where several have a parameter of one name, that of each is called after its robot.
    """
    names = [x.name for robot in scene.robots for x in robot.model.parameters]
    return tuple(
        Quantity(x.name if names.count(x.name) == 1 else f"{robot.name}_{x.name}", x.unit, float(value), x.about)
        for robot in scene.robots
        for x, value in zip(robot.model.parameters, robot.parameters, strict=True)
    )


def robots_of(scene: Scene, layout: Layout, s: Symbols) -> list[RobotTerms]:
    """Return all robots of a scene, in the symbols of the scene."""
    world, found, first_p = layout.world, list[RobotTerms](), 0
    for r, robot in enumerate(scene.robots):
        own, e = robot.model.symbols, robot.model.equations
        expressions = [*(getattr(e, name) for name in _TERMS), robot.model.output_expressions]
        expressions += [part for link in robot.model.links for part in (link.position, link.axes)]
        q, v, u = (
            slice(int(first[r]), int(first[r] + size[r]))
            for first, size in ((world.first_q, world.nq), (world.first_v, world.nv), (world.first_u, world.nu))
        )
        p = slice(first_p, first_p + own.p.shape[0])
        first_p = p.stop
        function = ca.Function("robot", [own.t, own.q, own.v, own.u, own.p], expressions)
        values = function.call([s.t, s.q[q], s.v[v], s.u[u], s.p[p]])
        n = len(_TERMS)
        links = values[n + 1 :]
        found.append(
            RobotTerms(
                terms=dict(zip(_TERMS, values, strict=False)),
                links=list(zip(links[::2], links[1::2], strict=True)),
                outputs=values[n],
                velocities=v,
            )
        )
    return found


def links_of(layout: Layout, robots: Sequence[RobotTerms]) -> list[tuple[Any, Any]]:
    """Return position and axes of the link of every linked part, in the order of the parts."""
    world = layout.world
    return [robots[world.robot[f]].links[world.link[f]] for f in range(world.kind.size) if world.kind[f] == LINKED]


def stacked_rows(robots: Sequence[RobotTerms], nv: int, contacts: Sequence[Any]) -> list[Any]:
    """Return g, A, ġ, drift and ∂g/∂t of all robots' constraints and, below them, of the contacts."""
    parts: list[list[Any]] = [[], [], [], [], []]
    for robot in robots:
        A = ca.SX(robot.terms["g"].shape[0], nv)
        A[:, robot.velocities] = robot.terms["A"]
        own = (robot.terms["g"], A, robot.terms["rate"], robot.terms["drift"], robot.terms["partial"])
        for part, x in zip(parts, own, strict=True):
            part.append(x)
    return [ca.vertcat(*part, x) for part, x in zip(parts, contacts, strict=True)]


def equations_with(terms: dict[str, Any]) -> Equations:
    """Return equations from their terms, with surfaces that have no end."""
    return Equations(**terms, extent=ca.SX(0, 1), extent_rate=ca.SX(0, 1))
