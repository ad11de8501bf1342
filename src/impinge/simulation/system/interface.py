"""What the event-driven simulator asks of what it simulates: a model, or a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.compile import Kernel
from impinge.model import Gap, Quantity, Spin

FloatArray = NDArray[np.float64]


class System(Protocol):
    """Coordinates, velocities, constraints and contacts by name, two kernels, and more; see `impinge.Model`."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def coordinates(self) -> Sequence[Quantity]: ...  # noqa: D102
    @property
    def velocities(self) -> Sequence[Quantity]: ...  # noqa: D102
    @property
    def spins(self) -> Sequence[Spin]: ...  # noqa: D102
    @property
    def constraints(self) -> tuple[Quantity, ...]: ...  # noqa: D102
    @property
    def gaps(self) -> tuple[Gap, ...]: ...  # noqa: D102
    @property
    def contacts(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def slips(self) -> tuple[tuple[int, str], ...]: ...  # noqa: D102
    @property
    def extents(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def inputs(self) -> Sequence[Quantity]: ...  # noqa: D102
    @property
    def input_places(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def outputs(self) -> Sequence[Quantity]: ...  # noqa: D102
    @property
    def dynamics(self) -> Kernel: ...  # noqa: D102
    @property
    def signals(self) -> Kernel: ...  # noqa: D102
    @property
    def steady(self) -> bool: ...  # noqa: D102
    def friction_at(self, p: ArrayLike) -> FloatArray: ...  # noqa: D102
