"""Contacts that never slide, under compliant laws: slips stop where they land, by an impulse that only takes energy."""

from __future__ import annotations

import functools
import itertools
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from differences import FINEST, assert_is_the_derivative, states
from friction_models import feet, incline
from impinge import (
    ExponentialHuntCrossley,
    FixedStep,
    HuntCrossley,
    Impact,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    equilibrium,
    linearize,
    periodic_orbit,
    sensitivity,
    simulate,
)

G = 9.81
LAWS = [KelvinVoigt(), KelvinVoigt(stiffness=2e4, damping=10), HuntCrossley(), ExponentialHuntCrossley()]
SPRINGS = [KelvinVoigt(1e4, 50), HuntCrossley(1e5, restitution=0.4), ExponentialHuntCrossley(1e5, restitution=0.4)]
NAMES = ["kelvin-voigt", "kelvin-voigt-loose", "hunt-crossley", "exponential"]


def law_of(kind, stiffness, loss):
    """A compliant law from a stiffness in N/m and a number between 0 and 1 that says how much a landing loses."""
    if kind == 0:
        return KelvinVoigt(stiffness, 2 * loss * math.sqrt(stiffness))
    return (HuntCrossley, ExponentialHuntCrossley)[kind - 1](30 * stiffness, restitution=1 - 0.7 * loss)


any_law = st.builds(law_of, st.integers(0, 2), st.floats(3e3, 3e6), st.floats(0.05, 1.0))


@functools.cache
def point(slips=1):
    """A point of mass m above a floor, with one slip or two, which are turned by rot; a force F draws it along x."""
    b = ModelBuilder("point")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z", start=0.1)
    m, rot = b.parameter("m", 1.0, "kg"), b.parameter("rot", 0.0, "rad")
    b.kinetic(m * (vx**2 + vy**2 + vz**2) / 2)
    b.potential(m * G * z)
    b.force(b.input("F", "N"), along=x)
    along = [x * ca.cos(rot) + y * ca.sin(rot), y * ca.cos(rot) - x * ca.sin(rot)]
    b.gap("floor", z, slip=along[:slips])
    return b.build()


def slip_names(slips):
    return ["slip_floor"] if slips == 1 else ["slip_floor_1", "slip_floor_2"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    slips=st.integers(1, 2),
    law=any_law,
    m=st.floats(0.1, 10.0),
    rot=st.floats(-3, 3),
    speeds=st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 0)),
)
def test_a_point_stops_where_it_lands_and_loses_the_energy_of_its_slip(slips, law, m, rot, speeds):
    start = dict(zip(("x_dot", "y_dot", "z_dot"), speeds, strict=True))
    result = simulate(point(slips), law, until=0.6, start=start, parameters={"m": m, "rot": rot})
    assert result.ok
    assert result.certificate.ok
    assert result.certificate.contacts["floor"].impacts == 0
    landing = result.events[0]
    before, after = landing.row, landing.row + 1
    rates = np.array([result[f"{name}_dot"] for name in slip_names(slips)])
    speed = float(np.linalg.norm(rates[:, before]))
    assert landing.halt == pytest.approx(m * speed, abs=1e-9)
    assert landing.impact == 0.0
    lost = result["energy_kinetic"][before] - result["energy_kinetic"][after]
    assert lost == pytest.approx(m * speed**2 / 2, abs=1e-9)
    assert result["work_contacts"][after] - result["work_contacts"][before] == pytest.approx(-lost, abs=1e-9)
    assert np.abs(rates[:, after]).max() < 1e-9
    assert np.abs(rates[:, after:]).max() < 1e-7  # nothing draws it along: what there is, is within the tolerance
    places = np.array([result[name] for name in slip_names(slips)])
    assert np.ptp(places[:, after:], axis=1).max() < 1e-8
    assert result["work_contacts"].max() <= 1e-9  # springs return what they took, and no more


@settings(max_examples=30, deadline=None, derandomize=True)
@given(m=st.floats(0.2, 5.0), force=st.floats(-20, 20), speed=st.floats(-2, 2), k=st.floats(1e4, 1e6))
def test_what_starts_in_contact_with_a_slip_rate_is_stopped_at_once_and_bends_its_spring_at_most_twice(
    m, force, speed, k
):
    """From rest a spring k under a force F goes no farther than 2F/k, and comes to rest at F/k."""
    law = KelvinVoigt(k, 2 * math.sqrt(k * m), stick_stiffness=k, stick_damping=0.6 * math.sqrt(k * m))
    start = {"x_dot": speed, "z": -m * G / k}
    result = simulate(point(), law, until=0.5, start=start, inputs={"F": force}, parameters={"m": m})
    assert result.ok
    assert result.certificate.ok
    if abs(speed) > 1e-9:
        assert [event.time for event in result.events] == [0.0]
        assert result.events[0].halt == pytest.approx(m * abs(speed))
        assert abs(result["x_dot"][1]) < 1e-9
    assert np.abs(result["x"]).max() <= 2 * abs(force) / k + 1e-9
    assert result["x"][-1] == pytest.approx(force / k, abs=0.05 * abs(force) / k + 1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(law=any_law, v=st.floats(-3, 3), spin=st.floats(-30, 30), m=st.floats(0.1, 5.0), k=st.floats(0.2, 1.0))
def test_a_wheel_that_lands_rolls_with_the_angular_momentum_about_where_it_touches(law, v, spin, m, k):
    """m r v + I ω is kept, and behind the landing v = r ω: I = k² m r² and ω such that it rolls towards x."""
    r = 0.2
    b = ModelBuilder("roller")
    (x, vx), (z, vz), (phi, w) = b.coordinate("x"), b.coordinate("z", start=0.5), b.coordinate("phi", unit="rad")
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * (k * r) ** 2 * w**2 / 2)
    b.potential(m * G * z)
    b.gap("floor", z - r, slip=x - r * phi)
    result = simulate(b.build(), law, until=0.4, start={"x_dot": v, "phi_dot": spin})
    assert result.ok
    assert result.certificate.ok
    after = result.events[0].row + 1
    rolls = (v + k**2 * r * spin) / (1 + k**2)
    for speed in (result["x_dot"], r * result["phi_dot"]):
        assert speed[after] == pytest.approx(rolls, abs=1e-9)
        assert speed[after:] == pytest.approx(rolls, abs=1e-6)


# A rimless wheel.

SPOKES, MASS, LENGTH, SLOPE, INERTIA = 8, 1.3, 0.9, 0.08, 0.3
HALF = math.pi / SPOKES
ABOUT = INERTIA + MASS * LENGTH**2
ETA = (INERTIA + MASS * LENGTH**2 * math.cos(2 * HALF)) / ABOUT
GAIN = 4 * MASS * G * LENGTH * math.sin(HALF) * math.sin(SLOPE) / ABOUT


@functools.cache
def rimless():
    """Spokes without a rim that go down a slope; x along it, z away from it, phi from the normal."""
    b = ModelBuilder("rimless")
    x, vx = b.coordinate("x", speed=1.2 * LENGTH)
    z, vz = b.coordinate("z", start=LENGTH)
    phi, w = b.coordinate("phi", unit="rad", speed=-1.2)
    b.kinetic(MASS * (vx**2 + vz**2) / 2 + INERTIA * w**2 / 2)
    b.potential(MASS * G * (z * math.cos(SLOPE) - x * math.sin(SLOPE)))
    for k in range(SPOKES):
        angle = phi + 2 * HALF * k
        b.gap(f"foot{k}", z - LENGTH * ca.cos(angle), slip=x + LENGTH * ca.sin(angle))
    return b.build()


def speed_at(phi):
    """The speed of the rigid wheel on its orbit: w⁺ = η w⁻ at every impact, and a step goes down by what it loses."""

    def height(angle):
        return LENGTH * (math.cos(angle) * math.cos(SLOPE) + math.sin(angle) * math.sin(SLOPE))

    behind = ETA**2 * GAIN / (1 - ETA**2)  # w² just behind an impact, where phi is HALF
    return -math.sqrt(behind + 2 * MASS * G * (height(HALF) - height(phi)) / ABOUT)


@pytest.mark.parametrize(
    ("family", "bounds"),
    [
        (lambda k: HuntCrossley(k, restitution=0.01), {1e6: 1e-2, 1e7: 3e-3, 1e8: 3e-4}),
        (lambda k: ExponentialHuntCrossley(k, restitution=0.05), {1e6: 6e-2, 1e7: 5e-3, 1e8: 3e-4}),
        (lambda k: KelvinVoigt(k, 2 * math.sqrt(k)), {1e5: 4e-2, 1e6: 2e-2, 1e7: 4e-3}),
    ],
    ids=["hunt-crossley", "exponential", "kelvin-voigt"],
)
def test_a_rimless_wheel_tends_to_its_closed_form_as_its_feet_become_stiff(family, bounds):
    """Speed, and the multiplier η² of the step, which is the derivative through two landings."""
    for stiffness, bound in bounds.items():
        orbit = periodic_orbit(
            rimless(),
            family(stiffness),
            guess_period=0.6,
            advance={"x": None, "phi": -2 * HALF},
            tolerance=1e-7,
        )
        assert abs(orbit.start["phi_dot"] / speed_at(orbit.start["phi"]) - 1) < bound
        assert abs(orbit.multipliers[0] - ETA**2) < bound
        assert np.abs(orbit.multipliers[1:]).max() < 1e-6


@pytest.mark.parametrize("law", [HuntCrossley(1e7, restitution=0.05), KelvinVoigt(1e6, 1e3)], ids=str)
def test_a_rimless_wheel_goes_on_with_a_few_events_for_each_step(law):
    result = simulate(rimless(), law, until=12.0)
    assert result.ok
    assert result.certificate.ok
    steps = result["x"][-1] / (2 * LENGTH * math.sin(HALF))
    assert steps > 14
    assert len(result.events) < 12 * steps


# Landings on several feet.


@functools.cache
def stool():
    """A flat plate on four legs with two slips each, in space."""
    b = ModelBuilder("stool")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z")
    yaw, wy = b.coordinate("yaw", unit="rad")
    (pitch, wp), (roll, wr) = b.coordinate("pitch", unit="rad"), b.coordinate("roll", unit="rad")
    b.kinetic(4.0 * (vx**2 + vy**2 + vz**2) / 2 + 0.5 * wy**2 / 2 + 0.2 * (wp**2 + wr**2) / 2)
    b.potential(4.0 * G * z)
    for i, (p, q) in enumerate(itertools.product((0.3, -0.3), (0.2, -0.2))):
        at = x + p * ca.cos(yaw) - q * ca.sin(yaw), y + p * ca.sin(yaw) + q * ca.cos(yaw)
        b.gap(f"leg{i}", z - p * pitch + q * roll, slip=list(at))
    return b.build()


def drop(rng, kind):
    """A model above its floor, a random start, and parameters."""
    drift = rng.normal(size=2) * rng.choice([0.0, 0.1, 1.0], size=2)
    if kind == "stool":
        pitch, roll = rng.uniform(-0.2, 0.2, 2) * rng.choice([0, 1, 1])
        start = {"z": 0.3 * abs(pitch) + 0.2 * abs(roll) + rng.uniform(0, 0.2), "pitch": pitch, "roll": roll}
        return stool(), start | {"x_dot": drift[0], "y_dot": drift[1], "yaw_dot": rng.normal()}, {}
    angle = rng.uniform(-0.4, 0.4) * rng.choice([0, 1, 1])
    start = {"z": 0.1 * np.cos(angle) + 0.2 * abs(np.sin(angle)) + rng.uniform(0, 0.2), "angle": angle}
    start |= {"x_dot": drift[0], "angle_dot": rng.normal() * rng.choice([0, 1])}
    return feet(kind, slides=False), start, {"th": float(rng.choice([0.0, 0.0, 0.3]))}


@pytest.mark.parametrize("kind", [2, 3, 4, "stool"])
@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_every_landing_on_feet_that_never_slide_reaches_its_end_and_keeps_its_promises(law, kind):
    rng = np.random.default_rng(7)
    for _ in range(25):
        model, start, parameters = drop(rng, kind)
        result = simulate(model, law, until=1.0, start=start, parameters=parameters)
        assert result.ok, result.reason
        assert result.certificate.ok, result.certificate.broken
        assert result.certificate.leaps == 0
        assert result.certificate.steps < 4000
        assert len(result.events) < 600
        assert result["work_contacts"].max() <= 1e-9
        for event in result.events:
            if event.halt > 0.0:
                rates = [x for n, x in result.signals.items() if n.startswith(f"slip_{event.contact}") and "_dot" in n]
                assert max(abs(x[event.row + 1]) for x in rates) < 1e-9
                assert result["work_contacts"][event.row + 1] <= result["work_contacts"][event.row]


def test_feet_that_land_together_share_the_impulse_that_stops_them():
    """A block that lands flat without turning: both feet lie h below its center, and J = m (a² + h²)/3.

    Both slips have the same row, 1/m + h²/J for each unit of impulse, and each foot has half of it.
    """
    result = simulate(feet(2, slides=False), HuntCrossley(), until=0.3, start={"z": 0.3, "x_dot": 1.0})
    one, other = result.events[:2]
    assert one.row == other.row
    row = 1 / 2.0 + 0.1**2 / (2.0 * (0.2**2 + 0.1**2) / 3)
    assert [one.halt, other.halt] == pytest.approx([0.5 / row] * 2, rel=1e-9)
    assert max(abs(result[f"slip_foot{i}_dot"][one.row + 1]) for i in (0, 1)) < 1e-9


def test_a_touch_that_its_stop_ends_is_a_touchdown_and_a_liftoff():
    """A leaning rod lands on one end: stopping its slip lifts the end faster than it came down."""
    b = ModelBuilder("rod")
    (x, vx), (z, vz), (angle, w) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    b.kinetic((vx**2 + vz**2) / 2 + w**2 / 24)
    b.potential(G * z)
    b.gap("end", z - 0.5 * ca.sin(angle), slip=x - 0.5 * ca.cos(angle))
    start = {"angle": 1.0, "z": 0.5 * math.sin(1.0) + 0.01, "x_dot": 3.0}
    result = simulate(b.build(), KelvinVoigt(1e6, 1e3), until=0.05, start=start)
    assert result.ok
    assert result.certificate.ok
    first = result.events[0]
    assert (first.before, first.after, first.halt > 0.0) == ("Free", "Free", True)
    assert result["gap_end_dot"][first.row] < 0.0 < result["gap_end_dot"][first.row + 1]
    assert result.touchdowns("end")[0] == result.liftoffs("end")[0] == first.time


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_feet_of_one_body_may_have_rigid_and_compliant_laws(law):
    rng = np.random.default_rng(3)
    for _ in range(20):
        model, start, _ = drop(rng, 2)
        result = simulate(model, {"foot0": law, "foot1": Impact(0.5)}, until=0.8, start=start)
        assert result.ok, result.reason
        assert result.certificate.ok, result.certificate.broken
        assert result["work_contacts"].max() <= 1e-9


def test_a_rigid_foot_is_not_moved_by_the_impulse_that_stops_a_compliant_one():
    """A cart without rotation on a rigid foot, and a compliant one that comes down on a part of its own."""
    b = ModelBuilder("cart")
    (x, vx), (z, vz), (y, vy) = b.coordinate("x", speed=0.7), b.coordinate("z"), b.coordinate("y", start=0.05)
    b.kinetic((2.0 * vx**2 + 2.0 * vz**2 + 0.5 * vy**2) / 2)
    b.potential(2.0 * G * z + 0.5 * G * y)
    b.gap("wheel", z)
    b.gap("brake", y, slip=x + 0.8 * z)  # pushes the cart down, or up, when it stops
    model = b.build()
    for speed in (0.7, -0.7):
        result = simulate(model, {"wheel": Impact(), "brake": HuntCrossley()}, until=0.3, start={"x_dot": speed})
        assert result.ok
        assert result.certificate.ok
        stop = next(event for event in result.events if event.halt > 0.0)
        # The slip loses its rate with the wheel's gap held where it would be pressed down, and free where it lifts.
        held = speed > 0.0
        assert stop.halt == pytest.approx(0.7 / (1 / 2.0 + (0.0 if held else 0.8**2 / 2.0)), rel=1e-6)
        assert abs(result["slip_brake_dot"][stop.row + 1]) < 1e-9
        assert result["z_dot"][stop.row + 1] == pytest.approx(0.0 if held else 0.8 * stop.halt / 2.0, abs=1e-9)
        assert result.impacts("wheel")[0].size >= held


def test_fixed_steps_stop_slips_as_well():
    start = {"z": 0.3, "angle": -0.2, "x_dot": 1.0}
    runs = [
        simulate(feet(3, slides=False), HuntCrossley(), until=0.25, start=start, method=method)
        for method in (None, FixedStep(2e-5))
    ]
    assert all(run.ok for run in runs)
    one, other = ([(e.contact, e.halt) for e in run.events if e.halt > 1e-3] for run in runs)
    assert [contact for contact, _ in one] == [contact for contact, _ in other]
    assert [halt for _, halt in one] == pytest.approx([halt for _, halt in other], abs=1e-5)


# Rest, linear models and derivatives.


@pytest.mark.parametrize("law", SPRINGS, ids=str)
def test_a_block_on_a_slope_rests_in_its_springs_and_its_linear_model_has_them(law):
    """Down the plane it is a spring and a damper beside a mass of 1 kg, bent by m g sin(th) / k."""
    th = 0.3
    stick, damping = law.gains[-2:]
    rest = equilibrium(incline(False), mode=["plane"], law=law, parameters={"th": th})
    linear = linearize(incline(False), rest, mode=["plane"], law=law, parameters={"th": th})
    expected = np.roots([1.0, damping, stick])
    poles = np.linalg.eigvals(linear.A)
    assert max(np.abs(poles - pole).min() for pole in expected) < 1e-6 * abs(expected).max()
    result = simulate(incline(False), law, until=2.0, parameters={"th": th})
    assert result.ok
    assert result.certificate.ok
    assert abs(result["slip_plane"][-1]) <= 2.01 * G * math.sin(th) / stick


@functools.cache
def curved():
    """A point of mass m that lands on a curved floor, whose slip is curved too and moves at V."""
    b = ModelBuilder("curved")
    (x, vx), (z, vz) = b.coordinate("x", speed=1.0), b.coordinate("z", start=0.1)
    m, V, tilt = b.parameter("m", 1.3, "kg"), b.parameter("V", 0.3, "m/s"), b.parameter("tilt", 0.2)
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * z)
    b.gap("floor", z + tilt * x + 0.1 * x**2, slip=x - tilt * z - V * b.time + 0.05 * ca.sin(x))
    return b.build()


@pytest.mark.parametrize("law", SPRINGS, ids=str)
def test_a_landing_that_stops_has_the_derivative_of_its_finite_differences(law):
    by = [*states(curved()), "m", "V", "tilt"]
    found = assert_is_the_derivative(curved(), law, 0.3, by, step=3e-5, runs=FINEST)
    (_, _, S), *_ = found.saltations
    assert abs(np.linalg.det(S)) < 1e-9  # what stops has no slip rate any more


@pytest.mark.parametrize("law", SPRINGS, ids=str)
@pytest.mark.parametrize("speed", [0.0, 0.8])
def test_a_start_in_contact_has_the_derivative_of_its_finite_differences(law, speed):
    by = [*states(curved()), "m", "tilt"]
    options = {"start": {"z": -0.002, "x_dot": speed}, "parameters": {"V": 0.0}}
    assert_is_the_derivative(curved(), law, 0.02, by, step=1e-5, runs=FINEST, **options)


@pytest.mark.parametrize(("law", "n", "seed"), [(SPRINGS[0], 2, 1), (SPRINGS[1], 2, 1), (SPRINGS[2], 3, 0)], ids=str)
def test_landings_on_several_feet_have_the_derivative_of_their_finite_differences(law, n, seed):
    rng, model = np.random.default_rng(seed), feet(n, slides=False)
    start = {"z": 0.25, "angle": rng.uniform(-0.3, 0.3), "x_dot": rng.normal(), "angle_dot": rng.normal()}
    found = assert_is_the_derivative(model, law, 0.25, [*states(model), "m"], step=1e-4, runs=FINEST, start=start)
    assert sum(event.halt > 0.0 for event in found.result.events) > 1


@functools.cache
def four_bar():
    """A four-bar linkage; a foot on a vertical guide at its coupler's center lands on a floor and holds it there."""
    b = ModelBuilder("braked_four_bar")
    names = ("crank", "coupler", "rocker")
    (crank, w1), (coupler, w2), (rocker, w3) = (b.coordinate(name, unit="rad") for name in names)
    q, v = ca.vertcat(crank, coupler, rocker), ca.vertcat(w1, w2, w3)
    foot, v_foot = b.coordinate("foot")

    def along(angle):
        return ca.vertcat(ca.cos(angle), ca.sin(angle))

    pin, ground = 0.4 * along(crank), ca.vertcat(1.0, 0)
    centers = [pin / 2, pin + 0.45 * along(coupler), ground + 0.4 * along(rocker)]
    for m, length, center, speed in zip((1.0, 2.0, 1.5), (0.4, 0.9, 0.8), centers, (w1, w2, w3), strict=True):
        b.kinetic(m * ca.sumsqr(ca.jtimes(center, q, v)) / 2 + m * length**2 / 12 * speed**2 / 2)
        b.potential(m * G * center[1])
    b.kinetic(0.5 * (ca.jtimes(centers[1][0], q, v) ** 2 + v_foot**2) / 2)
    b.potential(0.5 * G * foot)
    b.force(b.input("torque", "N·m"), along=crank)
    loop = pin + 0.9 * along(coupler) - ground - 0.8 * along(rocker)
    b.constraint("loop_x", loop[0])
    b.constraint("loop_y", loop[1])
    b.gap("floor", foot, slip=centers[1][0])
    return b.build()


def pose(crank, speed):
    """A start of the linkage that keeps its loop closed."""
    pin = 0.4 * np.array([math.cos(crank), math.sin(crank)])
    way = np.array([1.0, 0.0]) - pin
    d = float(np.linalg.norm(way))
    coupler = math.atan2(way[1], way[0]) + math.acos((d**2 + 0.9**2 - 0.8**2) / (2 * d * 0.9))
    tip = pin + 0.9 * np.array([math.cos(coupler), math.sin(coupler)])
    rocker = math.atan2(tip[1], tip[0] - 1.0)
    across = [np.array([-math.sin(angle), math.cos(angle)]) for angle in (crank, coupler, rocker)]
    w2, w3 = np.linalg.solve(np.column_stack([0.9 * across[1], -0.8 * across[2]]), -0.4 * speed * across[0])
    turn = {"crank": crank, "coupler": coupler, "rocker": rocker, "foot": 0.1}
    return turn | {"crank_dot": speed, "coupler_dot": w2, "rocker_dot": w3}


@pytest.mark.parametrize("law", SPRINGS, ids=str)
def test_a_foot_that_lands_stops_a_closed_chain_and_keeps_it_closed(law):
    start = pose(1.0, 2.0)
    result = simulate(four_bar(), law, until=0.4, start=start)
    assert result.ok
    assert result.certificate.ok
    stop = result.events[0]
    assert stop.halt > 0.1
    assert max(abs(result[f"{name}_dot"][stop.row + 1]) for name in ("crank", "coupler", "rocker")) < 1e-6
    assert result.certificate.constraint_drift < 1e-6
    assert_is_the_derivative(four_bar(), law, 0.2, ["foot", "foot_dot", "torque"], step=3e-5, runs=FINEST, start=start)


def test_feet_that_land_at_once_and_act_on_each_other_have_no_derivative():
    with pytest.raises(InputError, match=r"guards that fall one after another"):
        sensitivity(feet(2, slides=False), KelvinVoigt(), until=0.25, start={"z": 0.3, "x_dot": 1.0})


def test_a_rigid_foot_that_lands_with_one_that_is_stopped_is_not_driven_into_the_floor():
    b = ModelBuilder("plate")
    (x, vx), (z, vz), (angle, spin) = b.coordinate("x"), b.coordinate("z", start=0.25), b.coordinate("angle")
    b.kinetic((vx**2 + vz**2) / 2 + 0.01 * spin**2 / 2)
    b.potential(G * z)
    for name, at, rub in (("rubs", -0.13, {"friction": 0.5}), ("holds", 0.13, {})):
        foot = ca.vertcat(x + at * ca.cos(angle) + 0.15 * ca.sin(angle), z + at * ca.sin(angle) - 0.15 * ca.cos(angle))
        b.gap(name, foot[1], slip=foot[0], **rub)
    rng = np.random.default_rng(8)
    for _ in range(20):
        laws = {"rubs": Impact(0.3), "holds": HuntCrossley(10 ** rng.uniform(4, 6), restitution=0.5)}
        result = simulate(b.build(), laws, until=0.5, start={"x_dot": 2 * rng.normal()})
        assert result.ok, result.reason
        assert result["gap_rubs"].min() > -1e-9
