"""Control blocks and the delta robot's controllers: closed forms, limits, and what they refuse."""

import math
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest

from impinge import robots, simulate
from impinge.control import (
    PDFF,
    Encoder,
    FeedbackLinearization,
    FilteredDerivative,
    GravityCompensation,
    Hold,
    Impedance,
    Joystick,
    Lead,
    Move,
    Ramp,
    Reference,
    Saturation,
    Setpoint,
    TaskSpacePDFF,
    Trajectory,
)
from impinge.control.blocks.linear3 import solve, times, transposed_times
from impinge.errors import ImpingeWarning, InputError
from impinge.robots.delta import DeltaKinematics
from impinge.simulation import Controller

HOME = (0.0, 0.0, 0.4)
POSES = [HOME, (0.1, -0.05, 0.45), (-0.08, 0.12, 0.35), (0.02, 0.15, 0.5)]
U = ("u1", "u2", "u3")
Z = ("z1", "z2", "z3")
Angles = namedtuple("Angles", "y1 y2 y3")


@pytest.fixture(scope="module")
def robot():
    return robots.delta()


def angles(z, **parameters):
    return Angles(*DeltaKinematics(**parameters).inverse(z)[[0, 3, 6]].tolist())


def torques(controller, z=HOME, t=0.0):
    controller.reset(angles(z))
    command = controller.step(t, angles(z))
    assert set(command) == set(U)
    return np.array([command[u] for u in U])


# ---------------------------------------------------------------- filtered derivative


def test_the_derivative_of_a_ramp_is_exact_once_the_filter_has_settled():
    pole, T = 50.0, 0.002
    rate = FilteredDerivative(pole, T)
    rate.reset([1.0, -2.0])
    for k in range(1, 1001):
        got = rate.step([1.0 + 3.0 * k * T, -2.0 - 0.5 * k * T])
        missing = math.exp(-pole * k * T)  # as the continuous filter: s p/(s + p) on a ramp
        assert got == pytest.approx([3.0 * (1 - missing), -0.5 * (1 - missing)], abs=1e-9)
    assert got == pytest.approx([3.0, -0.5], abs=1e-11)


def test_a_step_gives_the_derivative_an_impulse_whose_area_is_the_step():
    pole, T = 80.0, Fraction(1, 500)
    rate = FilteredDerivative(pole, T)
    rate.reset([0.0])
    response = [rate.step([1.0])[0] for _ in range(2000)]
    decay = math.exp(-pole * 0.002)
    assert response[:4] == pytest.approx([(1 - decay) / 0.002 * decay**k for k in range(4)], rel=1e-12)
    assert sum(response) * 0.002 == pytest.approx(1.0, rel=1e-12)


def test_the_derivative_of_a_sine_has_the_filters_amplitude_and_lag():
    pole, T, w = 200.0, 1e-4, 30.0
    rate = FilteredDerivative(pole, T)
    rate.reset([0.0])
    got = np.array([rate.step([math.sin(w * k * T)])[0] for k in range(20000)])[10000:]
    t = np.arange(10000, 20000) * T
    exact = (1j * w * pole / (1j * w + pole) * np.exp(1j * w * t)).imag
    assert np.abs(got - exact).max() < 2e-5 * w


def test_a_reset_derivative_remembers_nothing():
    rate = FilteredDerivative(50.0, 0.002)
    rate.reset([0.0])
    first = [rate.step([0.1 * k])[0] for k in range(5)]
    rate.reset([0.0])
    assert [rate.step([0.1 * k])[0] for k in range(5)] == first


# ---------------------------------------------------------------- PDFF


def double_integrator(block, T, count, y=1.0):
    """ÿ = u with u held, exactly."""
    v, path = 0.0, []
    block.reset([y])
    rest = Setpoint([0.0], [0.0], [0.0])
    for k in range(count):
        path.append(y)
        u = block.step(k * T, [y], rest)[0]
        y, v = y + T * v + T * T / 2 * u, v + T * u
    return np.array(path)


def test_the_sampled_loop_on_a_double_integrator_is_its_linear_recursion():
    k_p, k_d, pole, T = 25.0, 8.0, 150.0, 0.002
    path = double_integrator(PDFF(k_p, k_d, period=T, pole=pole), T, 800)
    a = math.exp(-pole * T)
    g = (1 - a) / T
    u = np.array([-k_p - k_d * g, 0.0, k_d * g, -k_d * a])  # of y, v, the y before, the derivative before
    step = np.array([[1, T, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [g, 0, -g, a]]) + np.outer([T * T / 2, T, 0, 0], u)
    x, expected = np.array([1.0, 0.0, 1.0, 0.0]), []
    for _ in range(800):
        expected.append(x[0])
        x = step @ x
    assert path == pytest.approx(np.array(expected), abs=1e-12)


def test_the_loop_converges_to_theory_in_first_order_of_the_period():
    """ë + k_d ė + k_p e = 0 with k_p = k_d²/4: e = (1 + k_d t/2) exp(−k_d t/2)."""
    k_d, errors = 8.0, []
    for T in (4e-3, 2e-3, 1e-3, 5e-4):
        t = np.arange(round(1.5 / T)) * T
        path = double_integrator(PDFF(k_d**2 / 4, k_d, period=T, pole=1 / T), T, t.size)
        errors.append(np.abs(path - (1 + k_d * t / 2) * np.exp(-k_d * t / 2)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([1.0, 1.0, 1.0], abs=0.15)


def test_feedforward_follows_a_reference_that_feedback_alone_would_not():
    block = PDFF(0.0, 0.0)
    block.reset([0.0])
    assert block.step(0.0, [0.3], Setpoint([1.0], [2.0], [5.0])) == [5.0]
    assert block.step(0.0, [0.3], Setpoint([1.0], [2.0], [5.0]), f=[0.25]) == [5.25]


def test_a_ramp_takes_the_stiffness_of_one_axis_away_and_leaves_the_others():
    block = PDFF([Ramp(100.0, 0.0, begin=2.5, end=9.0), 100.0], 20.0, axes=("z1", "z2"))
    goal = Setpoint([0.01, 0.01], [0.0, 0.0], [0.0, 0.0])
    block.reset([0.0, 0.0])
    found = [block.step(t, [0.0, 0.0], goal) for t in (0.0, 2.5, 5.75, 9.0, 12.0)]
    assert [u for u, _ in found] == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0])
    assert [u for _, u in found] == pytest.approx([1.0] * 5)


@pytest.mark.parametrize(
    ("k_p", "k_d", "text"),
    [
        (
            1.0,
            0.25,
            "axis 1 at t = 0 s: expected 0 <= k_p <= k_d² .* got k_p = 1 1/s², k_d = 0.25 1/s with k_d² = 0.0625",
        ),
        (-1.0, 20.0, r"got k_p = -1 1/s², k_d = 20 1/s .* Lower k_p or raise k_d\."),
        (1.0, -20.0, "k_d >= 0, .* got k_p = 1 1/s², k_d = -20"),
        (float("nan"), 20.0, r"k_p as a number, a Ramp\(...\) or a function of time, got nan"),
        ("soft", 20.0, r"k_p as a number, a Ramp\(...\) or a function of time, got 'soft'"),
        (lambda t: None, 20.0, "axis 1 at t = 0 s: .* got k_p = None"),
        (1.0, float("inf"), "got k_p = 1 1/s², k_d = inf"),
        (Ramp(100.0, 500.0, begin=1.0, end=3.0), 20.0, "axis 1 at t = 3 s: .* got k_p = 500"),
        (Ramp(500.0, 0.0, begin=1.0, end=3.0), 20.0, "axis 1 at t = 0 s: .* got k_p = 500"),
        (100.0, Ramp(20.0, 5.0, begin=1.0, end=3.0), "axis 1 at t = 3 s: .* k_d = 5 1/s with k_d² = 25"),
        ([1.0, 2.0], 20.0, "expected one k_p for all axes, or one for each of 1, got 2"),
    ],
)
def test_gains_outside_the_circle_criterion_are_refused_before_the_run(k_p, k_d, text):
    with pytest.raises(InputError, match=text):
        PDFF(k_p, k_d)


def test_gains_on_the_edge_of_the_criterion_are_allowed():
    PDFF(400.0, 20.0)
    PDFF(0.0, 0.0)


def test_a_gain_that_leaves_the_criterion_during_the_run_stops_it():
    block = PDFF([100.0, lambda t: 100.0 if t < 1.0 else 401.0], 20.0, axes=("z1", "z2"))
    block.reset([0.0, 0.0])
    goal = Setpoint([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    block.step(0.998, [0.0, 0.0], goal)
    with pytest.raises(InputError, match=r"PDFF controller, axis z2 at t = 1\.5 s: .* got k_p = 401 1/s², k_d = 20"):
        block.step(1.5, [0.0, 0.0], goal)


def test_two_ramps_that_leave_the_criterion_between_their_ends_are_found_on_the_way():
    block = PDFF(Ramp(100.0, 0.0, begin=0.0, end=1.0), Ramp(10.0, 0.0, begin=0.0, end=1.0))
    block.reset([0.0])
    with pytest.raises(InputError, match=r"axis 1 at t = 0\.5 s: .* got k_p = 50 1/s², k_d = 5"):
        block.step(0.5, [0.0], Setpoint([0.0], [0.0], [0.0]))


# ---------------------------------------------------------------- references


def sampled(reference, until, T=1e-3):
    t = np.arange(round(until / T) + 1) * T
    return t, *(np.array(x) for x in zip(*(reference.step(s) for s in t), strict=True))


def check_limits(t, position, velocity, acceleration, limits):
    """Velocity, acceleration and jerk within limits, and each the derivative of the one before."""
    T = t[1] - t[0]
    v, a, j = limits
    assert np.abs(velocity).max() <= v * (1 + 1e-9)
    assert np.abs(acceleration).max() <= a * (1 + 1e-9)
    assert np.abs(np.diff(acceleration, axis=0)).max() <= j * T * (1 + 1e-6)
    middle = (velocity[1:] + velocity[:-1]) / 2
    assert np.abs(np.diff(position, axis=0) / T - middle).max() <= j * T**2 / 8 * 1.5
    middle = (acceleration[1:] + acceleration[:-1]) / 2
    assert np.abs(np.diff(velocity, axis=0) / T - middle).max() <= j * T / 4 * 1.01


def test_a_trajectory_keeps_its_limits_and_visits_its_waypoints():
    points = [(0.05, 0.0, 0.42), (0.05, 0.06, 0.38), HOME]
    path = Trajectory(HOME, points, velocity=0.08, acceleration=0.4, jerk=3.0)
    check_limits(*sampled(path, path.times[-1] + 0.1), limits=(0.08, 0.4, 3.0))
    for time, point in zip(path.times, points, strict=True):
        at = path.at(time)
        assert at.position == pytest.approx(point, abs=1e-12)
        assert at.velocity == pytest.approx([0, 0, 0], abs=1e-12)


def test_a_limit_is_reached_and_not_only_kept():
    path = Trajectory((0.0,), [(0.5,)], velocity=0.1, acceleration=0.5, jerk=5.0)
    _, _, velocity, acceleration = sampled(path, path.times[-1])
    assert velocity.max() == pytest.approx(0.1)
    assert acceleration.max() == pytest.approx(0.5)
    # Closed form: distance over speed, and what the two ends add.
    assert path.times[-1] == pytest.approx(0.5 / 0.1 + 0.1 / 0.5 + 0.5 / 5.0)


def test_a_move_from_rest_to_rest_is_a_straight_line():
    path = Trajectory(HOME, [(0.06, 0.03, 0.37)], velocity=(0.05, 0.2, 0.1))
    _, position, _, _ = sampled(path, path.times[-1])
    along = (position - HOME) / np.array([0.06, 0.03, -0.03])
    assert np.ptp(along, axis=1).max() < 1e-9


def test_limits_may_differ_from_axis_to_axis():
    path = Trajectory(HOME, [(0.06, 0.03, 0.37)], velocity=(0.05, 0.01, 0.1))
    _, _, velocity, _ = sampled(path, path.times[-1])
    assert np.abs(velocity).max(axis=0)[1] == pytest.approx(0.01)


def test_a_soft_touch_arrives_on_time_and_goes_on_at_its_final_speed():
    path = Trajectory(HOME, [Move((0.02, 0.0, 0.4), velocity=(2e-4, 0.0, 0.0), duration=2.5)])
    assert path.times == pytest.approx([2.5])
    check_limits(*sampled(path, 12.0), limits=(0.1, 0.5, 5.0))
    for t in (2.5, 9.0, 12.0):
        at = path.at(t)
        assert at.position == pytest.approx([0.02 + 2e-4 * (t - 2.5), 0.0, 0.4], abs=1e-12)
        assert at.velocity == pytest.approx([2e-4, 0.0, 0.0], abs=1e-12)
        assert at.acceleration == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_move_that_goes_nowhere_waits():
    path = Trajectory(HOME, [Move(HOME, duration=1.5), (0.01, 0.0, 0.4)])
    assert path.times[0] == pytest.approx(1.5)
    assert path.at(1.4).position == pytest.approx(HOME)
    assert path.at(-1.0).position == pytest.approx(HOME)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Trajectory(HOME, []), "trajectory: expected at least one move, got none"),
        (lambda: Trajectory((0.0, math.nan), [(0, 0)]), "a start: finite numbers, one for each axis"),
        (lambda: Trajectory(HOME, [(0.1, 0.0)]), "move 1 of the trajectory: .* 3 finite numbers, .* got \\(0.1, 0\\)"),
        (
            lambda: Trajectory(HOME, [HOME, Move(HOME, velocity=(0.2, 0, 0))]),
            "move 2 .* within \\(0.1, 0.1, 0.1\\) m/s",
        ),
        (lambda: Trajectory(HOME, [Move((0.05, 0, 0.4), duration=0.1)]), "a duration of at least 0.8 s, .* got 0.1 s"),
        (lambda: Trajectory(HOME, [Move(HOME, duration=-1)]), "a duration: a finite number above zero, got -1"),
        (lambda: Trajectory(HOME, [HOME], jerk=0.0), "a limit on jerk: a finite number above zero, got 0"),
        (lambda: Trajectory(HOME, [HOME], velocity=(1.0, 1.0)), "limits on velocity: 3 finite numbers"),
        (lambda: Joystick([(0.0, HOME)], acceleration=-1.0), "a limit on acceleration: a finite number above zero"),
        (lambda: Joystick([(0.0, HOME)], jerk=math.inf), "a limit on jerk: a finite number above zero, got inf"),
        (lambda: Joystick([(1.0, HOME), (0.5, HOME)]), "times that increase, got \\(1, 0.5\\). Sort"),
        (lambda: Joystick([(1.0, HOME), (2.0, (0.0,))]), "as many axes in every command"),
        (lambda: Joystick([1.0, 2.0]), "\\(time, velocity\\) pairs"),
        (lambda: Joystick([]), "\\(time, velocity\\) pairs"),
        (lambda: Joystick([(1.0, (math.nan, 0, 0))]), "a velocity at t = 1 s: finite numbers"),
        (lambda: Ramp(1.0, 0.0, begin=2.0, end=1.0), "ramp: expected finite values, and a begin before its end"),
        (lambda: Ramp(math.nan, 0.0, begin=0.0, end=1.0), "ramp: expected finite values"),
        (lambda: Hold((1.0, "x")), "reference Hold: expected a position: finite numbers"),
        (lambda: Saturation(0.0), "saturation: expected a limit: a finite number above zero, got 0"),
        (lambda: FilteredDerivative(0.0, 0.002), "filtered derivative: expected a pole in rad/s .* got 0"),
        (lambda: FilteredDerivative(10.0, 0.0), "filtered derivative: expected a period above zero"),
    ],
)
def test_a_block_says_what_it_cannot_use(make, text):
    with pytest.raises(InputError, match=text):
        make()


COMMANDS = [(0.2, (0.05, 0.0, -0.02)), (0.27, (-0.05, 0.03, 0.0)), (1.5, (0.0, 0.0, 0.0))]


def test_a_joysticks_position_is_the_integral_of_its_velocity():
    stick = Joystick(COMMANDS, acceleration=0.4, jerk=3.0)
    stick.reset(HOME)
    t, position, velocity, acceleration = sampled(stick, 3.0, T=2e-3)
    check_limits(t, position, velocity, acceleration, limits=(0.05, 0.4, 3.0))
    assert velocity[-1] == pytest.approx([0, 0, 0], abs=1e-12)
    # Simpson's rule would be exact but for the corners of the acceleration; the sum converges to the position.
    mean = (velocity[1:] + velocity[:-1]) / 2 - np.diff(acceleration, axis=0) * 2e-3 / 12
    assert position[0] + 2e-3 * mean.sum(axis=0) == pytest.approx(position[-1], abs=1e-8)


def test_a_command_that_lasts_moves_the_reference_by_speed_times_time():
    stick = Joystick([(0.5, (0.03, 0.0, 0.0)), (1.5, (0.0, 0.0, 0.0))])
    stick.reset(HOME)
    _, position, _, _ = sampled(stick, 3.0, T=2e-3)
    assert position[-1] == pytest.approx([0.03, 0.0, 0.4], abs=1e-12)


def test_a_joystick_reads_a_function_of_time_and_begins_where_the_machine_is():
    stick = Joystick(lambda t: np.array([0.02 * math.sin(2 * t), 0.0, 0.0]), acceleration=0.4, jerk=3.0)
    stick.reset([0.01, 0.02, 0.42])
    t, position, velocity, acceleration = sampled(stick, 3.0, T=2e-3)
    assert position[0].tolist() == [0.01, 0.02, 0.42]
    check_limits(t, position, velocity, acceleration, limits=(0.021, 0.4, 3.0))
    assert np.abs(velocity[:, 0] - 0.02 * np.sin(2 * t)).max() < 2e-3
    here = Joystick(COMMANDS, start=HOME)
    here.reset([9.0, 9.0, 9.0])
    assert here.step(0.0).position == list(HOME)


def test_a_joystick_for_other_axes_than_the_machines_is_refused_when_it_speaks():
    stick = Joystick(lambda t: (0.1,))
    stick.reset(HOME)
    with pytest.raises(InputError, match="joystick at t = 0 s: expected a velocity: 3 finite numbers"):
        stick.step(0.0)


def test_every_reference_starts_afresh_after_a_reset():
    for reference in (Joystick(COMMANDS), Trajectory(HOME, [(0.01, 0.0, 0.4)]), Hold()):
        assert isinstance(reference, Reference)
        runs = []
        for _ in range(2):
            reference.reset(HOME)
            runs.append([reference.step(0.01 * k) for k in range(100)])
        assert runs[0] == runs[1]


# ---------------------------------------------------------------- the delta robot's controllers


def test_small_matrices_agree_with_numpy():
    rng = np.random.default_rng(1)
    for _ in range(20):
        A, x = rng.normal(size=(3, 3)), rng.normal(size=3)
        rows = A.tolist()
        assert times(rows, x.tolist()) == pytest.approx(A @ x, abs=1e-12)
        assert transposed_times(rows, x.tolist()) == pytest.approx(A.T @ x, abs=1e-12)
        assert solve(rows, x.tolist()) == pytest.approx(np.linalg.solve(A, x), rel=1e-9)


@pytest.mark.parametrize("z", POSES)
def test_the_pose_is_found_from_the_motor_angles_alone(z):
    kinematics = DeltaKinematics()
    pose = kinematics.forward(angles(z))
    assert pose.z == pytest.approx(z, abs=1e-12)
    assert pose.q == pytest.approx(kinematics.inverse(z), abs=1e-12)


def test_the_pose_is_found_for_a_robot_of_another_size():
    small = {"l0": 0.08, "l1": 0.1, "l2": 0.2, "l3": 0.03}
    pose = DeltaKinematics(**small).forward(angles((0.02, -0.03, 0.2), **small))
    assert pose.z == pytest.approx((0.02, -0.03, 0.2), abs=1e-12)


@pytest.mark.parametrize("z", POSES)
def test_gravity_compensation_is_the_linear_solve_of_equation_21(robot, z):
    q = DeltaKinematics().inverse(z)
    terms = robot.terms(q, np.zeros(9))
    B = terms["B"][:, :3]
    solution = np.linalg.solve(np.hstack([B, terms["H"].T]), terms["b"])
    assert torques(GravityCompensation(), z) == pytest.approx(solution[:3], abs=1e-12)


@pytest.mark.parametrize("z", POSES[:2])
def test_the_robot_floats_under_gravity_compensation(z):
    result = simulate(robots.delta(z=z), until=1.0, controller=GravityCompensation())
    assert max(np.abs(result[name] - x).max() for name, x in zip(Z, z, strict=True)) < 1e-9


def theory(k_p, k_d, t):
    """e(t) of ë + k_d ė + k_p e = 0 from e = 1 at rest."""
    root = np.roots([1.0, k_d, k_p])
    c = np.linalg.solve(np.array([[1, 1], root]), [1.0, 0.0])
    return (c[0] * np.exp(root[0] * t) + c[1] * np.exp(root[1] * t)).real


def test_feedback_linearization_leaves_the_linear_error_equation_28():
    """With the exact model, small motions and ever faster sampling; each joint on its own."""
    start, k_p, k_d, misses = (0.0005, -0.0003, 0.4004), 25.0, 7.0, []
    for rate in (500, 1000, 2000):
        controller = FeedbackLinearization(Hold(HOME), k_p=k_p, k_d=k_d, period=Fraction(1, rate), pole=2.0 * rate)
        result = simulate(robots.delta(z=start), until=1.5, controller=controller)
        miss = 0.0
        for name, goal in zip(("y1", "y2", "y3"), angles(HOME), strict=True):
            e = result[name] - goal
            miss = max(miss, np.abs(e / e[0] - theory(k_p, k_d, result.t)).max())
        misses.append(miss)
    assert misses[0] < 0.05
    assert misses[1] / misses[0] == pytest.approx(0.5, abs=0.1)
    assert misses[2] / misses[1] == pytest.approx(0.5, abs=0.15)


def test_the_printed_inertia_is_about_half_and_so_is_its_torque():
    """At home, beside gravity, for a downward acceleration: all motors alike."""
    goal = Trajectory((0.0, 0.0, 0.4), [(0.0, 0.0, 0.42)])
    gravity = torques(GravityCompensation())
    exact, printed = (
        torques(FeedbackLinearization(goal, inertia=name), t=0.1) - gravity for name in ("exact", "printed")
    )
    pose = DeltaKinematics().follow(DeltaKinematics().inverse(HOME))
    assert np.linalg.solve(pose.inertia["exact"], exact) == pytest.approx(
        np.linalg.solve(pose.inertia["printed"], printed), rel=1e-9
    )
    assert pose.inertia["printed"][0, 0] / pose.inertia["exact"][0, 0] == pytest.approx(0.507, abs=1e-3)


@pytest.mark.parametrize("axis", range(3))
def test_the_flange_in_task_space_is_a_unit_double_integrator_in_every_direction(axis):
    start, k_d = list(HOME), 10.0
    start[axis] += 1e-3
    controller = TaskSpacePDFF(Hold(HOME), k_p=25.0, k_d=k_d, period=Fraction(1, 2000), pole=4000.0)
    result = simulate(robots.delta(z=start), until=1.0, controller=controller)
    e = np.array([result[z] - x for z, x in zip(Z, HOME, strict=True)])
    assert np.abs(e[axis] / 1e-3 - (1 + 5 * result.t) * np.exp(-5 * result.t)).max() < 0.01
    assert np.abs(np.delete(e, axis, axis=0)).max() < 1e-5


def test_stiffness_may_differ_from_direction_to_direction():
    """A flange pushed by f gives way by Λ⁻¹f / k_p, in each direction by its own k_p."""
    pose = DeltaKinematics().follow(DeltaKinematics().inverse(HOME))
    mobility = pose.J_c @ np.linalg.solve(pose.inertia["exact"], pose.J_c.T)
    k_p = np.array([50.0, 100.0, 200.0])
    controller = TaskSpacePDFF(Hold(HOME), k_p=k_p.tolist(), k_d=20.0)
    result = simulate(robots.delta(), until=4.0, controller=controller, inputs={"f1": 0.1, "f2": 0.1, "f3": 0.1})
    expected = mobility @ [0.1, 0.1, 0.1] / k_p
    assert [result[z][-1] - x for z, x in zip(Z, HOME, strict=True)] == pytest.approx(expected, rel=0.02)


def test_without_stiffness_along_one_direction_the_flange_drifts_at_the_speed_that_force_and_damping_allow():
    """Velocity control: f = k_d Λ v, which is what a soft touch pushes with."""
    pose = DeltaKinematics().follow(DeltaKinematics().inverse(HOME))
    mobility = pose.J_c @ np.linalg.solve(pose.inertia["exact"], pose.J_c.T)
    controller = TaskSpacePDFF(Hold(HOME), k_p=(0.0, 100.0, 100.0), k_d=20.0)
    result = simulate(robots.delta(), until=3.0, controller=controller, inputs={"f1": 0.04})
    slope = np.polyfit(result.t[result.t > 1], result["z1"][result.t > 1], 1)[0]
    assert slope == pytest.approx(mobility[0, 0] * 0.04 / 20.0, rel=0.02)
    assert np.abs(result["z3"] - 0.4).max() < 1e-4


def test_an_impedance_gives_way_by_force_over_stiffness():
    controller = Impedance(Hold(HOME), stiffness=(200.0, 400.0, 800.0), damping=30.0)
    result = simulate(robots.delta(), until=4.0, controller=controller, inputs={"f1": 1.0, "f2": -1.0, "f3": 2.0})
    assert [result[z][-1] - x for z, x in zip(Z, HOME, strict=True)] == pytest.approx([5e-3, -2.5e-3, 2.5e-3], rel=1e-3)


def test_an_impedance_swings_at_the_frequency_of_the_robots_own_inertia():
    pose = DeltaKinematics().follow(DeltaKinematics().inverse(HOME))
    mobility = pose.J_c @ np.linalg.solve(pose.inertia["exact"], pose.J_c.T)
    controller = Impedance(Hold(HOME), stiffness=100.0, damping=0.0, period=Fraction(1, 4000))
    result = simulate(robots.delta(z=(1e-3, 0.0, 0.4)), until=2.0, controller=controller)
    z, t = result["z1"], result.t
    k = np.nonzero(z[:-1] * z[1:] < 0)[0]
    zeros = t[k] - z[k] * (t[k + 1] - t[k]) / (z[k + 1] - z[k])
    period = 2 * np.mean(np.diff(zeros))
    assert period == pytest.approx(2 * math.pi / math.sqrt(100.0 * mobility[0, 0]), rel=2e-3)


def test_an_impedance_follows_a_reference_with_acceleration_feedforward():
    path = Trajectory(HOME, [(0.03, 0.0, 0.4)])
    result = simulate(robots.delta(), until=1.0, controller=Impedance(path, stiffness=300.0, damping=30.0))
    expected = [path.at(t).position[0] for t in result.t]
    assert np.abs(result["z1"] - expected).max() < 5e-4


CONTROLLERS = {
    "gravity": lambda **k: GravityCompensation(**k),
    "feedback linearization": lambda **k: FeedbackLinearization(Hold((0.03, 0.0, 0.42)), k_p=400, k_d=40, **k),
    "task space": lambda **k: TaskSpacePDFF(Hold((0.03, 0.0, 0.42)), k_p=400, k_d=40, **k),
    "impedance": lambda **k: Impedance(Hold((0.03, 0.0, 0.42)), stiffness=500, damping=50, **k),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_keeps_the_protocol_and_its_limit(name):
    controller = CONTROLLERS[name](limit=0.3)
    assert isinstance(controller, Controller)
    assert controller.period == Fraction(1, 500)
    assert controller.limit == 0.3
    assert np.abs(torques(controller)).max() == 0.3
    assert CONTROLLERS[name]().limit == 2.4


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("limit", [0.0, -2.4, math.inf, math.nan, "strong"])
def test_a_limit_that_is_none_is_refused(name, limit):
    with pytest.raises(InputError, match=r"controller \w+: expected a limit: a finite number above zero"):
        CONTROLLERS[name](limit=limit)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_asks_for_motor_angles_and_a_period(name):
    with pytest.raises(InputError, match="expected a measurement with y1, y2 and y3, the motor angles"):
        CONTROLLERS[name]().reset(namedtuple("Measurement", "x")(0.0))
    with pytest.raises(InputError, match="expected a period above zero"):
        CONTROLLERS[name](period=0)
    assert CONTROLLERS[name](period=0.002).period == Fraction(1, 500)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_gives_the_same_run_twice(name):
    controller = CONTROLLERS[name]()
    first, second = (simulate(robots.delta(), until=0.2, controller=controller) for _ in range(2))
    for signal in (*Z, *U):
        assert np.array_equal(first[signal], second[signal])


def test_a_controller_may_believe_in_another_robot_than_it_drives():
    heavy = torques(GravityCompensation(robot=DeltaKinematics(m1=1.0, m2=0.24, m3=0.7)))
    assert heavy == pytest.approx(2 * torques(GravityCompensation()), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FeedbackLinearization(HOME), "feedback linearization: expected a reference, got .* Give Hold"),
        (lambda: TaskSpacePDFF(Hold), "controller TaskSpacePDFF: expected a reference"),
        (lambda: Impedance(None, stiffness=1, damping=1), "impedance controller: expected a reference, got None"),
        (
            lambda: GravityCompensation(robot={"m3": 0.4}),
            "GravityCompensation: expected the robot it believes to drive",
        ),
        (lambda: FeedbackLinearization(Hold(), k_p=0.0), "gains above zero, .* got k_p = 0, k_d = 0.25. The paper has"),
        (lambda: FeedbackLinearization(Hold(), k_d=-1.0), "gains above zero, .* got k_p = 1, k_d = -1"),
        (lambda: FeedbackLinearization(Hold(), inertia="exakt"), "known inertia, got 'exakt'. Did you mean 'exact'"),
        (lambda: TaskSpacePDFF(Hold(), k_p=1.0, k_d=0.25), "axis z1 at t = 0 s: expected 0 <= k_p <= k_d²"),
        (lambda: TaskSpacePDFF(Hold(), k_p=(1.0, 2.0)), "one k_p for all axes, or one for each of z1, z2, z3, got 2"),
        (
            lambda: Impedance(Hold(), stiffness=(1, 2, -3), damping=1),
            "axis z3: expected a stiffness of zero or more, got -3",
        ),
        (lambda: Impedance(Hold(), stiffness=1, damping=(1, 2)), "damping: 3 finite numbers, .* got \\(1, 2\\)"),
        (lambda: Impedance(Hold(), stiffness=math.nan, damping=1), "stiffness: 3 finite numbers"),
    ],
)
def test_a_controller_says_what_it_cannot_use(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_a_gain_that_leaves_the_criterion_stops_the_run_and_names_the_direction():
    controller = TaskSpacePDFF(Hold(), k_p=(100.0, 100.0, lambda t: 100.0 + 1e4 * t), k_d=20.0)
    with pytest.warns(ImpingeWarning, match="stopped early"):
        result = simulate(robots.delta(), until=0.1, controller=controller)
    assert not result.ok
    assert result.t[-1] == pytest.approx(0.032)
    assert "controller TaskSpacePDFF gave up at t = 0.032 s: PDFF controller, axis z3 at t = 0.032 s" in result.reason
    assert "expected 0 <= k_p <= k_d²" in result.reason


def test_an_encoder_rounds_and_leaves_what_is_round():
    encoder = Encoder(22)
    once = encoder.step([0.5, -1.234567, 3.0])
    assert encoder.step(once) == once
    assert max(abs(a - b) for a, b in zip(once, [0.5, -1.234567, 3.0], strict=True)) <= encoder.resolution / 2
    for bits in (0, 41, 2.0, True, "22"):
        with pytest.raises(InputError, match="encoder: expected a whole number of bits, 1 to 40"):
            Encoder(bits)


def test_a_stretched_arm_is_an_error_and_not_a_torque_without_end():
    with pytest.raises(InputError, match="control Jacobian: expected a pose from which the flange can move"):
        solve([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1e-9]], [1.0, 1.0, 1.0])


@pytest.mark.parametrize("period", [0, -1, "x"])
def test_a_lead_compensator_has_a_period_above_zero(period):
    with pytest.raises(InputError, match="lead compensator: expected a period above zero"):
        Lead(1.0, 10.0).sampled(period)


def test_gains_may_be_arrays():
    one = Impedance(Hold(), stiffness=np.array([1.0, 2.0, 3.0]), damping=np.full(3, 4.0))
    assert (one.stiffness, one.damping) == ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0])
    TaskSpacePDFF(Hold(), k_p=np.array([1.0, 2.0, 3.0]), k_d=np.full(3, 4.0))
