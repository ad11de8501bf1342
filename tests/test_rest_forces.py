"""Rest on redundant contacts: forces are found just where a linear program says that there are some.

The programs of `rest_cases` know nothing of the model. Friction in a plane is bounded by polygons from inside and from
outside; cases between the two are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import rest_cases
from impinge import ImpingeError, StartError, equilibrium, linearize, robots, simulate
from impinge.contact import Baumgarte, Complementarity, Impact, KelvinVoigt
from rest_cases import FAMILIES, body, case_of


def rests(case, near=None, drives=0, **kwargs):
    """The rest state of a case, or None if it is refused."""
    model = body(case.kind, len(case.mu), drives)
    parameters = case.parameters() | kwargs.pop("parameters", {})
    try:
        return equilibrium(model, case.contacts, near, parameters=parameters, **kwargs)
    except StartError:
        return None


def forces_of(case, rest):
    return np.array([rest.forces[name] for name in case.names()])


def check_forces(case, rest):
    """Forces balance the load, push, and stay within friction."""
    force = forces_of(case, rest)
    size = max(np.abs(case.load).max(), 1e-300)
    assert np.abs(case.wrenches @ force + case.load[case.axes]).max() <= 1e-9 * size
    for k, mu in enumerate(case.mu):
        friction = np.linalg.norm(force[case.slips_of(k)])
        assert force[k] >= -1e-9 * size
        assert not case.slips_of(k) or friction <= mu * force[k] + 2e-9 * max(size, force.max())
    return force


def check_family(family, seeds):
    count = Counter()
    for seed in seeds:
        case = case_of(family, seed)
        rest, expected = rests(case), rest_cases.exists(case)
        count[expected] += 1
        assert expected is None or (rest is not None) == expected, (family, seed)
        if rest is None:
            continue
        check_forces(case, rest)
        unique = rest_cases.is_unique(case) if expected else None
        assert unique is None or rest.unique == unique, (family, seed)
    assert count[None] <= 0.02 * len(seeds)
    return count


@pytest.mark.parametrize("family", FAMILIES)
def test_forces_are_found_just_where_a_linear_program_finds_some(family):
    count = check_family(family, range(12))
    assert min(count[True], count[False]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_forces_are_found_just_where_a_linear_program_finds_some_in_many_cases(family):
    count = check_family(family, range(1000, 1120))  # 600 of all families
    assert min(count[True], count[False]) >= 30


LAWS = {"impact": Impact(), "baumgarte": Baumgarte(a0=1e4, a1=200, a2=0), "complementarity": Complementarity()}


def check_rest(family, law, seeds):
    """What can rest stays at rest: nothing moves in a tenth of a second from the pose that `equilibrium` finds."""
    held = 0
    for seed in seeds:
        case = case_of(family, seed)
        rest, model = rests(case), body(case.kind, len(case.mu))
        if rest is None or not rest_cases.exists(case):  # at a limit both to rest and to move are right
            continue
        run = simulate(model, LAWS[law], until=0.1, start=dict(rest.pose), parameters=case.parameters())
        assert run.ok, (seed, run.reason)
        assert max(np.abs(run[x.name]).max() for x in model.velocities) <= 1e-9, seed
        assert max(np.abs(run[x.name] - rest.pose[x.name]).max() for x in model.coordinates) <= 1e-9, seed
        held += 1
    assert held >= len(seeds) // 4


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_contacts_can_hold_stays_where_it_is(family, law):
    check_rest(family, law, range(12))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_contacts_can_hold_stays_where_it_is_in_many_cases(family, law):
    check_rest(family, law, range(1000, 1100))


def at_the_limit(family, seed):
    """A case and forces that hold it, with every contact at the end of what it can give, which may be nothing."""
    case, rng = case_of(family, seed), np.random.default_rng(seed)
    n, force = len(case.mu), np.zeros(case.wrenches.shape[1])
    force[:n] = rng.uniform(0.1, 1.0, n) * (rng.random(n) < rng.choice([0.3, 0.6, 1.0]))
    together, direction = rng.random() < 0.5, rng.normal(size=2)
    for k in range(n):
        slips = case.slips_of(k)
        along = (direction if together else rng.normal(size=2))[: len(slips)]
        force[slips] = case.mu[k] * force[k] * along / max(np.linalg.norm(along), 1e-300)
    load = np.zeros(6)
    load[case.axes] = -case.wrenches @ force
    return replace(case, load=load), force


def check_limits(family, seeds):
    for seed in seeds:
        case, one = at_the_limit(family, seed)
        rest = rests(case)
        assert rest is not None, (family, seed)
        force = check_forces(case, rest)
        assert np.linalg.norm(force) <= np.linalg.norm(one) + 1e-9
        unique = rest_cases.is_unique(case)
        assert unique is None or rest.unique == unique, (family, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_contacts_hold_up_to_their_limits_and_may_carry_nothing(family):
    check_limits(family, range(6))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_contacts_hold_up_to_their_limits_in_many_cases(family):
    check_limits(family, range(1000, 1100))


@pytest.mark.parametrize("family", ["table", "feet", "wedge"])
def test_the_forces_are_the_smallest_that_contacts_can_give(family):
    compared = 0
    for seed in range(12):
        case = case_of(family, seed)
        rest = rests(case)
        if rest is None:
            continue
        force, C = forces_of(case, rest), rest_cases._limits(case, outer=True)
        # The smallest point of a convex set is that with no point of the set on the near side of its normal plane.
        least = linprog(
            force, A_ub=C, b_ub=np.zeros(len(C)), A_eq=case.wrenches, b_eq=-case.load[case.axes], bounds=(-1e4, 1e4)
        )
        assert least.fun >= force @ force - 1e-6
        compared += 1
    assert compared >= 4


def nearest_inputs(family, seeds):
    """No inputs with admissible forces are nearer: along u − u₀ a linear program finds none before u."""
    moved = 0
    for seed in seeds:
        case, rng = case_of(family, seed), np.random.default_rng([seed, 1])
        sizes = np.linalg.svd(case.wrenches, compute_uv=False)
        if sizes[-1] < 1e-3 * sizes[0]:  # legs nearly in line: the rounding of inputs is a force
            continue
        B, wish = rng.normal(size=(len(case.axes), 2)), rng.normal(size=2) * 0.3
        drives = {f"b{k}_{i}": float(B[i, k]) for k in range(2) for i in range(len(B))}
        rest = rests(case, {"u0": wish[0], "u1": wish[1]}, drives=2, parameters=drives)
        C, m = rest_cases._limits(case, outer=True), case.wrenches.shape[1]
        program = {"A_ub": np.hstack([C, np.zeros((len(C), 2))]), "b_ub": np.zeros(len(C)), "bounds": (None, None)}
        program |= {"A_eq": np.hstack([case.wrenches, B]), "b_eq": -case.load[case.axes]}
        assert (linprog(np.zeros(m + 2), **program).status == 0) == (rest is not None), (family, seed)
        if rest is None:
            continue
        change = rest.u - wish
        if np.abs(change).max() <= 1e-9:
            continue
        least = linprog(np.concatenate([np.zeros(m), change]), **program)
        assert least.status == 0, (family, seed)
        assert least.fun >= change @ rest.u - 1e-6 * max(1.0, np.abs(rest.u).max()), (family, seed)
        moved += 1
    assert moved >= len(seeds) // 4


@pytest.mark.parametrize("family", ["table", "feet", "wedge"])
def test_inputs_change_as_little_as_contacts_allow(family):
    nearest_inputs(family, range(8))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["table", "feet", "wedge"])
def test_inputs_change_as_little_as_contacts_allow_in_many_cases(family):
    nearest_inputs(family, range(1000, 1100))


def check_legs_in_line(seeds):
    """Legs as near to a line as 1e-12 m, some without a load, which may be anything from a gram to a ton."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 5])
        k, off = int(rng.integers(3, 7)), 10 ** rng.uniform(-12, -1)
        points = np.column_stack([rng.uniform(-0.5, 0.5, k), off * rng.normal(size=k), np.zeros(k)])
        share = rng.dirichlet(np.ones(k)) * (rng.random(k) >= 0.3)
        force = 10 ** rng.uniform(-3, 4) * share / (share.sum() or 1.0)
        load = np.array([0, 0, -force.sum(), *np.cross(force @ points, [0, 0, -1.0])])
        up = np.tile([0.0, 0.0, 1.0], (k, 1))
        case = rest_cases.Case("table", points, up, np.zeros((k, 0, 3)), np.zeros(k), load)
        rest = rests(case)
        assert rest is not None, seed
        left = case.wrenches @ forces_of(case, rest) + load[case.axes]
        assert np.abs(left).max() <= 1e-9 * max(force.sum(), 1e-300), seed


def test_a_table_whose_legs_are_nearly_in_line_stands():
    check_legs_in_line([68, 100, 117, 156, 158, 205, 267, *range(20)])


@pytest.mark.slow
def test_tables_whose_legs_are_nearly_in_line_stand():
    check_legs_in_line(range(1000))


def test_a_load_beside_a_table_names_the_legs_that_open():
    legs = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [-0.5, 0.5, 0], [0.5, 0.5, 0]])
    up, load = np.tile([0.0, 0.0, 1.0], (4, 1)), np.array([0, 0, -1, 0, 0.7, 0.0])
    case = rest_cases.Case("table", legs, up, np.zeros((4, 0, 3)), np.zeros(4), load)
    with pytest.raises(StartError, match=r"none that balance the load: it drives a motion that opens at c0, c2"):
        equilibrium(body("table", 4), case.contacts, parameters=case.parameters())


def test_a_compliant_body_sticks_with_the_friction_that_its_feet_can_give():
    found = 0
    for seed in range(20):
        case = case_of("feet", seed)
        rest = rests(case, law=KelvinVoigt(stiffness=1e4, damping=10.0))
        if rest is not None:
            force = forces_of(case, rest)
            left = case.wrenches @ force + case.load[case.axes]
            assert np.abs(left).max() <= 1e-9
            held = [abs(force[case.slips_of(k)[0]]) <= mu * force[k] + 1e-9 for k, mu in enumerate(case.mu)]
            assert all(held)
            found += 1
    assert found >= 3


def test_motors_and_not_disturbances_carry_the_delta_robot():
    rest = equilibrium(robots.delta(z=(0.02, 0.0, 0.42)))
    carried = {name for name, value in rest.inputs.items() if value != 0.0}
    assert carried == {"u1", "u2", "u3"}


def test_a_disturbance_may_still_be_given():
    model = robots.delta()
    free, pushed = equilibrium(model), equilibrium(model, inputs={"f3": 3.0})
    assert pushed.inputs["f3"] == 3.0
    assert abs(pushed.inputs["u1"] - free.inputs["u1"]) > 0.01


def test_where_redundant_forces_are_at_a_limit_motions_are_linearized_and_forces_are_not():
    for seed in range(30):
        case = case_of("table", seed)
        rest, model = rests(case), body("table", len(case.mu))
        if rest is None or min(rest.forces.values()) > 1e-9:
            continue
        assert linearize(model, rest, rest.mode).nstates == 0
        with pytest.raises(ImpingeError, match="the smallest forces of all would pull"):
            linearize(model, rest, rest.mode, outputs=["force_c0", "z"])
        return
    raise AssertionError("no such table")
