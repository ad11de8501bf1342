"""A scene as a model around a pose: its gaps, and every analysis, beside models written by hand and closed forms."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

from geometry_pairs import Pose, coal_distance, coal_shape
from impinge import (
    Adaptive,
    Baumgarte,
    Box,
    Capsule,
    Complementarity,
    ConvexMesh,
    Cylinder,
    HalfSpace,
    HuntCrossley,
    Impact,
    KelvinVoigt,
    ModelBuilder,
    Placed,
    Scene,
    Sphere,
    equilibrium,
    linearize,
    periodic_orbit,
    sensitivity,
    simulate,
)
from impinge.errors import ImpingeError

G, EXACT = 9.81, Adaptive(rtol=1e-11, atol=1e-13)
FINEST = Adaptive(rtol=1e-13, atol=1e-15)


def random_turn(rng):
    turn = rng.normal(size=4)
    return turn / np.linalg.norm(turn)


def random_shape(rng):
    kind = rng.integers(5)
    if kind == 0:
        return Sphere(float(rng.uniform(0.05, 0.15)))
    if kind == 1:
        return Capsule(float(rng.uniform(0.03, 0.08)), float(rng.uniform(0.1, 0.3)))
    if kind == 2:
        return Box(*rng.uniform(0.1, 0.3, 3).tolist())
    if kind == 3:
        return Cylinder(float(rng.uniform(0.05, 0.1)), float(rng.uniform(0.1, 0.3)))
    points = rng.normal(size=(8, 3))
    return ConvexMesh.hull(0.15 * points / np.linalg.norm(points, axis=1)[:, None])


def two_bodies(rng):
    """Two bodies of random shapes near each other."""
    scene = Scene("two")
    shapes = random_shape(rng), random_shape(rng)
    away = rng.normal(size=3)
    away *= rng.uniform(0.15, 0.4) / np.linalg.norm(away)
    for name, shape, at in zip("ab", shapes, (np.zeros(3), away), strict=True):
        scene.body(name, shape, mass=1.0, at=at, turn=random_turn(rng))
    return scene, shapes


def values(model, q, v):
    terms = model.terms(q, v)
    return terms["gap"], terms["gap_dot"], terms["slip_dot"]


def pose_of(q, k):
    w, x, y, z = q[7 * k + 3 : 7 * k + 7]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return Pose(q[7 * k : 7 * k + 3].copy(), R)


def models(seed, most):
    """Yield random pairs of shapes as models with one contact, and how many had no smooth distance."""
    rng, found = np.random.default_rng(seed), 0
    while found < most:
        scene, shapes = two_bodies(rng)
        try:
            model = scene.around(within=0.2)
        except ImpingeError:  # two rims, or edges that are parallel
            continue
        if len(model.gaps) == 1 and values(model, *model.start_vectors({}))[0][0] > 2e-3:
            found += 1
            yield rng, model, shapes


def test_the_gap_of_two_features_is_the_distance_of_the_shapes_around_a_pose():
    for rng, model, shapes in models(1, 60):
        q, v = model.start_vectors({})
        near = model.displaced(q, 1e-5 * rng.normal(size=v.size))
        gap = values(model, near, v)[0][0]
        found = coal_distance(*(coal_shape(x) for x in shapes), pose_of(near, 0), pose_of(near, 1))[0]
        assert abs(gap - found) <= 1e-6


def test_slips_and_gap_rates_are_differences_of_places_that_touch():
    for rng, model, _ in models(2, 30):
        (q, _), v, step = model.start_vectors({}), rng.normal(size=12), 1e-6
        gaps = [values(model, model.displaced(q, sign * step * v), v)[0][0] for sign in (1, -1)]
        rest, rate, slips = values(model, q, v)
        assert abs(rate[0] - (gaps[0] - gaps[1]) / (2 * step)) <= 1e-6 * np.linalg.norm(v)
        # A motion of both as one changes nothing.
        x = [q[:3], q[7:10]]
        w, R = rng.normal(size=3), [pose_of(q, k).R for k in (0, 1)]
        rigid = np.concatenate([part for k in (0, 1) for part in (np.cross(w, x[k]), R[k].T @ w)])
        _, rate, slips = values(model, q, rigid)
        assert abs(np.array([rate[0], *(slips - 0 * slips)])[0]) <= 1e-12
        assert np.linalg.norm(slips) <= (rest[0] + 1e-12) * np.linalg.norm(w)


@pytest.mark.parametrize("depth", [5e-4, -5e-4, -1e-5])
def test_a_corner_that_is_pressed_in_is_as_deep_as_it_is(depth):
    scene = Scene("pressed")
    scene.fixed("floor", HalfSpace())
    scene.body("box", Box(0.2, 0.15, 0.1), mass=2.0, at=(0, 0, 0.05 + depth))
    model = scene.around()
    q, v = model.start_vectors({})
    assert np.allclose(values(model, q, v)[0], [depth] * 4, rtol=0, atol=1e-15)
    assert np.allclose(values(model, scene.around({"box_z": 0.05}).start_vectors({})[0], v)[0], 0.0, atol=1e-15)


def test_where_faces_lie_on_each_other_corners_and_crossing_edges_touch():
    """One corner of each box and two pairs of edges that cross: the least of their gaps is the boxes' distance."""
    rng, sizes = np.random.default_rng(7), ((0.2, 0.15, 0.1), (0.15, 0.2, 0.12))
    scene = Scene("faces")
    scene.body("a", Box(*sizes[0]), mass=1.0)
    scene.body("b", Box(*sizes[1]), mass=1.0, at=(0.09, 0.1, 0.1105))
    model = scene.around()
    assert len(model.contacts) == 4
    q, v = model.start_vectors({})
    assert np.allclose(values(model, q, v)[0], 5e-4, rtol=0, atol=1e-15)
    nearest = set()
    for _ in range(20):
        near = model.displaced(q, np.concatenate([1e-4 * rng.normal(size=3), 1e-3 * rng.normal(size=3), np.zeros(6)]))
        gaps = values(model, near, v)[0]
        found = coal_distance(*(coal_shape(Box(*x)) for x in sizes), pose_of(near, 0), pose_of(near, 1))[0]
        assert abs(gaps.min() - found) <= 1e-8
        nearest.add(int(gaps.argmin()))
    assert nearest == {0, 1, 2, 3}


def incline(angle=0.3, mu=0.2):
    scene = Scene("incline", gravity=(G * sin(angle), 0.0, -G * cos(angle)), friction=mu)
    scene.fixed("ramp", HalfSpace())
    scene.body("block", Box(0.2, 0.2, 0.1), mass=1.0, at=(0, 0, 0.05))
    return scene


@pytest.mark.parametrize(
    "law", [Impact(0.4), Baumgarte(a0=1e4, a1=200, a2=0), HuntCrossley(1e6, restitution=0.4)], ids=str
)
def test_a_scene_and_its_model_fall_slide_and_tip_alike(law):
    scene = Scene("drop", friction=0.4)
    scene.fixed("floor", HalfSpace())
    scene.body("box", Box(0.2, 0.15, 0.1), mass=2.0, at=(0, 0, 0.25), turn=(0.2, 0.1, 0.0))
    model = scene.around(within=0.3)  # its four lowest corners
    start = {"box_x_dot": 0.5}
    one, other = (simulate(x, law, until=0.22, start=start, method=EXACT) for x in (scene, model))
    for name in ("box_x", "box_y", "box_z", "box_qw", "box_qx", "box_qy", "box_wx", "box_wz"):
        assert abs(one[name][-1] - other[name][-1]) <= 1e-8, name


def test_a_block_on_an_incline_slides_in_steps_as_its_model_does():
    for x in (incline(), incline().around()):
        result = simulate(x, Complementarity(step=1e-3), until=0.5)
        assert abs(result["block_x"][-1] - G * (sin(0.3) - 0.2 * cos(0.3)) * 0.5**2 / 2) <= 1e-3


def table(legs):
    scene = Scene("table", friction=0.5)
    scene.fixed("floor", HalfSpace())
    top = [Placed(Box(1.0, 0.8, 0.05), at=(0, 0, 0.5))]
    scene.body("table", [*top, *(Placed(Sphere(0.03), at=(x, y, 0.03)) for x, y in legs)], mass=10.0, at=(0, 0, 0))
    return scene


def test_a_table_on_four_legs_rests_with_the_smallest_forces():
    scene = table([(0.4, 0.3), (-0.4, 0.3), (-0.4, -0.3), (0.4, -0.3)])
    model = scene.around()
    assert len(model.contacts) == 4
    rest = equilibrium(scene, model.contacts)
    forces = [rest.forces[f"force_{name}"] for name in model.contacts]
    assert np.allclose(forces, 10 * G / 4, rtol=1e-9)
    assert not rest.unique


def test_a_table_that_stands_on_three_legs_has_unique_forces_and_none_where_its_center_is_outside():
    scene = table([(0.4, 0.3), (-0.4, 0.3), (0.0, -0.3)])
    rest = equilibrium(scene, scene.around().contacts)
    assert abs(sum(x for name, x in rest.forces.items() if name.startswith("force")) - 10 * G) <= 1e-8
    outside = table([(0.4, 0.3), (0.3, 0.3), (0.35, 0.1)])
    with pytest.raises(ImpingeError, match=r"forces that contacts .* can give"):
        equilibrium(outside, outside.around().contacts)


def arm(floor=False):
    """Two links; with a gap of its tip to a floor, or with a link at the tip that carries a ball."""
    b = ModelBuilder("arm")
    q1, v1 = b.coordinate("q1", start=0.9, unit="rad")
    q2, v2 = b.coordinate("q2", start=-0.6, unit="rad")
    torque = b.input("torque", "N·m")
    m, length = b.parameter("m", 1.0), 0.4
    x1, z1 = length * ca.sin(q1), -length * ca.cos(q1)
    x2, z2 = x1 + length * ca.sin(q1 + q2), z1 - length * ca.cos(q1 + q2)
    for x, z in ((x1, z1), (x2, z2)):
        vx, vz = (ca.jtimes(e, ca.vertcat(q1, q2), ca.vertcat(v1, v2)) for e in (x, z))
        b.kinetic(m * (vx**2 + vz**2) / 2)
        b.potential(m * G * z)
    b.force(torque, along=q1)
    b.damping(0.1 * v2, along=q2)
    if floor:
        b.gap("floor", 0.65 - 0.02 + z2)
    else:
        b.link("tip", [x2, 0, z2])
    return b.build()


def arm_scene():
    scene = Scene("room", friction=0.0)
    scene.fixed("floor", HalfSpace(), at=(0, 0, -0.65))
    scene.robot(arm(), {"tip": Sphere(0.02)})
    return scene


def test_a_robot_in_a_scene_leans_on_a_floor_as_its_model_does():
    scene, model = arm_scene(), arm(floor=True)
    near = {"q1": 0.5, "q2": 0.4}
    start = equilibrium(model, ["floor"], near=near)
    rests = [start, equilibrium(scene, ["tip_floor"], near=start.pose)]
    for name in ("q1", "q2"):
        assert abs(rests[0].pose[name] - rests[1].pose[name]) <= 1e-8
    assert abs(rests[0].forces["force_floor"] - rests[1].forces["force_tip_floor"]) <= 1e-8
    outputs = [["q1", "q2_dot", "force_floor"], ["q1", "q2_dot", "force_tip_floor"]]
    one = linearize(model, rests[0], ["floor"], outputs=outputs[0])
    other = linearize(scene, rests[1], ["tip_floor"], outputs=outputs[1])
    for a, b in zip((one.A, one.B, one.C, one.D), (other.A, other.B, other.C, other.D), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-8 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("law", [Impact(0.5), Baumgarte(), KelvinVoigt(1e5, 50.0)], ids=str)
def test_a_robot_in_a_scene_hits_a_floor_as_its_model_does(law):
    start = {"q1": 1.2, "q2": 0.1, "q1_dot": -2.0}
    one = simulate(arm(floor=True), law, until=1.0, start=start, method=EXACT)
    other = simulate(arm_scene().around(start, within=1.0), law, until=1.0, method=EXACT)
    assert len(one.events) == len(other.events) > 0
    for name in ("q1", "q2", "q1_dot", "q2_dot"):
        assert abs(one[name][-1] - other[name][-1]) <= 1e-8


def test_derivatives_of_a_robot_that_hits_a_floor_are_those_of_its_model():
    start, by = {"q1": 1.2, "q2": 0.1, "q1_dot": -2.0}, ["q1", "q2_dot", "m", "torque"]
    one = sensitivity(arm(floor=True), Impact(0.5), until=0.5, start=start, by=by, method=EXACT)
    scene = arm_scene()
    scene_model = scene.around(start, within=1.0)
    other = sensitivity(scene_model, Impact(0.5), until=0.5, by=by, method=EXACT)
    assert np.allclose(one.matrix, other.matrix, rtol=1e-7, atol=1e-8)


def flow(model, law, start, h, names, parameters=None):
    result = simulate(model, law, until=h, start=start, method=FINEST)
    return np.array([result[name][-1] for name in names])


def poles_by_differences(model, law, rest, h=2e-3, step=1e-6):
    """The poles of a model about a rest state by differences of its own runs."""
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    q0 = np.array([rest.pose[x.name] for x in model.coordinates])
    n, nv = q0.size, len(model.velocities)
    Phi = np.zeros((2 * nv, 2 * nv))
    for k in range(2 * nv):
        ends = []
        for sign in (1, -1):
            way = sign * step * np.eye(2 * nv)[k]
            x = np.concatenate([model.displaced(q0, way[:nv]), way[nv:]])
            ends.append(flow(model, law, dict(zip(names, x, strict=True)), h, names))
        Phi[:, k] = np.concatenate([model.way_between(ends[1][:n], ends[0][:n]), ends[0][n:] - ends[1][n:]])
    return np.log(np.linalg.eigvals(Phi / (2 * step)).astype(complex)) / h


def same_poles(one, other, within):
    one, other = list(one), list(other)
    for pole in sorted(one, key=abs, reverse=True):
        nearest = min(other, key=lambda s: abs(s - pole))
        assert abs(nearest - pole) <= within * max(1.0, max(map(abs, one))), (pole, nearest)
        other.remove(nearest)


def fingers(k=4e3):
    """A box between two fingers, each on a spring of its own."""
    scene = Scene("grasp", friction=0.8)
    size, mass = 0.1, 0.4
    for name, side in (("left", -1.0), ("right", 1.0)):
        b = ModelBuilder(f"{name}_robot")
        x, v = b.coordinate(f"{name}_x", unit="m")
        stiffness = b.parameter(f"{name}_k", k)
        b.kinetic(0.2 * v**2 / 2)
        b.potential(stiffness * (x + 0.005 * side) ** 2 / 2)
        b.damping(0.5 * v, along=x)
        b.link(name, [x + side * (size / 2 + 0.02), 0, 0])
        scene.robot(b.build(), {name: Box(0.04, 0.04, 0.04)})
    scene.body("box", Box(size, size, size), mass=mass, at=(0, 0, 0))
    return scene, mass


def test_a_box_held_by_two_fingers_has_the_stiffness_of_their_springs():
    scene, mass = fingers()
    model = scene.around()
    assert len(model.contacts) == 8
    rest = equilibrium(scene, model.contacts)
    assert abs(sum(rest.forces[f"force_{c}"] for c in model.contacts[:4]) - 4e3 * 0.005) <= 1e-7
    linear = linearize(scene, rest, model.contacts, law=Baumgarte(a0=1e4, a1=200, a2=0))
    total = mass + 0.4  # box and both fingers move as one along x, and nothing else moves
    expected = np.roots([total, 1.0, 8e3])
    moving = sorted(linear.poles(), key=abs)[-2:]
    same_poles(moving, expected, 1e-9)
    assert abs(np.array(sorted(linear.poles(), key=abs)[:-2])).max(initial=0.0) <= 1e-5


def peg(contacts):
    """A peg in a hole whose walls lean, held softly and pressed on one of them, or on both."""
    scene = Scene("hole", gravity=(-8.0 if contacts == 1 else -1.0, 0, -G), friction=0.0)
    for name, side in (("left", -1), ("right", 1)):
        scene.fixed(name, HalfSpace(), at=(0.026 * side, 0, 0), turn=(0, -side * (pi / 2 - 0.2), 0))
    scene.body("peg", Capsule(0.025, 0.06), mass=0.3, at=(0, 0, 0.034))
    scene.fixed("hand", (), at=(0, 0, 0.1))
    k, d = [800, 800, 300 if contacts == 2 else 2e3, 20, 20, 20], [2, 2, 2, 0.05, 0.05, 0.05]
    scene.hold("peg", "hand", stiffness=k, damping=d, center=(0, 0, 0.05))
    return scene


@pytest.mark.parametrize("contacts", [1, 2])
def test_the_poles_of_a_peg_in_a_hole_are_those_of_its_motion(contacts):
    scene, law = peg(contacts), KelvinVoigt(stiffness=5e4, damping=20.0)
    model = scene.around(within=0.1)
    rest = settled(model, law)
    closed = scene.around(rest.pose).contacts
    assert len(closed) == contacts
    linear = linearize(scene, rest.pose, closed, law=law)
    same_poles(linear.poles(), poles_by_differences(model, law, rest), 1e-6)


class Rest:
    """A rest state as a run ends in it."""

    def __init__(self, model, result):
        self.pose = {x.name: float(result[x.name][-1]) for x in model.coordinates}
        self.gaps = {c: float(result[f"gap_{c}"][-1]) for c in model.contacts}


def settled(model, law):
    result = simulate(model, law, until=20.0, sample=1.0)
    assert max(abs(result[x.name][-1]) for x in model.velocities) <= 1e-9
    return Rest(model, result)


def groove(friction):
    scene = Scene("groove", friction=friction)
    for name, side in (("left", 1.0), ("right", -1.0)):
        scene.fixed(name, HalfSpace(), turn=(0, side * pi / 5, 0))
    scene.body("ball", Sphere(0.1), mass=0.5, at=(0, 0, 0.1 / cos(pi / 5)))
    return scene


def test_the_poles_of_a_ball_in_a_groove_are_those_of_its_motion():
    scene, law = groove(0.0), KelvinVoigt(stiffness=5e4, damping=20.0)
    model = scene.around()
    rest = equilibrium(scene, model.contacts, law=law)
    linear = linearize(scene, rest, model.contacts, law=law)
    same_poles(linear.poles(), poles_by_differences(model, law, rest), 1e-6)


def test_a_ball_that_sticks_in_a_groove_moves_as_its_linear_model_says():
    scene, law = groove(0.6), KelvinVoigt(stiffness=5e4, damping=20.0)
    rest = equilibrium(groove(0.0), scene.around().contacts, law=law)  # no bristle is bent
    linear = linearize(scene, rest.pose, scene.around().contacts, law=law)
    names, x0 = ["ball_x_dot", "ball_y_dot", "ball_z_dot", "ball_wx", "ball_wy", "ball_wz"], np.zeros(linear.nstates)
    start = dict(zip(names, 1e-6 * np.random.default_rng(3).normal(size=6), strict=True))
    for name, value in start.items():
        x0[linear.state_labels.index(name)] = value
    result = simulate(scene.around(), law, until=0.05, start=start | dict(rest.pose), method=FINEST, sample=5e-3)
    for name in names:
        k = linear.state_labels.index(name)
        expected = [(expm(linear.A * t) @ x0)[k] for t in result.t]
        assert np.allclose(result[name], expected, rtol=0, atol=1e-5 * max(abs(x0)))


def test_a_motion_of_a_scene_that_repeats_is_found():
    scene = Scene("swing")
    scene.fixed("post", ())
    scene.body("bob", Sphere(0.05), mass=1.0, at=(0, 0, 0), velocity=(1.0, 0, 0))
    k = 40.0
    scene.hold("bob", "post", stiffness=[k] * 3 + [1.0] * 3, damping=[0.0] * 6)
    orbit = periodic_orbit(scene, guess_period=1.0, near={"bob_x_dot": 1.0})
    assert abs(orbit.period - 2 * pi / sqrt(k)) <= 1e-7


def test_what_has_no_smooth_distance_and_paths_with_inputs_are_refused():
    scene = Scene("rims")
    scene.body("one", Cylinder(0.1, 0.1), mass=1.0, at=(0, 0, 0))
    scene.body("two", Cylinder(0.1, 0.1), mass=1.0, at=(0.17, 0, 0.11), turn=(0.3, 0.4, 0))
    with pytest.raises(ImpingeError, match=r"contact 'one_two' of scene 'rims' as a model: expected features whose"):
        scene.around(within=0.2)
    scene = Scene("driven")
    scene.moving("hand", lambda t, x: (x, 0, 0), Sphere(0.1), inputs=["x"])
    scene.body("ball", Sphere(0.1), mass=1.0, at=(1, 0, 0))
    with pytest.raises(ImpingeError, match="paths depend on time alone, got 'hand', which follows x"):
        scene.around()
    with pytest.raises(ImpingeError, match="a distance of zero or more"):
        incline().around(within=-1.0)
    with pytest.raises(ImpingeError, match="a known contact of the mode, got 'block_floor'"):
        linearize(incline(), mode=["block_floor"])


def test_a_moving_part_is_where_its_path_is_at_the_time():
    scene = Scene("lift")
    scene.moving("lift", lambda t: (0, 0, 0.2 * t), Box(1, 1, 0.1))
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0, 0, 0.15))
    model = scene.around()
    terms = model.terms(model.start_vectors({})[0], model.start_vectors({})[1])
    assert abs(terms["gap"][0]) <= 1e-15
    assert abs(terms["gap_dot"][0] + 0.2) <= 1e-15
