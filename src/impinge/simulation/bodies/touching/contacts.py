"""The contacts of a run, as a table: who, where, how hard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impinge.errors import unknown_name

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ContactTable:
    """Every contact point that pushed, in every recorded row; one entry each.

    Attributes:
        parts: names of all parts of the scene; ``first`` and ``second`` are indices into it.
        row: index of the result's row.
        t: its time, s.
        first, second: the two parts; the normal points from the second to the first.
        gap: of the point as the step began, m.
        normal: n × 3.
        place: midway between the two surfaces, n × 3, m.
        force: on the first part, world axes, n × 3, N. The second feels the opposite.
            Friction of a patch acts in its plane, nearer to the center of pressure than ``place``.
    """

    parts: tuple[str, ...]
    row: NDArray[np.int64]
    t: FloatArray
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gap: FloatArray
    normal: FloatArray
    place: FloatArray
    force: FloatArray

    @property
    def normal_force(self) -> FloatArray:
        """Force along the normal, positive when it pushes apart, N."""
        return np.einsum("ij,ij->i", self.normal, self.force)

    @property
    def friction(self) -> FloatArray:
        """Force along the surface on the first part, n × 3, N."""
        return self.force - self.normal_force[:, None] * self.normal

    def between(self, one: str, other: str) -> ContactTable:
        """Return the entries of two parts alone."""
        a, b = self._index(one), self._index(other)
        return self._chosen(((self.first == a) & (self.second == b)) | ((self.first == b) & (self.second == a)))

    def at_row(self, row: int) -> ContactTable:
        """Return the entries of one row; −1 is the last that has any."""
        return self._chosen(self.row == (row if row >= 0 else self.row.max(initial=0) + 1 + row))

    def force_on(self, part: str, rows: int) -> FloatArray:
        """Return the total contact force on a part in each of the result's rows, rows × 3, N."""
        k, total = self._index(part), np.zeros((rows, 3))
        np.add.at(total, self.row[self.first == k], self.force[self.first == k])
        np.add.at(total, self.row[self.second == k], -self.force[self.second == k])
        return total

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of parts that ever pushed each other."""
        found = sorted({(int(a), int(b)) for a, b in zip(self.first, self.second, strict=True)})
        return [(self.parts[a], self.parts[b]) for a, b in found]

    def __len__(self) -> int:
        return int(self.row.size)

    def _index(self, part: str) -> int:
        if part not in self.parts:
            raise unknown_name("contacts of a scene", "part", part, self.parts)
        return self.parts.index(part)

    def _chosen(self, which: NDArray[np.bool_] | Sequence[bool]) -> ContactTable:
        return ContactTable(
            self.parts,
            self.row[which],
            self.t[which],
            self.first[which],
            self.second[which],
            self.gap[which],
            self.normal[which],
            self.place[which],
            self.force[which],
        )
