"""Signed distance and contact patches of polyhedra, cylinders and capsules."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from impinge.geometry.pairs.cylinder_pairs import capsule_cylinder, cylinder_cylinder, cylinder_polytope
from impinge.geometry.table import FEATURE, GAP, NORMAL, PLACE
from polytope_tables import UPRIGHT, Polyhedra, Rounds, any_turn, box, cloud, turned

ORIGIN = np.zeros(3)
N, X = slice(NORMAL, NORMAL + 3), slice(PLACE, PLACE + 3)
SEEDS = st.integers(0, 2**32 - 1)

CUBE, SMALL, PLANK, STONE, PEBBLE = range(5)


@pytest.fixture(scope="module")
def shapes() -> Polyhedra:
    rng = np.random.default_rng(7)
    return Polyhedra(box(1, 1, 1), box(0.5, 0.5, 0.5), box(0.3, 0.7, 0.2), cloud(rng, 20), cloud(rng, 9, 0.6))


def vertices(shapes: Polyhedra, k: int) -> Any:
    return shapes.table.vertices[shapes.table.first_vertex[k] : shapes.table.first_vertex[k + 1]]


def coal_shape(points: Any) -> Any:
    corners, triangles, hull = coal.StdVec_Vec3s(), coal.StdVec_Triangle(), ConvexHull(points)
    for point in points:
        corners.append(point)
    for (i, j, k), equation in zip(hull.simplices.tolist(), hull.equations, strict=True):
        outward = np.cross(points[j] - points[i], points[k] - points[i]) @ equation[:3] > 0
        triangles.append(coal.Triangle(i, j, k) if outward else coal.Triangle(i, k, j))
    return coal.Convex(corners, triangles)


def coal_distance(a: Any, xa: Any, Ra: Any, b: Any, xb: Any, Rb: Any) -> tuple[float, Any]:
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.epa_max_iterations, request.gjk_max_iterations = 200, 500
    gap = coal.distance(a, coal.Transform3s(Ra, xa), b, coal.Transform3s(Rb, xb), request, result)
    return gap, -np.array(result.normal)


def near_pose(rng: Any, least: float = 0.2, most: float = 2.4) -> tuple[Any, Any, Any, Any]:
    xa, u = rng.normal(size=3), rng.normal(size=3)
    return xa, any_turn(rng), xa + u / np.linalg.norm(u) * rng.uniform(least, most), any_turn(rng)


@pytest.mark.parametrize(("a", "b"), [(CUBE, SMALL), (CUBE, PLANK), (PLANK, STONE), (STONE, PEBBLE)])
def test_distance_and_normal_are_those_of_coal(shapes: Polyhedra, a: int, b: int) -> None:
    rng, margin = np.random.default_rng(a + 10 * b), 0.3
    first, second = coal_shape(vertices(shapes, a)), coal_shape(vertices(shapes, b))
    apart = overlapping = 0
    for _ in range(400):
        xa, Ra, xb, Rb = near_pose(rng)
        points = shapes(a, xa, Ra, b, xb, Rb, margin)
        gap, normal = coal_distance(first, xa, Ra, second, xb, Rb)
        if len(points) == 0:
            assert gap > margin - 1e-6
            continue
        apart, overlapping = apart + (gap > 0), overlapping + (gap < 0)
        assert np.isfinite(points).all()
        assert (points[:, GAP] <= margin).all()
        assert points[:, GAP].min() == pytest.approx(gap, abs=1e-6)
        # A face may stand for an axis that is nearly its own, by up to a hundredth.
        assert np.abs(points[:, N] - normal).max() < 0.01
        if len(points) == 1:
            assert points[0, N] @ normal > 1 - 1e-9
    assert apart > 20
    assert overlapping > 100


def test_a_box_standing_on_a_bigger_one_touches_at_its_four_corners(shapes: Polyhedra) -> None:
    for gap in (0.01, 0.0, -0.01):
        points = shapes(CUBE, ORIGIN, UPRIGHT, SMALL, [0.1, 0.2, 1.5 + gap], UPRIGHT)
        assert points[:, GAP] == pytest.approx(np.full(4, gap), abs=1e-15)
        assert points[:, N] == pytest.approx(np.tile([0.0, 0.0, -1.0], (4, 1)))
        corners = {(round(x, 9), round(y, 9)) for x, y, _ in points[:, X]}
        assert corners == {(-0.4, -0.3), (-0.4, 0.7), (0.6, -0.3), (0.6, 0.7)}
        assert points[:, PLACE + 2] == pytest.approx(np.full(4, 1.0 + gap / 2))
        assert len(set(points[:, FEATURE])) == 4


def test_an_overhanging_box_touches_where_the_edge_cuts_it(shapes: Polyhedra) -> None:
    points = shapes(CUBE, ORIGIN, UPRIGHT, SMALL, [0.8, 0.0, 1.5], UPRIGHT)
    assert {(round(x, 9), round(y, 9)) for x, y, _ in points[:, X]} == {
        (0.3, -0.5),
        (0.3, 0.5),
        (1.0, -0.5),
        (1.0, 0.5),
    }


def test_equal_boxes_flush_side_by_side_and_stacked_touch_on_whole_faces(shapes: Polyhedra) -> None:
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        points = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, 2.0 * direction, UPRIGHT)
        assert points[:, GAP] == pytest.approx(np.zeros(4))
        assert points[:, N] == pytest.approx(np.tile(-direction, (4, 1)))
        assert np.ptp(points[:, X], axis=0) == pytest.approx(2.0 * (1.0 - np.abs(direction)))


def test_crossing_edges_touch_at_one_point(shapes: Polyhedra) -> None:
    for gap in (0.05, -0.05):
        height = 2.0 * np.sqrt(2.0) + gap
        points = shapes(CUBE, ORIGIN, turned("x", 45), CUBE, [0.2, 0.1, height], turned("y", 45))
        assert points[:, GAP] == pytest.approx([gap])
        assert points[0, N] == pytest.approx([0, 0, -1])
        assert points[0, X] == pytest.approx([0.2, 0.0, height / 2])


def test_parallel_edges_apart_have_a_point_at_each_end(shapes: Polyhedra) -> None:
    points = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, [2.01, 0.3, 2.01], UPRIGHT)
    assert points[:, GAP] == pytest.approx(np.full(2, 0.01 * np.sqrt(2)))
    assert sorted(points[:, PLACE + 1]) == pytest.approx([-0.7, 1.0])


def test_a_corner_over_a_face_and_two_corners_have_closed_forms(shapes: Polyhedra) -> None:
    on_corner = turned("xy", 45, -np.degrees(np.arctan(np.sqrt(0.5))))
    points = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, [0.1, 0.2, 1.0 + np.sqrt(3) - 0.01], on_corner, 0.0)
    assert points[:, GAP] == pytest.approx([-0.01])
    assert points[0, X] == pytest.approx([0.1, 0.2, 0.995])
    points = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, [2.01, 2.02, 2.02], UPRIGHT)
    assert points[:, GAP] == pytest.approx([0.03])
    assert points[0, N] == pytest.approx([-1 / 3, -2 / 3, -2 / 3])


def test_a_slightly_turned_stack_keeps_a_patch_of_four(shapes: Polyhedra) -> None:
    for yaw in (0.0, 20.0, 45.0):
        for tilt in (0.0, 1e-4, 0.1):
            for gap in (1e-3, 0.0, -1e-4):
                points = shapes(
                    CUBE, ORIGIN, UPRIGHT, CUBE, [0, 0, 2 + gap], turned("zxy", yaw, tilt, 0.7 * tilt), 0.02
                )
                assert len(points) == 4
                assert np.linalg.matrix_rank(points[1:, X] - points[0, X], tol=0.1) == 2


@pytest.mark.parametrize("size", [1e-12, 1e-10, 1e-9])
@pytest.mark.parametrize("place", [(0, 0, 2), (2, 0, 0), (0.4, 0.3, 2), (2, 2, 0.5), (2, 2, 2)])
def test_a_tiny_perturbation_changes_points_only_a_little(shapes: Polyhedra, size: float, place: Any) -> None:
    rng = np.random.default_rng(3)
    for yaw in (0.0, 45.0) if place == (0, 0, 2) else (0.0,):
        before = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, place, turned("z", yaw))
        assert len(before) > 0
        for _ in range(50):
            shaken = turned("z", yaw) @ turned("xyz", *np.degrees(size * rng.uniform(-1, 1, 3)))
            after = shapes(CUBE, ORIGIN, UPRIGHT, CUBE, place + size * rng.uniform(-1, 1, 3), shaken)
            assert after[:, FEATURE].tolist() == before[:, FEATURE].tolist()
            assert np.abs(after[:, :FEATURE] - before[:, :FEATURE]).max() < 10 * size


@given(SEEDS, st.sampled_from([(CUBE, PLANK), (PLANK, SMALL), (STONE, PEBBLE), (CUBE, PEBBLE)]))
@settings(max_examples=150, deadline=None)
def test_the_gap_grows_along_the_normal_and_the_order_does_not_matter(
    shapes: Polyhedra, seed: int, pair: tuple[int, int]
) -> None:
    rng, (a, b), step = np.random.default_rng(seed), pair, 1e-6
    xa, Ra, xb, Rb = near_pose(rng)
    points = shapes(a, xa, Ra, b, xb, Rb, 0.3)
    swapped = shapes(b, xb, Rb, a, xa, Ra, 0.3)
    assert (len(points) > 0) == (len(swapped) > 0)
    if len(points) == 0:
        return
    gap, normal = points[:, GAP].min(), points[0, N]
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert swapped[:, GAP].min() == pytest.approx(gap, abs=1e-6)
    if np.linalg.norm(normal + swapped[0, N]) > 0.01:
        return  # two axes at the same depth
    for direction in np.eye(3):
        ahead, behind = (
            shapes(a, xa + sign * step * direction, Ra, b, xb, Rb, 0.3)[:, GAP].min() for sign in (1.0, -1.0)
        )
        # Nowhere steeper than a distance can be; of that slope unless the axis changes on the way.
        assert abs(ahead - behind) <= 2 * step * (1 + 1e-3) + 4e-7
        if abs(ahead + behind - 2 * gap) < 1e-3 * step:
            assert (ahead - behind) / (2 * step) == pytest.approx(direction @ normal, abs=0.011)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_witness_points_lie_on_the_surfaces(shapes: Polyhedra, seed: int) -> None:
    rng = np.random.default_rng(seed)
    xa, Ra, xb, Rb = near_pose(rng, 1.0)
    for gap, *rest in shapes(CUBE, xa, Ra, SMALL, xb, Rb, 0.3):
        normal, place = np.array(rest[:3]), np.array(rest[3:6])
        on_a, on_b = Ra.T @ (place + gap / 2 * normal - xa), Rb.T @ (place - gap / 2 * normal - xb)
        assert np.abs(on_a).max() == pytest.approx(1.0, abs=1e-6)
        assert np.abs(on_b).max() == pytest.approx(0.5, abs=1e-6)


@pytest.fixture(scope="module")
def rounds() -> Rounds:
    return Rounds(box(1, 1, 1))


def test_a_standing_cylinder_touches_at_four_points_of_its_rim(rounds: Rounds) -> None:
    for gap in (0.01, 0.0, -0.01):
        points = rounds(cylinder_polytope, (0.5, 0.5), [0.1, 0, 1.5 + gap], turned("z", 10), (0,), ORIGIN, UPRIGHT, 0.1)
        assert points[:, GAP] == pytest.approx(np.full(4, gap))
        assert points[:, N] == pytest.approx(np.tile([0.0, 0.0, 1.0], (4, 1)))
        spokes = points[:, PLACE : PLACE + 2] - [0.1, 0.0]
        assert np.linalg.norm(spokes, axis=1) == pytest.approx(np.full(4, 0.5))
        assert np.abs(spokes.sum(axis=0)).max() < 1e-12


def test_a_lying_cylinder_touches_at_the_ends_of_its_side(rounds: Rounds) -> None:
    for pair in (cylinder_polytope,):
        for gap in (0.01, -0.01):
            points = rounds(pair, (0.5, 0.5), [0.1, 0.8, 1.5 + gap], turned("x", 90), (0,), ORIGIN, UPRIGHT, 0.1)
            assert points[:, GAP] == pytest.approx(np.full(2, gap))
            assert sorted(points[:, PLACE + 1]) == pytest.approx([0.3, 1.0])
            assert points[:, PLACE + 2] == pytest.approx(np.full(2, 1 + gap / 2))


def test_cylinders_stacked_or_side_by_side_have_closed_forms(rounds: Rounds) -> None:
    one = (0.5, 0.5)
    stacked = rounds(cylinder_cylinder, one, [0, 0, 1.01], UPRIGHT, one, ORIGIN, UPRIGHT, 0.1)
    assert stacked[:, GAP] == pytest.approx(np.full(4, 0.01))
    beside = rounds(cylinder_cylinder, one, [1.01, 0, 0.2], UPRIGHT, one, ORIGIN, UPRIGHT, 0.1)
    assert beside[:, GAP] == pytest.approx(np.full(2, 0.01))
    assert sorted(beside[:, PLACE + 2]) == pytest.approx([-0.3, 0.5])
    across = rounds(capsule_cylinder, one, [0, 0, 0.99], turned("x", 90), one, ORIGIN, UPRIGHT, 0.1)
    assert across[:, GAP] == pytest.approx(np.full(2, -0.01))


def reach(size: Any, skin: float, x: Any, R: Any, n: Any) -> Any:
    """How far a cylinder, or the core of a capsule with its skin, reaches along directions."""
    along = n @ R[:, 2]
    return n @ x + size[1] * np.abs(along) + size[0] * np.sqrt(np.maximum(1 - along**2, 0)) + skin


@pytest.mark.parametrize("pair", [cylinder_polytope, cylinder_cylinder, capsule_cylinder])
def test_no_direction_parts_round_shapes_by_less_than_their_depth(pair: Any, rounds: Rounds) -> None:
    rng, corners = np.random.default_rng(5), box(1, 1, 1)
    directions = rng.normal(size=(20000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    met = 0
    for _ in range(60):
        size, other, (xa, Ra, xb, Rb) = rng.uniform(0.2, 1, 2), rng.uniform(0.2, 1, 2), near_pose(rng)
        capsule, cylinder = pair is capsule_cylinder, pair in (cylinder_cylinder, capsule_cylinder)
        points = rounds(pair, size, xa, Ra, other if cylinder else (0,), xb, Rb, 0.3)
        if len(points) == 0:
            continue
        met += 1
        gap, n = points[:, GAP].min(), np.vstack([-points[0, N], directions])
        core, skin = ((0.0, size[1]), size[0]) if capsule else (size, 0.0)
        far = reach(other, 0.0, xb, Rb, -n) if cylinder else (-n @ (corners @ Rb.T + xb).T).max(axis=1)
        separation = -reach(core, skin, xa, Ra, n) - far
        assert separation.max() <= gap + 1e-6
        assert separation[0] == pytest.approx(gap, abs=1e-6 if len(points) == 1 else 0.011)
    assert met > 20
