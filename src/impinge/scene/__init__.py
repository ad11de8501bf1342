"""Bodies, robots and what they stand on → tables that a simulator steps."""

from impinge.scene.parts import Placed
from impinge.scene.scene import Scene

__all__ = ["Placed", "Scene"]
