"""Steps where contacts are stiff: their order, what they cost, and that they change no result."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from friction_models import feet
from impinge import (
    Adaptive,
    Baumgarte,
    Box,
    ConvexMesh,
    ExponentialHuntCrossley,
    HalfSpace,
    HuntCrossley,
    InputError,
    KelvinVoigt,
    Scene,
    simulate,
)
from impinge.compile import Struct, Vector, entry
from impinge.errors import ImpingeWarning
from impinge.model import WORKS
from impinge.simulation.check import laws_of
from impinge.simulation.integrate.implicit import implicit_step
from impinge.simulation.integrate.step import dense_state
from impinge.simulation.run import plant_of
from impinge.simulation.scenes.model import SceneModel
from impinge.simulation.system.dynamics import right_hand_side
from impinge.simulation.system.plant import FORCE, KEPT, KNOWN, Plant, Workspace, workspace
from models import shaker

G = 9.81


@entry
def inside(plant: Plant, w: Workspace, h: float, theta: float, y: Vector) -> int:
    """Write the state at θ of the step just computed."""
    dense_state(plant, w, h, theta, y)
    return 0


def test_a_stiff_step_is_of_order_five_and_its_path_of_order_four():
    model, law, start, t = shaker(), HuntCrossley(stiffness=2e3, damping=0.4), (-0.03, 0.1), 0.2
    A, w = 0.0, 8.0

    def exact(t, y):
        gap, rate = y[0] - A * np.sin(w * t), y[1] - A * w * np.cos(w * t)
        return [y[1], -G + 2e3 * max(-gap, 0.0) ** 1.5 * (1 - 0.4 * rate)]

    plant = plant_of(model, laws_of(model, law), model.parameter_vector({"A": A, "w": w}), (400, 40), Adaptive(), 1.0)
    room, y = workspace(plant, model.dynamics), np.zeros(0)
    packed = Struct(plant), Struct(room)
    ends, paths = [], []
    for h in (0.01, 0.005):
        room.y[:2], room.mode[0], room.counts[:] = start, 1, 0
        right_hand_side(*packed, t, room.y, room.K[0])
        room.rows_start[:] = room.rows
        implicit_step(*packed, t, h)
        truth = solve_ivp(exact, (t, t + h), start, "DOP853", rtol=1e-13, atol=1e-15, dense_output=True).sol
        y = np.zeros(room.y.size)
        inside(*packed, h, 1.0, y)
        assert np.abs(y[:2] - room.trial[:2]).max() <= 1e-15
        ends.append(np.abs(room.trial[:2] - truth(t + h)).max())
        errors = []
        for theta in np.linspace(0.05, 0.95, 19):
            inside(*packed, h, theta, y)
            errors.append(np.abs(y[:2] - truth(t + theta * h)).max())
        paths.append(max(errors))
    # One step is off by one order more than many of them.
    assert np.log2(ends[0] / ends[1]) >= 5.8
    assert np.log2(paths[0] / paths[1]) >= 4.6


@pytest.mark.parametrize("seed", range(8))
def test_a_light_body_on_a_stiff_table_that_moves_follows_it_as_another_solver_says(seed):
    rng = np.random.default_rng(seed)
    k, c = 10 ** rng.uniform(4, 6), 10 ** rng.uniform(2.5, 4)
    A, w, f = 10 ** rng.uniform(-3, -1.5), rng.uniform(2, 12), rng.uniform(0, 6)
    start = {"z": A * np.sin(f) - G / k, "z_dot": A * w * np.cos(f)}
    settings = {"until": 2.0, "start": start, "parameters": {"A": A, "w": w, "f": f}, "sample": 0.1}
    result = simulate(shaker(), KelvinVoigt(stiffness=k, damping=c), **settings)
    assert result.ok, result.reason
    assert result.certificate.ok

    def exact(t, y):
        gap, rate = y[0] - A * np.sin(w * t + f), y[1] - A * w * np.cos(w * t + f)
        return [y[1], -G - k * gap - c * rate]

    truth = solve_ivp(exact, (0, 2), list(start.values()), "Radau", rtol=1e-11, atol=1e-13, t_eval=result.t)
    assert np.abs(result["z"] - truth.y[0]).max() <= 1e-8
    explicit = simulate(shaker(), KelvinVoigt(stiffness=k, damping=c), method=Adaptive(implicit=False), **settings)
    assert np.abs(result["z"][-1] - explicit["z"][-1]) <= 1e-8
    assert result.certificate.evaluations <= 1.02 * explicit.certificate.evaluations


def pressed(system, law, rng, scale):
    """Return plant and workspace of a system near its start, with everything that is low closed, and bristles bent."""
    laws = laws_of(system, law)
    p = system.parameter_vector({})
    plant = plant_of(system, laws, p, (400, 40), Adaptive(), 1.0)
    room = workspace(plant, system.dynamics)
    q, v = system.start_vectors({})
    if isinstance(system, SceneModel):
        system.start(q, v, system.input_vector({}))
    q, v = q + 1e-3 * rng.normal(size=q.size), v + scale * rng.normal(size=v.size)
    gaps = system.dynamics(q, v, 0.0, system.input_vector({}), p)["g"][plant.nh : plant.nh + plant.nc].ravel()
    low = np.argsort(gaps)[:3]
    height = [x.name for x in system.coordinates].index("chip_z" if isinstance(system, SceneModel) else "z")
    q[height] -= gaps[low[-1]] + 1e-5
    room.y[: q.size + v.size] = np.concatenate([q, v])
    for c in low:
        room.mode[c] = rng.choice([plant.closing[c], plant.sliding[c]]) if plant.bristled[c] else plant.closing[c]
    bristles = plant.nq + plant.nv + plant.nc + plant.nt
    room.y[bristles : bristles + plant.nb] = 1e-6 * rng.normal(size=plant.nb)
    return plant, room


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("law", [KelvinVoigt(), HuntCrossley(), ExponentialHuntCrossley()], ids=str)
def test_the_slopes_of_a_stiff_step_are_those_of_the_equations_found_anew_or_kept(law, seed):
    rng = np.random.default_rng(seed)
    mixed = {"foot0": law, "foot1": Baumgarte(a0=1e4, a1=200, a2=0), "foot2": law}
    for system, laws in ((SceneModel(chip(rng)), law), (feet(3), mixed)):
        plant, room = pressed(system, laws, rng, 0.1)
        packed, size = (Struct(plant), Struct(room)), room.y.size
        for kept in (0, 1):
            if kept and not room.implicit.active[1]:
                break
            if kept:  # forces are others by now, but it is about where it was, and about as fast
                room.y[plant.nq : plant.nq + plant.nv] += 1e-5 * rng.normal(size=plant.nv)
                room.y[2] -= 1e-5
            right_hand_side(*packed, 0.0, room.y, room.K[0])
            room.mode[room.rows[FORCE, plant.nh : plant.nh + plant.nc] == 0] = 0  # what would pull is open
            right_hand_side(*packed, 0.0, room.y, room.K[0])
            room.rows_start[:] = room.rows
            room.counts[KNOWN], room.counts[KEPT] = 0, kept
            implicit_step(*packed, 0.0, 1e-7)
            assert np.isfinite(room.implicit.error[0])
            up, down = np.zeros(size), np.zeros(size)
            for j, i in enumerate(room.implicit.places[: room.implicit.active[0]]):
                step, y = 1e-8, room.y.copy()
                y[i] += step
                right_hand_side(*packed, 0.0, y, up)
                y[i] -= 2 * step
                right_hand_side(*packed, 0.0, y, down)
                truth = (up - down) / (2 * step)
                assert np.abs(room.implicit.slopes[j] - truth).max() <= 1e-3 * (1 + np.abs(truth).max())
                work = slice(size - len(WORKS) - plant.nr, size)
                assert room.implicit.slopes[j][work] == pytest.approx(truth[work], rel=1e-3, abs=1e-4)


def chip(rng):
    """Return a scene of a flat light body of random corners that falls on a floor."""
    scene = Scene("chip", friction=float(rng.uniform(0.2, 0.8)))
    scene.fixed("floor", HalfSpace())
    corners = rng.normal(size=(6, 3)) * [0.05, 0.05, 0.002]
    turn = np.array([1.0, *rng.normal(size=3) * 0.3])
    at = (0, 0, 0.15)
    scene.body("chip", ConvexMesh.hull(corners), density=700, at=at, turn=tuple(turn / np.linalg.norm(turn)))
    return scene


@pytest.mark.parametrize("seed", range(4))
def test_a_light_chip_comes_to_rest_where_explicit_steps_say_for_a_fraction_of_their_work(seed):
    scene = chip(np.random.default_rng(seed))
    runs = []
    for method in (Adaptive(), Adaptive(implicit=False)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ImpingeWarning)
            runs.append(simulate(scene, KelvinVoigt(), until=1.5, sample=0.05, method=method))
    implicit, explicit = runs
    assert implicit.certificate.evaluations <= 0.4 * explicit.certificate.evaluations
    for name in ("chip_x", "chip_y", "chip_z", "chip_qw", "chip_qx", "chip_qy", "chip_qz"):
        assert implicit[name][-1] == pytest.approx(explicit[name][-1], abs=1e-6)
    for name in ("chip_x_dot", "chip_y_dot", "chip_z_dot", "chip_wx", "chip_wy", "chip_wz"):
        assert abs(implicit[name][-1]) <= 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_light_plate_on_stiff_contacts_neither_hangs_nor_sticks_and_slides_without_end(seed):
    rng = np.random.default_rng(seed)
    scene = Scene("plate", friction=float(rng.uniform(0.2, 0.6)))
    scene.fixed("table", HalfSpace())
    sides = rng.uniform([0.02, 0.02, 0.001], [0.05, 0.05, 0.003])
    turn = tuple(rng.uniform(0.05, 0.35, 3).tolist())
    scene.body("plate", Box(*sides.tolist()), density=1200, at=(0, 0, 0.06), turn=turn)
    law = KelvinVoigt(float(10 ** rng.uniform(5.5, 6.5)), 300.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImpingeWarning)
        result = simulate(scene, law, until=1.0, sample=0.05)
    assert len(result.events) <= 300
    assert result.certificate.evaluations <= 500_000


def test_a_bristle_about_at_its_limit_does_not_stick_and_slide_without_end():
    scene = Scene("plate", friction=0.4)
    scene.fixed("table", HalfSpace())
    scene.body("plate", Box(0.04, 0.03, 0.002), density=1250, at=(0, 0, 0.05), turn=(0.3, 0.2, 0.1))
    result = simulate(scene, KelvinVoigt(1e6, 300.0), until=1.0, sample=0.05, method=Adaptive(budget=2000))
    assert result.ok, result.reason
    assert len(result.events) <= 100


@pytest.mark.parametrize("implicit", [0, 1.0, "yes", None])
def test_whether_steps_may_be_implicit_is_true_or_false(implicit):
    with pytest.raises(InputError, match="method Adaptive: expected implicit = True or False, got"):
        Adaptive(implicit=implicit)
