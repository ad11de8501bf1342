"""Coordinates, energies, constraints, gaps → immutable symbolic model."""

from impinge.model.builder import ModelBuilder
from impinge.model.model import WORKS, Coordinate, Model, Quantity, finite

__all__ = ["WORKS", "Coordinate", "Model", "ModelBuilder", "Quantity", "finite"]
