"""Coordinates, energies, constraints, gaps → immutable symbolic model."""

from impinge.model.builder import ModelBuilder
from impinge.model.model import Coordinate, Model, Quantity, finite

__all__ = ["Coordinate", "Model", "ModelBuilder", "Quantity", "finite"]
