"""Rest states: closed forms, the simulator that leaves them where they are, and what is said where nothing rests."""

from __future__ import annotations

import functools
import re

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mechanisms
import models
from impinge import (
    Baumgarte,
    Equilibrium,
    InputError,
    ModelBuilder,
    Point,
    StartError,
    equilibrium,
    linearize,
    robots,
    simulate,
)
from impinge.robots.maze import RINGS

G, BALL = 9.81, 6.35e-3
LEGS = ("leg0", "leg1", "leg2", "leg3")


def says(*parts: str) -> str:
    """A pattern that finds these parts in this order."""
    return ".*".join(re.escape(part) for part in parts)


def runs(model, rest, pose):
    named = dict(zip(rest.pose, pose, strict=True))
    run = simulate(model, Baumgarte(), until=1.0, start=named, inputs=rest.inputs, parameters=rest.parameters)
    assert run.ok
    return run


def stays(model, rest, mode):
    """The model, started where it should rest, is there for a second, and the mode holds with the same forces.

    A gap may be left open by as much as the equilibrium tolerates, 1e-12 m, and a fall through that, with a push
    meanwhile, is seen as some micrometres; started that much below instead, nothing moves.
    """
    run = runs(model, rest, rest.q)
    for name, x in rest.pose.items():
        assert np.abs(run[name] - x).max() < 1e-5, name
    J = model.terms(rest.q, rest.v, 0.0, rest.u, rest.parameters)["J"][[model.contacts.index(c) for c in mode]]
    run = runs(model, rest, rest.q - np.linalg.pinv(J) @ np.full(len(J), 2e-12))
    for name, x in rest.pose.items():
        assert np.abs(run[name] - x).max() < 1e-8, name
    for contact in model.contacts:
        assert (run.is_closed(contact)[1:] == (contact in mode)).all(), contact
    for name, force in rest.forces.items():
        assert np.abs(run[name][1:] - force).max() < 1e-7 * max(1.0, abs(force)), name


def at_rest(model, rest):
    """The accelerations that the simulator finds there, by coordinate, in units of the largest it would have free."""
    linear = linearize(model, rest, rest.mode, form="stabilized")
    assert linear.mode == rest.mode
    v = np.zeros(len(model.coordinates))
    terms = model.terms(rest.q, v, rest.time, rest.u, rest.parameters)
    forces = np.zeros(len(terms["h"]) + len(terms["gap"]) + len(terms["slip"]))
    names = [f"force_{x.name}" for x in (*model.constraints, *model.gaps)] + [f"friction_{s}" for _, s in model.slips]
    for k, name in enumerate(names):
        forces[k] = rest.forces.get(name, 0.0)
    A = np.vstack([terms["H"], terms["J"], terms["T"]])
    left = terms["B"] @ rest.u - terms["b"] + A.T @ forces
    size = np.abs(terms["b"]) + np.abs(terms["B"]) @ np.abs(rest.u) + np.abs(A).T @ np.abs(forces)
    return bool((np.abs(left) <= 1e-8 * (size.max() + 1e-12)).all())


# Closed forms.


def test_every_leg_of_a_table_carries_a_quarter_of_it():
    rest = equilibrium(models.table(), LEGS, {"z": 0.2, "pitch": 0.1, "roll": -0.05})
    assert rest.forces == pytest.approx({f"force_{leg}": models.TABLE_WEIGHT / 4 for leg in LEGS}, rel=1e-9)
    assert list(rest.pose.values()) == pytest.approx([0, 0, 0], abs=1e-12)
    assert list(rest.gaps.values()) == pytest.approx([0, 0, 0, 0], abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(push=st.floats(0, 9), m=st.floats(1, 5), x=st.floats(-0.5, 0.5), tilt=st.floats(-0.3, 0.3))
def test_a_block_pushed_against_a_wall_leans_on_its_front_corner(push, m, x, tilt):
    mode = ("left", "right", "wall")
    given = {"push": push, "press": 0.0}
    assume(push < 0.9 * m * G)
    rest = equilibrium(mechanisms.block(), mode, {"x": x, "angle": tilt}, inputs=given, parameters={"m": m})
    assert rest.pose == pytest.approx({"x": 0.8, "z": 0.1, "angle": 0.0}, abs=1e-9)
    # The push at the top and the wall at the bottom turn it forward with 2 h push, over corners 2 a apart.
    share = push * 0.1 / 0.2
    expected = {"force_left": m * G / 2 - share, "force_right": m * G / 2 + share, "force_wall": push}
    assert rest.forces == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert at_rest(mechanisms.block(), rest)


@settings(max_examples=15, deadline=None)
@given(push=st.floats(-9, 9))
def test_a_block_that_sticks_holds_a_push_with_the_smallest_friction(push):
    rest = equilibrium(mechanisms.block(sticking=True), ("left", "right"), inputs={"push": push, "press": 0.0})
    frictions = [rest.forces["friction_left"], rest.forces["friction_right"]]
    assert frictions == pytest.approx([-push / 2, -push / 2], rel=1e-9, abs=1e-9)
    assert rest.forces["force_left"] + rest.forces["force_right"] == pytest.approx(2.0 * G, rel=1e-9)
    assert rest.forces["force_right"] - rest.forces["force_left"] == pytest.approx(push, rel=1e-9, abs=1e-9)


def test_a_block_on_one_corner_rests_with_its_center_above_it():
    free = {"push": 0.0, "press": 0.0}
    rest = equilibrium(mechanisms.block(sticking=True), ["right"], {"angle": -1.0, "z": 0.2}, inputs=free)
    assert rest.pose["angle"] == pytest.approx(-np.arctan2(0.2, 0.1), abs=1e-8)
    assert rest.forces == pytest.approx({"force_right": 2 * G, "friction_right": 0.0}, abs=1e-7)


def test_a_beam_rests_on_the_smallest_forces_that_carry_it():
    given = {"push": 0.0, "press": 3.0}
    mode = ["left", "right", "roller"]
    rest = equilibrium(mechanisms.beam(), mode, {"s": 0.3, "z": 0.1}, inputs=given, parameters={"e": 0.02})
    assert list(rest.forces.values()) == pytest.approx(mechanisms.beam_forces(0.3, e=0.02, press=3.0), rel=1e-9)
    assert rest.pose["s"] == pytest.approx(0.3, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(crank=st.floats(-3, 3), load=st.floats(-10, 10))
def test_the_torque_that_holds_a_four_bar_is_that_of_virtual_work(crank, load):
    model = mechanisms.four_bar()
    rest = equilibrium(model, near=mechanisms.four_bar_pose(crank), inputs={"load": load})
    assert rest.pose == pytest.approx(mechanisms.four_bar_pose(crank), abs=1e-9)

    def energy(angle):
        pose = mechanisms.four_bar_pose(angle)
        l1, l2, l3, m1, m2, m3 = (mechanisms.FOUR_BAR[name] for name in ("l1", "l2", "l3", "m1", "m2", "m3"))
        pin = l1 * np.sin(angle)
        heights = pin / 2, pin + l2 / 2 * np.sin(pose["coupler"]), l3 / 2 * np.sin(pose["rocker"])
        return G * np.dot([m1, m2, m3], heights) - load * np.unwrap([rest.pose["rocker"], pose["rocker"]])[1]

    h = 1e-4
    slope = (8 * (energy(crank + h) - energy(crank - h)) - energy(crank + 2 * h) + energy(crank - 2 * h)) / (12 * h)
    assert rest.inputs == pytest.approx({"torque": slope, "load": load}, rel=1e-6, abs=1e-6)
    assert at_rest(model, rest)


def test_without_torque_a_four_bar_rests_where_its_energy_is_stationary():
    rest = equilibrium(mechanisms.four_bar(), near=mechanisms.four_bar_pose(1.0), inputs={"load": 0.0, "torque": 0.0})
    torque = equilibrium(mechanisms.four_bar(), near=rest.pose, inputs={"load": 0.0}).inputs["torque"]
    assert torque == pytest.approx(0.0, abs=1e-6)
    assert at_rest(mechanisms.four_bar(), rest)


def test_a_redundant_chain_rests_with_its_torque():
    rest = equilibrium(mechanisms.coupled_cranks(), near=mechanisms.coupled_cranks_pose(0.8))
    # The rod moves on a circle without turning: its weight and that at its end rise as r sin.
    assert rest.inputs["torque"] == pytest.approx((3.0 + 0.4) * G * 0.3 * np.cos(0.8), rel=1e-9)
    assert rest.pose == pytest.approx(mechanisms.coupled_cranks_pose(0.8), abs=1e-9)
    assert at_rest(mechanisms.coupled_cranks(), rest)


@settings(max_examples=20, deadline=None)
@given(u=st.floats(-20, 20), l=st.floats(0.2, 3))
def test_a_bead_on_a_hoop_hangs_along_the_sum_of_weight_and_push(u, l):  # noqa: E741
    rest = equilibrium(mechanisms.hoop(), near={"z": -l, "x": 0.0}, inputs={"u": u}, parameters={"l": l})
    size = np.hypot(u, G)
    assert rest.pose == pytest.approx({"x": l * u / size, "z": -l * G / size}, abs=1e-8 * l)
    assert rest.forces["force_circle"] == pytest.approx(-size, rel=1e-8)


@settings(max_examples=20, deadline=None)
@given(angle=st.floats(-1.2, 1.2))
def test_a_free_input_holds_a_bead_where_it_is(angle):
    rest = equilibrium(mechanisms.hoop(), near={"x": np.sin(angle), "z": -np.cos(angle)})
    assert rest.pose == pytest.approx({"x": np.sin(angle), "z": -np.cos(angle)}, abs=1e-9)
    assert rest.inputs["u"] == pytest.approx(G * np.tan(angle), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("ring", [1, 2, 3, 4])
def test_the_ball_rests_on_top_of_each_ring_with_its_weight(ring):
    near = {"q1": 0.3 if ring % 2 else 1.3, "q2": 0.004, "q3": RINGS[ring - 1] + BALL + 0.002}
    rest = equilibrium(mechanisms.maze(), [f"ring{ring}"], near)
    assert rest.pose["q2"] == pytest.approx(0.0, abs=1e-9)
    assert rest.pose["q3"] == pytest.approx(RINGS[ring - 1] + BALL, abs=1e-10)
    assert rest.inputs["torque"] == pytest.approx(0.0, abs=1e-9)
    expected = {f"force_ring{ring}": 8.4e-3 * G, f"friction_ring{ring}": 0.0}
    assert rest.forces == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_ball_rests_at_the_bottom_of_the_center():
    rest = equilibrium(mechanisms.maze(), ["center"], {"q2": 0.003, "q3": -0.012})
    assert rest.pose["q3"] == pytest.approx(-(RINGS[-1] - 2e-3 - BALL), abs=1e-10)
    assert rest.forces["force_center"] == pytest.approx(8.4e-3 * G, rel=1e-9)


def test_a_track_is_level_where_a_bead_rests():
    rest = equilibrium(mechanisms.track(), ["floor"], {"x": 0.3, "z": 1.0}, inputs={"u": 2.0})
    x = rest.pose["x"]
    assert G * (1.5 * x - 0.6 * x**2) == pytest.approx(2.0, rel=1e-8)
    assert rest.pose["z"] == pytest.approx(0.75 * x**2 - 0.2 * x**3, abs=1e-12)


@pytest.mark.parametrize("near", [0.0, 0.1, 1.0, 1.4, 1.5, -1.4])
def test_a_pendulum_that_hangs_down_rests_there(near):
    rest = equilibrium(models.pendulum(), near={"q": near})
    assert np.sin(rest.pose["q"]) == pytest.approx(0.0, abs=1e-9)
    assert abs(rest.pose["q"] - near) <= np.pi / 2 + 0.2  # one of the two rest states beside it


@pytest.mark.parametrize("near", [1.7, 2.0, 3.0, 3.1, np.pi, 4.0])
def test_a_pendulum_that_stands_rests_there_too(near):
    rest = equilibrium(models.pendulum(), near={"q": near})
    assert np.sin(rest.pose["q"]) == pytest.approx(0.0, abs=1e-9)
    assert abs(rest.pose["q"] - near) <= np.pi / 2 + 0.2


@pytest.mark.parametrize(("m", "k", "M"), [(1e-3, 1.0, 1e3), (1e-6, 1e-3, 1e3), (1e-3, 1e-3, 1e3)])
def test_a_light_weight_beside_a_heavy_one_hangs_where_its_spring_holds_it(m, k, M):
    rest = equilibrium(mechanisms.weighted(k), ["floor"], parameters={"M": M, "m": m})
    assert rest.pose["hung"] == pytest.approx(-m * G / k, rel=1e-6)
    assert rest.forces["force_floor"] == pytest.approx(M * G, rel=1e-9)


@pytest.mark.parametrize("mode", [("left", "right"), ("left", "right", "wall")])
def test_what_rests_without_inputs_is_left_without(mode):
    rest = equilibrium(mechanisms.block(), mode, {"x": 0.3})
    assert rest.inputs == pytest.approx({"push": 0.0, "press": 0.0}, abs=1e-6)


def test_inputs_change_no_more_than_they_must():
    near = {"x": 0.3, "z": 0.1, "push": 1.0, "press": 2.0}
    rest = equilibrium(mechanisms.block(), ("left", "right", "wall"), {**near, "x": 0.8})
    assert rest.inputs == pytest.approx({"push": 1.0, "press": 2.0}, abs=1e-6)


def test_an_instant_may_be_chosen_at_which_the_floor_turns_back():
    time = np.pi / 2 / 7.0
    rest = equilibrium(mechanisms.track(), ["floor"], inputs={"u": 0.0}, parameters={"f": 0.02}, time=time)
    assert (rest.time, rest.pose["z"]) == (time, pytest.approx(0.02, abs=1e-12))
    assert rest.forces["force_floor"] == pytest.approx(G - 0.02 * 49, rel=1e-9)


def test_a_floor_that_moves_on_is_no_place_to_rest():
    with pytest.raises(StartError, match=says("gap_floor_dot zero", "0.14 m/s")):
        equilibrium(mechanisms.track(), ["floor"], inputs={"u": 0.0}, parameters={"f": 0.02})


# What it returns.


def test_an_equilibrium_is_a_point_with_names():
    rest = equilibrium(mechanisms.four_bar(), near=mechanisms.four_bar_pose(1.0), parameters={"m1": 2.0})
    assert isinstance(rest, Equilibrium)
    assert isinstance(rest, Point)
    assert (rest.model, rest.mode, dict(rest.parameters)) == ("four_bar", (), {"m1": 2.0})
    assert np.array_equal(rest.q, list(rest.pose.values()))
    assert np.array_equal(rest.u, list(rest.inputs.values()))
    assert not rest.v.any()
    assert list(rest.forces) == ["force_loop_x", "force_loop_y"]
    text = str(rest)
    assert text.startswith("four_bar at rest, no contact closed")
    assert all(name in text for name in ("crank", "torque", "force_loop_y"))


def test_gaps_of_open_contacts_are_told_too():
    rest = equilibrium(mechanisms.block(), ["left", "right"], {"x": 0.3}, inputs={"push": 0.0, "press": 0.0})
    assert rest.gaps == pytest.approx({"left": 0.0, "right": 0.0, "wall": 0.5}, abs=1e-9)
    assert list(rest.forces) == ["force_left", "force_right"]


def test_it_is_a_point_to_linearize_at():
    rest = equilibrium(robots.maze(), ["ring1"], {"q1": 0.3, "q3": 0.09})
    assert linearize(robots.maze(), rest, rest.mode).poles().real.max() == pytest.approx(8.954, abs=1e-3)


# The simulator leaves it where it is.


@settings(max_examples=10, deadline=None)
@given(z=st.floats(0, 0.5), pitch=st.floats(-0.2, 0.2), roll=st.floats(-0.2, 0.2))
def test_a_table_at_rest_stays_at_rest(z, pitch, roll):
    rest = equilibrium(models.table(), LEGS, {"z": z, "pitch": pitch, "roll": roll})
    stays(models.table(), rest, LEGS)


@settings(max_examples=10, deadline=None)
@given(push=st.floats(0.1, 9), press=st.floats(0, 20), m=st.floats(1, 5), sticking=st.booleans())
def test_a_block_at_rest_against_a_wall_stays_at_rest(push, press, m, sticking):
    assume(push < 0.9 * m * G)
    model = mechanisms.block(sticking)
    given, mode = {"push": push, "press": press}, ("left", "right", "wall")
    rest = equilibrium(model, mode, {"x": 0.7}, inputs=given, parameters={"m": m})
    stays(model, rest, mode)


@settings(max_examples=10, deadline=None)
@given(s=st.floats(-0.4, 0.4), press=st.floats(0, 20))
def test_a_beam_at_rest_on_three_supports_stays_at_rest(s, press):
    mode = ("left", "right", "roller")
    rest = equilibrium(mechanisms.beam(), mode, {"s": s}, inputs={"push": 0.0, "press": press})
    stays(mechanisms.beam(), rest, mode)


@settings(max_examples=5, deadline=None)
@given(u=st.floats(-4, 4))
def test_a_bead_at_rest_on_a_hoop_or_a_track_stays_at_rest(u):
    hoop = equilibrium(mechanisms.hoop(), near={"z": -1.0}, inputs={"u": u})
    stays(mechanisms.hoop(), hoop, ())
    track = equilibrium(mechanisms.track(), ["floor"], inputs={"u": u}, parameters={"c": 1.0})
    stays(mechanisms.track(), track, ("floor",))


@pytest.mark.parametrize(
    ("z", "u"),
    [
        ("0x1.999999999999dp-4", -1.5726007433127975),
        ("0x1.999999999999bp-4", -16.2882861599933),
        ("0x1.99999999999a1p-4", -10.829224404981835),
    ],
)
def test_who_starts_a_rounding_error_above_the_floor_does_not_fall_through_it(z, u):
    floor = models.pulled_ball(floor=0.1)
    run = simulate(floor, Baumgarte(), until=0.01, start={"z": float.fromhex(z)}, inputs={"u": u})
    assert 0 < run["gap_floor"][0] < 1e-16
    assert run.events[0].time < 1e-7
    assert run["gap_floor"].min() > -1e-7


# Where nothing rests.


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: equilibrium(models.table(), ["leg9"]),
            ("equilibrium of model 'table'", "a known contact of the mode", "'leg9'", "Did you mean"),
        ),
        (lambda: equilibrium(models.cart(), ["floor"]), ("no contact of the mode", "'floor'", "leave it out")),
        (lambda: equilibrium(models.cart(), near={"y": 1.0}), ("coordinate or input", "'y'")),
        (lambda: equilibrium(models.cart(), near={"x": float("nan")}), ("'x' of model 'cart'", "a finite number")),
        (lambda: equilibrium(models.cart(), inputs={"push": 1.0}), ("'push'",)),
        (lambda: equilibrium(models.cart(), inputs={"x": 1.0}), ("input", "'x'")),
        (lambda: equilibrium(models.cart(), parameters={"k": 1.0}), ("no parameter", "'k'")),
    ],
)
def test_a_name_or_number_that_means_nothing_is_named(make, parts):
    with pytest.raises(InputError, match=says(*parts)):
        make()


NO_HELP = {"push": 0.0, "press": 0.0}


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: equilibrium(robots.ball()),
            ("equilibrium of model 'ball'", "forces along 'q' in balance", "9.81 left over", "Nothing holds it there"),
        ),
        (lambda: equilibrium(models.cart(), inputs={"u": 1.0}), ("forces along 'x' in balance", "-1 left over")),
        (
            lambda: equilibrium(mechanisms.block(), ["left", "right"], inputs={"push": 5.0, "press": 0.0}),
            ("forces along 'x' in balance", "left over", "close another contact"),
        ),
        (
            lambda: equilibrium(mechanisms.block(), ["left", "right"], inputs={"push": 0.0, "press": -30.0}),
            ("contact 'left' to push", "force -5.19 N: the mode cannot hold there"),
        ),
        (
            lambda: equilibrium(mechanisms.block(), ["left", "right", "wall"], inputs={"push": -5.0, "press": 0.0}),
            ("contact 'wall' to push", "force -5 N"),
        ),
        (
            lambda: equilibrium(mechanisms.block(), ["left", "right"], {"x": 1.5}, inputs=NO_HELP),
            ("gap 'wall', which the mode has open, of zero or more", "-0.7 m"),
        ),
        (
            lambda: equilibrium(robots.maze(), ["ring2"], {"q1": -0.05, "q3": RINGS[1] + BALL}),
            ("equilibrium of model 'maze'", "a surface under contact 'ring2' (extent above zero)", "extent -0.0"),
        ),
        (
            lambda: equilibrium(robots.maze(), ["ring1", "ring2"], {"q1": 0.3, "q3": 0.08}),
            ("gap_ring1 to be zero", "m at best", "check the mode, or start nearer with `near`"),
        ),
        (
            lambda: equilibrium(mechanisms.four_bar(), near=mechanisms.four_bar_pose(1.0), parameters={"l0": 9.0}),
            ("equilibrium of model 'four_bar'", "residual_loop_x to be zero", "m at best", "It cannot be met"),
        ),
        (
            lambda: equilibrium(models.stack(2), ["c0"], {"z0": 0.0, "z1": 0.5}, inputs={"u0": 0.0, "u1": 0.0}),
            ("forces along 'z1' in balance", "9.81 left over"),
        ),
    ],
)
def test_where_nothing_rests_it_is_said_what_is_missing(make, parts):
    with pytest.raises(StartError, match=says(*parts)):
        make()


# The nearest rest state is the nearest.


@functools.cache
def on_curve(rough: bool):
    """A bead on a curve, held by an input along x or by friction."""
    b = ModelBuilder("rough_curve" if rough else "curve")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(G * z)
    height = sum(b.parameter(f"c{k}", 0.1 * k) * x**k for k in range(5))
    if rough:
        b.gap("floor", z - height, slip=x, friction=b.parameter("mu", 0.3))
    else:
        b.force(b.input("u"), along=x)
        b.gap("floor", z - height)
    return b.build()


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6, 7])  # within a meter, or nowhere
def test_of_all_places_on_a_curve_where_a_bead_can_rest_it_rests_at_the_nearest(rough, seed):
    rng = np.random.default_rng(seed)
    c, x0, mu = rng.normal(size=5) * [0.3, 0.4, 0.4, 0.1, 0.05], rng.normal() * 0.5, 0.2 if rough else np.inf
    z0 = np.polyval(c[::-1], x0) + rng.normal() * 0.2
    x = np.linspace(x0 - 3, x0 + 3, 600001)
    rests = np.abs(np.polyval(np.polyder(c[::-1]), x)) <= mu
    away = np.hypot(x - x0, np.polyval(c[::-1], x) - z0)
    parameters = {f"c{k}": c[k] for k in range(5)} | ({"mu": mu} if rough else {})
    arguments = on_curve(rough), ["floor"], {"x": x0, "z": z0}
    if not rests.any():
        with pytest.raises(StartError, match="contact 'floor' to stick"):
            equilibrium(*arguments, parameters=parameters)
        return
    rest = equilibrium(*arguments, parameters=parameters)
    assert np.hypot(rest.pose["x"] - x0, rest.pose["z"] - z0) <= away[rests].min() + 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_a_pendulum_of_two_links_with_one_motor_goes_to_the_nearest_line_of_rest(seed):
    b = ModelBuilder("two_links")
    (a, va), (c, vc) = b.coordinate("a", unit="rad"), b.coordinate("c", unit="rad")
    b.kinetic(va**2 + (va + vc) ** 2 / 2)
    b.potential(-G * (ca.cos(a) + 0.5 * ca.cos(a + c)))
    b.force(b.input("torque"), along=a)
    start = np.random.default_rng(seed).uniform(-3, 3, 2)
    rest = equilibrium(b.build(), near={"a": start[0], "c": start[1]})
    nearest = np.abs(start.sum() - np.pi * np.arange(-4, 5)).min() / np.sqrt(2)  # the second link hangs or stands
    assert np.linalg.norm(rest.q - start) == pytest.approx(nearest, abs=1e-8)
