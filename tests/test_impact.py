"""Rigid impacts, against closed forms: restitution, projections, accumulating bounces, blocks, cradles, friction."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from friction_models import G, incline, puck
from impinge import Baumgarte, Impact, ModelBuilder, linearize, robots, sensitivity, simulate
from impinge.errors import InputError


@functools.cache
def balls(n=3):
    """Return balls that fall on a floor, each for itself."""
    b = ModelBuilder("balls")
    for k in range(n):
        x, v = b.coordinate(f"x{k}", start=1.0)
        b.kinetic(v**2 / 2)
        b.potential(G * x)
        b.gap(f"floor{k}", x)
    return b.build()


@functools.cache
def cradle(n=3):
    """Return balls of 1 kg in a row, each with a gap d to the next; their coordinates count from where they hang."""
    b = ModelBuilder("cradle")
    d, last = b.parameter("d", 0.0, "m"), None
    for k in range(n):
        x, v = b.coordinate(f"x{k}")
        b.kinetic(v**2 / 2)
        if last is not None:
            b.gap(f"pair{k}", x - last + d)
        last = x
    return b.build()


@functools.cache
def corner(walls=2):
    """Return a point in space with a full inertia matrix, in the corner of planes through the origin."""
    b = ModelBuilder("corner")
    q, v = zip(*(b.coordinate(name) for name in "xyz"), strict=True)
    root = [[b.parameter(f"r{i}{j}", float(i == j)) for j in range(3)] for i in range(3)]
    speeds = [sum(root[i][j] * v[j] for j in range(3)) for i in range(3)]
    b.kinetic(sum(s**2 for s in speeds) / 2)
    for k in range(walls):
        b.gap(f"wall{k}", sum(b.parameter(f"n{k}{j}", float(k == j)) * q[j] for j in range(3)))
    return b.build()


@functools.cache
def rocking():
    """Return a block of half width a and half height h on two feet, in a plane: its coordinates are its center's."""
    b = ModelBuilder("rocking")
    (x, vx), (z, vz), (angle, speed) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    m, a, h = b.parameter("m", 2.0, "kg"), b.parameter("a", 0.1, "m"), b.parameter("h", 0.4, "m")
    b.kinetic(m * (vx**2 + vz**2) / 2 + m * (a**2 + h**2) / 3 * speed**2 / 2)
    b.potential(m * G * z)
    mu = b.parameter("mu", 3.0)
    for name, side in (("left", -1), ("right", 1)):
        foot = x + side * a * ca.cos(angle) + h * ca.sin(angle), z + side * a * ca.sin(angle) - h * ca.cos(angle)
        b.gap(name, foot[1], slip=foot[0], friction=mu)
    return b.build()


@functools.cache
def thrown():
    """Return a point that may hit a floor, with friction along it, and a wall without."""
    b = ModelBuilder("thrown")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z", start=1.0)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(b.parameter("g", 0.0) * z)
    b.gap("floor", z, slip=x, friction=b.parameter("mu", 0.3))
    b.gap("wall", 1 - x)
    return b.build()


@functools.cache
def pendulum(redundant=False):
    """Return a point on a rod of 1 m, as a constraint, that swings against a wall below its pivot."""
    b = ModelBuilder("pendulum")
    (x, vx), (z, vz) = b.coordinate("x", start=math.sin(0.5)), b.coordinate("z", start=-math.cos(0.5))
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(G * z)
    for k in range(1 + redundant):
        b.constraint(f"rod{k}", (x**2 + z**2 - 1) / 2)
    b.gap("wall", x)
    return b.build()


@functools.cache
def paddle():
    """Return a ball above a paddle that moves as A sin(w t)."""
    b = ModelBuilder("paddle")
    x, v = b.coordinate("x", start=0.5)
    A, w = b.parameter("A", 0.05, "m"), b.parameter("w", 9.0, "rad/s")
    b.kinetic(v**2 / 2)
    b.potential(G * x)
    b.gap("paddle", x - A * ca.sin(w * b.time))
    return b.build()


def sides(result, event, *names):
    """Return signals before and after an event."""
    return tuple(np.array([result[name][event.row + k] for name in names]) for k in (0, 1))


# Bounces


@pytest.mark.parametrize("e", [0.1, 0.5, 0.8, 0.9])
def test_a_ball_comes_to_rest_at_the_limit_of_its_bounces_and_stays(e):
    limit = math.sqrt(2 / G) * (1 + e) / (1 - e)
    result = simulate(robots.ball(), Impact(restitution=e), until=limit + 5)
    assert result.ok
    assert result.events[-1].after == "Contact"
    assert result.events[-1].time == pytest.approx(limit, abs=1e-9)
    assert result.touchdowns("floor") == [event.time for event in result.events]
    assert result.liftoffs("floor") == result.touchdowns("floor")[:-1]
    rests = result.t > limit + 1e-8
    assert np.abs(result["gap_floor_dot"][rests]).max() < 1e-15
    assert np.abs(result["gap_floor"][rests]).max() < 1e-10
    assert result["force_floor"][rests] == pytest.approx(G, rel=1e-12)
    assert abs(result.certificate.energy.residual) < 1e-12


def test_three_balls_with_different_restitutions_come_to_rest_each_in_its_time():
    e = {"floor0": 0.3, "floor1": 0.55, "floor2": 0.7}
    result = simulate(balls(), {name: Impact(restitution=value) for name, value in e.items()}, until=4.0)
    for name, value in e.items():
        limit = math.sqrt(2 / G) * (1 + value) / (1 - value)
        assert result.touchdowns(name)[-1] == pytest.approx(limit, abs=1e-9)
        assert result.mode(name) == "Contact"


def test_balls_that_bounce_together_come_to_rest_together():
    result = simulate(balls(), Impact(restitution=0.5), until=2.0)
    limit = math.sqrt(2 / G) * 3
    for k in range(3):
        assert result.touchdowns(f"floor{k}")[-1] == pytest.approx(limit, abs=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_each_bounce_returns_the_share_that_was_asked_for(e):
    result = simulate(robots.ball(), Impact(restitution=e), until=0.8)
    first = result.events[0]
    before, after = sides(result, first, "gap_floor_dot")
    assert after == pytest.approx(-e * before, abs=1e-13)
    assert first.time == pytest.approx(math.sqrt(2 / G), abs=1e-12)
    mass = first.impulse / ((1 + e) * -before[0])
    assert mass == pytest.approx(result["energy_potential"][0] / G, rel=1e-12)
    lost = mass * before[0] ** 2 * (1 - e**2) / 2
    assert -np.diff(result["work_contacts"][first.row : first.row + 2])[0] == pytest.approx(lost, abs=1e-12)


def test_without_loss_a_ball_keeps_its_energy_for_a_hundred_bounces():
    result = simulate(robots.ball(), Impact(restitution=1.0), until=100 * 2 * math.sqrt(2 / G))
    assert len(result.events) == 100
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert np.ptp(energy) < 1e-10 * energy[0]


def test_a_ball_dropped_from_a_hair_above_the_floor_lands():
    for height in (1e-6, 1e-9, 1e-12, 1e-15):
        result = simulate(robots.ball(), Impact(restitution=0.7), until=1.0, start={"q": height})
        assert result.ok
        assert result.mode("floor") == "Contact"
        assert result["gap_floor"].min() > -1e-9


def test_what_starts_on_the_surface_and_moves_into_it_is_struck_at_once():
    result = simulate(robots.ball(), Impact(restitution=0.5), until=0.1, start={"q": 0.0, "q_dot": -2.0})
    event = result.events[0]
    assert (event.time, event.before, event.after) == (0.0, "Free", "Free")
    before, after = sides(result, event, "q_dot")
    assert (before[0], after[0]) == (-2.0, pytest.approx(1.0, abs=1e-14))


def test_a_paddle_strikes_with_its_own_speed():
    result = simulate(paddle(), Impact(restitution=0.8), until=2.0)
    assert len(result.events) > 3
    for event in result.events:
        before, after = sides(result, event, "gap_paddle_dot")
        assert after == pytest.approx(-0.8 * before, abs=1e-11)  # an instant is 1e-12 s wide
        assert event.impulse > 0
    balance = result.certificate.energy
    assert balance.time != 0 or balance.contacts != 0
    assert result["gap_paddle"].min() > -1e-9


def test_a_ball_on_a_paddle_leaves_it_when_it_falls_faster_than_gravity():
    result = simulate(paddle(), Impact(), until=3.0, start={"x": 0.0, "x_dot": 0.45}, parameters={"w": 20.0})
    leaves = result.liftoffs("paddle")[0]
    assert 0.05 * 20**2 * math.sin(20 * leaves) == pytest.approx(G, rel=1e-9)


# Several contacts at once


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_an_impact_without_rebound_is_the_projection_onto_what_contacts_allow(seed, walls):
    random = np.random.default_rng(seed)
    root, normals = np.eye(3) + 0.4 * random.normal(size=(3, 3)), random.normal(size=(walls, 3))
    M, v = root.T @ root, random.normal(size=3)
    W = normals @ np.linalg.solve(M, normals.T)
    if np.linalg.cond(M) > 100 or np.linalg.cond(W) > 1e3:
        return
    p = np.linalg.solve(W, -normals @ v)
    if p.min() < 0.01 or (normals @ v).min() > -1e-3:
        return
    parameters = {f"r{i}{j}": root[i, j] for i in range(3) for j in range(3)}
    parameters |= {f"n{k}{j}": normals[k, j] for k in range(walls) for j in range(3)}
    start = dict(zip(("x_dot", "y_dot", "z_dot"), v, strict=True))
    result = simulate(corner(walls), Impact(), until=1e-3, start=start, parameters=parameters)
    after = np.array([result[name][1] for name in start])
    expected = v - np.linalg.solve(M, normals.T @ np.linalg.solve(W, normals @ v))
    assert after == pytest.approx(expected, abs=1e-12)
    change = after - v
    lost = change @ M @ change / 2
    assert result["energy_kinetic"][0] - result["energy_kinetic"][1] == pytest.approx(lost, abs=1e-12)
    assert [event.impulse for event in result.events] == pytest.approx(p.tolist(), abs=1e-11)


def test_in_a_cradle_with_hair_thin_gaps_the_last_ball_takes_all():
    d = 1e-6
    result = simulate(cradle(5), Impact(restitution=1.0), until=1.0, start={"x0_dot": 1.0}, parameters={"d": d})
    assert [event.contact for event in result.events] == ["pair1", "pair2", "pair3", "pair4"]
    assert [event.time for event in result.events] == pytest.approx([d, 2 * d, 3 * d, 4 * d], abs=1e-11)
    assert [result[f"x{k}_dot"][-1] for k in range(5)] == pytest.approx([0, 0, 0, 0, 1], abs=1e-14)


def test_in_a_cradle_of_touching_balls_one_simultaneous_impact_moves_them_all():
    # Newton's hypothesis on both pairs at once: the first pair parts at 1, the second stays together.
    result = simulate(cradle(3), Impact(restitution=1.0), until=0.5, start={"x0_dot": 1.0})
    assert [event.time for event in result.events] == [0.0, 0.0]
    assert [result[f"x{k}_dot"][-1] for k in range(3)] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-14)


@pytest.mark.parametrize(("e", "expected"), [(0.0, [1 / 3, 1 / 3, 1 / 3]), (0.5, [0.0, 0.5, 0.5])])
def test_a_cradle_with_loss_keeps_its_momentum(e, expected):
    result = simulate(cradle(3), Impact(restitution=e), until=0.5, start={"x0_dot": 1.0})
    assert [result[f"x{k}_dot"][-1] for k in range(3)] == pytest.approx(expected, abs=1e-14)


def test_a_rocking_block_loses_at_each_impact_what_housner_computed():
    a, h, tilt = 0.1, 0.4, 0.08
    size, slender = math.hypot(a, h), math.atan2(a, h)
    start = {"angle": -tilt, "x": size * math.sin(slender - tilt) * -1 + a, "z": size * math.cos(slender - tilt)}
    start["x"] = a - size * math.sin(slender - tilt)
    result = simulate(rocking(), Impact(), until=2.0, start=start)
    assert result.ok
    strikes = [event for event in result.events if event.before == "Free" and event.after == "Contact"]
    share = 1 - 1.5 * math.sin(slender) ** 2
    for event in strikes[:3]:
        before, after = sides(result, event, "angle_dot")
        assert after == pytest.approx(share * before, rel=1e-9)
    assert max(abs(result["slip_left"]).max(), abs(result["slip_right"]).max()) > 0
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert (np.diff(energy) < 1e-9).all()


# Constraints and friction


@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_pendulum_on_a_rod_bounces_off_a_wall(e, redundant):
    result = simulate(pendulum(redundant), Impact(restitution=e), until=1.0)
    speed = math.sqrt(2 * G * (1 - math.cos(0.5)))
    before, after = sides(result, result.events[0], "x_dot", "z_dot")
    assert before == pytest.approx([-speed, 0.0], abs=1e-7)
    assert after == pytest.approx(-e * before, abs=1e-9)
    assert result.certificate.constraint_drift < 1e-8
    assert result.certificate.energy.relative < 1e-8


@pytest.mark.parametrize("e", [0.0, 0.5])
@pytest.mark.parametrize("vx", [-2.0, -0.2, 0.3, 4.0])
def test_friction_in_an_impact_takes_its_share_or_all(e, vx):
    result = simulate(
        thrown(), Impact(restitution=e), until=1.0, start={"z": 0.5, "x": -10.0, "x_dot": vx, "z_dot": -2.0}
    )
    _, after = sides(result, result.events[0], "x_dot", "z_dot")
    slides = 0.3 * (1 + e) * 2.0
    expected = math.copysign(max(abs(vx) - slides, 0.0), vx)
    assert after == pytest.approx([expected, 2 * e], abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(-3, 3), st.floats(-3, -0.1))
def test_impacts_with_friction_never_add_energy(e, mu, vx, vz):
    start = {"x": 0.5, "z": 0.5, "x_dot": vx, "z_dot": vz}
    result = simulate(
        thrown(), Impact(restitution=e), until=1.0, start=start, parameters={"mu": mu, "g": G}, sample=0.1
    )
    assert result.ok, result.reason
    for event in result.events:
        work = np.diff(result["work_contacts"][event.row : event.row + 2])[0]
        assert work <= 1e-12
        assert event.impulse >= -1e-12
    assert abs(result.certificate.energy.residual) < 1e-8


def test_a_puck_thrown_onto_a_plane_sticks_where_friction_suffices():
    result = simulate(puck(), Impact(), until=1.0, start={"z": 0.01, "z_dot": -1.0, "x_dot": 0.1, "y_dot": -0.05})
    assert result.mode("plane") == "Contact"
    row = result.events[0].row + 1
    assert [result["x_dot"][row], result["y_dot"][row]] == pytest.approx([0, 0], abs=1e-14)


def test_a_block_rests_on_an_incline_for_an_hour():
    result = simulate(incline(), Impact(), until=3600.0, parameters={"th": 0.3, "mu": 0.5}, sample=60.0)
    assert result.mode("plane") == "Contact"
    assert np.abs(result["speed"]).max() < 1e-12
    assert np.ptp(result["down"]) < 1e-12


def test_a_block_slides_down_an_incline_as_coulomb_says():
    result = simulate(incline(), Impact(), until=2.0, parameters={"th": 0.6, "mu": 0.3}, start={})
    a = G * (math.sin(0.6) - 0.3 * math.cos(0.6))
    assert result["speed"][-1] == pytest.approx(2 * a, rel=1e-9)


# One run, several laws; analysis; bad input


def test_contacts_may_follow_different_laws():
    laws = {"floor0": Impact(restitution=0.5), "floor1": Baumgarte(), "floor2": Impact()}
    result = simulate(balls(), laws, until=1.0)
    alone = simulate(robots.ball(), Impact(restitution=0.5), until=1.0)
    assert [e.time for e in result.events if e.contact == "floor0"] == pytest.approx([e.time for e in alone.events])
    assert result.touchdowns("floor2") == pytest.approx([math.sqrt(2 / G)], abs=1e-12)


def test_a_rigid_contact_is_linear_in_contact_as_any():
    rigid, soft = (
        linearize(robots.ball(), {"q": 0.0}, ["floor"], form="stabilized", law=law)
        for law in (Impact(), Baumgarte(a0=400, a1=40, a2=0))
    )
    assert np.asarray(rigid.A) == pytest.approx(np.asarray(soft.A), abs=1e-12)


def test_the_speed_behind_a_bounce_follows_the_height_by_the_restitution():
    """v⁺ = e √(2gh) at the time √(2h/g), and from then on v = v⁺ − g (t − √(2h/g))."""
    e, g, until = 0.5, 9.81, 0.6
    found = sensitivity(robots.ball(), Impact(restitution=e), until=until, by=["q"])
    assert found.matrix[1, 0] == pytest.approx((1 + e) * math.sqrt(g / 2), rel=1e-9)


@pytest.mark.parametrize("e", [-0.1, 1.1, math.nan, math.inf, "0.5", None])
def test_a_restitution_outside_zero_to_one_is_refused(e):
    with pytest.raises(InputError, match="restitution from 0 to 1"):
        Impact(restitution=e)


def test_the_same_run_twice_is_the_same_to_the_bit():
    one, other = (simulate(rocking(), Impact(), until=1.0, start={"z": 0.5, "angle": 0.1}) for _ in range(2))
    assert one.t.tolist() == other.t.tolist()
    assert one["angle"].tolist() == other["angle"].tolist()
