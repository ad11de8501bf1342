"""Values with their first and second rates along a motion: of numbers three numbers, of vectors 3 × 3 (rate, axis).

By products and roots of these the gap of two features is differentiated twice exactly, whatever the features.
"""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import Any

from impinge.compile import jit
from impinge.simulation.scenes.contacts.vectors import cross, turned

Number = tuple[float, float, float]


@jit
def carry_point(motion: Any, f: int, place: Any, arm: Any, scratch: Any, out: Any) -> None:
    """Write how a place given in a frame's axes moves; ``arm`` becomes where it is from the frame's origin."""
    w = motion.spin[f]
    turned(motion.axes[f], place, arm)
    for i in range(3):
        out[0, i] = motion.at[f, i] + arm[i]
    cross(w, arm, scratch)
    for i in range(3):
        out[1, i] = motion.velocity[f, i] + scratch[i]
    cross(w, scratch, scratch)
    for i in range(3):
        out[2, i] = motion.push[f, i] + scratch[i]
    cross(motion.twist[f], arm, scratch)
    for i in range(3):
        out[2, i] += scratch[i]


@jit
def carry_direction(motion: Any, f: int, direction: Any, scratch: Any, out: Any) -> None:
    """Write how a direction given in a frame's axes turns."""
    w = motion.spin[f]
    turned(motion.axes[f], direction, out[0])
    cross(w, out[0], out[1])
    cross(w, out[1], out[2])
    cross(motion.twist[f], out[0], scratch)
    for i in range(3):
        out[2, i] += scratch[i]


@jit
def times(x: Number, y: Number) -> Number:
    """Return the product of two numbers that move."""
    return x[0] * y[0], x[1] * y[0] + x[0] * y[1], x[2] * y[0] + 2.0 * x[1] * y[1] + x[0] * y[2]


@jit
def inverse(x: Number) -> Number:
    """Return one over a number that moves."""
    y = 1.0 / x[0]
    first = -x[1] * y * y
    return y, first, (-x[2] * y - 2.0 * x[1] * first) * y


@jit
def root(x: Number) -> Number:
    """Return the square root of a number that moves."""
    r = sqrt(x[0])
    first = 0.5 * x[1] / r
    return r, first, (0.5 * x[2] - first * first) / r


@jit
def plus(x: Number, y: Number) -> Number:
    """Return the sum of two numbers that move."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@jit
def minus(x: Number, y: Number) -> Number:
    """Return the difference of two numbers that move."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@jit
def fixed(x: float) -> Number:
    """Return a number that does not move."""
    return x, 0.0, 0.0


@jit
def cosine_and_sine(x: Number) -> tuple[Number, Number]:
    """Return cosine and sine of an angle that moves."""
    c, s = cos(x[0]), sin(x[0])
    square = x[1] * x[1]
    return (c, -s * x[1], -c * square - s * x[2]), (s, c * x[1], -s * square + c * x[2])


@jit
def inner(a: Any, b: Any) -> Number:
    """Return the scalar product of two vectors that move."""
    zero = a[0, 0] * b[0, 0] + a[0, 1] * b[0, 1] + a[0, 2] * b[0, 2]
    one = two = 0.0
    for i in range(3):
        one += a[1, i] * b[0, i] + a[0, i] * b[1, i]
        two += a[2, i] * b[0, i] + 2.0 * a[1, i] * b[1, i] + a[0, i] * b[2, i]
    return zero, one, two


@jit
def outer(a: Any, b: Any, out: Any) -> None:
    """Write the vector product of two vectors that move; out is neither of them."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[0, i] = a[0, j] * b[0, k] - a[0, k] * b[0, j]
        out[1, i] = a[1, j] * b[0, k] - a[1, k] * b[0, j] + a[0, j] * b[1, k] - a[0, k] * b[1, j]
        out[2, i] = a[2, j] * b[0, k] - a[2, k] * b[0, j] + a[0, j] * b[2, k] - a[0, k] * b[2, j]
        out[2, i] += 2.0 * (a[1, j] * b[1, k] - a[1, k] * b[1, j])


@jit
def scaled(x: Number, a: Any, out: Any) -> None:
    """Write a multiple of a vector that moves; out may be that vector."""
    for i in range(3):
        u, v, w = a[0, i], a[1, i], a[2, i]
        out[0, i] = x[0] * u
        out[1, i] = x[1] * u + x[0] * v
        out[2, i] = x[2] * u + 2.0 * x[1] * v + x[0] * w


@jit
def add(a: Any, x: Number, b: Any, out: Any) -> None:
    """Write a + x b; out may be one of the two."""
    for i in range(3):
        u, v, w = b[0, i], b[1, i], b[2, i]
        out[2, i] = a[2, i] + x[2] * u + 2.0 * x[1] * v + x[0] * w
        out[1, i] = a[1, i] + x[1] * u + x[0] * v
        out[0, i] = a[0, i] + x[0] * u


@jit
def unit(a: Any, out: Any) -> Number:
    """Write a vector that moves scaled to length one, and return its length; out may be that vector."""
    size = root(inner(a, a))
    scaled(inverse(size), a, out)
    return size
