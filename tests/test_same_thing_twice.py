"""The same thing written as a model and as a scene: in steps, at rest, as a linear model, and event by event."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from impinge import (
    Adaptive,
    Baumgarte,
    Complementarity,
    ExponentialHuntCrossley,
    HuntCrossley,
    Impact,
    KelvinVoigt,
    equilibrium,
    linearize,
    simulate,
)
from same_systems import SYSTEMS

ROUNDING = 1e-11  # what impulses of a tolerance of 1e-10 leave of a place after some thousand steps, m
EXACT = Adaptive(rtol=1e-11, atol=1e-13)
LAWS = {
    "impact": Impact(0.4),
    "impact without restitution": Impact(0.0),
    "baumgarte": Baumgarte(),
    "kelvin-voigt": KelvinVoigt(stiffness=1e5, damping=200.0),
    "hunt-crossley": HuntCrossley(stiffness=1e7, exponent=1.5, restitution=0.4),
    "exponential": ExponentialHuntCrossley(stiffness=1e7, exponent=1.5, restitution=0.4),
}
# From these times on contacts take turns without end, and a run goes on by steps over contacts (`certificate.leaps`):
# these are of first order in their length, and what they begin with depends on rounding.
CHATTERS = {
    ("four-legged table", "baumgarte"): 0.36,
    ("box that tips", "baumgarte"): 0.43,
    ("gripper holding a box", "baumgarte"): 0.0072,
}
# What does not hold, and by how much.
TIES = (
    "contacts are decided one after another, least index first: a symmetric box begins to turn about x, this way or "
    "that, which makes 0.16 rad/s, and a symmetric table 0.17 rad/s"
)


def known(names, laws, fails):
    """All pairs of names and laws; those that fail say why, and those that say little that is new are slow."""
    return [pytest.param(name, law, marks=[*_marks(name, law, fails)]) for name in names for law in laws]


def _marks(name, law, fails):
    if (name, law) in fails:
        yield pytest.mark.xfail(reason=fails[name, law], strict=True)
    if law not in ("impact", "baumgarte", "kelvin-voigt"):
        yield pytest.mark.slow


@cache
def pair(name):
    """The model and the scene for a run."""
    system = SYSTEMS[name]
    return system.model(system.friction), system.scene(system.friction)


def apart(model, one, other, coordinates_only=False):
    """The largest difference of two results of one system at their ends."""
    assert one.ok
    assert other.ok
    names = [x.name for x in (*model.coordinates, *(() if coordinates_only else model.velocities))]
    return max(abs(one[name][-1] - other[name][-1]) for name in names)


def steps_apart(name, restitution, step):
    system, law = SYSTEMS[name], Complementarity(restitution, step=step)
    runs = [simulate(x, law, until=system.until, start=system.start) for x in pair(name)]
    return apart(pair(name)[0], *runs, coordinates_only=restitution > 0.0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_in_steps_the_difference_falls_with_order_one(name):
    coarse, fine = (steps_apart(name, 0.0, step) for step in (2e-3, 2.5e-4))
    assert fine <= coarse / 5.0 + ROUNDING  # an eighth, as far as instants of landing fall alike into steps


@pytest.mark.parametrize("name", SYSTEMS)
def test_in_steps_with_restitution_the_difference_of_places_falls_with_the_step(name):
    coarse, fine = (steps_apart(name, 0.5, step) for step in (2e-3, 1.25e-4))
    assert fine <= coarse / 4.0 + ROUNDING


def test_a_robot_that_takes_a_box_takes_the_same_steps_to_rounding():
    """Its coordinates are the same, its steps begin and end with the same velocities, and nothing rebounds."""
    for step in (2e-3, 1e-3):
        assert steps_apart("gripper holding a box", 0.0, step) <= 1e-12


RIGID_AND_SOFT = (None, "hunt-crossley", "baumgarte")


def rests(name, law):
    """Rest states and closed contacts of the model and of the scene."""
    system = SYSTEMS[name]
    model, scene = system.model(system.sticks), system.scene(system.sticks)
    near = equilibrium(model, system.closed, near=system.rest).pose
    contacts = scene.around(near).contacts
    assert len(contacts) == len(system.closed)
    return [
        (x, equilibrium(x, closed, near=near, law=law), closed)
        for x, closed in ((model, system.closed), (scene, contacts))
    ]


def shares(rest, contacts):
    """Normal forces and friction of contacts, in ascending order: names and tangents are those of who made them."""
    normal = sorted(rest.forces[f"force_{name}"] for name in contacts)
    along = [[rest.forces.get(f"friction_{name}{k}", 0.0) for k in ("", "_1", "_2")] for name in contacts]
    return normal, sorted(float(np.linalg.norm(x)) for x in along)


@pytest.mark.parametrize("law", ["kelvin-voigt", *(pytest.param(x, marks=pytest.mark.slow) for x in RIGID_AND_SOFT)])
@pytest.mark.parametrize("name", SYSTEMS)
def test_rest_states_and_poles_are_the_same(name, law):
    law = LAWS.get(law)
    (model, one, closed), (scene, other, contacts) = rests(name, law)
    for x in one.pose:
        assert other.pose[x] == pytest.approx(one.pose[x], abs=1e-10), x
    load = max(one.forces[f"force_{contact}"] for contact in closed)
    for a, b in zip(shares(one, closed), shares(other, contacts), strict=True):
        assert b == pytest.approx(a, abs=1e-8 * load)
    poles = [
        linearize(x, rest, names, law=law).poles()
        for x, rest, names in ((model, one, closed), (scene, other, contacts))
    ]
    assert poles[0].size == poles[1].size
    distance = np.abs(poles[0][:, None] - poles[1])
    assert distance[linear_sum_assignment(distance)].max() <= 1e-8 * max(1.0, np.abs(poles[0]).max())


def end_of(name, law):
    return min(SYSTEMS[name].until, CHATTERS.get((name, law), np.inf))


def instants(result):
    """The times at which something happens: of a tie only one, since who closes in it has no order."""
    times = np.array([e.time for e in result.events])
    return times[np.diff(times, prepend=-1.0) > 1e-8]


def assert_same(model, one, other):
    assert one.certificate.leaps == other.certificate.leaps == 0
    assert apart(model, one, other) <= 1e-8
    assert instants(one).size > 0
    assert instants(one) == pytest.approx(instants(other), abs=1e-8)


def in_order_of(name, around):
    """The model of a run, with the contacts first that a scene around its start has, in that order."""
    model, system = pair(name)[0], SYSTEMS[name]
    v = np.random.default_rng(1).normal(size=len(model.velocities))
    q = model.displaced(model.start_vectors(system.start)[0], 1e-3 * v)
    own, other = ({x: terms[x] for x in ("gap", "gap_dot")} for terms in (model.terms(q, v), around.terms(q, v)))
    miss = sum(abs(own[x][:, None] - other[x]) for x in own)
    first = [
        model.contacts[int(k)] for k, least in zip(miss.argmin(axis=0), miss.min(axis=0), strict=True) if least < 1e-9
    ]
    assert first
    return system.model(system.friction, first)


@pytest.mark.parametrize(("name", "law"), known(SYSTEMS, LAWS, {}))
def test_event_by_event_a_scene_moves_as_its_model_does(name, law):
    (model, scene), system, end = pair(name), SYSTEMS[name], end_of(name, law)
    runs = [simulate(x, LAWS[law], until=end, start=system.start, method=EXACT) for x in (model, scene)]
    assert_same(model, *runs)


@pytest.mark.parametrize(("name", "law"), known(SYSTEMS, LAWS, {}))
def test_event_by_event_a_scene_as_a_model_around_its_start_moves_as_its_model_does(name, law):
    system, end = SYSTEMS[name], end_of(name, law)
    around = pair(name)[1].around(system.start, within=0.5)
    model = in_order_of(name, around)
    one = simulate(model, LAWS[law], until=end, start=system.start, method=EXACT)
    assert_same(model, one, simulate(around, LAWS[law], until=end, method=EXACT))


@pytest.mark.parametrize(
    ("name", "law"),
    known(
        ("block on an incline", "four-legged table", "box that tips", "gripper holding a box"),
        ("impact", "baumgarte", "kelvin-voigt"),
        {("four-legged table", "baumgarte"): TIES, ("box that tips", "baumgarte"): TIES},
    ),
)
def test_the_order_in_which_contacts_are_declared_changes_no_motion(name, law):
    system, end, rng = SYSTEMS[name], end_of(name, law), np.random.default_rng(0)
    model = pair(name)[0]
    first = simulate(model, LAWS[law], until=end, start=system.start, method=EXACT)
    for _ in range(2):
        other = system.model(system.friction, rng.permutation(model.contacts).tolist())
        run = simulate(other, LAWS[law], until=end, start=system.start, method=EXACT)
        assert first.certificate.leaps == run.certificate.leaps == 0
        assert apart(model, first, run) <= 1e-8  # which of the feet that carry a load is at its limit is a tie


@pytest.mark.slow
@pytest.mark.parametrize(("name", "law"), CHATTERS)
def test_what_chatters_is_stepped_over_in_both(name, law):
    """As `CHATTERS` says: what comes after these times is no motion that could be the same to 1e-8."""
    system = SYSTEMS[name]
    around = pair(name)[1].around(system.start, within=0.5)
    runs = [simulate(pair(name)[0], LAWS[law], until=system.until, start=system.start, method=EXACT)]
    runs.append(simulate(around, LAWS[law], until=system.until, method=EXACT))
    assert all(run.certificate.leaps > 0 for run in runs)
    assert all(run.ok for run in runs)
