"""Symbolic functions as machine code: the right numbers, whatever happens to the disk cache."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compile_tools import DAMAGE, PATIENCE, at_once, run, same_bits
from impinge import robots
from impinge.compile import cache, compile_kernel
from impinge.compile.kernels import ir
from impinge.compile.kernels import kernel as kernels
from impinge.errors import CompileError

X, Y = ca.SX.sym("x"), ca.SX.sym("y")

EXACT = {
    "OP_ADD": X + Y,
    "OP_SUB": X - Y,
    "OP_MUL": X * Y,
    "OP_DIV": X / Y,
    "OP_FMOD": ca.fmod(X, Y),
    "OP_REMAINDER": ca.remainder(X, Y),
    "OP_LT": X < Y,
    "OP_LE": X <= Y,
    "OP_EQ": ca.eq(X, Y),
    "OP_NE": ca.ne(X, Y),
    "OP_AND": ca.logic_and(X, Y),
    "OP_OR": ca.logic_or(X, Y),
    "OP_NOT": ca.logic_not(X),
    "OP_NEG": -X,
    "OP_SQ": X * X,
    "OP_TWICE": X + X,
    "OP_INV": 1 / X,
    "OP_SIGN": ca.sign(X),
    "OP_IF_ELSE_ZERO": ca.if_else(X, Y, 0),
    "OP_SQRT": ca.sqrt(X),
    "OP_FABS": ca.fabs(X),
    "OP_FLOOR": ca.floor(X),
    "OP_CEIL": ca.ceil(X),
    "OP_FMIN": ca.fmin(X, Y),
    "OP_FMAX": ca.fmax(X, Y),
    "OP_COPYSIGN": ca.copysign(X, Y),
}
ROUNDED = {
    "OP_SIN": ca.sin(X),
    "OP_COS": ca.cos(X),
    "OP_TAN": ca.tan(X),
    "OP_ASIN": ca.asin(X),
    "OP_ACOS": ca.acos(X),
    "OP_ATAN": ca.atan(X),
    "OP_SINH": ca.sinh(X),
    "OP_COSH": ca.cosh(X),
    "OP_TANH": ca.tanh(X),
    "OP_ASINH": ca.asinh(X),
    "OP_ACOSH": ca.acosh(X),
    "OP_ATANH": ca.atanh(X),
    "OP_EXP": ca.exp(X),
    "OP_LOG": ca.log(X),
    "OP_LOG1P": ca.log1p(X),
    "OP_EXPM1": ca.expm1(X),
    "OP_ERF": ca.erf(X),
    "OP_POW": X**Y,
    "OP_CONSTPOW": X**3.5,
    "OP_ATAN2": ca.atan2(X, Y),
    "OP_HYPOT": ca.hypot(X, Y),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e300, -1e300, 5e-324, 1e-310, np.pi, np.inf, -np.inf, np.nan]
numbers = st.one_of(
    st.sampled_from(SPECIAL), st.floats(), st.floats(-10, 10), st.integers(-4, 4).map(float), st.floats(-1, 1)
)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """Keep this file's kernels out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IMPINGE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def operations(expression):
    """The names of the instructions that CasADi makes of an expression."""
    function = ca.Function("probe", [X, Y], [expression])
    names = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}
    return {names[function.instruction_id(k)] for k in range(function.n_instructions())}


def both(expression, shared=True):
    """CasADi's own evaluation of an expression of X and Y, and the kernel's.

    Where CasADi finds that two subexpressions are one, it simplifies: a − a is 0 even if a is NaN, and
    (a + b) − b is a. That is so for the reference too unless it is to share nothing.
    """
    function = ca.Function("reference", [X, Y], ca.cse([expression]) if shared else [expression])
    kernel = compile_kernel("kernel", {"x": X, "y": Y}, {"z": expression})
    return lambda x, y: float(function(x, y)), lambda x, y: float(kernel([x], [y])["z"][0])


def same_bits_but_for_zero(a, b):
    return same_bits(a + 0.0, b + 0.0)  # −0 + 0 is 0


def close(a, b, rtol=1e-14):
    return (np.isnan(a) and np.isnan(b)) or a == b or abs(a - b) <= rtol * abs(a) + 1e-323


# Operations, one by one.


def test_every_operation_that_has_machine_code_is_in_this_file():
    in_tables = {*ir._ARITHMETIC, *ir._COMPARISON, *ir._LOGIC, *ir._CALLS}
    assert in_tables <= {getattr(ca, name) for name in EXACT | ROUNDED}


@pytest.mark.parametrize("name", EXACT | ROUNDED)
def test_the_expression_that_tests_an_operation_contains_it(name):
    assert name in operations((EXACT | ROUNDED)[name])


@pytest.mark.parametrize("name", EXACT)
def test_exact_operations_give_casadis_bits(name):
    reference, kernel = both(EXACT[name])
    same = same_bits_but_for_zero if name in ("OP_FMIN", "OP_FMAX") else same_bits

    def check(x, y):
        assert same(reference(x, y), kernel(x, y)), (x, y, reference(x, y), kernel(x, y))

    for x, y in itertools.product(SPECIAL, SPECIAL):
        check(x, y)
    settings(max_examples=50, deadline=None)(given(numbers, numbers)(check))()


@pytest.mark.parametrize("name", ROUNDED)
def test_library_functions_give_casadis_values(name):
    reference, kernel = both(ROUNDED[name])

    def check(x, y):
        assert close(reference(x, y), kernel(x, y)), (x, y, reference(x, y), kernel(x, y))

    for x, y in itertools.product(SPECIAL, SPECIAL):
        check(x, y)
    settings(max_examples=50, deadline=None)(given(numbers, numbers)(check))()


@pytest.mark.parametrize(
    "expression",
    [2**X, 10**X, X**2, X**3, X**-2, X**0.5, X**-0.5, X**0.25, X**1.5, ca.sin(X) + ca.cos(X), ca.exp(X) - ca.expm1(X)],
    ids=str,
)
def test_what_the_optimizer_rewrites_keeps_its_value(expression):
    reference, kernel = both(expression)
    for x in [*SPECIAL, *np.random.default_rng(0).normal(scale=5.0, size=200)]:
        assert close(reference(x, 0.0), kernel(x, 0.0), rtol=1e-13), x


# Random expressions.

UNARY = [
    lambda a: -a,
    lambda a: a * a,
    lambda a: a + a,
    lambda a: 1 / a,
    ca.sqrt,
    ca.fabs,
    ca.floor,
    ca.ceil,
    ca.logic_not,
]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    ca.eq,
    ca.ne,
    ca.logic_and,
    ca.logic_or,
    ca.fmod,
    lambda a, b: ca.fabs(ca.fmin(a, b)),  # C leaves open which of 0 and −0 is the smaller
    lambda a, b: ca.fabs(ca.fmax(a, b)),
]
BOUNDED = [ca.sin, ca.cos, ca.tanh, ca.atan, ca.erf, lambda a: ca.sqrt(1 + a * a), lambda a: ca.exp(-a * a), ca.asinh]


def expressions(unary, binary, largest, choices=True):
    constants = st.one_of(st.floats(-largest, largest), st.sampled_from([0.0, 1.0])).map(ca.SX)

    def combine(inner):
        one = st.tuples(st.sampled_from(unary), inner).map(lambda t: t[0](t[1]))
        two = st.tuples(st.sampled_from(binary), inner, inner).map(lambda t: t[0](t[1], t[2]))
        choice = st.tuples(inner, inner, inner).map(lambda t: ca.if_else(t[0], t[1], t[2]))
        return st.one_of(one, two, choice) if choices else st.one_of(one, two)

    return st.recursive(st.one_of(st.sampled_from([X, Y]), constants), combine, max_leaves=15)


ARITHMETIC = expressions(UNARY, BINARY, largest=10)
SMOOTH = expressions(BOUNDED, [*BINARY[:3], ca.fmin, ca.fmax], largest=2, choices=False)


@settings(max_examples=100, deadline=None)
@given(ARITHMETIC, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_random_arithmetic_gives_casadis_bits(expression, points):
    reference, kernel = both(expression)
    for x, y in points:
        assert same_bits(reference(x, y), kernel(x, y)), (expression, x, y)


@settings(max_examples=60, deadline=None)
@given(SMOOTH, st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=8))
def test_random_smooth_expressions_give_casadis_values(expression, points):
    """15 leaves of at most 2 keep every term below 1e6, so that rounding stays below 1e-8."""
    reference, kernel = both(expression, shared=False)
    for x, y in points:
        assert abs(kernel(x, y) - reference(x, y)) <= 1e-8, (expression, x, y)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(ARITHMETIC, st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20))
def test_many_random_arithmetic_expressions_give_casadis_bits(expression, points):
    reference, kernel = both(expression)
    for x, y in points:
        assert same_bits(reference(x, y), kernel(x, y)), (expression, x, y)


# Shapes.


def test_a_matrix_output_stands_column_by_column():
    x = ca.SX.sym("x", 6)
    kernel = compile_kernel("matrix", {"x": x}, {"A": ca.reshape(x, 3, 2), "s": ca.sum1(x)})
    values = np.arange(1.0, 7.0)
    out = np.zeros(kernel.size)
    pointers = [values.ctypes.data, out.ctypes.data]
    _raw(kernel, len(pointers))(*pointers)
    assert out.tolist() == [1, 2, 3, 4, 5, 6, 21]
    result = kernel(values)
    assert result["A"].tolist() == [[1, 4], [2, 5], [3, 6]]
    assert result["s"].tolist() == [21]


def _raw(kernel, arguments):
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(kernel.address)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-3, 3)), max_size=12),
)
def test_a_sparse_output_is_written_where_its_nonzeros_are(rows, columns, entries):
    x = ca.SX.sym("x", 1)
    A, truth = ca.SX(rows, columns), np.zeros((rows, columns))
    for i, j, value in entries:
        if i < rows and j < columns:
            A[i, j] = x * value
            truth[i, j] = 2.0 * value
    result = compile_kernel("sparse", {"x": x}, {"before": x, "A": A, "after": x})
    values = result([2.0])
    assert np.array_equal(np.reshape(values["A"], (rows, columns), order="F"), truth)
    assert values["before"].tolist() == values["after"].tolist() == [2.0]


def test_structural_zeros_of_the_output_buffer_are_left_alone():
    x = ca.SX.sym("x")
    kernel = compile_kernel("diagonal", {"x": x}, {"A": ca.diag(ca.vertcat(x, x + 1))})
    value, out = np.array([5.0]), np.full(4, 7.0)
    _raw(kernel, 2)(value.ctypes.data, out.ctypes.data)
    assert out.tolist() == [5.0, 7.0, 7.0, 6.0]


def test_inputs_and_outputs_may_be_empty():
    x = ca.SX.sym("x", 2)
    outputs = {"none": ca.SX(0, 1), "wide": ca.SX(0, 3), "zero": ca.SX(2, 2), "y": x[1]}
    result = compile_kernel("empty", {"nothing": ca.SX(0, 1), "x": x}, outputs)([], [1.0, 2.0])
    assert result["none"].shape == (0,)
    assert result["wide"].shape == (0, 3)
    assert result["zero"].tolist() == [[0, 0], [0, 0]]
    assert result["y"].tolist() == [2.0]
    assert compile_kernel("constant", {}, {"y": ca.SX(3)})()["y"].tolist() == [3.0]


def test_inputs_of_the_wrong_size_are_refused_by_name():
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    kernel = compile_kernel("sizes", {"x": x, "u": u}, {"y": x * u})
    text = r"kernel 'sizes': expected inputs of sizes x: 2, u: 1, got sizes \[1, 1\]. Pass one array for each input"
    with pytest.raises(CompileError, match=text):
        kernel([1.0], [1.0])
    with pytest.raises(CompileError, match=r"got sizes \[2\]"):
        kernel([1.0, 2.0])


# What cannot be compiled.


def test_an_unsupported_operation_is_named():
    text = r"kernel 'odd': expected operations that have machine code, got OP_ERFINV\. Rewrite the expression"
    with pytest.raises(CompileError, match=text) as caught:
        compile_kernel("odd", {"x": X}, {"y": ca.erfinv(X)})
    error = caught.value
    assert (error.who, error.got) == ("kernel 'odd'", "OP_ERFINV")


def test_a_free_symbol_is_named():
    stray = ca.SX.sym("stray")
    text = r"kernel 'loose': expected expressions of x, y only, got 'stray'\. Declare these symbols in the model"
    with pytest.raises(CompileError, match=text):
        compile_kernel("loose", {"x": X, "y": Y}, {"z": X + stray})


# What decides that code is compiled anew.


def test_other_parameter_values_use_the_same_code():
    folder = cache.directory()
    light = robots.ball(mass=1.0).dynamics
    files = sorted(folder.iterdir())
    heavy = robots.ball(mass=2.5, gravity=1.6).dynamics
    assert heavy.address == light.address
    assert sorted(folder.iterdir()) == files
    mass_two = light([1.0], [0.0], 0.0, [], [2.0, 9.81])
    assert mass_two["response"].tolist() == [0.5]
    assert light([1.0], [0.0], 0.0, [], [4.0, 9.81])["response"].tolist() == [0.25]


LINKAGE = """
import casadi as ca
from impinge import ModelBuilder
from impinge.compile.kernels import ir, kernel

def linkage():
    b = ModelBuilder("linkage")
    q, v = zip(*(b.coordinate(f"q{k}", start=0.1 * k) for k in range(4)))
    m, g, c = b.parameter("m", 1.0), b.parameter("g", 9.81), b.parameter("c", 0.1)
    u = b.input("u")
    for k in range(4):
        b.kinetic(m * (v[k] + ca.cos(q[k - 1]) * v[k - 1]) ** 2 / 2 + m * v[k] ** 2)
        b.potential(m * g * ca.sin(q[k] + q[k - 1]))
        b.damping(c * v[k], along=q[k])
        b.gap(f"wall{k}", 2 + ca.sin(q[k]) * ca.cos(q[k - 1]) + b.time)
    b.force(u, along=q[0])
    b.constraint("loop", q[0] * q[1] - q[2] * q[3])
    return b.build()
"""


def test_the_same_model_built_twice_is_the_same_code():
    space: dict = {}
    exec(LINKAGE, space)
    first, second = space["linkage"](), space["linkage"]()
    assert first is not second
    assert first.dynamics.address == second.dynamics.address
    assert first.signals.address == second.signals.address
    assert first.dynamics.instructions == second.dynamics.instructions > 100


# The disk cache, seen from fresh processes.

KERNELS = """
import casadi as ca
from impinge.compile import compile_kernel
from impinge.compile.kernels import kernel

translate, made = kernel._translate, []
kernel._translate = lambda text: made.append(1) or translate(text)
x = ca.SX.sym("x", 2)
for k in range(4):
    print(compile_kernel("probe", {"x": x}, {"y": ca.sin(x[0]) * x[1] + k})([0.5, 2.0])["y"][0].hex())
print(len(made))
"""
TRUTH = [(float(np.sin(0.5)) * 2.0 + k).hex() for k in range(4)]


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """The names and contents of the cache's entries for KERNELS."""
    folder = tmp_path_factory.mktemp("kernels")
    assert run(KERNELS, folder) == [*TRUTH, "4"]
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_kernels_in_the_cache_are_not_compiled(tmp_path, entries):
    assert len(entries) == 4
    for name, content in entries.items():
        assert name.endswith(".kernel")
        (tmp_path / name).write_bytes(content)
    assert run(KERNELS, tmp_path) == [*TRUTH, "0"]


def test_a_process_finds_the_code_of_the_same_model_built_in_another(tmp_path):
    code = LINKAGE + "linkage().dynamics; linkage().signals"
    run(code, tmp_path)
    files = sorted(tmp_path.iterdir())
    run("junk = [object() for _ in range(1000)]  # other memory addresses\n" + code, tmp_path)
    assert sorted(tmp_path.iterdir()) == files
    assert len(files) == 2


def test_a_damaged_kernel_costs_a_recompilation(tmp_path, entries):
    for damage, (name, content) in zip(DAMAGE, entries.items(), strict=True):
        (tmp_path / name).write_bytes(damage(content))
    assert run(KERNELS, tmp_path, said="is damaged: it is compiled again") == [*TRUTH, "4"]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == entries  # they have been repaired


def test_a_folder_in_the_place_of_an_entry_costs_a_recompilation(tmp_path, entries):
    for name in entries:
        (tmp_path / name / "inside").mkdir(parents=True)
    assert run(KERNELS, tmp_path) == [*TRUTH, "4"]
    assert {file.name for file in tmp_path.iterdir()} == set(entries)


@pytest.mark.parametrize("place", ["below a file", "a file", "proc"])
def test_a_cache_that_cannot_be_written_costs_a_recompilation(tmp_path, place):
    file = tmp_path / "file"
    file.write_text("not a folder")
    folder = {
        "below a file": file / "cache",
        "a file": file,
        "proc": Path("/proc/1/impinge/cache"),
    }[place]
    assert run(KERNELS, folder) == [*TRUTH, "4"]
    assert file.read_text() == "not a folder"


def test_a_cache_folder_replaced_by_a_file_during_a_run_costs_a_recompilation(tmp_path):
    folder = tmp_path / "cache"
    replace = f"""
    import pathlib, shutil
    shutil.rmtree({str(folder)!r})
    pathlib.Path({str(folder)!r}).write_text("now a file")
    """
    again = """
    other = compile_kernel("other", {"x": x}, {"y": x[0] - x[1]})
    print(other([0.5, 2.0])["y"][0], len(made))
    """
    assert run(KERNELS + textwrap.dedent(replace) + textwrap.dedent(again), folder) == [*TRUTH, "4", "-1.5", "5"]
    assert folder.read_text() == "now a file"


def test_a_full_disk_leaves_no_litter(tmp_path):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
    assert run(limit + KERNELS, tmp_path) == [*TRUTH, "4"]
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_home_still_computes(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    environment.pop("IMPINGE_CACHE", None)
    no_home = "import pathlib\ndef no_home(*_): raise RuntimeError('no home')\npathlib.Path.home = no_home\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", no_home + KERNELS], env=environment, text=True, capture_output=True
    )
    assert done.stdout.split() == [*TRUTH, "4"], done.stderr


MANY_KERNELS = """
import sys
import casadi as ca
from impinge.compile import compile_kernel

x = ca.SX.sym("x")
print("ready", flush=True)
sys.stdin.readline()
for k in range(25):
    print(compile_kernel("probe", {"x": x}, {"y": x * x + k})([1.5])["y"][0])
"""


def test_processes_that_write_at_once_all_get_the_right_numbers(tmp_path):
    for process in at_once([run(MANY_KERNELS, tmp_path, start=True) for _ in range(3)]):
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
        assert [float(word) for word in out.split()] == [2.25 + k for k in range(25)]
    names = [file.name for file in tmp_path.iterdir()]
    assert len(names) == 25
    assert all(name.endswith(".kernel") for name in names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IMPINGE_CACHE", str(tmp_path))
        assert all(cache.load(name) is not None for name in names)


HAMMER = """
import sys
from impinge.compile import cache
whole = [bytes([k]) * 1_000_000 for k in range(4)]
cache.store("entry", whole[0])
print("ready", flush=True)
sys.stdin.readline()
for k in range(120):
    if sys.argv[1] == "write":
        assert cache.store("entry", whole[k % 4])
    else:
        assert cache.load("entry") in whole
"""


def test_a_reader_sees_a_whole_entry_while_another_writes_it(tmp_path):
    for process in at_once([run(HAMMER, tmp_path, action, start=True) for action in ("write", "read")]):
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
    assert [file.name for file in tmp_path.iterdir()] == ["entry"]


@settings(max_examples=100, deadline=None)
@given(payload=st.binary(max_size=300), data=st.data())
def test_no_damage_to_an_entry_goes_unnoticed(tmp_path_factory, payload, data):
    folder = tmp_path_factory.mktemp("damage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IMPINGE_CACHE", str(folder))
        assert cache.load("entry") is None
        assert cache.store("entry", payload)
        assert cache.load("entry") == payload
        content = bytearray((folder / "entry").read_bytes())
        if data.draw(st.booleans(), label="truncate"):
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        else:
            content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        (folder / "entry").write_bytes(content)
        assert cache.load("entry") is None


def test_keys_tell_parts_apart_however_they_are_cut():
    assert cache.key("ab", "c") != cache.key("a", "bc") != cache.key("abc") != cache.key("abc", "")
    assert cache.key("ab", "c") == cache.key("ab", "c")


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("IMPINGE_CACHE", str(tmp_path / "own"))
    assert cache.directory() == tmp_path / "own"
    monkeypatch.delenv("IMPINGE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.directory() == tmp_path / "xdg" / "impinge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.directory() == tmp_path / ".cache" / "impinge"


def test_a_kernel_is_loaded_once_in_a_process():
    x = ca.SX.sym("x")
    loaded = len(kernels._loaded)
    first = compile_kernel("one", {"x": x}, {"y": x * 17 + 0.125})
    second = compile_kernel("two", {"x": x}, {"y": x * 17 + 0.125})
    assert first.address == second.address  # the name is not part of the code
    assert len(kernels._loaded) == loaded + 1
