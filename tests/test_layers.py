"""The architecture as a test: a layer imports only itself and those below it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import impinge

SOURCE = Path(impinge.__file__).parent
LONGEST = 350  # lines

# Bottom to top. Layers side by side may import each other; above them, only cli may import everything.
LAYERS = [
    {"errors"},
    {"compile"},
    {"geometry"},
    {"model"},
    {"scene"},
    {"robots"},
    {"contact"},
    {"simulation"},
    {"control", "analysis"},
    {"view", "realtime"},
    {"studies"},
    {"bench"},
    {"cli"},
    {"__init__", "__main__"},  # the front door
]
RANK = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}


def layer_of(file: Path, root: Path) -> str:
    return file.relative_to(root).with_suffix("").parts[0]


def imported_modules(file: Path, root: Path) -> list[tuple[int, str, tuple[str, ...]]]:
    """Every import in a file, wherever it stands: line, absolute module, names taken from it."""
    package = [root.name, *file.relative_to(root).parent.parts]
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.append((node.lineno, module, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                found.append((node.lineno, node.args[0].value, ()))
    return found


def homes(root: Path) -> dict[str, str]:
    """Where the names that the package's front door offers come from: name → layer."""
    door = root / "__init__.py"
    found = {}
    for _, module, names in imported_modules(door, root) if door.exists() else []:
        parts = module.split(".")
        if parts[0] == root.name and len(parts) > 1:
            found |= dict.fromkeys(names, parts[1])
    return found


def imported_layers(file: Path, root: Path) -> list[tuple[int, str]]:
    """The layers that a file imports from, with the lines."""
    found, offered = [], homes(root)
    for line, module, names in imported_modules(file, root):
        parts = module.split(".")
        if parts[0] != root.name:
            continue
        if len(parts) > 1:
            found.append((line, parts[1]))
            continue
        for name in names or ("*",):
            if name == "__version__":
                continue
            is_layer = (root / name).is_dir() or (root / f"{name}.py").exists()
            found.append((line, name if is_layer else offered.get(name, "__init__")))
    return found


def violations(root: Path) -> list[str]:
    """What is imported against the order of the layers in the package at a folder."""
    found = []
    for file in sorted(root.rglob("*.py")):
        layer = layer_of(file, root)
        where = file.relative_to(root)
        if layer not in RANK:
            found.append(f"{where}: '{layer}' is in no layer: give it a place in LAYERS")
            continue
        for line, used in imported_layers(file, root):
            if used not in RANK:
                found.append(f"{where}:{line}: imports '{used}', which is in no layer")
            elif RANK[used] > RANK[layer]:
                found.append(f"{where}:{line}: {layer} imports from {used}, which is above it")
    return found


def test_no_layer_imports_from_one_above_it():
    assert violations(SOURCE) == []


def test_the_package_has_the_layers_of_the_design():
    assert {"compile", "model", "robots", "contact", "simulation"} <= {
        layer_of(f, SOURCE) for f in SOURCE.rglob("*.py")
    }


def package(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"__init__.py": "", "errors.py": "", **files}.items():
        file = root / "impinge" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root / "impinge"


FORBIDDEN = {
    "from": ("model/builder.py", "from impinge.simulation.run import simulate"),
    "import": ("model/builder.py", "import impinge.contact.rows as rows"),
    "relative": ("contact/laws/stiff.py", "from ...simulation import engine"),
    "relative package": ("contact/rows.py", "from .. import simulation"),
    "in a function": ("compile/kernel.py", "def f():\n    from impinge.model import Model\n    return Model"),
    "for types": (
        "robots/arm.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from impinge.contact import L",
    ),
    "by text": ("simulation/run.py", "import importlib\nimportlib.import_module('impinge.studies')"),
    "layer from package": ("model/model.py", "from impinge import robots"),
    "name from package": ("robots/arm.py", "from impinge import simulate"),
    "whole package": ("model/model.py", "import impinge"),
    "errors": ("errors.py", "from impinge.compile import cache"),
    "study of the command line": ("studies/ball.py", "from impinge.cli import main"),
    "study of the benchmarks": ("studies/ball.py", "from impinge.bench import run_all"),
    "benchmark of the command line": ("bench/table.py", "from impinge.cli.progress import progress_bar"),
    "unknown layer": ("gadgets/one.py", ""),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_planted_violation_is_found(tmp_path, case):
    name, text = FORBIDDEN[case]
    door = "from impinge.simulation import simulate\nfrom impinge.errors import ImpingeError\n"
    others = {f"{layer}/__init__.py": "" for layer in ("model", "robots", "contact", "simulation", "studies", "bench")}
    root = package(tmp_path, {"__init__.py": door, **others, name: text})
    found = violations(root)
    assert len(found) == 1
    assert found[0].startswith(name)


ALLOWED = {
    "below": ("simulation/run.py", "from impinge.model import Model\nfrom impinge.errors import InputError"),
    "own": ("contact/laws/stiff.py", "from impinge.contact.law import Law\nfrom ..law import FORCE"),
    "relative": ("simulation/run.py", "from .engine import advance\nfrom ..compile import jit"),
    "side by side": ("analysis/margins.py", "from impinge.control import pid"),
    "study from benchmark": ("bench/table.py", "from impinge.studies import registry"),
    "all from the command line": ("cli/main.py", "import impinge.bench, impinge.studies, impinge.view"),
    "name from package": ("studies/ball.py", "from impinge import simulate, ImpingeError, __version__"),
    "version": ("compile/cache.py", "from impinge import __version__"),
    "others": ("errors.py", "import difflib\nfrom numpy.typing import NDArray\nimport impingement"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_the_design_allows_is_not_a_violation(tmp_path, case):
    name, text = ALLOWED[case]
    door = "from impinge.simulation import simulate\nfrom impinge.errors import ImpingeError\n"
    assert violations(package(tmp_path, {"__init__.py": door, name: text})) == []


@pytest.mark.parametrize(
    "file", sorted(SOURCE.parent.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE.parent))
)
def test_a_source_file_stays_short(file):
    assert len(file.read_text().splitlines()) <= LONGEST


FULLEST = 15  # files in a folder


def test_no_folder_of_the_package_is_crowded():
    counts = {folder: len(list(folder.glob("*.py"))) for folder in (SOURCE, *SOURCE.rglob("*")) if folder.is_dir()}
    assert max(counts.values()) <= FULLEST, max(counts, key=counts.get)


def negative_indices(tree):
    """Yield the lines of hot loops in which an index is a negative number, which would not count from the end there."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        if not {"jit", "entry", "inlined"} & {getattr(mark, "id", "") for mark in function.decorator_list}:
            continue
        for part in ast.walk(function):
            if isinstance(part, ast.Subscript):
                places = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
                if any(isinstance(k, ast.UnaryOp) and isinstance(k.op, ast.USub) for k in places):
                    yield part.lineno


def test_no_hot_loop_counts_from_the_end():
    found = {
        (file.name, line) for file in SOURCE.rglob("*.py") for line in negative_indices(ast.parse(file.read_text()))
    }
    assert not found
    assert list(negative_indices(ast.parse("@jit\ndef f(x):\n    return x[0, -1]"))) == [3]


HEAVY = ("numba", "casadi", "matplotlib", "pandas", "scipy", "llvmlite")


def test_importing_impinge_loads_nothing_heavy():
    code = f"import impinge, sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.split() == []


def test_every_name_that_impinge_offers_can_be_loaded():
    for name in impinge.__all__:
        assert getattr(impinge, name) is not None
    with pytest.raises(AttributeError, match="module 'impinge' has no attribute 'nothing'"):
        impinge.nothing  # noqa: B018


def test_types_and_lazy_names_of_impinge_agree():
    """What type checkers see imported is what is loaded on demand, and what is offered."""
    door = imported_modules(SOURCE / "__init__.py", SOURCE)
    modules = {name for _, module, names in door if module == "impinge" for name in names}
    assert set(homes(SOURCE)) | modules == set(impinge.__all__)
    assert {name: home.split(".")[1] for name, home in impinge._HOME.items()} == homes(SOURCE)
