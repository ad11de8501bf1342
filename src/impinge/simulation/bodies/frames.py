"""Where everything is: frames from coordinates, paths and links; shapes from their frames."""

from __future__ import annotations

from typing import Any

from impinge.compile import call, jit
from impinge.geometry.rotation import EXACT, is_pose, matrix_of, turn
from impinge.scene.paths import PATH, follow
from impinge.scene.world import FOLLOWS, FREE, LINKED

LOOSE = 1e-3  # how far the axes of a robot's link may be from a rotation: its constraints may have drifted


@jit
def rotate(R: Any, x: Any, out: Any) -> None:
    """Write R x."""
    for i in range(3):
        out[i] = R[i, 0] * x[0] + R[i, 1] * x[1] + R[i, 2] * x[2]


@jit
def _free(world: Any, s: Any, f: int) -> None:
    frames, place, speed = s.frames, world.place[f], world.speed[f]
    matrix_of(s.q[place + 3 : place + 7], frames.axes[f])
    for i in range(3):
        frames.at[f, i] = s.q[place + i]
        frames.velocity[f, i] = s.v[speed + i]
    rotate(frames.axes[f], s.v[speed + 3 : speed + 6], frames.spin[f])


@jit
def _follow(world: Any, s: Any, t: float) -> None:
    frames = s.frames
    call(world.paths, (t, s.u, frames.paths))
    for k in range(world.followers.size):
        f = world.followers[k]
        follow(frames.paths[PATH * k :], frames.at[f], frames.axes[f], frames.velocity[f], frames.spin[f])


@jit
def set_frames(world: Any, s: Any, t: float) -> None:
    """Write poses and velocities of the frames that follow paths and of those that are free."""
    if world.paths != 0:
        _follow(world, s, t)
    for f in range(world.kind.size):
        if world.kind[f] == FREE:
            _free(world, s, f)


@jit
def posed(world: Any, s: Any) -> bool:
    """Tell whether all that follows paths and all links have a place, axes that are a rotation, and finite rates."""
    frames = s.frames
    for f in range(world.kind.size):
        if world.kind[f] == FOLLOWS or world.kind[f] == LINKED:
            tolerance = EXACT if world.kind[f] == FOLLOWS else LOOSE
            if not is_pose(frames.at[f], frames.axes[f], frames.velocity[f], frames.spin[f], tolerance):
                return False
    return True


@jit
def set_shapes(world: Any, s: Any) -> None:
    """Write the poses of all shapes from those of their frames."""
    frames, shapes = s.frames, world.shapes
    for k in range(shapes.kind.size):
        f = shapes.frame[k]
        R = frames.axes[f]
        for i in range(3):
            x = frames.at[f, i]
            for j in range(3):
                x += R[i, j] * shapes.at[k, j]
                total = 0.0
                for m in range(3):
                    total += R[i, m] * shapes.axes[k, m, j]
                frames.shape_axes[k, i, j] = total
            frames.shape_at[k, i] = x


@jit
def move(world: Any, s: Any, f: int, motion: Any, h: float) -> None:
    """Move a free frame along a motion of its block for a time: q ← q + h N(q) v, by the exact turn."""
    place = world.place[f]
    for i in range(3):
        s.q[place + i] += h * motion[i]
    turn(s.q[place + 3 : place + 7], h * motion[3], h * motion[4], h * motion[5])
