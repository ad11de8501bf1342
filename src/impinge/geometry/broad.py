"""Near pairs of shapes: axis-aligned boxes in grids whose cells grow by powers of two.

Each box is in one cell, that of its lower corner, of the finest grid whose cells are not smaller than it. It looks for
others in the few cells around it in its own and in each coarser grid that holds any box, so the cost follows the
number of boxes and near pairs, whatever their sizes. Nothing is kept from one call to the next. Boxes without a cell
(infinite ones, or very far away) are compared with all.
"""

from __future__ import annotations

from math import floor, inf, log2, sqrt
from typing import Any, NamedTuple

import numpy as np

from impinge.compile import IntegerMatrix, Integers, Matrix, jit
from impinge.geometry.table import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, SPHERE

LEVELS = 64  # grids, of cells from 2⁻³² m to 2³¹ m
_SMALLEST = -32
_FAR = 2.0**50  # cells from the origin, up to which cell numbers are exact


class Grid(NamedTuple):
    """Work space of `near_pairs`: boxes in the order of their cells, which are mixed into slots."""

    first: Integers  # slot k, of a number that is a power of two, has the places first[k] … first[k + 1] − 1
    slot: Integers  # (n): of each box, or −1
    order: Integers  # (n): which box is at each place
    box: Matrix  # (n, 6): its corners
    cell: IntegerMatrix  # (n, 4): its level and cell
    apart: Integers  # (n): the boxes without a cell
    filled: Integers  # (LEVELS): how many boxes each level has
    tally: Integers  # (n + 1)
    pairs: IntegerMatrix  # as many rows as pairs may be found


def grid_space(n: int, room: int) -> Grid:
    """Return work space for n boxes and as many pairs as there is room for."""

    def integers(*shape: int) -> Any:
        return np.zeros(shape, dtype=np.int64)

    return Grid(
        first=integers((1 << max(4, (2 * n - 1).bit_length())) + 1),
        slot=integers(n),
        order=integers(n),
        box=np.zeros((n, 6)),
        cell=integers(n, 4),
        apart=integers(n),
        filled=integers(LEVELS),
        tally=integers(n + 1),
        pairs=integers(room, 2),
    )


@jit
def bounds(kind: Any, size: Any, polytope: Any, polytopes: Any, x: Any, R: Any, reach: Any, lo: Any, hi: Any) -> None:
    """Write the smallest box around each shape, larger by ``reach[k]`` on every side.

    Args:
        kind: (n) what the shapes are, with ``size`` (n, 3), ``polytope`` (n) and ``polytopes`` as in `table.Shapes`.
        size: see kind.
        polytope: see kind.
        polytopes: see kind.
        x: (n, 3) their places in the world.
        R: (n, 3, 3) their axes in the world, as columns.
        reach: (n) how far around each others are looked for.
        lo: (n, 3) written.
        hi: (n, 3) written.
    """
    for k in range(len(kind)):
        what = kind[k]
        for i in range(3):
            below = above = 0.0
            if what == SPHERE:
                above = size[k, 0]
                below = -above
            elif what == CAPSULE:
                above = abs(R[k, i, 2]) * size[k, 1] + size[k, 0]
                below = -above
            elif what == CYLINDER:
                c = R[k, i, 2]
                above = abs(c) * size[k, 1] + sqrt(max(0.0, 1.0 - c * c)) * size[k, 0]
                below = -above
            elif what == BOX:
                above = abs(R[k, i, 0]) * size[k, 0] + abs(R[k, i, 1]) * size[k, 1] + abs(R[k, i, 2]) * size[k, 2]
                below = -above
            elif what == MESH:
                below, above = inf, -inf
                for v in range(polytopes.first_vertex[polytope[k]], polytopes.first_vertex[polytope[k] + 1]):
                    p = polytopes.vertices[v]
                    far = R[k, i, 0] * p[0] + R[k, i, 1] * p[1] + R[k, i, 2] * p[2]
                    below, above = min(below, far), max(above, far)
            elif what == HALF_SPACE:
                # A surface square to an axis bounds the half-space on one side.
                square = R[k, (i + 1) % 3, 2] == 0.0 and R[k, (i + 2) % 3, 2] == 0.0
                below = 0.0 if square and R[k, i, 2] < 0.0 else -inf
                above = 0.0 if square and R[k, i, 2] > 0.0 else inf
            lo[k, i] = x[k, i] + below - reach[k]
            hi[k, i] = x[k, i] + above + reach[k]


@jit
def near_pairs(lo: Any, hi: Any, kind: Any, frame: Any, dynamic: Any, excluded: Any, grid: Any, pairs: Any) -> int:
    """Write the pairs of boxes that overlap; return how many, or minus the room needed if there is too little.

    Left out are pairs in one frame, of two frames that are not dynamic, and of two frames a < b with the key
    a · frames + b among the excluded ones. Each pair has the lower kind first, or else the lower index; pairs are in
    order of their first, then second shape.

    Args:
        lo: (n, 3) lower corners.
        hi: (n, 3) upper corners.
        kind: (n) what the shapes are.
        frame: (n) which frame carries each, from 0.
        dynamic: (frames) 1 for a frame that moves freely, else 0.
        excluded: sorted keys.
        grid: work space from `grid_space`, packed.
        pairs: (room, 2) written.
    """
    n = len(kind)
    placed = _fill(lo, hi, grid)
    found = 0
    for i in range(placed):
        for level in range(grid.cell[i, 0], LEVELS):
            if grid.filled[level] > 0:
                found = _look(i, level, kind, frame, dynamic, excluded, grid, pairs, found)
    for k in range(n - placed):
        a = grid.apart[k]
        for b in range(n):
            if grid.slot[b] >= 0 or b > a:
                if _overlap(lo[a], hi[a], lo[b], hi[b]):
                    found = _add(a, b, kind, frame, dynamic, excluded, grid, pairs, found)
    if found > min(len(pairs), len(grid.pairs)):
        return -found
    _sort_by(pairs, grid.pairs, 1, found, grid.tally)
    _sort_by(grid.pairs, pairs, 0, found, grid.tally)
    return found


@jit
def _fill(lo: Any, hi: Any, grid: Any) -> int:
    """Put the boxes in the order of their cells; return how many have one."""
    n, apart = len(grid.slot), 0
    grid.first[:] = 0
    grid.filled[:] = 0
    for k in range(n):
        level = _level(lo[k], hi[k])
        if level < 0:
            grid.slot[k] = -1
            grid.apart[apart] = k
            apart += 1
            continue
        width = 2.0 ** (level + _SMALLEST)
        column = _column(level, floor(lo[k, 0] / width), floor(lo[k, 1] / width))
        grid.slot[k] = (column + floor(lo[k, 2] / width)) & (len(grid.first) - 2)
        grid.first[grid.slot[k]] += 1
        grid.filled[level] += 1
    total = 0
    for slot in range(len(grid.first)):
        total += grid.first[slot]
        grid.first[slot] = total
    for k in range(n - 1, -1, -1):
        if grid.slot[k] >= 0:
            grid.first[grid.slot[k]] -= 1
            i = grid.first[grid.slot[k]]
            level = _level(lo[k], hi[k])
            grid.order[i], grid.cell[i, 0] = k, level
            width = 2.0 ** (level + _SMALLEST)
            for c in range(3):
                grid.box[i, c], grid.box[i, 3 + c] = lo[k, c], hi[k, c]
                grid.cell[i, 1 + c] = floor(lo[k, c] / width)
    return n - apart


@jit
def _level(lo: Any, hi: Any) -> int:
    """Return the finest grid with cells not smaller than a box, or −1 if it has no cell."""
    extent = max(hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2])
    if not extent < inf:
        return -1
    level = floor(log2(extent)) + 1 - _SMALLEST if extent >= 2.0**_SMALLEST else 0
    far = max(abs(lo[0]), abs(lo[1]), abs(lo[2]))
    return level if level < LEVELS and far < _FAR * 2.0 ** (level + _SMALLEST) else -1


@jit
def _column(level: Any, x: Any, y: Any) -> int:
    """Mix a column of cells into a slot: those above each other are in a row, so that one run holds them."""
    mixed = level * 83492791 + x * 73856093 + y * 19349663
    mixed ^= mixed >> 15
    mixed *= 668265263
    return mixed ^ (mixed >> 13)


@jit
def _look(
    i: Any, level: Any, kind: Any, frame: Any, dynamic: Any, excluded: Any, grid: Any, pairs: Any, found: Any
) -> int:
    """Compare the box at place i with those in the cells around it on one level."""
    box, width, slots = grid.box[i], 2.0 ** (level + _SMALLEST), len(grid.first) - 1
    same = level == grid.cell[i, 0]
    # On its own level a box looks along x only ahead: the other one looks ahead to it.
    x0 = grid.cell[i, 1] if same else floor(box[0] / width) - 1
    z0, z1 = floor(box[2] / width) - 1, floor(box[5] / width)
    for x in range(x0, floor(box[3] / width) + 1):
        for y in range(floor(box[1] / width) - 1, floor(box[4] / width) + 1):
            column = _column(level, x, y)
            for z in range(z0, z1 + 1):
                slot = (column + z) & (slots - 1)
                for k in range(grid.first[slot], grid.first[slot + 1]):
                    other = grid.box[k]
                    if not _overlap(box[:3], box[3:], other[:3], other[3:]):
                        continue
                    cell = grid.cell[k]
                    here = cell[0] == level and cell[1] == x and cell[2] == y and cell[3] == z
                    ahead = other[0] > box[0] or (other[0] == box[0] and k > i)
                    if here and (ahead or not same):
                        a, b = grid.order[i], grid.order[k]
                        found = _add(a, b, kind, frame, dynamic, excluded, grid, pairs, found)
    return found


@jit
def _overlap(lo: Any, hi: Any, other_lo: Any, other_hi: Any) -> bool:
    return (
        lo[0] <= other_hi[0]
        and other_lo[0] <= hi[0]
        and lo[1] <= other_hi[1]
        and other_lo[1] <= hi[1]
        and lo[2] <= other_hi[2]
        and other_lo[2] <= hi[2]
    )


@jit
def place_of(keys: Any, key: int) -> int:
    """Return where a key stands among ascending ones, or −1 if it is none of them."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@jit
def _add(a: Any, b: Any, kind: Any, frame: Any, dynamic: Any, excluded: Any, grid: Any, pairs: Any, found: Any) -> int:
    """Count a pair, and write it if there is room, unless it is to be left out."""
    p, q = min(frame[a], frame[b]), max(frame[a], frame[b])
    if p == q or (dynamic[p] == 0 and dynamic[q] == 0):
        return found
    if place_of(excluded, p * len(dynamic) + q) >= 0:
        return found
    if found < min(len(pairs), len(grid.pairs)):
        swap = kind[b] < kind[a] or (kind[b] == kind[a] and b < a)
        pairs[found, 0], pairs[found, 1] = (b, a) if swap else (a, b)
    return found + 1


@jit
def _sort_by(source: Any, target: Any, column: Any, rows: Any, count: Any) -> None:
    """Write rows in the order of one column, equal ones as they were (counting sort)."""
    count[:] = 0
    for k in range(rows):
        count[source[k, column] + 1] += 1
    for k in range(1, len(count)):
        count[k] += count[k - 1]
    for k in range(rows):
        place = count[source[k, column]]
        count[source[k, column]] += 1
        target[place, 0], target[place, 1] = source[k, 0], source[k, 1]
