"""Coordinates, energies, constraints, gaps → immutable symbolic model."""

from impinge.model.builder import ModelBuilder
from impinge.model.derive import Symbols
from impinge.model.links import Link, angular_velocity
from impinge.model.model import WORKS, Model
from impinge.model.quantities import Constraint, Coordinate, Gap, Input, Quantity, finite, values_of
from impinge.model.spins import Spin, of_length_one, rotation_matrix, rotation_vector, straight
from impinge.model.verify import check_model, missing_in_model

__all__ = [
    "WORKS",
    "Constraint",
    "Coordinate",
    "Gap",
    "Input",
    "Link",
    "Model",
    "ModelBuilder",
    "Quantity",
    "Spin",
    "Symbols",
    "angular_velocity",
    "check_model",
    "finite",
    "missing_in_model",
    "of_length_one",
    "rotation_matrix",
    "rotation_vector",
    "straight",
    "values_of",
]
