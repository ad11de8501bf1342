"""Every registered study: finite, deterministic, complete; and the claims ledger."""

import json
import math

import pytest

from impinge.errors import ImpingeError
from impinge.studies import Claim, Outcome, Parameter, Study
from impinge.studies.registry import all_studies, find_study
from impinge.studies.runner import execute, parse_settings

STUDIES = sorted(all_studies())


def numbers(value):
    """All numbers inside nested dicts and lists."""
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, (int, float)):
        yield value


def timeless(value):
    """Return a value without what the clock on the wall says."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if not key.startswith("wall_time")}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_deterministic_finite_and_its_claims_hold(name):
    study = find_study(name)
    first, second = execute(study, study.quick), execute(study, study.quick)
    for key in ("metrics", "claims", "certificate"):
        assert timeless(first.summary[key]) == timeless(second.summary[key])
        assert all(math.isfinite(x) for x in numbers(first.summary[key]))
    assert first.ok
    assert json.loads(json.dumps(first.summary, allow_nan=False)) == first.summary


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STUDIES if find_study(name).quick])
def test_with_all_its_effort_too_the_claims_of_a_study_hold(name):
    assert execute(find_study(name)).ok


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_describes_itself(name):
    study = find_study(name)
    assert study.title
    assert study.paper
    assert len({claim.id for claim in study.claims}) == len(study.claims)
    assert all(claim.paper for claim in study.claims)
    assert all(parameter.about for parameter in study.parameters)


def outcome_with(**metrics):
    return Outcome(result=None, metrics=metrics)


@pytest.mark.parametrize(
    ("compare", "expected", "tolerance", "value", "ok"),
    [
        ("equal", 1.0, 0.1, 1.05, True),
        ("equal", 1.0, 0.1, 1.2, False),
        ("equal", [1.0, 2.0], 0.1, [1.0, 2.05], True),
        ("equal", [1.0, 2.0], 0.1, [1.0], False),
        ("equal", [1.0, 2.0], 0.1, [1.0, 2.0, 3.0], False),
        ("equal", [1.0, 2.0], 0.1, [1.0, 2.2], False),
        ("equal", True, 0, True, True),
        ("equal", True, 0, False, False),
        ("at least", 20.0, 0, 20.0, True),
        ("at least", 20.0, 0, 19.9, False),
        ("at most", 1e-9, 0, 1e-10, True),
        ("at most", 1e-9, 0, 1e-8, False),
        ("at most", 1e-9, 0, None, False),
        ("equal", 1.0, 0.1, float("nan"), False),
    ],
)
def test_a_claim_holds_only_if_its_comparison_does(compare, expected, tolerance, value, ok):
    claim = Claim("x", "says so", lambda o: o.metrics["x"], expected, tolerance, compare)
    assert claim.check(outcome_with(x=value))["ok"] is ok


def test_claims_about_other_parameters_are_not_judged():
    ids = {c["id"] for c in execute(find_study("bouncing-ball"), ["a1=3", "until=2"]).summary["claims"]}
    assert ids == {"never-pulls"}


PARAMETERS = (
    Parameter("gain", 2.0, "1/s", minimum=0, above=True),
    Parameter("count", 3, minimum=1),
    Parameter("kind", "soft", choices=("soft", "stiff")),
    Parameter("noisy", False),
)
TOY = Study(name="toy", title="", run=lambda *_: None, parameters=PARAMETERS)


def test_settings_take_the_type_of_their_default():
    values = parse_settings(TOY, ["gain=1e-3", "count=5", "kind=stiff", "noisy=true"])
    assert values == {"gain": 1e-3, "count": 5, "kind": "stiff", "noisy": True}
    assert parse_settings(TOY, []) == {"gain": 2.0, "count": 3, "kind": "soft", "noisy": False}


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("gian=1", "study 'toy': expected a known parameter, got 'gian'. Did you mean 'gain'"),
        ("gain", "study 'toy': expected settings of the form KEY=VALUE, got 'gain'. Write --set gain=VALUE."),
        (
            "gain=0",
            "parameter 'gain' of study 'toy': expected a finite number above 0, got '0'. The default is 2 in 1/s.",
        ),
        ("gain=nan", "expected a finite number above 0, got 'nan'"),
        ("gain=inf", "expected a finite number above 0, got 'inf'"),
        ("gain=two", "expected a finite number above 0, got 'two'"),
        ("count=2.5", "expected a whole number of at least 1, got '2.5'"),
        ("count=0", "expected a whole number of at least 1, got '0'"),
        ("kind=stif", "expected a known choice, got 'stif'. Did you mean 'stiff'"),
        ("noisy=maybe", "expected true or false, got 'maybe'"),
    ],
)
def test_a_bad_setting_says_what_to_do(setting, text):
    with pytest.raises(ImpingeError) as caught:
        parse_settings(TOY, [setting])
    assert text in str(caught.value)
