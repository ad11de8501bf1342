"""No gap closes unseen along the dense output of a step, however narrow what it meets."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from impinge import Adaptive, Baumgarte, FixedStep, Impact, InputError, ModelBuilder, Scene, robots, simulate
from impinge.geometry import Box, HalfSpace, Sphere
from proof_cases import LAWS, STEPS, first_contact, is_lost, over_bumps, pulse, random_case, under_a_body


def without_proof(longest: float) -> Adaptive:
    return Adaptive(max_step=longest, prove=False)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", [over_bumps, under_a_body, pulse])
def test_no_narrow_contact_is_lost(kind: Any, law: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(12):
        case = kind(rng)
        found, result = first_contact(case, law)
        assert not is_lost(case, found), (case, found, result.reason)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_narrow_contact_is_lost_in_many_random_runs(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    for _ in range(500):
        case = random_case(rng)
        for law in LAWS:
            found, result = first_contact(case, law)
            assert not is_lost(case, found), (case, law, found, result.reason)


def test_without_proof_narrow_contacts_are_lost_and_nothing_is_counted() -> None:
    rng = np.random.default_rng(3)
    lost = 0
    for _ in range(20):
        case = pulse(rng)
        found, result = first_contact(case, "impact", without_proof)
        lost += is_lost(case, found)
        assert (result.certificate.proved, result.certificate.unproved) == (0, 0)
        assert "unseen" not in str(result.certificate)
    assert lost > 10


def test_a_fixed_grid_loses_nothing_either() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        case = over_bumps(rng)
        found, _ = first_contact(case, "impact", FixedStep)
        assert not is_lost(case, found)


def test_the_certificate_counts_the_steps_of_open_contacts() -> None:
    result = simulate(robots.block(height=0.3, angle=0.3), Impact(0.5), until=0.2)
    certificate = result.certificate
    assert certificate.proved == 2 * len(result.steps)  # two corners, both open
    assert certificate.unproved == 0
    text = f"in {certificate.proved} of {certificate.proved} steps of open contacts"
    assert text in str(certificate)
    assert certificate.to_dict()["proved"] == certificate.proved


def flat_ceiling() -> Any:
    b = ModelBuilder("thrown")
    z, v = b.coordinate("z", start=0.5, speed=2.0)
    b.kinetic(v**2 / 2)
    b.potential(9.81 * z)
    b.gap("ceiling", b.parameter("h", 1.0) - z)
    return b.build()


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-9])
def test_polynomials_prove_flat_surfaces(depth: float) -> None:
    """The highest point of a throw, however little it would pass the ceiling."""
    model, top = flat_ceiling(), 0.5 + 2.0 / 9.81
    contact = (2.0 - np.sqrt(2 * 9.81 * depth)) / 9.81
    result = simulate(model, Impact(0.5), until=10.0, parameters={"h": top - depth})
    assert result.events[0].time == pytest.approx(contact, abs=1e-7)
    assert model.bounds.kernels == (None,)
    assert result.certificate.unproved == 0


def discs(apart: float) -> Any:
    """Two discs of diameter 1 that fall side by side."""
    b = ModelBuilder("discs")
    pairs = [(b.coordinate(f"x{k}", start=k * (1.0 + apart)), b.coordinate(f"z{k}")) for k in range(2)]
    b.kinetic(sum((vx**2 + vz**2) / 2 for (_, vx), (_, vz) in pairs))
    b.potential(sum(9.81 * z for _, (z, _) in pairs))
    (first, _), (second, _) = pairs[0][0], pairs[1][0]
    b.gap("discs", ca.hypot(second - first, pairs[1][1][0] - pairs[0][1][0]) - 1.0)
    return b.build()


@pytest.mark.parametrize("apart", [1e-3, 1e-9, 1e-13, 0.0])
def test_what_falls_side_by_side_is_proved_apart(apart: float) -> None:
    result = simulate(discs(apart), Impact(0.5), until=3.0)
    assert result.events == ()
    assert result.certificate.unproved == 0


def egg(height: float) -> Any:
    """An ellipse that turns about its center at a height at which its lowest point is that far from the floor."""
    b = ModelBuilder("egg")
    angle, spin = b.coordinate("angle", speed=1.0)
    b.kinetic(spin**2 / 2)
    b.gap("floor", 1.0 + height - ca.sqrt(ca.cos(angle) ** 2 + (0.5 * ca.sin(angle)) ** 2))
    return b.build()


def test_what_hovers_is_proved_or_counted_and_nothing_happens() -> None:
    for height, least in ((1e-2, 1.0), (1e-6, 0.9), (0.0, 0.8)):
        result = simulate(egg(height), Impact(0.5), until=20.0)
        certificate = result.certificate
        assert result.events == ()
        assert certificate.proved >= least * (certificate.proved + certificate.unproved)
    touched = simulate(egg(-1e-6), Impact(0.5), until=20.0, start={"angle": np.pi / 2})
    turned = np.pi / 2 - np.arcsin(np.sqrt((1 - (1 - 1e-6) ** 2) / 0.75))
    assert touched.events[0].time == pytest.approx(turned, abs=1e-7)


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one.signals) and one.events == other.events


def test_proofs_change_nothing_where_nothing_was_lost() -> None:
    runs: list[tuple[Any, Any, float]] = [
        (robots.ball(), Baumgarte(), 2.0),
        (robots.block(height=0.3, angle=0.3), Impact(0.5), 2.0),
        (robots.block(height=0.0, angle=0.0), Baumgarte(), 1.0),
        (discs(0.1), Impact(0.5), 1.0),
    ]
    for model, law, until in runs:
        one, other = (simulate(model, law, until=until, method=Adaptive(prove=prove)) for prove in (True, False))
        assert same(one, other)


def test_beyond_the_end_of_a_surface_a_narrow_bump_is_passed() -> None:
    b = ModelBuilder("edge")
    (x, vx), (z, vz) = b.coordinate("x", speed=1.0), b.coordinate("z", start=0.5)
    b.kinetic((vx**2 + vz**2) / 2)
    b.gap("bump", z - ca.exp(-(((x - 1.0) / 1e-4) ** 2)), extent=b.parameter("end", 2.0) - x)
    model, contact = b.build(), 1.0 - 1e-4 * np.sqrt(np.log(2.0))
    for end, after in ((2.0, "Free"), (0.5, "Passed")):
        result = simulate(model, Impact(1.0), until=1.0, parameters={"end": end})
        first = result.events[0]
        assert (first.before, first.after) == ("Free", after)
        assert first.time == pytest.approx(contact, abs=1e-9)


def test_a_ballistic_flight_that_begins_above_its_surface_ends_on_a_narrow_bump() -> None:
    """A contact that lets go at γ > 0 stays Ballistic; what it meets in that mode is seen as well."""
    b = ModelBuilder("ballistic")
    (x, vx), (z, vz) = b.coordinate("x", speed=1.0), b.coordinate("z", start=0.1)
    b.kinetic((vx**2 + vz**2) / 2)
    b.potential(9.81 * z)
    b.gap("ground", z - 0.5 * ca.exp(-(((x - b.parameter("at", 9.0)) / 1e-5) ** 2)))
    model, law = b.build(), Baumgarte(a0=100, a1=0, a2=1e6)
    flat = simulate(model, law, until=0.6)
    (left,) = flat.times("ground", after="Ballistic")[:1]
    at = float(left + 0.05)
    assert flat["mode_ground"][np.searchsorted(flat.t, at)] == 2  # Ballistic
    result = simulate(model, law, until=0.6, parameters={"at": at})
    again = [event.time for event in result.events if event.before == "Ballistic" and event.time > left]
    assert again[0] == pytest.approx(at, abs=3e-5)


def paddle(width: float, at: float) -> Scene:
    """A plane that rises for a moment past a ball that floats."""
    scene = Scene("paddle", gravity=(0, 0, 0))
    scene.moving("paddle", lambda t: (0, 0, 0.2 * ca.exp(-(((t - at) / width) ** 2))), HalfSpace())
    scene.body("ball", Sphere(0.1), mass=1.0, at=(0, 0, 0.2))
    return scene


@pytest.mark.parametrize("share", [1 / 50, 1e-3, 1e-5])
def test_a_paddle_that_rises_for_a_moment_hits_the_ball(share: float) -> None:
    for at in (0.137, 0.541, 0.833):
        width = share / STEPS
        result = simulate(paddle(width, at), Impact(0.5), until=1.0)
        assert result.events[0].time == pytest.approx(at - width * np.sqrt(np.log(2.0)), abs=1e-9)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6])
def test_small_balls_that_fly_fast_hit_each_other(size: float) -> None:
    scene = Scene("bullets", gravity=(0, 0, 0))
    scene.body("one", Sphere(size), mass=1.0, at=(0, 0, 0), velocity=(1, 0, 0))
    scene.body("other", Sphere(size), mass=1.0, at=(2.0, 0.5 * size, 0), velocity=(-1, 0, 0))
    result = simulate(scene, Impact(1.0), until=2.0)
    assert result.events[0].time == pytest.approx(1.0 - size * np.sqrt(4.0 - 0.25) / 2.0, abs=1e-9)


def test_a_corner_that_swings_through_a_table_for_a_moment_touches_it() -> None:
    """A plate that spins about its own axis, with its corners just a little longer than it is high."""
    half, spin = np.array([0.1, 0.1, 0.01]), 40.0
    for depth in (1e-3, 1e-5, 1e-7):
        reach = np.hypot(half[0], half[2])
        scene = Scene("plate", gravity=(0, 0, 0))
        scene.fixed("table", HalfSpace())
        scene.body("plate", Box(*(2.0 * half)), mass=1.0, at=(0, 0, reach - depth), spin=(0, spin, 0))
        first = np.arccos(1.0 - depth / reach)
        corner = np.arctan2(half[0], half[2])
        contact = (corner - first) / spin
        result = simulate(scene, Impact(0.5), until=1.0)
        assert result.events[0].time == pytest.approx(contact, abs=1e-7)


def test_a_method_says_whether_it_proves() -> None:
    with pytest.raises(InputError, match="prove"):
        Adaptive(prove="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="prove"):
        FixedStep(1e-3, prove=None)  # type: ignore[arg-type]
