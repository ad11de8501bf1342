"""Linear complementarity problems and the contact impulses that they give."""
