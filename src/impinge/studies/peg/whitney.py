"""Statics of a peg in a hole: two-point contact, wedging, jamming.

D. E. Whitney, Quasi-static assembly of compliantly supported rigid parts, 1982; here derived anew, with the tilt.

Geometry. A peg of width d = 2r leans by θ towards +x in a hole of width D. Along its axis u = (sin θ, cos θ), across it
w = (cos θ, −sin θ) in (x, z). Its lower left corner B touches the left wall, its right side touches the right rim at C,
a length l up the side: C = B + d w + l u. The width of the hole is the x of that,

    D = d cos θ + l sin θ.

Statics. On the peg act N₁, t₁ at B along x, z (the wall's normal) and N₂, t₂ at C along −w, u (the side's normal),
N ≥ 0, |t| ≤ μN, and a load at the tip's middle: F along x, P down, M about y (from z to x). For θ → 0 balance means

    F = N₂ − N₁,    P = t₁ + t₂,    M = l N₂ + r (t₂ − t₁).

Loads that can be held are a cone with four edges, one for each edge of the two friction cones.

Jamming. When the peg slides in, t₁ = μN₁ and t₂ = μN₂. With λ = l / (2rμ) that is a line,

    M/(rP) = λ + μ(1 + λ) F/P        from (F/P, M/(rP)) = (−1/μ, −1) to (1/μ, 2λ + 1).

Above it the load is held: the peg is jammed however hard it is pushed. Left and right of it the border goes on
horizontally and with the slope l/r, where one of the contacts alone holds. The peg that leans the other way gives the
mirror image, M/(rP) = −λ + μ(1 + λ) F/P. A peg flush with the right wall has its force anywhere between tip and rim
and is held for F/P ≥ 1/μ and 1 ≤ M/(rP) ≤ 1 + (l/r) F/P; flush with the left wall, the mirror image. All four together
leave out just the parallelogram between the two lines: inside it, the peg slides in from any of these contacts.

Wedging. Two opposite forces along BC balance each other; if BC lies inside both friction cones they can be as large
as they like, hold any load, and outlast it. At C that is l/d ≤ μ; at B the angle from the normal is smaller by θ.
So l/d ≤ μ is exact, also with the tilt, if l is measured along the peg. The cone of loads is then the whole space.
How large these forces are is up to what stores them. If a wall that gives way presses with the force H along x, a pull
Q at the tip's middle loosens the peg when t₂ = −μN₂: moments about B, −l N₂ + μd N₂ = r Q cos θ, with
H = N₂ (cos θ + μ sin θ) make Q = 2H (μ − l/d) / (cos θ (cos θ + μ sin θ)).
"""

from __future__ import annotations

from itertools import combinations
from math import asin, atan2, cos, hypot, sin

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

_ZERO = 1e-12  # share of a product of lengths that is none


def tilt_of(width: float, hole: float, length: float) -> float:
    """Return the tilt at which a peg touches wall and rim, its rim contact a length up its side, rad.

    Example:
        >>> round(tilt_of(0.02, 0.0201, 0.01), 6)
        0.010102
    """
    return asin(hole / hypot(width, length)) - atan2(width, length)


def length_of(width: float, hole: float, tilt: float) -> float:
    """Return how far up the side the rim touches a peg of a given tilt (the larger one of two), m."""
    return (hole - width * cos(tilt)) / sin(tilt)


def two_point(width: float, length: float, tilt: float, friction: float) -> FloatArray:
    """Return the edges of the cone of loads (F, P, M/r) that wall and rim can hold, 4 × 3, leaning towards +x."""
    r = width / 2
    along, across = np.array([sin(tilt), cos(tilt)]), np.array([cos(tilt), -sin(tilt)])
    contacts = (
        (-r * across, np.array([1.0, 0.0]), np.array([0.0, 1.0])),
        (r * across + length * along, -across, along),
    )
    return _loads(contacts, r, friction)


def flush_right(width: float, length: float, friction: float) -> FloatArray:
    """Return the edges of the cone of loads that the right wall can hold, from the tip to the rim."""
    r, normal, up = width / 2, np.array([-1.0, 0.0]), np.array([0.0, 1.0])
    return _loads(tuple((np.array([r, z]), normal, up) for z in (0.0, length)), r, friction)


def mirrored(edges: FloatArray) -> FloatArray:
    """Return the edges for the mirror image: leaning towards −x, or the left wall."""
    return edges * np.array([-1.0, 1.0, -1.0])


def _loads(contacts: tuple[tuple[FloatArray, FloatArray, FloatArray], ...], r: float, friction: float) -> FloatArray:
    edges = []
    for place, normal, tangent in contacts:
        for side in (1.0, -1.0):
            force = normal + side * friction * tangent
            edges.append((-force[0], force[1], (place[0] * force[1] - place[1] * force[0]) / r))
    return np.array(edges)


def faces(edges: FloatArray) -> FloatArray:
    """Return inward normals of the cone's faces, n × 3; none if it is the whole space. Friction must not be zero."""
    found, slack = [], _ZERO * float(np.abs(edges).max()) ** 3
    for i, j in combinations(range(len(edges)), 2):
        normal = np.cross(edges[i], edges[j])
        sides = edges @ normal
        if np.abs(normal).max() > slack:
            # a face has all edges on one side
            found += [sign * normal for sign in (1.0, -1.0) if (sign * sides >= -slack).all()]
    return np.array(found).reshape(-1, 3)


def slack(edges: FloatArray, loads: ArrayLike) -> FloatArray:
    """Return the sine of the angle from loads (…, 3) to the nearest face of the cone; negative outside it."""
    loads, normals = np.asarray(loads, dtype=float), faces(edges)
    sines = loads @ (normals / np.linalg.norm(normals, axis=1, keepdims=True)).T
    return (sines / np.linalg.norm(loads, axis=-1, keepdims=True)).min(axis=-1, initial=1.0)


def holds(edges: FloatArray, loads: ArrayLike) -> NDArray[np.bool_]:
    """Tell which loads (…, 3) lie in the cone of the given edges."""
    return slack(edges, loads) >= 0.0


def stuck(width: float, length: float, tilt: float, friction: float, loads: ArrayLike) -> NDArray[np.bool_]:
    """Tell which loads (…, 3) some contact holds: leaning by the tilt either way, or flush with either wall."""
    leaning, flush = two_point(width, length, tilt, friction), flush_right(width, length, friction)
    cones = (leaning, mirrored(leaning), flush, mirrored(flush))
    return np.any([holds(cone, loads) for cone in cones], axis=0)


def wedges(width: float, length: float, friction: float) -> bool:
    """Tell whether two-point contact can hold any load at all."""
    return length <= friction * width


def parallelogram(width: float, length: float, friction: float) -> FloatArray:
    """Return the corners (F/P, M/(rP)) of the loads with which a peg slides in, counterclockwise, 4 × 2."""
    reach, upper = 1.0 / friction, 2.0 * length / (width * friction) + 1.0
    return np.array([(-reach, -upper), (reach, 1.0), (reach, upper), (-reach, -1.0)])


def slides(width: float, length: float, friction: float, across: ArrayLike, moment: ArrayLike) -> NDArray[np.bool_]:
    """Tell whether a peg slides in, for across = F/P and moment = M/(rP)."""
    return margin(width, length, friction, across, moment) > 0.0


def margin(width: float, length: float, friction: float, across: ArrayLike, moment: ArrayLike) -> FloatArray:
    """Return how far inside the parallelogram a load is: the smaller of the shares of half its width and height.

    One on the middle, zero on the border, negative outside.
    """
    across, moment = np.asarray(across, dtype=float), np.asarray(moment, dtype=float)
    steep = length / (width * friction)  # λ
    beside = 1.0 - np.abs(across) * friction
    above = 1.0 - np.abs(moment - friction * (1.0 + steep) * across) / steep
    return np.minimum(beside, above)


def pull_limit(edges: FloatArray, moment: float) -> float:
    """Return the largest pull −P that a two-point contact holds while M/r closes it and F = 0; infinite if wedged.

    For θ → 0 it is 2μM/l = (M/r) / λ.
    """
    normals = faces(edges)
    against = normals[normals[:, 1] > 0.0]
    return float((moment * against[:, 2] / against[:, 1]).min(initial=np.inf))


def wedged_pull(width: float, length: float, tilt: float, friction: float, force: float) -> float:
    """Return the pull that loosens a peg that a wall presses with a force; negative if the squeeze alone turns it."""
    return 2.0 * force * (friction - length / width) / (cos(tilt) * (cos(tilt) + friction * sin(tilt)))
