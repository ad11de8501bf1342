"""Equilibria, linear models with contacts closed, margins, sensitivities."""

from impinge.analysis.equilibrium import Equilibrium, equilibrium
from impinge.analysis.frequency import bode, margins, nyquist, root_locus
from impinge.analysis.linear_model import LinearModel
from impinge.analysis.linearize import linearize
from impinge.analysis.point import Point
from impinge.analysis.poles import poles_and_zeros
from impinge.analysis.sampled import sampled

__all__ = [
    "Equilibrium",
    "LinearModel",
    "Point",
    "bode",
    "equilibrium",
    "linearize",
    "margins",
    "nyquist",
    "poles_and_zeros",
    "root_locus",
    "sampled",
]
