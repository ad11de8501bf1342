"""Drawing the parts of a scene in space."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impinge.geometry.shapes import Capsule, Cylinder, HalfSpace, Sphere
from impinge.scene.pose import matrix

if TYPE_CHECKING:
    from impinge.scene import Scene
    from impinge.simulation import Result

FloatArray = NDArray[np.float64]
_AROUND = np.linspace(0.0, 2 * np.pi, 25)


def pose_of(result: Result, part: str, row: int) -> tuple[FloatArray, FloatArray]:
    """Return position and axes of a body in a row."""
    at = np.array([result[f"{part}_{x}"][row] for x in "xyz"])
    return at, matrix([result[f"{part}_q{x}"][row] for x in "wxyz"])


def _round_faces(shape: Any) -> list[FloatArray]:
    """Return polygons that show a sphere, capsule or cylinder."""
    if isinstance(shape, Sphere):
        heights = shape.radius * np.sin(np.linspace(-np.pi / 2, np.pi / 2, 9))
        radii = shape.radius * np.cos(np.linspace(-np.pi / 2, np.pi / 2, 9))
    elif isinstance(shape, Capsule):
        turn = np.linspace(0, np.pi / 2, 5)
        up, r = shape.length / 2 + shape.radius * np.sin(turn), shape.radius * np.cos(turn)
        heights, radii = np.concatenate([-up[::-1], up]), np.concatenate([r[::-1], r])
    else:
        heights, radii = np.array([-1, -1, 1, 1]) * shape.length / 2, shape.radius * np.array([0, 1, 1, 0])
    rings = [
        np.column_stack([r * np.cos(_AROUND), r * np.sin(_AROUND), np.full(_AROUND.size, z)])
        for z, r in zip(heights, radii, strict=True)
    ]
    return [
        np.array([low[k], low[k + 1], high[k + 1], high[k]])
        for low, high in itertools.pairwise(rings)
        for k in range(_AROUND.size - 1)
    ]


def faces_of(shape: Any) -> list[FloatArray]:
    """Return the faces of a shape as polygons in its own axes."""
    if isinstance(shape, (Sphere, Capsule, Cylinder)):
        return _round_faces(shape)
    polytope = shape.polytope
    return [np.asarray(polytope.vertices)[list(loop)] for loop in polytope.loops]


def draw_parts(
    axis: Any, scene: Scene, result: Result, row: int, parts: Sequence[str] | None = None, alpha: float = 0.85
) -> None:
    """Draw bodies and fixed parts as they are in a row; half-spaces are left out."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    color, corners = 0, []
    for name, part in scene.parts.items():
        if part.kind not in ("body", "fixed") or (parts is not None and name not in parts):
            continue
        free = part.kind == "body"
        at, axes = pose_of(result, name, row) if free else (part.at, matrix(part.turn))
        for item in part.shapes:
            if isinstance(item.shape, HalfSpace):
                continue
            local = matrix(item.turn)
            polygons = [at + (item.at + face @ local.T) @ axes.T for face in faces_of(item.shape)]
            shown = Poly3DCollection(
                polygons,
                facecolor=f"C{color % 10}" if free else "0.8",
                edgecolor="0.25" if len(polygons) < 50 else "none",
                lw=0.5,
                alpha=alpha,
            )
            axis.add_collection3d(shown)
            corners += polygons
        color += free
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, (high - low).max() / 2
    axis.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        zlim=(low[2], low[2] + 2 * half),
    )
    axis.set_box_aspect((1, 1, 1))
    axis.tick_params(labelsize=7)
    axis.set_xlabel("x [m]", fontsize=8)
    axis.set_ylabel("y [m]", fontsize=8)
    axis.set_zlabel("z [m]", fontsize=8)
