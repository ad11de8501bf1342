"""Faults that are planted into a copy of the package are found by the verdicts of its own results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import impinge

PACKAGE = Path(impinge.__file__).parent

# Each script builds a case and leaves its result as ``result``.
SLIDER = """
from impinge import Baumgarte, ModelBuilder, simulate

b = ModelBuilder("slider")
(x, vx), (z, vz) = b.coordinate("x", speed=2.0), b.coordinate("z")
b.kinetic((vx**2 + vz**2) / 2)
b.potential(9.81 * z)
b.gap("floor", z, slip=x, friction=0.3)
result = simulate(b.build(), Baumgarte(), until=0.3)
"""

FALL = """
from impinge import Impact, robots, simulate

result = simulate(robots.ball(), Impact(restitution=0.5), until=1.0)
"""

# A rod that lands on one end with much friction: by Newton's hypothesis it would gain (T. R. Kane 1984).
KANE = """
import casadi as ca
from impinge import Complementarity, ModelBuilder, simulate

b = ModelBuilder("kane")
(x, vx), (z, vz), (angle, speed) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
b.kinetic((vx**2 + vz**2) / 2 + speed**2 / 24)
b.gap("end", z - 0.5 * ca.sin(angle), slip=x - 0.5 * ca.cos(angle), friction=1.0)
start = {"z": 0.4207364924, "angle": 1.0, "x_dot": 0.7, "z_dot": -1.0}
result = simulate(b.build(), Complementarity(1.0, step=1e-5), until=1e-4, start=start)
"""

# A point that lands with a slip rate and never slides: its slip is stopped.
STOP = """
from impinge import HuntCrossley, ModelBuilder, simulate

b = ModelBuilder("stop")
(x, vx), (z, vz) = b.coordinate("x", speed=2.0), b.coordinate("z", start=0.1)
b.kinetic((vx**2 + vz**2) / 2)
b.potential(9.81 * z)
b.gap("floor", z, slip=x)
result = simulate(b.build(), HuntCrossley(), until=0.3)
"""

REPORT = """
import json
print(json.dumps(result.certificate.to_dict()))
"""


@dataclass(frozen=True)
class Fault:
    """A text of the package that is replaced once, a script that runs it, and the verdict that must find it."""

    file: str
    right: str
    wrong: str
    script: str
    verdict: str


FAULTS = {
    "restitution without the energy bound": Fault(
        "simulation/steps/impulses.py",
        "if status == NO_ROOM or not leaves or (status == SOLVED and not creates(s)):",
        "if status == NO_ROOM or not leaves or status == SOLVED:",
        KANE,
        "work of impacts",
    ),
    "a dropped event": Fault(
        "simulation/locate/candidates.py",
        "if w.y[first] > span(h, gap) and gap_alone(plant, w, c):",
        "if h > 0.0:",
        FALL,
        "gap while open",
    ),
    "friction two percent too high": Fault(
        "contact/friction.py",
        "        pull[s] = -mu * direction[s]",
        "        pull[s] = -1.02 * mu * direction[s]",
        SLIDER,
        "Coulomb's limit",
    ),
    "a slip with the wrong sign": Fault(
        "contact/friction.py",
        "        pull[s] = -mu * direction[s]",
        "        pull[s] = mu * direction[s]",
        SLIDER,
        "power of friction",
    ),
    "a slip that is stopped too hard": Fault(
        "simulation/events/halt.py",
        "            solver.b[n] = -w.rows[RATE, i]",
        "            solver.b[n] = -2.5 * w.rows[RATE, i]",
        STOP,
        "work of impacts",
    ),
    "a stop whose work is not counted": Fault(
        "simulation/events/halt.py",
        "        w.y[work + (3 if i < nh else 4)] += p * (mean - w.terms.partial[i])\n",
        "",
        STOP,
        "energy balance",
    ),
}


def certificate(source: Path, script: str) -> tuple[dict, str]:
    """Run a script with a copy of the package; return its certificate and what it wrote to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", script + REPORT], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_breaks_the_verdict_that_watches_for_it(name, tmp_path):
    fault = FAULTS[name]
    shutil.copytree(PACKAGE, tmp_path / "impinge", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "impinge" / fault.file
    text = file.read_text()
    assert text.count(fault.right) == 1, f"{fault.file} no longer has '{fault.right}': adapt the fault"
    file.write_text(text.replace(fault.right, fault.wrong))
    found, warned = certificate(tmp_path, fault.script)
    broken = {verdict["name"] for verdict in found["verdicts"] if not verdict["ok"]}
    assert fault.verdict in broken
    assert not found["ok"]
    assert "ImpingeWarning" in warned
    assert fault.verdict in warned


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_the_same_case_keeps_all_its_promises(name):
    found, warned = certificate(PACKAGE.parent, FAULTS[name].script)
    assert found["ok"], found["verdicts"]
    assert FAULTS[name].verdict in {verdict["name"] for verdict in found["verdicts"]}
    assert "ImpingeWarning" not in warned


@pytest.mark.parametrize("name", FAULTS)
def test_the_text_in_which_a_fault_is_planted_is_there(name):
    assert (PACKAGE / FAULTS[name].file).read_text().count(FAULTS[name].right) == 1
