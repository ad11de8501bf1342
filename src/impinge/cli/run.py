"""`impinge run`."""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from impinge.cli.progress import progress_bar
from impinge.errors import ImpingeError, ImpingeWarning
from impinge.studies.registry import find_study
from impinge.studies.runner import Report, execute, parse_settings

CRASHED = 3


def run_study(name: str, settings: Sequence[str], law: str | None, out: str | None, as_json: bool) -> int:
    """Run a study, write and print what was asked for, and return the exit code."""
    study = find_study(name)
    until = parse_settings(study, settings).get("until", 1.0)
    with progress_bar(study.name, float(until)) as progress, _plain_warnings():
        try:
            report = execute(study, settings, law, progress)
            summary = json.dumps(report.summary, indent=2)
            if out is not None:
                report.write(Path(out))
        except ImpingeError:
            raise
        except (Exception, SystemExit) as problem:  # whatever the study's code raises is no failed claim
            traceback.print_exc()
            print(f"impinge: study '{study.name}' crashed: {type(problem).__name__}: {problem}", file=sys.stderr)
            return CRASHED
    if as_json:
        print(summary)
    else:
        _print(report)
        if out is not None:
            print(f"\nwritten to {out}: summary.json, trajectory.csv, events.csv, figure.png")
    return 0 if report.ok else 1


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show what runs are warned about as one line each, without the place in the code."""
    original = warnings.formatwarning

    def plain(message: Any, category: type[Warning], *place: Any, **more: Any) -> str:
        if issubclass(category, ImpingeWarning):
            return f"impinge: {message}\n"
        return original(message, category, *place, **more)

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = original


def _print(report: Report) -> None:
    study, summary = report.study, report.summary
    print(f"{study.name}: {study.title}" + (f" ({study.paper})" if study.paper else ""))
    units = {parameter.name: parameter.unit for parameter in study.parameters}
    print(
        "parameters  "
        + ", ".join(f"{k} = {_short(v)} {units.get(k, '')}".rstrip() for k, v in summary["parameters"].items())
    )
    print("metrics")
    width = max(map(len, summary["metrics"]), default=0)
    for key, value in summary["metrics"].items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            print(f"  {key}")
            for line in _table(value):
                print(f"    {line}")
        else:
            print(f"  {key:{width}}  {_short(value)}")
    if summary["claims"]:
        print("claims")
    for claim in summary["claims"]:
        verdict = "holds" if claim["ok"] else "FAILS"
        print(f"  {verdict}  {claim['id']}: {claim['paper']}  [measured {_short(claim['value'])}]")
        if claim["note"]:
            print(f"         {claim['note']}")
    print("certificate")
    for line in str(report.outcome.result.certificate).splitlines():
        print(f"  {line}")
    print(f"wall time   {summary['wall_time_s']:.3g} s")


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows of the same keys as lines with a head."""
    cells = [list(rows[0]), *([_short(value, 4, 12) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]


def _short(value: Any, digits: int = 7, most: int = 6) -> str:
    """Return a value for reading: few digits, long lists cut."""
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, (list, tuple)):
        shown = ", ".join(_short(item, digits, most) for item in value[:most])
        return f"[{shown}{', …' if len(value) > most else ''}]" + (f" ({len(value)})" if len(value) > most else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_short(item, digits, most)}" for key, item in value.items())
    return "none" if value is None else str(value)
