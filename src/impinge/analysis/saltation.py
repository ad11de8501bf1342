"""First-order variations of a run through its events.

At an event the state is continuous, but the instant at which a guard g falls moves with the trajectory,
δt = −δg/ġ, and δx⁺ = δx⁻ + (f⁻ − f⁺) δt: M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions
of discontinuous systems, 1958. The matrix I + (f⁺ − f⁻) ∇g/ġ is the saltation matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.tangent import differentiate, tangent_workspace
from impinge.analysis.variation import flow_of, propagate
from impinge.compile import IntegerMatrix, Matrix, Struct, Vector, entry
from impinge.contact.law import ABSENT, EXTENT, GAP, PARTS, TOUCHING, watched_by
from impinge.contact.law import RATE as WATCHES_RATE
from impinge.errors import InputError
from impinge.model import Model
from impinge.simulation.dynamics import evaluate_and_press, right_hand_side
from impinge.simulation.guards import guards_of_rows
from impinge.simulation.plant import FORCE, RATE, VALUE, Plant, Workspace, workspace

FloatArray = NDArray[np.float64]

# A guard that changes its speed by as much as that speed itself within this time (s) grazes.
_GRAZING = 1e-6
# Spacing of the instants (s) from which the explicit time derivative of a force is taken, to fourth order.
_SPACING = 3e-5
# Shifts of one instant that agree so well, relatively, are one.
_AGREE = 1e-6
# A jump of the derivative that is smaller, relative to it, is rounding.
_ROUNDING = 1e-9


@entry
def _watch(plant: Plant, w: Workspace, t: float, y: Vector, dy: Vector, values: Matrix, watched: IntegerMatrix) -> None:
    """Write the guards of all contacts at a state, and what the largest part of each watches."""
    evaluate_and_press(plant, w, t, y, dy)
    guards_of_rows(plant, w, w.rows, 2)
    for c in range(plant.nc):
        for k in range(values.shape[1]):
            values[c, k], watched[c, k] = w.guards[2, c, k], ABSENT
            for p in range(PARTS * k, PARTS * (k + 1)):
                what = watched_by(w.watched[c], p)
                if what != ABSENT and w.parts[2, c, p] == values[c, k]:
                    watched[c, k] = what


class Instant(NamedTuple):
    """Contacts that change together: the states just before and after, with times, and the modes there."""

    time: float
    after: float
    x: FloatArray
    x_after: FloatArray
    modes: NDArray[np.int64]
    modes_after: NDArray[np.int64]


class _Jump(NamedTuple):
    """What changes together: contacts, f⁺ − f⁻, the shift of their instant (nθ), and −∂t/∂x (nx)."""

    contacts: Sequence[int]
    size: FloatArray
    shift: FloatArray
    row: FloatArray


class Variation:
    """The variations of one run in progress.

    Args:
        model: what moves.
        plant: as it was simulated.
        u: its inputs.
        steps, states: of the run.
        seed: variations of q, v, u and p at the start (nz × nθ).
    """

    def __init__(
        self, model: Model, plant: Plant, u: FloatArray, steps: FloatArray, states: FloatArray, seed: FloatArray
    ) -> None:
        self.model, self.plant = model, plant
        self.nx, self.slips = plant.nq + plant.nv, model.row_slices[2]
        self.w = workspace(plant, model.dynamics.size)
        self.w.u[:] = u
        self.d = tangent_workspace(model, self.w.y.size)
        self.flow = flow_of(plant, self.w.y.size, steps, states, seed)
        self.packed = Struct(plant), Struct(self.w), Struct(self.d), Struct(self.flow)
        self.blocks, start = dict[str, FloatArray](), 0
        for name, (n, k) in model.tangent.outputs.items():
            self.blocks[name] = self.d.out[start : start + n * k].reshape((n, k), order="F")
            start += n * k

    def begin(self, x: FloatArray, modes: NDArray[np.int64]) -> None:
        """Start in the state and modes that the run started in; slip counts from there."""
        self.w.mode[:] = modes
        self.derivative(0.0, x)
        self.w.anchor[:] = self.w.rows[VALUE, self.slips]
        self.flow.X[self.d.nz :] = self.blocks["g"][self.slips] @ self.flow.X[: self.d.nz]

    def through(self, first: int, last: int, record: FloatArray) -> None:
        """Go through the steps from ``first`` to before ``last`` in the current mode."""
        propagate(*self.packed, first, last, record)

    def derivative(self, t: float, x: FloatArray) -> FloatArray:
        """Differentiate at a state in the current mode, and return ẋ there."""
        self.flow.y[: self.nx] = x
        differentiate(*self.packed[:3], t, self.flow.y)
        return self.d.derivative[: self.nx].copy()

    def jump(self, who: str, at: Instant) -> FloatArray:
        """Carry the variations through an instant into the modes behind it, and return the saltation matrix."""
        closing, before = self._closing(at), self.derivative(at.time, at.x)
        rates = self.w.rows[RATE, self.slips].copy()
        slips = self.blocks["g"][self.slips] @ self.flow.X[: self.d.nz]
        for s in closing:
            self.w.anchor[s] = self.w.rows[VALUE, self.slips.start + s]
        saltation = np.eye(self.nx)
        for one in self._jumps(who, at, before, bool(closing)):
            self.flow.X[: self.nx] -= np.outer(one.size, one.shift)
            saltation += np.outer(one.size, one.row)
            for s in closing:
                if self.model.slips[s][0] in one.contacts:
                    self.flow.X[self.d.nz + s] = slips[s] + rates[s] * one.shift
        self.w.mode[:] = at.modes_after
        return saltation

    def _closing(self, at: Instant) -> list[int]:
        """Return the slips that begin to count at an instant."""
        closed, owners = self.plant.closed, [c for c, _ in self.model.slips]
        return [s for s, c in enumerate(owners) if closed[c, at.modes_after[c]] > closed[c, at.modes[c]]]

    def _jumps(self, who: str, at: Instant, before: FloatArray, closes: bool) -> list[_Jump]:
        """Return the jumps of ẋ at an instant, each with the shift of the instant at which it happens.

        Where ẋ does not jump the shift does not matter, unless slip begins to count.
        """
        changed = [int(c) for c in np.flatnonzero(at.modes != at.modes_after)]
        size, scale = self._after(at, changed) - before, float(np.abs(before).max())
        if np.abs(size).max() <= _ROUNDING * scale and not closes:
            return []
        falls = [(c, *self._shift(who, at, c, what, before)) for c, what in self._fallen(at, changed)]
        names = ", ".join(self.model.contacts[c] for c in changed)
        if not falls:
            raise InputError(
                who,
                "a guard that falls at every event",
                f"none for {names} at t = {at.time:.9g} s",
                "Give the method a shorter max_step, so that the event is located.",
            )
        rows = [row for _, _, row in falls]
        if _agree([shift for _, shift, _ in falls]):
            # The instant may move alike for what is varied, and yet have no gradient.
            return [_Jump(changed, size, falls[0][1], rows[0] if _agree(rows) else np.full(self.nx, np.nan))]
        # Contacts that do not act on each other may each change at their own time.
        own = {c: (shift, row) for c, shift, row in falls}
        sizes = {c: self._after(at, [c]) - before for c in changed}
        pairs = ((self._after(at, [b, c]) - before, sizes[b] + sizes[c]) for b, c in combinations(changed, 2))
        apart = all(np.abs(both - sum_).max() <= _ROUNDING * scale for both, sum_ in pairs)
        if not apart or len(falls) != len(changed) or len(own) != len(changed):
            raise InputError(
                who,
                "guards that fall one after another",
                f"those of {names} at once, at t = {at.time:.9g} s",
                "Which is first decides what follows, so there is no derivative: start a little beside it.",
            )
        return [_Jump([c], sizes[c], *own[c]) for c in changed]

    def _after(self, at: Instant, changed: Sequence[int]) -> FloatArray:
        """Return ẋ just before an instant as it would be if only these contacts had changed."""
        self.w.mode[changed] = at.modes_after[changed]
        after = self.derivative(at.time, at.x)
        self.w.mode[:] = at.modes
        return after

    def _fallen(self, at: Instant, changed: Sequence[int]) -> list[tuple[int, int]]:
        """Return the guards that fall at an instant, as contact and what they watch."""
        shape, derivative = self.w.guards.shape[1:], np.zeros(self.w.y.size)
        left, right, watched = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
        for t, x, values in ((at.after, at.x_after, right), (at.time, at.x, left)):
            self.flow.y[: self.nx] = x
            _watch(*self.packed[:2], t, self.flow.y, derivative, values, watched)
        fell = (left >= 0.0) & (right < 0.0)
        if not fell[changed].any():
            fell = np.abs(left) <= 10 * TOUCHING  # rounding hides the fall
        watches = [{int(watched[c, k]) for k in range(shape[1]) if fell[c, k] and watched[c, k]} for c in changed]
        return [(c, what) for c, kinds in zip(changed, watches, strict=True) for what in sorted(kinds)]

    def _shift(self, who: str, at: Instant, c: int, what: int, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how the instant at which a guard falls varies, and −∂t/∂x."""
        _, later = self._slope(c, what, at.time + _GRAZING, at.x + _GRAZING * f)
        row, rate = self._slope(c, what, at.time, at.x)
        if not abs(later - rate) < abs(rate):
            raise InputError(
                who,
                f"contact '{self.model.contacts[c]}' to change at speed",
                f"a grazing change at t = {at.time:.9g} s, where its guard falls at {rate:.3g} per second",
                "There is no derivative there: start a little beside it.",
            )
        return -row @ self.flow.X / rate, row[: self.nx] / rate

    def _slope(self, c: int, what: int, t: float, x: FloatArray) -> tuple[FloatArray, float]:
        """Return the derivative by (z, anchors) of what a guard watches, and its total time derivative."""
        plant, w, i, row = self.plant, self.w, self.plant.nh + c, np.zeros(self.flow.X.shape[0])
        f = self.derivative(t, x)
        nv, m, z = plant.nv, self.slips.stop, row[: self.d.nz]
        if what == GAP:
            z[:] = self.blocks["g"][i]
            return row, float(w.rows[RATE, i])
        if what == EXTENT:
            z[:] = self.blocks["extent"][plant.extent[c] - m]
            return row, float(w.rows[RATE, plant.extent[c]])
        if what == WATCHES_RATE:
            z[:] = self.blocks["rate"][i]
            drift, W = w.out[nv + 2 * m :], w.out[nv + 4 * m + 3 + nv * m :]
            return row, float(drift[i] + W[i * m : (i + 1) * m] @ w.rows[FORCE, :m])
        return self._slope_of_force(c, t, x, f)

    def _slope_of_force(self, c: int, t: float, x: FloatArray, f: FloatArray) -> tuple[FloatArray, float]:
        """Return the same of a contact's force; of an open one, of the force that it would have if closed.

        Slip of an open contact would count from where it is: its anchor goes with it.
        """
        w, mode = self.w, self.w.mode[c]
        follow = np.arange(self.plant.slips[c], self.plant.slips[c + 1])
        if self.plant.closed[c, mode]:
            follow = follow[:0]
        else:
            w.mode[c] = self.plant.closing[c]
        i, rows = self.plant.nh + c, self.slips.start + follow
        derivative = np.zeros(w.y.size)

        def force(dt: float) -> float:
            for _ in range(2):  # the first finds the slips
                right_hand_side(*self.packed[:2], t + dt, self.flow.y, derivative)
                w.anchor[follow] = w.rows[VALUE, rows]
            return float(w.rows[FORCE, i])

        h = _SPACING
        explicit = (8 * (force(h) - force(-h)) - (force(2 * h) - force(-2 * h))) / (12 * h)
        force(0.0)
        self.derivative(t, x)
        row = self.d.force[i].copy()
        row[: self.d.nz] += row[self.d.nz + follow] @ self.blocks["g"][rows]
        row[self.d.nz + follow] = 0.0
        w.mode[c] = mode
        return row, float(row[: self.nx] @ f) + explicit


def _agree(rows: Sequence[FloatArray]) -> bool:
    """Tell whether vectors are the same up to a relative error."""
    size = max(float(np.abs(row).max(initial=0.0)) for row in rows)
    return all(np.abs(row - rows[0]).max(initial=0.0) <= _AGREE * size for row in rows)
