"""Why contacts have no impulses: they contradict each other, friction jams them, or none were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from impinge.contact.lcp.solve import infeasibility

# Gaps contradict each other if they miss by more than this of the largest rate: what the linear program resolves.
_CONTRADICTION = 1e-7


def why_unsolved(W: Any, rate: Any, names: Sequence[str], rubs: Sequence[bool]) -> str:
    """Return which contacts have no impulses, and why, as the end of a sentence.

    A linear program decides whether any velocity keeps all gaps from closing: without friction, impulses exist just
    then.

    Args:
        W: Delassus matrix of the gaps, the constraints eliminated (nc, nc).
        rate: what the gaps lack of the rates they must have (nc,).
        names: of the contacts.
        rubs: whether each has slips.

    Example:
        >>> why_unsolved([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], ["left", "right"], [False, False])
        'contacts left, right have no solution: no velocity keeps all of these gaps from closing; check what moves them'
    """
    A, b = np.array(W, dtype=float), np.array(rate, dtype=float)
    if np.isfinite(A).all() and np.isfinite(b).all():
        distance, involved = infeasibility(A, b)
        if distance > _CONTRADICTION:
            some = ", ".join(names[i] for i in involved)
            many = f"contacts {some} have" if involved.size > 1 else f"contact {some} has"
            gaps = "all of these gaps" if involved.size > 1 else "this gap"
            return f"{many} no solution: no velocity keeps {gaps} from closing; check what moves them"
    listed = f"contacts {', '.join(names)}"
    if any(rubs):
        holding = ", ".join(name for name, rub in zip(names, rubs, strict=True) if rub)
        return f"{listed} have no solution: friction at {holding} jams them; lower it"
    return f"{listed} were not found, though there are some; check the scales of masses and lengths"
