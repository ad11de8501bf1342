"""Linear models of a mode, with its contacts closed."""
