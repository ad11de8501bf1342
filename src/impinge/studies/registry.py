"""Finding studies: the files of this folder and of those in it, or a file of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

from impinge import studies
from impinge.errors import InputError, unknown_name
from impinge.studies.catalog import catalog
from impinge.studies.study import Study


def all_studies() -> dict[str, Study]:
    """Import every study that comes with impinge, by name: each module here that defines ``study``."""
    names = (m.name for m in pkgutil.walk_packages(studies.__path__, f"{studies.__name__}.") if not m.ispkg)
    modules = map(importlib.import_module, names)
    found = [module.study for module in modules if isinstance(getattr(module, "study", None), Study)]
    return {study.name: study for study in sorted(found, key=lambda study: study.name)}


def find_study(name: str) -> Study:
    """Import one study, by its name or from the path of a Python file that defines ``study``."""
    if name.endswith(".py"):
        return _study_from_file(Path(name))
    known = catalog()
    if name not in known:
        raise unknown_name("impinge", "study", name, known)
    study: Study = importlib.import_module(known[name].module).study
    return study


def _study_from_file(path: Path) -> Study:
    who = f"study file '{path}'"
    if not path.is_file():
        raise InputError(who, "a Python file", "no file there", "Check the path.")
    name = f"study_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent.resolve()) not in sys.path:
        sys.path.insert(0, str(path.parent.resolve()))  # as Python does for a script: its neighbors can be imported
    try:
        spec.loader.exec_module(module)
    except Exception as problem:  # whatever the user's file raises, the message says what and where
        got = f"{type(problem).__name__}: {problem}"
        raise InputError(who, "Python that runs", got, "Mend the file, or install what it imports.") from problem
    study = getattr(module, "study", None)
    if not isinstance(study, Study):
        got = "none" if study is None else type(study).__name__
        raise InputError(
            who, "a module-level name 'study' that holds a Study", got, "End the file with study = Study(...)."
        )
    return study
