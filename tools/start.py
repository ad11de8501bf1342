"""How long the first results take: a wheel without numba, a clone with an empty cache, `make demo`, warm commands.

``python tools/start.py`` measures all rows, ``python tools/start.py wheel`` those of a wheel alone. Seconds are
processor time of the command and all it starts, user and system. The exit code is 1 if a limit is exceeded or a result
differs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HERE = Path(sys.executable).parent  # of the environment in which the clone is installed
FORBIDDEN = "raise ImportError('numba must not be imported')\n"


class Report:
    """Rows as they are measured."""

    def __init__(self) -> None:
        self.good = True

    def add(self, what: str, seconds: float, limit: float) -> None:
        """Print a time beside its limit."""
        self.say(f"{what:58} {seconds:7.2f} s   at most {limit:g} s", seconds <= limit)

    def say(self, what: str, good: bool) -> None:
        """Print what was found, and remember whether it is good."""
        self.good &= good
        print(f"{'ok ' if good else 'NOT'}  {what}", flush=True)


def run(command: Sequence[object], **environment: object) -> tuple[float, str]:
    """Run a command that must succeed, or report claims that fail; return its processor time and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [str(word) for word in command], env=variables, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def least(times: int, command: Sequence[object], **environment: object) -> float:
    """Return the smallest processor time of several runs of a command."""
    return min(run(command, **environment)[0] for _ in range(times))


def plain(summary: str) -> Any:
    """Return a summary without what may differ: how long it took."""

    def without(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: without(one) for key, one in value.items() if "wall" not in key}
        return [without(one) for one in value] if isinstance(value, list) else value

    return without(json.loads(summary))


def measure_wheel(report: Report, folder: Path) -> None:
    """Install the newest wheel in a clean environment, make imports of numba fail, and run every study."""
    wheel = max((ROOT / "dist").glob("impinge-*.whl"), key=lambda file: file.stat().st_mtime)
    size = wheel.stat().st_size / 1e6
    run([sys.executable, "-m", "venv", folder / "clean"])
    run([folder / "clean/bin/pip", "install", "--quiet", wheel])
    (folder / "forbidden/numba").mkdir(parents=True)
    (folder / "forbidden/numba/__init__.py").write_text(FORBIDDEN)
    command = folder / "clean/bin/impinge"
    isolated = {"PYTHONPATH": folder / "forbidden", "IMPINGE_CACHE": folder / "cache"}
    seconds, first = run([command, "run", "bouncing-ball", "--json"], **isolated)
    report.add(f"wheel of {size:.1f} MB, no numba, empty cache: first bounce", seconds, 1.5)
    compiled_now = run([HERE / "impinge", "run", "bouncing-ball", "--json"], IMPINGE_CACHE=folder / "compiled")[1]
    report.say("its summary equals the one of code compiled now", plain(first) == plain(compiled_now))
    from impinge.studies.registry import all_studies

    for name, study in all_studies().items():
        words = ["run", name, "--json", *(word for setting in study.quick for word in ("--set", setting))]
        frozen = run([command, *words], **isolated)[1]
        now = run([HERE / "impinge", *words])[1]
        report.say(
            f"{name} without numba: its summary equals the one of code compiled now", plain(frozen) == plain(now)
        )
    made = {file.suffix for file in (folder / "cache").iterdir()}
    report.say("no loop was compiled", made == {".kernel"})


def measure_clone(report: Report, folder: Path) -> None:
    """Measure a clone with an empty cache, then warm commands."""
    ball = [HERE / "impinge", "run", "bouncing-ball", "--json"]
    cold, _ = run(ball, IMPINGE_CACHE=folder / "ball")
    warm = least(5, ball, IMPINGE_CACHE=folder / "ball")
    report.add("clone, empty cache: compilation of the first bounce", cold - warm, 30.0)
    report.add(
        "clone, empty cache: impinge doctor --compile",
        *(run([HERE / "impinge", "doctor", "--compile"], IMPINGE_CACHE=folder / "all")[0], 100.0),
    )
    report.add("warm: impinge run bouncing-ball --json", warm, 0.8)
    report.add("warm: impinge list", least(5, [HERE / "impinge", "list"]), 0.3)
    code = "import sys, impinge; sys.exit(bool({'numba', 'casadi'} & set(sys.modules)))"
    loads = subprocess.run([sys.executable, "-c", code], check=False).returncode
    report.say("import impinge loads neither numba nor casadi", loads == 0)


def measure_demo(report: Report, folder: Path) -> None:
    """Run `make demo` in a fresh clone with an empty cache of impinge; packages come from pip's cache."""
    run(["git", "clone", "--quiet", ROOT, folder / "clone"])
    seconds, _ = run(["make", "-C", folder / "clone", "demo"], IMPINGE_CACHE=folder / "demo")
    report.add("make demo in a fresh clone", seconds, 45.0)


def main(chosen: Sequence[str]) -> int:
    """Measure what is chosen, or everything."""
    parts = {"wheel": measure_wheel, "clone": measure_clone, "demo": measure_demo}
    report = Report()
    for name in chosen or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](report, Path(folder))
    print("all within their limits" if report.good else "NOT all within their limits")
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
