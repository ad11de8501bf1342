"""impinge: robots that touch things.

Describe a mechanism and its possible contacts once; simulate it with any contact law; linearize it with its
contacts closed.

    from impinge import Baumgarte, ModelBuilder, linearize, simulate

Names are loaded when they are first used, so that ``import impinge`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from impinge import robots
    from impinge.analysis import (
        Equilibrium,
        LinearModel,
        Orbit,
        Point,
        Sensitivity,
        bode,
        equilibrium,
        linearize,
        margins,
        nyquist,
        periodic_orbit,
        poles_and_zeros,
        root_locus,
        sampled,
        sensitivity,
    )
    from impinge.contact import (
        Baumgarte,
        Complementarity,
        ExponentialHuntCrossley,
        HuntCrossley,
        Impact,
        KelvinVoigt,
        Law,
    )
    from impinge.errors import CompileError, ImpingeError, ImpingeWarning, InputError, ModelError, StartError
    from impinge.geometry import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere
    from impinge.model import Model, ModelBuilder
    from impinge.scene import Placed, Scene
    from impinge.simulation import Adaptive, Controller, Event, FixedStep, Result, simulate

__version__ = "0.1.0"

_HOMES = {
    "impinge.analysis": (
        "Equilibrium",
        "LinearModel",
        "Orbit",
        "Point",
        "Sensitivity",
        "bode",
        "equilibrium",
        "linearize",
        "margins",
        "nyquist",
        "periodic_orbit",
        "poles_and_zeros",
        "root_locus",
        "sampled",
        "sensitivity",
    ),
    "impinge.contact": (
        "Baumgarte",
        "Complementarity",
        "ExponentialHuntCrossley",
        "HuntCrossley",
        "Impact",
        "KelvinVoigt",
        "Law",
    ),
    "impinge.errors": ("CompileError", "ImpingeError", "ImpingeWarning", "InputError", "ModelError", "StartError"),
    "impinge.geometry": ("Box", "Capsule", "ConvexMesh", "Cylinder", "HalfSpace", "Sphere"),
    "impinge.model": ("Model", "ModelBuilder"),
    "impinge.scene": ("Placed", "Scene"),
    "impinge.simulation": ("Adaptive", "Controller", "Event", "FixedStep", "Result", "simulate"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Adaptive",
    "Baumgarte",
    "Box",
    "Capsule",
    "CompileError",
    "Complementarity",
    "Controller",
    "ConvexMesh",
    "Cylinder",
    "Equilibrium",
    "Event",
    "ExponentialHuntCrossley",
    "FixedStep",
    "HalfSpace",
    "HuntCrossley",
    "Impact",
    "ImpingeError",
    "ImpingeWarning",
    "InputError",
    "KelvinVoigt",
    "Law",
    "LinearModel",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Orbit",
    "Placed",
    "Point",
    "Result",
    "Scene",
    "Sensitivity",
    "Sphere",
    "StartError",
    "bode",
    "equilibrium",
    "linearize",
    "margins",
    "nyquist",
    "periodic_orbit",
    "poles_and_zeros",
    "robots",
    "root_locus",
    "sampled",
    "sensitivity",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "robots":
        return importlib.import_module("impinge.robots")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'impinge' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
