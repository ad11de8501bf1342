"""Symbolic functions → machine code, plain and in interval arithmetic."""
