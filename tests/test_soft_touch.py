"""The soft touch: closed forms of its forces, bricks that slide and bricks that do not, and what the sweep says."""

import io
import math
import pickle
import re

import numpy as np
import pytest

from impinge import robots, simulate
from impinge.cli import main
from impinge.contact import Baumgarte
from impinge.control import GravityCompensation
from impinge.errors import ImpingeWarning
from impinge.robots.delta import DeltaKinematics, delta_with_brick
from impinge.studies.delta import delta_soft_touch
from impinge.studies.delta.delta_soft_touch import controller_of, gain_of, laws_of, model_of
from impinge.studies.registry import find_study
from impinge.studies.runner import execute, parse_settings

STUDY = find_study("delta-soft-touch")
DEFAULT = parse_settings(STUDY, [])
FACE = DEFAULT["distance"]
SPEED, K_D, PERIOD = DEFAULT["speed"], DEFAULT["k_d"], DEFAULT["period"]
LIMIT = DEFAULT["mu"] * DEFAULT["m_b"] * 9.81
ALWAYS = {"loops-stay-closed"}  # the claim that is judged whatever the settings
ROBOT = DeltaKinematics()


def pose_of(result, row=-1):
    return ROBOT.follow(ROBOT.inverse([result[z][row] for z in ("z1", "z2", "z3")]))


def mobility_at(z1):
    """Λ⁻¹ of the flange at (z₁, 0, 0.4)."""
    pose = ROBOT.follow(ROBOT.inverse((z1, 0.0, 0.4)))
    return pose.J_c @ np.linalg.solve(pose.inertia["exact"], pose.J_c.T)


@pytest.fixture(scope="module")
def model():
    return model_of(DEFAULT)


@pytest.fixture(scope="module")
def report():
    return execute(STUDY, ["positions=3"])


@pytest.fixture(scope="module")
def stiff():
    return execute(STUDY, ["controller=stiff", "positions=2"])


def touch(model, *settings, until, sample=0.01, **changes):
    """Run the study's controller once, without the sweep."""
    p = parse_settings(STUDY, settings)
    return simulate(model, laws_of(p), until=until, controller=controller_of(p), sample=sample, **changes)


def verdicts(report):
    return {claim["id"]: claim["ok"] for claim in report.summary["claims"]}


def draw(report):
    """Return the figure of a study, drawn, and with units on all its axes but that of a ratio."""
    figure = report.study.figure(report.parameters, report.outcome)
    figure.savefig(io.BytesIO(), dpi=50)
    assert len(figure.axes) >= 4
    for axis in figure.axes:
        assert re.search(r"\[.+\]| over ", axis.get_ylabel())
        assert axis.lines or axis.collections or axis.texts
    assert "[" in figure.axes[-1].get_xlabel()
    return figure


def sliding(result):
    return [(e.before, e.after, e.row) for e in result.events if e.contact == "table"]


def force_of_one_axis(p, contact, t):
    """Force at times t after a contact: one mass, a sampled PD controller and a wall, in closed form.

    Whatever the controller does, the closed gap obeys γ̈ + α₁γ̇ + α₀γ = 0, so that only the force knows of it:
    λ = (u − α₁γ̇ − α₀γ)/Λ⁻¹₁₁ with u held from tick to tick.
    """
    roots = np.roots([1.0, p["a1"], p["a0"]]).astype(complex)
    face, slow, T = p["distance"], p["speed"], float(p["period"])

    def gap(tau, order=0):
        """From γ = 0, γ̇ = −v; a gap that is still open closes at v."""
        waves = sum(s * r**order * np.exp(r * np.maximum(tau, 0.0)) for s, r in zip((1, -1), roots, strict=True))
        before = -slow * tau if order == 0 else -slow
        return np.where(tau < 0, before, (-slow * waves / (roots[0] - roots[1])).real)

    first, last = math.floor(contact / T), math.ceil(t[-1] / T)
    ticks = T * np.arange(first, last + 1)
    z = face - gap(ticks - contact)
    decay, rate, u = math.exp(-p["pole"] * T), slow, np.zeros(len(ticks))
    for k in range(1, len(ticks)):
        rate = decay * rate + (1 - decay) * (z[k] - z[k - 1]) / T
        error = slow * (ticks[k] - p["approach"]) - z[k]
        u[k] = gain_of(p)(ticks[k]) * error + p["k_d"] * (slow - rate)
    held = u[np.floor(t / T + 1e-9).astype(int) - first]
    tau = t - contact
    return (held - p["a1"] * gap(tau, 1) - p["a0"] * gap(tau)) / mobility_at(face)[0, 0]


# What Fig. 13 shows.


def test_the_figures_statements_hold_with_few_bricks_too(report):
    m = report.summary["metrics"]
    assert m["contact_time"] == pytest.approx(12.0, abs=0.5)
    assert m["peak_force_mN"] <= 90.0
    assert m["steady_force_mN"] == pytest.approx(40.0, abs=5.0)
    assert m["bounces"] == 0
    assert m["brick_displacement_um"] == 0.0
    assert m["kp_at_contact"] == 0.0
    assert m["loop_drift"] < 1e-8
    assert m["sweep_runs"] == len(report.outcome.sweep) == 3
    assert report.ok
    assert set(verdicts(report)) == {claim.id for claim in STUDY.claims} - {"stiff-moves-it"}


def test_the_brick_does_not_move_by_a_single_bit(report):
    result = report.outcome.result
    for k, start in ((1, FACE), (2, 0.0), (3, 0.5)):
        assert set(result[f"brick{k}"]) == {start}
    assert not sliding(result)


def test_the_steady_force_is_that_of_velocity_control(report):
    """k_d Λ₁₁ v, exactly k_d v / Λ⁻¹₁₁: the other directions are held by position, not by force."""
    steady = report.outcome.result["force_finger"][-1]
    assert steady == pytest.approx(K_D * SPEED * np.linalg.inv(mobility_at(FACE))[0, 0], rel=0.01)
    assert steady == pytest.approx(K_D * SPEED / mobility_at(FACE)[0, 0], rel=1e-6)
    assert 1000 * steady == pytest.approx(report.summary["metrics"]["steady_force_mN"], rel=1e-6)


def test_in_steady_contact_the_motors_carry_gravity_and_the_contact_force(report):
    result = report.outcome.result
    pose, force = pose_of(result), result["force_finger"][-1]
    torques = [result[u][-1] for u in ("u1", "u2", "u3")]
    assert torques == pytest.approx(pose.gravity + pose.J_c.T @ [force, 0.0, 0.0], abs=1e-8)
    assert torques != pytest.approx(pose.gravity, abs=1e-4)


def test_contact_comes_when_speed_and_distance_say_and_what_is_late_is_the_lag_of_the_approach(report):
    """A lag e decays by ė = −k_p/k_d e until k_p is gone; what is left of it, 1.3 µm, takes 7 ms.

    To it adds what gravity changes while its torque is held: on average for half a period.
    """
    result = report.outcome.result
    time = report.summary["metrics"]["contact_time"]
    assert time == pytest.approx(DEFAULT["approach"] + FACE / SPEED, abs=0.01)

    def gravity(z1):
        return ROBOT.follow(ROBOT.inverse((z1, 0.0, 0.4))).gravity.copy()

    middle, step = 1.6e-3, 1e-4
    pose = ROBOT.follow(ROBOT.inverse((middle, 0.0, 0.4)))
    change = (gravity(middle + step) - gravity(middle - step)) / (2 * step) * SPEED * PERIOD / 2
    drift = -(pose.J_c @ np.linalg.solve(pose.inertia["exact"], change))[0] / K_D
    lag = result["z1"] - SPEED * (result.t - DEFAULT["approach"])
    late = (result.t > 9.5) & (result.t < 12)
    assert np.polyfit(result.t[late], lag[late], 1)[0] == pytest.approx(drift, rel=0.01)
    (begin,) = np.flatnonzero(result.t == 2.5)
    times = np.linspace(2.5, 9.0, 1001)
    decays = np.array([gain_of(DEFAULT)(t) for t in times]) / K_D
    left = np.exp(-0.5 * (9.0 - times) * decays)  # of what enters at each time
    at_contact = lag[begin] * left[0] + drift * (np.trapezoid(left, times) + time - 9.0)
    assert time - (DEFAULT["approach"] + FACE / SPEED) == pytest.approx(-at_contact / SPEED, rel=0.01)


def test_with_high_gain_nothing_lags(stiff):
    assert stiff.summary["metrics"]["contact_time"] == pytest.approx(DEFAULT["approach"] + FACE / SPEED, abs=1e-5)


def test_the_peak_is_the_first_instant_and_the_laws_damping_makes_it(report):
    """α₁ Λ₁₁ v: at contact the gap asks for γ̈ = −α₁γ̇, before the controller knows of anything."""
    peak = 1e-3 * report.summary["metrics"]["peak_force_mN"]
    assert peak == pytest.approx(DEFAULT["a1"] * SPEED / mobility_at(FACE)[0, 0], rel=1e-3)
    (touchdown,) = (e for e in report.outcome.result.events if e.contact == "finger")
    assert report.outcome.result["force_finger"][touchdown.row + 1] == pytest.approx(peak, rel=1e-9)


def test_the_force_from_touch_to_rest_is_that_of_one_mass_with_a_sampled_controller(model):
    result = touch(model, until=12.3, sample=0.0005)
    contact = result.times("finger", after="Contact")[0]
    inside = result.t > contact
    expected = force_of_one_axis(DEFAULT, contact, result.t[inside])
    # Rows at ticks are on their left side in the run and on their right in closed form.
    between = np.abs(np.round(result.t[inside] / PERIOD) * PERIOD - result.t[inside]) > 1e-6
    assert np.abs(result["force_finger"][inside] - expected)[between].max() < 1e-5
    assert np.ptp(expected) > 0.02


@pytest.mark.parametrize("settings", [("a0=40000", "a1=100"), ("k_d=600", "a1=800")])
def test_the_peak_agrees_with_one_mass_for_other_laws_and_gains(model, settings):
    p = parse_settings(STUDY, settings)
    result = touch(model, *settings, until=12.5)
    contact = result.times("finger", after="Contact")[0]
    expected = force_of_one_axis(p, contact, contact + np.linspace(1e-9, 0.4, 20_001)).max()
    assert result.certificate.contacts["finger"].largest_force == pytest.approx(expected, rel=0.01)


def test_a_brick_met_before_the_stiffness_is_gone_is_pushed_by_it_too(model):
    """As far as the reference runs ahead, by k_p Λ₁₁ times that: the peak comes seconds after contact."""
    offset = -2e-3
    p = {**parse_settings(STUDY, ["a1=400"]), "distance": DEFAULT["distance"] + offset}
    result = touch(model, "a1=400", until=10.0, start={"brick1": FACE + offset})
    contact = result.times("finger", after="Contact")[0]
    assert contact == pytest.approx(2.0, abs=0.05)
    expected = force_of_one_axis(p, contact, np.arange(contact + 1e-6, 10.0, 1e-3))
    assert result.certificate.contacts["finger"].largest_force == pytest.approx(expected.max(), rel=0.01)
    assert expected.max() > 1.3 * 400 * SPEED / mobility_at(FACE)[0, 0]
    assert result["force_finger"][-1] == pytest.approx(K_D * SPEED / mobility_at(FACE + offset)[0, 0], rel=1e-3)


# Bricks that slide.


def test_high_gain_pushes_the_brick_away_at_the_limit_of_friction(stiff):
    result, m = stiff.outcome.result, stiff.summary["metrics"]
    assert verdicts(stiff) == {"stiff-moves-it": True, "loops-stay-closed": True}
    ((before, after, row),) = sliding(result)
    assert (before, after) == ("Contact", "Sliding")
    assert m["stick_limit_mN"] == pytest.approx(1000 * LIMIT, rel=1e-12)
    late = result.t > result.t[row] + 0.3
    assert result["force_finger"][late] == pytest.approx(LIMIT, rel=1e-4)
    slid = result["brick1"][row + 1 :]
    assert (np.diff(slid)[1:] > 0).all()
    assert result["brick1_dot"][-1] == pytest.approx(SPEED, rel=1e-3)
    assert m["brick_displacement_um"] == pytest.approx(1e6 * (slid[-1] - FACE), rel=1e-9)
    assert m["brick_displacement_um"] > 500


def test_the_brick_begins_to_slide_with_the_tick_that_takes_the_force_past_the_limit(stiff):
    """A held torque pushes with steps of k_p Λ₁₁ v T, so that the limit lies inside one."""
    result = stiff.outcome.result
    ((_, _, row),) = sliding(result)
    left, right = result["force_finger"][row : row + 2]
    step = DEFAULT["k_p_stiff"] * SPEED * PERIOD / mobility_at(FACE)[0, 0]
    assert left < LIMIT < right < left + step
    assert result.t[row] / PERIOD == pytest.approx(round(result.t[row] / PERIOD), abs=1e-9)
    assert (result["brick1"][: row + 2] == FACE).all()
    assert result["friction_table_1"][row] == pytest.approx(-left, abs=1e-12)
    assert result["friction_table_1"][row + 1 :] == pytest.approx(-LIMIT, abs=1e-12)


def test_where_the_force_grows_between_ticks_the_brick_slides_exactly_at_the_limit(model):
    """Without damping the force of contact begins at zero; this brick slides before the next tick."""
    result = touch(model, "a1=0", until=12.02, parameters={"m_b": 0.01, "mu": 0.01})
    before, after, row = sliding(result)[0]
    assert (before, after) == ("Contact", "Sliding")
    assert result.t[row] / PERIOD != pytest.approx(round(result.t[row] / PERIOD), abs=1e-3)
    assert result["force_finger"][row : row + 2] == pytest.approx(0.01 * 0.01 * 9.81, abs=1e-9)


def test_a_light_brick_is_moved_by_the_soft_controller_too_and_no_claim_speaks_of_it():
    report = execute(STUDY, ["m_b=0.01", "mu=0.2", "positions=1"])
    m = report.summary["metrics"]
    assert m["stick_limit_mN"] == pytest.approx(19.62)
    assert m["steady_force_mN"] == pytest.approx(19.62, rel=1e-3)
    assert m["brick_displacement_um"] > 100
    assert m["sweep_bricks_moved"] == 1
    assert m["sweep_worst_share_of_limit"] > 1
    assert set(verdicts(report)) == ALWAYS


def test_a_slow_brick_moves_as_fast_as_force_and_damping_allow(model):
    """Sliding friction holds back μmg of the k_d Λ₁₁ v that would stop the finger."""
    result = touch(model, until=14.0, parameters={"m_b": 0.01, "mu": 0.2})
    share = 1 - 0.2 * 0.01 * 9.81 * mobility_at(FACE)[0, 0] / (K_D * SPEED)
    assert result["brick1_dot"][-1] == pytest.approx(SPEED * share, rel=1e-3)


def test_without_friction_the_brick_takes_the_impulse_of_the_contact_and_goes(model):
    result = touch(model, until=14.0, parameters={"mu": 0.0})
    assert result.ok
    assert all(np.isfinite(x).all() for x in result.signals.values())
    assert DEFAULT["m_b"] * result["brick1_dot"] == pytest.approx(result["impulse_finger"], abs=1e-12)
    assert result["impulse_finger"][-1] > 0.5 * DEFAULT["m_b"] * SPEED
    assert (result["friction_table_1"] == 0).all()
    reduced = 1 / (mobility_at(FACE)[0, 0] + 1 / DEFAULT["m_b"])
    peak = result.certificate.contacts["finger"].largest_force
    assert peak == pytest.approx(DEFAULT["a1"] * SPEED * reduced, rel=0.01)


def test_the_study_runs_without_friction():
    report = execute(STUDY, ["mu=0", "positions=1"])
    m = report.summary["metrics"]
    assert m["stick_limit_mN"] == 0.0
    assert m["brick_displacement_um"] > 500
    assert set(verdicts(report)) == ALWAYS
    assert report.ok
    draw(report)


# The sweep.


@pytest.fixture(scope="module")
def ends(model):
    """Runs against the nearest and the farthest brick on the worst table."""
    return {
        offset: touch(model, until=until, start={"brick1": FACE + offset}, parameters={"mu": 0.2})
        for offset, until in ((-2e-3, 10.5), (2e-3, 23.5))
    }


def test_the_nearest_and_the_farthest_brick_stay_on_the_worst_table(ends):
    for result in ends.values():
        assert result.ok
        assert not sliding(result)
        assert len(result.touchdowns("finger")) == 1
        assert not result.liftoffs("finger")
        assert np.ptp(result["brick1"]) == np.ptp(result["brick2"]) == 0.0


def test_friction_does_not_matter_while_it_holds(model, ends):
    firm = touch(model, until=10.5, start={"brick1": FACE - 2e-3}, parameters={"mu": 0.6})
    for name in ("z1", "force_finger", "u1"):
        assert firm[name] == pytest.approx(ends[-2e-3][name], abs=1e-12)
    forces = [r.certificate.contacts["finger"].largest_force for r in (firm, ends[-2e-3])]
    assert forces[0] == pytest.approx(forces[1], rel=1e-12)


def test_nearer_bricks_peak_higher_as_long_as_stiffness_is_left(model):
    peaks = []
    for offset in (-2e-3, -1.7e-3, -1.4e-3):
        result = touch(model, "a1=400", until=9.5, start={"brick1": FACE + offset})
        peaks.append(result.certificate.contacts["finger"].largest_force)
    assert (np.diff(peaks) < 0).all()
    assert peaks[0] > 1.4 * peaks[-1]


def test_beyond_the_fade_all_bricks_peak_alike(report):
    *_, middle, far = report.outcome.sweep
    assert min(middle.time, far.time) > 9.0
    assert middle.peak == pytest.approx(far.peak, rel=1e-3)


def test_a_sweep_covers_its_range_in_order_with_friction_spread_over_it(report):
    sweep = report.outcome.sweep
    near, middle, far = (x.offset for x in sweep)
    assert (near, far) == pytest.approx((-2e-3, 2e-3), abs=1e-12)
    assert middle == pytest.approx(0.0, abs=1e-12)
    assert len({x.limit for x in sweep}) == 3
    assert all(0.2 <= x.limit / (DEFAULT["m_b"] * 9.81) <= 0.6 for x in sweep)
    assert [x.time for x in sweep] == pytest.approx([1.8 + (FACE + x.offset) / SPEED for x in sweep], abs=0.05)
    m = report.summary["metrics"]
    assert m["sweep_contact_times"] == [sweep[0].time, sweep[-1].time]
    assert m["sweep_peak_mN"]["most"] == pytest.approx(1000 * max(x.peak for x in sweep))
    assert sum(row["runs"] for row in m["sweep_distribution"]) == 3
    shares = [row["share_of_limit"] for row in m["sweep_distribution"] if row["runs"]]
    assert max(shares) == pytest.approx(m["sweep_worst_share_of_limit"])


def test_the_middle_brick_of_the_sweep_is_the_run_itself(report):
    middle, m = report.outcome.sweep[1], report.summary["metrics"]
    assert middle.time == pytest.approx(m["contact_time"], abs=1e-9)
    assert 1000 * middle.peak == pytest.approx(m["peak_force_mN"], rel=1e-9)


def test_a_part_of_the_sweep_done_elsewhere_gives_the_same_numbers(report):
    """With a model of its own, from what a process is sent: quick sibling of the next test."""
    p, law, ks = pickle.loads(pickle.dumps((dict(report.parameters), None, range(1, 3))))
    assert delta_soft_touch._chunk(p, law, ks) == list(report.outcome.sweep[1:])


@pytest.mark.slow
def test_a_sweep_on_all_cores_gives_the_same_numbers_in_the_same_order(monkeypatch):
    parallel = execute(STUDY, ["positions=24"])
    monkeypatch.setattr(delta_soft_touch, "_SERIAL", 25)
    serial = execute(STUDY, ["positions=24"])
    assert parallel.outcome.sweep == serial.outcome.sweep
    assert parallel.summary["metrics"] == serial.summary["metrics"]


@pytest.mark.slow
def test_a_law_reaches_the_sweep_on_all_cores():
    """The finger's own law, given for both contacts: a brick that rests does not tell the table's."""
    a0, a1 = DEFAULT["a0"], DEFAULT["a1"]
    own = execute(STUDY, ["positions=24"])
    given = execute(STUDY, ["positions=24"], f"baumgarte:a0={a0},a1={a1},a2=0")
    other = execute(STUDY, ["positions=24"], f"baumgarte:a0={a0},a1={1.25 * a1},a2=0")
    assert [x.peak for x in given.outcome.sweep] == pytest.approx([x.peak for x in own.outcome.sweep], rel=1e-9)
    assert other.outcome.sweep[-1].peak == pytest.approx(1.25 * own.outcome.sweep[-1].peak, rel=0.01)


@pytest.mark.slow
def test_of_two_hundred_bricks_none_is_pushed_beyond_its_limit():
    report = execute(STUDY)
    m = report.summary["metrics"]
    assert report.ok
    assert m["sweep_runs"] == len(report.outcome.sweep) == 200
    assert m["sweep_worst_share_of_limit"] < 1
    assert m["sweep_bounces"] == m["sweep_bricks_moved"] == 0
    for x in report.outcome.sweep:
        assert x.peak < x.limit
        assert x.moved == 0.0
        assert x.time == pytest.approx(1.8 + (FACE + x.offset) / SPEED, abs=0.05)


def test_progress_goes_to_the_end_and_never_back():
    seen = []
    execute(STUDY, ["positions=1"], progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(DEFAULT["until"])


# The command line.


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (["k_p=1e5"], "PDFF controller, axis z1 at t = 0 s: expected 0 <= k_p <= k_d² and k_d >= 0, or the loop need"),
        (["k_d=12"], "k_p = 150 1/s², k_d = 12 1/s with k_d² = 144. Lower k_p or raise k_d."),
        (["controller=stiff", "k_p_stiff=1e5"], "k_p = 100000 1/s², k_d = 305 1/s with k_d² = 93025"),
        (["limit=0"], "parameter 'limit' of study 'delta-soft-touch': expected a finite number above 0, got '0'"),
        (["period=0"], "parameter 'period' of study 'delta-soft-touch': expected a finite number above 0, got '0'"),
        (
            ["distance=-0.01"],
            "parameter 'distance' of study 'delta-soft-touch': expected a finite number of at least 0",
        ),
        (["encoder=60"], "encoder: expected a whole number of bits, 1 to 40, got 60. Give e.g. 22."),
        (["positions=0"], "parameter 'positions' of study 'delta-soft-touch': expected a whole number of at least 1"),
        (["positions=1.5"], "expected a whole number of at least 1, got '1.5'. The default is 200."),
        (["controller=soffft"], "expected a known choice, got 'soffft'. Did you mean 'soft'"),
        (["until=2"], "parameter 'until' of study 'delta-soft-touch': expected a finite number above 2.5, got '2'"),
        (["approach=0.1"], "move 1 of the trajectory: expected a duration of at least 0.862"),
        (["speed=0.2"], "expected a final velocity within (0.1, 0.1, 0.1) m/s, got (0.2, 0, 0)"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(capsys, settings, text):
    words = [word for setting in ("positions=1", *settings) for word in ("--set", setting)]
    code = main(["run", "delta-soft-touch", *words])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert text in captured.err


def test_a_law_from_the_command_line_is_that_of_both_contacts():
    report = execute(STUDY, ["positions=1"], law="baumgarte:a0=2500,a1=120,a2=0")
    assert set(verdicts(report)) == ALWAYS
    assert report.ok
    p = {**DEFAULT, "a0": 2500.0, "a1": 120.0}
    contact = report.summary["metrics"]["contact_time"]
    expected = force_of_one_axis(p, contact, contact + np.linspace(1e-9, 0.4, 20_001)).max()
    assert report.summary["metrics"]["peak_force_mN"] == pytest.approx(1000 * expected, rel=0.01)
    chosen = Baumgarte(a0=2500.0, a1=120.0, a2=0.0)
    assert laws_of(DEFAULT, chosen) is chosen
    assert set(laws_of(DEFAULT)) == {"finger", "table"}


# Robot and brick as a model.


def test_the_finger_pushes_flange_and_brick_with_equal_and_opposite_forces(model):
    """J of the gap is minus that of the flange along z₁ on the robot, and one on the brick's face."""
    q, v = model.start_vectors({})
    terms = model.terms(q, v)
    pose = ROBOT.follow(q[:9])
    finger, table = terms["J"]
    assert finger[:9] == pytest.approx(-pose.J_v[0], abs=1e-15)
    assert finger[9:].tolist() == [1.0, 0.0, 0.0]
    assert np.flatnonzero(table).tolist() == [11]
    assert table[11] == -1.0
    names = [x.name for x in model.inputs]
    assert terms["B"][:9, names.index("f1")] == pytest.approx(-finger[:9], abs=1e-15)


def test_the_robot_of_the_study_is_the_robot_without_a_brick(model):
    alone, (q, v) = robots.delta((-0.02, 0.0, 0.4)), model.start_vectors({})
    with_brick, without = model.terms(q, v), alone.terms(q[:9], v[:9])
    assert with_brick["M"][:9, :9] == pytest.approx(without["M"], abs=1e-15)
    assert (with_brick["M"][:9, 9:] == 0).all()
    assert with_brick["b"][:9] == pytest.approx(without["b"], abs=1e-15)
    assert with_brick["H"][:, :9] == pytest.approx(without["H"], abs=1e-15)
    assert np.diag(with_brick["M"])[9:].tolist() == [0.06] * 3


def test_the_impulse_of_a_collision_is_taken_from_the_flange_and_given_to_the_brick():
    """A flange that floats is hit by a frictionless brick: momentum m_b v on one side, Λ₁₁ ż₁ on the other."""
    model = delta_with_brick((0.0, 0.0, 0.4), brick=(1e-4, 0.0), mu=0.0)
    laws = {"finger": Baumgarte(a0=1e6, a1=1000.0, a2=0.0), "table": Baumgarte()}
    result = simulate(
        model, laws, until=0.2, start={"brick1_dot": -0.01}, controller=GravityCompensation(period=0.0005), sample=1e-3
    )
    gained = 0.06 * (result["brick1_dot"] - result["brick1_dot"][0])
    assert gained == pytest.approx(result["impulse_finger"], abs=1e-12)
    assert result["impulse_finger"][-1] > 0.06 * 0.01
    leaves = result.liftoffs("finger")[0]
    after = (result.t > leaves) & (result.t < leaves + 0.02)
    speed = np.polyfit(result.t[after], result["z1"][after], 1)[0]
    assert speed == pytest.approx(-result["impulse_finger"][-1] * mobility_at(0.0)[0, 0], rel=5e-3)
    assert result.certificate.energy.relative < 1e-9


def test_a_brick_in_the_air_falls_freely_and_takes_the_impulse_along():
    model = delta_with_brick((0.0, 0.0, 0.4), brick=(1e-4, 0.0))
    start = {"brick1_dot": -0.01, "brick3": 0.3}  # 0.2 m above the table
    laws = Baumgarte(a0=1e6, a1=1000.0, a2=0.0)
    result = simulate(model, laws, until=0.15, start=start, controller=GravityCompensation())
    assert result.touchdowns("table") == []
    assert result["brick3"] == pytest.approx(0.3 + 9.81 * result.t**2 / 2, abs=1e-12)
    assert (result["brick2"] == 0).all()
    assert 0.06 * (result["brick1_dot"] + 0.01) == pytest.approx(result["impulse_finger"], abs=1e-12)


# The figures of all three studies of the robot.


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("delta-singularity", ["until=5"]),
        ("delta-singularity", ["until=6", "turn=2", "kick_time=4", "kick=20", "angle=1.2"]),
        ("delta-tracking", ["until=3"]),
        ("delta-tracking", ["until=2", "inertia=printed", "model_error=-0.05", "k_p=400", "k_d=40"]),
        ("delta-tracking", ["until=1.5", "model_error=0.1"]),
        ("delta-soft-touch", ["positions=1", "until=2.6"]),
    ],
)
def test_figures_draw_without_warnings_and_say_their_units(name, settings):
    draw(execute(find_study(name), settings))


def test_the_figures_of_the_soft_and_of_the_stiff_run_differ_in_what_they_show(report, stiff):
    for run, word in ((report, "soft"), (stiff, "stiff")):
        figure = draw(run)
        assert word in figure.get_suptitle()
        _, _, gain, force, brick, impact, spread = figure.axes
        assert gain.lines[0].get_ydata()[0] == run.parameters["k_p" if word == "soft" else "k_p_stiff"]
        assert force.get_ylim()[1] > max(force.lines[0].get_ydata().max(), 1000 * LIMIT)
        assert brick.lines[0].get_ydata()[-1] == pytest.approx(run.summary["metrics"]["brick_displacement_um"])
        assert impact.get_xlabel() == "time from contact [ms]"
        assert len(spread.collections[0].get_offsets()) == len(run.outcome.sweep)


def test_a_run_that_fails_is_reported_without_a_sweep():
    """The motors cannot hold the robot with 0.5 N·m: it falls where its controller cannot follow."""
    with pytest.warns(ImpingeWarning, match="stopped early"):
        report = execute(STUDY, ["limit=0.5", "positions=2"])
    assert not report.ok
    assert "gave up" in report.summary["claims"][-1]["note"]
    assert report.summary["metrics"]["sweep_runs"] == 0


def test_encoders_of_22_bits_make_the_force_ripple(model):
    ideal, real = (touch(model, f"encoder={bits}", until=13.5, sample=0.002) for bits in (0, 22))
    last = ideal.t > 12.5
    assert ideal["force_finger"][last].std() < 1e-6
    last = real.t > 12.5
    assert 2e-3 < real["force_finger"][last].std() < 3e-2
    assert real["force_finger"][last].mean() == pytest.approx(0.04, abs=0.005)
    assert (real["brick1"] == real["brick1"][0]).all()
