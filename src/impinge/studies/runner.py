"""Running a study as the command line does: settings in, summary and files out."""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impinge.errors import InputError, show, unknown_name
from impinge.studies.study import Outcome, Parameter, Progress, Study

_VERSIONED = ("impinge", "casadi", "numba", "llvmlite", "numpy")


@dataclass(frozen=True)
class Report:
    """A finished run of a study."""

    study: Study
    parameters: Mapping[str, Any]
    outcome: Outcome
    summary: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether every claim holds."""
        return all(claim["ok"] for claim in self.summary["claims"])

    def write(self, folder: Path) -> None:
        """Write ``summary.json``, ``trajectory.csv``, ``events.csv`` and ``figure.png``."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "summary.json").write_text(json.dumps(self.summary, indent=2) + "\n")
            self.outcome.result.write_tables(folder)
            figure = self.study.figure
            drawn = figure(self.parameters, self.outcome) if figure else self.outcome.result.plot()
            drawn.savefig(folder / "figure.png", dpi=120)
        except OSError as problem:
            got = problem.strerror or str(problem)
            raise InputError(
                f"--out {folder}", "a folder that can be written", got, "Choose another folder."
            ) from problem


def parse_settings(study: Study, settings: Sequence[str]) -> dict[str, Any]:
    """Return all parameters of a study, with ``KEY=VALUE`` settings applied."""
    known = {parameter.name: parameter for parameter in study.parameters}
    values = {name: parameter.value for name, parameter in known.items()}
    who = f"study '{study.name}'"
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(who, "settings of the form KEY=VALUE", f"'{setting}'", f"Write --set {key}=VALUE.")
        if key not in known:
            raise unknown_name(who, "parameter", key, known)
        values[key] = _parse(who, known[key], text)
    return values


def _parse(who: str, parameter: Parameter, text: str) -> Any:
    who = f"parameter '{parameter.name}' of {who}"
    if isinstance(parameter.value, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(who, "true or false", f"'{text}'", f"Write --set {parameter.name}=true.")
        return text.lower() == "true"
    if isinstance(parameter.value, str):
        if parameter.choices and text not in parameter.choices:
            raise unknown_name(who, "choice", text, parameter.choices)
        return text
    kind = "a whole number" if isinstance(parameter.value, int) else "a finite number"
    limit = ""
    if parameter.minimum is not None:
        limit = f" {'above' if parameter.above else 'of at least'} {parameter.minimum:g}"
    try:
        value = type(parameter.value)(text)
    except ValueError:
        value = math.nan
    low = parameter.minimum is not None and (
        value < parameter.minimum or (parameter.above and value == parameter.minimum)
    )
    if not math.isfinite(value) or low:
        unit = f" in {parameter.unit}" if parameter.unit else ""
        remedy = f"The default is {parameter.value:g}{unit}."
        raise InputError(who, kind + limit, f"'{text}'", remedy)
    return value


def execute(
    study: Study, settings: Sequence[str] = (), law: str | None = None, progress: Progress | None = None
) -> Report:
    """Run a study with settings and a law as text, and check the claims that speak of this run."""
    from impinge.simulation.results.certificate import plain

    parameters = parse_settings(study, settings)
    chosen: Any = None
    if law is not None:
        if not study.touches:
            raise InputError(f"study '{study.name}'", "no law: nothing touches in it", f"--law {law}", "Leave it out.")
        from impinge.contact.registry import parse_law

        chosen = parse_law(law)
    begin = time.perf_counter()
    outcome = study.run(parameters, chosen, progress)
    wall = time.perf_counter() - begin
    if not isinstance(outcome, Outcome):
        raise TypeError(f"its run returned {show(outcome)}, not an Outcome(result, metrics)")
    defaults = {parameter.name: parameter.value for parameter in study.parameters if not parameter.effort}
    changed = {name: parameters[name] for name, value in defaults.items() if parameters[name] != value}
    claims = [
        claim.check(outcome)
        for claim in study.claims
        if claim.when is None or (chosen is None and dict(claim.when) == changed)
    ]
    if not outcome.result.ok:
        claims.append(
            {"id": "run-completes", "paper": "", "value": False, "ok": False, "note": outcome.result.reason},
        )
    summary = {
        "study": study.name,
        "parameters": {**parameters, **({"law": law} if law is not None else {})},
        "metrics": plain(outcome.metrics),
        "claims": plain(claims),
        "certificate": outcome.result.certificate.to_dict(),
        "versions": versions(),
        "wall_time_s": wall,
    }
    return Report(study, parameters, outcome, summary)


def versions() -> dict[str, str]:
    """Return the versions of Python and of what decides the numbers."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _VERSIONED}}


def _version(name: str) -> str:
    loaded = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(loaded, str):
        return loaded
    from importlib.metadata import PackageNotFoundError, version  # slow to load, so only if nothing quicker knows

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
