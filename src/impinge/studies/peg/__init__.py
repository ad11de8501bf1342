"""The study of a peg and its hole."""
