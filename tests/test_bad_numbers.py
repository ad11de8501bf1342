"""Random scenes with one thing wrong: an error that names the part, or a run that ends and names it."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from impinge import (
    Box,
    Capsule,
    Complementarity,
    HalfSpace,
    InputError,
    ModelBuilder,
    Scene,
    Sphere,
    StartError,
    simulate,
)

# Runs that end early are what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:the run of .* stopped early:impinge.errors.ImpingeWarning")

NAMES = ("lift", "belt", "door", "tray", "cam")


def run(scene, until=0.3, **options):
    return simulate(scene, Complementarity(), until=until, **options)


def seeds(fast, slow):
    """Seeds for every run of the tests, and more of them for slow ones."""
    return [*range(fast), *(pytest.param(k, marks=pytest.mark.slow) for k in range(100, 100 + slow))]


# Paths


def good(x):
    return lambda t: ((x, 0, 5 + 0.1 * ca.sin(t)), ((0, 1, 2), t))


FAULTS = {
    "a root": lambda x, when: lambda t: ((x, 0, 5 + ca.sqrt(when - t)), ((0, 0, 1), t)),
    "a logarithm": lambda x, when: lambda t: (x, ca.log(when - t), 5),
    "a quotient": lambda x, when: lambda t: (x + 1e-3 * ca.sqrt((t - when) ** 3), 0, 5),
    "an angle": lambda x, when: lambda t: ((x, 0, 5), ((0, 0, 1), ca.asin(t / when))),
    "a matrix that grows": lambda x, when: lambda t: ((x, 0, 5), np.eye(3) * (1 + ca.fmax(t - when, 0))),
    "a matrix that is reflected": lambda x, when: (
        lambda t: ((x, 0, 5), ca.diag(ca.vertcat(1, 1, ca.if_else(t < when, 1, -1))))
    ),
}


@pytest.mark.parametrize("seed", seeds(12, 120))
def test_of_several_paths_the_one_that_breaks_is_named_when_it_does(seed):
    rng = np.random.default_rng(seed)
    names = rng.permutation(NAMES)[: rng.integers(1, 5)]
    bad, fault, when = str(rng.choice(names)), str(rng.choice(list(FAULTS))), rng.uniform(0.05, 0.25)
    scene = Scene("paths")
    for k, name in enumerate(names):
        scene.moving(str(name), FAULTS[fault](3.0 * k, when) if name == bad else good(3.0 * k), Box(1, 1, 0.1))
    scene.body("ball", Sphere(0.1), mass=1.0)
    if fault == "a quotient":  # it is a root of what is negative before
        with pytest.raises(InputError, match=rf"path of '{bad}' in scene 'paths'.*nan"):
            run(scene)
        return
    result = run(scene)
    assert not result.ok
    assert f"the path of '{bad}' in scene 'paths' has " in result.reason
    assert when - 1e-3 <= result.t[-1] <= when + 2e-3
    assert all(np.isfinite(signal).all() for signal in result.signals.values())


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_a_matrix_that_is_no_rotation_is_refused_with_its_part(seed):
    rng = np.random.default_rng(seed)
    matrix = Rotation.random(random_state=rng).as_matrix() @ (
        np.eye(3) + rng.choice([1e-3, 0.1, 1.0]) * rng.normal(size=(3, 3))
    )
    name = str(rng.choice(NAMES))
    scene = Scene("axes")
    scene.moving(name, lambda t: ((0, 0, 5), matrix), Box(1, 1, 0.1))
    scene.body("ball", Sphere(0.1), mass=1.0)
    with pytest.raises(InputError, match=rf"path of '{name}' in scene 'axes'.*no rotation"):
        run(scene)
    with pytest.raises(InputError, match=rf"body '{name}' of scene 'still'.*rotation"):
        Scene("still").body(name, Sphere(0.1), mass=1.0, turn=matrix)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_an_axis_that_depends_on_time_is_refused_with_its_part(seed):
    rng = np.random.default_rng(seed)
    name, place = str(rng.choice(NAMES)), int(rng.integers(3))
    scene = Scene("axis")
    axis = rng.normal(size=3).tolist()
    scene.moving(
        name, lambda t: ((0, 0, 5), ([ca.sin(t) if k == place else axis[k] for k in range(3)], t)), Box(1, 1, 0.1)
    )
    scene.body("ball", Sphere(0.1), mass=1.0)
    with pytest.raises(
        InputError, match=rf"axis in the path of '{name}' in scene 'axis': expected a direction of three"
    ):
        run(scene)


# Starts and names


def balls(names):
    scene = Scene("balls")
    for k, name in enumerate(names):
        scene.body(str(name), Sphere(0.1), mass=1.0, at=(k, 0, 1))
    return scene


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_a_quaternion_without_length_or_value_is_refused_with_its_body(seed):
    rng = np.random.default_rng(seed)
    bad, length = str(rng.choice(NAMES)), float(rng.choice([0.0, 1e-200, np.nan, np.inf]))
    start = {f"{bad}_q{c}": length * float(rng.choice([-1, 1])) for c in "wxyz"}
    with pytest.raises((StartError, InputError), match=rf"{bad}"):
        run(balls(NAMES), start=start)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_a_coordinate_with_the_name_of_a_bodys_signal_is_refused_with_both(seed):
    rng = np.random.default_rng(seed)
    body = str(rng.choice(NAMES))
    signal = f"{body}_{rng.choice(['x', 'y', 'z', 'qw', 'qx', 'qy', 'qz'])}"
    b = ModelBuilder("robot")
    q, v = b.coordinate(signal)
    b.kinetic(v**2 / 2)
    b.link("hand", (q, 0, 5))
    scene = balls(NAMES)
    scene.robot(b.build(), {"hand": Sphere(0.1)})
    with pytest.raises(InputError, match=rf"got '{signal}' for robot 'robot' and for body '{body}'"):
        run(scene)


# Overlaps


def overlapping(depth, rng):
    """A scene in which two parts overlap by a depth, and which two these are."""
    scene, turn = Scene("overlap"), Rotation.from_rotvec((0, 0, rng.uniform(0, 3)))
    scene.fixed("floor", HalfSpace())
    shape = (Box(0.2, 0.1, 0.1), Sphere(0.05), Capsule(0.05, 0.1))[int(rng.integers(3))]
    if isinstance(shape, Capsule):
        turn *= Rotation.from_rotvec((np.pi / 2, 0, 0))
    turn = turn.as_matrix()
    if rng.random() < 0.5:
        scene.body("lower", shape, mass=1.0, at=(0, 0, 0.05 - depth), turn=turn)
        return scene, {"lower", "floor"}
    scene.body("lower", Box(0.3, 0.3, 0.1), mass=1.0, at=(0, 0, 0.05))
    scene.body("upper", shape, mass=float(rng.choice([0.1, 1.0, 10.0])), at=(0, 0, 0.15 - depth), turn=turn)
    return scene, {"lower", "upper"}


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_parts_that_start_sunk_in_by_micrometers_are_moved_apart_without_speed(seed):
    rng = np.random.default_rng(seed)
    depth = 10 ** rng.uniform(-7.5, -5.05)
    result = run(overlapping(depth, rng)[0], until=0.05)
    assert result.ok, result.reason
    assert result.certificate.ok
    assert result["deepest_penetration"].max() <= 2e-7
    assert max(abs(result[name]).max() for name in result.signals if name.endswith("_dot")) < 1e-3


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_parts_that_start_deeper_are_refused_by_pair_and_depth(seed):
    rng = np.random.default_rng(seed)
    depth = 10 ** rng.uniform(-4.95, -1.7)
    scene, pair = overlapping(depth, rng)
    with pytest.raises(StartError, match=r"overlapping by .* m\. Move one of them") as caught:
        run(scene)
    one, other, deep = re.search(r"got '(\w+)' and '(\w+)' overlapping by (\S+) m", str(caught.value)).groups()
    assert {one, other} == pair
    assert float(deep) == pytest.approx(depth, rel=0.01)


def test_what_is_wedged_between_fixed_parts_from_the_start_is_refused():
    scene = Scene("slot")
    for name, side in (("left", -1), ("right", 1)):
        scene.fixed(name, Box(0.1, 1, 1), at=(side * (0.15 - 2e-6), 0, 0))
    scene.body("ball", Sphere(0.1), mass=1.0)
    with pytest.raises(StartError, match=r"'ball' and '(left|right)' overlapping by .* no motion of theirs parts them"):
        run(scene)


# What leaves no room


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_jaws_that_close_on_a_rigid_box_are_said_to_leave_no_room_whatever_the_step(seed):
    rng = np.random.default_rng(seed)
    speed, step, size = 10 ** rng.uniform(-4, 0), float(rng.choice([5e-4, 1e-3, 2e-3])), rng.uniform(0.02, 0.2)
    heading = rng.uniform(0, 2 * np.pi)
    n, turn = np.array([np.cos(heading), np.sin(heading), 0]), (0, 0, heading)
    scene = Scene("jaws", friction=rng.uniform(0, 1))
    scene.fixed("floor", HalfSpace())
    begin = 0.5 * size + 0.01 + 0.1 * speed  # touching at 0.1 s
    for name, side in (("left", -1), ("right", 1)):

        def path(t, side=side):
            x = side * (begin - speed * t)
            return (x * n[0], x * n[1], 0.5 * size), ((0, 0, 1), heading)

        scene.moving(name, path, Box(0.02, size, 0.9 * size))
    scene.body("box", Box(size, size, size), mass=1.0, at=(0, 0, 0.5 * size), turn=turn)
    result = simulate(scene, Complementarity(step=step), until=0.5)
    assert not result.ok
    assert result.t[-1] == pytest.approx(0.1, abs=2.1 * step)
    assert "no velocities keep the gaps between" in result.reason
    assert "whatever the step: change the paths of left, right" in result.reason
    assert "shorter" not in result.reason
    assert result["deepest_penetration"].max() < 1e-6


def test_jaws_that_close_too_slowly_to_be_missed_are_found_before_they_sink_in():
    scene = Scene("jaws")
    for name, side in (("left", -1), ("right", 1)):
        scene.moving(name, lambda t, side=side: (side * (0.15 - 2e-5 * t), 0, 0), Box(0.1, 0.2, 0.2))
    scene.body("box", Box(0.2, 0.2, 0.2), mass=1.0)
    result = simulate(scene, Complementarity(), until=5.0)
    assert not result.ok
    assert "no velocities keep the gaps between" in result.reason
    assert result["deepest_penetration"].max() < 3e-5
