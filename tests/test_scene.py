"""Scenes of rigid bodies by time stepping, against closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from impinge import (
    Box,
    Capsule,
    Complementarity,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    InputError,
    ModelBuilder,
    Placed,
    Scene,
    Sphere,
    StartError,
    simulate,
)
from impinge.errors import ImpingeWarning

G = 9.81
STEP = 1e-3


def tilted(theta: float, friction: float = 0.5) -> Scene:
    """An incline that falls towards +x."""
    scene = Scene("incline", friction=friction)
    scene.fixed("slope", HalfSpace(), turn=(0.0, theta, 0.0))
    return scene


def along(theta: float) -> np.ndarray:
    return np.array([np.cos(theta), 0.0, -np.sin(theta)])


def above(theta: float, height: float) -> np.ndarray:
    return height * np.array([np.sin(theta), 0.0, np.cos(theta)])


def downhill(result, name: str, theta: float, row: int = -1) -> float:
    return float(along(theta) @ [result[f"{name}_{x}_dot"][row] for x in "xyz"])


@pytest.mark.parametrize("theta", [0.1, 0.4])
def test_a_sphere_that_sticks_rolls_down_at_five_sevenths(theta):
    scene = tilted(theta, friction=1.0)
    scene.body("ball", Sphere(0.05), density=800, at=above(theta, 0.05))
    r = simulate(scene, Complementarity(step=STEP), until=0.5)
    assert downhill(r, "ball", theta) == pytest.approx(5 / 7 * G * np.sin(theta) * 0.5, rel=1e-9)
    assert r["ball_wy"][-1] * 0.05 == pytest.approx(downhill(r, "ball", theta), rel=1e-9)


@pytest.mark.parametrize(("excess", "slips"), [(0.99, False), (1.01, True)])
def test_a_sphere_slips_when_the_slope_exceeds_seven_halves_of_friction(excess, slips):
    mu = 0.1
    theta = np.arctan(3.5 * mu * excess)
    scene = tilted(theta, friction=mu)
    scene.body("ball", Sphere(0.05), density=800, at=above(theta, 0.05))
    r = simulate(scene, Complementarity(step=STEP), until=0.5)
    slip = downhill(r, "ball", theta) - 0.05 * r["ball_wy"][-1]
    expected = 0.5 * (G * np.sin(theta) - 3.5 * mu * G * np.cos(theta)) if slips else 0.0
    assert slip == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("share", "tips"), [(0.97, False), (1.03, True)])
def test_a_box_tips_when_the_slope_exceeds_width_over_height(share, tips):
    width, height = 0.06, 0.2
    theta = np.arctan(share * width / height)
    scene = tilted(theta, friction=2.0)
    scene.body("box", Box(width, 0.1, height), density=500, at=above(theta, height / 2), turn=(0.0, theta, 0.0))
    r = simulate(scene, Complementarity(step=STEP), until=1.0)
    turned = 2 * np.arccos(
        min(1.0, abs(float(np.cos(theta / 2) * r["box_qw"][-1] + np.sin(theta / 2) * r["box_qy"][-1])))
    )
    assert (turned > 0.1) == tips
    if not tips:
        assert max(abs(float(r[f"box_{x}_dot"][-1])) for x in "xyz") < 1e-12


@pytest.mark.parametrize(("mu", "slides"), [(0.31, False), (0.29, True)])
def test_a_box_slides_when_the_slope_exceeds_friction(mu, slides):
    theta = np.arctan(0.3)
    scene = tilted(theta, friction=mu)
    scene.body("box", Box(0.2, 0.2, 0.1), density=500, at=above(theta, 0.05), turn=(0.0, theta, 0.0))
    r = simulate(scene, Complementarity(step=STEP), until=0.5)
    expected = 0.5 * G * (np.sin(theta) - mu * np.cos(theta)) if slides else 0.0
    assert downhill(r, "box", theta) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.6, 0.8)])
def test_a_sliding_box_stops_after_v_squared_over_two_mu_g(direction):
    mu, speed = 0.4, 2.0
    distance = []
    for step in (2e-3, 1e-3):
        scene = Scene("slide", friction=mu)
        scene.fixed("floor", HalfSpace())
        scene.body(
            "box", Box(0.3, 0.3, 0.05), density=500, at=(0, 0, 0.025), velocity=(*(speed * np.array(direction)), 0)
        )
        r = simulate(scene, Complementarity(step=step), until=1.0)
        distance.append(float(np.hypot(r["box_x"][-1], r["box_y"][-1])))
        assert np.arctan2(r["box_y"][-1], r["box_x"][-1]) == pytest.approx(np.arctan2(*direction[::-1]), abs=1e-6)
        assert abs(r["box_x_dot"][-1]) < 1e-12
    exact = speed**2 / (2 * mu * G)
    assert distance == pytest.approx([exact, exact], abs=1e-6)


def test_free_rotation_keeps_its_energy_and_the_length_of_its_momentum_in_time_steps():
    scene = Scene("tumbling", gravity=(0, 0, 0))
    scene.body("box", Box(0.1, 0.2, 0.3), density=700, spin=(0.1, 5.0, 0.2))
    r = simulate(scene, Complementarity(step=1e-3), until=10.0)
    assert np.ptp(r["energy_kinetic"]) < 1e-12 * r["energy_kinetic"][0]
    inertia = Box(0.1, 0.2, 0.3).inertia * 700
    momentum = np.linalg.norm(np.array([r[f"box_w{x}"] for x in "xyz"]).T @ inertia, axis=1)
    assert np.ptp(momentum) < 1e-12 * momentum[0]
    norms = sum(r[f"box_q{x}"] ** 2 for x in "wxyz")
    assert np.abs(norms - 1).max() < 1e-15 * 4
    assert np.ptp(r["box_wx"]) > 5  # it does tumble


def test_contact_forces_add_up_to_the_weight_and_are_listed_point_by_point():
    scene = Scene("pair")
    scene.fixed("floor", HalfSpace())
    scene.body("lower", Box(0.2, 0.2, 0.1), mass=3.0, at=(0, 0, 0.05))
    scene.body("upper", Box(0.1, 0.1, 0.1), mass=2.0, at=(0.01, 0, 0.15))
    r = simulate(scene, Complementarity(step=STEP), until=0.1)
    last = r.contacts.at_row(r.t.size - 1)
    floor, top = last.between("floor", "lower"), last.between("lower", "upper")
    assert (len(floor), len(top)) == (4, 4)
    assert floor.normal_force.sum() == pytest.approx(5 * G, rel=1e-9)
    assert top.normal_force.sum() == pytest.approx(2 * G, rel=1e-9)
    assert (last.normal_force >= 0).all()
    moment = (top.place[:, 0] * top.normal_force).sum() / (2 * G)
    assert moment == pytest.approx(0.01, abs=1e-8)  # the load is where the upper box is
    assert r.contacts.force_on("lower", r.t.size)[-1] == pytest.approx([0, 0, 3 * G], abs=1e-7)
    assert set(r.contacts.pairs()) == {("lower", "floor"), ("lower", "upper")}


def test_what_rests_is_a_fixed_point_to_the_last_bit_and_an_hour_costs_nothing():
    scene = Scene("rest")
    scene.fixed("floor", HalfSpace())
    for k in range(3):
        scene.body(f"b{k}", Box(0.1, 0.1, 0.1), density=500, at=(0.01 * k, 0, 0.05 + 0.1 * k))
    r = simulate(scene, Complementarity(step=STEP), until=3600.0, sample=36.0)
    for name in ("b0_x", "b1_z", "b2_x", "b2_qy"):
        assert np.ptp(r[name][1:]) == 0.0
    assert max(abs(float(r[f"b{k}_z_dot"][-1])) for k in range(3)) == 0.0
    assert r.certificate.steps == 3_600_000


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9, 1.0])
def test_a_ball_bounces_with_its_restitution_and_never_gains_energy(restitution):
    scene = Scene("bounce", friction=0.0)
    scene.fixed("floor", HalfSpace())
    scene.body("ball", Sphere(0.1), density=500, at=(0, 0, 1.1))
    r = simulate(scene, Complementarity(step=1e-4, restitution=restitution), until=1.0, sample=1e-4)
    rebound = r["ball_z_dot"].max()
    assert rebound == pytest.approx(restitution * np.sqrt(2 * G), abs=5e-3)
    total = r["energy_kinetic"] + r["energy_potential"]
    assert (np.diff(total) <= 1e-12 * total[0]).all()


def test_spheres_that_collide_head_on_exchange_momentum_with_their_restitution():
    scene = Scene("cue", gravity=(0, 0, 0), friction=0.0)
    scene.body("one", Sphere(0.05), mass=1.0, at=(-0.2, 0, 0), velocity=(2.0, 0, 0))
    scene.body("other", Sphere(0.05), mass=3.0, at=(0.2, 0, 0))
    r = simulate(scene, Complementarity(step=1e-3, restitution=0.6), until=0.5)
    common = 2.0 / 4
    assert r["one_x_dot"][-1] == pytest.approx(common - 0.6 * 2.0 * 3 / 4, abs=1e-12)
    assert r["other_x_dot"][-1] == pytest.approx(common + 0.6 * 2.0 * 1 / 4, abs=1e-12)


def test_a_conveyor_takes_a_box_along():
    scene = Scene("belt", friction=0.5)
    scene.moving("belt", lambda t: (0.3 * t, 0, 0), HalfSpace())
    scene.body("box", Box(0.1, 0.1, 0.1), density=500, at=(0, 0, 0.05))
    r = simulate(scene, Complementarity(step=STEP), until=0.5)
    assert r["box_x_dot"][-1] == pytest.approx(0.3, abs=1e-12)
    sliding = r.t <= 0.3 / (0.5 * G)
    assert r["box_x_dot"][sliding] == pytest.approx(0.5 * G * r.t[sliding], abs=1e-9)


def test_a_lift_presses_harder_while_it_accelerates():
    scene = Scene("lift")
    scene.moving("lift", lambda t: (0, 0, t**2), HalfSpace())
    scene.body("box", Box(0.1, 0.1, 0.1), mass=2.0, at=(0, 0, 0.05))
    r = simulate(scene, Complementarity(step=STEP), until=0.5, sample=STEP)
    assert r.contacts.force_on("box", r.t.size)[-1, 2] == pytest.approx(2.0 * (G + 2.0), rel=1e-6)


def test_a_turntable_carries_a_box_until_friction_no_longer_holds_it():
    holds, slips = 0.9, 1.1
    for factor in (holds, slips):
        spin = factor * np.sqrt(0.5 * G / 0.2)
        scene = Scene("table", friction=0.5)
        scene.moving("table", lambda t, w=spin: ((0, 0, 0), ((0, 0, 1), w * t)), HalfSpace())
        scene.body(
            "box", Box(0.02, 0.02, 0.02), density=500, at=(0.2, 0, 0.01), velocity=(0, spin * 0.2, 0), spin=(0, 0, spin)
        )
        r = simulate(scene, Complementarity(step=2e-4), until=1.0)
        radius = float(np.hypot(r["box_x"][-1], r["box_y"][-1]))
        assert (radius < 0.203) == (factor == holds)


def test_pairs_have_their_own_friction_and_can_be_ignored():
    theta = 0.3
    scene = tilted(theta, friction=0.9)
    scene.body("icy", Box(0.1, 0.1, 0.1), density=500, at=above(theta, 0.05), turn=(0, theta, 0))
    scene.body("ghost", Sphere(0.05), density=500, at=above(theta, 0.3) + np.array([0.0, 1.0, 0.0]))
    scene.friction("slope", "icy", 0.0)
    scene.ignore("ghost", "slope")
    r = simulate(scene, Complementarity(step=STEP), until=0.4)
    assert downhill(r, "icy", theta) == pytest.approx(G * np.sin(theta) * 0.4, rel=1e-9)
    assert r["ghost_z_dot"][-1] == pytest.approx(-G * 0.4, rel=1e-9)


def test_a_body_may_be_of_several_shapes_with_its_center_of_mass_anywhere():
    scene = Scene("dumbbell", gravity=(0, 0, 0))
    shapes = [Placed(Sphere(0.1), at=(0.5, 0, 0)), Placed(Box(0.1, 0.1, 0.1), at=(-0.5, 0, 0))]
    scene.body("thing", shapes, density=1000, at=(1, 2, 3), spin=(0, 0, 2.0))
    part = scene.parts["thing"].inertia
    sphere, box = 4 / 3 * np.pi, 1.0
    assert part.mass == pytest.approx(sphere + box)
    assert part.center[0] == pytest.approx(0.5 * (sphere - box) / (sphere + box))
    r = simulate(scene, Complementarity(step=1e-4), until=1.0)
    assert [r[f"thing_{x}"][0] for x in "xyz"] == pytest.approx([1, 2, 3], abs=1e-15)
    c, s, d = np.cos(2.0), np.sin(2.0), part.center[0]
    assert r["thing_x"][-1] == pytest.approx(1 + d - c * d, abs=1e-9)
    assert r["thing_y"][-1] == pytest.approx(2 - s * d, abs=1e-9)


def test_a_gripped_body_sags_by_weight_over_stiffness_and_swings_back():
    scene = Scene("grip")
    scene.moving("hand", lambda t: (0, 0, 1))
    scene.body("tool", Box(0.05, 0.05, 0.1), mass=0.5, at=(0, 0, 0.9))
    scene.hold("tool", "hand", stiffness=(2e3, 2e3, 1e3, 5, 5, 5), damping=(20, 20, 15, 0.05, 0.05, 0.05))
    r = simulate(scene, Complementarity(step=1e-3), until=3.0)
    assert r["tool_z"][-1] == pytest.approx(0.9 - 0.5 * G / 1e3, abs=1e-9)
    assert r["grip_tool_fz"][-1] == pytest.approx(0.5 * G, rel=1e-6)


def test_a_very_stiff_grip_is_stable_at_any_step():
    scene = Scene("stiff")
    scene.moving("hand", lambda t: (0.01 * ca.sin(5 * t), 0, 1))
    scene.body("tool", Box(0.05, 0.05, 0.1), mass=0.1, at=(0, 0, 0.9))
    scene.hold("tool", "hand", stiffness=(1e8,) * 3 + (1e5,) * 3, damping=(1e3,) * 3 + (1.0,) * 3, center=(0, 0, -0.05))
    r = simulate(scene, Complementarity(step=2e-3), until=2.0)
    assert r["tool_x"] == pytest.approx(0.01 * np.sin(5 * r.t), abs=2e-4)
    assert r["tool_qw"][-1] == pytest.approx(1.0, abs=1e-6)


def pendulum(length: float = 0.5, tip_mass: float = 0.0):
    b = ModelBuilder("pendulum")
    q, w = b.coordinate("angle", start=0.6, unit="rad")
    m = b.parameter("m", 1.0, "kg")
    x, z = length * ca.sin(q), -length * ca.cos(q)
    b.kinetic((m + tip_mass) * (length * w) ** 2 / 2)
    b.potential((m + tip_mass) * G * z)
    axes = ca.vertcat(ca.horzcat(ca.cos(q), 0, -ca.sin(q)), ca.horzcat(0, 1, 0), ca.horzcat(ca.sin(q), 0, ca.cos(q)))
    b.link("bob", (x, 0, z), axes)
    return b.build()


def test_a_body_on_a_robots_link_adds_its_inertia_and_weight():
    scene = Scene("arm")
    scene.robot(pendulum())
    scene.body("load", Box(0.1, 0.02, 0.3), mass=2.0, on="bob", at=(0.0, 0.0, -0.2))
    r = simulate(scene, Complementarity(step=1e-4), until=1.0)

    # The same as one rigid pendulum: inertia about the pivot, and the moment of the weight.
    inertia = 1.0 * 0.5**2 + 2.0 * 0.7**2 + 2.0 * (0.1**2 + 0.3**2) / 12
    moment = (1.0 * 0.5 + 2.0 * 0.7) * G
    q, w, h = 0.6, 0.0, 1e-4
    for _ in range(10_000):
        w -= h * moment / inertia * np.sin(q)
        q += h * w
    assert r["angle"][-1] == pytest.approx(q, abs=1e-9)
    energy = r["energy_kinetic"] + r["energy_potential"]
    assert energy[0] == pytest.approx(-moment * np.cos(0.6))
    assert r["energy_kinetic"][-1] == pytest.approx(inertia * w**2 / 2, rel=1e-9)
    swing = h * moment * np.sin(0.6) * np.abs(r["angle_dot"]).max()  # by which Euler's steps miss it at most
    assert np.ptp(energy) < swing


def test_a_robot_pushes_a_body_and_feels_it():
    b = ModelBuilder("slider")
    x, v = b.coordinate("x", start=-0.3, speed=1.0)
    b.kinetic(2.0 * v**2 / 2)
    b.link("pusher", (x, 0, 0.05))
    scene = Scene("push", friction=0.0)
    scene.fixed("floor", HalfSpace())
    scene.robot(b.build(), {"pusher": Box(0.1, 0.1, 0.08)})
    scene.ignore("pusher", "floor")
    scene.body("brick", Box(0.1, 0.1, 0.1), mass=3.0, at=(0, 0, 0.05))
    r = simulate(scene, Complementarity(step=1e-3), until=1.0)
    assert r["x_dot"][-1] == pytest.approx(2.0 / 5.0, abs=1e-9)
    assert r["brick_x_dot"][-1] == pytest.approx(2.0 / 5.0, abs=1e-9)
    balance = r.certificate.energy
    assert balance.contacts == pytest.approx(-0.5 * 2.0 * 3.0 / 5.0, rel=1e-6)  # what the impact takes
    assert abs(balance.residual) < 1e-9


def test_a_robot_with_closed_chains_moves_in_a_scene_as_it_does_alone():
    b = ModelBuilder("linkage")
    x, vx = b.coordinate("x", start=0.6)
    z, vz = b.coordinate("z", start=-0.8)
    b.kinetic(1.5 * (vx**2 + vz**2) / 2)
    b.potential(1.5 * G * z)
    b.constraint("rod", (x**2 + z**2 - 1) / 2, unit="m²")
    b.constraint("same", (x**2 + z**2 - 1) * 2, unit="m²")  # redundant, as closed chains often are
    b.link("bob", (x, 0, z))
    model = b.build()
    alone = simulate(model, None, until=1.0)
    scene = Scene("loop")
    scene.robot(model)
    r = simulate(scene, Complementarity(step=1e-4), until=1.0)
    assert r["x"][-1] == pytest.approx(alone["x"][-1], abs=2e-4)
    assert np.abs(r["x"] ** 2 + r["z"] ** 2 - 1).max() < 1e-7


def test_a_sampled_controller_commands_a_moving_part():
    class Raise:
        period = 0.01

        def reset(self, measurement):
            self.seen = measurement.box_z

        def step(self, t, measurement):
            return {"height": 0.1 if measurement.box_z < 0.5 else 0.0}

    scene = Scene("commanded")
    scene.moving("hand", lambda t, height: (0, 0, height), inputs=("height",))
    scene.body("box", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.0))
    scene.hold("box", "hand", stiffness=(1e3,) * 3 + (10,) * 3, damping=(60,) * 3 + (0.5,) * 3)
    r = simulate(scene, Complementarity(step=1e-3), until=1.0, controller=Raise())
    assert r["height"][-1] == 0.1
    assert r["box_z"][-1] == pytest.approx(0.1 - G / 1e3, abs=1e-6)


def test_every_shape_comes_to_rest_on_the_floor_where_it_should():
    rng = np.random.default_rng(3)
    scene = Scene("zoo", friction=0.7)
    scene.fixed("floor", HalfSpace())
    hull = ConvexMesh.hull(0.05 * rng.normal(size=(14, 3)))
    shapes = {
        "ball": Sphere(0.05),
        "box": Box(0.1, 0.08, 0.06),
        "pill": Capsule(0.03, 0.1),
        "can": Cylinder(0.04, 0.1),
        "stone": hull,
    }
    for k, (name, shape) in enumerate(shapes.items()):
        scene.body(name, shape, density=900, at=(0.4 * k, 0, 0.2), turn=rng.normal(size=3))
    r = simulate(scene, Complementarity(step=1e-3), until=4.0)
    assert r.ok, r.reason
    assert r["ball_z"][-1] == pytest.approx(0.05, abs=1e-6)
    assert r["pill_z"][-1] == pytest.approx(0.03, abs=1e-6)
    assert min(abs(r["box_z"][-1] - half) for half in (0.05, 0.04, 0.03)) < 1e-6
    assert min(abs(r["can_z"][-1] - half) for half in (0.05, 0.04)) < 1e-6
    for name in ("box", "stone"):
        assert max(abs(float(r[f"{name}_{x}_dot"][-1])) for x in "xyz") < 1e-10
    total = r["energy_kinetic"] + r["energy_potential"] - r["energy_lifted"]
    assert (np.diff(total) <= 1e-12 * total[0]).all()


def test_a_hundred_bodies_compile_nothing_that_one_did_not(tmp_path, monkeypatch):
    def scene_of(count):
        scene = Scene("many")
        scene.fixed("floor", HalfSpace())
        for k in range(count):
            scene.body(f"b{k}", Sphere(0.05), density=500, at=(0.2 * k, 0, 0.05))
        return scene

    simulate(scene_of(1), Complementarity(), until=0.002)
    from impinge.compile import cache

    monkeypatch.setattr(cache, "store", lambda *_: pytest.fail("something was compiled"))
    r = simulate(scene_of(100), Complementarity(), until=0.01)
    assert len(r.contacts.at_row(r.t.size - 1)) == 100


def test_the_same_run_gives_the_same_bits():
    from impinge.studies.scenes.three_cubes import cubes

    one, other = (simulate(cubes("tumble", 0.5), Complementarity(step=1e-3), until=0.6) for _ in range(2))
    assert all((one[name] == other[name]).all() for name in one.signals)
    assert (one.contacts.force == other.contacts.force).all()


def test_a_body_that_is_crushed_ends_the_run_with_what_it_has_and_says_by_whom():
    scene = Scene("crush", gravity=(0, 0, 0))
    scene.moving("left", lambda t: (-0.2 + 0.5 * t, 0, 0), Box(0.2, 0.2, 0.2))
    scene.moving("right", lambda t: (0.2 - 0.5 * t, 0, 0), Box(0.2, 0.2, 0.2))
    scene.body("nut", Sphere(0.05), mass=0.1)
    scene.body("bystander", Sphere(0.05), mass=0.1, at=(0, 1, 0), velocity=(1, 0, 0))
    with pytest.warns(ImpingeWarning, match="stopped early"):
        r = simulate(scene, Complementarity(step=1e-3), until=1.0, sample=1e-3)
    assert not r.ok
    assert r.t[-1] == pytest.approx(0.1, abs=2e-3)  # when both jaws touch it
    assert "no velocities keep the gaps between nut and left, nut and right from closing" in r.reason
    assert "by 0.5 m/s at least, whatever the step: change the paths of left, right" in r.reason
    assert r["bystander_x"][-1] == pytest.approx(r.t[-1], abs=1e-12)


def test_start_values_by_signal_name():
    scene = Scene("start", gravity=(0, 0, 0))
    scene.body("ball", Sphere(0.1), mass=1.0)
    r = simulate(scene, Complementarity(), until=0.1, start={"ball_z": 2.0, "ball_x_dot": 1.0})
    assert (r["ball_z"][0], r["ball_x"][-1]) == (2.0, pytest.approx(0.1, abs=1e-12))
    with pytest.raises(InputError, match=r"start value.*ball_zz.*Did you mean 'ball_z'"):
        simulate(scene, Complementarity(), until=0.1, start={"ball_zz": 2.0})


def overlapping():
    scene = Scene("overlap")
    scene.fixed("floor", HalfSpace())
    scene.body("box", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.04))
    return scene


def test_a_start_with_overlap_is_refused_by_name_and_depth():
    with pytest.raises(StartError, match=r"'box' and 'floor' overlapping by 0\.01 m"):
        simulate(overlapping(), Complementarity(), until=1.0)


SIX = (1.0,) * 6
BAD = {
    "negative mass": (lambda s: s.body("b", Sphere(0.1), mass=-1.0), "a mass above zero, got -1"),
    "zero density": (lambda s: s.body("b", Sphere(0.1), density=0.0), "a density above zero, got 0"),
    "no mass": (lambda s: s.body("b", Sphere(0.1)), "either a density or a mass, got neither"),
    "half-space": (lambda s: s.body("b", HalfSpace(), mass=1.0), "shapes with a volume, got a half-space"),
    "no shape": (lambda s: s.body("b", "sphere", mass=1.0), "expected shapes"),
    "name twice": (lambda s: (s.fixed("b", HalfSpace()), s.fixed("b", HalfSpace())), "'b' twice"),
    "friction": (lambda s: s.fixed("b", HalfSpace(), friction=-0.1), "coefficient of friction of zero or more"),
    "rotation": (lambda s: s.fixed("b", HalfSpace(), turn=(1, 2)), "a rotation vector"),
    "place": (lambda s: s.fixed("b", HalfSpace(), at=(1, 2)), "3 finite numbers"),
    "unknown pair": (lambda s: (s.fixed("a", HalfSpace()), s.ignore("a", "b")), "a known part"),
    "unknown link": (lambda s: s.body("b", Sphere(0.1), mass=1.0, on="hand"), "link"),
    "grip": (
        lambda s: (s.body("a", Sphere(1), mass=1), s.hold("b", "a", stiffness=SIX, damping=SIX)),
        "a known",
    ),
    "path": (lambda s: (s.moving("b", lambda t: "up"), s.body("c", Sphere(1), mass=1), run(s)), "a path"),
    "empty": (lambda s: (s.fixed("b", HalfSpace()), run(s)), "something that can be pushed"),
}


def run(scene):
    return simulate(scene, Complementarity(), until=0.1)


@pytest.mark.parametrize("case", BAD)
def test_bad_scenes_are_refused_with_a_message(case):
    action, text = BAD[case]
    with pytest.raises(InputError, match=text):
        action(Scene("bad"))


@pytest.mark.parametrize("what", ["spheres", "boxes"])
def test_a_pile_settles_inside_its_bin_and_presses_on_the_floor_with_its_weight(what):
    from impinge.studies.scenes.pile import RADIUS, pile

    scene = pile(30, what)
    r = simulate(scene, Complementarity(step=2e-3, tolerance=1e-2), until=1.5)
    assert r.ok, r.reason
    heights = np.array([r[f"s{k}_z"][-1] for k in range(30)])
    assert heights.min() > 0.5 * RADIUS
    assert heights.max() < r["s29_z"][0]
    weight = G * sum(part.inertia.mass for part in scene.parts.values() if part.inertia)
    assert -r.contacts.force_on("bin", r.t.size)[-1, 2] == pytest.approx(weight, rel=0.02)
    assert r.certificate.contacts["all"].steady_penetration < 1e-6
    assert r.solver.created < 1e-12


@pytest.mark.parametrize("what", ["stack", "arch", "tent"])
def test_what_stands_stands_after_a_nudge_and_comes_to_rest_exactly(what):
    from impinge.studies.scenes.standing import SCENES

    scene, rng = SCENES[what](friction=0.6), np.random.default_rng(2)
    bodies = [name for name, part in scene.parts.items() if part.kind == "body"]
    nudge = {f"{name}_{x}_dot": float(0.03 * rng.normal()) for name in bodies for x in "xy"}
    r = simulate(scene, Complementarity(step=2e-3), until=600.0, start=nudge, sample=1.0)
    assert r.ok, r.reason
    moved = [np.ptp(r[f"{name}_{x}"]) for name in bodies for x in "xyz"]
    assert 1e-6 < max(moved) < 1e-3
    assert max(np.ptp(r[f"{name}_{x}"][60:]) for name in bodies for x in "xyz") == 0.0
    assert all(r[name][-1] == 0.0 for name, kind in r.kinds.items() if kind == "velocity")
