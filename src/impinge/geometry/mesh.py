"""Closed convex triangle meshes: whether they are, what they weigh, and their faces as polygons."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError

# All relative to the size of a mesh, the diagonal of its bounding box.
FLAT = 1e-6  # volume over surface, below which it is no solid
CONVEX = 1e-6  # how far a vertex may be beyond a face
COPLANAR = 1e-7  # how far triangles of one face may be from its plane: what single precision leaves


class Polytope(NamedTuple):
    """A convex polyhedron with polygons as faces, in the axes of its shape.

    Attributes:
        vertices: (n, 3), each the corner of at least three faces.
        loops: the vertices of each face, counterclockwise from outside.
        planes: (f, 4), outward normal n and d of each face; inside is n·x ≤ d.
        edges: (e, 4), two vertices and the faces left and right of the way from one to the other, from outside.
    """

    vertices: NDArray[np.float64]
    loops: tuple[tuple[int, ...], ...]
    planes: NDArray[np.float64]
    edges: NDArray[np.int64]


def closed_mesh(vertices: Any, faces: Any, who: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Check that triangles enclose a volume once and return them turned outward, without unused vertices.

    Args:
        vertices: n × 3 numbers.
        faces: m × 3 vertex numbers.
        who: what the errors speak of.
    """
    v, f = _arrays(vertices, faces, who)
    used, f = np.unique(f, return_inverse=True)
    v, f = v[used], f.reshape(-1, 3).astype(np.int64)
    n = len(v)
    start, end = f.ravel(), np.roll(f, -1, axis=1).ravel()
    either, count = np.unique(np.minimum(start, end) * n + np.maximum(start, end), return_counts=True)
    if (count != 2).any():
        worst = int(np.argmax(count != 2))
        a, b = (int(used[k]) for k in divmod(int(either[worst]), n))
        raise InputError(
            who,
            "a closed surface: two triangles at every edge",
            f"{count[worst]} at the edge from vertex {a} to {b}",
            "Close the holes, remove inner walls and merge equal vertices.",
        )
    directed, count = np.unique(start * n + end, return_counts=True)
    if (count != 1).any():
        a, b = (int(used[k]) for k in divmod(int(directed[np.argmax(count)]), n))
        raise InputError(
            who,
            "triangles that all turn the same way",
            f"two that both go from vertex {a} to {b}",
            "Orient the faces consistently.",
        )
    corners = v[f] - v.mean(axis=0)
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    volume = float(np.einsum("ij,ij->", corners[:, 0], cross)) / 6.0
    area = float(np.linalg.norm(cross, axis=1).sum()) / 2.0
    if abs(volume) <= FLAT * size_of(v) * area:
        raise InputError(who, "a solid", f"volume {abs(volume):g} m³ in {area:g} m² of surface", "Give it thickness.")
    if n - len(either) + len(f) != 2:
        raise InputError(
            who,
            "one surface without handles",
            f"{n} vertices, {len(either)} edges and {len(f)} triangles",
            "Split it into convex pieces, one shape each.",
        )
    return v, f if volume > 0.0 else f[:, ::-1].copy()


def _arrays(vertices: Any, faces: Any, who: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    v = points_array(vertices, who)
    try:
        f = np.asarray(faces)
    except ValueError:
        f = np.empty(0)
    if f.ndim != 2 or f.shape[1] != 3 or f.dtype.kind not in "iu":
        raise InputError(who, "triangles: rows of three vertex numbers", _form(f), "Triangulate the faces.")
    if len(f) < 4:
        raise InputError(who, "at least four triangles", f"{len(f)}", "Close the surface.")
    if f.min() < 0 or f.max() >= len(v):
        bad = int(f.min()) if f.min() < 0 else int(f.max())
        raise InputError(
            who, f"vertex numbers from 0 to {len(v) - 1}", f"vertex {bad}", "Count vertices from 0 in the faces."
        )
    repeated = (f == np.roll(f, 1, axis=1)).any(axis=1)
    if repeated.any():
        face = int(np.argmax(repeated))
        raise InputError(who, "three different vertices per triangle", f"face {face}: {f[face].tolist()}", "Remove it.")
    return v, f.astype(np.int64)


def points_array(points: Any, who: str) -> NDArray[np.float64]:
    """Return points as an n × 3 array of at least four finite rows."""
    try:
        v = np.array(points, dtype=np.float64)
    except (ValueError, TypeError):
        v = np.empty(0)
    if v.ndim != 2 or v.shape[1] != 3:
        raise InputError(who, "points: rows of three numbers", _form(v), "Give x, y and z of each.")
    if len(v) < 4:
        raise InputError(who, "at least four points", f"{len(v)}", "A solid has four corners or more.")
    if not np.isfinite(v).all():
        row = int(np.argmin(np.isfinite(v).all(axis=1)))
        raise InputError(who, "finite coordinates", f"point {row}: {v[row].tolist()}", "Correct this point.")
    return v


def _form(array: NDArray[Any]) -> str:
    return f"an array of {array.dtype} with shape {array.shape}"


def size_of(vertices: NDArray[np.float64]) -> float:
    """Return the diagonal of the bounding box."""
    return float(np.linalg.norm(np.ptp(vertices, axis=0)))


def mass_properties(
    vertices: NDArray[np.float64], faces: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return volume, center of mass and inertia about it, at density 1, of what triangles enclose.

    The integrals over the tetrahedra between a point and each triangle are exact (divergence theorem).
    """
    middle = vertices.mean(axis=0)  # near the solid, where nothing cancels
    a, b, c = np.moveaxis(vertices[faces] - middle, 1, 0)
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = float(det.sum()) / 6.0
    total = a + b + c
    center = det @ total / (24.0 * volume)
    second = sum(np.einsum("i,ij,ik->jk", det, x, x) for x in (a, b, c, total)) / 120.0
    second = second - volume * np.outer(center, center)
    return volume, middle + center, np.trace(second) * np.eye(3) - second


def polytope_of(vertices: NDArray[np.float64], faces: NDArray[np.int64], who: str) -> Polytope:
    """Merge coplanar triangles of a closed mesh into faces and check that it is convex."""
    size = size_of(vertices)
    region, seeds = _regions(vertices, faces, COPLANAR * size)
    corners = vertices[faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros((len(seeds), 3))
    np.add.at(normals, region, cross)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    for k, (normal, seed) in enumerate(zip(normals, seeds, strict=True)):
        beyond = vertices @ normal - (corners[region == k] @ normal).max()
        if beyond.max() > CONVEX * size:
            raise InputError(
                who,
                "a convex mesh",
                f"vertex {int(beyond.argmax())} beyond the plane of face {seed} by {beyond.max():.3g} m",
                "Use ConvexMesh.hull(vertices), or split it into convex pieces.",
            )
    loops = _without_middles([_boundary(faces, region, k, who) for k in range(len(seeds))], len(vertices))
    used, flat = np.unique(np.concatenate(loops), return_inverse=True)
    kept = vertices[used]
    ends = np.cumsum([len(loop) for loop in loops])[:-1]
    named = tuple(tuple(int(k) for k in loop) for loop in np.split(flat, ends))
    offsets = [(kept[list(loop)] @ normal).max() for loop, normal in zip(named, normals, strict=True)]
    return Polytope(kept, named, np.column_stack([normals, offsets]), edges_of(named))


def _regions(
    vertices: NDArray[np.float64], faces: NDArray[np.int64], tolerance: float
) -> tuple[NDArray[np.int64], list[int]]:
    """Say to which face each triangle belongs, and which triangle each face grew from: the largest first."""
    edge = {(int(t[i]), int(t[(i + 1) % 3])): k for k, t in enumerate(faces) for i in range(3)}
    corners = vertices[faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(cross, axis=1)
    region = np.full(len(faces), -1, dtype=np.int64)
    seeds: list[int] = []
    for seed in np.argsort(-area, kind="stable"):
        if region[seed] >= 0:
            continue
        normal = cross[seed] / max(area[seed], np.finfo(float).tiny)
        region[seed] = len(seeds)
        todo = [int(seed)]
        while todo:
            t = faces[todo.pop()]
            for i in range(3):
                other = edge[int(t[(i + 1) % 3]), int(t[i])]
                off = np.abs((corners[other] - corners[seed, 0]) @ normal).max()
                if region[other] < 0 and off <= tolerance and cross[other] @ normal >= -tolerance * area[seed]:
                    region[other] = len(seeds)
                    todo.append(other)
        seeds.append(int(seed))
    return region, seeds


def _boundary(faces: NDArray[np.int64], region: NDArray[np.int64], k: int, who: str) -> list[int]:
    """Return the loop around a face: its triangles' edges that have no opposite among them."""
    mine = {(int(t[i]), int(t[(i + 1) % 3])) for t in faces[region == k] for i in range(3)}
    follow = {a: b for a, b in mine if (b, a) not in mine}
    loop = [min(follow)]
    while follow[loop[-1]] != loop[0] and len(loop) <= len(follow):
        loop.append(follow[loop[-1]])
    if len(loop) != sum((b, a) not in mine for a, b in mine):
        raise InputError(
            who,
            "faces that are simple polygons",
            f"a tangled face at vertex {loop[0]}",
            "Use ConvexMesh.hull(vertices).",
        )
    return loop


def _without_middles(loops: list[list[int]], n: int) -> list[list[int]]:
    """Leave out the vertices on straight edges: those of two faces only."""
    count = np.bincount(np.concatenate(loops), minlength=n)
    for vertex in np.flatnonzero(count == 2):
        both = [loop for loop in loops if vertex in loop]
        if all(len(loop) > 3 for loop in both):
            for loop in both:
                loop.remove(int(vertex))
    return loops


def edges_of(loops: tuple[tuple[int, ...], ...]) -> NDArray[np.int64]:
    """Return the edges between faces given as loops: two vertices, the faces left and right."""
    left = {(loop[i], loop[(i + 1) % len(loop)]): k for k, loop in enumerate(loops) for i in range(len(loop))}
    return np.array([(a, b, k, left[b, a]) for (a, b), k in left.items() if a < b], dtype=np.int64)
