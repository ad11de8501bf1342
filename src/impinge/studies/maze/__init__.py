"""The study of the ball maze."""
