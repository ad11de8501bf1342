"""Bad scenes, models and laws: an error before anything runs, or a run that ends and names the part."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import impinge
from impinge import (
    Baumgarte,
    Box,
    Capsule,
    Complementarity,
    FixedStep,
    HalfSpace,
    Impact,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    ModelError,
    Scene,
    Sphere,
    StartError,
    equilibrium,
    linearize,
    periodic_orbit,
    robots,
    sensitivity,
    simulate,
)
from impinge.compile import Vector, entry
from test_bad_input import INF, NAN, refused

# Runs that end early are what most of these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:the run of .* stopped early:impinge.errors.ImpingeWarning")

LAWS = {
    "steps": Complementarity(),
    "impact": Impact(),
    "compliant": KelvinVoigt(),
    "stabilized": Baumgarte(a0=1e4, a1=200, a2=0),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
THICK, RADIUS = 0.1, 0.1  # of the lift, and of the ball on it


def lift(path, at=THICK / 2 + RADIUS, inputs=()):
    """A ball on a plate that follows a path."""
    scene = Scene("lift")
    scene.moving("plate", path, Box(1, 1, THICK), inputs=inputs)
    scene.body("ball", Sphere(RADIUS), mass=1.0, at=(0, 0, at))
    return scene


def dropped(at=0.5, name="ball", shape=None):
    scene = Scene("drop")
    scene.fixed("floor", HalfSpace())
    scene.body(name, shape or Sphere(RADIUS), mass=1.0, at=(0, 0, at))
    return scene


def all_finite(result):
    return all(np.isfinite(signal).all() for signal in result.signals.values())


# Paths.


@every_law
def test_what_is_right_is_not_refused(law):
    result = simulate(lift(lambda t: ((0, 0, 0.01 * t), ((0, 0, 2), t))), law, until=0.2)
    assert result.ok
    assert result["ball_z"][-1] == pytest.approx(THICK / 2 + RADIUS + 0.002, abs=2e-4)


@every_law
@pytest.mark.parametrize("end", np.random.default_rng(1).uniform(0.05, 0.3, size=3))
def test_a_path_that_becomes_nan_ends_the_run_there_and_names_its_part(law, end):
    result = simulate(lift(lambda t: (0, 0, 0.01 * ca.sqrt(end - t) - 0.01 * math.sqrt(end))), law, until=0.5)
    assert not result.ok
    assert "the path of 'plate' in scene 'lift' has " in result.reason
    assert "nan" in result.reason or "inf" in result.reason
    assert end - 1e-3 <= result.t[-1] <= end + 1.001e-3
    assert all_finite(result)
    assert result["ball_z"].min() > 0.1  # it was carried until then


@every_law
@pytest.mark.parametrize("grown", np.random.default_rng(2).uniform(0.05, 0.3, size=2))
def test_a_matrix_that_ceases_to_be_a_rotation_ends_the_run_there(law, grown):
    result = simulate(lift(lambda t: ((0, 0, 0), (1 + ca.fmax(t - grown, 0)) * ca.SX.eye(3))), law, until=0.5)
    assert not result.ok
    assert "the path of 'plate' in scene 'lift' has axes that are no rotation (off by " in result.reason
    assert abs(result.t[-1] - grown) <= 1.001e-3


def test_a_path_without_contacts_is_watched_too():
    scene = dropped()
    scene.moving("idle", lambda t: (3, 0, ca.sqrt(0.1 - t)))
    for law in LAWS.values():
        result = simulate(scene, law, until=0.2)
        assert not result.ok
        assert "path of 'idle' in scene 'drop'" in result.reason


def test_a_fixed_step_over_a_bad_path_names_it():
    result = simulate(
        lift(lambda t: (0, 0, ca.sqrt(0.1 - t) - math.sqrt(0.1))), Impact(), until=0.2, method=FixedStep(1e-3)
    )
    assert not result.ok
    assert "path of 'plate' in scene 'lift'" in result.reason


BAD_PATHS = {
    "divided by zero": (lambda t: (0, 0, t / 0.0), r"got position \(0, 0, (nan|inf)\)"),
    "math.sin": (lambda t: (0, 0, math.sin(t)), r"got position \(0, 0, nan\)\. Use CasADi's functions \(casadi\.sin"),
    "root of t": (lambda t: (0, 0, -ca.sqrt(t)), r"got velocity \(0, 0, -inf\)"),
    "infinite": (lambda t: (INF, 0, 0), r"got position \(inf, 0, 0\)"),
    "scaled": (lambda t: ((0, 0, 0), 2 * np.eye(3)), r"got axes that are no rotation \(off by 3\), \(\(2, 0, 0\), "),
    "mirrored": (lambda t: ((0, 0, 0), np.diag([1.0, 1.0, -1.0])), r"got axes that are no rotation .*right-handed"),
    "empty": (lambda t: ((0, 0, 0), np.zeros((3, 3))), r"got axes that are no rotation"),
    "sheared": (lambda t: ((0, 0, 0), [[1, 0.01, 0], [0, 1, 0], [0, 0, 1]]), r"got axes that are no rotation"),
    "no axes": (lambda t: ((0, 0, 0), np.full((3, 3), NAN)), r"got axes \(\(nan, nan, nan\)"),
}  # fmt: skip


@every_law
@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_without_a_pose_at_the_start_is_refused(path, law):
    given, text = BAD_PATHS[path]
    text = r"path of 'plate' in scene 'lift': expected a place, a rotation and finite velocities at the start, " + text
    refused(InputError, text, simulate, lift(given), law, until=0.1)


@every_law
@pytest.mark.parametrize("axis", [(NAN, 0, 1), (0, 0, 0), (0, 1), (0, 0, INF), "z", None], ids=str)
def test_an_axis_is_three_numbers(axis, law):
    text = r"path of 'plate' in scene 'lift': expected a"
    refused(InputError, text, simulate, lift(lambda t: ((0, 0, 0), (axis, t))), law, until=0.1)


@every_law
def test_an_axis_that_is_an_expression_is_refused(law):
    text = (
        r"axis in the path of 'plate' in scene 'lift': expected a direction of three numbers, "
        r"got \(.*sin\(t\).*, 0, 1\)\. "
        r"Give e\.g\. \(0, 0, 1\), the axis z; for an axis that moves give a 3 × 3 matrix\."
    )
    refused(InputError, text, simulate, lift(lambda t: ((0, 0, 0), ((ca.sin(t), 0, 1), t))), law, until=0.1)


def test_a_path_is_a_function_of_time_and_its_inputs():
    text = (
        r"moving part 'plate' of scene 'lift': expected a function path\(t\), got \(0, 0, 1\)\. Give e\.g\. lambda t:"
    )
    refused(InputError, text, lift, (0, 0, 1))
    text = r"expected a function path\(t, u\), got one of \(t\)\. Give e\.g\. lambda t, u: "
    refused(InputError, text, lift, lambda t: (0, 0, 0), inputs=["u"])
    text = r"expected a sequence of names of inputs, got 'push'\. Give inputs=\['push'\]\."
    refused(InputError, text, lift, lambda t, push: (0, 0, 0), inputs="push")


def test_a_path_is_judged_with_the_inputs_of_the_run():
    scene = lift(lambda t, u: (0, 0, 0.1 / u - 0.1), inputs=["u"])
    refused(InputError, r"path of 'plate' in scene 'lift': .* got position", simulate, scene, Impact(), until=0.1)
    assert simulate(scene, Impact(), until=0.1, inputs={"u": 1.0}).ok


# Start states of scenes.


@every_law
def test_a_start_quaternion_of_length_zero_is_refused(law):
    text = (
        r"start of body 'ball': expected a quaternion \(ball_qw, ball_qx, ball_qy, ball_qz\) of length one, "
        r"got \(0, 0, 0, 0\)\. Give all four, or leave them out\."
    )
    refused(StartError, text, simulate, dropped(), law, until=0.1, start={"ball_qw": 0.0})
    half = simulate(dropped(), law, until=0.01, start={"ball_qw": 1.0, "ball_qx": 1.0})
    assert half["ball_qw"][-1] == pytest.approx(math.sqrt(0.5))


@every_law
@pytest.mark.parametrize("radius", [1e-1, 1e-4, 1e-6, 5e-7])
def test_a_part_may_not_start_sunk_in_by_a_share_of_its_size(radius, law):
    """A micrometer is rounding for what is a decimeter large, and all there is of what is that small."""
    scene = dropped(at=0.1 * radius, shape=Sphere(radius))
    if isinstance(law, KelvinVoigt):  # what is compliant may rest at a depth, but not with its center inside
        scene = dropped(at=-0.1 * radius, shape=Sphere(radius))
    text = (
        r"scene 'drop': expected (gap 'ball_floor' of zero or more|parts that do not overlap at the start), got .* m\."
    )
    refused(StartError, text, simulate, scene, law, until=1e-3)
    barely = dropped(at=radius - min(1e-7, 1e-4 * radius), shape=Sphere(radius))
    assert simulate(barely, law, until=1e-4).ok


@every_law
def test_a_small_ball_inside_a_large_box_is_refused(law):
    scene = Scene("inside")
    scene.fixed("box", Box(1, 1, 1))
    scene.body("ball", Sphere(0.01), mass=1.0, at=(0.1, 0, 0.1))
    text = r"scene 'inside': expected .*, got (-0\.41 m|'ball' and 'box' overlapping by 0\.41 m)\."
    refused(StartError, text, simulate, scene, law, until=0.1)


# Robots in scenes.


def arm(position=lambda q: (q, 0, 5), axes=lambda q: None, constraint=None, force=None, name="q"):
    b = ModelBuilder("arm")
    q, v = b.coordinate(name, start=1.0)
    b.kinetic(v**2 / 2)
    b.link("hand", position(q), axes(q))
    if constraint is not None:
        b.constraint("held", constraint(q))
    if force is not None:
        b.force(force(b.time), along=q)
    scene = dropped()
    scene.robot(b.build(), {"hand": Sphere(0.1)})
    return scene


def stepped(scene, **options):
    return simulate(scene, Complementarity(), until=0.3, **options)


def test_a_robot_that_is_right_is_not_refused():
    assert stepped(arm()).ok
    assert stepped(arm(constraint=lambda q: q - 1)).ok


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"position": lambda q: (q, 0, ca.sqrt(q - 2))}, r"position \(1, 0, nan\)"),
        ({"axes": lambda q: 2 * ca.SX.eye(3)}, r"axes that are no rotation \(off by 3\)"),
        ({"axes": lambda q: q * ca.SX.eye(3) * ca.SX([[1, 1, -1]] * 3)}, r"axes that are no rotation"),
    ],
    ids=["nan", "scaled", "mirrored"],
)
def test_a_link_without_a_pose_at_the_start_is_refused(options, got):
    text = rf"link 'hand' in scene 'drop': expected a place, a rotation and finite velocities at the start, got {got}"
    refused(InputError, text, stepped, arm(**options))


def test_a_link_that_loses_its_pose_ends_the_run_and_is_named():
    falling = arm(position=lambda q: (0, 0, 5 + ca.sqrt(1.02 - q)), force=lambda t: 1.0)
    result = stepped(falling)
    assert not result.ok
    assert "the link 'hand' in scene 'drop' has " in result.reason
    assert result.t[-1] == pytest.approx(0.2, abs=2e-3)  # q = 1 + t²/2
    assert all_finite(result)


def test_a_robot_that_starts_off_its_constraint_is_refused():
    text = r"start of robot 'arm' of scene 'drop': expected residual zero of constraint 'held' within 1e-06, got -1\."
    refused(StartError, text, stepped, arm(constraint=lambda q: q - 2))


def test_a_robot_whose_motion_is_no_number_ends_the_run_and_is_named():
    result = stepped(arm(force=lambda t: ca.sqrt(0.2 - t)))
    assert not result.ok
    assert "s the motion of robot 'arm' stopped being finite: check the scene near this state" in result.reason
    assert result.t[-1] == pytest.approx(0.2, abs=2e-3)


# Names.


def test_two_signals_may_not_share_one_name():
    text = (
        r"scene 'drop': expected a name of its own for every signal, "
        r"got 'ball_x' for robot 'arm' and for body 'ball'\. Rename one of the two\."
    )
    refused(InputError, text, stepped, arm(name="ball_x"))
    refused(InputError, r"'ball_wx' for robot 'arm' and for body 'ball'", stepped, arm(name="ball_wx"))


@every_law
@pytest.mark.parametrize("name", ["ball_z", "ball_qw", "t", "energy_kinetic", "work_contacts"])
def test_an_input_may_not_have_the_name_of_another_signal(name, law):
    scene = dropped()
    scene.moving("idle", lambda t, u: (u, 0, 9), inputs=[name])
    owner = "body 'ball'" if name.startswith("ball") else "every result"
    text = (
        rf"scene 'drop': .* for every signal, got '{name}' for {owner} and for input '{name}'\. Rename one of the two\."
    )
    refused(InputError, text, simulate, scene, law, until=0.1)


def test_two_robots_may_not_share_a_coordinate():
    scene = arm()
    b = ModelBuilder("other")
    q, v = b.coordinate("q")
    b.kinetic(v**2 / 2)
    b.link("foot", (q, 3, 5))
    scene.robot(b.build())
    refused(InputError, r"got 'q' for robot 'arm' and for robot 'other'", stepped, scene)


@every_law
def test_two_pairs_of_parts_may_not_share_one_name(law):
    scene = Scene("names")
    for k, name in enumerate(("left", "left_finger", "finger_tip", "tip")):
        scene.body(name, Sphere(0.1), mass=1.0, at=(k, 0, 0))
    text = (
        r"scene 'names': expected a name of its own for every pair of parts, got 'left_finger_tip' for 'left' with "
        r"'finger_tip' and for 'left_finger' with 'tip'\. Rename one of these parts\."
    )
    refused(InputError, text, simulate, scene, law, until=0.1)


def test_a_contact_may_not_have_a_signal_of_a_body():
    """Two balls of a capsule on a plate are 'gap_a_b_1' and 'gap_a_b_2'."""
    scene = Scene("names", gravity=(0, 0, 0))
    scene.fixed("floor", HalfSpace())
    scene.body("rod", Capsule(0.1, 0.5), mass=1.0, at=(0, 0, 1))
    scene.body("gap_rod_floor_1", Sphere(0.1), mass=1.0, at=(3, 0, 1))
    assert simulate(scene, Impact(), until=0.01).ok
    scene = Scene("names", gravity=(0, 0, 0))
    scene.fixed("x", HalfSpace())
    scene.body("gap_rod", Sphere(0.1), mass=1.0, at=(0, 0, 1))
    scene.body("rod", Sphere(0.1), mass=1.0, at=(3, 0, 1))
    text = r"got 'gap_rod_x' for body 'gap_rod' and for contact 'rod_x'"
    refused(InputError, text, simulate, scene, Impact(), until=0.01)


# Models.


def builder():
    b = ModelBuilder("ball")
    z, v = b.coordinate("z", start=1.0)
    return b, z, v


@pytest.mark.parametrize("sign", [-1, 1], ids=["Lagrangian", "total energy"])
def test_a_term_without_velocities_in_the_kinetic_energy_is_refused(sign):
    b, z, v = builder()
    b.kinetic(v**2 / 2 + sign * 9.81 * z)
    text = (
        r"the kinetic energy of model 'ball': expected terms with velocities, got one without, .*9\.81\*z.*\. "
        r"Give it to potential\(\.\.\.\), with the opposite sign if it is meant as a part of the Lagrangian T − V\."
    )
    refused(ModelError, text, b.build)


@pytest.mark.parametrize(
    "term", [lambda z, p, t: p * z**2, lambda z, p, t: ca.cos(z), lambda z, p, t: 5.0, lambda z, p, t: t]
)
@pytest.mark.parametrize("moved", [False, True])
def test_no_square_makes_up_for_a_term_without_velocities(term, moved):
    """Also beside a square that has one, as in a frame that moves."""
    b, z, v = builder()
    p = b.parameter("p", 0.0)
    b.kinetic((v + ca.sin(b.time) * moved) ** 2 / 2)
    b.kinetic(term(z, p, b.time))
    refused(ModelError, r"the kinetic energy of model 'ball': expected terms with velocities, got one without", b.build)


def test_a_kinetic_energy_in_a_moving_frame_is_taken():
    """A free particle, seen from a frame that turns at Ω, moves on a straight line of the frame that does not."""
    b = ModelBuilder("turning")
    (x, vx), (y, vy), omega = b.coordinate("x", start=1.0), b.coordinate("y"), b.parameter("omega", 2.0)
    b.kinetic(((vx - omega * y) ** 2 + (vy + omega * x) ** 2) / 2)
    result = simulate(b.build(), until=1.0)
    seen = complex(result["x"][-1], result["y"][-1]) * np.exp(2j * result.t[-1])
    assert seen == pytest.approx(1 + 2j, abs=1e-7)


@pytest.mark.parametrize("expression", [0.0, 1.0, "time", "parameter"])
def test_a_constraint_that_nothing_can_change_is_refused(expression):
    b, _, v = builder()
    b.kinetic(v**2 / 2)
    b.constraint("held", {"time": b.time, "parameter": b.parameter("p", 0.0)}.get(expression, expression))
    text = (
        r"constraint 'held' of model 'ball': expected an expression that depends on a coordinate, got (0|1|t|p)\. "
        r"A constraint that nothing can change holds nothing: leave it out\."
    )
    refused(ModelError, text, b.build)


@pytest.mark.parametrize("held", [lambda z: (z - 1) ** 2, lambda z: ca.fabs(z) - z, lambda z: 1 - ca.cos(z - 1)])
def test_a_constraint_that_holds_nothing_at_the_start_is_refused(held):
    b, z, v = builder()
    b.kinetic(v**2 / 2)
    b.constraint("held", held(z))
    text = (
        r"start of model 'ball': expected constraint 'held' to hold a direction of motion, .*got the gradient \(-?0\)\."
    )
    refused(StartError, text, simulate, b.build(), until=0.1)


PIECES = {
    "the potential energy": lambda b, z, v: b.potential(9.81 * math.sin(z)),
    "the kinetic energy": lambda b, z, v: b.kinetic(math.cos(z) * v**2),
    "gap 'floor'": lambda b, z, v: b.gap("floor", z + math.sin(b.time)),
    "constraint 'held'": lambda b, z, v: b.constraint("held", z + NAN),
    "a force": lambda b, z, v: b.force(math.exp(v), along=z),
    "output 'y'": lambda b, z, v: b.output("y", math.sqrt(z)),
}


@pytest.mark.parametrize("what", PIECES)
def test_python_s_own_functions_of_a_symbol_are_refused(what):
    """They give NaN, which vanishes from derivatives: a potential of NaN is no force at all."""
    b, z, v = builder()
    b.kinetic(v**2 / 2)
    PIECES[what](b, z, v)
    text = rf"{what} of model 'ball': expected an expression of numbers and symbols, got nan in it\. Use CasADi's"
    refused(ModelError, text, b.build)


RUNS = {
    "simulate": lambda model: simulate(model, Baumgarte(), until=1.0),
    "linearize": lambda model: linearize(model, {}),
    "equilibrium": lambda model: equilibrium(model),
    "sensitivity": lambda model: sensitivity(model, Baumgarte(), until=1.0),
    "periodic_orbit": lambda model: periodic_orbit(model, Baumgarte(), period=1.0),
    "robot": lambda model: Scene("cell").robot(model),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_builder_in_the_place_of_a_model_says_what_is_missing(run):
    b, z, v = builder()
    b.kinetic(v**2 / 2)
    b.gap("floor", z)
    text = r"expected a [mM]odel, got the ModelBuilder of 'ball'\. Call its build\(\) first\."
    refused(InputError, text, RUNS[run], b)


def test_a_robot_is_a_model_and_no_scene():
    refused(InputError, r"expected a [mM]odel, got scene 'drop'\.", RUNS["robot"], dropped())


@pytest.mark.parametrize("model", [None, "ball", ModelBuilder, robots.ball], ids=["none", "text", "class", "function"])
def test_only_models_and_scenes_are_simulated(model):
    refused(InputError, r"simulate: expected a model, got ", RUNS["simulate"], model)


def test_a_builder_has_no_attributes_of_its_own_making():
    b, _, _ = builder()
    assert not hasattr(b, "links")
    assert not hasattr(b, "nonsense")
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = b.nonsense


# Numbers that stop being numbers within a run.


def bad_after(end, what):
    """A ball whose force or gap is no number from a time on."""
    b, z, v = builder()
    b.kinetic(v**2 / 2)
    b.potential(9.81 * z)
    root = ca.sqrt(end - b.time)
    b.force(root if what == "force" else 0.0, along=z)
    b.gap("floor", z + (root if what == "gap" else 0.0))
    return b.build()


@every_law
@pytest.mark.parametrize(("what", "named"), [("force", "z_dot"), ("gap", "gap_floor")])
def test_what_stops_being_a_number_ends_the_run_and_is_named(what, named, law):
    result = simulate(bad_after(0.2, what), law, until=0.5)
    assert not result.ok
    assert f"s the motion stopped being finite in {named}" in result.reason
    assert result.t[-1] == pytest.approx(0.2, abs=2e-3)
    assert result["z"].min() > 0.7  # nothing falls on without its gap


# Measurements.


class Reader:
    """A controller that reads one signal, from a tick on."""

    period = 0.01

    def __init__(self, name, after=-1.0):
        self.name, self.after = name, after

    def reset(self, measurement):
        self.known = hasattr(measurement, self.name)

    def step(self, t, measurement):
        return 0.0 if t <= self.after else getattr(measurement, self.name)


def sensed():
    b, z, v = builder()
    b.kinetic(v**2 / 2)
    b.force(b.input("push", "N"), along=z)
    b.output("tip", z)
    return b.build()


def test_an_unknown_measurement_says_what_is_measured():
    text = (
        r"measurement of model 'ball': expected a known signal, got 'y'\. Known: tip, z, z_dot\. "
        r"Outputs, coordinates and velocities are measured: add output\(\.\.\.\)"
    )
    reader = Reader("y")
    refused(InputError, text, simulate, sensed(), until=0.1, controller=reader)
    assert not reader.known
    refused(InputError, r"got 'tipp'\. Did you mean 'tip'\?", simulate, sensed(), until=0.1, controller=Reader("tipp"))


def test_an_unknown_measurement_within_a_run_ends_it():
    result = simulate(sensed(), until=0.1, controller=Reader("y", after=0.045))
    assert not result.ok
    assert (
        "controller Reader gave up at t = 0.05 s: measurement of model 'ball': expected a known signal" in result.reason
    )
    assert simulate(sensed(), until=0.1, controller=Reader("tip")).ok


@every_law
def test_an_unknown_measurement_of_a_scene_says_what_is_measured(law):
    scene = lift(lambda t, u: (u, 0, 0), inputs=["u"])
    text = r"measurement of scene 'lift': expected a known signal, got 'ball_zz'\. Did you mean 'ball_z'"
    refused(InputError, text, simulate, scene, law, until=0.1, controller=Reader("ball_zz"))


# Laws.


def lost(chosen):
    """A law that decides for a mode of a number when a gap falls through zero."""

    @entry
    def decide(mode: int, gap: float, rate: float, force: float, gains: Vector, fired: int) -> int:
        return int(gains[0]) if gap <= 0.0 else 0

    @dataclass(frozen=True)
    class Lost:
        name: ClassVar[str] = "lost"
        modes: ClassVar[tuple[str, ...]] = ("Free", "Contact")
        closed: ClassVar[tuple[bool, ...]] = (False, True)
        prescribe, slope, guard = KelvinVoigt.prescribe, KelvinVoigt.slope, KelvinVoigt.guard

        @property
        def gains(self):
            return (float(chosen), 1.0, 0.0, 0.0)

    Lost.decide = decide
    return Lost()


@pytest.mark.parametrize("chosen", [2, 3, 1000000, -1, -7])
@pytest.mark.parametrize("kind", ["plain", "friction", "edge"])
def test_a_mode_that_a_law_does_not_have_ends_the_run_and_names_the_law(chosen, kind):
    b, z, v = builder()
    x, w = b.coordinate("x")
    b.kinetic(v**2 / 2 + w**2 / 2)
    b.potential(9.81 * z)
    more = {"friction": {"slip": x, "friction": 0.5}, "edge": {"extent": 1 + x}}.get(kind, {})
    b.gap("floor", z, **more)
    b.gap("wall", x + 3)
    result = simulate(b.build(), {"floor": lost(chosen), "wall": Baumgarte()}, until=1.0)
    assert not result.ok
    assert (
        "law 'lost' of contact floor decided for a mode that it does not have: let its 'decide' return 0 … 1 (Free, "
        "Contact)" in result.reason
    )
    assert result.t[-1] == pytest.approx(math.sqrt(2 / 9.81), abs=1e-6)
    start = simulate(b.build(), {"floor": lost(chosen), "wall": Baumgarte()}, until=1.0, start={"z": 0.0})
    assert "at t = 0 s law 'lost' of contact floor decided" in start.reason


@pytest.mark.parametrize("closed", [(), (False, True, True), (False, False)], ids=str)
def test_a_law_says_of_each_mode_whether_it_is_closed(closed):
    law = lost(1)
    type(law).closed = closed
    text = r"law 'lost': expected as many entries in closed as in modes, at least one of them True, got modes .*\. Say"
    refused(InputError, text, simulate, robots.ball(), law, until=0.1)


# Models are values.


def test_a_model_that_was_pickled_moves_as_the_one_it_was():
    model = robots.delta()
    again = pickle.loads(pickle.dumps(model))
    state = np.random.default_rng(5).normal(size=(2, len(model.coordinates)))
    here, there = model.terms(*state), again.terms(*state)
    assert all(np.array_equal(here[name], there[name]) for name in here)
    assert str(again) == str(model)
    runs = [simulate(x, Baumgarte(), until=1.0) for x in (robots.ball(), copy.deepcopy(robots.ball()))]
    assert np.array_equal(runs[0]["q"], runs[1]["q"])


def test_all_that_is_public_is_listed():
    assert set(impinge.__all__) <= set(dir(impinge))
