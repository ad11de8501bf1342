"""The matrix of Newton's method, M + Jᵀ A J in blocks of bodies, and its factors.

Elimination without exchange of blocks (inside of the diagonal blocks rows are exchanged). The pattern is symmetric,
the matrix is not: below and above the diagonal have blocks of their own.
"""

from __future__ import annotations

from typing import Any

from impinge.compile import add_crossed, entry, inlined, jit, subtract_product
from impinge.contact.coulomb.problem import Problem, Work, left
from impinge.contact.coulomb.sweeps import motion

_NEAR = 1e-3  # difference of slopes for which the same factors serve


@jit
def _subtract_product(a: Any, b: Any, c: Any) -> None:
    """Subtract a b from c."""
    if a.shape[0] == 6:
        subtract_product(a, b, c)
    else:
        n = a.shape[0]
        for i in range(n):
            for k in range(n):
                w = a[i, k]
                for j in range(n):
                    c[i, j] -= w * b[k, j]


@inlined
def _invert(a: Any, pivots: Any, n: int) -> bool:
    possible = True
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        possible &= abs(a[pivot, k]) > 0.0
        pivots[k] = pivot
        if pivot != k:
            for j in range(n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        inverse = 1.0 / a[k, k]
        a[k, k] = 1.0
        for j in range(n):
            a[k, j] *= inverse
        for i in range(n):
            if i != k:
                w = a[i, k]
                a[i, k] = 0.0
                for j in range(n):
                    a[i, j] -= w * a[k, j]
    for k in range(n - 1, -1, -1):
        pivot = pivots[k]
        if pivot != k:
            for i in range(n):
                a[i, k], a[i, pivot] = a[i, pivot], a[i, k]
    return possible


@jit
def _invert_block(a: Any, pivots: Any) -> bool:
    """Invert a matrix in place (Gauss–Jordan with exchange of rows); say whether that is possible."""
    if a.shape[0] == 6:  # said twice: what is known when it is compiled becomes vectors
        return _invert(a, pivots, 6)
    return _invert(a, pivots, a.shape[0])


@inlined
def _add_product(J: Any, row: int, T: Any, column: int, n: int, H: Any) -> None:
    """Add Jᵀ T of three rows, from these columns on, to a block of n rows."""
    if n == 6:
        add_crossed(J, row, T, column, H)
        return
    for i in range(n):
        x, y, z = J[0, row + i], J[1, row + i], J[2, row + i]
        for j in range(n):
            H[i, j] += x * T[0, column + j] + y * T[1, column + j] + z * T[2, column + j]


@inlined
def _add_contact(c: int, problem: Any, work: Any, D: int) -> None:
    """Add Jᵀ A J of one contact, A = its slope times its stiffness."""
    J, T, A = problem.J[c], work.rows[0], work.slope[c]
    w, t = work.normal[c], work.tangent[c]
    for r in range(3):
        x, y, z = w * A[r, 0], t * A[r, 1], t * A[r, 2]
        for j in range(2 * D):
            T[r, j] = x * J[0, j] + y * J[1, j] + z * J[2, j]
    a, b = problem.body[c, 0], problem.body[c, 1]
    if a >= 0:
        _add_product(J, 0, T, 0, D, work.diagonal[work.place[a]])
    if b >= 0:
        _add_product(J, D, T, D, D, work.diagonal[work.place[b]])
    if a >= 0 and b >= 0:
        row, column = (D, 0) if work.place[a] < work.place[b] else (0, D)
        _add_product(J, row, T, column, D, work.lower[work.slot[c]])
        _add_product(J, column, T, row, D, work.upper[work.slot[c]])


@jit
def _assemble(problem: Any, work: Any, i: int) -> None:
    """Write the matrix of an island: its masses and the slopes of its contacts times their stiffness."""
    D, first, end = problem.v.shape[1], work.bodies[i], work.bodies[i + 1]
    for place in range(first, end):
        M = problem.mass[work.order[place]]
        for r in range(D):
            for j in range(D):
                work.diagonal[place, r, j] = M[r, j]
    for k in range(work.start[first], work.start[end]):
        for r in range(D):
            for j in range(D):
                work.lower[k, r, j] = work.upper[k, r, j] = 0.0
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        if work.stiffness[c] > 0.0 and work.slope[c, 0, 0] > 0.0:
            if D == 6:  # said twice: what is known when it is compiled becomes vectors
                _add_contact(c, problem, work, 6)
            else:
                _add_contact(c, problem, work, D)
        for r in range(3):
            for m in range(3):
                work.known[c, r, m] = work.slope[c, r, m]


@jit
def _factorize(work: Any, i: int) -> bool:
    """Replace the matrix of an island by its factors: inverse diagonal blocks, L, and D⁻¹U."""
    row, where, L, U, small = work.row, work.where, work.lower, work.upper, work.small[0]
    n = small.shape[0]
    work.counts[2] += 1
    for place in range(work.bodies[i], work.bodies[i + 1]):
        if not _invert_block(work.diagonal[place], work.pivots):
            return False
        start, end = work.start[place], work.start[place + 1]
        for k in range(start, end):
            for r in range(n):
                for j in range(n):
                    small[r, j] = -U[k, r, j]
                    U[k, r, j] = 0.0
            _subtract_product(work.diagonal[place], small, U[k])
        for k in range(start, end):
            column = row[k]
            _subtract_product(L[k], U[k], work.diagonal[column])
            for t in range(work.start[column], work.start[column + 1]):
                where[row[t]] = t
            for m in range(start, end):
                if row[m] > column:
                    t = where[row[m]]
                    _subtract_product(L[m], U[k], L[t])
                    _subtract_product(L[k], U[m], U[t])
    return True


@inlined
def _substitute(work: Any, i: int, x: Any, n: int) -> None:
    """Replace x, which has a row of n for each block, by what the factors of an island make of it."""
    t = work.small[0, 0]
    first, end = work.bodies[i], work.bodies[i + 1]
    for place in range(first, end):
        b = work.order[place]
        for r in range(n):
            t[r] = x[b, r]
        for r in range(n):
            total = 0.0
            for j in range(n):
                total += work.diagonal[place, r, j] * t[j]
            x[b, r] = total
        for k in range(work.start[place], work.start[place + 1]):
            other = work.order[work.row[k]]
            for r in range(n):
                total = x[other, r]
                for j in range(n):
                    total -= work.lower[k, r, j] * x[b, j]
                x[other, r] = total
    for place in range(end - 1, first - 1, -1):
        b = work.order[place]
        for k in range(work.start[place], work.start[place + 1]):
            other = work.order[work.row[k]]
            for r in range(n):
                total = x[b, r]
                for j in range(n):
                    total -= work.upper[k, r, j] * x[other, j]
                x[b, r] = total


@jit
def _back_substitute(work: Any, i: int, x: Any) -> None:
    """Replace x, which has a row for each block, by what the factors of an island make of it."""
    if x.shape[1] == 6:
        _substitute(work, i, x, 6)
    else:
        _substitute(work, i, x, x.shape[1])


@jit
def _known(work: Any, i: int) -> bool:
    """Tell whether the factors that there are serve the slopes of now: those of the same island, and near enough."""
    if work.factors[0] != i:
        return False
    for k in range(work.contacts[i], work.contacts[i + 1]):
        A, B = work.slope[work.who[k]], work.known[work.who[k]]
        for r in range(3):
            for m in range(3):
                if not abs(A[r, m] - B[r, m]) <= _NEAR:
                    return False
    return True


@entry
def direction(problem: Problem, work: Work, i: int) -> int:
    """Write Newton's step and the change of the rates along it; return 0 if there is none, or no iteration is left."""
    D, step = problem.v.shape[1], work.step
    if left(work) <= 0:
        return 0
    if not _known(work, i):
        _assemble(problem, work, i)
        if not _factorize(work, i):
            work.factors[0] = -1
            return 0
        work.factors[0] = i
    for k in range(work.bodies[i], work.bodies[i + 1]):
        b = work.order[k]
        for j in range(D):
            step[b, j] = -work.g[b, j]
    _back_substitute(work, i, step)
    for k in range(work.contacts[i], work.contacts[i + 1]):
        c = work.who[k]
        work.change[c, 0], work.change[c, 1], work.change[c, 2] = motion(c, problem, step)
    work.counts[1] += 1
    return 1
