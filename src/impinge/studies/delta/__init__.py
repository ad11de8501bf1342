"""Studies of the delta robot."""
