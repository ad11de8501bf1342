"""Linear complementarity problems, and the contact impulses that they give."""

from impinge.contact.lcp.contacts import ContactSolution, contact_graph, solve_contacts
from impinge.contact.lcp.solve import Solution, residual, solve_lcp

__all__ = ["ContactSolution", "Solution", "contact_graph", "residual", "solve_contacts", "solve_lcp"]
