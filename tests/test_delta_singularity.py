"""The study of the delta robot at its singularity: closed forms, and where the paper's statements end."""

import math

import numpy as np
import pytest

from impinge.control.delta.controller import RATED_TORQUE
from impinge.errors import InputError
from impinge.robots import DeltaKinematics, delta
from impinge.studies.delta.delta_singularity import Kick, study
from impinge.studies.runner import execute, parse_settings

P = DeltaKinematics().parameters
SMALL_PERIOD = 2 * math.pi * math.sqrt(P["l2"] * (P["m2"] + P["m3"]) / 3 / (P["g"] * (P["m2"] / 2 + P["m3"] / 3)))
SINGULAR = math.acos((P["l3"] - P["l0"]) / P["l1"])


@pytest.fixture(scope="module")
def report():
    return execute(study)


def metrics(*settings):
    return execute(study, settings).summary["metrics"]


def test_the_claims_hold_with_the_bars_of_the_paper(report):
    found = report.summary["metrics"]
    assert report.ok
    assert found["servo_angle_20s"] == pytest.approx(SINGULAR, abs=1e-3)
    assert found["swing_period"] == pytest.approx(1.1947, rel=0.01)
    assert found["max_abs_z2"] < 1e-6
    assert found["multiplier_norm_before_kick"] < 1e-6
    assert found["min_singular_value_H"] > 0.01
    assert found["rank_h_x_before_kick"] == 4
    assert found["loop_drift"] < 1e-8
    assert found["max_torque"] < 2.4
    assert not report.outcome.result.events


def test_the_swing_is_that_of_the_compound_pendulum_at_its_amplitude(report):
    found = report.summary["metrics"]
    swing = math.asin(found["swing_amplitude"] / P["l2"])
    assert found["swing_period"] == pytest.approx(SMALL_PERIOD * (1 + swing**2 / 16), rel=1e-5)


def test_the_swing_begins_with_the_impulse_of_the_kick(report):
    """The arms bring the flange's mass to m₂ + m₃, so that the amplitude is the impulse over that and over ω."""
    found = report.summary["metrics"]
    omega = 2 * math.pi / SMALL_PERIOD
    assert found["swing_amplitude"] == pytest.approx(4.0 * 0.01 / (P["m2"] + P["m3"]) / omega, rel=2e-3)


def test_the_rest_before_the_kick_is_an_equilibrium_without_multipliers():
    """Independently of the run: at the singular pose, torques on the motors alone balance gravity."""
    q = np.array([SINGULAR, math.pi / 2, 0.0] * 3)
    terms = delta().terms(q, np.zeros(9))
    assert np.abs(terms["h"]).max() < 1e-15
    assert np.abs(terms["b"][[1, 2, 4, 5, 7, 8]]).max() < 1e-15
    assert np.linalg.matrix_rank(terms["H"]) == 6
    assert np.linalg.matrix_rank(terms["H"][:, [1, 2, 4, 5, 7, 8]], tol=1e-9) == 4


def test_the_robot_stands_still_until_the_motors_begin_to_turn(report):
    """Its servos begin with the torques that balance gravity: nothing sags, and no peak of λ comes of it."""
    r = report.outcome.result
    before = r.t <= 1.0
    held = DeltaKinematics().follow(DeltaKinematics().inverse((0.0, 0.0, 0.4))).gravity
    for k, torque in enumerate(held, 1):
        assert r[f"y{k}"][before] == pytest.approx(r[f"y{k}"][0], abs=1e-12)
        assert r[f"u{k}"][before][1:] == pytest.approx(torque, abs=1e-12)
    assert report.summary["metrics"]["max_torque"] == pytest.approx(np.abs(held).max(), rel=1e-3)
    assert np.ptp(r["force_loop1"][before][1:]) < 1e-10


def test_energy_is_balanced_through_the_singularity(report):
    assert report.outcome.result.certificate.energy.relative < 1e-10


def test_at_the_singular_angle_z2_is_of_fourth_order_in_the_swing(report):
    twice = metrics("kick=8")
    assert twice["max_abs_z2"] / report.summary["metrics"]["max_abs_z2"] == pytest.approx(16, rel=0.05)


def test_z2_is_what_the_motors_give_way(report):
    soft = metrics("k_p=15", "k_i=40", "k_d=2")
    assert soft["max_abs_z2"] / report.summary["metrics"]["max_abs_z2"] == pytest.approx(2, rel=0.05)


def test_off_the_singular_angle_z2_is_of_second_order_and_the_multipliers_are_not_zero():
    once, twice = metrics("angle=2.15"), metrics("angle=2.15", "kick=8")
    assert twice["max_abs_z2"] / once["max_abs_z2"] == pytest.approx(4, rel=0.05)
    assert once["max_abs_z2"] == pytest.approx(22e-6, rel=0.05)
    assert once["multiplier_norm_before_kick"] == pytest.approx(1.03 * (2.15 - SINGULAR), rel=0.01)


def test_a_large_kick_swings_longer_and_moves_z2():
    """0.66 rad: the period of a pendulum that large, within what motors that give way change."""
    large = metrics("kick=64")
    swing = math.asin(large["swing_amplitude"] / P["l2"])
    assert swing > 0.6
    assert large["swing_period"] == pytest.approx(SMALL_PERIOD * (1 + swing**2 / 16 + 11 * swing**4 / 3072), rel=2e-3)
    assert 1e-4 < large["max_abs_z2"] < 1e-3
    assert large["loop_drift"] < 1e-8


@pytest.mark.parametrize(("k_i", "grows"), [(80, False), (180, True)])
def test_near_the_singularity_an_integral_beyond_its_bound_excites_the_swing(k_i, grows):
    """Near by, the loop reaches the swing weakly; its phase at ω decides: k_d ω − k_i/ω must be positive."""
    r = execute(study, ["angle=2.1", f"k_i={k_i}"]).outcome.result
    early, late = (np.abs(r["z1"][(r.t > t) & (r.t < t + 2)]).max() for t in (26, 38))
    assert (late > early) == grows


def test_damping_of_the_joints_ends_the_swing():
    r = execute(study, ["d2=0.005"]).outcome.result
    assert np.abs(r["z1"][r.t > 38]).max() < 0.3 * np.abs(r["z1"][(r.t > 25) & (r.t < 27)]).max()


def test_a_run_that_ends_before_the_kick_leaves_its_metrics_out():
    report = execute(study, ["until=5"])
    found = report.summary["metrics"]
    assert found["servo_angle_20s"] is found["swing_period"] is found["max_abs_z2"] is None
    assert found["multiplier_norm_before_kick"] is found["rank_h_x_before_kick"] is None
    assert report.ok


def test_a_kick_lasts_one_period_from_the_tick_nearest_to_its_time():
    kick = Kick(time=25.0, force=4.0, period=0.01)
    kick.reset(None)
    forces = [kick.step(k * 0.01, None)["f1"] for k in range(4000)]
    assert forces[2500] == 4.0
    assert sum(forces) == 4.0


@pytest.mark.parametrize("setting", ["limit=0", "limit=-1", "period=0", "k_p=-1", "kick_duration=0", "until=0"])
def test_a_bad_setting_is_refused(setting):
    name = setting.split("=")[0]
    with pytest.raises(InputError, match=f"parameter '{name}' of study 'delta-singularity': expected a finite number"):
        parse_settings(study, [setting])


def test_the_angle_and_the_rating_are_the_robots_own():
    """The study writes them out, not to load the robot only to be listed."""
    defaults = {parameter.name: parameter.value for parameter in study.parameters}
    expected = {claim.id: claim.expected for claim in study.claims}
    assert defaults["angle"] == expected["servo-at-singularity"] == SINGULAR
    assert defaults["limit"] == expected["rated-torque"] == RATED_TORQUE


def column(figure, k):
    return figure.axes[k::2]


def test_the_figure_shows_the_run_and_beside_it_the_swing_with_units(report):
    figure = study.figure(report.parameters, report.outcome)
    figure.canvas.draw()
    units = [[axis.get_ylabel().split("[")[1] for axis in column(figure, k)] for k in (0, 1)]
    assert units == [["rad]", "N]", "mm]", "N]", "N·m]"], ["µrad]", "N]", "mm]", "N]", "mN·m]"]]
    assert [axis.get_xlabel() for axis in figure.axes[-2:]] == ["time [s]"] * 2
    assert all(axis.get_legend() for axis in column(figure, 0))


def test_the_figure_shows_reference_rating_and_regulation(report):
    figure = study.figure(report.parameters, report.outcome)
    angle, *_, torque = column(figure, 0)
    lines = {line.get_label(): line.get_ydata() for line in (*angle.lines, *torque.lines)}
    assert lines["reference"][-1] == lines["singular"][0] == SINGULAR
    assert np.abs(lines["reference"] - lines["y₁"]).max() < 5e-3
    assert lines["rated"][0] == RATED_TORQUE
    error, _, _, multiplier, _ = column(figure, 1)
    largest = max(np.abs(line.get_ydata()).max() for line in error.lines)
    assert largest == pytest.approx(1e6 * report.summary["metrics"]["max_servo_error_after_kick"])
    assert multiplier.get_ylim()[1] < report.summary["metrics"]["multiplier_norm_in_swing"] * 1.5


def test_the_figure_of_a_run_that_ends_before_the_kick_has_no_swing():
    report = execute(study, ["until=1"])
    figure = study.figure(report.parameters, report.outcome)
    assert len(figure.axes) == 5
    assert "kick" not in figure.get_suptitle()
