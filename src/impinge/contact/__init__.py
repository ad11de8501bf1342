"""How contacts behave: the laws, one file each, and the linear algebra of contact space."""

from impinge.contact.law import Law
from impinge.contact.laws.baumgarte import Baumgarte
from impinge.contact.laws.impact import Impact

__all__ = ["Baumgarte", "Impact", "Law"]
