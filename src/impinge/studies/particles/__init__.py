"""Studies of a particle in time steps."""
