"""Compiling ahead: all entry points of the package that are neither frozen nor in the cache."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from impinge.compile.loops.loop import ENTRIES, Entry, compile_and_store, stored

_PACKAGE = Path(__file__).parents[1]
# Those of its parts that have no entry points, or only such as nobody else needs.
_WITHOUT = ("impinge.__main__", "impinge.bench", "impinge.cli", "impinge.compile", "impinge.studies")


def all_entries() -> list[Entry]:
    """Return the entry points of the whole package, by name; its modules are imported for that."""
    for module in pkgutil.walk_packages([str(_PACKAGE)], "impinge."):
        if not module.name.startswith(_WITHOUT):
            importlib.import_module(module.name)
    return [ENTRIES[name] for name in sorted(ENTRIES) if not name.startswith(_WITHOUT)]


def compile_ahead() -> int:
    """Compile what is missing, and return how much that was."""
    missing = [one for one in all_entries() if stored(one) is None]
    return sum(1 for _ in compile_and_store(missing))
