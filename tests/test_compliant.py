"""Compliant laws: Kelvin–Voigt and the two of Hunt and Crossley, against closed forms and independent solvers."""

from __future__ import annotations

import functools
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import lambertw

import impinge
from friction_models import feet, incline, puck, rod, thrown
from impinge import Adaptive, ExponentialHuntCrossley, FixedStep, HuntCrossley, KelvinVoigt, ModelBuilder, simulate
from impinge.analysis import equilibrium, linearize, sensitivity
from impinge.cli.main import main
from impinge.compile import Struct
from impinge.contact.compliant import damping_of
from impinge.contact.registry import known_laws, parse_law
from impinge.errors import InputError, StartError
from impinge.simulation.run import plant_of
from impinge.simulation.system.dynamics import evaluate_and_press
from impinge.simulation.system.plant import PRESS, workspace
from models import TABLE_WEIGHT, balls, bump, pulled_ball, shaker, stack, table

G = 9.81
HERTZIAN = (HuntCrossley, ExponentialHuntCrossley)
LAWS = (
    KelvinVoigt(stiffness=2e4, damping=60.0),
    HuntCrossley(stiffness=1e6),
    HuntCrossley(stiffness=2e4, exponent=1.0, restitution=0.3),
    ExponentialHuntCrossley(stiffness=1e6, exponent=1.5, restitution=0.4, speed=3.0),
    ExponentialHuntCrossley(stiffness=1e8, exponent=2.5, damping=1.0),
)


@functools.cache
def particle():
    """Return a particle in front of a wall, with gravity g towards it, pushed away by u."""
    b = ModelBuilder("particle")
    z, v = b.coordinate("z")
    m, g = b.parameter("m", 1.0, "kg"), b.parameter("g", 0.0, "m/s²")
    b.kinetic(m * v**2 / 2)
    b.potential(m * g * z)
    b.force(b.input("u", "N"), along=z)
    b.gap("wall", z)
    return b.build()


def force_of(law, gap, rate):
    """Return the force that a law's formula gives, zero where it would pull or the gap is open."""
    depth = np.maximum(0.0, -gap)
    if isinstance(law, KelvinVoigt):
        k, c = law.gains[:2]
        return np.where(gap <= 0, np.maximum(0.0, -k * gap - c * rate), 0.0)
    k, n, d = law.gains[:3]
    return (
        k * depth**n * (np.exp(-d * rate) if isinstance(law, ExponentialHuntCrossley) else np.maximum(0, 1 - d * rate))
    )


def modes_of(result, contact):
    return [result.mode(contact, 0), *(event.after for event in result.events if event.contact == contact)]


def impact(law, m, v, **options):
    """Return the run of a particle that meets the wall at a speed and leaves it."""
    k, n = law.gains[0], 1.0 if isinstance(law, KelvinVoigt) else law.gains[1]
    depth = ((n + 1) / 2 * m * v**2 / k) ** (1 / (n + 1))
    e = law.restitution if isinstance(law, HERTZIAN) and law.restitution else 1.0
    until = depth / v * (20 + 10 / e)
    return simulate(particle(), law, until=until, start={"z": 0.1 * depth, "z_dot": -v}, parameters={"m": m}, **options)


# Restitution of the two laws of Hunt and Crossley


@pytest.mark.parametrize("kind", HERTZIAN)
@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
@pytest.mark.parametrize("e", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_the_restitution_that_is_typed_comes_back(kind, exponent, e):
    for m, v in itertools.product((1e-3, 0.1, 1.0, 1e2), (0.1, 1.0, 5.0)):
        law = kind(stiffness=1e5, exponent=exponent, restitution=e, speed=v)
        result = impact(law, m, v)
        assert result.ok, result.reason
        assert modes_of(result, "wall") == ["Free", "Contact", "Free"]
        assert result["z_dot"][-1] == pytest.approx(e * v, rel=1e-5)
        assert (result["force_wall"] >= 0).all()
        assert result.certificate.energy.relative < 1e-6


@pytest.mark.parametrize("kind", HERTZIAN)
@pytest.mark.parametrize("x", [0.2, 1.0, 5.0])
def test_restitution_at_other_speeds_is_that_of_lambert_w(kind, x):
    e = (1 + lambertw(-(1 + x) * math.exp(-(1 + x))).real) / x
    result = impact(kind(stiffness=1e6, damping=2.0), 0.3, x / 2.0)
    assert result["z_dot"][-1] == pytest.approx(e * x / 2.0, rel=1e-6)
    assert e == pytest.approx({0.2: 0.88219, 1.0: 0.59362, 5.0: 0.19698}[x], abs=5e-6)


@settings(max_examples=200, deadline=None)
@given(st.floats(0.05, 0.9999), st.floats(1e-3, 1e3))
def test_damping_from_restitution_solves_the_relation(e, v):
    x = damping_of(e, v) * v
    assert 0 < e * x < 1
    assert math.log1p(x) - x == pytest.approx(math.log1p(-e * x) + e * x, rel=1e-6, abs=1e-12)


def test_damping_is_right_where_the_relation_is_all_rounding():
    for gap in (1e-4, 1e-8, 1e-12):
        assert damping_of(1 - gap, 2.0) == pytest.approx(1.5 * (1 - (1 - gap)) / 2.0, rel=2 * gap)
    assert damping_of(1.0, 1.0) == 0.0
    for e in (1e-2, 1e-9, 1e-200):
        assert damping_of(e, 1.0) == pytest.approx(1 / e, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(HERTZIAN),
    st.floats(0.05, 0.9),
    st.floats(0.1, 5.0),
    st.floats(2.0, 50.0),
    st.sampled_from([1.0, 1.5, 2.5]),
    st.sampled_from([1e-3, 1.0, 1e2]),
)
def test_an_impact_far_faster_than_the_typed_speed_ends_as_the_closed_form_says(kind, e, speed, times, exponent, m):
    law = kind(stiffness=1e6, exponent=exponent, restitution=e, speed=speed)
    x = law.gains[2] * times * speed
    result = impact(law, m, times * speed)
    assert result.ok, result.reason
    assert result.certificate.ok, str(result)
    assert modes_of(result, "wall") == ["Free", "Contact", "Free"]
    left = 1 + lambertw(-(1 + x) * math.exp(-(1 + x))).real  # (1 + x) exp(−x) = (1 − left) exp(left)
    assert result["z_dot"][-1] == pytest.approx(left / law.gains[2], rel=1e-5)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 1e-2), st.floats(0.1, 100.0), st.floats(-100.0, 100.0))
def test_the_slopes_of_the_exponential_law_are_those_of_its_force_however_fast(depth, d, x):
    law, value, slopes = ExponentialHuntCrossley(damping=d), np.zeros(1), np.zeros(2)
    rate, h = -x / d, 1e-6 / d

    def force(gap, rate):
        law.prescribe(1, 0, gap, rate, np.array(law.gains), value)
        return value[0]

    law.slope(1, 0, -depth, rate, np.array(law.gains), slopes)
    by_gap = (force(-depth * (1 - 1e-6), rate) - force(-depth * (1 + 1e-6), rate)) / (2e-6 * depth)
    assert slopes[0] == pytest.approx(by_gap, rel=1e-5)
    assert slopes[1] == pytest.approx((force(-depth, rate + h) - force(-depth, rate - h)) / (2 * h), rel=1e-5)


def test_restitution_one_loses_nothing():
    for kind in HERTZIAN:
        result = impact(kind(stiffness=1e5, restitution=1.0), 1.0, 2.0)
        assert result["z_dot"][-1] == pytest.approx(2.0, rel=1e-7)


# Kelvin–Voigt


@pytest.mark.parametrize("zeta", [0.0, 0.05, 0.3, 0.6, 0.9, 1.5])
@pytest.mark.parametrize("v", [0.1, 3.0])
def test_an_impact_of_kelvin_and_voigt_has_its_closed_form(zeta, v):
    """T. Schwager, T. Pöschel, Granular Matter 9 (2007) 465: contact ends with the force, before the gap opens."""
    m, w = 0.5, 300.0
    law = KelvinVoigt(stiffness=m * w**2, damping=2 * zeta * w * m)
    if zeta < 1:
        s = math.sqrt(1 - zeta**2)
        lasts = math.atan2(2 * zeta * s, 2 * zeta**2 - 1) / s / w
        at = max(0.0, math.atan2(s * (1 - 4 * zeta**2), zeta * (3 - 4 * zeta**2)) / s / w)
        peak = (
            m
            * v
            * w
            * math.exp(-zeta * w * at)
            * (2 * zeta * math.cos(s * w * at) + (1 - 2 * zeta**2) / s * math.sin(s * w * at))
        )
    else:
        s = math.sqrt(zeta**2 - 1)
        lasts = math.log((zeta + s) / (zeta - s)) / s / w
        peak = law.damping * v
    result = impact(law, m, v, method=Adaptive(rtol=1e-10, atol=1e-13, max_step=lasts / 300))
    down, up = result.times("wall")
    assert up - down == pytest.approx(lasts, rel=1e-7)
    assert result["z_dot"][-1] == pytest.approx(v * math.exp(-zeta * w * lasts), rel=1e-7)
    assert result.certificate.contacts["wall"].largest_force == pytest.approx(peak, rel=3e-5)
    assert result.certificate.contacts["wall"].smallest_force >= 0
    left = result.events[1].row
    assert result["force_wall"][left] == pytest.approx(0.0, abs=1e-6 * peak)
    assert result["gap_wall"][left] == pytest.approx(
        -law.damping * result["z_dot"][left] / law.stiffness, rel=1e-6, abs=1e-12
    )


def test_a_surface_that_is_left_pressed_in_is_met_again_where_it_would_push():
    law = KelvinVoigt(stiffness=1e3, damping=100.0)  # its surface takes 0.1 s to come back
    result = simulate(particle(), law, until=1.0, start={"z": -0.05, "z_dot": 0.6}, parameters={"g": G})
    assert modes_of(result, "wall") == ["Free", "Contact"]
    (event,) = result.events
    z, v = result["z"][event.row], result["z_dot"][event.row]
    assert 1e3 * z + 100 * v == pytest.approx(0.0, abs=1e-6)
    assert z < 0 < v
    before = result.t <= event.time
    assert (result["force_wall"][before][:-1] == 0).all()


@pytest.mark.parametrize("kind", HERTZIAN)
def test_what_leaves_faster_than_hunt_and_crossley_allow_is_not_pulled(kind):
    law = kind(stiffness=1e5, damping=1.0)
    result = simulate(particle(), law, until=1.0, start={"z": -0.05, "z_dot": 1.5}, parameters={"g": 40.0})
    assert (result["force_wall"] >= 0).all()
    if kind is HuntCrossley:
        first = result.events[0]
        assert (first.before, first.after) == ("Free", "Contact")
        assert result["z_dot"][first.row] == pytest.approx(1.0, abs=1e-9)
        assert first.time == pytest.approx(0.5 / 40, abs=1e-10)
    else:
        assert result["force_wall"][0] == pytest.approx(1e5 * 0.05**1.5 * math.exp(-1.5), rel=1e-12)


def test_the_force_that_a_contact_would_have_is_the_one_it_has_once_closed():
    law, gap, rate = HuntCrossley(stiffness=1e6, damping=0.5), -1e-3, -0.2
    model = thrown()
    plant = plant_of(model, [law], model.parameter_vector({}), (400.0, 40.0), Adaptive(), 1.0)
    w = workspace(plant, model.dynamics)
    w.y[: plant.nq + plant.nv] = 0.0, gap, 1.5, rate
    press = []
    for mode in ("Free", "Contact"):
        w.mode[0] = law.modes.index(mode)
        evaluate_and_press(Struct(plant), Struct(w), 0.0, w.y, np.zeros(w.y.size))
        press.append(w.rows[PRESS, 0])
    assert press == pytest.approx([1e6 * 1e-3**1.5 * 1.1] * 2, rel=1e-14)


# Against an independent integration


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_bounce_is_that_of_an_independent_integration(law):
    m, height = 2.0, 0.3
    result = simulate(
        particle(), law, until=0.5, start={"z": height}, parameters={"m": m, "g": G}, method=Adaptive(1e-10, 1e-13)
    )
    down, up = result.times("wall")[:2]
    assert down == pytest.approx(math.sqrt(2 * height / G), abs=1e-12)

    def ends(_, x):
        k, c = law.gains[0], law.gains[1]
        return k * x[0] + c * x[1] if isinstance(law, KelvinVoigt) else x[0]

    ends.terminal, ends.direction = True, 1
    reference = solve_ivp(
        lambda _, x: [x[1], float(force_of(law, x[0], x[1])) / m - G],
        (0, 1),
        [-1e-15, -math.sqrt(2 * G * height)],
        method="DOP853",
        rtol=1e-13,
        atol=1e-16,
        events=ends,
        max_step=1e-4,
    )
    time, (z, v) = reference.t_events[0][0], reference.y_events[0][0]
    row = next(event.row for event in result.events[1:2])
    assert up - down == pytest.approx(time, abs=1e-8)
    assert result["z_dot"][row] == pytest.approx(v, abs=1e-7)
    assert result["z"][row] == pytest.approx(z, abs=1e-10)
    deepest = result.certificate.contacts["wall"].deepest_penetration
    assert deepest == pytest.approx(-reference.y[0].min(), rel=1e-3)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_fixed_steps_come_to_the_same_bounce(law):
    speeds = []
    for method in (FixedStep(1e-5), Adaptive(1e-10, 1e-13)):
        result = simulate(particle(), law, until=0.05, start={"z": 1e-3, "z_dot": -1.0}, method=method)
        assert (result["force_wall"] >= 0).all()
        speeds.append(result["z_dot"][-1])
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-6)


# Signs, energy, rest


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_force_is_the_formula_pushes_apart_and_is_never_tensile(law):
    result = simulate(particle(), law, until=3.0, start={"z": 0.5}, parameters={"g": G})
    closed = result.is_closed("wall")
    force, gap, rate = (result[name] for name in ("force_wall", "gap_wall", "gap_wall_dot"))
    assert closed.sum() > 50
    assert (force >= 0).all()
    assert (force[~closed] == 0).all()
    assert force[closed] == pytest.approx(force_of(law, gap, rate)[closed], rel=1e-9, abs=1e-9)
    # What pushes apart turns the approach round: the impulse of the first contact is upwards.
    down, up = result.events[:2]
    gained = result["z_dot"][up.row] - result["z_dot"][down.row + 1] + G * (up.time - down.time)
    assert up.impulse == pytest.approx(gained, rel=1e-7)
    assert up.impulse > 0


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_energy_that_is_lost_is_the_work_of_the_contact(law):
    result = simulate(particle(), law, until=3.0, start={"z": 0.5}, parameters={"g": G})
    energy = result.certificate.energy
    assert energy.relative < 1e-7
    assert energy.start - energy.end == pytest.approx(-energy.contacts, rel=1e-6)
    assert energy.contacts < 0
    # In an impact that nothing else acts in, it is all of the kinetic energy that is lost.
    result = impact(law, 1.0, 1.0)
    lost = (1 - result["z_dot"][-1] ** 2) / 2
    assert -result["work_contacts"][-1] == pytest.approx(lost, rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("m", [0.1, 3.0])
def test_what_rests_is_as_deep_as_its_weight_asks(law, m):
    n = 1.0 if isinstance(law, KelvinVoigt) else law.gains[1]
    depth = (m * G / law.gains[0]) ** (1 / n)
    fallen = simulate(particle(), law, until=15.0, start={"z": 0.02}, parameters={"m": m, "g": G})
    contact = fallen.certificate.contacts["wall"]
    assert contact.steady_penetration == pytest.approx(depth, rel=1e-5)
    assert fallen["force_wall"][-1] == pytest.approx(m * G, rel=1e-5)
    assert len(fallen.events) < 200
    placed = simulate(particle(), law, until=15.0, start={"z": -depth}, parameters={"m": m, "g": G})
    assert placed.events == ()
    assert placed.mode("wall") == "Contact"
    assert np.abs(placed["z"] + depth).max() < 1e-9


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_what_starts_on_the_surface_neither_chatters_nor_falls(law):
    resting = simulate(particle(), law, until=2.0, parameters={"g": G})
    assert resting.ok
    assert resting.events == ()
    assert resting.mode("wall") == "Contact"
    weightless = simulate(particle(), law, until=2.0)
    assert weightless.events == ()
    assert (weightless["z"] == 0).all()
    drawn = simulate(particle(), law, until=1.0, inputs={"u": 2.0})
    assert drawn.ok
    assert len(drawn.events) <= 1
    assert drawn["z"][-1] == pytest.approx(1.0, rel=1e-9)
    assert (drawn["force_wall"] == 0).all()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_contact_that_is_slowly_drawn_open_opens_once(law):
    result = simulate(pulled_ball("ramp"), law, until=12.0, start={"z": 0.0})
    assert result.ok
    assert modes_of(result, "floor") == ["Contact", "Free"]
    assert result.times("floor")[0] == pytest.approx(G, abs=0.1)  # when nothing presses any more, and a little later


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (shaker(), {"until": 5.0, "start": {"z": 0.0}}),
        (stack(3), {"until": 1.5, "start": {"z0": 0.1, "z1": 0.3, "z2": 0.6}}),
        (table(), {"until": 1.5, "start": {"pitch": 0.1}}),
        (bump(), {"until": 8.0, "parameters": {"g": 1.0}}),
    ],
    ids=["shaken table", "stack", "four legs", "bump"],
)
def test_many_contacts_close_and_open_and_the_balance_closes(law, model, options):
    result = simulate(model, law, **options)
    assert result.ok, result.reason
    assert result.certificate.energy.relative < 1e-5
    assert all((result[f"force_{name}"] >= 0).all() for name in model.contacts)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_same_run_twice_is_the_same_to_the_last_bit(law):
    one, other = (simulate(balls(2), law, until=2.0, start={"z1": 0.3}) for _ in range(2))
    assert one.events == other.events
    assert all(np.array_equal(one[name], other[name]) for name in one.signals)


def test_a_soft_contact_rests_on_a_rigid_one():
    soft = HuntCrossley(stiffness=1e6, exponent=1.5, restitution=0.4)
    laws = {"c0": impinge.Baumgarte(), "c1": soft}
    result = simulate(stack(2), laws, until=10.0, start={"z0": 0.1, "z1": 0.4}, parameters={"m0": 2.0, "m1": 1.0})
    assert result.ok, result.reason
    assert result["gap_c0"][-1] == pytest.approx(0.0, abs=1e-8)
    assert result["gap_c1"][-1] == pytest.approx(-((G / 1e6) ** (1 / 1.5)), rel=1e-5)
    assert [result["force_c0"][-1], result["force_c1"][-1]] == pytest.approx([3 * G, G], rel=1e-5)


# Friction


def assert_coulomb(result, contact, mu):
    """Assert that friction is inside the cone of the current normal force, and gives back no more than it has taken."""
    assert result.ok, result.reason
    force, friction = (result[f"{kind}_{contact}"] for kind in ("force", "friction"))
    modes = np.array(result.modes[contact])[result[f"mode_{contact}"].astype(int)]
    size = force.max()
    assert (np.abs(friction) <= mu * force * (1 + 1e-9) + 1e-8 * size).all()
    slides = modes == "Sliding"
    assert np.abs(friction[slides]) == pytest.approx(mu * force[slides], rel=1e-9, abs=1e-9 * size)
    assert result[f"work_friction_{contact}"].max() <= 1e-9
    assert (friction[modes == "Free"] == 0).all()
    assert result.certificate.energy.relative < 1e-6 or abs(result.certificate.energy.residual) < 1e-9


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_block_inside_its_cone_is_held_without_creep_once_it_is_pressed(law):
    result = simulate(incline(), law, until=20.0, parameters={"th": 0.3, "mu": 0.5})
    assert_coulomb(result, "plane", 0.5)
    late = result.t > 15.0
    assert result.mode("plane") == "Contact"
    assert np.abs(result["slip_plane_dot"][late]).max() < 1e-8  # within the tolerance: its spring holds it
    assert np.ptp(result["slip_plane"][late]) < 1e-10
    assert result["friction_plane"][-1] == pytest.approx(-G * math.sin(0.3), rel=1e-6)
    assert result["force_plane"][-1] == pytest.approx(G * math.cos(0.3), rel=1e-6)


@pytest.mark.parametrize("law", LAWS[:2] + LAWS[3:4], ids=str)
def test_a_block_is_held_for_an_hour(law):
    result = simulate(incline(), law, until=3600.0, parameters={"th": 0.3, "mu": 0.5}, sample=1.0)
    assert_coulomb(result, "plane", 0.5)
    late = result.t > 20.0
    assert np.abs(result["slip_plane_dot"][late]).max() < 1e-8
    assert np.ptp(result["slip_plane"][late]) < 1e-10
    assert all(event.time < 20.0 for event in result.events)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_block_that_friction_cannot_hold_slides_with_the_difference(law):
    mu, th = 0.2, 0.3
    result = simulate(incline(), law, until=8.0, parameters={"th": th, "mu": mu})
    assert_coulomb(result, "plane", mu)
    assert modes_of(result, "plane")[-1] == "Sliding"
    late = result.t > 6.0
    a = np.polyfit(result.t[late], result["speed"][late], 1)[0]
    assert a == pytest.approx(G * (math.sin(th) - mu * math.cos(th)), rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_who_lands_with_a_slip_slides_loses_at_most_mu_times_the_impulse_and_stops(law):
    mu = 0.3
    result = simulate(thrown(), law, until=8.0, start={"z": 0.5, "x_dot": 2.0}, parameters={"mu": mu})
    assert_coulomb(result, "floor", mu)
    assert "Sliding" in modes_of(result, "floor")
    lost, pushed = 2.0 - result["x_dot"], result["impulse_floor"]
    assert (np.abs(lost) <= mu * pushed * (1 + 1e-9) + 1e-9).all()
    assert result.mode("floor") == "Contact"
    assert abs(result["x_dot"][-1]) < 1e-6


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_who_lands_without_a_slip_sticks(law):
    result = simulate(thrown(), law, until=0.6, start={"z": 0.5})
    assert_coulomb(result, "floor", 0.3)
    assert "Sliding" not in modes_of(result, "floor")
    assert (result["x"] == 0).all()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_puck_slides_in_a_plane_inside_its_cone(law):
    result = simulate(puck(), law, until=2.0, start={"x_dot": 0.5, "y_dot": 0.7}, parameters={"A": 4.0, "w": 3.0})
    assert result.ok, result.reason
    held = np.hypot(result["friction_plane_1"], result["friction_plane_2"])
    assert (held <= 0.3 * result["force_plane"] * (1 + 1e-9) + 1e-8).all()
    assert result.certificate.energy.relative < 1e-6


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_rod_that_would_jam_if_it_were_rigid_does_not(law):
    """Painlevé's paradox is one of rigid contacts: a force that depends on depth is always unique."""
    a = 1.1
    start = {"x": math.cos(a), "z": math.sin(a) + 0.01, "angle": a, "x_dot": 1.0}
    result = simulate(rod(), law, until=0.5, start=start, parameters={"mu": 1.8})
    assert_coulomb(result, "floor", 1.8)


@pytest.mark.slow
def test_blocks_that_land_on_two_feet_and_rock_come_to_rest():
    rng = np.random.default_rng(0)
    for _ in range(60):
        start = {"z": 0.15, "angle": rng.uniform(-0.15, 0.15), "x_dot": rng.uniform(-1, 1)}
        parameters = {"mu": rng.uniform(0.1, 0.8)}
        result = simulate(feet(2), HuntCrossley(), until=1.0, start=start, parameters=parameters, sample=0.01)
        assert result.ok, result.reason


# Linear models and derivatives


def slopes_of(law, depth):
    """Return stiffness and damping of a law at rest at a depth."""
    if isinstance(law, KelvinVoigt):
        return law.gains[:2]
    k, n, d = law.gains[:3]
    return n * k * depth ** (n - 1), d * k * depth**n


@pytest.mark.parametrize("form", ["reduced", "stabilized"])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_ball_at_rest_is_a_spring_and_a_damper(law, form):
    m = 2.0
    n = 1.0 if isinstance(law, KelvinVoigt) else law.gains[1]
    depth = (m * G / law.gains[0]) ** (1 / n)
    linear = linearize(
        particle(),
        {"z": -depth},
        mode=["wall"],
        outputs=["z", "force_wall"],
        law=law,
        form=form,
        parameters={"m": m, "g": G},
    )
    k, c = slopes_of(law, depth)
    assert linear.A.ravel() == pytest.approx([0, 1, -k / m, -c / m], rel=1e-12)
    assert linear.B.ravel() == pytest.approx([0, 1 / m], rel=1e-12)
    assert linear.C.ravel() == pytest.approx([1, 0, -k, -c], rel=1e-12)
    assert len(linear.constraint_poles) == 0


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_an_equilibrium_is_as_deep_as_the_load_asks_and_stays_there(law):
    m, u = 2.0, -5.0
    n = 1.0 if isinstance(law, KelvinVoigt) else law.gains[1]
    parameters = {"m": m, "g": G}
    rest = equilibrium(particle(), mode=["wall"], inputs={"u": u}, law=law, parameters=parameters)
    assert rest.forces["force_wall"] == pytest.approx(m * G - u, rel=1e-9)
    assert rest.gaps["wall"] == pytest.approx(-(((m * G - u) / law.gains[0]) ** (1 / n)), rel=1e-9)
    run = simulate(particle(), law, until=1.0, start=rest.pose, inputs=rest.inputs, parameters=parameters)
    assert np.abs(run["z"] - rest.pose["z"]).max() < 1e-10
    assert np.isfinite(linearize(particle(), rest, mode=["wall"], law=law).A).all()


def test_legs_of_different_softness_share_a_load_by_their_depths():
    soft, hard = KelvinVoigt(stiffness=1e4), KelvinVoigt(stiffness=3e4)
    laws = {"leg0": hard, "leg1": soft, "leg2": soft, "leg3": soft}
    rest = equilibrium(table(), mode=table().contacts, law=laws)
    terms = table().terms_at(rest.q, rest.v, 0.0, rest.u, np.zeros(0))
    forces = np.array([rest.forces[f"force_leg{k}"] for k in range(4)])
    assert forces == pytest.approx(-np.array([3e4, 1e4, 1e4, 1e4]) * terms["gap"], rel=1e-9)
    assert terms["J"].T @ forces == pytest.approx([TABLE_WEIGHT, 0, 0], abs=1e-7)
    assert forces.sum() == pytest.approx(TABLE_WEIGHT, rel=1e-9)


def test_no_compliant_contact_is_at_rest_where_it_would_have_to_pull():
    with pytest.raises(StartError, match=r"wall"):
        equilibrium(particle(), mode=["wall"], inputs={"u": 30.0}, law=KelvinVoigt(), parameters={"g": G})


def test_a_table_on_four_soft_legs_is_linearized_as_their_springs():
    law = HuntCrossley(stiffness=1e6)
    depth = (TABLE_WEIGHT / 4 / 1e6) ** (1 / 1.5)
    linear = linearize(table(), {"z": -depth}, mode=table().contacts, law=law)
    k, c = slopes_of(law, depth)
    terms = table().terms_at(np.array([-depth, 0, 0]), np.zeros(3), 0.0, np.zeros(0), np.zeros(0))
    turn = np.linalg.solve(terms["M"], terms["J"].T)
    assert linear.A[3:, :3] == pytest.approx(-k * turn @ terms["J"], rel=1e-6, abs=1e-9)
    assert linear.A[3:, 3:] == pytest.approx(-c * turn @ terms["J"], rel=1e-9, abs=1e-9)


def test_a_block_that_sticks_is_linearized_with_the_springs_of_its_gap_and_of_its_stick():
    k, c, th, mass = 1e4, 30.0, 0.3, 1.0
    law = KelvinVoigt(stiffness=k, damping=c, stick_stiffness=4e3, stick_damping=20.0)
    depth = G * math.cos(th) / k
    at = {"x": -depth * math.sin(th), "z": -depth * math.cos(th)}
    linear = linearize(incline(), at, mode=["plane"], law=law, parameters={"th": th, "mu": 0.5})
    expected = [*np.roots([mass, c, k]), *np.roots([mass, 20.0, 4e3])]
    assert sorted(linear.poles(), key=lambda s: s.imag) == pytest.approx(
        sorted(expected, key=lambda s: s.imag), rel=1e-9
    )


def test_a_block_that_rests_on_a_slope_bears_its_weight_along_it_by_the_spring_of_its_stick():
    law, th = KelvinVoigt(stiffness=1e4, damping=30.0, stick_stiffness=4e3, stick_damping=20.0), 0.3
    options = {"inputs": {"F": 0.0, "P": 0.0}, "law": law, "parameters": {"th": th, "mu": 0.5}}
    rest = equilibrium(incline(), mode=["plane"], **options)
    assert rest.forces["friction_plane"] == pytest.approx(-G * math.sin(th), rel=1e-9)
    assert rest.gaps["plane"] == pytest.approx(-G * math.cos(th) / 1e4, rel=1e-9)
    with pytest.raises(StartError, match=r"contact 'plane' to stick, by a friction of at most"):
        equilibrium(incline(), mode=["plane"], **{**options, "parameters": {"th": th, "mu": 0.2}})


def test_a_compliant_contact_that_is_open_is_not_linearized_as_closed():
    with pytest.raises(StartError, match=r"gap_wall of zero or less"):
        linearize(particle(), {"z": 0.1}, mode=["wall"], law=KelvinVoigt())


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_sensitivity_through_a_bounce_is_the_finite_difference(law):
    method = Adaptive(rtol=1e-11, atol=1e-13)
    start, until = {"z": 0.2, "z_dot": -0.5}, 0.3
    found = sensitivity(particle(), law, until=until, start=start, parameters={"g": G}, method=method)
    assert len(found.result.events) >= 2
    h = 1e-6
    for k, name in enumerate(("z", "z_dot")):
        ends = []
        for sign in (1, -1):
            moved = {**start, name: start[name] + sign * h}
            run = simulate(particle(), law, until=until, start=moved, parameters={"g": G}, method=method)
            ends.append(np.array([run["z"][-1], run["z_dot"][-1]]))
        assert found.matrix[:, k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4, abs=1e-5)


# Names and bad input


def test_the_laws_are_known_by_name():
    known = known_laws()
    for law in (KelvinVoigt, HuntCrossley, ExponentialHuntCrossley):
        assert known[law.name] is law
        assert getattr(impinge, law.__name__) is law
        assert isinstance(law(), impinge.Law)
    law = parse_law("hunt-crossley:stiffness=1e5,restitution=0.3")
    assert law == HuntCrossley(stiffness=1e5, restitution=0.3)


@pytest.mark.parametrize(
    "text",
    [
        "hunt-crossley:stiffness=1e5,restitution=0.5",
        "exponential-hunt-crossley:stiffness=1e5,restitution=0.5,speed=4",
        "kelvin-voigt:stiffness=1e5,damping=50",
    ],
)
def test_the_command_line_runs_a_study_with_a_compliant_law(text, capsys):
    code = main(["run", "bouncing-ball", "--law", text, "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert code in (0, 1)  # the paper's claims are about its own law
    assert summary["metrics"]["touchdown_times"][0] == pytest.approx(math.sqrt(2 / G), abs=1e-9)
    assert summary["certificate"]["contacts"]["floor"]["smallest_force"] >= 0
    assert summary["certificate"]["energy"]["relative"] < 1e-6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kelvin-voigt:stiffness=0", "a finite stiffness above 0, got 0"),
        ("kelvin-voigt:stiffness=nan", "a finite stiffness above 0, got nan"),
        ("kelvin-voigt:damping=-1", "a finite damping of at least 0, got -1"),
        ("kelvin-voigt:damping=inf", "a finite damping of at least 0, got inf"),
        *(
            (f"{name}:{text}", message)
            for name in ("hunt-crossley", "exponential-hunt-crossley")
            for text, message in (
                ("stiffness=-1", "a finite stiffness above 0, got -1"),
                ("exponent=0.5", "a finite exponent of at least 1, got 0.5"),
                ("exponent=nan", "a finite exponent of at least 1, got nan"),
                ("damping=-0.1", "a finite damping of at least 0, got -0.1"),
                ("restitution=1.1", "a restitution above 0 and up to 1, got 1.1"),
                ("restitution=-0.1", "a restitution above 0 and up to 1, got -0.1"),
                ("restitution=nan", "a restitution above 0 and up to 1, got nan"),
                ("restitution=0", r"got 0\. Use a law with exact restitution zero, Impact\(restitution=0\)"),
                ("restitution=0.5,speed=0", "a finite speed above 0, got 0"),
                ("restitution=0.5,damping=1", "damping or restitution, got both, damping = 1 and restitution = 0.5"),
                ("restitution=1e-300,speed=1e-300", "a restitution whose damping is a finite number"),
            )
        ),
    ],
)
def test_bad_parameters_are_refused(text, message):
    with pytest.raises(InputError, match=rf"law '{text.split(':')[0]}': expected .*{message}"):
        parse_law(text)


def test_parameters_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="a finite stiffness above 0, got 'soft'"):
        KelvinVoigt(stiffness="soft")
    with pytest.raises(InputError, match="a restitution above 0 and up to 1, got 'low'"):
        HuntCrossley(restitution="low")


def test_a_start_below_the_surface_is_allowed_only_under_a_compliant_law():
    assert simulate(particle(), KelvinVoigt(), until=0.01, start={"z": -0.01}).ok
    with pytest.raises(StartError, match="gap 'wall' of zero or more"):
        simulate(particle(), impinge.Baumgarte(), until=0.01, start={"z": -0.01})
