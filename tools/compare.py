"""Measure every benchmark of `impinge.bench` in two versions of the package, in one run, and say what became slower.

For each version a process prepares a benchmark's contenders, those of peers left out, and times them when it is asked
to. The two are asked in turn, so that slow spells of the machine meet both alike, and of each the best time counts.
All is measured in several pairs of processes, and what seems slower in more of them: where code and data come to lie
in memory, which a process keeps to, decides on some percent.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from time import thread_time
from typing import Any

HERE = Path(__file__).resolve().parents[1]
LIMIT = 1.03  # now over before: what is above it counts as slower
ROUNDS = 7  # of timings in one pair of processes
PASSES, MORE = 3, 4  # pairs of processes for all, and for what seems slower then
LEAST = 0.05  # s, of one timing
PILES = (10, 30, 100)  # spheres: larger piles take minutes
# What is in the key of a contender that is not impinge's; `kernel` calls those of CasADi by how they are called.
PEERS = {"SciPy", "CVODE", "heyoka", "MuJoCo", "quantecon", "buffer", "map", "empty"}

Times = dict[tuple[str, str], tuple[float, float]]  # of a benchmark and a contender: before and now, s


def repeated(run: Callable[[], object]) -> Callable[[], float]:
    """Return what times one run, s, by as many as fill `LEAST` seconds."""

    def seconds(repeats: int) -> float:
        begin = thread_time()
        for _ in range(repeats):
            run()
        return (thread_time() - begin) / repeats

    run()
    return functools.partial(seconds, max(1, round(LEAST / seconds(1))))


def parts(key: Any) -> list[str]:
    """Return the texts that a contender's key consists of."""
    if isinstance(key, tuple):
        return [text for part in key for text in parts(part)]
    if hasattr(key, "prepare"):  # a solver of `bounce`
        return [key.system, key.method]
    return [f"{key:.0e}" if isinstance(key, float) else str(key)]


def prepared(name: str, benchmark: Callable[[], object], raced: dict[Any, Any]) -> dict[str, Callable[[], float]]:
    """Return impinge's contenders in a benchmark, each as what times it; ``raced`` is where `race` puts them."""
    if name == "piles":  # it pours each pile once and does not race
        poured = importlib.import_module("impinge.bench.systems.poured").Poured
        until = importlib.import_module("impinge.bench.piles").SETTLED
        poured(PILES[0]).until(until)  # compiles

        def pour(count: int) -> float:
            return float(poured(count).until(until))

        return {f"{count} spheres": functools.partial(pour, count) for count in PILES}
    raced.clear()
    try:
        benchmark()
    except Exception as problem:  # of computing with times that nobody measured
        print(f"{name}: {problem!r}", file=sys.stderr)
    ours = {key: run for key, run in raced.items() if not PEERS & set(parts(key))}
    if name == "laws":  # the last part of its keys is an error, not a setting
        ours = {key[:-1]: run for key, run in ours.items()}
    return {", ".join(parts(key)): repeated(run) for key, run in ours.items()}


def work() -> None:
    """Serve one version, that on the path: requests come on standard input, replies go to standard output, in JSON."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # benchmarks may print

    def reply(value: object) -> None:
        print(json.dumps(value), file=replies, flush=True)

    raced: dict[Any, Any] = {}

    def race(contenders: Mapping[Any, Any], *_: object, **__: object) -> dict[Any, float]:
        raced.update(contenders)
        return dict.fromkeys(contenders, 1.0)

    table: Any = importlib.import_module("impinge.bench.table")
    # SciPy is not left out: `bounce` has its closed form from it.
    table.race, table.load = race, lambda package: importlib.import_module(package) if package == "scipy" else None
    bench = importlib.import_module("impinge.bench")
    known, contenders = bench.benchmarks(), {}
    reply([bench.__file__, list(known)])
    gc.disable()
    for line in sys.stdin:
        action, name = json.loads(line)
        if action == "prepare":
            contenders = prepared(name, known[name], raced)
            reply(list(contenders))
        else:
            gc.collect()
            reply(contenders[name]())


class Version:
    """A process that serves the version in a folder."""

    def __init__(self, folder: Path, cache: str) -> None:
        # Each has a cache of its own: a version may remove from a cache what another one has put there.
        common = Path(os.environ.get("IMPINGE_CACHE") or Path.home() / ".cache" / "impinge")
        environment = os.environ | {"PYTHONPATH": str(folder / "src"), "IMPINGE_CACHE": str(common / cache)}
        command = [sys.executable, __file__, "--worker"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        file, self.benchmarks = self.read()
        if not Path(file).is_relative_to(folder / "src"):
            raise RuntimeError(f"impinge was imported from {file}, not from {folder / 'src'}")

    def send(self, *request: str) -> None:
        """Ask for something."""
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)

    def read(self) -> Any:
        """Wait for the reply."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a process that measures has ended; what it said stands above")
        return json.loads(line)

    def time(self, contender: str) -> float:
        """Return one timing, s."""
        self.send("time", contender)
        return float(self.read())


@contextlib.contextmanager
def versions(before: Path, now: Path) -> Iterator[Sequence[Version]]:
    """Yield both, and end them."""
    with contextlib.ExitStack() as stack:
        pair: list[Version] = []
        for folder, cache in ((before, "compare-before"), (now, "compare-now")):
            pair.append(Version(folder, cache))
            stack.callback(pair[-1].process.kill)
        yield pair


@contextlib.contextmanager
def revision(name: str) -> Iterator[Path]:
    """Yield a folder with a revision, and remove it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "before"
        git = ["git", "-C", str(HERE), "worktree"]
        if subprocess.run([*git, "add", "--quiet", "--detach", str(folder), name]).returncode:
            sys.exit(2)  # git has said why
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=False)


def measure(pair: Sequence[Version], name: str, only: Collection[str], rounds: int, times: Times) -> None:
    """Measure a benchmark, or some contenders of it only, and note what is better than the times so far."""
    for version in pair:
        version.send("prepare", name)
    labels = [version.read() for version in pair]
    for label in sorted(set(labels[0]) ^ set(labels[1])):
        print(f"{name}: {label}: in one version only, left out", file=sys.stderr)
    for label in (label for label in only or labels[1] if label in labels[0] and label in labels[1]):
        best = list(times.get((name, label), (float("inf"), float("inf"))))
        for k in range(2 * rounds):
            which = (k + k // 2) % 2  # before, now, now, before: who comes second may find a warmer machine
            best[which] = min(best[which], pair[which].time(label))
        times[name, label] = best[0], best[1]
        print(f"{name}: {label}: {best[1] / best[0]:.3f}", file=sys.stderr)


def slower(times: Times) -> dict[str, list[str]]:
    """Return, for benchmarks in which something is slower, the contenders that are."""
    found: dict[str, list[str]] = {}
    for (name, label), (old, new) in times.items():
        if new > LIMIT * old:
            found.setdefault(name, []).append(label)
    return found


def compare(before: Path, now: Path, only: Collection[str], rounds: int) -> Times:
    """Measure all, and again what seems slower."""
    times: Times = {}
    for k in range(PASSES + MORE):
        if k >= PASSES and not slower(times):
            break
        with versions(before, now) as pair:
            common = [name for name in pair[1].benchmarks if name in pair[0].benchmarks and (not only or name in only)]
            chosen: Mapping[str, Collection[str]] = slower(times) if k >= PASSES else dict.fromkeys(common, ())
            print(f"pair {k + 1}: {', '.join(chosen)}", file=sys.stderr)
            for name, labels in chosen.items():
                measure(pair, name, labels, rounds, times)
    return times


def show(times: Times) -> None:
    """Print the table."""
    cells = [("benchmark", "contender", "before", "now", "now/before")]
    for key, (old, new) in times.items():
        mark = " !" if new > LIMIT * old else ""
        cells.append((*key, f"{1e6 * old:,.2f} µs", f"{1e6 * new:,.2f} µs", f"{new / old:.3f}{mark:2}"))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        texts = [text.rjust(n) if k > 1 else text.ljust(n) for k, (text, n) in enumerate(zip(row, widths, strict=True))]
        print("  ".join(texts).rstrip())
    count = sum(map(len, slower(times).values()))
    print(f"{count} of {len(times)} above {LIMIT:g}")


def main() -> None:
    """Read the command line and compare."""
    if sys.argv[1:] == ["--worker"]:
        return work()
    parser = argparse.ArgumentParser(description=__doc__)
    former = parser.add_mutually_exclusive_group(required=True)
    former.add_argument("--revision", help="the version before, as git names it")
    former.add_argument("--before", type=Path, help="the version before, a folder with src in it")
    parser.add_argument("--now", type=Path, default=HERE, help="the version now, a folder with src in it; this one")
    parser.add_argument("--only", nargs="+", default=[], help="names of benchmarks; all of them")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="timings of each contender in a process")
    a = parser.parse_args()
    with revision(a.revision) if a.revision else contextlib.nullcontext(a.before.resolve()) as before:
        times = compare(before, a.now.resolve(), a.only, a.rounds)
    if not times:
        parser.error("no benchmark of these names is in both versions")
    show(times)
    sys.exit(1 if slower(times) else 0)


if __name__ == "__main__":
    main()
