"""Verdicts: what a run promises, whether it kept that, and where a broken promise is named."""

from __future__ import annotations

import json
import math
import warnings

import casadi as ca
import numpy as np
import pytest

from impinge import (
    Adaptive,
    Baumgarte,
    Box,
    Complementarity,
    FixedStep,
    HalfSpace,
    HuntCrossley,
    Impact,
    ImpingeWarning,
    KelvinVoigt,
    ModelBuilder,
    Scene,
    Sphere,
    robots,
    simulate,
)

G = 9.81
LAWS = [
    Baumgarte(a0=1e4, a1=200.0, a2=0.0),
    Impact(restitution=0.3),
    KelvinVoigt(stiffness=2e4, damping=60.0),
    HuntCrossley(),
    Complementarity(restitution=0.3),
]


def named(result):
    return {verdict.name: verdict for verdict in result.certificate.verdicts}


def plank():
    """A plank on two feet, which may stick and slide."""
    b = ModelBuilder("plank")
    (x, vx), (z, vz), (turn, w) = b.coordinate("x"), b.coordinate("z", start=0.3), b.coordinate("turn", unit="rad")
    b.kinetic((vx**2 + vz**2) / 2 + 0.05 * w**2 / 2)
    b.potential(G * z)
    for k, side in enumerate((-0.3, 0.3)):
        height = z + side * ca.sin(turn) - 0.1 * ca.cos(turn)
        b.gap(f"foot{k}", height, slip=x + side * ca.cos(turn) + 0.1 * ca.sin(turn), friction=0.4)
    return b.build()


def fling(tilt, speed, spin):
    height = 0.1 * math.cos(tilt) + 0.3 * abs(math.sin(tilt)) + 0.1
    return {"turn": tilt, "z": height, "x_dot": speed, "turn_dot": spin}


def rod():
    """A pendulum in Cartesian coordinates: one constraint."""
    b = ModelBuilder("rod")
    (x, vx), (y, vy) = b.coordinate("x", start=1.0), b.coordinate("y")
    b.kinetic((vx**2 + vy**2) / 2)
    b.potential(G * y)
    b.constraint("length", ca.sqrt(x**2 + y**2) - 1.0)
    b.link("bob", (x, 0, y))
    return b.build()


# Extremes inside steps


@pytest.mark.parametrize("stiffness", [1e3, 4e4, 1e6])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_the_deepest_point_and_the_largest_force_of_a_bounce_are_found_inside_the_step(stiffness, rtol):
    """Without damping m v²/2 + m g δ = k δ²/2, where v²/2 = g: the ball turns about between two steps."""
    law = KelvinVoigt(stiffness=stiffness, damping=0.0)
    result = simulate(robots.ball(), law, until=0.7, method=Adaptive(rtol=rtol, atol=1e-2 * rtol))
    depth = (G + math.sqrt(G**2 + 2 * stiffness * G)) / stiffness
    contact = result.certificate.contacts["floor"]
    assert contact.deepest_penetration == pytest.approx(depth, rel=20 * rtol)
    assert contact.largest_force == pytest.approx(stiffness * depth, rel=20 * rtol)
    ends = np.isin(result.t, result.steps[:, 0])
    assert contact.deepest_penetration >= -result["gap_floor"][ends].min()
    assert contact.deepest_penetration > -result["gap_floor"][ends].min() * (1 + 1e-6)


def test_the_smallest_force_of_a_swing_is_found_inside_the_step():
    """A load on a plate that moves as A(1 − cos ωt), which pushes it by m (g + Aω² cos ωt): least at half a turn."""
    b = ModelBuilder("shaken")
    q, v = b.coordinate("q")
    b.kinetic(v**2 / 2)
    b.potential(G * q)
    b.gap("plate", q - 0.1 * (1 - ca.cos(6.0 * b.time)))
    contact = simulate(b.build(), Baumgarte(), until=2.0).certificate.contacts["plate"]
    assert contact.smallest_force == pytest.approx(G - 0.1 * 36, rel=1e-6)
    assert contact.largest_force == pytest.approx(G + 0.1 * 36, rel=1e-6)


# What is recorded changes nothing else


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("start", [(0.3, 0.8, -0.5), (-0.5, -0.2, 1.5)], ids=str)
def test_events_impulses_certificate_and_end_do_not_depend_on_what_is_recorded(law, start):
    def told(sample):
        result = simulate(plank(), law, until=1.0, start=fling(*start), sample=sample)
        told = result.certificate.to_dict()
        for contact in told["contacts"].values():  # these two are of the recorded rows, and say so
            del contact["steady_penetration"], contact["steady_complementarity"]
        events = [(e.time, e.contact, e.before, e.after, e.impulse, e.impact) for e in result.events]
        return events, {name: signal[-1] for name, signal in result.signals.items()}, told

    every = told(None)
    assert len(every[0]) >= 2
    for sample in (1.0, 0.01, 0.00137):
        assert told(sample) == every


# Impacts


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_every_impact_is_a_touchdown_and_a_liftoff_with_its_impulse(e):
    """A ball of 2 kg from 1 m: impacts after t₁, t₁ + 2 e t₁, …, each with the impulse m (1 + e) v e^k."""
    result = simulate(robots.ball(mass=2.0), Impact(restitution=e), until=1.0)
    first = math.sqrt(2 / G)
    times, impulses = result.impacts("floor")
    expected = [first]
    while expected[-1] + 2 * first * e ** len(expected) < 1.0 and len(expected) < 5:
        expected.append(expected[-1] + 2 * first * e ** len(expected))
    n = len(expected)
    assert times[:n] == pytest.approx(expected, rel=1e-9)
    assert impulses[:n] == pytest.approx([2.0 * (1 + e) * math.sqrt(2 * G) * e**k for k in range(n)], rel=1e-9)
    assert result.touchdowns("floor")[:n] == times[:n].tolist()
    contact = result.certificate.contacts["floor"]
    assert contact.impacts == len(times)
    assert contact.largest_impulse == impulses[0]
    assert [event.impulse for event in result.events[:n]] == pytest.approx(impulses[:n], rel=1e-9)


def test_a_contact_that_only_bounced_is_not_one_that_never_closed():
    result = simulate(robots.ball(), Impact(restitution=0.5), until=0.6)
    assert result.certificate.contacts["floor"].smallest_force is None
    assert "impacts               1, largest 6.64 N·s" in str(result.certificate)
    assert "never closed" not in str(result.certificate)
    assert (result.touchdowns("floor"), result.liftoffs("floor")) == ([result.events[0].time],) * 2


def test_a_landing_without_rebound_is_one_touchdown_and_no_liftoff():
    result = simulate(robots.ball(), Impact(), until=1.0)
    assert len(result.touchdowns("floor")) == len(result.impacts("floor")[0]) == 1
    assert result.liftoffs("floor") == []


def test_laws_without_jumps_have_no_impacts():
    for law in (Baumgarte(), KelvinVoigt()):
        result = simulate(robots.ball(), law, until=1.0)
        assert result.impacts("floor")[0].size == 0
        assert result.touchdowns("floor")


def test_a_paddle_that_strikes_gives_energy_but_creates_none():
    """Seen from a paddle that comes with 3 m/s, a ball at rest leaves as fast as it came: e = 1."""
    b = ModelBuilder("paddle")
    q, v = b.coordinate("q", start=0.5)
    b.kinetic(v**2 / 2)
    b.gap("paddle", q - 3.0 * b.time)
    result = simulate(b.build(), Impact(restitution=1.0), until=0.3)
    assert result["q_dot"][-1] == pytest.approx(6.0, rel=1e-12)
    assert named(result)["work of impacts"].ok


@pytest.mark.parametrize("law", [Baumgarte(), Impact(), Complementarity(step=1e-4)], ids=lambda law: law.name)
def test_the_work_of_friction_is_that_seen_from_the_belt(law):
    """A block of 2 kg at rest is put on a belt that runs at 1.5 m/s: rubbing takes m v²/2, and gives it as much.

    In time steps the floor takes back in each step what the weight gives: Euler's error, m g² h²/2.
    """
    b = ModelBuilder("belt")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    b.kinetic(2.0 * (vx**2 + vz**2) / 2)
    b.potential(2.0 * G * z)
    b.gap("belt", z, slip=x - 1.5 * b.time, friction=0.5)
    result = simulate(b.build(), law, until=0.6)
    assert result["x_dot"][-1] == pytest.approx(1.5, abs=1e-9)
    lost = 2.0 * G**2 * getattr(law, "step", 0.0) * 0.6 / 2
    assert result["work_friction_belt"][-1] == pytest.approx(-2.0 * 1.5**2 / 2, rel=1e-6)
    assert result["work_contacts"][-1] == pytest.approx(2.0 * 1.5**2 / 2 - lost, rel=1e-6)
    assert result.certificate.ok


# Units


def test_a_gap_that_is_an_angle_has_a_moment():
    b = ModelBuilder("stop")
    a, w = b.coordinate("a", start=-0.5, unit="rad")
    b.kinetic(0.1 * w**2 / 2)
    b.force(1.0, along=a)
    b.gap("end", 0.2 - a, unit="rad")
    model = b.build()
    result = simulate(model, KelvinVoigt(stiffness=100.0, damping=1.0), until=2.0)
    assert (result.units["force_end"], result.units["impulse_end"]) == ("N·m", "N·m·s")
    assert (result.units["gap_end"], result.units["gap_end_dot"]) == ("rad", "rad/s")
    assert " rad\n" in str(result.certificate)
    assert " N·m\n" in str(result.certificate)
    assert named(result)["gap while open"].unit == "rad"
    struck = simulate(model, Impact(restitution=0.2), until=2.0)
    assert "N·m·s" in str(struck.certificate)


# Verdicts


def test_each_law_makes_the_promises_that_it_can_keep():
    start = fling(0.3, 0.8, -0.5)
    common = {"work of impacts", "Coulomb's limit", "power of friction"}
    rigid = {"gap while open", "slip while sticking", "energy balance"}
    expected = [
        rigid | common - {"work of impacts"},
        rigid | common,
        {"gap while open", "Coulomb's limit", "work of bristles", "energy balance"},
        {"gap while open", "Coulomb's limit", "work of bristles", "energy balance"},
        {"penetration", "contact laws"} | common,
    ]
    for law, names in zip(LAWS, expected, strict=True):
        result = simulate(plank(), law, until=2.0, start=start)
        assert set(named(result)) == names, law.name
        assert result.certificate.ok
        assert result.certificate.broken == ()
        assert all(verdict.ok and verdict.number <= verdict.limit for verdict in result.certificate.verdicts)


def test_fixed_steps_promise_no_energy_balance():
    assert "energy balance" not in named(simulate(robots.ball(), Baumgarte(), until=1.0, method=FixedStep(1e-3)))


def adrift():
    """Steps of 50 ms without stabilization: the rod grows longer."""
    return simulate(rod(), until=5.0, method=FixedStep(0.05), stabilization=(1e-9, 1e-9))


def test_a_broken_promise_is_named_wherever_the_result_is_shown(tmp_path):
    with pytest.warns(ImpingeWarning) as caught:
        result = adrift()
    (warning,) = caught
    (broken,) = result.certificate.broken
    assert result.ok
    assert not result.certificate.ok
    assert broken.name == "constraint drift"
    assert broken.number == pytest.approx(np.abs(result["residual_length"]).max(), rel=1e-2)
    assert broken.number > broken.limit
    assert broken.unit == "m"
    assert 0 < broken.time <= 5.0
    for text in (str(warning.message), str(result), repr(result), str(result.certificate)):
        assert str(broken) in text
    assert "BROKEN  constraint drift" in str(result)
    assert warning.filename == __file__
    saved = json.loads((result.save(tmp_path) / "certificate.json").read_text())
    assert saved["ok"] is False
    assert [(v["name"], v["ok"], v["number"]) for v in saved["verdicts"]] == [(broken.name, False, broken.number)]


def test_a_run_that_ends_early_and_breaks_a_promise_warns_once():
    b = ModelBuilder("escape")
    x, v = b.coordinate("x", start=1.0, speed=1.0)
    b.kinetic(v**2 / 2)
    b.potential(-(x**4) / 2)
    with pytest.warns(ImpingeWarning, match="the run of escape stopped early: at t = 1") as caught:
        simulate(b.build(), until=2.0)
    assert len(caught) == 1


def test_a_run_that_keeps_its_promises_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(rod(), until=3.0)


def test_a_stiff_law_that_parts_while_it_is_still_deep_is_no_fault():
    """A strongly damped contact is left where its force vanishes, below zero, and rises from there."""
    law = KelvinVoigt(stiffness=1e4, damping=60.0)
    result = simulate(robots.ball(), law, until=1.0)
    opened = [event.row + 1 for event in result.events if event.after == "Free"]
    assert result["gap_floor"][opened].min() < -1e-6
    assert named(result)["gap while open"].number == 0.0
    assert result.certificate.ok


def test_ballistic_depth_is_no_fault():
    """Pulled at while it sinks, a contact of Baumgarte is open below zero: that is what its law says."""
    b = ModelBuilder("lifted")
    q, v = b.coordinate("q", start=0.1)
    b.kinetic(v**2 / 2)
    b.potential(G * q)
    b.force(b.input("lift", "N", value=60.0), along=q)
    b.gap("floor", q)
    result = simulate(b.build(), Baumgarte(a0=100.0, a1=0.0, a2=0.0), until=0.3, start={"q_dot": -4.0})
    below = result["gap_floor"] < -1e-3
    assert (result.mode_index("floor")[below] == result.modes["floor"].index("Ballistic")).any()
    assert result.certificate.ok


@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize("scheme", ["semi-implicit", "explicit"])
def test_time_steps_sink_in_by_no_more_than_their_gaps_bend(step, scheme):
    """A ball in a bowl: the gap bends by (h v)²/2 over a step; explicit steps add the way of two."""
    b = ModelBuilder("bowl")
    (x, vx), (z, vz) = b.coordinate("x", start=0.5), b.coordinate("z", start=-0.5)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(G * z)
    b.gap("bowl", 1 - ca.sqrt(x**2 + z**2))
    verdict = named(simulate(b.build(), Complementarity(step=step, scheme=scheme), until=1.0))["penetration"]
    assert verdict.ok
    assert verdict.number > 0
    if scheme == "semi-implicit":
        assert verdict.limit < 40 * step**2


# Scenes


def drop(sample=None, **law):
    scene = Scene("drop", friction=0.5)
    scene.fixed("table", HalfSpace())
    scene.body("brick", Box(0.2, 0.1, 0.06), density=1800, at=(0, 0, 0.1), turn=(0.3, 0.2, 0.0))
    scene.body("ball", Sphere(0.04), mass=0.3, at=(0, 0, 0.35), velocity=(0.1, 0, 0))
    return simulate(scene, Complementarity(step=1e-3, **law), until=1.0, sample=sample)


@pytest.mark.parametrize("law", [{}, {"restitution": 0.6}, {"tolerance": 1e-3}], ids=str)
def test_a_scene_is_judged_too(law):
    result = drop(**law)
    assert set(named(result)) == {
        "penetration",
        "work of impacts",
        "Coulomb's limit",
        "power of friction",
        "contact laws",
    }
    assert result.certificate.ok, result
    assert "verdicts: all 5 hold" in str(result)
    assert result.certificate.constraint_drift is None
    assert "no constraints" in str(result.certificate)


def test_the_drift_of_a_robot_in_a_scene_is_measured_and_what_is_not_is_not_printed_as_zero():
    """Constraints are linear over a time step: they are off by as much as they bend within it, which is O(h²)."""
    drifts = {}
    for step in (2e-3, 1e-3):
        scene = Scene("alone")
        scene.robot(rod())
        result = simulate(scene, Complementarity(step=step), until=0.2)
        drifts[step] = result.certificate.constraint_drift
        assert named(result)["constraint drift"].ok
        assert result.certificate.energy.dissipated is None
        assert "not measured          dissipated, time, constraints" in str(result.certificate)
        assert result.certificate.to_dict()["energy"]["dissipated"] is None
    assert 0 < drifts[1e-3] < drifts[2e-3]
    assert drifts[2e-3] / drifts[1e-3] == pytest.approx(4.0, rel=0.3)


def test_evaluations_of_a_scene_are_the_steps_that_were_computed():
    scene = Scene("rest", friction=0.5)
    scene.fixed("table", HalfSpace())
    scene.body("box", Box(0.1, 0.1, 0.1), density=1000, at=(0, 0, 0.05))
    certificate = simulate(scene, Complementarity(step=1e-3), until=5.0).certificate
    assert certificate.steps == 5000
    assert certificate.evaluations < 100  # a step that changes nothing is not computed again


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_events_of_a_scene_and_their_impulses_do_not_depend_on_what_is_recorded(e):
    def told(sample):
        result = drop(restitution=e, sample=sample)
        events = [(event.time, event.contact, event.before, event.after, event.impulse) for event in result.events]
        return events, {name: signal[-1] for name, signal in result.signals.items()}, named(result)

    every = told(None)
    assert len(every[0]) >= 2
    for sample in (1.0, 0.01, 0.00137):
        assert told(sample) == every


def test_the_impulses_of_a_ball_that_bounces_are_its_change_of_momentum():
    """Up to each liftoff, m (v + g t) = Σ p: exact in time steps, step by step."""
    scene = Scene("bounces")
    scene.fixed("table", HalfSpace())
    scene.body("ball", Sphere(0.05), mass=0.7, at=(0, 0, 0.3))
    result = simulate(scene, Complementarity(step=1e-3, restitution=0.6), until=1.0, sample=1e-3)
    lifts = [event for event in result.events if event.after == "Free"]
    assert len(lifts) >= 3
    for k, event in enumerate(lifts, 1):
        row = event.row + 1
        assert result.t[row] == pytest.approx(event.time, abs=1e-12)
        momentum = 0.7 * (result["ball_z_dot"][row] + G * event.time)
        assert sum(one.impulse for one in lifts[:k]) == pytest.approx(momentum, rel=1e-9)
    assert result.liftoffs("ball_table") == [event.time for event in lifts]


def test_a_pair_of_parts_is_closed_in_the_rows_in_which_it_pushes():
    result = drop()
    closed = result.is_closed("brick_table")
    (touchdown,) = result.touchdowns("brick_table")
    assert not closed[result.t < touchdown - 1e-9].any()
    assert closed[result.t > touchdown].all()
    assert (result.mode("brick_table", 0), result.mode("brick_table")) == ("Free", "Contact")
    assert "mode" in [axis.get_ylabel() for axis in result.plot().axes]


@pytest.mark.parametrize("law", [Impact(0.5), Impact(0.0)], ids=str)
def test_a_gap_that_jumps_below_zero_and_pushes_nobody_breaks_a_promise(law):
    # Its derivative is zero nearly everywhere: no force along it stops the ball, which falls through the steps.
    b = ModelBuilder("stairs")
    z, vz = b.coordinate("z", start=1.0)
    b.kinetic(vz**2 / 2)
    b.potential(9.81 * z)
    b.gap("floor", ca.floor(10 * z))
    with pytest.warns(ImpingeWarning, match="gap while open"):
        result = simulate(b.build(), law, until=1.0)
    assert not named(result)["gap while open"].ok
    assert named(result)["gap while open"].number == pytest.approx(40.0, abs=1.0)


def test_a_rigid_contact_that_can_neither_hold_its_slip_nor_part_says_what_to_do():
    # The tip of a rod that turns about it: held it would have to pull, free it would fall.
    b = ModelBuilder("rod")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z", start=math.sin(1) / 2)
    angle, spin = b.coordinate("angle", start=1.0)
    b.kinetic((vx**2 + vz**2) / 2 + spin**2 / 24)
    b.potential(9.81 * z)
    b.gap("tip", z - ca.sin(angle) / 2, slip=x - ca.cos(angle) / 2)
    start = {"angle_dot": 4.5, "z_dot": 2.25 * math.cos(1), "x_dot": -2.25 * math.sin(1)}
    with pytest.warns(ImpingeWarning, match="slips of tip are held whatever it takes.*give them a coefficient of fric"):
        result = simulate(b.build(), Impact(0.0), until=0.05, start=start)
    assert not result.ok
