"""Boxes: a stack, a wall whose ends tip, a stack beside a conveyor, and fields of stacks that drop; MuJoCo's too."""

from __future__ import annotations

from time import thread_time
from typing import Any

from impinge.bench.systems.stepped import Stepped
from impinge.geometry import Box, HalfSpace
from impinge.scene.scene import Scene

Block = tuple[tuple[float, float, float], tuple[float, float, float]]  # size and place, m

STEP, UNTIL, DENSITY, FRICTION = 2e-3, 1.0, 1800.0, 0.5
KINDS = ("stack of 30 boxes", "wall of 80 bricks", "12 boxes beside a conveyor")
FIELDS = {"100 boxes that drop": 100, "1,000 boxes that drop": 1000}
_MOST = 400  # steps of MuJoCo's
HIGH, APART, DROP = 5, 0.25, 2e-3  # boxes of a stack of a field, distance of stacks, and how far each box falls, m


def blocks(kind: str) -> list[Block]:
    """Return sizes and places of the boxes."""
    if kind == KINDS[1]:
        size = (0.2, 0.1, 0.06)
        return [(size, ((j + 0.5 * (i % 2)) * 0.2005, 0.0, 0.03 + 0.06 * i)) for i in range(10) for j in range(8)]
    if kind in FIELDS:
        wide = round((FIELDS[kind] / HIGH) ** 0.5)
        at = [(*divmod(k // HIGH, wide), k % HIGH) for k in range(FIELDS[kind])]
        return [((0.2, 0.2, 0.1), (APART * i, APART * j, 0.05 + 0.1 * k + DROP * (k + 1))) for i, j, k in at]
    return [((0.2, 0.2, 0.1), (0.0, 0.0, 0.05 + 0.1 * k)) for k in range(30 if kind == KINDS[0] else 12)]


def scene_of(kind: str) -> Scene:
    """Return the scene."""
    scene = Scene("bricks", friction=FRICTION)
    scene.fixed("ground", HalfSpace())
    for k, (size, at) in enumerate(blocks(kind)):
        scene.body(f"b{k}", Box(*size), density=DENSITY, at=at)
    if kind == KINDS[2]:
        scene.moving("belt", lambda t: (5 + 0.3 * t, 0, 0.05), Box(4, 0.3, 0.1))
        scene.body("rider", Box(0.1, 0.1, 0.1), density=DENSITY, at=(5, 0, 0.15))
    return scene


def ours(kind: str, tolerance: float, until: float = UNTIL) -> tuple[float, Stepped]:
    """Return the processor time per step, s, and the run; making the scene is not counted, here as there."""
    Stepped(scene_of(kind), STEP, tolerance).until(2 * STEP)  # compiles
    run = Stepped(scene_of(kind), STEP, tolerance)
    return run.until(until) / round(until / STEP), run


def mujoco_cost(
    mujoco: Any, kind: str, setting: tuple[float, str, bool] = (STEP, "Newton", False), moving: float = 0.0
) -> tuple[float, float, float]:
    """Return MuJoCo's processor time per step at first and over `UNTIL`, s, and its deepest penetration at the end, m.

    At most `_MOST` steps are taken after the first; those beyond are taken to cost as much as these.

    Args:
        mujoco: the package.
        kind: of `KINDS` or `FIELDS`.
        setting: step, solver, and whether contacts are hard, see `poured.mjcf`.
        moving: how long "at first" is, s.
    """
    step, solver, hard = setting
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/>'
        f'<geom type="box" size="{a / 2} {b / 2} {c / 2}" density="{DENSITY}"/></body>'
        for (a, b, c), (x, y, z) in blocks(kind)
    )
    impedance = "0.999 0.9999 0.001" if hard else "0.9 0.95 0.001"
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" solver="{solver}" cone="elliptic"/><size memory="2G"/><default>'
        f'<geom friction="{FRICTION} 0 0" solref="{2 * step} 1" solimp="{impedance}" condim="3"/></default>'
        f'<worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'
    )
    mujoco.mj_step(model, mujoco.MjData(model), nstep=2)
    data, early, all_steps = mujoco.MjData(model), round(moving / step), round(UNTIL / step)
    later = min(all_steps - early, _MOST)
    times = [thread_time()]
    for steps in (early, later):
        mujoco.mj_step(model, data, nstep=steps)
        times.append(thread_time())
    first, rest = times[1] - times[0], (times[2] - times[1]) / later
    whole = (first + rest * (all_steps - early)) / all_steps
    depth = max((-float(data.contact.dist[k]) for k in range(data.ncon)), default=0.0)
    return first / early if early else whole, whole, depth
