"""Every signal of a scene's result has a name of its own, and so has every pair of parts that may touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from impinge.errors import InputError
from impinge.model import WORKS
from impinge.scene.scene import BODY, Scene

# What every result of a scene has beside the signals of its parts.
RESERVED = ("t", "energy_kinetic", "energy_potential", "energy_lifted", "deepest_penetration")


def pose_signals(body: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return name and unit of a free body's coordinates and of its velocities."""
    coordinates = [(f"{body}_{x}", "m") for x in "xyz"] + [(f"{body}_q{x}", "") for x in "wxyz"]
    velocities = [(f"{body}_{x}_dot", "m/s") for x in "xyz"] + [(f"{body}_w{x}", "rad/s") for x in "xyz"]
    return coordinates, velocities


def grip_signals(body: str) -> list[str]:
    """Return the names of the wrench that a grip exerts on a body: three forces (N), three moments (N·m)."""
    return [f"grip_{body}_{x}" for x in ("fx", "fy", "fz", "mx", "my", "mz")]


def _owned(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield the name of every signal with what it belongs to."""
    for name in (*RESERVED, *(f"work_{work}" for work in WORKS)):
        yield name, "every result"
    for robot in scene.robots:
        for x in (*robot.model.coordinates, *robot.model.velocities, *robot.model.outputs):
            yield x.name, f"robot '{robot.name}'"
    for part in scene.parts.values():
        if part.kind == BODY and not part.on:
            coordinates, velocities = pose_signals(part.name)
            yield from ((name, f"body '{part.name}'") for name, _ in (*coordinates, *velocities))
    for one in scene.inputs:
        yield one.name, f"input '{one.name}'"
    for grip in scene.grips:
        yield from ((name, f"the grip on '{grip.body}'") for name in grip_signals(grip.body))


def check_signals(who: str, owned: Iterable[tuple[str, str]]) -> None:
    """Raise the error that fits if two signals share one name; they come with what they belong to."""
    owners: dict[str, str] = {}
    for name, owner in owned:
        if name in owners:
            got = f"'{name}' for {owners[name]} and for {owner}"
            raise InputError(who, "a name of its own for every signal", got, "Rename one of the two.")
        owners[name] = owner


def _check_pairs(scene: Scene) -> None:
    """Raise the error that fits if two pairs of parts share one name, as 'a' with 'b_c' and 'a_b' with 'c' do.

    Then the longer first name is the shorter one and a middle, and the longer second name that middle and the other.
    """
    names = scene.parts
    first: dict[str, tuple[str, str]] = {}
    for name in names:
        for k in (k for k, letter in enumerate(name) if letter == "_"):
            if name[:k] in names:
                first.setdefault(name[k + 1 :], (name[:k], name))
    for name in names:
        for k in (k for k, letter in enumerate(name) if letter == "_"):
            if name[k + 1 :] in names and name[:k] in first:
                short, long = first[name[:k]]
                got = f"'{short}_{name}' for '{short}' with '{name}' and for '{long}' with '{name[k + 1 :]}'"
                remedy = "Rename one of these parts."
                raise InputError(f"scene '{scene.name}'", "a name of its own for every pair of parts", got, remedy)


def owned_signals(scene: Scene) -> tuple[tuple[str, str], ...]:
    """Return the names of all signals, with what they belong to; raise the error that fits if two share one."""
    owned = tuple(_owned(scene))
    check_signals(f"scene '{scene.name}'", owned)
    _check_pairs(scene)
    return owned
