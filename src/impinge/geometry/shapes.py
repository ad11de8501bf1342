"""Shapes: what touches and what has mass. Each lives in its own axes; all lengths in meters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, pi, sqrt
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from impinge.errors import InputError, as_number, show
from impinge.geometry.mesh import Polytope, closed_mesh, edges_of, mass_properties, points_array, polytope_of
from impinge.geometry.mesh_file import read_mesh
from impinge.geometry.table import BOX, CAPSULE, CYLINDER, HALF_SPACE, MESH, SPHERE

_BOX_FACES = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))  # −x, x, −y, …


class Shape(Protocol):
    """What every shape tells of itself.

    Attributes:
        kind: its number in `table`.
        size: three numbers as in `table.Shapes.size`.
        volume: in m³.
        center: its center of mass.
        inertia: 3 × 3, about its center, at density 1.
        reach: the largest distance of its surface from its origin.
        polytope: its faces and edges if these are flat and straight, else None.
    """

    kind: ClassVar[int]

    @property
    def size(self) -> tuple[float, float, float]: ...  # noqa: D102
    @property
    def volume(self) -> float: ...  # noqa: D102
    @property
    def center(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def inertia(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def reach(self) -> float: ...  # noqa: D102
    @property
    def polytope(self) -> Polytope | None: ...  # noqa: D102


def _check_lengths(shape: Any, *names: str) -> None:
    for name in names:
        value = as_number(getattr(shape, name))
        if not (isfinite(value) and value > 0.0):
            raise InputError(
                f"'{name}' of {type(shape).__name__}",
                "a finite length above 0 m",
                show(getattr(shape, name)),
                "Give it in meters.",
            )
        object.__setattr__(shape, name, value)


class _Centered:
    """A shape whose center of mass is its origin."""

    polytope: Polytope | None = None

    @property
    def center(self) -> NDArray[np.float64]:
        """The center of mass."""
        return np.zeros(3)


@dataclass(frozen=True)
class Sphere(_Centered):
    """A ball.

    Example:
        >>> round(Sphere(0.5).volume, 4)
        0.5236
    """

    kind: ClassVar[int] = SPHERE
    radius: float

    def __post_init__(self) -> None:
        _check_lengths(self, "radius")

    @property
    def size(self) -> tuple[float, float, float]:
        """The radius."""
        return (self.radius, 0.0, 0.0)

    @property
    def volume(self) -> float:
        """The volume in m³."""
        return 4.0 / 3.0 * pi * self.radius**3

    @property
    def inertia(self) -> NDArray[np.float64]:
        """The inertia about the center, at density 1."""
        return 0.4 * self.volume * self.radius**2 * np.eye(3)

    @property
    def reach(self) -> float:
        """The largest distance of the surface from the origin."""
        return self.radius


@dataclass(frozen=True)
class _Round(_Centered):
    """What has a radius about z and a length along it."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check_lengths(self, "radius", "length")

    @property
    def size(self) -> tuple[float, float, float]:
        """Radius and half length."""
        return (self.radius, 0.5 * self.length, 0.0)


@dataclass(frozen=True)
class Capsule(_Round):
    """A cylinder along z with a half ball at each end.

    Args:
        radius: of cylinder and half balls.
        length: of the cylinder alone.

    Example:
        >>> Capsule(0.1, 0.6).reach
        0.4
    """

    kind: ClassVar[int] = CAPSULE

    @property
    def volume(self) -> float:
        """The volume in m³."""
        return pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    @property
    def inertia(self) -> NDArray[np.float64]:
        """The inertia about the center, at density 1."""
        r, l = self.radius, self.length  # noqa: E741
        cylinder, balls = pi * r**2 * l, 4.0 / 3.0 * pi * r**3
        along = (0.5 * cylinder + 0.4 * balls) * r**2
        across = cylinder * (r**2 / 4.0 + l**2 / 12.0) + balls * (0.4 * r**2 + l**2 / 4.0 + 3.0 / 8.0 * l * r)
        return np.diag([across, across, along])

    @property
    def reach(self) -> float:
        """The largest distance of the surface from the origin."""
        return self.radius + 0.5 * self.length


@dataclass(frozen=True)
class Cylinder(_Round):
    """A solid cylinder along z.

    Example:
        >>> Cylinder(3.0, 8.0).reach
        5.0
    """

    kind: ClassVar[int] = CYLINDER

    @property
    def volume(self) -> float:
        """The volume in m³."""
        return pi * self.radius**2 * self.length

    @property
    def inertia(self) -> NDArray[np.float64]:
        """The inertia about the center, at density 1."""
        across = self.radius**2 / 4.0 + self.length**2 / 12.0
        return self.volume * np.diag([across, across, 0.5 * self.radius**2])

    @property
    def reach(self) -> float:
        """The largest distance of the surface from the origin."""
        return sqrt(self.radius**2 + 0.25 * self.length**2)


@dataclass(frozen=True)
class Box:
    """A box with edges along its axes, given by their full lengths.

    Example:
        >>> Box(1.0, 2.0, 3.0).volume
        6.0
    """

    kind: ClassVar[int] = BOX
    x: float
    y: float
    z: float

    def __post_init__(self) -> None:
        _check_lengths(self, "x", "y", "z")

    @property
    def size(self) -> tuple[float, float, float]:
        """Half the edges."""
        return (0.5 * self.x, 0.5 * self.y, 0.5 * self.z)

    @property
    def volume(self) -> float:
        """The volume in m³."""
        return self.x * self.y * self.z

    @property
    def center(self) -> NDArray[np.float64]:
        """The center of mass."""
        return np.zeros(3)

    @property
    def inertia(self) -> NDArray[np.float64]:
        """The inertia about the center, at density 1."""
        x, y, z = self.x**2, self.y**2, self.z**2
        return self.volume / 12.0 * np.diag([y + z, x + z, x + y])

    @property
    def reach(self) -> float:
        """The largest distance of the surface from the origin."""
        return 0.5 * sqrt(self.x**2 + self.y**2 + self.z**2)

    @cached_property
    def polytope(self) -> Polytope:
        """Faces −x, x, −y, y, −z, z; bit i of a vertex's number says whether it is at the far end of axis i."""
        signs = np.array([[2.0 * (k >> i & 1) - 1.0 for i in range(3)] for k in range(8)])
        planes = [[*(s * np.eye(3)[i]), self.size[i]] for i in range(3) for s in (-1.0, 1.0)]
        return Polytope(signs * self.size, _BOX_FACES, np.array(planes), edges_of(_BOX_FACES))


@dataclass(frozen=True)
class HalfSpace(_Centered):
    """All that is below a plane: z ≤ 0 of its own axes. It carries, and has no mass."""

    kind: ClassVar[int] = HALF_SPACE

    size: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.0)
    volume: ClassVar[float] = inf
    reach: ClassVar[float] = inf

    @property
    def inertia(self) -> NDArray[np.float64]:
        """Infinite, as its volume."""
        return np.full((3, 3), inf)


@dataclass(frozen=True)
class ConvexMesh:
    """A convex solid enclosed by triangles.

    Args:
        vertices: n × 3 numbers.
        faces: m × 3 vertex numbers, all triangles turning the same way; outward is found out.

    Example:
        >>> corner = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        >>> round(ConvexMesh(corner, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]).volume, 6)
        0.166667
    """

    kind: ClassVar[int] = MESH
    vertices: tuple[tuple[float, float, float], ...]
    faces: tuple[tuple[int, int, int], ...]
    polytope: Polytope = field(init=False, repr=False, compare=False)
    volume: float = field(init=False, repr=False, compare=False)
    center: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    inertia: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    reach: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vertices, faces = closed_mesh(self.vertices, self.faces, "ConvexMesh")
        volume, center, inertia = mass_properties(vertices, faces)
        settled = {
            "vertices": tuple(map(tuple, vertices.tolist())),  # tuples compare and hash by value
            "faces": tuple(map(tuple, faces.tolist())),
            "polytope": polytope_of(vertices, faces, "ConvexMesh"),
            "volume": volume,
            "center": center,
            "inertia": inertia,
            "reach": float(np.linalg.norm(vertices, axis=1).max()),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | Path, scale: float = 1.0) -> ConvexMesh:
        """Read a mesh from an STL or OBJ file; ``scale`` turns its unit into meters (0.001 for millimeters)."""
        factor = as_number(scale)
        if not (isfinite(factor) and factor > 0.0):
            raise InputError(f"'scale' of mesh file '{path}'", "a finite factor above 0", show(scale), "Leave it at 1.")
        vertices, faces = read_mesh(path)
        try:
            return cls(factor * vertices, faces)  # type: ignore[arg-type]  # arrays become tuples
        except InputError as error:
            raise InputError(f"mesh file '{path}'", error.expected, error.got, error.remedy) from None

    @classmethod
    def hull(cls, points: Any) -> ConvexMesh:
        """Return the convex hull of points (n × 3)."""
        from scipy.spatial import ConvexHull, QhullError

        vertices = points_array(points, "ConvexMesh.hull")
        try:
            found = ConvexHull(vertices)
        except QhullError:
            raise InputError(
                "ConvexMesh.hull",
                "points that span a solid",
                f"{len(vertices)} points in a plane",
                "Add points off it.",
            ) from None
        corners = vertices[found.simplices]
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        inward = np.einsum("ij,ij->i", cross, found.equations[:, :3]) < 0.0
        faces = np.where(inward[:, None], found.simplices[:, ::-1], found.simplices)
        return cls(vertices, faces)  # type: ignore[arg-type]  # arrays become tuples

    @property
    def size(self) -> tuple[float, float, float]:
        """The reach."""
        return (self.reach, 0.0, 0.0)
