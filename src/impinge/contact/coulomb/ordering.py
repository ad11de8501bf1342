"""Islands of bodies that touch, and the order in which their blocks are eliminated: minimum degree.

Sets of neighbors are rows of bits, so that the sets after each elimination are at the same time the pattern of the
factor (A. George and J. W. H. Liu, 1989, describe the method).
"""

from __future__ import annotations

from typing import Any

from impinge.compile import entry, jit
from impinge.contact.coulomb.problem import Problem, Work

_M1, _M2, _M4, _ONES = 0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101


@jit
def _bits(x: int) -> int:
    x = x - ((x >> 1) & _M1)
    x = (x & _M2) + ((x >> 2) & _M2)
    return (((x + (x >> 4)) & _M4) * _ONES) >> 56


@jit
def _root(parent: Any, b: int) -> int:
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b


@jit
def _find_islands(problem: Any, work: Any) -> None:
    """Number the islands, and list their blocks (in ``order``) and contacts (in ``who``) one after the other."""
    nb, nc, parent, body = problem.v.shape[0], problem.count[0], work.parent, problem.body
    for b in range(nb):
        parent[b] = b
        work.island[b] = -1
    for c in range(nc):
        if body[c, 0] >= 0 and body[c, 1] >= 0:
            parent[_root(parent, body[c, 0])] = _root(parent, body[c, 1])
    islands = 0
    for c in range(nc):
        for side in range(2):
            if body[c, side] >= 0:
                root = _root(parent, body[c, side])
                if work.island[root] < 0:
                    work.island[root] = islands
                    work.bodies[islands] = work.contacts[islands] = 0
                    islands += 1
    work.counts[4] = islands
    work.bodies[islands] = work.contacts[islands] = 0
    for b in range(nb):
        work.island[b] = work.island[_root(parent, b)]
        if work.island[b] >= 0:
            work.bodies[work.island[b]] += 1
    for c in range(nc):
        b = max(body[c, 0], body[c, 1])
        if b >= 0:
            work.contacts[work.island[b]] += 1
    for i in range(1, islands + 1):  # ends of the lists, which filling from behind turns into starts
        work.bodies[i] += work.bodies[i - 1]
        work.contacts[i] += work.contacts[i - 1]
    for b in range(nb - 1, -1, -1):
        if work.island[b] >= 0:
            work.bodies[work.island[b]] -= 1
            work.order[work.bodies[work.island[b]]] = b
    for c in range(nc - 1, -1, -1):
        b = max(body[c, 0], body[c, 1])
        if b >= 0:
            work.contacts[work.island[b]] -= 1
            work.who[work.contacts[work.island[b]]] = c


@jit
def _eliminate(problem: Any, work: Any, i: int, used: int) -> int:
    """Order one island, write the columns of its factor, and return how many blocks there are up to it."""
    first, end, body, links = work.bodies[i], work.bodies[i + 1], problem.body, work.links
    n = end - first
    words = (n + 63) // 64
    for k in range(n):  # numbered inside of the island; ``parent`` keeps which block that is
        work.parent[first + k] = work.order[first + k]
        work.where[work.order[first + k]] = k
        for w in range(words):
            links[first + k, w] = 0
    for t in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[t]
        if body[c, 0] >= 0 and body[c, 1] >= 0:
            a, b = work.where[body[c, 0]], work.where[body[c, 1]]
            links[first + a, b >> 6] |= 1 << (b & 63)
            links[first + b, a >> 6] |= 1 << (a & 63)
    for k in range(n):
        degree = 0
        for w in range(words):
            degree += _bits(links[first + k, w])
        work.degree[first + k] = degree
    for place in range(first, end):
        best = -1
        for k in range(n):
            if work.degree[first + k] >= 0 and (best < 0 or work.degree[first + k] < work.degree[first + best]):
                best = k
        block = work.parent[first + best]
        work.order[place], work.place[block] = block, place
        work.start[place] = used
        work.degree[first + best] = -1
        for k in range(n):
            if (links[first + best, k >> 6] >> (k & 63)) & 1 != 0:
                if used < work.row.size:
                    work.row[used] = work.parent[first + k]
                used += 1
                degree = 0
                for w in range(words):
                    links[first + k, w] |= links[first + best, w]
                links[first + k, k >> 6] &= ~(1 << (k & 63))
                links[first + k, best >> 6] &= ~(1 << (best & 63))
                for w in range(words):
                    degree += _bits(links[first + k, w])
                work.degree[first + k] = degree
    work.start[end] = used
    return used


@jit
def _unchanged(problem: Any, work: Any) -> bool:
    nc, last = problem.count[0], work.pattern.shape[0] - 1
    same = work.pattern[last, 0] == nc
    for c in range(nc):
        for side in range(2):
            same = same and work.pattern[c, side] == problem.body[c, side]
    return same


@jit
def find_islands(problem: Any, work: Any) -> None:
    """Find the islands of the contacts, unless they are those of last time."""
    if _unchanged(problem, work):
        return
    last = work.pattern.shape[0] - 1
    work.pattern[last, 0], work.pattern[last, 1] = problem.count[0], 0
    for c in range(problem.count[0]):
        for side in range(2):
            work.pattern[c, side] = problem.body[c, side]
    _find_islands(problem, work)


@entry
def order_blocks(problem: Problem, work: Work) -> int:
    """Order the blocks of all islands for elimination, once for each pattern; return 0 if the factors lack room."""
    last = work.pattern.shape[0] - 1
    if work.pattern[last, 1] == 1:
        return 1
    used = 0
    for i in range(work.counts[4]):
        used = _eliminate(problem, work, i, used)
    work.need[0] = used
    if used > work.row.size:
        return 0
    for place in range(work.bodies[work.counts[4]]):
        for k in range(work.start[place], work.start[place + 1]):
            work.row[k] = work.place[work.row[k]]
    for c in range(problem.count[0]):
        a, b = problem.body[c, 0], problem.body[c, 1]
        if a >= 0 and b >= 0:
            column, row = min(work.place[a], work.place[b]), max(work.place[a], work.place[b])
            for k in range(work.start[column], work.start[column + 1]):
                if work.row[k] == row:
                    work.slot[c] = k
    work.pattern[last, 1] = 1
    return 1
