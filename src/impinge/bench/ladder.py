"""Work against precision: from runs at several tolerances to the time that one error costs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import exp, log
from typing import NamedTuple


class Rung(NamedTuple):
    """One run of a solver: the error it achieved, and the time it took, s."""

    error: float
    seconds: float


def front(rungs: Iterable[Rung]) -> list[Rung]:
    """Return the rungs that no other beats in both error and time, from the loosest to the tightest."""
    kept: list[Rung] = []
    for rung in sorted(rungs, key=lambda r: (r.error, r.seconds)):
        if not kept or rung.seconds < kept[-1].seconds:
            kept.append(rung)
    return kept[::-1]


def time_at(error: float, rungs: Iterable[Rung]) -> float | None:
    """Return the time a solver needs for an error, on straight lines through its rungs in log-log scale.

    A solver whose loosest rung is more accurate already needs that rung's time. The result is None if no
    rung is as accurate.

    Example:
        >>> round(time_at(1e-5, [Rung(1e-4, 1.0), Rung(1e-6, 4.0)]), 6)
        2.0
    """
    steps = front(rungs)
    if not steps or steps[-1].error > error:
        return None
    if steps[0].error <= error:
        return steps[0].seconds
    loose, tight = next(pair for pair in pairwise(steps) if pair[1].error <= error)
    if tight.error <= 0.0:
        return tight.seconds
    share = log(loose.error / error) / log(loose.error / tight.error)
    return exp((1 - share) * log(loose.seconds) + share * log(tight.seconds))
