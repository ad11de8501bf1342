"""The delta robot against MuJoCo, SUNDIALS, closed forms, finite differences and an independent derivation."""

from __future__ import annotations

import functools
import itertools
import re

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from impinge import Adaptive, FixedStep, InputError, simulate
from impinge.bench import delta as bench
from impinge.bench.systems import delta as peer
from impinge.robots import DeltaKinematics, delta
from impinge.robots.delta.arm import PARAMETERS, TURNS

DEFAULTS = {x.name: x.value for x in PARAMETERS}
OTHER = {"l0": 0.24, "l1": 0.31, "l2": 0.72, "l3": 0.07, "m1": 0.9, "m2": 0.2, "m3": 1.1, "J_r": 8e-4}
GEOMETRIES = [{}, OTHER]
ACTIVE, PASSIVE = [0, 3, 6], [1, 2, 4, 5, 7, 8]
NAMES = [f"q{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
LOOPS = [f"residual_loop{k}" for k in range(1, 7)]
FORCES = [f"force_loop{k}" for k in range(1, 7)]
R = [np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]) for a in TURNS]
SINGULAR = float(np.arccos((DEFAULTS["l3"] - DEFAULTS["l0"]) / DEFAULTS["l1"]))
TIGHT = Adaptive(rtol=1e-12, atol=1e-12)

geometries = pytest.mark.parametrize("geometry", GEOMETRIES, ids=["published", "scaled"])


@functools.cache
def robot() -> DeltaKinematics:
    return DeltaKinematics()


@functools.cache
def model():
    return delta()


def size_of(geometry) -> float:
    """Return how much larger than the published robot it is."""
    return geometry.get("l2", DEFAULTS["l2"]) / DEFAULTS["l2"]


def positions(count, seed, geometry=None, side=0.12, low=0.3, high=0.5):
    """Return positions in the middle of the workspace, where the margin is above 0.1."""
    rng = np.random.default_rng(seed)
    return size_of(geometry or {}) * rng.uniform((-side, -side, low), (side, side, high), (count, 3))


def mixed(kinematics, z, inward):
    """Return joint angles at z, each arm outward or inward."""
    both = kinematics.inverse(z), kinematics.inverse(z, inward=True)
    return np.concatenate([both[int(turned)][3 * i : 3 * i + 3] for i, turned in enumerate(inward)])


def terms(q, v=None, **parameters):
    return model().terms(q, np.zeros(9) if v is None else v, parameters=parameters)


def accelerations(t, force):
    """Solve M a = force + Hᵀλ, H a = 0 for a and λ; force may have columns."""
    H = t["H"]
    system = np.block([[t["M"], -H.T], [H, np.zeros((6, 6))]])
    right = np.concatenate([force, np.zeros((6, *force.shape[1:]))])
    done = np.linalg.solve(system, right)
    return done[:9], done[9:]


class Spheres:
    """Forward kinematics in closed form: the flange is where three spheres about the elbows meet, on one of two sides.

    Everything is computed for many motor angles at once, rows of y.
    """

    def __init__(self, **geometry) -> None:
        p = DEFAULTS | geometry
        self.base, self.upper, self.lower = p["l0"] - p["l3"], p["l1"], p["l2"]

    def elbows(self, y):
        own = np.stack([0 * y, self.base + self.upper * np.cos(y), self.upper * np.sin(y)], axis=-1)
        return np.stack([own[:, i] @ R[i].T for i in range(3)], axis=1)

    def meet(self, y):
        """Return the point between the two solutions, the unit normal, and the squared distance to either."""
        elbows = self.elbows(np.atleast_2d(y))
        a, b = elbows[:, 1] - elbows[:, 0], elbows[:, 2] - elbows[:, 0]
        normal = np.cross(a, b)
        square = np.sum(normal**2, axis=1, keepdims=True)
        along = np.sum(a**2, axis=1, keepdims=True) * b - np.sum(b**2, axis=1, keepdims=True) * a
        center = np.cross(along, normal) / (2 * square)
        return elbows[:, 0] + center, normal / np.sqrt(square), self.lower**2 - np.sum(center**2, axis=1)

    def continued(self, q, y, steps=400):
        """Follow a pose along the straight line to y. Return z and q there, or None if there is no way."""
        start = q[ACTIVE]
        way = start + np.linspace(0, 1, steps + 1)[:, None] * (y - start)
        foot, normal, square = self.meet(way)
        if not square.min() > 0:
            return None
        first = self.elbows(way[:1])[0, 0] + self.lower * R[0] @ direction(q[:3])
        side = np.sign((first - foot[0]) @ normal[0])
        z = foot + side * np.sqrt(square)[:, None] * normal
        end = np.array(q)
        end[ACTIVE] = y
        for i in range(3):
            own = (z - self.elbows(way)[:, i]) @ R[i] / self.lower
            sign = np.sign(np.sin(q[3 * i + 1]))
            polar = np.unwrap(sign * np.arctan2(np.hypot(own[:, 0], own[:, 2]), own[:, 1]))
            turn = np.unwrap(np.arctan2(sign * own[:, 0], sign * own[:, 2]))
            end[3 * i + 1] += polar[-1] - polar[0]
            end[3 * i + 2] += turn[-1] - turn[0]
        return z[-1], end


def direction(arm):
    """Return the direction of a distal pair in its arm's frame."""
    _, polar, turn = arm
    return np.array([np.sin(polar) * np.sin(turn), np.cos(polar), np.sin(polar) * np.cos(turn)])


# --- the equations of motion -----------------------------------------------------------------------------------------


@functools.cache
def hinge_map():
    q, v = ca.SX.sym("q", 9), ca.SX.sym("v", 9)
    angles = peer.hinges(q)
    rate = ca.jtimes(angles, q, v)
    return ca.Function("hinges", [q, v], [angles, rate, ca.jacobian(angles, q), ca.jtimes(rate, q, v)])


def random_arm_states(count, seed):
    """Return states of unconstrained arms, away from where either pair of angles has a pole."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        arms = [rng.uniform(-3, 3, 3), rng.uniform(0.3, np.pi - 0.3, 3), rng.uniform(-1.2, 1.2, 3)]
        yield np.column_stack(arms).ravel(), rng.normal(0, 5, 9)


def test_inertia_and_bias_of_every_unconstrained_arm_equal_mujocos():
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(peer.mjcf("RK4", 1e-3))
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY
    data, column = mujoco.MjData(theirs), np.zeros(9)
    worst = {"M": 0.0, "b": 0.0}
    for q, v in random_arm_states(1000, 1):
        angles, rate, slope, turning = (np.array(x) for x in hinge_map()(q, v))
        data.qpos[:], data.qvel[:] = angles.ravel(), rate.ravel()
        mujoco.mj_forward(theirs, data)
        M = np.zeros((9, 9))
        for k, unit in enumerate(np.eye(9)):
            mujoco.mj_mulM(theirs, data, column, unit)
            M[k] = column
        # Hinge angles θ(q): T is the same, so M = θ'ᵀMθ', and the bias has what θ' turns.
        expected = {"M": slope.T @ M @ slope, "b": slope.T @ (data.qfrc_bias + M @ turning.ravel())}
        ours = terms(q, v)
        for name in worst:
            worst[name] = max(worst[name], np.abs(ours[name] - expected[name]).max() / np.abs(ours[name]).max())
    assert worst["M"] < 1e-9
    assert worst["b"] < 1e-9


@functools.cache
def derived():
    """Derive the DAE from point masses: a slender rod is a sixth of its mass at each end and the rest in the middle."""
    q, v, a, u, f = (ca.SX.sym(name, n) for name, n in (("q", 9), ("v", 9), ("a", 9), ("u", 3), ("f", 3)))
    force, p, turned = ca.SX.sym("force", 6), DEFAULTS, []
    kinetic, potential = 0, 0
    for i in range(3):
        motor, polar, turn = ca.vertsplit(q[3 * i : 3 * i + 3])
        base = ca.vertcat(0, p["l0"] - p["l3"], 0)
        elbow = base + p["l1"] * ca.vertcat(0, ca.cos(motor), ca.sin(motor))
        wrist = elbow + p["l2"] * ca.vertcat(ca.sin(polar) * ca.sin(turn), ca.cos(polar), ca.sin(polar) * ca.cos(turn))
        masses = [(p["m3"] / 3, wrist)]
        for mass, one, other in ((p["m1"], base, elbow), (p["m2"], elbow, wrist)):
            masses += [(mass / 6, one), (2 * mass / 3, (one + other) / 2), (mass / 6, other)]
        kinetic += p["J_r"] * v[3 * i] ** 2 / 2
        for mass, point in masses:
            speed = ca.jtimes(point, q, v)
            kinetic += mass * ca.dot(speed, speed) / 2
            potential -= mass * p["g"] * point[2]
        turned.append(ca.DM(R[i]) @ wrist)
    first, second, third = turned
    h = ca.vertcat(first - second, first - third)
    momentum = ca.gradient(kinetic, v)
    along = ca.jtimes(momentum, v, a) + ca.jtimes(momentum, q, v) - ca.gradient(kinetic - potential, q)
    flange = (first + second + third) / 3
    torque = ca.SX(9, 1)
    torque[ACTIVE] = u
    h_dot = ca.jtimes(h, q, v)
    h_ddot = ca.jtimes(h_dot, q, v) + ca.jtimes(h, q, a)
    motion = along - torque - ca.jtimes(flange, q, f, True) - ca.jtimes(h, q, force, True)
    loops = h_ddot + 40 * h_dot + 400 * h
    x, rate = ca.vertcat(q, v, force), ca.SX.sym("rate", 24)
    residual = ca.vertcat(rate[:9] - v, ca.substitute(motion, a, rate[9:18]), ca.substitute(loops, a, rate[9:18]))
    cj = ca.SX.sym("cj")
    slope = ca.densify(ca.jacobian(residual, x) + cj * ca.jacobian(residual, rate))
    inputs = [x, rate, u, f]
    return ca.Function("residual", inputs, [residual]), ca.Function("slope", [*inputs, cj], [slope])


def dae_solution(times, q, v, u, f):
    """Solve the 24 equations (3) with SUNDIALS."""
    ida = pytest.importorskip("sksundae.ida")
    residual, slope = derived()

    def fill(t, x, rate, out):
        out[:] = np.array(residual(x, rate, u, f)).ravel()

    def jacobian(t, x, rate, out, cj, full):
        full[:] = np.array(slope(x, rate, u, f, cj))

    t = terms(q, v)
    torque = np.zeros(9)
    torque[ACTIVE] = u
    pose = robot().follow(q)
    system = np.block([[t["M"], -t["H"].T], [t["H"], np.zeros((6, 6))]])
    start = np.linalg.solve(system, np.concatenate([torque + pose.J_v.T @ f - t["b"], -t["h_drift"]]))
    solver = ida.IDA(
        fill, jacfn=jacobian, algebraic_idx=list(range(18, 24)), rtol=1e-11, atol=1e-12, max_num_steps=200_000
    )
    done = solver.solve(times, np.concatenate([q, v, start[9:]]), np.concatenate([v, start[:9], np.zeros(6)]))
    assert done.success
    return done.y


SWINGS = [
    ((0.05, -0.04, 0.38), (0.0, 0.0, 0.0), (-0.4, -0.8, -0.6), (0.0, 0.0, 0.0)),
    ((-0.08, 0.02, 0.45), (1.0, -2.0, 0.5), (-0.9, -1.1, -0.7), (0.8, -0.5, -1.5)),
    ((0.0, 0.1, 0.35), (-3.0, 1.0, 2.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
]


def moving(z, y_dot):
    """Return joint angles and velocities of a robot whose flange is at z while its motors move."""
    pose = robot().follow(robot().inverse(z))
    return np.array(pose.q), pose.S @ y_dot


def run(q, v, until, u=(0.0, 0.0, 0.0), f=(0.0, 0.0, 0.0), **options):
    start = dict(zip(NAMES, q, strict=True)) | {f"{n}_dot": x for n, x in zip(NAMES, v, strict=True)}
    inputs = {f"u{i + 1}": x for i, x in enumerate(u)} | {f"f{i + 1}": x for i, x in enumerate(f)}
    result = simulate(model(), until=until, start=start, inputs=inputs, **{"method": TIGHT, **options})
    assert result.ok
    return result


@pytest.mark.parametrize(
    "swing",
    [
        pytest.param(SWINGS[0], id="torques"),
        pytest.param(SWINGS[1], id="torques-and-force"),
        pytest.param(SWINGS[2], id="free", marks=pytest.mark.slow),  # IDA takes minutes where the robot folds
    ],
)
def test_constrained_motion_equals_that_of_sundials(swing):
    z, y_dot, u, f = swing
    q, v = moving(z, y_dot)
    result = run(q, v, 1.0, u, f, sample=0.1)
    exact = dae_solution(np.linspace(0, 1, 11), q, v, np.array(u), np.array(f))
    fastest, strongest = np.abs(exact[:, 9:18]).max(), np.abs(exact[:, 18:]).max()
    for k, name in enumerate(NAMES):
        np.testing.assert_allclose(result[name], exact[:, k], rtol=0, atol=1e-7)
        np.testing.assert_allclose(result[f"{name}_dot"], exact[:, 9 + k], rtol=0, atol=1e-7 * fastest)
    for k, name in enumerate(FORCES):
        np.testing.assert_allclose(result[name], exact[:, 18 + k], rtol=0, atol=1e-7 * strongest)
    assert max(np.abs(result[name]).max() for name in LOOPS) < 1e-8


def swing_starts(count, seed):
    rng = np.random.default_rng(seed)
    for z in positions(count, seed, side=0.08):
        yield moving(z, rng.normal(0, 1.5, 3))


def check_energy(q, v):
    result = run(q, v, 10.0)
    kinetic, total = result["energy_kinetic"], result["energy_kinetic"] + result["energy_potential"]
    assert np.abs(total - total[0]).max() < 1e-8 * kinetic.max()
    assert max(np.abs(result[name]).max() for name in LOOPS) < 1e-8


def test_energy_is_conserved_and_loops_stay_closed_over_ten_seconds():
    for q, v in swing_starts(2, 2):
        check_energy(q, v)


@pytest.mark.slow
def test_energy_is_conserved_and_loops_stay_closed_over_ten_seconds_from_anywhere():
    for q, v in swing_starts(40, 3):
        check_energy(q, v)


def test_damping_takes_what_energy_is_lost():
    q, v = moving((0.05, -0.04, 0.38), (1.0, 0.0, -1.0))
    result = run(q, v, 2.0, parameters={"d1": 0.02, "d2": 0.002})
    total = result["energy_kinetic"] + result["energy_potential"]
    assert np.diff(total).max() < 1e-12
    assert total[0] - total[-1] > 0.1
    assert total[-1] - total[0] == pytest.approx(result["work_damping"][-1], rel=1e-9)


def test_a_force_on_the_flange_works_like_the_same_force_at_the_motors():
    """Where J_c exists, virtual torques J_vᵀf move the robot as motor torques J_cᵀf do, with other multipliers."""
    f = np.array([1.0, -2.0, 3.0])
    for z in positions(50, 4):
        pose = robot().follow(robot().inverse(z))
        t = terms(pose.q)
        virtual, matched = pose.J_v.T @ f, np.zeros(9)
        matched[ACTIVE] = pose.J_c.T @ f
        a, _ = accelerations(t, virtual)
        b, _ = accelerations(t, matched)
        np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(a).max())
        np.testing.assert_allclose(t["B"][:, -3:], pose.J_v.T, atol=1e-15)


# --- the singular pose -----------------------------------------------------------------------------------------------


def parallel_pose():
    """Return the joint angles at which all distal links hang parallel."""
    return np.array([SINGULAR, np.pi / 2, 0.0] * 3)


def test_the_loop_jacobian_keeps_its_rank_where_the_forward_kinematics_lose_theirs():
    assert pytest.approx(2.14599, abs=5e-6) == SINGULAR
    t = terms(parallel_pose())
    np.testing.assert_allclose(t["h"], 0, atol=1e-15)
    passive = np.linalg.svd(t["H"][:, PASSIVE], compute_uv=False)
    assert passive[4] / passive[0] < 1e-14
    assert passive[3] > 0.1
    assert np.linalg.svd(t["H"], compute_uv=False)[-1] > 0.1
    # So it does in all eight ways to assemble it anywhere in the workspace.
    smallest, rng = np.inf, np.random.default_rng(5)
    for z in positions(1000, 5, side=0.2, low=0.15, high=0.55):
        try:
            q = mixed(robot(), z, rng.random(3) < 0.5)
        except InputError:
            continue
        smallest = min(smallest, np.linalg.svd(terms(q)["H"], compute_uv=False)[-1])
    assert smallest > 0.02


def pendulum(heading, speed):
    """Return velocities at which the flange sets out to swing from the singular pose, rad/s."""
    v = np.zeros(9)
    for i in range(3):
        own = R[i].T @ [np.cos(heading), np.sin(heading), 0.0]
        v[3 * i + 1], v[3 * i + 2] = -speed * own[1], speed * own[0]
    return v


def test_swung_aside_from_the_singular_pose_the_loops_are_redundant_and_the_simulation_goes_on():
    """Where the distal links are parallel and across the ways of two elbows, these two arms hold each other in vain."""
    ways = [R[i] @ [0, -np.sin(SINGULAR), np.cos(SINGULAR)] for i in range(2)]
    along = np.cross(*ways)
    along *= np.sign(along[2]) / np.linalg.norm(along)
    assert np.degrees(np.arccos(along[2])) == pytest.approx(52.36, abs=0.01)
    q = parallel_pose()
    for i in range(3):
        own = R[i].T @ along
        q[3 * i + 1 : 3 * i + 3] = np.arctan2(np.hypot(own[0], own[2]), own[1]), np.arctan2(own[0], own[2])
    t = terms(q)
    np.testing.assert_allclose(t["h"], 0, atol=1e-15)
    values = np.linalg.svd(t["H"], compute_uv=False)
    assert values[5] < 1e-15
    assert values[4] > 0.1
    heading, speed = np.arctan2(along[1], along[0]), 5.3
    for J_r in (1e6, DEFAULTS["J_r"]):
        result = run(parallel_pose(), pendulum(heading, speed), 1.0, parameters={"J_r": J_r})
        total = result["energy_kinetic"] + result["energy_potential"]
        assert np.abs(total - total[0]).max() < 1e-7
        assert max(np.abs(result[name]).max() for name in LOOPS) < 1e-8
    result = run(q, np.zeros(9), 0.5)
    assert max(np.abs(result[name]).max() for name in LOOPS) < 1e-8


def test_the_virtual_jacobian_keeps_its_rank_at_the_singular_pose():
    B = terms(parallel_pose())["B"]
    assert np.linalg.svd(B[:, -3:], compute_uv=False)[-1] > 0.05
    with pytest.raises(InputError, match="away from singularities"):
        robot().follow(parallel_pose())


@pytest.mark.parametrize("heading", [0.0, 0.7, np.pi / 2])
def test_with_motors_held_the_flange_swings_as_a_pendulum(heading):
    """Heavy rotors hold the motors."""
    p = DEFAULTS
    result = run(parallel_pose(), pendulum(heading, 0.05), 4.0, parameters={"J_r": 1e6}, sample=0.01)
    swing = np.cos(heading) * result["z1"] + np.sin(heading) * result["z2"]
    down = np.flatnonzero((swing[:-1] > 0) & (swing[1:] <= 0))
    times = result.t[down] + 0.01 * swing[down] / (swing[down] - swing[down + 1])
    inertia = p["l2"] ** 2 * (p["m2"] / 3 + p["m3"] / 3)
    stiffness = p["g"] * p["l2"] * (p["m2"] / 2 + p["m3"] / 3)
    period = 2 * np.pi * np.sqrt(inertia / stiffness)
    assert period == pytest.approx(1.1947, abs=1e-4)
    assert np.diff(times) == pytest.approx(period, rel=1e-3)
    across = -np.sin(heading) * result["z1"] + np.cos(heading) * result["z2"]
    assert np.abs(across).max() < 1e-3 * np.abs(swing).max()
    assert max(np.abs(result[name]).max() for name in LOOPS) < 1e-8


class Hold:
    """A stiff PD controller of the motors, with the weight that they carry."""

    period = 1e-3

    def __init__(self, goal, weight):
        self.goal, self.weight, self.last = goal, weight, None

    def reset(self, measurement):
        self.last = np.array(measurement[:3])

    def step(self, t, measurement):
        y = np.array(measurement[:3])
        rate, self.last = (y - self.last) / self.period, y
        return dict(zip(("u1", "u2", "u3"), self.weight - 200 * (y - self.goal) - 3 * rate, strict=True))


def test_at_rest_at_the_singular_pose_every_arm_carries_its_third():
    q, t = parallel_pose(), terms(parallel_pose())
    weight = t["b"][ACTIVE]
    np.testing.assert_allclose(t["b"][PASSIVE], 0, atol=1e-15)
    torque = np.zeros(9)
    torque[ACTIVE] = weight
    a, force = accelerations(t, torque - t["b"])
    np.testing.assert_allclose(a, 0, atol=1e-12)
    np.testing.assert_allclose(force, 0, atol=1e-12)
    result = run(q, np.zeros(9), 0.5, controller=Hold(q[ACTIVE], weight))
    assert max(np.abs(result[name]).max() for name in FORCES) < 1e-9
    # Anywhere else they do share: the loops carry forces.
    pose = robot().follow(robot().inverse((0.0, 0.0, 0.4)))
    torque[ACTIVE] = pose.gravity
    _, force = accelerations(terms(pose.q), torque - terms(pose.q)["b"])
    assert np.abs(force).max() > 0.5


def test_held_by_a_controller_the_flange_swings_as_a_pendulum():
    q = parallel_pose()
    hold = Hold(q[ACTIVE], terms(q)["b"][ACTIVE])
    result = run(q, pendulum(0.0, 0.05), 2.5, controller=hold, sample=0.01)
    z = result["z1"]
    down = np.flatnonzero((z[:-1] > 0) & (z[1:] <= 0))
    times = result.t[down] + 0.01 * z[down] / (z[down] - z[down + 1])
    assert np.diff(times) == pytest.approx(1.195, rel=0.01)
    assert np.abs(result["z2"]).max() < 0.01 * np.abs(z).max()


# --- what a controller asks of a pose ---------------------------------------------------------------------------------


@geometries
def test_the_exact_inertia_is_the_inverse_of_the_constrained_acceleration_map(geometry):
    kinematics = DeltaKinematics(**geometry)
    for z in positions(100, 6, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        a, _ = accelerations(terms(pose.q, **geometry), np.eye(9)[:, ACTIVE])
        product = pose.inertia["exact"] @ a[ACTIVE]
        np.testing.assert_allclose(product, np.eye(3), atol=1e-10)


@geometries
def test_the_printed_inertia_is_equation_26_and_leaves_out_the_loops(geometry):
    kinematics, errors = DeltaKinematics(**geometry), []
    for z in positions(50, 7, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        t = terms(pose.q, **geometry)
        g_y = -np.linalg.solve(t["H"][:, PASSIVE], t["H"][:, ACTIVE])
        printed = t["M"][np.ix_(ACTIVE, ACTIVE)] + t["M"][np.ix_(ACTIVE, PASSIVE)] @ g_y
        np.testing.assert_allclose(pose.inertia["printed"], printed, atol=1e-12 * np.abs(printed).max())
        errors.append(np.linalg.norm(printed - pose.inertia["exact"]) / np.linalg.norm(pose.inertia["exact"]))
    assert min(errors) > 0.2


def test_in_the_middle_of_the_workspace_the_printed_inertia_is_half_the_exact_one():
    pose = robot().follow(robot().inverse((0.0, 0.0, 0.4)))
    assert np.diag(pose.inertia["printed"]) == pytest.approx(0.0156, abs=5e-5)
    assert np.diag(pose.inertia["exact"]) == pytest.approx(0.03075, abs=5e-6)


@geometries
def test_gravity_torques_solve_the_nine_equations_21(geometry):
    kinematics = DeltaKinematics(**geometry)
    for z in positions(100, 8, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        t = terms(pose.q, **geometry)
        solution = np.linalg.solve(np.hstack([np.eye(9)[:, ACTIVE], t["H"].T]), t["b"])
        np.testing.assert_allclose(pose.gravity, solution[:3], rtol=1e-11)


def test_gravity_torques_hold_the_robot_still():
    pose = robot().follow(robot().inverse((0.06, -0.03, 0.42)))
    result = run(pose.q, np.zeros(9), 0.2, u=pose.gravity, method=Adaptive())
    assert np.abs(result["z1"] - 0.06).max() < 1e-9
    assert np.abs(result["z3"] - 0.42).max() < 1e-9


@geometries
def test_both_jacobians_equal_differences(geometry):
    kinematics, spheres, step = DeltaKinematics(**geometry), Spheres(**geometry), 1e-6
    for z in positions(30, 9, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        q, y = np.array(pose.q), np.array(pose.q[ACTIVE])
        assert np.abs(pose.z - z).max() < 1e-13
        J_c = np.column_stack(
            [(spheres.continued(q, y + d, 4)[0] - spheres.continued(q, y - d, 4)[0]) / 2e-6 for d in step * np.eye(3)]
        )
        np.testing.assert_allclose(pose.J_c, J_c, atol=2e-8)
        J_v = np.column_stack(
            [(mean_wrist(q + d, spheres) - mean_wrist(q - d, spheres)) / 2e-6 for d in step * np.eye(9)]
        )
        np.testing.assert_allclose(pose.J_v, J_v, atol=2e-9)
        S = np.column_stack(
            [(spheres.continued(q, y + d, 4)[1] - spheres.continued(q, y - d, 4)[1]) / 2e-6 for d in step * np.eye(3)]
        )
        np.testing.assert_allclose(pose.S, S, atol=1e-7)


def mean_wrist(q, spheres):
    elbows = spheres.elbows(q[None, ACTIVE])[0]
    return np.mean([elbows[i] + spheres.lower * R[i] @ direction(q[3 * i : 3 * i + 3]) for i in range(3)], axis=0)


@geometries
def test_the_jacobians_of_forward_and_inverse_kinematics_are_inverse_to_each_other(geometry):
    kinematics = DeltaKinematics(**geometry)
    for z in positions(50, 10, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        backward = np.column_stack([kinematics.motion(z, unit, np.zeros(3))[1] for unit in np.eye(3)])
        np.testing.assert_allclose(pose.J_c @ backward, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(pose.J_v @ pose.S, pose.J_c, atol=1e-14)
        np.testing.assert_allclose(terms(pose.q, **geometry)["H"] @ pose.S, 0, atol=1e-13)
        y_dot = np.array([0.3, -0.2, 0.5])
        pose.update(pose.q[ACTIVE], y_dot)
        np.testing.assert_allclose(pose.z_dot, pose.J_c @ y_dot, atol=1e-15)


# --- inverse kinematics -----------------------------------------------------------------------------------------------

anywhere = st.tuples(st.floats(-0.4, 0.4), st.floats(-0.4, 0.4), st.floats(-0.2, 0.58))


@given(z=anywhere, inward=st.tuples(st.booleans(), st.booleans(), st.booleans()))
@example(z=(0.0, 0.0, 0.4), inward=(False, False, False))
@example(z=(0.0, 0.0, 0.3), inward=(True, True, True))
def test_all_eight_solutions_of_the_inverse_kinematics_close_the_loops(z, inward):
    try:
        q = mixed(robot(), z, inward)
    except InputError:
        assume(False)
    assert np.abs(terms(q)["h"]).max() < 1e-13
    assert mean_wrist(q, Spheres()) == pytest.approx(z, abs=1e-13)
    assert np.all(np.sin(q[1::3]) >= 0)


@given(z=anywhere)
def test_what_inverse_kinematics_find_forward_kinematics_return(z):
    try:
        q = robot().inverse(z)
        pose = robot().follow(q)
    except InputError:
        assume(False)
    np.testing.assert_allclose(pose.z, z, atol=1e-12)
    np.testing.assert_allclose(pose.q, q, atol=1e-9)


@geometries
def test_the_arms_turn_outward_unless_asked(geometry):
    kinematics = DeltaKinematics(**geometry)
    for z in positions(100, 11, geometry):
        outward, inward = kinematics.inverse(z), kinematics.inverse(z, inward=True)
        assert np.all(np.cos(outward[ACTIVE]) > np.cos(inward[ACTIVE]))
        for q in (outward, inward):
            assert np.abs(terms(q, **geometry)["h"]).max() < 1e-14


@pytest.mark.parametrize("z", [(0.0, 0.0, 0.4), (0.0, 0.05, 0.35), (0.0, -0.08, 0.5), (0.03, 0.02, 0.4)])
def test_a_motion_has_exact_rates_in_the_middle_of_the_workspace_too(z):
    """The paper's formula divides by zero where z₁ = 0."""
    z, speed, acceleration = np.array(z), np.array([0.3, -0.2, 0.1]), np.array([-1.0, 2.0, 0.5])
    y, y_dot, y_ddot = (np.array(x) for x in robot().motion(z, speed, acceleration))

    def at(t):
        return np.array(robot().inverse(z + t * speed + t**2 / 2 * acceleration)[ACTIVE])

    np.testing.assert_array_equal(y, at(0.0))
    h = 1e-4
    np.testing.assert_allclose(y_dot, (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h), atol=1e-10)
    second = (16 * (at(h) + at(-h)) - (at(2 * h) + at(-2 * h)) - 30 * at(0)) / (12 * h**2)
    np.testing.assert_allclose(y_ddot, second, atol=1e-6)


def test_what_is_out_of_reach_is_an_error_that_names_the_arms():
    with pytest.raises(InputError, match=re.escape("z = (0, 0, 0.7) m, out of reach of arm 1, 2, 3")):
        robot().inverse((0.0, 0.0, 0.7))
    with pytest.raises(InputError, match=re.escape("z = (0, 0.45, 0.3) m, out of reach of arm 2, 3. Choose")):
        robot().inverse((0.0, 0.45, 0.3))
    with pytest.raises(InputError, match="out of reach of arm 1, 2, 3"):
        robot().inverse((0.0, 0.0, 0.7), inward=True)
    with pytest.raises(InputError, match="out of reach"):
        robot().motion((0.0, 0.0, 0.7), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="out of reach"):
        delta(z=(0.0, 0.0, 0.7))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1e200])
@pytest.mark.parametrize("k", range(3))
def test_a_position_that_is_no_number_is_an_error(bad, k):
    z = [0.0, 0.0, 0.4]
    z[k] = bad
    for inward in (False, True):
        with pytest.raises(InputError, match="inverse kinematics of the delta robot: expected a position "):
            robot().inverse(z, inward=inward)


# --- forward kinematics -----------------------------------------------------------------------------------------------


@geometries
def test_newtons_steps_shrink_quadratically(geometry):
    kinematics, rng = DeltaKinematics(**geometry), np.random.default_rng(12)
    ratios = []
    for z in positions(200, 12, geometry):
        pose = kinematics.follow(kinematics.inverse(z))
        pose.update(pose.q[ACTIVE] + rng.uniform(-0.1, 0.1, 3))
        steps = pose.steps
        assert steps.size <= 4
        ratios += [pose.margin * after / before**2 for before, after in itertools.pairwise(steps)]
    assert max(ratios) < 2.0
    assert len(ratios) > 300


def test_at_500_hz_three_newton_steps_follow_a_meter_per_second_to_seven_digits():
    for start in positions(20, 13, side=0.08, low=0.32, high=0.42):
        pose = robot().follow(robot().inverse(start))
        toward = np.array([0.5, -0.3, 0.8]) / np.linalg.norm([0.5, -0.3, 0.8])
        for k in range(1, 30):
            z = start + 2e-3 * k * toward
            q = robot().inverse(z)
            pose.update(q[ACTIVE])
            assert pose.steps.size <= 3
            # The last step shows that those before it had converged.
            assert pose.steps[:-1].size <= 2
            np.testing.assert_allclose(pose.q, q, atol=1e-12)
            np.testing.assert_allclose(pose.z, z, atol=1e-12)


def jump(kinematics, spheres, q, y):
    """Update a pose. Return whether it went where small steps lead, went elsewhere, or raised; then it must stay."""
    pose = kinematics.follow(q)
    q = np.array(pose.q)
    before = [np.array(x) for x in (q, pose.z, pose.J_c, pose.J_v, pose.gravity, pose.S, *pose.inertia.values())]
    try:
        pose.update(y)
    except InputError:
        after = (pose.q, pose.z, pose.J_c, pose.J_v, pose.gravity, pose.S, *pose.inertia.values())
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
        pose.update(q[ACTIVE])
        np.testing.assert_allclose(pose.q, q, atol=1e-9)
        return "raised"
    way = spheres.continued(q, y)
    right = way is not None and np.abs(pose.z - way[0]).max() < 1e-7 and np.abs(pose.q - way[1]).max() < 1e-5
    return "right" if right else "wrong"


def assembled(count, seed, spheres, nearly=None):
    """Return random assembled robots, singular nearly if a squared distance to the other side is given."""
    rng, found = np.random.default_rng(seed), 0
    while found < count:
        y = rng.uniform(-np.pi, np.pi, (4096, 3))
        foot, normal, square = spheres.meet(y)
        side = rng.choice([-1.0, 1.0], len(y))
        fine = (square > 1e-4) & (True if nearly is None else square < nearly)
        for k in np.flatnonzero(fine)[: count - found]:
            z = foot[k] + side[k] * np.sqrt(square[k]) * normal[k]
            q = np.zeros(9)
            for i, elbow in enumerate(spheres.elbows(y[k : k + 1])[0]):
                own = R[i].T @ (z - elbow) / spheres.lower
                flip = rng.random() < 0.3
                q[3 * i] = y[k, i]
                q[3 * i + 1] = (-1 if flip else 1) * np.arctan2(np.hypot(own[0], own[2]), own[1])
                q[3 * i + 2] = np.arctan2(own[0], own[2]) + (np.pi if flip else 0)
            found += 1
            yield q, rng


def leaps(geometry, count, seed, nearly=None):
    """Try jumps of all sizes; return how many went right, went wrong and raised."""
    kinematics, spheres = DeltaKinematics(**geometry), Spheres(**geometry)
    outcomes = dict.fromkeys(("right", "wrong", "raised"), 0)
    for q, rng in assembled(count, seed, spheres, nearly):
        y = q[ACTIVE] + rng.normal(size=3) * 10 ** rng.uniform(-2.5, 0.3)
        try:
            kinematics.follow(q)
        except InputError:
            continue
        outcomes[jump(kinematics, spheres, q, y)] += 1
    return outcomes


@geometries
def test_an_update_finds_the_continuation_or_raises(geometry):
    outcomes = leaps(geometry, 500, 14)
    assert outcomes["wrong"] == 0
    assert min(outcomes["right"], outcomes["raised"]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("nearly", [None, 0.02, 0.004], ids=["anywhere", "near", "nearer"])
@geometries
def test_an_update_finds_the_continuation_or_raises_from_anywhere(geometry, nearly):
    outcomes = leaps(geometry, 20_000, 15, nearly and nearly * size_of(geometry) ** 2)
    assert outcomes["wrong"] == 0
    assert min(outcomes["right"], outcomes["raised"]) > 1000


@pytest.mark.parametrize(
    ("q", "y"),
    [
        # A distal pair passes the pole of its universal joint, and the flange goes to the other side.
        (
            (
                -0.019916380579906523,
                1.80812,
                -1.60516,
                -2.5373230104939775,
                2.89744,
                0.08567,
                -0.7683625004653516,
                1.62959,
                1.26058,
            ),
            (-0.42422417143085717, -2.561171209867282, -0.9815522655480844),
        ),
        # There is no way: half-way the elbows are too far apart.
        (
            (0.4181337439995243, 1.741, 0.667, 1.0352598954513583, 1.853, -0.964, 2.6775280575437925, 2.255, 0.234),
            (0.3609383014171385, 0.7243395267882162, 2.9545224513546953),
        ),
        # A motor turns once.
        ((0.1, 2.44885746, 0.0) * 3, (0.1 + 2 * np.pi, 0.1, 0.1)),
    ],
    ids=["pole", "gap", "turn"],
)
def test_a_jump_to_where_no_small_steps_lead_raises(q, y):
    q = np.array(q)
    pose = robot().follow(q)
    assert Spheres().continued(np.array(pose.q), np.array(y)) is None
    with pytest.raises(InputError, match="forward kinematics of the delta robot"):
        pose.update(y)


def test_no_walk_in_small_steps_crosses_a_singularity():
    spheres, walked = Spheres(), 0
    for q, rng in assembled(60, 16, spheres):
        try:
            pose = robot().follow(q)
        except InputError:
            continue
        toward, length = rng.normal(size=3), 10 ** rng.uniform(-2.5, -1)
        toward *= length / np.linalg.norm(toward)
        start = np.array(pose.q)
        try:
            for k in range(1, 200):
                pose.update(start[ACTIVE] + k * toward)
                walked += 1
        except InputError:
            k -= 1
        way = spheres.continued(start, start[ACTIVE] + k * toward, 2000)
        assert way is not None
        np.testing.assert_allclose(pose.z, way[0], atol=1e-9)
        np.testing.assert_allclose(pose.q, way[1], atol=1e-7)
    assert walked > 1000


def test_toward_the_singular_pose_the_margin_goes_to_zero_and_update_raises():
    z = np.array(robot().inverse((0.0, 0.0, 0.5), inward=True))
    pose = robot().follow(z)
    margins = []

    def approach():
        for y in np.linspace(z[0], SINGULAR, 200):
            pose.update([y] * 3)
            margins.append(pose.margin)

    with pytest.raises(InputError, match=r"away from singularities \(margin above 0.01\), got margin 0.00") as raised:
        approach()
    assert raised.value.remedy.startswith("Keep the motors away from where the distal links are parallel")
    assert np.all(np.diff(margins) < 0)
    assert 0.01 < margins[-1] < 0.02


def test_after_an_error_the_pose_reports_what_it_did_before():
    pose = robot().follow(robot().inverse((0.0, 0.02, 0.4)))
    pose.update(pose.q[ACTIVE] + 0.01)
    margin, steps = pose.margin, pose.steps
    for y in ([SINGULAR] * 3, pose.q[ACTIVE] + 3.0, [np.nan] * 3):
        with pytest.raises(InputError):
            pose.update(y)
        assert pose.margin == margin
        np.testing.assert_array_equal(pose.steps, steps)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_motor_angles_that_are_no_numbers_are_an_error_that_says_so(bad):
    pose = robot().follow(robot().inverse((0.0, 0.0, 0.4)))
    with pytest.raises(InputError, match="forward kinematics of the delta robot") as raised:
        pose.update([bad, 0.5, 0.5])
    assert "singularities" not in raised.value.expected
    assert "margin" not in raised.value.got
    pose.update(pose.q[ACTIVE])


@pytest.mark.parametrize("wrong", [[0.5], [0.5, 0.5], 0.5, [0.5] * 4], ids=["one", "two", "number", "four"])
def test_a_wrong_number_of_motor_angles_or_coordinates_is_an_error(wrong):
    pose = robot().follow(robot().inverse((0.0, 0.0, 0.4)))
    with pytest.raises(InputError):
        pose.update(wrong)
    with pytest.raises(InputError):
        robot().inverse(wrong)


def test_a_pose_starts_from_nine_numbers():
    for wrong in (np.zeros(3), np.zeros(12), robot().inverse((0, 0, 0.4))[:8]):
        with pytest.raises(InputError):
            robot().follow(wrong)
    with pytest.raises(InputError):
        robot().follow([np.nan] * 9)


def test_two_poses_do_not_disturb_each_other():
    one, other = (robot().follow(robot().inverse(z)) for z in ((0.0, 0.0, 0.4), (0.05, 0.0, 0.35)))
    z = np.array(one.z)
    other.update(other.q[ACTIVE] + 0.05)
    np.testing.assert_array_equal(one.z, z)


# --- parameters ------------------------------------------------------------------------------------------------------


def test_printing_the_robot_shows_its_parameters_with_their_source():
    text = str(delta())
    for name, value in (("l0", "0.165"), ("l1", "0.2"), ("l2", "0.4"), ("l3", "0.0562")):
        assert re.search(rf"{name} +m +{value} .*Okasha, Table 1", text)
    for name in ("m1", "m2", "m3"):
        assert re.search(rf"{name} +kg .*stand-in", text)
    for name in ("u1", "tau_u1", "tau_v33", "f3", "loop6", "y3", "z3"):
        assert re.search(rf"\b{name}\b", text)


def test_parameters_by_name_change_the_model_without_compiling_again():
    changed = delta(m3=0.5, l1=0.22)
    assert changed.dynamics.address == model().dynamics.address
    q = DeltaKinematics(l1=0.22).inverse((0.0, 0.0, 0.4))
    ours, theirs = changed.terms(q, np.ones(9)), terms(q, np.ones(9), m3=0.5, l1=0.22)
    np.testing.assert_array_equal(ours["M"], theirs["M"])
    np.testing.assert_array_equal(ours["b"], theirs["b"])
    assert not np.allclose(ours["M"], terms(q, np.ones(9))["M"])
    assert [x.value for x in changed.coordinates] == pytest.approx(q)


def test_a_scaled_robot_moves_as_the_law_of_similarity_says():
    """All lengths four times as long: the same motion takes twice the time."""
    scale, z = 4.0, np.array([0.05, -0.04, 0.38])
    lengths = {name: scale * DEFAULTS[name] for name in ("l0", "l1", "l2", "l3")}
    small = simulate(delta(z), until=1.0, sample=0.1, method=TIGHT)
    large = simulate(delta(scale * z, **lengths, J_r=scale**2 * DEFAULTS["J_r"]), until=2.0, sample=0.2, method=TIGHT)
    for name in ("q11", "q22", "q33"):
        np.testing.assert_allclose(large[name], small[name], atol=1e-8)
    np.testing.assert_allclose(large["z3"], scale * small["z3"], atol=1e-8)


@pytest.mark.parametrize("make", [delta, DeltaKinematics], ids=["model", "kinematics"])
def test_unknown_and_impossible_parameters_are_errors(make):
    with pytest.raises(InputError, match=r"delta robot: expected a known parameter, got 'l4'. Did you mean 'l"):
        make(l4=1.0)
    above = r"parameter 'm1' of the delta robot: expected a finite number above zero, got -1. Leave it out for 0.5\."
    with pytest.raises(InputError, match=above):
        make(m1=-1.0)
    for name in ("l0", "l1", "l2", "l3", "m1", "m2", "m3"):
        with pytest.raises(InputError, match=f"parameter '{name}' of the delta robot: .* above zero, got 0"):
            make(**{name: 0.0})
    for name in ("J_r", "d1", "d2", "g"):
        with pytest.raises(InputError, match=f"parameter '{name}' of the delta robot: .* of zero or more, got -1"):
            make(**{name: -1.0})
    for value in (float("nan"), float("inf"), "long", None):
        with pytest.raises(InputError, match="parameter 'l2' of the delta robot: expected a finite number above zero"):
            make(l2=value)


# --- the benchmark ---------------------------------------------------------------------------------------------------


def test_mujoco_swings_the_same_robot():
    mujoco = pytest.importorskip("mujoco")
    exact = bench.reference_position()
    coarse, fine = (np.abs(bench.mujoco_runner(mujoco, "RK4", h)() - exact).max() for h in (1e-3, 2.5e-4))
    assert coarse < 1e-4
    assert fine < coarse / 2


def test_fixed_steps_of_a_millisecond_end_where_adaptive_ones_do():
    exact = bench.reference_position()
    assert np.abs(bench.impinge_runner()() - exact).max() < 2e-8
    assert np.abs(bench.impinge_runner(FixedStep(2.5e-4))() - exact).max() < 1e-10  # fourth order: 256 times less


def test_the_claim_about_the_delta_robot_needs_speed_and_accuracy():
    ours, theirs = ("impinge", "RK4"), ("MuJoCo", "RK4")
    good, bad = {ours: 1e-9, theirs: 1e-6}, {ours: 1e-6, theirs: 1e-9}
    assert bench.verdict({ours: 1.0, theirs: 10.0}, good) is True
    assert bench.verdict({ours: 1.0, theirs: 9.9}, good) is False
    assert bench.verdict({ours: 1.0, theirs: 10.0}, bad) is False
    assert bench.verdict({ours: 1.0}, good) is None
