"""Controllers of the delta robot."""
