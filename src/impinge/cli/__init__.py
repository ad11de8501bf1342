"""The command line. Importing this loads nothing heavy; a command imports what it needs."""

from impinge.cli.main import main

__all__ = ["main"]
