"""What studies there are, read from the text of their files: to import them is to load every library they use."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

from impinge import studies
from impinge.studies.study import Study

_BEGIN = re.compile(r"^study\b", re.MULTILINE)
_SHOWN = {"name", "title", "paper"}


@dataclass(frozen=True)
class Listed:
    """A study as ``impinge list`` shows it, and the module that defines it."""

    name: str
    module: str
    title: str
    paper: str


def catalog() -> dict[str, Listed]:
    """Return what every study that comes with impinge says of itself, by name.

    A study is imported only if its file does not spell out its name, title and paper.
    """
    files = ((Path(folder), file) for folder in studies.__path__ for file in sorted(Path(folder).rglob("*.py")))
    found = (_listed(_module(folder, file), file.read_text(encoding="utf-8")) for folder, file in files)
    return {study.name: study for study in sorted(filter(None, found), key=lambda study: study.name)}


def _module(folder: Path, file: Path) -> str:
    return ".".join([studies.__name__, *file.relative_to(folder).with_suffix("").parts])


def _listed(module: str, text: str) -> Listed | None:
    """Return the study that a module defines, or None if it defines none."""
    if not _BEGIN.search(text):
        return None
    said = spelled_out(text)
    if said is None:
        study = getattr(importlib.import_module(module), "study", None)
        if not isinstance(study, Study):
            return None
        said = {"name": study.name, "title": study.title, "paper": study.paper}
    return Listed(said["name"], module, said["title"], said.get("paper", ""))


def spelled_out(text: str) -> dict[str, str] | None:
    """Return the name, title and paper in a file's only ``study = Study(...)``, or None if they are not plain text.

    Example:
        >>> spelled_out("study = Study(name='drop', title='it ' 'falls', run=_run)")
        {'name': 'drop', 'title': 'it falls'}
        >>> spelled_out("study = Study(name='drop', title=_TITLE, run=_run)")
    """
    begins = [match.start() for match in _BEGIN.finditer(text)]
    try:
        (begin,) = begins
        statement = ast.parse(text[begin:]).body[0]  # what stands above is not even parsed
    except (SyntaxError, ValueError):  # more than one, or a line inside of a string
        return None
    match statement:
        case ast.Assign([ast.Name("study")], ast.Call(ast.Name("Study"), [], keywords)):
            given = {keyword.arg: keyword.value for keyword in keywords}
        case _:
            return None
    plain = {key: value.value for key, value in given.items() if isinstance(value, ast.Constant)}
    said = {key: value for key, value in plain.items() if key in _SHOWN and isinstance(value, str)}
    complete = {"name", "title"} <= said.keys() and not (given.keys() - said.keys()) & {*_SHOWN, None}
    return said if complete else None
