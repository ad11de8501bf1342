"""Landings on several feet and drops of bodies, with friction, under every law: promises over random cases."""

from __future__ import annotations

import functools
import warnings

import casadi as ca
import numpy as np
import pytest

from friction_models import feet, stool
from impinge import (
    Adaptive,
    Baumgarte,
    Box,
    Capsule,
    Complementarity,
    ConvexMesh,
    ExponentialHuntCrossley,
    HalfSpace,
    HuntCrossley,
    Impact,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    Scene,
    Sphere,
    simulate,
)
from impinge.errors import ImpingeWarning

RIGID = [Baumgarte(), Baumgarte(a0=400, a1=40, a2=0), Baumgarte(a0=1e4, a1=200, a2=0), Impact(0.0), Impact(0.5)]
COMPLIANT = [KelvinVoigt(), KelvinVoigt(stiffness=2e4, damping=10), HuntCrossley(), ExponentialHuntCrossley()]
STEPPED = [Complementarity(), Complementarity(restitution=0.5, step=1e-3)]


def landing(rng, kind):
    """Return a model above its floor, and a random start and friction."""
    mu = {"mu": float(rng.choice([0.05, 0.1, 0.3, 0.6, 1.0]))}
    drift = rng.normal(size=2) * rng.choice([0.0, 0.1, 1.0], size=2)
    if kind == "stool":
        pitch, roll = rng.uniform(-0.2, 0.2, 2)
        start = {"z": 0.3 * abs(pitch) + 0.2 * abs(roll) + rng.uniform(0, 0.2), "pitch": pitch, "roll": roll}
        return stool(), start | {"x_dot": drift[0], "y_dot": drift[1], "yaw_dot": rng.normal()}, mu
    angle = rng.uniform(-0.4, 0.4)
    start = {"z": 0.1 * np.cos(angle) + 0.2 * abs(np.sin(angle)) + rng.uniform(0, 0.2), "angle": angle}
    return feet(kind), start | {"x_dot": drift[0], "angle_dot": rng.normal() * rng.choice([0, 1])}, mu


def friction_of(result, contact):
    """Return slip rates and friction of a contact (slips × rows), its force, and where it is closed and slides."""
    rates = np.array([x for n, x in result.signals.items() if n.startswith(f"slip_{contact}") and n.endswith("_dot")])
    forces = np.array([x for n, x in result.signals.items() if n.startswith(f"friction_{contact}")])
    sliding = result[f"mode_{contact}"] == len(result.modes[contact]) - 1
    return rates, forces, result[f"force_{contact}"], result.is_closed(contact), sliding


def assert_friction_holds(result, mu):
    """Nothing sticks while it slips, friction never drives, and it stays within its limit."""
    for contact in result.modes:
        rates, forces, normal, closed, sliding = friction_of(result, contact)
        speed, power = np.linalg.norm(rates, axis=0), (rates * forces).sum(axis=0)
        assert speed[closed & ~sliding].max(initial=0.0) <= 1e-6
        assert power.max() <= 1e-9
        assert (np.linalg.norm(forces, axis=0) <= mu * np.maximum(normal, 0) * (1 + 1e-6) + 1e-8).all()


def assert_landings(law, seed, count):
    rng = np.random.default_rng(seed)
    for k in range(count):
        model, start, parameters = landing(rng, (2, 3, 4, "stool")[k % 4])
        result = simulate(model, law, until=3.0, start=start, parameters=parameters, sample=0.01)
        assert result.ok, result.reason
        assert result.certificate.ok, str(result)
        if law in RIGID:
            assert_friction_holds(result, parameters["mu"])
        if law in COMPLIANT:  # what a bristle gives it has stored: the work since it was put down is never above zero
            scale = result["energy_kinetic"].max() + np.ptp(result["energy_potential"])
            for contact in result.modes:
                assert result[f"work_friction_{contact}"].max() <= 1e-7 * scale


@pytest.mark.parametrize("law", [*RIGID, *COMPLIANT, *STEPPED], ids=str)
def test_a_landing_on_two_to_four_feet_neither_ends_early_nor_breaks_a_promise(law):
    assert_landings(law, 1, 24)


@pytest.mark.slow
@pytest.mark.parametrize("law", [*RIGID, *COMPLIANT, *STEPPED], ids=str)
def test_two_thousand_landings_neither_end_early_nor_break_a_promise(law):
    assert_landings(law, 2, 2000)


@pytest.mark.parametrize("law", [Baumgarte(a0=400, a1=40, a2=0), Impact(0.0), Impact(0.5), *STEPPED], ids=str)
def test_a_block_that_has_landed_is_at_rest_exactly(law):
    rng = np.random.default_rng(4)
    for _ in range(8):
        model, start, _ = landing(rng, 2)
        start |= {"x_dot": 0.3, "angle_dot": 0.0}
        result = simulate(model, law, until=6.0, start=start, parameters={"mu": 0.5}, sample=0.01)
        assert max(abs(result[f"{x.name}_dot"][-1]) for x in model.coordinates) <= 1e-12
        assert abs(result["x"][-1] - result["x"][-100]) <= 1e-13


@functools.cache
def plate():
    """Return a plate with four feet in space, turned by roll, pitch and yaw, over a floor that is tilted by th."""
    b = ModelBuilder("plate")
    names = ("x", "y", "z", "roll", "pitch", "yaw")
    (x, y, z, roll, pitch, yaw), v = zip(*(b.coordinate(name) for name in names), strict=True)
    mu, th, half, low = (b.parameter(*one) for one in (("mu", 0.5), ("th", 0.0), ("half", 0.4), ("low", 0.15)))

    def turn(angle, i, j):
        R = ca.SX.eye(3)
        R[i, i] = R[j, j] = ca.cos(angle)
        R[i, j], R[j, i] = -ca.sin(angle), ca.sin(angle)
        return R

    about_x, about_y = turn(roll, 1, 2), turn(-pitch, 0, 2)
    R = turn(yaw, 0, 1) @ about_y @ about_x
    spin = ca.vertcat(v[3], 0, 0) + about_x.T @ (ca.vertcat(0, v[4], 0) + about_y.T @ ca.vertcat(0, 0, v[5]))
    b.kinetic(ca.sumsqr(ca.vertcat(*v[:3])) / 2 + (0.03 * spin[0] ** 2 + 0.05 * spin[1] ** 2 + 0.07 * spin[2] ** 2) / 2)
    b.potential(9.81 * (z * ca.cos(th) - x * ca.sin(th)))
    for k, (along, across) in enumerate(((-1, -1), (1, -1), (-1, 1), (1, 1))):
        foot = ca.vertcat(x, y, z) + R @ ca.vertcat(along * half, 0.6 * across * half, -low)
        b.gap(f"foot{k}", foot[2], slip=[foot[0], foot[1]], friction=mu)
    return b.build()


@pytest.mark.parametrize("order", ["simultaneous", "propagating"])
def test_a_rigid_plate_that_tumbles_in_space_never_sinks_into_the_floor(order):
    rng = np.random.default_rng(6)
    for _ in range(40):
        half, low = rng.uniform(0.1, 0.6), rng.uniform(0.02, 0.3)
        start = {"z": half + low + rng.uniform(0.05, 0.5), "roll": rng.uniform(-0.4, 0.4), "yaw": rng.uniform(-3, 3)}
        start |= {"pitch": rng.uniform(-0.4, 0.4), "x_dot": 2 * rng.normal(), "y_dot": rng.normal()}
        parameters = {"mu": float(rng.choice([0.05, 0.3, 0.6, 1.0])), "th": float(rng.choice([0.0, 0.2, 0.5]))}
        parameters |= {"half": half, "low": low}
        result = simulate(plate(), Impact(0.0, order=order), until=0.6, start=start, parameters=parameters)
        assert result.ok, result.reason
        assert min(result[f"gap_foot{k}"].min() for k in range(4)) > -1e-9


def drop(rng):
    """Return a scene of one body of a random shape above a floor, in a random attitude and motion."""
    scene = Scene("drop", friction=float(rng.choice([0.1, 0.3, 0.5, 0.8])))
    scene.fixed("floor", HalfSpace())
    kind = rng.choice(["box", "sphere", "capsule", "mesh", "box"])
    if kind == "box":
        shape = Box(*rng.uniform(0.05, 0.3, 3).tolist())
    elif kind == "sphere":
        shape = Sphere(float(rng.uniform(0.03, 0.2)))
    elif kind == "capsule":
        shape = Capsule(float(rng.uniform(0.02, 0.1)), float(rng.uniform(0.05, 0.3)))
    else:
        points = rng.normal(size=(int(rng.integers(4, 12)), 3))
        points *= 0.12 * rng.uniform(0.7, 1.2, (len(points), 1)) / np.linalg.norm(points, axis=1)[:, None]
        shape = ConvexMesh.hull(points)
    turn = rng.normal(size=4)
    velocity = rng.normal(size=3) * [1, 1, 0.5] * rng.choice([0.0, 0.3, 1.0])
    scene.body(
        "body",
        shape,
        density=700,
        at=(0, 0, float(0.3 + rng.uniform(0, 0.3))),
        turn=tuple((turn / np.linalg.norm(turn)).tolist()),
        velocity=tuple(velocity.tolist()),
        spin=tuple((3 * rng.normal(size=3) * rng.choice([0, 1])).tolist()),
    )
    return scene, str(kind)


def drops(law, seed, count, until=2.0):
    """Return the work of each of many drops, and what those say that broke a promise; all of them reach their end."""
    rng, work, broken = np.random.default_rng(seed), [], []
    for _ in range(count):
        scene, kind = drop(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpingeWarning)
            result = simulate(scene, law, until=until, sample=0.01)
        assert result.ok, result.reason
        work.append(result.certificate.evaluations)
        broken += [] if result.certificate.ok else [f"{kind}: {result}"]
    return np.array(work), broken


@pytest.mark.parametrize("law", [*RIGID, *COMPLIANT, *STEPPED], ids=str)
def test_a_body_of_any_shape_that_is_dropped_lands_within_a_bounded_work(law):
    work, broken = drops(law, 3, 12)
    assert not broken
    assert work.max() <= 20 * np.median(work)


@pytest.mark.slow
@pytest.mark.parametrize("law", [*RIGID, *COMPLIANT, *STEPPED], ids=str)
def test_five_hundred_bodies_that_are_dropped_land_and_keep_their_promises(law):
    work, broken = drops(law, 5, 500, until=3.0)
    assert not broken
    assert work.max() <= 20 * np.median(work)


def drop_of(seed, k):
    """Return the k-th of the random drops of a seed."""
    rng = np.random.default_rng(seed)
    for _ in range(k):
        drop(rng)
    return drop(rng)[0]


@pytest.mark.parametrize(("seed", "k"), [(6, 443), (8, 369), (10, 223)])
def test_a_box_at_its_limit_of_friction_that_does_not_move_is_at_rest(seed, k):
    result = simulate(drop_of(seed, k), Impact(0.0), until=2.0, sample=0.01)
    assert result.certificate.ok, str(result)
    assert all(event.time < 1.5 for event in result.events)
    assert result.certificate.leaps <= 400
    assert max(abs(result[f"body_{name}"][-1]) for name in ("x_dot", "y_dot", "z_dot", "wx", "wy", "wz")) <= 1e-9


@pytest.mark.parametrize(("law", "seed", "k"), [(Impact(0.0), 5, 463), (Baumgarte(a0=1e4, a1=200, a2=0), 5, 269)])
def test_who_sticks_is_decided_with_the_directions_in_which_others_go_on_to_slide(law, seed, k):
    result = simulate(drop_of(seed, k), law, until=1.0, sample=0.01)
    assert result.certificate.ok, str(result)


def test_a_cube_that_lands_softly_on_an_edge_ends_where_it_should():
    scene = Scene("cube", friction=0.5)
    scene.fixed("table", HalfSpace())
    scene.body("cube", Box(0.1, 0.1, 0.1), density=700, at=(0, 0, 0.12), turn=(0.3, 0.2, 0.1))
    result = simulate(scene, Baumgarte(), until=1.0, sample=0.01)
    assert result.ok, result.reason
    assert abs(result["cube_z"][-1] - 0.05) <= 2e-3


def test_a_run_whose_steps_exceed_its_budget_ends_and_names_what_is_closed():
    with pytest.warns(UserWarning, match="stopped early"):
        result = simulate(
            feet(2),
            KelvinVoigt(stiffness=1e9, damping=1e3),
            until=3.0,
            start={"z": 0.2},
            method=Adaptive(budget=50),
        )
    assert not result.ok
    assert "more steps than its budget while contacts foot0, foot1 are closed" in result.reason


@pytest.mark.parametrize("budget", [0, -1, "many", float("nan"), None])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(InputError, match=r"method Adaptive: expected a budget of one step or more, got"):
        Adaptive(budget=budget)
