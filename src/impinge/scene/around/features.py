"""Which feature of a shape touches at a contact point: a point, a line or a plane, or the rim of a cylinder.

A sphere is a point with a radius, a capsule a line with one that ends in points with one. Of a polytope it is the face
whose normal is that of the contact, or else the vertex or the edge at the contact point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.geometry.table import CAPSULE, CYLINDER, HALF_SPACE, SPHERE, Shapes

FloatArray = NDArray[np.float64]

POINT, LINE, PLANE, RIM = 0, 1, 2, 3

_ALONG = 1e-6  # cosine up to which a direction lies in a plane or along an axis
_AT = 1e-6  # of the size of a polytope: how near to a vertex a place counts as there
_END = 1e-7  # of a half length: how near to the end of a segment a place counts as there


class Feature(NamedTuple):
    """A feature in the axes of the frame that carries it.

    Attributes:
        kind: POINT, LINE, PLANE or RIM.
        at: a place on it; the center of a rim.
        axis: along a line, the outward normal of a plane, the axis of a rim.
        radius: of the ball that runs along a point or line, or of the rim.
    """

    kind: int
    at: FloatArray
    axis: FloatArray
    radius: float = 0.0


def feature_at(shapes: Shapes, k: int, place: FloatArray, outward: FloatArray) -> Feature:
    """Return the feature of a shape at a place on its surface, whose outward normal there is given.

    Args:
        shapes: the table of shapes.
        k: which one.
        place: in the axes of its frame (3).
        outward: in these axes (3).
    """
    at, R, size, kind = shapes.at[k], shapes.axes[k], shapes.size[k], int(shapes.kind[k])
    own, n = R.T @ (place - at), R.T @ outward
    if kind == SPHERE:
        found = Feature(POINT, np.zeros(3), np.zeros(3), float(size[0]))
    elif kind == HALF_SPACE:
        found = Feature(PLANE, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    elif kind == CAPSULE:
        found = _of_capsule(own, size)
    elif kind == CYLINDER:
        found = _of_cylinder(own, n, size)
    else:
        found = _of_polytope(shapes, k, own, n)
    return found._replace(at=at + R @ found.at, axis=R @ found.axis)


def _of_capsule(place: FloatArray, size: FloatArray) -> Feature:
    axis = np.array([0.0, 0.0, 1.0])
    if abs(place[2]) >= size[1] * (1 - _END):
        return Feature(POINT, np.sign(place[2]) * size[1] * axis, np.zeros(3), float(size[0]))
    return Feature(LINE, np.zeros(3), axis, float(size[0]))


def _of_cylinder(place: FloatArray, n: FloatArray, size: FloatArray) -> Feature:
    axis, end = np.array([0.0, 0.0, 1.0]), size[1] * np.sign(place[2])
    if abs(n[2]) >= 1 - _ALONG:
        return Feature(PLANE, np.sign(n[2]) * size[1] * axis, np.sign(n[2]) * axis)
    if abs(n[2]) > _ALONG or abs(place[2]) >= size[1] * (1 - _END):
        return Feature(RIM, end * axis, axis, float(size[0]))
    return Feature(LINE, np.zeros(3), axis, float(size[0]))


def _of_polytope(shapes: Shapes, k: int, place: FloatArray, n: FloatArray) -> Feature:
    t, which = shapes.polytopes, shapes.polytope[k]
    vertices = t.vertices[t.first_vertex[which] : t.first_vertex[which + 1]]
    planes = t.planes[t.first_face[which] : t.first_face[which + 1]]
    edges = t.edges[t.first_edge[which] : t.first_edge[which + 1]]
    facing = int(np.argmax(planes[:, :3] @ n))
    if planes[facing, :3] @ n >= 1 - _ALONG:
        return Feature(PLANE, planes[facing, :3] * planes[facing, 3], planes[facing, :3])
    apart = np.linalg.norm(vertices - place, axis=1)
    if apart.min() <= _AT * float(np.abs(vertices).max()):
        return Feature(POINT, vertices[int(np.argmin(apart))], np.zeros(3))
    nearest = min(edges[:, :2], key=lambda edge: _away(place, vertices[edge[0]], vertices[edge[1]]))
    one, other = vertices[nearest[0]], vertices[nearest[1]]
    return Feature(LINE, one, (other - one) / np.linalg.norm(other - one))


def _away(place: FloatArray, one: FloatArray, other: FloatArray) -> float:
    along = other - one
    share = np.clip((place - one) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(place - one - share * along))
