"""What a command loads: only what it needs. Timings are not taken; modules are counted."""

import json
import subprocess
import sys

import pytest

import impinge.control
from impinge import studies
from impinge.errors import InputError
from impinge.studies import Study, runner
from impinge.studies.catalog import catalog, spelled_out
from impinge.studies.registry import all_studies, find_study

STUDY_MODULES = {listed.module for listed in catalog().values()}
UNUSED = {"matplotlib", "control", "ruckig", "joblib", "pandas", "rich"}


def loaded_by(program: str) -> set[str]:
    """Return the names of all modules that a program of its own has loaded in the end."""
    end = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program + end], text=True, capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_catalog_says_what_the_studies_say():
    said = [(listed.name, listed.title, listed.paper) for listed in catalog().values()]
    assert said == [(study.name, study.title, study.paper) for study in all_studies().values()]
    assert list(catalog()) == list(all_studies())


def test_list_imports_no_study_and_nothing_heavy():
    loaded = loaded_by("from impinge.cli import main\nmain(['list'])")
    assert not loaded & (STUDY_MODULES | UNUSED | {"numpy", "casadi", "numba", "llvmlite", "scipy"})


def test_finding_a_study_imports_no_other():
    loaded = loaded_by("from impinge.studies.registry import find_study\nfind_study('bouncing-ball')")
    assert loaded & STUDY_MODULES == {"impinge.studies.bouncing_ball"}


def test_a_run_imports_no_other_study_and_no_library_that_it_does_not_use():
    loaded = loaded_by("from impinge.cli import main\nassert main(['run', 'bouncing-ball', '--json']) == 0")
    assert loaded & STUDY_MODULES == {"impinge.studies.bouncing_ball"}
    assert not loaded & UNUSED


def test_no_study_loads_matplotlib_before_its_figure_is_drawn():
    loaded = loaded_by("from impinge.studies.registry import all_studies\nall_studies()")
    assert loaded >= STUDY_MODULES
    assert not loaded & UNUSED


def test_controllers_are_loaded_without_python_control():
    assert "control" not in loaded_by("from impinge.control import PIDController, Lead, MazeController")
    assert all(getattr(impinge.control, name) is not None for name in impinge.control.__all__)
    with pytest.raises(AttributeError, match=r"module 'impinge\.control' has no attribute 'nothing'"):
        impinge.control.nothing  # noqa: B018


def test_an_unknown_study_names_the_nearest_without_importing_any():
    with pytest.raises(InputError, match="Did you mean 'bouncing-ball'"):
        find_study("bouncing-bal")
    program = "from impinge.cli import main\nassert main(['run', 'bouncing-bal']) == 2"
    assert not loaded_by(program) & (STUDY_MODULES | {"numpy", "numba"})


NOT_PLAIN = {
    "a title that is computed": "study = Study(name='x', title=TITLE, run=run)",
    "a paper that is computed": "study = Study(name='x', title='t', paper=f'{PAPER}', run=run)",
    "a title that is no text": "study = Study(name='x', title=3, run=run)",
    "no title": "study = Study(name='x', run=run)",
    "by position": "study = Study('x', 't', run)",
    "by a mapping": "study = Study(name='x', title='t', run=run, **MORE)",
    "from a function": "study = made(name='x', title='t', run=run)",
    "with a type": "study: Study = Study(name='x', title='t', run=run)",
    "two of them": "study = Study(name='x', title='t', run=run)\nstudy = Study(name='y', title='t', run=run)",
    "changed later": "study = Study(name='x', title='t', run=run)\nstudy = replace(study, title='u')",
    "in a string": '"""\nstudy = Study(name=\'x\', title=\'t\', run=run)\n"""\n',
    "none": "x = 1",
}


@pytest.mark.parametrize("case", NOT_PLAIN)
def test_only_a_study_in_plain_text_is_read_without_importing(case):
    assert spelled_out(NOT_PLAIN[case]) is None


def test_plain_text_may_go_over_lines_and_leave_the_paper_out():
    text = "import this\n\nstudy = Study(\n    title='long '\n    'title',\n    name='x',\n    run=run,\n)\nmore = 1\n"
    assert spelled_out(text) == {"name": "x", "title": "long title"}
    assert spelled_out("study = Study(name='x', title='t', paper='p', run=f(TITLE))")["paper"] == "p"


def test_a_study_that_is_not_plain_text_is_imported(tmp_path, monkeypatch):
    (tmp_path / "computed_study.py").write_text(
        "from impinge.studies import Study\n"
        "study = Study(name='a' + 'b', title='computed', run=lambda p, law, progress: None)\n"
    )
    (tmp_path / "no_study.py").write_text("study = 'of something'\n")
    monkeypatch.setattr(studies, "__path__", [*studies.__path__, str(tmp_path)])
    for name in ("computed_study", "no_study"):
        monkeypatch.setitem(sys.modules, f"impinge.studies.{name}", None)
        monkeypatch.delitem(sys.modules, f"impinge.studies.{name}")
    found = catalog()
    assert (found["ab"].module, found["ab"].title, found["ab"].paper) == (
        "impinge.studies.computed_study",
        "computed",
        "",
    )
    assert isinstance(find_study("ab"), Study)
    assert list(found) == list(all_studies())


def test_versions_name_what_is_loaded_and_what_is_not_installed(monkeypatch):
    from importlib.metadata import version

    assert runner.versions()["numpy"] == version("numpy")
    monkeypatch.setattr(runner, "_VERSIONED", ("impinge", "pytest", "no-such-package"))
    said = runner.versions()
    assert said["impinge"] == version("impinge")
    assert said["pytest"] == version("pytest")
    assert said["no-such-package"] == "not installed"
