"""One ball over a floor as a model, as a body of a scene and as a robot in one: every law and analysis, alike."""

from __future__ import annotations

from math import sqrt

import casadi as ca
import numpy as np
import pytest

from impinge import (
    Adaptive,
    Baumgarte,
    Complementarity,
    ExponentialHuntCrossley,
    HalfSpace,
    HuntCrossley,
    Impact,
    KelvinVoigt,
    ModelBuilder,
    Scene,
    Sphere,
    equilibrium,
    linearize,
    periodic_orbit,
    robots,
    sensitivity,
    simulate,
)

G, R = 9.81, 0.1
EXACT = Adaptive(rtol=1e-12, atol=1e-14)
EVENTS = [Impact(0.0), Impact(0.6), Baumgarte(), KelvinVoigt(), HuntCrossley(), ExponentialHuntCrossley()]
STEPS = [Complementarity(step=1e-3), Complementarity(0.6, step=1e-4)]


def as_model():
    return robots.ball(height=0.5)


def as_body():
    scene = Scene("cell", friction=0.0)
    scene.fixed("floor", HalfSpace())
    scene.body("ball", Sphere(R), mass=1.0, at=(0, 0, 0.5 + R))
    return scene


def as_robot():
    scene = Scene("cell", friction=0.0)
    scene.fixed("floor", HalfSpace())
    scene.robot(robots.ball(height=0.5 + R).without_gaps(), {"ball": Sphere(R)})
    return scene


# What is simulated; its height and speed, where its height is zero, and its contact.
SYSTEMS = {
    "model": (as_model, "q", "q_dot", 0.0, "floor"),
    "scene of bodies": (as_body, "ball_z", "ball_z_dot", R, "ball_floor"),
    "scene with a robot": (as_robot, "q", "q_dot", R, "ball_floor"),
}


class Damp:
    """A sampled controller that only looks: it keeps what it is given."""

    period = 0.05

    def __init__(self, name):
        self.name, self.seen = name, []

    def reset(self, measurement):
        self.seen = []

    def step(self, t, measurement):
        self.seen.append(getattr(measurement, self.name))
        return {}


def fallen(system, law):
    """Return the height of one of the systems over its surface, and its speed, at many instants of a run."""
    make, z, rate, low, _ = SYSTEMS[system]
    result = simulate(make(), law, until=1.0, sample=0.05, **({} if law in STEPS else {"method": EXACT}))
    assert result.ok, result.reason
    assert result.certificate.ok, str(result)
    at = [np.flatnonzero(np.abs(result.t - t) <= 1e-9)[-1] for t in np.arange(0.05, 1.0, 0.05)]
    return result[z][at] - low, result[rate][at]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("law", [*EVENTS, *STEPS], ids=str)
def test_it_falls_and_bounces_alike_under_every_law(system, law):
    expected, found = fallen("model", law), fallen(system, law)
    scale = 1e-8 if law in EVENTS else 20 * law.step  # steps of scenes and models differ by the order of the step
    for one, other in zip(expected, found, strict=True):
        resting = np.abs(one - other) <= scale * (1 + np.abs(one))
        assert resting.mean() >= (1.0 if law in EVENTS else 0.8)


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_rests_where_its_load_is_carried_and_has_the_poles_of_its_contact(system):
    make, z, _, low, contact = SYSTEMS[system]
    law = KelvinVoigt(stiffness=1e4, damping=20.0)
    near = {z: low}
    rest = equilibrium(make(), [contact], law=law, near=near)
    assert rest.forces[f"force_{contact}"] == pytest.approx(G, rel=1e-9)
    assert rest.pose[z] - low == pytest.approx(-G / 1e4, rel=1e-8)
    poles = linearize(make(), rest, [contact], law=law).poles()
    expected = -10.0 + 1j * sqrt(1e4 - 100.0)
    assert min(abs(poles - expected)) <= 1e-7 * abs(expected)
    closed = linearize(make(), equilibrium(make(), [contact], near=near), [contact])
    assert all(abs(closed.poles()) <= 1e-6)  # what is held by a rigid contact has no motion of its own but along it


@pytest.mark.parametrize("system", SYSTEMS)
def test_its_derivatives_go_through_the_impact(system):
    """z(T) = e v (T − t₁) − g (T − t₁)²/2 with v = g t₁ and t₁ = √(2 h/g), by the height h it falls from."""
    make, z, rate, _, _ = SYSTEMS[system]
    one = sensitivity(make(), Impact(0.6), until=0.5, by=[z], method=EXACT)
    t, T, e, h = sqrt(2 * 0.5 / G), 0.5, 0.6, 0.5
    slope = t / (2 * h)  # of t₁ by h
    expected = {z: (e * G * (T - 2 * t) + G * (T - t)) * slope, rate: (1 + e) * G * slope}
    for name, value in expected.items():
        found = one.matrix[one.states.index(name), one.by.index(z)]
        assert found == pytest.approx(value, rel=1e-7)


def shaken(system):
    """Return one of the systems over a floor that moves up and down, by 10 mm in 0.2 s."""

    def height(t):
        return 0.01 * ca.sin(2 * np.pi / 0.2 * t)

    if system == "model":
        b = ModelBuilder("ball")
        q, v = b.coordinate("q", start=0.2)
        b.kinetic(v**2 / 2)
        b.potential(G * q)
        b.gap("floor", q - height(b.time))
        return b.build()
    scene = Scene("cell", friction=0.0)
    scene.moving("floor", lambda t: (0, 0, height(t)), HalfSpace())
    if system == "scene of bodies":
        scene.body("ball", Sphere(R), mass=1.0, at=(0, 0, 0.2 + R))
    else:
        scene.robot(robots.ball().without_gaps(), {"ball": Sphere(R)})
    return scene


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_bounces_periodically_on_a_floor_that_shakes(system):
    """It leaves at g T/2, and arrives as fast: the floor's speed then is g T/2 (1 − e)/(1 + e), at its phase φ."""
    _, z, rate, low, _ = SYSTEMS[system]
    T, e, a = 0.2, 0.6, 0.01
    phase = np.arccos(G * T / 2 * (1 - e) / (1 + e) / (a * 2 * np.pi / T))
    since = T - phase * T / (2 * np.pi)
    start = a * np.sin(phase) + G * T / 2 * since - G * since**2 / 2, G * T / 2 - G * since
    near = {z: start[0] + low + 1e-3, rate: start[1] + 1e-2}
    orbit = periodic_orbit(shaken(system), Impact(e), period=T, near=near)
    assert orbit.start[z] - low == pytest.approx(start[0], abs=1e-9)
    assert orbit.start[rate] == pytest.approx(start[1], abs=1e-9)
    assert np.prod(sorted(abs(orbit.multipliers))[:2]) == pytest.approx(e**2, rel=1e-6)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("law", [Impact(0.6), Complementarity(0.6, step=1e-3)], ids=str)
def test_a_sampled_controller_sees_it_at_its_ticks(system, law):
    make, z, _, low, _ = SYSTEMS[system]
    eye = Damp(z)
    result = simulate(make(), law, until=0.3, controller=eye)
    assert result.ok, result.reason
    expected = 0.5 - G * (0.05 * np.arange(len(eye.seen))) ** 2 / 2
    assert len(eye.seen) in (6, 7)
    np.testing.assert_allclose(np.array(eye.seen[:6]) - low, expected[:6], atol=1e-9 if law in EVENTS else 5e-3)
