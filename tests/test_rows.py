"""Row forces: the linear algebra of contact space against numpy, for every kind of redundancy and scaling."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impinge.compile import Struct
from impinge.contact.rows import minimum_norm, pivoted_cholesky, row_forces, row_workspace


def agree(found, expected, rtol=0.0, atol=0.0):
    """As many numbers as expected (or one for all), and close to them."""
    alike = np.shape(expected) in ((), np.shape(found))
    return alike and np.allclose(found, expected, rtol=rtol, atol=atol)


def spoiled(n):
    """A work space full of what an earlier call might have left: NaN, and indices that are none."""
    fresh = row_workspace(n)
    for array in fresh:
        array.fill(-1 if array.dtype == np.int64 else np.nan)
    fresh.near[:] = 0.0  # what is given, not left
    fresh.L[:] = np.tril(fresh.L)
    return fresh


def decompose(A):
    n = A.shape[0]
    work = spoiled(n)
    rank = pivoted_cholesky(A, n, Struct(work))
    return rank, work.order, work.L


def solve(A, b):
    n = A.shape[0]
    x = np.full(n, np.nan)
    rank = minimum_norm(A, n, b, x, Struct(spoiled(n)))
    return x, rank


@st.composite
def problems(draw, spread=0, full=None):
    """Rows J of small integers times powers of two: then A = J Jᵀ is exact, and so is its rank.

    Returns J without its scales, the scales, and a right-hand side: consistent or not.
    """
    n = draw(st.integers(1, 6))
    columns = n + 2 if full else draw(st.integers(1, n + (full is None)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J = rng.integers(-3, 4, size=(n, columns)).astype(float)
    if full is not True:
        for _ in range(draw(st.integers(0, 2))):
            i, k = rng.integers(0, n, size=2)
            J[i] = draw(st.sampled_from([0.0, 1.0, -2.0])) * J[k]  # zero rows, duplicates, scaled duplicates
    scales = 2.0 ** rng.integers(-spread, spread + 1, size=n)
    consistent = draw(st.booleans())
    b = (J @ J.T) @ rng.integers(-3, 4, size=n) if consistent else rng.normal(size=n)
    return J, scales, b, consistent


def scaled(J, scales, b):
    rows = scales[:, None] * J
    return rows @ rows.T, scales * b


def rank_of(J):
    return np.linalg.matrix_rank(J)


# The factorization.


@settings(max_examples=200, deadline=None)
@given(problems(spread=20))
def test_the_factor_reproduces_the_matrix_and_reveals_its_rank(problem):
    J, scales, b, _ = problem
    A, _ = scaled(J, scales, b)
    kept = A.copy()
    rank, order, L = decompose(A)
    assert np.array_equal(A, kept)
    assert rank == rank_of(J)
    assert sorted(order) == list(range(len(b)))
    factor = np.tril(L[:, :rank])
    size = scales[order]
    error = (factor @ factor.T - A[np.ix_(order, order)]) / np.outer(size, size)
    assert np.abs(error).max(initial=0) <= 1e-12 * max(1.0, np.abs(J @ J.T).max(initial=0))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_first_rows_in_pivot_order_are_independent(problem):
    J, _, _, _ = problem
    rank, order, L = decompose(J @ J.T)
    assert rank_of(J[order[:rank]]) == rank if rank else not J.any()
    assert (np.diag(L)[:rank] > 0).all()


# The solution.


@settings(max_examples=200, deadline=None)
@given(problems(full=True))
def test_a_positive_definite_system_is_solved_as_numpy_solves_it(problem):
    J, _, b, _ = problem
    A = J @ J.T
    assume(rank_of(J) == len(b))
    x, rank = solve(A, b)
    assert rank == len(b)
    condition = np.linalg.cond(A)
    assert agree(x, np.linalg.solve(A, b), atol=1e-14 * condition * max(1e-300, np.abs(x).max()))


@settings(max_examples=300, deadline=None)
@given(problems(spread=3))
def test_a_singular_system_gets_the_least_squares_solution_of_smallest_norm(problem):
    J, scales, b, consistent = problem
    A, b = scaled(J, scales, b)
    x, rank = solve(A, b)
    assert rank == rank_of(J)
    half = np.linalg.pinv(scales[:, None] * J, rcond=1e-10)
    truth = half.T @ (half @ b)
    assert agree(x, truth, atol=1e-8 * max(1e-300, np.abs(truth).max()))
    if consistent:
        assert agree((A @ x - b) / scales, 0.0, atol=1e-9 * max(1e-300, np.abs(b / scales).max()))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_the_solution_is_that_of_lstsq(problem):
    J, _, b, _ = problem
    A = J @ J.T
    x, _ = solve(A, b)
    truth = np.linalg.lstsq(A, b, rcond=1e-10)[0]
    assert agree(x, truth, atol=1e-9 * max(1e-300, np.abs(truth).max()))


@settings(max_examples=200, deadline=None)
@given(problems(spread=20, full=True))
def test_scaling_the_rows_changes_no_bit_of_what_independent_rows_reach(problem):
    J, scales, b, _ = problem
    assume(rank_of(J) == len(b))
    plain, _ = solve(*scaled(J, np.ones_like(scales), b))
    x, _ = solve(*scaled(J, scales, b))
    assert np.array_equal(x * scales, plain)


def exact_solution(A, b):
    """A⁺ b in rational arithmetic: with A = C R of full rank, A⁺ = Rᵀ (R Rᵀ)⁻¹ (Cᵀ C)⁻¹ Cᵀ."""
    A, b = ([[Fraction(float(x)) for x in row] for row in M] for M in (A, b[:, None]))
    R, pivots = reduced(A)
    if not pivots:
        return np.zeros(len(b))
    C = [[row[k] for k in pivots] for row in A]
    y = solved(product(transposed(C), C), product(transposed(C), b))
    x = product(transposed(R), solved(product(R, transposed(R)), y))
    return np.array([float(row[0]) for row in x])


def transposed(M):
    return [list(column) for column in zip(*M, strict=True)]


def product(M, N):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in transposed(N)] for row in M]


def reduced(M):
    """The rows of the reduced echelon form that are not zero, and their pivots."""
    M, pivots = [list(row) for row in M], []
    for column in range(len(M[0])):
        r = len(pivots)
        k = next((k for k in range(r, len(M)) if M[k][column]), None)
        if k is None:
            continue
        M[r], M[k] = M[k], M[r]
        M[r] = [x / M[r][column] for x in M[r]]
        for k in range(len(M)):
            if k != r:
                M[k] = [x - M[k][column] * y for x, y in zip(M[k], M[r], strict=True)]
        pivots.append(column)
    return M[: len(pivots)], pivots


def solved(M, B):
    return [row[len(M) :] for row in reduced([[*row, *right] for row, right in zip(M, B, strict=True)])[0]]


@settings(max_examples=200, deadline=None)
@given(problems(spread=10, full=False))
def test_badly_scaled_redundant_rows_get_the_smallest_forces(problem):
    """Numpy's pseudo-inverse is too inexact here. What cannot be reached is ill-conditioned by nature."""
    J, scales, b, consistent = problem
    A, b = scaled(J, scales, b)
    x, _ = solve(A, b)
    truth = exact_solution(A, b)
    assert agree(x, truth, atol=(1e-7 if consistent else 1e-3) * max(1e-300, np.abs(truth).max()))


@settings(max_examples=500, deadline=None)
@given(problems(spread=20, full=False))
def test_very_badly_scaled_redundant_rows_reach_what_they_are_asked_for(problem):
    J, scales, b, consistent = problem
    A, b = scaled(J, scales, b)
    x, _ = solve(A, b)
    assert np.isfinite(x).all()
    if consistent:
        assert agree((A @ x - b) / scales, 0.0, atol=1e-6 * max(1e-300, np.abs(b / scales).max()))


@pytest.mark.parametrize("units", [1.0, 1e-3, 1e3, 1e-6, 1e6])
def test_one_row_written_three_times_in_other_units_is_still_one_row(units):
    """A sphere on a plane, its contact described three times: each copy carries its share, in its unit."""
    J = np.array([[1.0, 0.0], [units, 0.0], [1.0, 0.0], [0.0, units]])
    A = J @ J.T
    b = A @ np.array([1.0, 0.0, 0.0, 2.0])
    x, rank = solve(A, b)
    assert rank == 2
    assert agree(x[:3], J[:3, 0] / (2 + units**2), rtol=1e-6)
    assert agree(x[3], 2.0, rtol=1e-6)


def test_a_table_on_four_legs_shares_its_weight():
    """Four legs at the corners of a square table, three degrees of freedom, unit mass, off-center weight."""
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
    J = np.column_stack([np.ones(4), corners])
    weight = np.array([8.0, 2.0, -1.0])  # force and two moments
    A = J @ J.T
    forces, rank = solve(A, J @ weight)
    assert rank == 3
    assert agree(J.T @ forces, weight, rtol=1e-13)
    assert agree(forces, [2.25, 2.75, 1.25, 1.75], rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_rows_that_nothing_can_accelerate_get_no_force(n):
    x, rank = solve(np.zeros((n, n)), np.ones(n))
    assert rank == 0
    assert x.tolist() == [0.0] * n


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(problems(spread=20))
def test_many_badly_scaled_systems_are_solved_without_nan(problem):
    J, scales, b, consistent = problem
    A, b = scaled(J, scales, b)
    x, rank = solve(A, b)
    assert rank == rank_of(J)
    assert np.isfinite(x).all()
    if consistent:
        assert agree((A @ x - b) / scales, 0.0, atol=1e-6 * max(1e-300, np.abs(b / scales).max()))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(0, 6))
def test_rows_that_are_redundant_up_to_rounding_do_not_blow_up(seed, n, decades):
    """Rows of arbitrary real numbers, computed combinations among them: A is singular only nearly."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, n))
    J = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-decades / 2, decades / 2, size=n)[:, None]
    A = J @ J.T
    b = A @ rng.normal(size=n)
    x, found = solve(A, b)
    assert found <= rank
    assert np.isfinite(x).all()
    size = np.linalg.norm(J, axis=1)
    if found == rank:
        assert agree((A @ x - b) / size, 0.0, atol=1e-4 * np.abs(b / size).max())


# Forces of open and closed rows.


@st.composite
def contact_problems(draw):
    """Rows of a random mechanism: W = A M⁻¹ Aᵀ, drift, which are closed, and what they are asked for."""
    m, nv = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(m, nv))
    for _ in range(draw(st.integers(0, 2))):
        rows[rng.integers(0, m)] = draw(st.sampled_from([0.0, 1.0, 3.0])) * rows[rng.integers(0, m)]
    W = rows @ np.diag(rng.uniform(0.2, 3.0, size=nv)) @ rows.T
    closed = np.array(draw(st.lists(st.integers(0, 1), min_size=m, max_size=m)), dtype=np.int64)
    return (W + W.T) / 2, rng.normal(size=m), closed, rng.normal(size=m)


def forces(W, drift, closed, value, work):
    force = np.full(drift.size, np.nan)
    row_forces(np.ascontiguousarray(W), drift, closed, value, np.arange(drift.size), force, work)
    return force


@settings(max_examples=300, deadline=None)
@given(contact_problems())
def test_open_rows_have_their_force_and_closed_rows_their_acceleration(problem):
    W, drift, closed, value = problem
    is_open, shut = closed == 0, closed == 1
    force = forces(*problem, Struct(row_workspace(drift.size)))
    assert np.array_equal(force[is_open], value[is_open])
    block = W[np.ix_(shut, shut)]
    wanted = (value - drift - W[:, is_open] @ value[is_open])[shut]
    truth = np.linalg.pinv(block, rcond=1e-10, hermitian=True) @ wanted if shut.any() else np.zeros(0)
    spectrum = np.linalg.eigvalsh(block) if shut.any() else np.ones(1)
    assume(not ((spectrum > 1e-13 * spectrum.max()) & (spectrum < 1e-6 * spectrum.max())).any())
    assert agree(force[shut], truth, atol=1e-7 * (1 + np.abs(truth).max(initial=0)))
    if shut.any() and spectrum.min() > 1e-6 * spectrum.max():
        reached = W @ force + drift
        assert agree(reached[shut], value[shut], atol=1e-7 * (1 + np.abs(W).max() * np.abs(force).max()))


def test_closed_rows_make_up_for_what_open_rows_do():
    """Two coupled rows of unit masses: the open row pushes with 3, the closed one must stand still."""
    W = np.array([[2.0, 1.0], [1.0, 2.0]])
    force = forces(W, np.array([0.0, -4.0]), np.array([0, 1]), np.array([3.0, 0.0]), Struct(row_workspace(2)))
    assert force.tolist() == [3.0, 0.5]  # 1·3 + 2·λ − 4 = 0


def test_a_closed_row_that_nothing_can_accelerate_gets_no_force():
    W = np.diag([0.0, 2.0])
    both = forces(W, np.ones(2), np.array([1, 1]), np.zeros(2), Struct(row_workspace(2)))
    assert both[0] == 0.0
    assert agree(both[1], -0.5, rtol=1e-14)
    alone = forces(W, np.ones(2), np.array([1, 0]), np.zeros(2), Struct(row_workspace(2)))
    assert alone.tolist() == [0.0, 0.0]


def test_a_row_that_nothing_can_move_does_not_spoil_rows_in_other_units():
    """Two independent rows whose units are nine decades apart, and a third without effect."""
    rows = np.array([[2.0**-18], [2.0**10], [2.0**-19]]) * np.array([[1, 0, 1], [2, 3, 1], [0, 0, 0]])
    W, drift = rows @ rows.T, np.array([2.0**-18, 2.0**10, 0.0])
    force = forces(W, drift, np.ones(3, dtype=np.int64), np.zeros(3), Struct(row_workspace(3)))
    assert np.isfinite(force).all()
    assert agree((W @ force + drift)[:2] / drift[:2], 0.0, atol=1e-6)
    assert force[2] == 0.0


def test_a_model_without_rows_has_no_forces():
    nothing = np.zeros(0)
    assert forces(np.zeros((0, 0)), nothing, np.zeros(0, dtype=np.int64), nothing, Struct(row_workspace(0))).size == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(contact_problems(), min_size=1, max_size=4), contact_problems())
def test_nothing_of_earlier_calls_leaks_into_later_ones(earlier, problem):
    """The same bits come out of a fresh workspace, of a used one and of one full of NaN."""
    m = problem[1].size
    fresh = forces(*problem, Struct(row_workspace(m)))
    work = Struct(row_workspace(m))
    for other in earlier:
        if other[1].size == m:
            forces(*other, work)
    used = forces(*problem, work)
    assert np.array_equal(fresh, used)
    assert np.array_equal(fresh, forces(*problem, Struct(spoiled(m))))


@settings(max_examples=200, deadline=None)
@given(contact_problems(), st.floats(0, 6))
def test_forces_are_finite_however_rows_are_scaled(problem, decades):
    W, drift, closed, value = problem
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-decades, decades, size=drift.size)
    force = forces(scale[:, None] * W * scale, scale * drift, closed, value, Struct(row_workspace(drift.size)))
    assert np.isfinite(force).all()
