"""A scene as a system for the event-driven engine."""
