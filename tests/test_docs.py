"""README and examples: what they show runs as it stands."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_readme_example_is_at_most_fifteen_lines_and_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    names: dict = {}
    exec(compile(code, "README.md", "exec"), names)
    assert (tmp_path / "hopper.png").exists()
    result = names["result"]
    assert result.ok
    assert len(result.touchdowns("floor")) >= 3
    assert result.certificate.energy.end < result.certificate.energy.start


@pytest.mark.parametrize("script", ["hopper.py"])
def test_an_example_runs_as_it_stands(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert "touchdown" in capsys.readouterr().out or (tmp_path / "hopper.png").exists()


def test_the_delta_on_a_box_runs_as_it_stands(capsys):
    names = runpy.run_path(str(ROOT / "examples" / "delta_on_a_box.py"), run_name="__main__")
    assert names["result"].certificate.ok
    table = names["result"].contacts.force_on("table", names["result"].t.size)[-1]
    assert table == pytest.approx([0, 0, -8 - 0.5 * 9.81], abs=0.05)
    assert "flange at" in capsys.readouterr().out


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))],
)
def test_links_between_documents_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]*)?\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{document} links to {target}"


def test_the_first_hour_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "first-hour.md").read_text(), re.S):
        exec(compile(code, "first-hour.md", "exec"), names)
    assert (tmp_path / "hard.png").exists()
    assert len(names["hard"].touchdowns("wall")) >= 1
    forces = [names["settled"][f"force_{leg}"][-1] for leg in names["table"].contacts]
    assert sum(forces) == pytest.approx(98.1, abs=1e-6)


def test_the_delta_robot_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "delta-robot.md").read_text(), re.S):
        exec(compile(code, "delta-robot.md", "exec"), names)
    assert (tmp_path / "workspace.png").exists()
    assert names["tracked"].ok
    assert names["soft"].ok
    assert abs(names["hour"]["x_dot"]).max() == 0.0
    result = names["result"]
    assert result["force_finger"][-1] == pytest.approx(0.04, abs=0.005)
    assert result["brick1"][-1] == result["brick1"][0]


def test_the_page_on_scenes_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scenes.md").read_text(), re.S):
        exec(compile(code, "scenes.md", "exec"), names)
    assert names["result"].ok
    assert names["weight"] >= 2.16 * 9.81 - 1e-6
    assert names["carried"]["part_x_dot"][-1] == pytest.approx(0.2, abs=1e-9)
    assert names["carried"]["grip_tool_fz"][-1] == pytest.approx(0.2 * 9.81, rel=1e-2)
    assert names["driven"]["brick_x"][-1] > 0.1
    assert names["place"][-1, 2] == pytest.approx(-0.43, abs=1e-8)
    push = names["pressed"].contacts.force_on("flange", names["pressed"].t.size)[-1]
    assert push == pytest.approx([0, 0, 8], abs=0.05)


def test_the_page_on_machine_code_runs_as_it_stands(capsys):
    names: dict = {"__name__": "machine_code"}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "machine-code.md").read_text(), re.S):
        exec(compile(code, "machine-code.md", "exec"), names)
    result = names["result"]
    assert result.ok
    # Energy is kept: m g (h + δ) = k δ²/2 + k₃ δ⁴/4 at the deepest point.
    depth = result.certificate.contacts["floor"].deepest_penetration
    k, *_, k3 = names["Stiffening"](stiffness=1e3).gains
    drop = 9.81 * (0.1 + depth)
    assert k * depth**2 / 2 + k3 * depth**4 / 4 == pytest.approx(drop, rel=1e-2)  # of accepted steps


def test_the_linear_analysis_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    text = (ROOT / "docs" / "linear-analysis.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(code, "linear-analysis.md", "exec"), names)
    assert (tmp_path / "locus.png").exists()
    shown = re.search(r"    (torque → x.*?)\n\n", text, re.S)[1].replace("\n    ", "\n")
    assert shown in capsys.readouterr().out
    assert names["exact"].matrix[0, 0] == pytest.approx(
        (names["high"]["q"][-1] - names["low"]["q"][-1]) / 2e-6, rel=1e-5
    )
    assert not names["orbit"].stable


def test_the_walk_through_one_call_names_functions_that_are_there():
    page = (ROOT / "docs/architecture.md").read_text()
    walk = page.partition("## One call, from the top to the machine code")[2].partition("\n## ")[0]
    stops = re.findall(r"^\d+\. `([\w/]+\.py)`: `(\w+)` ", walk, re.MULTILINE)
    assert 5 <= len(stops) <= 10
    for file, name in stops:
        assert re.search(rf"^ *def {name}\(", (ROOT / "src/impinge" / file).read_text(), re.MULTILINE), (file, name)
