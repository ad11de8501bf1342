"""Coordinates, energies, constraints, gaps → immutable symbolic model."""

from impinge.model.builder import ModelBuilder
from impinge.model.model import WORKS, Coordinate, Gap, Model, Quantity, finite

__all__ = ["WORKS", "Coordinate", "Gap", "Model", "ModelBuilder", "Quantity", "finite"]
