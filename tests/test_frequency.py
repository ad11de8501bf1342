"""Root locus, frequency response, margins and sampling against closed forms and python-control."""

from __future__ import annotations

import math
from fractions import Fraction

import control
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impinge.analysis.linear.linear_model import LinearModel
from impinge.analysis.linear.sampled import sampled
from impinge.analysis.responses.frequency import bode, nyquist, root_locus
from impinge.analysis.responses.margins import margins
from impinge.analysis.responses.poles import poles_and_zeros
from impinge.errors import InputError

S = control.tf("s")
INF = math.inf


def with_hidden_modes(loop):
    """The same transfer function with an unstable mode nobody sees and two on the border that nobody drives."""
    system = control.ss(loop)
    n = system.nstates
    a = np.block([[system.A, np.zeros((n, 3))], [np.zeros((3, n)), np.array([[0, 1, 0], [0, 0, 0], [0, 0, 4.0]])]])
    b, c = np.vstack([system.B, [[0], [0], [1]]]), np.hstack([system.C, [[1, 2, 0]]])
    change = np.linalg.qr(np.random.default_rng(4).normal(size=(n + 3, n + 3)))[0] * np.logspace(-2, 2, n + 3)
    back = np.linalg.inv(change)
    return control.StateSpace(change @ a @ back, change @ b, c @ back, system.D, remove_useless_states=False)


# Margins


@pytest.mark.parametrize("dress", [lambda loop: loop, with_hidden_modes])
def test_margins_of_an_integrator_with_two_lags(dress):
    """L = 1/(s (s+1)²): the phase is −180° at ω = 1, where |L| = 1/2; |L| = 1 where ω (ω² + 1) = 1."""
    result = margins(dress(1 / (S * (S + 1) ** 2)))
    crossover = np.roots([1, 0, 1, -1])
    crossover = float(crossover[np.isreal(crossover)].real[0])
    phase = 90 - 2 * math.degrees(math.atan(crossover))
    assert result.stable
    assert result.gain == (pytest.approx((1, 2), rel=1e-8),)
    assert (result.gain_up, result.gain_down) == (pytest.approx(2, rel=1e-8), 0)
    assert result.crossovers == pytest.approx((crossover,), rel=1e-8)
    assert result.phase == pytest.approx(phase, rel=1e-8)
    assert result.delay == pytest.approx(math.radians(phase) / crossover, rel=1e-8)


def test_an_unstable_plant_has_a_lower_limit_of_the_gain():
    """L = k (s + a)/(s² − p²): stable for k a > p², so the gain may fall to p²/(k a) and rise for ever."""
    p, a, k = 8.954, 6.0, 40.0
    result = margins(with_hidden_modes(k * (S + a) / (S**2 - p**2)))
    assert result.stable
    assert result.gain_down == pytest.approx(p**2 / (k * a), rel=1e-7)
    assert result.gain_up == INF
    squared = np.roots([1, 2 * p**2 - k**2, p**4 - k**2 * a**2])
    crossover = math.sqrt(squared.max())
    assert result.crossovers == pytest.approx((crossover,), rel=1e-7)
    assert result.phase == pytest.approx(math.degrees(math.atan(crossover / a)), rel=1e-7)


def test_a_loop_that_is_stable_between_two_gains_has_both_limits():
    """L = 6 (s + 1)²/s³·1/(s/40 + 1)² is conditionally stable: the limits are where python-control puts them."""
    loop = 6 * (S + 1) ** 2 / S**3 / (S / 40 + 1) ** 2
    result = margins(loop)
    factors, *_ = control.stability_margins(loop, returnall=True)
    assert result.stable
    assert result.gain_down == pytest.approx(max(f for f in factors if f < 1), rel=1e-5)
    assert result.gain_up == pytest.approx(min(f for f in factors if f > 1), rel=1e-5)
    for factor in (result.gain_down, result.gain_up):
        assert nyquist(loop * (0.999 * factor)).stable != nyquist(loop * (1.001 * factor)).stable


@pytest.mark.parametrize("gain", [0.5, 2.0, 5.0])
def test_modulus_is_one_over_the_peak_of_the_sensitivity(gain):
    """L = k/(s + 1)²: |1 + L|² = ((1 + k − ω²)² + 4ω²)/(1 + ω²)² on a fine grid of x = ω²."""
    x = np.linspace(0, 400, 4_000_001)
    distance = np.sqrt((1 + gain - x) ** 2 + 4 * x) / (1 + x)
    assert margins(gain / (S + 1) ** 2).modulus == pytest.approx(distance.min(), rel=1e-8)


def test_a_first_order_loop_stays_outside_the_unit_disk():
    assert margins(3 / (S + 1)).modulus == pytest.approx(1)


@pytest.mark.parametrize("loop", [1 / S**2, 3 / (S * (S + 1) ** 2), 2 / (S**2 - 4), 1 / (S - 2)])
def test_an_unstable_closed_loop_has_no_margins(loop):
    result = margins(loop)
    assert not result.stable
    assert (result.gain_up, result.gain_down, result.phase, result.delay, result.modulus) == (None,) * 5


def test_a_loop_gain_that_never_reaches_one_has_infinite_margins():
    result = margins(0.5 / (S + 1))
    assert (result.gain_up, result.gain_down, result.phase, result.delay) == (INF, 0, INF, INF)
    assert result.crossovers == ()


def test_a_crossover_far_above_all_poles_is_found():
    result = margins(1e7 / ((S + 1) * (S / 1e9 + 1)))
    assert result.crossovers == pytest.approx((1e7,), rel=1e-3)
    assert margins(1e6 / (S + 1)).crossovers == pytest.approx((1e6,), rel=1e-6)


def test_an_integrator_bears_the_delay_of_a_quarter_turn():
    assert margins(4 / S).delay == pytest.approx(math.pi / 2 / 4, rel=1e-8)


def test_an_unstable_pole_that_cancels_is_left_to_poles_and_zeros():
    loop = 2 * (S - 1) / ((S - 1) * (S + 1))
    assert nyquist(loop).closed_poles == pytest.approx([-3])
    assert [c.pole for c in poles_and_zeros(control.ss(loop)).cancellations] == pytest.approx([1])


def test_a_loop_gain_that_stays_above_one_bears_no_delay():
    assert margins((5 * S + 1) / (S + 1)).delay == 0


def test_a_pure_negative_gain_has_its_inverse_as_limit():
    assert margins(control.tf([-0.5], [1])).gain_up == 2


def test_margins_of_a_sampled_integrator():
    """An integrator k T/(z − 1): stable for k T < 2; with a delay of one period for k T < 1."""
    period, gain = 0.1, 5.0
    result = margins(control.tf([gain * period], [1, -1], period))
    assert result.gain_up == pytest.approx(2 / (gain * period), rel=1e-8)
    crossover = 2 / period * math.asin(gain * period / 2)
    assert result.crossovers == pytest.approx((crossover,), rel=1e-8)
    assert result.phase == pytest.approx(90 - math.degrees(crossover * period / 2), rel=1e-8)
    delayed = margins(control.tf([period], [1, -1, 0], period))
    assert delayed.gain_up == pytest.approx(1 / period, rel=1e-8)


# Nyquist and Bode

ROOTS = st.floats(-5, 5).filter(lambda x: abs(x) > 0.2)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(ROOTS, min_size=2, max_size=4), st.lists(ROOTS, max_size=1), st.floats(0.5, 30))
def test_encirclements_are_those_that_python_control_counts(poles, zeros, gain):
    assume(all(abs(zero - pole) > 0.01 for zero in zeros for pole in poles))
    loop = control.zpk(zeros, poles, gain)
    result = nyquist(loop)
    if np.abs(result.closed_poles.real).min() > 0.05:
        assert result.encirclements == control.nyquist_response(loop, warn_encirclements=False).count
        assert result.stable == bool((control.feedback(loop, 1).poles().real < 0).all())


def test_hidden_modes_change_neither_curve_nor_verdict():
    loop = 20 * (S + 3) / (S**2 - 4) / (S / 50 + 1)
    plain, dressed = nyquist(loop), nyquist(with_hidden_modes(loop))
    assert (plain.encirclements, plain.stable) == (dressed.encirclements, dressed.stable) == (-1, True)
    assert dressed.frequency == pytest.approx(plain.frequency, rel=1e-6)
    assert dressed.curve == pytest.approx(plain.curve, rel=1e-6)


def test_a_bode_response_is_the_transfer_function():
    loop = (S + 3) / (S * (S**2 + 0.02 * S + 25))
    response = bode(loop)
    expected = loop(1j * response.frequency)
    assert response.magnitude == pytest.approx(np.abs(expected), rel=1e-8)
    assert np.exp(1j * np.radians(response.phase)) == pytest.approx(expected / np.abs(expected), rel=1e-6)
    assert response.phase[[0, -1]] == pytest.approx([-90, -180], abs=2)
    assert np.abs(np.diff(response.phase)).max() < 30


@pytest.mark.parametrize(
    ("loop", "start"), [(1 / S**3, -270), (-1 / (S + 1), -180), (1 / (S**2 - 4), -180), (S / (S + 1), 90)]
)
def test_phase_starts_where_the_integrators_put_it(loop, start):
    assert bode(loop).phase[0] == pytest.approx(start, abs=1)


def test_frequencies_reach_from_below_the_slowest_to_above_the_fastest_mode_that_is_seen():
    frequency = bode(with_hidden_modes(1 / (S + 10) / (S + 1000))).frequency
    assert frequency[[0, -1]] == pytest.approx([0.1, 1e5], rel=1e-6)
    discrete = bode(control.tf([1], [1, -0.9], 0.01)).frequency
    assert 0.9 * np.pi / 0.01 < discrete[-1] < np.pi / 0.01


# Root locus


def test_branches_of_a_double_integrator_with_lead_follow_the_closed_form():
    """s² + k (s + 1) = 0."""
    locus = root_locus(with_hidden_modes((S + 1) / S**2))
    k = locus.gains
    expected = np.sort_complex(np.array([np.roots([1, gain, gain]) for gain in k]))
    assert np.sort_complex(locus.poles) == pytest.approx(expected, abs=1e-4)
    assert locus.open_poles.tolist() == [0, 0]
    assert locus.zeros == pytest.approx([-1])


@pytest.mark.parametrize(
    "loop", [1 / (S * (S + 1) ** 2), (S + 1) / (S**2 - 4), (S**2 + 1) / (S * (S**2 + 4)), -2 * (S + 1) / (S + 3)]
)
def test_default_gains_show_smooth_branches_from_the_poles(loop):
    locus = root_locus(loop)
    assert locus.gains[0] == 0
    assert np.sort_complex(locus.poles[0]) == pytest.approx(np.sort_complex(loop.poles()), abs=1e-6)
    extent = 3 * np.abs(np.concatenate([locus.open_poles, locus.zeros])).max()
    inside = np.maximum(np.abs(locus.poles[:-1]), np.abs(locus.poles[1:])) < extent
    assert np.abs(np.diff(locus.poles, axis=0))[inside].max() < 0.1 * extent
    for pole in locus.poles[len(locus.gains) // 2]:
        gain = locus.gains[len(locus.gains) // 2]
        assert 1 + gain * loop(pole) == pytest.approx(0, abs=1e-6)


def test_branches_end_at_the_zeros():
    locus = root_locus((S + 1) * (S + 4) / (S * (S - 2)), gains=np.geomspace(0.01, 1e6, 300))
    assert np.sort(locus.poles[-1].real) == pytest.approx([-4, -1], rel=1e-4)


def test_figures_show_what_they_are_of():
    loop = 20 * (S + 3) / (S**2 - 4)
    labels = [text.get_text() for text in root_locus(loop).plot(gain=2).axes[0].get_legend().get_texts()]
    assert labels == ["poles", "zeros", "closed loop, gain 2"]
    assert [axis.get_ylabel() for axis in bode(loop).plot().axes] == ["magnitude", "phase [°]"]
    assert nyquist(loop).plot().axes[0].get_title().endswith("stable")
    assert root_locus(control.tf([1], [1, -0.5], 0.1)).plot().axes[0].get_xlabel() == "real part"


# Sampling


def test_the_sampled_double_integrator_is_the_textbook_one():
    system = sampled(control.ss([[0, 1], [0, 0]], [[0], [2]], [[1, 0]], 0), 0.1)
    np.testing.assert_allclose(system.A, [[1, 0.1], [0, 1]], atol=1e-15)
    np.testing.assert_allclose(system.B, [[0.01], [0.2]], atol=1e-15)
    assert system.dt == 0.1


@pytest.mark.parametrize("rate", [3.0, -7.0])
def test_a_sampled_pole_is_its_exponential(rate):
    system = sampled(control.ss([[rate]], [[2]], [[1]], 0.5), Fraction(1, 8))
    assert system.A[0, 0] == pytest.approx(math.exp(rate / 8))
    assert system.B[0, 0] == pytest.approx(2 * (math.exp(rate / 8) - 1) / rate)
    assert (system.D[0, 0], system.dt) == (0.5, 0.125)


@pytest.mark.parametrize("seed", range(3))
def test_step_responses_agree_at_the_samples(seed):
    rng = np.random.default_rng(seed)
    system = control.ss(rng.normal(size=(4, 4)) - np.eye(4), rng.normal(size=(4, 1)), rng.normal(size=(1, 4)), 0)
    period = 0.13
    times = period * np.arange(12)
    exact = control.step_response(system, times).outputs
    assert control.step_response(sampled(system, period), times).outputs == pytest.approx(exact, abs=1e-9)


def test_sampling_keeps_names_units_mode_and_constraint_poles():
    model = LinearModel(
        ([[0, 1], [-25, -10]], [[0], [1]], [[1, 0]], 0),
        mode=("floor",),
        form="stabilized",
        constraint_poles=[-5, -5],
        units=(("m", "m/s"), ("N",), ("m",)),
        states=["x", "v"],
        inputs=["push"],
        outputs=["place"],
        name="block",
    )
    found = sampled(model, 0.2)
    assert isinstance(found, LinearModel)
    assert (found.state_labels, found.input_labels, found.output_labels) == (["x", "v"], ["push"], ["place"])
    assert (found.mode, found.form, found.dt) == (("floor",), "stabilized", 0.2)
    assert (found.state_units, found.input_units, found.output_units) == (("m", "m/s"), ("N",), ("m",))
    assert found.constraint_poles == pytest.approx(np.exp([-1, -1]))
    assert not isinstance(sampled(control.ss(1 / (S + 1)), 0.1), LinearModel)


# Bad input

PLANT = control.ss([[-1]], [[1]], [[1]], 0)
WIDE = control.ss(np.diag([-1, -2]), np.eye(2), np.eye(2), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sampled(PLANT, 0), r"sampled: expected a period above 0 s, got 0\. Give the sampling period"),
        (lambda: sampled(PLANT, INF), r"sampled: expected a period above 0 s, got inf\."),
        (lambda: sampled(PLANT, "1 ms"), r"sampled: expected a period above 0 s, got '1 ms'\."),
        (lambda: sampled(sampled(PLANT, 0.1), 0.1), r"expected a system in continuous time, got one with dt = 0.1\."),
        (lambda: sampled(1 / (S + 1), 0.1), r"expected a control.StateSpace, got a TransferFunction\."),
        (lambda: bode(WIDE), r"bode: expected one input and one output, got 2 inputs and 2 outputs\. Choose a channel"),
        (lambda: margins(3), r"margins: expected a linear system, got a int\. Convert it"),
        (lambda: nyquist(S), r"nyquist: expected no more zeros than poles, got an improper transfer function\. Add"),
        (lambda: nyquist(control.tf([-1, 0], [1, 1])), r"nyquist: expected 1 \+ gain L\(∞\) ≠ 0, got gain 1 with L"),
        (lambda: root_locus(PLANT, [-1]), r"root_locus: expected gains of zero or more, got \(-1\)\. For negative"),
        (lambda: root_locus(PLANT, ["high"]), r"root_locus: expected gains of zero or more, got \('high'\)\."),
        (lambda: root_locus(control.tf([2], [1])), r"root_locus: expected a loop with poles, got none\. A pure gain"),
    ],
)
def test_what_cannot_be_analyzed_is_refused(call, text):
    with pytest.raises(InputError, match=text):
        call()
