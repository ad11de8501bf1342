"""Contacts of a scene's step: where parts touch, and the impulses there."""
