"""Linear complementarity problems, and the contact impulses that they give."""

from impinge.contact.lcp.solve import Solution, residual, solve_lcp

__all__ = ["Solution", "residual", "solve_lcp"]
