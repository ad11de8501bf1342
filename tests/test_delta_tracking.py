"""The delta robot under a joystick: what the inverse model is worth, and what a wrong one costs."""

import numpy as np
import pytest

from impinge import robots, simulate
from impinge.control import FeedbackLinearization, Hold
from impinge.control.delta.controller import RATED_TORQUE
from impinge.errors import InputError
from impinge.robots.delta import DeltaKinematics
from impinge.studies.delta.delta_tracking import commands
from impinge.studies.registry import find_study
from impinge.studies.runner import execute

STUDY = "delta-tracking"


@pytest.fixture(scope="module")
def report():
    return execute(find_study(STUDY))


def verdicts(summary):
    return {claim["id"]: claim["ok"] for claim in summary["claims"]}


def test_the_papers_low_gains_track_within_two_millimeters(report):
    metrics = report.summary["metrics"]
    assert metrics["stroke_mm"] == pytest.approx(30.0)
    assert metrics["max_error_mm"] < 2.0
    assert metrics["rms_error_mm"] < metrics["max_error_mm"]
    assert max(metrics["max_error_mm_axes"]) <= metrics["max_error_mm"]
    assert metrics["lost_at"] is None
    assert all(verdicts(report.summary).values())


def test_the_loops_of_the_robot_stay_closed(report):
    assert report.summary["metrics"]["loop_drift"] < 1e-8
    assert report.summary["certificate"]["constraint_drift"] == report.summary["metrics"]["loop_drift"]


def test_the_motors_stay_within_their_rating(report):
    assert 0.9 < report.summary["metrics"]["max_torque"] < 2.4


def test_the_printed_inertia_tracks_ten_times_worse(report):
    metrics = report.summary["metrics"]
    assert metrics["max_error_mm_printed"] / metrics["max_error_mm_exact"] > 10
    assert metrics["max_error_mm_exact"] == metrics["max_error_mm"]


def test_ten_percent_of_gravity_is_more_than_the_papers_gains_can_carry(report):
    metrics = report.summary["metrics"]
    assert metrics["lost_at_model_error"] == pytest.approx(1.034, abs=0.05)
    assert metrics["offset_mm_model_error"] > 1000
    assert metrics["max_error_mm_firm_model_error"] == pytest.approx(metrics["offset_mm_model_error"] / 400, rel=0.01)


def test_claims_that_do_not_hold_are_shown_as_not_holding():
    printed = execute(find_study(STUDY), ["inertia=printed"])
    assert verdicts(printed.summary)["fig9-as-printed"] is False
    uncertain = execute(find_study(STUDY), ["model_error=0.1"])
    assert verdicts(uncertain.summary)["fig10-still-good"] is False
    assert uncertain.summary["metrics"]["lost_at"] == uncertain.outcome.result.t[-1]


def test_the_error_that_is_left_is_of_second_order_in_the_velocity():
    """At a third of the speed and fast sampling, so that holding torques does not show, a ninth of the error."""
    errors = []
    for speed in (0.03, 0.01):
        settings = [f"speed={speed}", "period=0.0005", "until=6", f"acceleration={0.2 * speed / 0.03}"]
        report = execute(find_study(STUDY), settings)
        errors.append(report.summary["metrics"]["max_error_mm"])
    assert errors[1] / errors[0] == pytest.approx(1 / 9, rel=0.1)


@pytest.mark.parametrize("error", [0.1, -0.1])
def test_a_wrong_mass_lets_the_robot_rest_where_stiffness_balances_gravity(error):
    """k_p M'(r − y) + G' = G, with primes for what the controller believes."""
    believed = DeltaKinematics(m1=0.5 * (1 + error), m2=0.12 * (1 + error), m3=0.35 * (1 + error))
    controller = FeedbackLinearization(Hold((0.0, 0.0, 0.4)), k_p=400.0, k_d=40.0, robot=believed)
    result = simulate(robots.delta(), until=2.0, controller=controller)
    y = np.array([result[name][-1] for name in ("y1", "y2", "y3")])
    r = DeltaKinematics().inverse((0.0, 0.0, 0.4))[[0, 3, 6]]
    rest = DeltaKinematics().follow(DeltaKinematics().inverse([result[z][-1] for z in ("z1", "z2", "z3")]))
    assert controller.pose.inertia["exact"] @ (400.0 * (r - y)) + controller.pose.gravity == pytest.approx(
        rest.gravity, abs=1e-9
    )


def test_a_reference_out_of_reach_is_an_error_and_not_a_lost_robot():
    with pytest.raises(InputError, match="inverse kinematics of the delta robot: expected a position within reach"):
        execute(find_study(STUDY), ["speed=0.3"])


def test_the_joystick_goes_forth_and_back_along_each_direction_in_turn():
    said = commands(0.03)
    assert [t for t, _ in said] == sorted(t for t, _ in said)
    assert np.sum([v for _, v in said], axis=0).tolist() == [0.0, 0.0, 0.0]
    assert np.abs([v for _, v in said]).max(axis=0).tolist() == [0.03] * 3


def test_the_rating_is_the_robots_own():
    """The study writes it out, not to load the robot only to be listed."""
    study = find_study(STUDY)
    assert {parameter.name: parameter.value for parameter in study.parameters}["limit"] == RATED_TORQUE
    assert {claim.id: claim.expected for claim in study.claims}["within-rating"] == RATED_TORQUE


def labels(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_the_figure_shows_three_directions_the_distance_and_the_torques_with_units(report):
    figure = report.study.figure(report.parameters, report.outcome)
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "z₁ [mm]",
        "z₂ [mm]",
        "z₃ [mm]",
        "distance from\nreference [mm]",
        "motor torque of\nthis run [N·m]",
    ]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert labels(figure.axes[-1]) == ["u₁", "u₂", "u₃", "rated"]
    assert "masses known exactly" in figure.get_suptitle()


def test_the_figure_compares_the_run_with_what_is_taken_for_good_and_with_the_other_runs(report):
    figure = report.study.figure(report.parameters, report.outcome)
    distance, metrics = figure.axes[3], report.summary["metrics"]
    shown = sorted(line.get_ydata().max() for line in distance.lines if len(line.get_ydata()) > 2)
    names = ("exact", "printed", "model_error", "firm_model_error")
    assert shown == pytest.approx(sorted(metrics[f"max_error_mm_{name}"] for name in names))
    assert distance.get_yscale() == "log"
    assert "taken for good: 3 mm, 10 % of the stroke" in labels(figure.axes[0])
    assert sum("lost at 1.03 s" in label for label in labels(figure.axes[0])) == 1


@pytest.mark.parametrize(("error", "words"), [(0.1, "10 % too large"), (-0.05, "5 % too small")])
def test_the_title_of_the_figure_says_what_is_wrong_with_the_masses(error, words):
    report = execute(find_study(STUDY), [f"model_error={error}", "until=1.2"])
    figure = report.study.figure(report.parameters, report.outcome)
    assert f"masses taken {words}" in figure.get_suptitle()
    assert len(labels(figure.axes[0])) == (5 if error == 0.1 else 6)
