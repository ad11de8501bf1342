"""Distance and depth of convex sets."""
