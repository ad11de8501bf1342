"""Scenes of free rigid bodies, event by event: closed forms of mechanics."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from impinge import Adaptive, Baumgarte, Complementarity, HuntCrossley, Impact, InputError, KelvinVoigt, simulate
from impinge.compile.kernels.kernel import _loaded
from impinge.compile.loops import loop
from impinge.contact.friction import SETTLED
from impinge.geometry import Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Sphere
from impinge.scene import Placed, Scene
from impinge.scene.pose import matrix
from impinge.simulation import Result
from impinge.simulation.scenes.model import SceneModel

G = 9.81
Array = NDArray[np.float64]


def columns(result: Result, *names: str) -> Array:
    return np.stack([result[name] for name in names], axis=1)


def axes_of(result: Result, body: str) -> Array:
    return np.array([matrix(q) for q in columns(result, *(f"{body}_q{x}" for x in "wxyz"))])


def spins_of(result: Result, body: str) -> Array:
    return columns(result, *(f"{body}_w{x}" for x in "xyz"))


def energy_of(result: Result) -> Array:
    return result["energy_kinetic"] + result["energy_potential"]


def incline(angle: float, friction: float) -> tuple[Scene, Array, Array]:
    """A half-space that falls along x, its normal and the direction down."""
    scene = Scene("incline", friction=friction)
    scene.fixed("slope", HalfSpace(), turn=(0, angle, 0))
    return scene, np.array([np.sin(angle), 0, np.cos(angle)]), np.array([np.cos(angle), 0, -np.sin(angle)])


# Free motion


def test_a_tumbling_box_keeps_its_energy_and_angular_momentum_for_100_s() -> None:
    scene = Scene("tumble", gravity=(0, 0, 0))
    scene.body("brick", Box(0.1, 0.2, 0.3), density=1000.0, spin=(0.01, 3.0, 0.02), turn=(0.3, -0.2, 0.5))
    result = simulate(scene, until=100.0, method=Adaptive(rtol=1e-13, atol=1e-14), sample=0.1)
    tensor = scene.parts["brick"].inertia.tensor  # type: ignore[union-attr]
    w, R = spins_of(result, "brick"), axes_of(result, "brick")
    momentum = np.einsum("nij,jk,nk->ni", R, tensor, w)
    energy = energy_of(result)
    assert w[:, 1].min() < -2.9  # it does tumble
    assert np.abs(energy / energy[0] - 1).max() < 1e-10
    assert np.linalg.norm(momentum - momentum[0], axis=1).max() < 1e-10 * np.linalg.norm(momentum[0])
    norms = np.linalg.norm(columns(result, *(f"brick_q{x}" for x in "wxyz")), axis=1)
    assert np.abs(norms - 1).max() < 1e-15


def test_a_symmetric_top_precesses_about_its_angular_momentum_at_the_closed_form_rate() -> None:
    scene = Scene("top", gravity=(0, 0, 0))
    scene.body("top", Cylinder(0.1, 0.05), density=1000.0, spin=(0.4, 0.0, 5.0))
    result = simulate(scene, until=3.0, method=Adaptive(rtol=1e-12, atol=1e-13))
    I1, _, I3 = np.diag(scene.parts["top"].inertia.tensor)  # type: ignore[union-attr]
    rate = (I3 - I1) / I1 * 5.0
    w, t = spins_of(result, "top"), result.t
    expected = np.stack([0.4 * np.cos(rate * t), 0.4 * np.sin(rate * t), np.full_like(t, 5.0)], axis=1)
    np.testing.assert_allclose(w, expected, atol=1e-10)
    L = np.array([I1 * 0.4, 0.0, I3 * 5.0])  # in the world, as R = 1 at the start
    axis, along = L / np.linalg.norm(L), np.linalg.norm(L) / I1 * t
    z = np.array([0.0, 0.0, 1.0])
    across = z - (z @ axis) * axis
    precessed = (z @ axis) * axis + np.cos(along)[:, None] * across + np.sin(along)[:, None] * np.cross(axis, across)
    np.testing.assert_allclose(axes_of(result, "top")[:, :, 2], precessed, atol=1e-10)


def test_positions_are_those_of_the_parts_axes_and_fall_with_its_center_of_mass() -> None:
    scene = Scene("pair")
    scene.body("dumbbell", [Placed(Sphere(0.1)), Placed(Sphere(0.1), at=(0.4, 0, 0))], density=500.0, spin=(0, 0, 2.0))
    result = simulate(scene, until=1.0)
    t = result.t
    np.testing.assert_allclose(result["dumbbell_x"], 0.2 - 0.2 * np.cos(2 * t), atol=1e-7)
    np.testing.assert_allclose(result["dumbbell_y"], -0.2 * np.sin(2 * t), atol=1e-7)
    np.testing.assert_allclose(result["dumbbell_z"], -0.5 * G * t**2, atol=1e-9)


def test_a_held_body_swings_on_its_grip_as_a_damped_oscillator() -> None:
    scene = Scene("held", gravity=(0, 0, 0))
    scene.fixed("wall", ())
    scene.body("tool", Box(0.1, 0.1, 0.2), mass=2.0)
    scene.hold("tool", "wall", stiffness=(50, 50, 50, 1, 1, 1), damping=(4, 4, 4, 0, 0, 0))
    result = simulate(scene, until=2.0, start={"tool_x_dot": 0.3, "tool_wz": 0.5})
    t = result.t
    omega, decay = np.sqrt(25.0 - 1.0), 1.0
    np.testing.assert_allclose(result["tool_x"], 0.3 / omega * np.exp(-decay * t) * np.sin(omega * t), atol=1e-7)
    I3 = scene.parts["tool"].inertia.tensor[2, 2]  # type: ignore[union-attr]
    np.testing.assert_allclose(result["tool_wz"], 0.5 * np.cos(np.sqrt(1.0 / I3) * t), atol=1e-6)
    assert result.certificate.energy.relative < 1e-6


# One contact


def test_a_bouncing_ball_comes_to_rest_at_the_limit_of_its_bounces() -> None:
    scene = Scene("drop")
    scene.fixed("table", HalfSpace())
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0, 0, 1.1))
    result = simulate(scene, Impact(restitution=0.5), until=2.0)
    first = np.sqrt(2 / G)
    assert result.ok, result.reason
    assert result.events[0].time == pytest.approx(first, rel=1e-9)
    assert result.times("ball_table", after="Contact")[-1] == pytest.approx(3 * first, abs=1e-9)
    assert result["ball_z"][-1] == pytest.approx(0.1, abs=1e-10)
    assert result["force_ball_table"][-1] == pytest.approx(G)


@pytest.mark.parametrize("angle", [0.2, 0.5])
def test_a_ball_rolls_down_an_incline_if_friction_is_enough_and_slips_if_not(angle: float) -> None:
    mu, r, until = 0.1, 0.1, 1.0
    scene, n, down = incline(angle, mu)
    scene.body("ball", Sphere(r), mass=2.0, at=r * n)
    result = simulate(scene, Impact(), until=until)
    assert result.ok, result.reason
    rolls = np.tan(angle) < 3.5 * mu
    a = 5 / 7 * G * np.sin(angle) if rolls else G * (np.sin(angle) - mu * np.cos(angle))
    alpha = a / r if rolls else 5 * mu * G * np.cos(angle) / (2 * r)
    v = columns(result, "ball_x_dot", "ball_y_dot", "ball_z_dot")
    spins = np.einsum("nij,nj->ni", axes_of(result, "ball"), spins_of(result, "ball"))
    np.testing.assert_allclose(v, np.outer(result.t, a * down), atol=1e-9)
    np.testing.assert_allclose(spins, np.outer(result.t, alpha * np.cross(n, down)), atol=1e-7)
    assert set(result["mode_ball_slope"]) == {result.modes["ball_slope"].index("Contact" if rolls else "Sliding")}
    moved = columns(result, "ball_x", "ball_y", "ball_z")[-1] - r * n
    np.testing.assert_allclose(moved, 0.5 * a * until**2 * down, atol=1e-8)


def test_a_skidding_ball_starts_to_roll_at_five_sevenths_of_its_speed() -> None:
    mu, v0 = 0.2, 2.0
    scene = Scene("bowling", friction=mu)
    scene.fixed("lane", HalfSpace())
    scene.body("ball", Sphere(0.11), mass=6.0, at=(0, 0, 0.11), velocity=(0.6 * v0, 0.8 * v0, 0))
    result = simulate(scene, Impact(), until=1.0)
    assert result.ok, result.reason
    assert result.times("ball_lane", before="Sliding") == pytest.approx([2 * v0 / (7 * mu * G)], rel=1e-8)
    v = columns(result, "ball_x_dot", "ball_y_dot", "ball_z_dot")[-1]
    np.testing.assert_allclose(v, 5 / 7 * v0 * np.array([0.6, 0.8, 0.0]), atol=1e-8)


def test_a_ball_on_a_belt_rolls_at_two_sevenths_of_its_speed() -> None:
    mu, speed = 0.3, 1.5
    scene = Scene("belt", friction=mu)
    scene.moving("belt", lambda t: (0, speed * t, 0), HalfSpace())
    scene.body("ball", Sphere(0.05), mass=0.2, at=(0, 0, 0.05))
    result = simulate(scene, Impact(), until=0.5)
    assert result.ok, result.reason
    assert result.times("ball_belt", before="Sliding") == pytest.approx([2 * speed / (7 * mu * G)], rel=1e-8)
    assert result["ball_y_dot"][-1] == pytest.approx(2 / 7 * speed, rel=1e-8)
    assert result.certificate.energy.relative < 1e-8


def test_a_ball_leaves_a_shaking_platform_when_that_falls_faster_than_g() -> None:
    size, omega = 0.05, 20.0
    scene = Scene("shaker")
    scene.moving("plate", lambda t: (0, 0, size * ca.sin(omega * t)), Placed(Box(1, 1, 0.1), at=(0, 0, -0.05)))
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0.2, 0.1, 0.1), velocity=(0, 0, size * omega))
    result = simulate(scene, Impact(), until=0.2)
    assert result.ok, result.reason
    leave = np.arcsin(G / (size * omega**2)) / omega
    assert result.times("ball_plate", after="Free")[0] == pytest.approx(leave, rel=1e-8)
    riding = result.t < leave
    np.testing.assert_allclose(
        result["force_ball_plate"][riding], G - size * omega**2 * np.sin(omega * result.t[riding]), atol=1e-6
    )
    assert result.certificate.energy.relative < 1e-6


@pytest.mark.parametrize(("friction", "share", "accuracy"), [(0.0, 2 / 3, 1e-7), (1e5, 10 / 17, 2e-6)])
def test_a_ball_leaves_a_dome_where_the_closed_form_says(friction: float, share: float, accuracy: float) -> None:
    # At cos θ = 2/3 if it slides without friction, at 10/17 if it rolls to the end: it slips from where μ times its
    # force is less than 2/7 of its weight along the dome, less than 2 / 17μ before.
    scene = Scene("dome", friction=friction)
    scene.fixed("dome", Sphere(1.0), turn=(0.4, 0.5, 0.6))
    start = 1e-2
    scene.body("bead", Sphere(0.1), mass=1.0, at=1.1 * np.array([np.sin(start), 0, np.cos(start)]))
    result = simulate(scene, Impact(), until=5.0)
    assert result.ok, result.reason
    (event,) = [one for one in result.events if one.after == "Free"]
    assert result["bead_z"][event.row] / 1.1 == pytest.approx(share * np.cos(start), rel=accuracy)


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths_of_its_speed() -> None:
    # E. J. Routh (1884): v turns at 2/7 of the table's angular velocity while the ball rolls.
    omega, r, v0 = 2.0, 0.1, 0.3
    scene = Scene("turntable", friction=2.0)
    scene.moving("table", lambda t: ((0, 0, 0), ((0, 0, 1), omega * t)), HalfSpace())
    scene.body("ball", Sphere(r), mass=1.0, at=(1, 0, r), velocity=(v0, 0, 0), spin=(omega / r, v0 / r, 0))
    result = simulate(scene, Impact(), until=10.0)
    assert result.ok, result.reason
    rate, t = 2 / 7 * omega, result.t
    assert set(result["mode_ball_table"]) == {1}
    np.testing.assert_allclose(result["ball_x"], 1 + v0 / rate * np.sin(rate * t), atol=1e-6)
    np.testing.assert_allclose(result["ball_y"], v0 / rate * (1 - np.cos(rate * t)), atol=1e-6)


def test_a_capsule_falls_over_and_rests_on_both_ends() -> None:
    scene = Scene("rod", friction=0.4)
    scene.fixed("table", HalfSpace())
    scene.body("rod", Capsule(0.05, 0.4), mass=1.0, at=(0, 0, 0.3), turn=(0, 0.6, 0))
    result = simulate(scene, Impact(), until=3.0)
    assert result.ok, result.reason
    assert [result["force_rod_table_1"][-1], result["force_rod_table_2"][-1]] == pytest.approx([G / 2] * 2, rel=1e-6)
    assert result["rod_z"][-1] == pytest.approx(0.05, abs=1e-9)
    assert (np.diff(energy_of(result)) < 1e-8).all()


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_spheres_that_meet_head_on_exchange_momentum_by_newtons_law(e: float) -> None:
    scene = Scene("billiard", gravity=(0, 0, 0))
    scene.body("cue", Sphere(0.1), mass=1.0, at=(0, 0, 0), velocity=(2.0, 0, 0))
    scene.body("ball", Sphere(0.2), mass=3.0, at=(1, 0, 0))
    result = simulate(scene, Impact(restitution=e), until=1.0)
    assert result.ok, result.reason
    assert result.events[0].time == pytest.approx(0.35)
    p = (1 + e) * 0.75 * 2.0
    assert result["cue_x_dot"][-1] == pytest.approx(2.0 - p)
    assert result["ball_x_dot"][-1] == pytest.approx(p / 3)


@pytest.mark.parametrize("mu", [0.05, 1.0])
def test_spheres_that_meet_obliquely_spin_as_friction_allows(mu: float) -> None:
    m, r, e = 0.5, 0.1, 0.6
    scene = Scene("oblique", gravity=(0, 0, 0), friction=mu)
    scene.body("left", Sphere(r), mass=m, at=(-0.2, -0.2, 0), velocity=(1.0, 1.0, 0))
    scene.body("right", Sphere(r), mass=m, at=(0.2, 0.0, 0))
    result = simulate(scene, Impact(restitution=e), until=0.4)
    assert result.ok, result.reason
    assert result.events[0].time == pytest.approx(0.2)
    normal = (1 + e) * m / 2 * 1.0
    along = min(mu * normal, m / 7 * 1.0)  # W along a tangent is 2 (1/m + r²/I) = 7/m
    assert result["left_x_dot"][-1] == pytest.approx(1.0 - normal / m)
    assert result["left_y_dot"][-1] == pytest.approx(1.0 - along / m)
    assert result["right_x_dot"][-1] == pytest.approx(normal / m)
    assert result["right_y_dot"][-1] == pytest.approx(along / m)
    for name in ("left", "right"):
        assert result[f"{name}_wz"][-1] == pytest.approx(-along * r / (0.4 * m * r**2))
    momentum = m * (result["left_y_dot"] + result["right_y_dot"])
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-12)


def test_two_friction_wheels_stay_together_turn_after_turn() -> None:
    # Held balls roll on each other: their contact goes round both, and no tangent may jump.
    scene = Scene("wheels", gravity=(0, 0, 0), friction=0.8)
    grip = {"stiffness": (500, 500, 500, 0, 0, 0), "damping": (50, 50, 50, 0, 0, 0)}
    for name, x, spin in (("one", -0.0999, (0, 0, 5.0)), ("other", 0.0999, (0, 0, -5.0))):
        scene.fixed(f"axle_{name}", ())
        scene.body(name, Sphere(0.1), mass=1.0, at=(x, 0, 0), spin=spin)
        scene.hold(name, f"axle_{name}", **grip)
    result = simulate(scene, HuntCrossley(1e4, 1e4), until=4.0)
    assert result.ok, result.reason
    assert not [event for event in result.events if event.time > 0.1]
    np.testing.assert_allclose(result["one_wz"], 5.0, rtol=1e-6)
    np.testing.assert_allclose(result["other_wz"], -5.0, rtol=1e-6)


# Boxes


def box_on_table(**given: object) -> Scene:
    scene = Scene("table", friction=float(given.pop("friction", 0.5)))  # type: ignore[arg-type]
    scene.fixed("table", HalfSpace())
    scene.body("brick", Box(0.2, 0.1, 0.06), density=1800.0, **given)  # type: ignore[arg-type]
    return scene


def test_a_box_dropped_flat_lies_still_on_four_vertices() -> None:
    result = simulate(box_on_table(at=(0, 0, 0.5)), Impact(), until=1.0)
    assert result.ok, result.reason
    assert list(result.modes) == [f"brick_table_{k}" for k in range(1, 9)]
    weight = 0.2 * 0.1 * 0.06 * 1800 * G
    forces = np.array([result[f"force_brick_table_{k}"][-1] for k in range(1, 9)])
    assert np.sort(forces) == pytest.approx([0] * 4 + [weight / 4] * 4, abs=1e-9)
    assert result["brick_z"][-1] == pytest.approx(0.03, abs=1e-11)
    assert np.abs([result[name][-1] for name in result.signals if result.kinds[name] == "velocity"]).max() < 1e-11
    assert (np.diff(energy_of(result)) < 1e-9).all()


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_box_dropped_on_a_corner_never_gains_energy_and_comes_to_rest(friction: float) -> None:
    scene = box_on_table(at=(0, 0, 0.3), turn=(0.5, 0.4, 0.3), friction=friction)
    result = simulate(scene, Impact(), until=2.0)
    assert result.ok, result.reason
    assert (np.diff(energy_of(result)) < 1e-7).all()
    assert sum(result[f"mode_brick_table_{k}"][-1] > 0 for k in range(1, 9)) == 4
    assert min(result[f"gap_brick_table_{k}"].min() for k in range(1, 9)) > -1e-7
    if friction:
        assert result["energy_kinetic"][-1] < 1e-12


@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_a_sliding_box_stops_after_the_distance_of_coulombs_law(heading: float) -> None:
    mu, v0 = 0.3, 1.2
    velocity = v0 * np.array([np.cos(heading), np.sin(heading), 0])
    result = simulate(box_on_table(at=(0, 0, 0.03), velocity=velocity, friction=mu), Impact(), until=1.0)
    assert result.ok, result.reason
    way = np.array([result[f"brick_{x}"][-1] for x in "xyz"]) - [0, 0, 0.03]
    np.testing.assert_allclose(way, v0**2 / (2 * mu * G) * velocity / v0, atol=1e-7)
    stop = min(event.time for event in result.events if event.before == "Sliding")
    assert stop == pytest.approx(v0 / (mu * G), rel=1e-7)
    slid = max(np.hypot(result[f"slip_brick_table_{k}_1"][-1], result[f"slip_brick_table_{k}_2"][-1]) for k in (1, 5))
    assert slid == pytest.approx(v0**2 / (2 * mu * G), rel=1e-7)


def box_on_incline(angle: float, mu: float, width: float, height: float) -> tuple[Result, Array, Array]:
    scene, n, down = incline(angle, mu)
    scene.body("box", Box(width, 0.3, height), mass=2.0, at=0.5 * height * n, turn=(0, angle, 0))
    result = simulate(scene, Impact(), until=0.1)
    assert result.ok, result.reason
    return result, n, down


def test_a_box_stays_on_an_incline_that_friction_holds() -> None:
    result, _, _ = box_on_incline(0.3, 0.4, 0.2, 0.2)
    assert max(np.abs(result[name]).max() for name in result.signals if result.kinds[name] == "velocity") < 1e-11


def test_a_box_slides_down_an_incline_that_friction_does_not_hold() -> None:
    angle, mu = 0.3, 0.2
    result, _, down = box_on_incline(angle, mu, 0.2, 0.1)
    v = columns(result, "box_x_dot", "box_y_dot", "box_z_dot")
    # Four feet that begin to slide from rest share one direction only from the speed SETTLED on.
    np.testing.assert_allclose(v, np.outer(result.t, G * (np.sin(angle) - mu * np.cos(angle)) * down), atol=SETTLED)
    assert np.abs(spins_of(result, "box")).max() < SETTLED / 0.1


def test_a_tall_box_tips_over_its_lower_edge() -> None:
    angle, width, height = 0.4, 0.1, 0.4  # tan 0.4 = 0.42 > 0.25
    result, _, _ = box_on_incline(angle, 2.0, width, height)
    square = width**2 + height**2
    alpha = G * (height / 2 * np.sin(angle) - width / 2 * np.cos(angle)) / (square / 12 + square / 4)
    assert result["box_wy"][2] / result.t[2] == pytest.approx(alpha, rel=1e-3)
    energy = energy_of(result)
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)
    assert sum(result[f"mode_box_slope_{k}"][-1] > 0 for k in range(1, 9)) == 2


# Laws, many bodies, and the kernel itself


@pytest.mark.parametrize("law", [Baumgarte(), KelvinVoigt(1e5, 100.0), HuntCrossley(1e5)], ids=lambda law: law.name)
def test_every_event_driven_law_brings_a_ball_to_rest_where_it_carries_its_weight(law: object) -> None:
    scene = Scene("drop")
    scene.fixed("table", HalfSpace())
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0, 0, 0.105), velocity=(0.1, 0, 0))
    result = simulate(scene, law, until=4.0)  # type: ignore[arg-type]
    assert result.ok, result.reason
    assert result["force_ball_table"][-1] == pytest.approx(G, rel=2e-2)
    assert result["ball_x_dot"][-1] == pytest.approx(result["ball_wy"][-1] * 0.1, abs=2e-3)
    assert result.certificate.energy.relative < 1e-5


def test_a_hundred_bodies_start_without_compiling_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop(count: int) -> Result:
        scene = Scene("many")
        scene.fixed("table", HalfSpace())
        for k in range(count):
            scene.body(f"ball{k}", Sphere(0.1), mass=1.0, at=(k, 0, 0.11))
            for other in range(k):
                scene.ignore(f"ball{k}", f"ball{other}")
        return simulate(scene, Impact(), until=0.06)

    drop(1)
    kernels = set(_loaded)
    monkeypatch.setattr(loop, "contents_of", None)  # nothing is compiled
    result = drop(100)
    assert result.ok, result.reason
    assert set(_loaded) == kernels
    assert len(result.events) == 100


def test_what_cannot_be_simulated_event_by_event_is_named() -> None:
    scene = Scene("stack")
    scene.fixed("table", HalfSpace())
    scene.body("lower", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.05))
    scene.body("upper", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.15))
    assert simulate(scene, Impact(), until=0.01).ok
    scene.ignore("lower", "upper")
    assert simulate(scene, Impact(), until=0.01, start={"upper_z": 0.3}).ok
    with pytest.raises(InputError, match="no parameter"):
        simulate(scene, Impact(), until=1.0, parameters={"m": 1.0})
    with pytest.raises(InputError, match="start value"):
        simulate(scene, Impact(), until=1.0, start={"upper_speed": 0.3})
    with pytest.raises(InputError, match="event-driven law"):
        simulate(scene, dict.fromkeys(SceneModel(scene).contacts, Complementarity(step=1e-3)), until=1.0)


def zoo() -> SceneModel:
    """Every kind of feature: on bodies, on what stands, and on what moves along a path."""
    scene = Scene("zoo", friction=0.5)
    scene.fixed("floor", HalfSpace(), at=(0, 0, -2), turn=(0.1, 0.2, 0))
    scene.moving("plate", lambda t: ((ca.sin(t), t**2, -3 + t), ((1, 2, 3), ca.sin(2 * t))), HalfSpace())
    scene.moving("lift", lambda t: ((5 + t, ca.cos(t), t), ((3, 1, 1), t**2)), Box(1.0, 0.7, 0.5))
    scene.moving("bead", lambda t: ((-5, ca.sin(3 * t), t), ((0, 1, 1), t)), Sphere(0.3))
    scene.fixed("rail", Capsule(0.2, 1.0), at=(0, 5, 0), turn=(1.0, 0.3, 0))
    scene.body("ball", Sphere(0.3), mass=1.0)
    scene.body("pair", [Sphere(0.2), Placed(Sphere(0.1), at=(0.5, 0.1, 0))], mass=2.0)
    scene.body("rod", Placed(Capsule(0.1, 1.0), at=(0.1, 0, 0), turn=(0.3, 0, 0)), mass=2.0)
    scene.body("brick", Box(0.4, 0.3, 0.2), mass=3.0)
    scene.body("stone", ConvexMesh.hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]), mass=1.0)
    for one, other in (
        *(("brick", x) for x in ("lift", "rail", "rod", "stone")),
        *(("rod", x) for x in ("lift", "rail", "stone")),
        *(("stone", x) for x in ("ball", "pair", "lift", "rail", "bead")),
    ):
        scene.ignore(one, other)
    return SceneModel(scene)


def random_state(model: SceneModel, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    q, v = random.uniform(-2, 2, (5, 7)), random.uniform(-1, 1, 30)
    q[:, 0] += np.array([-3.0, 0.0, 3.0, 6.0, 9.0])
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    return q.ravel(), v


def flow(model: SceneModel, q: Array, v: Array, t: float, h: float) -> tuple[Array, Array]:
    """Classical Runge–Kutta step of the motion without contact."""
    p = model.parameter_vector({})

    def rate(x: Array, when: float) -> Array:
        Q, V = x[:35].reshape(5, 7), x[35:].reshape(5, 6)
        turning = np.zeros((5, 7))
        turning[:, :3] = V[:, :3]
        w, a = V[:, 3:], Q[:, 4:]
        turning[:, 3] = -0.5 * (a * w).sum(axis=1)
        turning[:, 4:] = 0.5 * (Q[:, 3:4] * w + np.cross(a, w))
        return np.concatenate([turning.ravel(), model.dynamics(x[:35], x[35:], when, [], p)["free"]])

    x = np.concatenate([q, v])
    k1 = rate(x, t)
    k2 = rate(x + h / 2 * k1, t + h / 2)
    k3 = rate(x + h / 2 * k2, t + h / 2)
    k4 = rate(x + h * k3, t + h)
    x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[:35], x[35:]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rates_and_drifts_of_every_feature_are_derivatives_along_the_motion(seed: int) -> None:
    model, t, h = zoo(), 0.3, 1e-5
    q, v = random_state(model, seed)
    model.start(q, v, np.zeros(0))
    p, nc = model.parameter_vector({}), len(model.gaps)
    now = model.dynamics(q, v, t, [], p)
    before, after = (model.dynamics(*flow(model, q, v, t, s * h), t + s * h, [], p) for s in (-1, 1))
    np.testing.assert_allclose((after["g"] - before["g"])[:nc] / (2 * h), now["rate"][:nc], atol=1e-6)
    np.testing.assert_allclose((after["rate"] - before["rate"]) / (2 * h), now["drift"], atol=2e-5, rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_contact_space_is_that_of_the_rates(seed: int) -> None:
    model, t = zoo(), 0.3
    q, v = random_state(model, seed)
    p, world = model.parameter_vector({}), model.layout.world
    now = model.dynamics(q, v, t, [], p)
    still = model.dynamics(q, 0 * v, t, [], p)["rate"]
    A = np.stack([model.dynamics(q, e, t, [], p)["rate"] - still for e in np.eye(30)], axis=1)
    M = np.zeros((30, 30))
    for mass, tensor, k in zip(world.mass, world.tensor, world.speed, strict=True):
        if k >= 0:
            M[k : k + 3, k : k + 3], M[k + 3 : k + 6, k + 3 : k + 6] = mass * np.eye(3), tensor
    np.testing.assert_allclose(now["partial"], still, atol=1e-12)
    np.testing.assert_allclose(now["rate"], A @ v + still, atol=1e-12)
    np.testing.assert_allclose(now["response"], np.linalg.solve(M, A.T), atol=1e-10)
    np.testing.assert_allclose(now["W"], A @ np.linalg.solve(M, A.T), atol=1e-9)


def test_slip_rates_are_velocities_of_the_material_points_that_touch() -> None:
    model, t = zoo(), 0.3
    q, v = random_state(model, 5)
    model.start(q, v, np.zeros(0))
    now = model.dynamics(q, v, t, [], model.parameter_vector({}))
    m, f = model.tables.motion, model.tables.features
    for c, name in enumerate(model.contacts):
        a, b = f.ball_frame[c], f.surface_frame[c]
        n = m.axes[b] @ f.axes[c] @ model.tables.normal[c]
        point = m.at[a] + m.axes[a] @ f.ball[c] - f.radius[c] * n
        u = m.velocity[a] + np.cross(m.spin[a], point - m.at[a])
        u = u - m.velocity[b] - np.cross(m.spin[b], point - m.at[b])
        slips = [now["rate"][len(model.gaps) + k] for k, (owner, _) in enumerate(model.slips) if owner == c]
        assert now["rate"][c] == pytest.approx(u @ n, abs=1e-12), name
        assert np.hypot(*slips) == pytest.approx(np.linalg.norm(u - (u @ n) * n), abs=1e-12), name
