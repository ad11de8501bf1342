"""Bortoff's bouncing ball against the paper, closed forms and an independent integrator."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from impinge.studies.registry import find_study
from impinge.studies.runner import execute


@pytest.fixture(scope="module")
def listing():
    """The run with the defaults of the paper's listing."""
    return execute(find_study("bouncing-ball"))


@pytest.fixture(scope="module")
def undamped():
    """The run of Figs. 3 and 4."""
    return execute(find_study("bouncing-ball"), ["a1=0"])


def exact_contacts(a0, a1, a2, g, height, count):
    """Touchdown, gap-zero-up and liftoff times of a unit-mass ball by DOP853 at tight tolerance."""
    t, v = math.sqrt(2 * height / g), -math.sqrt(2 * g * height)
    touchdowns, ups, liftoffs = [], [], []
    for _ in range(count):
        touchdowns.append(t)

        def force(_, x):
            return g - a1 * x[1] - a0 * x[0] - a2 * x[0] ** 3

        def gap(_, x):
            return x[0]

        force.terminal, force.direction, gap.direction = True, -1, 1
        run = solve_ivp(
            lambda _, x: [x[1], -a1 * x[1] - a0 * x[0] - a2 * x[0] ** 3],
            (t, t + 1),
            [0.0, v],
            method="DOP853",
            rtol=1e-13,
            atol=1e-14,
            events=[force, gap],
        )
        ups += [time for time in run.t_events[1] if time > t + 1e-9]
        if not run.t_events[0].size:
            break
        t, (q, v) = run.t_events[0][0], run.y_events[0][0]
        liftoffs.append(t)
        t, v = t + (v + math.sqrt(v * v + 2 * g * q)) / g, -math.sqrt(v * v + 2 * g * q)
    return touchdowns, ups, liftoffs


def test_defaults_land_three_times_and_stay(listing):
    metrics = listing.summary["metrics"]
    touchdowns, ups, liftoffs = exact_contacts(100, 20, 1e6, 9.81, 1.0, 5)
    assert metrics["touchdown_times"] == pytest.approx(touchdowns, abs=1e-8)
    assert metrics["touchdown_times"] == pytest.approx([0.451524, 1.015104, 1.304346], abs=1e-6)
    assert metrics["liftoff_times"] == pytest.approx(liftoffs, abs=1e-8)
    assert metrics["gap_zero_up_times"] == pytest.approx(ups, abs=1e-7)
    assert metrics["final_mode"] == "Contact"
    assert abs(metrics["final_gap"]) < 1e-9
    assert metrics["final_force"] == pytest.approx(9.81, abs=1e-6)


def test_undamped_contact_ends_as_in_figure_4(undamped):
    metrics = undamped.summary["metrics"]
    _, ups, liftoffs = exact_contacts(100, 0, 1e6, 9.81, 1.0, 5)
    assert metrics["gap_zero_up_times"][4] == pytest.approx(4.35764, abs=1e-5)
    assert metrics["liftoff_times"][4] == pytest.approx(4.36201, abs=1e-5)
    assert metrics["gap_zero_up_times"][:5] == pytest.approx(ups, abs=1e-7)
    assert metrics["liftoff_times"][:5] == pytest.approx(liftoffs, abs=1e-7)


def test_every_undamped_apex_is_higher_by_the_closed_form(undamped):
    q = brentq(lambda q: 100 * q + 1e6 * q**3 - 9.81, 0, 1)
    gained = q - (100 * q**2 / 2 + 1e6 * q**4 / 4) / 9.81
    assert 1000 * gained == pytest.approx(13.885, abs=1e-3)
    heights = undamped.summary["metrics"]["apex_heights"]
    assert heights == pytest.approx(1 + gained * np.arange(1, len(heights) + 1), abs=1e-7)


def test_contact_work_is_the_energy_the_ball_gains(undamped):
    energy = undamped.outcome.result.certificate.energy
    assert energy.end - energy.start == pytest.approx(energy.contacts, abs=1e-6)
    assert energy.contacts > 1.0


def test_the_ball_is_not_stiff_after_the_collision(listing):
    metrics = listing.summary["metrics"]
    assert metrics["mean_step_last_second_s"] >= 20 * metrics["mean_step_first_contact_s"]


def test_certificate_says_there_is_no_penetration_at_rest(listing):
    contact = listing.outcome.result.certificate.contacts["floor"]
    assert contact.steady_penetration is not None
    assert contact.steady_penetration < 1e-9
    assert contact.deepest_penetration > 0.01
    assert contact.smallest_force >= 0


def test_contact_force_is_the_corrected_formula_below_figure_2(listing):
    """λ = m (g − α₁v − α₀q − α₂q³): the paper prints plus signs."""
    r = listing.outcome.result
    closed = r.is_closed("floor")
    q, v = r["q"][closed], r["q_dot"][closed]
    assert r["force_floor"][closed] == pytest.approx(9.81 - 20 * v - 100 * q - 1e6 * q**3, abs=1e-9)


def test_a_ball_that_leaves_above_the_floor_stays_ballistic_for_its_flight(undamped):
    modes = [(event.before, event.after) for event in undamped.outcome.result.events]
    assert modes[0] == ("Free", "Contact")
    assert set(modes[1:]) == {("Contact", "Ballistic"), ("Ballistic", "Contact")}


def test_impulse_of_a_contact_is_the_change_of_momentum(listing):
    r = listing.outcome.result
    touchdown, liftoff = r.events[0], r.events[1]
    change = r["q_dot"][liftoff.row] - r["q_dot"][touchdown.row + 1]
    assert liftoff.impulse == pytest.approx(change + 9.81 * (liftoff.time - touchdown.time), abs=1e-8)


def test_the_caption_of_figure_2_does_not_hold():
    report = execute(find_study("bouncing-ball"), ["a1=1"])
    claim = next(c for c in report.summary["claims"] if c["id"] == "fig2-four-bounces")
    assert not claim["ok"]
    assert claim["value"] == 12
    assert claim["note"]
    assert not report.ok


def test_mass_does_not_change_the_motion():
    heavy = execute(find_study("bouncing-ball"), ["m=7.5"]).summary["metrics"]
    light = execute(find_study("bouncing-ball")).summary["metrics"]
    assert heavy["touchdown_times"] == pytest.approx(light["touchdown_times"], abs=1e-9)
    assert heavy["final_force"] == pytest.approx(7.5 * 9.81, abs=1e-6)
