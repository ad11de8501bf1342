"""What a time step does with an impact that falls anywhere inside it."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from impinge import Box, Complementarity, HalfSpace, Impact, ModelBuilder, Scene, Sphere, simulate

G = 9.81
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
PLACES = (0.02, 0.2, 0.4, 0.6, 0.8, 0.98)  # of an impact within the step in which it falls


def order(errors):
    """The slope of log error over log step, by least squares."""
    return np.polyfit(np.log(STEPS), np.log(errors), 1)[0]


def lengths(step, instant):
    """Steps of about this length, in which an instant falls at each of the places."""
    return [instant / (np.floor(instant / step) + place) for place in PLACES]


# Models


@functools.cache
def rod():
    """A slender rod whose lower end meets the floor."""
    b = ModelBuilder("rod")
    (x, vx), (z, vz), (th, w) = b.coordinate("x"), b.coordinate("z", start=0.5), b.coordinate("th", start=0.8)
    b.kinetic((vx**2 + vz**2) / 2 + w**2 / 24)
    b.potential(G * z)
    b.gap("tip", z - 0.5 * ca.sin(th), slip=x + 0.5 * ca.cos(th), friction=b.parameter("mu", 0.5))
    return b.build()


def rod_errors(seed):
    """How far a stepped rod is from the one whose impact is located, for every step; the worst of all places."""
    rng = np.random.default_rng(seed)
    th = rng.uniform(0.2, 1.4)
    start = {"th": th, "z": 0.5 * np.sin(th) + 0.003, "x_dot": 2 * rng.normal(), "z_dot": -1.0, "th_dot": rng.normal()}
    run = {"until": 6e-3, "sample": 6e-3, "start": start, "parameters": {"mu": float(rng.choice([0.1, 0.3, 0.6, 1.0]))}}
    located = simulate(rod(), Impact(0.0), **run)
    if not located.events or located.events[0].time > 5e-3:  # too late to see what follows
        return None

    def error(h):
        stepped = simulate(rod(), Complementarity(step=h), **run)
        return max(abs(stepped[name][-1] - located[name][-1]) for name in ("x", "z", "th", "x_dot", "z_dot", "th_dot"))

    return [max(error(h) for h in lengths(step, located.events[0].time)) for step in STEPS]


def check_rods(seeds):
    errors = np.array([found for found in map(rod_errors, seeds) if found is not None])
    assert len(errors) > 0.7 * len(seeds)
    assert (errors <= 60 * np.array(STEPS)).all()
    assert order(errors.max(axis=0)) == pytest.approx(1.0, abs=0.05)


def test_a_frictional_impact_in_steps_converges_to_the_located_one_wherever_in_the_step_it_falls():
    check_rods(range(8))


@pytest.mark.slow
def test_very_many_frictional_impacts_do():
    check_rods(range(100, 300))


def test_an_impact_with_friction_is_over_after_one_step():
    result = simulate(rod(), Complementarity(step=1e-3), until=0.1, start={"z": 0.5 * np.sin(0.8) + 0.01, "x_dot": 1.0})
    landed = int(np.argmax(result["force_tip"] > 0))
    rate = result["z_dot"] - 0.5 * np.cos(result["th"]) * result["th_dot"]
    assert rate[landed - 1] < -0.3
    assert abs(rate[landed]) < 5e-3
    assert result["force_tip"][landed] > 20 * result["force_tip"][landed + 1]


# Scenes: friction is in a true circle there, so the reference is Coulomb's law for one contact.

HALF = np.array([0.05, 0.03, 0.02])
INERTIA = np.diag([HALF[1] ** 2 + HALF[2] ** 2, HALF[0] ** 2 + HALF[2] ** 2, HALF[0] ** 2 + HALF[1] ** 2]) / 3
CORNERS = HALF * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
RATES = ("b_x_dot", "b_y_dot", "b_z_dot", "b_wx", "b_wy", "b_wz")


def struck_box(axes, v, w, mu):
    """The velocities of a box of 1 kg after its lowest corner has met the floor without restitution."""
    arm = axes @ CORNERS[np.argmin((CORNERS @ axes.T)[:, 2])]
    cross = np.cross(np.eye(3), arm)
    W = np.eye(3) + cross.T @ axes @ np.linalg.inv(INERTIA) @ axes.T @ cross
    u = v + np.cross(axes @ w, arm)

    def sliding(angle):
        d = np.array([mu * np.cos(angle), mu * np.sin(angle), 1.0])
        return -u[2] / (W[2] @ d) * d

    def across(angle):
        after = u + W @ sliding(angle)
        return after[0] * np.sin(angle) - after[1] * np.cos(angle)

    p = -np.linalg.solve(W, u)
    if np.hypot(p[0], p[1]) > mu * p[2]:
        angles = np.linspace(0, 2 * np.pi, 721)
        turns = [k for k in range(720) if across(angles[k]) * across(angles[k + 1]) < 0]
        roots = [brentq(across, angles[k], angles[k + 1], xtol=1e-14) for k in turns]
        against = [a for a in roots if (u + W @ sliding(a)) @ [np.cos(a), np.sin(a), 0] < 0 < sliding(a)[2]]
        p = sliding(against[0])
    return np.r_[v + p, w + np.linalg.inv(INERTIA) @ axes.T @ np.cross(arm, p)]


def box_errors(seed):
    """How far a stepped box is from Coulomb's law as the step of its impact ends, for every step; of all places."""
    rng = np.random.default_rng(seed)
    turn, mu = Rotation.random(random_state=rng).as_matrix(), float(rng.choice([0.1, 0.3, 0.6]))
    scene = Scene("box", friction=mu)
    scene.fixed("floor", HalfSpace())
    z = 0.003 - (CORNERS @ turn.T)[:, 2].min()
    velocity, spin = (*(0.7 * rng.normal(size=2)), -1.0), tuple(3 * rng.normal(size=3))
    scene.body("b", Box(*(2 * HALF)), mass=1.0, at=(0, 0, z), turn=turn, velocity=velocity, spin=spin)
    located = simulate(scene, Impact(0.0), until=6e-3)
    instant, row = located.events[0].time, located.events[0].row
    if any(instant < event.time < instant + 1.2e-3 for event in located.events[1:]):
        return None  # another corner lands within the longest step
    before = np.array([located[name][row] for name in RATES])
    axes = Rotation.from_quat([located[f"b_q{c}"][row] for c in "xyzw"]).as_matrix()
    exact = struck_box(axes, before[:3], before[3:], mu)

    def error(h):
        until = h * np.ceil(instant / h)
        stepped = simulate(scene, Complementarity(step=h), until=until, sample=until)
        return np.abs(np.array([stepped[name][-1] for name in RATES]) - exact).max() / np.abs(exact).max()

    return [max(error(h) for h in lengths(step, instant)) for step in STEPS]


def check_boxes(seeds):
    errors = np.array([found for found in map(box_errors, seeds) if found is not None])
    assert len(errors) > 0.5 * len(seeds)
    assert (errors <= 400 * np.array(STEPS)).all()
    assert order(errors.max(axis=0)) == pytest.approx(1.0, abs=0.05)


def test_a_frictional_impact_of_a_body_in_steps_converges_to_coulombs_law_wherever_in_the_step_it_falls():
    check_boxes(range(6))


@pytest.mark.slow
def test_very_many_frictional_impacts_of_bodies_do():
    check_boxes(range(100, 160))


def incline(feet, m, slope):
    """A block of mass m on one or two feet that slides down a slope; its friction is a parameter."""
    b = ModelBuilder("incline")
    x, vx = b.coordinate("x")
    z, vz = b.coordinate("z")
    mu = b.parameter("mu", 1.0)
    b.kinetic(m * (vx**2 + vz**2) / 2)
    b.potential(m * G * (z * np.cos(slope) - x * np.sin(slope)))
    for k in range(feet):
        b.gap(f"foot{k}", z, slip=x, friction=mu)
    return b.build()


def test_what_friction_cannot_hold_by_a_millionth_slides_in_steps_and_event_by_event():
    rng = np.random.default_rng(5)
    for k in range(20):
        slope, m, missing = rng.uniform(0.05, 1.2), 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-6, -0.5)
        model, until = incline(1 + k % 2, m, slope), 0.05
        pull = G * np.sin(slope) * missing
        for law in (Complementarity(step=1e-3), Impact(0.0)):
            slides = simulate(model, law, until=until, parameters={"mu": np.tan(slope) * (1 - missing)})
            assert slides.certificate.ok
            assert slides["x_dot"][-1] == pytest.approx(pull * until, rel=1e-3)
            stands = simulate(model, law, until=until, parameters={"mu": np.tan(slope) * (1 + missing)})
            assert abs(stands["x_dot"]).max() <= 1e-12


# The same thing as a model and as a scene


def bouncing(step):
    """How far a ball that bounces is from itself when it is written as a scene, at the end."""
    b = ModelBuilder("ball")
    z, vz = b.coordinate("z", start=0.3)
    b.kinetic(vz**2 / 2)
    b.potential(G * z)
    b.gap("floor", z - 0.1)
    scene = Scene("ball")
    scene.fixed("floor", HalfSpace())
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0.0, 0.0, 0.3))
    model, whole = (simulate(one, Complementarity(0.5, step=step), until=0.35) for one in (b.build(), scene))
    return abs(model["z"][-1] - whole["ball_z"][-1])


def sliding(step):
    """How far a block that slides across both axes until it stops is from itself when it is written as a scene."""
    b = ModelBuilder("block")
    (x, vx), (y, vy), (z, vz) = b.coordinate("x"), b.coordinate("y"), b.coordinate("z", start=0.05)
    b.kinetic((vx**2 + vy**2 + vz**2) / 2)
    b.potential(G * z)
    b.gap("floor", z - 0.05, slip=[x, y], friction=0.3)
    scene = Scene("block", friction=0.3)
    scene.fixed("floor", HalfSpace())
    scene.body("block", Box(0.4, 0.4, 0.1), mass=1.0, at=(0.0, 0.0, 0.05), velocity=(0.8, 0.5, 0.0))
    model = simulate(b.build(), Complementarity(step=step), until=0.4, start={"x_dot": 0.8, "y_dot": 0.5})
    whole = simulate(scene, Complementarity(step=step), until=0.4)
    assert model["y"][-1] == pytest.approx(0.625 * model["x"][-1], rel=1e-9)
    return np.hypot(*(model[axis][-1] - whole[f"block_{axis}"][-1] for axis in "xy"))


@pytest.mark.parametrize("errors", [bouncing, sliding])
def test_a_model_and_a_scene_of_the_same_thing_come_together_with_the_step(errors):
    steps = (4e-3, 1e-3, 2.5e-4)
    found = [max(errors(step * part) for part in np.linspace(0.75, 1.0, 9)) for step in steps]
    assert found[0] < 4 * steps[0]
    assert np.polyfit(np.log(steps), np.log(found), 1)[0] > 0.9
