"""Which impulses where contacts are redundant: those of smallest norm, whatever the order of anything."""

from __future__ import annotations

import itertools
import warnings

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize

from coulomb_problems import Run, Touch, rigid, stack
from impinge import Box, Capsule, Complementarity, ConvexMesh, HalfSpace, ModelBuilder, Scene, Sphere, simulate
from impinge.contact.coulomb import SOLVED
from impinge.errors import ImpingeWarning

G = 9.81
UP = np.array([0.0, 0.0, 1.0])


def grasp(fingers, mass, mu, share, half, height=0.0, free=0.4):
    """A body on a table that is lowered, between fingers pressed on it with a share of the force that holds it."""
    n, reach = len(fingers), 0.05
    b, links = ModelBuilder("hand"), {}
    force = share * mass * G / (n * mu)
    for k, angle in enumerate(fingers):
        x, v = b.coordinate(f"x{k}", start=reach + half)
        b.kinetic(0.1 * v**2)
        b.force(b.input(f"F{k}", "N"), along=x)
        c, s = float(np.cos(angle)), float(np.sin(angle))
        b.link(f"f{k}", (x * c, x * s, 0.1 + height), [[c, -s, 0], [s, c, 0], [0, 0, 1]])
        links[f"f{k}"] = Box(2 * half, 2 * half, 2 * half)
    scene = Scene("grasp", friction=mu)
    scene.moving("table", lambda t: (0, 0, 0.04 - 0.05 * ca.fmax(t - 0.02, 0)), Box(0.5, 0.5, 0.02))
    scene.robot(b.build(), links)
    if n == 2:
        scene.body("b", Box(2 * reach, 0.09, 0.1), mass=mass, at=(0, 0, 0.1))
    else:  # a prism with a face for each finger
        side = reach * np.tan(np.pi / n)
        corners = [
            (reach * np.cos(a) + w * side * np.sin(a), reach * np.sin(a) - w * side * np.cos(a), z)
            for a in fingers
            for w in (-1, 1)
            for z in (-0.05, 0.05)
        ]
        scene.body("b", ConvexMesh.hull(np.array(corners)), mass=mass, at=(0, 0, 0.1))
    inputs = {f"F{k}": -force for k in range(n)}
    return simulate(scene, Complementarity(step=1e-3), until=free, inputs=inputs)


CASES = [(1.0, 0.5, 0.02), (0.1, 0.3, 0.01), (5.0, 1.0, 0.03)]


@pytest.mark.parametrize("fingers", [(0.0, np.pi), (0.0, 2 * np.pi / 3, 4 * np.pi / 3)])
@pytest.mark.parametrize(("mass", "mu", "half"), CASES)
def test_fingers_hold_what_friction_allows_and_share_it_evenly(fingers, mass, mu, half):
    for share in (1.02, 1.3, 2.0):
        r = grasp(fingers, mass, mu, share, half)
        assert r.ok, r.reason
        assert abs(r["b_z"][-1] - r["b_z"][0]) < 1e-9, share
        last = r.contacts.at_row(r.t.size - 1)
        assert len(last) == 4 * len(fingers)
        normal, friction = last.normal_force, np.linalg.norm(last.friction, axis=1)
        np.testing.assert_allclose(normal, share * mass * G / (4 * len(fingers) * mu), rtol=1e-9)
        np.testing.assert_allclose(friction, mass * G / (4 * len(fingers)), rtol=1e-9)
    r = grasp(fingers, mass, mu, 0.98, half)
    fall = 0.02 * G * (r.t[-1] - 0.02) ** 2 / 2
    assert r["b_z"][0] - r["b_z"][-1] > 0.5 * fall


@pytest.mark.parametrize("share", [1.02, 1.1, 1.3])
def test_a_box_that_hangs_at_its_upper_edge_is_held_too(share):
    r = grasp((0.0, np.pi), 1.0, 0.5, share, 0.02, height=0.04)
    assert r.ok, r.reason
    assert abs(r["b_z"][-1] - r["b_z"][0]) < 1e-6
    assert abs(r["b_qw"][-1]) > 1 - 1e-9


def smallest(feet, force, weight):
    """The impulses of smallest norm that balance a load, as an independent optimization finds them, all sticking."""
    A = np.vstack([np.hstack([np.eye(3)] * len(feet)), np.hstack([skew(foot) for foot in feet])])
    load = np.concatenate([force, np.zeros(3)])
    start = np.linalg.lstsq(A, load, rcond=None)[0]
    scale = np.tile([weight, weight, 1.0], len(feet))
    found = minimize(
        lambda p: (scale * p**2).sum(),
        start,
        jac=lambda p: 2 * scale * p,
        constraints=[
            {"type": "eq", "fun": lambda p: A @ p - load, "jac": lambda p: A},
            {"type": "ineq", "fun": lambda p: p[2::3]},
        ],
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    return found.x.reshape(-1, 3)


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


@pytest.mark.parametrize("seed", range(20))
def test_the_feet_of_a_table_carry_it_with_the_smallest_forces(seed):
    """Friction counts a hundred times: it is there only as far as it must be."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    angle = np.sort(rng.uniform(0, 2 * np.pi / n, n) + 2 * np.pi * np.arange(n) / n)
    radius = rng.uniform(0.6, 1.4, n)
    feet = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(n, -0.5)])
    pull = np.array([*rng.uniform(-0.2, 0.2, 2), -1.0])
    run = Run(*rigid(np.zeros((1, 3)), [2.0], [0.5], [[*pull, 0, 0, 0]], [Touch(0, -1, f, UP) for f in feet], 5.0))
    assert run() == SOLVED
    wanted = smallest(feet, -2.0 * pull, 100.0)
    found = np.array([run.problem.J[c, :, :3].T @ run.problem.impulse[c] for c in range(n)])
    assert np.abs(run.problem.v).max() < 1e-12
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def shuffled(problem_of, seed):
    """The same problem with its bodies, contacts and the two sides of each contact in another order."""
    rng = np.random.default_rng(seed)
    given = Run(*problem_of())
    p = given.problem
    nc, nb = int(p.count[0]), len(p.v)
    bodies, contacts = rng.permutation(nb), rng.permutation(nc)
    other = Run(*problem_of())
    o = other.problem
    place = np.argsort(bodies)
    for name in ("mass", "inverse", "free", "size"):
        getattr(o, name)[:] = getattr(p, name)[bodies]
    for name in ("J", "bias", "mu"):
        getattr(o, name)[:nc] = getattr(p, name)[contacts]
    o.body[:nc] = np.where(p.body[contacts] >= 0, place[p.body[contacts]], -1)
    for c in np.flatnonzero(rng.random(nc) < 0.5):
        o.body[c] = o.body[c, ::-1].copy()
        o.J[c] = np.hstack([o.J[c, :, 6:], o.J[c, :, :6]])
    return given, other, bodies, contacts


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_bodies_and_contacts_changes_no_impulse_of_a_stack(seed):
    given, other, bodies, contacts = shuffled(lambda: stack(8), seed)
    assert (given(), other()) == (SOLVED, SOLVED)
    np.testing.assert_allclose(other.problem.impulse, given.problem.impulse[contacts], atol=1e-12)
    np.testing.assert_allclose(other.problem.v, given.problem.v[bodies], atol=1e-14)


def random_parts(rng):
    """A few boxes, balls and capsules above each other on the ground, some touching, some falling; name to part."""
    parts, z = {}, 0.0
    for k in range(int(rng.integers(2, 6))):
        size = rng.uniform(0.05, 0.1, 3)
        shape = (Box(*size), Sphere(size[0] / 2), Capsule(size[0] / 2, size[1]))[int(rng.integers(3))]
        tall = (size[2], size[0], size[0] + size[1])[(Box, Sphere, Capsule).index(type(shape))]
        at = (*rng.uniform(-0.01, 0.01, 2), z + tall / 2 + rng.choice([0.0, 0.002]))
        z = at[2] + tall / 2
        parts[f"p{k}"] = (shape, float(rng.uniform(0.5, 2.0)), at)
    return parts


def run_in_order(parts, order, until):
    scene = Scene("any", friction=0.4)
    if order[0] % 2:
        scene.fixed("ground", HalfSpace())
    for k in order:
        shape, mass, at = parts[f"p{k}"]
        scene.body(f"p{k}", shape, mass=mass, at=at)
    if not order[0] % 2:
        scene.fixed("ground", HalfSpace())
    return simulate(scene, Complementarity(step=1e-3), until=until)


def apart(one, other):
    """How far two motions of the same scene are from each other at most, m."""
    assert (one.ok, other.ok) == (True, True)
    return max(np.abs(one[name] - other[name]).max() for name, kind in one.kinds.items() if kind == "coordinate")


def nudged(parts, rng):
    """The same parts, each moved by the rounding of a number or two."""
    return {name: (shape, mass, at + 1e-16 * rng.choice([-1, 1], 3)) for name, (shape, mass, at) in parts.items()}


def compare_orders(seeds, until):
    """Compare two orders of each scene: motions differ by rounding.

    Some scenes make rounding larger, as a stack on a ball does. Their motions differ by no more than if all parts had
    been put down a rounding away, in the same order.
    """
    larger = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        parts = random_parts(rng)
        order, another = list(range(len(parts))), rng.permutation(len(parts)).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpingeWarning)  # of steps that miss the tolerance by a little
            one, other = run_in_order(parts, order, until), run_in_order(parts, another, until)
            if (off := apart(one, other)) < 1e-11:
                continue
            larger += 1
            assert off <= 3.0 * max(apart(one, run_in_order(nudged(parts, rng), order, until)) for _ in range(4)), seed
    assert larger <= max(len(seeds) // 50, 1)


def test_the_order_of_parts_does_not_change_how_they_move():
    compare_orders(range(1, 21), 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 200, 400])
def test_the_order_of_parts_does_not_change_how_two_hundred_scenes_move(first):
    compare_orders(range(first, first + 200), 0.05)


def pushed_row(n, tolerance, until=0.3):
    scene = Scene("row", friction=0.3)
    scene.fixed("f", HalfSpace())
    scene.moving("h", lambda t: (-0.1 + 0.05 * t, 0, 0.05), Box(0.1, 0.1, 0.05))
    for k in range(n):
        scene.body(f"b{k}", Box(0.1, 0.1, 0.1), mass=1.0, at=(0.1 * k, 0, 0.05))
    return simulate(scene, Complementarity(step=1e-3, tolerance=tolerance), until=until)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_a_row_of_fifty_boxes_is_pushed_with_the_force_of_their_friction(tolerance):
    r = pushed_row(50, tolerance)
    hand = r.contacts.between("h", "b0")
    force = np.bincount(hand.row, np.abs(hand.force[:, 0]))[r.t.size // 2 :]
    np.testing.assert_allclose(force, 50 * 0.3 * G, rtol=1e-3)
    assert r.solver.miss <= tolerance
    assert r.solver.missed == 0


def test_a_step_that_misses_the_tolerance_is_counted_and_said():
    """A tolerance below rounding."""
    scene = Scene("row", friction=0.3)
    scene.fixed("f", HalfSpace())
    for x, y in itertools.product(range(2), repeat=2):
        scene.body(f"b{x}{y}", Sphere(0.05), mass=1.0, at=(0.1 * x, 0.1 * y, 0.05))
        scene.body(f"c{x}{y}", Sphere(0.05), mass=1.0, at=(0.1 * x + 0.02, 0.1 * y + 0.01, 0.148))
    with pytest.warns(ImpingeWarning, match="contact laws"):
        r = simulate(scene, Complementarity(step=1e-3, tolerance=1e-19), until=0.02)
    assert r.ok
    assert 0 < r.solver.missed <= 20
    assert r.solver.miss > 1e-19
    assert not r.certificate.ok
