"""Scenes event by event: every pair of shapes, features that take over from each other, robots among bodies."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from impinge import (
    Baumgarte,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    ExponentialHuntCrossley,
    HalfSpace,
    HuntCrossley,
    Impact,
    KelvinVoigt,
    ModelBuilder,
    Scene,
    Sphere,
    simulate,
)
from impinge.errors import StartError
from impinge.simulation import run as run_of
from impinge.simulation.scenes.model import SceneModel
from shape_scenes import KINDS, deepest, shape, turned, two_bodies

LAWS = [Impact(0.0), Impact(0.5), Baumgarte(), KelvinVoigt(), HuntCrossley(), ExponentialHuntCrossley()]
G = 9.81


def clean(scene, law, until, **more):
    """Return the result of a run that keeps its promises."""
    result = simulate(scene, law, until=until, **more)
    assert result.ok, result.reason
    assert result.certificate.ok, str(result)
    return result


# What is derived


def rows_at(system, q, v):
    return system.dynamics(q, v, 0.0, system.input_vector({}), system.parameter_vector({}))


def moved(system, q, v, a, h):
    """Return the state after a time in which nothing pushes, by many short steps of the midpoint rule."""
    steps, q, v = 8, q.copy(), v.copy()

    def rates(q, v):
        out = np.zeros_like(q)
        for spin in system.spins:
            w, e = v[spin.v : spin.v + 3], q[spin.q : spin.q + 4]
            turn = np.array(
                [[0, -w[0], -w[1], -w[2]], [w[0], 0, w[2], -w[1]], [w[1], -w[2], 0, w[0]], [w[2], w[1], -w[0], 0]]
            )
            out[spin.q : spin.q + 4] = 0.5 * turn @ e
            out[spin.q - 3 : spin.q] = v[spin.v - 3 : spin.v]
        return out

    for _ in range(steps):
        dt = h / steps
        q1, v1 = q + dt / 2 * rates(q, v), v + dt / 2 * rows_at(system, q, v)["free"]
        q, v = q + dt * rates(q1, v1), v + dt * rows_at(system, q1, v1)["free"]
    return q, v


@pytest.mark.parametrize("kinds", [(a, b) for k, a in enumerate(KINDS) for b in KINDS[k:]], ids="-".join)
def test_rates_of_gaps_and_slips_are_the_derivatives_of_what_they_are_rates_of(kinds, monkeypatch):
    """Gap, its rate and the rates of slips, differentiated along a motion in which nothing pushes."""
    kept = []

    class Kept(SceneModel):
        def __init__(self, scene):
            super().__init__(scene)
            kept.append(self)

    monkeypatch.setattr(run_of, "SceneModel", Kept)
    rng, h, found = np.random.default_rng(len(kinds[0]) + 7 * len(kinds[1])), 1e-5, 0
    for _ in range(40):
        scene = Scene("pair", friction=0.4)
        away = rng.normal(size=3)
        away /= np.linalg.norm(away)
        for name, kind, place in (("a", kinds[0], 0 * away), ("b", kinds[1], 0.4 * away)):
            velocity = tuple((rng.normal(size=3) - (2.0 * away if name == "b" else 0)).tolist())
            spin = tuple((2 * rng.normal(size=3)).tolist())
            scene.body(
                name,
                shape(rng, kind),
                density=500,
                at=tuple(place.tolist()),
                turn=turned(rng),
                velocity=velocity,
                spin=spin,
            )
        for until in (0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1):
            result = simulate(scene, Impact(0.5), until=until)
            system = kept[-1]
            names = [x.name for x in (*system.coordinates, *system.velocities)]
            x = np.array([result[name][-1] for name in names])
            q, v = system.layout.hidden(x[: len(system.coordinates)]), x[len(system.coordinates) :]
            here = rows_at(system, q, v)
            (q1, v1), (q2, v2) = moved(system, q, v, here["free"], -h), moved(system, q, v, here["free"], h)
            before, after = rows_at(system, q1, v1), rows_at(system, q2, v2)
            m = len(system.gaps)
            near = (system.tables.features.form >= 0) & (here["g"][:m] < 0.05) & (here["g"][:m] > 1e-4)
            owners = np.concatenate([np.arange(m), [c for c, _ in system.slips]]).astype(int)
            smooth = near[owners] & (np.abs(before["drift"] - after["drift"]) < 0.1 * (1 + np.abs(here["drift"])))
            if not smooth.any():
                continue
            found += 1
            slope = (after["rate"] - before["rate"]) / (2 * h)
            scale = 1 + np.abs(here["drift"])
            assert (np.abs(slope - here["drift"])[smooth] <= 1e-3 * scale[smooth]).all()
            slope = (after["g"][:m] - before["g"][:m]) / (2 * h)
            assert (np.abs(slope - here["rate"][:m])[smooth[:m]] <= 1e-5).all()
    assert found >= 2


# Drops


def assert_drops(law, seed, count, kinds=KINDS):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        scene = two_bodies(rng, kinds)
        result = simulate(scene, law, until=1.2, sample=0.01)
        assert result.ok, result.reason
        assert result.certificate.ok, str(result)
        energy = result["energy_kinetic"] + result["energy_potential"]
        if isinstance(law, Impact):
            assert deepest(scene, result) >= -2e-5
            assert energy.max() <= energy[0] * (1 + 1e-6)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_two_bodies_of_any_shapes_fall_onto_each_other_and_keep_their_promises(law):
    assert_drops(law, 41, 5)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_five_hundred_drops_of_two_bodies_keep_their_promises(law):
    assert_drops(law, 42, 500)


# Features that take over from each other


@pytest.mark.parametrize("law", [Impact(0.0), KelvinVoigt(), HuntCrossley()], ids=str)
def test_a_box_falls_onto_a_table_as_onto_a_half_space(law):
    ends = []
    for table, at in ((HalfSpace(), (0, 0, 0)), (Box(1, 1, 0.1), (0, 0, -0.05)), (Cylinder(0.6, 0.1), (0, 0, -0.05))):
        scene = Scene("drop", friction=0.3)
        scene.fixed("table", table, at=at)
        scene.body("box", Box(0.2, 0.1, 0.06), density=700, at=(0, 0, 0.2), turn=(0.3, 0.2, 0.1))
        result = clean(scene, law, 0.4, sample=0.01)
        if not result.certificate.leaps:  # those are of first order
            ends.append([result[f"box_{x}"][-1] for x in ("x", "y", "z", "qw", "qx", "qy", "qz")])
    assert len(ends) >= (2 if isinstance(law, Impact) else 3)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=2e-8)


@pytest.mark.parametrize("law", [Impact(0.0), Impact(0.7), Baumgarte()], ids=str)
def test_a_box_that_slides_from_one_table_to_another_does_not_notice_the_seam(law):
    scene = Scene("seam", friction=0.0)
    scene.fixed("one", Box(1, 1, 0.1), at=(0, 0, -0.05))
    scene.fixed("other", Box(1, 1, 0.1), at=(1, 0, -0.05))
    scene.body("box", Box(0.2, 0.2, 0.1), density=500, at=(0.3, 0.03, 0.05), velocity=(1, 0, 0))
    result = clean(scene, law, 0.8, sample=0.01)
    np.testing.assert_allclose(result["box_x"], 0.3 + result.t, atol=1e-11)
    np.testing.assert_allclose(result["box_z"], 0.05, atol=1e-11)


@pytest.mark.parametrize("law", [Impact(0.0), Baumgarte()], ids=str)
def test_a_box_that_slides_over_an_edge_tips_when_its_center_is_beyond_it(law):
    """Flat until x = 0.5, where its center of mass leaves the table; then it turns about the edge."""
    scene = Scene("edge", friction=0.0)
    scene.fixed("table", Box(1, 1, 0.1), at=(0, 0, -0.05))
    scene.body("box", Box(0.2, 0.2, 0.1), density=500, at=(0.3, 0, 0.05), velocity=(1.0, 0, 0))
    result = clean(scene, law, 0.3, sample=0.002)
    flat = result.t <= 0.2
    np.testing.assert_allclose(result["box_z"][flat], 0.05, atol=1e-11)
    np.testing.assert_allclose(result["box_qy"][flat], 0, atol=1e-11)
    assert result["box_qy"][-1] > 0.01
    assert deepest(scene, result) >= -1e-9


@pytest.mark.parametrize("size", [(0.2, 0.2), (0.16, 0.1)], ids=["aligned", "inside"])
@pytest.mark.parametrize("law", [Impact(0.0), Baumgarte(), KelvinVoigt()], ids=str)
def test_a_stack_of_boxes_rests_and_its_feet_carry_what_is_above(law, size):
    scene = Scene("stack")
    scene.fixed("floor", Box(2, 2, 0.2), at=(0, 0, -0.1))
    for k in range(3):
        x, y = (0.2, 0.2) if k == 0 else size
        scene.body(f"box{k}", Box(x, y, 0.1), mass=2.0, at=(0, 0, 0.05 + 0.1 * k))
    result = clean(scene, law, 1.0, sample=0.01)
    rigid = not hasattr(law, "stiffness")
    for k in range(3):
        assert abs(result[f"box{k}_z"][-1] - 0.05 - 0.1 * k) <= (1e-12 if rigid else 2e-3)
    for pair, above in (("box0_floor", 3), ("box0_box1", 2), ("box1_box2", 1)):
        total = sum(result[f"force_{c}"][-1] for c in result.modes if c.startswith(pair))
        assert abs(total - 2.0 * G * above) <= (1e-8 if rigid else 1e-2)


def test_a_cylinder_rolls_down_an_incline_and_a_box_as_the_closed_form_says():
    for shape_, at in ((HalfSpace(), (0.0, 0.0, 0.0)), (Box(4, 1, 0.2), (0.0, 0.0, -0.1))):
        slope = 0.2
        tilt = np.array([[np.cos(slope), 0, np.sin(slope)], [0, 1, 0], [-np.sin(slope), 0, np.cos(slope)]])
        scene = Scene("incline", friction=0.5)
        scene.fixed("slope", shape_, at=tuple((tilt @ at).tolist()), turn=(0, slope, 0))
        start = tilt @ [-0.5, 0, 0.1]
        lying = tilt @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        scene.body("roller", Cylinder(0.1, 0.3), mass=1.0, at=tuple(start.tolist()), turn=lying)
        result = clean(scene, Impact(0.0), 0.7, sample=0.05)
        way = (np.stack([result[f"roller_{x}"] for x in "xyz"], 1) - start) @ tilt[:, 0]
        np.testing.assert_allclose(way, G * np.sin(slope) * result.t**2 / 3, atol=1e-8)


def test_a_capsule_that_lies_across_an_edge_tips_beyond_its_middle():
    for out, falls in ((-0.02, False), (0.02, True)):
        scene = Scene("edge", friction=0.6)
        scene.fixed("table", Box(1, 1, 0.1), at=(0, 0, -0.05))
        scene.body("bar", Capsule(0.02, 0.3), mass=1.0, at=(0.5 + out, 0, 0.02), turn=(0, np.pi / 2, 0))
        result = clean(scene, Impact(0.0), 0.3, sample=0.01)
        assert (result["bar_z"][-1] < 0.015) == falls


def test_momentum_is_kept_by_bodies_that_hit_each_other_in_free_space():
    rng = np.random.default_rng(5)
    for _ in range(10):
        scene = Scene("free", gravity=(0, 0, 0), friction=0.4)
        for name, x, speed in (("a", 0.0, 0.0), ("b", 0.35, -1.0)):
            scene.body(
                name,
                shape(rng, rng.choice(KINDS)),
                density=500,
                at=(x, 0, 0),
                turn=turned(rng),
                velocity=(speed, *(0.1 * rng.normal(size=2)).tolist()),
                spin=tuple(rng.normal(size=3).tolist()),
            )
        result = clean(scene, Impact(0.3), 0.5, sample=0.01)
        total, moment = 0.0, 0.0
        for name in "ab":
            inertia = scene.parts[name].inertia
            v = np.stack([result[f"{name}_{x}_dot"] for x in "xyz"], 1)
            w = np.stack([result[f"{name}_w{x}"] for x in "xyz"], 1)
            q = np.stack([result[f"{name}_q{x}"] for x in "wxyz"], 1)
            R = np.array([turning(one) for one in q])
            at = np.stack([result[f"{name}_{x}"] for x in "xyz"], 1) + R @ inertia.center
            total = total + inertia.mass * v
            moment = moment + np.cross(at, inertia.mass * v) + np.einsum("nij,jk,nk->ni", R, inertia.tensor, w)
        assert np.abs(total - total[0]).max() <= 1e-12
        assert np.abs(moment - moment[0]).max() <= 1e-9


def turning(q):
    from impinge.scene.pose import matrix

    return matrix(q)


# Robots


def arm(gap):
    """Return an arm of two links whose tip is a ball, with a gap over a floor or with a link to carry it."""
    b = ModelBuilder("arm")
    a, va = b.coordinate("a", start=0.9)
    c, vc = b.coordinate("c", start=-0.5)
    one = ca.vertcat(0.5 * ca.cos(a), 0, 0.5 * ca.sin(a))
    tip = one + 0.4 * ca.vertcat(ca.cos(a + c), 0, ca.sin(a + c))
    speeds = [ca.jacobian(x, ca.vertcat(a, c)) @ ca.vertcat(va, vc) for x in (one, tip)]
    b.kinetic(ca.sumsqr(speeds[0]) / 2 + 0.7 * ca.sumsqr(speeds[1]) / 2 + 0.01 * va**2 / 2 + 0.01 * (va + vc) ** 2 / 2)
    b.potential(G * (one[2] + 0.7 * tip[2]))
    b.damping(0.3 * va, along=a)
    if gap:
        b.gap("tip", tip[2] + 0.15, slip_rate=speeds[1][0] + 0.05 * (va + vc), friction=0.3)
    else:
        x, z = ca.cos(a + c), ca.sin(a + c)
        b.link("hand", tip, ca.vertcat(ca.horzcat(x, 0, -z), ca.horzcat(0, 1, 0), ca.horzcat(z, 0, x)))
    return b.build()


def arm_scene():
    scene = Scene("cell", friction=0.3)
    scene.fixed("floor", HalfSpace(), at=(0, 0, -0.2))
    scene.robot(arm(gap=False), {"hand": Sphere(0.05)})
    return scene


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_robot_in_a_scene_moves_as_its_model_does_under_every_law(law):
    alone, among = clean(arm(gap=True), law, 1.0, sample=0.01), clean(arm_scene(), law, 1.0, sample=0.01)
    for name in ("a", "c", "a_dot", "c_dot"):
        assert abs(alone[name][-1] - among[name][-1]) <= 1e-9
    assert len(alone.events) == len(among.events)
    assert among.certificate.unproved <= 0.05 * among.certificate.proved


def test_a_robot_pushes_a_box_off_its_shelf():
    scene = arm_scene()
    scene.fixed("shelf", Box(0.3, 0.3, 0.05), at=(0.75, 0, -0.025))
    scene.body("parcel", Box(0.1, 0.1, 0.1), mass=0.5, at=(0.72, 0, 0.05), friction=0.3)
    result = clean(scene, Impact(0.0), 1.0, sample=0.01)
    assert deepest_of_parcel(result) >= -1e-6
    assert any(
        event.contact.startswith("parcel_hand") or event.contact.startswith("hand_parcel") for event in result.events
    )
    energy = result["energy_kinetic"] + result["energy_potential"]
    assert (np.diff(energy) <= 1e-6 * energy[0]).all()


def deepest_of_parcel(result):
    return min(float(result[f"gap_{c}"][result.is_closed(c)].min(initial=0.0)) for c in result.modes)


def four_bar(gap):
    """Return a closed chain: two cranks and a coupler, with a ball at the coupler's end."""
    b = ModelBuilder("chain")
    (p, vp), (r, vr), (s, vs) = (b.coordinate(name, start=x) for name, x in (("p", 0.0), ("r", 0.0), ("s", 0.0)))
    one = ca.vertcat(0.3 * ca.sin(p), 0.5 - 0.3 * ca.cos(p))
    other = ca.vertcat(0.4 + 0.3 * ca.sin(s), 0.5 - 0.3 * ca.cos(s))
    end = one + 0.4 * ca.vertcat(ca.cos(r), ca.sin(r))
    tip = one + 0.7 * ca.vertcat(ca.cos(r), ca.sin(r))
    q, v = ca.vertcat(p, r, s), ca.vertcat(vp, vr, vs)
    speed = ca.jacobian(tip, q) @ v
    b.kinetic(0.5 * ca.sumsqr(speed) + 0.02 * (vp**2 + vr**2 + vs**2))
    b.potential(G * tip[1])
    b.constraint("close_x", end[0] - other[0], unit="m")
    b.constraint("close_z", end[1] - other[1], unit="m")
    if gap:
        b.gap("tip", tip[1] - 0.2367, slip_rate=speed[0] + 0.02 * vr, friction=0.2)
    else:
        x, z = ca.cos(r), ca.sin(r)
        b.link(
            "rod",
            ca.vertcat(tip[0], 0, tip[1]),
            ca.vertcat(ca.horzcat(x, 0, -z), ca.horzcat(0, 1, 0), ca.horzcat(z, 0, x)),
        )
    return b.build()


@pytest.mark.parametrize("law", [Impact(0.3), KelvinVoigt()], ids=str)
def test_a_closed_chain_in_a_scene_moves_as_its_model_does(law):
    scene = Scene("cell", friction=0.2)
    scene.fixed("floor", HalfSpace(), at=(0, 0, 0.2167))
    scene.robot(four_bar(gap=False), {"rod": Sphere(0.02)})
    start = {"p": 1.0, "s": 1.0}
    alone = clean(four_bar(gap=True), law, 0.6, start=start, sample=0.01)
    among = clean(scene, law, 0.6, start=start, sample=0.01)
    assert alone.events
    assert among.certificate.constraint_drift <= 1e-9
    for name in ("p", "r", "s"):
        assert abs(alone[name][-1] - among[name][-1]) <= 1e-8


# What cannot be


def test_what_overlaps_at_the_start_is_named() -> None:
    scene = Scene("deep")
    scene.fixed("table", Box(1, 1, 0.1))
    scene.body("box", Box(0.2, 0.2, 0.2), mass=1.0, at=(0, 0, 0.1))
    with pytest.raises(StartError, match=r"gap 'box_table_1' of zero or more, got -0\.05 m"):
        simulate(scene, Impact(0.0), until=0.1)


def test_mesh_and_sphere_meet_where_they_are_near():
    rng = np.random.default_rng(3)
    for _ in range(6):
        scene = Scene("peg", gravity=(0, 0, 0), friction=0.0)
        points = rng.normal(size=(12, 3))
        scene.fixed("stone", ConvexMesh.hull(0.1 * points / np.linalg.norm(points, axis=1)[:, None]))
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        scene.body("ball", Sphere(0.03), mass=1.0, at=tuple((0.3 * way).tolist()), velocity=tuple((-way).tolist()))
        result = clean(scene, Impact(1.0), 0.4, sample=0.001)
        assert deepest(scene, result) >= -1e-10
        assert len(result.events) == 1


# What lies exactly along or across


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-7, 1e-5, 1e-3])
def test_a_cylinder_comes_to_rest_along_another_one_however_parallel(tilt):
    scene = Scene("along", friction=0.5)
    scene.fixed("trunk", Cylinder(0.5, 2.0), turn=(np.pi / 2, 0, 0))
    scene.body("log", Cylinder(0.1, 0.3), mass=1.0, at=(0, 0, 0.61), turn=(np.pi / 2 + tilt, 0, 0))
    result = clean(scene, Impact(0.0), 0.2)
    assert abs(result["log_z"][-1] - 0.6) <= 1e-6 + 0.2 * tilt


@pytest.mark.parametrize("aside", [0.0, 1e-10, 1e-9, -1e-9, 1e-8, 1e-4])
def test_a_cylinder_across_the_end_of_another_one_is_held_wherever_the_end_is(aside):
    scene = Scene("across", friction=0.5)
    scene.fixed("rail", Cylinder(0.1, 1.0), turn=(np.pi / 2, 0, 0))
    scene.body("bar", Cylinder(0.1, 1.0), mass=1.0, at=(0, 0.5 + aside, 0.21), turn=(0, np.pi / 2, 0))
    result = clean(scene, Impact(0.0), 0.06)
    assert deepest(scene, result) >= -1e-6
    assert abs(result["bar_z_dot"][-1]) <= 0.2


def test_a_cylinder_lies_along_a_roof():
    for yaw in (0.0, 1e-8, 1e-4):
        scene = Scene("roof", friction=0.5)
        scene.fixed("roof", Box(0.2, 1.0, 0.2), turn=(0, np.pi / 4, 0))
        height = 0.1 * np.sqrt(2) + 0.05
        scene.body("log", Cylinder(0.05, 0.4), mass=1.0, at=(0, 0, height + 0.005), turn=(np.pi / 2, 0, 0))
        result = clean(scene, Impact(0.0), 0.05, start={"log_wx": 0.0, "log_wy": yaw})
        assert result["log_z"][-1] >= height - 1e-6


@pytest.mark.parametrize("at", [(0, 0), (0.3, 0), (30.0, 1.0)])
@pytest.mark.parametrize("first", [True, False])
def test_a_cylinder_stands_on_a_half_space_wherever_and_whichever_comes_first(at, first):
    scene = Scene("stand", friction=0.5)
    if first:
        scene.fixed("floor", HalfSpace())
    scene.body("can", Cylinder(0.1, 0.3), mass=1.0, at=(*at, 0.16))
    if not first:
        scene.fixed("floor", HalfSpace())
    result = clean(scene, Impact(0.0), 0.3)
    assert abs(result["can_z"][-1] - 0.15) <= 1e-9


@pytest.mark.parametrize("spin", [0.2, 2.0, 10.0])
def test_a_standing_cylinder_tips_over_its_rim_and_not_between_the_places_it_stood_on(spin):
    scene = Scene("tip", friction=0.8)
    scene.fixed("floor", HalfSpace())
    turn = np.pi / 8
    axis = (spin * np.cos(turn), spin * np.sin(turn), 0)
    scene.body("can", Cylinder(0.05, 0.1), mass=1.0, at=(0, 0, 0.05), spin=axis)
    result = simulate(scene, Impact(0.0), until=0.05, sample=1e-4)
    assert result.ok, result.reason
    assert deepest(scene, result) >= -1e-6


def test_edges_that_are_exactly_parallel_and_meet_end_a_run_that_names_them():
    scene = Scene("tent", friction=0.5)
    scene.fixed("roof", Box(0.2, 1.0, 0.2), turn=(0, np.pi / 4, 0))
    scene.body("box", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.25), turn=(0, np.pi / 4, 0))
    with pytest.warns(UserWarning, match="stopped early"):
        result = simulate(scene, Impact(0.0), until=0.5)
    assert not result.ok
    assert "edges of" in result.reason
    assert "exactly parallel" in result.reason
    assert deepest(scene, result) >= -1e-9


def test_what_is_recorded_does_not_change_a_run_of_shapes():
    rng = np.random.default_rng(6)
    for _ in range(4):
        scene = two_bodies(rng, ("cylinder", "capsule", "box"))
        runs = [simulate(scene, Impact(0.3), until=0.8, sample=x) for x in (0.8, 0.01, 0.0007)]
        for run in runs[1:]:
            assert [event.time for event in run.events] == [event.time for event in runs[0].events]
            assert all(run[name][-1] == runs[0][name][-1] for name in ("a_x", "b_z", "a_qw"))
