"""The ball maze: its closed forms, its controller, its study."""

import control
import numpy as np
import pytest

from impinge import robots
from impinge.analysis import poles_and_zeros
from impinge.control import Lead, MazeController, gain_on_root_locus
from impinge.control.maze.design import balanced, check_stable, closed_loop, design, ring_models
from impinge.errors import InputError
from impinge.robots.maze import RINGS
from impinge.studies.registry import find_study
from impinge.studies.runner import execute

R_B, M_B, J_M, G = 6.35e-3, 8.4e-3, 1e-3, 9.81
QUICK = ("robustness=false",)


def pole(r, m=M_B, J=J_M):
    """p on a ring of outer radius r, from the energies."""
    return np.sqrt(G / ((r + R_B) * (7 / 5 - 4 / 25 * m * r**2 / (J + 2 / 5 * m * r**2))))


@pytest.fixture(scope="module")
def summary():
    report = execute(find_study("ball-maze"), QUICK)
    return report.summary


def test_the_unstable_pole_of_every_ring_is_the_closed_form(summary):
    assert summary["metrics"]["unstable_pole"] == pytest.approx([pole(r) for r in RINGS], rel=1e-9)
    assert summary["metrics"]["unstable_pole"][0] == pytest.approx(8.954, abs=1e-3)


@pytest.mark.parametrize("ring", range(4))
def test_the_pole_zero_map_has_the_papers_structure(summary, ring):
    poles = summary["metrics"]["open_loop_poles"][ring]
    p = pole(RINGS[ring])
    assert max(abs(im) for _, im in poles) < 1e-6
    assert sorted(re for re, _ in poles) == pytest.approx(sorted([-p, -5, -5, -5, -5, 0, 0, p]), abs=1e-6)
    assert sorted(summary["metrics"]["cancelled"][ring]) == ["constraint"] * 4 + ["rigid-body"] * 2


@pytest.mark.parametrize("ring", range(4))
def test_the_reduced_form_has_four_states_and_no_pole_of_the_stabilization(summary, ring):
    poles = sorted(re for re, _ in summary["metrics"]["reduced_poles"][ring])
    p = pole(RINGS[ring])
    assert poles == pytest.approx([-p, 0, 0, p], abs=1e-6)


@pytest.mark.parametrize("ring", range(4))
def test_the_second_loop_has_a_zero_in_the_right_half_plane(summary, ring):
    """A torque moves the ball, whatever the first loop does: at √(5g/7R) the maze stands still."""
    zeros = [re for re, _ in summary["metrics"]["zeros"][ring]]
    z = np.sqrt(5 * G / (7 * (RINGS[ring] + R_B)))
    assert sorted(zeros) == pytest.approx([-150, -z, z], rel=1e-9)


def test_the_ball_goes_through_all_rings_to_the_center_without_bouncing(summary):
    m = summary["metrics"]
    assert m["contact_sequence"] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert m["landings"] == {"ring1": 1, "ring2": 1, "ring3": 1, "ring4": 1, "center": 1}
    assert m["ring_reached"] == 4
    assert m["center_reached"]
    assert m["min_force_in_contact"] >= 0
    assert m["steady_penetration"] < 1e-9
    assert m["max_penetration"] < 0.01 * R_B
    assert m["contact_times"][1] == pytest.approx(np.sqrt(2 * (0.137 - RINGS[0] - R_B) / G), abs=1e-9)


def test_every_claim_of_the_quick_run_holds(summary):
    assert {claim["id"] for claim in summary["claims"] if not claim["ok"]} == set()


def test_the_gates_of_the_papers_eq_11_are_where_the_ball_falls():
    result = execute(find_study("ball-maze"), QUICK).outcome.result
    for ring, edge in zip(("ring1", "ring2", "ring3", "ring4"), (np.pi / 2, 0, np.pi / 2, 0), strict=True):
        (fall,) = [event for event in result.events if event.contact == ring and event.after == "Passed"]
        angle = result["q1"][fall.row] + np.arctan2(result["q2"][fall.row], result["q3"][fall.row])
        assert angle == pytest.approx(edge, abs=1e-9)


def test_the_controller_is_off_in_the_center(summary):
    report = execute(find_study("ball-maze"), QUICK)
    r = report.outcome.result
    inside = r.t > report.summary["metrics"]["duration"] + 0.1
    assert inside.any()
    assert np.abs(r["torque"][inside]).max() == 0.0


def test_the_gains_are_those_of_the_believed_maze_whatever_it_really_is(summary):
    other = execute(find_study("ball-maze"), [*QUICK, "J_m=1.2e-3", "m_b=7e-3", "offset=0.002"]).summary["metrics"]
    assert other["gains"] == summary["metrics"]["gains"]
    assert other["center_reached"]
    assert other["unstable_pole"] == pytest.approx([pole(r, 7e-3, 1.2e-3) for r in RINGS], rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (["ball_pole=-5"], "lead compensator: expected a stable one: finite zero and gain, and a pole above zero"),
        (["turn_pole=0"], "lead compensator: expected a stable one"),
        (
            ["ball_gain=150", "turn_gain=0.5"],
            "maze controller on ring2: expected compensators that stabilize the linear model of every",
        ),
        (["turn_gain=50"], "got a closed-loop pole at "),
        (["ball_zero=-1"], "root locus of loop 'ring4': expected a gain above zero that stabilizes every loop"),
        (["height=0.05"], "parameter 'height' of study 'ball-maze': expected a finite number of at least 0.0881"),
    ],
)
def test_a_compensator_that_cannot_work_is_refused_before_the_run(settings, text):
    with pytest.raises(InputError) as caught:
        execute(find_study("ball-maze"), [*QUICK, *settings])
    assert text in str(caught.value)


def test_an_unstable_maze_is_named_by_its_ring():
    models = ring_models(robots.maze(), {})
    ball, turn = design(models, Lead(40, 150, 0.0), Lead(0.3, 10, 0.0))
    check_stable(models, ball, turn)
    with pytest.raises(InputError, match=r"maze controller on ring4: .* a closed-loop pole at 8"):
        check_stable({"ring4": models["ring4"]}, Lead(40, 150, 100.0), Lead(0.3, 10, 1e-9))


def test_closing_the_loops_one_by_one_is_closing_them_together():
    models = ring_models(robots.maze(), {})
    ball, turn = Lead(40, 150, 900.0), Lead(0.3, 10, 0.5)
    for linear in models.values():
        k1, k2 = (control.ss(lead.transfer) for lead in (ball, turn))
        together = control.feedback(linear, np.array([[1.0, 1.0]]) * control.append(k1, k2), sign=1)
        one_by_one = closed_loop(linear, ball, turn)
        assert np.sort_complex(one_by_one.poles()) == pytest.approx(np.sort_complex(together.poles()), rel=1e-6)
        # The first loop moves the pair and leaves the two at the origin to the second.
        assert (np.abs(balanced(linear, ball).poles()) < 1e-4).sum() == 2


def test_the_gain_on_the_locus_is_the_best_of_all_gains():
    loops = {
        f"p = {p}": control.tf([k, 20 * k], [1, 150, -(p**2), -150 * p**2]) for k, p in ((20.0, 9.0), (12.0, 12.0))
    }
    gain = gain_on_root_locus(loops, damping=0.4)
    slope = 0.4 / np.sqrt(1 - 0.4**2)

    def slowest(k):
        poles = [(1 + k * loop).zeros() for loop in loops.values()]
        return max((p.real + slope * np.abs(p.imag)).max() for p in poles)

    assert slowest(gain) < 0
    assert all(slowest(gain) <= slowest(k) + 1e-6 for k in gain * np.geomspace(0.1, 10, 200))


@pytest.mark.parametrize("damping", [0, 1, -0.5, float("nan")])
def test_a_damping_ratio_lies_between_zero_and_one(damping):
    with pytest.raises(InputError, match="root locus: expected a damping ratio between 0 and 1"):
        gain_on_root_locus({"mass": control.tf([1, 1], [1, 0, 0])}, damping)


@pytest.mark.parametrize(("zero", "pole_"), [(30.0, 150.0), (0.3, 10.0)])
def test_a_sampled_lead_is_the_trapezoidal_rule(zero, pole_):
    period, lead = 0.004, Lead(zero, pole_, 3.0)
    reference = control.sample_system(lead.transfer, period, method="tustin")
    block = lead.sampled(period)
    values = np.sin(np.arange(200) * 0.3)
    _, expected = control.forced_response(reference, U=values)
    assert [block.step(value) for value in values] == pytest.approx(expected, abs=1e-12)
    w = 1j * np.linspace(0.1, 100, 7)
    assert block.transfer(np.exp(w * period)) == pytest.approx(reference(np.exp(w * period)), rel=1e-9)


def test_a_lead_that_is_reset_begins_in_the_steady_state_of_its_value():
    block = Lead(30.0, 150.0, 3.0).sampled(0.004)
    block.reset(2.0)
    assert [block.step(2.0) for _ in range(5)] == pytest.approx([2.0 * 3.0 * 30 / 150] * 5, rel=1e-12)


class Measured:
    def __init__(self, x=0.0, angle=0.0, distance=0.08795):
        self.x, self.angle, self.distance = x, angle, distance


def test_the_controller_rests_while_the_ball_is_in_the_air_and_keeps_its_limit():
    radii = [r + R_B for r in RINGS]
    controller = MazeController(Lead(40, 150, 1000.0), Lead(0.3, 10, 0.5), radii, period=0.004, limit=0.2)
    controller.reset(Measured(distance=0.137))
    assert controller.step(0.0, Measured(x=0.002, distance=0.137)) == 0.0
    assert controller.step(0.004, Measured(x=0.002)) == 0.2
    assert controller.step(0.008, Measured(x=-0.002)) == -0.2
    assert controller.step(0.012, Measured(distance=0.01)) == 0.0
    assert controller.ring == 4


def test_all_four_poles_at_minus_five_cancel_from_torque_to_position_only():
    from impinge import Baumgarte

    linear = ring_models(robots.maze(), {}, law=Baumgarte(25, 10), form="stabilized")["ring1"]
    for output in ("x", "angle"):
        channel = poles_and_zeros(linear, output=output)
        assert [c.kind for c in channel.cancellations].count("constraint") == 4
    assert poles_and_zeros(linear, output="angle").remaining_poles.size == 4
    assert linear.constraint_poles == pytest.approx([-5] * 4)
    assert ring_models(robots.maze(), {})["ring1"].constraint_poles.size == 0
