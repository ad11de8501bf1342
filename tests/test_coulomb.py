"""Contacts with exact Coulomb friction in one time step: closed forms, the law itself, stacks, heaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coulomb_problems import (
    GRAVITY,
    Run,
    Touch,
    arch,
    balls,
    box_on_incline,
    heap,
    loose_pile,
    rigid,
    scatter,
    stack,
    wall,
)
from impinge.compile import Struct, ask, jit
from impinge.contact.coulomb import NO_ROOM, SOLVED, UNSOLVED, allocate, solve, worst_contacts
from impinge.contact.coulomb.pivoting import pivot
from impinge.contact.coulomb.problem import pivots_of
from impinge.errors import InputError

UP = np.array([0.0, 0.0, 1.0])


def check_law(run, bound=1e-11):
    """The law, word by word, with the velocities that follow from the impulses by the masses alone."""
    problem = run.problem
    nc = problem.count[0]
    v = problem.free.copy()
    D = v.shape[1]
    for c in range(nc):
        for side, body in enumerate(problem.body[c]):
            if body >= 0:
                rows = problem.J[c, :, side * D : (side + 1) * D]
                v[body] += np.linalg.solve(problem.mass[body], rows.T @ problem.impulse[c])
    scale = max(run.work.residual[1], 1e-12)  # zero if nothing approaches
    np.testing.assert_allclose(v, problem.v, rtol=0, atol=bound * np.abs(problem.free).max(initial=scale))
    u, p, mu = run.rates()[:nc], problem.impulse[:nc], problem.mu[:nc]
    force = max(np.abs(p).max(initial=0.0), 1e-300)
    slip, friction = np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(p[:, 1:], axis=1)
    assert (p[:, 0] >= 0.0).all()
    assert (u[:, 0] >= -bound * scale).all()
    assert (np.minimum(u[:, 0] / scale, p[:, 0] / force) <= bound).all()
    assert (friction <= mu * p[:, 0] * (1 + 1e-12) + bound * force).all()
    # Friction takes as much power as it can: where it does not, there is hardly any slip or hardly any friction.
    lost = mu * p[:, 0] * slip + (p[:, 1:] * u[:, 1:]).sum(axis=1)
    assert (lost <= 10 * bound * scale * force).all()


def energy(problem, v):
    return 0.5 * np.einsum("bi,bij,bj->", v, problem.mass, v)


# One contact: closed forms.


def test_a_ball_that_falls_on_the_ground_stops():
    run = Run(*balls([[0, 0, 0.5]], [0.0, 0.0, -2.0], 0.5))
    assert run() == SOLVED
    np.testing.assert_allclose(run.problem.impulse, [[2.0, 0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(run.problem.v, 0.0, atol=1e-15)


def test_a_ball_that_leaves_is_not_touched():
    run = Run(*balls([[0, 0, 0.5]], [1.0, 0.0, 2.0], 0.5))
    run.problem.impulse[:] = 7.0  # a wrong first guess
    assert run() == SOLVED
    assert not run.problem.impulse.any()
    np.testing.assert_array_equal(run.problem.v, run.problem.free)


def test_a_ball_with_much_friction_rolls():
    """Sticking takes 2/7 of the momentum along the ground: 5/7 of the speed is left."""
    run = Run(*balls([[0, 0, 0.5]], [0.7, 0.0, -2.0], 0.5))
    assert run() == SOLVED
    np.testing.assert_allclose(run.problem.v[0], [0.5, 0.0, 0.0, 0.0, 1.0, 0.0], atol=1e-14)


def test_a_ball_with_little_friction_slides():
    run = Run(*balls([[0, 0, 0.5]], [3.0, 4.0, -1.0], 0.1))
    assert run() == SOLVED
    np.testing.assert_allclose(run.problem.v[0, :3], [3.0 - 0.06, 4.0 - 0.08, 0.0], atol=1e-14)


def test_a_gap_closes_just_within_the_step():
    problem, work = balls([[0, 0, 0.5]], [0.0, 0.0, -1.0], 0.5)
    problem.bias[0, 0] = 0.25  # gap over step
    run = Run(problem, work)
    assert run() == SOLVED
    np.testing.assert_allclose(problem.v[0, 2], -0.25, atol=1e-15)


def test_a_belt_takes_a_ball_along():
    problem, work = balls([[0, 0, 0.5]], [0.0, 0.0, -1.0], 0.1)
    problem.bias[0, 1] = -5.0
    run = Run(problem, work)
    assert run() == SOLVED
    along = problem.J[0, 1, :3]
    np.testing.assert_allclose(problem.v[0, :3], 0.1 * along, atol=1e-14)


@given(st.integers(0, 10**6), st.floats(0.0, 2.0))
@settings(max_examples=100, deadline=None)
def test_a_single_contact_of_any_body_obeys_the_law(seed, mu):
    run = Run(*scatter(1, seed, mu))
    assert run() == SOLVED
    check_law(run)


# Many contacts.


@given(st.integers(2, 30), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_random_contacts_obey_the_law_and_lose_energy(count, seed):
    run = Run(*scatter(count, seed))
    assert run() == SOLVED
    check_law(run)
    assert energy(run.problem, run.problem.v) <= energy(run.problem, run.problem.free) * (1 + 1e-13)


@pytest.mark.parametrize(("angle", "bound"), [(0.1, 1e-13), (0.3, 1e-13), (np.arctan(0.5) - 1e-6, 1e-12)])
def test_a_box_on_a_slope_below_the_angle_of_friction_stays(angle, bound):
    run = Run(*box_on_incline(angle, 0.5))
    assert run() == SOLVED
    assert np.abs(run.problem.v).max() < bound


@pytest.mark.parametrize("speed", [(0.0, 0.0), (1.0, 0.0)])
def test_a_box_on_a_steep_slope_slides_at_the_right_acceleration(speed):
    angle, mu, step = 0.6, 0.5, 1e-3
    run = Run(*box_on_incline(angle, mu, speed, step))
    assert run() == SOLVED
    gained = GRAVITY * (np.sin(angle) - mu * np.cos(angle)) * step
    np.testing.assert_allclose(run.problem.v[0], [speed[0] + gained, 0, 0, 0, 0, 0], atol=1e-13)


def test_a_box_that_slides_across_a_slope_is_braked_against_its_motion():
    run = Run(*box_on_incline(0.3, 0.5, (0.3, 0.4), 1e-3))
    assert run() == SOLVED
    check_law(run)
    push = run.problem.v[0, :2] - run.problem.free[0, :2]
    v = run.problem.v[0, :2]
    assert push @ v == pytest.approx(-np.linalg.norm(push) * np.linalg.norm(v), rel=1e-6)


def test_a_stack_of_ten_boxes_rests():
    run = Run(*stack(10))
    assert run(1e-13) == SOLVED
    assert np.abs(run.problem.v).max() < 1e-13
    assert run.problem.impulse[:4, 0].sum() == pytest.approx(10 * GRAVITY * 1e-3, rel=1e-12)


@pytest.mark.parametrize("masses", [[1.0, 1000.0] * 5, [1.0] * 9 + [1000.0], [1000.0] + [1.0] * 9])
def test_a_stack_of_very_different_masses_rests(masses):
    """A light box carries a heavy one: rounding of that weight, over its own mass, is what the residual can reach."""
    run = Run(*stack(10, masses=masses))
    assert run() == SOLVED
    assert np.abs(run.problem.v).max() < 1e-12
    assert run.problem.impulse[:4, 0].sum() == pytest.approx(sum(masses) * GRAVITY * 1e-3, rel=1e-10)


def test_an_arch_stands_with_friction_and_falls_without():
    stands, falls = Run(*arch(mu=0.8)), Run(*arch(mu=0.05))
    assert (stands(1e-13), falls()) == (SOLVED, SOLVED)
    assert np.abs(stands.problem.v).max() < 1e-13
    assert np.abs(falls.problem.v).max() > 1e-3
    check_law(falls)


@pytest.mark.parametrize("mu", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_heaps_of_balls_are_solved(layers, mu):
    """On which sweeps alone never arrive."""
    run = Run(*heap(layers, mu))
    assert run() == SOLVED
    check_law(run)
    assert energy(run.problem, run.problem.v) < energy(run.problem, run.problem.free)


def test_a_wall_of_balls_is_solved():
    run = Run(*wall(8, 8))
    assert run() == SOLVED
    check_law(run)


def test_a_pile_of_balls_is_solved():
    run = Run(*loose_pile(60))
    assert run.problem.count[0] > 100
    assert run() == SOLVED
    check_law(run)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_larger_piles_are_solved(seed):
    run = Run(*loose_pile(120, 0.1 * seed, seed))
    assert run() == SOLVED
    check_law(run)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.38, 0.5])
def test_a_regular_heap_of_six_layers_is_solved(mu):
    run = Run(*heap(6, mu))
    assert run() == SOLVED
    check_law(run)


def widened(problem, D):
    """The same problem with room for D degrees of freedom in each block, of which nothing uses those beyond six."""
    nc, nb, n = int(problem.count[0]), len(problem.free), problem.free.shape[1]
    wide, work = allocate(nc, nb, D)
    wide.count[0], wide.size[:] = nc, n
    for name in ("body", "bias", "mu"):
        getattr(wide, name)[:] = getattr(problem, name)[:nc]
    for side in range(2):
        wide.J[:, :, side * D : side * D + n] = problem.J[:nc, :, side * n : side * n + n]
    wide.mass[:, :n, :n], wide.inverse[:, :n, :n], wide.free[:, :n] = problem.mass, problem.inverse, problem.free
    return wide, work


@pytest.mark.parametrize("tolerance", [1e-12, 1e-2])
@given(count=st.integers(2, 25), mu=st.floats(0.0, 1.0), seed=st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_blocks_of_six_are_solved_as_wider_ones_are(tolerance, count, mu, seed):
    """What is compiled for six, in vectors, and what is compiled for any number do the same."""
    run = Run(*scatter(count, seed, mu))
    wide = Run(*widened(run.problem, 8))
    assert run(tolerance) == wide(tolerance)
    scale = np.abs(run.problem.free).max()
    near = 1e-9 if tolerance < 1e-6 else 20 * tolerance
    np.testing.assert_allclose(wide.problem.v[:, :6], run.problem.v, rtol=0, atol=near * scale)
    np.testing.assert_array_equal(wide.problem.v[:, 6:], 0.0)
    if tolerance < 1e-6:
        check_law(run)


# What is given twice, or not at all.


def test_the_same_contact_five_times_moves_bodies_as_one_does():
    once = Run(*box_on_incline(0.6, 0.5, (0.3, 0.4)))
    touches = [Touch(0, -1, np.array([x, y, -0.05]), UP) for x in (-0.1, 0.1) for y in (-0.1, 0.1)] * 5
    many = Run(
        *rigid(np.zeros((1, 3)), [1.0], [once.problem.mass[0, 3:, 3:]], once.problem.free, touches, once.problem.mu[0])
    )
    assert (once(), many()) == (SOLVED, SOLVED)
    np.testing.assert_allclose(many.problem.v, once.problem.v, atol=1e-12)


def test_contacts_of_what_cannot_move_do_nothing():
    problem, _ = balls([[0, 0, 0.5]], [0.0, 0.0, -2.0], 0.5)
    larger, room = allocate(4, 2)
    larger.count[0] = 4
    for name in ("body", "J", "mu"):
        getattr(larger, name)[:1] = getattr(problem, name)
    larger.free[0], larger.mass[0], larger.inverse[0] = problem.free[0], problem.mass[0], problem.inverse[0]
    larger.body[1] = (-1, -1)
    larger.body[2] = (0, 1)  # with rows of zeros
    larger.body[3] = (-1, -1)
    larger.bias[1:, 0] = -1.0  # closing, and nothing can be done about it
    larger.impulse[1:] = 3.0
    larger.mu[1:] = 0.5
    run = Run(larger, room)
    assert run() == SOLVED
    np.testing.assert_allclose(larger.impulse[0], [2.0, 0.0, 0.0], atol=1e-14)
    assert not larger.impulse[1:].any()
    assert np.isfinite(larger.v).all()


def test_a_contact_of_a_block_with_itself_is_one_of_relative_motion():
    """Two fingers in one block of two degrees of freedom: what closes stops, their mean goes on."""
    problem, work = allocate(1, 1, D=2)
    problem.count[0] = 1
    problem.body[0] = (0, 0)
    problem.J[0, 0] = [1.0, 0.0, 0.0, -1.0]
    problem.free[0] = [-1.0, 3.0]
    run = Run(problem, work)
    assert run() == SOLVED
    np.testing.assert_allclose(problem.v[0], [1.0, 1.0], atol=1e-14)


def test_blocks_of_other_sizes_are_solved_too():
    """The same scene in blocks of eight with two degrees of freedom that nothing touches."""
    small = Run(*stack(3))
    problem, work = allocate(12, 3, D=8)
    given_ = small.problem
    problem.count[0] = 12
    for name in ("body", "bias", "mu"):
        getattr(problem, name)[:] = getattr(given_, name)
    problem.J[:, :, :6], problem.J[:, :, 8:14] = given_.J[:, :, :6], given_.J[:, :, 6:]
    for name in ("mass", "inverse"):
        getattr(problem, name)[:, :6, :6] = getattr(given_, name)
    problem.free[:, :6], problem.free[:, 0] = given_.free, 0.05
    problem.size[:] = 6
    given_.free[:, 0] = 0.05
    large = Run(problem, work)
    assert (small(), large()) == (SOLVED, SOLVED)
    np.testing.assert_allclose(problem.v[:, :6], given_.v, atol=1e-13)


def test_no_contact_is_a_problem_too():
    problem, work = allocate(3, 2)
    problem.free[:] = 1.0
    assert Run(problem, work)() == SOLVED
    np.testing.assert_array_equal(problem.v, 1.0)


def test_what_cannot_be_satisfied_is_reported_with_its_contacts():
    """A ball between two plates that close in on it, beside one that only falls."""
    touches = [
        Touch(0, -1, np.array([0.0, 0.0, -0.5]), UP, -1.0),
        Touch(0, -1, np.array([0.0, 0.0, 0.5]), -UP, -1.0),
        Touch(1, -1, np.array([3.0, 0.0, -0.5]), UP),
    ]
    free = [[0.0] * 6, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]]
    run = Run(*rigid(np.array([[0.0] * 3, [3.0, 0, 0]]), [1.0, 1.0], [0.1, 0.1], free, touches, 0.5))
    assert run(1e-6) == UNSOLVED
    assert set(worst_contacts(run.problem, 2)) == {0, 1}
    assert run.work.residual[0] > 0.1
    assert run.work.counts[5] == 1
    np.testing.assert_allclose(run.problem.v[1], 0.0, atol=1e-9)


# How it is called.


def test_a_solution_is_recognized_without_iterations():
    run = Run(*heap(3, 0.5))
    assert run() == SOLVED
    v, impulse = run.problem.v.copy(), run.problem.impulse.copy()
    assert run() == SOLVED
    assert not run.work.counts[:4].any()
    np.testing.assert_array_equal(run.problem.impulse, impulse)
    np.testing.assert_array_equal(run.problem.v, v)


def test_islands_are_solved_each_for_itself():
    """Two columns far from each other: their contacts do not mix, whatever their order."""
    at = [[9.0 * x, 0.0, 0.5 + z] for z in range(3) for x in range(2)]
    both, one = Run(*balls(at, [0.1, 0.0, -1.0], 0.5)), Run(*balls(at[::2], [0.1, 0.0, -1.0], 0.5))
    assert (both(), one()) == (SOLVED, SOLVED)
    assert both.work.counts[4] == 2
    np.testing.assert_allclose(both.problem.v[::2], one.problem.v, atol=1e-12)


def test_too_little_room_is_said_and_can_be_had():
    problem, work = heap(3, 0.5)
    work = work._replace(row=work.row[:2].copy(), lower=work.lower[:2].copy(), upper=work.upper[:2].copy())
    packed = Struct(problem), Struct(work)
    assert solve(packed[0].address, packed[1].address, 1e-12, 0.0) == NO_ROOM
    assert work.need[0] > 2
    run = Run(problem, work)
    assert run() == SOLVED
    check_law(run)


@jit
def _twice(address, problem, work, tolerance):
    return ask(address, (problem, work, tolerance, tolerance)) + ask(address, (problem, work, tolerance, tolerance))


def test_hot_loops_call_it_by_address():
    run = Run(*stack(3))
    assert _twice(solve.address, *run.packed, 1e-12) == 2 * SOLVED
    assert np.abs(run.problem.v).max() < 1e-12


def test_a_negative_room_is_refused():
    with pytest.raises(InputError, match="zero or more"):
        allocate(-1, 1)


def one_block(rng, nc, slips, facets=0):
    """A random problem of one block of six velocities whose contacts have so many slips, and M⁻¹Jᵀ."""
    problem, work = allocate(nc, 1)
    root = rng.normal(size=(6, 6))
    problem.mass[0] = root @ root.T + np.eye(6)
    problem.inverse[0] = np.linalg.inv(problem.mass[0])
    problem.count[0], problem.body[:, 0], problem.slips[:] = nc, 0, slips
    problem.J[:, : 1 + slips, :6] = rng.normal(size=(nc, 1 + slips, 6))
    problem.response[:, :, :6] = problem.J[:, :, :6] @ problem.inverse[0]
    problem.mu[:] = 0.4 if slips else 0.0
    problem.free[0] = rng.normal(size=6)
    return problem, work._replace(pivoting=pivots_of(nc, facets, solve.address))


@pytest.mark.parametrize("slips", [0, 1, 2])
@pytest.mark.parametrize("nc", [1, 2, 3])
def test_pivots_and_iterations_have_one_signature_and_find_the_same_motion(nc, slips):
    rng, found = np.random.default_rng(10 * nc + slips), 0
    for _ in range(40):
        problem, work = one_block(rng, nc, slips)
        packed = Struct(problem), Struct(work)
        ways = []
        for solver in (pivot, solve, pivot):  # the last one begins with who pushed, stuck and slid
            if solver(*(part.address for part in packed), 1e-12, 1e-6) == SOLVED:
                assert work.residual[3] <= 1e-12
                ways.append((problem.v.copy(), problem.impulse.copy()))
        if len(ways) == 3:  # with friction there need not be one motion, but there mostly is
            size = np.abs(problem.free).max()
            found += all(np.abs(v - ways[0][0]).max() <= 1e-9 * size for v, _ in ways)
            assert np.abs(ways[2][0] - ways[1][0]).max() <= 1e-9 * size or slips
    assert found >= (40 if slips == 0 else 37)


def test_a_polygon_of_friction_is_inside_the_disk_and_comes_near_to_it():
    lost = []
    for facets in (4, 8, 32):
        worst = 0.0
        for seed in range(20):
            problem, work = one_block(np.random.default_rng(seed), 1, 2, facets)
            exact, exact_work = one_block(np.random.default_rng(seed), 1, 2)
            assert pivot(Struct(problem).address, Struct(work).address, 1e-10, 1e-6) == SOLVED
            assert pivot(Struct(exact).address, Struct(exact_work).address, 1e-10, 1e-6) == SOLVED
            push, disk = problem.impulse[0], exact.impulse[0]
            assert np.hypot(*push[1:]) <= 0.4 * push[0] * (1 + 1e-12)
            worst = max(worst, np.abs(push - disk).max() / max(disk[0], 1e-300) if disk[0] > 0 else 0.0)
        lost.append(worst)
    assert lost[2] < 0.5 * lost[1] < 0.5 * lost[0]
