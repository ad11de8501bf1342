"""Time stepping with complementarity: first order, exact at rest, and never a gain of energy."""

from __future__ import annotations

import functools
import itertools

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from friction_models import feet, incline, ladder, rod, sliding_four_bar, stool, thrown
from impinge import (
    Adaptive,
    Baumgarte,
    Complementarity,
    InputError,
    ModelBuilder,
    linearize,
    robots,
    sensitivity,
    simulate,
)
from impinge.contact.registry import known_laws, parse_law
from impinge.errors import ImpingeWarning
from mechanisms import coupled_cranks, coupled_cranks_pose, four_bar, four_bar_pose
from models import TABLE_WEIGHT, bead_pendulum, cart, pulled_ball, shaker, stack, table

G = 9.81
SCHEMES = ("semi-implicit", "explicit", "implicit")


def order(steps, errors):
    """The slope of log error over log step, by least squares."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


# Smooth motion


@functools.cache
def oscillator():
    b = ModelBuilder("oscillator")
    x, v = b.coordinate("x", start=1.0, speed=1.0)
    b.kinetic(v**2 / 2)
    b.potential(4 * x**2 / 2)
    return b.build()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_smooth_motion_is_of_first_order_in_position_and_velocity(scheme):
    steps = [0.02, 0.01, 0.005, 0.0025]
    runs = [simulate(oscillator(), Complementarity(step=h, scheme=scheme), until=1.0) for h in steps]
    for name, cos, sin in (("x", 1, 0.5), ("x_dot", 1, -2)):
        errors = [np.abs(run[name] - cos * np.cos(2 * run.t) - sin * np.sin(2 * run.t)).max() for run in runs]
        assert order(steps, errors) == pytest.approx(1.0, abs=0.1)


def test_flight_is_what_semi_implicit_Euler_makes_of_it():
    result = simulate(robots.ball(), Complementarity(step=0.01), until=0.3)
    k = np.arange(31)
    assert np.allclose(result["q_dot"], -G * 0.01 * k, rtol=0, atol=1e-13)
    assert np.allclose(result["q"], 1 - G * 0.01**2 * k * (k + 1) / 2, rtol=0, atol=1e-13)


def test_implicit_steps_damp_what_explicit_ones_excite():
    energy = {}
    for scheme in SCHEMES:
        run = simulate(oscillator(), Complementarity(step=0.05, scheme=scheme), until=10.0)
        energy[scheme] = (run["energy_kinetic"] + run["energy_potential"])[-1] / 2.5
    assert energy["implicit"] < 0.5 < 0.9 < energy["semi-implicit"] < 1.1 < 2 < energy["explicit"]
    # One step multiplies the energy by 1 ± h²ω² exactly (ω = 2).
    assert energy["explicit"] == pytest.approx((1 + 0.01) ** 200, rel=1e-9)
    assert energy["implicit"] == pytest.approx((1 + 0.01) ** -200, rel=1e-9)


# Impacts


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_the_time_of_an_impact_is_right_to_first_order(e):
    exact = np.sqrt(2 / G)
    for h in (1e-2, 1e-3, 1e-4):
        first = simulate(robots.ball(), Complementarity(e, step=h), until=0.6).touchdowns("floor")[0]
        assert abs(first - exact) <= 2 * h


def test_bounces_follow_Newtons_hypothesis_to_first_order():
    e, fall = 0.6, np.sqrt(2 / G)
    exact = fall * (1 + 2 * e) + 2 * fall * e**2  # the third impact
    steps, errors = [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4], []
    for h in steps:
        landings = simulate(robots.ball(), Complementarity(e, step=h), until=2.0).touchdowns("floor")
        errors.append(abs(landings[2] - exact))
    assert max(error / h for error, h in zip(errors, steps, strict=True)) < 8
    assert errors[-1] < errors[0] / 8


def test_a_ball_with_restitution_comes_to_rest_on_the_floor():
    result = simulate(robots.ball(), Complementarity(0.5, step=1e-3), until=3.0)
    last = result.t > 2.5
    assert result.mode("floor") == "Contact"
    assert np.abs(result["q"][last]).max() <= 1e-15
    assert np.abs(result["q_dot"][last]).max() <= 1e-13
    assert np.allclose(result["force_floor"][last], G, rtol=1e-12)
    assert result.certificate.contacts["floor"].deepest_penetration <= 1e-15


def test_bounces_that_become_ever_smaller_come_to_an_end():
    start = {"z": 0.3, "angle": 0.2, "x_dot": 0.5}
    result = simulate(feet(), Complementarity(0.5), until=3.0, start=start)
    assert result.events[-1].time < 2.5
    assert result.mode("foot0") == result.mode("foot1") == "Contact"
    assert max(abs(result[name][-1]) for name in ("x_dot", "z_dot", "angle_dot")) <= 1e-12


@pytest.mark.parametrize("h", [1e-2, 3.7e-3, 1e-3])
@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 1.0])
def test_the_energy_of_a_ball_never_grows(e, h):
    result = simulate(robots.ball(), Complementarity(e, step=h), until=5.0)
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert np.diff(energy).max() <= 1e-14


def test_a_ball_without_loss_loses_what_its_steps_lose():
    # Each step loses m g² h² / 2, a bounce nothing more.
    h = 1e-3
    result = simulate(robots.ball(), Complementarity(1.0, step=h), until=9.0)
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert energy[0] - energy[-1] == pytest.approx(9000 * (9.81 * h) ** 2 / 2, rel=1e-6)
    _, tops = result.maxima("q")
    assert (np.diff(tops) < 0).all()


def test_the_impulse_of_an_event_is_the_momentum_that_it_took():
    result = simulate(robots.ball(), Complementarity(1.0, step=1e-3), until=0.6)
    landing = result.events[0]
    assert (landing.before, landing.after) == ("Free", "Contact")
    before, after = landing.row, landing.row + 1
    change = result["q_dot"][after] - result["q_dot"][before]
    assert landing.impulse == pytest.approx(change + G * 1e-3, rel=1e-12)
    assert result["impulse_floor"][after] == landing.impulse
    assert result["force_floor"][after] == pytest.approx(landing.impulse / 1e-3, rel=1e-9)
    assert result.t[after] == landing.time


def masses_and_restitutions(n):
    return st.tuples(
        st.lists(st.floats(0.1, 10.0), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 0.3, 0.7, 1.0]), min_size=n, max_size=n),
        st.lists(st.floats(0.0, 0.3), min_size=n, max_size=n),
        st.lists(st.floats(-3.0, 3.0), min_size=n, max_size=n),
    )


@given(masses_and_restitutions(3))
@settings(max_examples=60)
def test_contacts_never_add_energy_to_a_stack(drawn):
    masses, es, gaps, speeds = drawn
    heights = 0.1 * np.arange(3) + np.cumsum(gaps)
    start = {f"z{k}": float(z) for k, z in enumerate(heights)} | {f"z{k}_dot": v for k, v in enumerate(speeds)}
    laws = {f"c{k}": Complementarity(e, step=5e-3) for k, e in enumerate(es)}
    parameters = {f"m{k}": m for k, m in enumerate(masses)}
    result = simulate(stack(3), laws, until=1.0, start=start, parameters=parameters)
    assert result.ok, result.reason
    scale = 1.0 + sum(masses) * max(map(abs, speeds)) ** 2
    assert np.diff(result["work_contacts"]).max() <= 1e-12 * scale
    assert min(result[f"gap_c{k}"].min() for k in range(3)) >= -1e-12


@given(st.floats(-0.4, 0.4), st.floats(-3, 3), st.floats(-5, 5), st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60)
def test_landing_with_friction_never_adds_energy(tilt, slide, turn, mu, e):
    start = {"z": 0.3, "angle": tilt, "x_dot": slide, "angle_dot": turn, "z_dot": -2.0}
    result = simulate(feet(), Complementarity(e, step=1e-3), until=0.5, start=start, parameters={"mu": mu})
    assert result.ok, result.reason
    assert np.diff(result["work_contacts"]).max() <= 1e-12
    # The whole energy also has the error of the step, at most g h v for each kg: 2 %.
    total = result["energy_kinetic"] + result["energy_potential"]
    assert total.max() <= total[0] + 0.02 * result["energy_kinetic"].max()


def test_restitution_that_would_add_energy_is_taken_back():
    # A rod that lands on one end with much friction: by Newton's hypothesis it would gain (T. R. Kane 1984).
    b = ModelBuilder("kane")
    (x, vx), (z, vz), (angle, speed) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    b.kinetic((vx**2 + vz**2) / 2 + speed**2 / 24)
    b.gap("end", z - 0.5 * ca.sin(angle), slip=x - 0.5 * ca.cos(angle), friction=1.0)
    start = {"z": 0.5 * np.sin(1.0) + 1e-6, "angle": 1.0, "x_dot": 0.7, "z_dot": -1.0}
    result = simulate(b.build(), Complementarity(1.0, step=1e-5), until=1e-4, start=start)
    energy = result["energy_kinetic"]
    rebound = result["gap_end_dot"][-1]
    assert energy[-1] == pytest.approx(energy[0], rel=1e-6)
    assert 0 < rebound < 0.9
    assert result["work_contacts"].max() <= 1e-12


def named(result):
    return {verdict.name: verdict for verdict in result.certificate.verdicts}


# Rest and friction


def test_a_block_inside_its_friction_cone_does_not_creep_in_an_hour():
    result = simulate(incline(), Complementarity(step=1e-2), until=3600.0, sample=1.0)
    assert result.certificate.steps == 360_000
    for name in ("x_dot", "z_dot"):
        assert np.abs(result[name]).max() <= 1e-12
    assert abs(result["down"][-1]) <= 1e-12
    assert result.mode("plane") == "Contact"
    assert result.events == ()


def test_a_block_outside_its_friction_cone_slides_as_Coulomb_says():
    th, mu = 0.3, 0.2
    result = simulate(incline(), Complementarity(step=1e-2), until=1.0, parameters={"th": th, "mu": mu})
    assert np.allclose(result["slip_plane_dot"], G * (np.sin(th) - mu * np.cos(th)) * result.t, rtol=1e-12, atol=1e-12)
    assert np.allclose(result["friction_plane"][1:], -mu * G * np.cos(th), rtol=1e-12)
    assert [(event.before, event.after) for event in result.events] == [("Contact", "Sliding")]


def test_a_block_that_slides_stops_and_stays():
    result = simulate(incline(), Complementarity(step=1e-3), until=2.0, start={"x_dot": 1.0}, parameters={"th": 0.0})
    assert result["x"][-1] == pytest.approx(1 / (2 * 0.5 * G), abs=1e-3)
    assert np.all(np.abs(result["x_dot"][result.t > 1]) <= 1e-12)
    [stop] = result.times("plane", before="Sliding", after="Contact")
    assert stop == pytest.approx(1 / (0.5 * G), abs=2e-3)


@pytest.mark.parametrize(("mu", "slides"), [(0.4, True), (0.6, False)])
def test_a_ladder_slides_only_if_friction_cannot_hold_it(mu, slides):
    # With the same μ at both ends it stands if tan(angle) ≥ (1 − μ²) / 2μ; at 45° that is μ ≥ √2 − 1.
    angle = np.pi / 4
    start = {"x": np.cos(angle), "z": np.sin(angle), "angle": angle}
    result = simulate(ladder(), Complementarity(), until=0.5, start=start, parameters={"mu_wall": mu, "mu_floor": mu})
    moved = abs(result["angle"][-1] - angle)
    assert moved > 0.01 if slides else moved < 1e-12


def test_a_rod_that_jams_when_events_are_located_is_stepped_through():
    # Sliding with μ > (1 + 3 cos²) / (3 sin cos), no finite force is right (P. Painlevé 1895); an impulse is.
    start = {"z": np.sin(1.0), "angle": 1.0, "x_dot": -1.0}
    result = simulate(rod(), Complementarity(), until=0.3, start=start, parameters={"mu": 2.0})
    assert result.ok, result.reason
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert energy.max() <= energy[0] * (1 + 1e-6)
    assert result["gap_floor"].min() > -1e-5


@functools.cache
def puck():
    b = ModelBuilder("puck")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z")
    b.kinetic((vx**2 + vy**2 + vz**2) / 2)
    b.potential(G * z)
    b.gap("ice", z, slip=[x, y], friction=b.parameter("mu", 0.3))
    return b.build()


def test_the_error_of_the_polygon_falls_with_its_sides():
    errors = []
    for facets in (4, 8, 16, 32):
        worst = 0.0
        for heading in np.linspace(0.05, 0.75, 8):
            start = {"x_dot": np.cos(heading), "y_dot": np.sin(heading)}
            result = simulate(puck(), Complementarity(step=1e-3, facets=facets), until=0.5, start=start)
            way = 1 / (2 * 0.3 * G)
            missed = result["x"][-1] - way * np.cos(heading), result["y"][-1] - way * np.sin(heading)
            worst = max(worst, float(np.hypot(*missed)) / way)
            assert np.hypot(result["x_dot"][-1], result["y_dot"][-1]) <= 1e-12
        errors.append(worst)
    assert all(b < 0.6 * a for a, b in itertools.pairwise(errors))
    assert errors[-1] < 0.03


@pytest.mark.parametrize("heading", [0.1, 0.4, 0.7, 2.0])
def test_the_disk_of_friction_has_no_direction(heading):
    ahead, across = np.array([np.cos(heading), np.sin(heading)]), np.array([-np.sin(heading), np.cos(heading)])
    start = dict(zip(("x_dot", "y_dot"), ahead, strict=True))
    result = simulate(puck(), Complementarity(step=1e-3), until=0.5, start=start)
    way, speed = (np.array([result["x" + rate], result["y" + rate]]) for rate in ("", "_dot"))
    assert np.abs(across @ way).max() <= 1e-10
    assert ahead @ way[:, -1] == pytest.approx(1 / (2 * 0.3 * G), rel=5e-3)
    assert np.hypot(*speed[:, -1]) <= 1e-15
    sliding = np.hypot(*speed) > 1e-2
    friction = np.hypot(result["friction_ice_1"], result["friction_ice_2"])
    assert friction[sliding][1:] == pytest.approx(0.3 * result["force_ice"][sliding][1:], rel=1e-9)
    assert named(result)["contact laws"].ok


@pytest.mark.parametrize("model", [lambda: feet(), lambda: table(), lambda: puck()], ids=["feet", "table", "puck"])
def test_what_impulses_miss_of_the_law_of_contacts_is_judged(model):
    verdict = named(simulate(model(), Complementarity(step=1e-3), until=0.3))["contact laws"]
    assert verdict.ok
    assert verdict.limit == 1e-10


def test_four_legs_share_a_weight_and_none_lets_go():
    result = simulate(table(), Complementarity(), until=1.0, start={"z": 0.3})
    legs = [result[f"force_leg{k}"][-1] for k in range(4)]
    assert sum(legs) == pytest.approx(TABLE_WEIGHT, rel=1e-9)
    assert min(legs) >= 0
    assert abs(result["z"][-1]) <= 1e-12


def test_a_stool_in_space_rests_and_slides_without_turning():
    result = simulate(stool(), Complementarity(facets=16), until=1.0, start={"x_dot": 1.0})
    assert result["x"][-1] == pytest.approx(1 / (2 * 0.3 * G), rel=5e-3)
    assert abs(result["yaw"][-1]) <= 1e-9
    assert abs(result["z"][-1]) <= 1e-12


# Constraints


def test_a_closed_chain_drifts_by_no_more_than_a_step_allows():
    drift = {}
    for h in (4e-3, 2e-3, 1e-3):
        law = Complementarity(step=h)
        result = simulate(four_bar(), law, until=5.0, start=four_bar_pose(1.0), sample=0.1)
        drift[h] = result.certificate.constraint_drift
        assert result.ok
    assert order(list(drift), list(drift.values())) == pytest.approx(2.0, abs=0.3)
    assert drift[1e-3] < 1e-4


def test_a_closed_chain_converges_to_first_order():
    steps, ends = [4e-3, 2e-3, 1e-3], []
    fine = simulate(four_bar(), Complementarity(step=2e-5), until=0.5, start=four_bar_pose(1.0), sample=0.5)
    for h in steps:
        result = simulate(four_bar(), Complementarity(step=h), until=0.5, start=four_bar_pose(1.0), sample=0.5)
        ends.append(abs(result["crank"][-1] - fine["crank"][-1]))
    assert order(steps, ends) == pytest.approx(1.0, abs=0.15)


def test_redundant_constraints_are_normal_input():
    law = Complementarity(step=1e-3)
    result = simulate(coupled_cranks(), law, until=1.0, start=coupled_cranks_pose(0.7))
    assert result.ok
    assert result.certificate.constraint_drift < 1e-4
    assert all(np.isfinite(result[name]).all() for name in result.signals)


def test_a_chain_with_friction_keeps_its_balance_of_energy():
    start = four_bar_pose(1.0) | {"foot": 0.0}
    residuals = []
    for h in (2e-3, 1e-3, 5e-4):
        result = simulate(
            sliding_four_bar(), Complementarity(step=h), until=1.0, start=start, inputs={"press": 20.0}, sample=0.1
        )
        residuals.append(abs(result.certificate.energy.residual))
        assert result.certificate.energy.contacts < -0.1
        assert result.mode("floor") in ("Contact", "Sliding")
    assert residuals[2] < 0.35 * residuals[0]


def test_contacts_and_a_rod_share_one_step():
    result = simulate(bead_pendulum(), Complementarity(step=5e-4), until=6.0, sample=0.01)
    assert result.ok
    assert result.certificate.constraint_drift < 2e-5
    assert result["gap_wall"].min() >= -1e-9
    assert result["gap_floor"].min() >= -1e-9
    # At rest against the wall the force F is carried by wall alone.
    assert result["force_wall"][-1] == pytest.approx(3.0, rel=1e-3)


# Surfaces that move or end


def test_a_ball_rides_a_table_that_moves_slowly():
    start = {"z": 0.0, "z_dot": 0.1 * 5.0}
    result = simulate(shaker(), Complementarity(step=1e-3), until=3.0, start=start, parameters={"w": 5.0})
    height = 0.1 * np.sin(5.0 * result.t)
    assert np.abs(result["z"] - height).max() <= 0.1 * 25 * 1e-6
    assert np.allclose(result["force_table"][5:], G - 2.5 * np.sin(5.0 * result.t[5:]), atol=0.02)


def test_a_ball_leaves_a_table_that_falls_faster_than_it():
    start = {"z": 0.0, "z_dot": 0.1 * 15.0}
    h = 1e-4
    result = simulate(shaker(), Complementarity(step=h), until=0.5, start=start, parameters={"w": 15.0})
    assert result.liftoffs("table")[0] == pytest.approx(np.arcsin(G / (0.1 * 225)) / 15, abs=5 * h)


def test_what_slides_over_an_edge_falls_past_it():
    result = simulate(thrown("edge"), Complementarity(), until=1.0, start={"x_dot": 2.0}, parameters={"mu": 0.0})
    [edge] = result.times("floor", after="Passed")
    assert edge == pytest.approx(0.5, abs=2e-3)
    assert result["z"][-1] == pytest.approx(-G * (1 - edge) ** 2 / 2, rel=5e-3)
    assert result["force_floor"][result.t > edge + 1e-3].max() == 0


# Controllers, rows, results


class Ticker:
    """A controller that plays back commands and keeps what it saw."""

    def __init__(self, period, commands):
        self.period, self.commands, self.seen = period, commands, []

    def reset(self, measurement):
        self.seen.append(("reset", measurement))

    def step(self, t, measurement):
        self.seen.append((t, measurement))
        return self.commands(len(self.seen) - 2)


def test_steps_end_on_ticks_and_commands_hold_between_them():
    controller = Ticker(0.03, lambda k: float(k + 1))
    result = simulate(cart(), Complementarity(step=0.02), until=0.15, controller=controller)
    ends = result.steps.sum(axis=1)
    for k in range(1, 6):
        assert np.abs(ends - 0.03 * k).min() <= 1e-15
    assert [seen[0] for seen in controller.seen] == ["reset", *(pytest.approx(0.03 * k) for k in range(5))]
    assert result["x_dot"][-1] == pytest.approx(0.03 * (1 + 2 + 3 + 4 + 5), rel=1e-12)
    speeds = [seen[1].x_dot for seen in controller.seen[1:]]
    assert speeds == pytest.approx([0, 0.03, 0.09, 0.18, 0.30])


def test_a_controller_that_pulls_lifts_the_ball_off_within_a_step():
    controller = Ticker(0.1, lambda k: 0.0 if k < 3 else 20.0)
    result = simulate(pulled_ball(), Complementarity(step=1e-3), until=0.5, controller=controller)
    assert result.liftoffs("floor") == [pytest.approx(0.301, abs=1e-9)]
    assert result["u"][-1] == 20


def test_rows_are_every_step_or_as_asked():
    every = simulate(robots.ball(), Complementarity(step=1e-2), until=1.0)
    assert np.allclose(every.t, np.arange(101) * 1e-2, rtol=0, atol=1e-15)
    sampled = simulate(robots.ball(), Complementarity(step=1e-2), until=1.0, sample=0.1)
    assert sampled["q"][-1] == every["q"][-1]
    assert set(np.round(np.arange(11) * 0.1, 9)) <= set(np.round(sampled.t, 9))
    assert sampled.t.size < 20
    assert [event.time for event in sampled.events] == [event.time for event in every.events]
    for event in sampled.events:
        assert sampled.t[event.row + 1] == event.time
        assert sampled.t[event.row] == pytest.approx(event.time - 1e-2)
        assert sampled.mode("floor", event.row) == event.before
        assert sampled.mode("floor", event.row + 1) == event.after


def test_a_step_evaluates_the_model_once():
    certificate = simulate(feet(), Complementarity(0.5), until=0.5, start={"z": 0.3, "angle": 0.2}).certificate
    assert certificate.steps == 500
    assert certificate.evaluations == 501
    assert certificate.rejected == 0


def test_a_run_is_bit_for_bit_the_same_again():
    runs = [simulate(feet(), Complementarity(0.3), until=0.5, start={"z": 0.3, "angle": 0.1}) for _ in range(2)]
    assert all(np.array_equal(runs[0][name], runs[1][name]) for name in runs[0].signals)


def test_the_same_names_come_out_of_both_ways_to_simulate():
    stepped = simulate(feet(), Complementarity(), until=0.01)
    located = simulate(feet(), Baumgarte(), until=0.01)
    assert set(stepped.signals) == set(located.signals)
    assert stepped.units == located.units
    assert stepped.modes["foot0"] == ("Free", "Contact", "Sliding")


def test_what_closes_from_two_sides_does_not_bounce_off_both():
    b = ModelBuilder("press")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.gap("left", x + 1 - b.time)
    b.gap("right", 1 - b.time - x)
    result = simulate(b.build(), Complementarity(0.9, step=0.01), until=0.99)
    assert result.ok, result.reason
    assert abs(result["x"][-1]) <= 0.02


def test_both_ways_to_simulate_agree_as_the_step_shrinks():
    start, inputs = four_bar_pose(1.0) | {"foot": 0.0}, {"press": 20.0}
    arguments = {"until": 0.4, "start": start, "inputs": inputs, "sample": 0.4}
    located = simulate(sliding_four_bar(), Baumgarte(), **arguments)
    steps, errors = [2e-3, 1e-3, 5e-4, 2.5e-4], []
    for h in steps:
        stepped = simulate(sliding_four_bar(), Complementarity(step=h), **arguments)
        errors.append(abs(stepped["crank"][-1] - located["crank"][-1]))
    assert order(steps, errors) == pytest.approx(1.0, abs=0.2)
    assert errors[-1] < 1e-3


def test_walls_that_crush_end_the_run_with_the_reason():
    b = ModelBuilder("press")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.gap("left", x + 1 - b.time)
    b.gap("right", 1 - b.time - x)
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(b.build(), Complementarity(step=0.01), until=2.0)
    assert not result.ok
    assert "the impulses of contacts left, right have no solution" in result.reason
    assert result.t[-1] == pytest.approx(1.0, abs=0.02)


# The implicit scheme


def test_the_implicit_scheme_keeps_true_gaps_open():
    b = ModelBuilder("ball_in_a_bowl")
    (x, vx), (z, vz) = b.coordinate("x", start=0.5), b.coordinate("z", start=-0.5)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(G * z)
    b.gap("bowl", 1 - ca.sqrt(x**2 + z**2))
    model = b.build()
    deepest = {}
    for scheme in ("semi-implicit", "implicit"):
        result = simulate(model, Complementarity(step=5e-3, scheme=scheme), until=2.0)
        deepest[scheme] = result.certificate.contacts["bowl"].deepest_penetration
    assert deepest["implicit"] <= 1e-12
    assert deepest["semi-implicit"] > 1e-6


def test_a_step_that_is_too_long_for_iteration_says_so():
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(oscillator(), Complementarity(step=1.0, scheme="implicit"), until=3.0)
    assert not result.ok
    assert "the implicit step does not settle: make it shorter" in result.reason


# Names and bad input


def test_the_command_line_knows_the_law_and_the_types_of_its_parameters():
    assert "complementarity" in known_laws()
    law = parse_law("complementarity:restitution=0.5,step=0.01,facets=16,scheme=implicit")
    assert law == Complementarity(0.5, 0.01, 16, "implicit")
    for text, message in (
        ("complementarity:facets=8.5", "expected a whole number, got 'facets=8.5'"),
        ("complementarity:facets=7", "expected an even number of facets, at least 4, got facets = 7"),
        ("complementarity:scheme=explict", "Did you mean 'explicit'"),
        ("complementarity:scheme", "got 'scheme' without a value"),
        ("complementarity:step=x", "expected KEY=NUMBER pairs, got 'step=x'"),
        ("complementarity:mu=1", "expected a known parameter, got 'mu'"),
    ):
        with pytest.raises(InputError) as caught:
            parse_law(text)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"restitution": 1.1}, "expected 0 <= restitution <= 1, got restitution = 1.1"),
        ({"restitution": -0.1}, "expected 0 <= restitution <= 1"),
        ({"restitution": float("nan")}, "expected 0 <= restitution <= 1, got restitution = nan"),
        ({"step": 0.0}, "expected a step above zero, in seconds, got step = 0"),
        ({"step": float("inf")}, "expected a step above zero"),
        ({"step": "1"}, "got step = '1'"),
        ({"facets": 5}, "expected an even number of facets, at least 4, got facets = 5"),
        ({"facets": 2}, "got facets = 2"),
        ({"facets": 8.0}, "expected an even number of facets"),
        ({"scheme": "Euler"}, "expected a known scheme, got 'Euler'"),
    ],
)
def test_a_bad_law_is_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        Complementarity(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (
            feet,
            {"law": {"foot0": Complementarity(), "foot1": Baumgarte()}},
            "expected time stepping for all contacts or for none, got 'baumgarte' for contact 'foot1'",
        ),
        (
            feet,
            {"law": {"foot0": Complementarity(), "foot1": Complementarity(step=1e-2)}},
            "expected the same step for all contacts, got 0.001 and 0.01 (contact 'foot1')",
        ),
        (
            feet,
            {"law": {"foot0": Complementarity(), "foot1": Complementarity(facets=4)}},
            "expected the same facets for all contacts",
        ),
        (feet, {"law": Complementarity(), "method": Adaptive()}, "expected no method, got Adaptive("),
        (
            lambda: incline(False),
            {"law": Complementarity()},
            "contact 'plane' of model 'incline': expected a finite coefficient of friction",
        ),
    ],
)
def test_what_cannot_be_stepped_is_refused(model, arguments, message):
    with pytest.raises(InputError) as caught:
        simulate(model(), until=1.0, **arguments)
    assert message in str(caught.value)


def test_a_law_that_steps_has_no_linear_model_and_no_sensitivities():
    for ask in (
        lambda: linearize(pulled_ball(), mode=["floor"], law=Complementarity(), form="stabilized"),
        lambda: sensitivity(pulled_ball(), Complementarity(), until=1.0),
    ):
        with pytest.raises(InputError) as caught:
            ask()
        assert "expected an event-driven law for contact 'floor'" in str(caught.value)


def test_contacts_may_differ_in_restitution():
    laws = {"c0": Complementarity(1.0, step=1e-3), "c1": Complementarity(0.0, step=1e-3)}
    result = simulate(stack(2), laws, until=0.3, start={"z0": 0.2, "z1": 0.5})
    assert result.ok
    first = result.touchdowns("c0")[0]
    after = int(np.searchsorted(result.t, first))
    leaves = -result["z0_dot"][after - 1] - 9.81e-3  # gravity acts in this step too
    assert result["z0_dot"][after] == pytest.approx(leaves, rel=1e-9)
