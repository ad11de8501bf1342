"""Rest of islands: what stands beside something that moves sleeps, wakes when it is touched, and moves as if awake."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from impinge import Box, Complementarity, HalfSpace, Scene, Sphere, simulate
from impinge.errors import ImpingeWarning


def stack(belt, boxes=6, thrown=None):
    scene = Scene("rest", friction=0.5)
    scene.fixed("ground", HalfSpace())
    for k in range(boxes):
        scene.body(f"b{k}", Box(0.2, 0.2, 0.1), mass=1.0, at=(0, 0, 0.05 + 0.1 * k))
    if belt:
        scene.moving("belt", lambda t: (5 + 0.3 * t, 0, 0.05), Box(4, 0.3, 0.1))
        scene.body("rider", Box(0.1, 0.1, 0.1), mass=1.0, at=(5, 0, 0.15))
    if thrown is not None:
        scene.body("ball", Sphere(0.05), mass=0.5, at=(-0.8, 0.02, 0.45), velocity=(thrown, 0.0, 1.2))
    return scene


@pytest.mark.parametrize("tolerance", [1e-10, 1e-3])
def test_a_stack_sleeps_beside_a_conveyor(tolerance):
    law = Complementarity(step=1e-3, tolerance=tolerance)
    alone, beside = simulate(stack(False), law, until=0.3), simulate(stack(True), law, until=0.3)
    for name, kind in alone.kinds.items():
        if kind in ("coordinate", "velocity"):
            np.testing.assert_array_equal(beside[name], alone[name])
    assert beside.solver.kept > 280 * 24
    assert beside["rider_x_dot"][-1] == pytest.approx(0.3, rel=1e-6)
    at_end = beside.contacts.at_row(beside.t.size - 1)
    assert at_end.force_on("b0", beside.t.size)[-1] == pytest.approx([0.0, 0.0, 9.81], abs=1e-9)
    assert -at_end.force_on("ground", beside.t.size)[-1, 2] > 6 * 9.81 - 1e-6


def test_what_hits_a_sleeping_stack_wakes_it():
    """Until the ball comes near, nothing of the stack moves by a bit."""
    law = Complementarity(step=1e-3)
    r = simulate(stack(True, thrown=3.0), law, until=0.6)
    assert r.ok, r.reason
    assert r.solver.kept > 100 * 24  # while the ball flies
    struck = int(np.argmax(np.abs(r["b4_x_dot"]) + np.abs(r["b3_x_dot"]) > 1e-3))
    assert 0.1 < r.t[struck] < 0.35
    assert (r["b4_x"][: struck - 1] == 0.0).all()
    assert np.abs(r["b4_x"][-1]) + np.abs(r["b3_x"][-1]) > 1e-3


def test_a_table_that_is_taken_away_drops_what_slept_on_it():
    import casadi as ca

    scene = Scene("table", friction=0.5)
    scene.moving("table", lambda t: (0, 0, -0.05 - 5 * ca.fmax(t - 0.1, 0) ** 2 * 2), Box(1, 1, 0.1))
    scene.body("b", Box(0.1, 0.1, 0.1), mass=1.0, at=(0, 0, 0.05))
    r = simulate(scene, Complementarity(step=1e-3), until=0.3)
    assert r.solver.kept == 0
    assert r["b_z"][-1] < 0.05 - 0.15


def test_steps_of_another_length_wake_everything():
    """A controller whose ticks are no multiples of the step shortens steps, and impulses with them."""
    law = Complementarity(step=1e-3)
    r = simulate(stack(True), law, until=0.0505, sample=1e-4)
    last = r.contacts.at_row(r.t.size - 1)
    assert last.force_on("b0", r.t.size)[-1] == pytest.approx([0.0, 0.0, 9.81], abs=1e-8)


def test_stones_that_nearly_contradict_each_other_are_solved_to_the_tolerance():
    """Nudged arches: impulses drift until a stone slides, which a step has to wait for."""
    from impinge.studies.scenes.standing import arch

    missed = []
    for seed in range(20):
        scene, rng = arch(), np.random.default_rng(seed)
        nudge = {f"stone_{k}_{x}_dot": float(0.03 * rng.normal()) for k in range(1, 8) for x in "xy"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImpingeWarning)
            r = simulate(scene, Complementarity(step=2e-3), until=0.2, start=nudge)
        assert r.ok, r.reason
        missed.append(r.solver.missed)
    assert sum(missed) == 0
