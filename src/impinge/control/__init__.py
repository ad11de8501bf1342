"""Controllers as sampled blocks, and how to choose their gains.

What designs is loaded when it is first used: python-control takes a second, and a controller runs without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from impinge.control.blocks.derivative import FilteredDerivative
from impinge.control.blocks.encoder import Encoder
from impinge.control.blocks.joystick import Joystick
from impinge.control.blocks.lead import Lead, SampledLead
from impinge.control.blocks.pdff import PDFF
from impinge.control.blocks.pid import PID, PIDController
from impinge.control.blocks.saturation import Saturation
from impinge.control.blocks.schedule import Ramp
from impinge.control.delta.feedback_linearization import FeedbackLinearization
from impinge.control.delta.gravity import GravityCompensation
from impinge.control.delta.impedance import Impedance
from impinge.control.delta.task_space import TaskSpacePDFF
from impinge.control.maze.controller import MazeController, Turns
from impinge.control.references.reference import Hold, Reference, Setpoint
from impinge.control.references.trajectory import Move, Trajectory

if TYPE_CHECKING:
    from impinge.control.design import gain_on_root_locus

__all__ = [
    "PDFF",
    "PID",
    "Encoder",
    "FeedbackLinearization",
    "FilteredDerivative",
    "GravityCompensation",
    "Hold",
    "Impedance",
    "Joystick",
    "Lead",
    "MazeController",
    "Move",
    "PIDController",
    "Ramp",
    "Reference",
    "SampledLead",
    "Saturation",
    "Setpoint",
    "TaskSpacePDFF",
    "Trajectory",
    "Turns",
    "gain_on_root_locus",
]


def __getattr__(name: str) -> Any:
    if name == "gain_on_root_locus":
        from impinge.control.design import gain_on_root_locus

        return gain_on_root_locus
    raise AttributeError(f"module 'impinge.control' has no attribute '{name}'")
