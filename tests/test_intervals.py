"""Bounds of expressions contain every value and every difference quotient, for every operation that kernels have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from impinge.compile import compile_bounds, compile_kernel
from impinge.compile.kernels.ir import _ARITHMETIC, _CALLS, _COMPARISON, _LOGIC

UNARY: dict[int, Callable[[Any], Any]] = {
    op: (lambda x, op=op: ca.SX.unary(op, x))
    for op in (
        *(op for op, (_, arity) in _CALLS.items() if arity == 1),
        *(ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV, ca.OP_NOT, ca.OP_SIGN),
    )
}
BINARY: dict[int, Callable[[Any, Any], Any]] = {
    op: (lambda x, y, op=op: ca.SX.binary(op, x, y))
    for op in (
        *_ARITHMETIC,
        *_COMPARISON,
        *_LOGIC,
        *(op for op, (_, arity) in _CALLS.items() if arity == 2 and op != ca.OP_CONSTPOW),
        ca.OP_IF_ELSE_ZERO,
    )
}
X, P = ca.SX.sym("x", 3), ca.SX.sym("p", 2)


def random_expression(rng: np.random.Generator, depth: int) -> Any:
    """Return a random expression of X and P."""
    kind = rng.random()
    if depth == 0 or kind < 0.08:
        leaf = rng.integers(6)
        if leaf < 3:
            return X[int(leaf)]
        return P[int(leaf) - 3] if leaf < 5 else ca.SX(float(np.round(rng.normal(), 2)))
    if kind < 0.15:
        condition = random_expression(rng, depth - 1) < random_expression(rng, depth - 1)
        return ca.if_else(condition, random_expression(rng, depth - 1), random_expression(rng, depth - 1))
    if kind < 0.22:
        return random_expression(rng, depth - 1) ** float(rng.choice([-2.0, -1.0, 0.5, 1.5, 2.0, 3.0, 4.0, -0.7]))
    if kind < 0.6:
        return UNARY[int(rng.choice(list(UNARY)))](random_expression(rng, depth - 1))
    op = int(rng.choice(list(BINARY)))
    return BINARY[op](random_expression(rng, depth - 1), random_expression(rng, depth - 1))


def check(expressions: list[Any], rng: np.random.Generator, boxes: int, points: int = 12) -> tuple[int, int]:
    """Walk random paths and compare; return how many values, and how many rates, had finite bounds.

    How far rounding moves a value is known from its bounds at that very point; a difference quotient is only known up
    to that.
    """
    outputs = {"f": ca.vertcat(*expressions)}
    plain = compile_kernel("plain", {"x": X, "p": P}, outputs)
    kernel = compile_bounds("bounds", {"x": X}, {"p": P}, outputs)

    def bounds(*box: Any) -> Any:
        return kernel(np.stack(box, axis=1), p)["f"].reshape(4, -1, order="F")

    known = rated = 0
    for _ in range(boxes):
        p, start = rng.normal(size=2), rng.normal(size=3) * 10.0 ** rng.uniform(-1, 1)
        speed = rng.normal(size=3) * 10.0 ** rng.uniform(-9, 1) * (rng.random(3) < 0.8)
        if rng.random() < 0.3:
            start = np.round(start)  # on kinks, jumps and poles
        theta = np.concatenate([[0.0, 1.0], rng.random(points - 2)])[:, None]
        where = start + theta * speed
        rates = np.diff(where, axis=0) / np.diff(theta, axis=0)
        low, high = rates.min(axis=0), rates.max(axis=0)
        box = where.min(axis=0), where.max(axis=0), low - 1e-15 * np.abs(low), high + 1e-15 * np.abs(high)
        lo, hi, least, most = found = bounds(*box)
        assert not np.isnan(found).any()
        values = np.array([plain(x, p)["f"] for x in where])
        assert (~np.isfinite(values) | ((values >= lo) & (values <= hi))).all()
        at = np.array([bounds(x, x, 0 * x, 0 * x)[:2] for x in where])
        with np.errstate(all="ignore"):
            first = (at[1:] - at[:-1, ::-1]) / np.diff(theta, axis=0)[:, None]
        nearest, farthest = first.min(axis=1), first.max(axis=1)
        sure = np.isfinite(nearest) & np.isfinite(farthest) & np.isfinite(values[1:]) & np.isfinite(values[:-1])
        slack = 1e-12 * (np.abs(nearest) + np.abs(farthest))
        assert (~sure | ((farthest + slack >= least) & (nearest - slack <= most))).all()
        known += int((np.isfinite(lo) & np.isfinite(hi)).sum())
        rated += int((np.isfinite(least) & np.isfinite(most)).sum())
    return known, rated


@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_every_operation_is_enclosed(op: int) -> None:
    rng = np.random.default_rng(op)
    of = UNARY if op in UNARY else BINARY
    arguments = [X[0], X[1]] if op in BINARY else [X[0]]
    narrow = [ca.tanh(x) for x in arguments]
    wide = [1.5 + x**2 for x in arguments]
    known, _ = check([of[op](*given) for given in (arguments, narrow, wide)], rng, 40)
    assert known > 0


def test_random_expressions_are_enclosed() -> None:
    rng = np.random.default_rng(1)
    known = 0
    for _ in range(12):
        known += check([random_expression(rng, int(rng.integers(1, 6))) for _ in range(10)], rng, 40)[0]
    assert known > 1000


@pytest.mark.slow
def test_many_random_expressions_are_enclosed() -> None:
    rng = np.random.default_rng(2)
    known = 0
    for _ in range(200):
        known += check([random_expression(rng, int(rng.integers(1, 7))) for _ in range(10)], rng, 150)[0]
    assert known > 100_000


def bounds_of(expression: Any, *intervals: tuple[float, ...]) -> Any:
    """Return the four numbers of an expression of X over intervals (lo, hi[, rate])."""
    box = [(x[0], x[1], *(2 * (x[2] if len(x) > 2 else 1.0,))) for x in (*intervals, *((0.0, 0.0),) * 3)][:3]
    return compile_bounds("bounds", {"x": X}, {"p": P}, {"f": expression})(box, np.zeros(2))["f"]


def test_bounds_of_smooth_functions_are_tight() -> None:
    """Over a short interval the excess is of second order in its width."""
    for expression in (ca.sin(X[0]), ca.exp(X[0]), ca.sqrt(X[0]), X[0] ** 3, 1 / X[0], ca.atan2(X[0], 2.0)):
        f = ca.Function("f", [X], [expression, ca.jacobian(expression, X[0])])
        for width in (1e-2, 1e-4):
            lo, hi, least, most = bounds_of(expression, (1.0, 1.0 + width))
            ends = sorted(float(f(ca.vertcat(x, 0, 0))[0]) for x in (1.0, 1.0 + width))
            slope = float(f(ca.vertcat(1.0, 0, 0))[1])
            assert 0.0 <= ends[0] - lo <= 3.0 * width**2 + 1e-13
            assert 0.0 <= hi - ends[1] <= 3.0 * width**2 + 1e-13
            assert max(abs(least - slope), abs(most - slope)) <= 10.0 * width


def test_squares_and_norms_are_never_below_zero() -> None:
    assert bounds_of(X[0] ** 2, (-1.0, 1.0))[0] == 0.0
    assert bounds_of(ca.norm_2(X[:2]), (-1.0, 1.0), (-1.0, 1.0))[0] == 0.0
    assert bounds_of(ca.exp(X[0]), (-800.0, -799.0))[0] == 0.0


def test_a_kink_has_both_slopes_and_a_jump_none() -> None:
    assert bounds_of(ca.fabs(X[0]), (-1.0, 1.0))[2:] == pytest.approx([-1.0, 1.0])
    assert bounds_of(ca.fmax(X[0], 2 * X[1]), (0.0, 1.0, 3.0), (0.0, 1.0, 4.0))[2:] == pytest.approx([3.0, 8.0])
    assert np.isinf(bounds_of(ca.floor(X[0]), (0.5, 1.5))[2:]).all()
    assert (bounds_of(ca.floor(X[0]), (0.5, 0.75)) == 0.0).all()
    assert np.isinf(bounds_of(ca.if_else(X[0] > 0, X[0], 1.0), (-1.0, 1.0))[2:]).all()


def test_one_branch_or_the_other_not_their_sum() -> None:
    lo, hi = bounds_of(ca.if_else(X[0] > 0, 5 + X[1], 7 - X[1]), (-1.0, 1.0), (0.0, 0.5))[:2]
    assert (lo, hi) == pytest.approx((5.0, 7.0))


@pytest.mark.parametrize(
    "expression",
    [ca.sqrt(X[0]), ca.log(X[0]), ca.asin(X[0] + 1.5), 1 / X[0], ca.tan(X[0] + np.pi / 2), X[0] ** 0.3, X[0] ** X[0]],
)
def test_what_may_leave_its_domain_is_unknown(expression: Any) -> None:
    """Also behind fmin, fmax and comparisons, which would hide that a value is not a number."""
    assert np.isinf(bounds_of(expression, (-1.0, 1.0))).any()
    for of in (ca.fmin, ca.fmax):
        for other in (1.0, -1.0):
            found = bounds_of(of(expression, other), (-1.0, 1.0))
            assert np.isinf(found[:2]).any()
            assert np.isinf(found[2:]).all()
    assert (bounds_of(expression > 2.0, (-1.0, 1.0))[:2] == [0.0, 1.0]).all()


def test_an_angle_across_its_cut_may_be_any() -> None:
    lo, hi, least, most = bounds_of(ca.atan2(X[0], X[1]), (-0.1, 0.1), (-2.0, -1.0))
    assert (lo, hi) == pytest.approx((-np.pi, np.pi))
    assert np.isinf([least, most]).all()
    assert bounds_of(ca.atan2(X[0], X[1]), (0.1, 0.2), (-2.0, -1.0))[0] > 2.9


def test_what_is_not_a_number_is_unknown() -> None:
    f = compile_bounds("f", {"x": X}, {"p": P}, {"f": X[0] + P[0]})
    assert np.isinf(f([(np.nan, np.nan, 0.0, 0.0)] * 3, [0.0, 0.0])["f"][:2]).all()
    assert np.isinf(f([(0.0, 1.0, 0.0, 0.0)] * 3, [np.nan, 0.0])["f"][:2]).all()
    assert np.isinf(bounds_of(X[0] * 1e300, (1e300, 1e301))[1])
