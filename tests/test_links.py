"""Links of the robots: where forward kinematics puts them, in models and in scenes, and what touches them there."""

from __future__ import annotations

from functools import cache
from math import cos, pi, sin

import casadi as ca
import numpy as np
import pytest

from impinge import (
    Box,
    Complementarity,
    HalfSpace,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    Placed,
    Scene,
    Sphere,
    equilibrium,
    linearize,
    robots,
    simulate,
)
from impinge.control import GravityCompensation
from impinge.robots import DeltaKinematics

L0, L1, L2, L3 = 0.165, 0.2, 0.4, 0.0562  # Okasha and Bortoff 2020, Table 1
UP = np.diag([1.0, -1.0, -1.0])  # from the base frame of the paper, z₃ down, to space
G = 9.81

ROBOTS = {
    "delta": robots.delta,
    "delta_with_brick": robots.delta_with_brick,
    "maze": robots.maze,
    "maze_rings": robots.maze_rings,
    "ball": robots.ball,
    "block": robots.block,
    "particle": robots.particle,
    "pushed_particle": robots.pushed_particle,
    "particle_past_a_disk": robots.particle_past_a_disk,
    "particle_on_a_roof": robots.particle_on_a_roof,
}


@cache
def robot(name):
    return ROBOTS[name]()


@cache
def link_poses(name):
    model = robot(name)
    s = model.symbols
    return ca.Function("poses", [s.q, s.p], [x for link in model.links for x in (link.position, link.axes)])


def poses(name, q):
    """Position and axes of every link of a robot."""
    numbers = [np.array(x) for x in link_poses(name)(q, robot(name).parameter_vector({}))]
    names = [link.name for link in robot(name).links]
    return {link: (x.ravel(), R) for link, x, R in zip(names, numbers[::2], numbers[1::2], strict=True)}


def states(name, seed, count=5):
    """Random states of a robot near its start; those of the delta are in its workspace."""
    model, rng = robot(name), np.random.default_rng(seed)
    for _ in range(count):
        q = model.start_vectors({})[0]
        if name.startswith("delta"):
            z = np.array([*rng.uniform(-0.1, 0.1, 2), rng.uniform(0.35, 0.5)])
            q[:9] = DeltaKinematics().inverse(z)
            q[9:] += rng.normal(size=q.size - 9)
        else:
            q += rng.uniform(-1, 1, q.size)
        yield q, rng.normal(size=len(model.velocities))


def about_z(angle):
    return np.array([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0], [0, 0, 1]])


def test_every_robot_has_links():
    found = {name: getattr(robots, name) for name in robots.__all__}
    models = {name for name, made in found.items() if not isinstance(made, type) and name != "workspace"}
    assert models == set(ROBOTS)
    for name in ROBOTS:
        assert robot(name).links, name


@pytest.mark.parametrize("name", ROBOTS)
def test_axes_of_links_are_rotations(name):
    for q, _ in states(name, 1):
        for link, (_, R) in poses(name, q).items():
            assert np.abs(R @ R.T - np.eye(3)).max() <= 1e-14, link
            assert abs(np.linalg.det(R) - 1.0) <= 1e-14, link


@pytest.mark.parametrize("name", ROBOTS)
def test_velocities_and_accelerations_of_links_are_differences_along_a_motion(name):
    model, h = robot(name), 1e-4
    p, u = model.parameter_vector({}), model.input_vector({})
    nv = len(model.velocities)
    for q, v in states(name, 2, 3):
        now = model.linkage(q, v, 0.0, u, p)
        before, after = (poses(name, model.displaced(q, sign * h * v)) for sign in (-1, 1))  # at constant rates v
        here = poses(name, q)
        for k, link in enumerate(model.links):
            twist = now[f"jacobian_{k}"].reshape(6, nv, order="F") @ v
            (x0, R0), (x1, R1), (x2, R2) = (found[link.name] for found in (before, here, after))
            turned = (R2 - R0) / (2 * h) @ R1.T
            spin = np.array([turned[2, 1], turned[0, 2], turned[1, 0]])
            scale = 1.0 + float(v @ v)
            assert np.abs(twist[:3] - (x2 - x0) / (2 * h)).max() <= 1e-6 * scale**1.5, link.name
            assert np.abs(twist[3:] - spin).max() <= 1e-6 * scale**1.5, link.name
            assert np.abs(now[f"drift_{k}"][:3] - (x2 - 2 * x1 + x0) / h**2).max() <= 1e-5 * scale**2, link.name


@pytest.mark.parametrize("name", ["delta", "delta_with_brick"])
def test_links_of_the_delta_join_its_motors_elbows_and_wrists(name):
    for q, _ in states(name, 3):
        found = poses(name, q)
        flange, axes = found["flange"]
        y, z = q[[0, 3, 6]], UP @ flange
        assert DeltaKinematics().forward(y).z == pytest.approx(z, abs=1e-9)
        assert np.array_equal(axes, np.eye(3))
        assert not found["base"][0].any()
        for i, turn in enumerate((0.0, -2 * pi / 3, 2 * pi / 3)):
            R = UP @ about_z(turn)
            motor, shaft = R @ [0, L0, 0], R @ [1, 0, 0]
            elbow = R @ [0, L0 + L1 * cos(y[i]), L1 * sin(y[i])]
            wrist = flange + R @ [0, L3, 0]
            (x1, R1), (x2, R2) = found[f"proximal{i + 1}"], found[f"distal{i + 1}"]
            assert x1 == pytest.approx(motor, abs=1e-14)
            assert x1 + L1 * R1[:, 2] == pytest.approx(elbow, abs=1e-14)
            assert R1[:, 1] == pytest.approx(shaft, abs=1e-14)
            assert x2 == pytest.approx(elbow, abs=1e-14)
            assert x2 + L2 * R2[:, 2] == pytest.approx(wrist, abs=1e-12)
    if name == "delta_with_brick":
        assert found["brick"][0] == pytest.approx(UP @ q[9:], abs=1e-15)


# What the gaps of a planar robot are, from where a link is: the place of a point on it, and its distance.
def of_block(found, terms):
    place, R = found["block"]
    corners = [place + R @ [side * 0.1, 0, -0.06] for side in (-1, 1)]
    assert terms["slip"] == pytest.approx([x[0] for x in corners], abs=1e-14)
    return [x[2] for x in corners]


def of_maze(found, terms):
    ball = found["ball"][0]
    assert all(found[f"ring{k + 1}"][0].tolist() == [0, 0, 0] for k in range(4))
    outward = ball / np.linalg.norm(ball)
    radii = (0.0816, 0.0614, 0.0413, 0.0212)
    walls = []
    for k, radius in enumerate(radii):
        # The wall has an end where the ball is half a gate's width away from the middle of the gate, which is on x.
        w = 19e-3 / (2 * radius)
        share = np.linalg.norm(ball) / (radius + 6.35e-3)
        assert terms["extent"][k] == pytest.approx(cos(w) - share * outward @ found[f"ring{k + 1}"][1][:, 0], abs=1e-13)
        walls.append(radius + 6.35e-3)
    square, inner = float(ball @ ball), 0.0212 - 2e-3 - 6.35e-3
    return [*((square - R**2) / (2 * R) for R in walls), (inner**2 - square) / (2 * inner)]


GAPS = {
    "ball": lambda found, _: [found["ball"][0][2]],
    "block": of_block,
    "maze": of_maze,
    "particle": lambda found, _: [11.0 + found["particle"][0][2]],
    "pushed_particle": lambda found, _: [np.linalg.norm(found["particle"][0] - [1, 0, 0]) - 0.5],
    "particle_past_a_disk": lambda found, _: [np.linalg.norm(found["particle"][0]) - 1.0],
    "particle_on_a_roof": lambda found, _: [found["particle"][0] @ [side * sin(0.5), 0, cos(0.5)] for side in (-1, 1)],
}


@pytest.mark.parametrize("name", GAPS)
def test_links_of_planar_robots_are_where_their_gaps_say(name):
    for q, v in states(name, 4):
        terms = robot(name).terms(q, v)
        assert terms["gap"] == pytest.approx(GAPS[name](poses(name, q), terms), abs=1e-13)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_enters_a_scene_without_its_gaps_and_moves_there_as_alone(name):
    model = robot(name).without_gaps()
    assert model.contacts == ()
    scene = Scene("cell")
    if robot(name).gaps:
        with pytest.raises(InputError, match=r"a model without gaps, got gap '.*'\. Give robot\(model\.without_gaps"):
            scene.robot(robot(name))
    scene.robot(model)
    names = [x.name for x in (*model.coordinates, *model.velocities)]
    alone = simulate(model, None, until=0.1)
    runs = [simulate(scene, Complementarity(step=step), until=0.1) for step in (2e-3, 1e-3)]
    far = [max(abs(r[x][-1] - alone[x][-1]) for x in names) for r in runs]
    assert far[1] <= 0.6 * far[0] + 1e-9
    assert far[0] <= 0.1


def cell(z, shape=None, mass=None, **parameters):
    """A delta above a table, with a ball of 20 mm on its flange."""
    scene = Scene("cell", friction=0.5)
    scene.fixed("table", HalfSpace(), at=(0, 0, -0.5))
    finger = Placed(Sphere(0.02), at=(0, 0, -0.03))
    scene.robot(robots.delta(z=z, **parameters), {} if mass else {"flange": finger})
    if mass:
        scene.body("finger", finger, mass=mass, on="flange")
    return scene


def torques(pose, push):
    """What motors have to give for arms at rest that push with a force (base frame) on what the flange touches."""
    values = pose.gravity + pose.J_c.T @ np.array(push)
    return {f"u{k + 1}": float(values[k]) for k in range(3)}


@pytest.mark.parametrize("mass", [None, 0.2])
def test_a_delta_that_comes_down_on_a_box_presses_it_by_what_statics_says(mass):
    """At rest Sᵀ(u − G) + J_cᵀ f = 0, closed chain and all: three torques, and the three forces of the contact."""
    z, push = (0.05, 0.02, 0.42), (1.0, 0.5, 8.0)
    scene = cell(z, mass=mass, d1=0.3)
    scene.body("box", Box(0.1, 0.1, 0.02), mass=0.5, at=(0.05, -0.02, -0.49))
    kinematics = DeltaKinematics()
    u = torques(kinematics.follow(kinematics.inverse((0.05, 0.02, 0.43))), push)
    r = simulate(scene, Complementarity(step=1e-3), until=3.0, inputs=u)
    assert r.ok
    assert r.certificate.ok
    assert max(abs(r[f"q{i}{j}_dot"][-1]) for i in (1, 2, 3) for j in (1, 2, 3)) <= 1e-9
    place, _ = scene.poses(r, "flange")
    assert place[0] == pytest.approx((0.05, -0.02, -0.42), abs=1e-12)
    assert place[-1, 2] == pytest.approx(-0.43, abs=1e-8)  # on the box
    pose = kinematics.forward([r[f"q{i}1"][-1] for i in (1, 2, 3)])
    weight = np.array([0, 0, (mass or 0.0) * G])
    f = np.linalg.solve(pose.J_c.T, pose.gravity - [u[f"u{k + 1}"] for k in range(3)]) - weight
    part = "finger" if mass else "flange"
    assert r.contacts.force_on(part, r.t.size)[-1] == pytest.approx(UP @ f, rel=1e-6, abs=1e-6)
    on_table = r.contacts.between("box", "table").at_row(r.t.size - 1)
    assert on_table.normal_force.sum() == pytest.approx(0.5 * G - f[2], rel=1e-6)
    assert f == pytest.approx(-np.array(push) - weight, abs=0.05)  # it has slid by a few millimeters


def test_a_body_on_the_flange_is_as_a_heavier_flange_and_a_shape_weighs_nothing():
    z, law = (0.03, -0.02, 0.42), Complementarity(step=1e-3)
    heavy = Scene("heavy")
    heavy.robot(robots.delta(z=z, m3=0.35 + 0.2))
    runs = [simulate(scene, law, until=0.05) for scene in (cell(z, mass=0.2), heavy)]
    bare = Scene("bare")
    bare.robot(robots.delta(z=z))
    runs += [simulate(scene, law, until=0.05) for scene in (cell(z), bare)]
    for name in ("q11", "q22", "q33", "q11_dot", "z3"):
        assert runs[0][name][-1] == pytest.approx(runs[1][name][-1], abs=1e-6), name
        assert runs[2][name][-1] == runs[3][name][-1], name
    assert abs(runs[0]["q11"][-1] - runs[2]["q11"][-1]) >= 1e-4


def ring_with_a_lug():
    """The maze's rings with a lug on the outermost one, at its gate, and a ball beside the lug."""
    scene = Scene("lug", gravity=(0, 0, 0), friction=0.0)
    scene.robot(robots.maze_rings(), {"ring1": Placed(Box(0.02, 0.02, 0.01), at=(0.09, 0, 0))})
    w = 19e-3 / (2 * 0.0816)
    c, s = cos(-w), sin(-w)  # of the gate at the start, counterclockwise from the right
    at = np.array([0.09 * c, 0, 0.09 * s]) + 0.02 * np.array([-s, 0, c])
    scene.body("ball", Sphere(0.01), mass=0.02, at=at)
    return scene


def test_a_ring_of_the_maze_carries_a_lug_that_strikes_a_ball():
    """The ball's center is 15 mm over the lug's middle then, ρ along it: J ω = (J + m ρ²) ω⁺ without restitution."""
    J, m, speed, away = 1e-3, 0.02, 3.0, np.hypot(0.09, 0.02)
    turned = np.arctan2(0.02, 0.09) - np.arcsin(0.015 / away)
    after = speed * J / (J + m * (away**2 - 0.015**2))
    result = simulate(ring_with_a_lug(), Complementarity(step=1e-5), until=0.03, start={"q1_dot": speed}, sample=1e-5)
    first = int(np.argmax(result["q1_dot"] < speed - 1e-6))
    assert result.t[first] == pytest.approx(turned / speed, abs=2e-5)
    assert result["q1_dot"][first] == pytest.approx(after, rel=1e-5)
    x, z, vx, vz = (result[f"ball_{name}"] for name in ("x", "z", "x_dot", "z_dot"))
    momentum = J * result["q1_dot"] + m * (x * vz - z * vx)
    assert momentum == pytest.approx(np.full(momentum.size, J * speed), rel=1e-12)
    assert result["angle"] == pytest.approx(result["q1"], abs=0.0)  # an output of the robot


def test_poses_from_results_are_those_of_links_bodies_and_parts_that_move_or_stand():
    scene = cell((0.0, 0.0, 0.4))
    scene.body("load", Box(0.1, 0.05, 0.02), mass=0.1, on="proximal2", at=(0.02, 0, 0.1), turn=(0, 0, pi / 2))
    scene.body("box", Box(0.1, 0.1, 0.1), mass=1.0, at=(0.5, 0, 0), turn=(0.3, 0.2, 0.1), spin=(1, 2, 3))
    scene.moving("door", lambda t, x: ((x, t, 0), ((0, 0, 1), t)), inputs=["x"])
    scene.fixed("post", (), at=(1, 2, 3), turn=(0, 0, pi / 2))
    result = simulate(scene, Complementarity(), until=0.1, inputs={"x": 0.5})
    rows = result.t.size
    for name in ("flange", "proximal2", "load", "box", "door", "post", "base", "table"):
        place, axes = scene.poses(result, name)
        assert (place.shape, axes.shape) == ((rows, 3), (rows, 3, 3))
        assert np.abs(axes @ axes.transpose(0, 2, 1) - np.eye(3)).max() <= 1e-12
    for name, sign in zip("123", (1, -1, -1), strict=True):
        assert scene.poses(result, "flange")[0][:, int(name) - 1] == pytest.approx(sign * result[f"z{name}"], abs=1e-12)
    place, axes = scene.poses(result, "proximal2")
    hung, turned = scene.poses(result, "load")
    assert hung == pytest.approx(place + 0.02 * axes[:, :, 0] + 0.1 * axes[:, :, 2], abs=1e-14)
    assert turned[:, :, 0] == pytest.approx(axes[:, :, 1], abs=1e-14)
    assert scene.poses(result, "door")[0] == pytest.approx(
        np.array([0.5 + 0 * result.t, result.t, 0 * result.t]).T, abs=1e-14
    )
    assert scene.poses(result, "post")[1][-1][:, 0] == pytest.approx((0, 1, 0), abs=1e-15)
    assert scene.poses(result, "box")[0][-1] == pytest.approx([result[f"box_{x}"][-1] for x in "xyz"], abs=0.0)
    turning = scene.poses(result, "box")[1]
    rate = (turning[-1] - turning[-3]) / (result.t[-1] - result.t[-3]) @ turning[-2].T
    spin = turning[-2] @ [result[f"box_w{x}"][-2] for x in "xyz"]
    assert [rate[2, 1], rate[0, 2], rate[1, 0]] == pytest.approx(spin, abs=1e-4)
    with pytest.raises(InputError, match=r"poses in scene 'cell': expected a known part, got 'flang'.*'flange'"):
        scene.poses(result, "flang")


def test_a_link_that_no_coordinate_moves_stands_as_a_fixed_part_does():
    scene = cell((0.0, 0.0, 0.4))
    scene.fixed("ceiling", HalfSpace(), at=(0, 0, 0.01), turn=(pi, 0, 0))
    scene.body("plate", Box(0.4, 0.4, 0.02), mass=1.0, on="base")  # touches the ceiling, and nothing moves it
    scene.body("box", Box(0.1, 0.1, 0.02), mass=0.5, at=(0.15, 0, -0.02), turn=(0, 0, 0))
    scene.moving("lift", lambda t: (0.15, 0, -0.13), Box(0.1, 0.1, 0.2))
    heavy = {f"u{k + 1}": -1.0 for k in range(3)}
    result = simulate(scene, Complementarity(), until=0.05, inputs=heavy)
    assert result.ok
    assert not result.contacts.between("plate", "ceiling").t.size
    assert result["box_z"][-1] == pytest.approx(-0.02, abs=1e-9)
    under = [name for name in scene.around().contacts if name.startswith("box_lift")]
    rest = equilibrium(scene, under)
    assert sum(rest.forces[f"force_{name}"] for name in under) == pytest.approx(0.5 * G, rel=1e-9)


def test_a_controller_that_reads_the_delta_s_motors_holds_it_in_a_scene():
    """It is given the robot's outputs y₁ … y₃, beside all coordinates, and its arms stay where they are."""
    scene = cell((0.05, 0.02, 0.42))
    result = simulate(scene, Complementarity(), until=0.5, controller=GravityCompensation())
    for name in ("z1", "z2", "z3", "y1"):
        assert np.ptp(result[name]) <= 1e-6, name
    assert result.units["z3"] == "m"
    assert result.kinds["y1"] == "output"
    assert result["y1"] == pytest.approx(result["q11"], abs=0.0)


def test_two_robots_whose_outputs_share_a_name_are_refused():
    scene = Scene("two")
    for k in (1, 2):
        b = ModelBuilder(f"cart{k}")
        x, v = b.coordinate(f"x{k}")
        b.kinetic(v**2 / 2)
        b.output("place", x, "m")
        scene.robot(b.build())
    with pytest.raises(InputError, match=r"'place' for robot 'cart1' and for robot 'cart2'"):
        simulate(scene, Complementarity(), until=0.1)


def brick_robot():
    """A brick that does not turn, as `delta_with_brick` has it, for a robot of its own."""
    b = ModelBuilder("brick_robot")
    x, v = zip(*(b.coordinate(f"brick{k + 1}", start) for k, start in enumerate((0.02, 0.0, 0.5))), strict=True)
    b.kinetic(0.06 * sum(speed**2 for speed in v) / 2)
    b.potential(-0.06 * G * x[2])
    b.link("brick", (x[0], -x[1], -x[2]))
    return b.build()


@pytest.mark.parametrize(
    "law", [None, KelvinVoigt(stiffness=2e4, damping=5.0, stick_stiffness=1e4, stick_damping=3.0)], ids=str
)
def test_a_delta_that_touches_a_brick_is_at_rest_and_has_poles_as_the_model_with_gaps(law):
    z, d = (0.02, 0.0, 0.42), 0.02
    model = robots.delta_with_brick(z=z, d1=d)
    scene = Scene("touch", friction=0.4)
    scene.fixed("table", HalfSpace(), at=(0, 0, -0.5))
    scene.robot(robots.delta(z=z, d1=d), {"flange": Placed(Sphere(0.01), at=(-0.01, 0, -0.05))})
    face, foot = Placed(Box(0.04, 0.04, 0.06), at=(0.02, 0, 0.05)), Placed(Sphere(0.01), at=(0.02, 0, 0.01))
    scene.robot(brick_robot(), {"brick": [face, foot]})
    scene.friction("flange", "brick", 0.0)
    kinematics = DeltaKinematics()
    u = torques(kinematics.follow(kinematics.inverse(z)), (0.1, 0.0, 0.0))
    contacts = [("finger", "table"), ("flange_brick", "brick_table")]
    own = equilibrium(model, contacts[0], inputs=u, law=law)
    rest = equilibrium(scene, contacts[1], inputs=u, law=law)
    for name in own.pose:
        assert rest.pose[name] == pytest.approx(own.pose[name], abs=1e-10), name
    assert own.forces["force_finger"] == pytest.approx(0.1, rel=1e-3)
    for one, other in zip(*contacts, strict=True):
        assert rest.forces[f"force_{other}"] == pytest.approx(own.forces[f"force_{one}"], rel=1e-8)
    poles = [
        np.sort_complex(linearize(x, at, closed, law=law).poles())
        for x, at, closed in ((model, own, contacts[0]), (scene, rest, contacts[1]))
    ]
    # Sliding speeds are bound in a scene, places in the model: poles at zero for where the brick stands.
    moving = [x[np.abs(x) > 1e-5] for x in poles]
    assert moving[0].size == moving[1].size >= 4
    assert np.abs(moving[0] - moving[1]).max() <= 1e-8 * np.abs(moving[0]).max()
    assert poles[1].size - moving[1].size <= 2
