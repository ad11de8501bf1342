"""A scene of free bodies as a system for the event-driven engine."""
