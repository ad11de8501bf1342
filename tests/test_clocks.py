"""Sampled controllers in front of a plant that is not sampled."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from impinge import Adaptive, Baumgarte, FixedStep, InputError, robots, simulate
from impinge.errors import ImpingeWarning
from impinge.simulation import Clock
from impinge.simulation.clock import exact_period
from models import cart, pulled_ball, two_carts


class Recorder:
    """A controller that plays back commands (a function of the step's number) and writes down what it sees."""

    def __init__(self, period, commands):
        self.period = period
        self.commands = commands
        self.calls = []
        self.times = []
        self.seen = []

    def reset(self, measurement):
        self.calls.append("reset")
        self.first = measurement

    def step(self, t, measurement):
        self.calls.append("step")
        self.times.append(t)
        self.seen.append(measurement)
        return self.commands(len(self.times) - 1)


class PD:
    """u = −kp x − kd v."""

    def __init__(self, period, kp, kd):
        self.period, self.kp, self.kd = period, kp, kd

    def reset(self, measurement):
        pass

    def step(self, t, measurement):
        return -self.kp * measurement.x - self.kd * measurement.x_dot


# Clocks


def test_a_decimal_period_is_the_fraction_that_was_meant():
    assert exact_period("c", 0.002) == Fraction(1, 500)
    assert exact_period("c", 1 / 3) == Fraction(1, 3)
    assert exact_period("c", Fraction(3, 7)) == Fraction(3, 7)
    assert exact_period("c", np.float64(0.1)) == Fraction(1, 10)
    assert exact_period("c", 2) == 2


@pytest.mark.parametrize("period", [0, -0.1, float("nan"), float("inf"), "fast", None, 1e-12])
def test_a_period_that_is_none_is_refused(period):
    with pytest.raises(InputError, match="expected a period above zero"):
        exact_period("controller X", period)


def test_500_and_200_hertz_share_a_millisecond():
    clock = Clock([Fraction(1, 500), Fraction(1, 200)])
    assert clock.base == Fraction(1, 1000)
    assert clock.multiples == (2, 5)
    due = [(tick, clock.due(tick)) for tick in range(11) if clock.due(tick)]
    assert due == [(0, (0, 1)), (2, (0,)), (4, (0,)), (5, (1,)), (6, (0,)), (8, (0,)), (10, (0, 1))]


def test_a_clock_skips_base_ticks_at_which_nothing_is_due():
    clock = Clock([Fraction(1, 500), Fraction(1, 200)])
    ticks = [0]
    while ticks[-1] < 20:
        ticks.append(clock.next(ticks[-1]))
    assert ticks == [tick for tick in range(21) if clock.due(tick)]


def test_500_and_200_hertz_do_not_drift_apart_in_100000_ticks():
    clock = Clock([exact_period("fast", 0.002), exact_period("slow", 0.005)])
    tick, counts = 0, [0, 0]
    for _ in range(100_000):
        tick = clock.next(tick)
        for i in clock.due(tick):
            counts[i] += 1
            # the k-th tick of a period is at k periods, rounded once: as if no other tick had been before it
            assert clock.time(tick) == float(counts[i] * (Fraction(1, 500), Fraction(1, 200))[i])
    assert counts[0] // 5 == counts[1] // 2
    assert tick == max(2 * counts[0], 5 * counts[1])


def test_periods_without_a_common_decimal_have_an_exact_base():
    periods = [Fraction(1, 3), Fraction(1, 7), Fraction(2, 5)]
    clock = Clock(periods)
    assert clock.base == Fraction(1, 105)
    assert [multiple * clock.base for multiple in clock.multiples] == periods
    assert clock.due(2 * 105) == (0, 1, 2)
    assert clock.time(2 * 105) == 2.0


# When controllers are called, and with what


def test_controllers_step_at_multiples_of_their_period_and_not_at_the_end():
    fast, slow = Recorder(0.002, lambda k: {}), Recorder(0.005, lambda k: {})
    assert simulate(cart(), until=2.0, controller=[fast, slow]).ok
    assert fast.times == [k / 500 for k in range(1000)]
    assert slow.times == [k / 200 for k in range(400)]


def test_reset_comes_once_before_the_first_step():
    controller = Recorder(0.1, lambda k: 0.0)
    simulate(cart(), until=1.0, controller=controller, start={"x": 2.0, "x_dot": -1.0})
    assert controller.calls == ["reset"] + ["step"] * 10
    assert controller.first == controller.seen[0] == (2.0, -1.0)


def test_a_measurement_is_coordinates_and_velocities_if_the_model_has_no_outputs():
    controller = Recorder(0.5, lambda k: 0.0)
    simulate(cart(), until=1.0, controller=controller, start={"x": 1.0, "x_dot": 3.0})
    assert controller.seen[0]._fields == ("x", "x_dot")
    assert controller.seen[1].x == pytest.approx(2.5, abs=1e-12)
    assert controller.seen[1].x_dot == pytest.approx(3.0, abs=1e-12)


def test_a_measurement_is_the_outputs_and_all_coordinates_and_velocities():
    controller = Recorder(0.5, lambda k: 0.0)
    simulate(cart(outputs=True), until=1.0, controller=controller, start={"x": 1.0, "x_dot": 3.0})
    assert controller.seen[0]._fields == ("twice", "speed", "x", "x_dot")
    assert controller.seen[0] == (2.0, 3.0, 1.0, 3.0)
    assert controller.seen[1].twice == pytest.approx(5.0, abs=1e-12)


def test_controllers_due_together_see_the_same_measurement():
    one, two = Recorder(0.1, lambda k: {"u": float(k)}), Recorder(0.2, lambda k: {})
    simulate(cart(), until=1.0, controller=[one, two])
    assert two.seen == one.seen[::2]


@pytest.mark.parametrize("offset", [0.0, 3e-13, -3e-13, 9e-13, -9e-13])
def test_a_tick_at_the_instant_of_a_touchdown_samples_the_state_before_it(offset):
    # From h = g (0.5 + offset)²/2 the ball lands at 0.5 s + offset: within the time resolution of the tick.
    controller = Recorder(0.5, lambda k: {})
    landing = 0.5 + offset
    law = Baumgarte(a0=100, a1=20, a2=1e6)
    result = simulate(robots.ball(height=8 * landing**2 / 2, gravity=8.0), law, until=1.0, controller=controller)
    touchdown = next(event for event in result.events if event.after == "Contact")
    assert touchdown.time == pytest.approx(landing, abs=1e-12)
    seen = controller.seen[1]
    if touchdown.time <= 0.5:
        assert (seen.q, seen.q_dot) == (result["q"][touchdown.row], result["q_dot"][touchdown.row])
    else:
        assert seen.q == pytest.approx(4 * (landing**2 - 0.25), abs=1e-14)
    assert seen.q_dot == pytest.approx(-4.0, abs=1e-11)
    assert result.mode("floor", touchdown.row) == "Free"


# What a command does


def test_the_command_of_step_k_holds_from_its_tick_to_the_next():
    T, n = 0.01, 200
    commands = np.random.default_rng(1).normal(size=n)
    controller = Recorder(T, lambda k: commands[k])
    result = simulate(cart(), until=n * T, controller=controller)
    x, v = 0.0, 0.0
    for k in range(n):
        assert controller.times[k] == pytest.approx(k * T, abs=1e-15)
        assert tuple(controller.seen[k]) == pytest.approx((x, v), abs=1e-10)
        x, v = x + T * v + T**2 / 2 * commands[k], v + T * commands[k]
    assert (result["x"][-1], result["x_dot"][-1]) == pytest.approx((x, v), abs=1e-10)


def test_between_ticks_the_recorded_input_is_that_of_the_last_tick():
    commands = np.random.default_rng(2).normal(size=10)
    result = simulate(cart(), until=1.0, controller=Recorder(0.1, lambda k: commands[k]))
    inside = np.abs(result.t * 10 - np.round(result.t * 10)) > 1e-9
    assert inside.sum() > 100
    assert np.array_equal(result["u"][inside], commands[np.floor(result.t[inside] * 10).astype(int)])


@pytest.mark.parametrize("method", [Adaptive(), FixedStep(0.003)], ids=["adaptive", "fixed"])
def test_a_sampled_pd_follows_the_power_of_its_matrix(method):
    T, kp, kd, n = 0.05, 4.0, 2.5, 100
    A = np.array([[1.0, T], [0.0, 1.0]]) - np.outer([T**2 / 2, T], [kp, kd])
    assert np.abs(np.linalg.eigvals(A)).max() < 1
    result = simulate(cart(), until=n * T, controller=PD(T, kp, kd), start={"x": 1.0}, method=method)
    for k in (1, 2, 10, 50):
        row = np.flatnonzero(np.abs(result.t - k * T) < 1e-12)[0]
        state = np.linalg.matrix_power(A, k) @ [1.0, 0.0]
        assert (result["x"][row], result["x_dot"][row]) == pytest.approx(state, abs=1e-12)
    assert (result["x"][-1], result["x_dot"][-1]) == pytest.approx(np.linalg.matrix_power(A, n) @ [1.0, 0.0], abs=1e-12)


def test_a_pd_sampled_too_slowly_is_unstable_as_its_matrix_says():
    # The same gains in continuous time are stable: what is tested is the hold.
    T, kp, kd = 1.0, 4.0, 2.5
    A = np.array([[1.0, T], [0.0, 1.0]]) - np.outer([T**2 / 2, T], [kp, kd])
    radius = np.abs(np.linalg.eigvals(A)).max()
    assert radius > 1
    result = simulate(cart(), until=20.0, controller=PD(T, kp, kd), start={"x": 1.0})
    end = np.linalg.matrix_power(A, 20) @ [1.0, 0.0]
    assert (result["x"][-1], result["x_dot"][-1]) == pytest.approx(end, rel=1e-9)


def test_two_rates_hold_their_inputs_independently():
    fast, slow = Recorder(0.1, lambda k: {"left": float(k)}), Recorder(0.25, lambda k: {"right": float(-k)})
    result = simulate(two_carts(), until=1.0, controller=[fast, slow])
    assert result["x_left_dot"][-1] == pytest.approx(0.1 * sum(range(10)), abs=1e-12)
    assert result["x_right_dot"][-1] == pytest.approx(-0.25 * sum(range(4)), abs=1e-12)


@pytest.mark.parametrize(
    "command", [2.0, 2, np.float64(2.0), [2.0], (2.0,), np.array([2.0]), {"u": 2.0}], ids=lambda c: type(c).__name__
)
def test_a_command_may_be_a_number_a_sequence_or_a_dict(command):
    result = simulate(cart(), until=1.0, controller=Recorder(0.5, lambda k: command))
    assert result["x"][-1] == pytest.approx(1.0, abs=1e-12)
    assert (result["u"] == 2.0).all()


def test_a_sequence_commands_the_inputs_in_order_and_a_dict_by_name():
    for command in ([1.0, 3.0], {"right": 3.0, "left": 1.0}):
        result = simulate(two_carts(), until=1.0, controller=Recorder(0.5, lambda k, c=command: c))
        assert (result["x_left"][-1], result["x_right"][-1]) == pytest.approx((0.5, 1.5), abs=1e-12)


def test_inputs_that_a_dict_does_not_name_stay_as_they_were():
    controller = Recorder(0.25, lambda k: {"left": 1.0} if k == 0 else {})
    result = simulate(two_carts(), until=1.0, controller=controller, inputs={"right": 5.0})
    assert (result["left"] == 1.0).all()
    assert (result["right"] == 5.0).all()


def test_a_run_with_a_controller_repeats_bit_for_bit():
    def run():
        noise = np.random.default_rng(4)
        law = Baumgarte(a0=100, a1=20, a2=1e6)
        push = Recorder(Fraction(1, 30), lambda k: 15 * noise.normal())
        return simulate(pulled_ball(), law, until=2.0, controller=push, start={"z": 0.5})

    one, two = run(), run()
    assert one.events == two.events
    assert all(np.array_equal(one[name], two[name]) for name in one.signals)


# What may be wrong with a command


def test_a_command_of_the_wrong_size_says_how_many_numbers_are_expected():
    with pytest.raises(InputError, match=r"expected a command of 2 numbers \(left, right\), got 3"):
        simulate(two_carts(), until=1.0, controller=Recorder(0.1, lambda k: [1.0, 2.0, 3.0]))


def test_one_number_for_two_inputs_is_refused():
    with pytest.raises(InputError, match=r"expected a command of 2 numbers \(left, right\), got 1"):
        simulate(two_carts(), until=1.0, controller=Recorder(0.1, lambda k: 1.0))


def test_a_command_to_a_model_without_inputs_is_refused():
    with pytest.raises(InputError, match="the model has no input"):
        simulate(robots.ball(), Baumgarte(), until=1.0, controller=Recorder(0.1, lambda k: 1.0))


def test_a_command_to_an_unknown_input_names_the_nearest():
    with pytest.raises(InputError, match=r"controller Recorder.*'lefd'.*Did you mean 'left'"):
        simulate(two_carts(), until=1.0, controller=Recorder(0.1, lambda k: {"lefd": 1.0}))


@pytest.mark.parametrize("command", ["fast", ["a", "b"], {"left": "fast"}, [[1.0], [2.0, 3.0]]], ids=str)
def test_a_command_that_is_no_number_is_refused_by_name(command):
    with pytest.raises(InputError, match="controller Recorder"):
        simulate(two_carts(), until=1.0, controller=Recorder(0.1, lambda k: command))


def test_an_object_that_is_no_controller_is_refused():
    with pytest.raises(InputError, match=r"a controller with period, reset\(measurement\) and step"):
        simulate(cart(), until=1.0, controller=lambda t: 1.0)


def test_a_controller_without_a_usable_period_is_refused():
    with pytest.raises(InputError, match="controller Recorder: expected a period above zero"):
        simulate(cart(), until=1.0, controller=Recorder(0.0, lambda k: 1.0))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_command_that_is_not_finite_ends_the_run_with_what_there_is_and_the_reason(bad):
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(cart(), until=1.0, controller=Recorder(0.1, lambda k: bad if k == 5 else 1.0))
    assert not result.ok
    assert f"commanded {bad}" in result.reason
    assert "'u'" in result.reason
    assert "t = 0.5" in result.reason
    assert result.t[-1] == pytest.approx(0.5, abs=1e-12)
    assert result["x"][-1] == pytest.approx(0.125, abs=1e-12)
    assert np.isfinite(result["u"]).all()


def test_a_first_command_that_is_not_finite_leaves_the_start():
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(cart(), until=1.0, controller=Recorder(0.1, lambda k: {"u": float("nan")}), start={"x": 3.0})
    assert not result.ok
    assert "commanded nan for input 'u' at t = 0 s" in result.reason
    assert (result.t.tolist(), result["x"].tolist()) == ([0.0], [3.0])


# Commands and contacts


def test_a_command_that_lifts_the_ball_opens_the_contact_at_its_tick():
    lift = Recorder(0.5, lambda k: 0.0 if k == 0 else 12.0)
    result = simulate(pulled_ball(), Baumgarte(), until=2.0, controller=lift)
    opening = result.events[0]
    assert (opening.time, opening.before) == (0.5, "Contact")
    assert opening.after != "Contact"
    assert (result["u"][opening.row], result["u"][opening.row + 1]) == (0.0, 12.0)
    assert result["force_floor"][opening.row] == pytest.approx(9.81, abs=1e-9)
    assert result["force_floor"][opening.row + 1] == 0.0
    assert result["z"][-1] == pytest.approx((12.0 - 9.81) * 1.5**2 / 2, abs=1e-9)


def test_a_pull_below_the_weight_leaves_the_contact_closed_and_lowers_its_force():
    result = simulate(pulled_ball(), Baumgarte(), until=1.0, controller=Recorder(0.5, lambda k: 4.0 * k))
    assert result.events == ()
    assert result["force_floor"][-1] == pytest.approx(9.81 - 4.0, abs=1e-9)
