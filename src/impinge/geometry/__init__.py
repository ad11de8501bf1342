"""Shapes in space: mass, signed distance, contact patches, near pairs."""

from impinge.geometry.shapes import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Shape, Sphere

__all__ = ["Box", "Capsule", "ConvexMesh", "Cylinder", "HalfSpace", "Shape", "Sphere"]
