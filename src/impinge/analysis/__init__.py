"""Equilibria, linear models with contacts closed, margins, sensitivities."""

from impinge.analysis.equilibrium import Equilibrium, equilibrium
from impinge.analysis.frequency import bode, nyquist, root_locus
from impinge.analysis.linear_model import LinearModel
from impinge.analysis.linearize import linearize
from impinge.analysis.margins import Margins, margins
from impinge.analysis.orbit import Orbit, periodic_orbit
from impinge.analysis.point import Point
from impinge.analysis.poles import PoleZeroMap, poles_and_zeros
from impinge.analysis.sampled import sampled
from impinge.analysis.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Equilibrium",
    "LinearModel",
    "Margins",
    "Orbit",
    "Point",
    "PoleZeroMap",
    "Sensitivity",
    "bode",
    "equilibrium",
    "linearize",
    "margins",
    "nyquist",
    "periodic_orbit",
    "poles_and_zeros",
    "root_locus",
    "sampled",
    "sensitivity",
]
