"""Which feature of a shape touches at a contact point: a point, a line or a plane, or the rim of a cylinder.

A sphere is a point with a radius, a capsule a line with one that ends in points with one. Of a polytope it is the face
whose normal is that of the contact, or else the vertex or the edge at the contact point. Where two faces touch, the
vertex of one that lies on the other is what touches, or two edges that cross (`meeting`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.geometry.table import CAPSULE, CYLINDER, HALF_SPACE, SPHERE, Shapes

FloatArray = NDArray[np.float64]

POINT, LINE, PLANE, RIM = 0, 1, 2, 3

PARALLEL = 1e-6  # sine of the angle of two lines up to which they are parallel
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


class Features(NamedTuple):
    """What a shape has at a place: the feature that faces the other shape, and the vertex or edge there if it has one.

    Attributes:
        facing: a face where the normal is that of one; else the same as ``sharp``.
        sharp: of a polytope the vertex or edge at the place; else the same as ``facing``.
    """

    facing: Feature
    sharp: Feature


def meeting(one: Features, other: Features, across: float) -> tuple[Feature, Feature]:
    """Return which features of two shapes touch.

    Args:
        one: of the first shape at the place where it touches.
        other: of the second.
        across: the sine of the angle between the axes of both sharp features.
    """
    if one.facing.kind != PLANE or other.facing.kind != PLANE:
        return one.facing, other.facing
    if one.sharp.kind == POINT:
        return one.sharp, other.facing
    if other.sharp.kind == POINT:
        return one.facing, other.sharp
    if one.sharp.kind == other.sharp.kind == LINE and across > PARALLEL:
        return one.sharp, other.sharp
    return (one.facing, other.sharp) if other.sharp.kind == LINE else (one.sharp, other.facing)


def features_at(shapes: Shapes, k: int, place: FloatArray, outward: FloatArray) -> Features:
    """Return the features of a shape at a place on its surface, whose outward normal there is given.

    Args:
        shapes: the table of shapes.
        k: which one.
        place: in the axes of its frame (3).
        outward: in these axes (3).
    """
    at, R, size, kind = shapes.at[k], shapes.axes[k], shapes.size[k], int(shapes.kind[k])
    own, n = R.T @ (place - at), R.T @ outward
    sharp: Feature | None = None
    if kind == SPHERE:
        found = Feature(POINT, np.zeros(3), np.zeros(3), float(size[0]))
    elif kind == HALF_SPACE:
        found = Feature(PLANE, np.zeros(3), np.array([0.0, 0.0, 1.0]))
    elif kind == CAPSULE:
        found = _of_capsule(own, size)
    elif kind == CYLINDER:
        found = _of_cylinder(own, n, size)
    else:
        found, sharp = _of_polytope(shapes, k, own, n)
    facing, sharp = (x._replace(at=at + R @ x.at, axis=R @ x.axis) for x in (found, sharp or found))
    return Features(facing, sharp)


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


def _of_polytope(shapes: Shapes, k: int, place: FloatArray, n: FloatArray) -> Features:
    t, which = shapes.polytopes, shapes.polytope[k]
    vertices = t.vertices[t.first_vertex[which] : t.first_vertex[which + 1]]
    planes = t.planes[t.first_face[which] : t.first_face[which + 1]]
    edges = t.edges[t.first_edge[which] : t.first_edge[which + 1]]
    facing = int(np.argmax(planes[:, :3] @ n))
    flat = bool(planes[facing, :3] @ n >= 1 - _ALONG)
    face = Feature(PLANE, planes[facing, :3] * planes[facing, 3], planes[facing, :3])
    apart, near = np.linalg.norm(vertices - place, axis=1), _AT * float(np.abs(vertices).max())
    if apart.min() <= near:
        corner = Feature(POINT, vertices[int(np.argmin(apart))], np.zeros(3))
        return Features(face if flat else corner, corner)
    nearest = min(edges[:, :2], key=lambda edge: _away(place, vertices[edge[0]], vertices[edge[1]]))
    one, other = vertices[nearest[0]], vertices[nearest[1]]
    edge = Feature(LINE, one, (other - one) / np.linalg.norm(other - one))
    if not flat:
        return Features(edge, edge)
    return Features(face, edge if _away(place, one, other) <= near else face)


def _away(place: FloatArray, one: FloatArray, other: FloatArray) -> float:
    along = other - one
    share = np.clip((place - one) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(place - one - share * along))
