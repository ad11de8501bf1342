"""What a run asks of a model beside what every `System` has; `SceneModel` answers the same for a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from impinge.compile import Kernel, prepare
from impinge.contact.law import Law
from impinge.model import Model
from impinge.simulation.check import check_start
from impinge.simulation.locate.proof import Proof, proof_of
from impinge.simulation.locate.prove import prove
from impinge.simulation.locate.trace import bound, trace

FloatArray = NDArray[np.float64]


class View(Protocol):
    """What a run asks of what it simulates.

    Attributes:
        tidy, exchange: addresses of what is set anew, and of what exchanges contacts, where a step begins; or 0.
        takes_over: of each contact, how deep it may be where it takes a load over, m; 0: it never does.
        arms: of each velocity, by how much it moves what touches: 1, or an arm in m for an angular velocity.
        airborne: the kernel while no contact is closed, if there is one.
    """

    @property
    def tidy(self) -> int: ...  # noqa: D102
    @property
    def exchange(self) -> int: ...  # noqa: D102
    @property
    def takes_over(self) -> FloatArray: ...  # noqa: D102
    @property
    def arms(self) -> FloatArray: ...  # noqa: D102
    @property
    def airborne(self) -> Kernel | None: ...  # noqa: D102
    def check_start(self, laws: Sequence[Law], q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> None: ...  # noqa: D102
    def start(self, q: FloatArray, v: FloatArray, u: FloatArray) -> None: ...  # noqa: D102
    def proof(self, p: FloatArray) -> Proof: ...  # noqa: D102
    def show(self, q: FloatArray) -> None: ...  # noqa: D102
    def why_lost(self, t: float, u: FloatArray) -> str: ...  # noqa: D102


class ModelView:
    """What a run asks of a model: its contacts stay those that they are, and its coordinates are shown as they are."""

    tidy = exchange = 0

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def takes_over(self) -> FloatArray:
        """Zero: its surfaces begin and end by themselves."""
        return np.zeros(len(self._model.gaps))

    @property
    def arms(self) -> FloatArray:
        """One for each velocity."""
        return np.ones(len(self._model.velocities))

    @property
    def airborne(self) -> Kernel | None:
        """The kernel while no contact is closed, where constraints are then solved in it."""
        return self._model.flight if self._model.constraints else None

    def check_start(self, laws: Sequence[Law], q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> None:
        """Raise what is wrong with the start of a run."""
        check_start(self._model, laws, 0.0, q, v, u, p)

    def start(self, q: FloatArray, v: FloatArray, u: FloatArray) -> None:
        """Nothing begins but the run."""

    def proof(self, p: FloatArray) -> Proof:
        """Return how its gaps are bounded along a step."""
        prepare((prove, trace, bound))
        return proof_of(self._model, p, prove.address, trace.address, bound.address)

    def show(self, q: FloatArray) -> None:
        """Leave rows of coordinates as they are."""

    def why_lost(self, t: float, u: FloatArray) -> str:
        """Return nothing: what is wrong with a model the loop itself can say."""
        return ""
