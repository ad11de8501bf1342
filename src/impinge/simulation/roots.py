"""Roots: isolated on a polynomial, so that none inside a step is lost, then located on the real function.

A polynomial of degree 5 on [0, 1] in Bernstein form lies in the hull of its coefficients. No sign change
among them: no root. One: exactly one root. More: halve the interval and look again.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from impinge.compile import jit

DEGREE = 5
NODES = np.linspace(0.0, 1.0, DEGREE + 1)
_BASIS = np.array([[comb(DEGREE, j) * x**j * (1 - x) ** (DEGREE - j) for j in range(DEGREE + 1)] for x in NODES])
TO_BERNSTEIN = np.linalg.inv(_BASIS)

# No Bernstein coefficient is farther from the values than this many times their spread.
_STRETCH = float(np.abs(TO_BERNSTEIN).sum(axis=1).max())

_DEPTH = 32
NONE = 2.0  # later than the end of any step


def root_workspace() -> Any:
    """Allocate the stack of `first_fall`: coefficients, left end and width of pending intervals."""
    return np.zeros((_DEPTH + 2, DEGREE + 3))


@jit
def _value(b: Any, x: float) -> float:
    """Evaluate a Bernstein polynomial of degree 5."""
    y = 1.0 - x
    return y**5 * b[0] + x * (
        5 * y**4 * b[1] + x * (10 * y**3 * b[2] + x * (10 * y * y * b[3] + x * (5 * y * b[4] + x * b[5])))
    )


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
def first_fall(values: Any, stack: Any) -> float:
    """Return where a function first falls through zero on [0, 1], or NONE.

    Args:
        values: the function at the six equidistant `NODES`.
        stack: from `root_workspace`.

    A function that is zero or negative at 0 must first have become positive.
    """
    lowest, highest = values[0], values[0]
    for k in range(1, DEGREE + 1):
        lowest, highest = min(lowest, values[k]), max(highest, values[k])
    if lowest > _STRETCH * (highest - lowest):
        return NONE
    for k in range(DEGREE + 1):
        total = 0.0
        for j in range(DEGREE + 1):
            total += TO_BERNSTEIN[k, j] * values[j]
        stack[0, k] = total
        lowest = min(lowest, total)
    stack[0, 0], stack[0, DEGREE] = values[0], values[DEGREE]
    if lowest > 0.0:
        return NONE
    stack[0, DEGREE + 1], stack[0, DEGREE + 2] = 0.0, 1.0
    top, before = 1, 0
    while top > 0:
        top -= 1
        b = stack[top]
        left, width = b[DEGREE + 1], b[DEGREE + 2]
        changes, first, last = _signs(b)
        if before > 0 and first < 0:
            return left
        if changes == 1 and first > 0:
            low, high = 0.0, 1.0
            for _ in range(50):
                middle = 0.5 * (low + high)
                if _value(b, middle) > 0.0:
                    low = middle
                else:
                    high = middle
            return left + width * low
        if changes >= 2 and top < _DEPTH and width > 2.0 ** (-_DEPTH):
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
