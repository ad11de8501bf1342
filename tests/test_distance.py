"""Contact points of pairs: coal's distances, supporting planes as certificates, and what resting shapes need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from geometry_pairs import PAIRS, Pair, Pose, coal_distance, coal_shape, pose, random_pose
from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere

MESH = ConvexMesh.hull(np.random.default_rng(0).normal(0.05, 0.4, size=(30, 3)))
SHAPES = [
    (Sphere(0.3), Sphere(0.5)),
    (Sphere(0.3), Capsule(0.2, 0.8)),
    (Sphere(0.3), Cylinder(0.4, 0.7)),
    (Sphere(0.3), Box(0.5, 0.8, 1.1)),
    (Sphere(0.3), MESH),
    (Sphere(0.3), HalfSpace()),
    (Capsule(0.2, 0.9), Capsule(0.3, 0.5)),
    (Capsule(0.2, 0.9), Box(0.5, 0.8, 1.1)),
    (Capsule(0.2, 0.9), MESH),
    (Capsule(0.2, 0.9), HalfSpace()),
    (Cylinder(0.3, 0.7), HalfSpace()),
    (Box(0.5, 0.8, 1.1), HalfSpace()),
    (MESH, HalfSpace()),
]
NAMES = [f"{type(a).__name__}-{type(b).__name__}" for a, b in SHAPES]
ALL = [Pair(a, b) for a, b in SHAPES]
every_pair = pytest.mark.parametrize("pair", ALL, ids=NAMES)


def test_every_pair_is_tested():
    assert {(pair.a.kind, pair.b.kind) for pair in ALL} == set(PAIRS)


def poses(n, near=0.15, spread=0.9, seed=0):
    """Random poses, every third with the origins close to each other: deep inside."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        pa, pb = random_pose(rng, spread), random_pose(rng, spread)
        yield pa, Pose(pa.x + near * rng.normal(size=3), pb.R) if k % 3 == 0 else pb


@every_pair
def test_gap_normal_and_witness_points_are_those_of_coal(pair):
    a, b = coal_shape(pair.a), coal_shape(pair.b)
    apart = inside = 0
    for pa, pb in poses(200):
        gap, normal, on_a, on_b = coal_distance(a, b, pa, pb)
        if isinstance(pair.b, Cylinder) and gap < -pair.a.radius:
            continue  # coal pushes a center inside a cylinder out through its side, however near the end is
        point = pair.nearest(pa, pb)
        apart, inside = apart + (gap > 0.0), inside + (gap < 0.0)
        assert point.gap == pytest.approx(gap, abs=1e-9)
        assert point.normal == pytest.approx(normal, abs=1e-6)
        # The lowest point of a standing cylinder is a little off by design: see _STEADY.
        close = 1e-4 if isinstance(pair.a, Cylinder) else 1e-6
        assert point.on_a == pytest.approx(on_a, abs=close)
        assert point.on_b == pytest.approx(on_b, abs=close)
    assert min(apart, inside) > 20


def support(shape, d):
    """How far shapes go along directions of their own axes (n, 3)."""
    if isinstance(shape, Sphere):
        return np.full(len(d), shape.radius)
    if isinstance(shape, Capsule):
        return 0.5 * shape.length * np.abs(d[:, 2]) + shape.radius
    if isinstance(shape, Cylinder):
        return 0.5 * shape.length * np.abs(d[:, 2]) + shape.radius * np.hypot(d[:, 0], d[:, 1])
    if isinstance(shape, HalfSpace):
        return np.where(d[:, 2] > 1.0 - 1e-12, 0.0, np.inf)
    return (d @ shape.polytope.vertices.T).max(axis=1)


def separation(pair, pa, pb, n):
    """How far apart the supporting planes with normals n are: the signed distance is the largest of these."""
    return n @ (pa.x - pb.x) - support(pair.a, -n @ pa.R) - support(pair.b, n @ pb.R)


@every_pair
def test_the_planes_square_to_the_normal_are_as_far_apart_as_any(pair):
    rng = np.random.default_rng(1)
    n = rng.normal(size=(3000, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    for pa, pb in poses(100, seed=2):
        point = pair.nearest(pa, pb)
        assert separation(pair, pa, pb, point.normal[None])[0] == pytest.approx(point.gap, abs=1e-9)
        around = point.normal + 0.1 * n
        around /= np.linalg.norm(around, axis=1)[:, None]
        assert separation(pair, pa, pb, np.vstack([n, around])).max() <= point.gap + 1e-9


@every_pair
def test_the_gap_grows_along_the_normal_as_fast_as_the_shape_moves(pair):
    step = 1e-6
    smooth = 0
    for pa, pb in poses(60, seed=3):
        point = pair.nearest(pa, pb)
        slope = []
        for e in np.eye(3):
            ahead, behind = (pair.nearest(Pose(pa.x + s * step * e, pa.R), pb).gap for s in (1.0, -1.0))
            slope.append((ahead - behind) / (2.0 * step))
        # Inside, the normal jumps where two ways out are equally long: there the slope is a mean of both.
        smooth += np.abs(slope - point.normal).max() < 1e-5
    assert smooth >= 59


@every_pair
def test_gaps_and_normals_do_not_jump(pair):
    """Along a path, gaps change by no more than the way; normals, while apart, by little."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        pa, pb = random_pose(rng, 1.0), random_pose(rng, 0.2)
        way, turn = rng.normal(size=3), rng.normal(size=3)
        last = None
        for t in np.linspace(-1.0, 1.0, 201):
            moved = Pose(pa.x + t * way, (Rotation.from_rotvec(t * turn).as_matrix() @ pa.R).copy())
            point = pair.nearest(moved, pb)
            if last is not None:
                most = (np.linalg.norm(way) + pair.a.reach * np.linalg.norm(turn)) / 100.0
                assert abs(point.gap - last.gap) <= most
                if min(point.gap, last.gap) > 0.0:
                    assert np.linalg.norm(point.normal - last.normal) <= 1.01 * most / 0.2  # a radius at least
            last = point


@pytest.mark.parametrize("k", [0, 6])
def test_swapped_shapes_have_the_opposite_normal(k):
    pair, swapped = ALL[k], Pair(*SHAPES[k][::-1])
    for pa, pb in poses(50, seed=5):
        one, other = pair.nearest(pa, pb), swapped.nearest(pb, pa)
        assert other.gap == pytest.approx(one.gap, abs=1e-12)
        assert other.normal == pytest.approx(-one.normal, abs=1e-9)
        assert other.place == pytest.approx(one.place, abs=1e-9)


@every_pair
@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (np.pi / 2, 0.0, 0.0), (0.0, np.pi, 0.0), (0.3, 0.2, 0.1)])
def test_coincident_shapes_have_a_unit_normal_and_the_full_depth(pair, turn):
    points = pair(pose((1.0, 2.0, 3.0), turn), pose((1.0, 2.0, 3.0)))
    assert points
    for point in points:
        assert np.linalg.norm(point.normal) == pytest.approx(1.0)
    deepest = min(points, key=lambda p: p.gap)
    best = separation(pair, pose(turn=turn), pose(), deepest.normal[None])[0]
    assert deepest.gap == pytest.approx(best, abs=1e-9)


@every_pair
def test_only_points_within_the_margin_are_written(pair):
    for pa, pb in poses(60, seed=6):
        points = pair(pa, pb)
        least = min(point.gap for point in points)
        assert pair(pa, pb, least - 1e-9) == []
        for margin in (least + 1e-9, least + 0.05, least + 0.5):
            near = pair(pa, pb, margin)
            assert 1 <= len(near) <= 4
            assert min(point.gap for point in near) == pytest.approx(least, abs=1e-12)
            assert max(point.gap for point in near) <= margin


@every_pair
def test_a_place_that_is_no_number_touches_nothing(pair):
    assert pair(pose((np.nan, 0.0, 0.0)), pose()) == []


def places(points):
    return np.array(sorted((point.place.tolist() for point in points), key=lambda place: [round(x, 2) for x in place]))


def test_parallel_capsules_touch_at_both_ends_of_their_overlap():
    pair = Pair(Capsule(0.1, 1.0), Capsule(0.2, 0.6))
    points = pair(pose((0.3, 0.0, 0.5)), pose(), 0.01)
    assert places(points) == pytest.approx(np.array([[0.2, 0.0, 0.0], [0.2, 0.0, 0.3]]), abs=1e-12)
    for angle in (1e-12, 1e-7, 1e-3, -1e-3):
        tilted = pair(pose((0.3, 0.0, 0.5), (0.0, angle, 0.0)), pose(), 0.01)
        assert {p.feature for p in tilted} == {p.feature for p in points}
        assert places(tilted) == pytest.approx(places(points), abs=2e-3)


def test_nearly_parallel_capsules_that_cross_touch_at_the_crossing_too():
    pair = Pair(Capsule(0.1, 1.0), Capsule(0.1, 1.0))
    points = pair(pose((0.2, 0.0, 0.0), (0.05, 0.0, 0.0)), pose(), 0.01)
    assert len(points) == 3
    nearest = min(points, key=lambda p: p.gap)
    assert nearest.gap == pytest.approx(0.0, abs=1e-12)
    assert nearest.place == pytest.approx([0.1, 0.0, 0.0], abs=1e-9)


def test_crossed_capsules_touch_at_one_point():
    pair = Pair(Capsule(0.1, 1.0), Capsule(0.1, 1.0))
    assert len(pair(pose((0.2, 0.0, 0.0), (np.pi / 2, 0.0, 0.0)), pose(), 0.01)) == 1


@pytest.mark.parametrize("as_mesh", [False, True])
@pytest.mark.parametrize("depth", [-0.001, 0.001, 0.15])
def test_a_capsule_on_a_face_has_two_points_at_the_ends_of_the_overlap(as_mesh, depth):
    box = Box(1.0, 2.0, 3.0)
    pair = Pair(Capsule(0.1, 1.2), ConvexMesh.hull(box.polytope.vertices) if as_mesh else box)
    for angle in (0.0, 1e-9, 1e-4, -1e-4):
        points = pair(pose((0.6, 0.0, 1.6 - depth), (0.0, np.pi / 2 + angle, 0.0)), pose(), 0.01)
        assert len(points) == 2
        assert {p.feature for p in points} == {1, 2}
        assert [p.gap for p in points] == pytest.approx([-depth] * 2, abs=2e-4)
        expected = [[0.0, 0.0, 1.5 - depth / 2], [0.5, 0.0, 1.5 - depth / 2]]
        assert places(points) == pytest.approx(np.array(expected), abs=1e-3)


def test_a_capsule_along_an_edge_of_a_box_has_two_points():
    middle = np.array([0.5, 0.0, 1.5]) + 0.1 * np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    points = Pair(Capsule(0.1, 1.0), Box(1.0, 2.0, 3.0))(pose(middle, (np.pi / 2, 0.0, 0.0)), pose(), 0.01)
    assert places(points) == pytest.approx(np.array([[0.5, -0.5, 1.5], [0.5, 0.5, 1.5]]), abs=1e-9)


def test_a_capsule_across_an_edge_has_one_point():
    points = Pair(Capsule(0.1, 1.0), Box(1.0, 2.0, 3.0))(pose((0.55, 0.0, 1.6), (0.0, np.pi / 4, 0.0)), pose(), 0.05)
    assert len(points) == 1


def test_a_capsule_on_the_ground_has_two_points():
    points = Pair(Capsule(0.1, 1.0), HalfSpace())(pose((0.0, 0.0, 0.1), (0.0, np.pi / 2, 0.0)), pose(), 0.01)
    assert places(points) == pytest.approx(np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]), abs=1e-12)
    assert len(Pair(Capsule(0.1, 1.0), HalfSpace())(pose((0.0, 0.0, 0.6)), pose(), 0.01)) == 1


def test_a_box_on_its_face_has_four_points_on_its_edge_two_and_on_its_corner_one():
    pair = Pair(Box(1.0, 1.0, 1.0), HalfSpace())
    flat = pair(pose((0.0, 0.0, 0.499)), pose(), 0.01)
    assert sorted(p.feature for p in flat) == [0, 1, 2, 3]
    assert [p.gap for p in flat] == pytest.approx([-0.001] * 4)
    assert len(pair(pose((0.0, 0.0, np.sqrt(0.5)), (np.pi / 4, 0.0, 0.0)), pose(), 0.01)) == 2
    corner = Rotation.align_vectors([[0.0, 0.0, 1.0]], [[1.0, 1.0, 1.0]])[0].as_rotvec()
    assert len(pair(pose((0.0, 0.0, np.sqrt(0.75)), corner), pose(), 0.01)) == 1


def test_of_a_face_with_many_corners_four_far_apart_are_kept_whatever_the_rounding():
    angle = np.arange(16) * np.pi / 8
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    pair = Pair(ConvexMesh.hull([(x, y, z) for x, y in ring for z in (-0.2, 0.2)]), HalfSpace())
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(50):
        points = pair(pose((0.0, 0.0, 0.2), 1e-12 * rng.normal(size=3)), pose(), 0.01)
        chosen.add(tuple(p.feature for p in points))
        x, y = (np.array([p.place[i] for p in points]) for i in (0, 1))
        order = np.argsort(np.arctan2(y, x))
        area = 0.5 * (x[order] @ np.roll(y[order], -1) - y[order] @ np.roll(x[order], -1))
        assert area == pytest.approx(2.0)  # an inscribed square
    assert len(chosen) == 1


def test_a_lying_cylinder_has_two_points_that_stay_while_it_rolls():
    pair = Pair(Cylinder(0.3, 1.0), HalfSpace())
    for roll in np.linspace(0.0, 6.0, 25):
        R = (Rotation.from_rotvec([0.0, np.pi / 2, 0.0]) * Rotation.from_rotvec([0.0, 0.0, roll])).as_matrix()
        points = pair(Pose(np.array([0.0, 0.0, 0.3]), R.copy()), pose(), 0.01)
        assert [p.feature for p in points] == [8, 9]
        assert places(points) == pytest.approx(np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]), abs=1e-9)


def test_a_standing_cylinder_has_four_points_that_rounding_does_not_move():
    pair = Pair(Cylinder(0.3, 1.0), HalfSpace())
    still = pair(pose((0.0, 0.0, 0.5)), pose(), 0.01)
    assert len(still) == 4
    rng = np.random.default_rng(0)
    for _ in range(50):
        points = pair(pose((0.0, 0.0, 0.5), 1e-12 * rng.normal(size=3)), pose(), 0.01)
        assert [p.feature for p in points] == [p.feature for p in still]
        for p, q in zip(points, still, strict=True):
            assert p.place == pytest.approx(q.place, abs=1e-6)


@settings(max_examples=50)
@given(st.floats(0.0, 1.5), st.floats(-np.pi, np.pi), st.booleans())
def test_the_center_of_a_standing_cylinder_is_between_its_points_and_the_lowest_is_among_them(tilt, way, over):
    pair = Pair(Cylinder(0.3, 1.0), HalfSpace())
    turn = Rotation.from_rotvec([tilt * np.cos(way), tilt * np.sin(way), 0.0])
    R = (turn * Rotation.from_rotvec([np.pi * over, 0.0, 0.0])).as_matrix().copy()
    points = pair(Pose(np.zeros(3), R), pose())
    lowest = -0.5 * np.cos(tilt) - 0.3 * np.sin(tilt)
    assert min(p.gap for p in points) == pytest.approx(lowest, abs=1.1e-7)  # 0.3 · radius · _STEADY at worst
    assert len(points) == (4 if tilt < np.pi / 3 else 2)
    if len(points) == 4:
        angle = np.sort([np.arctan2(*(p.on_a @ R)[:2]) for p in points])
        assert np.diff([*angle, angle[0] + 2.0 * np.pi]).max() < np.pi


def test_a_tilted_cylinder_has_one_point():
    points = Pair(Cylinder(0.3, 1.0), HalfSpace())(pose((0.0, 0.0, 0.55), (0.6, 0.0, 0.0)), pose(), 0.05)
    assert len(points) == 1
