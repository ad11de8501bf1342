"""A linear model that knows where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import control
import numpy as np
from numpy.typing import ArrayLike, NDArray


class LinearModel(control.StateSpace):  # type: ignore[misc]
    """A named `control.StateSpace` of a mechanism in one mode; everything python-control does, it does.

    Attributes:
        mode: the contacts that are closed.
        form: ``"reduced"`` (states on the constraint manifold) or ``"stabilized"`` (all states).
        redundant: the closed rows that depend on each other (``gap_…``, ``slip_…``, ``residual_…``): without one of
            them the motion would be the same.
        constraint_poles: the poles that constraint stabilization adds; none in the reduced form.
        state_units, input_units, output_units: one for each name.
    """

    def __init__(
        self,
        matrices: Sequence[ArrayLike],
        *,
        mode: Sequence[str] = (),
        form: str = "reduced",
        redundant: Sequence[str] = (),
        constraint_poles: ArrayLike = (),
        units: tuple[Sequence[str], Sequence[str], Sequence[str]] = ((), (), ()),
        **names: Any,
    ) -> None:
        super().__init__(*matrices, remove_useless_states=False, **names)
        self.mode = tuple(mode)
        self.form = form
        self.redundant = tuple(redundant)
        self.constraint_poles: NDArray[np.complex128] = np.array(constraint_poles, dtype=complex)
        self.state_units, self.input_units, self.output_units = (tuple(kind) for kind in units)
