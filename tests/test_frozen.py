"""Objects that come with the package: the same bits without numba, and a next way where one is not as it should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import impinge
from compile_tools import DAMAGE, PATIENCE
from impinge import Baumgarte, robots, simulate
from impinge.cli import freeze as freezing
from impinge.compile import cache, frozen, machine
from impinge.contact.law import FUNCTIONS
from impinge.simulation.events.event_driven import EventDriven

pytestmark = pytest.mark.xdist_group("frozen")  # in one process, so that objects are built once

LEVELS = [level.cpu for level in frozen.all_levels()]
RUN = """
import hashlib, sys
from impinge import Baumgarte, robots, simulate
from impinge.compile import frozen
from impinge.compile.loops import loop
if len(sys.argv) > 1:
    every = frozen.all_levels()
    frozen.levels = lambda: [level for level in every if level.cpu in sys.argv[1:]]
made, all_of = [], loop.contents_of
def counted(entries, targets):
    made.extend(entries)
    return all_of(entries, targets)
loop.contents_of = counted
result = simulate(robots.ball(), Baumgarte(), until=3.0)
signals = {k: v.tolist() for k, v in result.signals.items()}
digest = hashlib.sha256(repr(signals).encode() + repr(result.events).encode())
print(digest.hexdigest(), len(made), "numba" in sys.modules)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the package with the objects that a run of the ball needs."""
    path = tmp_path_factory.mktemp("built")
    shutil.copytree(Path(impinge.__file__).parent, path / "impinge")
    entries = [*EventDriven.code, *(getattr(Baumgarte, name) for name in FUNCTIONS)]
    assert freezing.freeze(path / "impinge" / "frozen", entries) == len(entries) * len(LEVELS)
    return path


@pytest.fixture
def package(built, tmp_path):
    """Another copy, to be harmed."""
    shutil.copytree(built / "impinge", tmp_path / "impinge")
    return tmp_path


def start(path, folder, *levels, forbid=True):
    """Start the run of the ball in a fresh Python, with numba forbidden, and a cache in a folder."""
    forbidden = path / "forbidden" / "numba"
    forbidden.mkdir(parents=True, exist_ok=True)
    (forbidden / "__init__.py").write_text("raise ImportError('numba must not be imported')")
    paths = [path, *([forbidden.parent] if forbid else [])]
    environment = {**os.environ, "IMPINGE_CACHE": str(folder), "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-W", "error", "-c", RUN, *levels]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """Return the digest of the motion, how many entry points were compiled, and the lines on standard error."""
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    digest, made, numba = out.split()
    assert numba == str(made != "0")
    return digest, int(made), err.splitlines()


@pytest.fixture(scope="module")
def compiled_now(tmp_path_factory):
    """The motion with code that is compiled now, for this very processor, in a copy without frozen objects."""
    simulate(robots.ball(), Baumgarte(), until=0.1)  # so that its code is in the cache
    path = tmp_path_factory.mktemp("clone")
    shutil.copytree(Path(impinge.__file__).parent, path / "impinge")
    digest, _, lines = finish(start(path, cache.directory(), forbid=False))
    assert lines == []  # a clone has no frozen objects, and need not say so
    return digest


@pytest.mark.parametrize("level", LEVELS)
def test_frozen_code_gives_the_bits_of_code_compiled_now(built, compiled_now, level, tmp_path):
    if level not in [one.cpu for one in frozen.levels()]:
        pytest.skip("this processor is older")
    assert finish(start(built, tmp_path, level)) == (compiled_now, 0, [])
    assert {file.suffix for file in tmp_path.iterdir()} == {".kernel"}


def test_two_processes_that_start_at_once_are_both_right(built, compiled_now, tmp_path):
    together = [start(built, tmp_path) for _ in range(2)]
    assert [finish(process) for process in together] == [(compiled_now, 0, [])] * 2


def hold(package, level):
    (file,) = (package / "impinge" / "frozen" / level).glob("impinge.simulation.events.engine.hold-*.o")
    return file


def other_level(file):
    """Put the object for another processor in a file's place."""
    other = next(level for level in LEVELS if level != file.parent.name)
    shutil.copy(file.parents[1] / other / file.name, file)


def other_system(file):
    """Put an object for another architecture in a file's place."""
    header, _, code = cache.read(file).partition(b"\n")
    triple = machine.host().triple.encode()
    file.write_bytes(cache.packed(header.replace(triple, b"s390x-ibm-linux") + b"\n" + code))


HARM = {
    **{damage.__name__: (lambda file, damage=damage: file.write_bytes(damage(file.read_bytes()))) for damage in DAMAGE},
    "no header": lambda file: file.write_bytes(cache.packed(b"no header")),
    "missing": lambda file: file.unlink(),
    "other code": lambda file: file.rename(file.with_name(file.name.replace("hold-", "hold-00"))),
    "other system": other_system,
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}
if len(LEVELS) > 1:
    HARM["other level"] = other_level


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.skipif(len(frozen.levels()) < 2, reason="there is no next level")
def test_an_object_that_is_not_as_it_should_be_is_replaced_by_the_next_levels_with_a_line(
    package, compiled_now, harm, tmp_path
):
    HARM[harm](hold(package, frozen.levels()[0].cpu))
    digest, made, lines = finish(start(package, tmp_path / "cache"))
    assert (digest, made, len(lines)) == (compiled_now, 0, 1)
    assert lines[0].startswith("impinge: the frozen code of impinge.simulation.events.engine.hold for ")


def test_without_frozen_code_of_one_entry_point_that_one_is_taken_from_the_cache_or_compiled(
    package, compiled_now, tmp_path
):
    for level in LEVELS:
        hold(package, level).unlink()
    digest, made, lines = finish(start(package, tmp_path / "cache", forbid=False))
    assert (digest, made, len(lines)) == (compiled_now, 1, len(frozen.levels()))
    digest, made, lines = finish(start(package, tmp_path / "cache"))
    assert (digest, made, len(lines)) == (compiled_now, 0, len(frozen.levels()))


def test_an_older_processor_takes_code_from_the_cache_with_a_line(package, compiled_now):
    digest, made, lines = finish(start(package, cache.directory(), "none"))
    assert (digest, made) == (compiled_now, 0)
    assert len(lines) == 1
    assert "older than those for which loops are frozen" in lines[0]


def test_an_object_that_needs_a_symbol_which_is_not_there_cannot_be_frozen(tmp_path, monkeypatch):
    from impinge.compile import entry
    from impinge.errors import CompileError

    @entry
    def talks(x: float) -> int:
        print(x)
        return 0

    with pytest.raises(CompileError, match="code that calls the C library only"):
        freezing.freeze(tmp_path, [talks])
    assert freezing.main.__doc__
    monkeypatch.setattr(freezing, "all_entries", lambda: [Baumgarte.slope])
    monkeypatch.setattr(machine, "LIBRARY_FUNCTIONS", ())
    assert freezing.main(tmp_path / "small") == 0


def test_names_of_the_levels_are_those_of_llvm():
    for level in frozen.all_levels():
        assert level.target().triple == machine.host().triple
    assert frozen.levels() == [level for level in frozen.all_levels() if level in frozen.levels()]
