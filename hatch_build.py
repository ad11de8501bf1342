"""What building a wheel adds: entry points compiled for levels of processors, if IMPINGE_FREEZE is set.

Without it, as in an editable installation, the package compiles them when they are first used.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FreezeHook(BuildHookInterface):
    """Put the frozen objects into the wheel, which then is for one system and one version of Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder what to take along."""
        if version == "editable" or not os.environ.get("IMPINGE_FREEZE"):
            return
        self.folder = tempfile.TemporaryDirectory()
        environment = {**os.environ, "PYTHONPATH": str(Path(self.root) / "src")}
        command = [sys.executable, "-m", "impinge.cli.freeze", self.folder.name]
        subprocess.run(command, check=True, env=environment)
        build_data["force_include"][self.folder.name] = "impinge/frozen"
        build_data["pure_python"] = False
        if platform.system() == "Linux":  # the objects call nothing but the oldest functions of the C library
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            build_data["tag"] = f"{python}-{python}-manylinux_2_17_{platform.machine()}"
        else:
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only on the way."""
        if hasattr(self, "folder"):
            self.folder.cleanup()
