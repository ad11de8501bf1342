"""`impinge`: what the words mean, and the exit codes.

Exit code 0: every claim holds. 1: a claim fails. 2: bad input, one line on standard error. 3: the study itself crashed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from impinge import __version__
from impinge.errors import ImpingeError, InputError

BAD_INPUT = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are impinge's own: one line, with what to do."""

    def error(self, message: str) -> NoReturn:
        raise InputError("command line", f"'{self.prog}' as its help describes it", message, f"Try {self.prog} --help.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="impinge", description="Robots that touch things: simulate, analyze, control.")
    parser.add_argument("--version", action="version", version=f"impinge {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    commands.add_parser("list", help="studies, one line each, with the paper's figure")

    run = commands.add_parser("run", help="run a study and check its claims")
    run.add_argument("study", metavar="STUDY", help="a name from `impinge list`, or the path of a Python file")
    settings = run.add_argument("--set", dest="settings", metavar="KEY=VALUE", action="append", default=[])
    settings.help = "change a parameter; repeatable"
    run.add_argument("--law", metavar="NAME[:KEY=VALUE,...]", help="another contact law than the study's own")
    run.add_argument("--out", metavar="DIR", help="write summary.json, trajectory.csv, events.csv, figure.png")
    run.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")

    bench = commands.add_parser("bench", help="side by side with whatever peers are installed")
    bench.add_argument("only", metavar="BENCHMARK", nargs="*", help="names of benchmarks; all if left out")
    bench.add_argument("--out", metavar="DIR", help="write the tables, and the figures of those that have one")

    doctor = commands.add_parser("doctor", help="what is installed, caches, timer quality")
    doctor.add_argument("--compile", action="store_true", help="first compile all hot loops, on all cores")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        options = _parser().parse_args(arguments)
        if options.command == "list":
            from impinge.cli.listing import list_studies

            return list_studies()
        if options.command == "run":
            from impinge.cli.run import run_study

            return run_study(options.study, options.settings, options.law, options.out, options.json)
        if options.command == "bench":
            from impinge.cli.bench import run_benchmarks

            return run_benchmarks(options.only, options.out)
        from impinge.cli.doctor import examine

        return examine(options.compile)
    except ImpingeError as problem:
        print(f"impinge: {problem}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        sys.stderr.close()
        return 0
