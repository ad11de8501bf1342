"""How contacts behave: the laws, one file each, and the linear algebra of contact space."""

from impinge.contact.law import ContactLaw, Law
from impinge.contact.laws.baumgarte import Baumgarte
from impinge.contact.laws.complementarity import Complementarity
from impinge.contact.laws.exponential import ExponentialHuntCrossley
from impinge.contact.laws.hunt_crossley import HuntCrossley
from impinge.contact.laws.impact import Impact
from impinge.contact.laws.kelvin_voigt import KelvinVoigt

__all__ = [
    "Baumgarte",
    "Complementarity",
    "ContactLaw",
    "ExponentialHuntCrossley",
    "HuntCrossley",
    "Impact",
    "KelvinVoigt",
    "Law",
]
