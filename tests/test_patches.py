"""Surfaces in time steps: edges that meet span a cone of normals, faces that spin have the friction of a patch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from impinge import Box, Complementarity, ConvexMesh, Cylinder, HalfSpace, Placed, Scene, simulate
from impinge.geometry.spread import polygon_spread

G = 9.81


# Edges that meet

CARD = (0.0003, 0.063, 0.088)  # m


def leaning_cards(mu, angle, gap=0.0, card=CARD, yaw=0.0, step=1e-3, until=1.0):
    """How far two cards sink that lean at an angle from the vertical, their upper edges apart by a gap."""
    scene = Scene("cards", friction=mu)
    scene.fixed("floor", HalfSpace())
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * card / 2
    for name, side in (("left", 1), ("right", -1)):
        turn = (Rotation.from_rotvec((0, 0, side * yaw / 2)) * Rotation.from_rotvec((0, side * angle, 0))).as_matrix()
        x, _, z = (corners @ turn.T).T
        at = (-side * ((side * x).max() + gap / 2), 0, -z.min())
        scene.body(name, Box(*card), density=1300, at=at, turn=turn)
    result = simulate(scene, Complementarity(step=step), until=until)
    assert result.ok, result.reason
    return abs(result["left_z"][0] - result["left_z"][-1])


def needed(angle, card=CARD):
    """The friction that leaning cards need: half the slope, less what their thickness helps."""
    return np.tan(angle) / 2 - card[0] / (2 * card[2])


@pytest.mark.parametrize("gap", [0.0, 1e-7, 1e-5])
@pytest.mark.parametrize("mu", [0.17, 0.19, 0.25, 0.3])
def test_cards_that_lean_at_twenty_degrees_stand_if_friction_holds_their_feet(mu, gap):
    sunk = leaning_cards(mu, np.radians(20), gap)
    if mu > needed(np.radians(20)):
        assert sunk < gap + 1e-9
    else:
        assert sunk > 0.03


def check_cards(seed):
    rng = np.random.default_rng(seed)
    angle, card = rng.uniform(0.12, 0.6), (float(rng.choice([3e-4, 1e-3, 3e-3])), rng.uniform(0.03, 0.1), 0.088)
    gap, yaw = float(rng.choice([0, 1e-8, 1e-6, 1e-5])), float(rng.choice([0, 1e-7, 1e-6, 1e-5, 1e-4]))
    kind = {"gap": gap, "card": card, "yaw": yaw, "step": float(rng.choice([5e-4, 1e-3, 2e-3]))}
    for share in (1.05, 1.5, 3.0):
        assert leaning_cards(share * needed(angle, card), angle, **kind) < 2 * gap + 0.1 * yaw + 1e-9
    assert leaning_cards(0.93 * needed(angle, card), angle, **kind) > 0.02


@pytest.mark.parametrize("seed", range(3))
def test_cards_stand_from_the_friction_of_the_closed_form_on(seed):
    check_cards(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_very_many_cards_do(seed):
    check_cards(seed)


def wedge(angle):
    """A prism along y whose edge at the origin points along x, with faces at ± angle from x."""
    back = [(-0.1, side * 0.1 * np.tan(angle)) for side in (-1, 1)]
    return ConvexMesh.hull([(x, y, z) for x, z in ((0, 0), *back) for y in (-0.1, 0.1)])


def meeting_wedges(velocity, lean, seed):
    """A wedge in space whose edge meets that of another, which stands still."""
    rng = np.random.default_rng(seed)
    scene = Scene("wedges", gravity=(0, 0, 0), friction=0.0)
    scene.fixed("other", wedge(rng.uniform(0.3, 0.7)), turn=(0, np.pi, 0))
    scene.body("one", wedge(rng.uniform(0.3, 0.7)), mass=1.0, turn=(0, lean, 0), velocity=velocity)
    result = simulate(scene, Complementarity(), until=0.05)
    assert result.ok, result.reason
    return result


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("speed", [-1.0, -0.01, 0.01, 1.0])
def test_edges_that_meet_and_slide_off_each_other_do_not_hold_each_other_back(speed, seed):
    result = meeting_wedges((0, 0, speed), 0.1 * seed - 0.15, seed)
    assert result["one_z_dot"][-1] / speed > 0.5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("speed", [0.01, 1.0])
def test_edges_that_run_into_each_other_head_on_stop_without_turning_off(speed, seed):
    result = meeting_wedges((speed, 0, 0), 0.0, seed)
    assert np.abs([result[f"one_{name}"][-1] for name in ("x_dot", "z_dot", "wy")]).max() < 1e-9


# Faces that spin


def spin_down(shape, support, mu, spin, height, until, step=1e-3):
    """When a body that spins flat on a table stops, and its result."""
    scene = Scene("spin", friction=mu)
    scene.fixed("table", support, at=(0, 0, 0 if isinstance(support, HalfSpace) else -0.05))
    scene.body("b", shape, density=8000, at=(0, 0, height / 2), spin=(0, 0, spin))
    result = simulate(scene, Complementarity(step=step), until=until, sample=step)
    assert result.ok, result.reason
    still = np.abs(result["b_wz"]) < 1e-9 * abs(spin)
    assert still[-1]
    return result.t[int(np.argmax(still))], result


def hulled_coin(radius, height, corners=64):
    angle = 2 * np.pi * np.arange(corners) / corners
    return ConvexMesh.hull(
        [(radius * np.cos(a), radius * np.sin(a), z) for a in angle for z in (-height / 2, height / 2)]
    )


TABLES = {"half-space": HalfSpace(), "box": Box(1, 1, 0.1), "cylinder": Cylinder(0.5, 0.1)}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("coin", ["cylinder", "hull"])
def test_a_coin_that_spins_flat_on_a_table_stops_when_a_uniform_pressure_says(coin, table):
    """The moment is 2/3 μ m g R against the inertia m R²/2: t = 3 R ω / (4 μ g)."""
    radius, height, mu, spin = 0.05, 0.004, 0.3, 50.0
    exact = 3 * radius * spin / (4 * mu * G)
    assert exact == pytest.approx(0.637, abs=1e-3)
    shape = Cylinder(radius, height) if coin == "cylinder" else hulled_coin(radius, height)
    stopped, result = spin_down(shape, TABLES[table], mu, spin, height, 1.2 * exact)
    assert stopped == pytest.approx(exact, rel=0.02)
    assert np.hypot(result["b_x"][-1], result["b_y"][-1]) < 0.01 * radius


def check_spin(seed):
    """Random boxes and coins: the moment of a rectangle is μ m g times its mean distance from its center."""
    rng = np.random.default_rng(seed)
    mu, spin, step = rng.uniform(0.1, 0.8), rng.uniform(10, 60), float(rng.choice([5e-4, 1e-3]))
    a, b, height = rng.uniform(0.02, 0.1), rng.uniform(0.02, 0.1), rng.uniform(0.002, 0.01)
    if rng.random() < 0.5:
        x, y = (np.arange(400) + 0.5) / 400 * a, (np.arange(400) + 0.5) / 400 * b
        shape, mean, square = Box(2 * a, 2 * b, height), np.hypot(x[:, None], y).mean(), (a * a + b * b) / 3
    else:
        shape, mean, square = Cylinder(a, height), 2 * a / 3, a * a / 2
    exact = square * spin / (mu * G * mean)
    table = TABLES[str(rng.choice(list(TABLES)))]
    stopped, _ = spin_down(shape, table, mu, spin, height, 1.2 * exact, step)
    assert stopped == pytest.approx(exact, rel=0.02, abs=2 * step)


@pytest.mark.parametrize("seed", range(4))
def test_a_face_that_spins_stops_when_the_moment_of_its_patch_says(seed):
    check_spin(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_very_many_faces_that_spin_do(seed):
    check_spin(seed)


@pytest.mark.parametrize("heading", [0.0, 0.7, np.pi / 2])
def test_friction_of_a_face_acts_at_its_center_of_pressure(heading):
    """A plate with a weight at its side slides without turning: friction goes through the center of mass."""
    scene = Scene("plate", friction=0.3)
    scene.fixed("floor", HalfSpace())
    parts = [Placed(Box(0.2, 0.2, 0.01)), Placed(Box(0.06, 0.06, 0.02), at=(0.07, 0, 0.015))]
    velocity = (np.cos(heading), np.sin(heading), 0)
    scene.body("b", parts, density=1000, at=(0, 0, 0.005), velocity=velocity)
    result = simulate(scene, Complementarity(), until=0.5)
    turned = np.abs(2 * np.arctan2(result["b_qz"], result["b_qw"])).max()
    way = np.hypot(result["b_x"][-1] - result["b_x"][0], result["b_y"][-1] - result["b_y"][0])
    assert way == pytest.approx(1 / (2 * 0.3 * G), rel=0.02)
    assert turned < 0.01


def check_spread(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(3, 12)), 2)) * rng.uniform(0.1, 3, size=2)
    loop = ConvexHull(points).vertices.astype(np.int64)
    corners = points[loop]
    # Triangles from a corner, each cut into many.
    n, areas, places = 120, [], []
    i, j = np.meshgrid(np.arange(n), np.arange(n))
    u, v = (
        np.r_[(i + 1 / 3)[i + j < n], (i + 2 / 3)[i + j < n - 1]] / n,
        np.r_[(j + 1 / 3)[i + j < n], (j + 2 / 3)[i + j < n - 1]] / n,
    )
    for one, other in itertools.pairwise(corners[1:]):
        p, q = one - corners[0], other - corners[0]
        places.append(corners[0] + u[:, None] * p + v[:, None] * q)
        areas.append(np.full(len(u), abs(p[0] * q[1] - p[1] * q[0])))
    place, area = np.concatenate(places), np.concatenate(areas)
    center = area @ place / area.sum()
    exact = area @ np.linalg.norm(place - center, axis=1) / area.sum()
    turn = Rotation.random(random_state=rng).as_matrix()
    V = np.column_stack([points, np.zeros(len(points))]) @ turn.T + rng.normal(size=3)
    assert polygon_spread(V, loop, len(loop)) == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize("seed", range(20))
def test_the_spread_of_a_polygon_is_the_mean_distance_from_its_center(seed):
    check_spread(seed)


def test_the_spread_of_a_polygon_without_area_is_a_quarter_of_its_length():
    V = np.array([[0, 0, 0], [3.0, 0, 4.0], [1.5, 0, 2.0]])
    assert polygon_spread(V, np.arange(3), 3) == pytest.approx(1.25)
