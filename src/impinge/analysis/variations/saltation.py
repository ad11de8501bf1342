"""First-order variations of a run through its events.

At an event the instant at which a guard g falls moves with the trajectory, δt = −δg/ġ. Where the state is continuous
there, δx⁺ = δx⁻ + (f⁻ − f⁺) δt: M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions of
discontinuous systems, 1958. Where velocities jump by an impact map, x⁺ = R(x⁻), δx⁺ = R_x (δx⁻ + f⁻ δt) − f⁺ δt, see
`impact_map`. The matrix that takes δx⁻ to δx⁺ is the saltation matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.analysis.variations.falls import Fall, falls_at, strike_of
from impinge.analysis.variations.frame import Frame, Side
from impinge.analysis.variations.graze import Dip, check_approach, check_dip
from impinge.analysis.variations.impact_map import impact_jacobian
from impinge.analysis.variations.variation import propagate
from impinge.contact.law import SLOW
from impinge.errors import InputError
from impinge.simulation.locate.guards import resolution
from impinge.simulation.system.plant import RATE

FloatArray = NDArray[np.float64]

# Shifts of one instant that agree so well, relatively, are one.
_AGREE = 1e-6
# A jump of the derivative that is smaller, relative to it, is rounding.
_ROUNDING = 1e-9


class Instant(NamedTuple):
    """Contacts that change together: both sides of the instant, and the contacts that do what.

    Attributes:
        left, right: both sides.
        changed: who changes, or is struck.
        pushing: who pushes in an impact.
        halting: whose slips an impulse stops, since it closes, never slides and sticks compliantly.
    """

    left: Side
    right: Side
    changed: Sequence[int]
    pushing: Sequence[int]
    halting: Sequence[int]


class _Jump(NamedTuple):
    """What changes together: contacts, how rates jump, their new values (nz + 2 ns each), and the guard that falls."""

    contacts: Sequence[int]
    size: FloatArray
    after: FloatArray
    fall: Fall


class _Closing(NamedTuple):
    """A slip that begins to count: its contact, and its derivative and its rate on the left side."""

    slip: int
    contact: int
    row: FloatArray
    rate: float


class Variation:
    """The variations of one run in progress, in ``frame.flow.X``."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.plant = frame, frame.plant

    def begin(self, side: Side) -> None:
        """Start in the state and modes that the run started in; slip counts from there."""
        frame = self.frame
        frame.enter(side.modes, side.direction)
        frame.at(0.0, side.x)
        frame.anchor_here(range(self.plant.ns))
        frame.at(0.0, side.x)
        frame.stand_still(frame.flow.X, start=True)
        self._start_halted(side)
        anchors = slice(frame.nz, frame.nz + self.plant.ns)
        frame.flow.X[anchors] = frame.by["g"][frame.slips] @ frame.flow.X[: frame.nz]

    def _start_halted(self, side: Side) -> None:
        """Let slips have no rate that are stopped where a run starts in contact, however it is varied."""
        frame, plant, X = self.frame, self.plant, self.frame.flow.X
        closed = [c for c in range(plant.nc) if plant.closed[c, side.modes[c]] != 0]
        if any(plant.halted[c] != 0 for c in closed):
            rigid = [c for c in closed if plant.halted[c] != 0 or plant.restitution[c] >= 0.0]
            jacobian, _ = impact_jacobian(frame, "start", side, rigid, None)
            X[plant.nv : frame.nx] = jacobian @ X[: frame.nz]
            frame.at(0.0, side.x)

    def through(self, who: str, first: int, last: int, dips: Sequence[Dip], record: FloatArray) -> None:
        """Go through the steps from ``first`` to before ``last`` in the current mode; refuse dips there that graze."""
        start = first
        for dip in dips:
            if first <= dip.step < last:
                propagate(*self.frame.packed, start, dip.step, record[start - first :])
                start = dip.step
                check_dip(self.frame, who, dip)
        propagate(*self.frame.packed, start, last, record[start - first :])
        if self.frame.d.redundant[0]:
            raise InputError(
                who,
                "contacts that slide beside others without redundancy",
                f"more than the motion tells apart before t = {self.frame.flow.steps[last - 1].sum():.9g} s",
                "How they share a load has no derivative here: leave contacts out, or choose a compliant law.",
            )

    def jump(self, who: str, at: Instant) -> FloatArray:
        """Carry the variations through an instant into the modes behind it, and return the saltation matrix."""
        frame, X = self.frame, self.frame.flow.X
        # Directions on the left side are those that the last step had, as the simulator's guards do.
        at = at._replace(left=at.left._replace(direction=frame.w.direction.copy()))
        unit = np.eye(frame.size)[:, : frame.nx]
        before = frame.at(at.left.time, at.left.x)
        closing = self._closing(at)
        striking = [c for c in at.pushing if self._strikes(at, c)]
        if striking or at.halting:
            carried = [self._strike(who, at, closing, striking, Y, Y is X) for Y in (X, unit)]
        else:
            jumps, same = self._jumps(who, at, before, closing)
            carried = [_carry(jumps, closing, frame.nz, Y) for Y in (X, unit)]
            if not same:
                carried[1][:] = np.nan
        frame.enter(at.right.modes, at.right.direction)
        frame.straighten()
        frame.at(at.left.time, at.right.x)
        for Y in carried:
            frame.stand_still(Y)
        X[:] = carried[0]
        self._forget_directions(at, X)
        return carried[1][: frame.nx]

    def _forget_directions(self, at: Instant, X: FloatArray) -> None:
        """Let directions not vary in which contacts begin to slide: their slip rates soon tell them."""
        for c in at.changed:
            slips = slice(self.plant.slips[c], self.plant.slips[c + 1])
            X[self.frame.nz + self.plant.ns :][slips] = 0.0

    def _strikes(self, at: Instant, c: int) -> bool:
        rate = float(self.frame.w.rows[RATE, self.plant.nh + c])
        return self.plant.closed[c, at.left.modes[c]] == 0 and rate < -SLOW

    def _closing(self, at: Instant) -> list[_Closing]:
        """Return the slips that begin to count at an instant, whose left side was just differentiated."""
        frame, closed = self.frame, self.plant.closed
        found = []
        for s, (c, _) in enumerate(frame.model.slips):
            if closed[c, at.right.modes[c]] > closed[c, at.left.modes[c]]:
                i = frame.slips.start + s
                found.append(_Closing(s, c, frame.row("g", i), float(frame.w.rows[RATE, i])))
        return found

    def _jumps(
        self, who: str, at: Instant, before: FloatArray, closing: Sequence[_Closing]
    ) -> tuple[list[_Jump], bool]:
        """Return the jumps of rates at an instant where velocities do not jump, each with the guard that falls.

        Where rates do not jump the instant does not matter, unless slip begins to count. Also tell whether the instant
        of every jump has a gradient: it may move alike for what is varied, and yet have none.
        """
        frame, changed, X = self.frame, list(at.changed), self.frame.flow.X
        check_approach(frame, who, at.left, before, self._closes(at))
        after = self._after(at, changed, closing)
        size, scale = after - before, float(np.abs(before[: frame.nx]).max())
        if np.abs(size).max() <= _ROUNDING * scale and not closing:
            return [], True
        frame.enter(at.left.modes, at.left.direction)
        falls = falls_at(frame, who, at.left, at.right, before, changed)
        names = ", ".join(frame.model.contacts[c] for c in changed)
        if not falls:
            raise _no_fall(who, names, at.left.time)
        if _agree([fall.shift(X) for fall in falls]):
            rows = [fall.row[: frame.nx] / fall.rate for fall in falls]
            return [_Jump(changed, size, after, falls[0])], _agree(rows)
        # Contacts that do not act on each other may each change at their own time.
        own = {fall.contact: fall for fall in falls}
        alone = {c: self._after(at, [c], closing) for c in changed}
        pairs = ((self._after(at, [b, c], closing), alone[b] + alone[c] - before) for b, c in combinations(changed, 2))
        apart = all(np.abs(both - sum_).max() <= _ROUNDING * scale for both, sum_ in pairs)
        frame.enter(at.left.modes, at.left.direction)
        if not apart or len(falls) != len(changed) or len(own) != len(changed):
            raise _at_once(who, names, at.left.time)
        return [_Jump([c], alone[c] - before, alone[c], own[c]) for c in changed], True

    def _closes(self, at: Instant) -> list[int]:
        closed = self.plant.closed
        return [c for c in at.changed if closed[c, at.right.modes[c]] > closed[c, at.left.modes[c]]]

    def _after(self, at: Instant, changed: Sequence[int], closing: Sequence[_Closing]) -> FloatArray:
        """Return the rates just before an instant as they would be if only these contacts had changed."""
        frame = self.frame
        frame.enter(at.left.modes, at.left.direction)
        frame.at(at.left.time, at.left.x)
        frame.anchor_here([one.slip for one in closing])
        frame.enter(at.right.modes, at.right.direction, changed)
        return frame.at(at.left.time, at.left.x)

    def _strike(
        self,
        who: str,
        at: Instant,
        closing: Sequence[_Closing],
        striking: Sequence[int],
        X: FloatArray,
        required: bool,
    ) -> FloatArray:
        """Return variations behind an impact; NaN if there are none, unless they are required.

        Contacts that strike at instants which move apart must not act on each other: then it does not matter which is
        first, and they strike one after another.
        """
        frame = self.frame
        frame.enter(at.left.modes, at.left.direction)
        before = frame.at(at.left.time, at.left.x)
        check_approach(frame, who, at.left, before, [*striking, *at.halting])
        falls = [strike_of(frame, who, at.left, c, before) for c in striking]
        falls += self._landings(who, at, before)
        groups = list[list[Fall]]()
        for fall in falls:
            for group in groups:
                if _agree([fall.shift(X), group[0].shift(X)]):
                    group.append(fall)
                    break
            else:
                groups.append([fall])
        if len(groups) <= 1:
            return self._strike_in_order(who, at, closing, groups or [[]], X)
        names = ", ".join(frame.model.contacts[fall.contact] for fall in falls)
        ways = list[FloatArray]()
        if len(falls) == len(at.pushing) + len(at.halting):
            with suppress(InputError):  # one after the other they would not do what they do together
                ways = [self._strike_in_order(who, at, closing, order, X) for order in (groups, groups[::-1])]
        if not ways or not _agree(ways):
            if required:
                raise _at_once(who, names, at.left.time)
            return np.full_like(X, np.nan)
        return ways[0]

    def _landings(self, who: str, at: Instant, rates: FloatArray) -> list[Fall]:
        """Return the falls of the contacts whose slips are stopped; none at the start of a run, where they rest.

        The left side of an instant at which velocities jump lies behind the fall: it is looked for from before that.
        """
        if not at.halting:
            return []
        back = 4.0 * resolution(at.left.time)
        earlier = at.left._replace(time=at.left.time - back, x=self.frame.later(at.left.x, rates, -back))
        falls = falls_at(self.frame, who, earlier, at.left, rates, at.halting)
        unique = {fall.contact: fall for fall in falls}
        if at.left.time > 0.0 and len(unique) < len(at.halting):
            names = ", ".join(self.frame.model.contacts[c] for c in at.halting if c not in unique)
            raise _no_fall(who, names, at.left.time)
        return list(unique.values())

    def _strike_in_order(
        self, who: str, at: Instant, closing: Sequence[_Closing], groups: Sequence[Sequence[Fall]], X: FloatArray
    ) -> FloatArray:
        """Return variations behind an impact of groups of contacts, one after another within one instant."""
        frame, t, x = self.frame, at.left.time, at.left.x
        modes, direction = at.left.modes.copy(), at.left.direction.copy()
        struck = {fall.contact for group in groups for fall in group}
        rest = [c for c in (*at.pushing, *at.halting) if c not in struck]
        rebounds = self.plant.restitution[list(at.pushing)].max(initial=0.0) > 0.0
        for c in rest:
            if rebounds and self.plant.closed[c, at.left.modes[c]] == 0:
                contact = frame.model.contacts[c]
                got = f"contact '{contact}' touching without load as another strikes at t = {t:.9g} s"
                remedy = "There is no derivative there: start a little beside it."
                raise InputError(who, "contacts that act on each other to strike one at a time", got, remedy)
        for k, group in enumerate(groups):
            contacts = [fall.contact for fall in group]
            frame.enter(modes, direction)
            before = frame.at(t, x)
            shift = group[0].shift(X) if group else np.zeros(X.shape[1])
            last = k == len(groups) - 1
            # Where others follow, velocities behind this one are those that its own impulses give.
            v = at.right.x[self.plant.nq :] if last else None
            jacobian, v = impact_jacobian(frame, who, Side(t, x, modes, direction), contacts + rest, v)
            X = X + np.outer(before, shift)
            moved = X.copy()
            moved[self.plant.nv : frame.nx] = jacobian @ X[: frame.nz]
            slips = [one for one in closing if last or one.contact in contacts]
            frame.anchor_here([one.slip for one in slips])
            for one in slips:
                moved[frame.nz + one.slip] = one.row @ X
            x = np.concatenate([x[: self.plant.nq], v])
            chosen = range(self.plant.nc) if last else contacts
            frame.enter(at.right.modes, at.right.direction, chosen)
            modes, direction = frame.w.mode.copy(), frame.w.direction.copy()
            X = moved - np.outer(frame.at(t, x), shift)
        return X


def _carry(jumps: Sequence[_Jump], closing: Sequence[_Closing], nz: int, X: FloatArray) -> FloatArray:
    """Return variations behind an instant at which rates jump."""
    moved = X.copy()
    for jump in jumps:
        shift = jump.fall.shift(X)
        moved -= np.outer(jump.size, shift)
        for one in closing:
            if one.contact in jump.contacts:
                moved[nz + one.slip] = one.row @ X + (one.rate - jump.after[nz + one.slip]) * shift
    return moved


def _no_fall(who: str, names: str, time: float) -> InputError:
    return InputError(
        who,
        "a guard that falls at every event",
        f"none for {names} at t = {time:.9g} s",
        "Give the method a shorter max_step, so that the event is located.",
    )


def _at_once(who: str, names: str, time: float) -> InputError:
    return InputError(
        who,
        "guards that fall one after another",
        f"those of {names} at once, at t = {time:.9g} s",
        "Which is first decides what follows, so there is no derivative: start a little beside it.",
    )


def _agree(rows: Sequence[FloatArray]) -> bool:
    """Tell whether arrays are the same up to a relative error."""
    size = max(float(np.abs(row).max(initial=0.0)) for row in rows)
    return all(np.abs(row - rows[0]).max(initial=0.0) <= _AGREE * size for row in rows)
