"""`impinge list`."""

from __future__ import annotations

from impinge.studies.catalog import catalog


def list_studies() -> int:
    """Print every study on one line: name, paper's figure, title."""
    studies = catalog()
    width = max(map(len, studies))
    figures = max(len(study.paper) for study in studies.values())
    for name, study in studies.items():
        print(f"{name:{width}}  {study.paper:{figures}}  {study.title}")
    return 0
