"""Studies of bodies with volume."""
