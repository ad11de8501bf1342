"""Coulomb friction: closed forms, independent references, and what must never happen."""

from __future__ import annotations

import itertools
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import impinge
from friction_models import (
    G,
    conveyor,
    drawer,
    feet,
    incline,
    ladder,
    pair,
    puck,
    rod,
    sliding_four_bar,
    stacked,
    stool,
    thrown,
    vise,
    wedge,
)
from impinge import Adaptive, Baumgarte, FixedStep, Impact
from impinge.analysis import equilibrium, linearize, sensitivity
from impinge.compile import Struct
from impinge.contact.friction import SETTLED
from impinge.contact.law import ACCELERATION, DRAG, FORCE
from impinge.contact.rows import row_forces, row_workspace
from impinge.errors import ImpingeError, InputError, ModelError, StartError
from impinge.model import ModelBuilder
from impinge.simulation.conduct import BUDGET
from impinge.simulation.events.instant import PAUSED
from impinge.simulation.run import _ModelRun
from mechanisms import four_bar_pose
from same_systems import arm_model

LAW = Baumgarte()
TIGHT = Adaptive(rtol=1e-11, atol=1e-12)
MOST_STEPS = 10 * BUDGET


# Helpers


def simulate(*arguments, **options):
    """Simulate, but not for ever: a run that takes more than MOST_STEPS raises."""
    pauses, hold = itertools.count(1), _ModelRun.hold

    def counted(run, stop):
        status = hold(run, stop)
        if status == PAUSED and next(pauses) * BUDGET >= MOST_STEPS:
            raise RuntimeError(f"at t = {run.time:g} s after {MOST_STEPS} steps")
        return status

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ModelRun, "hold", counted)
        return impinge.simulate(*arguments, **options)


def slips_of(result, contact):
    """Return slip rates and frictions of a contact, one column for each direction."""
    names = [contact] if f"slip_{contact}" in result.signals else [f"{contact}_{k}" for k in (1, 2)]
    return (
        np.stack([result[f"{kind}_{name}{dot}"] for name in names], axis=1)
        for kind, dot in (("slip", "_dot"), ("friction", ""))
    )


def assert_coulomb(result, mu, energy=1e-7):
    """Assert what holds in every run with friction, on every recorded row; mu is one for all contacts or a dict."""
    assert result.ok, result.reason
    assert all(np.isfinite(values).all() for values in result.signals.values())
    for contact, modes in result.modes.items():
        if "Sliding" not in modes:
            continue
        own = mu[contact] if isinstance(mu, dict) else mu
        rate, friction = slips_of(result, contact)
        force, mode = result[f"force_{contact}"], result[f"mode_{contact}"].astype(int)
        speed, held = np.linalg.norm(rate, axis=1), np.linalg.norm(friction, axis=1)
        size = 1 + np.abs(force).max()
        assert (force >= -1e-9 * size).all(), contact
        assert (held <= own * force * (1 + 1e-9) + 1e-8 * size).all(), contact
        is_open = ~np.array(result.closed[contact])[mode]
        assert (force[is_open] == 0).all(), contact
        assert (held[is_open] == 0).all(), contact
        slides = mode == modes.index("Sliding")
        assert held[slides] == pytest.approx(own * force[slides], rel=1e-9, abs=1e-9 * size), contact
        moves = slides & (speed > 1e-5)
        power = np.sum(rate * friction, axis=1)
        assert power[moves] == pytest.approx(-(own * force * speed)[moves], rel=1e-6, abs=1e-9 * size), contact
        assert (power <= 1e-9 * size + own * force * SETTLED).all(), contact  # slower, it has no direction
        assert (speed[(~slides) & (~is_open)] <= 1e-5).all(), f"{contact} creeps while it sticks"
    for event in result.events:
        assert result.mode(event.contact, event.row) == event.before
        assert result.mode(event.contact, event.row + 1) == event.after
        assert event.before != event.after or event.before == "Sliding"
        assert result.t[event.row] == result.t[event.row + 1] == event.time
    balance = result.certificate.energy
    assert balance.relative < energy or abs(balance.residual) < 1e-9


def modes_of(result, contact):
    """Return the modes that a contact goes through."""
    first = result.mode(contact, 0)
    return [first, *(event.after for event in result.events if event.contact == contact)]


def at(result, t, *names):
    """Return signals at a recorded time, right of any event there."""
    row = int(np.searchsorted(result.t, t, side="right")) - 1
    assert result.t[row] == pytest.approx(t, abs=1e-12)
    return np.array([result[name][row] for name in names])


def downhill(th, v):
    """Return start velocities down an incline."""
    return {"x_dot": v * math.cos(th), "z_dot": -v * math.sin(th)}


def tip(a, v=0.0, w=0.0, above=0.0):
    """Return the start of a rod at an angle, with its tip at x = 0 and at this speed, turning at w."""
    return {
        "x": math.cos(a),
        "z": math.sin(a) + above,
        "angle": a,
        "x_dot": v - math.sin(a) * w,
        "z_dot": math.cos(a) * w,
        "angle_dot": w,
    }


def dry_reference(drive, limit, until, x=0.0, v=0.0):
    """Return x, v and the changes (t, slides) of ẍ = drive(t, x) − limit sign(ẋ), with rest where |drive| ≤ limit.

    Each mode is integrated on its own: an independent event-driven solution.
    """
    t, changes, grid = 0.0, [], np.linspace(0, until, 200_001)
    while t < until:
        if v == 0.0 and abs(drive(t, x)) <= limit * (1 + 1e-12):
            later = grid[grid > t + 1e-9]
            excess = np.abs(drive(later, x)) - limit
            if not (excess > 0).any():
                return x, v, changes
            k = int(np.argmax(excess > 0))
            low = max(t, later[k - 1] if k else t)
            new = brentq(lambda s, x=x: abs(drive(s, x)) - limit, low, later[k], xtol=1e-15) if k else later[0]
            t = new
            changes.append((t, True))
        sign = math.copysign(1.0, v) if v != 0 else math.copysign(1.0, drive(t + 1e-12, x))

        def rhs(s, y, sign=sign):
            return [y[1], drive(s, y[0]) - limit * sign]

        def stop(s, y, sign=sign):
            return y[1] * sign

        stop.terminal, stop.direction = True, -1
        # Leave the instant of rest by two terms of the series in time; then the event is a clean fall.
        if v == 0.0:
            jerk = (drive(t + 1e-5, x) - drive(t - 1e-5, x)) / 2e-5
            push, h = drive(t, x) - limit * sign, 1e-4
            h = min(h, until - t)
            x, v, t = x + push * h**2 / 2 + jerk * h**3 / 6, push * h + jerk * h**2 / 2, t + h
            if t >= until:
                return x, v, changes
        s = solve_ivp(rhs, (t, until), [x, v], method="DOP853", rtol=1e-13, atol=1e-14, events=stop)
        t, (x, v) = s.t[-1], s.y[:, -1]
        if s.status == 1:
            v = 0.0
            turns = abs(drive(t, x)) > limit
            changes.append((t, turns))
    return x, v, changes


# A block on an incline


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 1.3), st.floats(1.0001, 3.0), st.floats(1e-3, 1e3))
def test_a_block_that_friction_holds_rests_exactly_for_an_hour(th, ratio, m):
    mu = ratio * math.tan(th)
    result = simulate(incline(), LAW, until=3600.0, parameters={"th": th, "mu": mu, "m": m})
    for name in ("x", "z", "x_dot", "z_dot", "slip_plane", "gap_plane"):
        assert (result[name] == 0.0).all(), name
    assert result.events == ()
    assert result.mode("plane") == "Contact"
    assert result["friction_plane"] == pytest.approx(np.full(result.t.size, -m * G * math.sin(th)), rel=1e-12)
    assert_coulomb(result, mu)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 1.3), st.floats(0.0, 0.999), st.floats(1e-3, 1e3))
def test_a_block_that_friction_cannot_hold_slides_with_the_difference(th, ratio, m):
    mu = ratio * math.tan(th)
    result = simulate(incline(), LAW, until=2.0, parameters={"th": th, "mu": mu, "m": m})
    a = G * (math.sin(th) - mu * math.cos(th))
    assert result["down"] == pytest.approx(a * result.t**2 / 2, rel=1e-9, abs=1e-9)
    assert result["speed"] == pytest.approx(a * result.t, rel=1e-9, abs=1e-9)
    assert np.abs(result["gap_plane"]).max() < 1e-12
    assert modes_of(result, "plane") == ["Sliding"]
    assert_coulomb(result, mu)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.02, 1.2), st.floats(0.05, 2.5), st.floats(0.1, 5.0), st.floats(1e-2, 1e2))
def test_a_block_shot_uphill_stops_and_then_stays_or_returns(th, ratio, v, m):
    assume(abs(ratio - 1) > 1e-3)
    mu = ratio * math.tan(th)
    decline = G * (math.sin(th) + mu * math.cos(th))
    stop, way = v / decline, v**2 / (2 * decline)
    result = simulate(incline(), LAW, until=3 * stop, start=downhill(th, -v), parameters={"th": th, "mu": mu, "m": m})
    (event,) = result.events
    assert event.time == pytest.approx(stop, rel=1e-10, abs=1e-10)
    assert result["down"][event.row] == pytest.approx(-way, rel=1e-10, abs=1e-10)
    assert (event.before, event.after) == ("Sliding", "Contact" if ratio > 1 else "Sliding")
    late = result.t >= stop
    back = max(0.0, G * (math.sin(th) - mu * math.cos(th)))
    assert result["down"][late] == pytest.approx(-way + back * (result.t[late] - stop) ** 2 / 2, rel=1e-9, abs=1e-10)
    assert_coulomb(result, mu)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(1.05, 4.0), st.floats(0.1, 10.0), st.sampled_from([1, -1]), st.floats(0.1, 10.0))
def test_a_growing_force_starts_sliding_at_the_instant_it_exceeds_the_limit(th, ratio, k, sign, m):
    mu = ratio * max(math.tan(th), 0.05)
    limit = m * G * (mu * math.cos(th) - sign * math.sin(th))
    begin = limit / (k * m)
    result = simulate(incline(), LAW, until=2 * begin, parameters={"th": th, "mu": mu, "k": sign * k * m, "m": m})
    assert result.times("plane") == pytest.approx([begin], rel=1e-9, abs=1e-9)
    assert modes_of(result, "plane") == ["Contact", "Sliding"]
    early, late = result.t < begin, result.t > begin
    assert (result["x"][early] == 0.0).all()
    assert result["down"][late] == pytest.approx(sign * k * (result.t[late] - begin) ** 3 / 6, rel=1e-8, abs=1e-9)
    assert_coulomb(result, mu)


@pytest.mark.parametrize("th", [0.1, 0.3, 0.5, 0.7])
def test_at_the_very_limit_a_block_neither_chatters_nor_runs_away(th):
    result = simulate(incline(), LAW, until=100.0, parameters={"th": th, "mu": math.tan(th)})
    assert result.ok, result.reason
    assert len(result.events) <= 2
    assert np.abs(result["down"]).max() < 1e-9


@pytest.mark.parametrize("w", [0.7, 7.0, 70.0])
def test_a_sticking_block_does_not_creep_under_99_percent_of_the_limit(w):
    limit = 0.5 * G
    result = simulate(incline(), LAW, until=1000.0, parameters={"th": 0.0, "A": 0.99 * limit, "w": w})
    assert result.ok, result.reason
    assert np.abs(result["x"]).max() < 1e-12
    assert np.abs(result["x_dot"]).max() < 1e-12
    assert result.events == ()


@pytest.mark.parametrize("w", [1.0, 20.0, 200.0])
def test_a_fast_force_on_a_block_at_rest_starts_it_in_time_however_long_the_run(w):
    # Nothing moves: only the contact's force tells the integrator that steps must be short.
    result = simulate(incline(), LAW, until=100.0, parameters={"th": 0.0, "A": 0.75 * G, "w": w}, sample=1.0)
    assert result.times("plane")[0] == pytest.approx(math.asin(1 / 1.5) / w, abs=1e-9)


@pytest.mark.parametrize("m", [1e-9, 1e-6, 1e6, 1e9])
def test_mass_does_not_matter(m):
    result = simulate(incline(), LAW, until=2.0, parameters={"m": m, "mu": 0.2})
    a = G * (math.sin(0.3) - 0.2 * math.cos(0.3))
    assert result["down"][-1] == pytest.approx(2 * a, rel=1e-9)


def test_without_friction_coefficient_nothing_rubs():
    start = downhill(0.3, -1.0)
    smooth = simulate(incline(None), LAW, until=2.0, start=start)
    rubbing = simulate(incline(), LAW, until=2.0, start=start, parameters={"mu": 0.0})
    for name in ("x", "z", "x_dot", "z_dot", "force_plane"):
        assert rubbing[name][-1] == pytest.approx(smooth[name][-1], abs=1e-10), name
    assert (rubbing["friction_plane"] == 0).all()
    assert_coulomb(rubbing, 0.0)


def test_enormous_friction_is_that_of_a_contact_that_never_slides():
    parameters = {"A": 50.0, "w": 9.0, "mu": 1e9}
    held = simulate(incline(False), LAW, until=3.0, parameters=parameters, sample=0.01)
    rubbing = simulate(incline(), LAW, until=3.0, parameters=parameters, sample=0.01)
    assert np.array_equal(held.t, rubbing.t)
    for name in ("x", "z", "force_plane", "friction_plane"):
        assert rubbing[name] == pytest.approx(held[name], abs=1e-10), name
    assert rubbing.events == ()


def test_a_landing_with_enormous_friction_stops_at_once_where_the_never_sliding_law_brakes():
    # Sliding ends within the first instants of contact: μ times a growing force, not the law's own braking.
    result = simulate(thrown(), LAW, until=1.0, start={"z": 0.1, "x_dot": 1.0}, parameters={"mu": 1e3})
    assert_coulomb(result, 1e3)
    assert modes_of(result, "floor")[:3] == ["Free", "Sliding", "Contact"]
    slide, stick = result.times("floor")[:2]
    assert stick - slide < 1e-3


# Belts, springs, harmonic forces


def test_a_block_dropped_on_a_belt_slips_until_it_has_the_belts_speed():
    result = simulate(conveyor(), LAW, until=2.0)
    stick = 0.5 / (0.4 * G)
    (event,) = result.events
    assert (event.before, event.after) == ("Sliding", "Contact")
    assert event.time == pytest.approx(stick, abs=1e-10)
    late = result.t > stick
    assert result["x"][late] == pytest.approx(0.5 * result.t[late] - 0.5 * stick / 2, abs=1e-10)
    assert_coulomb(result, 0.4)


def test_a_block_on_a_spring_and_a_belt_sticks_once_and_then_swings_about_where_friction_holds_it():
    # With one coefficient for both there is no stick-slip cycle: its fastest point just grazes the belt's speed.
    k, m, V, mu = 8.0, 2.0, 0.5, 0.4
    rest, w = mu * m * G / k, math.sqrt(k / m)
    begin = rest / V
    result = simulate(conveyor(), LAW, until=20.0, start={"x_dot": V}, parameters={"k": k}, method=TIGHT)
    assert result.times("belt")[0] == pytest.approx(begin, abs=1e-9)
    stuck = result.t < begin
    assert result["x"][stuck] == pytest.approx(V * result.t[stuck], abs=1e-10)
    assert result["x"][~stuck] == pytest.approx(rest + V / w * np.sin(w * (result.t[~stuck] - begin)), abs=1e-7)
    assert_coulomb(result, mu)


def test_free_oscillation_with_friction_loses_the_same_way_each_half_cycle():
    k, m, mu = 50.0, 2.0, 0.2
    shift, w = mu * m * G / k, math.sqrt(k / m)
    amplitude = 1.0
    result = simulate(
        conveyor(False), LAW, until=5.0, start={"x": amplitude}, parameters={"k": k, "mu": mu}, method=TIGHT
    )
    times = result.times("belt")
    turns = int((amplitude / shift + 1) // 2)  # |x| > shift where it can still leave
    for n, event in enumerate(result.events[:turns], start=1):
        assert event.time == pytest.approx(n * math.pi / w, abs=1e-8)
        there = (-1) ** n * (amplitude - 2 * n * shift)
        assert result["x"][event.row] == pytest.approx(there, abs=1e-8)
        assert (event.before, event.after) == ("Sliding", "Contact" if abs(there) <= shift else "Sliding")
    assert len(times) == turns
    assert_coulomb(result, mu)


@pytest.mark.parametrize(("A", "w", "k"), [(9.0, 4.0, 50.0), (20.0, 4.0, 50.0), (12.0, 7.0, 50.0), (10.0, 2.0, 0.0)])
def test_a_harmonically_forced_oscillator_follows_an_independent_solution(A, w, k):
    m, mu, until = 2.0, 0.4, 10.0
    parameters = {"k": k, "A": A, "w": w, "mu": mu}
    result = simulate(conveyor(False), LAW, until=until, parameters=parameters, method=TIGHT)
    assert result.ok, result.reason

    def drive(t, x):
        return (A * np.cos(w * t) - k * x) / m

    x, v, changes = dry_reference(drive, mu * G, until)
    assert result["x"][-1] == pytest.approx(x, abs=1e-8)
    assert result["x_dot"][-1] == pytest.approx(v, abs=1e-8)
    expected = [t for t, _ in changes if t > 0]
    assert [event.time for event in result.events] == pytest.approx(expected, abs=1e-8)
    assert [event.after for event in result.events] == [
        "Sliding" if slides else "Contact" for t, slides in changes if t > 0
    ]
    assert_coulomb(result, mu)


def test_a_block_on_a_shaken_belt_follows_an_independent_solution():
    # In the frame of the belt: r̈ = B w² sin(w t) − μ g sign(ṙ).
    B, w, mu = 0.2, 6.0, 0.4
    result = simulate(conveyor(), LAW, until=4.0, parameters={"V": 0.0, "B": B, "w": w}, method=TIGHT)
    assert result.ok, result.reason
    r, v, changes = dry_reference(lambda t, x: B * w**2 * np.sin(w * t), mu * G, 4.0, v=-B * w)
    assert result["slip_belt"][-1] == pytest.approx(r, abs=1e-8)
    assert result["slip_belt_dot"][-1] == pytest.approx(v, abs=1e-7)
    assert [event.time for event in result.events] == pytest.approx([t for t, _ in changes], abs=1e-8)
    assert_coulomb(result, mu)


def test_a_block_pulled_through_a_spring_at_constant_speed_starts_and_settles():
    # k (V t − x): sticks until k V t = μ m g, then moves as V t' − V/w sin(w t') about it: never stops again.
    m, k, V, mu = 1.5, 40.0, 0.3, 0.35
    b = ModelBuilder("pulled")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * z + k * (x - V * b.time) ** 2 / 2)
    b.gap("floor", z, slip=x, friction=mu)
    result = simulate(b.build(), LAW, until=6.0, method=TIGHT)
    begin, w = mu * m * G / (k * V), math.sqrt(k / m)
    assert result.times("floor")[0] == pytest.approx(begin, abs=1e-9)
    after = result.t > begin
    s = result.t[after] - begin
    assert (result["x"][~after] == 0).all()
    assert result["x"][after] == pytest.approx(V * s - V / w * np.sin(w * s), abs=1e-7)
    assert_coulomb(result, mu)


# Two directions


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 5.0), st.floats(0, 2 * math.pi), st.floats(0.05, 1.5), st.floats(0, 3.0))
def test_a_puck_slides_on_a_straight_line_and_stops(v, heading, mu, rot):
    c, s = math.cos(heading), math.sin(heading)
    stop, way = v / (mu * G), v**2 / (2 * mu * G)
    start = {"x_dot": v * c, "y_dot": v * s}
    result = simulate(puck(), LAW, until=2 * stop, start=start, parameters={"mu": mu, "rot": rot})
    (event,) = result.events
    assert event.time == pytest.approx(stop, abs=1e-9)
    assert result["x"][-1] == pytest.approx(way * c, abs=1e-9)
    assert result["y"][-1] == pytest.approx(way * s, abs=1e-9)
    assert np.abs(result["x"] * s - result["y"] * c).max() < 1e-9
    assert_coulomb(result, mu)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.02, 0.5), st.floats(0.3, 3.0), st.floats(0, 2 * math.pi), st.floats(0, 3.0))
def test_turning_the_slip_directions_changes_nothing(th, ratio, heading, rot):
    mu = ratio * math.tan(th)
    start = {"x_dot": math.cos(heading), "y_dot": math.sin(heading)}
    runs = [
        simulate(puck(), LAW, until=1.5, start=start, parameters={"th": th, "mu": mu, "rot": angle}, method=TIGHT)
        for angle in (0.0, rot)
    ]
    for result in runs:
        assert_coulomb(result, mu)
    for name in ("x", "y", "x_dot", "y_dot"):
        assert runs[0][name][-1] == pytest.approx(runs[1][name][-1], abs=1e-9), name
    assert len(runs[0].events) == len(runs[1].events)
    for one, other in zip(runs[0].events, runs[1].events, strict=True):
        assert one.time == pytest.approx(other.time, abs=1e-7)


@pytest.mark.parametrize(("th", "mu"), [(0.2, 0.3), (0.2, 0.21), (0.05, 0.3), (0.2, 0.1), (0.01, 0.3), (0.2, 1.0)])
def test_a_puck_on_an_incline_follows_a_tight_reference(th, mu):
    result = simulate(
        puck(), LAW, until=2.0, start={"x_dot": 0.3, "y_dot": 1.0}, parameters={"th": th, "mu": mu}, method=TIGHT
    )

    def rhs(t, s):
        speed, press = math.hypot(s[2], s[3]), G * math.cos(th)
        return [s[2], s[3], G * math.sin(th) - mu * press * s[2] / speed, -mu * press * s[3] / speed]

    def slow(t, s):
        return math.hypot(s[2], s[3]) - 1e-6

    slow.terminal = True
    reference = solve_ivp(rhs, (0, 2), [0, 0, 0.3, 1.0], method="DOP853", rtol=1e-13, atol=1e-14, events=slow)
    stops = reference.status == 1
    assert [result["x"][-1], result["y"][-1]] == pytest.approx(reference.y[:2, -1].tolist(), abs=1e-9)
    if stops:
        assert result.times("plane", after="Contact") == pytest.approx([reference.t[-1]], abs=2e-6)
    else:
        assert [result["x_dot"][-1], result["y_dot"][-1]] == pytest.approx(reference.y[2:, -1].tolist(), abs=1e-8)
    assert_coulomb(result, mu)


@pytest.mark.parametrize("across", [0.0, 1e-12, 1e-10, 3e-9, 1e-8, 1e-6])
@pytest.mark.parametrize("mu", [0.1, 0.3])
def test_a_puck_shot_almost_straight_uphill_turns_or_stops_at_the_top(across, mu):
    th = 0.2
    result = simulate(puck(), LAW, until=1.0, start={"x_dot": -1.0, "y_dot": across}, parameters={"th": th, "mu": mu})
    decline, back = G * (math.sin(th) + mu * math.cos(th)), max(0.0, G * (math.sin(th) - mu * math.cos(th)))
    end = -1 / (2 * decline) + back * (1 - 1 / decline) ** 2 / 2
    assert result["x"][-1] == pytest.approx(end, abs=1e-6)
    assert result.certificate.steps < 1000
    assert_coulomb(result, mu)


def test_a_puck_breaks_away_under_a_growing_force_that_also_turns():
    # |F| reaches μ m g while F turns: at breakaway the direction of slip is that of F, and it turns with it.
    A, w, fy, mu = 5.0, 2.0, 1.0, 0.3
    result = simulate(puck(), LAW, until=0.4, parameters={"A": A, "w": w, "mu": mu}, inputs={"fy": fy})
    assert result.certificate.steps < 20_000
    begin = math.asin(math.sqrt((mu * G) ** 2 - fy**2) / A) / w
    assert result.times("plane") == pytest.approx([begin], abs=1e-9)

    def rhs(t, s):
        speed = math.hypot(s[2], s[3])
        return [s[2], s[3], A * math.sin(w * t) - mu * G * s[2] / speed, fy - mu * G * s[3] / speed]

    # Start a little later, on the slow manifold where v points along F: v ≈ (|F|˙ τ²/2) F/|F|
    tau = 1e-4
    t0, F = begin + tau, np.array([A * math.sin(w * begin), fy])
    growth = A * w * math.cos(w * begin) * F[0] / np.hypot(*F)
    v0 = growth * tau**2 / 2 * F / np.hypot(*F)
    reference = solve_ivp(rhs, (t0, 0.4), [0, 0, *v0], method="Radau", rtol=1e-10, atol=1e-14)
    found = [result[name][-1] for name in ("x", "y", "x_dot", "y_dot")]
    assert found == pytest.approx(reference.y[:, -1].tolist(), abs=1e-6)
    assert_coulomb(result, mu)


def test_a_puck_that_a_force_turns_back_while_it_barely_moves_is_drawn_along():
    # Its speed passes zero at 1e-7 m/s beside its direction: too fast to stop there, too slow to have a direction.
    result = simulate(
        puck(), LAW, until=0.5, start={"x_dot": -1e-6}, inputs={"fx": 5.0, "fy": -3.0}, parameters={"mu": 0.5}
    )
    assert result.certificate.steps < 20_000
    F = np.array([5.0, -3.0])
    end = F * (1 - 0.5 * G / np.hypot(*F)) / 8
    assert [result["x"][-1], result["y"][-1]] == pytest.approx(end.tolist(), abs=1e-5)
    assert_coulomb(result, 0.5)


def test_a_puck_drawn_beyond_its_limit_from_rest_moves_along_the_force():
    result = simulate(puck(), LAW, until=1.0, inputs={"fx": 3.0, "fy": 4.0})
    a = 5.0 - 0.3 * G
    assert result["x"][-1] == pytest.approx(0.6 * a / 2, abs=1e-9)
    assert result["y"][-1] == pytest.approx(0.8 * a / 2, abs=1e-9)
    assert_coulomb(result, 0.3)


def test_a_puck_within_its_friction_circle_rests_though_each_component_alone_is_smaller():
    within = simulate(puck(), LAW, until=10.0, inputs={"fx": 0.3 * G * 0.7, "fy": 0.3 * G * 0.7})
    assert (within["x"] == 0).all()
    beyond = simulate(puck(), LAW, until=1.0, inputs={"fx": 0.3 * G * 0.72, "fy": 0.3 * G * 0.72})
    assert beyond["x"][-1] > 1e-3


# Several contacts on one body


def feet_accelerations(F, hp, mu, m=2.0):
    """Return the acceleration of a block on feet that slides to +x, and whether its outer feet keep pressing."""
    a = F / m - mu * G
    moment = -F * hp + mu * m * G * 0.1  # about its center: the push above it, friction below it
    return a, abs(moment) < 0.2 * m * G


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("hp", [0.0, 0.05, -0.05, 0.1])
@pytest.mark.parametrize("F", [9.9, 12.0, 20.0, -12.0])
def test_a_block_on_feet_slides_as_a_whole_however_its_weight_is_shared(n, hp, F):
    sign = math.copysign(1.0, F)
    a, presses = feet_accelerations(abs(F), hp, 0.5)
    assert presses
    result = simulate(feet(n), LAW, until=1.0, inputs={"F": F}, parameters={"hp": hp})
    assert_coulomb(result, 0.5)
    assert result["x"][-1] == pytest.approx(sign * a / 2, abs=1e-9)
    assert np.abs(result["angle"]).max() < 1e-6


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("hp", [0.0, 0.05, -0.05, 0.1])
def test_a_block_on_feet_breaks_away_when_all_its_friction_is_used(n, hp):
    # What one foot cannot hold, the others do: it moves when the force exceeds μ times the whole weight.
    result = simulate(feet(n), LAW, until=2.0, parameters={"hp": hp, "k": 8.0})
    assert_coulomb(result, 0.5)
    begin = 0.5 * 2 * G / 8
    still = result.t < begin - 1e-9
    assert np.abs(result["x"][still]).max() < 1e-12
    assert result["x"][-1] == pytest.approx(8 / 2 * (2 - begin) ** 3 / 6, abs=1e-8)
    assert result.mode(f"foot{n - 1}") == "Sliding"


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("v", [1.0, -2.0])
def test_a_block_on_feet_that_slides_stops_on_all_of_them_at_once(n, v):
    result = simulate(feet(n), LAW, until=1.0, start={"x_dot": v})
    stop = abs(v) / (0.5 * G)
    assert_coulomb(result, 0.5)
    for i in range(n):
        assert result.times(f"foot{i}", after="Contact") == pytest.approx([stop], abs=1e-9)
    assert result["x"][-1] == pytest.approx(v * stop / 2, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("th", [0.2, 0.4, 0.46])
def test_a_block_on_feet_on_a_slope_that_friction_holds_rests(n, th):
    assert math.tan(th) < 0.5
    result = simulate(feet(n), LAW, until=100.0, parameters={"th": th})
    assert_coulomb(result, 0.5)
    assert np.abs(result["x"]).max() < 1e-12


def test_a_block_pushed_too_high_tips_instead_of_sliding():
    # Pushed 0.1 m above its center by 15 N < μ m g: about its front foot 15·0.2 > m g·0.2 does not hold; it rests.
    rests = simulate(feet(), LAW, until=0.2, inputs={"F": 15.0}, parameters={"hp": 0.1, "mu": 5.0})
    assert np.abs(rests["x"]).max() < 1e-12
    tips = simulate(feet(), LAW, until=0.2, inputs={"F": 25.0}, parameters={"hp": 0.1, "mu": 5.0})
    assert_coulomb(tips, 5.0)
    assert tips.mode("foot0") in ("Free", "Ballistic")
    assert tips.mode("foot1") == "Contact"
    arm2 = 0.2**2 + 0.1**2
    alpha = (25.0 * 0.2 - 2 * G * 0.2) / (2 * arm2 * 4 / 3)
    early = 0.02
    row = int(np.searchsorted(tips.t, early))
    assert tips["angle"][row] == pytest.approx(-alpha * tips.t[row] ** 2 / 2, rel=0.02)


@pytest.mark.parametrize("force", [10.0, 24.0, 25.0, 60.0])
def test_a_block_between_two_walls_is_held_by_both_or_slips_through(force):
    result = simulate(vise(), LAW, until=0.5, inputs={"F": force})
    assert_coulomb(result, {"wall": 0.3, "plate": 0.5})
    a = min(0.0, 0.8 * force / 2 - G)
    assert result["z"][-1] == pytest.approx(a / 8, abs=1e-9)


def test_a_squeezed_block_is_lost_when_the_squeeze_no_longer_suffices():
    result = simulate(vise(), LAW, until=2.2, inputs={"F": 60.0}, parameters={"r": 20.0})
    assert_coulomb(result, {"wall": 0.3, "plate": 0.5})
    begin = (60 - 2 * G / 0.8) / 20
    assert np.abs(result["z"][result.t < begin - 1e-9]).max() < 1e-12
    assert result["z"][-1] == pytest.approx(-0.8 * 20 / 2 * (2.2 - begin) ** 3 / 6, abs=1e-8)
    assert result.times("plate")[-1] == pytest.approx(begin, abs=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.1, 0.3, 0.5, 0.6, 0.66, 0.67, 0.7, 2.0])
def test_a_drawer_jams_when_it_is_pulled_too_far_beside_its_middle(e):
    result = simulate(drawer(), LAW, until=1.0, inputs={"F": 5.0}, parameters={"e": e})
    assert_coulomb(result, 0.3)
    a = max(0.0, 5.0 / 2 * (1 - 2 * 0.3 * e / 0.4))
    assert result["x"][-1] == pytest.approx(a / 2, abs=1e-8)


def test_a_plate_that_opening_would_free_is_not_held_by_a_stick_that_friction_cannot_bear():
    # Turned the other way, the drawer leaves both walls; only stuck, with more than μ, would it press on them.
    result = simulate(drawer(), LAW, until=0.2, inputs={"F": 5.0}, parameters={"e": -0.1})
    assert_coulomb(result, 0.3)
    assert result["x"][-1] == pytest.approx(5.0 / 2 * 0.04 / 2, abs=1e-6)
    assert (result["force_front"] == 0).all()


LADDER = {"mu_wall": 0.2, "mu_floor": 0.2}


def ladder_rates(angle, speed, mu1, mu2, m=3.0, half=1.0):
    """Return angular acceleration and the forces of floor and wall of a ladder that slides down."""
    c, s = half * math.cos(angle), half * math.sin(angle)
    A = np.array(
        [
            [-m * s, mu1, -1.0],
            [m * c, -1.0, -mu2],
            [m * half**2 / 3, c - mu1 * s, -(s + mu2 * c)],
        ]
    )
    return np.linalg.solve(A, [m * c * speed**2, m * s * speed**2 - m * G, 0.0])


@pytest.mark.parametrize("angle", [1.0, 0.9, 0.7])
def test_a_ladder_slides_down_a_wall_as_lagrange_has_it(angle):
    start = {"x": math.cos(angle), "z": math.sin(angle), "angle": angle}
    result = simulate(ladder(), LAW, until=0.25, start=start, method=TIGHT)
    assert_coulomb(result, {"wall": 0.2, "floor": 0.2})
    reference = solve_ivp(
        lambda t, y: [y[1], ladder_rates(*y, 0.2, 0.2)[0]],
        (0, 0.25),
        [angle, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    assert (ladder_rates(*reference.y[:, -1], 0.2, 0.2)[1:] > 0).all()
    assert [result["angle"][-1], result["angle_dot"][-1]] == pytest.approx(reference.y[:, -1].tolist(), abs=1e-7)
    _, floor, wall = ladder_rates(*reference.y[:, -1], 0.2, 0.2)
    assert result["force_floor"][-1] == pytest.approx(floor, abs=1e-6)
    assert result["force_wall"][-1] == pytest.approx(wall, abs=1e-6)


@pytest.mark.parametrize("mu", [0.3, 0.5, 0.8])
def test_a_ladder_stands_up_to_the_angle_that_statics_gives(mu):
    # Both ends at their limit: tan φ = (1 − μ²) / (2 μ).
    steep = math.atan((1 - mu**2) / (2 * mu))
    for angle, stands in ((steep + 0.02, True), (steep - 0.02, False)):
        start = {"x": math.cos(angle), "z": math.sin(angle), "angle": angle}
        result = simulate(ladder(), LAW, until=0.5, start=start, parameters={"mu_wall": mu, "mu_floor": mu})
        assert_coulomb(result, mu)
        assert (abs(result["angle"][-1] - angle) < 1e-9) == stands


def rod_rates(angle, speed, d, mu, m=1.0, half=1.0):
    """Return angular acceleration, that of the tip and the force of a rod whose tip slides along d (d = 0: sticks)."""
    c, s = half * math.cos(angle), half * math.sin(angle)
    J = m * half**2 / 3
    # unknown: angular, x of the center, force, friction
    A = np.array(
        [
            [m * c, 0.0, -1.0, 0.0],
            [0.0, m, 0.0, -1.0],
            [J, 0.0, c, -s],
            [0.0, 0.0, mu * d, 1.0] if d else [s, 1.0, 0.0, 0.0],
        ]
    )
    b = [m * s * speed**2 - m * G, 0.0, 0.0, 0.0 if d else -c * speed**2]
    alpha, x, force, friction = np.linalg.solve(A, b)
    return alpha, x + s * alpha + c * speed**2, force, friction


@pytest.mark.parametrize("angle", [0.6, 1.0, 1.3, 1.9])
@pytest.mark.parametrize("v", [3.0, -3.0])
def test_a_falling_rod_slides_as_newton_and_euler_have_it(angle, v):
    mu = 0.3
    result = simulate(rod(), LAW, until=0.2, start=tip(angle, v), method=TIGHT)
    assert_coulomb(result, mu)
    assert modes_of(result, "floor") == ["Sliding"]

    def rhs(t, y):
        alpha, slip, _, _ = rod_rates(y[0], y[1], math.copysign(1, v), mu)
        return [y[1], alpha, y[3], slip]

    reference = solve_ivp(rhs, (0, 0.2), [angle, 0, 0, v], method="DOP853", rtol=1e-12, atol=1e-13)
    found = [result[name][-1] for name in ("angle", "angle_dot", "slip_floor", "slip_floor_dot")]
    assert found == pytest.approx(reference.y[:, -1].tolist(), abs=1e-7)
    assert result["force_floor"][-1] == pytest.approx(
        rod_rates(*reference.y[:2, -1], math.copysign(1, v), mu)[2], abs=1e-6
    )


def rod_reference(angle, v, mu, until):
    """Return the state of a rod (angle, its rate, slip, its rate) through its modes, and when they change."""
    t, y, changes = 0.0, np.array([angle, 0.0, 0.0, v]), []
    d = math.copysign(1.0, v) if v else 0.0
    while t < until:

        def rhs(s, y, d=d):
            alpha, slip, _, _ = rod_rates(y[0], y[1], d, mu)
            return [y[1], alpha, y[3], slip if d else 0.0]

        def ends(s, y, d=d):
            if d:
                return y[3] * d
            _, _, force, friction = rod_rates(y[0], y[1], 0, mu)
            return mu * force - abs(friction)

        ends.terminal, ends.direction = True, -1
        if d == 0 and ends(t, y) <= 0:
            d = -math.copysign(1.0, rod_rates(y[0], y[1], 0, mu)[3])
            y[3] = 1e-300 * d
            continue
        solution = solve_ivp(rhs, (t, until), y, method="DOP853", rtol=1e-12, atol=1e-13, events=ends)
        t, y = solution.t[-1], solution.y[:, -1].copy()
        if solution.status == 1:
            d = 0.0 if d else -math.copysign(1.0, rod_rates(y[0], y[1], 0, mu)[3])
            y[3] = 1e-300 * d
            changes.append((t, "Sliding" if d else "Contact"))
    return y, changes


@pytest.mark.parametrize(
    ("angle", "v", "mu"),
    [(1.4, 2.0, 0.3), (1.8, -2.0, 0.3), (1.9, -2.0, 0.3), (1.0, 2.0, 1.0), (1.2, 2.0, 1.0), (1.2, 2.0, 0.3)],
)
def test_a_rod_that_slides_sticks_and_slides_again_follows_an_independent_solution(angle, v, mu):
    y, changes = rod_reference(angle, v, mu, 0.4)
    result = simulate(rod(), LAW, until=0.4, start=tip(angle, v), parameters={"mu": mu})
    assert result.ok, result.reason
    found = [result[name][-1] for name in ("angle", "angle_dot", "slip_floor", "slip_floor_dot")]
    assert found == pytest.approx(y.tolist(), abs=1e-6)
    assert [event.after for event in result.events] == [mode for _, mode in changes]
    assert [event.time for event in result.events] == pytest.approx([t for t, _ in changes], abs=1e-6)
    assert_coulomb(result, mu)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.1, 0.3, 0.6, 1.0, 1.3])
def test_rods_of_every_pitch_and_speed_neither_fail_nor_sink(mu):
    # Below 4/3 the rod of Painlevé is never inconsistent.
    for angle, v in itertools.product(np.linspace(0.4, 2.7, 24), (-2.0, -0.3, 0.0, 0.3, 2.0)):
        result = simulate(rod(), LAW, until=0.3, start=tip(angle, v), parameters={"mu": mu})
        assert result.ok, f"{angle}, {v}: {result.reason}"
        assert result["gap_floor"].min() > -1e-6, f"{angle}, {v}"
        assert_coulomb(result, mu, energy=1e-6)


@pytest.mark.parametrize(
    ("angle", "v", "mu"), [(0.8, -2.0, 3.0), (1.2, -2.0, 3.0), (1.1, -2.0, 1.5), (2.0, 2.0, 1.5), (2.4, 2.0, 3.0)]
)
@pytest.mark.filterwarnings("ignore:the run of .* stopped early:impinge.errors.ImpingeWarning")
def test_painlevés_rod_does_not_sink_through_the_floor_without_a_word(angle, v, mu):
    # μ > 4/3: sliding this way, friction presses the tip into the floor faster than the floor pushes back.
    result = simulate(rod(), LAW, until=0.3, start=tip(angle, v), parameters={"mu": mu})
    assert result.certificate.steps + result.certificate.rejected < 2000
    assert all(np.isfinite(values).all() for values in result.signals.values())
    if result.ok:
        assert result["gap_floor"].min() > -1e-3
    else:
        assert "floor" in result.reason


@pytest.mark.parametrize(("angle", "v"), [(0.8, 2.0), (1.2, 2.0), (2.0, -2.0)])
def test_with_the_same_friction_the_rod_dragged_the_other_way_slides(angle, v):
    result = simulate(rod(), LAW, until=0.05, start=tip(angle, v), parameters={"mu": 3.0}, method=TIGHT)
    assert_coulomb(result, 3.0)
    y, _ = rod_reference(angle, v, 3.0, 0.05)
    assert result["slip_floor_dot"][-1] == pytest.approx(y[3], abs=1e-7)


def wedge_rates(M, m, th, mu_floor, mu_slope):
    """Return the accelerations of a wedge (to −x) and of a block down its slope, both sliding."""
    c, s = math.cos(th), math.sin(th)
    along, across = s - mu_slope * c, c + mu_slope * s
    A = np.array([[M, 0, along - mu_floor * across], [m, m * c, -along], [0, -m * s, -across]])
    return np.linalg.solve(A, [mu_floor * M * G, 0.0, -m * G])


@pytest.mark.parametrize(("mu_floor", "mu_slope"), [(0.05, 0.2), (0.05, 0.0), (0.0, 0.0), (0.02, 0.4)])
def test_a_block_on_a_wedge_that_gives_way(mu_floor, mu_slope):
    s, r, press = wedge_rates(3.0, 1.0, 0.6, mu_floor, mu_slope)
    assert s < 0 < r
    assert press > 0
    result = simulate(wedge(), LAW, until=0.5, parameters={"mu_floor": mu_floor, "mu_slope": mu_slope})
    assert_coulomb(result, {"floor": mu_floor, "slope": mu_slope})
    assert result["s"][-1] == pytest.approx(s / 8, abs=1e-9)
    assert result["slip_slope"][-1] == pytest.approx(r / 8, abs=1e-9)


@pytest.mark.parametrize("mu_slope", [0.2, 0.5])
def test_a_wedge_that_the_floor_holds_stays_while_the_block_slides_down(mu_slope):
    result = simulate(wedge(), LAW, until=0.5, parameters={"mu_floor": 0.5, "mu_slope": mu_slope})
    assert_coulomb(result, {"floor": 0.5, "slope": mu_slope})
    assert (result["s"] == 0).all()
    assert result.mode("floor") == "Contact"
    assert result.mode("slope") == "Sliding"
    assert result["slip_slope"][-1] == pytest.approx(G * (math.sin(0.6) - mu_slope * math.cos(0.6)) / 8, abs=1e-9)


def test_a_block_on_a_block_is_carried_along_and_then_left_behind():
    mu1, mu2, k = 0.2, 0.3, 5.0
    result = simulate(stacked(), LAW, until=5.0, parameters={"k": k})
    assert_coulomb(result, {"floor": mu1, "between": mu2})
    first, second = mu1 * 3 * G / k, (mu1 + mu2) * 3 * G / k
    assert [(event.contact, event.after) for event in result.events] == [("floor", "Sliding"), ("between", "Sliding")]
    assert [event.time for event in result.events] == pytest.approx([first, second], abs=1e-9)
    speed = k / 3 * (second - first) ** 2 / 2
    assert result["x2_dot"][-1] == pytest.approx(speed + mu2 * G * (5 - second), abs=1e-8)


@pytest.mark.parametrize("c", [0.0, 10.0])
def test_two_blocks_that_start_to_slide_at_one_instant_share_their_event(c):
    result = simulate(pair(), LAW, until=5.0, parameters={"c": c})
    assert [event.contact for event in result.events] == ["floor1", "floor2"]
    assert result.events[0].row == result.events[1].row
    assert result.events[0].time == pytest.approx(0.3 * G, abs=1e-9)
    assert result["x1"] == pytest.approx(result["x2"], abs=1e-10)
    assert_coulomb(result, 0.3)


@pytest.mark.parametrize(("m1", "m2"), [(1e-3, 1e3), (1e-6, 1e6), (1e-7, 1e7)])
def test_a_light_and_a_heavy_block_slide_as_if_each_were_alone(m1, m2):
    result = simulate(
        pair(),
        LAW,
        until=0.5,
        start={"x1_dot": 3.0, "x2_dot": 3.0},
        parameters={"m1": m1, "m2": m2, "k1": 0.0, "k2": 0.0},
    )
    for i in (1, 2):
        assert result[f"x{i}_dot"][-1] == pytest.approx(3 - 0.3 * G * 0.5, abs=1e-9)
        assert result[f"gap_floor{i}"].min() > -1e-9


# A plate on four legs in space


def stool_rates(s, mu, m=4.0, J=0.5):
    _, _, yaw, vx, vy, w = s
    total = np.zeros(3)
    for p, q in itertools.product((0.3, -0.3), (0.2, -0.2)):
        rx, ry = p * math.cos(yaw) - q * math.sin(yaw), p * math.sin(yaw) + q * math.cos(yaw)
        ux, uy = vx - w * ry, vy + w * rx
        f = -mu * m * G / 4 / max(1e-300, math.hypot(ux, uy))
        total += [f * ux, f * uy, f * (rx * uy - ry * ux)]
    return [vx, vy, w, total[0] / m, total[1] / m, total[2] / J]


@pytest.mark.parametrize(("start", "until"), [((1.0, 0.2, 1.0), 0.35), ((1.0, 0.0, 8.0), 0.25), ((0.3, 0.1, 4.0), 0.2)])
def test_a_plate_that_spins_and_slides_on_four_legs_follows_a_tight_reference(start, until):
    vx, vy, w = start
    result = simulate(stool(), LAW, until=until, start={"x_dot": vx, "y_dot": vy, "yaw_dot": w}, method=TIGHT)
    assert_coulomb(result, 0.3)
    assert result.events == ()
    reference = solve_ivp(
        lambda t, s: stool_rates(s, 0.3), (0, until), [0, 0, 0, vx, vy, w], method="DOP853", rtol=1e-12, atol=1e-12
    )
    found = [result[name][-1] for name in ("x", "y", "yaw", "x_dot", "y_dot", "yaw_dot")]
    assert found == pytest.approx(reference.y[:, -1].tolist(), abs=1e-8)


@pytest.mark.parametrize(("v", "w"), [(1.0, 0.0), (0.0, 2.0)])
def test_a_plate_on_four_legs_stops_on_all_of_them_at_once(v, w):
    result = simulate(stool(), LAW, until=1.0, start={"x_dot": v, "yaw_dot": w})
    stop = v / (0.3 * G) if v else w * 0.5 / (0.3 * 4 * G * math.hypot(0.3, 0.2))
    assert [event.time for event in result.events] == pytest.approx([stop] * 4, abs=1e-8)
    assert result["x"][-1] == pytest.approx(v * stop / 2, abs=1e-9)
    assert result["yaw"][-1] == pytest.approx(w * stop / 2, abs=1e-9)
    assert_coulomb(result, 0.3)


def test_a_plate_that_comes_to_pivot_on_one_leg_sticks_there_and_goes_on_turning():
    # One leg's speed falls to zero before the others': friction can hold it, and it is where the plate then turns.
    result = simulate(stool(), LAW, until=1.0, start={"x_dot": 1.0, "yaw_dot": 3.0})
    assert result.certificate.steps < 20_000
    assert result.times("leg0", after="Contact")[0] < result.times("leg3", after="Contact")[0]
    assert_coulomb(result, 0.3, energy=1e-6)


def test_a_plate_on_four_legs_breaks_away_on_all_of_them_when_their_friction_is_used():
    result = simulate(stool(), LAW, until=3.0, parameters={"k": 5.0}, sample=0.01)
    assert result.certificate.steps < 20_000
    begin = 0.3 * 4 * G / 5
    for leg in ("leg0", "leg1", "leg2", "leg3"):
        assert result.times(leg, after="Sliding")[-1] == pytest.approx(begin, abs=1e-9)
    assert result.events[-1].time == pytest.approx(begin, abs=1e-9)
    assert result["x"][-1] == pytest.approx(5 / 4 * (3 - begin) ** 3 / 6, abs=1e-8)
    assert_coulomb(result, 0.3)


# Closed chains, edges, landings, liftoffs


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.1])
def test_the_foot_of_a_linkage_slides_to_and_fro_through_its_dead_points(mu):
    # The foot turns back where the linkage's geometry has it: friction cannot stop it there, for the crank moves on.
    result = simulate(
        sliding_four_bar(), LAW, until=2.0, start=four_bar_pose(1.0), inputs={"press": 20.0}, parameters={"mu": mu}
    )
    assert_coulomb(result, mu, energy=1e-6)
    assert result.certificate.constraint_drift < 1e-8
    turns = np.count_nonzero(np.diff(np.sign(result["slip_floor_dot"][np.abs(result["slip_floor_dot"]) > 1e-6])))
    assert turns >= 2
    if mu == 0:
        assert result["work_contacts"] == pytest.approx(np.zeros(result.t.size), abs=1e-9)
    else:
        path = np.abs(np.diff(result["slip_floor"])).sum()
        assert -result["work_contacts"][-1] == pytest.approx(mu * (20 + 0.5 * G) * path, rel=2e-3)


def test_a_linkage_whose_foot_is_pressed_hard_enough_stands_still():
    result = simulate(
        sliding_four_bar(), LAW, until=10.0, start=four_bar_pose(1.0), inputs={"press": 200.0}, parameters={"mu": 0.5}
    )
    assert_coulomb(result, 0.5)
    assert result.mode("floor") == "Contact"
    assert np.abs(result["crank"] - 1.0).max() < 1e-9


def test_a_block_that_slides_off_a_table_falls_from_its_edge():
    v, mu = 3.0, 0.3
    result = simulate(thrown("edge"), LAW, until=1.0, start={"x_dot": v})
    leave = (v - math.sqrt(v**2 - 2 * mu * G)) / (mu * G)
    speed = v - mu * G * leave
    (event,) = result.events
    assert (event.before, event.after) == ("Sliding", "Passed")
    assert event.time == pytest.approx(leave, abs=1e-10)
    late = result.t > leave
    fall = result.t[late] - leave
    assert result["x"][late] == pytest.approx(1 + speed * fall, abs=1e-9)
    assert result["z"][late] == pytest.approx(-G * fall**2 / 2, abs=1e-9)
    assert_coulomb(result, mu)


def test_a_block_that_stops_short_of_the_edge_stays_on_the_table():
    v = math.sqrt(2 * 0.3 * G * (1 - 1e-6))
    result = simulate(thrown("edge"), LAW, until=10.0, start={"x_dot": v})
    assert modes_of(result, "floor") == ["Sliding", "Contact"]
    assert result["x"][-1] == pytest.approx(1 - 1e-6, abs=1e-9)


@pytest.mark.parametrize("law", [LAW, Baumgarte(a0=100, a1=0, a2=1e6), Baumgarte(a0=1e4, a1=200, a2=1e6)], ids=str)
@pytest.mark.parametrize("v", [3.0, 0.5])
def test_a_ball_that_lands_sliding_loses_friction_times_the_impulse_of_the_floor(law, v):
    result = simulate(thrown(), law, until=2.0, start={"z": 0.5, "x_dot": v})
    assert_coulomb(result, 0.3, energy=1e-6)
    assert modes_of(result, "floor")[:2] == ["Free", "Sliding"]
    assert result.times("floor")[0] == pytest.approx(math.sqrt(1 / G), abs=1e-9)
    sliding = result["x_dot"] > 1e-6
    assert result["x_dot"][sliding] == pytest.approx((v - 0.3 * result["impulse_floor"])[sliding], abs=1e-9)
    stops = result.times("floor", before="Sliding", after="Contact")
    if stops:
        row = int(np.searchsorted(result.t, stops[0]))
        assert 0.3 * result["impulse_floor"][row] == pytest.approx(v, abs=1e-9)


def test_a_block_that_is_lifted_while_it_slides_leaves_when_nothing_presses_it():
    v, s = 3.0, 10.0
    result = simulate(thrown(), LAW, until=1.2, start={"x_dot": v}, parameters={"s": s})
    leave = G / s
    assert result.times("floor")[0] == pytest.approx(leave, abs=1e-9)
    assert modes_of(result, "floor")[:2] == ["Sliding", "Ballistic"]
    assert result["x_dot"][-1] == pytest.approx(v - 0.3 * (G * leave - s * leave**2 / 2), abs=1e-9)
    assert_coulomb(result, 0.3)


def test_a_block_that_is_lifted_while_it_is_pushed_slides_first_and_leaves_then():
    s, fx, mu = 10.0, 1.0, 0.3
    result = simulate(thrown(), LAW, until=1.2, inputs={"fx": fx}, parameters={"s": s})
    slide, leave = (G - fx / mu) / s, G / s
    assert result.times("floor")[:2] == pytest.approx([slide, leave], abs=1e-9)
    assert modes_of(result, "floor")[:3] == ["Contact", "Sliding", "Ballistic"]
    tau = leave - slide
    assert at(result, result.times("floor")[1], "x_dot")[0] == pytest.approx(mu * s * tau**2 / 2, abs=1e-9)
    assert_coulomb(result, mu)


def test_a_block_that_sticks_without_load_lifts_off_without_sliding():
    result = simulate(thrown(), LAW, until=1.2, parameters={"s": 10.0})
    assert modes_of(result, "floor")[:2] == ["Contact", "Ballistic"]
    assert (result["x"] == 0).all()


def test_a_block_on_a_shaken_floor_slides_by_the_force_that_it_has_there():
    # N = m (g − B w² sin(w t)): while it slides, ẋ = v − μ ∫N/m.
    B, w, v, mu = 0.05, 8.0, 1.0, 0.3
    result = simulate(thrown("shaken"), LAW, until=0.3, start={"x_dot": v, "z_dot": B * w}, parameters={"B": B, "w": w})
    assert_coulomb(result, mu)
    t = result.t
    assert result["x_dot"] == pytest.approx(v - mu * (G * t - B * w * (1 - np.cos(w * t))), abs=1e-7)


# Controllers


class Steps:
    """Commands a list of forces, one each tick."""

    def __init__(self, *forces, period=0.125):
        self.period, self.forces = period, list(forces)

    def reset(self, measurement):
        self.next = iter(self.forces)

    def step(self, t, measurement):
        return {"F": next(self.next, self.forces[-1])}


def test_a_step_of_the_force_beyond_the_limit_starts_sliding_at_that_tick():
    limit = 0.5 * G
    control = Steps(0.0, 0.9 * limit, -0.9 * limit, 0.999 * limit, 1.5 * limit)
    result = simulate(incline(), LAW, until=1.0, parameters={"th": 0.0}, controller=control)
    (event,) = result.events
    assert (event.time, event.before, event.after) == (0.5, "Contact", "Sliding")
    assert (result["x"][result.t <= 0.5] == 0.0).all()
    assert result["x"][-1] == pytest.approx(0.5 * limit * 0.5**2 / 2, abs=1e-10)
    assert result["friction_plane"][event.row] == pytest.approx(-0.999 * limit, rel=1e-12)
    assert_coulomb(result, 0.5)


def test_a_block_that_a_tick_lets_go_stops_between_ticks():
    limit = 0.5 * G
    control = Steps(2 * limit, 0.0)
    result = simulate(incline(), LAW, until=1.0, parameters={"th": 0.0}, controller=control)
    v = limit * 0.125
    assert modes_of(result, "plane") == ["Sliding", "Contact"]
    assert result.times("plane") == pytest.approx([0.25], abs=1e-10)
    assert result["x"][-1] == pytest.approx(v * 0.125, abs=1e-10)


def test_a_force_within_the_limit_that_changes_at_every_tick_moves_nothing():
    limit = 0.5 * G
    rng = np.random.default_rng(0)
    control = Steps(*(0.999 * limit * rng.uniform(-1, 1, 800)))
    result = simulate(incline(), LAW, until=100.0, parameters={"th": 0.0}, controller=control)
    assert (result["x"] == 0.0).all()
    assert result.events == ()


def test_pressing_less_at_a_tick_lets_the_block_go():
    class Relax:
        period = 0.5

        def reset(self, measurement):
            pass

        def step(self, t, measurement):
            return {"F": 8.0, "P": 10.0 if t < 1 else 0.0}

    result = simulate(incline(), LAW, until=2.0, parameters={"th": 0.0}, controller=Relax())
    (event,) = result.events
    assert event.time == 1.0
    assert result["x"][-1] == pytest.approx((8 - 0.5 * G) / 2, abs=1e-10)


# Methods, repetition


def test_the_same_run_twice_is_the_same_to_the_last_bit():
    def run():
        return simulate(puck(), LAW, until=3.0, parameters={"A": 4.0, "w": 3.0}, start={"x_dot": 0.4, "y_dot": 0.7})

    one, other = run(), run()
    assert one.events == other.events
    assert all(np.array_equal(one[name], other[name]) for name in one.signals)


@pytest.mark.parametrize("step", [0.1, 0.01])
def test_a_fixed_step_finds_the_stop_inside_its_step(step):
    result = simulate(incline(), LAW, until=1.0, start=downhill(0.3, -2.0), method=FixedStep(step))
    decline = G * (math.sin(0.3) + 0.5 * math.cos(0.3))
    assert result.times("plane") == pytest.approx([2 / decline], abs=1e-9)
    assert result["down"][-1] == pytest.approx(-2 / decline, abs=1e-9)
    assert_coulomb(result, 0.5)


def test_fixed_steps_converge_to_the_independent_solution_through_stick_and_slip():
    m, mu, A, w, k = 2.0, 0.4, 9.0, 4.0, 50.0
    x, _, _ = dry_reference(lambda t, x: (A * np.cos(w * t) - k * x) / m, mu * G, 3.0)
    errors = []
    for step in (0.02, 0.01, 0.005, 0.0025):
        result = simulate(
            conveyor(False), LAW, until=3.0, parameters={"k": k, "A": A, "w": w, "mu": mu}, method=FixedStep(step)
        )
        assert result.ok, result.reason
        errors.append(abs(result["x"][-1] - x))
    assert errors[-1] < 1e-6
    assert errors[-1] < errors[0] / 8  # at least of first order, over three halvings


def test_tighter_tolerances_come_closer_to_the_independent_solution():
    m, mu, A, w, k = 2.0, 0.4, 12.0, 7.0, 50.0
    x, _, _ = dry_reference(lambda t, x: (A * np.cos(w * t) - k * x) / m, mu * G, 5.0)
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        method = Adaptive(rtol=rtol, atol=rtol / 100)
        parameters = {"k": k, "A": A, "w": w, "mu": mu}
        result = simulate(conveyor(False), LAW, until=5.0, parameters=parameters, method=method)
        assert result.ok, result.reason
        errors.append(abs(result["x"][-1] - x))
    assert errors[-1] < 1e-9
    assert errors[1] < 1e-4
    assert errors[2] < 1e-6


def test_a_reversal_is_an_event_from_sliding_to_sliding_with_friction_on_either_side():
    result = simulate(incline(), LAW, until=1.0, start=downhill(0.3, -1.0), parameters={"mu": 0.1})
    (event,) = result.events
    assert (event.before, event.after) == ("Sliding", "Sliding")
    friction = 0.1 * G * math.cos(0.3)
    assert result["friction_plane"][event.row] == pytest.approx(friction, rel=1e-9)
    assert result["friction_plane"][event.row + 1] == pytest.approx(-friction, rel=1e-9)


# Analysis


def test_a_block_that_slides_down_a_slope_follows_its_friction():
    """Its acceleration along the slope is g (sin θ − μ cos θ)."""
    th, until = 0.3, 0.1
    found = sensitivity(incline(), LAW, until=until, parameters={"mu": 0.1, "th": th}, by=["mu", "F", "m"])
    down = np.array([math.cos(th), -math.sin(th)])
    assert down @ found.matrix[:2] == pytest.approx([-G * math.cos(th) * until**2 / 2, until**2 / 2, 0.0], abs=1e-9)
    assert down @ found.matrix[2:] == pytest.approx([-G * math.cos(th) * until, until, 0.0], abs=1e-9)


def test_the_sensitivity_of_a_run_that_sticks_is_that_of_one_that_never_slides():
    """But for slip rates at the start, which friction ends at once."""
    by = ["x", "z", "F", "P", "m"]
    held = sensitivity(incline(False), LAW, until=0.5, by=by)
    stuck = sensitivity(incline(), LAW, until=0.5, parameters={"mu": 5.0}, by=by)
    assert stuck.matrices[-1] == pytest.approx(held.matrices[-1], abs=1e-9)


def test_a_mode_that_cannot_stick_is_no_equilibrium():
    with pytest.raises(StartError, match=r"contact 'plane' to stick, by a friction of at most"):
        equilibrium(incline(), mode=["plane"], inputs={"F": 0.0, "P": 0.0}, parameters={"mu": 0.1})


def test_a_mode_that_cannot_stick_is_not_linearized():
    with pytest.raises(StartError, match=r"contact 'plane' to stick"):
        linearize(incline(), mode=["plane"], parameters={"mu": 0.1})


def test_a_mode_that_sticks_is_linearized_as_one_that_never_slides():
    rubbing = linearize(incline(), mode=["plane"], parameters={"mu": 1.0})
    held = linearize(incline(False), mode=["plane"])
    for name in ("A", "B", "C", "D"):
        assert getattr(rubbing, name) == pytest.approx(getattr(held, name), abs=1e-12), name
    rest = equilibrium(incline(), mode=["plane"], inputs={"F": 0.0, "P": 0.0})
    assert rest.forces["friction_plane"] == pytest.approx(-G * math.sin(0.3), abs=1e-9)


# Bad input


@pytest.mark.parametrize("mu", [-0.1, -1e-300])
def test_friction_below_zero_is_refused(mu):
    with pytest.raises(InputError, match=r"friction of contact 'plane'.*a coefficient of zero or more"):
        simulate(incline(), LAW, until=1.0, parameters={"mu": mu})


def test_friction_that_is_not_a_number_is_refused():
    b = ModelBuilder("bad")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    p = b.parameter("p", 0.0)
    b.gap("floor", x, slip=x, friction=ca.log(p - 1))
    with pytest.raises(ImpingeError, match="friction"):
        simulate(b.build(), LAW, until=1.0)


def test_friction_without_slip_is_refused():
    b = ModelBuilder("bad")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    with pytest.raises(ModelError, match=r"friction along at least one slip"):
        b.gap("floor", x, friction=0.3)


@pytest.mark.parametrize("which", ["coordinate", "velocity", "time", "input"])
def test_friction_that_depends_on_more_than_parameters_is_refused(which):
    b = ModelBuilder("bad")
    (x, v), (z, w) = b.coordinate("x"), b.coordinate("z")
    b.kinetic((v**2 + w**2) / 2)
    mu = {"coordinate": x, "velocity": v, "time": b.time, "input": b.input("u")}[which]
    b.gap("floor", z, slip=x, friction=0.3 + mu**2)
    with pytest.raises(ModelError, match=r"friction of gap 'floor'"):
        b.build()


def test_friction_may_be_an_expression_of_parameters():
    b = ModelBuilder("good")
    (x, v), (z, w) = b.coordinate("x", speed=1.0), b.coordinate("z")
    b.kinetic((v**2 + w**2) / 2)
    b.potential(G * z)
    b.gap("floor", z, slip=x, friction=ca.tan(b.parameter("angle", 0.3)))
    model = b.build()
    for angle in (0.3, 0.5):
        result = simulate(model, LAW, until=2.0, parameters={"angle": angle})
        assert result.times("floor") == pytest.approx([1 / (math.tan(angle) * G)], abs=1e-10)


# Row forces with drag, against numpy


@st.composite
def drag_problems(draw, redundant=False):
    """Rows of a random mechanism, in which some are dragged by others."""
    m, nv = draw(st.integers(2, 7)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(m, nv))
    if redundant:
        rows = rng.integers(-2, 3, size=(m, nv)).astype(float)
        for _ in range(draw(st.integers(0, 3))):
            rows[rng.integers(0, m)] = draw(st.sampled_from([0.0, 1.0, -2.0])) * rows[rng.integers(0, m)]
    W = rows @ rows.T
    kinds = rng.choice([FORCE, ACCELERATION, ACCELERATION, DRAG], size=m).astype(np.int64)
    normal, owners = np.arange(m), np.flatnonzero(kinds != DRAG)
    for i in np.flatnonzero(kinds == DRAG):
        if owners.size == 0:
            kinds[i] = ACCELERATION
        else:
            normal[i] = rng.choice(owners)
    value = rng.normal(size=m)
    value[kinds == DRAG] *= 0.3
    return (W + W.T) / 2, rng.normal(size=m), kinds, value, normal.astype(np.int64)


def drag_reference(W, drift, kinds, value, normal):
    """Return the forces by numpy's pseudo-inverse, and the singular values of the system."""
    m = drift.size
    closed = np.flatnonzero(kinds == ACCELERATION)
    P, known = np.zeros((m, closed.size)), np.where(kinds == FORCE, value, 0.0)
    P[closed, np.arange(closed.size)] = 1.0
    for i in np.flatnonzero(kinds == DRAG):
        if kinds[normal[i]] == FORCE:
            known[i] = value[i] * value[normal[i]]
        else:
            P[i] = value[i] * P[normal[i]]
    if closed.size == 0:
        return known, np.ones(1)
    A = (W @ P)[closed]
    b = (value - drift - W @ known)[closed]
    return P @ (np.linalg.pinv(A, rcond=1e-9) @ b) + known, np.linalg.svd(A, compute_uv=False)


def forces_of(W, drift, kinds, value, normal, work=None):
    force = np.full(drift.size, np.nan)
    row_forces(np.ascontiguousarray(W), drift, kinds, value, normal, force, work or Struct(row_workspace(drift.size)))
    return force


@settings(max_examples=300, deadline=None)
@given(st.one_of(drag_problems(), drag_problems(redundant=True)))
def test_dragged_rows_have_the_forces_that_numpy_gives_them(problem):
    truth, sizes = drag_reference(*problem)
    largest = max(1e-300, sizes.max())
    assume(not ((sizes > 1e-13 * largest) & (sizes < 1e-5 * largest)).any())
    found = forces_of(*problem)
    assert found == pytest.approx(truth, rel=1e-7, abs=1e-7 * (1 + np.abs(truth).max()))


@settings(max_examples=100, deadline=None)
@given(drag_problems(redundant=True))
def test_a_used_work_space_gives_dragged_rows_the_same_bits(problem):
    m = problem[1].size
    spoiled = row_workspace(m)
    for array in spoiled:
        array.fill(-1 if array.dtype == np.int64 else np.nan)
    spoiled.L[:] = np.tril(spoiled.L)
    spoiled.near[:] = 0.0  # which is given, and not written to
    assert np.array_equal(forces_of(*problem), forces_of(*problem, Struct(spoiled)))


def test_a_row_dragged_by_a_force_that_a_law_prescribes_has_its_multiple():
    W = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]])
    kinds = np.array([FORCE, DRAG, ACCELERATION], dtype=np.int64)
    force = forces_of(W, np.array([0.0, 0.0, -1.0]), kinds, np.array([4.0, -0.3, 0.0]), np.array([0, 0, 2]))
    assert force[:2].tolist() == [4.0, -1.2]
    assert force[2] == pytest.approx(1.0 - 0.1 * 4.0 + 0.2 * 1.2, abs=1e-14)


@pytest.mark.parametrize("decades", [3, 6, 8])
def test_rows_of_very_different_size_are_not_taken_for_dependent_when_one_is_dragged(decades):
    # Two bodies that do not touch each other: masses 10^±decades/2, each with a gap and a slip that is dragged.
    light, heavy = 10.0 ** (decades / 2), 10.0 ** (-decades / 2)
    W = np.diag([light**2, heavy**2, light**2, heavy**2])
    kinds = np.array([ACCELERATION, ACCELERATION, DRAG, DRAG], dtype=np.int64)
    force = forces_of(W, np.full(4, -G), kinds, np.array([0, 0, -0.3, -0.3]), np.array([0, 1, 0, 1]))
    assert force[:2] == pytest.approx([G / light**2, G / heavy**2], rel=1e-9)


# Sweeps


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.integers(2, 4),
    st.floats(0.05, 0.8),  # beyond, a block that tips meets Painlevé's paradox: see the limits below
    st.floats(-0.1, 0.1),
    st.floats(-60, 60),
    st.floats(-1.0, 1.0),
    st.floats(-3, 3),
    st.floats(-0.6, 0.6),
)
def test_blocks_on_feet_never_cycle_and_obey_coulomb(n, mu, hp, F, T, v, th):
    parameters = {"mu": mu, "hp": hp, "th": th}
    result = simulate(
        feet(n), LAW, until=0.3, inputs={"F": F, "T": T}, parameters=parameters, start={"x_dot": v}, sample=0.01
    )
    assert_coulomb(result, mu, energy=1e-5)


@pytest.mark.parametrize(("mu", "F", "v"), [(0.1, 43.0, -3.0), (0.4, 51.0, -2.0)])
def test_a_block_on_four_feet_that_a_strong_force_turns_back(mu, F, v):
    result = simulate(feet(4), LAW, until=0.3, inputs={"F": F}, parameters={"mu": mu}, start={"x_dot": v})
    assert_coulomb(result, mu, energy=1e-5)


@pytest.mark.parametrize("F", [13.0, 14.0])
def test_a_block_that_lands_softly_beside_a_foot_that_sticks(F):
    result = simulate(
        feet(2), LAW, until=0.3, inputs={"F": F}, parameters={"mu": 1.5, "hp": 5 / 64}, start={"x_dot": 1.0}
    )
    assert_coulomb(result, 1.5, energy=1e-5)


def test_a_block_that_tips_over_a_foot_of_very_high_friction():
    result = simulate(feet(2), LAW, until=0.3, inputs={"F": 39.0}, parameters={"mu": 1.5, "hp": 1 / 16})
    assert_coulomb(result, 1.5, energy=1e-5)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.floats(0.05, 0.9), st.floats(-2, 2), st.floats(-2, 2), st.floats(-6, 6), st.floats(-6, 6), st.floats(0, 8))
def test_pucks_under_any_force_obey_coulomb(mu, vx, vy, fx, fy, A):
    result = simulate(
        puck(),
        LAW,
        until=2.0,
        start={"x_dot": vx, "y_dot": vy},
        inputs={"fx": fx, "fy": fy},
        parameters={"mu": mu, "A": A, "w": 5.0},
        sample=0.01,
    )
    assert result.certificate.steps < 50_000
    assert_coulomb(result, mu, energy=1e-5)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.floats(0.05, 0.9), st.floats(-2, 2), st.floats(-2, 2), st.floats(-8, 8), st.floats(-10, 10))
def test_plates_on_four_legs_obey_coulomb(mu, vx, vy, w, fx):
    result = simulate(
        stool(),
        LAW,
        until=1.0,
        start={"x_dot": vx, "y_dot": vy, "yaw_dot": w},
        inputs={"fx": fx},
        parameters={"mu": mu},
        sample=0.01,
    )
    assert result.certificate.steps < 50_000
    assert_coulomb(result, mu, energy=1e-5)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.3, 1.5), st.floats(-2, 2))
def test_ladders_and_wedges_obey_coulomb(mu1, mu2, angle, v):
    start = {"x": math.cos(angle), "z": math.sin(angle), "angle": angle}
    result = simulate(ladder(), LAW, until=0.3, start=start, parameters={"mu_wall": mu1, "mu_floor": mu2})
    assert_coulomb(result, {"wall": mu1, "floor": mu2}, energy=1e-5)
    th = min(angle, 1.2)
    result = simulate(
        wedge(),
        LAW,
        until=0.3,
        start={"x_dot": v * math.cos(th), "z_dot": -v * math.sin(th)},
        parameters={"mu_floor": mu1, "mu_slope": mu2, "th": th},
    )
    assert_coulomb(result, {"floor": mu1, "slope": mu2}, energy=1e-5)


@pytest.mark.parametrize("law", [Impact(0.0), Baumgarte()], ids=["impact", "baumgarte"])
def test_a_tip_whose_slip_turns_where_sticking_would_take_a_pull_slides_back_and_is_pushed_on(law):
    """A double pendulum that leans on a wall: the forces on both sides of the instant are those of sliding."""
    model, mu = arm_model(0.2), 0.2
    result = simulate(model, law, until=0.5, start={"q1_dot": -1.0}, method=Adaptive(rtol=1e-11, atol=1e-13))
    turns = [e for e in result.events if e.before == e.after == "Sliding" and e.time > 0.3]
    assert len(turns) == 1
    row = turns[0].row
    terms = model.terms(*([result[f"{x.name}"][row] for x in xs] for xs in (model.coordinates, model.velocities)))
    A = np.vstack([terms["J"], terms["T"]])
    response = np.linalg.solve(terms["M"], np.column_stack([A.T, -terms["b"]]))
    W, free = A @ response[:, :2], A @ response[:, 2] + [*terms["gap_drift"], *terms["slip_drift"]]
    gap, rate = terms["gap"][0], terms["gap_dot"][0]
    wanted = -(100.0 * gap + 20.0 * rate + 1e6 * gap**3) if isinstance(law, Baumgarte) else 0.0
    assert np.linalg.solve(W, [wanted - free[0], -free[1]])[0] < -0.1  # to stick takes a pull
    for side, direction in ((row, 1.0), (row + 1, -1.0)):
        assert result["force_wall"][side] == pytest.approx(
            (wanted - free[0]) / (W[0, 0] - mu * direction * W[0, 1]), rel=1e-6
        )
    back = free[1] + (W[1, 0] + mu * W[1, 1]) * result["force_wall"][row + 1]
    assert back < 0.0  # that way it does begin to slide
