"""Controllers as sampled blocks, and how to choose their gains."""

from impinge.control.design import gain_on_root_locus
from impinge.control.lead import Lead, SampledLead
from impinge.control.maze import MazeController, Turns

__all__ = ["Lead", "MazeController", "SampledLead", "Turns", "gain_on_root_locus"]
