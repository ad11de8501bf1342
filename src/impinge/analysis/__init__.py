"""Equilibria, linear models with contacts closed, margins, sensitivities."""
