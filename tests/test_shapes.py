"""Shapes: sizes, mass properties, meshes and their files, tables for hot loops; coal as the second opinion on mass."""

from __future__ import annotations

import struct
from math import inf, nan, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from geometry_pairs import coal_shape
from impinge.errors import InputError
from impinge.geometry.mesh_file import read_mesh
from impinge.geometry.pack import shape_tables
from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere

CORNER = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
OUTWARD = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
ROUND = [Sphere(0.3), Capsule(0.2, 0.7), Cylinder(0.3, 0.9)]


def triangles(box):
    return [(loop[0], loop[k], loop[k + 1]) for loop in box.polytope.loops for k in (1, 2)]


def box_mesh(x, y, z, R=None, at=(0.0, 0.0, 0.0)):
    box = Box(x, y, z)
    R = np.eye(3) if R is None else R
    return box.polytope.vertices @ R.T + at, triangles(box)


def random_hull(seed, n=20):
    return ConvexMesh.hull(np.random.default_rng(seed).normal(2.0, 1.0, size=(n, 3)))


@pytest.mark.parametrize("shape", [*ROUND, Box(0.2, 0.5, 0.9), random_hull(3)], ids=lambda s: type(s).__name__)
def test_volume_center_and_inertia_are_those_of_coal(shape):
    other = coal_shape(shape)
    assert shape.volume == pytest.approx(other.computeVolume(), rel=1e-12)
    assert shape.center == pytest.approx(other.computeCOM(), abs=1e-12)
    about_center = other.computeMomentofInertiaRelatedToCOM()
    assert shape.inertia == pytest.approx(about_center, rel=1e-10, abs=1e-10 * np.abs(about_center).max())


def test_the_inertia_of_a_capsule_is_that_of_its_slices():
    """A sum over thin discs, independent of the closed form."""
    shape = Capsule(0.3, 0.8)
    z, dz = np.linspace(-0.7, 0.7, 200_001, retstep=True)
    past = np.maximum(np.abs(z) - 0.4, 0.0)
    square = np.maximum(0.3**2 - past**2, 0.0)
    assert shape.volume == pytest.approx((pi * square).sum() * dz, rel=1e-8)
    assert shape.inertia[2, 2] == pytest.approx((pi / 2 * square**2).sum() * dz, rel=1e-8)
    assert shape.inertia[0, 0] == pytest.approx((pi * square * (square / 4 + z**2)).sum() * dz, rel=1e-8)


def test_a_box_of_triangles_weighs_as_a_box_wherever_it_is():
    R = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    box, mesh = Box(0.2, 0.3, 0.7), ConvexMesh(*box_mesh(0.2, 0.3, 0.7, R, (100.0, -50.0, 20.0)))
    assert mesh.volume == pytest.approx(box.volume, rel=1e-11)
    assert mesh.center == pytest.approx([100.0, -50.0, 20.0], rel=1e-14)
    assert mesh.inertia == pytest.approx(R @ box.inertia @ R.T, abs=1e-12)


def test_reach_and_size_are_what_the_tables_want():
    assert Sphere(0.3).size == (0.3, 0.0, 0.0)
    assert Capsule(0.2, 0.6).size == (0.2, 0.3, 0.0)
    assert Cylinder(0.3, 0.8).size == (0.3, 0.4, 0.0)
    assert Cylinder(0.3, 0.8).reach == pytest.approx(0.5)
    assert Capsule(0.2, 0.6).reach == pytest.approx(0.5)
    assert Box(2, 3, 6).size == (1.0, 1.5, 3.0)
    assert Box(2, 3, 6).reach == pytest.approx(3.5)
    mesh = ConvexMesh([(2.0, 0.0, 0.0), *CORNER[:1], *CORNER[2:]], [(1, 2, 0), (1, 0, 3), (1, 3, 2), (0, 2, 3)])
    assert mesh.size == (2.0, 0.0, 0.0)
    assert HalfSpace().reach == HalfSpace().volume == inf


def test_equal_shapes_are_equal_and_hash_alike():
    assert Box(1, 2, 3) == Box(1.0, 2.0, 3.0)
    assert HalfSpace() == HalfSpace()
    a, b = ConvexMesh(CORNER, OUTWARD), ConvexMesh(np.array(CORNER), np.array(OUTWARD))
    assert a == b
    assert len({a, b, ConvexMesh(2.0 * np.array(CORNER), OUTWARD), Sphere(1), Sphere(1.0)}) == 3


def assert_sound(polytope):
    """Euler's formula; loops counterclockwise in their planes; each edge between the faces it names."""
    v, n = polytope.vertices, len(polytope.vertices)
    assert n - len(polytope.edges) + len(polytope.planes) == 2
    size = np.linalg.norm(np.ptp(v, axis=0))
    assert np.linalg.norm(polytope.planes[:, :3], axis=1) == pytest.approx(1.0)
    assert (polytope.planes[:, :3] @ v.T <= polytope.planes[:, 3:] + 2e-6 * size).all()
    for loop, plane in zip(polytope.loops, polytope.planes, strict=True):
        p = v[list(loop)]
        assert np.abs(p @ plane[:3] - plane[3]).max() < 1e-6 * size
        ahead, behind = np.roll(p, -1, axis=0) - p, p - np.roll(p, 1, axis=0)
        assert (np.cross(behind, ahead) @ plane[:3] > 0.0).all()
    for a, b, left, right in polytope.edges:
        for face, (s, e) in ((left, (a, b)), (right, (b, a))):
            loop = polytope.loops[face]
            assert loop[(loop.index(s) + 1) % len(loop)] == e


def test_a_box_has_six_faces_and_twelve_edges():
    polytope = Box(1, 2, 3).polytope
    assert (len(polytope.vertices), len(polytope.loops), len(polytope.edges)) == (8, 6, 12)
    assert_sound(polytope)


@given(st.integers(0, 2**32 - 1), st.integers(4, 60), st.floats(-3.0, 3.0))
def test_the_hull_of_random_points_is_a_sound_polytope(seed, n, decades):
    mesh = ConvexMesh.hull(10.0**decades * np.random.default_rng(seed).normal(size=(n, 3)))
    assert mesh.volume > 0.0
    assert_sound(mesh.polytope)


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.4, -0.3, 1.0)])
def test_coplanar_triangles_become_one_face_and_points_on_edges_go(turn):
    """A cube whose faces are grids of 5 × 5 squares, through the hull and as a mesh of its own."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 6)] * 3), axis=-1).reshape(-1, 3)
    shell = grid[np.abs(grid).max(axis=1) > 0.999] @ Rotation.from_rotvec(turn).as_matrix().T
    polytope = ConvexMesh.hull(shell).polytope
    assert (len(polytope.vertices), len(polytope.loops), len(polytope.edges)) == (8, 6, 12)
    assert_sound(polytope)


def test_a_face_divided_at_its_middle_and_at_an_edge_is_one_face():
    vertices, faces = box_mesh(1.0, 1.0, 1.0)
    top = [t for t in faces if all(vertices[k][2] > 0 for k in t)]
    a, b, c, d = 4, 5, 7, 6  # around the top
    split = [t for t in faces if t not in top] + [(a, b, 8), (b, c, 8), (c, d, 8), (d, a, 8)]
    # And the edge from a to b at its middle, in both of its triangles.
    side = next(t for t in split if {a, b} < set(t) and 8 not in t)
    far = next(k for k in side if k not in (a, b))
    split = [t for t in split if t not in (side, (a, b, 8))] + [(a, 9, 8), (9, b, 8), (b, 9, far), (9, a, far)]
    mesh = ConvexMesh([*vertices, (0.0, 0.0, 0.5), (0.0, -0.5, 0.5)], split)
    assert mesh.volume == pytest.approx(1.0)
    assert (len(mesh.polytope.vertices), len(mesh.polytope.loops), len(mesh.polytope.edges)) == (8, 6, 12)
    assert_sound(mesh.polytope)


def test_triangles_that_turn_inward_are_turned_outward():
    inward = [t[::-1] for t in OUTWARD]
    assert ConvexMesh(CORNER, inward).volume == pytest.approx(1 / 6)
    assert_sound(ConvexMesh(CORNER, inward).polytope)


def test_unused_vertices_are_dropped():
    mesh = ConvexMesh([(9.0, 9.0, 9.0), *CORNER], np.array(OUTWARD) + 1)
    assert mesh == ConvexMesh(CORNER, OUTWARD)


def dented():
    """A box with the middle of its top pushed in."""
    vertices, faces = box_mesh(1.0, 1.0, 1.0)
    faces = [t for t in faces if not all(vertices[k][2] > 0 for k in t)]
    return [*vertices, (0.0, 0.0, 0.3)], [*faces, (4, 5, 8), (5, 7, 8), (7, 6, 8), (6, 4, 8)]


TWO = (np.vstack([CORNER, np.array(CORNER) + 5.0]), [*OUTWARD, *(np.array(OUTWARD) + 4).tolist()])
WRONG = {
    "zero radius": (lambda: Sphere(0.0), "'radius' of Sphere: expected a finite length above 0 m, got 0"),
    "negative length": (lambda: Capsule(1.0, -2.0), "'length' of Capsule: .* got -2"),
    "infinite length": (lambda: Cylinder(1.0, inf), "'length' of Cylinder"),
    "no number": (lambda: Box(1.0, nan, 1.0), "'y' of Box"),
    "text": (lambda: Box(1.0, 1.0, "2"), "'z' of Box: .* got '2'"),
    "open": (
        lambda: ConvexMesh(box_mesh(1, 1, 1)[0], box_mesh(1, 1, 1)[1][1:]),
        "closed surface.* got 1 at the edge from vertex 0",
    ),
    "winding": (lambda: ConvexMesh(CORNER, [(0, 1, 2), *OUTWARD[1:]]), "turn the same way"),
    "dent": (lambda: ConvexMesh(*dented()), "a convex mesh, got vertex . beyond the plane of face .* by 0.371 m"),
    "index": (lambda: ConvexMesh(CORNER, [(0, 2, 7), *OUTWARD[1:]]), "vertex numbers from 0 to 3, got vertex 7"),
    "negative index": (lambda: ConvexMesh(CORNER, [(0, 2, -1), *OUTWARD[1:]]), "got vertex -1"),
    "few": (lambda: ConvexMesh(CORNER[:3], [(0, 1, 2), (0, 2, 1)]), "at least four points, got 3"),
    "flat": (lambda: ConvexMesh(np.array(CORNER) * (1, 1, 0), OUTWARD), "a solid, got volume 0 m³"),
    "thin": (lambda: ConvexMesh(np.array(CORNER) * (1, 1, 1e-7), OUTWARD), "a solid"),
    "two pieces": (lambda: ConvexMesh(*TWO), "one surface without handles"),
    "repeated": (lambda: ConvexMesh(CORNER, [(0, 0, 1), *OUTWARD]), "three different vertices per triangle"),
    "quads": (lambda: ConvexMesh(CORNER, [(0, 1, 2, 3)]), "rows of three vertex numbers"),
    "ragged": (lambda: ConvexMesh(CORNER, [(0, 1, 2), (0, 1)]), "rows of three vertex numbers"),
    "fractions": (lambda: ConvexMesh(CORNER, np.array(OUTWARD) + 0.5), "array of float64"),
    "no faces": (lambda: ConvexMesh(CORNER, np.zeros((0, 3), dtype=int)), "at least four triangles, got 0"),
    "planar points": (lambda: ConvexMesh([(0, 0), (1, 1)], OUTWARD), "rows of three numbers"),
    "nan vertex": (lambda: ConvexMesh([*CORNER[:3], (0, 0, nan)], OUTWARD), "finite coordinates, got point 3"),
    "flat hull": (lambda: ConvexMesh.hull(np.array([*CORNER, (1, 1, 0)]) * (1, 1, 0)), "points that span a solid"),
    "few for a hull": (lambda: ConvexMesh.hull(CORNER[:3]), "ConvexMesh.hull: expected at least four points"),
    "scale": (lambda: ConvexMesh.load("x.stl", scale=0.0), "'scale' of mesh file 'x.stl'"),
    "frames": (lambda: shape_tables([Sphere(1)], [0, 1], [[0, 0, 0]], [np.eye(3)], [0.5]), "'frames' of shape_tables"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_shape_is_refused_with_what_is_wrong(case):
    build, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        build()


def test_a_dent_within_the_tolerance_is_allowed():
    vertices, faces = dented()
    vertices[8] = (0.0, 0.0, 0.5 - 1e-8)
    assert_sound(ConvexMesh(vertices, faces).polytope)


def binary_stl(vertices, faces, header=b"solid or not"):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.array(vertices)[list(t)].ravel(), 0) for t in faces)
    return header.ljust(80) + struct.pack("<I", len(faces)) + body


def text_stl(vertices, faces):
    lines = ["solid thing"]
    for t in faces:
        lines += ["facet normal 0 0 0", " outer loop"]
        lines += [" vertex " + " ".join(f"{x:.9e}" for x in vertices[k]) for k in t]
        lines += [" endloop", "endfacet"]
    return "\n".join([*lines, "endsolid thing"]).encode()


@pytest.mark.parametrize("write", [binary_stl, text_stl])
@pytest.mark.parametrize("seed", range(5))
def test_a_turned_box_from_an_stl_file_has_eight_vertices_and_six_faces(tmp_path, write, seed):
    """Single precision: corners are off by 6e-8 of their coordinates."""
    R = Rotation.random(random_state=seed).as_matrix()
    (tmp_path / "box.STL").write_bytes(write(*box_mesh(200.0, 300.0, 700.0, R)))
    mesh = ConvexMesh.load(tmp_path / "box.STL", scale=0.001)
    assert mesh.volume == pytest.approx(0.042, rel=1e-6)
    assert (len(mesh.polytope.vertices), len(mesh.polytope.loops)) == (8, 6)
    assert_sound(mesh.polytope)


OBJ = """# a cube with quads
v 0 0 0
v 1 0 0 1.0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
vt 0 0
vn 0 0 1
o cube
f 1 4 3 2
f 5/1 6/1 7/1 8/1
f 1/1/1 2/1/1 6/1/1 5/1/1
f 2//1 3//1 7//1 6//1
f -6 -5 -1 -2  # the side y = 1
f 4 1 5 \\
  8
"""


def test_an_obj_file_with_polygons_and_all_forms_of_indices_is_read(tmp_path):
    (tmp_path / "cube.obj").write_text(OBJ)
    mesh = ConvexMesh.load(tmp_path / "cube.obj", scale=2.0)
    assert mesh.volume == pytest.approx(8.0)
    assert mesh.center == pytest.approx([1.0, 1.0, 1.0])
    assert len(mesh.polytope.loops) == 6


def test_needles_in_an_stl_file_do_no_harm(tmp_path):
    vertices, faces = box_mesh(1.0, 1.0, 1.0)
    (tmp_path / "box.stl").write_bytes(binary_stl(vertices, [*faces, (0, 0, 1)]))
    assert ConvexMesh.load(tmp_path / "box.stl").volume == pytest.approx(1.0)


BAD_FILES = {
    "missing": ("gone.stl", None, "expected a file, got nothing at this path"),
    "extension": ("thing.step", b"", "a name that ends in .stl or .obj, got '.step'"),
    "noise": ("thing.stl", b"\x00\x01\x02" * 40, "STL data, got 120 bytes that are neither binary nor text STL"),
    "cut": ("thing.stl", binary_stl(CORNER, OUTWARD, b"x")[:-1], "neither binary nor text STL"),
    "empty": ("thing.stl", b"", "STL data, got 0 bytes"),
    "no triangle": ("thing.stl", b"solid x\nendsolid x", "STL data, got no triangle"),
    "two corners": ("thing.stl", b"solid x\nvertex 0 0 0\nvertex 1 0 0", "vertices that do not form triangles"),
    "words": ("thing.stl", b"solid x\nvertex a b c", "could not convert string to float"),
    "obj words": ("thing.obj", b"v 0 0 zero", "OBJ data, got could not convert"),
    "obj coordinates": ("thing.obj", b"v 0 0", "a vertex without three coordinates in line 1"),
    "obj index": ("thing.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4", "a face with vertex 4 of 3"),
    "obj negative": ("thing.obj", b"v 0 0 0\nf -1 -2 -3", "vertex -2 in line 2, where 1 are known"),
    "obj zero": ("thing.obj", b"v 0 0 0\nf 0 1 1", "vertex 0 in line 2"),
    "obj line": ("thing.obj", b"v 0 0 0\nv 1 0 0\nf 1 2", "a face of 2 vertices in line 3"),
    "not convex": ("thing.stl", binary_stl(*dented()), "mesh file .*thing.stl': expected a convex mesh"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(tmp_path, case):
    name, content, message = BAD_FILES[case]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        ConvexMesh.load(tmp_path / name)


def test_a_folder_is_no_mesh_file(tmp_path):
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(InputError, match="a file that can be read, got Is a directory"):
        read_mesh(tmp_path / "folder.stl")


def test_a_thousand_equal_boxes_share_one_polytope():
    shapes = [Box(1, 2, 3) if k % 2 else Box(1.0, 2.0, 3.0) for k in range(1000)] + [random_hull(1), Sphere(1)]
    n = len(shapes)
    table = shape_tables(shapes, np.arange(n), np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)), np.full(n, 0.5))
    assert (table.polytope[:1000] == 0).all()
    assert table.polytope[1000:].tolist() == [1, -1]
    p = table.polytopes
    assert p.first_vertex.tolist() == [0, 8, len(p.vertices)]
    assert p.first_face.tolist() == [0, 6, len(p.planes)]
    assert p.first_edge.tolist() == [0, 12, len(p.edges)]
    hull = shapes[1000].polytope
    assert (p.vertices[8:] == hull.vertices).all()
    assert (p.edges[12:] == hull.edges).all()
    first, last = p.first_loop[6], p.first_loop[7]
    assert tuple(p.loops[first:last]) == hull.loops[0]
    assert p.first_loop[-1] == len(p.loops)


def test_no_shapes_make_empty_tables():
    table = shape_tables([], [], np.zeros((0, 3)), np.zeros((0, 3, 3)), [])
    assert table.size.shape == (0, 3)
    assert table.axes.shape == (0, 3, 3)
    assert table.polytopes.first_vertex.tolist() == [0]
