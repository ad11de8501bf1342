"""Steps of the smooth motion: explicit, implicit, and their control."""
