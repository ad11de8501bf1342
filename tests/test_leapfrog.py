"""Bodies in time steps move with second order in the step while contacts neither strike nor cease."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from impinge import Box, Complementarity, ConvexMesh, HalfSpace, Scene, simulate

G = 9.81


def order(steps, errors):
    """The slope of log error over log step, by least squares."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def turning(q, w):
    """The rate of a quaternion (x, y, z, w) of a body with an angular velocity in its own axes."""
    return 0.5 * np.r_[q[3] * w + np.cross(q[:3], w), -q[:3] @ w]


def attitude(result):
    return np.array([result[f"b_q{c}"][-1] for c in "xyzw"])


def rates(result):
    return np.array([result[f"b_w{c}"][-1] for c in "xyz"])


def apart(q, r):
    """How far two quaternions are apart; one and its opposite are the same rotation."""
    return min(np.abs(q - r).max(), np.abs(q + r).max())


def solved(rhs, until, start):
    times = np.linspace(0, until, 301)
    return solve_ivp(rhs, (0, until), start, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=times).y


# Free bodies


def check_flight(seed):
    rng = np.random.default_rng(seed)
    shape, velocity = Box(*rng.uniform(0.05, 0.3, size=3)), rng.normal(size=3)
    spin, until = rng.normal(size=3) * rng.uniform(1, 5), 1.0
    scene = Scene("flight")
    scene.body("b", shape, mass=1.0, velocity=tuple(velocity), spin=tuple(spin))
    inertia = shape.inertia / shape.volume

    def rhs(t, y):
        q, w = y[:4], y[4:]
        return np.r_[turning(q, w), np.linalg.solve(inertia, -np.cross(w, inertia @ w))]

    exact = solved(rhs, until, [0, 0, 0, 1, *spin])[:, -1]
    steps, errors = (8e-3, 4e-3, 2e-3, 1e-3), []
    for step in steps:
        result = simulate(scene, Complementarity(step=step), until=until)
        errors.append([apart(attitude(result), exact[:4]), np.abs(rates(result) - exact[4:]).max()])
        fall = np.array([0, 0, -G])
        assert [result[f"b_{c}"][-1] for c in "xyz"] == pytest.approx(velocity * until + fall * until**2 / 2, abs=1e-12)
        assert [result[f"b_{c}_dot"][-1] for c in "xyz"] == pytest.approx(velocity + fall * until, abs=1e-12)
    for error in np.array(errors).T:
        assert order(steps, error) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_free_rotation_is_of_second_order_and_free_fall_exact(seed):
    check_flight(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_very_many_flights_are(seed):
    check_flight(seed)


# A top whose tip glides on a table without friction


def top_of(rng):
    """A cone of twelve sides that stands on its tip, with its inertia for 1 kg, and the slope of its sides."""
    radius, height = rng.uniform(0.03, 0.05), rng.uniform(0.04, 0.07)
    angle = 2 * np.pi * np.arange(12) / 12
    mesh = ConvexMesh.hull([(0, 0, 0), *((radius * np.cos(a), radius * np.sin(a), height) for a in angle)])
    return mesh, mesh.inertia / mesh.volume, height / radius


def check_top(seed):
    rng = np.random.default_rng(seed)
    mesh, inertia, slope = top_of(rng)
    lean, spin, until = rng.uniform(0.1, 0.4), float(rng.choice([-1, 1])) * rng.uniform(40, 60), 0.3
    tip, inverse = np.array([0, 0, -mesh.center[2]]), np.linalg.inv(inertia)

    def push_on(q, w):
        """What keeps the tip on the table, per kg, its lever, and the rate of the angular velocity without it."""
        up = Rotation.from_quat(q).as_matrix()[2]  # of the world, in the axes of the body
        lever, free = np.cross(tip, up), -inverse @ np.cross(w, inertia @ w)
        rise = -G + up @ (np.cross(free, tip) + np.cross(w, np.cross(w, tip)))
        return -rise / (1 + lever @ inverse @ lever), lever, free

    def rhs(t, y):
        push, lever, free = push_on(y[:4], y[4:])
        return np.r_[turning(y[:4], y[4:]), free + push * inverse @ lever]

    def stands(path):
        """Whether the table pushes all the time, the rim stays off it, and the tip turns as slowly as steps follow."""
        up = Rotation.from_quat(path[:4].T).as_matrix()[:, 2]
        axis, w = up[:, 2], path[4:].T
        pushes = min(push_on(y[:4], y[4:])[0] for y in path.T) > 0.1 * G
        bends = np.abs((up * np.cross(w, np.cross(w, tip))).sum(axis=1)).max() < 3.5 * G
        return pushes and bends and (axis * slope > 1.2 * np.sqrt(1 - axis**2)).all()

    start = Rotation.from_rotvec((lean, 0, 0)).as_quat()
    path = solved(rhs, until, [*start, 0, 0, spin])
    while not stands(path):
        spin *= 1.2
        path = solved(rhs, until, [*start, 0, 0, spin])
    exact = path[:, -1]
    scene = Scene("top", friction=0.0)
    scene.fixed("table", HalfSpace())
    scene.body("b", mesh, mass=1.0, turn=(lean, 0, 0), spin=(0, 0, spin))
    steps, errors = (1e-3, 5e-4, 2.5e-4, 1.25e-4), []
    for step in steps:
        result = simulate(scene, Complementarity(step=step), until=until)
        assert result.ok, result.reason
        errors.append([apart(attitude(result), exact[:4]), np.abs(rates(result) - exact[4:]).max()])
    for error in np.array(errors).T:
        assert order(steps[1:], error[1:]) == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_a_spinning_top_is_of_second_order(seed):
    check_top(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_very_many_tops_are(seed):
    check_top(seed)


# What steps are made of


def test_forces_of_the_first_step_are_those_of_every_other():
    """The first step begins with velocities of the instant: forces act for half of it, and are as large."""
    scene = Scene("rest", friction=0.5)
    scene.fixed("floor", HalfSpace())
    scene.body("b", Box(0.1, 0.1, 0.1), mass=2.0, at=(0, 0, 0.05))
    result = simulate(scene, Complementarity(), until=0.01, sample=1e-3)
    weight = result.contacts.force_on("b", result.t.size)[1:, 2]
    assert weight == pytest.approx(np.full(weight.size, 2 * G), rel=1e-9)


@pytest.mark.parametrize("mu", [0.2, 0.5])
def test_a_sliding_body_has_the_velocity_of_its_instant(mu):
    scene = Scene("slide", friction=mu)
    scene.fixed("floor", HalfSpace())
    scene.body("b", Box(0.2, 0.2, 0.05), mass=1.0, at=(0, 0, 0.025), velocity=(2, 0, 0))
    result = simulate(scene, Complementarity(step=2e-3), until=0.3, sample=2e-3)
    assert result["b_x_dot"] == pytest.approx(2 - mu * G * result.t, abs=1e-9)
    assert result["b_x"] == pytest.approx(2 * result.t - mu * G * result.t**2 / 2, abs=1e-6)


@pytest.mark.parametrize("spin", [1.0, 5.0])
def test_a_box_on_a_turning_table_stands_on_the_corners_of_its_lower_face(spin):
    """A table that turns is looked at far around; the upper corners of the box come no nearer by that."""
    scene = Scene("table", friction=0.8)
    scene.moving("table", lambda t: ((0, 0, 0), ((0, 0, 1), spin * t)), HalfSpace())
    start = {"at": (0.2, 0, 0.01), "velocity": (0, spin * 0.2, 0), "spin": (0, 0, spin)}
    scene.body("box", Box(0.02, 0.02, 0.02), mass=1.0, **start)
    result = simulate(scene, Complementarity(step=2e-4), until=0.5)
    assert np.abs(result["box_z"] - 0.01).max() < 1e-9
    assert max(np.abs(result[f"box_w{c}"]).max() for c in "xy") < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_bodies_that_collide_in_free_space_keep_their_momentum_in_every_row(seed):
    rng, masses = np.random.default_rng(seed), []
    scene = Scene("space", gravity=(0, 0, 0), friction=0.3)
    for k in range(4):
        away = rng.normal(size=3)
        away /= np.linalg.norm(away)
        masses.append(float(rng.uniform(0.5, 2.0)))
        scene.body(
            f"b{k}",
            Box(*rng.uniform(0.1, 0.2, 3).tolist()),
            mass=masses[k],
            at=tuple((away * (0.4 + 0.3 * k)).tolist()),
            velocity=tuple((-away * rng.uniform(0.5, 1.5)).tolist()),
            spin=tuple(rng.normal(size=3).tolist()),
        )
    result = simulate(scene, Complementarity(step=1e-3), until=0.8)
    momentum = sum(m * np.array([result[f"b{k}_{axis}_dot"] for axis in "xyz"]) for k, m in enumerate(masses))
    assert np.abs(momentum - momentum[:, :1]).max() <= 1e-12
