"""A peg in a hole: Whitney's statics against linear programs, and the simulation against both."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from impinge.studies.peg.peg_in_hole import GRIPPERS, WIDTH, insert, jamming, motion_of, study
from impinge.studies.peg.peg_load import load, squeeze
from impinge.studies.peg.whitney import (
    faces,
    flush_right,
    holds,
    length_of,
    margin,
    mirrored,
    parallelogram,
    pull_limit,
    slack,
    slides,
    stuck,
    tilt_of,
    two_point,
    wedged_pull,
    wedges,
)

HOLE = 0.0201
DEFAULTS = {parameter.name: parameter.value for parameter in study.parameters}

lengths = st.floats(0.004, 0.04)
tilts = st.floats(0.0, 0.1)
frictions = st.floats(0.05, 0.9)
loads = st.tuples(st.floats(-8, 8), st.sampled_from([-1.0, 0.3, 1.0]), st.floats(-15, 15))


def in_cone(edges, load):
    """Whether nonnegative shares of the edges make the load, by a linear program."""
    return linprog(np.zeros(len(edges)), A_eq=edges.T, b_eq=load, bounds=[(0, None)] * len(edges)).status == 0


@given(lengths)
def test_in_two_point_contact_corner_and_rim_are_a_hole_apart(length):
    tilt = tilt_of(WIDTH, HOLE, length)
    turn = np.array([[np.cos(tilt), np.sin(tilt)], [-np.sin(tilt), np.cos(tilt)]])
    corner, touched = turn @ (-WIDTH / 2, 0.0), turn @ (WIDTH / 2, length)
    assert touched[0] - corner[0] == pytest.approx(HOLE, abs=1e-15)
    assert tilt > 0
    assert length_of(WIDTH, HOLE, tilt) == pytest.approx(length, rel=1e-9)


@settings(max_examples=60)
@given(lengths, tilts, frictions, loads)
def test_the_cone_of_loads_is_what_a_linear_program_finds(length, tilt, friction, load):
    edges = two_point(WIDTH, length, tilt, friction)
    if abs(slack(edges, load)) > 1e-6 and abs(length / WIDTH - friction) > 1e-3:
        assert holds(edges, load) == in_cone(edges, load)


@given(lengths, frictions, st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_contact_forces_inside_their_cones_are_held(length, friction, one, other, s, t):
    """F, P and M written out by hand, for θ = 0."""
    t1, t2, r = s * friction * one, t * friction * other, WIDTH / 2
    load = np.array([other - one, t1 + t2, (length * other + r * (t2 - t1)) / r])
    if np.abs(load).max() > 1e-6:
        assert slack(two_point(WIDTH, length, 0.0, friction), load) > -1e-9


@given(lengths, frictions, st.floats(-6, 6), st.floats(-15, 15))
def test_what_no_contact_holds_is_the_parallelogram(length, friction, across, moment):
    inside = margin(WIDTH, length, friction, across, moment)
    if abs(inside) > 1e-6 and not wedges(WIDTH, length, friction):
        assert slides(WIDTH, length, friction, across, moment) == (inside > 0)
        assert stuck(WIDTH, length, 0.0, friction, (across, 1.0, moment)) == (inside < 0)


@given(lengths, frictions)
def test_the_corners_of_the_diagram_are_on_the_borders_of_two_contacts(length, friction):
    edges = two_point(WIDTH, length, 0.0, friction)
    low_left, low_right, high_right, high_left = parallelogram(WIDTH, length, friction)
    if not wedges(WIDTH, length, friction):
        for cone, corners in (
            (edges, (high_left, high_right)),
            (mirrored(edges), (low_left, low_right)),
            (flush_right(WIDTH, length, friction), (low_right, high_right)),
        ):
            for across, moment in corners:
                assert slack(cone, (across, 1.0, moment)) == pytest.approx(0.0, abs=1e-9)


@given(lengths, tilts, frictions)
def test_a_peg_wedges_if_its_length_in_the_hole_is_below_friction_times_its_width_whatever_its_tilt(
    length, tilt, friction
):
    if abs(length / WIDTH - friction) > 1e-6:
        assert wedges(WIDTH, length, friction) == (len(faces(two_point(WIDTH, length, tilt, friction))) == 0)


@given(lengths, tilts, frictions)
def test_the_largest_pull_is_what_a_linear_program_finds(length, tilt, friction):
    if wedges(WIDTH, length, friction - 0.02):
        return
    edges = two_point(WIDTH, length, tilt, friction)
    equal = np.vstack([edges[:, 0], edges[:, 2]])
    found = linprog(edges[:, 1], A_eq=equal, b_eq=(0.0, 1.0), bounds=[(0, None)] * 4)
    if wedges(WIDTH, length, friction):
        assert found.status == 3  # unbounded
        assert math.isinf(pull_limit(edges, 1.0))
    else:
        assert pull_limit(edges, 1.0) == pytest.approx(-found.fun, rel=1e-7)


@given(lengths, tilts, frictions)
def test_the_pull_that_loosens_a_wedged_peg_balances_it(length, tilt, friction):
    """Forces and moments about the corner, in world axes, as one linear system for N₁, t₁, N₂ and Q."""
    u, w = np.array([math.sin(tilt), math.cos(tilt)]), np.array([math.cos(tilt), -math.sin(tilt)])
    rim, tip, at_rim = WIDTH * w + length * u, WIDTH / 2 * w, -w - friction * u

    def moment(place, force):
        return place[1] * force[0] - place[0] * force[1]

    system = [
        [1.0, 0.0, at_rim[0], 0.0],
        [0.0, 1.0, at_rim[1], 1.0],
        [0.0, 0.0, moment(rim, at_rim), moment(tip, (0.0, 1.0))],
        [0.0, 0.0, -at_rim[0], 0.0],
    ]
    pull = np.linalg.solve(system, [0.0, 0.0, 0.0, 20.0])[3]
    assert wedged_pull(WIDTH, length, tilt, friction, 20.0) == pytest.approx(pull, abs=1e-9)


@pytest.fixture(scope="module")
def runs():
    return {gripper: insert({**DEFAULTS, "gripper": gripper}) for gripper in GRIPPERS}


def test_a_soft_gripper_inserts_a_peg_a_millimeter_and_a_degree_off(runs):
    result, controller = runs["soft"]
    assert result.ok
    assert controller.phase == "inserted"
    assert motion_of(result).z[-1] < -0.025
    assert np.linalg.norm(result.contacts.force_on("peg", result.t.size), axis=1).max() < 4.0


def test_a_stiff_gripper_jams_with_its_load_on_the_border_of_what_the_contacts_hold(runs):
    result, controller = runs["stiff"]
    m = motion_of(result)
    assert controller.phase == "jammed"
    assert m.load[-1, 1] > 40.0
    assert m.z[-1] > -0.008
    edges = two_point(WIDTH, m.length[-1], m.tilt[-1], DEFAULTS["friction"])
    assert slack(edges, m.load[-1]) == pytest.approx(0.0, abs=1e-6)
    untilted = two_point(WIDTH, m.length[-1], 0.0, DEFAULTS["friction"])
    assert slack(untilted, m.load[-1]) < -0.01


@pytest.mark.parametrize("gripper", GRIPPERS)
def test_two_point_contact_has_the_tilt_that_its_length_asks_for(runs, gripper):
    m = motion_of(runs[gripper][0])
    rows = np.flatnonzero(m.two_point)
    expected = [tilt_of(WIDTH, HOLE, length) for length in m.length[rows]]
    assert rows.size > 100
    # two contacts, each up to 1e-7 m deep
    assert np.abs((np.abs(m.tilt[rows]) - expected) * m.length[rows]).max() < 3e-7


@pytest.mark.parametrize("center", [40.0, 60.0])
def test_with_its_center_of_compliance_far_above_the_tip_the_soft_gripper_tips_the_peg_over(center):
    result, controller = insert({**DEFAULTS, "center": center})
    m = motion_of(result)
    assert controller.phase == "jammed"
    assert np.degrees(abs(m.tilt[-1])) > 5.0
    assert m.z[-1] > -0.005


def test_a_stiff_gripper_inserts_a_peg_without_tilt():
    assert insert({**DEFAULTS, "gripper": "stiff", "tilt": 0.0})[1].phase == "inserted"


def test_a_peg_on_the_wrong_side_of_the_hole_never_finds_it():
    controller = insert({**DEFAULTS, "misalignment": -1.0})[1]
    assert controller.phase == "lost"


def test_what_the_walls_hold_is_what_grip_and_weight_apply(runs):
    """At rest, two ways to measure the same load at the tip."""
    result, _ = runs["soft"]
    m, weight = motion_of(result), 0.1 * 9.81
    moment = result["grip_peg_my"][-1] + 0.03 * np.sin(m.tilt[-1]) * weight
    applied = [result["grip_peg_fx"][-1], weight - result["grip_peg_fz"][-1], moment / (WIDTH / 2)]
    assert m.load[-1] == pytest.approx(applied, abs=1e-5)


def check_loads(length, friction, count):
    """Compare a grid of simulated loads with the statics; return how many slid."""
    found = jamming({**DEFAULTS, "length": 1e3 * length, "friction": friction, "loads": count})
    assert found["loads_failed"] == 0
    assert found["loads_wrong_margin"] <= 0.03
    assert len(found["loads"]) == count**2
    return found["loads_slide"]


def test_simulated_loads_slide_or_stick_as_the_jamming_diagram_says():
    assert 3 <= check_loads(0.01, 0.2, 6) <= 30


@pytest.mark.slow
@pytest.mark.parametrize(("length", "friction"), [(0.01, 0.2), (0.02, 0.3), (0.02, 0.1), (0.008, 0.3)])
def test_fine_grids_of_loads_slide_or_stick_as_the_jamming_diagram_says(length, friction):
    assert check_loads(length, friction, 13) > 10


@pytest.mark.parametrize(("length", "friction"), [(0.01, 0.2), (0.005, 0.2), (0.0061, 0.3)])
def test_a_moment_holds_a_pull_up_to_its_limit(length, friction):
    moment = 0.1
    limit = pull_limit(two_point(WIDTH, length, tilt_of(WIDTH, HOLE, length), friction), moment / (WIDTH / 2))
    below, above = (load(length, friction, 0.0, -share * limit, moment, until=0.05) for share in (0.98, 1.02))
    assert below.ok
    assert above.ok
    assert abs(below.moved) < 1e-7
    assert above.moved < -1e-5


@pytest.mark.parametrize("friction", [0.32, 0.4, 0.5])
def test_a_wedged_peg_stays_until_the_pull_loosens_it(friction):
    length, force = 0.006, 20.0
    limit = wedged_pull(WIDTH, length, tilt_of(WIDTH, HOLE, length), friction, force)
    assert wedges(WIDTH, length, friction)
    below, above = (squeeze(length, friction, force, share * limit) for share in (0.98, 1.02))
    assert abs(below.moved) < 1e-7
    assert abs(below.turned) < 1e-5
    assert above.moved < -2e-6


@pytest.mark.parametrize("friction", [0.2, 0.28])
def test_a_squeeze_turns_a_peg_upright_that_is_too_deep_to_wedge(friction):
    length = 0.006
    done = squeeze(length, friction, 20.0, 0.0)
    assert not wedges(WIDTH, length, friction)
    assert done.turned == pytest.approx(tilt_of(WIDTH, HOLE, length), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [-2.0, -1.0, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("misalignment", [0.1, 1.0, 2.0, 4.0, 5.5])
def test_the_soft_gripper_inserts_from_everywhere_in_its_range(misalignment, tilt):
    result, controller = insert({**DEFAULTS, "misalignment": misalignment, "tilt": tilt, "until": 3.0})
    assert result.ok
    assert controller.phase == "inserted"


def test_the_figure_shows_motion_forces_and_diagram():
    p = {**DEFAULTS, "loads": 2}
    figure = study.figure(p, study.run(p, None, None))
    assert {axis.get_title() for axis in figure.axes} == {"the peg", "depth and forces", "", "jamming diagram"}
