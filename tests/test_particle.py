"""Trinkle's particle: every cell of every table, and what his notes warn of."""

from __future__ import annotations

import numpy as np
import pytest

from impinge import Complementarity, robots, simulate
from impinge.studies.registry import find_study
from impinge.studies.runner import execute

TABLES = {
    # page 10
    "particle-wall": {
        "x": [0, 1, 3, 6, 10, 11, 11, 11, 11],
        "v": [0, 1, 2, 3, 4, 1, 0, 0, 0],
        "gap": [11, 10, 8, 5, 1, 0, 0, 0, 0],
        "force": [0, 0, 0, 0, 0, 4, 2, 1, 1],
        "wall": [11] * 9,
    },
    # page 13
    "particle-moving-wall": {
        "x": [0, 1, 3, 6, 7, 6, 5, 4, 3],
        "v": [0, 1, 2, 3, 1, -1, -1, -1, -1],
        "force": [0, 0, 0, 0, 3, 3, 1, 1, 1],
        "gap": [11, 9, 6, 2, 0, 0, 0, 0, 0],
        "wall": [11, 10, 9, 8, 7, 6, 5, 4, 3],
    },
    # pages 5, 8 and 6
    "particle-explicit": {
        "x": [0, 0, 1, 3, 6, 10, 15],
        "v": [0, 1, 2, 3, 4, 5, 6],
        "gap": [11, 11, 10, 8, 5, 1, -4],
        "semi_implicit_x": [0, 1, 3, 6, 10, 15, 21],
        "semi_implicit_v": [0, 1, 2, 3, 4, 5, 6],
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_of_a_table_is_exact(name):
    report = execute(find_study(name))
    for column, cells in TABLES[name].items():
        assert report.summary["metrics"][column] == cells
    assert report.ok


@pytest.mark.parametrize("name", ["particle-3d", "artefacts"])
def test_the_other_pages_hold(name):
    report = execute(find_study(name))
    assert report.ok, [claim for claim in report.summary["claims"] if not claim["ok"]]


@pytest.mark.parametrize("name", [*TABLES, "particle-3d", "artefacts"])
def test_a_study_draws_its_figure_with_units(name):
    study = find_study(name)
    report = execute(study)
    figure = study.figure(report.parameters, report.outcome)
    labels = [axis.get_xlabel() + axis.get_ylabel() for axis in figure.axes]
    assert all("[" in label for label in labels)


def test_a_table_of_another_step_makes_no_claim_of_the_notes():
    summary = execute(find_study("particle-wall"), ["step=0.5"]).summary
    assert summary["claims"] == []
    assert summary["metrics"]["x"][-1] == 11


def test_the_step_does_not_move_the_wall():
    # Whatever the step, the particle ends at rest on the wall, and what the wall took is its momentum.
    for h in (1.0, 0.3, 0.01):
        result = simulate(robots.particle(), Complementarity(step=h), until=9.0)
        assert result["x"][-1] == pytest.approx(11.0, abs=1e-12)
        assert result["impulse_wall"][-1] == pytest.approx(9.0, rel=1e-12)


def test_a_wall_with_restitution_sends_the_particle_back():
    result = simulate(robots.particle(), Complementarity(1.0, step=1e-3), until=9.0)
    landing = np.sqrt(22.0)
    assert result.touchdowns("wall")[0] == pytest.approx(landing, abs=2e-3)
    assert result["x"].max() <= 11
    assert result["x"][-1] == pytest.approx(11 - landing * (9 - landing) + (9 - landing) ** 2 / 2, abs=0.01)


def test_the_particle_in_space_keeps_its_momentum_and_its_distance():
    metrics = execute(find_study("particle-3d"), ["step=0.01"]).summary["metrics"]
    assert metrics["largest_penetration_m"] <= metrics["allowed_penetration_m"]
    assert metrics["momentum_residual_Ns"] <= 1e-12
    assert metrics["share_in_contact"] > 0.1
    assert metrics["order"] == pytest.approx(1.0, abs=0.35)


def test_a_trap_between_facets_is_left_by_facets_that_end():
    for facets, ends in (("extended", (-1e-3, 1e-3)), ("ending", (0.5, 0.9)), ("nearest", (0.5, 0.9))):
        result = simulate(robots.particle_on_a_roof(facets), Complementarity(step=2e-3), until=0.6)
        assert ends[0] <= result["x"][-1] <= ends[1]
