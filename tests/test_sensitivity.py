"""Derivatives of trajectories through contacts, and periodic motions: finite differences, closed forms, Liouville."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from differences import EXACT, assert_is_the_derivative, difference, end, states
from impinge import Adaptive, Baumgarte, FixedStep, InputError, ModelBuilder, robots, simulate
from impinge.analysis.variations.orbit import periodic_orbit
from impinge.analysis.variations.sensitivity import sensitivity
from impinge.compile import Vector, entry
from impinge.contact.law import GAP, watching
from mechanisms import block, four_bar, four_bar_pose, maze
from models import balls, bump, pendulum, pulled_ball, shaker, stack

G = 9.81
LAW = Baumgarte(a0=100, a1=20, a2=1e6)


@functools.cache
def disk(edge=False):
    """A disk above a table inclined by a that it rolls on, which may end at L down the slope."""
    b = ModelBuilder("disk")
    (x, vx), (z, vz), (phi, w) = b.coordinate("x"), b.coordinate("z", start=0.1), b.coordinate("phi", unit="rad")
    m, r, k = b.parameter("m", 1.0, "kg"), b.parameter("r", 0.1, "m"), b.parameter("k", 0.5)
    g, a, L = b.parameter("g", G, "m/s²"), b.parameter("a", 0.0, "rad"), b.parameter("L", 1.0, "m")
    b.kinetic(m * (vx**2 + vz**2) / 2 + k * m * r**2 * w**2 / 2)
    b.potential(m * g * z)
    down = x * ca.cos(a) - z * ca.sin(a)
    gap = x * ca.sin(a) + z * ca.cos(a) - r
    b.gap("table", gap, slip=down - r * phi, extent=L - down if edge else None)
    return b.build()


@functools.cache
def puck(surface="table"):
    """A puck that sticks to what it lands on, drawn by fx and fz: a table, a belt at V, a table that ends at L."""
    b = ModelBuilder("puck")
    (x, vx), (z, vz) = b.coordinate("x", speed=1.0), b.coordinate("z", start=0.2)
    g, V, L = b.parameter("g", G, "m/s²"), b.parameter("V", 0.5, "m/s"), b.parameter("L", 1.0, "m")
    e = b.parameter("e", 0.0, "kg", "by which friction lifts it")
    b.kinetic((vx**2 + vz**2) / 2 + e * vx * vz)
    b.potential(g * z)
    b.force(b.input("fx", "N"), along=x)
    b.force(b.input("fz", "N"), along=z)
    b.gap(
        "top",
        z,
        slip={"table": x, "belt": x - V * b.time, "edge": ()}[surface],
        extent=L - x if surface == "edge" else None,
    )
    return b.build()


@functools.cache
def plucked(rod=False):
    """A ball that a force s sin(w t) draws up and pushes down, directly or by another that a rod ties to it."""
    b = ModelBuilder("plucked")
    z, v = b.coordinate("z", start=0.5)
    s, w = b.parameter("s", 15.0, "N"), b.parameter("w", 20.0, "rad/s")
    g = b.parameter("g", G, "m/s²")
    b.kinetic(v**2 / 2)
    b.potential(g * z)
    b.gap("floor", z)
    if rod:
        y, vy = b.coordinate("y", start=0.7)
        b.kinetic(0.1 * vy**2 / 2)
        b.potential(0.1 * g * y)
        b.constraint("rod", y - z - 0.2)
    b.force(s * ca.sin(w * b.time), along=y if rod else z)
    return b.build()


@functools.cache
def van_der_pol(wall=False):
    """The self-excited oscillator of van der Pol, which may swing against a wall at −1.5."""
    b = ModelBuilder("van_der_pol")
    x, v = b.coordinate("x", start=2.0)
    mu = b.parameter("mu", 1.0)
    b.kinetic(v**2 / 2)
    b.potential(x**2 / 2)
    b.force(mu * (1 - x**2) * v, along=x)
    if wall:
        b.gap("wall", x + 1.5)
    return b.build()


def history(found, contact):
    return [(e.before, e.after) for e in found.result.events if e.contact == contact]


# Finite differences.


def test_a_ball_that_bounces_follows_its_start_its_gravity_and_not_its_mass():
    found = assert_is_the_derivative(robots.ball(), LAW, 2.0, ["q", "q_dot", "g", "m"], bound=1e-8)
    bounce = [("Free", "Contact"), ("Contact", "Ballistic"), ("Ballistic", "Free")]
    assert history(found, "floor") == 2 * bounce + bounce[:1]
    assert found.by == ("q", "q_dot", "g", "m")
    assert found.states == ("q", "q_dot")
    np.testing.assert_allclose(found.matrix[:, 3], 0.0, atol=1e-12)


def test_a_ball_that_is_pulled_at_follows_the_input():
    options = {"start": {"z": 0.5}, "inputs": {"u": 2.0}}
    found = assert_is_the_derivative(pulled_ball("ramp"), LAW, 1.0, ["z", "u", "m", "s", "rate"], bound=1e-8, **options)
    assert len(found.saltations) >= 3


def test_a_ball_on_a_shaking_table_follows_the_table():
    by = ["z", "z_dot", "A", "w", "f", "g"]
    found = assert_is_the_derivative(shaker(), LAW, 2.0, by, step=1e-6)
    assert len(found.saltations) >= 9


def test_a_pendulum_that_swings_against_a_wall():
    assert len(assert_is_the_derivative(pendulum(wall=True), LAW, 3.0, bound=1e-7).saltations) >= 6


def test_a_four_bar_linkage_follows_its_loads_and_masses():
    by = ["torque", "load", "g", "m1", "m2", "m3", "c"]
    assert_is_the_derivative(four_bar(), None, 1.5, by, bound=1e-7, start=four_bar_pose(1.0), inputs={"torque": 3.0})


def test_balls_that_land_together_without_touching_each_other_have_a_derivative():
    found = assert_is_the_derivative(balls(2), LAW, 1.5, bound=1e-7)
    assert found.saltations[0][1] == ("floor0", "floor1")
    mixed = [found.states.index(name) for name in ("z0", "z0_dot")]
    np.testing.assert_array_equal(found.matrix[np.ix_([1, 3], mixed)], 0.0)


def test_pucks_that_land_together_each_stick_where_they_land():
    b = ModelBuilder("pucks")
    for k in range(2):
        (x, vx), (z, vz) = b.coordinate(f"x{k}", speed=1.0 + k), b.coordinate(f"z{k}", start=0.2)
        b.kinetic((vx**2 + vz**2) / 2)
        b.potential(G * z)
        b.gap(f"floor{k}", z, slip=x)
    found = assert_is_the_derivative(b.build(), LAW, 0.5)
    assert found.saltations[0][1] == ("floor0", "floor1")


def test_a_ball_that_lands_on_another_ball_that_lies():
    start = {"z0": 0.0, "z1": 0.4, "z1_dot": -1.0}
    by = ["z1", "z1_dot", "g", "m0", "m1", "u0", "u1"]
    found = assert_is_the_derivative(stack(2), LAW, 0.8, by, start=start)
    assert {contact for _, names, _ in found.saltations for contact in names} >= {"c1"}


@pytest.mark.parametrize("a", [0.0, 0.2])
def test_a_spinning_disk_that_lands_and_rolls(a):
    """Where it lands its slip begins to count: the anchor moves with the landing."""
    start = {"z": 0.5, "phi_dot": 10.0, "x_dot": 0.3}
    by = [*states(disk()), "m", "r", "k", "g", "a"]
    found = assert_is_the_derivative(disk(), LAW, 1.2, by, start=start, parameters={"a": a}, step=3e-5)
    assert history(found, "table").count(("Free", "Contact")) == 2


def test_a_disk_that_starts_on_the_table_with_slip_counts_from_its_start():
    by = ["x", "x_dot", "phi", "phi_dot", "m", "k", "g"]
    start = {"x": 0.3, "phi": 2.0, "phi_dot": 1.0}
    found = assert_is_the_derivative(disk(), LAW, 0.4, by, bound=1e-7, start=start)
    assert found.saltations == ()
    x, phi = found.by.index("x"), found.by.index("phi")
    np.testing.assert_allclose(found.matrix[0, [x, phi]], [1.0, 0.0], atol=1e-9)


def test_what_lands_on_a_running_belt_is_carried_along():
    assert_is_the_derivative(puck("belt"), LAW, 1.0, [*states(puck()), "V", "g"])


def test_what_leaves_the_edge_of_a_table():
    by = [*states(puck()), "L", "g", "fx"]
    found = assert_is_the_derivative(puck("edge"), LAW, 1.5, by, start={"z": 0.1}, step=3e-4)
    assert found.result.mode("top") == "Passed"
    assert np.abs(found.saltations[1][2] - np.eye(4)).max() > 1


def test_a_disk_that_rolls_off_the_edge_of_an_inclined_table():
    a = 0.2
    start = {"x": 0.1 * math.sin(a), "z": 0.1 * math.cos(a)}
    found = assert_is_the_derivative(
        disk(edge=True), LAW, 1.5, ["phi_dot", "L", "g", "k", "m"], start=start, parameters={"a": a, "L": 0.5}
    )
    assert history(found, "table")[0] == ("Contact", "Passed")


def test_a_ball_that_is_dropped_beside_the_top_of_the_maze():
    law = Baumgarte(a0=400, a1=40, a2=1e6, a3=1e6)
    by = [*states(maze()), "r_b", "r_m1", "g", "m_b", "J_m", "torque"]
    found = assert_is_the_derivative(maze(), law, 0.6, by, step=1e-7, start={"q2": 0.005})
    assert history(found, "ring1") == [("Free", "Contact"), ("Contact", "Ballistic"), ("Ballistic", "Free")]


def test_a_block_whose_corners_stick_though_they_contradict_each_other():
    """Four closed rows for three coordinates: the forces are least-squares ones, and so are their derivatives."""
    options = {"start": {"z": 0.3, "angle": 0.1}, "parameters": {"f": 0.01}, "inputs": {"push": 1.0}}
    by = [*states(block(True)), "push", "m", "a", "h", "f", "w"]
    found = assert_is_the_derivative(block(True), LAW, 0.6, by, step=1e-5, **options)
    result = found.result
    assert (result.is_closed("left") & result.is_closed("right")).any()
    assert any(abs(np.linalg.det(S) - 1) > 1e-4 for _, _, S in found.saltations)


@pytest.mark.parametrize(("a1", "e"), [(0.0, 0.0), (2.0, 0.2)])
def test_a_puck_that_sinks_while_it_is_drawn_up_sticks_when_contact_would_push(a1, e):
    """Ballistic → Contact where the force that it would have passes zero: its slip counts from then on.

    With damping it also has friction at once, and the derivative jumps.
    """
    law = Baumgarte(a0=100, a1=a1, a2=1e6)
    options = {"start": {"z_dot": -3.0}, "inputs": {"fz": 20.0}, "parameters": {"e": e}}
    by = [*states(puck()), "fx", "fz", "g", "e"]
    found = assert_is_the_derivative(puck(), law, 0.5, by, bound=1e-7, **options)
    assert history(found, "top")[:3] == [("Free", "Ballistic"), ("Ballistic", "Contact"), ("Contact", "Ballistic")]
    assert (np.abs(found.saltations[1][2] - np.eye(4)).max() > 1e-3) == (a1 > 0)
    belt = assert_is_the_derivative(puck("belt"), law, 0.5, [*by, "V"], bound=1e-7, **options)
    assert history(belt, "top") == history(found, "top")


def test_a_block_whose_corner_sinks_into_a_shaken_floor_while_it_is_drawn_up():
    """The force that a contact would have depends on the time, and on friction that would begin with it."""
    law = Baumgarte(a0=100, a1=2, a2=1e6)
    options = {
        "start": {"z": 0.3, "z_dot": -2.0, "angle": 0.1, "x_dot": 1.0},
        "inputs": {"press": -25.0},
        "parameters": {"f": 0.02, "w": 20.0},
    }
    by = [*states(block(True)), "press", "push", "m", "a", "h", "f", "w"]
    found = assert_is_the_derivative(block(True), law, 0.25, by, step=1e-5, **options)
    assert history(found, "left")[:3] == [("Free", "Ballistic"), ("Ballistic", "Contact"), ("Contact", "Ballistic")]
    assert np.abs(found.saltations[1][2] - np.eye(6)).max() > 1e-3


def test_fixed_steps_give_the_same_derivatives():
    start = {"z": 0.5, "phi_dot": 10.0}
    exact = sensitivity(disk(), LAW, until=1.0, start=start, method=EXACT).matrix
    errors = [
        np.abs(sensitivity(disk(), LAW, until=1.0, start=start, method=FixedStep(h)).matrix - exact).max()
        for h in (2e-3, 1e-3)
    ]
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] > 8  # fourth order would be 16, and steps are cut at events


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    z=st.floats(0.15, 1.0),
    x_dot=st.floats(-1, 1),
    z_dot=st.floats(-1, 1),
    spin=st.floats(-10, 10),
    a=st.floats(-0.3, 0.3),
    direction=st.tuples(*[st.floats(-1, 1)] * 6),
)
def test_any_drop_of_a_disk_has_the_derivative_of_its_finite_differences(z, x_dot, z_dot, spin, a, direction):
    assume(max(map(abs, direction)) > 0.1)
    options = {"start": {"z": z, "x_dot": x_dot, "z_dot": z_dot, "phi_dot": spin}, "parameters": {"a": a}}
    along = dict(zip(states(disk()), direction, strict=True))
    expected, same = difference(disk(), LAW, 1.0, along, 1e-5, **options)
    assume(same)
    found = sensitivity(disk(), LAW, until=1.0, method=EXACT, **options).matrix
    np.testing.assert_allclose(found @ np.array(direction), expected, atol=1e-6 * np.abs(found).max())


# Closed forms.


def test_free_flight_is_a_double_integrator():
    found = sensitivity(robots.ball(), LAW, until=0.4)
    times = found.t[:, None, None]
    expected = np.concatenate([np.ones_like(times), times, 0 * times, np.ones_like(times)], axis=1).reshape(-1, 2, 2)
    np.testing.assert_allclose(found.matrices, expected, atol=1e-14)
    assert (found.t[0], found.t[-1]) == (0.0, pytest.approx(0.4))
    np.testing.assert_allclose(found.rate, [-0.4 * G, -G])


def test_a_run_shorter_than_the_time_resolution_changes_nothing():
    np.testing.assert_array_equal(sensitivity(robots.ball(), LAW, until=1e-13).matrix, np.eye(2))


def test_an_undamped_landing_turns_like_an_oscillator_after_its_saltation():
    w, height = 10.0, 1.0
    landing, speed = math.sqrt(2 * height / G), -math.sqrt(2 * G * height)
    until = landing + 0.1
    found = sensitivity(robots.ball(), Baumgarte(a0=w**2, a1=0, a2=0), until=until, method=EXACT)
    c, s = math.cos(w * 0.1), math.sin(w * 0.1)
    saltation = np.array([[1, 0], [G / speed, 1]])
    expected = np.array([[c, s / w], [-w * s, c]]) @ saltation @ np.array([[1, landing], [0, 1]])
    np.testing.assert_allclose(found.matrix, expected, rtol=1e-9)
    ((time, contacts, S),) = found.saltations
    assert (time, contacts) == (pytest.approx(landing, abs=1e-12), ("floor",))
    np.testing.assert_allclose(S, saltation, atol=1e-11)


def test_at_an_event_both_sides_are_kept_and_differ_by_the_saltation():
    found = sensitivity(robots.ball(), LAW, until=2.0)
    assert found.t.size == found.matrices.shape[0] == 1 + len(found.result.steps) + len(found.saltations)
    assert (np.diff(found.t) >= 0).all()
    for time, _, S in found.saltations:
        left, right = np.flatnonzero(found.t == time)
        np.testing.assert_allclose(found.matrices[right], S @ found.matrices[left], rtol=1e-12)
    np.testing.assert_array_equal(found.matrix, found.matrices[-1])


def test_only_a_landing_deflects_and_areas_shrink_by_the_damping_while_it_lasts():
    """Liouville: det X = exp ∫ tr f_x · ∏ det S; a ball's f_x has the trace −α₁ in Contact, and det S = 1."""
    found = sensitivity(robots.ball(), LAW, until=2.0, method=EXACT)
    for event, (_, _, S) in zip(found.result.events, found.saltations, strict=True):
        assert np.linalg.det(S) == pytest.approx(1.0, abs=1e-12)
        assert (np.abs(S - np.eye(2)).max() > 1e-3) == (event.after == "Contact")
    closes, opens = found.result.touchdowns("floor"), [*found.result.liftoffs("floor"), 2.0]
    contact = sum(off - on for on, off in zip(closes, opens, strict=True))
    assert np.log(np.linalg.det(found.matrix)) == pytest.approx(-20 * contact, rel=1e-8)


def test_where_a_ball_turns_back_inside_the_floor_areas_change_by_the_ratio_of_accelerations():
    """Ballistic → Contact where the rate passes zero below the floor: det S = a⁺/a⁻; Liouville holds through it."""
    law = Baumgarte(a0=100, a1=200, a2=0)
    rod = assert_is_the_derivative(plucked(rod=True), law, 0.5, ["s", "w", "g"])
    found = assert_is_the_derivative(plucked(), law, 0.46, ["z", "z_dot", "s", "w", "g"], bound=1e-7)
    assert history(rod, "floor")[2] == history(found, "floor")[2] == ("Ballistic", "Contact")
    result, logs, turns = found.result, 0.0, 0
    whole = sensitivity(plucked(), law, until=0.46, method=EXACT)
    for event, (_, _, S) in zip(result.events, whole.saltations, strict=True):
        z, t = result["z"][event.row], event.time
        if (event.before, event.after) == ("Ballistic", "Contact") and z < -1e-6:
            free = 15.0 * math.sin(20 * t) - G
            assert np.linalg.det(S) == pytest.approx(-100 * z / free, rel=1e-7)
            turns += 1
        logs += np.log(np.abs(np.linalg.det(S)))
    assert turns >= 1
    closes, opens = result.touchdowns("floor"), [*result.liftoffs("floor"), 0.46]
    contact = sum(off - on for on, off in zip(closes, opens, strict=True))
    assert np.log(np.abs(np.linalg.det(whole.matrix))) == pytest.approx(-200 * contact + logs, rel=1e-6)


# Where there is no derivative.


def test_contacts_that_act_on_each_other_and_land_together_have_no_derivative_by_the_tilt():
    text = (
        r"sensitivity of model 'block': expected guards that fall one after another, got those of left, right at once, "
        r"at t = 0\.2019\d* s\. Which is first decides what follows, so there is no derivative: start a little beside"
    )
    with pytest.raises(InputError, match=text):
        sensitivity(block(), LAW, until=0.3, start={"z": 0.3})


def test_a_flat_landing_has_a_derivative_by_what_keeps_it_flat():
    found = assert_is_the_derivative(block(), LAW, 0.5, ["z", "z_dot", "g"], bound=1e-8, start={"z": 0.3})
    _, contacts, S = found.saltations[0]
    assert contacts == ("left", "right")
    assert np.isnan(S).any()


def test_what_just_reaches_an_edge_has_no_derivative():
    start = {"x_dot": math.sqrt(2.0 * (1 + 1e-13)), "z": 0.0}
    text = r"expected contact 'top' to change at speed, got a grazing change at t = 1\.414\d* s, where its guard falls"
    with pytest.raises(InputError, match=text):
        sensitivity(puck("edge"), LAW, until=1.6, start=start, inputs={"fx": -1.0})


def test_a_pass_that_grazes_without_a_push_has_a_derivative():
    found = sensitivity(bump(), LAW, until=8.0, start={"z": 1 - 1e-13}, method=EXACT)
    assert found.result.events
    np.testing.assert_allclose(found.matrix, np.block([[np.eye(2), 8 * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]]))


@entry
def _sleep(mode: int, gap: float, rate: float, force: float, a: Vector, values: Vector) -> int:
    values[0] = values[1] = -1.0
    return watching(GAP, GAP)


@dataclasses.dataclass(frozen=True)
class Sleepy(Baumgarte):
    """A law whose guards never fall, so that its events are noticed at the end of a step."""

    name: ClassVar[str] = "sleepy"
    guard: ClassVar = _sleep


def test_an_event_that_no_guard_announces_has_no_derivative():
    text = (
        r"expected a guard that falls at every event, got none for floor at t = \d\.\d+ s\. Give the method a shorter"
    )
    with pytest.raises(InputError, match=text):
        sensitivity(robots.ball(), Sleepy(a0=100, a1=20, a2=1e6), until=1.0)


@pytest.mark.filterwarnings("ignore:the run of .* stopped early:impinge.errors.ImpingeWarning")
def test_unknown_names_and_runs_that_fail_are_refused():
    with pytest.raises(InputError, match=r"sensitivity of model 'ball': .*, got 'hight'\. "):
        sensitivity(robots.ball(), LAW, until=1.0, by=["hight"])
    with pytest.raises(InputError, match=r"'q_dott'\. Did you mean 'q_dot'"):
        sensitivity(robots.ball(), LAW, until=1.0, by="q_dott")
    with pytest.raises(InputError, match=r"at least one name in `by`, got none\. Leave it out to have all start"):
        sensitivity(robots.ball(), LAW, until=1.0, by=[])
    b = ModelBuilder("runaway")
    x, v = b.coordinate("x", start=1.0)
    b.kinetic(v**2 / 2)
    b.force(x**3, along=x)
    with pytest.raises(InputError, match=r"a run that reaches its end, got at t = .* Make the run itself succeed"):
        sensitivity(b.build(), until=10.0)


# Periodic motions.

W = 30.0
T = 2 * math.pi / W


def shaken(A, near, periods=1):
    """A ball that bounces on a shaking table; at t = 0 it flies."""
    parameters = {"A": A, "w": W, "f": 1.2 * math.pi}
    return periodic_orbit(shaker(), LAW, period=periods * T, near=near, parameters=parameters), parameters


NEAR = {"z": 0.0224, "z_dot": -0.07}


@pytest.mark.parametrize(("A", "stable"), [(0.027, True), (0.028, False)])
def test_multipliers_say_how_a_bouncing_ball_comes_near_its_orbit_or_leaves_it(A, stable):
    """Between the two amplitudes a multiplier passes −1."""
    orbit, parameters = shaken(A, NEAR)
    largest, other = orbit.multipliers
    assert orbit.stable == stable == (abs(largest) < 1)
    assert largest.imag == other.imag == 0
    assert largest.real < other.real < 0
    assert orbit.residual < 1e-9
    assert orbit.iterations <= 6
    assert orbit.period == T

    values, vectors = np.linalg.eig(orbit.sensitivity.matrix)
    along, size, periods = vectors[:, np.argmin(values)], 1e-7, 20
    start = np.array([orbit.start["z"], orbit.start["z_dot"]])
    ends = []
    for sign in (1, -1):
        x = start + sign * size * along
        result = simulate(
            shaker(),
            LAW,
            until=periods * T,
            start={"z": x[0], "z_dot": x[1]},
            parameters=parameters,
            method=Adaptive(rtol=1e-11, atol=1e-13, max_step=T / 50),
        )
        ends.append(np.array([result["z"][-1], result["z_dot"][-1]]))
    measured = (ends[0] - ends[1]) @ along / (2 * size)
    assert measured == pytest.approx(largest.real**periods, rel=1e-4)


def test_beyond_the_doubling_the_ball_repeats_every_second_period():
    once, parameters = shaken(0.03, NEAR)
    assert not once.stable
    long = simulate(shaker(), LAW, until=200 * T, start=once.start, parameters=parameters)
    twice, _ = shaken(0.03, {"z": long["z"][-1], "z_dot": long["z_dot"][-1]}, periods=2)
    assert twice.stable
    assert abs(twice.start["z"] - once.start["z"]) > 1e-3
    assert twice.iterations <= 4  # what is stable is where the simulation went
    halfway = end(shaker(), LAW, T, {}, start=twice.start, parameters=parameters)[0]
    assert abs(halfway[0] - twice.start["z"]) > 1e-3


@pytest.mark.parametrize(("x", "speed", "guess"), [(0.3, 0.0, 6.0), (0.5, -2.0, 4.0), (3.0, 2.0, 6.0), (4.0, 0.0, 9.0)])
def test_the_orbit_of_van_der_pol_is_found_from_afar(x, speed, guess):
    orbit = periodic_orbit(van_der_pol(), guess_period=guess, near={"x": x, "x_dot": speed})
    assert orbit.period == pytest.approx(6.66328685932313, abs=1e-8)


@pytest.mark.parametrize("near", [{"z": 0.15, "z_dot": 0.0}, {"z": 0.05, "z_dot": 0.5}, {"z": 0.0, "z_dot": -0.5}])
def test_the_orbit_of_a_bouncing_ball_is_found_from_afar(near):
    far, close = (shaken(0.027, x)[0] for x in (near, NEAR))
    assert far.start == pytest.approx(close.start, abs=1e-8)


def test_the_orbit_of_van_der_pol_has_its_known_period_and_the_multiplier_of_liouville():
    orbit = periodic_orbit(van_der_pol(), guess_period=6.0)
    assert orbit.period == pytest.approx(6.66328685932313, abs=1e-8)
    (multiplier,) = orbit.multipliers
    x, t = orbit.sensitivity.result["x"], orbit.sensitivity.result.t
    trace = np.sum(np.diff(t) * (1 - (x[1:] ** 2 + x[1:] * x[:-1] + x[:-1] ** 2) / 3))
    assert np.log(multiplier.real) == pytest.approx(trace, rel=1e-3)
    assert orbit.stable


def test_an_oscillator_against_a_wall_settles_as_its_multiplier_says():
    orbit = periodic_orbit(van_der_pol(wall=True), LAW, guess_period=5.0, parameters={"mu": 0.2})
    assert len(orbit.sensitivity.saltations) == 3
    (multiplier,) = orbit.multipliers
    assert orbit.stable
    np.testing.assert_allclose(orbit.sensitivity.matrix @ orbit.sensitivity.rate, orbit.sensitivity.rate, rtol=1e-6)
    values, vectors = np.linalg.eig(orbit.sensitivity.matrix)
    along, size = vectors[:, np.argmin(np.abs(values - multiplier))].real, 1e-4
    options = {"start": orbit.start, "parameters": {"mu": 0.2}}
    ends = [
        end(van_der_pol(True), LAW, 3 * orbit.period, {"x": k * along[0], "x_dot": k * along[1]}, **options)[0]
        for k in (size, -size)
    ]
    measured = (ends[0] - ends[1]) @ along / (2 * size)
    assert measured == pytest.approx(multiplier.real**3, rel=1e-4)


def test_a_conservative_swing_is_found_on_its_constraint_and_is_neutral():
    """A bead on a hoop swings with the period of a pendulum: 4 √(l/g) K(sin² ½q)."""
    b = ModelBuilder("bead")
    (x, vx), (z, vz) = b.coordinate("x", start=0.8), b.coordinate("z", start=-0.6)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(G * z)
    b.constraint("circle", (x**2 + z**2 - 1) / 2)
    orbit = periodic_orbit(b.build(), guess_period=2.3)
    speed = (orbit.start["x_dot"] ** 2 + orbit.start["z_dot"] ** 2) / 2
    top = math.acos(-(orbit.start["z"] + speed / G))
    mean, other = 1.0, math.cos(top / 2)  # Gauss: K by the arithmetic and the geometric mean
    for _ in range(6):
        mean, other = (mean + other) / 2, math.sqrt(mean * other)
    assert orbit.period == pytest.approx(2 * math.pi / math.sqrt(G) / mean, rel=1e-8)
    assert abs(orbit.multipliers[0]) == pytest.approx(1.0, abs=1e-4)
    assert orbit.residual < 1e-8


def test_orbits_that_are_not_there_are_refused():
    with pytest.raises(InputError, match=r"expected either period or guess_period, got neither\. Give the period"):
        periodic_orbit(van_der_pol())
    with pytest.raises(InputError, match=r"expected either period or guess_period, got both\. Give the period"):
        periodic_orbit(van_der_pol(), period=1.0, guess_period=1.0)
    with pytest.raises(InputError, match=r"expected a period above zero, got -1 s\. Give it in seconds"):
        periodic_orbit(van_der_pol(), period=-1.0)
    with pytest.raises(InputError, match=r"its period, as the model depends on time, got a guess\. Pass period"):
        periodic_orbit(shaker(), LAW, guess_period=T)
    with pytest.raises(InputError, match=r"expected a motion, got rest at x = .*, x_dot = .*\. Begin farther from it"):
        periodic_orbit(van_der_pol(), guess_period=1.0, near={"x": 0.01})
    text = r"motion returns within 1e-09, got one that misses itself by \S+ after 0\.3 s, at best\. Begin nearer"
    with pytest.raises(InputError, match=text):
        periodic_orbit(robots.ball(height=2.0), LAW, period=0.3)
