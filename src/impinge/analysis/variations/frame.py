"""A state of a run with everything differentiated there: what variations are carried by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.linear.tangent import differentiate, tangent_workspace
from impinge.analysis.variations.variation import flow_of
from impinge.compile import Struct
from impinge.contact.law import ACCELERATION
from impinge.model import Model
from impinge.simulation.system.plant import RATE, VALUE, Plant, workspace

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]


class Side(NamedTuple):
    """One side of an instant: time, state, the modes of all contacts, and the directions in which they slide (ns)."""

    time: float
    x: FloatArray
    modes: IntegerArray
    direction: FloatArray


class Frame:
    """Work space of the variations of one run.

    Variations are columns over z = (ξ, v, u, p, t), the anchors of the slips and their directions, nz + 2 ns rows; of
    a state they are nx = 2 nv.

    Args:
        model: what moves.
        plant: as it was simulated.
        u: its inputs.
        steps, states: of the run.
        seed: variations of ξ, v, u, p and t at the start (nz × nθ).
    """

    def __init__(
        self, model: Model, plant: Plant, u: FloatArray, steps: FloatArray, states: FloatArray, seed: FloatArray
    ) -> None:
        self.model, self.plant = model, plant
        self.nx, self.slips = 2 * plant.nv, model.row_slices[2]
        self.w = workspace(plant, model.dynamics)
        self.w.u[:] = u
        self.d = tangent_workspace(model, self.w.y.size, plant.parameters)
        self.nz, self.size = self.d.nz, self.d.nz + 2 * plant.ns
        self.flow = flow_of(plant, self.w.y.size, steps, states, seed)
        self.packed = Struct(plant), Struct(self.w), Struct(self.d), Struct(self.flow)
        self.by = {name: block.T for name, block in self.d.by._asdict().items()}
        self.response, self.W = self.w.terms.response.T, self.w.terms.W
        self._bristles = slice(plant.nq + plant.nv + plant.nc + plant.nt, None)

    def enter(self, modes: IntegerArray, direction: FloatArray, contacts: Sequence[int] | None = None) -> None:
        """Let contacts (all by default) be in these modes, and slide in these directions."""
        for c in range(self.plant.nc) if contacts is None else contacts:
            slips = slice(self.plant.slips[c], self.plant.slips[c + 1])
            self.w.mode[c] = modes[c]
            self.w.direction[slips] = direction[slips]

    def straighten(self) -> None:
        """Let the bristles of open contacts be straight: they are when their contact closes."""
        for c in range(self.plant.nc):
            if self.plant.closed[c, self.w.mode[c]] == 0:
                self.flow.bent[self.plant.slips[c] : self.plant.slips[c + 1]] = 0.0

    def at(self, t: float, x: FloatArray) -> FloatArray:
        """Differentiate at a state in the current modes; return the rates of z and of the anchors there."""
        plant, y, ns = self.plant, self.flow.y, self.plant.ns
        y[: x.size] = x
        if plant.nb > 0:
            y[self._bristles][:ns] = self.flow.bent
        differentiate(*self.packed[:3], t, y)
        rates = np.zeros(self.size)
        rates[: plant.nv], rates[plant.nv : self.nx] = x[plant.nq :], self.d.derivative[plant.nq : x.size]
        rates[self.nz - 1] = 1.0
        for c in range(plant.nc if plant.nb > 0 else 0):
            if plant.bristled[c] != 0 and self.w.mode[c] == plant.sliding[c]:
                for s in range(plant.slips[c], plant.slips[c + 1]):
                    bends = self.d.derivative[self._bristles][s]
                    rates[self.nz + s] = self.w.rows[RATE, self.slips.start + s] - bends
        return rates

    def later(self, x: FloatArray, rates: FloatArray, h: float) -> FloatArray:
        """Return where a state is a short time later, at these rates of z."""
        nq, nv = self.plant.nq, self.plant.nv
        way = h * rates[: self.nx]
        return np.concatenate([self.model.displaced(x[:nq], way[:nv]), x[nq:] + way[nv:]])

    def row(self, name: str, i: int) -> FloatArray:
        """Return one row of a block of derivatives, by z and the anchors."""
        return np.concatenate([self.by[name][i], np.zeros(2 * self.plant.ns)])

    def anchor_here(self, slips: Sequence[int]) -> None:
        """Let slips count from the state just differentiated."""
        for s in slips:
            self.w.anchor[s] = self.w.rows[VALUE, self.slips.start + s]

    def stand_still(self, X: FloatArray, *, start: bool = False) -> None:
        """Take out of variations what contacts that are closed at the state just differentiated do not let happen.

        What sticks has no slip rate: the simulator takes it out of the velocities. Where a run starts, a rigid contact
        that is closed stays so: its gap neither opens nor closes.
        """
        plant, w, nv = self.plant, self.w, self.plant.nv
        closed = [c for c in range(plant.nc) if plant.closed[c, w.mode[c]] != 0]
        stick = [c for c in closed if plant.sliding[c] >= 0 and not plant.bristled[c] and w.mode[c] != plant.sliding[c]]
        held = [self.slips.start + s for c in stick for s in range(plant.slips[c], plant.slips[c + 1])]
        rigid = [plant.nh + c for c in closed if start and plant.restitution[c] >= 0.0]
        if rigid:
            value = self.by["g"][rigid] @ X[: self.nz]
            X[:nv] -= self.response[:, rigid] @ (_inverse(self.W[np.ix_(rigid, rigid)]) @ value)
        if held or rigid:
            rows = [i for i in range(self.slips.stop) if w.prescribed[i] == ACCELERATION or i in held]
            change = -self.by["rate"][rows] @ X[: self.nz]
            change[[i not in held + rigid for i in rows]] = 0.0
            X[nv : self.nx] += self.response[:, rows] @ (_inverse(self.W[np.ix_(rows, rows)]) @ change)


def _inverse(W: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(W, rcond=1e-11, hermitian=True))
