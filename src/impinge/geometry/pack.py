"""Shapes → the tables that hot loops read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from impinge.errors import InputError
from impinge.geometry.mesh import Polytope
from impinge.geometry.shapes import Shape
from impinge.geometry.table import Polytopes, Shapes


def shape_tables(
    shapes: Sequence[Shape], frames: ArrayLike, at: ArrayLike, axes: ArrayLike, friction: ArrayLike
) -> Shapes:
    """Build the tables of n shapes; equal polytopes are stored once.

    Args:
        shapes: what they are.
        frames: (n) which frame carries each.
        at: (n, 3) where their origins are in the axes of their frames.
        axes: (n, 3, 3) their axes, as columns, in those of their frames.
        friction: (n) coefficients.

    Example:
        >>> from impinge.geometry.shapes import Box, Sphere
        >>> shapes = [Box(1, 1, 1), Sphere(1), Box(1, 1, 1)]
        >>> shape_tables(shapes, [0, 1, 2], np.zeros((3, 3)), [np.eye(3)] * 3, [0.5] * 3).polytope
        array([ 0, -1,  0])
    """
    n = len(shapes)
    number: dict[Shape, int] = {}
    kept: list[Polytope] = []
    which = np.full(n, -1, dtype=np.int64)
    for k, shape in enumerate(shapes):
        if shape.polytope is None:
            continue
        if shape not in number:
            number[shape] = len(kept)
            kept.append(shape.polytope)
        which[k] = number[shape]
    return Shapes(
        kind=np.array([shape.kind for shape in shapes], dtype=np.int64),
        size=np.array([shape.size for shape in shapes], dtype=np.float64).reshape(n, 3),
        polytope=which,
        polytopes=polytope_tables(kept),
        frame=_table("frames", frames, (n,)).astype(np.int64),
        at=_table("at", at, (n, 3)),
        axes=_table("axes", axes, (n, 3, 3)),
        friction=_table("friction", friction, (n,)),
    )


def polytope_tables(polytopes: Sequence[Polytope]) -> Polytopes:
    """Put polytopes one after another."""
    loops = [loop for p in polytopes for loop in p.loops]
    return Polytopes(
        vertices=_stacked([p.vertices for p in polytopes], 3),
        first_vertex=_firsts([len(p.vertices) for p in polytopes]),
        planes=_stacked([p.planes for p in polytopes], 4),
        first_face=_firsts([len(p.planes) for p in polytopes]),
        loops=np.array([vertex for loop in loops for vertex in loop], dtype=np.int64),
        first_loop=_firsts([len(loop) for loop in loops]),
        edges=_stacked([p.edges for p in polytopes], 4).astype(np.int64),
        first_edge=_firsts([len(p.edges) for p in polytopes]),
    )


def _table(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64, order="C")  # a copy: nobody else changes it
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.size == 0 and 0 in shape:
        return np.zeros(shape)
    if array.shape != shape or not np.isfinite(array).all():
        raise InputError(
            f"'{name}' of shape_tables",
            f"finite numbers of shape {shape}",
            f"shape {array.shape}",
            "Give one per shape.",
        )
    return array


def _stacked(parts: Sequence[NDArray[np.generic]], columns: int) -> NDArray[np.float64]:
    return np.concatenate([np.zeros((0, columns)), *parts]).astype(np.float64)


def _firsts(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
