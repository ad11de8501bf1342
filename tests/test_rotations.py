"""Rotations as coordinates, and rows that bind velocities only: free bodies, ball joints, rolling."""

from __future__ import annotations

import functools
import pickle
from math import acos, cos, pi, sin, sqrt

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

from impinge import (
    Adaptive,
    Baumgarte,
    Complementarity,
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
    sensitivity,
    simulate,
)
from impinge.errors import ImpingeError

G, EXACT, FINEST = 9.81, Adaptive(rtol=1e-12, atol=1e-14), Adaptive(rtol=1e-13, atol=1e-15)
TENSOR = np.diag([2e-3, 3e-3, 4e-3])


def matrix_of(e):
    w, x, y, z = e
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def pose(result, name, row=-1):
    return matrix_of([result[f"{name}_q{x}"][row] for x in "wxyz"])


def spin(result, name, row=-1):
    return np.array([result[f"{name}_w{x}"][row] for x in "xyz"])


@functools.cache
def pendulum():
    """A rod on a ball joint: its center hangs below, at (0, 0, −length) in its own axes."""
    b = ModelBuilder("pendulum")
    R, w = b.rotation("rod")
    m, length = b.parameter("m", 0.7), b.parameter("length", 0.3)
    drag = b.parameter("drag", 0.0)
    at = R @ ca.vertcat(0, 0, -length)
    v = R @ ca.cross(w, ca.vertcat(0, 0, -length))
    b.kinetic(m * ca.sumsqr(v) / 2 + w.T @ ca.DM(TENSOR) @ w / 2)
    b.potential(m * G * at[2])
    for k in range(3):
        b.damping(drag * v[k], along=at[k])
    return b.build()


def rolling_ball(floor=None, friction=0.3, radius=0.1, **names):
    """A ball in space above a surface z = floor(x, y), a level floor by default, that it rolls or slides on."""
    b = ModelBuilder("ball")
    pairs = [b.coordinate(f"ball_{name}", start=names.get(name, 0.0)) for name in "xyz"]
    x, v = (ca.vertcat(*column) for column in zip(*pairs, strict=True))
    R, w = b.rotation("ball")
    m, inertia = 2.0, 0.4 * 2.0 * radius**2
    b.kinetic(m * ca.sumsqr(v) / 2 + inertia * ca.sumsqr(w) / 2)
    b.potential(m * G * x[2])
    if floor is None:
        gap, n, across = x[2] - radius, ca.DM([0, 0, 1]), (ca.DM([1, 0, 0]), ca.DM([0, 1, 0]))
    else:
        gap, n, across = floor(x, radius)
    slide = v + ca.cross(R @ w, -radius * n)
    b.gap("floor", gap, slip_rate=[ca.dot(slide, d) for d in across], friction=friction)
    return b.build()


def bowl(x, radius, size=0.5):
    """The inside of a sphere around the origin: gap, normal, and two tangents that are continuous near its bottom."""
    distance = ca.norm_2(x)
    n = -x / distance
    one = ca.cross(n, ca.DM([0, -1, 0]))
    one = one / ca.norm_2(one)
    return size - radius - distance, n, (one, ca.cross(n, one))


def test_a_free_rotation_keeps_energy_angular_momentum_and_length():
    b = ModelBuilder("body")
    _, w = b.rotation("body", start=(0.9, 0.1, 0.2, 0.3), spin=(1.0, 2.0, 5.0))
    b.kinetic(w.T @ ca.DM(TENSOR) @ w / 2)
    result = simulate(b.build(), until=20.0, method=EXACT)
    momenta = [pose(result, "body", k) @ TENSOR @ spin(result, "body", k) for k in (0, -1)]
    assert np.allclose(*momenta, rtol=0, atol=1e-11 * np.linalg.norm(momenta[0]))
    assert abs(result["energy_kinetic"] / result["energy_kinetic"][0] - 1).max() <= 1e-11
    length = np.linalg.norm([result[f"body_q{x}"] for x in "wxyz"], axis=0)
    assert abs(length - 1).max() <= 1e-15


def test_a_ball_joint_swings_as_spherical_angles_do():
    b = ModelBuilder("angles")
    theta, dt = b.coordinate("theta", start=0.8, unit="rad")
    dp = b.coordinate("phi", speed=2.0, unit="rad")[1]
    inertia = 0.7 * 0.3**2 + 3e-3
    b.kinetic(inertia * (dt**2 + ca.sin(theta) ** 2 * dp**2) / 2)
    b.potential(-0.7 * G * 0.3 * ca.cos(theta))
    angles = simulate(b.build(), until=3.0, method=EXACT)
    b = ModelBuilder("joint")
    R, w = b.rotation("rod", start=(cos(0.4), 0.0, -sin(0.4), 0.0), spin=(2 * sin(0.8), 0.0, 2 * cos(0.8)))
    b.kinetic(inertia * (w[0] ** 2 + w[1] ** 2) / 2 + 1e-4 * w[2] ** 2 / 2)
    b.potential(0.7 * G * (R @ ca.vertcat(0, 0, -0.3))[2])
    joint = simulate(b.build(), until=3.0, method=EXACT)
    # A spin about the rod changes its swing; without it the two are the same.
    assert abs(spin(joint, "rod", 0)[2] - spin(joint, "rod")[2]) <= 1e-12
    b2 = simulate(b.build(), until=3.0, method=EXACT, start={"rod_wz": 0.0})
    end = pose(b2, "rod") @ [0, 0, -1]
    assert abs(acos(-end[2]) - angles["theta"][-1]) <= 1e-9


def test_a_model_written_with_a_rotation_moves_as_the_body_of_a_scene():
    start = {"ball_z": 0.4, "ball_x_dot": 1.0, "ball_y_dot": -0.4, "ball_wx": 3.0, "ball_wy": -8.0, "ball_wz": 2.0}
    scene = Scene("scene", friction=0.3)
    scene.fixed("floor", HalfSpace())
    scene.body("ball", Sphere(0.1), mass=2.0, at=(0, 0, 0.4))
    for law in (Impact(0.5), Baumgarte(a0=1e4, a1=200, a2=0), HuntCrossley(1e6, restitution=0.5)):
        one = simulate(rolling_ball(), law, until=1.5, start=start, method=EXACT)
        other = simulate(scene, law, until=1.5, start=start, method=EXACT)
        assert one.ok
        assert one.certificate.ok
        for name in ("ball_x", "ball_y", "ball_z", "ball_wx", "ball_wy", "ball_wz", "ball_qw", "ball_qx"):
            assert abs(one[name][-1] - other[name][-1]) <= 1e-8, (law, name)


def test_a_sliding_ball_rolls_from_the_time_that_friction_takes():
    result = simulate(rolling_ball(friction=0.2), Impact(), until=1.0, start={"ball_z": 0.1, "ball_x_dot": 2.0})
    rolls = result.times("floor", after="Contact")[-1]
    assert abs(rolls - 2 * 2.0 / (7 * 0.2 * G)) <= 1e-8
    assert abs(result["ball_x_dot"][-1] - 2.0 * 5 / 7) <= 1e-9
    assert abs(result["slip_floor_1"][-1] - 2.0 * rolls / 2) <= 1e-8


def test_time_steps_of_a_rotation_converge_with_order_one():
    start = {"ball_z": 0.1, "ball_x_dot": 2.0, "ball_wz": 3.0}
    ends = []
    for h in (4e-3, 2e-3, 1e-3):
        result = simulate(rolling_ball(friction=0.2), Complementarity(step=h), until=1.0, start=start)
        assert abs(np.linalg.norm([result[f"ball_q{x}"][-1] for x in "wxyz"]) - 1) <= 1e-14
        ends.append(result["ball_x"][-1])
    exact = simulate(rolling_ball(friction=0.2), Impact(), until=1.0, start=start)["ball_x"][-1]
    errors = abs(np.array(ends) - exact)
    assert errors[-1] <= 2e-3
    assert errors[-1] <= 0.7 * errors[0]


def test_a_ball_that_rolls_in_a_bowl_has_the_poles_of_its_closed_form():
    model = rolling_ball(bowl, z=-0.4)
    linear = linearize(model, mode=["floor"])
    poles = sorted(linear.poles(), key=lambda s: (abs(s), s.imag))
    frequency = sqrt(5 * G / (7 * 0.4))
    assert len(poles) == 8  # five of the pose, three of the velocities
    assert np.allclose(np.abs(poles[-4:]), frequency, rtol=1e-7)
    assert abs(np.real(poles[-4:])).max() <= 1e-7
    assert abs(np.array(poles[:-4])).max() <= 1e-6


def disc(radius=0.2, mass=1.5):
    """An upright disc that rolls without sliding: heading, lean and roll of its plane are its angles."""
    b = ModelBuilder("disc")
    x, y = b.coordinate("x"), b.coordinate("y")
    yaw, lean, roll = (b.coordinate(name, unit="rad") for name in ("yaw", "lean", "roll"))
    C, A = mass * radius**2 / 2, mass * radius**2 / 4
    z = radius * ca.cos(lean[0])
    # The center, from the point that touches: up along the disc's plane. Axes: heading, across, and the plane's own.
    ahead = ca.vertcat(ca.cos(yaw[0]), ca.sin(yaw[0]), 0)
    left = ca.vertcat(-ca.sin(yaw[0]), ca.cos(yaw[0]), 0)
    up = ca.DM([0, 0, 1])
    inclined = ca.cos(lean[0]) * up - ca.sin(lean[0]) * left
    axle = ca.cos(lean[0]) * left + ca.sin(lean[0]) * up
    spin = yaw[1] * up + lean[1] * ahead + roll[1] * axle
    v = ca.vertcat(x[1], y[1], ca.jtimes(z, lean[0], lean[1]))
    along = [ca.dot(spin, d) for d in (ahead, axle, ca.cross(axle, ahead))]
    b.kinetic(mass * ca.sumsqr(v) / 2 + (A * along[0] ** 2 + C * along[1] ** 2 + A * along[2] ** 2) / 2)
    b.potential(mass * G * z)
    touching = v + ca.cross(spin, -radius * inclined)
    b.constraint("rolls_ahead", rate=ca.dot(touching, ahead))
    b.constraint("rolls_across", rate=ca.dot(touching, left))
    return b.build()


@pytest.mark.parametrize("share", [0.5, 0.9, 1.1, 2.0])
def test_an_upright_rolling_disc_has_eight_states_and_is_stable_from_its_critical_speed_on(share):
    radius, mass = 0.2, 1.5
    C, A = mass * radius**2 / 2, mass * radius**2 / 4
    rate = share * sqrt(A * mass * G * radius / (C * (C + mass * radius**2)))
    assert abs(rate - share * sqrt(G / (3 * radius))) <= 1e-12
    linear = linearize(disc(), {"roll_dot": rate, "x_dot": rate * radius})
    assert linear.nstates == 8
    square = (mass * G * radius - C * (C + mass * radius**2) * rate**2 / A) / (A + mass * radius**2)
    found = np.poly(linear.A)  # poles at zero come in chains: rounding splits them, but not their polynomial
    assert np.allclose(found, [1, 0, -square, 0, 0, 0, 0, 0, 0], rtol=0, atol=1e-7 * abs(square))
    largest = linear.poles()[np.argsort(-np.abs(linear.poles()))[:2]]
    assert np.allclose(largest**2, square, rtol=1e-7)
    assert (linear.poles().real.max() > 0.1) == (share < 1)


def test_a_disc_that_is_nudged_does_as_its_linear_model_says():
    rate = 2.0 * sqrt(G / 0.6)
    start = {"roll_dot": rate, "x_dot": 0.2 * rate, "lean": 1e-5}
    result = simulate(disc(), until=2.0, start=start, method=EXACT)
    mass, radius = 1.5, 0.2
    C, A = mass * radius**2 / 2, mass * radius**2 / 4
    frequency = sqrt((C * (C + mass * radius**2) * rate**2 / A - mass * G * radius) / (A + mass * radius**2))
    push = mass * G * radius / (mass * G * radius - C * (C + mass * radius**2) * rate**2 / A)
    # (A + mr²) lean'' = mgr lean − (C + mr²)Ω yaw', A yaw' = CΩ (lean − lean(0))
    middle = 1e-5 * (1 - push)
    expected = middle + (1e-5 - middle) * np.cos(frequency * result.t)
    assert abs(result["lean"] - expected).max() <= 1e-9


def test_a_rod_on_a_ball_joint_hangs_at_rest_and_swings_at_its_frequency():
    turned = {"rod_qw": cos(0.3), "rod_qx": sin(0.3) * 0.6, "rod_qy": sin(0.3) * 0.8}
    rest = equilibrium(pendulum(), near=turned)
    at = matrix_of([rest.pose[f"rod_q{x}"] for x in "wxyz"]) @ [0, 0, -1]
    assert np.allclose(at, [0, 0, -1], atol=1e-10)
    linear = linearize(pendulum(), rest)
    assert linear.state_labels[:3] == ["rod_turn_x", "rod_turn_y", "rod_turn_z"]
    found = sorted(abs(linear.poles().imag))
    inertia = 0.7 * 0.3**2 + np.diag(TENSOR)[:2]
    expected = np.sqrt(0.7 * G * 0.3 / inertia)
    assert np.allclose(found[2:], np.repeat(sorted(expected), 2), rtol=1e-9)


def test_a_ball_on_bristles_moves_as_its_linear_model_says():
    law = KelvinVoigt(stiffness=1e5, damping=50.0)
    model = rolling_ball(friction=0.5, z=0.1)
    rest = equilibrium(model, ["floor"], law=law)
    linear = linearize(model, rest, ["floor"], law=law)
    start = {"ball_z": rest.pose["ball_z"], "ball_x_dot": 1e-5, "ball_wz": 2e-5}
    result = simulate(model, law, until=0.02, start=start, method=Adaptive(rtol=1e-12, atol=1e-15), sample=1e-3)
    x0 = np.zeros(linear.nstates)
    x0[linear.state_labels.index("ball_x_dot")], x0[linear.state_labels.index("ball_wz")] = 1e-5, 2e-5
    for name in ("ball_x_dot", "ball_wy", "ball_wz", "ball_x"):
        k = linear.state_labels.index(name)
        expected = [(expm(linear.A * t) @ x0)[k] for t in result.t]
        assert np.allclose(result[name], expected, rtol=0, atol=1e-5 * np.abs(expected).max()), name


@pytest.mark.parametrize("law", [Impact(0.6), HuntCrossley(1e5, restitution=0.6), KelvinVoigt(1e5, 30.0)], ids=str)
def test_derivatives_through_contacts_of_a_rotation_are_finite_differences(law):
    model, base = rolling_ball(friction=0.2), {"ball_z": 0.15, "ball_x_dot": 1.0, "ball_wy": -4.0, "ball_wz": 3.0}
    base |= {"ball_qw": 0.8, "ball_qx": 0.6}
    by = ["ball_z", "ball_x_dot", "ball_wy", "ball_turn_y"]
    until = 0.25 if isinstance(law, Impact) else 0.6  # before its bounces accumulate
    exact = sensitivity(model, law, until=until, by=by, start=base, method=EXACT)
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    q0, v0 = model.start_vectors(base)
    n, step = len(q0), 1e-5

    def end(way):
        x = np.concatenate([model.displaced(q0, way[: v0.size]), v0 + way[v0.size :]])
        result = simulate(model, law, until=until, start=dict(zip(names, x, strict=True)), method=FINEST)
        return np.array([result[name][-1] for name in names])

    for k, name in enumerate(by):
        way = step * np.eye(2 * v0.size)[exact.states.index(name)]
        high, low = end(way), end(-way)
        found = np.concatenate([model.way_between(low[:n], high[:n]), high[n:] - low[n:]]) / (2 * step)
        assert np.allclose(found, exact.matrix[:, k], rtol=1e-5, atol=2e-6), name


def test_a_rotor_returns_after_a_turn_with_the_multipliers_of_its_damping():
    b = ModelBuilder("rotor")
    _, w = b.rotation("rotor", spin=(0, 0, 4 * pi))
    b.kinetic((2 * w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) / 2)
    for k in range(3):
        b.damping(0.5 * w[k], rate=w[k])
    b.force(2 * pi, rate=w[2])
    model = b.build()
    orbit = periodic_orbit(model, guess_period=0.45, near={"rotor_wz": 12.0})
    assert abs(orbit.period - 0.5) <= 1e-9
    assert abs(orbit.start["rotor_wz"] - 4 * pi) <= 1e-7
    # Its speed returns as exp(−ct/I); wobbles die out as fast as their damping says; where it points stays.
    sizes = sorted(abs(orbit.multipliers))
    assert np.allclose(sizes[:3], [np.exp(-0.5 * 0.5 / 2)] * 2 + [np.exp(-0.5 * 0.5 / 3)], rtol=1e-7)
    assert np.allclose(sizes[3:], 1.0, rtol=1e-7)


def test_a_model_with_rotations_survives_pickling():
    model = pickle.loads(pickle.dumps(rolling_ball()))
    start = {"ball_z": 0.2, "ball_x_dot": 1.0}
    one, other = (simulate(m, Impact(0.5), until=0.5, start=start) for m in (model, rolling_ball()))
    assert all((one[name] == other[name]).all() for name in one.signals)


def test_a_robot_with_a_ball_joint_swings_in_a_scene_as_alone():
    b = ModelBuilder("arm")
    R, w = b.rotation("arm", start=(cos(0.3), sin(0.3), 0, 0))
    b.kinetic((0.05 * w[0] ** 2 + 0.05 * w[1] ** 2 + 0.01 * w[2] ** 2) / 2)
    tip = R @ ca.vertcat(0, 0, -0.4)
    b.potential(G * tip[2] / 2)
    b.link("bar", tip, R)
    model = b.build()
    ends = []
    for h in (2e-3, 1e-3):
        scene = Scene("swing")
        scene.robot(model, {"bar": Sphere(0.02)})
        result = simulate(scene, Complementarity(step=h), until=1.0)
        ends.append(pose(result, "arm"))
    exact = pose(simulate(model, until=1.0, method=EXACT), "arm")
    errors = [np.abs(one - exact).max() for one in ends]
    assert errors[1] <= 0.6 * errors[0]
    assert errors[1] <= 2e-2


def test_quaternions_that_are_none_and_rates_that_are_not_linear_are_refused():
    with pytest.raises(ImpingeError, match="a start quaternion"):
        ModelBuilder("bad").rotation("body", start=(0, 0, 0, 0))
    with pytest.raises(ImpingeError, match=r"a quaternion \(ball_qw, ball_qx, ball_qy, ball_qz\) of length one"):
        simulate(rolling_ball(), Impact(), until=1.0, start={"ball_qw": 0.0})
    b = ModelBuilder("bad")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    with pytest.raises(ImpingeError, match="Give one of the two"):
        b.constraint("both", x, rate=v)
    with pytest.raises(ImpingeError, match="slips of gap 'floor' by slip or by slip_rate"):
        b.gap("floor", x, slip=x, slip_rate=v)
    b.constraint("square", rate=v**2)
    with pytest.raises(ImpingeError, match="linear in the velocities"):
        b.build()


def test_a_linear_model_about_a_motion_refuses_springs_of_slips_without_a_value():
    law = KelvinVoigt(stiffness=1e5, damping=50.0)
    with pytest.raises(ImpingeError, match="a point at rest, where springs hold the slips"):
        linearize(rolling_ball(friction=0.5), {"ball_z": 0.1 - 2 * G / 1e5, "ball_wz": 1.0}, ["floor"], law=law)
