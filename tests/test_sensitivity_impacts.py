"""Derivatives of trajectories through impacts and through sliding: finite differences and closed forms."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest

from differences import EXACT, FINEST, assert_is_the_derivative, difference, states
from friction_models import conveyor, feet, incline, puck, rod, sliding_four_bar, thrown, vise
from impinge import (
    Baumgarte,
    HuntCrossley,
    Impact,
    ImpingeError,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    robots,
    sensitivity,
)
from mechanisms import block, four_bar_pose
from models import balls, bead_pendulum, pendulum, shaker, stack

G = 9.81
SOFT = Baumgarte(a0=100, a1=20, a2=1e6)
SPRING = KelvinVoigt(stiffness=1e4, damping=50)
HERTZ = HuntCrossley(stiffness=1e5, restitution=0.4)


def history(found):
    return [(event.before, event.after) for event in found.result.events]


@functools.cache
def four_bar_at_wall():
    """A four-bar linkage whose rocker swings against a stop; a ball hangs on its coupler by a pin."""
    b = ModelBuilder("four_bar_at_wall")
    (crank, w1), (coupler, w2), (rocker, w3) = (b.coordinate(n, unit="rad") for n in ("crank", "coupler", "rocker"))
    ball, w4 = b.coordinate("ball", unit="rad")
    q, v = ca.vertcat(crank, coupler, rocker, ball), ca.vertcat(w1, w2, w3, w4)
    l0, l1, l2, l3 = 1.0, 0.4, 0.9, 0.8
    m = b.parameter("m", 1.0, "kg")

    def along(angle):
        return ca.vertcat(ca.cos(angle), ca.sin(angle))

    pin, ground = l1 * along(crank), ca.vertcat(l0, 0)
    middle = pin + l2 / 2 * along(coupler)
    hung = middle + 0.3 * along(ball)
    for mass, place, speed in ((1.0, pin / 2, w1), (2.0, middle, w2), (1.5, ground + l3 / 2 * along(rocker), w3)):
        b.kinetic(mass * ca.sumsqr(ca.jtimes(place, q, v)) / 2 + 0.05 * speed**2 / 2)
        b.potential(mass * G * place[1])
    b.kinetic(m * ca.sumsqr(ca.jtimes(hung, q, v)) / 2)
    b.potential(m * G * hung[1])
    b.force(b.input("torque", "N·m"), along=crank)
    loop = pin + l2 * along(coupler) - ground - l3 * along(rocker)
    b.constraint("loop_x", loop[0])
    b.constraint("loop_y", loop[1])
    b.gap("wall", b.parameter("wall", 0.81, "m") - hung[0])
    return b.build()


# Impacts.


def test_a_ball_that_bounces_four_times_follows_its_start_and_its_gravity():
    found = assert_is_the_derivative(robots.ball(), Impact(0.7), 2.0, ["q", "q_dot", "g", "m"], step=1e-5)
    assert history(found) == 4 * [("Free", "Free")]
    np.testing.assert_allclose(found.matrix[:, 3], 0.0, atol=1e-12)


def test_the_saltation_of_a_bounce_is_its_closed_form():
    """δq⁺ = −e δq⁻ and δv⁺ = −e δv⁻ + (1 + e) g/v⁻ δq⁻: the instant moves by −δq⁻/v⁻."""
    e, speed = 0.6, -math.sqrt(2 * G)
    found = sensitivity(robots.ball(), Impact(e), until=0.6, method=EXACT)
    ((time, contacts, S),) = found.saltations
    assert (time, contacts) == (pytest.approx(math.sqrt(2 / G), abs=1e-12), ("floor",))
    # The velocity behind the instant as it was: R(δx + f⁻ δt) − f⁺ δt with f = (v, −g).
    np.testing.assert_allclose(S, [[-e, 0.0], [-(1 + e) * G / speed, -e]], rtol=1e-9, atol=1e-12)
    assert np.linalg.det(S) == pytest.approx(e**2, rel=1e-9)


def test_areas_shrink_by_the_square_of_the_restitution_with_every_bounce():
    found = sensitivity(robots.ball(), Impact(0.7), until=2.0, method=EXACT)
    assert np.linalg.det(found.matrix) == pytest.approx(0.7**8, rel=1e-9)


def test_a_ball_on_a_shaking_table_follows_the_table():
    by = ["z", "z_dot", "A", "w", "f", "g"]
    found = assert_is_the_derivative(shaker(), Impact(0.5), 1.0, by, step=1e-6)
    assert len(found.saltations) == 3


def test_a_pendulum_that_bounces_off_a_wall():
    assert len(assert_is_the_derivative(pendulum(wall=True), Impact(0.8), 3.0, step=1e-5).saltations) == 2


def test_balls_that_land_together_without_touching_each_other_have_a_derivative():
    found = assert_is_the_derivative(balls(2), Impact(0.7), 1.5, step=1e-5)
    assert found.saltations[0][1] == ("floor0", "floor1")
    assert np.isfinite(found.saltations[0][2]).all()


def test_a_collision_of_two_balls_follows_their_masses():
    start = {"z0": 0.2, "z0_dot": 2.0, "z1": 0.5, "z1_dot": -1.0}
    by = [*states(stack(2)), "g", "m0", "m1", "u0", "u1"]
    found = assert_is_the_derivative(stack(2), Impact(0.6), 0.45, by, step=1e-5, start=start)
    assert found.saltations[0][1] == ("c1",)


def test_a_ball_that_lands_on_one_that_lies_presses_it_into_the_floor():
    by = ["z1", "z1_dot", "g", "m0", "m1", "u0", "u1"]
    start = {"z0": 0.0, "z1": 0.4, "z1_dot": -1.0}
    found = assert_is_the_derivative(stack(2), Impact(0.6), 0.5, by, step=1e-5, start=start)
    assert found.saltations[0][1] == ("c0", "c1")


def test_a_ball_that_is_struck_from_above_and_below_at_once_has_no_derivative():
    """A ball lands on the floor as another lands on it: which is first decides."""
    both = {"z0": 0.2, "z1": 0.3 + math.sqrt(0.4 / G), "z1_dot": -1.0}
    with pytest.raises(
        InputError, match=r"guards that fall one after another, got those of c0, c1 at once, at t = 0\."
    ):
        sensitivity(stack(2), Impact(0.5), until=0.3, start=both)


def test_a_chain_and_a_bead_on_a_wire_that_strike_wall_and_floor():
    found = assert_is_the_derivative(bead_pendulum(), Impact(0.0), 0.6, ["F", "c"], step=1e-5)
    assert len(found.saltations) >= 1


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_ball_that_hangs_on_a_closed_chain_and_strikes_a_wall(e):
    start = {"crank": 1.0, "ball": -0.9, "ball_dot": 2.0}
    found = assert_is_the_derivative(
        four_bar_at_wall(),
        Impact(e),
        0.45,
        ["ball", "ball_dot", "m", "wall", "torque"],
        step=1e-5,
        start=start | four_bar_pose(1.0),
    )
    assert found.saltations[0][1] == ("wall",)


def test_a_block_that_lands_on_a_corner_which_sticks_and_rocks():
    options = {"start": {"z": 0.3, "angle": 0.3}}
    by = [*states(block(True)), "push", "m", "a", "h"]
    found = assert_is_the_derivative(block(True), Impact(0.0), 0.3, by, step=1e-5, **options)
    assert history(found) == [("Free", "Contact"), ("Contact", "Contact"), ("Free", "Contact")]


def test_bounces_that_accumulate_have_no_derivative():
    text = r"expected bounces one by one, got those of contact 'floor' accumulating at t = 1\.35\d* s, where it comes"
    with pytest.raises(ImpingeError, match=text):
        sensitivity(robots.ball(), Impact(0.5), until=2.0)


def test_what_rests_on_a_rigid_floor_stays_there_however_its_start_varies():
    found = sensitivity(robots.ball(), Impact(0.5), until=1.0, start={"q": 0.0}, by=["q", "q_dot", "g"])
    np.testing.assert_array_equal(found.matrix, 0.0)


# Sliding.

LAWS = [SOFT, Impact(0.0), SPRING, HERTZ]


def differences_of(law):
    """Stiff runs are less exact: their differences need finer ones."""
    return {"step": 3e-5, "runs": FINEST} if law in (SPRING, HERTZ) else {"step": 1e-5}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_point_that_lands_sliding_follows_its_friction(law):
    by = [*states(thrown()), "m", "mu"]
    found = assert_is_the_derivative(thrown(), law, 0.4, by, **differences_of(law), start={"z": 0.1, "x_dot": 3.0})
    assert history(found)[0] == ("Free", "Sliding")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_point_that_lands_sliding_and_stops(law):
    by = [*states(thrown()), "m", "mu"]
    found = assert_is_the_derivative(thrown(), law, 0.7, by, **differences_of(law), start={"z": 0.1, "x_dot": 1.0})
    assert ("Sliding", "Contact") in history(found)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_block_that_is_drawn_until_it_slides(law):
    by = ["F", "k", "mu", "m"]
    found = assert_is_the_derivative(incline(), law, 1.5, by, step=1e-5, parameters={"k": 3.0})
    assert ("Contact", "Sliding") in history(found)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_block_that_is_shaken_reverses(law):
    by = ["F", "A", "w", "mu", "m"]
    found = assert_is_the_derivative(
        incline(), law, 2.0, by, **differences_of(law), parameters={"A": 12.0, "w": 5.0, "th": 0.0}
    )
    if law in (SOFT, LAWS[1]):
        assert history(found) == [("Contact", "Sliding"), ("Sliding", "Sliding"), ("Sliding", "Sliding")]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_puck_that_slides_in_a_curve_on_a_slope(law):
    by = ["x_dot", "y_dot", "fx", "fy", "mu", "m"]
    options = {"start": {"x_dot": 1.5, "y_dot": 0.7}, "parameters": {"th": 0.2, "mu": 0.4}}
    assert_is_the_derivative(puck(), law, 0.6, by, step=1e-5, **options)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_puck_that_lands_sliding_in_a_plane_and_stops(law):
    by = [*states(puck()), "fx", "fy", "mu", "m"]
    options = {"start": {"z": 0.1, "x_dot": 1.5, "y_dot": 0.7}, "parameters": {"th": 0.1, "mu": 0.4}}
    found = assert_is_the_derivative(puck(), law, 0.9, by, **differences_of(law), **options)
    assert history(found)[-1] == ("Sliding", "Contact")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_block_on_a_belt_and_a_spring_sticks_and_slips(law):
    by = ["x", "V", "k", "mu", "m"]
    found = assert_is_the_derivative(conveyor(), law, 2.0, by, step=1e-5, parameters={"k": 50.0})
    assert {("Sliding", "Contact"), ("Contact", "Sliding")} <= set(history(found))


@pytest.mark.parametrize("law", LAWS[:3], ids=lambda law: law.name)
def test_a_block_on_two_feet_slides_to_a_stop(law):
    found = assert_is_the_derivative(feet(2), law, 0.4, ["F", "x_dot", "mu", "m"], step=1e-5, start={"x_dot": 1.0})
    assert {"foot0", "foot1"} == {name for _, names, _ in found.saltations for name in names}


def test_a_linkage_whose_foot_slides_on_a_floor():
    start = {"crank": 1.0, "crank_dot": 0.0, **four_bar_pose(1.0)}
    by = ["torque", "press", "mu"]
    for law in (SOFT, Impact(0.0)):
        found = assert_is_the_derivative(
            sliding_four_bar(), law, 0.25, by, step=1e-5, start=start, inputs={"torque": 8.0, "press": 5.0}
        )
        assert found.result.modes["floor"][int(found.result["mode_floor"][-1])] == "Sliding"


def test_a_block_in_a_vise_slides_when_it_is_loosened():
    found = assert_is_the_derivative(
        vise(), SOFT, 0.8, ["F", "r", "m", "mu_wall", "mu_plate"], step=1e-5, inputs={"F": 40.0}, parameters={"r": 40.0}
    )
    assert ("Contact", "Sliding") in history(found)


def test_what_sticks_does_not_move_however_its_slip_rate_varies():
    """A small push is stopped within its square: the derivative of where it ends is none."""
    found = sensitivity(incline(), SOFT, until=0.5, parameters={"mu": 0.5, "th": 0.0}, by=["x", "x_dot"])
    np.testing.assert_allclose(found.matrix[[0, 2]], [[1.0, 0.0], [0.0, 0.0]], atol=1e-12)


def test_more_contacts_that_slide_than_the_motion_tells_apart_are_refused():
    with pytest.raises(InputError, match=r"contacts that slide beside others without redundancy"):
        sensitivity(feet(3), SOFT, until=0.1, start={"x_dot": 1.0}, by=["x_dot"])


# Random starts.


def random_drops(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield {
            "z": rng.uniform(0.02, 0.3),
            "z_dot": rng.uniform(-1, 0.5),
            "x_dot": rng.uniform(-2, 2),
            "y_dot": rng.uniform(-2, 2),
        }


def derivative_or_none(law, along, options):
    """The derivative, or None if the puck comes to rest after infinitely many bounces."""
    try:
        return sensitivity(puck(), law, until=0.6, by=list(along), method=EXACT, **options)
    except InputError as error:
        if "accumulating" in str(error):
            return None
        raise


def assert_drops_have_derivatives(law, seed, count):
    """Compare along one random direction each; count those whose neighbors have the same history."""
    compared, rng = 0, np.random.default_rng(seed + 1)
    for start in random_drops(seed, count):
        options = {"start": start, "parameters": {"th": 0.1, "mu": 0.4}}
        along = dict(zip([*states(puck()), "mu", "m", "fx"], rng.uniform(-1, 1, 9), strict=True))
        found = derivative_or_none(law, along, options)
        if found is None:
            continue
        expected, same = difference(puck(), law, 0.6, along, 3e-5, FINEST, **options)
        if not same:
            continue
        compared += 1
        exact = found.matrix @ np.array(list(along.values()))
        np.testing.assert_allclose(exact, expected, atol=1e-6 * np.abs(found.matrix).max())
    return compared


@pytest.mark.parametrize("law", [SOFT, Impact(0.0), Impact(0.6), SPRING, HERTZ], ids=lambda law: law.name)
def test_a_dozen_random_drops_of_a_puck_have_the_derivatives_of_their_differences(law):
    assert assert_drops_have_derivatives(law, 11, 12) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("law", [SOFT, Impact(0.0), Impact(0.6), SPRING, HERTZ], ids=lambda law: law.name)
def test_many_random_drops_of_a_puck_have_the_derivatives_of_their_differences(law):
    assert assert_drops_have_derivatives(law, 23, 150) >= 50


def random_start(kind, rng):
    """A model with a random start and parameters, the end time, and what to differentiate by."""
    if kind == "balls that collide":
        start = {"z0": rng.uniform(0.05, 0.3), "z1": rng.uniform(0.5, 0.8)}
        start |= {"z0_dot": rng.uniform(-1, 2), "z1_dot": rng.uniform(-3, 0)}
        return stack(2), start, {}, 0.3, [*states(stack(2)), "m0", "m1", "g"]
    if kind == "ball on a table":
        start, parameters = {"z": rng.uniform(0.15, 0.5), "z_dot": rng.uniform(-1, 1)}, {"A": rng.uniform(0.01, 0.1)}
        return shaker(), start, parameters, 0.6, ["z", "z_dot", "A", "w", "f", "g"]
    start = {"angle_dot": rng.uniform(-1, 1), "x_dot": rng.uniform(-2, 2)}
    if kind == "rod":
        start |= {"z": rng.uniform(1.0, 1.2), "angle": rng.uniform(0.7, 1.2)}
        return rod(), start, {"mu": 0.2}, 0.5, [*states(rod()), "m", "mu", "l"]
    start |= {"z": rng.uniform(0.25, 0.4), "angle": rng.uniform(-0.8, 0.8)}
    return feet(2), start, {"mu": rng.uniform(0.1, 0.8)}, 0.32, [*states(feet(2)), "m", "mu"]


def assert_random_starts_have_derivatives(kind, law, seed, count):
    compared, rng = 0, np.random.default_rng(seed)
    for _ in range(count):
        model, start, parameters, until, by = random_start(kind, rng)
        along, options = rng.uniform(-1, 1, len(by)), {"start": start, "parameters": parameters}
        try:
            found = sensitivity(model, law, until=until, by=by, method=EXACT, **options)
        except InputError as error:  # there is none, or a rod jams
            if any(reason in str(error) for reason in ("accumulating", "grazing change", "a run that reaches its end")):
                continue
            raise
        errors = []
        for step in (3e-5, 3e-6):  # the larger one may lead to another history, the smaller is less exact
            expected, same = difference(model, law, until, dict(zip(by, along, strict=True)), step, FINEST, **options)
            errors += [np.abs(found.matrix @ along - expected).max()] if same else []
        compared += bool(errors)
        assert min(errors, default=0.0) <= 1e-6 * max(float(np.abs(found.matrix).max()), 1e-3)
    return compared


KINDS = ["balls that collide", "ball on a table", "rod", "block on two feet"]


@pytest.mark.parametrize("law", [Impact(0.0), Impact(0.5), SOFT, SPRING], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_dozen_random_starts_have_the_derivatives_of_their_differences(kind, law):
    assert assert_random_starts_have_derivatives(kind, law, 5, 12) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("law", [Impact(0.0), Impact(0.5), SOFT, SPRING], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_starts_have_the_derivatives_of_their_differences(kind, law):
    assert assert_random_starts_have_derivatives(kind, law, 7, 80) >= 30


# Grazes.


@functools.cache
def ceiling():
    """A ball that is thrown up from 0.5 m at 2 m/s under a ceiling at h."""
    b = ModelBuilder("ceiling")
    z, v = b.coordinate("z", start=0.5, speed=2.0)
    h = b.parameter("h", 1.0, "m")
    b.kinetic(v**2 / 2)
    b.potential(G * z)
    b.gap("ceiling", h - z)
    return b.build()


TOP = 0.5 + 2.0 / G


@pytest.mark.parametrize("law", [SOFT, Impact(0.0), Impact(0.7), SPRING, KelvinVoigt(1e4, 0), HERTZ], ids=str)
def test_a_graze_is_refused_under_every_law(law):
    text = r"contact 'ceiling' to pass its surface clearly or to touch it at speed, got a graze at t = 0\.2038\d* s"
    for missed in (0.0, 1e-12, 1e-9):
        with pytest.raises(InputError, match=text):
            sensitivity(ceiling(), law, until=0.4, by=["z"], parameters={"h": TOP + missed})
    clear = sensitivity(ceiling(), law, until=0.4, by=["z"], parameters={"h": TOP + 1e-6})
    np.testing.assert_allclose(clear.matrix, [[1.0], [0.0]], atol=1e-9)


@pytest.mark.parametrize("law", [Impact(0.0), Impact(0.7), SPRING, HERTZ], ids=str)
def test_a_touch_within_the_tolerance_is_a_graze_and_a_deeper_one_is_not(law):
    with pytest.raises(InputError, match=r"got a graze at t = 0\.2038\d* s"):
        sensitivity(ceiling(), law, until=0.4, by=["z"], parameters={"h": TOP - 1e-9})
    found = sensitivity(ceiling(), law, until=0.4, by=["z"], parameters={"h": TOP - 1e-3})
    assert found.result.events


@pytest.mark.parametrize("law", [SOFT, Impact(0.0), SPRING], ids=str)
def test_contacts_that_rest_or_hover_do_not_graze(law):
    """Two balls fall side by side at a distance of a hair that stays as it is; a third lies on the floor."""
    b = ModelBuilder("hovering")
    (a, va), (c, vc), (z, vz) = b.coordinate("a", start=5.0), b.coordinate("c", start=5.0), b.coordinate("z")
    b.kinetic((va**2 + vc**2 + vz**2) / 2)
    b.potential(G * (a + c + z))
    b.gap("hair", c - a + 1e-9)
    b.gap("floor", z)
    found = sensitivity(b.build(), law, until=0.5, by=["a", "a_dot"])
    assert found.matrix[0].tolist() == pytest.approx([1.0, 0.5])
