"""Impulses of many contacts with exact Coulomb friction in one time step."""

from impinge.contact.coulomb.problem import Problem, Work, allocate, enlarge
from impinge.contact.coulomb.solve import NO_ROOM, SOLVED, UNSOLVED, solve, worst_contacts

__all__ = ["NO_ROOM", "SOLVED", "UNSOLVED", "Problem", "Work", "allocate", "enlarge", "solve", "worst_contacts"]
