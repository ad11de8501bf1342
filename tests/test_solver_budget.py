"""The work that the contact solver may do in a step of `Complementarity`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from impinge import Complementarity, Scene, simulate
from impinge.errors import ImpingeWarning, InputError
from impinge.geometry import Box, HalfSpace
from rest_cases import body, case_of


def stack(count=4):
    scene = Scene("stack")
    scene.fixed("table", HalfSpace())
    for k in range(count):
        scene.body(f"box_{k}", Box(0.2, 0.2, 0.1), density=700, at=(0.02 * k, 0, 0.06 + 0.11 * k))
    return scene


def poses(result):
    return np.column_stack([result[f"box_{k}_{axis}"] for k in range(4) for axis in "xyz"])


def test_a_budget_that_is_not_needed_changes_nothing():
    one, other = (simulate(stack(), Complementarity(step=2e-3, budget=b), until=0.2) for b in (np.inf, 10_000))
    assert one.ok
    assert other.ok
    assert one.solver.missed == other.solver.missed == 0
    assert one.solver.newton == other.solver.newton
    assert np.array_equal(poses(one), poses(other))


def test_a_scene_whose_contacts_need_more_than_the_budget_ends_and_names_the_worst_of_them():
    with pytest.warns(ImpingeWarning):
        result = simulate(stack(), Complementarity(step=2e-3, budget=1), until=0.5)
    assert not result.ok
    assert result.solver.missed >= 1
    assert not result.certificate.ok
    assert "were not found within a budget of 1 iterations: the worst miss their law by" in result.reason
    assert "between box_" in result.reason or "between table" in result.reason
    assert "give a larger budget" in result.reason


def test_a_scene_never_makes_more_iterations_in_a_step_than_its_budget_and_says_where_that_was_too_few():
    for budget in (2, 5, 20):
        law = Complementarity(step=2e-3, tolerance=0.1, budget=budget)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpingeWarning)
            result = simulate(stack(), law, until=0.1)
        assert result.solver.sweeps + result.solver.newton <= budget * result.certificate.steps
        assert (result.solver.missed > 0) == (not result.certificate.ok) == (result.solver.miss > law.tolerance)


def test_a_model_whose_contacts_need_more_pivots_than_the_budget_ends_and_names_them():
    case = case_of("feet", 0)
    model, parameters = body(case.kind, len(case.mu)), case.parameters()
    assert simulate(model, Complementarity(budget=1000), until=0.01, parameters=parameters).ok
    with pytest.warns(ImpingeWarning, match="were not found within a budget of 1 pivots"):
        result = simulate(model, Complementarity(budget=1), until=0.01, parameters=parameters)
    assert not result.ok
    assert "contacts c0" in result.reason


@pytest.mark.parametrize("budget", [0, -1, "many", float("nan"), None])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(InputError, match=r"law 'complementarity': expected a budget of one iteration or more, got"):
        Complementarity(budget=budget)
