"""Symmetries under which a motion may repeat: coordinates that advance in each period, and ones that trade places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, unknown_name
from impinge.model import Model, finite
from impinge.simulation import Result

FloatArray = NDArray[np.float64]

# What a symmetry leaves as it is may differ by this much, relatively: a motion is on its orbit up to a tolerance.
_SAME = 1e-6
# Shifts (m or rad) at which a model is asked whether it depends on a coordinate.
_SHIFTS = (0.377, -1.913)
_SAMPLES = 5


@dataclass(frozen=True)
class Symmetry:
    """A map of states, y = P (x − advance), under which a motion repeats.

    Attributes:
        turn: P, a permutation of directions and of velocities, nx × nx.
        given: the advance that is known (nx).
        free: indices of directions whose advance is to be found.
        model: what moves.
    """

    turn: FloatArray
    given: FloatArray
    free: tuple[int, ...]
    model: Model

    @property
    def trivial(self) -> bool:
        """Whether it is none."""
        return not self.free and not self.given.any() and bool(np.array_equal(self.turn, np.eye(self.given.size)))

    def apply(self, x: FloatArray, found: FloatArray) -> FloatArray:
        """Return a state (q, v) as it counts for the next period, with the advances that are found."""
        nq, nv = len(self.model.coordinates), len(self.model.velocities)
        q, order = self.model.displaced(x[:nq], -self.advance(found)[:nv]), self.turn[:nv, :nv]
        places = self.model.straight
        q[places[places >= 0]] = (order @ np.where(places >= 0, q[places], 0.0))[places >= 0]
        return np.concatenate([q, self.turn[nv:, nv:] @ x[nq:]])

    def advance(self, found: FloatArray) -> FloatArray:
        """Return the whole advance (nx)."""
        whole = self.given.copy()
        whole[list(self.free)] += found
        return whole

    def columns(self) -> FloatArray:
        """Return the derivatives of `apply` by the advances that are found."""
        return -self.turn[:, list(self.free)]


def symmetry_of(
    who: str, model: Model, advance: Mapping[str, float | None] | None, relabel: Mapping[str, str] | None
) -> Symmetry:
    """Return the symmetry that is asked for, with names checked."""
    names = [x.name for k, x in zip(model.straight, model.directions, strict=True) if k >= 0]
    n, advance, relabel = len(names), dict(advance or {}), dict(relabel or {})
    for name in [*advance, *relabel, *relabel.values()]:
        if name not in names:
            raise unknown_name(who, "coordinate", name, names)
    if sorted(relabel) != sorted(relabel.values()):
        got = ", ".join(f"'{one}' from '{other}'" for one, other in relabel.items())
        remedy = "Swap two with {'left': 'right', 'right': 'left'}; rotate more in a ring."
        raise InputError(who, "coordinates that trade places among themselves in `relabel`", got, remedy)
    directions = [x.name for x in model.directions]
    n, given = len(directions), np.zeros(2 * len(directions))
    for name, value in advance.items():
        if value is None and relabel.get(name, name) != name:
            remedy = "Give the advance as a number, or choose coordinates in which it is not relabelled."
            raise InputError(who, "a free advance of a coordinate that keeps its name", f"'{name}' in both", remedy)
        given[directions.index(name)] = 0.0 if value is None else finite(f"advance of '{name}' in the {who}", value)
    order = [directions.index(relabel.get(name, name)) for name in directions]
    turn = np.zeros((2 * n, 2 * n))
    turn[:n, :n] = turn[n:, n:] = np.eye(n)[order]
    free = tuple(directions.index(name) for name, value in advance.items() if value is None)
    return Symmetry(turn, given, free, model)


def check_symmetry(
    who: str,
    model: Model,
    symmetry: Symmetry,
    result: Result,
    u: FloatArray,
    parameters: Mapping[str, float],
    found: FloatArray | None = None,
    period: float = 0.0,
) -> None:
    """Refuse a symmetry that the model does not have, from some states of a run over one period.

    A model with a free advance must not depend on that coordinate at all. Where a motion with these advances was found
    accelerations without contacts must turn with the state, and the gaps be the same ones, each of any contact.
    """
    if symmetry.trivial:
        return
    p, n, nv = model.parameter_vector(parameters), len(model.coordinates), len(model.velocities)
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    states, gaps = np.stack([result[name] for name in names], axis=1), model.row_slices[1]

    def at(x: FloatArray, t: float) -> tuple[FloatArray, FloatArray]:
        values = model.dynamics(x[:n], x[n:], t, u, p)
        return values["free"], np.stack([values["g"][gaps], values["rate"][gaps]])

    for k in np.linspace(0, len(states) - 1, _SAMPLES).astype(int):
        x, t = states[k], float(result.t[k])
        free, rows = at(x, t)
        for i in symmetry.free:
            for shift in _SHIFTS:
                moved = at(np.concatenate([model.displaced(x[:n], shift * np.eye(nv)[i]), x[n:]]), t)
                if not _same([free, *rows], [moved[0], *moved[1]]):
                    remedy = "Give its advance as a number, or measure the coordinate from something that goes along."
                    name = model.directions[i].name
                    raise InputError(who, f"a model that does not depend on '{name}'", "one that does", remedy)
        if found is None:
            continue
        later, rows_later = at(x, t + period)
        turned, rows_turned = at(symmetry.apply(x, found), t)
        alike = np.sort(rows_later), np.sort(rows_turned)
        if not _same([symmetry.turn[:nv, :nv] @ later, *alike[0]], [turned, *alike[1]]):
            remedy = "Check signs and amounts: what a period does to the state must lead to the same forces and gaps."
            raise InputError(who, "`advance` and `relabel` that are a symmetry of the model", "none", remedy)


def _same(one: Sequence[FloatArray], other: Sequence[FloatArray]) -> bool:
    return all(
        np.abs(a - b).max(initial=0.0) <= _SAME * max(1.0, float(np.abs(a).max(initial=0.0)))
        for a, b in zip(one, other, strict=True)
    )
