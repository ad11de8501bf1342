"""Time stepping of scenes: rigid bodies, robots, and all contacts of a step solved together."""
