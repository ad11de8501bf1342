"""The command line as a contract: words, files, exit codes, one-line errors."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from impinge.cli import main
from impinge.errors import ImpingeWarning

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(capsys, *words):
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_has_one_line_for_each_study_with_the_papers_figure(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("bouncing-ball"))
    assert "Bortoff" in line
    assert "Figs. 2, 3, 4" in line


def test_run_writes_the_four_files_and_json_is_the_summary(capsys, tmp_path):
    code, out, _ = run(capsys, "run", "bouncing-ball", "--out", str(tmp_path / "a" / "b"), "--json")
    assert code == 0
    summary = json.loads(out)
    assert list(summary) == ["study", "parameters", "metrics", "claims", "certificate", "versions", "wall_time_s"]
    assert all(set(claim) == {"id", "paper", "value", "ok", "note"} for claim in summary["claims"])
    folder = tmp_path / "a" / "b"
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert out == (folder / "summary.json").read_text()
    rows = list(csv.DictReader((folder / "trajectory.csv").read_text().splitlines()))
    assert float(rows[0]["t"]) == 0.0
    assert float(rows[-1]["t"]) == 10.0
    assert float(rows[-1]["force_floor"]) == pytest.approx(9.81, abs=1e-6)
    events = list(csv.DictReader((folder / "events.csv").read_text().splitlines()))
    assert [event["after"] for event in events[:3]] == ["Contact", "Ballistic", "Free"]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_that_fails_is_exit_code_1(capsys):
    code, out, _ = run(capsys, "run", "bouncing-ball", "--set", "a1=1")
    assert code == 1
    assert "FAILS  fig2-four-bounces" in out


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ZeroDivisionError('one')", "ZeroDivisionError: one"),
        ("pass", "returned None, not an Outcome"),
        ("raise SystemExit(5)", "SystemExit: 5"),
        ("return Outcome(drop(), {'what': object()})", "object is not JSON serializable"),
        ("return Outcome(drop(), {'draw': 1})", "ValueError: no figure"),
    ],
)
def test_a_study_that_crashes_is_exit_code_3_and_no_failed_claim(capsys, tmp_path, body, says):
    file = tmp_path / "crash.py"
    file.write_text(
        "from impinge import Impact, robots, simulate\n"
        "from impinge.studies import Outcome, Study\n"
        "def drop():\n    return simulate(robots.ball(), Impact(), until=0.1)\n"
        "def draw(p, outcome):\n    raise ValueError('no figure')\n"
        f"def run(p, law, progress):\n    {body}\n"
        "study = Study(name='crash', title='it crashes', parameters=(), run=run, claims=(), figure=draw)\n"
    )
    code, out, err = run(capsys, "run", str(file), "--json", "--out", str(tmp_path / "out"))
    assert (code, out) == (3, "")
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("impinge: study 'crash' crashed: ")
    assert says in err.splitlines()[-1]


def test_a_run_that_stops_early_is_exit_code_1_with_the_reason(capsys, tmp_path):
    file = tmp_path / "escape.py"
    file.write_text(
        "from impinge import ModelBuilder, simulate\n"
        "from impinge.studies import Outcome, Study\n"
        "def run(p, law, progress):\n"
        "    b = ModelBuilder('escape')\n"
        "    q, v = b.coordinate('q', start=1.0)\n"
        "    b.kinetic(v**2 / 2)\n"
        "    b.potential(-q**4)\n"
        "    return Outcome(simulate(b.build(), until=10.0), {})\n"
        "study = Study(name='escape', title='finite escape time', run=run)\n"
    )
    with pytest.warns(ImpingeWarning, match="the run of escape stopped early"):
        code, out, _ = run(capsys, "run", str(file))
    assert code == 1
    assert "FAILS  run-completes" in out


def test_settings_and_law_reach_the_run(capsys):
    _, by_setting, _ = run(capsys, "run", "bouncing-ball", "--set", "a1=5", "--set", "until=3", "--json")
    _, by_law, _ = run(capsys, "run", "bouncing-ball", "--law", "baumgarte:a1=5", "--set", "until=3", "--json")
    first, second = json.loads(by_setting), json.loads(by_law)
    assert first["metrics"] == second["metrics"]
    assert second["parameters"]["law"] == "baumgarte:a1=5"


def test_a_users_study_file_gets_the_same_command(capsys, tmp_path):
    study = str(EXAMPLES / "drop_study.py")
    code, out, _ = run(capsys, "run", study, "--set", "tilt=0.05", "--out", str(tmp_path))
    assert code == 0
    assert "holds  weight-shared" in out
    assert (tmp_path / "figure.png").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run", "bouncing-bal"], "expected a known study, got 'bouncing-bal'. Did you mean 'bouncing-ball'?"),
        (["run", "bouncing-ball", "--set", "a3=1"], "expected a known parameter, got 'a3'. Did you mean 'a2' or"),
        (
            ["run", "bouncing-ball", "--set", "m=0"],
            "expected a finite number above 0, got '0'. The default is 1 in kg.",
        ),
        (["run", "bouncing-ball", "--set", "height=-1"], "expected a finite number of at least 0, got '-1'"),
        (["run", "bouncing-ball", "--set", "g=nan"], "expected a finite number, got 'nan'"),
        (
            ["run", "bouncing-ball", "--law", "baumgart"],
            "expected a known law, got 'baumgart'. Did you mean 'baumgarte'?",
        ),
        (["run", "bouncing-ball", "--law", "baumgarte:b=1"], "law 'baumgarte': expected a known parameter, got 'b'"),
        (["run", "bouncing-ball", "--law", "baumgarte:a0=x"], "expected KEY=NUMBER pairs, got 'a0=x'"),
        (["run", "bouncing-ball", "--law", "baumgarte:a0=-1"], "for which the closed gap is stable, got a0 = -1"),
        (["run", "no/such/file.py"], "study file 'no/such/file.py': expected a Python file, got no file there."),
        (["run"], "arguments are required: STUDY. Try impinge run --help."),
        (["dance"], "invalid choice: 'dance'"),
        (["bench", "nothing"], "expected a known benchmark, got 'nothing'"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(capsys, words, text):
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert text in err


def test_a_study_file_without_a_study_says_how_to_end_it(capsys, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("import no_such_module_here\n")
    code, _, err = run(capsys, "run", str(tmp_path / "empty.py"))
    assert (code, "End the file with study = Study(...)." in err) == (2, True)
    code, _, err = run(capsys, "run", str(tmp_path / "broken.py"))
    assert (code, "No module named 'no_such_module_here'" in err) == (2, True)


def test_an_output_folder_that_cannot_be_made_is_exit_code_2(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "run", "bouncing-ball", "--set", "until=0.1", "--out", str(tmp_path / "file" / "x"))
    assert code == 2
    assert "expected a folder that can be written" in err


def test_help_loads_nothing_heavy():
    program = (
        "import sys\nfrom impinge.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numba', 'casadi', 'matplotlib', 'numpy', 'llvmlite'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "bench" in done.stdout


def test_doctor_finds_machine_code_that_works(capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "machine code works" in out
    for word in ("casadi", "cache", "timer", "resolution"):
        assert word in out
