"""The event-driven engine: steps, instants, and what is decided there."""
