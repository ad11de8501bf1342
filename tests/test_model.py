"""The model: derived terms against closed forms and finite differences, and every way to get it wrong."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impinge import robots
from impinge.errors import CompileError, ImpingeError, InputError, ModelError
from impinge.model import ModelBuilder

angles = st.floats(-3.0, 3.0)
speeds = st.floats(-2.0, 2.0)
moments = st.floats(0.0, 3.0)


def vectors(n, elements):
    return st.lists(elements, min_size=n, max_size=n).map(np.array)


def agree(found, expected, rtol=0.0, atol=0.0):
    """As many numbers as expected (or one for all), and close to them."""
    alike = np.shape(expected) in ((), np.shape(found))
    return alike and np.allclose(found, expected, rtol=rtol, atol=atol)


# Mechanisms whose equations are in every textbook.

m1, m2, l1, l2, G = 1.3, 0.7, 0.9, 1.1, 9.81


def double_pendulum():
    """Two point masses on massless rods, absolute angles from the vertical."""
    b = ModelBuilder("double_pendulum")
    a, w = zip(*(b.coordinate(f"a{k}", unit="rad") for k in (1, 2)), strict=True)
    g = b.parameter("g", G)
    x1, y1 = l1 * ca.sin(a[0]), -l1 * ca.cos(a[0])
    x2, y2 = x1 + l2 * ca.sin(a[1]), y1 - l2 * ca.cos(a[1])
    q, v = ca.vertcat(*a), ca.vertcat(*w)
    for mass, x, y in ((m1, x1, y1), (m2, x2, y2)):
        b.kinetic(mass * (ca.jtimes(x, q, v) ** 2 + ca.jtimes(y, q, v) ** 2) / 2)
        b.potential(mass * g * y)
    return b.build()


DOUBLE_PENDULUM = double_pendulum()


@given(vectors(2, angles), vectors(2, speeds))
@settings(deadline=None)
def test_lagrange_terms_of_a_double_pendulum_are_those_of_the_textbook(q, v):
    terms = DOUBLE_PENDULUM.terms(q, v)
    c, s = np.cos(q[0] - q[1]), np.sin(q[0] - q[1])
    M = [[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]]
    b = [
        m2 * l1 * l2 * s * v[1] ** 2 + (m1 + m2) * G * l1 * np.sin(q[0]),
        -m2 * l1 * l2 * s * v[0] ** 2 + m2 * G * l2 * np.sin(q[1]),
    ]
    assert agree(terms["M"], M, rtol=1e-13, atol=1e-13)
    assert agree(terms["b"], b, rtol=1e-12, atol=1e-12)


def cart_pole():
    """A cart of mass M with a point mass m on a rod of length l, angle from the vertical upwards, force u."""
    b = ModelBuilder("cart_pole")
    x, vx = b.coordinate("x")
    a, w = b.coordinate("a", unit="rad")
    M, m, length, g = (b.parameter(n, value) for n, value in (("M", 2.0), ("m", 0.3), ("l", 0.6), ("g", G)))
    c, u = b.parameter("c", 0.4), b.input("u", "N")
    px, py = vx + length * w * ca.cos(a), -length * w * ca.sin(a)
    b.kinetic(M * vx**2 / 2)
    b.kinetic(m * (px**2 + py**2) / 2)
    b.potential(m * g * length * ca.cos(a))
    b.damping(c * vx, along=x)
    b.force(u, along=x)
    return b.build()


CART_POLE = cart_pole()


@given(vectors(2, angles), vectors(2, speeds), st.floats(-5, 5), st.floats(0.1, 4), st.floats(0.1, 2))
@settings(deadline=None)
def test_lagrange_terms_of_a_cart_pole_are_those_of_the_textbook(q, v, u, m, length):
    terms = CART_POLE.terms(q, v, u=[u], parameters={"m": m, "l": length})
    c, s = np.cos(q[1]), np.sin(q[1])
    assert agree(terms["M"], [[2.0 + m, m * length * c], [m * length * c, m * length**2]], rtol=1e-13)
    assert agree(terms["b"], [-m * length * v[1] ** 2 * s + 0.4 * v[0], -m * G * length * s], atol=1e-12)
    assert terms["B"].tolist() == [[1.0], [0.0]]


# A mechanism with everything: constraints, gaps and energies that depend on time, forces, damping.


def everything():
    b = ModelBuilder("everything")
    q, v = zip(*(b.coordinate(f"q{k}", start=0.1 * k) for k in range(3)), strict=True)
    m, c, k = b.parameter("m", 1.5), b.parameter("c", 0.2), b.parameter("k", 3.0)
    u, t = b.input("u"), b.time
    b.kinetic(m * (1 + 0.3 * ca.sin(t)) * ((v[0] + 0.1 * t) ** 2 + (1.5 + ca.cos(q[0])) * v[1] ** 2) / 2)
    b.kinetic((v[2] + q[0] * v[1] + 0.2 * q[1] * ca.cos(t)) ** 2 / 2)
    b.potential(k * (q[0] - ca.sin(2 * t)) ** 2 / 2 + ca.cos(q[1]) * q[2] ** 2)
    b.force(u * ca.cos(q[1]) + 0.3 * t, along=q[0] + q[1] ** 2)
    b.damping(c * (v[0] + v[1]), along=q[0] + q[1])
    b.constraint("rod", q[0] ** 2 + ca.sin(q[1]) * q[2] - ca.cos(t))
    b.constraint("slot", q[0] * q[1] * q[2])
    b.gap("wall", 2 + q[0] * ca.cos(q[1] + t))
    b.gap("plate", q[2] ** 2 + ca.exp(-t) * q[0])
    return b.build()


EVERYTHING = everything()
STATES = (vectors(3, st.floats(-1.5, 1.5)), vectors(3, speeds), vectors(3, speeds), moments)


def along(q, v, a, t, s):
    """The state at t + s of the motion with constant acceleration a through q, v at t."""
    return q + v * s + a * s**2 / 2, v + a * s, t + s


def central(f, h=1e-5):
    """The derivative at 0, to fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


@given(*STATES)
@settings(deadline=None)
@pytest.mark.parametrize(
    ("value", "rate", "matrix", "drift"), [("h", "h_dot", "H", "h_drift"), ("gap", "gap_dot", "J", "gap_drift")]
)
def test_rates_and_drifts_are_the_time_derivatives_along_any_motion(value, rate, matrix, drift, q, v, a, t):
    def at(name):
        return lambda s: EVERYTHING.terms(*along(q, v, a, t, s))[name]

    here = EVERYTHING.terms(q, v, t)
    assert agree(here[rate], central(at(value)), atol=1e-7)
    acceleration = here[matrix] @ a + here[drift]
    assert agree(acceleration, central(at(rate)), atol=1e-6)


@given(*STATES)
@settings(deadline=None)
def test_row_matrices_and_partials_are_the_derivatives_by_position_and_time(q, v, a, t):
    here = EVERYTHING.terms(q, v, t)
    for value, matrix in (("h", "H"), ("gap", "J")):
        for k in range(3):
            unit = np.eye(3)[k]
            column = central(lambda s, e=unit, name=value: EVERYTHING.terms(q + s * e, v, t)[name])
            assert agree(here[matrix][:, k], column, atol=1e-8)
    assert agree(here["gap_partial"], central(lambda s: EVERYTHING.terms(q, v, t + s)["gap"]), atol=1e-8)
    assert agree(here["gap_dot"], here["J"] @ v + here["gap_partial"], rtol=1e-13, atol=1e-13)


def energy(model, q, v, t, u):
    values = model.signals(q, v, t, u, model.parameter_vector({}))
    return values["energies"].sum()


def check_power_balance(model, q, v, t, u):
    """Along the motion without row forces, dE/dt = applied − dissipated + explicit power."""
    p = model.parameter_vector({})
    here = model.dynamics(q, v, t, u, p)
    change = central(lambda s: energy(model, *along(q, v, here["free"], t, s), u))
    applied, damping, explicit = here["power"]
    assert abs(change - (applied - damping + explicit)) <= 1e-6 * (1 + abs(change))
    forward = model.terms(q, v, t, u)
    assert agree(forward["M"] @ here["free"] + forward["b"], forward["B"] @ u, atol=1e-10)


@given(*STATES, st.floats(-3, 3))
@settings(deadline=None)
def test_energy_changes_by_the_powers_when_energies_depend_on_time(q, v, a, t, u):
    check_power_balance(EVERYTHING, q, v, t, [u])


@given(*STATES, st.floats(-3, 3))
@settings(deadline=None)
def test_each_power_is_its_own_physics(q, v, a, t, u):
    applied, damping, explicit = EVERYTHING.dynamics(q, v, t, [u], EVERYTHING.parameter_vector({}))["power"]
    assert agree(applied, (u * np.cos(q[1]) + 0.3 * t) * (v[0] + 2 * q[1] * v[1]), rtol=1e-12, atol=1e-12)
    assert agree(damping, 0.2 * (v[0] + v[1]) ** 2, rtol=1e-12, atol=1e-12)

    def lagrangian(s):
        T = 1.5 * (1 + 0.3 * np.sin(s)) * ((v[0] + 0.1 * s) ** 2 + (1.5 + np.cos(q[0])) * v[1] ** 2) / 2
        T += (v[2] + q[0] * v[1] + 0.2 * q[1] * np.cos(s)) ** 2 / 2
        return T - 3.0 * (q[0] - np.sin(2 * s)) ** 2 / 2 - np.cos(q[1]) * q[2] ** 2

    assert agree(explicit, -central(lambda s: lagrangian(t + s)), atol=1e-8)


@given(*STATES, st.floats(-3, 3))
@settings(deadline=None)
def test_the_dynamics_kernel_solves_the_equation_of_motion(q, v, a, t, u):
    terms = EVERYTHING.terms(q, v, t, [u])
    out = EVERYTHING.dynamics(q, v, t, [u], EVERYTHING.parameter_vector({}))
    A = np.vstack([terms["H"], terms["J"]])
    free = np.linalg.solve(terms["M"], terms["B"] @ [u] - terms["b"])
    response = np.linalg.solve(terms["M"], A.T)
    scale = max(1.0, np.abs(response).max(), np.abs(free).max())
    close = {"rtol": 1e-9, "atol": 1e-10 * scale**2}
    assert agree(out["free"], free, **close)
    assert agree(out["response"], response, **close)
    assert agree(out["W"], A @ response, **close)
    assert np.array_equal(out["W"], out["W"].T)
    drift = np.concatenate([terms["h_drift"], terms["gap_drift"]])
    assert agree(out["drift"], drift + A @ free, **close)
    assert np.array_equal(out["g"], np.concatenate([terms["h"], terms["gap"]]))
    assert np.array_equal(out["rate"], np.concatenate([terms["h_dot"], terms["gap_dot"]]))
    assert np.array_equal(out["partial"][2:], terms["gap_partial"])


def test_contacts_without_common_inertia_do_not_couple():
    b = ModelBuilder("two")
    for name in ("left", "right"):
        q, v = b.coordinate(name)
        b.kinetic(v**2)
        b.gap(f"floor_{name}", q)
    out = b.build().dynamics([1.0, 1.0], [0.0, 0.0], 0.0, [], [])
    assert out["W"].tolist() == [[0.5, 0.0], [0.0, 0.5]]


# The direct form.


def direct_double_pendulum():
    b = ModelBuilder("direct")
    (q1, v1), (q2, v2) = b.coordinate("a1", unit="rad"), b.coordinate("a2", unit="rad")
    g = b.parameter("g", G)
    c, s, k = ca.cos(q1 - q2), ca.sin(q1 - q2), m2 * l1 * l2
    M = ca.vertcat(ca.horzcat((m1 + m2) * l1**2, k * c), ca.horzcat(k * c, m2 * l2**2))
    b.inertia(M, ca.vertcat(k * s * v2**2, -k * s * v1**2))
    b.potential(-(m1 + m2) * g * l1 * ca.cos(q1) - m2 * g * l2 * ca.cos(q2))
    return b.build()


DIRECT = direct_double_pendulum()


@given(vectors(2, angles), vectors(2, speeds), moments)
@settings(deadline=None)
def test_the_direct_form_equals_the_energy_form(q, v, t):
    one, other = DOUBLE_PENDULUM.terms(q, v, t), DIRECT.terms(q, v, t)
    for name in ("M", "b"):
        assert agree(one[name], other[name], rtol=1e-12, atol=1e-12)
    assert agree(energy(DOUBLE_PENDULUM, q, v, t, []), energy(DIRECT, q, v, t, []), rtol=1e-12, atol=1e-12)
    power = DIRECT.dynamics(q, v, t, [], [G])["power"]
    assert agree(power, 0.0, atol=1e-10)  # these b do no work beyond ½ vᵀṀv


def time_dependent_direct():
    b = ModelBuilder("pumped")
    q, v = b.coordinate("q")
    u, t = b.input("u"), b.time
    b.inertia(2 + ca.sin(q) + 0.5 * ca.cos(t), 0.7 * v**3 + q * t)
    b.potential(ca.cos(q - t))
    b.force(u, along=ca.sin(q))
    b.damping(0.3 * v, along=q)
    return b.build()


PUMPED = time_dependent_direct()


@given(angles, speeds, moments, st.floats(-3, 3))
@settings(deadline=None)
def test_the_direct_form_balances_its_energy_whatever_b_is(q, v, t, u):
    check_power_balance(PUMPED, np.array([q]), np.array([v]), t, [u])


def test_a_nonlinear_input_still_satisfies_the_equation():
    b = ModelBuilder("valve")
    q, v = b.coordinate("q")
    u = b.input("u")
    b.kinetic(v**2 / 2)
    b.force(u**3, along=q)
    model = b.build()
    terms = model.terms([0.0], [0.0], u=[2.0])
    assert (terms["B"] @ [2.0] - terms["b"]).tolist() == [8.0]
    assert model.dynamics([0.0], [0.0], 0.0, [2.0], [])["free"].tolist() == [8.0]


def test_forces_act_through_the_displacement_they_are_given_along():
    b = ModelBuilder("lever")
    q, v = b.coordinate("q", unit="rad")
    b.kinetic(v**2)
    b.force(3.0, along=2 * ca.sin(q))
    b.damping(5.0, along=q)
    model = b.build()
    assert agree(model.terms([0.3], [0.0])["b"][0], 5.0 - 6 * np.cos(0.3), rtol=1e-14)


# The object.


def test_a_printed_model_shows_names_units_and_values():
    b = ModelBuilder("crane")
    x, v = b.coordinate("x", start=0.25, speed=-1.5, unit="m", about="of the trolley")
    m = b.parameter("mass", 12.5, "kg", "measured")
    b.input("drive", "N", value=7.0)
    b.kinetic(m * v**2 / 2)
    b.constraint("rail", x - 0.25, unit="mm")
    b.gap("buffer", 3 - x, unit="cm")
    b.output("speed", v, "m/s", about="encoder")
    text = str(b.build())
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["model", "crane"]
    assert ["coordinate", "x", "m", "0.25,", "moving", "at", "-1.5", "of", "the", "trolley"] in lines
    assert ["parameter", "mass", "kg", "12.5", "measured"] in lines
    assert ["input", "drive", "N", "7"] in lines
    assert ["constraint", "rail", "mm"] in lines
    assert ["gap", "buffer", "cm"] in lines
    assert ["output", "speed", "m/s", "encoder"] in lines


def test_a_model_cannot_be_changed():
    model = robots.ball()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.parameters[0].value = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.equations.M = 0
    assert isinstance(model.coordinates, tuple)


def test_what_a_builder_does_after_build_does_not_reach_the_model():
    b = ModelBuilder("late")
    q, v = b.coordinate("q")
    b.kinetic(v**2 / 2)
    model = b.build()
    b.gap("floor", q)
    b.potential(5 * q)
    assert model.contacts == ()
    assert model.terms([0.0], [0.0])["b"].tolist() == [0.0]
    assert b.build().contacts == ("floor",)


def test_vectors_take_changes_by_name_and_keep_the_rest():
    model = CART_POLE
    assert model.parameter_vector({"m": 9.0}).tolist() == [2.0, 9.0, 0.6, G, 0.4]
    assert model.input_vector({"u": 4.0}).tolist() == [4.0]
    q, v = model.start_vectors({"x": 1.0, "a_dot": -2.0})
    assert (q.tolist(), v.tolist()) == ([1.0, 0.0], [0.0, -2.0])


def test_terms_of_the_wrong_size_are_refused():
    with pytest.raises(CompileError, match=r"kernel 'terms': expected inputs of sizes q: 2, v: 2, t: 1, u: 1, p: 5"):
        CART_POLE.terms([0.0], [0.0, 0.0])


# Everything that can be wrong.


def builder():
    b = ModelBuilder("bad")
    q, v = b.coordinate("q")
    return b, q, v


def refuses(text, error=ModelError):
    return pytest.raises(error, match=text)


def test_a_model_needs_a_coordinate():
    with refuses(r"model 'bad': expected at least one coordinate, got none\. Call coordinate\(\.\.\.\) first\."):
        ModelBuilder("bad").build()


def test_a_model_needs_kinetic_energy_or_inertia():
    b, _, _ = builder()
    with refuses(r"model 'bad': expected either kinetic\(\.\.\.\) or inertia\(M, b\), got neither\. Give exactly one"):
        b.build()


def test_a_model_takes_only_one_of_kinetic_energy_and_inertia():
    b, _, v = builder()
    b.kinetic(v**2)
    b.inertia(1, 0)
    with refuses(r"expected either kinetic\(\.\.\.\) or inertia\(M, b\), got both\. Give exactly one of the two"):
        b.build()


@pytest.mark.parametrize("energy", [lambda v: v**3, lambda v: v**4 + v**2, lambda v: ca.sqrt(1 + v**2)])
def test_kinetic_energy_must_be_quadratic(energy):
    b, _, v = builder()
    b.kinetic(energy(v))
    with refuses(
        r"expected a kinetic energy quadratic in the velocities, got an inertia that depends on them\. Check the powers"
    ):
        b.build()


@pytest.mark.parametrize(("M", "bias"), [(ca.SX.eye(2), 0), (1, ca.SX(2, 1)), (ca.SX.ones(1, 2), 0), (1, ca.SX(1, 2))])
def test_inertia_must_have_one_row_for_each_velocity(M, bias):
    b, _, _ = builder()
    b.inertia(M, bias)
    rows, columns = ca.SX(M).shape
    text = rf"expected M of 1 × 1 and b of 1 for 1 velocities, got M of {rows} × {columns} and b of "
    with refuses(text + rf"{ca.SX(bias).numel()}\. Give one row for each velocity\."):
        b.build()


PLACES = {
    "the potential energy": lambda b, q, v, x: b.potential(x),
    "constraint 'c'": lambda b, q, v, x: b.constraint("c", q + x),
    "gap 'c'": lambda b, q, v, x: b.gap("c", q + x),
    "output 'c'": lambda b, q, v, x: b.output("c", x),
    "a displacement": lambda b, q, v, x: b.force(1.0, along=q + x),
    "a force": lambda b, q, v, x: b.damping(x, along=q),
    "the kinetic energy": lambda b, q, v, x: b.kinetic(x * v**2),
}
DIRECT_PLACES = {
    "the inertia matrix M": lambda b, q, v, x: b.inertia(x, 0),
    "the bias b": lambda b, q, v, x: b.inertia(1, x),
}


def placed(what, x):
    b, q, v = builder()
    if what in PLACES:
        b.kinetic(v**2)
    (PLACES | DIRECT_PLACES)[what](b, q, v, x)
    return b


@pytest.mark.parametrize("what", [*PLACES, *DIRECT_PLACES])
def test_an_unknown_symbol_is_named_with_the_piece_that_uses_it(what):
    with refuses(rf"{what} of model 'bad': expected an expression of .*q.*, got 'stray'\. Use the symbols that this"):
        placed(what, ca.SX.sym("stray")).build()


@pytest.mark.parametrize("what", [*PLACES, *DIRECT_PLACES])
def test_a_symbol_of_another_model_is_refused_though_it_has_the_same_name(what):
    stranger, _ = ModelBuilder("other").coordinate("q")
    with refuses(rf"{what} of model 'bad': .* got a symbol of another model with the same name\. Use the symbols"):
        placed(what, stranger).build()


@pytest.mark.parametrize(
    "what", ["the potential energy", "constraint 'c'", "gap 'c'", "a displacement", "the inertia matrix M"]
)
def test_a_velocity_in_a_place_for_positions_is_named(what):
    b, q, v = builder()
    if what in PLACES:
        b.kinetic(v**2)
    (PLACES | DIRECT_PLACES)[what](b, q, v, v)
    with refuses(rf"{what} of model 'bad': expected an expression of q, t, got 'q_dot'\."):
        b.build()


@pytest.mark.parametrize("what", ["the potential energy", "gap 'c'", "the kinetic energy"])
def test_an_input_in_a_place_without_inputs_is_named(what):
    b, q, v = builder()
    u = b.input("u")
    b.kinetic(v**2)
    PLACES[what](b, q, v, u)
    with refuses(rf"{what} of model 'bad': .* got 'u'\."):
        b.build()


@pytest.mark.parametrize("gap", [1.0, "time", "parameter"])
def test_a_gap_must_depend_on_a_coordinate(gap):
    b, _, v = builder()
    b.kinetic(v**2)
    expression = {1.0: 1.0, "time": b.time, "parameter": b.parameter("p", 1.0)}[gap]
    b.gap("floor", expression)
    with refuses(
        r"gap 'floor' of model 'bad': expected an expression that depends on a coordinate, got (1|t|p)\. "
        r"A gap that nothing can change is no contact: leave it out\."
    ):
        b.build()


SCALARS = {
    "kinetic energy": lambda b, x: b.kinetic(x),
    "potential energy": lambda b, x: b.potential(x),
    "force": lambda b, x: b.force(x, along=1.0),
    "damping force": lambda b, x: b.damping(x, along=1.0),
    "displacement": lambda b, x: b.force(1.0, along=x),
    "constraint 'c'": lambda b, x: b.constraint("c", x),
    "gap 'c'": lambda b, x: b.gap("c", x),
    "output 'c'": lambda b, x: b.output("c", x),
}


@pytest.mark.parametrize("what", SCALARS)
def test_a_vector_in_the_place_of_a_scalar_is_refused(what):
    b, q, v = builder()
    with refuses(rf"^{what} of model 'bad': expected a scalar, got one of 2 × 1\. Give one scalar at a time\.$"):
        SCALARS[what](b, ca.vertcat(q, v))
    b, _, _ = builder()
    with refuses("expected a scalar, got one of 0 × 0"):
        SCALARS[what](b, ca.SX(0, 0))


@pytest.mark.parametrize("value", [ca.MX.sym("z"), "z**2", None, object()], ids=["MX", "text", "None", "object"])
@pytest.mark.parametrize("what", [*SCALARS, "inertia matrix M", "bias b"])
def test_what_is_no_expression_is_refused_by_its_type(what, value):
    b, _, _ = builder()
    use = SCALARS | {"inertia matrix M": lambda b, x: b.inertia(x, 0), "bias b": lambda b, x: b.inertia(1, x)}
    kind = type(value).__name__
    text = rf"^{what} of model 'bad': expected a CasADi SX expression or a number, got {kind}\. Build it from the symb"
    with refuses(text):
        use[what](b, value)


def test_a_ragged_inertia_matrix_is_refused():
    b, _, _ = builder()
    with refuses(r"inertia matrix M of model 'bad': expected", ImpingeError):
        b.inertia([[1, 2], [3]], 0)


ADDERS = {
    "coordinate": lambda b, name: b.coordinate(name),
    "parameter": lambda b, name: b.parameter(name, 1.0),
    "input": lambda b, name: b.input(name),
    "constraint": lambda b, name: b.constraint(name, 1.0),
    "gap": lambda b, name: b.gap(name, 1.0),
    "output": lambda b, name: b.output(name, 1.0),
}


@pytest.mark.parametrize("name", ["", "two words", "1st", "a-b", "lambda", "class", "None", "_hidden", "a.b"])
@pytest.mark.parametrize("kind", ADDERS)
def test_a_name_must_be_a_python_identifier(kind, name):
    b, _, _ = builder()
    with refuses(rf"model 'bad': expected names that are Python identifiers, got '{name}'\. Use letters, digits and"):
        ADDERS[kind](b, name)


@pytest.mark.parametrize("kind", ADDERS)
def test_two_of_a_kind_need_two_names(kind):
    b, _, _ = builder()
    ADDERS[kind](b, "x")
    with refuses(r"model 'bad': expected a name of its own for every signal, got '\w+' twice\. Rename one of"):
        ADDERS[kind](b, "x")


@pytest.mark.parametrize("kind", ["coordinate", "parameter", "input", "output"])
def test_time_keeps_its_name(kind):
    b, _, _ = builder()
    with refuses("got 't' twice"):
        ADDERS[kind](b, "t")


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        (("coordinate", "x"), ("parameter", "x"), "x"),
        (("coordinate", "x"), ("input", "x_dot"), "x_dot"),
        (("parameter", "x_dot"), ("coordinate", "x"), "x_dot"),
        (("gap", "x"), ("constraint", "x"), "force_x"),
        (("gap", "x"), ("output", "force_x"), "force_x"),
        (("gap", "x"), ("output", "mode_x"), "mode_x"),
        (("gap", "x"), ("output", "impulse_x"), "impulse_x"),
        (("gap", "x"), ("coordinate", "gap_x"), "gap_x"),
        (("gap", "x"), ("input", "gap_x_dot"), "gap_x_dot"),
        (("constraint", "x"), ("output", "residual_x"), "residual_x"),
        (("gap", "x_dot"), ("gap", "x"), "gap_x_dot"),
    ],
)
def test_names_of_signals_that_would_clash_are_refused(first, second, clash):
    b, _, _ = builder()
    ADDERS[first[0]](b, first[1])
    with refuses(f"expected a name of its own for every signal, got '{clash}' twice"):
        ADDERS[second[0]](b, second[1])


ALWAYS = ["energy_kinetic", "energy_potential"]
ALWAYS += [f"work_{work}" for work in ("applied", "damping", "time", "constraints", "contacts")]


@pytest.mark.parametrize("kind", ["coordinate", "input", "output"])
def test_a_name_that_every_result_uses_is_refused(kind):
    for name in ALWAYS:
        b, _, _ = builder()
        with refuses(f"expected a name of its own for every signal, got '{name}' twice"):
            ADDERS[kind](b, name)


@pytest.mark.parametrize("kind", ["coordinate", "parameter", "input", "constraint", "gap", "output"])
def test_a_refused_piece_leaves_the_builder_as_it_was(kind):
    b, q, v = builder()
    wrong, right = {
        "coordinate": (lambda: b.coordinate("c", start=np.nan), lambda: b.coordinate("c", start=1.0)),
        "parameter": (lambda: b.parameter("c", np.nan), lambda: b.parameter("c", 1.0)),
        "input": (lambda: b.input("c", value=np.nan), lambda: b.input("c", value=1.0)),
        "constraint": (lambda: b.constraint("c", ca.vertcat(q, v)), lambda: b.constraint("c", q)),
        "gap": (lambda: b.gap("c", ca.vertcat(q, v)), lambda: b.gap("c", q)),
        "output": (lambda: b.output("c", ca.vertcat(q, v)), lambda: b.output("c", q)),
    }[kind]
    with pytest.raises(ImpingeError):
        wrong()
    right()  # as one does in a notebook after the error


@pytest.mark.parametrize("value", [np.nan, np.inf, "high", None, ca.SX.sym("z"), 10**400], ids=lambda x: str(x)[:5])
@pytest.mark.parametrize("kind", ["coordinate", "speed", "parameter", "input"])
def test_a_value_that_is_no_finite_number_is_refused(kind, value):
    b, _, _ = builder()
    add = {
        "coordinate": lambda: b.coordinate("x", start=value),
        "speed": lambda: b.coordinate("x", speed=value),
        "parameter": lambda: b.parameter("x", value),
        "input": lambda: b.input("x", value=value),
    }[kind]
    who = "coordinate" if kind == "speed" else kind
    with refuses(rf"{who} 'x' of model 'bad': expected a finite number, got .+ Give it a finite value\.", InputError):
        add()


def test_an_unknown_parameter_names_the_nearest():
    with refuses(r"model 'ball': expected .*parameter.*, got 'G'\. Did you mean 'g'\?", InputError):
        robots.ball().parameter_vector({"G": 1.0})
    b, _, v = builder()
    for name in ("stiffness", "damping", "mass_of_link"):
        b.parameter(name, 1.0)
    b.kinetic(v**2)
    model = b.build()
    with refuses(r"got 'stifness'\. Did you mean 'stiffness'\?", InputError):
        model.parameter_vector({"stifness": 1.0})
    with refuses(r"got 'zzz'\. Known: damping, mass_of_link, stiffness\.", InputError):
        model.terms([0.0], [0.0], parameters={"zzz": 1.0})
    with refuses(r"model 'bad': expected .*input.*, got 'u'\. There is no input here: leave it out\.", InputError):
        model.input_vector({"u": 1.0})
    with refuses(r"expected .*start value.*, got 'q_dt'\. Did you mean 'q_dot'\?", InputError):
        model.start_vectors({"q_dt": 1.0})


def test_names_that_differ_only_in_case_are_both_offered():
    with refuses(r"got 'mm'\. Did you mean ('m' or 'M'|'M' or 'm')\?", InputError):
        CART_POLE.parameter_vector({"mm": 1.0})  # it has a mass M and a mass m


def test_all_errors_are_of_one_family():
    for error in (CompileError, InputError, ModelError):
        assert issubclass(error, ImpingeError)
    error = ModelError("who", "this", "that", "Do it.")
    assert (error.who, error.expected, error.got, error.remedy) == ("who", "this", "that", "Do it.")
    assert str(error) == "who: expected this, got that. Do it."
