"""Equilibria, linear models with contacts closed, margins, sensitivities."""

from impinge.analysis.equilibrium import Equilibrium, equilibrium
from impinge.analysis.linear_model import LinearModel
from impinge.analysis.linearize import linearize
from impinge.analysis.point import Point

__all__ = ["Equilibrium", "LinearModel", "Point", "equilibrium", "linearize"]
