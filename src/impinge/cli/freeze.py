"""Freezing: all entry points compiled for all levels of processors, as objects that a wheel takes along.

``python -m impinge.cli.freeze FOLDER`` is a step of building a wheel, not of using one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from impinge.cli.ahead import all_entries
from impinge.compile import cache, frozen, machine
from impinge.compile.loops.loop import Entry, contents_of
from impinge.compile.progress import compiling


def freeze(folder: Path, entries: Sequence[Entry]) -> int:
    """Write the objects of entry points, and return how many; raise CompileError if one needs what is not there."""
    levels = frozen.all_levels()
    count = 0
    with compiling([*entries] * len(levels)) as done:
        for one, level, contents in contents_of(entries, levels):
            file = folder / level.cpu / frozen.file_name(one.name, one.key)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(cache.packed(contents))
            done(one.name)
            count += 1
    return count


def load_all(folder: Path) -> None:
    """Load every object that this processor can run; one that needs a symbol which is not there ends the process."""
    for level in frozen.levels():
        for file in sorted((folder / level.cpu).glob("*.o")):
            machine.load(cache.read(file).partition(b"\n")[2])


def main(folder: Path) -> int:
    """Freeze everything and load it in a fresh process; return the exit code."""
    count = freeze(folder, all_entries())
    check = f"from pathlib import Path; from impinge.cli.freeze import load_all; load_all(Path({str(folder)!r}))"
    code = subprocess.run([sys.executable, "-c", check], check=False).returncode
    if code != 0:
        print(f"impinge: an object cannot be loaded: exit code {code}", file=sys.stderr)
        return 1
    size = sum(file.stat().st_size for file in folder.rglob("*.o"))
    levels = ", ".join(level.cpu for level in frozen.all_levels())
    print(f"{count} objects for {levels}, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
