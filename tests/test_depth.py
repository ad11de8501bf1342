"""Bodies in time steps: how deep they are in each other, and what impacts do to energy and momentum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from impinge import Box, Complementarity, HalfSpace, Placed, Scene, Sphere, simulate

DEEPEST = 10e-6  # m

# The oracle: two boxes are as deep in each other as the least translation that parts them, along a normal of a face or
# across an edge of each.


def box_gaps(at, axes, half, i, j):
    """Return the separation, or minus the depth, of pairs of boxes."""
    apart = at[j] - at[i]
    normals = [axes[i][:, :, k] for k in range(3)] + [axes[j][:, :, k] for k in range(3)]
    normals += [np.cross(axes[i][:, :, k], axes[j][:, :, m]) for k in range(3) for m in range(3)]
    gaps = np.full(i.size, -np.inf)
    for normal in normals:
        size = np.linalg.norm(normal, axis=1)
        n = normal / np.where(size > 1e-6, size, 1.0)[:, None]
        reach = sum((np.abs(np.einsum("pab,pa->pb", axes[k], n)) * half[k]).sum(axis=1) for k in (i, j))
        gaps = np.where(size > 1e-6, np.maximum(gaps, np.abs((n * apart).sum(axis=1)) - reach), gaps)
    return gaps


def depth(at, axes, half, planes):
    """Return how deep boxes are in each other, or in planes, at most."""
    gaps = [0.0]
    for point, normal in planes:
        gaps.append(((at - point) @ normal - (np.abs(np.einsum("pab,a->pb", axes, normal)) * half).sum(axis=1)).min())
    radius = np.linalg.norm(half, axis=1)
    i, j = np.triu_indices(len(at), 1)
    near = np.linalg.norm(at[i] - at[j], axis=1) < radius[i] + radius[j]
    if near.any():
        gaps.append(box_gaps(at, axes, half, i[near], j[near]).min())
    return -min(gaps)


def deepest(result, half, planes):
    """Return the largest depth of all rows."""
    n = len(half)
    at = np.stack([[result[f"b{k}_{c}"] for c in "xyz"] for k in range(n)])
    turn = np.stack([[result[f"b{k}_q{c}"] for c in "xyzw"] for k in range(n)])
    rows = range(result.t.size)
    return max(depth(at[:, :, t], Rotation.from_quat(turn[:, :, t]).as_matrix(), half, planes) for t in rows)


def test_the_rule_knows_how_deep_boxes_are():
    half, floor = np.full((2, 3), 0.5), [(np.zeros(3), np.array([0.0, 0.0, 1.0]))]
    diagonal = Rotation.from_rotvec([0, 0, np.pi / 4]).as_matrix()
    at = np.array([[0.0, 0.0, 0.49], [0.97 + (np.sqrt(0.5) - 0.5), 0.0, 0.7]])
    assert depth(at, np.stack([np.eye(3), diagonal]), half, []) == pytest.approx(0.03)
    assert depth(at, np.stack([np.eye(3), diagonal]), half, floor) == pytest.approx(0.03)
    assert depth(at - [0, 0, 0.1], np.stack([np.eye(3), diagonal]), half, floor) == pytest.approx(0.11)
    # Edges that cross: both turned by 45° about axes that are across each other.
    over = np.stack(
        [Rotation.from_rotvec([np.pi / 4, 0, 0]).as_matrix(), Rotation.from_rotvec([0, np.pi / 4, 0]).as_matrix()]
    )
    assert depth(np.array([[0, 0, 0], [0, 0, np.sqrt(2) - 0.02]]), over, half, []) == pytest.approx(0.02)


def pour(count, seed, small, large, walls=True, spin=0.0):
    """Boxes of random sizes and attitudes above a floor, or in a bin; half their edges; the planes."""
    rng = np.random.default_rng(seed)
    edges = rng.uniform(small, large, size=(count, 3))
    cell, side = 1.75 * large, max(2, int(np.ceil((count / 2) ** (1 / 3))))
    planes = [(np.zeros(3), np.array([0.0, 0.0, 1.0]))]
    bin_of = [Placed(HalfSpace())]
    for axis in range(2 if walls else 0):
        for sign in (-1.0, 1.0):
            normal, turn = np.zeros(3), np.zeros(3)
            normal[axis], turn[1 - axis] = sign, sign * (np.pi / 2 if axis == 0 else -np.pi / 2)
            planes.append((-0.51 * side * cell * normal, normal))
            bin_of.append(Placed(HalfSpace(), at=-0.51 * side * cell * normal, turn=turn))
    scene = Scene("pour", friction=float(rng.uniform(0.3, 0.6)))
    scene.fixed("bin", bin_of)
    for k in range(count):
        cells = np.array([k // side % side - (side - 1) / 2, k % side - (side - 1) / 2, k // side**2 + 0.5])
        turn, turning = Rotation.random(random_state=rng).as_matrix(), spin * rng.normal(size=3)
        at = cell * cells + [0, 0, 1e-3]
        scene.body(f"b{k}", Box(*edges[k].tolist()), density=800, at=at, turn=turn, spin=tuple(turning.tolist()))
    return scene, edges / 2, planes


def check_pour(count, seed, small, large, until, tolerance=1e-3, **how):
    scene, half, planes = pour(count, seed, small, large, **how)
    result = simulate(scene, Complementarity(step=1e-3, tolerance=tolerance), until=until, sample=1e-3)
    assert result.ok, result.reason
    found = deepest(result, half, planes)
    assert found < DEEPEST
    assert found == pytest.approx(result["deepest_penetration"][-1], abs=5e-8)  # the certificate says so, too
    assert result.solver.lifted < 1e-3 * (result["energy_potential"][0] + result["energy_kinetic"][0])


@pytest.mark.parametrize(("seed", "walls"), [(0, True), (1, False)])
def test_boxes_that_are_poured_are_never_deep_in_each_other(seed, walls):
    check_pour(10, seed, 0.03, 0.06, until=0.3, walls=walls, spin=10.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_nor_are_others(seed):
    rng = np.random.default_rng(seed)
    small = float(rng.uniform(0.03, 0.06))
    check_pour(30, seed, small, small + 0.04, until=0.6, walls=bool(seed % 2), spin=float(rng.choice([0.0, 10.0])))


@pytest.mark.slow
def test_nor_are_three_hundred():
    check_pour(300, 0, 0.03, 0.06, until=0.8)


# Impacts in free space

SMALLEST = 0.1  # edge of a box, m


def collision(seed):
    """Boxes that fly towards each other; their masses, and their inertias."""
    rng, masses, inertias = np.random.default_rng(seed), [], []
    scene = Scene("space", gravity=(0, 0, 0), friction=float(rng.choice([0.0, 0.3, 0.6])))
    for k in range(int(rng.integers(2, 5))):
        away = rng.normal(size=3)
        away /= np.linalg.norm(away)
        shape, mass = Box(*rng.uniform(SMALLEST, 0.2, 3).tolist()), float(rng.uniform(0.5, 2.0))
        masses.append(mass)
        inertias.append(shape.inertia / shape.volume * mass)
        at, velocity, spin = away * (0.4 + 0.3 * k), -away * rng.uniform(0.5, 1.5), 3 * rng.normal(size=3)
        turn = Rotation.random(random_state=rng).as_matrix()
        motion = {"velocity": tuple(velocity.tolist()), "spin": tuple(spin.tolist())}
        scene.body(f"b{k}", shape, mass=mass, at=at, turn=turn, **motion)
    return scene, masses, inertias


def momentum_of(result, masses, inertias):
    """Return linear and angular momentum in every row, and how large the parts of the angular one are at the start."""
    linear, angular, size = 0.0, 0.0, 0.0
    for k, (mass, inertia) in enumerate(zip(masses, inertias, strict=True)):
        x = np.stack([result[f"b{k}_{c}"] for c in "xyz"], axis=1)
        v = np.stack([result[f"b{k}_{c}_dot"] for c in "xyz"], axis=1)
        w = np.stack([result[f"b{k}_w{c}"] for c in "xyz"], axis=1)
        axes = Rotation.from_quat(np.stack([result[f"b{k}_q{c}"] for c in "xyzw"], axis=1))
        linear = linear + mass * v
        angular = angular + mass * np.cross(x, v) + axes.apply(w @ inertia)
        size += mass * SMALLEST * np.linalg.norm(v[0]) + np.linalg.norm(inertia @ w[0])
    return linear, angular, size


def check_collision(seed, restitution, step=1e-3):
    scene, masses, inertias = collision(seed)
    law = Complementarity(step=step, restitution=restitution)
    result = simulate(scene, law, until=0.8, sample=step)
    assert result.certificate.ok, result
    energy = result["energy_kinetic"]
    assert np.diff(energy).max() <= 1e-13 * energy[0]
    linear, angular, size = momentum_of(result, masses, inertias)
    assert np.abs(linear - linear[0]).max() <= 1e-12
    drift = np.linalg.norm(angular - angular[0], axis=1).max() / size
    # What slides while positions still move along the velocity that closes a gap is lost, and what is moved apart.
    assert drift <= 3.0 * step
    return bool(result.events)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_impacts_in_free_space_create_no_energy_and_keep_momentum(restitution):
    assert sum(check_collision(seed, restitution) for seed in (2, 6, 23, 37, 57, 265)) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_very_many_impacts_in_free_space_do(restitution):
    assert sum(check_collision(seed, restitution) for seed in range(300)) > 100


def check_coarse_collision(seed, restitution, tolerance):
    """What the solver misses may give energy, impulse times miss; what returns or rebounds gives none beyond that."""
    scene, _, _ = collision(seed)
    result = simulate(scene, Complementarity(step=1e-3, restitution=restitution, tolerance=tolerance), until=0.8)
    energy = result["energy_kinetic"]
    assert np.diff(energy).max() <= 0.1 * tolerance * energy[0], seed


@pytest.mark.filterwarnings("ignore::impinge.errors.ImpingeWarning")
@pytest.mark.parametrize(("restitution", "tolerance"), [(0.0, 1e-3), (0.5, 1e-3), (1.0, 1e-3), (1.0, 1e-2)])
def test_impacts_that_are_solved_coarsely_create_far_less_energy_than_their_tolerance(restitution, tolerance):
    for seed in range(40):
        check_coarse_collision(seed, restitution, tolerance)


def test_a_paddle_that_strikes_a_ball_gives_energy_and_is_not_taken_back():
    scene = Scene("paddle", gravity=(0, 0, 0), friction=0.0)
    scene.moving("paddle", lambda t: (3.0 * t - 0.2, 0, 0), Box(0.1, 0.5, 0.5))
    scene.body("ball", Sphere(0.05), mass=0.2)
    result = simulate(scene, Complementarity(step=1e-3, restitution=0.8), until=0.1)
    assert result["ball_x_dot"][-1] == pytest.approx(1.8 * 3.0, rel=1e-12)
    assert result.solver.created <= 1e-12


def test_what_is_taken_back_of_one_impact_leaves_another_its_rebound():
    """A rod that lands on one end with much friction would gain by Newton's hypothesis (T. R. Kane 1984)."""
    speeds = {}
    for parts in ("ball", "rod", "both"):
        scene = Scene("impacts", gravity=(0.0, 0.0, 0.0), friction=1.0)
        scene.fixed("floor", HalfSpace())
        if parts != "rod":
            scene.body("ball", Sphere(0.1), mass=1.0, at=(3.0, 0.0, 0.1005), velocity=(0.0, 0.0, -1.0))
        if parts != "ball":
            half = np.array([0.5 * np.cos(1.0) + 0.01 * np.sin(1.0), 0.5 * np.sin(1.0) + 0.01 * np.cos(1.0)])
            at, turn = (0.0, 0.0, half[1] + 5e-4), (0.0, -1.0, 0.0)
            scene.body("rod", Box(1.0, 0.02, 0.02), mass=1.0, at=at, turn=turn, velocity=(-0.7, 0.0, -1.0))
        result = simulate(scene, Complementarity(1.0, step=1e-4), until=2e-3)
        energy = result["energy_kinetic"]
        assert energy.max() <= energy[0] * (1 + 1e-9)
        speeds |= {(parts, name): result[f"{name}_z_dot"][-1] for name in ("ball", "rod") if parts in (name, "both")}
    assert speeds["both", "ball"] == pytest.approx(1.0, abs=1e-9)
    assert speeds["both", "ball"] == pytest.approx(speeds["ball", "ball"], abs=1e-12)
    assert speeds["both", "rod"] == pytest.approx(speeds["rod", "rod"], abs=1e-9)
