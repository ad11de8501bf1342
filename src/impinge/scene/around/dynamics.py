"""Inertia, forces and energies of all robots and free bodies of a scene, one block after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca

from impinge.model import Symbols, rotation_vector
from impinge.scene.around.frames import Frame
from impinge.scene.around.robots import RobotTerms
from impinge.scene.world import FREE, Layout


class Motion(NamedTuple):
    """The motion without contacts: inertia, forces, energies and the power of explicit time; see `Equations`."""

    M: Any
    bias: Any
    damping: Any
    applied: Any
    kinetic: Any
    potential: Any
    explicit: Any


def motion_of(
    layout: Layout, s: Symbols, robots: Sequence[RobotTerms], frames: Sequence[Frame], grips: Sequence[tuple[Any, Any]]
) -> Motion:
    """Return the motion of a scene without contacts.

    Args:
        layout: the parts as numbered.
        s: symbols of everything.
        robots: in these symbols.
        frames: of all parts.
        grips: where each grip is at rest: place and axes of the body as its holder sees them.
    """
    world, nv = layout.world, s.v.shape[0]
    M, bias, damping, applied = ca.SX(nv, nv), ca.SX(nv, 1), ca.SX(nv, 1), ca.SX(nv, 1)
    kinetic = potential = explicit = ca.SX(0)
    for robot in robots:
        own, e = robot.velocities, robot.terms
        M[own, own] = e["M"]
        bias[own], damping[own], applied[own] = e["bias"], e["damping"], e["applied"]
        kinetic, potential = kinetic + e["kinetic"], potential + e["potential"]
        explicit += e["power"][2]
    for f, frame in enumerate(frames):
        if world.kind[f] == FREE or world.hung[f]:
            tensor, mass = frame.axes @ world.tensor[f] @ frame.axes.T, float(world.mass[f])
            by_line, by_turn = ca.jacobian(frame.velocity, s.v), ca.jacobian(frame.spin, s.v)
            M += mass * by_line.T @ by_line + by_turn.T @ tensor @ by_turn
            bias += by_line.T @ (mass * (s.change(frame.velocity) - world.gravity))
            bias += by_turn.T @ (tensor @ s.change(frame.spin) + ca.cross(frame.spin, tensor @ frame.spin))
            kinetic += mass * ca.sumsqr(frame.velocity) / 2 + ca.dot(frame.spin, tensor @ frame.spin) / 2
            potential -= mass * ca.dot(world.gravity, frame.at)
    for k, (place, axes) in enumerate(grips):
        applied += _grip(layout, s, frames, k, place, axes)
    return Motion(M, bias, damping, applied, kinetic, potential, explicit)


def _grip(layout: Layout, s: Symbols, frames: Sequence[Frame], k: int, place: Any, axes: Any) -> Any:
    """Return what the springs and dampers of a grip do to the body that it holds."""
    world = layout.world
    body, holder = frames[int(world.held[k])], frames[int(world.holder[k])]
    center = body.point(world.center[k])
    R = holder.axes
    away = R.T @ (center - holder.at) - place
    rate = R.T @ (body.velocity_of(center) - holder.velocity_of(center))
    turn = rotation_vector(R.T @ body.axes @ axes.T)
    force = R @ (-world.stiffness[k, :3] * away - world.damping[k, :3] * rate)
    moment = R @ (-world.stiffness[k, 3:] * turn - world.damping[k, 3:] * (R.T @ (body.spin - holder.spin)))
    return ca.jacobian(body.velocity_of(center), s.v).T @ force + ca.jacobian(body.spin, s.v).T @ moment


def rest_of_grip(layout: Layout, frames: Sequence[Frame], k: int) -> tuple[Any, Any]:
    """Return where a body is as its holder sees it, as expressions: place of the center of compliance, and axes."""
    world = layout.world
    body, holder = frames[int(world.held[k])], frames[int(world.holder[k])]
    return holder.axes.T @ (body.point(world.center[k]) - holder.at), holder.axes.T @ body.axes
