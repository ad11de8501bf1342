"""Objects that came with the package: entry points compiled when it was built, for levels of processors.

An object is stored as in the cache, with a line before it that says which entry point it is, of which code, and for
which processor. What is missing, damaged, of other code or for another processor is left alone, and said once.
"""

from __future__ import annotations

import functools
import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

import llvmlite.binding as llvm

from impinge.compile import cache
from impinge.compile.machine import Machine, host

FOLDER = Path(__file__).parents[1] / "frozen"

# Levels of processors, best first, and what LLVM calls the features a processor of that level has.
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {
        "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
        "x86-64-v2": ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"),
    },
    "aarch64": {"generic": ()},
}
LEVELS["arm64"] = LEVELS["aarch64"]

_log = logging.getLogger("impinge")
_said: set[str] = set()
_MOST = 4  # lines are enough


@dataclass(frozen=True)
class Header:
    """What an object is.

    Attributes:
        name: full name of the entry point.
        key: hash of all that decides what its code does.
        machine: for which processor it is, see `Machine.text`.
        result: what it returns: float64, int64, bool or none.
    """

    name: str
    key: str
    machine: str
    result: str

    def line(self) -> bytes:
        """Return it as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @staticmethod
    def read(line: bytes) -> Header:
        """Return the header that a line holds; raise ValueError if it holds none."""
        try:
            return Header(**json.loads(line))
        except TypeError as problem:
            raise ValueError(str(problem)) from None


def all_levels() -> list[Machine]:
    """Return the machines for which loops are frozen on a system like this one, best first."""
    triple = llvm.get_process_triple()
    return [Machine(triple, level, "") for level in LEVELS.get(triple.partition("-")[0], {})]


@functools.cache
def levels() -> list[Machine]:
    """Return those of them that this processor can run."""
    features = llvm.get_host_cpu_features()
    needed = LEVELS.get(host().triple.partition("-")[0], {})
    return [level for level in all_levels() if all(features.get(name, False) for name in needed[level.cpu])]


def file_name(name: str, key: str) -> str:
    """Return the file name of a frozen object."""
    return f"{name}-{key}.o"


def cache_name(name: str, key: str) -> str:
    """Return the file name of an object that is compiled for this very machine."""
    return f"{name}-{key}-{cache.key(host().text)[:8]}.loop"


def load(name: str, key: str) -> bytes | None:
    """Return the frozen object of an entry point, or None; say why if it should be there."""
    if not FOLDER.is_dir() or not name.startswith("impinge."):
        return None
    if not levels():
        _say("this processor is older than those for which loops are frozen")
    for machine in levels():
        file = FOLDER / machine.cpu / file_name(name, key)
        try:
            contents = cache.read(file)
        except FileNotFoundError:
            others = list((FOLDER / machine.cpu).glob(f"{name}-*.o"))
            what = "is of other code than the package's" if others else "is missing"
            _say(f"the frozen code of {name} for {machine.cpu} {what}")
            continue
        except (OSError, ValueError):
            _say(f"the frozen code of {name} for {machine.cpu} is damaged")
            continue
        try:
            header = Header.read(contents.partition(b"\n")[0])
        except ValueError:
            _say(f"the frozen code of {name} for {machine.cpu} is damaged")
            continue
        if (header.name, header.key) != (name, key) or header.machine.split()[:2] != machine.text.split()[:2]:
            _say(f"the frozen code of {name} for {machine.cpu} is for {header.machine}")
            continue
        return contents
    return None


def load_cached(name: str, key: str) -> bytes | None:
    """Return the object of an entry point that is in the cache, or None; say if it is none."""
    contents = cache.load(cache_name(name, key))
    if contents is None:
        return None
    try:
        header = Header.read(contents.partition(b"\n")[0])
    except ValueError:
        header = None
    if header is None or (header.name, header.key, header.machine) != (name, key, host().text):
        _log.warning("impinge: the cache's entry %s is damaged: it is compiled again", cache_name(name, key))
        return None
    return contents


def _say(what: str) -> None:
    """Say once in a process what is wrong, in one line on standard error if nobody has arranged for more."""
    if what in _said:
        return
    _said.add(what)
    if len(_said) <= _MOST:
        more = "; there may be more" if len(_said) == _MOST else ""
        _log.warning("impinge: %s: the next way is taken; reinstall impinge to mend that%s", what, more)
