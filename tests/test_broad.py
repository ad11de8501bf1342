"""Near pairs: the same as comparing all with all, at a cost that follows their number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from impinge.compile import Struct
from impinge.geometry import broad
from impinge.geometry.broad import bounds, grid_space, near_pairs
from impinge.geometry.pack import shape_tables
from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere

NONE = np.zeros(0, dtype=np.int64)


def near(lo, hi, kind=None, frame=None, dynamic=None, excluded=NONE, room=None):
    n = len(lo)
    room = n * n if room is None else room
    kind = np.zeros(n, dtype=np.int64) if kind is None else kind
    frame = np.arange(n) if frame is None else frame
    dynamic = np.ones(n, dtype=np.int64) if dynamic is None else dynamic
    pairs = np.full((room, 2), -7)
    count = near_pairs(lo, hi, kind, frame, dynamic, excluded, Struct(grid_space(n, room)), pairs)
    return count, pairs[: max(count, 0)].tolist()


def all_pairs(lo, hi, kind, frame, dynamic, excluded):
    found = []
    for a in range(len(lo)):
        for b in range(a + 1, len(lo)):
            p, q = sorted((frame[a], frame[b]))
            apart = (lo[a] > hi[b]).any() or (lo[b] > hi[a]).any()
            if not apart and p != q and (dynamic[p] or dynamic[q]) and p * len(dynamic) + q not in excluded:
                found.append([b, a] if kind[b] < kind[a] else [a, b])
    return sorted(found)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.floats(0.0, 3.0), st.sampled_from([0.1, 1.0, 1e4]))
def test_near_pairs_are_those_of_comparing_all_with_all(seed, n, decades, spread):
    rng = np.random.default_rng(seed)
    lo = spread * rng.normal(size=(n, 3))
    hi = lo + 10.0 ** rng.uniform(-decades, decades, (n, 1)) * rng.uniform(0.0, 1.0, (n, 3))
    endless = rng.random(n) < 0.1
    lo[endless, 2], hi[endless] = -np.inf, np.inf
    frames = max(1, n // 2)
    kind, frame = rng.integers(0, 6, n), rng.integers(0, frames, n)
    dynamic = rng.integers(0, 2, frames)
    excluded = np.unique([a * frames + b for a, b in np.sort(rng.integers(0, frames, (frames, 2)), axis=1)])
    excluded = excluded.astype(np.int64)
    count, pairs = near(lo, hi, kind, frame, dynamic, excluded)
    expected = all_pairs(lo, hi, kind, frame, dynamic, excluded)
    assert (count, pairs) == (len(expected), expected)


def test_boxes_on_a_lattice_that_just_touch_are_near():
    """Corners exactly on the borders of cells, on both sides of zero."""
    corner = np.stack(np.meshgrid(*[np.arange(-2.0, 2.0)] * 3), axis=-1).reshape(-1, 3)
    n = len(corner)
    ones = np.ones(n, dtype=np.int64)
    expected = all_pairs(corner, corner + 1.0, ones, np.arange(n), ones, ())
    assert near(corner, corner + 1.0)[1] == expected
    assert len(expected) == 468  # neighbors by face, edge or corner: 3·48 + 6·36 + 4·27


def test_shapes_of_very_different_sizes_find_each_other():
    lo = np.array([[0.0, 0.0, 0.0], [-1e6, -1e6, -1e6], [0.5, 0.5, 0.5], [-1e12, 0.0, 0.0], [1e17, 0.0, 0.0]])
    hi = np.array([[1e-7, 1e-7, 1e-7], [1e6, 1e6, 1e6], [1.0, 1.0, 1.0], [1e12, 2e-7, 2e-7], [1e17 + 32.0, 1.0, 1.0]])
    assert near(lo, hi)[1] == [[0, 1], [0, 3], [1, 2], [1, 3]]


def test_a_box_of_no_number_is_near_nothing():
    lo, hi = np.zeros((3, 3)), np.ones((3, 3))
    lo[1], hi[1] = np.nan, np.nan
    assert near(lo, hi)[1] == [[0, 2]]


def test_pairs_in_one_frame_or_between_fixed_frames_or_excluded_are_left_out():
    lo, hi = np.zeros((5, 3)), np.ones((5, 3))
    frame, dynamic = np.array([3, 0, 3, 1, 2]), np.array([0, 0, 1, 1])
    assert near(lo, hi, frame=frame, dynamic=dynamic)[1] == [
        [0, 1],
        [0, 3],
        [0, 4],
        [1, 2],
        [1, 4],
        [2, 3],
        [2, 4],
        [3, 4],
    ]
    keys = np.array([0 * 4 + 2, 2 * 4 + 3])
    assert near(lo, hi, frame=frame, dynamic=dynamic, excluded=keys)[1] == [[0, 1], [0, 3], [1, 2], [2, 3], [3, 4]]


def test_the_lower_kind_comes_first():
    lo, hi = np.zeros((3, 3)), np.ones((3, 3))
    assert near(lo, hi, kind=np.array([5, 0, 3]))[1] == [[1, 0], [1, 2], [2, 0]]


@pytest.mark.parametrize("room", [0, 1, 27])
def test_too_little_room_is_told_and_how_much_is_needed(room):
    lo, hi = np.zeros((8, 3)), np.ones((8, 3))
    assert near(lo, hi, room=room) == (-28, [])
    assert near(lo, hi, room=28)[0] == 28


def shape_bounds(shapes, x, R, reach):
    n = len(shapes)
    table = shape_tables(shapes, np.arange(n), x, R, np.zeros(n))
    lo, hi = np.zeros((n, 3)), np.zeros((n, 3))
    bounds(table.kind, table.size, table.polytope, Struct(table.polytopes), table.at, table.axes, reach, lo, hi)
    return lo, hi


def support(shape, d):
    """The farthest a shape goes along a direction of its own axes."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Capsule):
        return 0.5 * shape.length * abs(d[2]) + shape.radius
    if isinstance(shape, Cylinder):
        return 0.5 * shape.length * abs(d[2]) + shape.radius * np.hypot(d[0], d[1])
    return (shape.polytope.vertices @ d).max()


@given(st.integers(0, 2**32 - 1))
def test_the_box_of_a_shape_is_the_smallest(seed):
    rng = np.random.default_rng(seed)
    mesh = ConvexMesh.hull(rng.normal(size=(12, 3)))
    shapes = [Sphere(0.3), Capsule(0.2, 1.0), Cylinder(0.4, 0.6), Box(0.3, 0.7, 1.1), mesh, Box(1, 1, 1)]
    x, reach = rng.normal(size=(6, 3)), rng.uniform(0.0, 0.5, 6)
    R = Rotation.random(6, random_state=rng).as_matrix()
    lo, hi = shape_bounds(shapes, x, R, reach)
    for k, shape in enumerate(shapes):
        for i in range(3):
            assert hi[k, i] == pytest.approx(x[k, i] + support(shape, R[k, i]) + reach[k], abs=1e-12)
            assert lo[k, i] == pytest.approx(x[k, i] - support(shape, -R[k, i]) - reach[k], abs=1e-12)


def test_a_half_space_is_bounded_only_above_a_level_surface():
    turned = Rotation.from_rotvec([0.3, 0.0, 0.0]).as_matrix()
    down = np.diag([1.0, -1.0, -1.0])
    lo, hi = shape_bounds([HalfSpace()] * 3, np.full((3, 3), 2.0), np.array([np.eye(3), turned, down]), np.full(3, 0.1))
    assert (hi[0] == [np.inf, np.inf, 2.1]).all()
    assert (lo[0] == -np.inf).all()
    assert (hi[1] == np.inf).all()
    assert (lo[1] == -np.inf).all()
    assert (hi[2] == np.inf).all()
    assert (lo[2] == [-np.inf, -np.inf, 1.9]).all()


def spheres(n, rng):
    """Spheres of radius 0.5, one per 2 m³, on a half-space."""
    lo = rng.uniform(0.0, (2.0 * n) ** (1 / 3), (n, 3))
    return np.vstack([lo, [[-np.inf] * 3]]), np.vstack([lo + 1.0, [[np.inf, np.inf, 0.0]]])


def work_per_shape(n):
    """Return how many boxes are compared, and how many columns of cells are looked into, for each of n shapes.

    The functions of `broad` are run as Python, so that their calls can be counted.
    """
    lo, hi = spheres(n, np.random.default_rng(1))
    room = 20 * n
    pairs = np.zeros((room, 2), dtype=np.int64)
    arguments = (np.zeros(n + 1, dtype=np.int64), np.arange(n + 1), np.ones(n + 1, dtype=np.int64), NONE)
    counts = {"_overlap": 0, "_column": 0}

    def counted(name, function):
        def count(*values):
            counts[name] += 1
            return function(*values)

        return count

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_fill", "_level", "_look", "_add", "place_of", "_sort_by"):
            patch.setattr(broad, name, getattr(broad, name).py_func)
        patch.setattr(broad, "_overlap", counted("_overlap", broad._overlap.py_func))
        patch.setattr(broad, "_column", counted("_column", broad._column))  # compiled: its numbers wrap
        count = near_pairs.py_func(lo, hi, *arguments, grid_space(n + 1, room), pairs)
    assert count > n // 2
    assert pairs[:count].tolist() == near(lo, hi, *arguments, room=room)[1]
    return np.array([counts["_overlap"], counts["_column"]]) / n


def test_the_work_is_linear_at_constant_density():
    few, many = work_per_shape(100), work_per_shape(1500)
    assert (many < 1.3 * few).all()  # all with all: 15 times as many; at the edge there are fewer
    assert (many < 40).all()
