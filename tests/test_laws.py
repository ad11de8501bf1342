"""One convention: every law on the same models, with the same signs, momentum, impulses, and rest."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from friction_models import G, incline
from impinge import (
    Baumgarte,
    Complementarity,
    ExponentialHuntCrossley,
    HuntCrossley,
    Impact,
    InputError,
    KelvinVoigt,
    ModelBuilder,
    robots,
    simulate,
)
from impinge.contact.registry import known_laws
from impinge.studies.comparison.laws import damping_ratio

E = 0.5
ZETA = damping_ratio(E)


def law_of(name, stiffness=1e5, speed=1.0, step=1e-4):
    """Return a law by name whose restitution for a mass of 1 kg is E at this speed."""
    hertz = 1.25 * stiffness / math.sqrt(speed / math.sqrt(stiffness))
    return {
        "baumgarte": lambda: Baumgarte(a0=stiffness, a1=2 * ZETA * math.sqrt(stiffness), a2=0.0),
        "impact": lambda: Impact(restitution=E),
        "complementarity": lambda: Complementarity(restitution=E, step=step),
        "kelvin-voigt": lambda: KelvinVoigt(stiffness=stiffness, damping=2 * ZETA * math.sqrt(stiffness)),
        "hunt-crossley": lambda: HuntCrossley(stiffness=hertz, restitution=E, speed=speed),
        "exponential-hunt-crossley": lambda: ExponentialHuntCrossley(stiffness=hertz, restitution=E, speed=speed),
    }[name]()


LAWS = ("baumgarte", "complementarity", "exponential-hunt-crossley", "hunt-crossley", "impact", "kelvin-voigt")


@functools.cache
def pair():
    """Return two bodies on a line, of 1 kg and m kg, with a gap between them and a spring that draws them together."""
    b = ModelBuilder("pair")
    (x, v), (y, w), m = b.coordinate("x"), b.coordinate("y", start=0.01), b.parameter("m", 3.0, "kg")
    b.kinetic(v**2 / 2 + m * w**2 / 2)
    b.potential(b.parameter("k", 0.0, "N/m") * (y - x + 0.1) ** 2 / 2)
    b.gap("between", y - x)
    return b.build()


@functools.cache
def pushed():
    """Return a point of 1 kg without weight in front of a wall."""
    b = ModelBuilder("pushed")
    x, v = b.coordinate("x", start=1e-3)
    b.kinetic(v**2 / 2)
    b.gap("wall", x)
    return b.build()


def test_every_law_is_in_these_tests():
    assert sorted(known_laws()) == sorted(LAWS)


@pytest.mark.parametrize("name", LAWS)
def test_a_resting_ball_is_carried_by_a_positive_force(name):
    result = simulate(robots.ball(), law_of(name), until=5.0)
    assert result.ok
    assert result["force_floor"][-1] == pytest.approx(G, rel=1e-4)
    assert -2e-3 < result["gap_floor"][-1] < 1e-9
    assert result["force_floor"].min() >= -1e-9
    apart = result["gap_floor"] > 1e-12
    closed = result.is_closed("floor")
    assert (result["force_floor"][~closed] == 0).all()
    assert apart.any()
    assert result.certificate.contacts["floor"].smallest_force >= -1e-9


@pytest.mark.parametrize("name", LAWS)
def test_the_impulses_of_a_contact_are_the_change_of_momentum(name):
    result = simulate(robots.ball(), law_of(name), until=1.5)
    gained = result["q_dot"][-1] - result["q_dot"][0] + G * result.t[-1]
    assert result["impulse_floor"][-1] == pytest.approx(gained, rel=1e-6)
    assert sum(event.impulse for event in result.events) <= result["impulse_floor"][-1] + 1e-9
    assert all(event.impulse >= -1e-12 for event in result.events)


@pytest.mark.parametrize("name", LAWS)
def test_two_bodies_push_each_other_alike(name):
    result = simulate(pair(), law_of(name), until=0.5, start={"x_dot": 1.0}, parameters={"k": 40.0})
    momentum = result["x_dot"] + 3.0 * result["y_dot"]
    assert result["impulse_between"][-1] > 0
    assert momentum == pytest.approx(np.full(momentum.size, 1.0), abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_no_contact_gives_energy(name):
    result = simulate(robots.ball(), law_of(name), until=3.0)
    work = result["work_contacts"]
    opened = ~result.is_closed("floor")
    assert (np.diff(work[opened]) <= 1e-9).all()
    assert work[-1] < 0


@pytest.mark.parametrize("name", LAWS)
def test_stiff_and_small_step_limits_agree_on_the_impulse(name):
    law = law_of(name, stiffness=1e8, step=1e-6)
    result = simulate(pushed(), law, until=3e-3, start={"x_dot": -1.0})
    assert result["impulse_wall"][-1] == pytest.approx(1 + E, rel=1e-3)
    assert result["x_dot"][-1] == pytest.approx(E, rel=1e-3)
    assert result["work_contacts"][-1] == pytest.approx(-(1 - E**2) / 2, rel=1e-3)


@pytest.mark.parametrize("name", LAWS)
def test_a_block_rests_on_an_incline_for_an_hour_without_creep(name):
    law = law_of(name, step=0.05)
    compliant = name in ("kelvin-voigt", "hunt-crossley", "exponential-hunt-crossley")
    result = simulate(incline(), law, until=3600.0, parameters={"th": 0.3, "mu": 0.5}, sample=60.0)
    assert result.ok, result.reason
    assert result.mode("plane") == "Contact"
    late = result.t > (60.0 if compliant else -1.0)  # what is compliant settles into the surface first
    assert np.abs(result["speed"][late]).max() < (1e-8 if compliant else 1e-12)
    assert np.ptp(result["down"][late]) < (1e-10 if compliant else 1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_a_block_slides_down_an_incline_as_coulomb_says(name):
    result = simulate(incline(), law_of(name), until=2.0, parameters={"th": 0.6, "mu": 0.3})
    a = G * (math.sin(0.6) - 0.3 * math.cos(0.6))
    slides = 1e-9 if name in ("baumgarte", "impact", "complementarity") else 2e-2  # a soft one sinks in first
    assert result["speed"][-1] == pytest.approx(2 * a, rel=slides)
    assert result.mode("plane") == "Sliding"
    assert result["friction_plane"][-1] == pytest.approx(-0.3 * result["force_plane"][-1], rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_a_block_dropped_on_a_corner_comes_to_rest_on_both(name):
    result = simulate(robots.block(height=0.05, angle=0.3), law_of(name, stiffness=1e4), until=4.0, sample=0.01)
    assert result.ok, result.reason
    assert result.mode("left") != "Free"
    assert result.mode("right") != "Free"
    assert abs(result["angle"][-1]) < 1e-3
    weight = result["force_left"][-1] + result["force_right"][-1]
    assert weight == pytest.approx(G, rel=1e-3)
    assert result["work_contacts"][-1] < 0


@pytest.mark.parametrize("name", LAWS)
def test_the_same_run_twice_is_the_same_to_the_bit(name):
    one, other = (simulate(robots.block(0.05, 0.3), law_of(name), until=0.5) for _ in range(2))
    assert one.t.tolist() == other.t.tolist()
    for signal in ("x", "z", "angle", "force_left", "friction_right"):
        assert one[signal].tolist() == other[signal].tolist()


def test_a_law_that_lacks_something_is_told_what():
    class Half:
        name, modes, closed, gains = "half", ("Free", "Contact"), (False, True), (1.0,)
        prescribe, slope = Baumgarte.prescribe, Baumgarte.slope

    with pytest.raises(InputError, match="which has no guard and no decide"):
        simulate(robots.ball(), Half(), until=1.0)


@pytest.mark.parametrize("gains", [(1.0, float("nan")), ("a",), 3.0, lambda: (1.0,)])
def test_gains_that_are_no_numbers_are_refused(gains):
    class Odd:
        name, modes, closed = "odd", ("Free", "Contact"), (False, True)
        prescribe, slope, guard, decide = (
            getattr(Baumgarte, what) for what in ("prescribe", "slope", "guard", "decide")
        )

    Odd.gains = gains
    with pytest.raises(InputError, match="gains that are numbers"):
        simulate(robots.ball(), Odd(), until=1.0)


def test_a_function_of_a_law_with_another_signature_is_refused():
    class Odd:
        name, modes, closed, gains = "odd", ("Free", "Contact"), (False, True), (1.0,)
        prescribe = slope = guard = Baumgarte.prescribe
        decide = Baumgarte.decide

    with pytest.raises(InputError, match=r"'guard' of law 'odd': expected an entry point int64\("):
        simulate(robots.ball(), Odd(), until=1.0)
