"""The ball maze's controller, and its design."""
