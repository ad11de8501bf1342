"""Equilibria, linear models with contacts closed, margins, sensitivities."""

from impinge.analysis.linear.linear_model import LinearModel
from impinge.analysis.linear.linearize import linearize
from impinge.analysis.linear.point import Point
from impinge.analysis.linear.sampled import sampled
from impinge.analysis.responses.frequency import bode, nyquist, root_locus
from impinge.analysis.responses.margins import Margins, margins
from impinge.analysis.responses.poles import PoleZeroMap, poles_and_zeros
from impinge.analysis.rest.equilibrium import Equilibrium, equilibrium
from impinge.analysis.variations.orbit import Orbit, periodic_orbit
from impinge.analysis.variations.sensitivity import Sensitivity, sensitivity

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
