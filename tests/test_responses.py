"""Responses, margins, poles and zeros against arithmetic of hundreds of digits: nothing is wrong without saying so."""

from __future__ import annotations

import math

import control
import numpy as np
import pytest

from impinge import bode, margins, nyquist, poles_and_zeros, sampled
from impinge.errors import InputError
from linear_systems import chain, hidden_loop, loop_of, plain, random_loop, random_system, strange_loop

pytest.importorskip("mpmath")

from response_oracle import Exact, silent, wrong_gain, wrong_locus, wrong_margins, wrong_response, wrong_roots

KINDS = ("damped", "undamped", "mixed")


def all_faults(system):
    """Every number of every function that is off by more than it says."""
    exact = Exact(system)
    faults, _ = wrong_margins(system, exact)
    return wrong_response(system, exact) + wrong_roots(system, exact) + faults


def held(system):
    """The same sampled, twenty times in a period of the fastest mode."""
    found = sampled(system, 0.3 / float(np.abs(np.linalg.eigvals(system.A)).max()))
    return plain(found.A, found.B, found.C, found.D, found.dt)


@pytest.mark.parametrize("masses", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("collocated", [True, False])
def test_short_chains_of_masses_have_the_response_margins_poles_and_zeros_of_their_matrices(masses, kind, collocated):
    for seed in range(2):
        system = loop_of(chain(masses, kind, collocated, seed), seed)
        assert all_faults(system) == []
        assert all_faults(held(system)) == []


@pytest.mark.slow
@pytest.mark.parametrize("masses", range(2, 31))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("collocated", [True, False])
def test_chains_of_up_to_thirty_masses_have_the_response_margins_poles_and_zeros_of_their_matrices(
    masses, kind, collocated
):
    for seed in range(4 if masses < 9 else 2 if masses < 16 else 1):
        system = loop_of(chain(masses, kind, collocated, seed), seed)
        assert all_faults(system) == []
        if masses < 16:
            assert all_faults(held(system)) == []


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_systems_are_what_sixty_digits_say(start):
    for seed in range(start, start + 20):
        system = random_system(seed)
        exact = Exact(system)
        assert (seed, wrong_response(system, exact) + wrong_roots(system, exact)) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_a_thousand_random_systems_are_what_sixty_digits_say(start):
    for seed in range(start, start + 100):
        system = random_system(seed)
        exact = Exact(system)
        assert (seed, wrong_response(system, exact) + wrong_roots(system, exact)) == (seed, [])


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_gains_and_root_loci_are_what_sixty_digits_say(start):
    for seed in range(start, start + 20):
        loop = random_loop(seed)
        exact = Exact(loop)
        assert (seed, wrong_gain(loop, exact) + wrong_locus(loop, exact, [0.0, 0.3, 10.0])) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_the_gains_and_root_loci_of_a_thousand_loops_are_what_sixty_digits_say(start):
    for seed in range(start, start + 100):
        loop = random_loop(seed)
        exact = Exact(loop)
        faults = wrong_gain(loop, exact) + wrong_locus(loop, exact, [0.0, 1e-3, 0.3, 10.0, 1e4])
        assert (seed, faults) == (seed, [])


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_loops_have_the_margins_that_sixty_digits_say(start):
    for seed in range(start, start + 20):
        loop = random_loop(seed)
        assert (seed, wrong_margins(loop, Exact(loop))[0]) == (seed, [])


@pytest.mark.slow
def test_a_thousand_random_loops_have_the_margins_that_sixty_digits_say_and_few_are_in_doubt():
    doubted = 0
    for seed in range(1000):
        loop = random_loop(seed)
        faults, doubt = wrong_margins(loop, Exact(loop))
        assert (seed, faults) == (seed, [])
        doubted += doubt
    assert doubted < 30


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_strange_loops_are_what_sixty_digits_say(start):
    for seed in range(start, start + 20):
        assert (seed, all_faults(strange_loop(seed))) == (seed, [])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 600, 100))
def test_six_hundred_strange_loops_are_what_sixty_digits_say(start):
    for seed in range(start, start + 100):
        assert (seed, all_faults(strange_loop(seed))) == (seed, [])


def test_modes_that_are_not_driven_or_not_seen_do_not_make_a_response_look_better_known_than_it_is():
    for seed in range(20):
        loop = hidden_loop(seed)
        assert (seed, wrong_response(loop, Exact(loop))) == (seed, [])


@pytest.mark.slow
def test_four_hundred_loops_with_modes_that_are_not_driven_or_not_seen_have_the_response_of_their_matrices():
    for seed in range(400):
        loop = hidden_loop(seed)
        assert (seed, wrong_response(loop, Exact(loop))) == (seed, [])


def test_five_damped_masses_have_the_gain_margin_of_the_closed_loop():
    """The gain at which the closed loop's last pole reaches the imaginary axis, by bisection."""
    n, k, c = 5, 1e4, 1.0
    links = np.diag([1.0, 2, 2, 2, 1]) - np.diag(np.ones(4), 1) - np.diag(np.ones(4), -1)
    stiff, damp = k * links, c * links
    stiff[0, 0] += 1e3
    damp[0, 0] += 10
    a = np.block([[np.zeros((n, n)), np.eye(n)], [-stiff, -damp]])
    b, view = np.eye(10)[5], 300 * np.eye(10)[4]
    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        stable = np.linalg.eigvals(a - middle * np.outer(b, view)).real.max() < 0
        low, high = (middle, high) if stable else (low, middle)
    found = margins(plain(a, b, view))
    assert found.gain_up == pytest.approx(low, rel=1e-9)
    assert round(found.gain_up, 2) == 11.46
    assert found.trust["gain_up"] < 1e-9


@pytest.mark.parametrize("slow", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("fast", [1e3, 2e4])
def test_an_integrator_and_a_slow_pole_stay_two(slow, fast):
    parts = ([[0, 1], [0, -slow]], [0, 1], [100, 0]), *[([[0, 1], [-(fast**2), -1.4 * fast]], [0, fast**2], [1, 0])] * 2
    loop = plain(*parts[0])
    for part in parts[1:]:
        loop = plain(*part) * loop
    loop = plain(loop.A, loop.B, loop.C, loop.D)
    channel = poles_and_zeros(loop)
    near = sorted(channel.remaining_poles, key=abs)[:2]
    assert near[0] == 0
    assert near[1] == pytest.approx(-slow, rel=1e-12)
    crossover = math.sqrt((math.hypot(slow**2, 200) - slow**2) / 2)  # of 100/(s (s + slow)); filters are far above
    assert margins(loop).crossovers == pytest.approx((crossover,), rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_a_triple_pole_is_not_merged_with_one_that_is_near(seed):
    rng = np.random.default_rng(seed)
    a = np.diag([-4.693, -4.693, -4.693, -4.559, -1.0]) + np.diag([1.0, 1.0, 0, 0], 1)
    change = rng.normal(size=(5, 5)) + 3 * np.eye(5)
    back = np.linalg.inv(change)
    channel = poles_and_zeros(plain(change @ a @ back, change @ rng.normal(size=5), rng.normal(size=5) @ back))
    assert channel.remaining_poles[:3] == pytest.approx([-4.693] * 3, rel=1e-9)
    assert len(set(channel.remaining_poles[:3])) == 1
    assert 0 < channel.remaining_pole_trust[0] < 0.05
    assert channel.remaining_poles[3:] == pytest.approx([-4.559, -1], rel=1e-9)
    assert "×3   known to" in str(channel)


@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-6, 1e-7])
def test_a_narrow_resonance_is_not_missed(width):
    """L = 1/(s + 1) + 3w·ω₀s/(s² + 2wω₀s + ω₀²)·(−1): a spike of height 3/2 at ω₀ that crosses −1."""
    w0 = 37.123456
    a = np.array([[-1.0, 0, 0], [0, 0, w0], [0, -w0, -2 * width * w0]])
    loop = plain(a, [1, 0, 1], [1, 0, -3 * width * w0])
    found = margins(loop)
    assert sum(abs(w / w0 - 1) < 10 * width for w in found.crossovers) == 2
    assert not found.stable
    peak = bode(loop)
    assert peak.magnitude[np.abs(peak.frequency / w0 - 1) < width].max() == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6, 1e-8])
def test_a_curve_that_dips_below_one_between_two_frequencies_crosses_twice(depth):
    """L = k (s² + 2aζs + 1)/(s² + 2ζs + 1) with a < 1: |L|² is k² at both ends and least, (ka)², at ω = 1."""
    zeta, a = 0.1, 0.5
    k = (1 - depth) / a
    loop = plain([[0, 1], [-1, -2 * zeta]], [0, 1], [0, k * 2 * zeta * (a - 1)], k)
    found = margins(loop)
    # |L| = 1 where (1 − x)² (k² − 1) = 4 ζ² x (1 − k² a²), x = ω²
    ratio = 4 * zeta**2 * (1 - (k * a) ** 2) / (k**2 - 1)
    low, high = sorted(np.roots([1, -2 - ratio, 1]).real)
    assert found.crossovers == pytest.approx((math.sqrt(low), math.sqrt(high)), rel=1e-6)


def test_what_is_real_all_along_has_no_crossings_and_says_so():
    found, warned = silent(margins, plain([[0, 1], [-4, 0]], [0, 1], [3, 0]))
    assert not found.stable
    assert any("border of stability" in text for text in found.doubts)
    assert not warned


def test_numbers_that_double_precision_does_not_resolve_are_warned_of():
    """Two modes that differ by rounding, driven against each other: little is left of the response."""
    loop = plain(np.diag([-1.0, -1.0 - 1e-13]), [1, 1], [1e13, -1e13])
    found, warned = silent(bode, loop)
    exact = Exact(loop)
    assert wrong_response(loop, exact) == []
    assert warned or found.trust.max() < 1e-3


@pytest.mark.parametrize("period", [1e-6, 1e-3, 1.0])
def test_a_delay_of_one_sample_turns_the_phase_and_nothing_else(period):
    plain_loop = control.tf([0.3], [1, -1], period)
    delayed = control.ss(plain_loop * control.tf([1], [1, 0], period))
    one, two = bode(plain_loop), bode(delayed)
    at = np.interp(np.log(two.frequency), np.log(one.frequency), np.log(one.magnitude))
    assert np.log(two.magnitude) == pytest.approx(at, abs=1e-3)
    assert two.phase == pytest.approx(-90 - 1.5 * np.degrees(two.frequency * period), abs=1e-6)


@pytest.mark.parametrize("size", [1e-40, 1e-8, 1e8, 1e40])
def test_no_unit_of_time_ends_with_an_error_of_linear_algebra(size):
    rng = np.random.default_rng(5)
    for n in (1, 3, 6):
        system = plain(size * rng.normal(size=(n, n)), size * rng.normal(size=n), rng.normal(size=n))
        one = plain(system.A / size, system.B / size, system.C)
        assert silent(margins, system)[0].stable == silent(margins, one)[0].stable
        found, expected = poles_and_zeros(system), poles_and_zeros(one)
        assert found.remaining_poles / size == pytest.approx(expected.remaining_poles, rel=1e-9)
        assert np.isfinite(silent(bode, system)[0].magnitude).all()
        assert silent(nyquist, system)[0].encirclements == silent(nyquist, one)[0].encirclements


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_rates_that_no_product_can_hold_are_refused(size):
    with pytest.raises(
        InputError, match=r"expected rates whose products are numbers, got rates of about 3e[+-]150 in 3"
    ):
        margins(plain(size * np.diag([-1.0, -2.0, -3.0]), [1, 1, 1], [1, 1, 1]))
