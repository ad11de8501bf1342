"""Roots: isolated on a polynomial, so that none inside a step is lost, then located on the real function.

A polynomial of degree 6 on [0, 1] in Bernstein form lies in the hull of its coefficients. No sign change
among them: no root. One: exactly one root. More: halve the interval and look again.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from impinge.compile import jit

DEGREE = 6
NODES = np.linspace(0.0, 1.0, DEGREE + 1)
_BINOMIAL = np.array([float(comb(DEGREE, j)) for j in range(DEGREE + 1)])
_BASIS = np.array([[comb(DEGREE, j) * x**j * (1 - x) ** (DEGREE - j) for j in range(DEGREE + 1)] for x in NODES])
TO_BERNSTEIN = np.linalg.inv(_BASIS)

# No Bernstein coefficient is farther from the values than this many times their spread.
_STRETCH = float(np.abs(TO_BERNSTEIN).sum(axis=1).max())

_DEPTH = 32
# How near a root of a polynomial is found, as a share of the interval; a value that stands for one just beside zero.
_NEAR, _TINY = 2.0**-46, 1e-300
NONE = 2.0  # later than the end of any step


def root_workspace() -> Any:
    """Allocate the stack of `next_fall`: coefficients, left end and width of pending intervals."""
    return np.zeros((_DEPTH + 2, DEGREE + 3))


@jit
def value_at(b: Any, x: float) -> float:
    """Evaluate a Bernstein polynomial at x."""
    y, power, total = 1.0 - x, 1.0, 0.0
    for k in range(DEGREE + 1):
        total = total * y + _BINOMIAL[k] * power * b[k]
        power *= x
    return total


@jit
def stays_positive(values: Any) -> bool:
    """Tell whether a polynomial, given at the `NODES`, is so flat and so far above zero that it has no root."""
    lowest, highest = values[0], values[0]
    for k in range(1, DEGREE + 1):
        lowest, highest = min(lowest, values[k]), max(highest, values[k])
    return lowest > _STRETCH * (highest - lowest)


@jit
def to_bernstein(values: Any, b: Any) -> bool:
    """Write the Bernstein coefficients of a polynomial given at the `NODES`; tell whether it may have a root."""
    lowest = values[0]
    for k in range(DEGREE + 1):
        total = 0.0
        for j in range(DEGREE + 1):
            total += TO_BERNSTEIN[k, j] * values[j]
        b[k] = total
        lowest = min(lowest, total)
    b[0], b[DEGREE] = values[0], values[DEGREE]
    return not min(lowest, values[DEGREE]) > 0.0


@jit
def _signs(b: Any) -> tuple[int, int, int]:
    """Return the number of sign changes, and the first and the last sign that is not zero."""
    changes, first, last = 0, 0, 0
    for k in range(DEGREE + 1):
        sign = 1 if b[k] > 0.0 else (-1 if b[k] < 0.0 else 0)
        if sign != 0:
            if first == 0:
                first = sign
            elif sign != last:
                changes += 1
            last = sign
    return changes, first, last


@jit
def next_guess(a: float, fa: float, b: float, fb: float, c: float, fc: float) -> float:
    """Return the next point of Chandrupatla's method between a and b, as a fraction from a to b.

    T. R. Chandrupatla, Advances in Engineering Software 28 (1997) 145–149: inverse quadratic
    interpolation through a, b and the previous point c where that is safe, bisection elsewhere.
    """
    if fc in (fa, fb):
        return 0.5
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
        return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return 0.5


@jit
def _only_fall(b: Any) -> float:
    """Return where a polynomial falls through zero whose coefficients change their sign once, just before it."""
    low, high = 0.0, 1.0
    p, fp, q, fq = 0.0, max(b[0], _TINY), 1.0, min(b[DEGREE], -_TINY)
    fraction = fp / (fp - fq)
    for _ in range(100):
        least = _NEAR / (high - low)
        if least >= 0.5:
            break
        x = p + min(max(fraction, least), 1.0 - least) * (q - p)
        if not low < x < high:
            x = 0.5 * (low + high)
        f = value_at(b, x)
        if f > 0.0:
            low = x
        else:
            high = x
        if (f > 0.0) == (fp > 0.0):
            r, fr = p, fp
        else:
            r, fr, q, fq = q, fq, p, fp
        p, fp = x, f
        fraction = next_guess(p, fp, q, fq, r, fr)
    return low


@jit
def next_fall(coefficients: Any, after: float, stack: Any) -> float:
    """Return where a polynomial first falls through zero behind a place in [0, 1], or NONE.

    Args:
        coefficients: of the Bernstein polynomial.
        after: only falls beyond this count; below zero: all.
        stack: from `root_workspace`.

    A function that is zero or negative at 0 must first have become positive.
    """
    for k in range(DEGREE + 1):
        stack[0, k] = coefficients[k]
    stack[0, DEGREE + 1], stack[0, DEGREE + 2] = 0.0, 1.0
    top, before = 1, 0
    while top > 0:
        top -= 1
        b = stack[top]
        left, width = b[DEGREE + 1], b[DEGREE + 2]
        changes, first, last = _signs(b)
        if before > 0 and first < 0 and left > after:
            return left
        if changes == 1 and first > 0:
            low = _only_fall(b)
            if left + width * low > after:
                return left + width * low
        elif changes >= 2 and top < _DEPTH and width > 2.0 ** (-_DEPTH):
            # De Casteljau: the left half goes on top of the stack, what remains is the right half.
            other = stack[top + 1]
            for k in range(DEGREE + 1):
                other[k] = b[0]
                for j in range(DEGREE - k):
                    b[j] = 0.5 * (b[j] + b[j + 1])
            other[DEGREE + 1], other[DEGREE + 2] = left, 0.5 * width
            b[DEGREE + 1], b[DEGREE + 2] = left + 0.5 * width, 0.5 * width
            top += 2
            continue
        if last != 0:
            before = last
    return NONE
