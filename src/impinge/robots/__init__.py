"""Mechanisms with sourced parameters; none knows a contact law."""

from impinge.robots.ball import ball

__all__ = ["ball"]
