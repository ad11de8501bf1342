"""Hot loops: compiled once per code and not per text, in C signatures, whatever happens to the disk cache."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import casadi as ca
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import impinge
from compile_tools import DAMAGE, PATIENCE, run, same_bits
from impinge import Baumgarte, robots, simulate
from impinge.compile import Integers, Matrix, Struct, Vector, ask, cache, call, compile_kernel, entry, jit, prepare
from impinge.compile import add_crossed as crossed
from impinge.compile import add_rows as add
from impinge.compile import subtract_product as subtract
from impinge.compile import times_rows as times
from impinge.compile import write_rows_times as rows_times
from impinge.compile.loops.closure import closure_digest
from impinge.compile.loops.layout import layout_of
from impinge.errors import CompileError

pytestmark = pytest.mark.xdist_group("loops")  # in one process, so that the package is copied once

LOOPS = '''
import ctypes
from impinge.compile import Vector, entry, jit
from impinge.compile.loops import loop

FACTOR = {factor}

@jit
def scaled(x):
    """Multiply."""
    return FACTOR * x

@entry
def rounded(n: int, x: float) -> int:
    return n + int(scaled(x))

@entry
def halved(x: float) -> float:
    return x / 2

def main():
    made, all_of = [], loop.contents_of
    def counted(entries, targets):
        made.extend(entries)
        return all_of(entries, targets)
    loop.contents_of = counted
    value = halved(5.0)
    whole = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_double)(rounded.address)(1, 2.5)
    print(value, whole, len(made))
'''


class Inner(NamedTuple):
    x: Vector
    n: int


class Outer(NamedTuple):
    flag: bool
    n: int
    r: float
    A: Matrix
    inner: Inner
    k: Integers
    last: float


GOOD = Outer(True, 1, 2.0, np.ones((2, 2)), Inner(np.ones(1), 1), np.ones(1, dtype=np.int64), 0.0)


@pytest.fixture(scope="module")
def loops_and_cache(tmp_path_factory):
    """A module with two entry points beside a copy of impinge, and the cache that its first run leaves."""
    folder = tmp_path_factory.mktemp("loops")
    shutil.copytree(Path(impinge.__file__).parent, folder / "path" / "impinge")
    loops = Loops(folder / "path", folder / "cache")
    assert loops.run() == (2.5, 6, 2)
    return loops.path, {file.name: file.read_bytes() for file in loops.cache.iterdir()}


@pytest.fixture
def loops(loops_and_cache, tmp_path):
    """The module with a cache of its own that is as good as new."""
    path, entries = loops_and_cache
    loops = Loops(path, tmp_path / "cache")
    loops.cache.mkdir()
    for name, content in entries.items():
        (loops.cache / name).write_bytes(content)
    yield loops
    loops.edit()


class Loops:
    def __init__(self, path, cache):
        self.path, self.cache = path, cache
        self.edit()

    def edit(self, *changes, factor=2.0):
        text = LOOPS.format(factor=factor)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (self.path / "loops_under_test.py").write_text(text)

    def start(self, folder=None):
        return run("import loops_under_test as m\nm.main()", folder or self.cache, start=True, path=self.path)

    def run(self, folder=None, said=""):
        """Return the two results and how many entry points were compiled."""
        return self.finish(self.start(folder), said)

    def finish(self, process, said=""):
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert err == "" if not said else all(said in line for line in err.splitlines())
        value, whole, compiled = out.split()
        return float(value), int(whole), int(compiled)

    def entries(self):
        return sorted(self.cache.iterdir())


def test_an_entry_point_in_the_cache_is_not_compiled(loops):
    assert [file.suffix for file in loops.entries()] == [".loop", ".loop"]
    assert loops.run() == (2.5, 6, 0)


@pytest.mark.parametrize("damages", [DAMAGE[:2], DAMAGE[2:]], ids=["harmed", "replaced"])
def test_a_damaged_entry_costs_a_recompilation_and_a_line(loops, damages, monkeypatch):
    before = loops.entries()
    for damage, file in zip(damages, before, strict=True):
        file.write_bytes(damage(file.read_bytes()))
    assert loops.run(said="is damaged: it is compiled again") == (2.5, 6, 2)
    assert loops.entries() == before
    monkeypatch.setenv("IMPINGE_CACHE", str(loops.cache))
    assert all(cache.load(file.name) for file in before)  # they have been repaired


def test_an_entry_of_another_world_costs_a_recompilation(loops, monkeypatch):
    monkeypatch.setenv("IMPINGE_CACHE", str(loops.cache))
    for file, payload in zip(loops.entries(), [b'{"another": "world"}\n...', b"no header"], strict=True):
        assert cache.store(file.name, payload)
    assert loops.run(said="is damaged: it is compiled again") == (2.5, 6, 2)


EDITS = {
    "a comment": [("return x / 2", "return x / 2  # exactly")],
    "a docstring": [("Multiply.", "Multiply by a constant.")],
    "a docstring that was not there": [("    return x / 2", '    """Halve."""\n    return x / 2')],
    "empty lines": [("@jit", "\n\n\n@jit")],
    "an annotation of an inner function": [("def scaled(x):", "def scaled(x: float) -> float:")],
    "something that no loop uses": [("def main", "OTHER = 1\n\ndef main")],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_changes_no_code_compiles_nothing(loops, edit):
    loops.edit(*EDITS[edit])
    assert loops.run() == (2.5, 6, 0)


def test_an_edited_inner_function_compiles_only_what_contains_it(loops):
    loops.edit(("return FACTOR * x", "return x * FACTOR + 1.0"))
    assert loops.run() == (2.5, 7, 1)


def test_an_edited_constant_compiles_only_what_contains_it(loops):
    old = set(loops.entries())
    loops.edit(factor=4.0)
    assert loops.run() == (2.5, 11, 1)
    assert set(loops.entries()) > old
    loops.edit()
    assert loops.run() == (2.5, 6, 0)  # the old code is still there


def test_an_edited_entry_point_compiles_only_itself(loops):
    loops.edit(("return x / 2", "return x / 4"))
    assert loops.run() == (1.25, 6, 1)


@pytest.mark.parametrize(("file", "compiled"), [("simulation/system/plant.py", 0), ("compile/loops/lowering.py", 0)])
def test_a_comment_in_a_file_of_the_package_compiles_nothing(loops, file, compiled):
    source = loops.path / "impinge" / file
    text = source.read_text()
    try:
        source.write_text(text.replace('"""', '"""Differently. ', 1) + "# edited\n")
        assert loops.run() == (2.5, 6, compiled)
    finally:
        source.write_text(text)


def test_what_turns_loops_into_machine_code_is_part_of_it(loops):
    source = loops.path / "impinge" / "compile" / "machine.py"
    text = source.read_text()
    try:
        source.write_text(text.replace("LOOPS, KERNELS = 3, 2", "LOOPS, KERNELS = 2, 2"))
        assert loops.run() == (2.5, 6, 2)
    finally:
        source.write_text(text)


def test_an_edited_function_of_the_package_makes_only_those_stale_that_call_it(tmp_path):
    """Count over all entry points of a copy of the package, without compiling them."""
    shutil.copytree(Path(impinge.__file__).parent, tmp_path / "impinge")
    code = "from impinge.cli.ahead import all_entries\nfor one in all_entries(): print(one.name, one.key)"

    def keys():
        words = run(code, tmp_path, path=tmp_path)
        return dict(zip(words[::2], words[1::2], strict=True))

    def edited(file, old, new):
        source = tmp_path / "impinge" / file
        text = source.read_text()
        assert text.count(old) == 1
        source.write_text(text.replace(old, new))
        now = keys()
        source.write_text(text)
        assert now.keys() == before.keys()
        return {name.removeprefix("impinge.") for name in now if now[name] != before[name]}

    before = keys()
    assert len(before) > 80
    assert (
        edited(
            "simulation/locate/roots.py",
            "def value_at(b: Any, x: float) -> float:",
            "def value_at(b: Any, x: Any) -> Any:",
        )
        == set()
    )
    assert edited("geometry/convex/epa.py", '"""Set depth,', '"""Write depth,') == set()
    assert edited("geometry/convex/epa.py", "total = max(v + w, 1.0)", "total = max(w + v, 1.0)") == {
        "geometry.convex.epa._grow"
    }
    assert edited("simulation/integrate/pace.py", "_STABLE = 2.5", "_STABLE = 2.4") == {"simulation.events.engine.hold"}
    assert edited("contact/laws/impact.py", "_A0, _A1 = 400.0, 40.0", "_A0, _A1 = 900.0, 60.0") == {
        "contact.laws.impact._prescribe",
        "contact.laws.impact._slope",
    }
    assert edited(
        "simulation/system/plant.py", "        target[i] = source[i]\n", "        target[i] = 1.0 * source[i]\n"
    ) >= {
        "simulation.events.engine.hold",
        "simulation.results.record.measure",
    }


def test_a_function_depends_on_the_functions_that_it_calls_through_a_module():
    import impinge.simulation.events.directions as directions
    from impinge.simulation.events.engine import hold

    before, kept = closure_digest(hold), directions.realign
    try:
        directions.realign = jit(lambda plant, w: False)
        assert closure_digest(hold) != before
    finally:
        directions.realign = kept
    assert closure_digest(hold) == before


def test_what_is_defined_again_in_a_session_is_compiled_again(tmp_path, monkeypatch):
    """An entry point keeps what it was first used with; one that is defined later sees what is there then."""
    monkeypatch.setenv("IMPINGE_CACHE", str(tmp_path))
    session = {"__name__": "session"}
    exec("from impinge.compile import entry, jit", session)
    helper = "@jit\ndef helper(x):\n    return G * x"
    outer = "@entry\ndef outer(x: float) -> float:\n    return helper(x) + 1.0"
    values = []
    for step in ("G = 2.0", helper, outer, "G = 3.0", outer, helper.replace("G", "2 * G"), outer, "G = 2.0", outer):
        exec(step, session)
        if step == outer:
            values.append(session["outer"](1.0))
    assert values == [3.0, 4.0, 7.0, 5.0]
    session["G"] = 2.0
    exec(helper, session)
    exec(outer, session)
    assert session["outer"](1.0) == 3.0  # from the cache: nothing was stored under another's name


def test_entry_points_run_without_a_cache_that_can_be_written(loops, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert loops.run(tmp_path / "file" / "cache", said="the cache cannot be written") == (2.5, 6, 2)


def test_entry_points_written_by_two_processes_at_once_are_right(loops, tmp_path):
    together = [loops.start(tmp_path / "fresh") for _ in range(2)]
    assert [loops.finish(process)[:2] for process in together] == [(2.5, 6)] * 2
    assert loops.run(tmp_path / "fresh") == (2.5, 6, 0)


def test_entries_of_former_versions_and_former_code_are_removed_and_nothing_else(loops):
    former = [f"{'a' * 64}.loop", f"{'0' * 64}.o"]
    foreign = ["notes.txt", "b.loop", f"{'a' * 63}.loop", "data.o", f"{'b' * 64}.o", f"mine-{'c' * 32}-00000000.loop"]
    versions = [f"loops_under_test.halved-{k:032x}-00000000.loop" for k in range(6)]
    recent = [f"loops_under_test.rounded-{k:032x}-00000000.loop" for k in range(6)]
    unused = f"{'d' * 64}.kernel"
    week = time.time() - 8 * 86400.0
    for name in [*former, *versions, *recent, unused]:
        (loops.cache / name).write_bytes(cache.packed(b"..."))
    for name in foreign:
        (loops.cache / name).write_bytes(b"precious")
    for k, name in enumerate(versions):
        os.utime(loops.cache / name, (week - k, week - k))
    os.utime(loops.cache / unused, (week - 90 * 86400.0,) * 2)
    os.utime(loops.cache / foreign[-1], (week - 90 * 86400.0,) * 2)
    loops.edit(factor=4.0)
    assert loops.run() == (2.5, 11, 1)
    left = {file.name for file in loops.entries()}
    assert left.isdisjoint([*former, unused, *versions[2:]])
    assert left >= {*foreign, *versions[:2], *recent}


def test_two_kernels_in_each_others_place_are_noticed(tmp_path):
    code = """
        import casadi as ca
        from impinge.compile import compile_kernel
        x = ca.SX.sym("x")
        print(*(compile_kernel("k", {"x": x}, {"y": k * x})([3.0])["y"][0] for k in (2, 5)))
    """
    assert run(code, tmp_path) == ["6.0", "15.0"]
    one, other = sorted(tmp_path.iterdir())
    one.rename(tmp_path / "kept")
    other.rename(one)
    (tmp_path / "kept").rename(other)
    assert run(code, tmp_path) == ["6.0", "15.0"]


def test_code_that_would_allocate_does_not_compile():
    def allocates(n):
        return np.zeros(n).sum()

    def multiplies(x):
        return (x * 2.0).sum()

    assert numba.njit(allocates)(3) == 0.0
    for function, argument in ((allocates, 3), (multiplies, np.ones(3))):
        with pytest.raises(CompileError):
            jit(function)(argument)


def test_code_that_needs_python_at_run_time_does_not_compile():
    def prints(x):
        print(x)

    with pytest.raises(CompileError, match="code that calls the C library only"):
        jit(prints)(1.0)


REFUSED = {
    "raise": ("if x < 0: raise ValueError\n    return x", r"a raise or an assert in 'mine.f' \(mine.py:4\)"),
    "assert": ("assert x > 0\n    return x", "a raise or an assert"),
    "recursion": ("return 1.0 if x < 1 else x * f(x - 1)", "a function that calls itself"),
    "a list": ("y = [x, x]\n    return y[0]", "allocates memory"),
    "a new array": ("return np.zeros(3)[0]", "allocates memory"),
    "a misspelled function": ("return math.sinn(x)", "sinn"),
    "a misspelled name": ("return sprnig(x)", "sprnig"),
    "a plain function": ("return plain(x)", "decorate that function with @jit"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_become_machine_code_is_refused_in_a_few_words(what):
    body, complaint = REFUSED[what]
    names = {"__name__": "mine"}
    text = f"import math\nimport numpy as np\ndef plain(x): return x\ndef f(x):\n    {body}\n"
    exec(compile(text, "mine.py", "exec"), names)
    names["f"] = jit(names["f"])
    with pytest.raises(CompileError, match=complaint) as caught:
        names["f"](2.0)
    assert len(str(caught.value)) < 500
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


REACHED = {
    "module.constant": "import other\n@jit\ndef inner(x): return other.K * x",
    "package.module.constant": "import pack.other\n@jit\ndef inner(x): return pack.other.K * x",
    "module.function": "import other\n@jit\ndef inner(x): return other.scaled(x)",
    "enum member": "from other import Kind\n@jit\ndef inner(x): return Kind.A.value * x",
    "integer enum": "from other import Number\n@jit\ndef inner(x): return Number.A.value * x",
    "named tuple": "from other import NAMED\n@jit\ndef inner(x): return NAMED.b * x",
    "two of a factory": "from other import one, two\n@jit\ndef inner(x): return one(x) - two(x)",
    "tuple of constants": "from other import PAIR\n@jit\ndef inner(x): return PAIR[1] * x",
    "array": "from other import ARRAY\n@jit\ndef inner(x): return ARRAY[1] * x",
    "default": "import other\n@jit\ndef inner(x, k=other.K): return k * x",
}
OTHER = """
import collections, enum
import numpy as np
from impinge.compile import jit
K = {k}
PAIR, ARRAY = (1.0, K), np.array([1.0, K])
class Kind(enum.Enum):
    A = {k}
class Number(enum.IntEnum):
    A = {k}
@jit
def scaled(x): return {k} * x
NAMED = collections.namedtuple("N", "a b" if K == 3 else "b a")(5, 3 if K == 3 else 1)
def made(k):
    @jit
    def inside(x): return k * x
    return inside
one, two = (made(4.0), made(1.0)) if K == 3 else (made(6.0), made(1.0))
"""


@pytest.mark.parametrize("way", REACHED)
def test_a_change_is_noticed_however_it_is_reached(way, tmp_path):
    """In fresh processes with one cache: a result is never stale."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    lines = "from impinge.compile import entry, jit\n" + REACHED[way]
    (tmp_path / "mine.py").write_text(lines + "\n@entry\ndef f(x: float) -> float: return 1.0 * inner(x)\n")
    for k in (3, 5):
        for other in (tmp_path / "other.py", tmp_path / "pack" / "other.py"):
            other.write_text(OTHER.format(k=k))
        assert run("import mine; print(mine.f(2.0))", tmp_path / "cache", path=tmp_path) == [str(2.0 * k)]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("def f(x) -> int: return 1", "argument 'x' is not annotated"),
        ("def f(x: str) -> int: return 1", "argument 'x': <class 'str'> is none of float, int"),
        ("def f(x: float) -> str: return 1", "it returns <class 'str'>"),
        ("def f(x: float) -> int: return x", "an int from every return"),
    ],
)
def test_an_entry_point_without_a_c_signature_is_refused(source, complaint):
    names = {"__name__": "mine"}
    exec(source, names)
    with pytest.raises(CompileError, match=complaint):
        entry(names["f"]).address  # noqa: B018


def test_an_array_that_does_not_fit_is_refused():
    @entry
    def first(x: Vector) -> float:
        return x[0]

    assert first(np.array([2.5])) == 2.5
    for wrong in (np.array([1]), np.ones((1, 1)), np.ones(4)[::2]):
        with pytest.raises(CompileError, match=r"a contiguous array float64\[1\]"):
            first(wrong)


@entry
def counted(s: Inner, n: int, x: float) -> int:
    return s.n + n


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1, 2), "expected 3 arguments"),
        ((1, 2, 3.0, 4), "expected 3 arguments"),
        ((1.5, 2, 3.0), "expected Inner for 's', got float"),
        ((0, 2, 3.0), "expected Inner for 's', got 0, which is no address"),
        ((2**40, 2.5, 3.0), "expected int64 for 'n', got float"),
        ((2**40, None, 3.0), "expected int64 for 'n', got NoneType"),
        ((2**40, 2**63, 3.0), "more than 64 bits"),
        ((2**40, 2, "3"), "expected float64 for 'x', got str"),
        ((2**40, 2, 1j), "expected float64 for 'x', got complex"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(arguments, complaint):
    with pytest.raises((CompileError, ValueError), match=complaint):
        counted(*arguments)


def test_a_struct_of_another_layout_is_refused():
    packed = Struct(Inner(np.ones(1), 41))
    assert counted(packed, 1, 0) == 42
    assert counted(packed.address, np.int64(1), np.float64(0.0)) == 42
    with pytest.raises(CompileError, match="expected Inner for 's', got a struct Outer"):
        counted(Struct(GOOD), 1, 0.0)


def test_an_array_that_may_not_be_written_is_refused():
    @entry
    def last(x: Vector) -> float:
        return x[-1]

    x = np.ones(2)
    x.flags.writeable = False
    with pytest.raises(CompileError, match="read-only"):
        last(x)
    with pytest.raises(CompileError, match="got list"):
        last([1.0])


def test_threads_that_ask_at_once_are_all_right(tmp_path, monkeypatch):
    monkeypatch.setenv("IMPINGE_CACHE", str(tmp_path))
    session = {"__name__": "threads"}
    exec("from impinge.compile import entry, jit\n@jit\ndef inner(x):\n    return x + 1.0", session)
    for k in range(4):
        exec(f"@entry\ndef f{k}(x: float) -> float:\n    return inner(x) * {k}", session)

    def ask_for(k):
        prepare([session["f0"], session[f"f{k % 4}"]])
        return session[f"f{k % 4}"](1.0)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(ask_for, range(16)))
    assert found == [2.0 * (k % 4) for k in range(16)]


def test_runs_that_start_together_in_threads_are_the_same():
    """In a fresh process, where none of their code is loaded yet."""
    code = """
        from concurrent.futures import ThreadPoolExecutor
        from impinge import Baumgarte, robots, simulate
        model = robots.ball()
        with ThreadPoolExecutor(4) as threads:
            ends = list(threads.map(lambda _: simulate(model, Baumgarte(), until=1.0)["q"][-1], range(4)))
        print(len(set(ends)))
    """
    simulate(robots.ball(), Baumgarte(), until=0.1)  # so that its code is in the cache
    assert run(code, cache.directory()) == ["1"]


def test_a_loop_returns_what_its_code_returns():
    @jit
    def same(x):
        return x

    @jit
    def nothing(x):
        pass

    @jit
    def positive(x):
        return x > 0

    assert same(2) == 2
    assert isinstance(same(2), int)
    assert isinstance(same(2.0), float)
    assert nothing(1) is None
    assert positive(-1.0) is False


def test_what_loops_alone_can_use_says_so_in_python():
    with pytest.raises(CompileError, match="'ask': expected a call in machine code"):
        ask(0, ())


def test_the_package_runs_without_numba_once_its_code_is_there():
    code = """
        import sys
        import impinge
        assert "casadi" not in sys.modules
        from impinge import Baumgarte, robots, simulate
        simulate(robots.ball(), Baumgarte(), until=1.0)
        print("numba" in sys.modules, "matplotlib" in sys.modules, "scipy" in sys.modules)
    """
    simulate(robots.ball(), Baumgarte(), until=1.0)
    assert run(code, cache.directory()) == ["False"] * 3


# Kernels and entry points from hot loops.


@jit
def call_kernel(address, x, t, out):
    call(address, (x, t, out))


@entry
def weighted(n: int, x: float, values: Vector) -> int:
    values[0] = n * x
    return n + 1


@jit
def ask_entry(address, n, x, values):
    return ask(address, (n, x, values))


def test_a_hot_loop_calls_a_kernel_by_address():
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    kernel = compile_kernel("called", {"x": x, "t": t}, {"y": x * t, "s": ca.sum1(x)})
    out = np.zeros(3)
    call_kernel(kernel.address, np.array([1.0, 2.0]), 3.0, out)
    assert out.tolist() == [3.0, 6.0, 3.0]


@pytest.mark.parametrize("x", [np.array([1, 2]), np.ones((2, 2), order="F"), np.ones(4)[::2]], ids=["int", "F", "gaps"])
def test_a_kernel_is_not_called_with_an_array_it_cannot_read(x):
    with pytest.raises(CompileError, match="contiguous"):
        call_kernel(0, x, 3.0, np.zeros(3))


def test_a_hot_loop_asks_an_entry_point_by_address():
    values = np.zeros(1)
    assert ask_entry(weighted.address, 4, 2.5, values) == 5
    assert values[0] == 10.0


# Structs.


@jit
def unpack(s, numbers, integers):
    numbers[0], numbers[1] = s.r, s.last
    numbers[2], numbers[3] = s.A[1, 0], s.inner.x[-1]
    integers[0], integers[1], integers[2] = s.flag, s.n, s.inner.n
    integers[3], integers[4], integers[5] = s.A.shape[0], s.A.shape[1], s.k[0]
    s.inner.x[0] = -1.0


int64 = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=80, deadline=None)
@given(st.booleans(), int64, st.floats(), st.floats(), int64, int64, st.integers(2, 4), st.integers(1, 4))
def test_a_packed_struct_gives_back_every_number(flag, n, r, last, m, k, rows, columns):
    A = np.arange(rows * columns, dtype=float).reshape(rows, columns)
    inner = Inner(np.array([1.0, 2.0, 3.0]), m)
    packed = Struct(Outer(flag, n, r, A, inner, np.array([k, 1]), last))
    numbers_, integers = np.zeros(4), np.zeros(6, dtype=np.int64)
    unpack(packed, numbers_, integers)
    assert same_bits(numbers_[0], r)
    assert same_bits(numbers_[1], last)
    assert numbers_[2:].tolist() == [A[1, 0], 3.0]
    assert integers.tolist() == [flag, n, m, rows, columns, k]
    assert inner.x[0] == -1.0  # elements are shared, not copied


def test_a_layout_says_where_each_field_stands():
    layout = layout_of(Outer)
    assert layout is layout_of(Outer)
    assert [field.name for field in layout.fields] == list(Outer._fields)
    assert [field.offset for field in layout.fields] == [0, 8, 16, 24, 72, 80, 112]
    assert "A: float64[2], inner: {x: float64[1], n: int64}" in layout.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("A", np.ones(4)),
        ("A", np.ones((2, 2, 2))),
        ("A", np.ones((2, 2), dtype=np.float32)),
        ("A", np.ones((2, 2), dtype=np.int64)),
        ("A", np.ones((2, 3), order="F")),
        ("A", np.ones((4, 4))[::2, ::2]),
        ("k", np.ones(2)),
        ("k", np.ones(2, dtype=np.int32)),
    ],
)
def test_an_array_that_does_not_fit_its_field_is_refused(field, value):
    Struct(GOOD)
    with pytest.raises(TypeError, match=f"field '{field}' must be a contiguous"):
        Struct(GOOD._replace(**{field: value}))


def test_a_wrong_array_inside_a_nested_struct_is_refused():
    with pytest.raises(TypeError, match="field 'x' must be a contiguous"):
        Struct(GOOD._replace(inner=Inner(np.ones((1, 1)), 1)))


def test_a_negative_index_counts_from_the_end():
    @jit
    def at(x, k):
        return x[k] + x[-1]

    @jit
    def inside(A, i, j):
        return A[i, j]

    x, A = np.array([1.0, 2.0, 4.0]), np.arange(6.0).reshape((2, 3))
    assert [at(x, k) for k in (-3, -1, 0, 2)] == [5.0, 8.0, 5.0, 8.0]
    assert inside(A, -1, -3) == 3.0


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_an_integer_that_does_not_fit_is_refused(number):
    with pytest.raises(OverflowError):
        Struct(GOOD._replace(n=number))


def test_an_unknown_field_does_not_compile():
    def wrong(s):
        return s.nothing

    with pytest.raises(CompileError, match="nothing"):
        jit(wrong)(Struct(GOOD))


@jit
def _subtracted(a, b, c):
    subtract(a, b, c)
    return 0


@given(seed=st.integers(0, 2**31), scale=st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_products_of_blocks_are_subtracted(seed, scale):
    a, b, c = np.random.default_rng(seed).normal(size=(3, 6, 6)) * scale
    expected = c - a @ b
    _subtracted(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-14 * (1.0 + scale) * scale * 6)


def test_products_of_blocks_take_matrices():
    with pytest.raises(CompileError, match="a product of blocks takes"):
        _subtracted(np.zeros(6), np.zeros((6, 6)), np.zeros((6, 6)))


@jit
def _rows_used(rows, other, x, y, p, block, out, product, sums):
    sums[0], sums[1], sums[2] = times(rows, x, y)
    rows_times(rows, 6, block, out)
    crossed(rows, 6, other, 0, product)
    add(rows, p[0], p[1], p[2], x, y)
    return 0


@given(seed=st.integers(0, 2**31), scale=st.floats(1e-6, 1e6))
@settings(max_examples=25, deadline=None)
def test_rows_of_contacts_are_multiplied_added_and_crossed(seed, scale):
    rng = np.random.default_rng(seed)
    rows, other = rng.normal(size=(2, 3, 12)) * scale
    both, p = rng.normal(size=12), rng.normal(size=3)
    x, y, out, sums = both[:6].copy(), both[6:].copy(), np.zeros((3, 12)), np.zeros(3)
    block, product = rng.normal(size=(2, 6, 6))
    expected = product + rows[:, 6:].T @ other[:, :6]
    _rows_used(rows, other, x, y, p, block, out, product, sums)
    near = {"rtol": 0, "atol": 1e-14 * (1.0 + scale) ** 2 * 100}
    np.testing.assert_allclose(sums, rows @ both, **near)
    np.testing.assert_allclose(np.concatenate([x, y]), both + rows.T @ p, **near)
    np.testing.assert_allclose(out, np.hstack([np.zeros((3, 6)), rows[:, 6:] @ block]), **near)
    np.testing.assert_allclose(product, expected, **near)


def test_products_of_rows_take_matrices_and_vectors():
    six, rows, block = np.zeros(6), np.zeros((3, 12)), np.zeros((6, 6))
    with pytest.raises(CompileError, match="a product of rows takes"):
        _rows_used(rows, rows, six, six, np.zeros(3), six, rows, block, np.zeros(3))
    with pytest.raises(CompileError, match="a product of rows takes"):
        _rows_used(six, rows, six, six, np.zeros(3), block, rows, block, np.zeros(3))
