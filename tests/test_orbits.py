"""Periodic motions up to a symmetry, and of rigid contacts: closed forms."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest

from impinge import Baumgarte, Impact, ImpingeError, InputError, ModelBuilder, periodic_orbit, simulate

G, SPOKES = 9.81, 8
HALF = math.pi / SPOKES  # half the angle between two spokes
MASS, LENGTH, SLOPE = 1.3, 0.9, 0.08


@functools.cache
def wheel(inertia=0.3, friction=None):
    """A wheel of spokes without a rim that goes down a slope; x along it, z away from it, phi from the normal."""
    b = ModelBuilder("wheel")
    x, vx = b.coordinate("x", speed=1.2 * LENGTH)
    z, vz = b.coordinate("z", start=LENGTH)
    phi, w = b.coordinate("phi", unit="rad", speed=-1.2)
    b.kinetic(MASS * (vx**2 + vz**2) / 2 + inertia * w**2 / 2)
    b.potential(MASS * G * (z * math.cos(SLOPE) - x * math.sin(SLOPE)))
    for k in range(SPOKES):
        angle = phi + 2 * HALF * k
        rubs = {} if friction is None else {"friction": friction}
        b.gap(f"foot{k}", z - LENGTH * ca.cos(angle), slip=x + LENGTH * ca.sin(angle), **rubs)
    return b.build()


def height(phi):
    """The height of the hub above the foot that it stands on, as gravity sees it."""
    return LENGTH * (math.cos(phi) * math.cos(SLOPE) + math.sin(phi) * math.sin(SLOPE))


@pytest.mark.parametrize("friction", [None, 1.0])
@pytest.mark.parametrize("inertia", [0.3, 0.02])
def test_a_rimless_wheel_rolls_as_its_closed_form_says(inertia, friction):
    """Angular momentum about the next foot is kept: w⁺ = η w⁻, and ½(I + ml²)(w⁻² − w⁺²) is what a step goes down.

    From section to section w² becomes η² w² + …, and the speed is the same there: the multiplier is η².
    """
    about = inertia + MASS * LENGTH**2
    eta = (inertia + MASS * LENGTH**2 * math.cos(2 * HALF)) / about
    orbit = periodic_orbit(
        wheel(inertia, friction),
        Impact(),
        guess_period=0.6,
        advance={"x": None, "phi": -2 * HALF},
        tolerance=3e-10,
    )
    gain = 4 * MASS * G * LENGTH * math.sin(HALF) * math.sin(SLOPE) / about
    behind = eta**2 * gain / (1 - eta**2)  # w² just behind an impact, where phi is HALF
    phi = orbit.start["phi"]
    speed = -math.sqrt(behind + 2 * MASS * G * (height(HALF) - height(phi)) / about)
    assert orbit.start["phi_dot"] == pytest.approx(speed, abs=1e-9)
    assert orbit.advance["x"] == pytest.approx(2 * LENGTH * math.sin(HALF), abs=1e-9)
    assert orbit.multipliers.size == 4  # six states, without the phase and the place along the slope
    assert orbit.multipliers[0] == pytest.approx(eta**2, abs=1e-9)
    assert np.abs(orbit.multipliers[1:]).max() < 1e-6  # off the foot that it stands on
    assert orbit.stable


def test_what_advances_by_a_given_amount_is_the_same_orbit():
    free, given = (
        periodic_orbit(wheel(), Impact(), guess_period=0.6, advance={"x": amount, "phi": -2 * HALF}, tolerance=3e-8)
        for amount in (None, 2 * LENGTH * math.sin(HALF))
    )
    assert given.period == pytest.approx(free.period, abs=1e-7)
    assert given.multipliers.size == free.multipliers.size + 1
    assert given.multipliers[0] == pytest.approx(1.0, abs=1e-7)  # the place along the slope is free


@functools.cache
def shuttle():
    """Two carts on springs that swing in turn, each the mirror image of the other half a period later."""
    b = ModelBuilder("shuttle")
    (left, v_left), (right, v_right) = b.coordinate("left", start=2.0), b.coordinate("right", start=-2.0)
    b.kinetic((v_left**2 + v_right**2) / 2)
    b.potential((left**2 + right**2) / 2 + 0.2 * (left + right) ** 2 / 2)
    b.force((1 - left**2) * v_left, along=left)
    b.force((1 - right**2) * v_right, along=right)
    return b.build()


def test_carts_that_swing_against_each_other_repeat_with_places_traded_after_half_a_period():
    whole = periodic_orbit(shuttle(), guess_period=6.6, tolerance=1e-11)
    half = periodic_orbit(
        shuttle(), guess_period=3.3, relabel={"left": "right", "right": "left"}, tolerance=1e-11, near=whole.start
    )
    assert half.period == pytest.approx(whole.period / 2, abs=1e-8)
    assert np.sort(np.abs(half.multipliers) ** 2) == pytest.approx(np.sort(np.abs(whole.multipliers)), abs=1e-7)


def test_a_ball_on_a_shaking_table_bounces_with_the_multipliers_of_its_closed_form():
    """Once in each period T of the table: a bounce, δx⁺ = R (δx + f⁻δt) − f⁺δt, and a flight of T; det = e²."""
    b = ModelBuilder("shaker")
    z, v = b.coordinate("z", start=0.032, speed=0.75)
    A = b.parameter("A", 0.012, "m")
    b.kinetic(v**2 / 2)
    b.potential(G * z)
    w, e = 30.0, 0.6
    b.gap("table", z - A * ca.cos(w * b.time))
    T = 2 * math.pi / w
    orbit = periodic_orbit(b.build(), Impact(e), period=T)
    (event,) = orbit.sensitivity.result.events
    t, before, table = event.time, orbit.sensitivity.result["z_dot"][event.row], -0.012 * w * math.sin(w * event.time)
    bends = -0.012 * w**2 * math.cos(w * t)
    closing = before - table
    after = -e * closing + table
    assert after - before == pytest.approx(G * T, rel=1e-9)  # it must fly for T
    shift = np.array([-1.0 / closing, 0.0])  # of the instant, for δz and δv before it
    jump = np.array([[1.0, 0.0], [0.0, -e]])
    jump += np.outer([before - after, -e * -G + (1 + e) * bends + G], shift)
    flight = np.array([[1.0, T], [0.0, 1.0]])
    expected = np.linalg.eigvals(jump @ flight)
    assert np.sort_complex(orbit.multipliers) == pytest.approx(np.sort_complex(expected.astype(complex)), abs=1e-7)
    assert np.prod(orbit.multipliers).real == pytest.approx(e**2, abs=1e-8)


def test_symmetries_that_are_none_are_refused():
    with pytest.raises(InputError, match=r"coordinate.*'psi'"):
        periodic_orbit(wheel(), Impact(), guess_period=0.6, advance={"psi": 1.0})
    with pytest.raises(InputError, match=r"that trade places among themselves in `relabel`, got 'left' from"):
        periodic_orbit(shuttle(), guess_period=3.3, relabel={"left": "right"})
    with pytest.raises(InputError, match=r"a free advance of a coordinate that keeps its name, got 'left' in both"):
        periodic_orbit(shuttle(), guess_period=3.3, advance={"left": None}, relabel={"left": "right", "right": "left"})
    with pytest.raises(InputError, match=r"a model that does not depend on 'phi', got one that does"):
        periodic_orbit(wheel(), Impact(), guess_period=0.6, advance={"x": None, "phi": None})
    with pytest.raises(ImpingeError, match=r"misses itself|a symmetry of the model"):
        periodic_orbit(wheel(), Impact(), guess_period=0.6, advance={"x": None, "phi": -3 * HALF})


def test_the_wheel_comes_to_its_orbit_by_itself():
    orbit = periodic_orbit(wheel(), Impact(), guess_period=0.6, advance={"x": None, "phi": -2 * HALF})
    result = simulate(wheel(), Impact(), until=40.0)
    steps = np.diff([event.time for event in result.events if event.before == "Free"])
    assert steps[-1] == pytest.approx(orbit.period, rel=1e-6)


@pytest.mark.slow
def test_a_soft_wheel_has_an_orbit_too():
    symmetry = {"x": None, "phi": -2 * HALF}
    rigid = periodic_orbit(wheel(), Impact(), guess_period=0.6, advance=symmetry)
    law = Baumgarte(a0=1e6, a1=2000, a2=0)
    orbit = periodic_orbit(wheel(), law, guess_period=rigid.period, advance=symmetry, near=rigid.start)
    assert orbit.period == pytest.approx(rigid.period, rel=0.02)
    assert orbit.stable
