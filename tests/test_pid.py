"""PID control: closed forms, python-control, saturation, and what it refuses."""

from collections import namedtuple
from fractions import Fraction

import control
import numpy as np
import pytest

from impinge.control import PID, PIDController
from impinge.errors import InputError
from impinge.model import ModelBuilder
from impinge.simulation import Controller, simulate


def cart(mass=2.0, damping=0.0):
    """A mass with a force and a disturbance; it measures its place only."""
    b = ModelBuilder("cart")
    x, v = b.coordinate("x")
    b.kinetic(mass * v**2 / 2)
    b.damping(damping * v, along=x)
    b.force(b.input("force", "N"), along=x)
    b.force(b.input("load", "N"), along=x)
    b.output("place", x, "m")
    return b.build()


def on_cart(reference, **settings):
    return PIDController(reference, outputs=("place",), inputs=("force",), **settings)


def test_proportional_integral_and_derivative_parts_add_up():
    T, pole = 0.1, 5.0
    pid = PID(k_p=2.0, k_i=3.0, k_d=0.5, period=T, pole=pole)
    pid.reset([1.0])
    assert pid.step([1.0], [1.0]) == [0.0]
    decay = np.exp(-pole * T)
    expected = 2.0 * -0.2 + 3.0 * T * -0.2 / 2 - 0.5 * (1 - decay) * 0.2 / T
    assert pid.step([1.0], [1.2])[0] == pytest.approx(expected, rel=1e-12)


def test_on_a_ramp_the_filtered_derivative_is_exact():
    T, pole, slope = 0.01, 40.0, 0.7
    pid = PID(k_p=0.0, k_d=1.0, period=T, pole=pole)
    pid.reset([0.0])
    for k in range(1, 60):
        (output,) = pid.step([0.0], [slope * k * T])
        assert output == pytest.approx(-slope * (1 - np.exp(-pole * k * T)), rel=1e-12)


def test_the_filter_holds_back_what_is_faster_than_its_pole():
    """At a frequency w the gain is k_d w / √(1 + (w/pole)²), up to what sampling changes."""
    T, pole, w = 1e-4, 50.0, 200.0
    pid = PID(k_p=0.0, k_d=1.0, period=T, pole=pole)
    outputs = [pid.step([0.0], [np.sin(w * k * T)])[0] for k in range(10_000)]
    assert max(outputs[5000:]) == pytest.approx(w / np.sqrt(1 + (w / pole) ** 2), rel=1e-3)


def test_the_integral_of_a_ramp_is_exact():
    T, k_i = 0.02, 3.0
    pid = PID(k_p=0.0, k_i=k_i, period=T)
    pid.reset([0.0])
    for k in range(50):
        (output,) = pid.step([k * T], [0.0])
        assert output == pytest.approx(k_i * (k * T) ** 2 / 2, abs=1e-14)


def test_a_reference_that_steps_does_not_kick_through_the_derivative():
    with_derivative, without = PID(k_p=2.0, k_d=5.0), PID(k_p=2.0)
    for pid in (with_derivative, without):
        pid.reset([0.0])
    assert with_derivative.step([1.0], [0.0]) == without.step([1.0], [0.0]) == [2.0]


def test_a_step_on_a_double_integrator_is_what_python_control_computes():
    T, mass = 0.01, 2.0
    settings = {"k_p": 60.0, "k_i": 40.0, "k_d": 24.0, "period": T, "pole": 150.0}
    result = simulate(cart(mass), until=3.0, controller=on_cart(lambda t: 0.1, **settings), sample=T)
    plant = control.sample_system(control.tf([1], [mass, 0, 0]), T)
    pid = PID(**settings)
    on_reference = PID(**{**settings, "k_d": 0.0}).transfer()
    loop = control.feedback(control.ss(plant), control.ss(pid.transfer())) * control.ss(on_reference)
    _, expected = control.forced_response(loop, U=np.full(301, 0.1))
    measured = np.interp(np.arange(301) * T, result.t, result["place"])
    np.testing.assert_allclose(measured, expected, atol=1e-9)


def test_a_fast_pid_on_a_first_order_plant_approaches_the_continuous_closed_form():
    """PI on 1/(τ s + 1) with the zero on the pole: the loop is k/s and the step 1 − exp(−k t)."""
    tau, k, T = 0.5, 4.0, 1e-3
    pid = PID(k_p=k * tau, k_i=k, period=T)
    y, decay = 0.0, np.exp(-T / tau)
    for n in range(2000):
        assert y == pytest.approx(1 - np.exp(-k * n * T), abs=2 * k * T)
        (u,) = pid.step([1.0], [y])
        y = decay * y + (1 - decay) * u
    assert y == pytest.approx(1.0, abs=1e-3)


def test_the_integral_removes_a_constant_disturbance():
    settings = {"k_p": 60.0, "k_d": 24.0, "period": 0.002}
    without = simulate(cart(), until=12.0, inputs={"load": -3.0}, controller=on_cart(lambda t: 0.1, **settings))
    assert without["place"][-1] == pytest.approx(0.1 - 3.0 / 60.0, abs=1e-9)
    controller = on_cart(lambda t: 0.1, k_i=60.0, **settings)
    removed = simulate(cart(), until=12.0, inputs={"load": -3.0}, controller=controller)
    assert removed["place"][-1] == pytest.approx(0.1, abs=1e-6)
    assert controller.pid.integral[0] == pytest.approx(3.0, abs=1e-5)


def overshoot(limit):
    settings = {"k_p": 20.0, "k_i": 8.0, "k_d": 12.0, "period": 0.002, "limit": limit}
    result = simulate(cart(), until=20.0, controller=on_cart(lambda t: 1.0, **settings), sample=0.01)
    assert np.abs(result["force"]).max() <= limit
    assert result["place"][-1] == pytest.approx(1.0, abs=1e-3)
    return result["place"].max() - 1


class WindsUp(PID):
    """The same without anti-windup: the integral never stands still."""

    def step(self, references, values):
        before = self.integral[0] + self._half[0] * (references[0] - values[0] + self._errors[0])
        outputs = super().step(references, values)
        self.integral[0] = before
        return outputs


def test_anti_windup_recovers_from_saturation(monkeypatch):
    clamped = overshoot(limit=2.0)
    monkeypatch.setattr("impinge.control.blocks.pid.PID", WindsUp)
    assert clamped < 0.3 * overshoot(limit=2.0)


def test_a_saturated_output_returns_as_soon_as_the_error_does():
    pid = PID(k_p=1.0, k_i=10.0, period=0.01, limit=1.0)
    assert [pid.step([5.0], [0.0]) for _ in range(1000)][-1] == [1.0]
    assert pid.integral[0] <= 1.0
    assert pid.step([-0.5], [0.0])[0] < 1.0
    assert [pid.step([-5.0], [0.0]) for _ in range(1000)][-1] == [-1.0]
    assert pid.step([0.5], [0.0])[0] > -1.0


def test_each_axis_has_its_own_gains_and_limit():
    pid = PID(k_p=[1.0, 2.0], k_i=0.0, axes=("a", "b"), limit=np.array([10.0, 1.5]))
    assert pid.step([1.0, 1.0], [0.0, 0.5]) == [1.0, 1.0]
    assert pid.step([1.0, 1.0], [0.0, 0.0]) == [1.0, 1.5]


def test_reset_forgets_the_past():
    pid = PID(k_p=1.0, k_i=2.0, k_d=3.0, period=0.01)
    fresh = [pid.step([1.0], [x])[0] for x in (0.0, 0.1, 0.3)]
    pid.reset([0.0])
    assert [pid.step([1.0], [x])[0] for x in (0.0, 0.1, 0.3)] == fresh


def test_the_controller_reads_and_commands_by_name():
    Measurement = namedtuple("Measurement", "y1 other y2")
    controller = PIDController(
        lambda t: (t, 2 * t), outputs=("y2", "y1"), inputs=("u2", "u1"), k_p=(1.0, 10.0), period=Fraction(1, 100)
    )
    assert isinstance(controller, Controller)
    assert controller.period == Fraction(1, 100)
    controller.reset(Measurement(0.0, 9.0, 0.0))
    command = controller.step(0.5, Measurement(0.25, 9.0, 0.125))
    assert command == {"u2": 0.375, "u1": 7.5}
    assert all(type(value) is float for value in command.values())


def test_a_run_can_be_repeated_with_the_same_controller():
    controller = on_cart(lambda t: 0.1, k_p=60.0, k_i=40.0, k_d=24.0)
    first, second = (simulate(cart(), until=1.0, controller=controller) for _ in range(2))
    assert (first["place"] == second["place"]).all()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"limit": 0.0}, "PID controller, axis 1: expected an output limit above zero, got 0. Leave it out"),
        ({"limit": -2.4}, "expected an output limit above zero, got -2.4"),
        ({"limit": float("nan")}, "expected an output limit above zero, got nan"),
        ({"period": 0.0}, "expected a period above zero, in seconds, got 0.0. Give e.g. period = 0.002"),
        ({"period": -0.01}, "expected a period above zero, in seconds, got -0.01"),
        ({"k_p": -1.0}, "PID controller, axis 1: expected a finite k_p of zero or more, got -1. If the actuator acts"),
        ({"k_i": -1.0}, "expected a finite k_i of zero or more, got -1"),
        ({"k_d": float("inf")}, "expected a finite k_d of zero or more, got inf"),
        ({"k_p": "much"}, "expected a finite k_p of zero or more, got 'much'"),
        ({"pole": 0.0}, "a pole in rad/s"),
        ({"k_p": [1.0, 2.0]}, "PID controller: expected one k_p for all axes, or one for each of 1, got 2."),
    ],
)
def test_a_bad_setting_says_what_to_do(settings, text):
    with pytest.raises(InputError) as caught:
        PID(**{"k_p": 1.0, "period": 0.01, **settings})
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"limit": (2.4, 0.0)}, "PID controller, axis y2: expected an output limit above zero, got 0."),
        ({"inputs": ("u1",)}, "at least one output, and as many inputs, by name, got outputs ('y1', 'y2') and inputs"),
        ({"outputs": "y1"}, "at least one output, and as many inputs, by name, got outputs 'y1'"),
        ({"outputs": (), "inputs": ()}, "at least one output"),
        ({"reference": 0.5}, "a reference that is a function of time, got 0.5. Write lambda t: 0.5"),
    ],
)
def test_a_bad_controller_says_what_to_do(changes, text):
    settings = {"reference": lambda t: 0.0, "outputs": ("y1", "y2"), "inputs": ("u1", "u2"), "k_p": 1.0, **changes}
    with pytest.raises(InputError) as caught:
        PIDController(settings.pop("reference"), **settings)
    assert text in str(caught.value)


def test_an_output_that_the_model_has_not_is_named_with_the_nearest():
    controller = PIDController(lambda t: 0.0, outputs=("places",), inputs=("force",), k_p=1.0)
    with pytest.raises(InputError, match=r"expected a known output, got 'places'. Did you mean 'place'"):
        simulate(cart(), until=1.0, controller=controller)


def test_a_reference_with_the_wrong_number_of_axes_is_refused():
    with pytest.raises(InputError, match="a reference: 1 finite numbers, one for each axis"):
        simulate(cart(), until=1.0, controller=on_cart(lambda t: (0.0, 0.0), k_p=1.0))
