"""Derivatives of whole runs, through impacts and sliding; periodic motions."""
