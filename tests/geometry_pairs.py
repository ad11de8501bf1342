"""Contact points of two shapes at given poses, for tests: ours and those of coal."""

from __future__ import annotations

from typing import NamedTuple

import coal
import numpy as np
from scipy.spatial.transform import Rotation

from impinge.compile import Struct
from impinge.geometry import distance
from impinge.geometry.pack import shape_tables
from impinge.geometry.pairs import capsule_mesh, capsule_pairs, half_space_pairs
from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere
from impinge.geometry.table import (
    BOX,
    CAPSULE,
    CYLINDER,
    FEATURE,
    GAP,
    HALF_SPACE,
    MESH,
    MOST_POINTS,
    NORMAL,
    PLACE,
    POINT_SIZE,
    SPHERE,
)

PAIRS = {
    (SPHERE, SPHERE): distance.sphere_sphere,
    (SPHERE, CAPSULE): distance.sphere_capsule,
    (SPHERE, CYLINDER): distance.sphere_cylinder,
    (SPHERE, BOX): distance.sphere_box,
    (SPHERE, MESH): distance.sphere_mesh,
    (SPHERE, HALF_SPACE): distance.sphere_half_space,
    (CAPSULE, CAPSULE): capsule_pairs.capsule_capsule,
    (CAPSULE, BOX): capsule_pairs.capsule_box,
    (CAPSULE, MESH): capsule_mesh.capsule_mesh,
    (CAPSULE, HALF_SPACE): capsule_pairs.capsule_half_space,
    (CYLINDER, HALF_SPACE): half_space_pairs.cylinder_half_space,
    (BOX, HALF_SPACE): half_space_pairs.polytope_half_space,
    (MESH, HALF_SPACE): half_space_pairs.polytope_half_space,
}
TAKES_POLYTOPE = {(SPHERE, MESH): 1, (CAPSULE, MESH): 1, (BOX, HALF_SPACE): 0, (MESH, HALF_SPACE): 0}


class Pose(NamedTuple):
    x: np.ndarray
    R: np.ndarray


class Point(NamedTuple):
    gap: float
    normal: np.ndarray
    place: np.ndarray
    feature: int

    @property
    def on_a(self):
        return self.place + 0.5 * self.gap * self.normal

    @property
    def on_b(self):
        return self.place - 0.5 * self.gap * self.normal


def pose(x=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
    return Pose(np.array(x, dtype=float), Rotation.from_rotvec(turn).as_matrix().copy())


def random_pose(rng, spread):
    return Pose(spread * rng.uniform(-1.0, 1.0, 3), Rotation.random(random_state=rng).as_matrix().copy())


class Pair:
    """Two shapes, whose contact points are asked for at many poses."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        table = shape_tables([a, b], [0, 1], np.zeros((2, 3)), [np.eye(3)] * 2, [0.0, 0.0])
        key = (a.kind, b.kind)
        self.call, self.size = PAIRS[key], table.size
        self.packed = Struct(table.polytopes)
        self.more = (self.packed, int(table.polytope[TAKES_POLYTOPE[key]])) if key in TAKES_POLYTOPE else ()
        self.points = np.full((MOST_POINTS, POINT_SIZE), np.nan)

    def __call__(self, pa, pb, margin=np.inf):
        self.points[:] = np.nan
        n = self.call(self.size[0], pa.x, pa.R, self.size[1], pb.x, pb.R, margin, self.points, *self.more)
        assert np.isfinite(self.points[:n]).all()
        assert np.isnan(self.points[n:]).all()
        return [
            Point(row[GAP], row[NORMAL : NORMAL + 3].copy(), row[PLACE : PLACE + 3].copy(), int(row[FEATURE]))
            for row in self.points[:n]
        ]

    def nearest(self, pa, pb):
        """Of equally near points the first: further ones of a line are there for balance."""
        points = self(pa, pb)
        least = min(point.gap for point in points)
        return next(point for point in points if point.gap <= least + 1e-12)


def coal_shape(shape):
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Box):
        return coal.Box(shape.x, shape.y, shape.z)
    if isinstance(shape, HalfSpace):
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    assert isinstance(shape, ConvexMesh)
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in shape.vertices:
        points.append(np.array(vertex))
    for face in shape.faces:
        triangles.append(coal.Triangle(*face))
    return coal.Convex(points, triangles)


def coal_distance(a, b, pa, pb):
    """Return gap, normal from b to a, witness points on a and b."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    gap = coal.distance(a, coal.Transform3s(pa.R, pa.x), b, coal.Transform3s(pb.R, pb.x), request, result)
    return gap, -np.array(result.normal), np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())
