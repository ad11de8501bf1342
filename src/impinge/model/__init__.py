"""Coordinates, energies, constraints, gaps → immutable symbolic model."""

from impinge.model.builder import ModelBuilder
from impinge.model.links import Link, angular_velocity
from impinge.model.model import WORKS, Coordinate, Gap, Model, Quantity, finite

__all__ = ["WORKS", "Coordinate", "Gap", "Link", "Model", "ModelBuilder", "Quantity", "angular_velocity", "finite"]
