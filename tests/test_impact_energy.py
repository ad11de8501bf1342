"""Impacts keep their promises for any contacts: energy, feasibility, complementarity; and the order of impacts."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest

from friction_models import G
from impact_problems import ImpactProblem
from impinge import Complementarity, Impact, ModelBuilder, simulate
from impinge.contact.registry import parse_law
from impinge.errors import InputError
from impinge.geometry import Sphere
from impinge.scene import Scene
from impinge.simulation.unsolved import why_unsolved

# Runs that end early are what most of these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:the run of .* stopped early:impinge.errors.ImpingeWarning")

FEW, MANY = 400, 10_000


@functools.cache
def rod():
    """Return a slender rod in a plane, one tip of which may touch the floor with friction."""
    b = ModelBuilder("rod")
    (x, vx), (z, vz), (angle, w) = b.coordinate("x"), b.coordinate("z"), b.coordinate("angle", unit="rad")
    b.kinetic((vx**2 + vz**2) / 2 + w**2 / 24)
    b.potential(G * z)
    b.gap("tip", z - ca.sin(angle) / 2, slip=x + ca.cos(angle) / 2, friction=b.parameter("mu", 0.5))
    return b.build()


@functools.cache
def plank(feet=2):
    """Return a plank on feet along its length, without friction."""
    b = ModelBuilder("plank")
    (z, vz), (angle, w) = b.coordinate("z"), b.coordinate("angle", unit="rad")
    b.kinetic(vz**2 / 2 + b.parameter("J", 0.02) * w**2 / 2)
    b.potential(G * z)
    for k, place in enumerate(np.linspace(-0.5, 0.5, feet)):
        b.gap(f"foot{k}", z + place * ca.sin(angle))
    return b.build()


@functools.cache
def corner(nc=4, slips=1):
    """Return a point in space with a full inertia matrix that touches planes, with friction along each."""
    b = ModelBuilder("corner")
    q, v = (ca.vertcat(*part) for part in zip(*(b.coordinate(name) for name in "xyz"), strict=True))
    root = ca.vertcat(*(ca.horzcat(*(b.parameter(f"r{i}{j}", float(i == j)) for j in range(3))) for i in range(3)))
    speeds = root @ v
    b.kinetic(ca.dot(speeds, speeds) / 2)
    for c in range(nc):
        rows = [[b.parameter(f"a{c}{k}{j}", float(k == j)) for j in range(3)] for k in range(1 + slips)]
        along = [ca.dot(ca.vertcat(*row), q) for row in rows]
        friction = {"slip": along[1:], "friction": b.parameter(f"mu{c}", 0.5)} if slips else {}
        b.gap(f"c{c}", along[0], **friction)
    return b.build()


@functools.cache
def row_of_balls(n):
    """Return balls in a row that touch, with their masses as parameters."""
    b = ModelBuilder("row")
    x, v = zip(*(b.coordinate(f"x{k}") for k in range(n)), strict=True)
    b.kinetic(sum(b.parameter(f"m{k}", 1.0) * v[k] ** 2 for k in range(n)) / 2)
    for k in range(n - 1):
        b.gap(f"pair{k}", x[k + 1] - x[k])
    return b.build()


@functools.cache
def jaws(beside=False):
    """Return a body between two jaws that close; beside it, on request, a ball that lands when they do."""
    b = ModelBuilder("jaws")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.gap("left", x + 1 - b.time)
    b.gap("right", 1 - b.time - x)
    if beside:
        z, vz = b.coordinate("z", start=1.0, speed=-1.0)
        b.kinetic(vz**2 / 2)
        b.gap("floor", z)
    return b.build()


def sequential(masses, speeds, e):
    """Return speeds after impacts of balls in a row one after another, the fastest approach first."""
    m, v = np.array(masses), np.array(speeds)
    for _ in range(10_000):
        approach = v[:-1] - v[1:]
        k = int(np.argmax(approach))
        if approach[k] <= 1e-15:
            return v
        push = (1 + e) * approach[k] * m[k] * m[k + 1] / (m[k] + m[k + 1])
        v[k], v[k + 1] = v[k] - push / m[k], v[k + 1] + push / m[k + 1]
    raise AssertionError("they never part")


def speeds_after(result, n):
    return np.array([result[f"x{k}_dot"][-1] for k in range(n)])


def kinetic_gain(result):
    before, after = result["energy_kinetic"][:2]
    return (after - before) / before


# Energy, feasibility and complementarity of the impact map


def check_impacts(seeds, propagating=False):
    for seed in seeds:
        problem = ImpactProblem(seed)
        status, p = problem.solve(propagating=propagating)
        assert status == 0, seed
        assert problem.energy_gain(p) <= 1e-12, seed
        problem.check_admissible(p)


def test_impacts_never_give_energy_and_always_have_a_solution():
    check_impacts(range(FEW))


def test_impacts_that_propagate_never_give_energy_and_always_have_a_solution():
    check_impacts(range(FEW), propagating=True)


@pytest.mark.slow
@pytest.mark.parametrize("propagating", [False, True])
def test_ten_thousand_impacts_never_give_energy(propagating):
    check_impacts(range(FEW, FEW + MANY), propagating)


def check_plastic(seeds):
    for seed in seeds:
        problem = ImpactProblem(seed)
        status, p = problem.solve(e=0.0)
        assert status == 0, seed
        problem.check_coulomb(p)


def test_without_restitution_what_pushes_stays_closed_and_what_can_stick_sticks():
    check_plastic(range(FEW))


@pytest.mark.slow
def test_ten_thousand_impacts_without_restitution_obey_coulomb():
    check_plastic(range(FEW, FEW + MANY))


def check_moving(seeds):
    feasible = 0
    for seed in seeds:
        problem = ImpactProblem(seed, moving=True, rubs=False)
        status, p = problem.solve(e=0.0)
        assert (status == 0) == problem.can_open(), seed
        if status == 0:
            problem.check_coulomb(p)
        feasible += status == 0
    assert 0 < feasible < len(seeds)


def test_without_friction_an_impact_of_moving_surfaces_is_solved_just_if_velocities_exist():
    check_moving(range(FEW))


@pytest.mark.slow
def test_ten_thousand_impacts_of_moving_surfaces_are_solved_just_if_velocities_exist():
    check_moving(range(FEW, FEW + MANY))


# The same through runs that start in touching contact


def check_rod(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        angle, e, mu = (
            rng.uniform(0.1, 1.5),
            float(rng.choice([0.3, 0.5, 0.8, 1.0])),
            float(rng.choice([0.1, 0.3, 1.0])),
        )
        start = {"angle": angle, "z": math.sin(angle) / 2, "x_dot": 3 * rng.normal(), "angle_dot": 3 * rng.normal()}
        start["z_dot"] = -abs(rng.normal())
        result = simulate(rod(), Impact(e), until=1e-9, start=start, parameters={"mu": mu})
        assert result.ok, result.reason
        if result.events:
            assert kinetic_gain(result) <= 1e-12, seed


def check_plank(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        e = rng.choice([0.0, 0.3, 0.7, 1.0], size=2)
        laws = {f"foot{k}": Impact(float(e[k])) for k in range(2)}
        start = {"z_dot": -abs(rng.normal()), "angle_dot": 5 * rng.normal()}
        result = simulate(plank(), laws, until=1e-9, start=start, parameters={"J": 10.0 ** rng.uniform(-3, -1)})
        assert result.ok, result.reason
        assert kinetic_gain(result) <= 1e-12, seed
        for k in range(2):
            assert result[f"gap_foot{k}_dot"][1] >= -1e-12
            assert result[f"impulse_foot{k}"][1] >= 0


def check_corner(seeds, slips):
    struck = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        root, rows = np.eye(3) + 0.3 * rng.normal(size=(3, 3)), rng.normal(size=(4, 1 + slips, 3))
        if rng.random() < 0.4:
            rows[1, 0] = rows[0, 0] * rng.choice([-1.0, 1.0])
        e = rng.choice([0.0, 0.4, 1.0], size=4) if rng.random() < 0.5 else np.full(4, rng.choice([0.0, 0.5, 1.0]))
        parameters = {f"r{i}{j}": root[i, j] for i in range(3) for j in range(3)}
        parameters |= {f"a{c}{k}{j}": rows[c, k, j] for c in range(4) for k in range(1 + slips) for j in range(3)}
        if slips:
            parameters |= {f"mu{c}": float(rng.choice([0.0, 0.2, 0.5, 1.0])) for c in range(4)}
        start = dict(zip(("x_dot", "y_dot", "z_dot"), rng.normal(size=3), strict=True))
        laws = {f"c{c}": Impact(float(e[c])) for c in range(4)}
        result = simulate(corner(4, slips), laws, until=1e-9, start=start, parameters=parameters)
        assert result.ok or "impulses" not in result.reason, (seed, result.reason)
        if len(result.t) > 1 and result.t[1] == 0.0:
            struck += 1
            assert kinetic_gain(result) <= 1e-12, seed
            for c in range(4):
                assert result[f"gap_c{c}_dot"][1] >= -1e-9, seed
    assert struck > len(seeds) / 2


def test_a_rod_that_strikes_with_friction_never_gains_energy():
    check_rod(range(200))


def test_a_plank_whose_feet_differ_in_restitution_never_gains_energy():
    check_plank(range(200))


@pytest.mark.parametrize("slips", [0, 1, 2])
def test_a_point_in_a_corner_of_four_planes_never_gains_energy(slips):
    check_corner(range(100), slips)


@pytest.mark.slow
def test_ten_thousand_runs_that_start_with_an_impact_never_gain_energy():
    check_rod(range(1_000, 4_000))
    check_plank(range(1_000, 4_000))
    for slips in range(3):
        check_corner(range(1_000, 2_400), slips)


# What restitution becomes where it cannot be had


def test_a_plank_that_lands_flat_and_spins_keeps_its_energy_without_loss():
    # Newton's law alone would make it 0.844 J of 0.59 J.
    result = simulate(plank(), Impact(1.0), until=1e-6, start={"z_dot": -1.0, "angle_dot": 3.0})
    assert kinetic_gain(result) == pytest.approx(0.0, abs=1e-12)
    assert result["energy_kinetic"][0] == pytest.approx(0.59)


@pytest.mark.parametrize("feet", [3, 5])
def test_a_plank_on_more_feet_than_it_needs_bounces_flat_as_asked(feet):
    result = simulate(plank(feet), Impact(0.5), until=1e-6, start={"z_dot": -2.0})
    assert [result["z_dot"][1], result["angle_dot"][1]] == pytest.approx([1.0, 0.0], abs=1e-12)


def test_what_touches_two_walls_cannot_leave_one_of_them():
    b = ModelBuilder("slot")
    x, v = b.coordinate("x")
    b.kinetic(v**2 / 2)
    b.gap("left", x)
    b.gap("right", -x)
    result = simulate(b.build(), Impact(0.8), until=0.1, start={"x_dot": -1.0})
    assert result.ok, result.reason
    assert result["x_dot"][1] == pytest.approx(0.0, abs=1e-14)
    assert np.abs(result["x"]).max() < 1e-12


@pytest.mark.parametrize("law", [Impact(1.0), Complementarity(1.0, step=1e-6)], ids=lambda law: law.name)
def test_contacts_that_do_not_act_on_each_other_do_not_share_what_is_taken_back(law):
    b = ModelBuilder("apart")
    (x, vx), (z, vz) = b.coordinate("x"), b.coordinate("z")
    (y, vy), (angle, w) = b.coordinate("y"), b.coordinate("angle")
    b.kinetic((vx**2 + vz**2 + vy**2 + 0.02 * w**2) / 2)
    b.gap("left", x)
    b.gap("right", -x)  # no rebound can be had here,
    b.gap("floor", z)  # all of it here,
    b.gap("foot0", y - 0.5 * angle)  # and some here
    b.gap("foot1", y + 0.5 * angle)
    start = {"x_dot": -1.0, "z_dot": -2.0, "y_dot": -1.0, "angle_dot": 3.0}
    result = simulate(b.build(), law, until=1e-6, start=start)
    assert result["x_dot"][1] == pytest.approx(0.0, abs=1e-12)
    assert result["z_dot"][1] == pytest.approx(2.0, abs=1e-12)
    energy = (result["y_dot"][1] ** 2 + 0.02 * result["angle_dot"][1] ** 2) / 2
    assert energy == pytest.approx(0.59, rel=1e-12)


@pytest.mark.parametrize("law", [Impact(0.5), Complementarity(0.5, step=0.01)])
def test_jaws_that_crush_a_body_are_named_and_friction_is_not(law):
    result = simulate(jaws(), law, until=2.0)
    assert not result.ok
    assert "contacts left, right have no solution: no velocity keeps all of these gaps from closing" in result.reason
    assert "friction" not in result.reason
    assert result.t[-1] == pytest.approx(1.0, abs=0.02)


def test_contacts_that_have_no_part_in_a_contradiction_are_not_named():
    result = simulate(jaws(beside=True), Impact(0.5), until=2.0)
    assert not result.ok
    assert "contacts left, right have no solution" in result.reason
    assert "floor" not in result.reason


@functools.cache
def wedge(a=0.1):
    """Return a point between two jaws that close and stand at angles ±a, with friction along them."""
    b = ModelBuilder("wedge")
    (x, vx), (y, vy) = b.coordinate("x"), b.coordinate("y")
    b.kinetic((vx**2 + vy**2) / 2)
    mu = b.parameter("mu", 0.5)
    for name, side in (("left", 1), ("right", -1)):
        along = -side * math.sin(a) * x + math.cos(a) * y
        b.gap(name, side * math.cos(a) * x + math.sin(a) * y - b.time, slip=along, friction=mu)
    return b.build()


def test_jaws_squeeze_a_point_out_unless_friction_holds_it():
    # Friction up to μ = tan a lets the point go, at the speed at which both gaps stay closed.
    result = simulate(wedge(), Impact(), until=1e-6, parameters={"mu": 0.05})
    assert result["y_dot"][1] == pytest.approx(1 / math.sin(0.1), rel=1e-12)
    result = simulate(wedge(), Impact(), until=1e-6, parameters={"mu": 0.2})
    assert not result.ok
    assert "contacts left, right have no solution: friction at left, right jams them; lower it" in result.reason


def test_impulses_that_exist_without_friction_and_are_not_found_are_not_blamed_on_it():
    reason = why_unsolved(np.eye(2), np.array([-1.0, 1.0]), ["a", "b"], [False, False])
    assert reason == "contacts a, b were not found, though there are some; check the scales of masses and lengths"


def test_a_rigid_contact_with_three_slips_is_refused():
    b = ModelBuilder("three")
    q, v = zip(*(b.coordinate(name) for name in "xyzw"), strict=True)
    b.kinetic(sum(speed**2 for speed in v) / 2)
    b.gap("floor", q[2], slip=[q[0], q[1], q[3]])
    with pytest.raises(InputError, match="one or two slips of a rigid contact, got 3 of contact 'floor'"):
        simulate(b.build(), Impact(), until=1.0)


# Impacts one after another

PROPAGATING = Impact(1.0, order="propagating")


def test_of_five_touching_balls_hit_by_the_first_only_the_last_moves():
    result = simulate(row_of_balls(5), PROPAGATING, until=0.5, start={"x0_dot": 1.0})
    assert speeds_after(result, 5) == pytest.approx([0, 0, 0, 0, 1], abs=1e-12)
    assert [event.contact for event in result.events] == ["pair0", "pair1", "pair2", "pair3"]
    assert [event.impulse for event in result.events] == pytest.approx([1.0] * 4, abs=1e-12)


def test_two_balls_that_hit_three_send_two_away():
    result = simulate(row_of_balls(5), PROPAGATING, until=0.5, start={"x0_dot": 1.0, "x1_dot": 1.0})
    assert speeds_after(result, 5) == pytest.approx([0, 0, 0, 1, 1], abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_balls_of_any_masses_pass_impacts_on_as_pairs_do(seed):
    rng = np.random.default_rng(seed)
    n, e = 4, float(rng.choice([0.0, 0.5, 0.9, 1.0]))
    masses, speeds = 10.0 ** rng.uniform(-1, 1, n), rng.normal(size=n)
    expected = sequential(masses, speeds, e)
    start = {f"x{k}_dot": speeds[k] for k in range(n)}
    parameters = {f"m{k}": masses[k] for k in range(n)}
    law = Impact(e, order="propagating")
    result = simulate(row_of_balls(n), law, until=1e-6, start=start, parameters=parameters)
    after = [result[f"x{k}_dot"][1] for k in range(n)] if len(result.t) > 1 else speeds
    assert after == pytest.approx(expected, abs=1e-10)


def test_one_contact_that_asks_for_it_lets_the_impact_propagate():
    laws = {"pair0": Impact(1.0), "pair1": PROPAGATING}
    result = simulate(row_of_balls(3), laws, until=0.5, start={"x0_dot": 1.0})
    assert speeds_after(result, 3) == pytest.approx([0, 0, 1], abs=1e-12)


def test_a_ball_that_rests_and_is_struck_from_above_is_thrown_up_again():
    # The lower ball hits the floor, comes back, and gives all it has to the upper one.
    b = ModelBuilder("pair")
    (x, vx), (y, vy) = b.coordinate("x"), b.coordinate("y", start=0.5)
    b.kinetic((vx**2 + vy**2) / 2)
    b.potential(G * (x + y))
    b.gap("floor", x)
    b.gap("pair", y - x)
    result = simulate(b.build(), PROPAGATING, until=0.4)
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert np.ptp(energy) < 1e-9
    strike = next(event for event in result.events if event.contact == "pair")
    assert result["y_dot"][strike.row + 1] == pytest.approx(-result["y_dot"][strike.row], rel=1e-9)
    assert result["x_dot"][strike.row + 1] == pytest.approx(0.0, abs=1e-12)


def test_impacts_propagate_between_spheres_of_a_scene():
    scene = Scene("row", gravity=(0, 0, 0), friction=0.0)
    for k in range(4):
        scene.body(f"ball{k}", Sphere(0.1), mass=1.0, at=(0.2 * k, 0, 0), velocity=(1.0 if k == 0 else 0.0, 0, 0))
    result = simulate(scene, PROPAGATING, until=0.1)
    assert result.ok, result.reason
    speeds = [result[f"ball{k}_x_dot"][-1] for k in range(4)]
    assert speeds == pytest.approx([0, 0, 0, 1], abs=1e-9)


def test_the_order_of_impacts_can_be_given_as_text():
    law = parse_law("impact:restitution=0.5,order=propagating")
    assert law == Impact(0.5, order="propagating")


def test_an_order_that_is_none_is_refused():
    with pytest.raises(InputError, match="propagating"):
        Impact(order="propagate")
