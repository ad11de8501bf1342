"""Linear complementarity problems: random families, brute force, linear programs, and contacts with friction."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from impinge import ImpingeError
from impinge.bench import lcp
from impinge.bench.systems import complementarity
from impinge.bench.table import INSTALL
from impinge.compile import Struct
from impinge.contact.lcp import residual, solve_lcp
from impinge.contact.lcp.lemke import RAY, SOLVED, UNLIMITED, lemke, lemke_workspace
from impinge.contact.lcp.solve import infeasibility
from impinge.errors import InputError, LcpError
from lcp_problems import FAMILIES, contact_scene, contact_space, impulses, rigid_contacts


def solved(A, b, room=0):
    """Status and z of `lemke`, in a work space full of what an earlier call might have left."""
    n = b.size
    work = lemke_workspace(n + room)
    for array in work:
        array.fill(-7 if array.dtype == np.int64 else np.nan)
    work.pivots[2] = UNLIMITED
    z = np.full(n, np.nan)
    return lemke(A, b, n, z, Struct(work)), z


def miss(A, b, z):
    """How far z is from a solution: signs and products, against the size of the terms."""
    w = A @ z + b
    size = max(1.0, np.abs(b).max(), (np.abs(A) @ np.abs(z)).max())
    return max((-z).max(), (-w).max(), np.abs(z * w).max()) / size


def feasible(A, b):
    return linprog(np.zeros(b.size), A_ub=-A, b_ub=b, bounds=(0, None)).status == 0


def brute_force(A, b):
    """The first complementary basis whose solution has the right signs, over all of them."""
    n = b.size
    for basis in itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1)):
        z = np.zeros(n)
        if basis:
            block = A[np.ix_(basis, basis)]
            if np.linalg.cond(block) > 1e10:
                continue
            z[list(basis)] = np.linalg.solve(block, -b[list(basis)])
        if (z >= -1e-9).all() and (A @ z + b >= -1e-9).all():
            return z
    return None


# Lemke's method.


def check_family(family, seeds):
    for seed in seeds:
        A, b = FAMILIES[family](np.random.default_rng(seed))
        status, z = solved(A, b)
        if status == SOLVED:
            assert miss(A, b, z) < 1e-9, f"seed {seed}"
            assert residual(A, b, z) < 1e-9, f"seed {seed}"
        else:
            assert family == "tied", f"seed {seed}"  # the others have solutions by construction
            assert status == RAY, f"seed {seed}"
            assert infeasibility(A, b)[0] > 1e-3, f"seed {seed}"


@pytest.mark.parametrize("family", FAMILIES)
def test_random_problems_are_solved_or_proved_infeasible(family):
    check_family(family, range(100_000, 100_125))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_thousands_of_random_problems_are_solved_or_proved_infeasible(family):
    check_family(family, range(2500))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_positive_definite_problems_have_the_solution_that_brute_force_finds(seed, n, symmetric):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(n, n + 2))
    skew = rng.normal(size=(n, n))
    A = J @ J.T + 0.01 * np.eye(n) + (0.0 if symmetric else 1.0) * (skew - skew.T)
    b = rng.normal(size=n)
    status, z = solved(A, b)
    assert status == SOLVED
    np.testing.assert_allclose(z, brute_force(A, b), rtol=1e-6, atol=1e-8)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_semidefinite_problems_are_solved_exactly_if_brute_force_solves_them(seed, n):
    rng = np.random.default_rng(seed)
    J = rng.integers(-2, 3, size=(n, int(rng.integers(1, n + 1)))).astype(float)
    A, b = J @ J.T, rng.integers(-2, 3, size=n).astype(float)
    status, z = solved(A, b)
    assert (status == SOLVED) == (brute_force(A, b) is not None) == feasible(A, b)
    if status == SOLVED:
        assert miss(A, b, z) < 1e-12


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 3))
def test_scaling_and_permuting_a_definite_problem_does_the_same_to_its_solution(seed, n, decades):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(n, n + 3))
    A, b = J @ J.T, rng.normal(size=n)
    _, z = solved(A, b)
    rows, columns = 10.0 ** rng.uniform(-decades, decades, size=(2, n))
    order = rng.permutation(n)
    changed = np.ascontiguousarray((rows[:, None] * A * columns)[np.ix_(order, order)])
    status, other = solved(changed, (rows * b)[order])
    assert status == SOLVED
    np.testing.assert_allclose(other * columns[order], z[order], rtol=1e-7, atol=1e-10)


def test_problems_in_which_every_ratio_is_tied_are_solved():
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    b = -np.ones(3)
    status, z = solved(A, b)
    assert status == SOLVED
    np.testing.assert_allclose(z, 1 / 3, rtol=1e-14)
    for n in range(2, 30):
        status, z = solved(np.ones((n, n)), -np.ones(n))
        assert status == SOLVED
        assert z.sum() == pytest.approx(1.0, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_rows_that_contradict_each_other_are_recognized(seed, n):
    """Jᵀy = 0 with y > 0 and bᵀy < 0: no motion satisfies all rows, whatever the impulses."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(0.5, 2.0, size=n)
    J = rng.normal(size=(n, int(rng.integers(1, n))))
    J -= np.outer(y, y @ J) / (y @ y)
    b = rng.normal(size=n)
    b -= y * (y @ b + 1.0) / (y @ y)
    A = J @ J.T
    status, z = solved(A, b)
    assert status == RAY
    assert (z == 0.0).all()
    assert not feasible(A, b)


@pytest.mark.parametrize("far", [1.0, 1e4, 1e8])
def test_a_row_far_from_its_bound_costs_the_others_no_accuracy(far):
    """Small rates beside a gap that is wide open, as gap/step makes it."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        J = rng.normal(size=(6, 8))
        A, b = J @ J.T, 1e-3 * rng.normal(size=6)
        b[5] = far
        status, z = solved(A, b)
        assert status == SOLVED
        np.testing.assert_allclose(z, brute_force(A, b), rtol=1e-10, atol=1e-13)


def test_what_is_not_a_number_gives_no_solution_and_no_crash():
    A = 2 * np.eye(4) + 1
    for sign, bad in itertools.product((-1.0, 1.0), (np.nan, -np.inf)):
        status, z = solved(A, np.array([sign, sign, bad, sign]))
        assert status not in (SOLVED, RAY)
        assert (z == 0.0).all()
    for bad in (np.nan, np.inf):
        status, z = solved(np.where(np.eye(4) > 0, bad, A), -np.ones(4))
        assert status != SOLVED
        assert (z == 0.0).all()


def test_a_row_infinitely_far_from_its_bound_is_never_reached():
    _, z = solved(np.eye(2) + 1.0, np.array([-1.0, np.inf]))
    assert z.tolist() == [0.5, 0.0]


def test_nothing_of_earlier_calls_and_no_spare_room_changes_a_bit():
    for family, seed in itertools.product(FAMILIES, range(5)):
        A, b = FAMILIES[family](np.random.default_rng(seed))
        large = np.full((b.size + 3, b.size + 3), np.nan)
        large[: b.size, : b.size] = A
        first, second = solved(A, b), solved(large, b, room=3)
        assert first[0] == second[0]
        assert np.array_equal(first[1], second[1])


# Contact impulses.


def test_a_particle_that_lands_obliquely_slides_or_sticks():
    """Mass 2, speed 3 downwards and u along the floor: p_n = 6, friction takes 2u or all that μ allows."""
    W, slips = np.eye(2) / 2, np.array([0, 1])
    for u, mu, expected in ((1.0, 0.5, -2.0), (-1.0, 0.5, 2.0), (5.0, 0.5, -3.0), (-5.0, 0.2, 1.2), (5.0, 0.0, 0.0)):
        status, p, _ = impulses(W, np.array([-3.0, u]), np.array([mu]), slips)
        assert status == SOLVED
        np.testing.assert_allclose(p, [6.0, expected], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("facets", [4, 8, 16, 64])
def test_more_facets_come_nearer_to_the_disk(facets):
    angles = np.linspace(0.1, 1.4, 7)
    for angle in angles:
        direction = np.array([np.cos(angle), np.sin(angle)])
        rate = np.array([-3.0, *(10.0 * direction)])
        status, p, _ = impulses(np.eye(3) / 2, rate, np.array([0.5]), np.array([0, 2]), facets)
        assert status == SOLVED
        assert p[0] == pytest.approx(6.0)
        drag = -p[1:] @ direction / 3.0  # of what the disk would give
        assert np.cos(np.pi / facets) - 1e-12 <= drag <= 1 + 1e-12


@pytest.mark.parametrize("nc", [2, 4, 12])
def test_planar_contacts_obey_signorini_and_coulomb(nc):
    for seed in range(40):
        W, rate, mu, slips = contact_scene(np.random.default_rng(seed), nc, spatial=False)
        status, p, _ = impulses(W, rate, mu, slips)
        assert status == SOLVED
        after = W @ p + rate
        normal, slide, push, friction = after[:nc], after[nc:], p[:nc], p[nc:]
        size = max(1.0, (np.abs(W) @ np.abs(p)).max())
        assert min(push.min(), normal.min()) > -1e-10 * size
        assert np.abs(push * normal).max() < 1e-9 * size
        assert (np.abs(friction) - mu * push).max() < 1e-10 * size
        assert (friction * slide).max() < 1e-9 * size  # never along the motion
        assert np.abs(slide * (mu * push - np.abs(friction))).max() < 1e-9 * size  # all of it, if it slides


def test_friction_only_takes_energy():
    for seed, spatial in itertools.product(range(40), (False, True)):
        rng = np.random.default_rng(seed)
        pairs, rows, minv = rigid_contacts(rng, 6, spatial)
        W, rate = contact_space(pairs, rows, minv, rng.normal(size=minv.shape[:2]))
        status, p, _ = impulses(W, rate, rng.uniform(0, 1, size=6), np.arange(7) * rows.shape[1] - np.arange(7))
        assert status == SOLVED
        assert p @ rate + p @ W @ p / 2 <= 1e-10 * max(1.0, np.abs(p).max())


def test_contacts_without_friction_or_slips_are_the_plain_problem():
    W, rate, mu, slips = contact_scene(np.random.default_rng(3), 4, spatial=True)
    block = np.ascontiguousarray(W[:4, :4])
    _, z = solved(block, rate[:4])
    status, p, _ = impulses(W, rate, np.zeros(4), slips)
    assert status == SOLVED
    assert np.array_equal(p, [*z, *np.zeros(8)])
    status, p, _ = impulses(block, rate[:4], mu, np.zeros(5, dtype=np.int64))
    assert np.array_equal(p, z)


def test_contacts_with_no_one_and_two_slips_go_together():
    """Three particles that do not act on each other: each gets what it gets alone."""
    W, mu, slips = np.eye(6) / 2, np.array([0.5, 0.5, 0.5]), np.array([0, 0, 1, 3])
    rate = np.array([-1.0, -3.0, -3.0, 5.0, 0.0, -10.0])
    status, p, _ = impulses(W, rate, mu, slips)
    assert status == SOLVED
    np.testing.assert_allclose(p, [2.0, 6.0, 6.0, -3.0, 0.0, 3.0], atol=1e-14)


# Gauss–Seidel.


def test_sweeps_find_what_pivots_find():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 15))
        J = rng.normal(size=(n, 2 * n))
        A, b = J @ J.T, rng.normal(size=n)
        direct, swept = solve_lcp(A, b), solve_lcp(A, b, "gauss-seidel", tolerance=1e-12)
        np.testing.assert_allclose(swept.z, direct.z, atol=1e-9 * max(1.0, direct.z.max()))
        np.testing.assert_allclose(swept.w, direct.w, atol=1e-9)


# From Python: checked results, or an error.


def test_a_solution_comes_with_its_residual():
    A, b = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, 1.0])
    found = solve_lcp(A, b)
    np.testing.assert_allclose(found.z, [2.5, 0.0])
    np.testing.assert_allclose(found.w, [0.0, 3.5])
    assert found.residual <= 1e-15
    assert found.steps == 2
    assert residual(A, b, np.array([2.5, 1e-3])) > 1e-4
    assert residual(A, b, np.array([2.5 - 1e-3, 0.0])) > 1e-4
    assert residual(A, b, np.array([2.5, -1e-3])) > 1e-4


def test_nothing_is_a_problem_too():
    for solver in ("lemke", "gauss-seidel"):
        assert solve_lcp(np.zeros((0, 0)), np.zeros(0), solver).z.size == 0


@pytest.mark.parametrize("solver", ["lemke", "gauss-seidel"])
def test_an_infeasible_problem_is_an_error_that_names_the_rows(solver):
    """A bead between two walls that close in on it, and another one that is free."""
    J = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(LcpError, match=r"infeasible by 1 \(scaled\), at left, right\.") as caught:
        solve_lcp(J @ J.T, [-1.0, -1.0, -1.0], solver, names=["left", "right", "floor"], sweeps=100)
    assert caught.value.indices == (0, 1)
    assert caught.value.infeasible
    assert isinstance(caught.value, ImpingeError)


def test_a_feasible_problem_without_solution_is_not_called_infeasible():
    A, b = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([-1.0, -0.5])
    assert feasible(A, b)
    assert brute_force(A, b) is None
    with pytest.raises(LcpError, match="not converged, ended on a ray") as caught:
        solve_lcp(A, b)
    assert not caught.value.infeasible
    assert caught.value.residual > 0.1


def test_sweeps_that_do_not_suffice_are_an_error_that_says_how_far_and_where():
    J = np.tril(np.ones((30, 30)))
    A = J @ J.T
    with pytest.raises(LcpError, match=r"ended after 10 sweeps at residual .* largest at \d+") as caught:
        solve_lcp(A, -A @ np.arange(30), "gauss-seidel", sweeps=10)
    assert 1e-9 < caught.value.residual < 1


@pytest.mark.parametrize(
    ("A", "b", "options", "message"),
    [
        (np.eye(2), np.ones(3), {}, r"A of shape \(n, n\)"),
        (np.ones((2, 3)), np.ones(2), {}, r"A of shape \(2, 3\)"),
        (np.eye(2), np.ones((2, 1)), {}, r"b of shape \(2, 1\)"),
        (np.diag([1.0, np.nan]), np.ones(2), {}, "finite numbers"),
        (np.eye(2), np.array([1.0, np.inf]), {}, "finite numbers"),
        ([["a"]], [1.0], {}, "numbers"),
        (np.eye(2), np.ones(2), {"solver": "lemkee"}, "Did you mean 'lemke'"),
        (np.eye(2), np.ones(2), {"names": ["one"]}, "expected 2 names"),
        (np.array([[0.0]]), np.ones(1), {"solver": "gauss-seidel"}, "positive diagonal"),
        (np.array([[1.0, 1.0], [0.0, 1.0]]), np.ones(2), {"solver": "gauss-seidel"}, "symmetric"),
    ],
)
def test_bad_problems_are_input_errors(A, b, options, message):
    with pytest.raises(InputError, match=message):
        solve_lcp(A, b, **options)


# The benchmark.


def test_both_systems_solve_the_problems_of_the_benchmark_alike():
    pytest.importorskip("quantecon")
    A, b = complementarity.definite(8, 20)
    ours, theirs = complementarity.impinge_runner(A, b)(), complementarity.quantecon_runner(A, b)()
    assert lcp.worst_residual(A, b, ours) < 1e-14
    np.testing.assert_allclose(theirs, ours, atol=1e-9)
    A, b = complementarity.redundant(8, 20)
    assert lcp.worst_residual(A, b, complementarity.impinge_runner(A, b)()) < 1e-12


def test_the_claim_needs_quantecon_and_holds_at_every_size():
    ours = {("impinge", "definite", n): 1.0 for n in (4, 8)}
    assert lcp.verdict(ours) is None
    assert lcp.verdict(ours | {("quantecon", "definite", n): 1.0 for n in (4, 8)}) is True
    assert lcp.verdict(ours | {("quantecon", "definite", n): n / 5 for n in (4, 8)}) is False


def test_without_quantecon_there_is_a_row_that_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "quantecon", None)
    monkeypatch.setattr(lcp, "race", lambda contenders: dict.fromkeys(contenders, 1e-3))
    table = lcp.benchmark()
    assert table.met is None
    assert [row.note for row in table.rows if row.system == "quantecon"] == [INSTALL]
    assert all(row.error < 1e-12 for row in table.rows if row.system == "impinge")
